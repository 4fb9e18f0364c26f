/* The members of a recording of a machine: processes, waits, system calls. */
#include "base/json.h"
#include "base/own.h"
#include "convert/machine_facts.h"
#include "convert/report_json.h"
#include "model/report.h"

static void write_process(struct sn_json *json, const struct sn_process_time *process)
{
    sn_json_object(json, NULL);
    sn_json_text(json, "name", process->name);
    sn_json_u64(json, "pid", process->pid);
    sn_json_u64(json, "count", process->count);
    sn_json_text(json, "kind", process->kind);
    sn_json_bool(json, "dotnet", process->is_dotnet);
    sn_json_bool(json, "chosen", process->is_chosen);
    sn_json_text(json, "command", process->command);
    sn_json_text(json, "container", process->container);
    sn_json_u64(json, "threads", process->thread_count);
    sn_json_u64(json, "cpuNs", process->cpu_ns);
    sn_json_u64(json, "kernelNs", process->kernel_ns);
    sn_json_u64(json, "offCpuNs", process->off_ns);
    sn_json_u64(json, "runQueueNs", process->run_queue_ns);
    sn_json_u64(json, "samples", process->sample_count);
    sn_json_close(json);
}

void sn_report_json_processes(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_machine_report *machine = &report->machine;
    if (!machine->is_machine)
        return;
    sn_json_object(json, "machine");
    sn_json_u64(json, "processCount", machine->known_count);
    sn_json_u64(json, "ranCount", machine->ran_count);
    sn_json_u64(json, "kernelLost", machine->kernel_lost_count);
    sn_json_u64(json, "cpuNs", machine->cpu_ns);
    sn_json_u64(json, "kernelNs", machine->kernel_ns);
    sn_json_u64(json, "intervalNs", machine->interval_ns);
    sn_json_u64(json, "idleSamples", machine->idle_sample_count);
    sn_json_u64(json, "throttledNs", machine->throttled_ns);
    sn_json_bool(json, "runtimeSampler", machine->is_runtime_sampler);
    sn_json_u64(json, "dotnetCount", machine->dotnet_count);
    sn_json_u64(json, "chosenPid", machine->chosen_pid);
    sn_json_text(json, "chosenName", machine->chosen_name);
    sn_json_array(json, "processes");
    for (size_t i = 0; i < machine->count; i++)
        write_process(json, &machine->processes[i]);
    sn_json_close(json);
    sn_json_close(json);
}

static void write_places(struct sn_json *json, const struct sn_profile *profile, const char *type)
{
    SN_AUTO(sn_wait_places_done) struct sn_wait_places places = {0};
    sn_wait_places_find(&places, profile);
    sn_json_array(json, "places");
    for (size_t i = 0; i < places.count; i++) {
        sn_json_object(json, NULL);
        sn_json_text(json, "name", places.items[i].name);
        sn_json_text(json, type, places.items[i].type);
        sn_json_u64(json, "timeNs", places.items[i].ns);
        sn_json_u64(json, "count", places.items[i].count);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_reasons(struct sn_json *json, const struct sn_off_cpu_report *off)
{
    sn_json_array(json, "reasons");
    for (int i = 0; i < SN_WAIT_REASONS; i++) {
        if (!off->by_reason[i].count)
            continue;
        sn_json_object(json, NULL);
        sn_json_text(json, "reason", sn_wait_reason_name((enum sn_wait_reason)i));
        sn_json_u64(json, "count", off->by_reason[i].count);
        sn_json_u64(json, "timeNs", off->by_reason[i].ns);
        sn_json_u64(json, "maxNs", off->by_reason[i].max_ns);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_thread(struct sn_json *json, const struct sn_thread_wait *thread)
{
    sn_json_object(json, NULL);
    sn_json_u64(json, "id", thread->thread_id);
    sn_json_u64(json, "pid", thread->pid);
    sn_json_text(json, "name", thread->name);
    sn_json_text(json, "process", thread->process);
    sn_json_u64(json, "count", thread->count);
    sn_json_u64(json, "timeNs", thread->off_ns);
    sn_json_u64(json, "runQueueNs", thread->run_queue_ns);
    sn_json_u64(json, "runQueueMaxNs", thread->run_queue_max_ns);
    sn_json_text(json, "reason", sn_wait_reason_name(sn_thread_wait_most(thread)));
    sn_json_close(json);
}

void sn_report_json_off_cpu(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_off_cpu_report *off = &report->off_cpu;
    if (!off->event_count)
        return;
    sn_json_object(json, "offCpu");
    sn_json_u64(json, "events", off->event_count);
    sn_json_u64(json, "timeNs", off->ns);
    write_reasons(json, off);
    write_places(json, off->profile, "reason");
    sn_json_array(json, "threads");
    for (size_t i = 0; i < off->thread_count; i++)
        write_thread(json, &off->threads[i]);
    sn_json_close(json);
    sn_json_close(json);
}

void sn_report_json_run_queue(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_run_queue_report *queue = &report->run_queue;
    if (!queue->event_count)
        return;
    sn_json_object(json, "runQueue");
    sn_json_u64(json, "events", queue->event_count);
    sn_json_u64(json, "timeNs", queue->ns);
    sn_json_u64(json, "maxNs", queue->max_ns);
    sn_json_array(json, "histogram");
    for (unsigned i = 0; i < SN_RUN_QUEUE_BUCKETS; i++) {
        if (!queue->buckets[i])
            continue;
        sn_json_object(json, NULL);
        if (i + 1 < SN_RUN_QUEUE_BUCKETS)
            sn_json_u64(json, "belowNs", sn_run_queue_edge_ns(i));
        sn_json_u64(json, "count", queue->buckets[i]);
        sn_json_close(json);
    }
    sn_json_close(json);
    sn_json_close(json);
}

void sn_report_json_syscalls(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_syscall_report *calls = &report->syscalls;
    if (!calls->event_count)
        return;
    sn_json_object(json, "syscalls");
    sn_json_u64(json, "events", calls->event_count);
    sn_json_u64(json, "timeNs", calls->ns);
    sn_json_u64(json, "failed", calls->error_count);
    sn_json_array(json, "calls");
    for (size_t i = 0; i < calls->count; i++) {
        const struct sn_syscall_kind *kind = &calls->kinds[i];
        sn_json_object(json, NULL);
        sn_json_text(json, "call", kind->name);
        sn_json_u64(json, "number", kind->number);
        sn_json_u64(json, "count", kind->count);
        sn_json_u64(json, "timeNs", kind->ns);
        sn_json_u64(json, "maxNs", kind->max_ns);
        sn_json_u64(json, "failed", kind->error_count);
        sn_json_close(json);
    }
    sn_json_close(json);
    write_places(json, calls->profile, "call");
    sn_json_close(json);
}

void sn_report_json_suspension(struct sn_json *json, const struct sn_report *report)
{
    const struct sn_suspension_report *stops = &report->suspension;
    if (!stops->event_count && !stops->gc_cpu_ns)
        return;
    sn_json_object(json, "suspension");
    sn_json_u64(json, "events", stops->event_count);
    sn_json_u64(json, "timeNs", stops->ns);
    sn_json_u64(json, "maxNs", stops->max_ns);
    if (stops->has_threads)
        sn_json_u64(json, "threadNs", stops->thread_ns);
    sn_json_u64(json, "gcCpuNs", stops->gc_cpu_ns);
    sn_json_array(json, "reasons");
    for (size_t i = 0; i < SN_STOP_REASONS; i++) {
        const struct sn_stop_sum *sum = &stops->by_reason[i];
        if (!sum->name || !sum->count)
            continue;
        sn_json_object(json, NULL);
        sn_json_text(json, "reason", sum->name);
        sn_json_u64(json, "count", sum->count);
        sn_json_u64(json, "timeNs", sum->ns);
        if (stops->has_threads)
            sn_json_u64(json, "threadNs", sum->thread_ns);
        sn_json_close(json);
    }
    sn_json_close(json);
    sn_json_close(json);
}
