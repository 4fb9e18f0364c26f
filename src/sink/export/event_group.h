/* Users of events that listen together: one consumer at each process for all of them, since a
 * process has places for a few dozen only. Each gets what it alone would. */
#ifndef SN_EXPORT_EVENT_GROUP_H
#define SN_EXPORT_EVENT_GROUP_H

#include "sink/export/event_user.h"

struct sn_event_group {
    struct sn_event_user **users; /* owns the array; borrows them */
    size_t user_count;
    size_t user_capacity;
    struct sonde_provider *providers; /* of all of them; owns the array, borrows texts */
    size_t provider_count;
    size_t provider_capacity;
};

/* SONDE_E_NOMEM. Not while somebody listens. */
int sn_event_group_add(struct sn_event_group *group, struct sn_event_user *user,
                       struct sonde_error *err);
void sn_event_group_done(struct sn_event_group *group);

/* Whether anybody in it wants events now. */
bool sn_event_group_is_wanted(const struct sn_event_group *group);

/* Hands an event to whom it is for; how many took it. */
size_t sn_event_group_take(const struct sn_event_group *group, struct sonde_event *event,
                           const struct sn_export_labels *labels);

#endif
