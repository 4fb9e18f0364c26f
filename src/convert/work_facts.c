#include "convert/work_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "convert/report_text.h"
#include "model/report.h"

#define LATE_LONG_NS (500ull * SN_NS_PER_MS) /* so long work waits, and it is no accident */
#define HELD_NS      (20ull * SN_NS_PER_MS) /* a worker is held up by an item: it does not compute */
#define SEAM_SHARE   20u                    /* one in so many requests lies at a seam */

/* --- thread pool --- */

static const char *starvation_by_runtime(const struct sn_pool_report *pool, char to[128])
{
    uint64_t count = pool->by_reason[SN_POOL_STARVATION];
    char digits[32];
    char span[32];
    if (count == 1)
        (void)snprintf(to, 128, "once no thread came free for waiting work; one was added");
    else
        (void)snprintf(to, 128, "%s times within %s no thread came free; one was added",
                       sn_text_count(count, digits),
                       sn_text_ns(pool->starved_until_ns - pool->starved_from_ns, span));
    return to;
}

/* Whether items keep their workers for long while others wait. A burst of short work waits, too,
 * but its pool is busy, and gets through. */
static bool workers_are_held(const struct sn_pool_report *pool)
{
    uint64_t workers = pool->has_workers ? pool->worker_max : pool->working_max;
    return !workers || pool->late_ns * workers >= pool->late_begun_count * HELD_NS;
}

const char *sn_pool_starvation(const struct sn_pool_report *pool, char to[128])
{
    uint64_t median_ns = sn_series_percentile(&pool->queue_waits, 50);
    char time[32];
    if (pool->by_reason[SN_POOL_STARVATION])
        return starvation_by_runtime(pool, to);
    if (!workers_are_held(pool))
        return NULL;
    if (median_ns >= SN_POOL_LATE_NS)
        (void)snprintf(to, 128, "every second work item waited %s or more for a thread",
                       sn_text_ns(median_ns, time));
    else if (pool->late_ns >= LATE_LONG_NS && pool->worker_max > pool->worker_min)
        (void)snprintf(to, 128,
                       "work waited for a thread for %s, while workers grew from %" PRIu32
                       " to %" PRIu32,
                       sn_text_ns(pool->late_ns, time), pool->worker_min, pool->worker_max);
    else
        return NULL;
    return to;
}

/* --- requests --- */

bool sn_requests_are_guessed(const struct sn_request_report *requests)
{
    return requests->by_thread_count * SEAM_SHARE > requests->times.seen_count;
}

bool sn_route_knows_failures(const struct sn_route *route)
{
    return route->failed_count || route->by_status[0] < route->done_count;
}

/* --- tasks --- */

static int own_and_oldest_first(const void *left, const void *right)
{
    const struct sn_task_kind *a = *(const struct sn_task_kind *const *)left;
    const struct sn_task_kind *b = *(const struct sn_task_kind *const *)right;
    if (a->is_framework != b->is_framework)
        return a->is_framework ? 1 : -1;
    if (a->oldest_ns != b->oldest_ns)
        return a->oldest_ns < b->oldest_ns ? 1 : -1;
    return (a > b) - (a < b);
}

static void take_open(struct sn_open_tasks *open, const struct sn_task_kind *kind)
{
    open->kinds[open->count++] = kind;
    if (!kind->is_framework) {
        open->own_count++;
        return;
    }
    open->framework_open_count += kind->open_count;
    if (kind->oldest_ns > open->framework_oldest_ns)
        open->framework_oldest_ns = kind->oldest_ns;
}

void sn_open_tasks_find(struct sn_open_tasks *open, const struct sn_task_report *tasks)
{
    *open = (struct sn_open_tasks){
        .kinds = calloc(tasks->count + 1, sizeof(const struct sn_task_kind *))};
    for (size_t i = 0; open->kinds && i < tasks->count; i++) {
        if (tasks->kinds[i].open_count)
            take_open(open, &tasks->kinds[i]);
    }
    if (open->count)
        qsort(open->kinds, open->count, sizeof(const struct sn_task_kind *), own_and_oldest_first);
}

void sn_open_tasks_done(struct sn_open_tasks *open)
{
    free(open->kinds);
    *open = (struct sn_open_tasks){0};
}

/* "SocketConnection.DoReceive": type and method, without the namespace. */
static const char *without_namespace(const char *name)
{
    const char *type = name;
    const char *member = name;
    for (const char *at = name; (at = strchr(at, '.')); at++) {
        type = member;
        member = at + 1;
    }
    return type;
}

void sn_open_tasks_framework(struct sn_buf *to, const struct sn_open_tasks *open)
{
    sn_buf_text(to, "the framework's own: ");
    for (size_t i = open->own_count; i < open->count; i++) {
        sn_buf_text(to, i > open->own_count ? ", " : "");
        sn_buf_text(to, without_namespace(open->kinds[i]->name));
    }
}

void sn_tasks_unseen(struct sn_buf *to, const struct sn_task_report *tasks)
{
    char digits[32];
    sn_buf_text(to, "operations that began before the trace are not seen");
    if (tasks->unmatched_count)
        sn_buf_format(to, "; %s of them ended", sn_text_count(tasks->unmatched_count, digits));
}
