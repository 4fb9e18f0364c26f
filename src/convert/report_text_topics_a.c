/* Sections of a text report: collections, exceptions, allocations, lock contention. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "clr/words.h"
#include "convert/label.h"
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

/* "1 thread", "1,200 threads". */
static const char *plural(uint64_t count, const char *what, char to[32])
{
    char number[32];
    (void)snprintf(to, 32, "%s %s%s", sn_text_count(count, number), what, count == 1 ? "" : "s");
    return to;
}

static uint64_t bytes_a_second(uint64_t bytes, uint64_t duration_ns)
{
    double seconds = (double)duration_ns / (double)SN_NS_PER_SECOND;
    double rate = seconds > 0 ? (double)bytes / seconds : 0;
    return rate < 1e18 ? (uint64_t)rate : 0;
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
    sn_text_words(page, SN_STYLE_DIM, "and %s more %s%s (--count)",
                  sn_text_count(count - page->count, number), what,
                  count - page->count == 1 ? "" : "s");
    sn_text_end(page);
}

/* --- collections --- */

static void write_gc_answer(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_gc_report *gc = &report->gc;
    char paused[32];
    char whole[32];
    char share[16];
    char first[16];
    char last[16];
    char longest[32];
    char generation[16] = "";
    (void)sn_text_ns(gc->pause_ns, paused);
    (void)sn_text_ns(report->duration_ns, whole);
    (void)sn_text_share(gc->pause_ns, report->duration_ns, share);
    if (gc->longest_generation != SN_NO_GENERATION)
        (void)snprintf(generation, sizeof(generation), ", gen %u", gc->longest_generation);
    if (gc->is_heap_growing)
        sn_text_heading(page, "GC", "heap grew from %s to %s; paused %s of %s (%s)",
                        sn_text_bytes(gc->heap_first_bytes, first),
                        sn_text_bytes(gc->heap_last_bytes, last), paused, whole, share);
    else if (gc->pauses.seen_count)
        sn_text_heading(page, "GC", "paused the program %s of %s (%s), longest %s%s", paused, whole,
                        share, sn_text_ns(gc->pauses.max, longest), generation);
    else
        sn_text_heading(page, "GC", "did not stop the program");
}

static void write_generation(struct sn_text_report *page, const struct sn_gc_report *gc, unsigned i)
{
    static const char *const names[SN_GENERATIONS] = {"gen 0", "gen 1", "gen 2", "large", "pinned"};
    bool is_collected = i < 3 && gc->by_generation[i];
    if (!is_collected && !gc->last_generation_bytes[i])
        return;
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_cell(page, SN_STYLE_NONE, names[i], 10);
    if (is_collected) {
        uint64_t count = gc->by_generation[i];
        uint64_t ns = gc->pause_by_generation[i];
        sn_text_right_count(page, count, 13);
        sn_text_right_ns(page, ns, 11);
        sn_text_right_share(page, ns, gc->pause_ns, 10);
        sn_text_right_ns(page, ns / count, 11);
    } else {
        sn_text_right(page, SN_STYLE_NONE, "", 45);
    }
    if (gc->heap_max_bytes)
        sn_text_right_bytes(page, gc->last_generation_bytes[i], 13);
    sn_text_end(page);
}

static void write_generations(struct sn_text_report *page, const struct sn_gc_report *gc)
{
    static const struct title titles[] = {{INDENT "GENERATION", 12},
                                          {"COLLECTIONS", 13},
                                          {"PAUSED", 11},
                                          {"SHARE", 10},
                                          {"MEAN", 11},
                                          {"AT THE END", 13},
                                          {NULL, 0}};
    if (!gc->total_count && !gc->heap_max_bytes)
        return;
    write_titles(page, titles);
    for (unsigned i = 0; i < SN_GENERATIONS; i++)
        write_generation(page, gc, i);
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

/* What stays alive is what collections leave, and whether it grows is the question. */
static void write_heap(struct sn_text_report *page, const struct sn_gc_report *gc)
{
    uint64_t rate = bytes_a_second(gc->heap_last_bytes - gc->heap_first_bytes, gc->heap_span_ns);
    char most[16];
    char first[16];
    char last[16];
    char per_second[16];
    if (!gc->heap_max_bytes)
        return;
    begin_line(page, "heap");
    (void)sn_text_bytes(gc->heap_first_bytes, first);
    (void)sn_text_bytes(gc->heap_last_bytes, last);
    if (gc->is_heap_growing)
        sn_text_words(page, SN_STYLE_WARN, "after collections grew from %s to %s, %s/s; ", first,
                      last, sn_text_bytes(rate, per_second));
    else if (gc->heap_first_bytes)
        sn_text_words(page, SN_STYLE_NONE, "after collections %s at first, %s at last; ", first,
                      last);
    sn_text_words(page, SN_STYLE_NONE, "up to %s", sn_text_bytes(gc->heap_max_bytes, most));
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

/* That it stopped the program is said only where it is not the rule. */
static void write_collection(struct sn_text_report *page, const struct sn_collection *collection,
                             uint64_t first_ns)
{
    uint64_t start_ns = collection->start_ns > first_ns ? collection->start_ns - first_ns : 0;
    char how[128];
    (void)snprintf(how, sizeof(how), "%s%s%s%s", sn_clr_gc_reason(collection->reason),
                   collection->type ? ", " : "",
                   collection->type ? sn_clr_gc_type(collection->type) : "",
                   collection->is_compacting ? ", compacting" : "");
    sn_text_right_count(page, collection->number, 8);
    sn_text_right_count(page, collection->generation, 5);
    sn_text_right_ns(page, start_ns, 9);
    sn_text_right_ns(page, collection->pause_ns, 9);
    sn_text_right_ns(page, collection->duration_ns, 9);
    sn_text_right_bytes(page, collection->heap_after_bytes, 12);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_rest_start(page, SN_STYLE_NONE, how);
    sn_text_end(page);
}

static void write_longest(struct sn_text_report *page, const struct sn_report *report)
{
    static const struct title titles[] = {{"LONGEST", 8}, {"GEN", 5},  {"AT", 9},
                                          {"PAUSED", 9},  {"TOOK", 9}, {"HEAP AFTER", 12},
                                          {"WHY", 0},     {NULL, 0}};
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
    write_heap(page, gc);
    write_generations(page, gc);
    if (gc->pauses.seen_count)
        write_pauses(page, gc);
    if (gc->total_count) {
        write_words(page, "reasons", gc->by_reason, 32, sn_clr_gc_reason);
        write_words(page, "types", gc->by_type, 4, sn_clr_gc_type);
    }
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
        sn_text_heading(page, "Exceptions", "%s thrown, %s a second; %s", thrown, per_second,
                        exceptions->has_catches ? "no catch of them was seen"
                                                : "the trace does not tell of catches");
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
    write_cost(page, kind, kind->cost_ns, 9);
    if (all->cost_ns)
        sn_text_right_share(page, kind->cost_ns, all->cost_ns, 8);
    else
        sn_text_right_share(page, kind->count, all->thrown_count, 8);
    sn_text_right_count(page, kind->count, 9);
    sn_text_right(page, SN_STYLE_NONE, rate_of(kind->count, report->duration_ns, rate), 8);
    write_cost(page, kind, kind->caught_count ? kind->cost_ns / kind->caught_count : 0, 9);
    write_cost(page, kind, kind->max_cost_ns, 9);
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
    static const struct title titles[] = {{"TIME", 9},
                                          {"SHARE", 8},
                                          {"THROWN", 9},
                                          {"/S", 8},
                                          {"MEAN", 9},
                                          {"LONGEST", 9},
                                          {"WHAT, WHERE, FIRST MESSAGE", 0},
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
    write_more(page, exceptions->count, "type");
}

/* --- allocations --- */

static void write_allocations_answer(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_allocation_report *allocations = &report->allocations;
    char bytes[16];
    char per_second[16];
    char share[16];
    char count[32];
    sn_text_heading(
        page, "Allocations", "about %s, %s/s, %s of it large objects; %s samples",
        sn_text_bytes(allocations->bytes, bytes),
        sn_text_bytes(bytes_a_second(allocations->bytes, report->duration_ns), per_second),
        sn_text_share(allocations->large_bytes, allocations->bytes, share),
        sn_text_count(allocations->sample_count, count));
}

/* Types and sites share what the numbers leave. */
static unsigned type_width(const struct sn_text_report *page)
{
    return page->width > 80 ? (page->width - 38) / 2 : 21;
}

static void write_allocation_kind(struct sn_text_report *page, const struct sn_report *report,
                                  const struct sn_sites *sites,
                                  const struct sn_allocation_kind *kind)
{
    size_t count;
    const struct sn_site *site = sn_sites_of_type(sites, kind->frame, &count);
    sn_text_right_bytes(page, kind->bytes, 8);
    sn_text_right_share(page, kind->bytes, report->allocations.bytes, 8);
    sn_text_right_count(page, kind->sample_count, 9);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_cell_end(page, SN_STYLE_BOLD, kind->name, type_width(page));
    sn_text_right_share(page, site ? site->values[0] : 0, kind->bytes, 9);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    write_site(page, site);
    sn_text_end(page);
}

static void write_allocation_titles(struct sn_text_report *page)
{
    sn_text_right(page, SN_STYLE_DIM, "BYTES", 8);
    sn_text_right(page, SN_STYLE_DIM, "SHARE", 8);
    sn_text_right(page, SN_STYLE_DIM, "SAMPLES", 9);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    sn_text_cell(page, SN_STYLE_DIM, "WHAT", type_width(page));
    sn_text_right(page, SN_STYLE_DIM, "OF IT", 9);
    sn_text_words(page, SN_STYLE_DIM, INDENT "MOSTLY BY");
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
    write_more(page, allocations->count, "type");
}

/* --- contention --- */

/* What most of the waiting was: a deadlock, waits that do not end, or those of every day. */
static void write_contention_answer(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_contention_report *contention = &report->contention;
    char count[32];
    char rate[32];
    char time[32];
    if (contention->deadlocked_count)
        sn_text_heading(page, "Contention",
                        "DEADLOCK: %s threads wait for each other's locks, for %s so far",
                        sn_text_count(contention->deadlocked_count, count),
                        sn_text_ns(contention->open_waits[0].ns, time));
    else if (contention->open_count && contention->open_ns >= contention->wait_ns / 2)
        sn_text_heading(page, "Contention", "%s still %s for %s, the longest for %s",
                        plural(contention->open_count, "thread", count),
                        contention->open_count == 1 ? "waits" : "wait",
                        contention->open_count == 1 ? "a lock" : "locks",
                        sn_text_ns(contention->longest_open_ns, time));
    else
        sn_text_heading(page, "Contention", "threads waited %s for locks, %s, %s a second",
                        sn_text_ns(contention->wait_ns, time),
                        plural(contention->count, "time", count),
                        rate_of(contention->count, report->duration_ns, rate));
}

static void write_waits(struct sn_text_report *page, const struct sn_contention_report *contention)
{
    char number[32];
    char time[32];
    if (contention->count) {
        begin_line(page, "waits");
        sn_text_words(page, SN_STYLE_NONE, "%s: ", sn_text_count(contention->count, number));
        write_percentiles(page, &contention->waits);
        sn_text_end(page);
    }
    if (contention->native_count) {
        begin_line(page, "runtime");
        sn_text_words(page, SN_STYLE_NONE, "%s for locks of the runtime itself, %s",
                      plural(contention->native_count, "wait", number),
                      sn_text_ns(contention->native_ns, time));
        sn_text_end(page);
    }
}

static void write_thread(struct sn_text_report *page, uint64_t thread_id, const char *name)
{
    SN_AUTO(sn_buf_done) struct sn_buf label = sn_buf_with_limit(4096);
    const struct sn_profile_thread thread = {.thread_id = thread_id, .name = name};
    sn_label_thread(&label, &thread);
    sn_text_name(page, SN_STYLE_BOLD, sn_buf_string(&label));
}

/* Who waits, for whom, and where. */
static void write_open_wait(struct sn_text_report *page, const struct sn_sites *sites,
                            const struct sn_profile *profile, const struct sn_open_wait *wait)
{
    struct sn_site site = {.frame = sn_sites_frame(sites, profile, wait->node)};
    sn_text_right_ns(page, wait->ns, 11);
    sn_text_words(page, SN_STYLE_NONE, INDENT);
    write_thread(page, wait->thread_id, wait->thread_name);
    if (wait->owner_id) {
        sn_text_words(page, SN_STYLE_NONE, " waits for a lock of ");
        write_thread(page, wait->owner_id, wait->owner_name);
    }
    sn_text_end(page);
    sn_text_words(page, SN_STYLE_DIM, "%13sat ", "");
    write_site(page, &site);
    sn_text_end(page);
}

static void write_open_waits(struct sn_text_report *page, const struct sn_sites *sites,
                             const struct sn_contention_report *contention)
{
    static const struct title titles[] = {{"SO FAR", 11}, {"NOT ENDED", 0}, {NULL, 0}};
    if (!contention->open_count)
        return;
    write_titles(page, titles);
    for (size_t i = 0; i < contention->open_count && i < page->count; i++)
        write_open_wait(page, sites, contention->profile, &contention->open_waits[i]);
    write_more(page, contention->open_count, "thread");
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
    static const struct title titles[] = {{"WAITED", 11}, {"SHARE", 9}, {"WAITS", 10},
                                          {"MEAN", 11},   {"WHERE", 0}, {NULL, 0}};
    const struct sn_contention_report *contention = &report->contention;
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    if (!contention->event_count)
        return;
    sn_sites_find(&sites, contention->profile, 0);
    write_contention_answer(page, report);
    write_waits(page, contention);
    write_open_waits(page, &sites, contention);
    if (sites.count)
        write_titles(page, titles);
    for (size_t i = 0; i < sites.count && i < page->count; i++)
        write_contention_site(page, &sites.items[i], contention->wait_ns);
    write_more(page, sites.count, "place");
}
