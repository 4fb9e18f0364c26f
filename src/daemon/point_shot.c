#include "daemon/point_shot.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/table.h"
#include "base/text.h"

#define MEMORY_MAX (96u << 20)
#define TEXTS_MAX  (1u << 20)

/* While it is made. Most texts are the same in every process: each is there once. */
struct maker {
    struct sn_arena *arena;
    struct sn_table texts; /* hash to text */
    bool is_short;
};

static const char *keep(struct maker *maker, const char *text)
{
    uint64_t *known = sn_table_put(&maker->texts, sn_text_hash(0, text));
    const char *there = known ? (const char *)(uintptr_t)*known : NULL;
    if (there && strcmp(there, text) == 0)
        return there;
    const char *copy = sn_arena_copy(maker->arena, text, strlen(text));
    maker->is_short |= !copy;
    if (known && copy)
        *known = (uint64_t)(uintptr_t)copy;
    return copy ? copy : "";
}

static void *keep_bytes(struct maker *maker, const void *bytes, size_t size)
{
    void *copy = sn_arena_alloc(maker->arena, size ? size : 1);
    maker->is_short |= !copy;
    if (copy && size)
        memcpy(copy, bytes, size);
    return copy;
}

static void copy_point(struct maker *maker, const struct sonde_point *from, struct sonde_point *to)
{
    *to = *from;
    to->provider = keep(maker, from->provider);
    to->version = keep(maker, from->version);
    to->name = keep(maker, from->name);
    to->display_name = keep(maker, from->display_name);
    to->unit = keep(maker, from->unit);
    to->description = keep(maker, from->description);
    to->tag_text = keep(maker, from->tag_text);
    struct sonde_tag *tags = keep_bytes(maker, from->tags, from->tag_count * sizeof(*tags));
    to->tag_count = tags ? from->tag_count : 0;
    for (size_t i = 0; i < to->tag_count; i++)
        tags[i] =
            (struct sonde_tag){keep(maker, from->tags[i].name), keep(maker, from->tags[i].value)};
    to->tags = tags;
    to->quantiles =
        keep_bytes(maker, from->quantiles, from->quantile_count * sizeof(*from->quantiles));
    to->quantile_count = to->quantiles ? from->quantile_count : 0;
}

static int copy_process(struct maker *maker, struct sonde_counters *counters,
                        const struct sonde_watched *watched, struct sn_shot_process *to,
                        struct sonde_error *err)
{
    const struct sonde_point *latest;
    size_t count;
    *to = (struct sn_shot_process){.pid = watched->process->pid,
                                   .start_ticks = watched->process->start_ticks,
                                   .name = keep(maker, watched->process->name),
                                   .note = keep(maker, watched->note),
                                   .interval_ns = watched->interval_ns,
                                   .phase = watched->phase,
                                   .is_complete = watched->is_complete};
    int rc = sonde_counters_latest(counters, to->pid, &latest, &count, err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_point *points =
        sn_arena_alloc(maker->arena, (count ? count : 1) * sizeof(*points));
    maker->is_short |= !points;
    for (size_t i = 0; points && i < count; i++)
        copy_point(maker, &latest[i], &points[i]);
    to->points = points;
    to->point_count = points ? count : 0;
    return SONDE_OK;
}

/* Of two with one pid, the one that counters_find gives. */
static bool is_shadowed(const struct sonde_counters *counters, const struct sonde_process *process)
{
    struct sonde_watched other;
    return !sonde_counters_find(counters, process->pid, &other) ||
           other.process->start_ticks != process->start_ticks;
}

static int fill(struct sn_point_shot *shot, struct maker *maker, struct sonde_counters *counters,
                struct sonde_error *err)
{
    size_t count = sonde_counters_process_count(counters);
    int rc = SONDE_OK;
    shot->processes = sn_arena_alloc(&shot->arena, (count ? count : 1) * sizeof(*shot->processes));
    if (!shot->processes)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for counters");
    for (size_t i = 0; i < count && rc == SONDE_OK; i++) {
        struct sonde_watched watched;
        sonde_counters_process(counters, i, &watched);
        if (!is_shadowed(counters, watched.process))
            rc = copy_process(maker, counters, &watched, &shot->processes[shot->process_count++],
                              err);
    }
    return rc == SONDE_OK && maker->is_short
               ? sn_fail(err, SONDE_E_LIMIT, 0, "there are more counters than fit into %u MB",
                         MEMORY_MAX >> 20)
               : rc;
}

int sn_point_shot_new(struct sonde_counters *counters, struct sn_point_shot **ret_shot,
                      struct sonde_error *err)
{
    struct sn_point_shot *shot = calloc(1, sizeof(*shot));
    if (!shot)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for counters");
    shot->reference_count = 1;
    shot->at_ns = sn_clock_monotonic_ns();
    shot->arena = sn_arena_with_limit(MEMORY_MAX);
    struct maker maker = {.arena = &shot->arena, .texts = sn_table_with_limit(TEXTS_MAX)};
    int rc = fill(shot, &maker, counters, err);
    sn_table_done(&maker.texts);
    if (rc == SONDE_OK)
        *ret_shot = shot;
    else
        sn_point_shot_release(shot);
    return rc;
}

struct sn_point_shot *sn_point_shot_hold(struct sn_point_shot *shot)
{
    (void)atomic_fetch_add(&shot->reference_count, 1);
    return shot;
}

void sn_point_shot_release(struct sn_point_shot *shot)
{
    if (!shot || atomic_fetch_sub(&shot->reference_count, 1) != 1)
        return;
    sn_arena_done(&shot->arena);
    free(shot);
}

const struct sn_shot_process *sn_point_shot_find(const struct sn_point_shot *shot, uint32_t pid)
{
    for (size_t i = 0; i < shot->process_count; i++) {
        if (shot->processes[i].pid == pid)
            return &shot->processes[i];
    }
    return NULL;
}
