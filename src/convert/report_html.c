#include "convert/report_html.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/html_page.h"
#include "convert/html_text.h"
#include "convert/machine_facts.h"
#include "convert/report_html_sections.h"
#include "convert/report_show.h"
#include "convert/report_text.h"
#include "model/report.h"

#define SUBTITLE_LIMIT 1024u

/* --- the sections there are --- */

struct section {
    const char *name; /* as in sn_report_sections */
    const char *title;
    bool (*has)(const struct sn_report *report);
    void (*write)(const struct sn_html_report *page);
};

static bool has_threads(const struct sn_report *report)
{
    return report->thread_count != 0;
}

static bool has_gc(const struct sn_report *report)
{
    return report->gc.event_count != 0;
}

static bool has_exceptions(const struct sn_report *report)
{
    return report->exceptions.event_count != 0;
}

static bool has_allocations(const struct sn_report *report)
{
    return report->allocations.event_count != 0;
}

static bool has_contention(const struct sn_report *report)
{
    return report->contention.event_count != 0;
}

static bool has_jit(const struct sn_report *report)
{
    return report->jit.event_count != 0;
}

static bool has_pool(const struct sn_report *report)
{
    return report->pool.event_count != 0;
}

static bool has_requests(const struct sn_report *report)
{
    return report->requests.event_count != 0;
}

static bool has_tasks(const struct sn_report *report)
{
    return report->tasks.event_count != 0;
}

static bool has_processes(const struct sn_report *report)
{
    return report->machine.count != 0;
}

static bool has_off_cpu(const struct sn_report *report)
{
    return report->off_cpu.event_count != 0;
}

static bool has_run_queue(const struct sn_report *report)
{
    return report->run_queue.event_count != 0;
}

static bool has_syscalls(const struct sn_report *report)
{
    return report->syscalls.event_count != 0;
}

static bool has_suspension(const struct sn_report *report)
{
    return report->suspension.event_count || report->suspension.gc_cpu_ns;
}

static const struct section sections[] = {
    {"processes", "Processes", has_processes, sn_report_html_processes},
    {"off-cpu", "Off CPU", has_off_cpu, sn_report_html_off_cpu},
    {"run-queue", "Waiting for a CPU", has_run_queue, sn_report_html_run_queue},
    {"syscalls", "System calls", has_syscalls, sn_report_html_syscalls},
    {"suspension", "Time lost to collections", has_suspension, sn_report_html_suspension},
    {"requests", "Requests", has_requests, sn_report_html_requests},
    {"gc", "Garbage collection", has_gc, sn_report_html_gc},
    {"allocations", "Allocations", has_allocations, sn_report_html_allocations},
    {"exceptions", "Exceptions", has_exceptions, sn_report_html_exceptions},
    {"contention", "Lock contention", has_contention, sn_report_html_contention},
    {"tasks", "Tasks", has_tasks, sn_report_html_tasks},
    {"threadpool", "Thread pool", has_pool, sn_report_html_pool},
    {"threads", "Threads", has_threads, sn_report_html_threads},
    {"jit", "Compilation", has_jit, sn_report_html_jit},
};

#define SECTION_COUNT (sizeof(sections) / sizeof(*sections))

static bool is_wanted(const struct sn_report_show *show, const char *name)
{
    const struct sn_report_section section = {.name = name};
    return sn_report_shows(show, &section);
}

static bool is_shown(const struct section *section, const struct sn_report_show *show)
{
    return is_wanted(show, section->name) && section->has(show->report);
}

static void write_contents(struct sn_stream *stream, const struct sn_report_show *show)
{
    sn_buf_text(&stream->buf, "<nav class=contents aria-label=Sections>");
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (is_shown(&sections[i], show))
            sn_buf_format(&stream->buf, "<a href=\"#%s\">%s</a>", sections[i].name,
                          sections[i].title);
    }
    sn_buf_text(&stream->buf, "</nav>\n");
}

static void write_sections(const struct sn_html_report *page, const struct sn_report_show *show)
{
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (!is_shown(&sections[i], show))
            continue;
        sn_buf_format(&page->stream->buf, "<section class=card id=%s><h2>%s</h2>\n",
                      sections[i].name, sections[i].title);
        sections[i].write(page);
        sn_buf_text(&page->stream->buf, "</section>\n");
        sn_stream_settle(page->stream);
    }
}

/* --- what stands out --- */

static void write_cpu_facts(struct sn_buf *out, const struct sn_report *report)
{
    char share[16];
    sn_html_fact_ns(out, "CPU time", report->cpu_ns);
    sn_html_fact_text(out, "of one core",
                      sn_text_share(report->cpu_ns, report->duration_ns, share));
    if (report->cpu_truth == SN_CPU_SAMPLED)
        sn_html_fact_text(out, "in the kernel",
                          sn_text_share(report->machine.kernel_ns, report->cpu_ns, share));
    if (report->unseen_cpu_ns)
        sn_html_fact_ns(out, "runtime's own threads", report->unseen_cpu_ns);
    if (report->tracing_cpu_ns)
        sn_html_fact_ns(out,
                        report->cpu_truth == SN_CPU_SAMPLED ? "tracing" : "tracing cost besides",
                        report->tracing_cpu_ns);
    if (has_off_cpu(report))
        sn_html_fact_ns(out, "threads waited", report->off_cpu.ns);
    if (has_run_queue(report))
        sn_html_fact_ns(out, "waited for a CPU", report->run_queue.ns);
}

static void write_facts(struct sn_stream *stream, const struct sn_report_show *show)
{
    const struct sn_report *report = show->report;
    struct sn_buf *out = &stream->buf;
    char share[16];
    sn_html_facts_begin(out);
    sn_html_fact_ns(out, "duration", report->duration_ns);
    if (report->is_part)
        sn_html_fact_ns(out, "a part, from", report->part_from_ns);
    if (sn_report_has_cpu(report))
        write_cpu_facts(out, report);
    if (has_gc(report))
        sn_html_fact_text(out, "paused by GC",
                          sn_text_share(report->gc.pause_ns, report->duration_ns, share));
    if (has_allocations(report))
        sn_html_fact_bytes(out, "allocated", report->allocations.bytes);
    sn_html_fact_count(out, "events", show->file->event_count);
    if (show->file->lost_count)
        sn_html_fact_count(out, "events lost", show->file->lost_count);
    sn_html_facts_end(out);
}

static void write_notes(struct sn_stream *stream, const struct sn_report_show *show)
{
    const struct sn_report *report = show->report;
    if (report->samples && report->cpu_truth == SN_CPU_NO_RECORD)
        sn_html_page_note(stream,
                          "Wall time, not CPU time: there is no CPU record beside the trace, "
                          "so threads that wait count like threads that run.");
    else if (report->cpu_truth == SN_CPU_BAD_RECORD)
        sn_html_page_note(stream,
                          report->cpu_note ? report->cpu_note : "the CPU record is unusable");
    if (show->file->lost_count)
        sn_html_page_note(stream, report->machine.has_lost_much
                                      ? "The kernel had no room for many of its records: shares "
                                        "hold, sums are too small."
                                  : report->machine.is_machine
                                      ? "The kernel or a runtime had no room for some events: "
                                        "numbers here are too small."
                                      : "The runtime lost events while it was traced: all numbers "
                                        "here are too small.");
    if (report->machine.is_machine && !show->file->event_count)
        sn_html_page_note(stream, "Nothing was recorded: no process that was asked for was there.");
    if (show->file->damage_count)
        sn_html_page_note(stream, "Parts of the file are damaged; this is what could be read.");
    if (show->file->is_cut)
        sn_html_page_note(stream, "The file ends in the middle: the trace was cut off.");
}

static void write_headline(struct sn_stream *stream, const struct sn_report_show *show)
{
    SN_AUTO(sn_buf_done) struct sn_buf subtitle = sn_buf_with_limit(SUBTITLE_LIMIT);
    char text[32];
    if (show->report->machine.is_machine)
        sn_buf_format(&subtitle, "%s; ", sn_machine_count(&show->report->machine, (char[96]){0}));
    else if (show->file->pid)
        sn_buf_format(&subtitle, "process %u, ", show->file->pid);
    if (show->file->start_utc_ns)
        sn_buf_format(&subtitle, "%s, ", sn_clock_rfc3339(show->file->start_utc_ns, text));
    sn_buf_format(&subtitle, "NetTrace %u, ", show->file->format);
    sn_buf_text(&subtitle, sn_text_bytes(show->file->byte_count, text));
    sn_html_page_begin(stream, sn_html_file_name(show->file->path), sn_buf_string(&subtitle));
    write_facts(stream, show);
    write_notes(stream, show);
}

/* --- the flame graph of all that has stacks --- */

static void write_flame(struct sn_stream *stream, const struct sn_report_show *show)
{
    const struct sn_report *report = show->report;
    const struct sn_html_profile all[] = {
        {.profile = report->samples, .column = sn_report_has_cpu(report) ? 0 : 1},
        {.profile = report->allocations.profile,
         .labels = {"Allocated bytes", "Allocation samples"}},
        {.profile = report->exceptions.profile,
         .labels = {"Exceptions", "Exceptions, time to catch"}},
        {.profile = report->off_cpu.profile, .labels = {"Off CPU, by reason", "Switches"}},
        {.profile = report->syscalls.profile,
         .labels = {"System calls, time", "System calls, count"}},
        {.profile = report->contention.profile,
         .labels = {"Lock waits, time", "Lock waits, count"}},
    };
    static const char *const names[] = {"methods", "allocations", "exceptions",
                                        "off-cpu", "syscalls",    "contention"};
    struct sn_html_profile shown[sizeof(all) / sizeof(*all)];
    size_t count = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (all[i].profile && all[i].profile->row_count && is_wanted(show, names[i]))
            shown[count++] = all[i];
    }
    if (count)
        sn_html_page_flame(stream, shown, count);
}

void sn_report_html_write(struct sn_stream *stream, const struct sn_report_show *show)
{
    struct sn_html_report page = {
        .stream = stream,
        .report = show->report,
        .row_count = show->count,
    };
    write_headline(stream, show);
    write_contents(stream, show);
    write_flame(stream, show);
    write_sections(&page, show);
    sn_html_page_end(stream);
}
