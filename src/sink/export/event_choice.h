/* Which events a section of the configuration wants: the providers to ask for and the conditions
 * that hold for them. Rules and probes share it. */
#ifndef SN_EXPORT_EVENT_CHOICE_H
#define SN_EXPORT_EVENT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "sink/export/settings.h"
#include "sonde/event.h"
#include "sonde/filter.h"
#include "sonde/provider.h"

#define SN_EVENT_CONDITIONS_MAX 16u

struct sn_event_choice {
    struct sonde_provider_set *set;
    struct sonde_filter *conditions[SN_EVENT_CONDITIONS_MAX];
    size_t condition_count;
};

/* Of a [rule NAME]: provider, keywords, level, where. SONDE_E_ARGUMENT with the reason. */
int sn_event_choice_of_rule(struct sn_event_choice *choice, struct sn_configuration *configuration,
                            const struct sn_settings *settings, struct sonde_error *err);

/* Of [usdt]: profile, providers, clrevents, where; the runtime's usual ones when nothing is given.
 */
int sn_event_choice_of_probes(struct sn_event_choice *choice,
                              struct sn_configuration *configuration,
                              const struct sn_settings *settings, struct sonde_error *err);

void sn_event_choice_done(struct sn_event_choice *choice);

static inline void sn_event_choice_done_auto(struct sn_event_choice *choice)
{
    sn_event_choice_done(choice);
}

/* Whether every condition holds. Rewinds the event. */
bool sn_event_choice_holds(const struct sn_event_choice *choice, struct sonde_event *event);

#endif
