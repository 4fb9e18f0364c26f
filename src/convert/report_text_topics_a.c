/* Sections of a text report: collections, exceptions, allocations, lock contention. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "clr/words.h"
#include "convert/report_text.h"
#include "convert/sites.h"
#include "model/report.h"

#define LONGEST_PAUSES 5u
#define LABEL_WIDTH    12u
#define INDENT         "  "

/* --- what the sections share --- */

/* "41.2", "3,120": how often a second. */
static const char *rate_of(uint64_t count, uint64_t duration_ns, char to[32])
{
    double seconds = (double)duration_ns / (double)SN_NS_PER_SECOND;
    double tenths = seconds > 0 ? (double)count / seconds * 10 + 0.5 : 0;
    uint64_t number = tenths < 1e18 ? (uint64_t)tenths : 0;
    if (number >= 1000)
        return sn_text_count(number / 10, to);
    (void)snprintf(to, 32, "%" PRIu64 ".%" PRIu64, number / 10, number % 10);
    return to;
}

/* Begins a line of its own with a word in front. */
static void begin_line(struct sn_text_report *page, const char *label)
{
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_cell(page, SN_STYLE_DIM, label, LABEL_WIDTH);
}

static void write_percentiles(struct sn_text_report *page, const struct sn_series *series)
{
    char p50[32];
    char p90[32];
    char p99[32];
    char max[32];
    sn_text_words(page, SN_STYLE_NONE, "p50 %s, p90 %s, p99 %s, longest %s",
                  sn_text_ns(sn_series_percentile(series, 50), p50),
                  sn_text_ns(sn_series_percentile(series, 90), p90),
                  sn_text_ns(sn_series_percentile(series, 99), p99), sn_text_ns(series->max, max));
}

/* Column titles: words and the width of each, ended by one without a word; the last goes left. */
struct title {
    const char *word;
    unsigned width;
};

static void write_titles(struct sn_text_report *page, const struct title *titles)
{
    for (; titles->word; titles++) {
        if (titles->width)
            sn_text_right(page, SN_STYLE_DIM, titles->word, titles->width);
        else
            sn_text_words(page, SN_STYLE_DIM, INDENT "%s", titles->word);
    }
    sn_text_end(page);
}

/* A file's own name is enough beside the method. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *backslash = strrchr(path, '\\');
    const char *last = !slash || (backslash && backslash > slash) ? backslash : slash;
    return last ? last + 1 : path;
}

/* The method, as much of it as fits, and its line where that is known. */
static void write_site(struct sn_text_report *page, const struct sn_site *site)
{
    if (!site) {
        sn_text_words(page, SN_STYLE_DIM, "(no stack)");
        return;
    }
    sn_text_rest(page, SN_STYLE_NONE, sn_site_name(site));
    if (!site->frame || !site->frame->file || page->column + 8 > page->width)
        return;
    sn_text_words(page, SN_STYLE_DIM, " ");
    sn_text_name(page, SN_STYLE_DIM, base_name(site->frame->file));
    sn_text_words(page, SN_STYLE_DIM, ":%" PRIu32, site->frame->line);
}

static void write_more(struct sn_text_report *page, size_t count, const char *what)
{
    char number[32];
    if (count <= page->count)
        return;
    begin_line(page, "");
    sn_text_words(page, SN_STYLE_DIM, "and %s more %s", sn_text_count(count - page->count, number),
                  what);
    sn_text_end(page);
}

/* --- collections --- */

static void write_gc_answer(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_gc_report *gc = &report->gc;
    char paused[32];
    char whole[32];
    char share[16];
    char longest[32];
    char generation[16] = "";
    if (!gc->pauses.seen_count) {
        sn_text_heading(page, "GC", "did not stop the program");
        return;
    }
    if (gc->longest_generation != SN_NO_GENERATION)
        (void)snprintf(generation, sizeof(generation), ", gen %u", gc->longest_generation);
    sn_text_heading(page, "GC", "paused the program %s of %s (%s), longest %s%s",
                    sn_text_ns(gc->pause_ns, paused), sn_text_ns(report->duration_ns, whole),
                    sn_text_share(gc->pause_ns, report->duration_ns, share),
                    sn_text_ns(gc->pauses.max, longest), generation);
}

static void write_generations(struct sn_text_report *page, const struct sn_gc_report *gc)
{
    static const struct title titles[] = {{INDENT "generation", LABEL_WIDTH},
                                          {"collections", 14},
                                          {"paused", 12},
                                          {"share", 10},
                                          {"mean", 12},
                                          {NULL, 0}};
    write_titles(page, titles);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t count = gc->by_generation[i];
        sn_text_words(page, SN_STYLE_NONE, INDENT "gen %u     ", i);
        sn_text_right_count(page, count, 14);
        sn_text_right_ns(page, gc->pause_by_generation[i], 12);
        sn_text_right_share(page, gc->pause_by_generation[i], gc->pause_ns, 10);
        sn_text_right_ns(page, count ? gc->pause_by_generation[i] / count : 0, 12);
        sn_text_end(page);
    }
}

/* "induced 19, large objects 13": those that occur. */
static void write_words(struct sn_text_report *page, const char *label, const uint64_t *counts,
                        uint32_t count, const char *(*name)(uint32_t code))
{
    const char *comma = "";
    char number[32];
    begin_line(page, label);
    for (uint32_t code = 0; code < count; code++) {
        if (!counts[code])
            continue;
        sn_text_words(page, SN_STYLE_NONE, "%s%s %s", comma, name(code),
                      sn_text_count(counts[code], number));
        comma = ", ";
    }
    sn_text_end(page);
}

static void write_pauses(struct sn_text_report *page, const struct sn_gc_report *gc)
{
    char number[32];
    char time[32];
    begin_line(page, "pauses");
    sn_text_words(page, SN_STYLE_NONE, "%s: ", sn_text_count(gc->pauses.seen_count, number));
    write_percentiles(page, &gc->pauses);
    sn_text_end(page);
    begin_line(page, "");
    sn_text_words(page, SN_STYLE_NONE, "%s of them until all threads stood",
                  sn_text_ns(gc->suspend_ns, time));
    sn_text_end(page);
    if (!gc->other_pause_count)
        return;
    begin_line(page, "");
    sn_text_words(page, SN_STYLE_NONE, "and %s for other reasons, %s",
                  sn_text_count(gc->other_pause_count, number),
                  sn_text_ns(gc->other_pause_ns, time));
    sn_text_end(page);
}

static void write_heap(struct sn_text_report *page, const struct sn_gc_report *gc)
{
    static const char *const names[SN_GENERATIONS] = {"gen 0", "gen 1", "gen 2", "large", "pinned"};
    char size[16];
    const char *comma = "";
    if (!gc->heap_max_bytes)
        return;
    begin_line(page, "heap");
    sn_text_words(page, SN_STYLE_NONE, "up to %s; last: ", sn_text_bytes(gc->heap_max_bytes, size));
    for (unsigned i = 0; i < SN_GENERATIONS; i++) {
        sn_text_words(page, SN_STYLE_NONE, "%s%s %s", comma, names[i],
                      sn_text_bytes(gc->last_generation_bytes[i], size));
        comma = ", ";
    }
    sn_text_end(page);
}

/* The places of the longest pauses in the list, longest first. */
static size_t find_longest(const struct sn_gc_report *gc, size_t longest[LONGEST_PAUSES])
{
    size_t count = 0;
    for (size_t i = 0; i < gc->count; i++) {
        size_t at = count < LONGEST_PAUSES ? count++ : LONGEST_PAUSES;
        for (; at > 0 && gc->collections[longest[at - 1]].pause_ns < gc->collections[i].pause_ns;
             at--) {
            if (at < LONGEST_PAUSES)
                longest[at] = longest[at - 1];
        }
        if (at < LONGEST_PAUSES)
            longest[at] = i;
    }
    return count;
}

static void write_collection(struct sn_text_report *page, const struct sn_collection *collection,
                             uint64_t first_ns)
{
    uint64_t start_ns = collection->start_ns > first_ns ? collection->start_ns - first_ns : 0;
    sn_text_right_count(page, collection->number, 8);
    sn_text_right_ns(page, start_ns, 11);
    sn_text_right_ns(page, collection->pause_ns, 11);
    sn_text_right_ns(page, collection->duration_ns, 11);
    sn_text_right_bytes(page, collection->heap_after_bytes, 12);
    sn_text_words(page, SN_STYLE_NONE, INDENT "gen %u, %s, %s%s", collection->generation,
                  sn_clr_gc_type(collection->type), sn_clr_gc_reason(collection->reason),
                  collection->is_compacting ? ", compacting" : "");
    sn_text_end(page);
}

static void write_longest(struct sn_text_report *page, const struct sn_report *report)
{
    static const struct title titles[] = {{"number", 8}, {"at", 11},         {"paused", 11},
                                          {"took", 11},  {"heap after", 12}, {"the longest", 0},
                                          {NULL, 0}};
    size_t longest[LONGEST_PAUSES];
    size_t count = find_longest(&report->gc, longest);
    if (!count)
        return;
    write_titles(page, titles);
    for (size_t i = 0; i < count; i++)
        write_collection(page, &report->gc.collections[longest[i]], report->first_ns);
}

void sn_report_text_gc(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_gc_report *gc = &report->gc;
    if (!gc->event_count)
        return;
    write_gc_answer(page, report);
    write_generations(page, gc);
    if (gc->pauses.seen_count)
        write_pauses(page, gc);
    if (gc->total_count) {
        write_words(page, "reasons", gc->by_reason, 32, sn_clr_gc_reason);
        write_words(page, "types", gc->by_type, 4, sn_clr_gc_type);
    }
    write_heap(page, gc);
    write_longest(page, report);
}

/* --- exceptions --- */

static void write_exceptions_answer(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_exception_report *exceptions = &report->exceptions;
    char count[32];
    char rate[32];
    char time[32];
    const char *thrown = sn_text_count(exceptions->thrown_count, count);
    const char *per_second = rate_of(exceptions->thrown_count, report->duration_ns, rate);
    if (exceptions->caught_count)
        sn_text_heading(page, "Exceptions", "%s thrown, %s a second; %s from throw to catch",
                        thrown, per_second, sn_text_ns(exceptions->cost_ns, time));
    else
        sn_text_heading(page, "Exceptions",
                        "%s thrown, %s a second; the trace does not tell when they were caught",
                        thrown, per_second);
}

/* Below the numbers: where most of it came from, and what the first one said. */
static void write_exception_detail(struct sn_text_report *page, const struct sn_sites *sites,
                                   const struct sn_exception_kind *kind, int column)
{
    size_t count;
    const struct sn_site *site = sn_sites_of_type(sites, kind->frame, &count);
    char share[16];
    uint64_t whole = column ? kind->cost_ns : kind->count;
    begin_line(page, "");
    if (site) {
        sn_text_words(page, SN_STYLE_DIM, "at ");
        write_site(page, site);
        if (count > 1)
            sn_text_words(page, SN_STYLE_DIM, " (%s)",
                          sn_text_share(site->values[column], whole, share));
    }
    if (*kind->message && page->column + 16 < page->width) {
        sn_text_words(page, SN_STYLE_DIM, site ? ": " : "");
        sn_text_rest_start(page, SN_STYLE_DIM, kind->message);
    }
    sn_text_end(page);
}

/* A time that is not known is a dash. */
static void write_cost(struct sn_text_report *page, const struct sn_exception_kind *kind,
                       uint64_t ns, unsigned width)
{
    if (kind->caught_count)
        sn_text_right_ns(page, ns, width);
    else
        sn_text_right(page, SN_STYLE_DIM, "-", width);
}

static void write_exception_kind(struct sn_text_report *page, const struct sn_report *report,
                                 const struct sn_exception_kind *kind)
{
    char rate[32];
    const struct sn_exception_report *all = &report->exceptions;
    write_cost(page, kind, kind->cost_ns, 11);
    if (all->cost_ns)
        sn_text_right_share(page, kind->cost_ns, all->cost_ns, 9);
    else
        sn_text_right_share(page, kind->count, all->thrown_count, 9);
    sn_text_right_count(page, kind->count, 10);
    sn_text_right(page, SN_STYLE_NONE, rate_of(kind->count, report->duration_ns, rate), 9);
    write_cost(page, kind, kind->caught_count ? kind->cost_ns / kind->caught_count : 0, 10);
    write_cost(page, kind, kind->max_cost_ns, 10);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_rest(page, SN_STYLE_BOLD, kind->name);
    sn_text_end(page);
}

static void write_exceptions_notes(struct sn_text_report *page,
                                   const struct sn_exception_report *exceptions)
{
    char nested[32];
    char rethrown[32];
    if (exceptions->caught_count) {
        begin_line(page, "to catch");
        write_percentiles(page, &exceptions->costs);
        sn_text_end(page);
    }
    if (!exceptions->nested_count && !exceptions->rethrown_count)
        return;
    begin_line(page, "of these");
    sn_text_words(page, SN_STYLE_NONE,
                  "%s thrown while another was handled, %s passed on by `throw;`",
                  sn_text_count(exceptions->nested_count, nested),
                  sn_text_count(exceptions->rethrown_count, rethrown));
    sn_text_end(page);
}

void sn_report_text_exceptions(struct sn_text_report *page, const struct sn_report *report)
{
    static const struct title titles[] = {{"time", 11},
                                          {"share", 9},
                                          {"thrown", 10},
                                          {"/s", 9},
                                          {"mean", 10},
                                          {"longest", 10},
                                          {"what, where, first message", 0},
                                          {NULL, 0}};
    const struct sn_exception_report *exceptions = &report->exceptions;
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    if (!exceptions->event_count)
        return;
    int column = exceptions->cost_ns ? 1 : 0; /* by cost, else by number */
    sn_sites_find(&sites, exceptions->profile, column);
    write_exceptions_answer(page, report);
    write_exceptions_notes(page, exceptions);
    if (exceptions->count)
        write_titles(page, titles);
    for (size_t i = 0; i < exceptions->count && i < page->count; i++) {
        write_exception_kind(page, report, &exceptions->kinds[i]);
        write_exception_detail(page, &sites, &exceptions->kinds[i], column);
    }
    write_more(page, exceptions->count, "types");
}

/* --- allocations --- */

static void write_allocations_answer(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_allocation_report *allocations = &report->allocations;
    char bytes[16];
    char per_second[16];
    char share[16];
    char count[32];
    double seconds = (double)report->duration_ns / (double)SN_NS_PER_SECOND;
    double rate = seconds > 0 ? (double)allocations->bytes / seconds : 0;
    sn_text_heading(page, "Allocations", "about %s, %s/s, %s of it large objects; %s samples",
                    sn_text_bytes(allocations->bytes, bytes),
                    sn_text_bytes(rate < 1e18 ? (uint64_t)rate : 0, per_second),
                    sn_text_share(allocations->large_bytes, allocations->bytes, share),
                    sn_text_count(allocations->sample_count, count));
}

static void write_allocation_kind(struct sn_text_report *page, const struct sn_report *report,
                                  const struct sn_sites *sites,
                                  const struct sn_allocation_kind *kind)
{
    size_t count;
    const struct sn_site *site = sn_sites_of_type(sites, kind->frame, &count);
    sn_text_right_bytes(page, kind->bytes, 9);
    sn_text_right_share(page, kind->bytes, report->allocations.bytes, 9);
    sn_text_right_count(page, kind->sample_count, 9);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    unsigned type_width = page->width > 80 ? (page->width - 40) / 2 : 24;
    sn_text_cell_end(page, SN_STYLE_BOLD, kind->name, type_width);
    sn_text_right_share(page, site ? site->values[0] : 0, kind->bytes, 9);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    write_site(page, site);
    sn_text_end(page);
}

static void write_allocation_titles(struct sn_text_report *page)
{
    unsigned type_width = page->width > 80 ? (page->width - 40) / 2 : 24;
    sn_text_right(page, SN_STYLE_DIM, "bytes", 9);
    sn_text_right(page, SN_STYLE_DIM, "share", 9);
    sn_text_right(page, SN_STYLE_DIM, "samples", 9);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_cell(page, SN_STYLE_DIM, "what", type_width);
    sn_text_right(page, SN_STYLE_DIM, "of it", 9);
    sn_text_words(page, SN_STYLE_DIM, INDENT "mostly by");
    sn_text_end(page);
}

void sn_report_text_allocations(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_allocation_report *allocations = &report->allocations;
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    if (!allocations->event_count)
        return;
    sn_sites_find(&sites, allocations->profile, 0);
    write_allocations_answer(page, report);
    if (allocations->count)
        write_allocation_titles(page);
    for (size_t i = 0; i < allocations->count && i < page->count; i++)
        write_allocation_kind(page, report, &sites, &allocations->kinds[i]);
    write_more(page, allocations->count, "types");
}

/* --- contention --- */

static void write_open_waits(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_contention_report *contention = &report->contention;
    uint64_t end_ns = report->first_ns + report->duration_ns;
    uint64_t open_ns = end_ns > contention->open_since_ns ? end_ns - contention->open_since_ns : 0;
    char number[32];
    char time[32];
    if (contention->open_count) {
        begin_line(page, "still");
        sn_text_words(page, SN_STYLE_WARN, "%s waiting at the end, the longest for %s",
                      sn_text_count(contention->open_count, number), sn_text_ns(open_ns, time));
        sn_text_end(page);
    }
    if (contention->native_count) {
        begin_line(page, "runtime");
        sn_text_words(page, SN_STYLE_NONE, "%s waits for locks of the runtime itself, %s",
                      sn_text_count(contention->native_count, number),
                      sn_text_ns(contention->native_ns, time));
        sn_text_end(page);
    }
}

static void write_contention_site(struct sn_text_report *page, const struct sn_site *site,
                                  uint64_t whole_ns)
{
    sn_text_right_ns(page, site->values[0], 11);
    sn_text_right_share(page, site->values[0], whole_ns, 9);
    sn_text_right_count(page, site->values[1], 10);
    sn_text_right_ns(page, site->values[1] ? site->values[0] / site->values[1] : 0, 11);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    write_site(page, site);
    sn_text_end(page);
}

void sn_report_text_contention(struct sn_text_report *page, const struct sn_report *report)
{
    static const struct title titles[] = {{"waited", 11}, {"share", 9}, {"waits", 10},
                                          {"mean", 11},   {"where", 0}, {NULL, 0}};
    const struct sn_contention_report *contention = &report->contention;
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    char count[32];
    char rate[32];
    char time[32];
    if (!contention->event_count)
        return;
    sn_sites_find(&sites, contention->profile, 0);
    sn_text_heading(page, "Contention", "threads waited %s for locks, %s times, %s a second",
                    sn_text_ns(contention->wait_ns, time), sn_text_count(contention->count, count),
                    rate_of(contention->count, report->duration_ns, rate));
    if (contention->count) {
        begin_line(page, "waits");
        write_percentiles(page, &contention->waits);
        sn_text_end(page);
    }
    write_open_waits(page, report);
    if (sites.count)
        write_titles(page, titles);
    for (size_t i = 0; i < sites.count && i < page->count; i++)
        write_contention_site(page, &sites.items[i], contention->wait_ns);
    write_more(page, sites.count, "places");
}
