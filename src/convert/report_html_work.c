/* Sections about what the program did: exceptions, allocations, locks, requests, tasks. */
#include "convert/report_html_sections.h"

#include <stdint.h>

#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/html_text.h"
#include "convert/label.h"
#include "convert/report_text.h"
#include "convert/sites.h"
#include "convert/work_facts.h"
#include "model/report.h"

/* --- sites --- */

static void write_value(struct sn_buf *out, uint8_t unit, uint64_t value)
{
    if (unit == SN_UNIT_NS)
        sn_html_cell_ns(out, value);
    else if (unit == SN_UNIT_BYTES)
        sn_html_cell_bytes(out, value);
    else
        sn_html_cell_count(out, value);
}

void sn_report_html_sites(const struct sn_html_report *page, const struct sn_profile *profile,
                          const char *heading, const char *first, const char *second)
{
    const char *const headings[] = {heading, first, second, NULL};
    struct sn_buf *out = &page->stream->buf;
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    sn_sites_find_all(&sites, profile, 0);
    if (!sites.count)
        return;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < sites.count && i < page->row_count; i++) {
        sn_html_row(out, sn_site_name(&sites.items[i]));
        for (size_t column = 0; column < 2; column++)
            write_value(out, profile->columns[column].unit, sites.items[i].values[column]);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

/* --- exceptions, allocations, contention --- */

static void write_rate(struct sn_buf *out, const struct sn_report *report, uint64_t count)
{
    char rate[32];
    double seconds = (double)report->duration_ns / 1e9;
    double tenths = seconds > 0 ? (double)count / seconds * 10 + 0.5 : 0;
    sn_buf_text(out, sn_text_real((double)(uint64_t)tenths / 10, rate));
}

static void write_exceptions_answer(const struct sn_html_report *page)
{
    const struct sn_exception_report *exceptions = &page->report->exceptions;
    struct sn_buf *out = &page->stream->buf;
    SN_AUTO(sn_buf_done) struct sn_buf rate = sn_buf_with_limit(64);
    write_rate(&rate, page->report, exceptions->thrown_count);
    sn_html_facts_begin(out);
    sn_html_fact_count(out, "thrown", exceptions->thrown_count);
    sn_html_fact_text(out, "a second", sn_buf_string(&rate));
    if (exceptions->caught_count) {
        sn_html_fact_ns(out, "from throw to catch", exceptions->cost_ns);
        sn_report_html_percentiles(page, &exceptions->costs);
    }
    if (exceptions->nested_count)
        sn_html_fact_count(out, "while another was handled", exceptions->nested_count);
    if (exceptions->rethrown_count)
        sn_html_fact_count(out, "passed on by throw;", exceptions->rethrown_count);
    sn_html_facts_end(out);
    if (!exceptions->has_catches)
        sn_buf_text(out, "<p><small>The trace does not tell of catches, so there are no "
                         "times.</small></p>\n");
}

void sn_report_html_exceptions(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Type",           "Thrown",  "Per second", "Caught",
                                           "Throw to catch", "Longest", NULL};
    const struct sn_exception_report *exceptions = &page->report->exceptions;
    struct sn_buf *out = &page->stream->buf;
    write_exceptions_answer(page);
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < exceptions->count && i < page->row_count; i++) {
        const struct sn_exception_kind *kind = &exceptions->kinds[i];
        sn_html_row_with(out, kind->name, kind->message ? kind->message : "");
        sn_html_cell_count(out, kind->count);
        sn_buf_text(out, "<td>");
        write_rate(out, page->report, kind->count);
        if (kind->caught_count) {
            sn_html_cell_count(out, kind->caught_count);
            sn_html_cell_ns(out, kind->cost_ns);
            sn_html_cell_ns(out, kind->max_cost_ns);
        } else {
            sn_buf_text(out, "<td>-<td>-<td>-");
        }
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
    sn_buf_text(out, "<h3>Where they are thrown</h3>\n");
    sn_report_html_sites(page, exceptions->profile, "Method", "Thrown", "Throw to catch");
}

void sn_report_html_allocations(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Type", "Bytes", "Share", "Samples", NULL};
    const struct sn_allocation_report *allocations = &page->report->allocations;
    struct sn_buf *out = &page->stream->buf;
    char share[16];
    sn_html_facts_begin(out);
    sn_html_fact_bytes(out, "allocated, estimated", allocations->bytes);
    sn_html_fact_count(out,
                       allocations->is_sampled ? "random samples" : "samples, one every 100 KB",
                       allocations->sample_count);
    sn_html_fact_text(out, "large objects",
                      sn_text_share(allocations->large_bytes, allocations->bytes, share));
    sn_html_facts_end(out);
    sn_buf_text(out, "<div class=columns><div>");
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < allocations->count && i < page->row_count; i++) {
        const struct sn_allocation_kind *kind = &allocations->kinds[i];
        sn_html_row(out, kind->name);
        sn_html_cell_bytes(out, kind->bytes);
        sn_html_cell_share(out, kind->bytes, allocations->bytes);
        sn_html_cell_count(out, kind->sample_count);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
    sn_buf_text(out, "</div><div>");
    sn_report_html_sites(page, allocations->profile, "Allocating method", "Bytes", "Samples");
    sn_buf_text(out, "</div></div>\n");
}

static void write_thread(struct sn_buf *out, uint64_t thread_id, const char *name)
{
    SN_AUTO(sn_buf_done) struct sn_buf label = sn_buf_with_limit(4096);
    const struct sn_profile_thread thread = {.thread_id = thread_id, .name = name};
    sn_label_thread(&label, &thread);
    sn_html_text(out, sn_buf_string(&label));
}

static void write_open_waits(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Waiting method", "Thread", "Lock held by", "So far",
                                           NULL};
    const struct sn_contention_report *contention = &page->report->contention;
    struct sn_buf *out = &page->stream->buf;
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    sn_sites_find_all(&sites, contention->profile, 0);
    sn_buf_text(out, "<h3>Not ended</h3>\n");
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < contention->open_count && i < page->row_count; i++) {
        const struct sn_open_wait *wait = &contention->open_waits[i];
        const struct sn_site site = {.frame =
                                         sn_sites_frame(&sites, contention->profile, wait->node)};
        sn_html_row(out, sn_site_name(&site));
        sn_buf_text(out, "<td>");
        write_thread(out, wait->thread_id, wait->thread_name);
        sn_buf_text(out, "<td>");
        if (wait->owner_id)
            write_thread(out, wait->owner_id, wait->owner_name);
        sn_html_cell_ns(out, wait->ns);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

void sn_report_html_contention(const struct sn_html_report *page)
{
    const struct sn_contention_report *contention = &page->report->contention;
    struct sn_buf *out = &page->stream->buf;
    char time[32];
    if (contention->deadlocked_count)
        sn_buf_format(out,
                      "<p class=note><b>Deadlock:</b> %llu threads wait for each other's locks, "
                      "for %s so far.</p>\n",
                      (unsigned long long)contention->deadlocked_count,
                      sn_text_ns(contention->open_waits[0].ns, time));
    sn_html_facts_begin(out);
    sn_html_fact_count(out, "waits", contention->count);
    sn_html_fact_ns(out, "waited", contention->wait_ns);
    sn_report_html_percentiles(page, &contention->waits);
    if (contention->open_count) {
        sn_html_fact_count(out, "not ended", contention->open_count);
        sn_html_fact_ns(out, "longest of those", contention->longest_open_ns);
    }
    if (contention->native_count)
        sn_html_fact_ns(out, "for locks of the runtime", contention->native_ns);
    sn_html_facts_end(out);
    if (contention->open_count)
        write_open_waits(page);
    sn_report_html_sites(page, contention->profile, "Waiting method", "Waited", "Waits");
}

/* --- requests and tasks --- */

static void write_times(struct sn_buf *out, const struct sn_series *times)
{
    sn_html_cell_ns(out, times->sum);
    sn_html_cell_ns(out, sn_series_percentile(times, 50));
    sn_html_cell_ns(out, sn_series_percentile(times, 90));
    sn_html_cell_ns(out, sn_series_percentile(times, 99));
    sn_html_cell_ns(out, times->max);
}

/* "GET /orders/{n}", with the host in front of the path of outgoing ones. */
static void write_route_name(struct sn_buf *out, const struct sn_route *route)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1u << 18);
    sn_buf_text(&name, route->method);
    sn_buf_text(&name, route->host ? " → " : " ");
    sn_buf_text(&name, route->host ? route->host : "");
    sn_buf_text(&name, route->pattern);
    sn_html_row(out, sn_buf_string(&name));
}

void sn_report_html_requests(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Route",        "Requests", "Failed", "Exceptions",
                                           "All together", "Median",   "90 %",   "99 %",
                                           "Longest",      NULL};
    const struct sn_request_report *requests = &page->report->requests;
    struct sn_buf *out = &page->stream->buf;
    if (sn_requests_are_guessed(requests))
        sn_buf_text(out,
                    "<p class=note>Requests have no activity id: begin and end were matched by "
                    "thread, which awaits break; --profile aspnet,http asks for the ids.</p>\n");
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < requests->count && i < page->row_count; i++) {
        const struct sn_route *route = &requests->routes[i];
        write_route_name(out, route);
        sn_html_cell_count(out, route->count);
        if (sn_route_knows_failures(route))
            sn_html_cell_count(out, route->failed_count);
        else
            sn_buf_text(out, "<td>not told");
        sn_html_cell_count(out, route->exception_count);
        write_times(out, &route->times);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
    if (requests->open_count || requests->unmatched_count)
        sn_buf_format(out,
                      "<p><small>%llu begun and not ended, %llu ended whose begin was not seen."
                      "</small></p>\n",
                      (unsigned long long)requests->open_count,
                      (unsigned long long)requests->unmatched_count);
}

static void write_task_facts(struct sn_buf *out, const struct sn_task_report *tasks)
{
    sn_html_facts_begin(out);
    sn_html_fact_count(out, "operations", tasks->operation_count);
    sn_html_fact_count(out, "not ended", tasks->open_count);
    if (tasks->scheduled_count || tasks->completed_count) {
        sn_html_fact_count(out, "tasks scheduled", tasks->scheduled_count);
        sn_html_fact_count(out, "completed", tasks->completed_count);
        sn_html_fact_count(out, "failed", tasks->failed_count);
    }
    if (tasks->queue_waits.seen_count)
        sn_html_fact_ns(out, "median wait for a thread",
                        sn_series_percentile(&tasks->queue_waits, 50));
    if (tasks->sync_wait_count)
        sn_html_fact_count(out, "times a thread blocked", tasks->sync_wait_count);
    if (tasks->sync_waits.seen_count)
        sn_html_fact_ns(out, "blocked", tasks->sync_waits.sum);
    if (tasks->blocked_count) {
        sn_html_fact_count(out, "threads still blocked", tasks->blocked_count);
        sn_html_fact_ns(out, "the longest for", tasks->blocked_ns);
    }
    sn_html_facts_end(out);
}

static void write_open_row(struct sn_buf *out, const char *name, uint64_t oldest_ns, uint64_t count)
{
    sn_html_row(out, name);
    sn_html_cell_ns(out, oldest_ns);
    sn_html_cell_count(out, count);
}

static void write_open_tasks(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Not ended when the trace did", "Oldest", "Open", NULL};
    SN_AUTO(sn_open_tasks_done) struct sn_open_tasks open = {0};
    SN_AUTO(sn_buf_done) struct sn_buf names = sn_buf_with_limit(65536);
    struct sn_buf *out = &page->stream->buf;
    sn_open_tasks_find(&open, &page->report->tasks);
    if (!open.count)
        return;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < open.own_count && i < page->row_count; i++) {
        const struct sn_task_kind *kind = open.kinds[i];
        write_open_row(out, kind->name, kind->oldest_ns, kind->open_count);
        sn_stream_settle(page->stream);
    }
    sn_open_tasks_framework(&names, &open);
    if (open.own_count < open.count)
        write_open_row(out, sn_buf_string(&names), open.framework_oldest_ns,
                       open.framework_open_count);
    sn_html_table_end(out);
}

static void write_task_kinds(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Operation",    "Begun",  "Failed", "Still open",
                                           "All together", "Median", "90 %",   "99 %",
                                           "Longest",      NULL};
    const struct sn_task_report *tasks = &page->report->tasks;
    struct sn_buf *out = &page->stream->buf;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < tasks->count && i < page->row_count; i++) {
        const struct sn_task_kind *kind = &tasks->kinds[i];
        sn_html_row(out, kind->name);
        sn_html_cell_count(out, kind->count);
        sn_html_cell_count(out, kind->failed_count);
        sn_html_cell_count(out, kind->open_count);
        write_times(out, &kind->times);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

void sn_report_html_tasks(const struct sn_html_report *page)
{
    const struct sn_task_report *tasks = &page->report->tasks;
    struct sn_buf *out = &page->stream->buf;
    write_task_facts(out, tasks);
    write_open_tasks(page);
    sn_buf_text(out, "<p><small>");
    sn_tasks_unseen(out, tasks);
    sn_buf_text(out, "</small></p>\n");
    if (tasks->count)
        write_task_kinds(page);
}
