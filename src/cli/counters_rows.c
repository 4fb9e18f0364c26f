#include "cli/counters_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/counter_history.h"
#include "cli/counter_text.h"
#include "cli/counters_shot.h"
#include "sonde/counters.h"

#define FLIPPED_MAX 65536u

/* A point to be sorted. */
struct entry {
    const struct sonde_point *point;
};

/* --- order --- */

static int descending(double left, double right)
{
    if (isnan(left) || isnan(right))
        return isnan(left) - isnan(right);
    return left < right ? 1 : left > right ? -1 : 0;
}

static int by_name(const struct sonde_point *a, const struct sonde_point *b)
{
    int order = strcasecmp(a->display_name, b->display_name);
    if (!order)
        order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->tag_text, b->tag_text);
}

static int by_group(const struct sonde_point *a, const struct sonde_point *b)
{
    bool a_kernel = a->origin == SONDE_POINT_KERNEL;
    bool b_kernel = b->origin == SONDE_POINT_KERNEL;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a_kernel != b_kernel) /* the kernel's first: they are there even when nothing else is */
        return a_kernel ? -1 : 1;
    if (a_kernel && strcmp(a->provider, b->provider) != 0)
        return -strcmp(a->provider, b->provider); /* process before machine before cgroup */
    int order = strcmp(a->provider, b->provider);
    return order ? order : a->origin - b->origin;
}

static int compare(const void *left, const void *right, void *user)
{
    const struct sonde_point *a = ((const struct entry *)left)->point;
    const struct sonde_point *b = ((const struct entry *)right)->point;
    const struct sn_counters_choice *choice = user;
    int order = by_group(a, b);
    if (!order && choice->sorting == SN_BY_VALUE)
        order = descending(sn_counter_main(a), sn_counter_main(b));
    if (!order && choice->sorting == SN_BY_RATE)
        order = descending(a->rate, b->rate);
    return order ? order : by_name(a, b);
}

/* --- what is shown --- */

static bool matches(const struct sn_counters_choice *choice, const struct sonde_point *point)
{
    const char *filter = choice->filter;
    if (choice->pid && choice->pid != point->pid)
        return false;
    return !*filter || strcasestr(point->provider, filter) || strcasestr(point->name, filter) ||
           strcasestr(point->display_name, filter) || strcasestr(point->tag_text, filter);
}

static uint64_t group_key(uint32_t pid, int origin, const char *provider)
{
    return sn_text_hash(((uint64_t)pid << 8) + (uint64_t)origin + 1, provider);
}

/* What the kernel tells is summed up in the row of the process: folded unless somebody wants it.
 * Whoever looks for something sees all of what was found, unless it is folded then. */
static bool is_folded(const struct sn_counters_choice *choice, uint64_t key, bool by_default)
{
    if (*choice->filter)
        return sn_table_find(&choice->flipped_found, key) != NULL;
    return (sn_table_find(&choice->flipped, key) != NULL) != by_default;
}

void sn_counters_flip(struct sn_counters_choice *choice, const struct sn_counters_row *row)
{
    if (row->kind != SN_ROW_PROCESS && row->kind != SN_ROW_PROVIDER)
        return;
    struct sn_table *flipped = *choice->filter ? &choice->flipped_found : &choice->flipped;
    flipped->limit = FLIPPED_MAX;
    if (sn_table_find(flipped, row->key))
        sn_table_remove(flipped, row->key);
    else
        (void)sn_table_put(flipped, row->key);
}

static struct sn_counters_row *push(struct sn_counters_rows *rows, struct sn_counters_row row)
{
    struct sn_counters_row *items =
        sn_array_room(rows->items, rows->count, &rows->capacity, sizeof(*items));
    if (!items)
        return NULL;
    rows->items = items;
    items[rows->count] = row;
    return &items[rows->count++];
}

static bool has_detail(const struct sonde_point *point)
{
    return point->kind == SONDE_POINT_HISTOGRAM ||
           (point->kind == SONDE_POINT_MEAN && point->count > 1);
}

/* Series of one provider: `points` up to `count`. */
static bool push_series(struct sn_counters_rows *rows, const struct sn_counters_choice *choice,
                        const struct sn_shot_process *process, const struct entry *points,
                        size_t count)
{
    bool is_ok = true;
    const struct sonde_point *named = NULL;
    for (size_t i = 0; i < count && is_ok; i++) {
        const struct sonde_point *point = points[i].point;
        bool is_below = choice->sorting == SN_BY_NAME && *point->tag_text;
        struct sn_counters_row row = {
            .process = process, .point = point, .key = sn_counter_key(point)};
        if (is_below && (!named || strcmp(named->name, point->name) != 0)) {
            row.kind = SN_ROW_NAME;
            row.key ^= 1;
            is_ok = push(rows, row) != NULL;
            row.key ^= 1;
        }
        named = is_below ? point : NULL;
        row.kind = SN_ROW_SERIES;
        row.is_below_name = is_below;
        is_ok = is_ok && push(rows, row);
        if (!choice->is_wide && has_detail(point)) {
            row.kind = SN_ROW_DETAIL;
            row.key ^= 2;
            is_ok = is_ok && push(rows, row);
        }
    }
    return is_ok;
}

static bool push_providers(struct sn_counters_rows *rows, const struct sn_counters_choice *choice,
                           const struct sn_shot_process *process, const struct entry *points,
                           size_t count)
{
    bool is_ok = true;
    for (size_t i = 0, end; i < count && is_ok; i = end) {
        for (end = i; end < count && by_group(points[i].point, points[end].point) == 0;)
            end++;
        uint64_t key = group_key(process->pid, points[i].point->origin, points[i].point->provider);
        bool folds = is_folded(choice, key, points[i].point->origin == SONDE_POINT_KERNEL);
        is_ok = push(rows, (struct sn_counters_row){.kind = SN_ROW_PROVIDER,
                                                    .process = process,
                                                    .point = points[i].point,
                                                    .is_folded = folds,
                                                    .series_count = end - i,
                                                    .key = key}) != NULL;
        if (is_ok && !folds)
            is_ok = push_series(rows, choice, process, points + i, end - i);
    }
    return is_ok;
}

/* `points` are sorted: those of the process stand together. */
static bool push_process(struct sn_counters_rows *rows, const struct sn_counters_choice *choice,
                         const struct sn_shot_process *process, const struct entry *points,
                         size_t count)
{
    size_t first = 0;
    while (first < count && points[first].point->pid != process->pid)
        first++;
    size_t end = first;
    while (end < count && points[end].point->pid == process->pid)
        end++;
    if ((choice->pid && choice->pid != process->pid) || (*choice->filter && first == end))
        return true;
    uint64_t key = group_key(process->pid, 0, "");
    bool folds = is_folded(choice, key, choice->folds_processes);
    bool is_ok = push(rows, (struct sn_counters_row){.kind = SN_ROW_PROCESS,
                                                     .process = process,
                                                     .is_folded = folds,
                                                     .series_count = end - first,
                                                     .key = key}) != NULL;
    if (is_ok && !choice->is_wide && *process->summary)
        is_ok = push(rows, (struct sn_counters_row){
                               .kind = SN_ROW_DETAIL, .process = process, .key = key ^ 2}) != NULL;
    return is_ok && (folds || push_providers(rows, choice, process, points + first, end - first));
}

int sn_counters_rows_make(struct sn_counters_rows *rows, const struct sn_counters_shot *shot,
                          const struct sn_counters_choice *choice, struct sonde_error *err)
{
    SN_AUTO(sn_free) struct entry *points = calloc(shot->point_count + 1, sizeof(*points));
    size_t count = 0;
    bool is_ok = points != NULL;
    rows->count = 0;
    for (size_t i = 0; is_ok && i < shot->point_count; i++) {
        if (matches(choice, &shot->points[i]))
            points[count++].point = &shot->points[i];
    }
    if (is_ok)
        qsort_r(points, count, sizeof(*points), compare, (void *)(uintptr_t)choice);
    for (size_t i = 0; is_ok && i < shot->process_count; i++)
        is_ok = push_process(rows, choice, &shot->processes[i], points, count);
    return is_ok ? SONDE_OK : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a list");
}

void sn_counters_rows_done(struct sn_counters_rows *rows)
{
    free(rows->items);
    *rows = (struct sn_counters_rows){0};
}
