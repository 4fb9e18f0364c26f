/* The thread pool: workers, why their number changed, how long work waited in the queue. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/event_fields.h"
#include "sink/aggregate/open_set.h"
#include "sink/aggregate/work_topics.h"

#define ADJUSTMENT_MAX 16384u
#define QUEUED_MAX     (1u << 18)

#define FRAMEWORK_PROVIDER "System.Diagnostics.Eventing.FrameworkEventSource"

enum {
    WORKER_START = 50,
    WORKER_STOP = 51,
    ADJUSTMENT = 55,
    WORKER_WAIT = 57,
    MIN_MAX = 59,
    WORKING_COUNT = 60,
    ENQUEUE = 61,
    DEQUEUE = 62,
    IO_ENQUEUE = 63,
    IO_DEQUEUE = 64,
};

enum { WORK_ENQUEUE = 30, WORK_DEQUEUE = 31 }; /* of the framework's provider */

/* Ids of work items are of one kind each. */
enum { RUNTIME_WORK = 1, IO_WORK, FRAMEWORK_WORK };

struct pool {
    struct sn_sink sink;
    struct sn_report *report;  /* borrows */
    struct sn_open_set queued; /* by kind and id; count: how often, status: ambiguous, number: items
                                  that had begun then */
    uint64_t begun_count;
    uint64_t late_until_ns; /* what late items waited for is counted until then */
    uint64_t late_until_count;
};

/* --- workers --- */

static void take_workers(struct sn_pool_report *report, const struct sn_event *event)
{
    uint64_t active;
    if (!sn_event_find_number(event, "ActiveWorkerThreadCount", &active))
        return;
    if (!report->has_workers || active < report->worker_min)
        report->worker_min = (uint32_t)active;
    if (!report->has_workers || active > report->worker_max)
        report->worker_max = (uint32_t)active;
    report->has_workers = true;
}

static void keep_adjustment(struct sn_pool_report *report, const struct sn_pool_adjustment *one)
{
    struct sn_pool_adjustment *all =
        report->count == ADJUSTMENT_MAX
            ? NULL
            : sn_array_room(report->adjustments, report->count, &report->capacity, sizeof(*all));
    if (!all) {
        report->dropped_count++;
        return;
    }
    report->adjustments = all;
    all[report->count++] = *one;
}

static void take_adjustment(struct sn_pool_report *report, const struct sn_event *event)
{
    uint64_t reason;
    if (!sn_event_find_number(event, "Reason", &reason) || reason >= SN_POOL_REASONS)
        return;
    struct sn_pool_adjustment adjustment = {
        .time_ns = event->time_ns,
        .worker_count = (uint32_t)sn_event_number(event, "NewWorkerThreadCount"),
        .reason = (uint8_t)reason,
        .throughput = sn_event_real(event, "AverageThroughput")};
    report->by_reason[reason]++;
    keep_adjustment(report, &adjustment);
    if (reason != SN_POOL_STARVATION)
        return;
    if (!report->starved_from_ns)
        report->starved_from_ns = event->time_ns;
    report->starved_until_ns = event->time_ns;
}

static void take_limits(struct sn_pool_report *report, const struct sn_event *event)
{
    report->limit_min = (uint32_t)sn_event_number(event, "MinWorkerThreads");
    report->limit_max = (uint32_t)sn_event_number(event, "MaxWorkerThreads");
}

static void take_working(struct sn_pool_report *report, const struct sn_event *event)
{
    uint32_t count = (uint32_t)sn_event_number(event, "Count");
    if (count > report->working_max)
        report->working_max = count;
}

/* --- the queue --- */

static uint64_t work_key(const struct sn_event *event, const char *field, uint64_t kind,
                         bool *ret_known)
{
    uint64_t id = 0;
    *ret_known = sn_event_find_number(event, field, &id);
    return sn_event_hash(kind, &id, sizeof(id));
}

/* An id is a hash code: objects may share it, and one may be queued again before it is taken. Which
 * dequeue belongs to which enqueue is not known then, so none of them is timed. */
static void take_enqueue(struct pool *pool, const struct sn_event *event, const char *field,
                         uint64_t kind)
{
    bool is_known;
    uint64_t key = work_key(event, field, kind, &is_known);
    if (!is_known)
        return;
    struct sn_open *open = sn_open_set_find(&pool->queued, key);
    if (open) {
        open->count++;
        open->status = 1;
        return;
    }
    open = sn_open_set_begin(&pool->queued, key, event->time_ns);
    if (open) {
        open->count = 1;
        open->number = pool->begun_count;
    }
}

/* Times of items that wait together count once: they begin in order of time. */
static void take_late(struct pool *pool, const struct sn_open *item, uint64_t now_ns)
{
    struct sn_pool_report *report = &pool->report->pool;
    bool is_new = item->since_ns > pool->late_until_ns;
    uint64_t from_count = is_new ? item->number : pool->late_until_count;
    report->late_ns += sn_elapsed(is_new ? item->since_ns : pool->late_until_ns, now_ns);
    report->late_begun_count += pool->begun_count - from_count;
    pool->late_until_ns = now_ns;
    pool->late_until_count = pool->begun_count;
}

static void take_dequeue(struct pool *pool, const struct sn_event *event, const char *field,
                         uint64_t kind)
{
    bool is_known;
    uint64_t key = work_key(event, field, kind, &is_known);
    struct sn_open *open = is_known ? sn_open_set_find(&pool->queued, key) : NULL;
    struct sn_open ended;
    pool->begun_count++;
    if (!open || --open->count || !sn_open_set_end(&pool->queued, key, &ended))
        return;
    if (ended.status)
        return;
    uint64_t wait_ns = sn_elapsed(ended.since_ns, event->time_ns);
    sn_series_add(&pool->report->pool.queue_waits, wait_ns);
    if (wait_ns >= SN_POOL_LATE_NS)
        take_late(pool, &ended, event->time_ns);
}

/* --- events --- */

static void take_framework(struct pool *pool, const struct sn_event *event)
{
    struct sn_pool_report *report = &pool->report->pool;
    report->event_count++;
    if (event->schema->event_id == WORK_ENQUEUE) {
        report->enqueue_count++;
        take_enqueue(pool, event, "workID", FRAMEWORK_WORK);
    } else {
        report->dequeue_count++;
        take_dequeue(pool, event, "workID", FRAMEWORK_WORK);
    }
}

static void take_runtime(struct pool *pool, const struct sn_event *event)
{
    struct sn_pool_report *report = &pool->report->pool;
    report->event_count++;
    switch (event->schema->event_id) {
    case WORKER_START:
        report->worker_start_count++;
        take_workers(report, event);
        break;
    case WORKER_STOP:
        report->worker_stop_count++;
        take_workers(report, event);
        break;
    case WORKER_WAIT:
        report->worker_wait_count++;
        take_workers(report, event);
        break;
    case ADJUSTMENT: take_adjustment(report, event); break;
    case MIN_MAX: take_limits(report, event); break;
    case WORKING_COUNT: take_working(report, event); break;
    case ENQUEUE:
        report->enqueue_count++;
        take_enqueue(pool, event, "WorkID", RUNTIME_WORK);
        break;
    case DEQUEUE:
        report->dequeue_count++;
        take_dequeue(pool, event, "WorkID", RUNTIME_WORK);
        break;
    case IO_ENQUEUE:
        report->io_enqueue_count++;
        take_enqueue(pool, event, "NativeOverlapped", IO_WORK);
        break;
    case IO_DEQUEUE:
        report->io_dequeue_count++;
        take_dequeue(pool, event, "NativeOverlapped", IO_WORK);
        break;
    default: break;
    }
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct pool *pool = (struct pool *)sink;
    if (strcmp(event->schema->provider, SN_RUNTIME_PROVIDER) == 0)
        take_runtime(pool, event);
    else if (strcmp(event->schema->provider, FRAMEWORK_PROVIDER) == 0)
        take_framework(pool, event);
    return SONDE_OK;
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct pool *pool = (struct pool *)sink;
    struct sn_pool_report *report = &pool->report->pool;
    for (size_t i = 0; i < pool->queued.count; i++)
        report->waiting_count += pool->queued.items[i].count;
    return SONDE_OK;
}

static void free_pool(struct sn_sink *sink)
{
    struct pool *pool = (struct pool *)sink;
    sn_open_set_done(&pool->queued);
    free(pool);
}

static const struct sn_sink_ops ops = {
    .name = "pool", .event = take_event, .finish = finish, .free = free_pool};

struct sn_sink *sn_pool_make(const struct sn_aggregate_context *context, struct sonde_error *err)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    if (!pool) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the thread pool's part of a report");
        return NULL;
    }
    *pool = (struct pool){
        .sink.ops = &ops, .report = context->report, .queued = sn_open_set_with_limit(QUEUED_MAX)};
    return &pool->sink;
}

static const uint32_t runtime_ids[] = {WORKER_START, WORKER_STOP,   ADJUSTMENT, WORKER_WAIT,
                                       MIN_MAX,      WORKING_COUNT, ENQUEUE,    DEQUEUE,
                                       IO_ENQUEUE,   IO_DEQUEUE};
static const uint32_t framework_ids[] = {WORK_ENQUEUE, WORK_DEQUEUE};
static const struct sn_request_item items[] = {
    {.provider = SN_RUNTIME_PROVIDER,
     .ids = runtime_ids,
     .id_count = sizeof(runtime_ids) / sizeof(*runtime_ids)},
    {.provider = FRAMEWORK_PROVIDER,
     .ids = framework_ids,
     .id_count = sizeof(framework_ids) / sizeof(*framework_ids)},
};
const struct sn_request sn_pool_request = {.items = items, .item_count = 2};
