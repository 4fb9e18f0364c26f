#include "daemon/metric_operation.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "daemon/beat.h"
#include "daemon/daemon.h"
#include "daemon/metric_format.h"
#include "daemon/roads.h"
#include "daemon/text_operation.h"
#include "sonde/counters.h"

#define BEAT_NS           ((uint64_t)100 * SN_NS_PER_MS)
#define COUNTERS_MAX      64u
#define METRICS_AT_A_TIME 3u

struct work {
    struct sn_operation *operation; /* borrows */
    struct sonde_counters *counters;
    struct sn_beat *beat;
    struct sn_text_output output;
    bool is_running;
};

/* --- the end --- */

static void release(struct work *work)
{
    sonde_counters_free(work->counters);
    work->counters = NULL;
    sn_beat_free(work->beat);
    work->beat = NULL;
}

static void free_work(struct sn_operation *operation)
{
    struct work *work = operation->user;
    operation->user = NULL;
    if (!work)
        return;
    release(work);
    sn_text_output_done(&work->output);
    free(work);
}

static void finish(struct work *work, int status, const char *message)
{
    struct sn_operation *operation = work->operation;
    release(work);
    sn_text_output_end(&work->output, operation, status, message);
}

/* --- while it runs --- */

static void put_lost(void *user, uint64_t count, struct sn_buf *to)
{
    (void)user;
    sn_metric_format_lost(count, to);
}

static void take(void *user, const struct sonde_point *point)
{
    struct work *work = user;
    sn_metric_format_write(point, &work->output.text);
    sn_text_output_put(&work->output);
}

static void end_with(struct work *work, const struct sonde_watched *watched)
{
    struct sonde_error err = {0};
    bool was_there = work->is_running;
    if (!was_there)
        (void)sn_fail(&err, SONDE_E_GONE, 0, "the counters of process %u cannot be had%s%.160s",
                      (unsigned)work->operation->pid, watched->note[0] ? ": " : "", watched->note);
    finish(work, was_there ? SONDE_OK : SONDE_E_GONE, err.text);
}

/* Counters have no callback for how a process fares. */
static void beat(void *user)
{
    struct work *work = user;
    struct sonde_watched watched = {.note = ""};
    bool is_there = sonde_counters_find(work->counters, work->operation->pid, &watched);
    if (!is_there || watched.phase == SONDE_CONSUMER_ENDED) {
        end_with(work, &watched);
        return;
    }
    if (watched.phase == SONDE_CONSUMER_LIVE && !work->is_running) {
        work->is_running = true;
        sn_operation_running(work->operation);
    }
    if (sn_text_output_flush(&work->output) != SONDE_OK)
        finish(work, SONDE_OK, "");
}

/* --- the beginning --- */

static uint64_t number_of(const json_t *settings, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(settings, name));
    return value > 0 ? (uint64_t)value : 0;
}

static int watch(struct work *work, const json_t *settings, struct sonde_error *err)
{
    struct sn_roads *roads = work->operation->daemon->roads;
    const char *counters[COUNTERS_MAX];
    const json_t *list = json_object_get(settings, "counters");
    size_t count = json_array_size(list);
    if (count > COUNTERS_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u providers and meters", COUNTERS_MAX);
    for (size_t i = 0; i < count; i++)
        counters[i] = json_string_value(json_array_get(list, i));
    double interval_s = json_number_value(json_object_get(settings, "interval_s"));
    struct sonde_counters_options options = {
        .size = sizeof(options),
        .pids = &work->operation->pid,
        .pid_count = 1,
        .counters = counters,
        .counter_count = count,
        .interval_ns = (uint64_t)(interval_s * SN_NS_PER_SECOND),
        .max_series = (uint32_t)number_of(settings, "max_series"),
        .max_histograms = (uint32_t)number_of(settings, "max_histograms"),
        .no_kernel = true,
        .no_provisional = true};
    return sonde_counters_new(sn_roads_hub(roads), &options, take, work, &work->counters, err);
}

static int start(struct sn_operation *operation, struct sonde_error *err)
{
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for metrics");
    operation->user = work;
    work->operation = operation;
    work->output.put_lost = put_lost;
    int rc = sn_text_output_begin(&work->output, operation->artefact, 0, err);
    if (rc == SONDE_OK)
        rc = watch(work, operation->settings, err);
    if (rc == SONDE_OK)
        rc = sn_beat_new(operation->daemon->roads, BEAT_NS, beat, work, &work->beat, err);
    return rc;
}

static void stop(struct sn_operation *operation)
{
    finish(operation->user, SONDE_OK, "");
}

const struct sn_operation_kind sn_metric_operation = {
    .name = "livemetrics",
    .extension = "metrics.json",
    .content_type = "application/json-seq",
    .concurrent_max = METRICS_AT_A_TIME,
    .is_stoppable = true,
    .start = start,
    .stop = stop,
    .cancel = stop,
    .free = free_work,
};
