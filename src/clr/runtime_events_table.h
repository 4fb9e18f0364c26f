/* The generated table behind runtime_events.h. */
#ifndef SN_CLR_RUNTIME_EVENTS_TABLE_H
#define SN_CLR_RUNTIME_EVENTS_TABLE_H

#include "clr/runtime_events.h"

struct sn_clr_keyword {
    const char *name;
    uint64_t bit;
};

extern const struct sn_clr_event sn_clr_events[]; /* by provider, id, version, ascending */
extern const unsigned sn_clr_event_count;
extern const struct sn_clr_keyword sn_clr_keywords[];
extern const unsigned sn_clr_keyword_count;
extern const char *const sn_clr_provider_names[SN_CLR_PROVIDER_COUNT];

#endif
