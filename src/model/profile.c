#include "model/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"

/* Ceilings: a trace is hostile input. A large service has some 10,000 methods and a million nodes.
 */
#define NAMES_LIMIT  (256u << 20)
#define FRAME_LIMIT  (1u << 20)
#define NODE_LIMIT   (16u << 20)
#define THREAD_LIMIT (1u << 16)
#define ROW_LIMIT    (32u << 20)
#define RUNS_LIMIT   (1u << 30)

int sn_profile_new(const struct sn_column *columns, size_t count, struct sn_profile **ret_profile,
                   struct sonde_error *err)
{
    struct sn_profile *profile = calloc(1, sizeof(*profile));
    if (!profile || count > SN_COLUMN_MAX) {
        free(profile);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a profile");
    }
    if (count)
        memcpy(profile->columns, columns, count * sizeof(*columns));
    profile->column_count = count;
    profile->arena = sn_arena_with_limit(NAMES_LIMIT);
    profile->frame_index = sn_table_with_limit(FRAME_LIMIT);
    profile->node_index = sn_table_with_limit(NODE_LIMIT);
    profile->thread_index = sn_table_with_limit(THREAD_LIMIT);
    profile->row_index = sn_table_with_limit(ROW_LIMIT);
    profile->nodes = sn_array_room(NULL, 0, &profile->node_capacity, sizeof(*profile->nodes));
    if (!profile->nodes) {
        sn_profile_free(profile);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a profile");
    }
    profile->nodes[profile->node_count++] = (struct sn_node){.frame = SN_NO_INDEX};
    *ret_profile = profile;
    return SONDE_OK;
}

void sn_profile_free(struct sn_profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->thread_count; i++)
        sn_buf_done(&profile->threads[i].runs);
    sn_arena_done(&profile->arena);
    sn_table_done(&profile->frame_index);
    sn_table_done(&profile->node_index);
    sn_table_done(&profile->thread_index);
    sn_table_done(&profile->row_index);
    free(profile->frames);
    free(profile->nodes);
    free(profile->threads);
    free(profile->rows);
    free(profile);
}

static uint32_t refuse(struct sn_profile *profile)
{
    profile->dropped_count++;
    return SN_NO_INDEX;
}

/* --- frames --- */

static uint64_t frame_hash(const struct sn_frame *frame)
{
    uint64_t hash = sn_text_hash(0, frame->full_name);
    hash = sn_text_hash(hash, frame->module);
    hash = sn_text_hash(hash, frame->file);
    return hash ^ ((uint64_t)frame->line << 8 | frame->kind);
}

static bool is_same_text(const char *left, const char *right)
{
    return strcmp(left ? left : "", right ? right : "") == 0;
}

static bool is_same_frame(const struct sn_frame *left, const struct sn_frame *right)
{
    return left->kind == right->kind && left->line == right->line &&
           is_same_text(left->full_name, right->full_name) &&
           is_same_text(left->module, right->module) && is_same_text(left->file, right->file);
}

static const char *keep(struct sn_profile *profile, const char *text)
{
    return sn_arena_copy(&profile->arena, text ? text : "", text ? strlen(text) : 0);
}

static bool copy_frame(struct sn_profile *profile, const struct sn_frame *from, struct sn_frame *to)
{
    *to = *from;
    to->full_name = keep(profile, from->full_name);
    to->name =
        is_same_text(from->name, from->full_name) ? to->full_name : keep(profile, from->name);
    to->module = keep(profile, from->module);
    to->name_space = keep(profile, from->name_space);
    to->file = from->file ? keep(profile, from->file) : NULL;
    return to->full_name && to->name && to->module && to->name_space && (to->file || !from->file);
}

uint32_t sn_profile_frame(struct sn_profile *profile, const struct sn_frame *frame)
{
    uint64_t hash = frame_hash(frame);
    uint64_t *place = sn_table_put(&profile->frame_index, hash);
    /* Two frames of one hash: try the next. */
    while (place && *place && !is_same_frame(&profile->frames[*place - 1], frame))
        place = sn_table_put(&profile->frame_index, ++hash);
    if (!place)
        return refuse(profile);
    if (*place)
        return (uint32_t)(*place - 1);
    struct sn_frame *frames = sn_array_room(profile->frames, profile->frame_count,
                                            &profile->frame_capacity, sizeof(*frames));
    if (!frames)
        return refuse(profile);
    profile->frames = frames;
    if (!copy_frame(profile, frame, &frames[profile->frame_count]))
        return refuse(profile);
    *place = ++profile->frame_count;
    return (uint32_t)(profile->frame_count - 1);
}

/* --- nodes, threads, rows --- */

uint32_t sn_profile_node(struct sn_profile *profile, uint32_t parent, uint32_t frame)
{
    if (parent == SN_NO_INDEX || frame == SN_NO_INDEX)
        return SN_NO_INDEX;
    uint64_t *place = sn_table_put(&profile->node_index, (uint64_t)parent << 32 | frame);
    if (!place)
        return refuse(profile);
    if (*place)
        return (uint32_t)*place;
    struct sn_node *nodes =
        sn_array_room(profile->nodes, profile->node_count, &profile->node_capacity, sizeof(*nodes));
    if (!nodes)
        return refuse(profile);
    profile->nodes = nodes;
    nodes[profile->node_count] = (struct sn_node){.parent = parent, .frame = frame};
    *place = profile->node_count++; /* never 0: that is the root */
    return (uint32_t)*place;
}

static void name_thread(struct sn_profile *profile, struct sn_profile_thread *thread,
                        const char *name)
{
    if (name && name[0] && !thread->name[0]) {
        const char *copy = keep(profile, name);
        thread->name = copy ? copy : "";
    }
}

uint32_t sn_profile_thread(struct sn_profile *profile, uint32_t pid, uint64_t thread_id,
                           const char *name)
{
    uint64_t *place = sn_table_put(&profile->thread_index, ((uint64_t)pid << 32) ^ thread_id);
    if (!place)
        return refuse(profile);
    if (!*place) {
        struct sn_profile_thread *threads = sn_array_room(
            profile->threads, profile->thread_count, &profile->thread_capacity, sizeof(*threads));
        if (!threads)
            return refuse(profile);
        profile->threads = threads;
        threads[profile->thread_count] = (struct sn_profile_thread){
            .thread_id = thread_id, .pid = pid, .name = "", .runs = sn_buf_with_limit(RUNS_LIMIT)};
        *place = ++profile->thread_count;
    }
    uint32_t index = (uint32_t)(*place - 1);
    name_thread(profile, &profile->threads[index], name);
    return index;
}

void sn_profile_add(struct sn_profile *profile, uint32_t thread, uint32_t node,
                    const uint64_t values[SN_COLUMN_MAX])
{
    uint64_t *place = NULL;
    if (thread != SN_NO_INDEX && node != SN_NO_INDEX)
        place = sn_table_put(&profile->row_index, (uint64_t)thread << 32 | node);
    if (!place) {
        (void)refuse(profile);
        return;
    }
    if (!*place) {
        struct sn_row *rows =
            sn_array_room(profile->rows, profile->row_count, &profile->row_capacity, sizeof(*rows));
        if (!rows) {
            (void)refuse(profile);
            return;
        }
        profile->rows = rows;
        rows[profile->row_count] = (struct sn_row){.thread = thread, .node = node};
        *place = ++profile->row_count;
    }
    for (size_t i = 0; i < profile->column_count; i++)
        profile->rows[*place - 1].values[i] += values[i];
}

int sn_profile_column(const struct sn_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->column_count; i++) {
        if (strcmp(profile->columns[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

/* --- timelines: varuints, times as distances --- */

void sn_profile_run(struct sn_profile *profile, uint32_t thread, const struct sn_run *run)
{
    if (thread == SN_NO_INDEX || run->node == SN_NO_INDEX) {
        (void)refuse(profile);
        return;
    }
    struct sn_profile_thread *to = &profile->threads[thread];
    uint64_t start = run->start_ns < to->last_end_ns ? to->last_end_ns : run->start_ns;
    uint64_t end = run->end_ns < start ? start : run->end_ns;
    sn_buf_varuint(&to->runs, start - to->last_end_ns);
    sn_buf_varuint(&to->runs, end - start);
    sn_buf_varuint(&to->runs, run->node);
    for (size_t i = 0; i < profile->column_count; i++)
        sn_buf_varuint(&to->runs, run->values[i]);
    to->last_end_ns = end;
    to->run_count++;
    profile->has_timeline = true;
}

bool sn_profile_next_run(const struct sn_profile *profile, uint32_t thread,
                         struct sn_run_cursor *cursor, struct sn_run *ret_run)
{
    const struct sn_buf *runs = &profile->threads[thread].runs;
    if (runs->failed || cursor->at >= runs->size)
        return false;
    struct sn_cursor cur = sn_cursor_over(runs->bytes + cursor->at, runs->size - cursor->at);
    *ret_run = (struct sn_run){0};
    ret_run->start_ns = cursor->time_ns + sn_cursor_varuint64(&cur);
    ret_run->end_ns = ret_run->start_ns + sn_cursor_varuint64(&cur);
    ret_run->node = sn_cursor_varuint32(&cur);
    for (size_t i = 0; i < profile->column_count; i++)
        ret_run->values[i] = sn_cursor_varuint64(&cur);
    cursor->at += sn_cursor_offset(&cur);
    cursor->time_ns = ret_run->end_ns;
    return !cur.bad;
}

/* --- sums --- */

uint64_t sn_profile_total(const struct sn_profile *profile, int column, uint32_t thread)
{
    uint64_t total = 0;
    for (size_t i = 0; i < profile->row_count; i++) {
        if (thread == SN_NO_INDEX || profile->rows[i].thread == thread)
            total += profile->rows[i].values[column];
    }
    return total;
}

static uint64_t *node_self(const struct sn_profile *profile, int column, uint32_t thread)
{
    uint64_t *self = calloc(profile->node_count, sizeof(*self));
    for (size_t i = 0; self && i < profile->row_count; i++) {
        const struct sn_row *row = &profile->rows[i];
        if (thread == SN_NO_INDEX || row->thread == thread)
            self[row->node] += row->values[column];
    }
    return self;
}

uint64_t *sn_profile_node_totals(const struct sn_profile *profile, int column, uint32_t thread,
                                 uint64_t **ret_self)
{
    uint64_t *self = node_self(profile, column, thread);
    uint64_t *totals = self ? malloc(profile->node_count * sizeof(*totals)) : NULL;
    if (!totals) {
        free(self);
        return NULL;
    }
    memcpy(totals, self, profile->node_count * sizeof(*totals));
    for (size_t i = profile->node_count - 1; i > 0; i--)
        totals[profile->nodes[i].parent] += totals[i];
    if (ret_self)
        *ret_self = self;
    else
        free(self);
    return totals;
}

/* Children of each node as lists in two arrays. */
static bool list_children(const struct sn_profile *profile, uint32_t *first, uint32_t *next)
{
    if (!first || !next)
        return false;
    for (size_t i = 0; i < profile->node_count; i++)
        first[i] = SN_NO_INDEX;
    for (uint32_t i = (uint32_t)profile->node_count; i-- > 1;) { /* so that the first comes first */
        next[i] = first[profile->nodes[i].parent];
        first[profile->nodes[i].parent] = i;
    }
    return true;
}

bool sn_profile_walk(const struct sn_profile *profile, const struct sn_visitor *visitor, void *user)
{
    SN_AUTO(sn_free) uint32_t *first = malloc(profile->node_count * sizeof(*first));
    SN_AUTO(sn_free) uint32_t *next = malloc(profile->node_count * sizeof(*next));
    if (!list_children(profile, first, next))
        return false;
    uint32_t node = first[0];
    while (node != SN_NO_INDEX) {
        visitor->enter(user, node);
        if (first[node] != SN_NO_INDEX) {
            node = first[node];
            continue;
        }
        visitor->leave(user, node);
        while (node && next[node] == SN_NO_INDEX) {
            node = profile->nodes[node].parent;
            if (node)
                visitor->leave(user, node);
        }
        node = node ? next[node] : SN_NO_INDEX;
    }
    return true;
}

struct repeats {
    const struct sn_profile *profile;
    const uint32_t *group_of;
    uint32_t *active; /* nodes of a group on the way from the root to here */
    bool *is_repeat;
};

static uint32_t *active_at(const struct repeats *repeats, uint32_t node)
{
    uint32_t frame = repeats->profile->nodes[node].frame;
    return &repeats->active[repeats->group_of ? repeats->group_of[frame] : frame];
}

static void enter_group(void *user, uint32_t node)
{
    struct repeats *repeats = user;
    repeats->is_repeat[node] = (*active_at(repeats, node))++ > 0;
}

static void leave_group(void *user, uint32_t node)
{
    --*active_at(user, node);
}

bool *sn_profile_repeats(const struct sn_profile *profile, const uint32_t *group_of)
{
    static const struct sn_visitor visitor = {.enter = enter_group, .leave = leave_group};
    SN_AUTO(sn_free) uint32_t *active = calloc(profile->frame_count + 1, sizeof(*active));
    SN_AUTO(sn_free) bool *is_repeat = calloc(profile->node_count, sizeof(*is_repeat));
    struct repeats repeats = {
        .profile = profile, .group_of = group_of, .active = active, .is_repeat = is_repeat};
    if (!active || !is_repeat || !sn_profile_walk(profile, &visitor, &repeats))
        return NULL;
    return SN_TAKE(is_repeat);
}

struct sn_frame_sum *sn_profile_frame_sums(const struct sn_profile *profile, int column,
                                           uint32_t thread)
{
    SN_AUTO(sn_free) uint64_t *self = NULL;
    SN_AUTO(sn_free) uint64_t *totals = sn_profile_node_totals(profile, column, thread, &self);
    SN_AUTO(sn_free) bool *is_repeat = sn_profile_repeats(profile, NULL);
    struct sn_frame_sum *sums = totals && is_repeat
                                    ? calloc(profile->frame_count + 1, sizeof(*sums))
                                    : NULL; /* one more: never of no bytes */
    for (uint32_t i = 1; sums && i < profile->node_count; i++) {
        struct sn_frame_sum *sum = &sums[profile->nodes[i].frame];
        sum->self += self[i];
        sum->total += is_repeat[i] ? 0 : totals[i];
    }
    return sums;
}
