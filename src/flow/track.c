#include "flow/track.h"

#include <stdlib.h>

#include "base/array.h"

/* More threads than this lose events: the total stays right, the list is cut. */
#define THREAD_LIMIT 16384u

void sn_track_init(struct sn_tracker *tracker)
{
    *tracker = (struct sn_tracker){.by_id = sn_table_with_limit(THREAD_LIMIT)};
}

void sn_track_done(struct sn_tracker *tracker)
{
    free(tracker->threads);
    sn_table_done(&tracker->by_id);
    sn_track_init(tracker);
}

static struct sn_tracked_thread *add_thread(struct sn_tracker *tracker)
{
    struct sn_tracked_thread *threads = sn_array_room(tracker->threads, tracker->thread_count,
                                                      &tracker->thread_capacity, sizeof(*threads));
    if (!threads)
        return NULL;
    tracker->threads = threads;
    return &tracker->threads[tracker->thread_count++];
}

void sn_track_lost(struct sn_tracker *tracker, uint32_t pid, uint64_t thread_id, uint64_t count)
{
    tracker->lost_count += count;
    uint64_t *index = sn_table_put(&tracker->by_id, ((uint64_t)pid << 32) ^ thread_id);
    if (!index)
        return;
    if (!*index) {
        struct sn_tracked_thread *thread = add_thread(tracker);
        if (!thread)
            return;
        *thread = (struct sn_tracked_thread){.pid = pid, .thread_id = thread_id};
        *index = tracker->thread_count;
    }
    tracker->threads[*index - 1].lost_count += count;
}
