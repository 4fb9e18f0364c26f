/* Sections about a recording of a machine: processes, waits, system calls. */
#include <stdio.h>

#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/html_page.h"
#include "convert/html_text.h"
#include "convert/machine_facts.h"
#include "convert/report_html_sections.h"
#include "convert/report_text.h"
#include "model/report.h"

static void cell_text(struct sn_buf *out, const char *text)
{
    sn_buf_text(out, "<td>");
    sn_html_text(out, text);
}

/* --- processes --- */

static void write_process(struct sn_buf *out, const struct sn_report *report,
                          const struct sn_process_time *process)
{
    char detail[512];
    (void)snprintf(detail, sizeof(detail), "%s%s%.64s%s%.300s", process->kind,
                   process->container[0] ? ", container " : "", process->container,
                   process->command[0] ? ", " : "", process->command);
    sn_html_row_with(out, process->name, detail);
    if (process->pid)
        sn_buf_format(out, "<td>%u", process->pid);
    else
        sn_buf_format(out, "<td>%u processes", process->count);
    sn_html_cell_ns(out, process->cpu_ns);
    sn_html_cell_share(out, process->cpu_ns, report->machine.cpu_ns);
    sn_html_cell_share(out, process->kernel_ns, process->cpu_ns);
    if (report->off_cpu.event_count) {
        sn_html_cell_ns(out, process->off_ns);
        sn_html_cell_ns(out, process->run_queue_ns);
    }
    sn_html_cell_count(out, process->thread_count);
    sn_html_cell_count(out, process->sample_count);
}

void sn_report_html_processes(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Process",       "Id",      "CPU",       "Share",
                                           "In the kernel", "Off CPU", "For a CPU", "Threads",
                                           "Samples",       NULL};
    static const char *const plain[] = {"Process",       "Id",      "CPU",     "Share",
                                        "In the kernel", "Threads", "Samples", NULL};
    const struct sn_machine_report *machine = &page->report->machine;
    struct sn_buf *out = &page->stream->buf;
    if (machine->chosen_pid && machine->dotnet_count > 1) {
        sn_buf_text(out, "<p>Collections, exceptions and the like are those of <b>");
        sn_html_text(out, machine->chosen_name);
        sn_buf_format(out, "</b>, process %u; <code>--process</code> chooses another.</p>\n",
                      machine->chosen_pid);
    }
    sn_html_table_begin(out, page->report->off_cpu.event_count ? headings : plain);
    for (size_t i = 0; i < machine->count && i < page->row_count; i++) {
        write_process(out, page->report, &machine->processes[i]);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

/* --- off the CPU --- */

static void write_places(const struct sn_html_report *page, const struct sn_profile *profile,
                         const char *const headings[5])
{
    SN_AUTO(sn_wait_places_done) struct sn_wait_places places = {0};
    struct sn_buf *out = &page->stream->buf;
    sn_wait_places_find(&places, profile);
    if (!places.count)
        return;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < places.count && i < page->row_count; i++) {
        sn_html_row(out, places.items[i].name);
        cell_text(out, places.items[i].type);
        sn_html_cell_ns(out, places.items[i].ns);
        sn_html_cell_count(out, places.items[i].count);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

static void write_reasons(struct sn_buf *out, const struct sn_off_cpu_report *off)
{
    static const char *const headings[] = {"Reason", "Time", "Share", "Times", "Longest", NULL};
    sn_html_table_begin(out, headings);
    for (int i = 0; i < SN_WAIT_REASONS; i++) {
        const struct sn_wait_sum *sum = &off->by_reason[i];
        if (!sum->count)
            continue;
        sn_html_row(out, sn_wait_reason_name((enum sn_wait_reason)i));
        sn_html_cell_ns(out, sum->ns);
        sn_html_cell_share(out, sum->ns, off->ns);
        sn_html_cell_count(out, sum->count);
        sn_html_cell_ns(out, sum->max_ns);
    }
    sn_html_table_end(out);
}

static void row_of_thread(struct sn_buf *out, const struct sn_thread_wait *thread)
{
    char id[48];
    (void)snprintf(id, sizeof(id), "%llu %.16s", (unsigned long long)thread->thread_id,
                   thread->name ? thread->name : "");
    sn_html_row_with(out, id, thread->process);
}

static void write_waiting_threads(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Thread", "Time", "Times", "Mostly for", NULL};
    const struct sn_off_cpu_report *off = &page->report->off_cpu;
    struct sn_buf *out = &page->stream->buf;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < off->thread_count && i < page->row_count; i++) {
        row_of_thread(out, &off->threads[i]);
        sn_html_cell_ns(out, off->threads[i].off_ns);
        sn_html_cell_count(out, off->threads[i].count);
        cell_text(out, sn_wait_reason_name(sn_thread_wait_most(&off->threads[i])));
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

void sn_report_html_off_cpu(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Where", "For", "Time", "Times", NULL};
    const struct sn_off_cpu_report *off = &page->report->off_cpu;
    write_reasons(&page->stream->buf, off);
    sn_buf_text(&page->stream->buf, "<h3>Places</h3>\n");
    write_places(page, off->profile, headings);
    sn_buf_text(&page->stream->buf, "<h3>Threads</h3>\n");
    write_waiting_threads(page);
}

/* --- waiting for a CPU --- */

static void write_worst(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Thread", "Waited for a CPU", "Longest", NULL};
    struct sn_buf *out = &page->stream->buf;
    SN_AUTO(sn_free)
    const struct sn_thread_wait **worst = sn_run_queue_worst(&page->report->off_cpu);
    sn_html_table_begin(out, headings);
    for (size_t i = 0; worst && worst[i] && i < page->row_count; i++) {
        row_of_thread(out, worst[i]);
        sn_html_cell_ns(out, worst[i]->run_queue_ns);
        sn_html_cell_ns(out, worst[i]->run_queue_max_ns);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
}

void sn_report_html_run_queue(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Waited", "Waits", "Share", NULL};
    const struct sn_run_queue_report *queue = &page->report->run_queue;
    struct sn_buf *out = &page->stream->buf;
    char name[48];
    char edge[32];
    sn_html_facts_begin(out);
    sn_html_fact_ns(out, "waited for a CPU", queue->ns);
    sn_html_fact_count(out, "waits", queue->event_count);
    sn_html_fact_ns(out, "longest", queue->max_ns);
    sn_html_facts_end(out);
    sn_html_table_begin(out, headings);
    for (unsigned i = 0; i < SN_RUN_QUEUE_BUCKETS; i++) {
        if (!queue->buckets[i])
            continue;
        (void)snprintf(name, sizeof(name), "%s %s",
                       i + 1 < SN_RUN_QUEUE_BUCKETS ? "less than" : "more than",
                       sn_run_queue_edge(i, edge));
        sn_html_row(out, name);
        sn_html_cell_count(out, queue->buckets[i]);
        sn_html_cell_share(out, queue->buckets[i], queue->event_count);
    }
    sn_html_table_end(out);
    write_worst(page);
}

/* --- system calls --- */

void sn_report_html_syscalls(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Call", "Time",    "Share",  "Calls",
                                           "Mean", "Longest", "Failed", NULL};
    static const char *const places[] = {"Called by", "Call", "Time", "Times", NULL};
    const struct sn_syscall_report *calls = &page->report->syscalls;
    struct sn_buf *out = &page->stream->buf;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < calls->count && i < page->row_count; i++) {
        const struct sn_syscall_kind *kind = &calls->kinds[i];
        sn_html_row(out, kind->name);
        sn_html_cell_ns(out, kind->ns);
        sn_html_cell_share(out, kind->ns, calls->ns);
        sn_html_cell_count(out, kind->count);
        sn_html_cell_ns(out, kind->ns / kind->count);
        sn_html_cell_ns(out, kind->max_ns);
        sn_html_cell_count(out, kind->error_count);
        sn_stream_settle(page->stream);
    }
    sn_html_table_end(out);
    write_places(page, calls->profile, places);
}

/* --- stopped for collections --- */

void sn_report_html_suspension(const struct sn_html_report *page)
{
    static const char *const headings[] = {"Because", "Times", "Stopped", "Of threads", NULL};
    const struct sn_suspension_report *stops = &page->report->suspension;
    struct sn_buf *out = &page->stream->buf;
    sn_html_facts_begin(out);
    sn_html_fact_ns(out, "CPU time of collecting", stops->gc_cpu_ns);
    sn_html_fact_count(out, "times stopped", stops->event_count);
    sn_html_fact_ns(out, "stopped", stops->ns);
    sn_html_fact_ns(out, "longest", stops->max_ns);
    if (stops->has_threads)
        sn_html_fact_ns(out, "lost by threads", stops->thread_ns);
    sn_html_facts_end(out);
    if (!stops->event_count)
        return;
    sn_html_table_begin(out, headings);
    for (size_t i = 0; i < SN_STOP_REASONS; i++) {
        const struct sn_stop_sum *sum = &stops->by_reason[i];
        if (!sum->name || !sum->count)
            continue;
        sn_html_row(out, sum->name);
        sn_html_cell_count(out, sum->count);
        sn_html_cell_ns(out, sum->ns);
        sn_html_cell_ns(out, sum->thread_ns);
    }
    sn_html_table_end(out);
}
