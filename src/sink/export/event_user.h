/* Somebody who wants events of every watched process: a rule, the probes. The first member of each.
 */
#ifndef SN_EXPORT_EVENT_USER_H
#define SN_EXPORT_EVENT_USER_H

#include "sink/export/event_choice.h"
#include "sink/export/formatters.h"

struct sn_event_user;

/* One event that was chosen, of the process that `labels` name. */
typedef void sn_event_take_fn(struct sn_event_user *user, struct sonde_event *event,
                              const struct sn_export_labels *labels);

struct sn_event_user {
    struct sn_event_choice choice; /* owns */
    const char *event;             /* only events of this name; NULL: all. Borrows */
    sn_event_take_fn *take;
    bool (*is_wanted)(const struct sn_event_user *user); /* false: ask no runtime; NULL: always */
    uint64_t event_count;                                /* that it took */
};

#endif
