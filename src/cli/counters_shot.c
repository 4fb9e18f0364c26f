#include "cli/counters_shot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/counter_text.h"
#include "cli/counters_run.h"

#define SHOT_LIMIT    (256u << 20)
#define SUMMARY_LIMIT 1024u

/* --- what the kernel tells, in a line --- */

/* The value or, of what adds up, the rate of a number by its name; NAN when it is not there. */
static double vital(const struct sonde_point *points, size_t count, const char *name,
                    const char *tags)
{
    for (size_t i = 0; i < count; i++) {
        if (points[i].origin == SONDE_POINT_KERNEL && strcmp(points[i].name, name) == 0 &&
            strcmp(points[i].tag_text, tags) == 0)
            return points[i].kind == SONDE_POINT_RATE ? points[i].rate : points[i].value;
    }
    return (double)NAN;
}

static void add_share(struct sn_buf *to, const char *name, double share)
{
    char text[SN_COUNTER_TEXT];
    if (isfinite(share))
        sn_buf_format(to, "%s%s %s %%", to->size ? "  " : "", name,
                      sn_counter_text(round(share * 1000) / 10, "", text));
}

/* Only worth its room when there is some. */
static void add_trouble(struct sn_buf *to, const char *name, double share)
{
    if (share >= 0.0005)
        add_share(to, name, share);
}

/* Against the limit counts what the whole group has. */
static void add_memory(struct sn_buf *to, const struct sonde_point *points, size_t count)
{
    char text[2][SN_COUNTER_TEXT];
    double used = vital(points, count, "process.memory.usage", "");
    double limit = vital(points, count, "container.memory.limit", "");
    double group = vital(points, count, "container.memory.usage", "");
    if (isfinite(used))
        sn_buf_format(to, "%smemory %s", to->size ? "  " : "",
                      sn_counter_text(used, "By", text[0]));
    if (isfinite(limit) && isfinite(group))
        sn_buf_format(to, " (%s of %s)", sn_counter_text(group, "By", text[0]),
                      sn_counter_text(limit, "By", text[1]));
}

/* Who waited for a resource: the group, or where it does not tell, the machine. */
static void add_waits(struct sn_buf *to, const struct sonde_point *points, size_t count,
                      const char *resource)
{
    char name[64];
    char label[32];
    static const char *const sides[] = {"container", "system"};
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof(name), "%s.pressure.%s.avg10", sides[i], resource);
        double share = vital(points, count, name, "stalled=some");
        if (!isfinite(share))
            continue;
        (void)snprintf(label, sizeof(label), "%swaits for %s", i ? "machine " : "", resource);
        add_trouble(to, label, share);
        return;
    }
}

static void summarize(struct sn_buf *to, const struct sonde_point *points, size_t count)
{
    char text[SN_COUNTER_TEXT];
    double threads = vital(points, count, "process.thread.count", "");
    double limit = vital(points, count, "container.cpu.limit", "");
    add_share(to, "CPU", vital(points, count, "process.cpu.usage", ""));
    if (isfinite(limit))
        sn_buf_format(to, " of %s", sn_counter_text(limit * 100, "", text));
    add_trouble(to, "throttled", vital(points, count, "container.cpu.throttled.time", ""));
    add_memory(to, points, count);
    if (isfinite(threads))
        sn_buf_format(to, "  threads %s", sn_counter_text(threads, "", text));
    add_waits(to, points, count, "cpu");
    add_waits(to, points, count, "memory");
    add_waits(to, points, count, "io");
}

/* --- copies --- */

static const char *keep(struct sn_arena *arena, const char *text)
{
    const char *copy = sn_arena_copy(arena, text, strlen(text));
    return copy ? copy : "";
}

static void keep_point(struct sn_arena *arena, const struct sonde_point *from,
                       struct sonde_point *to)
{
    *to = *from;
    to->provider = keep(arena, from->provider);
    to->version = keep(arena, from->version);
    to->name = keep(arena, from->name);
    to->display_name = keep(arena, from->display_name);
    to->unit = keep(arena, from->unit);
    to->description = keep(arena, from->description);
    to->tag_text = keep(arena, from->tag_text);
    to->tags = NULL;
    to->tag_count = 0;
    size_t size = from->quantile_count * sizeof(*from->quantiles);
    struct sonde_quantile *quantiles = size ? sn_arena_alloc(arena, size) : NULL;
    if (quantiles)
        memcpy(quantiles, from->quantiles, size);
    to->quantiles = quantiles;
    to->quantile_count = quantiles ? from->quantile_count : 0;
}

static int keep_points(struct sn_counters_shot *shot, const struct sn_counters_run *run,
                       struct sonde_error *err)
{
    const struct sonde_point *points;
    size_t count;
    int rc = run->source->ops->latest(run->source, 0, &points, &count, err);
    if (rc != SONDE_OK)
        return rc;
    shot->points = sn_arena_alloc(&shot->arena, (count + 1) * sizeof(*points));
    if (!shot->points)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for values");
    for (size_t i = 0; i < count; i++)
        keep_point(&shot->arena, &points[i], &shot->points[i]);
    shot->point_count = count;
    return SONDE_OK;
}

/* Of one process, in a row: where they begin, and how many. */
static int summarize_process(const struct sn_counters_run *run, struct sn_arena *arena,
                             struct sn_shot_process *process, struct sonde_error *err)
{
    const struct sonde_point *points;
    size_t count;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SUMMARY_LIMIT);
    int rc = run->source->ops->latest(run->source, process->pid, &points, &count, err);
    if (rc != SONDE_OK)
        return rc;
    summarize(&text, points, count);
    process->summary = keep(arena, sn_buf_string(&text));
    return SONDE_OK;
}

static int keep_processes(struct sn_counters_shot *shot, const struct sn_counters_run *run,
                          struct sonde_error *err)
{
    size_t count = run->source->ops->process_count(run->source);
    shot->processes = sn_arena_alloc(&shot->arena, (count + 1) * sizeof(*shot->processes));
    if (!shot->processes)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for processes");
    for (size_t i = 0; i < count; i++) {
        struct sonde_watched watched;
        run->source->ops->process(run->source, i, &watched);
        shot->processes[i] = (struct sn_shot_process){
            .pid = watched.process->pid,
            .phase = watched.phase,
            .lost_count = watched.lost_count,
            .interval_ns = watched.interval_ns,
            .name = keep(&shot->arena, watched.process->name),
            .runtime = keep(&shot->arena, watched.process->runtime),
            .container = keep(&shot->arena, watched.process->container),
            .note = keep(&shot->arena, watched.note),
        };
        int rc = summarize_process(run, &shot->arena, &shot->processes[i], err);
        if (rc != SONDE_OK)
            return rc;
    }
    shot->process_count = count;
    return SONDE_OK;
}

int sn_counters_shot_take(struct sn_counters_shot *shot, const struct sn_counters_run *run,
                          struct sonde_error *err)
{
    struct sn_counters_shot taken = {.arena = sn_arena_with_limit(SHOT_LIMIT)};
    int rc = keep_points(&taken, run, err);
    if (rc == SONDE_OK)
        rc = keep_processes(&taken, run, err);
    if (rc != SONDE_OK) {
        sn_counters_shot_done(&taken);
        return rc;
    }
    sn_counters_shot_done(shot);
    *shot = taken;
    return SONDE_OK;
}

void sn_counters_shot_done(struct sn_counters_shot *shot)
{
    sn_arena_done(&shot->arena);
    *shot = (struct sn_counters_shot){0};
}
