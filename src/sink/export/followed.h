/* The processes that are watched, with the labels of what is exported of them, and who listens to
 * their events. Follows sonde_counters, which finds them. One thread. */
#ifndef SN_EXPORT_FOLLOWED_H
#define SN_EXPORT_FOLLOWED_H

#include <stddef.h>
#include <stdint.h>

#include "sink/export/event_group.h"
#include "sonde/counters.h"

struct sn_followed_process;

typedef void sn_process_ended_fn(void *user, const struct sonde_process *process);

struct sn_followed {
    struct sonde_hub *hub;         /* borrows */
    struct sn_event_group *groups; /* who wants events; borrows */
    size_t group_count;
    sn_process_ended_fn *ended; /* called once for each that ends; NULL: nobody */
    void *user;
    struct sn_export_labels labels;       /* of what is about no process; borrows */
    struct sn_followed_process **entries; /* owns */
    size_t count;
    size_t capacity;
    uint64_t lost_count; /* events of users that runtimes dropped, of those that left too */
    char note[512];      /* the latest that is not as asked for, and of whom; "" */
};

/* Takes up what `counters` watches now, and lets users listen who do not yet. Not from a callback
 * of the hub. */
int sn_followed_follow(struct sn_followed *followed, const struct sonde_counters *counters,
                       struct sonde_error *err);

/* Lets go what was watched no more at the last following: nobody may still hold its labels. Who
 * could not listen may try again. */
void sn_followed_next_round(struct sn_followed *followed);

/* The labels of a process as `counters` knows it now, taken up if need be; NULL: it does not watch
 * that. Also from its callbacks. */
const struct sn_export_labels *sn_followed_labels(struct sn_followed *followed,
                                                  const struct sonde_counters *counters,
                                                  uint32_t pid);

/* How many of the processes still run. */
size_t sn_followed_running(const struct sn_followed *followed);

void sn_followed_done(struct sn_followed *followed);

#endif
