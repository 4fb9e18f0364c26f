#include "sink/aggregate/machine_processes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/table.h"
#include "base/text.h"
#include "format/universal.h"
#include "model/report.h"
#include "symbol/code.h"
#include "symbol/process_label.h"

#define LABEL_LIMIT 8192u

void sn_machine_processes_done(struct sn_machine_processes *processes)
{
    free(processes->sums);
}

struct sn_process_sums *sn_machine_processes_of(struct sn_machine_processes *processes,
                                                const struct sn_code_process *process)
{
    if (process->index >= processes->count) {
        size_t count = (size_t)process->index * 2 + 16;
        struct sn_process_sums *grown =
            reallocarray(processes->sums, count, sizeof(*processes->sums));
        if (!grown)
            return NULL;
        memset(grown + processes->count, 0, (count - processes->count) * sizeof(*grown));
        processes->sums = grown;
        processes->count = count;
    }
    return &processes->sums[process->index];
}

static const char *kept(struct sn_report *report, const char *text)
{
    const char *copy = sn_arena_copy(&report->arena, text, strlen(text));
    return copy ? copy : "";
}

const char *sn_machine_process_name(const struct sn_code *code,
                                    const struct sn_code_process *process, struct sn_report *report)
{
    SN_AUTO(sn_buf_done) struct sn_buf label = sn_buf_with_limit(LABEL_LIMIT);
    sn_process_label(&label, code, process);
    return kept(report, sn_buf_string(&label));
}

static const char *kind_of(const struct sn_code_process *process, struct sn_report *report)
{
    SN_AUTO(sn_buf_done) struct sn_buf kind = sn_buf_with_limit(LABEL_LIMIT);
    switch ((enum sn_process_kind)process->kind) {
    case SN_PROCESS_DOTNET:
    case SN_PROCESS_DOTNET_OFF: sn_buf_text(&kind, ".NET"); break;
    case SN_PROCESS_AOT: return "NativeAOT";
    case SN_PROCESS_NATIVE: return process->methods ? ".NET" : "native";
    }
    bool is_off = process->kind == SN_PROCESS_DOTNET_OFF;
    if (is_off)
        sn_buf_text(&kind, ", not asked");
    if (process->runtime[0]) {
        sn_buf_text(&kind, is_off ? ": " : " "); /* why, or its version */
        sn_buf_text(&kind, process->runtime);
    }
    return kept(report, sn_buf_string(&kind));
}

static bool is_dotnet(const struct sn_code_process *process)
{
    return process->kind != SN_PROCESS_NATIVE || process->methods;
}

static void add_sums(struct sn_process_time *time, const struct sn_process_sums *sums)
{
    time->count++;
    time->cpu_ns += sums->cpu_ns;
    time->kernel_ns += sums->kernel_ns;
    time->off_ns += sums->off_ns;
    time->run_queue_ns += sums->run_queue_ns;
    time->sample_count += sums->sample_count;
    time->thread_count += sums->thread_count;
}

static struct sn_process_time new_entry(const struct sn_code_process *process, const char *name,
                                        struct sn_report *report)
{
    return (struct sn_process_time){.name = name,
                                    .kind = kind_of(process, report),
                                    .container = kept(report, process->container),
                                    .command = kept(report, process->command),
                                    .pid = process->pid,
                                    .is_dotnet = is_dotnet(process),
                                    .is_chosen = is_dotnet(process) &&
                                                 process->pid == report->machine.chosen_pid};
}

static int most_first(const void *left, const void *right)
{
    const struct sn_process_time *a = left;
    const struct sn_process_time *b = right;
    if (a->cpu_ns != b->cpu_ns)
        return a->cpu_ns < b->cpu_ns ? 1 : -1;
    if (a->off_ns != b->off_ns)
        return a->off_ns < b->off_ns ? 1 : -1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Adds one to the entry of its name, which only a native process shares with others. */
static void add_process(struct sn_report *report, struct sn_table *by_name,
                        const struct sn_code *code, const struct sn_code_process *process,
                        const struct sn_process_sums *sums)
{
    struct sn_machine_report *machine = &report->machine;
    const char *name = sn_machine_process_name(code, process, report);
    uint64_t hash = sn_text_hash(is_dotnet(process) ? process->index + 1 : 0, name);
    uint64_t *place = sn_table_put(by_name, hash);
    while (place && *place && strcmp(machine->processes[*place - 1].name, name) != 0)
        place = sn_table_put(by_name, ++hash);
    if (!place)
        return;
    if (!*place) {
        machine->processes[machine->count++] = new_entry(process, name, report);
        *place = machine->count;
    }
    struct sn_process_time *entry = &machine->processes[*place - 1];
    add_sums(entry, sums);
    if (entry->count > 1)
        entry->pid = 0;
}

void sn_machine_processes_list(const struct sn_machine_processes *processes,
                               const struct sn_code *code, struct sn_report *report)
{
    struct sn_machine_report *machine = &report->machine;
    size_t most = sn_code_process_count(code);
    most = most < processes->count ? most : processes->count;
    struct sn_table by_name = sn_table_with_limit(most + 1);
    machine->processes = calloc(most + 1, sizeof(*machine->processes));
    for (size_t i = 0; machine->processes && i < most; i++) {
        const struct sn_process_sums *sums = &processes->sums[i];
        if (sums->thread_count)
            add_process(report, &by_name, code, sn_code_process_at(code, i), sums);
    }
    sn_table_done(&by_name);
    if (machine->processes && machine->count)
        qsort(machine->processes, machine->count, sizeof(*machine->processes), most_first);
}

const char *sn_machine_thread_name(const struct sn_code *code,
                                   const struct sn_code_process *process, uint64_t thread_id)
{
    const char *name = sn_code_thread_name(code, process->pid, thread_id);
    return name[0] ? name : process->name; /* a thread that nobody named has its creator's */
}
