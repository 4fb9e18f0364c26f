/* Traces: the session is opened in a worker, because a runtime may take its time to answer, and
 * read in the roads thread from then on. At most a few are being opened at once, and one a process:
 * a process that does not answer holds up one worker at most. */
#include "daemon/operation_kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/operation_table.h"
#include "daemon/roads.h"
#include "daemon/trace_settings.h"
#include "daemon/workers.h"
#include "sonde/trace.h"

#define OPENING_MAX 3u

enum phase {
    PHASE_WAITING = 0, /* for its turn to be opened */
    PHASE_OPENING,     /* a worker has it */
    PHASE_OPEN,        /* the roads thread has it */
    PHASE_OVER,
};

struct tracing {
    struct sn_mailbox_task task;    /* to the worker and back */
    struct sn_operation *operation; /* borrows */
    struct sn_trace_settings settings;
    enum phase phase;
    bool is_stopping;
    bool is_hasty;               /* is turned at once: what was just said to it takes effect then */
    struct sonde_tracer *tracer; /* owns; the worker's while it opens */
    int status;                  /* of the opening */
    struct sonde_error err;
    struct sonde_trace_stats stats; /* the last ones; without texts */
    char runtime[32];
    char stop_cause[32];
};

static struct tracing *of(const struct sn_operation *operation)
{
    return operation->user;
}

static void open_next(struct sn_daemon *daemon);

/* --- its end --- */

static void take_stats(struct tracing *tracing)
{
    if (!tracing->tracer || !sonde_tracer_count(tracing->tracer))
        return;
    sonde_tracer_stats(tracing->tracer, 0, &tracing->stats);
    (void)snprintf(tracing->runtime, sizeof(tracing->runtime), "%s", tracing->stats.runtime);
    (void)snprintf(tracing->stop_cause, sizeof(tracing->stop_cause), "%s",
                   tracing->stats.stop_cause);
}

static void close_tracer(struct tracing *tracing)
{
    if (tracing->phase == PHASE_OPEN)
        sn_roads_remove(tracing->operation->daemon->roads, tracing);
    sonde_tracer_free(SN_TAKE(tracing->tracer));
    tracing->phase = PHASE_OVER;
}

/* A trace whose process ended is what that process was until then: nobody could have got more. */
static void finish(struct tracing *tracing)
{
    struct sonde_error err = {0};
    take_stats(tracing);
    int status = tracing->stats.status;
    if (status == SONDE_E_GONE && tracing->stats.event_count)
        status = sn_fail(&err, SONDE_END, 0,
                         "the process ended before its trace: it has no rundown, so what ran "
                         "since may have no name");
    else if (status < 0)
        (void)sn_fail(&err, status, 0, "%s", tracing->stats.message);
    else
        status = SONDE_OK;
    close_tracer(tracing);
    sn_operation_ended(tracing->operation, status, err.text);
}

/* --- while it runs: a rider --- */

static int rider_fd(void *user)
{
    const struct tracing *tracing = user;
    return sonde_tracer_fd(tracing->tracer);
}

static int rider_wait_ms(void *user)
{
    const struct tracing *tracing = user;
    return tracing->is_hasty ? 0 : sonde_tracer_wait_ms(tracing->tracer);
}

static void rider_turn(void *user)
{
    struct tracing *tracing = user;
    struct sonde_error err = {0};
    uint64_t bytes_before = tracing->stats.byte_count;
    tracing->is_hasty = false;
    int rc = sonde_tracer_turn(tracing->tracer, &err);
    take_stats(tracing);
    if (tracing->stats.byte_count != bytes_before)
        sn_artefact_grown(tracing->operation->artefact);
    if (rc < 0) {
        close_tracer(tracing);
        sn_operation_ended(tracing->operation, rc, err.text);
    } else if (sonde_tracer_is_done(tracing->tracer)) {
        finish(tracing);
    } else if (tracing->stats.byte_count >= tracing->settings.bytes_max && !tracing->is_stopping) {
        if (json_object_get(tracing->operation->settings, "maxBytes")) /* as it was wished */
            sn_operation_stop(tracing->operation);
        else
            sn_operation_cut(tracing->operation,
                             "the quota was reached: it ended with what it has");
    }
}

static const struct sn_rider_ops rider = {
    .fd = rider_fd, .wait_ms = rider_wait_ms, .turn = rider_turn};

/* --- its beginning --- */

/* In the roads thread: the worker has done its part. */
static void opened(void *user)
{
    struct tracing *tracing = user;
    struct sn_operation *operation = tracing->operation;
    struct sn_daemon *daemon = operation->daemon;
    int rc = tracing->status;
    tracing->phase = PHASE_OVER;
    if (rc == SONDE_OK && operation->is_cancelled)
        sonde_tracer_stop(tracing->tracer);
    if (rc == SONDE_OK)
        rc = sn_roads_add(daemon->roads, &rider, tracing, &tracing->err);
    if (rc != SONDE_OK) {
        close_tracer(tracing);
        sn_operation_ended(operation, rc, tracing->err.text);
    } else {
        tracing->phase = PHASE_OPEN;
        take_stats(tracing);
        sn_operation_running(operation);
        tracing->is_hasty = tracing->is_stopping || operation->is_cancelled;
        if (tracing->is_hasty)
            sonde_tracer_stop(tracing->tracer);
    }
    open_next(daemon);
}

/* In a worker. Nothing of the operation is touched that may change. */
static void open_it(void *user)
{
    struct tracing *tracing = user;
    int rc = sonde_tracer_new(&tracing->tracer, &tracing->err);
    if (rc == SONDE_OK)
        rc = sonde_tracer_add(tracing->tracer, tracing->operation->pid, &tracing->settings.options,
                              &tracing->err);
    tracing->status = rc < 0 ? rc : SONDE_OK;
    sn_roads_post(tracing->operation->daemon->roads, &tracing->task, opened, tracing);
}

static bool may_open(struct sn_daemon *daemon, const struct sn_operation *wanted)
{
    unsigned count = 0;
    for (const struct sn_operation *one = sn_operation_first(daemon); one; one = one->next) {
        if (one->kind != &sn_trace_operation || !one->user || of(one)->phase != PHASE_OPENING)
            continue;
        if (one->pid == wanted->pid || ++count >= OPENING_MAX)
            return false;
    }
    return true;
}

static void open_next(struct sn_daemon *daemon)
{
    for (struct sn_operation *one = sn_operation_first(daemon); one; one = one->next) {
        if (one->kind != &sn_trace_operation || !one->user || of(one)->phase != PHASE_WAITING ||
            !sn_operation_is_active(one) || !may_open(daemon, one))
            continue;
        of(one)->phase = PHASE_OPENING;
        if (sn_workers_offer(daemon->workers, &of(one)->task, open_it, of(one)))
            continue;
        of(one)->phase = PHASE_OVER;
        sn_operation_ended(one, SONDE_E_LIMIT, "too much is under way: try again later");
    }
}

static int check(const json_t *settings, struct sonde_error *err)
{
    struct sn_trace_settings read = {0};
    int rc = sn_trace_settings_read(settings, &read, err);
    sn_trace_settings_done(&read);
    return rc;
}

static int start(struct sn_operation *operation, struct sonde_error *err)
{
    struct tracing *tracing = calloc(1, sizeof(*tracing));
    if (!tracing)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a trace");
    tracing->operation = operation;
    int rc = sn_trace_settings_read(operation->settings, &tracing->settings, err);
    if (rc != SONDE_OK) {
        free(tracing);
        return rc;
    }
    if (operation->is_recording && tracing->settings.bytes_max == UINT64_MAX)
        tracing->settings.bytes_max = sn_operation_quota(operation->daemon);
    tracing->settings.options.output = sn_artefact_path(operation->artefact);
    operation->user = tracing;
    if (!may_open(operation->daemon, operation))
        return SONDE_OK; /* open_next has it in its turn */
    tracing->phase = PHASE_OPENING;
    if (sn_workers_offer(operation->daemon->workers, &tracing->task, open_it, tracing))
        return SONDE_OK;
    operation->kind->free(operation);
    return sn_fail(err, SONDE_E_LIMIT, 0, "too much is being opened: try again later");
}

static void stop(struct sn_operation *operation)
{
    struct tracing *tracing = of(operation);
    tracing->is_stopping = true;
    tracing->is_hasty = true;
    if (tracing->phase == PHASE_OPEN)
        sonde_tracer_stop(tracing->tracer);
    else if (tracing->phase == PHASE_WAITING) {
        tracing->phase = PHASE_OVER;
        sn_operation_ended(operation, SONDE_E_GONE, "it was stopped before it began");
    }
}

static void cancel(struct sn_operation *operation)
{
    struct tracing *tracing = of(operation);
    if (tracing->phase == PHASE_WAITING) {
        tracing->phase = PHASE_OVER;
        sn_operation_ended(operation, SONDE_E_GONE, "");
    }
    if (tracing->phase != PHASE_OPEN)
        return; /* as soon as it is opened */
    if (!tracing->is_stopping)
        sonde_tracer_stop(tracing->tracer);
    sonde_tracer_stop(tracing->tracer);
    tracing->is_stopping = true;
    tracing->is_hasty = true;
}

static void progress(struct sn_operation *operation, struct sn_json *json)
{
    const struct tracing *tracing = of(operation);
    if (!tracing)
        return;
    struct sonde_trace_stats stats = tracing->stats;
    if (tracing->phase == PHASE_OPEN) /* before, the tracer is the worker's */
        sonde_tracer_stats(tracing->tracer, 0, &stats);
    sn_json_real(json, "durationSeconds", (double)stats.duration_ns / 1e9);
    sn_json_u64(json, "events", stats.event_count);
    sn_json_u64(json, "lost", stats.lost_count);
    sn_json_u64(json, "bytes", stats.byte_count);
    sn_json_u64(json, "damages", stats.damage_count);
    sn_json_text(json, "runtime", tracing->runtime);
    sn_json_bool(json, "stacks", stats.has_stacks);
    sn_json_u64(json, "bufferMB", stats.buffer_mb);
    sn_json_text(json, "stopCause", tracing->stop_cause);
    sn_json_object(json, "cost");
    sn_json_real(json, "targetCpuSeconds", (double)stats.target_cpu_ns / 1e9);
    sn_json_real(json, "tracingCpuSeconds", (double)stats.tracing_cpu_ns / 1e9);
    sn_json_close(json);
}

static void free_it(struct sn_operation *operation)
{
    struct tracing *tracing = SN_TAKE(operation->user);
    if (!tracing)
        return;
    sonde_tracer_free(tracing->tracer);
    sn_trace_settings_done(&tracing->settings);
    free(tracing);
}

const struct sn_operation_kind sn_trace_operation = {
    .name = "trace",
    .extension = "nettrace",
    .content_type = "application/octet-stream",
    .concurrent_max = 3,
    .recording_max = 64,
    .is_stoppable = true,
    .check = check,
    .start = start,
    .stop = stop,
    .cancel = cancel,
    .progress = progress,
    .free = free_it,
};
