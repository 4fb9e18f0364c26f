#include "api/report_scope.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/pattern.h"
#include "base/table.h"
#include "base/text.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "symbol/code.h"
#include "symbol/process_label.h"

#define LABEL_LIMIT 8192u
#define LIST_LIMIT  400u /* of names in an error */

static const struct sn_request_item items[] = {{.provider = "Universal.Events"},
                                               {.provider = "Microsoft-DotNETCore-SampleProfiler"}};
const struct sn_request sn_report_scope_request = {.items = items, .item_count = 2};

void sn_report_scope_done(struct sn_report_scope *scope)
{
    sn_machine_processes_done(&scope->usage);
    free(scope->is_in);
}

/* --- counting --- */

struct scope_sink {
    struct sn_sink sink;
    struct sn_report_scope *scope; /* borrows */
};

static int count_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct sn_report_scope *scope = ((struct scope_sink *)sink)->scope;
    const struct sn_code_process *process =
        sn_code_process(scope->code, event->pid, event->time_ns);
    struct sn_process_sums *sums = process ? sn_machine_processes_of(&scope->usage, process) : NULL;
    if (!sums || event->schema == &sn_lost_schema)
        return SONDE_OK;
    int kind = sn_universal_kind(event->schema);
    scope->kernel_count += kind >= 0;
    if (kind >= 0 && event->time_ns > scope->kernel_last_ns)
        scope->kernel_last_ns = event->time_ns;
    sums->sample_count += kind != SN_UNIVERSAL_SWITCH;
    sums->thread_count = 1; /* it was seen */
    return SONDE_OK;
}

static void free_sink(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops sink_ops = {
    .name = "scope", .event = count_event, .free = free_sink};

struct sn_sink *sn_report_scope_sink(struct sn_report_scope *scope)
{
    struct scope_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return NULL;
    *sink = (struct scope_sink){.sink.ops = &sink_ops, .scope = scope};
    return &sink->sink;
}

/* --- choosing --- */

static uint64_t samples_of(const struct sn_report_scope *scope, size_t index)
{
    return index < scope->usage.count ? scope->usage.sums[index].sample_count : 0;
}

static bool is_seen(const struct sn_report_scope *scope, size_t index)
{
    return index < scope->usage.count && scope->usage.sums[index].thread_count;
}

static bool is_wanted(const struct sn_report_scope *scope, const struct sn_code_process *process,
                      const char *wanted)
{
    SN_AUTO(sn_buf_done) struct sn_buf label = sn_buf_with_limit(LABEL_LIMIT);
    uint64_t pid = 0;
    if (sn_text_to_u64(wanted, UINT32_MAX, &pid))
        return pid == process->pid;
    sn_process_label(&label, scope->code, process);
    return sn_pattern_matches(wanted, process->name) ||
           sn_pattern_matches(wanted, sn_buf_string(&label));
}

static bool is_dotnet(const struct sn_code_process *process)
{
    /* What the recorder itself has to say comes from no process. */
    return process->pid && (process->methods || process->kind == SN_PROCESS_DOTNET);
}

/* "shop 1234, worker 77, ..." of those that did something. */
static void list_processes(const struct sn_report_scope *scope, struct sn_buf *to)
{
    const struct sn_code_process *process = NULL;
    for (size_t i = 0; (process = sn_code_process_at(scope->code, i)) && to->size < LIST_LIMIT;
         i++) {
        if (!is_seen(scope, i))
            continue;
        sn_buf_text(to, to->size ? ", " : "");
        sn_process_label(to, scope->code, process);
        if (to->size && to->bytes[to->size - 1] != ')') /* else it has the pid in it */
            sn_buf_format(to, " (%" PRIu32 ")", process->pid);
    }
}

static int take_wanted(struct sn_report_scope *scope, const char *wanted, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf names = sn_buf_with_limit(LABEL_LIMIT);
    const struct sn_code_process *process = NULL;
    size_t found = 0;
    scope->count = sn_code_process_count(scope->code);
    scope->is_in = calloc(scope->count + 1, sizeof(*scope->is_in));
    if (!scope->is_in)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for processes");
    for (size_t i = 0; (process = sn_code_process_at(scope->code, i)); i++) {
        scope->is_in[i] = is_wanted(scope, process, wanted);
        found += scope->is_in[i];
    }
    if (found)
        return SONDE_OK;
    list_processes(scope, &names);
    return sn_fail(err, SONDE_E_NOT_FOUND, 0, "the recording has no process '%.64s'; it has %.400s",
                   wanted, names.size ? sn_buf_string(&names) : "none that ran");
}

/* The busiest with a runtime, for topics that are about one. */
static const struct sn_code_process *choose_runtime(const struct sn_report_scope *scope,
                                                    struct sn_machine_report *machine)
{
    const struct sn_code_process *chosen = NULL;
    const struct sn_code_process *process = NULL;
    for (size_t i = 0; (process = sn_code_process_at(scope->code, i)); i++) {
        if ((scope->is_in && !scope->is_in[i]) || !is_dotnet(process))
            continue;
        machine->dotnet_count++;
        if (!chosen || samples_of(scope, i) > samples_of(scope, chosen->index))
            chosen = process;
    }
    return chosen;
}

static int check_alone(const char *process, uint32_t alone, struct sonde_error *err)
{
    uint64_t pid = 0;
    if (!process || (sn_text_to_u64(process, UINT32_MAX, &pid) && pid == alone))
        return SONDE_OK;
    return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                   "this is a trace of process %" PRIu32
                   " alone, there is no '%.64s' in it; leave the choice of a process out",
                   alone, process);
}

static bool is_new(struct sn_table *pids, uint32_t pid)
{
    uint64_t *place = sn_table_put(pids, pid);
    bool is_first = place && !*place && pid;
    if (place)
        *place = 1;
    return is_first;
}

/* Process ids: one that executes another program is still one to those who count. */
static void count_processes(struct sn_report_scope *scope, struct sn_machine_report *machine)
{
    size_t count = sn_code_process_count(scope->code);
    struct sn_table known = sn_table_with_limit(count + 1);
    struct sn_table ran = sn_table_with_limit(count + 1);
    size_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t pid = sn_code_process_at(scope->code, i)->pid;
        if (scope->is_in && !scope->is_in[i])
            continue;
        seen += is_seen(scope, i);
        machine->known_count += is_new(&known, pid);
        machine->ran_count += is_seen(scope, i) && is_new(&ran, pid);
    }
    scope->with_processes = seen > 1;
    sn_table_done(&known);
    sn_table_done(&ran);
}

int sn_report_scope_choose(struct sn_report_scope *scope, const char *process, uint32_t alone,
                           struct sn_report *report, struct sonde_error *err)
{
    struct sn_machine_report *machine = &report->machine;
    machine->is_machine = sn_code_has_processes(scope->code);
    if (!machine->is_machine)
        return check_alone(process, alone, err);
    int rc = process ? take_wanted(scope, process, err) : SONDE_OK;
    if (rc != SONDE_OK)
        return rc;
    count_processes(scope, machine);
    const struct sn_code_process *chosen = choose_runtime(scope, machine);
    /* Without one there is nothing of a runtime to read: a pid that nobody has. */
    scope->pid = chosen ? chosen->pid : UINT32_MAX;
    machine->chosen_pid = chosen ? chosen->pid : 0;
    machine->chosen_name = chosen ? sn_machine_process_name(scope->code, chosen, report) : "";
    machine->is_runtime_sampler = !scope->kernel_count;
    if (scope->kernel_last_ns > report->first_ns) /* runtimes go on a little when told to stop */
        report->duration_ns = scope->kernel_last_ns - report->first_ns;
    if (machine->is_runtime_sampler) /* else the kernel's topic does */
        sn_machine_processes_list(&scope->usage, scope->code, report);
    return SONDE_OK;
}
