/* Sections about the runtime's own work: collections, compilation, the thread pool, threads. */
#include "convert/report_html_sections.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/stream.h"
#include "base/text.h"
#include "clr/words.h"
#include "convert/html_chart.h"
#include "convert/html_page.h"
#include "convert/html_text.h"
#include "convert/report_text.h"
#include "convert/work_facts.h"
#include "model/report.h"

void sn_report_html_percentiles(const struct sn_html_report *page, const struct sn_series *series)
{
    struct sn_buf *out = &page->stream->buf;
    sn_html_fact_ns(out, "median", sn_series_percentile(series, 50));
    sn_html_fact_ns(out, "90 %", sn_series_percentile(series, 90));
    sn_html_fact_ns(out, "99 %", sn_series_percentile(series, 99));
    sn_html_fact_ns(out, "longest", series->max);
}

/* --- threads --- */

void sn_report_html_threads(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Thread",  "Id",      "CPU", "Share",
                                           "Sampled", "Samples", NULL};
    const struct sn_report *report = page->report;
    struct sn_buf *out = &page->stream->buf;
    uint64_t all = 0;
    for (size_t i = 0; i < report->thread_count; i++)
        all += report->threads[i].cpu_ns;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < report->thread_count && i < page->row_count; i++) {
        const struct sn_thread_time *thread = &report->threads[i];
        const char *name = thread->name && thread->name[0] ? thread->name : "(no name)";
        if (thread->process[0])
            sn_html_row_with(out, name, thread->process);
        else
            sn_html_row(out, name);
        sn_buf_format(out, "<td>%llu", (unsigned long long)thread->thread_id);
        if (sn_report_has_cpu(report)) {
            sn_html_cell_ns(out, thread->cpu_ns);
            sn_html_cell_share(out, thread->cpu_ns, all);
        } else {
            sn_buf_text(out, "<td>not known<td>");
        }
        sn_html_cell_ns(out, thread->wall_ns);
        sn_html_cell_count(out, thread->sample_count);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

/* --- GC --- */

/* The longest pause of each place of the chart; SN_NO_INDEX: none. */
static void find_longest(const struct sn_gc_report *gc, const struct sn_html_chart *chart,
                         size_t longest[SN_HTML_CHART_PLACES])
{
    for (size_t i = 0; i < SN_HTML_CHART_PLACES; i++)
        longest[i] = SN_NO_INDEX;
    for (size_t i = 0; i < gc->count; i++) {
        size_t *best = &longest[sn_html_chart_place(chart, gc->collections[i].pause_start_ns)];
        if (gc->collections[i].pause_ns && gc->collections[i].pause_start_ns &&
            (*best == SN_NO_INDEX || gc->collections[*best].pause_ns < gc->collections[i].pause_ns))
            *best = i;
    }
}

static void draw_pause(struct sn_buf *out, const struct sn_html_chart *chart,
                       const struct sn_collection *collection)
{
    static const char *const classes[] = {"gen0", "gen1", "gen2"};
    char pause[32];
    char at[32];
    uint64_t since = collection->pause_start_ns > chart->from_ns
                         ? collection->pause_start_ns - chart->from_ns
                         : 0;
    sn_html_chart_bar_begin(out, chart, collection->pause_start_ns, collection->pause_ns,
                            classes[collection->generation < 2 ? collection->generation : 2]);
    sn_buf_format(out, "collection %u, generation %u, %s: %s paused at %s, because: %s",
                  collection->number, collection->generation, sn_clr_gc_type(collection->type),
                  sn_text_ns(collection->pause_ns, pause), sn_text_ns(since, at),
                  sn_clr_gc_reason(collection->reason));
    sn_html_chart_bar_end(out);
}

static void draw_pauses(const struct sn_html_report *page)
{
    const struct sn_gc_report *gc = &page->report->gc;
    struct sn_buf *out = &page->stream->buf;
    struct sn_html_chart chart = {page->report->first_ns, page->report->duration_ns,
                                  gc->pauses.max};
    size_t longest[SN_HTML_CHART_PLACES];
    char top[64];
    char ns[32];
    sn_buf_text(out, "<h3>Pauses<span class=\"key gen0\"></span><small>generation 0</small>"
                     "<span class=\"key gen1\"></span><small>1</small>"
                     "<span class=\"key gen2\"></span><small>2</small></h3>\n");
    find_longest(gc, &chart, longest);
    sn_html_chart_begin(out, "Pauses over time");
    for (size_t i = 0; i < SN_HTML_CHART_PLACES; i++) {
        if (longest[i] != SN_NO_INDEX)
            draw_pause(out, &chart, &gc->collections[longest[i]]);
        sn_stream_settle(page->stream);
    }
    (void)snprintf(top, sizeof(top), "tallest: %s", sn_text_ns(chart.top, ns));
    sn_html_chart_end(out, &chart, top);
}

static void draw_heap(const struct sn_html_report *page)
{
    const struct sn_gc_report *gc = &page->report->gc;
    struct sn_buf *out = &page->stream->buf;
    struct sn_html_chart chart = {page->report->first_ns, page->report->duration_ns,
                                  gc->heap_max_bytes};
    unsigned last = SN_HTML_CHART_PLACES;
    char top[64];
    char bytes[16];
    if (!gc->heap_max_bytes)
        return;
    sn_buf_text(out, "<h3>Heap after each collection</h3>\n");
    sn_html_chart_begin(out, "Size of the heap over time");
    sn_html_chart_line_begin(out);
    for (size_t i = 0; i < gc->count; i++) {
        const struct sn_collection *collection = &gc->collections[i];
        uint64_t end = collection->start_ns + collection->duration_ns;
        unsigned place = sn_html_chart_place(&chart, end);
        if (!collection->heap_after_bytes || place == last)
            continue;
        last = place;
        sn_html_chart_point(out, &chart, end, collection->heap_after_bytes);
    }
    sn_html_chart_line_end(out);
    (void)snprintf(top, sizeof(top), "highest: %s", sn_text_bytes(chart.top, bytes));
    sn_html_chart_end(out, &chart, top);
}

static void write_generations(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Generation", "Collections", "Paused",
                                           "Bytes at the end", NULL};
    static const char *const names[SN_GENERATIONS] = {
        "generation 0", "generation 1", "generation 2", "large objects", "pinned objects"};
    const struct sn_gc_report *gc = &page->report->gc;
    struct sn_buf *out = &page->stream->buf;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < SN_GENERATIONS; i++) {
        if (!gc->last_generation_bytes[i] && (i >= 3 || !gc->by_generation[i]))
            continue;
        sn_html_row(out, names[i]);
        if (i < 3) {
            sn_html_cell_count(out, gc->by_generation[i]);
            sn_html_cell_ns(out, gc->pause_by_generation[i]);
        } else {
            sn_buf_text(out, "<td><td>");
        }
        sn_html_cell_bytes(out, gc->last_generation_bytes[i]);
    }
    sn_html_table_end(out);
}

static void write_reasons(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Reason", "Collections", NULL};
    const struct sn_gc_report *gc = &page->report->gc;
    struct sn_buf *out = &page->stream->buf;
    sn_html_table_begin(out, headings);
    for (uint32_t i = 0; i < sizeof(gc->by_reason) / sizeof(*gc->by_reason); i++) {
        if (!gc->by_reason[i])
            continue;
        sn_html_row(out, sn_clr_gc_reason(i));
        sn_html_cell_count(out, gc->by_reason[i]);
    }
    sn_html_table_end(out);
}

static void write_gc_facts(const struct sn_html_report *page)
{
    const struct sn_gc_report *gc = &page->report->gc;
    struct sn_buf *out = &page->stream->buf;
    char share[16];
    sn_html_facts_begin(out);
    sn_html_fact_count(out, "collections", gc->total_count);
    sn_html_fact_ns(out, "paused", gc->pause_ns);
    sn_html_fact_text(out, "of the time",
                      sn_text_share(gc->pause_ns, page->report->duration_ns, share));
    sn_report_html_percentiles(page, &gc->pauses);
    if (gc->heap_first_bytes) {
        sn_html_fact_bytes(out, "heap after the first", gc->heap_first_bytes);
        sn_html_fact_bytes(out, "after the last", gc->heap_last_bytes);
    }
    if (gc->heap_max_bytes)
        sn_html_fact_bytes(out, "largest heap", gc->heap_max_bytes);
    if (gc->other_pause_count)
        sn_html_fact_ns(out, "other suspensions", gc->other_pause_ns);
    sn_html_facts_end(out);
}

void sn_report_html_gc(const struct sn_html_report *page)
{
    const struct sn_gc_report *gc = &page->report->gc;
    struct sn_buf *out = &page->stream->buf;
    char first[16];
    char last[16];
    if (!gc->pauses.seen_count)
        sn_buf_text(out, "<p>It did not stop the program.</p>\n");
    if (gc->is_heap_growing)
        sn_buf_format(out, "<p class=note>The heap after collections grew from %s to %s.</p>\n",
                      sn_text_bytes(gc->heap_first_bytes, first),
                      sn_text_bytes(gc->heap_last_bytes, last));
    if (!gc->total_count && !gc->pauses.seen_count)
        return;
    write_gc_facts(page);
    sn_buf_text(out, "<div class=columns><div>");
    draw_pauses(page);
    sn_buf_text(out, "</div><div>");
    draw_heap(page);
    sn_buf_text(out, "</div><div>");
    write_generations(page);
    sn_buf_text(out, "</div><div>");
    write_reasons(page);
    sn_buf_text(out, "</div></div>\n");
}

/* --- JIT --- */

static void write_jit_facts(struct sn_buf *out, const struct sn_jit_report *jit)
{
    sn_html_facts_begin(out);
    if (jit->jitted_count)
        sn_html_fact_count(out, "methods compiled", jit->jitted_count);
    if (jit->timed_count)
        sn_html_fact_ns(out, "time", jit->time_ns);
    if (jit->native_bytes)
        sn_html_fact_bytes(out, "native code", jit->native_bytes);
    if (jit->background_count)
        sn_html_fact_ns(out, "in the background", jit->background_ns);
    for (uint32_t tier = 0; tier < SN_TIERS; tier++) {
        if (jit->by_tier[tier])
            sn_html_fact_count(out, sn_clr_tier_name(tier), jit->by_tier[tier]);
    }
    sn_html_facts_end(out);
}

void sn_report_html_jit(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Method", "Compiled", "Time", "IL", "Native", NULL};
    const struct sn_jit_report *jit = &page->report->jit;
    struct sn_buf *out = &page->stream->buf;
    if (!jit->jitted_count)
        sn_html_page_note(page->stream, SN_JIT_NOT_TOLD);
    write_jit_facts(out, jit);
    if (!jit->timed_count)
        return;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < jit->count && i < page->row_count; i++) {
        const struct sn_jit_method *method = &jit->methods[i];
        sn_html_row(out, method->name);
        sn_html_cell_count(out, method->count);
        sn_html_cell_ns(out, method->time_ns);
        sn_html_cell_bytes(out, method->il_bytes);
        sn_html_cell_bytes(out, method->native_bytes);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

/* --- thread pool --- */

static void draw_workers(const struct sn_html_report *page)
{
    const struct sn_pool_report *pool = &page->report->pool;
    struct sn_buf *out = &page->stream->buf;
    struct sn_html_chart chart = {page->report->first_ns, page->report->duration_ns,
                                  pool->worker_max};
    char top[48];
    if (pool->count < 2)
        return;
    sn_buf_text(out, "<h3>Workers as the pool wanted them</h3>\n");
    for (size_t i = 0; i < pool->count; i++) {
        if (pool->adjustments[i].worker_count > chart.top)
            chart.top = pool->adjustments[i].worker_count;
    }
    sn_html_chart_begin(out, "Number of workers over time");
    sn_html_chart_line_begin(out);
    size_t step = pool->count / SN_HTML_CHART_PLACES + 1;
    for (size_t i = 0; i < pool->count; i += step) {
        const struct sn_pool_adjustment *now = &pool->adjustments[i];
        if (i) /* it stays as it is until it changes */
            sn_html_chart_point(out, &chart, now->time_ns,
                                pool->adjustments[i - step].worker_count);
        sn_html_chart_point(out, &chart, now->time_ns, now->worker_count);
        sn_stream_settle(page->stream);
    }
    sn_html_chart_point(out, &chart, chart.from_ns + chart.span_ns,
                        pool->adjustments[pool->count - 1].worker_count);
    sn_html_chart_line_end(out);
    (void)snprintf(top, sizeof(top), "highest: %llu", (unsigned long long)chart.top);
    sn_html_chart_end(out, &chart, top);
}

static void write_starvation(const struct sn_html_report *page)
{
    char to[128];
    const char *why = sn_pool_starvation(&page->report->pool, to);
    if (why)
        sn_buf_format(&page->stream->buf,
                      "<p class=note><b>Starvation:</b> %s.<br>" SN_POOL_ADVICE_1
                      " " SN_POOL_ADVICE_2 "</p>\n",
                      why);
}

static void write_pool_facts(const struct sn_html_report *page)
{
    const struct sn_pool_report *pool = &page->report->pool;
    struct sn_buf *out = &page->stream->buf;
    sn_html_facts_begin(out);
    if (pool->has_workers) {
        sn_html_fact_count(out, "fewest workers", pool->worker_min);
        sn_html_fact_count(out, "most workers", pool->worker_max);
        sn_html_fact_count(out, "workers started", pool->worker_start_count);
    }
    if (pool->dequeue_count)
        sn_html_fact_count(out, "work items", pool->dequeue_count);
    if (pool->waiting_count)
        sn_html_fact_count(out, "not begun at the end", pool->waiting_count);
    if (pool->queue_waits.seen_count)
        sn_report_html_percentiles(page, &pool->queue_waits);
    sn_html_facts_end(out);
}

void sn_report_html_pool(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Reason for a change", "Times", NULL};
    const struct sn_pool_report *pool = &page->report->pool;
    struct sn_buf *out = &page->stream->buf;
    write_starvation(page);
    write_pool_facts(page);
    draw_workers(page);
    if (!pool->count)
        return;
    sn_html_table_begin(out, headings);
    for (uint32_t i = 0; i < sizeof(pool->by_reason) / sizeof(*pool->by_reason); i++) {
        if (!pool->by_reason[i])
            continue;
        sn_html_row(out, sn_clr_pool_reason(i));
        sn_html_cell_count(out, pool->by_reason[i]);
    }
    sn_html_table_end(out);
}
