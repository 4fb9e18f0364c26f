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
#include "convert/work_facts.h"
#include "model/report.h"

#define TITLE_WIDTH 12u /* of a heading */
#define NAME_LEAST  10u /* columns of a name in a heading, however narrow the page is */
#define NAME_MOST   90u
#define NAME_BYTES  1024u /* more of a name is not looked at */
#define INDENT      "  "

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xC0u) == 0x80u;
}

/* A name from outside, fit for a heading, its beginning cut away beyond `room` columns. */
static const char *headline_name(struct sn_buf *to, const char *text, size_t room)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit((size_t)8 * NAME_BYTES);
    size_t size = strlen(text);
    const char *from = size > NAME_BYTES ? text + size - NAME_BYTES : text;
    while (is_inside_character(*from) && from > text)
        from++;
    sn_text_printable(&safe, from, strlen(from));
    const char *shown = sn_buf_string(&safe);
    size_t columns = 0;
    for (const char *at = shown; *at; at++)
        columns += !is_inside_character(*at);
    if (columns > room) {
        sn_buf_text(to, "…");
        for (; columns >= room; shown++) /* the sign takes one */
            columns -= !is_inside_character(shown[1]);
    }
    sn_buf_text(to, shown);
    return sn_buf_string(to);
}

/* A heading with a name from outside between our own words; all of it in one line of the page. */
static void put_named_heading(struct sn_text_report *page, const char *title, const char *before,
                              const char *name, const char *after)
{
    SN_AUTO(sn_buf_done) struct sn_buf cut = sn_buf_with_limit((size_t)8 * NAME_BYTES);
    size_t taken = TITLE_WIDTH + strlen(before) + strlen(after);
    size_t room = page->width > taken + NAME_LEAST ? page->width - taken : NAME_LEAST;
    sn_text_heading(page, title, "%s%s%s", before,
                    headline_name(&cut, name, least(room, NAME_MOST)), after);
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
    char methods[64];
    char time[32];
    char dearest[32];
    char code[16];
    char before[128];
    char after[48];
    if (!jit->jitted_count) { /* the runtime tells of methods at the verbose level only */
        sn_text_heading(page, "JIT", SN_JIT_NOT_TOLD);
        return;
    }
    counted(jit->jitted_count, "method", methods);
    if (!jit->timed_count || !jit->count) {
        sn_text_heading(page, "JIT", "%s compiled to %s of code; their start was not seen", methods,
                        sn_text_bytes(jit->native_bytes, code));
        return;
    }
    (void)snprintf(before, sizeof(before), "%s compiled in %s; dearest: ", methods,
                   sn_text_ns(jit->time_ns, time));
    (void)snprintf(after, sizeof(after), ", %s", sn_text_ns(jit->methods[0].time_ns, dearest));
    put_named_heading(page, "JIT", before, jit->methods[0].name, after);
}

static void put_tiers(struct sn_text_report *page, const struct sn_jit_report *jit)
{
    static const char *const titles[] = {"LOADED", "TIME", "CODE", NULL};
    static const char *const untimed[] = {"LOADED", "CODE", NULL};
    uint64_t loaded = 0;
    for (uint32_t tier = 0; tier < SN_TIERS; tier++)
        loaded += jit->by_tier[tier];
    if (!loaded)
        return;
    put_titles(page, jit->timed_count ? titles : untimed, 10, "TIER");
    for (uint32_t tier = 0; tier < SN_TIERS; tier++) {
        if (!jit->by_tier[tier])
            continue;
        sn_text_words(page, SN_STYLE_NONE, INDENT);
        sn_text_right_count(page, jit->by_tier[tier], 10);
        if (jit->timed_count)
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
    char share[16];
    if (jit->timed_count) {
        sn_text_words(page, SN_STYLE_NONE, INDENT "%s of the time was spent in the background",
                      sn_text_share(jit->background_time_ns, jit->time_ns, share));
        sn_text_end(page);
    }
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

static void put_pool_headline(struct sn_text_report *page, const struct sn_pool_report *pool)
{
    char workers[64] = "workers not told";
    char items[64];
    char rest[96] = "";
    char wait[32];
    char why[128];
    if (pool->has_workers && pool->worker_min == pool->worker_max)
        (void)counted(pool->worker_max, "worker", workers);
    else if (pool->has_workers)
        (void)snprintf(workers, sizeof(workers), "%" PRIu32 " to %" PRIu32 " workers",
                       pool->worker_min, pool->worker_max);
    if (pool->queue_waits.seen_count)
        (void)snprintf(rest, sizeof(rest), "; %s, p99 wait %s",
                       counted(pool->dequeue_count, "work item", items),
                       sn_text_ns(sn_series_percentile(&pool->queue_waits, 99), wait));
    sn_text_heading(page, "Thread pool", "%s%s%s", sn_pool_starvation(pool, why) ? "STARVED; " : "",
                    workers, rest);
}

/* What it means, since the runtime says it in one word among others, or not at all while now and
 * then a thread comes free. */
static void put_starvation(struct sn_text_report *page, const struct sn_pool_report *pool)
{
    char to[128];
    const char *why = sn_pool_starvation(pool, to);
    if (!why)
        return;
    sn_text_words(page, SN_STYLE_BAD, INDENT "Starvation: ");
    sn_text_words(page, SN_STYLE_NONE, "%s.", why);
    sn_text_end(page);
    sn_text_words(page, SN_STYLE_NONE, INDENT SN_POOL_ADVICE_1);
    sn_text_end(page);
    sn_text_words(page, SN_STYLE_NONE, INDENT SN_POOL_ADVICE_2);
    sn_text_end(page);
}

static void put_queue(struct sn_text_report *page, const struct sn_pool_report *pool)
{
    char p50[32];
    char p99[32];
    char max[32];
    char left[64];
    const struct sn_series *waits = &pool->queue_waits;
    if (waits->seen_count) {
        sn_text_words(
            page, SN_STYLE_NONE, INDENT "wait in the queue: median %s, p99 %s, longest %s",
            sn_text_ns(sn_series_percentile(waits, 50), p50),
            sn_text_ns(sn_series_percentile(waits, 99), p99), sn_text_ns(waits->max, max));
        sn_text_end(page);
    }
    if (pool->waiting_count) {
        sn_text_words(page, SN_STYLE_NONE, INDENT "%s had not begun at the end",
                      counted(pool->waiting_count, "work item", left));
        sn_text_end(page);
    }
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
    const struct sn_route *route = slowest(&report->requests, sent);
    uint64_t count = count_requests(&report->requests, sent);
    char requests[64];
    char rate[32];
    char p99[32];
    char before[128];
    char after[48];
    const char *title = sent ? "HTTP sent" : "HTTP served";
    counted(count, "request", requests);
    per_second(report, count, rate);
    if (!route) {
        sn_text_heading(page, title, "%s, %s; none ended", requests, rate);
        return;
    }
    route_text(&text, route);
    (void)snprintf(before, sizeof(before), "%s, %s; slowest: ", requests, rate);
    (void)snprintf(after, sizeof(after), ", p99 %s",
                   sn_text_ns(sn_series_percentile(&route->times, 99), p99));
    put_named_heading(page, title, before, sn_buf_string(&text), after);
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
                  sn_route_knows_failures(route) ? sn_text_count(route->failed_count, failed) : "-",
                  7);
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
    if (sn_requests_are_guessed(requests)) {
        sn_text_words(page, SN_STYLE_WARN, INDENT "%s without activity id: matched by thread,",
                      counted(requests->by_thread_count, "request", count));
        sn_text_end(page);
        sn_text_words(page, SN_STYLE_WARN,
                      INDENT "which awaits break; --profile aspnet,http asks for the ids");
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

static void put_tasks_headline(struct sn_text_report *page, const struct sn_task_report *tasks,
                               const struct sn_open_tasks *open)
{
    char operations[64];
    char digits[32];
    char age[32];
    char before[128];
    char after[48];
    counted(tasks->operation_count, "operation", operations);
    if (!open->count) {
        sn_text_heading(page, "Tasks", "%s, all that began have ended", operations);
        return;
    }
    if (!open->own_count) {
        sn_text_heading(page, "Tasks", "%s, all ended but %s of the framework's", operations,
                        sn_text_count(tasks->open_count, digits));
        return;
    }
    (void)snprintf(before, sizeof(before),
                   "%s of %s open; oldest own: ", sn_text_count(tasks->open_count, digits),
                   operations);
    (void)snprintf(after, sizeof(after), ", %s", sn_text_ns(open->kinds[0]->oldest_ns, age));
    put_named_heading(page, "Tasks", before, open->kinds[0]->name, after);
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
    put_series(page, "threads blocked", &tasks->sync_waits);
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

/* The reader's own are what may be stuck; the framework's are one line, as they always wait. */
static void put_open(struct sn_text_report *page, const struct sn_open_tasks *open)
{
    static const char *const titles[] = {"OLDEST", "OPEN", NULL};
    SN_AUTO(sn_buf_done) struct sn_buf names = sn_buf_with_limit(65536);
    size_t shown = least(open->own_count, page->count);
    if (!open->count)
        return;
    put_titles(page, titles, 8, "NOT ENDED WHEN THE TRACE DID");
    for (size_t i = 0; i < shown; i++) {
        const struct sn_task_kind *kind = open->kinds[i];
        sn_text_words(page, SN_STYLE_NONE, INDENT);
        sn_text_right_ns(page, kind->oldest_ns, 8);
        sn_text_right_count(page, kind->open_count, 8);
        sn_text_words(page, SN_STYLE_NONE, "  ");
        sn_text_rest(page, SN_STYLE_BOLD, kind->name);
        sn_text_end(page);
    }
    put_more(page, shown, open->own_count, "operation");
    if (open->own_count == open->count)
        return;
    sn_open_tasks_framework(&names, open);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_right_ns(page, open->framework_oldest_ns, 8);
    sn_text_right_count(page, open->framework_open_count, 8);
    sn_text_words(page, SN_STYLE_NONE, "  ");
    sn_text_rest_start(page, SN_STYLE_DIM, sn_buf_string(&names));
    sn_text_end(page);
}

static void put_unseen(struct sn_text_report *page, const struct sn_task_report *tasks)
{
    SN_AUTO(sn_buf_done) struct sn_buf words = sn_buf_with_limit(256);
    sn_tasks_unseen(&words, tasks);
    sn_text_words(page, SN_STYLE_DIM, INDENT "%s", sn_buf_string(&words));
    sn_text_end(page);
}

void sn_report_text_tasks(struct sn_text_report *page, const struct sn_report *report)
{
    SN_AUTO(sn_open_tasks_done) struct sn_open_tasks open = {0};
    const struct sn_task_report *tasks = &report->tasks;
    size_t shown = least(tasks->count, page->count);
    if (!tasks->event_count)
        return;
    sn_open_tasks_find(&open, tasks);
    put_tasks_headline(page, tasks, &open);
    put_open(page, &open);
    put_unseen(page, tasks);
    put_series(page, "tasks queued", &tasks->queue_waits);
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
}
