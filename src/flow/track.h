/* Keeps the nouns current, once, for everybody: for now the threads that wrote events, and what
 * each lost. Updated by the road; sinks and views only read. */
#ifndef SN_TRACK_H
#define SN_TRACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct sn_event;

struct sn_tracked_thread {
    uint32_t pid;
    uint64_t thread_id;
    uint64_t lost_count;
};

struct sn_tracker {
    struct sn_tracked_thread *threads; /* owns; those that lost something */
    size_t thread_count;
    size_t thread_capacity;
    struct sn_table by_id; /* pid and thread id to index + 1 */
    uint64_t lost_count;   /* of all threads, those not in the list included */
};

void sn_track_init(struct sn_tracker *tracker);
void sn_track_done(struct sn_tracker *tracker);
void sn_track_lost(struct sn_tracker *tracker, uint32_t pid, uint64_t thread_id, uint64_t count);

#endif
