#include "model/report.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "model/timeline.h"

#define NAMES_LIMIT (64u << 20)

/* --- series --- */

void sn_series_done(struct sn_series *series)
{
    free(series->values);
    *series = (struct sn_series){0};
}

/* Keeps every second of the values, and from now on one in twice as many. */
static void thin_out(struct sn_series *series)
{
    for (size_t i = 0; i < series->count / 2; i++)
        series->values[i] = series->values[2 * i];
    series->count /= 2;
    series->stride *= 2;
}

void sn_series_add(struct sn_series *series, uint64_t value)
{
    if (!series->stride)
        series->stride = 1;
    if (value > series->max)
        series->max = value;
    series->sum += value;
    if (series->seen_count++ % series->stride)
        return;
    if (series->count == SN_SERIES_MAX)
        thin_out(series);
    uint64_t *values =
        sn_array_room(series->values, series->count, &series->capacity, sizeof(*values));
    if (!values)
        return; /* a percentile less exact; sum and count stay right */
    series->values = values;
    values[series->count++] = value;
    series->is_sorted = false;
}

static int smallest_first(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The order of its values is no part of what a series says, so a constant one can be sorted. */
static void sort(struct sn_series *series)
{
    if (series->count)
        qsort(series->values, series->count, sizeof(*series->values), smallest_first);
    series->is_sorted = true;
}

uint64_t sn_series_percentile(const struct sn_series *series, double percent)
{
    if (!series->count)
        return 0;
    if (!series->is_sorted)
        sort((struct sn_series *)series);
    if (percent >= 100)
        return series->max;
    double exact = percent / 100 * (double)series->count;
    size_t rank = (size_t)exact + ((double)(size_t)exact < exact); /* rounded up */
    size_t index = rank < 1 ? 0 : rank - 1;
    return series->values[index < series->count ? index : series->count - 1];
}

/* --- the report --- */

int sn_report_new(struct sn_report **ret_report, struct sonde_error *err)
{
    struct sn_report *report = calloc(1, sizeof(*report));
    if (!report)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a report");
    report->arena = sn_arena_with_limit(NAMES_LIMIT);
    *ret_report = report;
    return SONDE_OK;
}

/* Every series of a report, one by one. */
static void each_series(struct sn_report *report, void (*visit)(struct sn_series *))
{
    visit(&report->gc.pauses);
    visit(&report->exceptions.costs);
    visit(&report->contention.waits);
    visit(&report->jit.times);
    visit(&report->pool.queue_waits);
    visit(&report->requests.times);
    visit(&report->requests.sent_times);
    visit(&report->tasks.queue_waits);
    visit(&report->tasks.runs);
    visit(&report->tasks.sync_waits);
    for (size_t i = 0; i < report->requests.count; i++)
        visit(&report->requests.routes[i].times);
    for (size_t i = 0; i < report->tasks.count; i++)
        visit(&report->tasks.kinds[i].times);
}

void sn_report_settle(struct sn_report *report)
{
    each_series(report, sort);
}

void sn_report_free(struct sn_report *report)
{
    if (!report)
        return;
    each_series(report, sn_series_done);
    sn_profile_free(report->samples);
    sn_profile_free(report->thread_time);
    sn_profile_free(report->exceptions.profile);
    sn_profile_free(report->allocations.profile);
    sn_profile_free(report->contention.profile);
    free(report->threads);
    free(report->gc.collections);
    free(report->exceptions.kinds);
    free(report->allocations.kinds);
    free(report->contention.open_waits);
    free(report->jit.methods);
    free(report->pool.adjustments);
    free(report->requests.routes);
    free(report->tasks.kinds);
    free(report->machine.processes);
    free(report->off_cpu.threads);
    sn_profile_free(report->off_cpu.profile);
    free(report->syscalls.kinds);
    sn_profile_free(report->syscalls.profile);
    sn_timeline_free(report->timeline);
    sn_arena_done(&report->arena);
    free(report);
}
