/* A profile as a walk in which frames open and close: what viewers of timelines and flame graphs
 * draw. A thread with a timeline is walked in order of time; anything else as a call tree, depth
 * first, so that each frame opens once. One thread. */
#ifndef SN_SPANS_H
#define SN_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_profile;
struct sn_span_row;

/* `frame`: SN_NO_INDEX for what has no stack. `at`: where on the axis, see sn_spans_init. `spent`:
 * of the column, from the walk's start. */
typedef void sn_span_fn(void *user, uint32_t frame, uint64_t at, uint64_t spent);

struct sn_spans_ops {
    sn_span_fn *open;
    sn_span_fn *close; /* what was opened last */
};

struct sn_spans {
    const struct sn_profile *profile; /* borrows */
    int column;
    bool by_time;
    bool is_merged;
    uint32_t *depths;         /* of nodes */
    uint32_t *ranks;          /* of nodes, depth first */
    struct sn_span_row *rows; /* by thread (unless merged) and rank */
    size_t *firsts;           /* of each thread in `rows`, and the end */
    uint64_t *seen;           /* of nodes: what the timeline has of them */
    uint32_t *path;           /* the way down to a node */
    const struct sn_spans_ops *ops;
    void *user;
    uint32_t thread_frame; /* between the profile's threads_node and its children; or SN_NO_INDEX */
    uint32_t node;         /* where the walk is; 0: nowhere, */
    bool is_stackless;     /* or in what has no stack */
    uint64_t at;
    uint64_t spent;
};

/* By time, the axis is nanoseconds since the profile's start, and what has no time is left out;
 * else it is what the column counts, and the walk's end is its sum. Merged: all threads are one.
 * False without memory. */
bool sn_spans_init(struct sn_spans *spans, const struct sn_profile *profile, int column,
                   bool by_time, bool is_merged);
void sn_spans_done(struct sn_spans *spans);

/* Walks one thread; when merged, everything. SN_NO_INDEX otherwise: nothing. Returns the end of the
 * axis. */
uint64_t sn_spans_walk(struct sn_spans *spans, uint32_t thread, const struct sn_spans_ops *ops,
                       void *user);

#endif
