/* Sections about what the program did: exceptions, allocations, locks, requests, tasks. */
#include "convert/report_html_sections.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/html_text.h"
#include "convert/ranking.h"
#include "convert/report_text.h"
#include "model/report.h"

/* --- sites --- */

struct site {
    uint32_t frame;
    uint64_t values[2];
};

static int by_first_value(const void *a, const void *b)
{
    const struct site *left = a;
    const struct site *right = b;
    if (left->values[0] != right->values[0])
        return left->values[0] < right->values[0] ? 1 : -1;
    return left->frame < right->frame ? -1 : left->frame > right->frame;
}

/* The reader's own code nearest to the leaf; the innermost method if there is none. */
static uint32_t site_of(const struct sn_profile *profile, uint32_t node)
{
    const struct sn_frame *own = sn_own_frame(profile, node);
    if (own)
        return (uint32_t)(own - profile->frames);
    while (node && profile->frames[profile->nodes[node].frame].kind == SN_FRAME_TYPE)
        node = profile->nodes[node].parent;
    return node ? profile->nodes[node].frame : SN_NO_INDEX;
}

static struct site *add_up_sites(const struct sn_profile *profile)
{
    struct site *sites = calloc(profile->frame_count + 1, sizeof(*sites));
    for (uint32_t i = 0; sites && i < profile->frame_count; i++)
        sites[i].frame = i;
    for (size_t i = 0; sites && i < profile->row_count; i++) {
        uint32_t frame = site_of(profile, profile->rows[i].node);
        if (frame == SN_NO_INDEX)
            continue;
        sites[frame].values[0] += profile->rows[i].values[0];
        sites[frame].values[1] += profile->rows[i].values[1];
    }
    if (sites)
        qsort(sites, profile->frame_count, sizeof(*sites), by_first_value);
    return sites;
}

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
    SN_AUTO(sn_free) struct site *sites = profile ? add_up_sites(profile) : NULL;
    if (!sites || !profile->frame_count || !sites[0].values[0])
        return;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < profile->frame_count && i < page->row_count && sites[i].values[0]; i++) {
        sn_html_row(out, profile->frames[sites[i].frame].name);
        for (size_t column = 0; column < 2; column++)
            write_value(out, profile->columns[column].unit, sites[i].values[column]);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

/* --- exceptions, allocations, contention --- */

void sn_report_html_exceptions(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Type",           "Thrown",  "Per second", "Caught",
                                           "Throw to catch", "Longest", NULL};
    const struct sn_exception_report *exceptions = &page->report->exceptions;
    struct sn_buf *out = &page->stream->buf;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < exceptions->count && i < page->row_count; i++) {
        const struct sn_exception_kind *kind = &exceptions->kinds[i];
        char rate[32];
        double seconds = (double)page->report->duration_ns / 1e9;
        double tenths = seconds > 0 ? (double)kind->count / seconds * 10 : 0;
        sn_html_row_with(out, kind->name, kind->message ? kind->message : "");
        sn_html_cell_count(out, kind->count);
        sn_buf_format(out, "<td>%s", sn_text_real((double)(uint64_t)(tenths + 0.5) / 10, rate));
        sn_html_cell_count(out, kind->caught_count);
        sn_html_cell_ns(out, kind->cost_ns);
        sn_html_cell_ns(out, kind->max_cost_ns);
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
    sn_html_facts_begin(out);
    sn_html_fact_bytes(out, "allocated, estimated", allocations->bytes);
    sn_html_fact_count(out,
                       allocations->is_sampled ? "random samples" : "samples, one every 100 KB",
                       allocations->sample_count);
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

void sn_report_html_contention(const struct sn_html_report *page)
{
    const struct sn_contention_report *contention = &page->report->contention;
    struct sn_buf *out = &page->stream->buf;
    sn_html_facts_begin(out);
    sn_html_fact_count(out, "waits", contention->count);
    sn_html_fact_ns(out, "waited", contention->wait_ns);
    sn_report_html_percentiles(page, &contention->waits);
    if (contention->open_count)
        sn_html_fact_count(out, "still waiting at the end", contention->open_count);
    sn_html_facts_end(out);
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
    if (requests->by_thread_count)
        sn_buf_text(out,
                    "<p class=note>The trace has no activity ids: begin and end were matched by "
                    "thread, which asynchronous code breaks.</p>\n");
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < requests->count && i < page->row_count; i++) {
        const struct sn_route *route = &requests->routes[i];
        write_route_name(out, route);
        sn_html_cell_count(out, route->count);
        sn_html_cell_count(out, route->failed_count);
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

void sn_report_html_tasks(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Kind",         "Begun",  "Failed", "Still open",
                                           "All together", "Median", "90 %",   "99 %",
                                           "Longest",      NULL};
    const struct sn_task_report *tasks = &page->report->tasks;
    struct sn_buf *out = &page->stream->buf;
    sn_html_facts_begin(out);
    sn_html_fact_count(out, "scheduled", tasks->scheduled_count);
    sn_html_fact_count(out, "completed", tasks->completed_count);
    sn_html_fact_count(out, "failed", tasks->failed_count);
    if (tasks->queue_waits.count)
        sn_html_fact_ns(out, "median wait for a thread",
                        sn_series_percentile(&tasks->queue_waits, 50));
    if (tasks->sync_wait_count) {
        sn_html_fact_count(out, "times a thread blocked", tasks->sync_wait_count);
        sn_html_fact_ns(out, "blocked", tasks->sync_waits.sum);
    }
    sn_html_facts_end(out);
    if (!tasks->count)
        return;
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
