/* Sections of the text report: JIT, thread pool, requests, tasks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "clr/words.h"
#include "convert/report_text.h"
#include "model/report.h"

#define HEADLINE_NAME 64u /* bytes of a name in a first line */
#define INDENT        "  "
#define OPEN_ROWS     5u
#define LONG_WAIT_NS  (100ull * SN_NS_PER_MS) /* a median wait that people notice */

/* A name from outside, fit for a heading. */
static const char *headline_name(struct sn_buf *to, const char *text)
{
    size_t size = strnlen(text, HEADLINE_NAME + 1);
    bool is_cut = size > HEADLINE_NAME;
    if (is_cut) {
        size = HEADLINE_NAME;
        while (size && ((unsigned char)text[size] & 0xC0u) == 0x80u)
            size--;
    }
    sn_text_printable(to, text, size);
    if (is_cut)
        sn_buf_text(to, "…");
    return sn_buf_string(to);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void put_titles(struct sn_text_report *page, const char *const *titles, unsigned width,
                       const char *last)
{
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    for (; *titles; titles++)
        sn_text_right(page, SN_STYLE_DIM, *titles, width);
    sn_text_words(page, SN_STYLE_DIM, "  %s", last);
    sn_text_end(page);
}

static void put_more(struct sn_text_report *page, size_t shown, size_t all, const char *what)
{
    char count[32];
    if (shown >= all)
        return;
    sn_text_words(page, SN_STYLE_DIM, INDENT "and %s more %s%s", sn_text_count(all - shown, count),
                  what, all - shown == 1 ? "" : "s");
    sn_text_end(page);
}

/* "118/s", "0.3/s". */
static const char *per_second(const struct sn_report *report, uint64_t count, char to[32])
{
    uint64_t ns = report->duration_ns ? report->duration_ns : 1;
    double rate = (double)count * (double)SN_NS_PER_SECOND / (double)ns;
    uint64_t tenths = rate < 10 ? (uint64_t)(rate * 10 + 0.5) : 0;
    char digits[32];
    if (rate >= 10)
        (void)snprintf(to, 32, "%s/s", sn_text_count((uint64_t)(rate + 0.5), digits));
    else
        (void)snprintf(to, 32, "%" PRIu64 ".%" PRIu64 "/s", tenths / 10, tenths % 10);
    return to;
}

/* "1 request", "2,000 requests". */
static const char *counted(uint64_t count, const char *noun, char to[64])
{
    char digits[32];
    (void)snprintf(to, 64, "%s %s%s", sn_text_count(count, digits), noun, count == 1 ? "" : "s");
    return to;
}

/* --- JIT --- */

static void put_jit_headline(struct sn_text_report *page, const struct sn_jit_report *jit)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1024);
    char methods[64];
    char time[32];
    char share[16];
    char dearest[32];
    char code[16];
    if (!jit->jitted_count) { /* the runtime tells of methods at the verbose level only */
        sn_text_heading(page, "JIT", "single methods are not told of: --profile jit asks for them");
        return;
    }
    counted(jit->jitted_count, "method", methods);
    if (!jit->timed_count || !jit->count) {
        sn_text_heading(page, "JIT", "%s compiled to %s of code; their start was not seen", methods,
                        sn_text_bytes(jit->native_bytes, code));
        return;
    }
    sn_text_heading(
        page, "JIT", "%s compiled in %s, %s of it in the background; dearest: %s, %s", methods,
        sn_text_ns(jit->time_ns, time), sn_text_share(jit->background_time_ns, jit->time_ns, share),
        headline_name(&name, jit->methods[0].name), sn_text_ns(jit->methods[0].time_ns, dearest));
}

static void put_tiers(struct sn_text_report *page, const struct sn_jit_report *jit)
{
    static const char *const titles[] = {"LOADED", "TIME", "CODE", NULL};
    uint64_t loaded = 0;
    for (uint32_t tier = 0; tier < SN_TIERS; tier++)
        loaded += jit->by_tier[tier];
    if (!loaded)
        return;
    put_titles(page, titles, 10, "TIER");
    for (uint32_t tier = 0; tier < SN_TIERS; tier++) {
        if (!jit->by_tier[tier])
            continue;
        sn_text_words(page, SN_STYLE_NONE, INDENT);
        sn_text_right_count(page, jit->by_tier[tier], 10);
        sn_text_right_ns(page, jit->time_by_tier[tier], 10);
        sn_text_right_bytes(page, jit->native_by_tier[tier], 10);
        sn_text_words(page, SN_STYLE_NONE, "  %s", sn_clr_tier_name(tier));
        sn_text_end(page);
    }
}

static void put_jit_methods(struct sn_text_report *page, const struct sn_jit_report *jit)
{
    static const char *const titles[] = {"TIME", "LONGEST", "TIMES", "IL", "CODE", NULL};
    size_t shown = least(jit->count, page->count);
    if (!jit->timed_count)
        return;
    put_titles(page, titles, 10, "METHOD");
    for (size_t i = 0; i < shown; i++) {
        const struct sn_jit_method *method = &jit->methods[i];
        sn_text_words(page, SN_STYLE_NONE, INDENT);
        sn_text_right_ns(page, method->time_ns, 10);
        sn_text_right_ns(page, method->max_time_ns, 10);
        sn_text_right_count(page, method->count, 10);
        sn_text_right_bytes(page, method->il_bytes, 10);
        sn_text_right_bytes(page, method->native_bytes, 10);
        sn_text_words(page, SN_STYLE_NONE, "  ");
        sn_text_rest(page, SN_STYLE_NONE, method->name);
        sn_text_end(page);
    }
    put_more(page, shown, jit->count, "method");
}

static void put_tiering(struct sn_text_report *page, const struct sn_jit_report *jit)
{
    char count[64];
    char time[32];
    if (jit->background_count) {
        sn_text_words(page, SN_STYLE_NONE, INDENT "better code was made in the background: %s, %s",
                      counted(jit->background_count, "time", count),
                      sn_text_ns(jit->background_ns, time));
        sn_text_end(page);
    }
    if (jit->paused_count) {
        sn_text_words(page, SN_STYLE_NONE,
                      INDENT "that was put off %s, %s in all, as new methods kept coming",
                      counted(jit->paused_count, "time", count), sn_text_ns(jit->paused_ns, time));
        sn_text_end(page);
    }
    if (jit->r2r_lookup_count) {
        sn_text_words(page, SN_STYLE_NONE, INDENT "precompiled code was found for %s",
                      counted(jit->r2r_lookup_count, "method", count));
        sn_text_end(page);
    }
}

void sn_report_text_jit(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_jit_report *jit = &report->jit;
    if (!jit->event_count)
        return;
    put_jit_headline(page, jit);
    put_tiers(page, jit);
    put_tiering(page, jit);
    put_jit_methods(page, jit);
}

/* --- thread pool --- */

/* The runtime said so, or work waits so long that people notice. */
static bool is_starved(const struct sn_pool_report *pool)
{
    return pool->by_reason[SN_POOL_STARVATION] ||
           sn_series_percentile(&pool->queue_waits, 50) >= LONG_WAIT_NS;
}

static void put_pool_headline(struct sn_text_report *page, const struct sn_pool_report *pool)
{
    char workers[64] = "workers not told";
    char items[64];
    char rest[96] = "";
    char wait[32];
    if (pool->has_workers && pool->worker_min == pool->worker_max)
        (void)counted(pool->worker_max, "active worker", workers);
    else if (pool->has_workers)
        (void)snprintf(workers, sizeof(workers), "%" PRIu32 " to %" PRIu32 " active workers",
                       pool->worker_min, pool->worker_max);
    if (pool->queue_waits.seen_count)
        (void)snprintf(rest, sizeof(rest), "; %s, 99 %% began within %s",
                       counted(pool->dequeue_count, "work item", items),
                       sn_text_ns(sn_series_percentile(&pool->queue_waits, 99), wait));
    sn_text_heading(page, "Thread pool", "%s%s%s", is_starved(pool) ? "STARVED; " : "", workers,
                    rest);
}

/* What it means, since the runtime says it in one word among others, or not at all while now and
 * then a thread comes free. */
static void put_starvation(struct sn_text_report *page, const struct sn_pool_report *pool)
{
    uint64_t count = pool->by_reason[SN_POOL_STARVATION];
    char times[64];
    char span[32];
    if (!is_starved(pool))
        return;
    sn_text_words(page, SN_STYLE_BAD, INDENT "Starvation: ");
    if (count)
        sn_text_words(page, SN_STYLE_NONE,
                      "%s within %s a thread was added because work waited and none came free.",
                      counted(count, "time", times),
                      sn_text_ns(pool->starved_until_ns - pool->starved_from_ns, span));
    else
        sn_text_words(page, SN_STYLE_NONE, "every second work item waited %s or more for a thread.",
                      sn_text_ns(sn_series_percentile(&pool->queue_waits, 50), span));
    sn_text_end(page);
    sn_text_words(page, SN_STYLE_NONE,
                  INDENT "Pool threads that block make others wait: look for .Result, .Wait(), "
                         "locks, sleeps and sync I/O on them.");
    sn_text_end(page);
}

static void put_queue(struct sn_text_report *page, const struct sn_pool_report *pool)
{
    char p50[32];
    char p99[32];
    char max[32];
    char left[64];
    const struct sn_series *waits = &pool->queue_waits;
    if (!waits->seen_count)
        return;
    sn_text_words(page, SN_STYLE_NONE, INDENT "wait in the queue: median %s, p99 %s, longest %s",
                  sn_text_ns(sn_series_percentile(waits, 50), p50),
                  sn_text_ns(sn_series_percentile(waits, 99), p99), sn_text_ns(waits->max, max));
    if (pool->waiting_count)
        sn_text_words(page, SN_STYLE_NONE, "; %s not begun at the end",
                      counted(pool->waiting_count, "item", left));
    sn_text_end(page);
}

static void put_reasons(struct sn_text_report *page, const struct sn_pool_report *pool)
{
    static const char *const titles[] = {"CHANGES", NULL};
    if (!pool->count)
        return;
    put_titles(page, titles, 10, "WHY THE NUMBER OF WORKERS WAS CHANGED");
    for (uint32_t reason = 0; reason < SN_POOL_REASONS; reason++) {
        if (!pool->by_reason[reason])
            continue;
        sn_text_words(page, SN_STYLE_NONE, INDENT);
        sn_text_right_count(page, pool->by_reason[reason], 10);
        sn_text_words(page, reason == SN_POOL_STARVATION ? SN_STYLE_BAD : SN_STYLE_NONE, "  %s",
                      sn_clr_pool_reason(reason));
        sn_text_end(page);
    }
}

void sn_report_text_pool(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_pool_report *pool = &report->pool;
    if (!pool->event_count)
        return;
    put_pool_headline(page, pool);
    put_starvation(page, pool);
    put_queue(page, pool);
    put_reasons(page, pool);
}

/* --- requests --- */

static bool is_sent(const struct sn_route *route)
{
    return route->host != NULL;
}

static void route_text(struct sn_buf *to, const struct sn_route *route)
{
    if (*route->method) {
        sn_buf_text(to, route->method);
        sn_buf_text(to, " ");
    }
    if (is_sent(route))
        sn_buf_text(to, route->host);
    sn_buf_text(to, route->pattern);
}

/* The one whose 99th percentile is the longest; NULL when none has ended. */
static const struct sn_route *slowest(const struct sn_request_report *requests, bool sent)
{
    const struct sn_route *found = NULL;
    for (size_t i = 0; i < requests->count; i++) {
        const struct sn_route *route = &requests->routes[i];
        if (is_sent(route) != sent || !route->done_count)
            continue;
        if (!found ||
            sn_series_percentile(&route->times, 99) > sn_series_percentile(&found->times, 99))
            found = route;
    }
    return found;
}

static uint64_t count_requests(const struct sn_request_report *requests, bool sent)
{
    uint64_t count = 0;
    for (size_t i = 0; i < requests->count; i++)
        count += is_sent(&requests->routes[i]) == sent ? requests->routes[i].count : 0;
    return count;
}

static void put_requests_headline(struct sn_text_report *page, const struct sn_report *report,
                                  bool sent)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(16384);
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1024);
    const struct sn_route *route = slowest(&report->requests, sent);
    uint64_t count = count_requests(&report->requests, sent);
    char requests[64];
    char rate[32];
    char p99[32];
    const char *title = sent ? "HTTP sent" : "HTTP served";
    counted(count, "request", requests);
    per_second(report, count, rate);
    if (!route) {
        sn_text_heading(page, title, "%s, %s; none ended", requests, rate);
        return;
    }
    route_text(&text, route);
    sn_text_heading(page, title, "%s, %s; slowest route %s: p99 %s", requests, rate,
                    headline_name(&name, sn_buf_string(&text)),
                    sn_text_ns(sn_series_percentile(&route->times, 99), p99));
}

static void put_route(struct sn_text_report *page, const struct sn_report *report,
                      const struct sn_route *route)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(16384);
    char rate[32];
    char failed[32];
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_right_count(page, route->count, 8);
    sn_text_right(page, SN_STYLE_NONE, per_second(report, route->count, rate), 8);
    sn_text_right_ns(page, sn_series_percentile(&route->times, 50), 8);
    sn_text_right_ns(page, sn_series_percentile(&route->times, 90), 8);
    sn_text_right_ns(page, sn_series_percentile(&route->times, 99), 8);
    sn_text_right_ns(page, route->times.max, 8);
    sn_text_right(page, route->failed_count ? SN_STYLE_BAD : SN_STYLE_DIM,
                  sn_text_count(route->failed_count, failed), 7);
    sn_text_right_count(page, route->exception_count, 7);
    route_text(&text, route);
    sn_text_words(page, SN_STYLE_NONE, "  ");
    sn_text_rest(page, SN_STYLE_NONE, sn_buf_string(&text));
    sn_text_end(page);
}

static void put_routes(struct sn_text_report *page, const struct sn_report *report, bool sent)
{
    const struct sn_request_report *requests = &report->requests;
    size_t shown = 0;
    size_t all = 0;
    if (!count_requests(requests, sent))
        return;
    put_requests_headline(page, report, sent);
    sn_text_words(page, SN_STYLE_DIM,
                  INDENT "   COUNT    RATE     P50     P90     P99     MAX FAILED THROWN  ROUTE");
    sn_text_end(page);
    for (size_t i = 0; i < requests->count; i++) {
        const struct sn_route *route = &requests->routes[i];
        if (is_sent(route) != sent)
            continue;
        if (all++ < page->count) {
            put_route(page, report, route);
            shown++;
        }
    }
    put_more(page, shown, all, "route");
}

static void put_request_notes(struct sn_text_report *page, const struct sn_request_report *requests)
{
    char count[64];
    if (requests->open_count) {
        sn_text_words(page, SN_STYLE_NONE, INDENT "%s had not ended when the trace did",
                      counted(requests->open_count, "request", count));
        sn_text_end(page);
    }
    if (requests->by_thread_count * 20 > requests->times.seen_count) { /* more than at the seams */
        sn_text_words(page, SN_STYLE_WARN,
                      INDENT "%s without activity id: begin and end were matched by thread, which "
                             "awaits break; --profile aspnet,http asks for the ids",
                      counted(requests->by_thread_count, "request", count));
        sn_text_end(page);
    }
}

void sn_report_text_requests(struct sn_text_report *page, const struct sn_report *report)
{
    if (!report->requests.event_count)
        return;
    put_routes(page, report, false);
    put_routes(page, report, true);
    put_request_notes(page, &report->requests);
}

/* --- tasks --- */

/* The kind with the oldest operation that has not ended, after `last` in that order; NULL for none.
 */
static const struct sn_task_kind *next_oldest(const struct sn_task_report *tasks,
                                              const struct sn_task_kind *last)
{
    const struct sn_task_kind *found = NULL;
    for (size_t i = 0; i < tasks->count; i++) {
        const struct sn_task_kind *kind = &tasks->kinds[i];
        bool is_shown = last && (kind->oldest_ns > last->oldest_ns ||
                                 (kind->oldest_ns == last->oldest_ns && kind <= last));
        if (kind->open_count && !is_shown && (!found || kind->oldest_ns > found->oldest_ns))
            found = kind;
    }
    return found;
}

static void put_tasks_headline(struct sn_text_report *page, const struct sn_task_report *tasks)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1024);
    const struct sn_task_kind *kind = next_oldest(tasks, NULL);
    char operations[64];
    char open[32];
    char age[32];
    counted(tasks->operation_count, "async operation", operations);
    if (!kind) {
        sn_text_heading(page, "Tasks", "%s, all ended", operations);
        return;
    }
    sn_text_heading(page, "Tasks", "%s, %s still open; oldest: %s, %s", operations,
                    sn_text_count(tasks->open_count, open), headline_name(&name, kind->name),
                    sn_text_ns(kind->oldest_ns, age));
}

static void put_series(struct sn_text_report *page, const char *what,
                       const struct sn_series *series)
{
    char count[64];
    char p50[32];
    char p99[32];
    char max[32];
    if (!series->seen_count)
        return;
    sn_text_words(page, SN_STYLE_NONE, INDENT "%s: %s, median %s, p99 %s, longest %s", what,
                  counted(series->seen_count, "time", count),
                  sn_text_ns(sn_series_percentile(series, 50), p50),
                  sn_text_ns(sn_series_percentile(series, 99), p99), sn_text_ns(series->max, max));
    sn_text_end(page);
}

static void put_blocked(struct sn_text_report *page, const struct sn_task_report *tasks)
{
    char count[64];
    char age[32];
    put_series(page, "threads blocked on tasks", &tasks->sync_waits);
    if (!tasks->blocked_count)
        return;
    sn_text_words(page, SN_STYLE_WARN, INDENT "%s still blocked on a task, the longest for %s",
                  counted(tasks->blocked_count, "thread", count),
                  sn_text_ns(tasks->blocked_ns, age));
    sn_text_end(page);
}

static void put_kind(struct sn_text_report *page, const struct sn_task_kind *kind)
{
    char open[32];
    char age[32];
    char failed[32];
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_right_count(page, kind->count, 8);
    sn_text_right_ns(page, sn_series_percentile(&kind->times, 50), 8);
    sn_text_right_ns(page, sn_series_percentile(&kind->times, 99), 8);
    sn_text_right_ns(page, kind->times.max, 8);
    sn_text_right(page, kind->failed_count ? SN_STYLE_BAD : SN_STYLE_DIM,
                  sn_text_count(kind->failed_count, failed), 7);
    sn_text_right(page, kind->open_count ? SN_STYLE_WARN : SN_STYLE_DIM,
                  sn_text_count(kind->open_count, open), 7);
    sn_text_right(page, SN_STYLE_NONE, kind->open_count ? sn_text_ns(kind->oldest_ns, age) : "", 8);
    sn_text_words(page, SN_STYLE_NONE, "  ");
    sn_text_rest(page, SN_STYLE_NONE, kind->name);
    sn_text_end(page);
}

static void put_open(struct sn_text_report *page, const struct sn_task_report *tasks)
{
    static const char *const titles[] = {"OLDEST", "OPEN", NULL};
    const struct sn_task_kind *kind = next_oldest(tasks, NULL);
    if (!kind)
        return;
    put_titles(page, titles, 8, "NOT ENDED WHEN THE TRACE DID");
    for (size_t i = 0; kind && i < least(OPEN_ROWS, page->count); i++) {
        sn_text_words(page, SN_STYLE_NONE, INDENT);
        sn_text_right_ns(page, kind->oldest_ns, 8);
        sn_text_right_count(page, kind->open_count, 8);
        sn_text_words(page, SN_STYLE_NONE, "  ");
        sn_text_rest(page, SN_STYLE_NONE, kind->name);
        sn_text_end(page);
        kind = next_oldest(tasks, kind);
    }
}

void sn_report_text_tasks(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_task_report *tasks = &report->tasks;
    size_t shown = least(tasks->count, page->count);
    if (!tasks->event_count)
        return;
    put_tasks_headline(page, tasks);
    put_series(page, "tasks waited for a worker", &tasks->queue_waits);
    put_series(page, "tasks ran", &tasks->runs);
    put_blocked(page, tasks);
    if (!tasks->count)
        return;
    sn_text_words(page, SN_STYLE_DIM,
                  INDENT "   COUNT     P50     P99     MAX FAILED   OPEN  OLDEST  OPERATION");
    sn_text_end(page);
    for (size_t i = 0; i < shown; i++)
        put_kind(page, &tasks->kinds[i]);
    put_more(page, shown, tasks->count, "operation");
    put_open(page, tasks);
}
