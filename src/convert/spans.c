#include "convert/spans.h"

#include <stdlib.h>

#include "model/profile.h"

struct sn_span_row {
    uint64_t key; /* thread << 32 | rank of the node: the order of the walk */
    uint32_t node;
    uint64_t value;
};

/* --- the order of the walk --- */

/* Depth first, without recursion: parents come before their children in the array, so sizes of
 * subtrees add up backwards, and each child then takes the next free part of its parent's share. */
static void rank_nodes(struct sn_spans *spans)
{
    const struct sn_node *nodes = spans->profile->nodes;
    size_t count = spans->profile->node_count;
    uint64_t *next = spans->seen; /* borrowed: first the size of a subtree, then its next rank */
    for (size_t i = 0; i < count; i++)
        next[i] = 1;
    for (size_t i = count; i-- > 1;)
        next[nodes[i].parent] += next[i];
    for (size_t i = 0; i < count; i++) {
        uint64_t size = next[i];
        uint32_t rank = 0;
        if (i) {
            rank = (uint32_t)next[nodes[i].parent];
            next[nodes[i].parent] += size;
            spans->depths[i] = spans->depths[nodes[i].parent] + 1;
        }
        spans->ranks[i] = rank;
        next[i] = rank + 1u;
    }
    for (size_t i = 0; i < count; i++)
        next[i] = 0;
}

static int by_key(const void *left, const void *right)
{
    const struct sn_span_row *a = left;
    const struct sn_span_row *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static void order_rows(struct sn_spans *spans)
{
    const struct sn_profile *profile = spans->profile;
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct sn_row *row = &profile->rows[i];
        uint64_t thread = spans->is_merged ? 0 : row->thread;
        spans->rows[i] = (struct sn_span_row){.key = thread << 32 | spans->ranks[row->node],
                                              .node = row->node,
                                              .value = row->values[spans->column]};
        spans->firsts[thread + 1]++;
    }
    for (size_t i = 0; i < profile->thread_count; i++)
        spans->firsts[i + 1] += spans->firsts[i];
    qsort(spans->rows, profile->row_count, sizeof(*spans->rows), by_key);
}

static uint32_t deepest(const struct sn_spans *spans)
{
    uint32_t most = 0;
    for (size_t i = 0; i < spans->profile->node_count; i++)
        most = spans->depths[i] > most ? spans->depths[i] : most;
    return most;
}

bool sn_spans_init(struct sn_spans *spans, const struct sn_profile *profile, int column,
                   bool by_time, bool is_merged)
{
    size_t node_count = profile->node_count + 1;
    *spans = (struct sn_spans){.profile = profile,
                               .column = column,
                               .by_time = by_time && profile->has_timeline && !is_merged,
                               .is_merged = is_merged,
                               .depths = calloc(node_count, sizeof(*spans->depths)),
                               .ranks = calloc(node_count, sizeof(*spans->ranks)),
                               .rows = calloc(profile->row_count + 1, sizeof(*spans->rows)),
                               .firsts = calloc(profile->thread_count + 2, sizeof(*spans->firsts)),
                               .seen = calloc(node_count, sizeof(*spans->seen))};
    if (!spans->depths || !spans->ranks || !spans->rows || !spans->firsts || !spans->seen)
        return false;
    rank_nodes(spans);
    order_rows(spans);
    spans->path = calloc((size_t)deepest(spans) + 2, sizeof(*spans->path)); /* and the thread's */
    return spans->path != NULL;
}

void sn_spans_done(struct sn_spans *spans)
{
    free(spans->depths);
    free(spans->ranks);
    free(spans->rows);
    free(spans->firsts);
    free(spans->seen);
    free(spans->path);
}

/* --- the walk --- */

static uint32_t parent_of(const struct sn_spans *spans, uint32_t node)
{
    return spans->profile->nodes[node].parent;
}

/* Whether the thread's own frame lies between `node` and its parent, below `ancestor`. */
static bool has_thread_frame(const struct sn_spans *spans, uint32_t node, uint32_t ancestor)
{
    uint32_t above = spans->profile->threads_node;
    return spans->thread_frame != SN_NO_INDEX && parent_of(spans, node) == above &&
           ancestor != above;
}

static void close_to(struct sn_spans *spans, uint32_t ancestor)
{
    if (spans->is_stackless)
        spans->ops->close(spans->user, SN_NO_INDEX, spans->at, spans->spent);
    spans->is_stackless = false;
    while (spans->node != ancestor) {
        spans->ops->close(spans->user, spans->profile->nodes[spans->node].frame, spans->at,
                          spans->spent);
        if (has_thread_frame(spans, spans->node, ancestor))
            spans->ops->close(spans->user, spans->thread_frame, spans->at, spans->spent);
        spans->node = parent_of(spans, spans->node);
    }
}

static uint32_t common_ancestor(const struct sn_spans *spans, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (spans->depths[a] >= spans->depths[b])
            a = parent_of(spans, a);
        else
            b = parent_of(spans, b);
    }
    return a;
}

/* Closes what is not on the way to `node` and opens what is missing: equal neighbours are one. */
static void move_to(struct sn_spans *spans, uint32_t node)
{
    if (node ? node == spans->node : spans->is_stackless)
        return;
    uint32_t ancestor = common_ancestor(spans, spans->node, node);
    close_to(spans, ancestor);
    size_t count = 0;
    for (uint32_t on_way = node; on_way != ancestor; on_way = parent_of(spans, on_way)) {
        spans->path[count++] = spans->profile->nodes[on_way].frame;
        if (has_thread_frame(spans, on_way, ancestor))
            spans->path[count++] = spans->thread_frame;
    }
    while (count)
        spans->ops->open(spans->user, spans->path[--count], spans->at, spans->spent);
    spans->node = node;
    spans->is_stackless = node == 0;
    if (spans->is_stackless)
        spans->ops->open(spans->user, SN_NO_INDEX, spans->at, spans->spent);
}

static void spend(struct sn_spans *spans, uint32_t node, uint64_t value)
{
    move_to(spans, node);
    spans->at += value;
    spans->spent += value;
}

static void stay(struct sn_spans *spans, const struct sn_run *run, uint64_t value)
{
    uint64_t origin = spans->profile->start_ns;
    uint64_t start = run->start_ns > origin ? run->start_ns - origin : 0;
    uint64_t end = run->end_ns > origin ? run->end_ns - origin : 0;
    if (start > spans->at) {
        close_to(spans, 0); /* a gap: it was somewhere else, or nowhere */
        spans->at = start;
    }
    move_to(spans, run->node);
    spans->at = end > spans->at ? end : spans->at;
    spans->spent += value;
}

static void walk_runs(struct sn_spans *spans, uint32_t thread)
{
    struct sn_run_cursor cursor = {0};
    struct sn_run run;
    while (sn_profile_next_run(spans->profile, thread, &cursor, &run)) {
        uint64_t value = run.values[spans->column];
        if (!value)
            continue;
        if (spans->by_time) {
            stay(spans, &run, value);
        } else {
            spend(spans, run.node, value);
            spans->seen[run.node] += value;
        }
    }
}

/* What the timeline does not have: all of it for profiles without one; else what the kernel counted
 * and the sampler did not see. */
static void walk_rows(struct sn_spans *spans, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct sn_span_row *row = &spans->rows[i];
        if (row->value > spans->seen[row->node])
            spend(spans, row->node, row->value - spans->seen[row->node]);
        spans->seen[row->node] = 0;
    }
}

static uint32_t frame_of(const struct sn_spans *spans, uint32_t thread)
{
    bool has_own = spans->profile->threads_node && !spans->is_merged && thread != SN_NO_INDEX;
    return has_own ? spans->profile->threads[thread].frame : SN_NO_INDEX;
}

uint64_t sn_spans_walk(struct sn_spans *spans, uint32_t thread, const struct sn_spans_ops *ops,
                       void *user)
{
    spans->ops = ops;
    spans->user = user;
    spans->thread_frame = frame_of(spans, thread);
    spans->node = 0;
    spans->at = 0;
    spans->spent = 0;
    if (spans->is_merged) {
        walk_rows(spans, 0, spans->profile->row_count);
    } else if (thread != SN_NO_INDEX) {
        walk_runs(spans, thread);
        if (!spans->by_time)
            walk_rows(spans, spans->firsts[thread], spans->firsts[thread + 1]);
    }
    close_to(spans, 0);
    return spans->at;
}
