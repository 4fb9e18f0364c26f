#include "api/read_report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/file_summary.h"
#include "api/manifest_facts.h"
#include "api/names_beside.h"
#include "api/report_scope.h"
#include "api/walk.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "flow/sink.h"
#include "format/cpu_slices.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "model/timeline.h"
#include "sink/aggregate/aggregates.h"
#include "sink/aggregate/timeline_fill.h"
#include "source/file/input.h"
#include "symbol/code.h"
#include "symbol/lines.h"
#include "symbol/process_lines.h"

/* A week of a busy service. */
#define CPU_RECORD_LIMIT (256u << 20)

#define LONGEST_SILENCE_NS (30ull * SN_NS_PER_SECOND)

#define RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"

/* --- the CPU record --- */

/* Of the process that the runtime's sampler is read of: a member of the recording. */
static void load_member(const char *path, struct sn_report *report,
                        struct sn_cpu_slices **ret_slices)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(CPU_RECORD_LIMIT);
    struct sonde_error why = {0};
    char member[64];
    (void)snprintf(member, sizeof(member), "cpu/%" PRIu32 ".cpu", report->machine.chosen_pid);
    if (sn_input_member(path, member, &text, &why) != SONDE_OK ||
        sn_cpu_slices_read((const char *)text.bytes, text.size, ret_slices, &why) == SONDE_OK)
        return;
    report->cpu_truth = SN_CPU_BAD_RECORD;
    report->cpu_note = sn_arena_copy(&report->arena, why.text, strlen(why.text));
}

static int load_cpu_record(const char *path, struct sn_cpu_slices **ret_slices,
                           struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(CPU_RECORD_LIMIT);
    int rc = sn_file_read_at(AT_FDCWD, path, &text, err);
    if (rc != SONDE_OK)
        return rc;
    return sn_cpu_slices_read((const char *)text.bytes, text.size, ret_slices, err);
}

/* A record that was asked for must be there and good; one that is merely expected may be absent,
 * and a bad one is told in the report. */
static int find_cpu_record(const char *path, const struct sn_read_options *options,
                           struct sn_report *report, struct sn_cpu_slices **ret_slices,
                           struct sonde_error *err)
{
    SN_AUTO(sn_free) char *beside = NULL;
    struct sonde_error why = {0};
    report->cpu_truth = SN_CPU_NO_RECORD;
    if (options->cpu_record)
        return load_cpu_record(options->cpu_record, ret_slices, err);
    if (asprintf(&beside, "%s.cpu", path) < 0)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a file name");
    if (load_cpu_record(beside, ret_slices, &why) == SONDE_OK || why.system_error == ENOENT)
        return SONDE_OK;
    report->cpu_truth = SN_CPU_BAD_RECORD;
    report->cpu_note = sn_arena_copy(&report->arena, why.text, strlen(why.text));
    return SONDE_OK;
}

/* --- the passes --- */

/* First and last event of the program itself, and when the rundown began, which ends the session.
 */
struct span {
    uint64_t first_ns;
    uint64_t last_ns;
    uint64_t rundown_ns;
};

struct span_sink {
    struct sn_sink sink;
    struct span *span; /* borrows */
};

/* Names that were looked up when the recording had ended. */
static bool is_afterwards(const struct sn_schema *schema)
{
    int kind = schema->provider[0] == 'M' ? -1 : sn_universal_kind(schema);
    return kind == SN_UNIVERSAL_SYMBOL || kind == SN_UNIVERSAL_MAPPING_METADATA ||
           kind == SN_UNIVERSAL_LINE;
}

static int widen_span(struct sn_sink *sink, const struct sn_event *event)
{
    struct span *span = ((struct span_sink *)sink)->span;
    if (is_afterwards(event->schema))
        return SONDE_OK;
    if (strcmp(event->schema->provider, RUNDOWN) == 0) {
        if (!span->rundown_ns || event->time_ns < span->rundown_ns)
            span->rundown_ns = event->time_ns;
        return SONDE_OK;
    }
    if (!span->first_ns || event->time_ns < span->first_ns)
        span->first_ns = event->time_ns;
    if (event->time_ns > span->last_ns)
        span->last_ns = event->time_ns;
    return SONDE_OK;
}

static void free_span(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops span_ops = {.name = "span", .event = widen_span, .free = free_span};

static struct sn_sink *span_sink(struct span *span)
{
    struct span_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return NULL;
    *sink = (struct span_sink){.sink.ops = &span_ops, .span = span};
    return &sink->sink;
}

/* How long the program was watched: from the start of the session to its end, also where nothing
 * happened. A file whose first event is long after the start is a later one of several. */
static void take_span(struct sn_report *report, const struct span *span,
                      const struct sn_trace_info *info)
{
    uint64_t start = info ? sn_trace_time_ns(info, info->start_ticks) : 0;
    uint64_t end = span->rundown_ns > span->last_ns ? span->rundown_ns : span->last_ns;
    bool is_start = start && start <= span->first_ns && span->first_ns - start < LONGEST_SILENCE_NS;
    report->first_ns = is_start || !span->first_ns ? start : span->first_ns;
    report->duration_ns = end > report->first_ns ? end - report->first_ns : 0;
}

/* What the first pass fills; owns. */
struct names {
    struct sn_code *code;
    struct sn_process_lines *lines; /* NULL: not asked for */
    struct sn_report_scope scope;
};

static void names_done_auto(struct names *names)
{
    sn_report_scope_done(&names->scope);
    sn_process_lines_free(names->lines);
    sn_code_free(names->code);
}

static int subscribe_names(struct sn_walk *walk, struct names *names, struct sonde_error *err)
{
    int rc = sn_walk_subscribe(walk, &sn_code_request, sn_code_sink(names->code), false, err);
    if (rc == SONDE_OK && names->lines)
        rc = sn_walk_subscribe(walk, &sn_lines_request, sn_process_lines_sink(names->lines), false,
                               err);
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(walk, &sn_report_scope_request, sn_report_scope_sink(&names->scope),
                               false, err);
    return rc;
}

/* Names of the same process from another trace, as far as that can be read. */
static int read_other_names(const char *path, struct names *names, struct sonde_error *err)
{
    SN_AUTO(sn_walk_done) struct sn_walk walk = {0};
    struct sonde_error why = {0};
    if (!path || access(path, F_OK) != 0)
        return SONDE_OK;
    int rc = sn_walk_init(&walk, path, err);
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(&walk, &sn_code_request, sn_code_sink(names->code), false, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sn_walk_run(&walk, NULL, NULL, &why);
    return rc == SONDE_E_NOMEM ? sn_fail_as(err, &why) : SONDE_OK;
}

/* Names that the tracer found itself, as the process died. */
static int read_names_beside(const char *path, const struct sn_trace_info *info,
                             struct names *names, struct sonde_error *err)
{
    SN_AUTO(sn_names_beside_close) struct sn_names_beside beside = {0};
    struct sn_walk *walk = &beside.walk;
    int rc = sn_names_beside_open(&beside, path, info, err);
    if (rc == SONDE_END)
        return SONDE_OK;
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(walk, &sn_code_request, sn_code_sink(names->code), false, err);
    if (rc == SONDE_OK && names->lines)
        rc = sn_walk_subscribe(walk, &sn_lines_request, sn_process_lines_sink(names->lines), false,
                               err);
    return rc == SONDE_OK ? sn_names_beside_run(&beside, err) : rc;
}

static int read_names(const char *path, struct sonde_summary *summary, struct sn_report *report,
                      struct names *names, struct sn_read_end *ret_end, struct sonde_error *err)
{
    SN_AUTO(sn_walk_done) struct sn_walk walk = {0};
    struct span span = {0};
    int rc = sn_walk_init(&walk, path, err);
    if (rc == SONDE_OK)
        rc = subscribe_names(&walk, names, err);
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(&walk, &sn_everything, span_sink(&span), false, err);
    if (rc == SONDE_OK && summary)
        rc = sn_walk_subscribe(&walk, &sn_everything, sn_summary_sink(summary), false, err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_error why = {0};
    rc = sn_walk_run(&walk, summary ? sn_summary_damage : NULL, summary, &why);
    if (rc != SONDE_OK && rc != SONDE_E_TRUNCATED)
        return sn_fail_as(err, &why);
    if (summary)
        sn_summary_end(summary, &walk, rc);
    const struct sn_trace_info *info = sn_walk_info(&walk);
    struct sn_nettrace_counters counters = sn_walk_counters(&walk);
    if (!info)
        return sn_fail(err, SONDE_E_TRUNCATED, counters.bytes,
                       "'%s' ends before it says anything: %" PRIu64 " bytes", path,
                       counters.bytes);
    int beside = read_names_beside(path, info, names, err);
    if (beside != SONDE_OK)
        return beside;
    take_span(report, &span, info);
    uint64_t late_ns = report->first_ns - sn_trace_time_ns(info, info->start_ticks);
    *ret_end = (struct sn_read_end){.is_cut = rc == SONDE_E_TRUNCATED,
                                    .lost_count = counters.lost,
                                    .event_count = counters.events,
                                    .damage_count = counters.damages,
                                    .start_utc_ns = info->start_utc_ns + late_ns,
                                    .pid = info->pid,
                                    .sampling_interval_ns = info->sampling_interval_ns};
    return SONDE_OK;
}

/* Whether the file has what a topic is made of. */
static bool has_source(const struct sn_aggregate *aggregate, const struct sn_report *report)
{
    bool has_kernel = report->machine.is_machine && !report->machine.is_runtime_sampler;
    switch (aggregate->of) {
    case SN_OF_SAMPLER: return !has_kernel;
    case SN_OF_KERNEL: return has_kernel;
    default: return true;
    }
}

/* Whether a topic is among those asked for. */
static bool is_asked(const char *topics, const char *name)
{
    size_t size = strlen(name);
    if (!topics)
        return true;
    for (const char *word = topics; *word; word += strcspn(word, ",")) {
        word += *word == ',';
        if (strcspn(word, ",") == size && strncmp(word, name, size) == 0)
            return true;
    }
    return false;
}

/* Those of a table that are asked for: all of them, or a few. */
static int subscribe_topics(struct sn_walk *walk, const struct sn_aggregate *aggregate,
                            const char *topic, const struct sn_aggregate_context *context,
                            uint32_t pid, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (; rc == SONDE_OK && aggregate->name; aggregate++) {
        if (!is_asked(topic, aggregate->name) || !has_source(aggregate, context->report))
            continue;
        struct sn_request request = *aggregate->request;
        request.pid = aggregate->of == SN_OF_KERNEL ? 0 : pid;
        struct sn_sink *sink = aggregate->make(context, err);
        if (sink && !aggregate->cuts_itself && !sn_part_is_all(&context->part))
            sink = sn_part_sink(&context->part, sink);
        rc = sn_walk_subscribe(walk, &request, sink, aggregate->needs_order, err);
    }
    return rc;
}

static int read_topics(const char *path, const char *topic,
                       const struct sn_aggregate_context *context, uint32_t pid,
                       struct sonde_error *err)
{
    SN_AUTO(sn_walk_done) struct sn_walk walk = {0};
    int rc = sn_walk_init(&walk, path, err);
    if (rc == SONDE_OK)
        rc = subscribe_topics(&walk, sn_aggregates, topic, context, pid, err);
    if (rc == SONDE_OK && topic)
        rc = subscribe_topics(&walk, sn_extra_aggregates, topic, context, pid, err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_error why = {0};
    rc = sn_walk_run(&walk, NULL, NULL, &why);
    if (rc != SONDE_OK && rc != SONDE_E_TRUNCATED)
        return sn_fail_as(err, &why);
    return SONDE_OK;
}

/* What the sampler and the CPU record say of the one process that they are of. */
static void tell_chosen(struct sn_report *report)
{
    struct sn_machine_report *machine = &report->machine;
    machine->cpu_ns = report->cpu_ns;
    for (size_t i = 0; i < machine->count; i++) {
        if (!machine->processes[i].is_chosen)
            continue;
        machine->processes[i].cpu_ns = report->cpu_ns;
        machine->processes[i].thread_count = (uint32_t)report->thread_count;
    }
}

/* A recording is one also if nothing was there to record. */
static void take_manifest(struct sn_report *report, const struct sn_manifest_facts *manifest,
                          const struct sn_read_end *end)
{
    enum { MUCH = 100 }; /* one in so many */
    struct sn_machine_report *machine = &report->machine;
    if (!manifest->is_known)
        return;
    machine->is_machine = true;
    machine->has_manifest = true;
    if (!machine->chosen_name)
        machine->chosen_name = "";
    if (!end->event_count)
        report->duration_ns = manifest->duration_ns;
    bool is_likely = manifest->kernel_lost_count <= end->lost_count;
    machine->kernel_lost_count = is_likely ? manifest->kernel_lost_count : end->lost_count;
    machine->has_lost_much = machine->kernel_lost_count > end->event_count / MUCH;
}

/* Of the process that the runtime's topics are about; NULL: there is none. */
static struct sn_methods *methods_of(const struct names *names, const struct sn_report *report,
                                     uint32_t alone)
{
    const struct sn_machine_report *machine = &report->machine;
    if (machine->is_machine && !machine->chosen_pid)
        return NULL;
    return sn_code_methods(names->code, machine->is_machine ? machine->chosen_pid : alone,
                           report->first_ns + report->duration_ns);
}

/* From here on it is a report of the part, as if the trace had begun and ended there. */
static struct sn_part cut_part(struct sn_report *report, const struct sn_read_options *options,
                               struct sn_cpu_slices *cpu, struct sn_read_end *end)
{
    struct sn_part part = {0};
    uint64_t whole_ns = report->duration_ns;
    if (!options->from_ns && !options->to_ns)
        return part;
    report->is_part = true;
    report->part_from_ns = options->from_ns < whole_ns ? options->from_ns : whole_ns;
    report->part_to_ns = options->to_ns && options->to_ns < whole_ns ? options->to_ns : whole_ns;
    part.from_ns = report->first_ns + report->part_from_ns;
    if (options->to_ns && options->to_ns < whole_ns)
        part.to_ns = report->first_ns + options->to_ns;
    if (cpu)
        sn_cpu_slices_cut(cpu, part.from_ns, part.to_ns ? part.to_ns : UINT64_MAX);
    report->first_ns = part.from_ns;
    report->duration_ns = report->part_to_ns - report->part_from_ns;
    end->start_utc_ns += report->part_from_ns;
    return part;
}

/* Whether there is anything from then on. */
static int check_rest(const struct sn_read_options *options, const struct sn_report *report,
                      struct sonde_error *err)
{
    char text[2][32];
    if (!options->from_ns || options->from_ns < report->duration_ns)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_NOT_FOUND, 0, "it is %s long: there is nothing from %s on",
                   sn_text_duration(report->duration_ns, text[0]),
                   sn_text_duration(options->from_ns, text[1]));
}

static int check_part(const struct sn_read_options *options, struct sonde_error *err)
{
    if (options->to_ns && options->to_ns <= options->from_ns)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "the part ends before it begins: 'to' must be "
                       "after 'from'");
    return SONDE_OK;
}

int sn_read_report(const char *path, const struct sn_read_options *options,
                   struct sn_report **ret_report, struct sn_read_end *ret_end,
                   struct sonde_error *err)
{
    SN_AUTO(sn_report_free) struct sn_report *report = NULL;
    SN_AUTO(names_done) struct names names = {0};
    SN_AUTO(sn_cpu_slices_free) struct sn_cpu_slices *cpu = NULL;
    int rc = check_part(options, err);
    if (rc == SONDE_OK)
        rc = sn_report_new(&report, err);
    if (rc == SONDE_OK)
        rc = sn_code_new(&names.code, err);
    names.scope.code = names.code;
    if (rc == SONDE_OK && options->with_lines)
        rc = sn_process_lines_new(names.code, &names.lines, err);
    if (rc == SONDE_OK)
        rc = find_cpu_record(path, options, report, &cpu, err);
    if (rc == SONDE_OK)
        rc = read_other_names(options->names, &names, err);
    if (rc == SONDE_OK)
        rc = read_names(path, options->summary, report, &names, ret_end, err);
    if (rc == SONDE_OK)
        rc = sn_report_scope_choose(&names.scope, options->process, ret_end->pid, report, err);
    if (rc != SONDE_OK)
        return rc;
    const struct sn_report_scope *scope = &names.scope;
    const struct sn_manifest_facts manifest = sn_manifest_facts_read(path);
    take_manifest(report, &manifest, ret_end);
    rc = check_rest(options, report, err);
    if (rc != SONDE_OK)
        return rc;
    if (!cpu && report->machine.is_runtime_sampler && report->machine.chosen_pid)
        load_member(path, report, &cpu);
    struct sn_methods *methods = methods_of(&names, report, ret_end->pid);
    const struct sn_aggregate_context context = {
        .report = report,
        .code = names.code,
        .part = cut_part(report, options, cpu, ret_end),
        .methods = methods,
        .cpu = cpu,
        .find_line = names.lines ? sn_process_lines_find : NULL,
        .line_user = names.lines,
        .is_in = scope->is_in,
        .is_in_count = scope->count,
        .with_processes = scope->with_processes,
        .interval_ns =
            ret_end->sampling_interval_ns ? ret_end->sampling_interval_ns : SN_NS_PER_MS};
    if (options->timeline)
        rc = sn_timeline_new(report, options->timeline, err);
    if (rc == SONDE_OK)
        rc = read_topics(path, options->topic, &context, scope->pid, err);
    if (rc == SONDE_OK)
        rc = sn_timeline_fill(report, cpu, err);
    if (rc != SONDE_OK)
        return rc;
    if (report->machine.is_runtime_sampler)
        tell_chosen(report);
    sn_report_settle(report);
    *ret_report = SN_TAKE(report);
    return SONDE_OK;
}
