/* Sections about a recording of a machine: processes, waits, system calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "convert/machine_facts.h"
#include "convert/report_text.h"
#include "convert/sites.h"
#include "model/report.h"

#define SHARE_WIDTH 8u
#define VALUE_WIDTH 10u
#define NAME_WIDTH  24u
#define MORE_COLUMN 20u

/* --- processes --- */

static void put_process(struct sn_text_report *page, const struct sn_report *report,
                        const struct sn_process_time *process)
{
    char pid[32];
    if (process->pid)
        (void)snprintf(pid, sizeof(pid), "%" PRIu32, process->pid);
    else
        (void)snprintf(pid, sizeof(pid), "(%" PRIu32 ")", process->count);
    sn_text_right_share(page, process->cpu_ns, report->machine.cpu_ns, SHARE_WIDTH);
    sn_text_right_ns(page, process->cpu_ns, VALUE_WIDTH);
    sn_text_right_share(page, process->kernel_ns, process->cpu_ns, SHARE_WIDTH);
    if (report->off_cpu.event_count)
        sn_text_right_ns(page, process->run_queue_ns, VALUE_WIDTH);
    sn_text_right_count(page, process->thread_count, 8);
    sn_text_right(page, SN_STYLE_NONE, pid, 9);
    sn_text_words(page, SN_STYLE_NONE, "  ");
    sn_text_cell(page, process->is_dotnet ? SN_STYLE_BOLD : SN_STYLE_NONE, process->name,
                 NAME_WIDTH);
    sn_text_words(page, SN_STYLE_NONE, " ");
    sn_text_name(page, SN_STYLE_DIM, process->kind);
    if (process->container[0]) {
        sn_text_words(page, SN_STYLE_DIM, ", container ");
        sn_text_rest_start(page, SN_STYLE_DIM, process->container);
    }
    sn_text_end(page);
}

static void put_process_headings(struct sn_text_report *page, const struct sn_report *report)
{
    sn_text_right(page, SN_STYLE_DIM, "CPU", SHARE_WIDTH + VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "KERNEL", SHARE_WIDTH);
    if (report->off_cpu.event_count)
        sn_text_right(page, SN_STYLE_DIM, "FOR A CPU", VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "THREADS", 8);
    sn_text_right(page, SN_STYLE_DIM, "PID", 9);
    sn_text_words(page, SN_STYLE_DIM, "  PROCESS");
    sn_text_end(page);
}

void sn_report_text_processes(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_machine_report *machine = &report->machine;
    char kernel[16];
    char share[16];
    if (!machine->count)
        return;
    const struct sn_process_time *first = &machine->processes[0];
    if (machine->is_runtime_sampler)
        sn_text_heading(page, "Processes",
                        "%zu; the runtime's sampler: stacks are those of %s only",
                        machine->ran_count, machine->chosen_name);
    else
        sn_text_heading(
            page, "Processes", "%s (%s) took %s of the CPU time%s%s%s", first->name, first->kind,
            sn_text_share(first->cpu_ns, machine->cpu_ns, share), machine->kernel_ns ? "; " : "",
            machine->kernel_ns ? sn_text_share(machine->kernel_ns, machine->cpu_ns, kernel) : "",
            machine->kernel_ns ? " was in the kernel" : "");
    put_process_headings(page, report);
    for (size_t i = 0; i < machine->count && i < page->count; i++)
        put_process(page, report, &machine->processes[i]);
    sn_text_more(page, machine->count, MORE_COLUMN, " names of processes");
}

/* --- off the CPU --- */

static void put_reason(struct sn_text_report *page, const struct sn_off_cpu_report *off,
                       enum sn_wait_reason reason)
{
    const struct sn_wait_sum *sum = &off->by_reason[reason];
    if (!sum->count)
        return;
    sn_text_right_share(page, sum->ns, off->ns, SHARE_WIDTH);
    sn_text_right_ns(page, sum->ns, VALUE_WIDTH);
    sn_text_right_count(page, sum->count, VALUE_WIDTH);
    sn_text_right_ns(page, sum->max_ns, VALUE_WIDTH);
    sn_text_words(page, SN_STYLE_NONE, "  %s", sn_wait_reason_name(reason));
    sn_text_end(page);
}

static void put_wait_headings(struct sn_text_report *page, const char *third, const char *what)
{
    sn_text_right(page, SN_STYLE_DIM, "TIME", SHARE_WIDTH + VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "TIMES", VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, third, VALUE_WIDTH);
    sn_text_words(page, SN_STYLE_DIM, "  %s", what);
    sn_text_end(page);
}

struct ranked_reason {
    uint64_t ns;
    enum sn_wait_reason reason;
};

static int by_time(const void *left, const void *right)
{
    const struct ranked_reason *a = left;
    const struct ranked_reason *b = right;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static void put_reasons(struct sn_text_report *page, const struct sn_off_cpu_report *off)
{
    struct ranked_reason reasons[SN_WAIT_REASONS];
    for (int i = 0; i < SN_WAIT_REASONS; i++)
        reasons[i] = (struct ranked_reason){off->by_reason[i].ns, (enum sn_wait_reason)i};
    qsort(reasons, SN_WAIT_REASONS, sizeof(*reasons), by_time);
    put_wait_headings(page, "LONGEST", "REASON");
    for (int i = 0; i < SN_WAIT_REASONS; i++)
        put_reason(page, off, reasons[i].reason);
}

static void put_places(struct sn_text_report *page, const struct sn_profile *profile,
                       uint64_t whole, const char *what)
{
    SN_AUTO(sn_wait_places_done) struct sn_wait_places places = {0};
    sn_wait_places_find(&places, profile);
    if (!places.count)
        return;
    sn_text_end(page);
    put_wait_headings(page, "MEAN", what);
    for (size_t i = 0; i < places.count && i < page->count; i++) {
        const struct sn_wait_place *place = &places.items[i];
        sn_text_right_share(page, place->ns, whole, SHARE_WIDTH);
        sn_text_right_ns(page, place->ns, VALUE_WIDTH);
        sn_text_right_count(page, place->count, VALUE_WIDTH);
        sn_text_right_ns(page, place->ns / place->count, VALUE_WIDTH);
        sn_text_words(page, SN_STYLE_NONE, "  ");
        sn_text_cell(page, SN_STYLE_DIM, place->type, 17);
        sn_text_words(page, SN_STYLE_NONE, " ");
        sn_text_rest(page, place->is_own ? SN_STYLE_BOLD : SN_STYLE_NONE, place->name);
        sn_text_end(page);
    }
    sn_text_more(page, places.count, MORE_COLUMN, " places");
}

static void put_waiting_thread(struct sn_text_report *page, const struct sn_off_cpu_report *off,
                               const struct sn_thread_wait *thread)
{
    enum sn_wait_reason most = sn_thread_wait_most(thread);
    sn_text_right_share(page, thread->off_ns, off->ns, SHARE_WIDTH);
    sn_text_right_ns(page, thread->off_ns, VALUE_WIDTH);
    sn_text_right_count(page, thread->count, VALUE_WIDTH);
    sn_text_right_share(page, thread->by_reason[most], thread->off_ns, VALUE_WIDTH);
    sn_text_words(page, SN_STYLE_NONE, "  ");
    sn_text_cell(page, SN_STYLE_DIM, sn_wait_reason_name(most), 17);
    sn_text_thread(page, thread->thread_id, thread->name, thread->process);
    sn_text_end(page);
}

void sn_report_text_off_cpu(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_off_cpu_report *off = &report->off_cpu;
    char text[2][32];
    char share[16];
    if (!off->event_count)
        return;
    enum sn_wait_reason most = sn_off_cpu_most(off);
    sn_text_heading(page, "Off CPU", "threads were off it for %s, %s of that: %s%s%s",
                    sn_text_ns(off->ns, text[0]),
                    sn_text_share(off->by_reason[most].ns, off->ns, share),
                    sn_wait_reason_name(most),
                    most == SN_WAIT_IDLE ? "" : sn_off_cpu_where(off, (char[256]){0}),
                    sn_machine_doubt(&report->machine));
    put_reasons(page, off);
    put_places(page, off->profile, off->ns, "WHERE, without workers that had no work");
    sn_text_end(page);
    put_wait_headings(page, "OF THAT",
                      "THREAD, and what it waited for most; workers without work last");
    for (size_t i = 0; i < off->thread_count && i < page->count; i++)
        put_waiting_thread(page, off, &off->threads[i]);
    sn_text_more(page, off->thread_count, MORE_COLUMN, " threads");
}

/* --- waiting for a CPU --- */

static void put_bucket(struct sn_text_report *page, const struct sn_run_queue_report *queue,
                       unsigned bucket)
{
    enum { BAR = 40 };
    char below[32];
    char bar[BAR + 1];
    size_t length = (size_t)((double)queue->buckets[bucket] * BAR / (double)queue->event_count);
    memset(bar, '#', sizeof(bar) - 1);
    bar[length < BAR ? length : BAR] = '\0';
    sn_text_right_share(page, queue->buckets[bucket], queue->event_count, SHARE_WIDTH);
    sn_text_right_count(page, queue->buckets[bucket], VALUE_WIDTH);
    sn_text_words(page, SN_STYLE_NONE, "  %s %-8s %s",
                  bucket + 1 < SN_RUN_QUEUE_BUCKETS ? "<" : ">=", sn_run_queue_edge(bucket, below),
                  bar);
    sn_text_end(page);
}

static void put_worst_threads(struct sn_text_report *page, const struct sn_report *report)
{
    SN_AUTO(sn_free) const struct sn_thread_wait **worst = sn_run_queue_worst(&report->off_cpu);
    if (!worst)
        return;
    sn_text_end(page);
    sn_text_right(page, SN_STYLE_DIM, "TIME", SHARE_WIDTH + VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "LONGEST", VALUE_WIDTH);
    sn_text_words(page, SN_STYLE_DIM, "  THREAD");
    sn_text_end(page);
    for (size_t i = 0; worst[i] && i < page->count; i++) {
        sn_text_right_share(page, worst[i]->run_queue_ns, report->run_queue.ns, SHARE_WIDTH);
        sn_text_right_ns(page, worst[i]->run_queue_ns, VALUE_WIDTH);
        sn_text_right_ns(page, worst[i]->run_queue_max_ns, VALUE_WIDTH);
        sn_text_thread(page, worst[i]->thread_id, worst[i]->name, worst[i]->process);
        sn_text_end(page);
    }
}

void sn_report_text_run_queue(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_run_queue_report *queue = &report->run_queue;
    char text[3][32];
    char share[16];
    if (!queue->event_count)
        return;
    uint64_t runnable = queue->ns + report->machine.cpu_ns;
    sn_text_heading(page, "Run queue",
                    "threads that could run waited %s for a CPU (%s of their time), %s at most%s",
                    sn_text_ns(queue->ns, text[0]), sn_text_share(queue->ns, runnable, share),
                    sn_text_ns(queue->max_ns, text[1]), sn_machine_doubt(&report->machine));
    sn_text_right(page, SN_STYLE_DIM, "WAITS", SHARE_WIDTH + VALUE_WIDTH);
    sn_text_words(page, SN_STYLE_DIM, "  HOW LONG");
    sn_text_end(page);
    for (unsigned i = 0; i < SN_RUN_QUEUE_BUCKETS; i++) {
        if (queue->buckets[i])
            put_bucket(page, queue, i);
    }
    put_worst_threads(page, report);
}

/* --- system calls --- */

static void put_syscall(struct sn_text_report *page, const struct sn_syscall_report *calls,
                        const struct sn_syscall_kind *kind)
{
    sn_text_right_share(page, kind->ns, calls->ns, SHARE_WIDTH);
    sn_text_right_ns(page, kind->ns, VALUE_WIDTH);
    sn_text_right_count(page, kind->count, VALUE_WIDTH);
    sn_text_right_ns(page, kind->ns / kind->count, VALUE_WIDTH);
    sn_text_right_ns(page, kind->max_ns, VALUE_WIDTH);
    sn_text_right_count(page, kind->error_count, VALUE_WIDTH);
    sn_text_words(page, SN_STYLE_NONE, "  ");
    sn_text_rest(page, SN_STYLE_NONE, kind->name);
    sn_text_end(page);
}

void sn_report_text_syscalls(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_syscall_report *calls = &report->syscalls;
    char text[2][32];
    char share[16];
    if (!calls->event_count)
        return;
    sn_text_heading(page, "Syscalls", "%s took %s, %s of it in %s; %s failed",
                    sn_text_count(calls->event_count, text[0]), sn_text_ns(calls->ns, text[1]),
                    sn_text_share(calls->kinds[0].ns, calls->ns, share), calls->kinds[0].name,
                    sn_text_count(calls->error_count, (char[32]){0}));
    sn_text_right(page, SN_STYLE_DIM, "TIME", SHARE_WIDTH + VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "CALLS", VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "MEAN", VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "LONGEST", VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "FAILED", VALUE_WIDTH);
    sn_text_words(page, SN_STYLE_DIM, "  CALL");
    sn_text_end(page);
    for (size_t i = 0; i < calls->count && i < page->count; i++)
        put_syscall(page, calls, &calls->kinds[i]);
    sn_text_more(page, calls->count, MORE_COLUMN, " calls");
    put_places(page, calls->profile, calls->ns, "WHO CALLED");
}

/* --- stopped for collections --- */

void sn_report_text_suspension(struct sn_text_report *page, const struct sn_report *report)
{
    const struct sn_suspension_report *stops = &report->suspension;
    char text[3][32];
    char share[16];
    if (!stops->event_count && !stops->gc_cpu_ns)
        return;
    sn_text_heading(page, "GC time",
                    "collecting took %s of CPU (%s)%s; threads were stopped for %s in %s pause%s",
                    sn_text_ns(stops->gc_cpu_ns, text[0]),
                    sn_text_share(stops->gc_cpu_ns, report->machine.cpu_ns, share),
                    report->machine.dotnet_count > 1 ? " in all processes" : "",
                    sn_text_ns(stops->ns, text[2]), sn_text_count(stops->event_count, text[1]),
                    stops->event_count == 1 ? "" : "s");
    if (!stops->event_count)
        return;
    sn_text_right(page, SN_STYLE_DIM, "TIMES", SHARE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, "STOPPED", VALUE_WIDTH);
    sn_text_right(page, SN_STYLE_DIM, stops->has_threads ? "OF THREADS" : "", VALUE_WIDTH + 2);
    sn_text_words(page, SN_STYLE_DIM, "  BECAUSE");
    sn_text_end(page);
    for (size_t i = 0; i < SN_STOP_REASONS; i++) {
        const struct sn_stop_sum *sum = &stops->by_reason[i];
        if (!sum->name || !sum->count)
            continue;
        sn_text_right_count(page, sum->count, SHARE_WIDTH);
        sn_text_right_ns(page, sum->ns, VALUE_WIDTH);
        if (stops->has_threads)
            sn_text_right_ns(page, sum->thread_ns, VALUE_WIDTH + 2);
        else
            sn_text_cell(page, SN_STYLE_NONE, "", VALUE_WIDTH + 2);
        sn_text_words(page, SN_STYLE_NONE, "  %s", sum->name);
        sn_text_end(page);
    }
}
