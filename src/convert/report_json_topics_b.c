#include "convert/report_json.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "clr/words.h"
#include "convert/work_facts.h"
#include "model/report.h"

/* Count, sum and percentiles under one key. */
static void write_series(struct sn_json *json, const char *key, const struct sn_series *series)
{
    sn_json_object(json, key);
    sn_json_u64(json, "count", series->seen_count);
    sn_json_u64(json, "totalNs", series->sum);
    sn_json_u64(json, "p50Ns", sn_series_percentile(series, 50));
    sn_json_u64(json, "p90Ns", sn_series_percentile(series, 90));
    sn_json_u64(json, "p95Ns", sn_series_percentile(series, 95));
    sn_json_u64(json, "p99Ns", sn_series_percentile(series, 99));
    sn_json_u64(json, "maxNs", series->max);
    sn_json_close(json);
}

static void write_rate(struct sn_json *json, const struct sn_report *report, uint64_t count)
{
    double seconds = (double)report->duration_ns / (double)SN_NS_PER_SECOND;
    sn_json_real(json, "perSecond", seconds > 0 ? (double)count / seconds : 0);
}

static uint64_t since_first(const struct sn_report *report, uint64_t time_ns)
{
    return time_ns > report->first_ns ? time_ns - report->first_ns : 0;
}

/* --- JIT --- */

static void write_tiers(struct sn_json *json, const struct sn_jit_report *jit)
{
    sn_json_array(json, "tiers");
    for (uint32_t tier = 0; tier < SN_TIERS; tier++) {
        if (!jit->by_tier[tier])
            continue;
        sn_json_object(json, NULL);
        sn_json_u64(json, "code", tier);
        sn_json_text(json, "tier", sn_clr_tier_name(tier));
        sn_json_u64(json, "count", jit->by_tier[tier]);
        sn_json_u64(json, "timeNs", jit->time_by_tier[tier]);
        sn_json_u64(json, "nativeBytes", jit->native_by_tier[tier]);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_methods(struct sn_json *json, const struct sn_jit_report *jit)
{
    sn_json_array(json, "methods");
    for (size_t i = 0; i < jit->count; i++) {
        const struct sn_jit_method *method = &jit->methods[i];
        sn_json_object(json, NULL);
        sn_json_text(json, "name", method->name);
        sn_json_text(json, "type", method->type);
        sn_json_text(json, "method", method->method);
        sn_json_u64(json, "count", method->count);
        sn_json_u64(json, "timedCount", method->timed_count);
        sn_json_u64(json, "timeNs", method->time_ns);
        sn_json_u64(json, "maxNs", method->max_time_ns);
        sn_json_u64(json, "ilBytes", method->il_bytes);
        sn_json_u64(json, "nativeBytes", method->native_bytes);
        sn_json_close(json);
    }
    sn_json_close(json);
}

void sn_report_json_jit(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_jit_report *jit = &report->jit;
    if (!jit->event_count)
        return;
    sn_json_object(json, "jit");
    sn_json_u64(json, "events", jit->event_count);
    sn_json_u64(json, "compiled", jit->jitted_count);
    sn_json_u64(json, "timed", jit->timed_count);
    sn_json_u64(json, "unfinished", jit->open_count);
    write_series(json, "times", &jit->times);
    sn_json_u64(json, "backgroundTimeNs", jit->background_time_ns);
    sn_json_u64(json, "ilBytes", jit->il_bytes);
    sn_json_u64(json, "nativeBytes", jit->native_bytes);
    sn_json_u64(json, "backgroundBatches", jit->background_count);
    sn_json_u64(json, "backgroundBatchesNs", jit->background_ns);
    sn_json_u64(json, "tieringPauses", jit->paused_count);
    sn_json_u64(json, "tieringPausesNs", jit->paused_ns);
    sn_json_u64(json, "precompiledLookups", jit->r2r_lookup_count);
    write_tiers(json, jit);
    sn_json_u64(json, "notListed", jit->dropped_count);
    write_methods(json, jit);
    sn_json_close(json);
}

/* --- thread pool --- */

static void write_adjustments(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_pool_report *pool = &report->pool;
    sn_json_array(json, "adjustments");
    for (size_t i = 0; i < pool->count; i++) {
        const struct sn_pool_adjustment *one = &pool->adjustments[i];
        sn_json_object(json, NULL);
        sn_json_u64(json, "startNs", since_first(report, one->time_ns));
        sn_json_u64(json, "workers", one->worker_count);
        sn_json_u64(json, "code", one->reason);
        sn_json_text(json, "reason", sn_clr_pool_reason(one->reason));
        sn_json_real(json, "throughput", one->throughput);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_reasons(struct sn_json *json, const struct sn_pool_report *pool)
{
    sn_json_array(json, "reasons");
    for (uint32_t reason = 0; reason < SN_POOL_REASONS; reason++) {
        if (!pool->by_reason[reason])
            continue;
        sn_json_object(json, NULL);
        sn_json_u64(json, "code", reason);
        sn_json_text(json, "reason", sn_clr_pool_reason(reason));
        sn_json_u64(json, "count", pool->by_reason[reason]);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_workers(struct sn_json *json, const struct sn_pool_report *pool)
{
    sn_json_object(json, "workers");
    sn_json_u64(json, "min", pool->worker_min);
    sn_json_u64(json, "max", pool->worker_max);
    sn_json_u64(json, "workingMax", pool->working_max);
    sn_json_u64(json, "limitMin", pool->limit_min);
    sn_json_u64(json, "limitMax", pool->limit_max);
    sn_json_u64(json, "started", pool->worker_start_count);
    sn_json_u64(json, "stopped", pool->worker_stop_count);
    sn_json_u64(json, "waits", pool->worker_wait_count);
    sn_json_close(json);
}

void sn_report_json_pool(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_pool_report *pool = &report->pool;
    char why[128];
    if (!pool->event_count)
        return;
    sn_json_object(json, "threadPool");
    sn_json_u64(json, "events", pool->event_count);
    sn_json_bool(json, "starved", pool->by_reason[SN_POOL_STARVATION] != 0);
    sn_json_text(json, "starvation", sn_pool_starvation(pool, why));
    write_workers(json, pool);
    sn_json_u64(json, "enqueued", pool->enqueue_count);
    sn_json_u64(json, "dequeued", pool->dequeue_count);
    sn_json_u64(json, "ioEnqueued", pool->io_enqueue_count);
    sn_json_u64(json, "ioDequeued", pool->io_dequeue_count);
    sn_json_u64(json, "waiting", pool->waiting_count);
    write_series(json, "queueWaits", &pool->queue_waits);
    write_reasons(json, pool);
    sn_json_u64(json, "notListed", pool->dropped_count);
    write_adjustments(json, report);
    sn_json_close(json);
}

/* --- requests --- */

static void write_statuses(struct sn_json *json, const struct sn_route *route)
{
    static const char *const names[SN_STATUS_CLASSES] = {"unknown", "1xx", "2xx",
                                                         "3xx",     "4xx", "5xx"};
    sn_json_object(json, "statuses");
    for (size_t i = 0; i < SN_STATUS_CLASSES; i++) {
        if (route->by_status[i])
            sn_json_u64(json, names[i], route->by_status[i]);
    }
    sn_json_close(json);
}

static void write_route(struct sn_json *json, const struct sn_report *report,
                        const struct sn_route *route)
{
    sn_json_object(json, NULL);
    sn_json_text(json, "method", route->method);
    if (route->host)
        sn_json_text(json, "host", route->host);
    sn_json_text(json, "pattern", route->pattern);
    sn_json_bool(json, "rest", route->is_rest);
    sn_json_u64(json, "count", route->count);
    write_rate(json, report, route->count);
    sn_json_u64(json, "done", route->done_count);
    sn_json_u64(json, "open", route->open_count);
    sn_json_u64(json, "oldestOpenNs", route->oldest_ns);
    sn_json_u64(json, "failed", route->failed_count);
    sn_json_u64(json, "exceptions", route->exception_count);
    write_statuses(json, route);
    write_series(json, "times", &route->times);
    sn_json_close(json);
}

static void write_routes(struct sn_json *json, const char *key, const struct sn_report *report,
                         bool is_outgoing)
{
    const struct sn_request_report *requests = &report->requests;
    uint64_t count = 0;
    for (size_t i = 0; i < requests->count; i++)
        count += (requests->routes[i].host != NULL) == is_outgoing ? requests->routes[i].count : 0;
    sn_json_object(json, key);
    sn_json_u64(json, "count", count);
    write_rate(json, report, count);
    write_series(json, "times", is_outgoing ? &requests->sent_times : &requests->times);
    sn_json_array(json, "routes");
    for (size_t i = 0; i < requests->count; i++) {
        if ((requests->routes[i].host != NULL) == is_outgoing)
            write_route(json, report, &requests->routes[i]);
    }
    sn_json_close(json);
    sn_json_close(json);
}

void sn_report_json_requests(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_request_report *requests = &report->requests;
    if (!requests->event_count)
        return;
    sn_json_object(json, "requests");
    sn_json_u64(json, "events", requests->event_count);
    sn_json_u64(json, "open", requests->open_count);
    sn_json_u64(json, "unmatched", requests->unmatched_count);
    sn_json_u64(json, "matchedByThread", requests->by_thread_count);
    sn_json_u64(json, "exceptions", requests->exception_count);
    write_routes(json, "served", report, false);
    write_routes(json, "sent", report, true);
    sn_json_close(json);
}

/* --- tasks --- */

static void write_kind(struct sn_json *json, const struct sn_task_kind *kind)
{
    sn_json_object(json, NULL);
    sn_json_text(json, "name", kind->name);
    sn_json_text(json, "operation", kind->operation);
    sn_json_bool(json, "async", kind->is_async);
    sn_json_bool(json, "framework", kind->is_framework);
    sn_json_bool(json, "rest", kind->is_rest);
    sn_json_u64(json, "count", kind->count);
    sn_json_u64(json, "done", kind->done_count);
    sn_json_u64(json, "failed", kind->failed_count);
    sn_json_u64(json, "cancelled", kind->cancelled_count);
    sn_json_u64(json, "open", kind->open_count);
    sn_json_u64(json, "oldestOpenNs", kind->oldest_ns);
    write_series(json, "times", &kind->times);
    sn_json_close(json);
}

/* In the order of the text: what may be stuck comes first. */
static void write_open(struct sn_json *json, const struct sn_task_report *tasks)
{
    SN_AUTO(sn_open_tasks_done) struct sn_open_tasks open = {0};
    sn_open_tasks_find(&open, tasks);
    sn_json_array(json, "notEnded");
    for (size_t i = 0; i < open.count; i++) {
        sn_json_object(json, NULL);
        sn_json_text(json, "name", open.kinds[i]->name);
        sn_json_bool(json, "framework", open.kinds[i]->is_framework);
        sn_json_u64(json, "open", open.kinds[i]->open_count);
        sn_json_u64(json, "oldestOpenNs", open.kinds[i]->oldest_ns);
        sn_json_close(json);
    }
    sn_json_close(json);
}

void sn_report_json_tasks(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_task_report *tasks = &report->tasks;
    if (!tasks->event_count)
        return;
    sn_json_object(json, "tasks");
    sn_json_u64(json, "events", tasks->event_count);
    sn_json_u64(json, "scheduled", tasks->scheduled_count);
    sn_json_u64(json, "started", tasks->started_count);
    sn_json_u64(json, "completed", tasks->completed_count);
    sn_json_u64(json, "failed", tasks->failed_count);
    sn_json_u64(json, "waiting", tasks->waiting_count);
    sn_json_u64(json, "running", tasks->running_count);
    write_series(json, "queueWaits", &tasks->queue_waits);
    write_series(json, "runs", &tasks->runs);
    sn_json_u64(json, "awaits", tasks->await_count);
    sn_json_u64(json, "blockingWaits", tasks->sync_wait_count);
    sn_json_u64(json, "blocked", tasks->blocked_count);
    sn_json_u64(json, "longestBlockedNs", tasks->blocked_ns);
    write_series(json, "blockingWaitTimes", &tasks->sync_waits);
    sn_json_u64(json, "operations", tasks->operation_count);
    sn_json_u64(json, "open", tasks->open_count);
    sn_json_u64(json, "unmatched", tasks->unmatched_count);
    write_open(json, tasks);
    sn_json_array(json, "kinds");
    for (size_t i = 0; i < tasks->count; i++)
        write_kind(json, &tasks->kinds[i]);
    sn_json_close(json);
    sn_json_close(json);
}
