/* The sections about the file itself and its profiles. */
#include "convert/report_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/machine_facts.h"
#include "convert/ranking.h"
#include "convert/report_show.h"
#include "model/report.h"

#define SHARE_WIDTH 8u
#define VALUE_WIDTH 9u

static void put_section(struct sn_text_report *page, const struct sn_report_show *show,
                        const struct sn_report_section *section)
{
    uint64_t before = page->out->byte_count + page->out->buf.size;
    if (section->text)
        section->text(page, show->report);
    else
        section->show_text(page, show);
    bool is_asked_for = show->sections != NULL;
    if (is_asked_for && page->out->byte_count + page->out->buf.size == before)
        sn_text_heading(page, section->name, "the trace has no events for this");
}

/* All answers first, for whoever reads no further. */
static void put_answers(struct sn_text_report *page, const struct sn_report_show *show)
{
    sn_text_end(page);
    page->only_headings = true;
    page->is_muted = true;
    for (const struct sn_report_section *section = sn_report_sections; section->name; section++) {
        if (!section->is_plain && sn_report_shows(show, section))
            put_section(page, show, section);
    }
    page->only_headings = false;
    page->is_muted = false;
}

void sn_report_text_write(struct sn_text_report *page, const struct sn_report_show *show)
{
    for (const struct sn_report_section *section = sn_report_sections; section->name; section++) {
        if (!sn_report_shows(show, section))
            continue;
        put_section(page, show, section);
        if (!show->sections && !show->method && section == sn_report_sections)
            put_answers(page, show);
    }
}

static void put_value(struct sn_text_report *page, const struct sn_show_view *view, uint64_t value)
{
    switch (view->profile->columns[view->column].unit) {
    case SN_UNIT_NS: sn_text_right_ns(page, value, VALUE_WIDTH); break;
    case SN_UNIT_BYTES: sn_text_right_bytes(page, value, VALUE_WIDTH); break;
    default: sn_text_right_count(page, value, VALUE_WIDTH); break;
    }
}

static const struct sn_show_view *primary(const struct sn_report_show *show)
{
    return show->primary >= 0 ? &show->views[show->primary] : NULL;
}

/* --- the file --- */

static void put_lost(struct sn_text_report *page, const struct sn_file_facts *file,
                     const struct sn_machine_report *machine)
{
    uint64_t of_kernel = machine->kernel_lost_count;
    char number[32];
    if (of_kernel) {
        sn_text_cell(page, SN_STYLE_WARN, "lost", 12);
        sn_text_words(page, SN_STYLE_NONE, "%s of the kernel's records, for want of room%s",
                      sn_text_count(of_kernel, number),
                      machine->has_lost_much ? ": shares hold, sums do not" : "");
        sn_text_end(page);
    }
    if (file->lost_count > of_kernel) {
        bool is_whose_known = !machine->is_machine || machine->has_manifest;
        sn_text_cell(page, SN_STYLE_WARN, "lost", 12);
        sn_text_words(page, SN_STYLE_NONE, "%s events that %s had no room for",
                      sn_text_count(file->lost_count - of_kernel, number),
                      !is_whose_known       ? "the kernel or a runtime"
                      : machine->is_machine ? "a runtime"
                                            : "the runtime");
        sn_text_end(page);
    }
}

static void put_missing(struct sn_text_report *page, const struct sn_file_facts *file,
                        const struct sn_machine_report *machine)
{
    bool is_machine = machine->is_machine;
    char number[32];
    put_lost(page, file, machine);
    if (file->is_cut) {
        sn_text_cell(page, SN_STYLE_WARN, "cut", 12);
        sn_text_words(page, SN_STYLE_NONE, "%s",
                      is_machine
                          ? "the recording goes on or was not finished, names may be missing; "
                            "'sonde record finish' completes one whose recorder is gone"
                          : "the file ends before the trace did: the target or the tool was "
                            "killed");
        sn_text_end(page);
    }
    if (file->unknown_count) {
        sn_text_cell(page, SN_STYLE_WARN, "unknown", 12);
        sn_text_words(page, SN_STYLE_NONE, "%s events whose declaration is missing",
                      sn_text_count(file->unknown_count, number));
        sn_text_end(page);
    }
}

static void put_damage(struct sn_text_report *page, const struct sn_file_facts *file)
{
    char number[32];
    for (size_t i = 0; i < file->kept_damage_count; i++) {
        const struct sn_file_damage *damage = &file->damages[i];
        sn_text_cell(page, SN_STYLE_WARN, "damage", 12);
        sn_text_words(page, SN_STYLE_NONE,
                      "at byte %" PRIu64 ", %" PRIu64 " bytes passed over: ", damage->offset,
                      damage->bytes);
        sn_text_name(page, SN_STYLE_NONE, damage->text);
        sn_text_end(page);
    }
    if (file->damage_count <= file->kept_damage_count)
        return;
    sn_text_cell(page, SN_STYLE_WARN, "damage", 12);
    sn_text_words(page, SN_STYLE_NONE, "and in %s more places",
                  sn_text_count(file->damage_count - file->kept_damage_count, number));
    sn_text_end(page);
}

/* Which process the runtime's topics are about. */
static void put_choice(struct sn_text_report *page, const struct sn_machine_report *machine)
{
    char text[32];
    if (machine->throttled_ns) {
        sn_text_cell(page, SN_STYLE_WARN, "throttled", 12);
        sn_text_words(page, SN_STYLE_NONE, "the kernel took no samples for %s: too many a second",
                      sn_text_ns(machine->throttled_ns, text));
        sn_text_end(page);
    }
    if (!machine->chosen_pid || machine->dotnet_count < 2)
        return;
    sn_text_cell(page, SN_STYLE_DIM, "runtime", 12);
    size_t size = strlen(machine->chosen_name);
    bool has_pid = size && machine->chosen_name[size - 1] == ')';
    sn_text_words(page, SN_STYLE_DIM, "GC and all sections below it are about ");
    sn_text_name(page, SN_STYLE_NONE, machine->chosen_name);
    if (!has_pid)
        sn_text_words(page, SN_STYLE_NONE, " (%" PRIu32 ")", machine->chosen_pid);
    sn_text_words(page, SN_STYLE_DIM,
                  " only, the busiest of %" PRIu32 " with .NET; --process PID shows another",
                  machine->dotnet_count);
    sn_text_end(page);
}

static void put_part(struct sn_text_report *page, const struct sn_report *report)
{
    char text[2][32];
    if (!report->is_part)
        return;
    sn_text_words(
        page, SN_STYLE_WARN, "only a part of it: from %s to %s; events are counted of all",
        sn_text_ns(report->part_from_ns, text[0]), sn_text_ns(report->part_to_ns, text[1]));
    sn_text_end(page);
}

void sn_report_text_file(struct sn_text_report *page, const struct sn_report_show *show)
{
    const struct sn_file_facts *file = show->file;
    char text[3][32];
    char bytes[16];
    sn_text_name(page, SN_STYLE_BOLD, file->path);
    sn_text_end(page);
    if (show->report->machine.is_machine)
        sn_text_words(page, SN_STYLE_NONE, "%s; ",
                      sn_machine_count(&show->report->machine, (char[96]){0}));
    else if (file->start_utc_ns)
        sn_text_words(page, SN_STYLE_NONE, "process %" PRIu32 ", ", file->pid);
    if (file->start_utc_ns)
        sn_text_words(page, SN_STYLE_NONE, "%s for %s; ",
                      sn_clock_rfc3339(file->start_utc_ns, text[0]),
                      sn_text_ns(show->report->duration_ns, text[1]));
    sn_text_words(page, SN_STYLE_NONE, "%s events, %s, NetTrace %" PRIu32,
                  sn_text_count(file->event_count, text[2]), sn_text_bytes(file->byte_count, bytes),
                  file->format);
    sn_text_end(page);
    if (show->report->machine.is_machine && !file->event_count) {
        sn_text_words(page, SN_STYLE_WARN,
                      "nothing was recorded: no process that was asked for was there");
        sn_text_end(page);
    }
    put_part(page, show->report);
    put_choice(page, &show->report->machine);
    put_missing(page, file, &show->report->machine);
    put_damage(page, file);
}

/* --- methods --- */

static void put_headings(struct sn_text_report *page, const char *what)
{
    sn_text_right(page, SN_STYLE_DIM, "SELF", SHARE_WIDTH + VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "TOTAL", SHARE_WIDTH + VALUE_WIDTH);
    sn_text_words(page, SN_STYLE_DIM, "  %s", what);
    sn_text_end(page);
}

static void put_ranked(struct sn_text_report *page, const struct sn_show_view *view,
                       const struct sn_ranked *item, uint64_t whole)
{
    const struct sn_frame *frame = item->frame;
    sn_text_right_share(page, item->self, whole, SHARE_WIDTH);
    put_value(page, view, item->self);
    sn_text_right_share(page, item->total, whole, SHARE_WIDTH);
    put_value(page, view, item->total);
    sn_text_words(page, SN_STYLE_NONE, "  ");
    enum sn_style style = frame && !frame->is_framework ? SN_STYLE_BOLD : SN_STYLE_NONE;
    if (frame && frame->file) {
        SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1u << 20);
        const char *slash = strrchr(frame->file, '/');
        sn_buf_format(&name, "%s  %s:%" PRIu32, item->name, slash ? slash + 1 : frame->file,
                      frame->line);
        sn_text_rest(page, style, sn_buf_string(&name));
    } else {
        sn_text_rest(page, style, item->name[0] ? item->name : "[no name]");
    }
    sn_text_end(page);
}

static void put_ranking(struct sn_text_report *page, const struct sn_show_view *view,
                        const struct sn_ranking *ranking, const char *what)
{
    put_headings(page, what);
    for (size_t i = 0; i < ranking->count && i < page->count; i++)
        put_ranked(page, view, &ranking->items[i], ranking->whole);
    sn_text_more(page, ranking->count, 2 * (SHARE_WIDTH + VALUE_WIDTH) + 2, "");
}

#define HARDLY 20u /* a part of so many */

/* Where most of it went, for the headline. */
struct most {
    const char *name;
    const char *how; /* "in": itself; "below": with what it called */
    uint64_t value;
};

/* Of kernel samples a function may have no name; its module has. */
static struct most most_of_module(const struct sn_show_view *view, const struct sn_ranked *first)
{
    SN_AUTO(sn_ranking_done) struct sn_ranking modules = {0};
    const char *module = first->frame->module;
    sn_ranking_modules(&modules, view->profile, view->column);
    for (size_t i = 0; i < modules.count; i++) {
        if (strcmp(modules.items[i].name, module) == 0)
            return (struct most){module, "in", modules.items[i].self};
    }
    return (struct most){first->name, "in", first->self};
}

/* The kernel samples all code, and where a program's own begins says more than the function of the
 * kernel or of the runtime that it spends most in: unless it is hardly ever there. */
static struct most find_most(const struct sn_report *report, const struct sn_show_view *view,
                             const struct sn_ranking *by_self)
{
    struct sn_ranked own;
    if (!by_self->count)
        return (struct most){"nothing", "in", 0};
    const struct sn_ranked *first = &by_self->items[0];
    if (report->cpu_truth != SN_CPU_SAMPLED)
        return (struct most){first->name, "in", first->self};
    if (sn_ranking_own(&own, view->profile, view->column) && own.total >= by_self->whole / HARDLY) {
        bool is_itself = own.self >= own.total / 5 * 4;
        return (struct most){own.name, is_itself ? "in" : "below",
                             is_itself ? own.self : own.total};
    }
    bool is_named = first->frame->kind != SN_FRAME_NATIVE || !strstr(first->name, "!0x");
    return is_named ? (struct most){first->name, "in", first->self} : most_of_module(view, first);
}

/* What the view is of, in a word, and the answer: how much, and where most of it went. */
static void put_answer(struct sn_text_report *page, const struct sn_report_show *show,
                       const struct sn_show_view *view, const struct sn_ranking *ranking)
{
    const struct sn_report *report = show->report;
    const struct most most = find_most(report, view, ranking);
    char share[16];
    char text[2][32];
    (void)sn_text_share(most.value, ranking->whole, share);
    if (strcmp(view->name, "cpu") == 0) {
        uint64_t cores =
            report->duration_ns
                ? (uint64_t)((double)report->cpu_ns * 100 / (double)report->duration_ns + 0.5)
                : 0;
        sn_text_heading(
            page, "CPU",
            "%s in %s, %" PRIu64 ".%02" PRIu64 " of %" PRIu32 " processors; %s of it %s %s%s",
            sn_text_ns(report->cpu_ns, text[0]), sn_text_ns(report->duration_ns, text[1]),
            cores / 100, cores % 100, show->file->processor_count, share, most.how, most.name,
            sn_machine_doubt(&report->machine));
    } else if (strcmp(view->name, "wall") == 0) {
        sn_text_heading(page, "Wall time", "running or waiting, not CPU time: %s %s %s", share,
                        most.how, most.name);
    } else {
        sn_text_heading(page, "Methods", "by %s: %s %s %s", view->title, share, most.how,
                        most.name);
    }
}

static void put_note(struct sn_text_report *page, enum sn_style style, const char *text)
{
    sn_text_cell(page, SN_STYLE_NONE, "", 12);
    sn_text_name(page, style, text);
    sn_text_end(page);
}

/* What of sampled CPU time is not the program's own doing, as far as there is any. */
static void put_sampled_parts(struct sn_text_report *page, const struct sn_report *report)
{
    char share[16];
    char text[32];
    const char *comma = "";
    if (!report->machine.kernel_ns && !report->unseen_cpu_ns && !report->tracing_cpu_ns)
        return;
    sn_text_cell(page, SN_STYLE_NONE, "", 12);
    if (report->machine.kernel_ns) {
        sn_text_words(page, SN_STYLE_DIM, "%s of it in the kernel",
                      sn_text_share(report->machine.kernel_ns, report->cpu_ns, share));
        comma = ", ";
    }
    if (report->unseen_cpu_ns) {
        sn_text_words(page, SN_STYLE_DIM, "%s%s in the runtime's own threads", comma,
                      sn_text_share(report->unseen_cpu_ns, report->cpu_ns, share));
        comma = ", ";
    }
    if (report->tracing_cpu_ns)
        sn_text_words(page, SN_STYLE_DIM, "%s%s of tracing", comma,
                      sn_text_ns(report->tracing_cpu_ns, text));
    sn_text_end(page);
}

/* What of the CPU time is not the program's own doing. */
static void put_parts(struct sn_text_report *page, const struct sn_report *report)
{
    char text[32];
    if (report->cpu_truth == SN_CPU_SAMPLED) {
        put_sampled_parts(page, report);
        return;
    }
    sn_text_cell(page, SN_STYLE_NONE, "", 12);
    sn_text_words(page, SN_STYLE_DIM, "tracing itself cost %s more",
                  sn_text_ns(report->tracing_cpu_ns, text));
    sn_text_end(page);
}

/* Which of the three views would say more, and what this one cannot say. */
static void put_hints(struct sn_text_report *page, const struct sn_report_show *show,
                      const struct sn_show_view *view)
{
    enum { FEW = 5 };
    const struct sn_report *report = show->report;
    bool has_waits = report->cpu_truth != SN_CPU_SAMPLED || report->off_cpu.event_count;
    char text[32];
    if (sn_report_has_cpu(report) && report->cpu_note)
        put_note(page, SN_STYLE_WARN, report->cpu_note);
    if (strcmp(view->name, "cpu") == 0) {
        put_parts(page, report);
        if (report->cpu_ns < report->duration_ns / FEW)
            put_note(page, SN_STYLE_WARN,
                     has_waits ? "it mostly waited: --view wait shows where"
                               : "it mostly waited: 'sonde record --off-cpu' shows where");
    }
    if (view->profile->dropped_count) {
        sn_text_cell(page, SN_STYLE_NONE, "", 12);
        sn_text_words(page, SN_STYLE_WARN,
                      "%s samples are not in it: there are too many threads "
                      "or stacks",
                      sn_text_count(view->profile->dropped_count, text));
        sn_text_end(page);
    }
    for (size_t i = 0; i < view->profile->frame_count; i++) {
        if (view->profile->frames[i].kind == SN_FRAME_MANAGED)
            return;
    }
    if (report->cpu_truth != SN_CPU_SAMPLED)
        put_note(page, SN_STYLE_WARN,
                 "no names: they come at the end of a trace, and this one has no such end");
}

static void put_why_no_cpu(struct sn_text_report *page, const struct sn_report *report)
{
    if (report->cpu_truth == SN_CPU_NO_RECORD)
        sn_text_words(page, SN_STYLE_WARN,
                      "%12sno CPU record (FILE.cpu) beside the trace; 'sonde trace' writes one",
                      "");
    else if (report->cpu_truth == SN_CPU_BAD_RECORD) {
        sn_text_words(page, SN_STYLE_WARN, "%12sthe CPU record cannot be used: ", "");
        sn_text_name(page, SN_STYLE_WARN, report->cpu_note ? report->cpu_note : "");
    } else {
        return;
    }
    sn_text_end(page);
}

/* Above nearly every stack stand the same methods of the framework, which say nothing. False, and
 * nothing is left out, when there would be nothing left. */
static bool keep_own(struct sn_ranking *ranking)
{
    size_t kept = 0;
    for (size_t i = 0; i < ranking->count; i++) {
        if (!ranking->items[i].frame->is_framework)
            ranking->items[kept++] = ranking->items[i];
    }
    if (kept)
        ranking->count = kept;
    return kept;
}

void sn_report_text_methods(struct sn_text_report *page, const struct sn_report_show *show)
{
    const struct sn_show_view *view = primary(show);
    if (!view)
        return;
    SN_AUTO(sn_ranking_done) struct sn_ranking by_self = {0};
    SN_AUTO(sn_ranking_done) struct sn_ranking by_total = {0};
    (view->is_of_waits ? sn_ranking_waits : sn_ranking_methods)(&by_self, view->profile,
                                                                view->column);
    if (!by_self.count && show->report->machine.is_machine) {
        sn_text_heading(page, "CPU", "no samples: nothing of it ran");
        return;
    }
    put_answer(page, show, view, &by_self);
    if (strcmp(view->name, "wall") == 0)
        put_why_no_cpu(page, show->report);
    put_hints(page, show, view);
    put_ranking(page, view, &by_self,
                view->is_of_waits ? "CODE that waited, in the kernel and in libraries below it"
                                  : "METHOD, by what it spent itself");
    sn_ranking_inclusive(&by_total, view->profile, view->column);
    sn_text_end(page);
    if (!show->with_framework && keep_own(&by_total))
        put_ranking(page, view, &by_total,
                    "METHOD of the program's own, with everything it called");
    else
        put_ranking(page, view, &by_total, "METHOD, with everything it called");
}

static void put_group(struct sn_text_report *page, const struct sn_report_show *show,
                      const char *title, const char *what,
                      void (*rank)(struct sn_ranking *, const struct sn_profile *, int))
{
    const struct sn_show_view *view = primary(show);
    if (!view)
        return;
    SN_AUTO(sn_ranking_done) struct sn_ranking ranking = {0};
    rank(&ranking, view->profile, view->column);
    sn_text_heading(page, title, "by %s", view->title);
    put_ranking(page, view, &ranking, what);
}

void sn_report_text_modules(struct sn_text_report *page, const struct sn_report_show *show)
{
    put_group(page, show, "Modules", "MODULE", sn_ranking_modules);
}

void sn_report_text_namespaces(struct sn_text_report *page, const struct sn_report_show *show)
{
    put_group(page, show, "Namespaces", "NAMESPACE", sn_ranking_namespaces);
}

void sn_report_text_neighbours(struct sn_text_report *page, const struct sn_report_show *show)
{
    const struct sn_show_view *view = primary(show);
    if (!view)
        return;
    SN_AUTO(sn_neighbours_done) struct sn_neighbours found = {0};
    sn_neighbours_find(&found, view->profile, view->column, show->method);
    if (!found.matched.count) {
        sn_text_heading(page, "Callers", "no method matches");
        return;
    }
    sn_text_heading(page, "Callers", "%zu matching methods by %s: %s itself, %s with all it called",
                    found.matched.count, view->title,
                    sn_text_share(found.self, found.matched.whole, (char[16]){0}),
                    sn_text_share(found.total, found.matched.whole, (char[16]){0}));
    put_ranking(page, view, &found.callers, "CALLER: what of it comes from here");
    put_ranking(page, view, &found.matched, "MATCHED");
    put_ranking(page, view, &found.callees, "CALLEE: what of it goes on here");
}

/* --- threads --- */

void sn_report_text_threads(struct sn_text_report *page, const struct sn_report_show *show)
{
    const struct sn_report *report = show->report;
    bool has_cpu = sn_report_has_cpu(report);
    char count[32];
    if (!report->thread_count)
        return;
    /* Of a recording without switches the waits are not known, and the columns would be the same.
     */
    bool is_sampled = report->cpu_truth == SN_CPU_SAMPLED;
    unsigned wall_width = is_sampled && !report->off_cpu.event_count ? 0 : VALUE_WIDTH + 2;
    sn_text_heading(page, "Threads", "%s%s", sn_text_count(report->thread_count, count),
                    is_sampled ? " ran"
                    : has_cpu  ? "; CPU time by the kernel's clocks"
                               : " sampled");
    sn_text_right(page, SN_STYLE_DIM, has_cpu ? "CPU" : "", SHARE_WIDTH + VALUE_WIDTH);
    if (wall_width)
        sn_text_right(page, SN_STYLE_DIM, is_sampled ? "WITH WAITS" : "SAMPLED", wall_width);
    sn_text_words(page, SN_STYLE_DIM, "  THREAD");
    sn_text_end(page);
    for (size_t i = 0; i < report->thread_count && i < page->count; i++) {
        const struct sn_thread_time *thread = &report->threads[i];
        if (has_cpu) {
            sn_text_right_share(page, thread->cpu_ns, report->cpu_ns, SHARE_WIDTH);
            sn_text_right_ns(page, thread->cpu_ns, VALUE_WIDTH);
        } else {
            sn_text_cell(page, SN_STYLE_NONE, "", SHARE_WIDTH + VALUE_WIDTH);
        }
        if (wall_width)
            sn_text_right_ns(page, thread->wall_ns, wall_width);
        sn_text_thread(page, thread->thread_id, thread->name, thread->process);
        sn_text_end(page);
    }
    sn_text_more(page, report->thread_count, SHARE_WIDTH + VALUE_WIDTH + wall_width + 2, "");
}

/* --- events --- */

static bool is_rundown(const struct sn_event_kind *kind)
{
    return strcmp(kind->provider, "Microsoft-Windows-DotNETRuntimeRundown") == 0;
}

static void put_kind(struct sn_text_report *page, const struct sn_event_kind *kind)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "event %" PRIu32, kind->id);
    sn_text_right_count(page, kind->count, 12);
    sn_text_words(page, SN_STYLE_NONE, "  ");
    sn_text_cell(page, SN_STYLE_BOLD, kind->name[0] ? kind->name : name, 38);
    sn_text_words(page, SN_STYLE_NONE, " %-3" PRIu32, kind->version);
    sn_text_rest(page, SN_STYLE_NONE, kind->provider);
    sn_text_end(page);
}

/* The rundown is the same in every trace and larger than most: one line for all of it. */
void sn_report_text_events(struct sn_text_report *page, const struct sn_report_show *show)
{
    const struct sn_file_facts *file = show->file;
    uint64_t rundown = 0;
    size_t shown = 0;
    size_t hidden = 0;
    char number[32];
    sn_text_heading(page, "Events", "%s of %zu kinds", sn_text_count(file->event_count, number),
                    file->kind_count);
    sn_text_words(page, SN_STYLE_DIM, "%12s  %-38s %-3s%s", "EVENTS", "EVENT", "V", "PROVIDER");
    sn_text_end(page);
    for (size_t i = 0; i < file->kind_count; i++) {
        if (is_rundown(&file->kinds[i]))
            rundown += file->kinds[i].count;
        else if (shown++ < page->count)
            put_kind(page, &file->kinds[i]);
        else
            hidden++;
    }
    if (hidden) {
        sn_text_words(page, SN_STYLE_DIM, "%12s  and %zu more kinds (--count)", "", hidden);
        sn_text_end(page);
    }
    if (rundown) {
        sn_text_right_count(page, rundown, 12);
        sn_text_words(page, SN_STYLE_NONE, "  rundown: names of methods and modules");
        sn_text_end(page);
    }
}
