/* The kernel's samples and switches as the profile that every view shows: a sample stands for CPU
 * time where it was taken, a switch for the time off the CPU where the thread had left. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/table.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/kernel_scope.h"
#include "sink/aggregate/kernel_topics.h"
#include "sink/aggregate/machine_processes.h"
#include "sink/aggregate/sample_threads.h"
#include "sink/aggregate/wait_reasons.h"
#include "symbol/code.h"
#include "symbol/runtime_threads.h"

#define THREAD_LIMIT (1u << 20)

enum column { CPU, WALL, WAIT, SAMPLES };

static const struct sn_column columns[] = {
    {"cpu", SN_UNIT_NS}, {"wall", SN_UNIT_NS}, {"wait", SN_UNIT_NS}, {"samples", SN_UNIT_COUNT}};

static const uint32_t throttle_ids[] = {5};
static const struct sn_request_item items[] = {
    {.provider = "Universal.Events"},
    {.provider = "Sonde.Kernel", .ids = throttle_ids, .id_count = 1}};
const struct sn_request sn_kernel_samples_request = {.items = items, .item_count = 2};

struct thread {
    uint32_t index; /* in the profile */
    unsigned role;  /* for the runtime */
    uint64_t end_ns;
    struct sn_run run; /* the last one, still growing */
    bool has_run;
};

struct kernel_samples {
    struct sn_sink sink;
    struct sn_report *report;
    struct sn_code *code;
    struct sn_kernel_subject subject;
    uint64_t interval_ns;
    struct sn_part part;
    struct sn_profile *profile; /* of the report */
    struct sn_frames *frames;
    struct thread *threads; /* owns; as in the profile */
    size_t thread_count;
    size_t thread_capacity;
    struct sn_table by_id; /* pid and thread -> index + 1 */
    struct sn_machine_processes processes;
    uint64_t first_ns;
    uint64_t last_ns;
};

/* --- threads --- */

static struct thread *add_thread(struct kernel_samples *self, const struct sn_event *event,
                                 const struct sn_code_process *process, uint64_t *place)
{
    struct thread *grown =
        sn_array_room(self->threads, self->thread_count, &self->thread_capacity, sizeof(*grown));
    struct sn_process_sums *sums = sn_machine_processes_of(&self->processes, process);
    if (!grown || !sums)
        return NULL;
    self->threads = grown;
    const char *name = sn_machine_thread_name(self->code, process, event->thread_id);
    uint32_t index = sn_profile_thread(self->profile, event->pid, event->thread_id, name);
    if (index == SN_NO_INDEX)
        return NULL;
    sums->thread_count++;
    grown[self->thread_count] = (struct thread){.index = index, .role = sn_runtime_role(name)};
    *place = ++self->thread_count;
    return &grown[self->thread_count - 1];
}

static struct thread *thread_of(struct kernel_samples *self, const struct sn_event *event,
                                const struct sn_code_process *process)
{
    uint64_t *place = sn_table_put(&self->by_id, (uint64_t)process->index << 40 ^ event->thread_id);
    if (place && *place)
        return &self->threads[*place - 1];
    struct thread *thread = place ? add_thread(self, event, process, place) : NULL;
    if (!thread)
        self->profile->dropped_count++;
    return thread;
}

/* --- into the profile --- */

static void end_run(struct kernel_samples *self, struct thread *thread)
{
    if (thread->has_run)
        sn_profile_run(self->profile, thread->index, &thread->run);
    thread->has_run = false;
}

/* The timeline of a thread has no gaps where one run begins a little before the last has ended, nor
 * overlaps. */
static void add_to_run(struct kernel_samples *self, struct thread *thread, struct sn_run run)
{
    if (run.start_ns < thread->end_ns)
        run.start_ns = thread->end_ns < run.end_ns ? thread->end_ns : run.end_ns;
    thread->end_ns = run.end_ns > thread->end_ns ? run.end_ns : thread->end_ns;
    if (thread->has_run && thread->run.node == run.node &&
        run.start_ns - thread->run.end_ns < self->interval_ns / 2) {
        thread->run.end_ns = run.end_ns;
        for (size_t i = 0; i < SN_COLUMN_MAX; i++)
            thread->run.values[i] += run.values[i];
        return;
    }
    end_run(self, thread);
    thread->run = run;
    thread->has_run = true;
}

static void add(struct kernel_samples *self, struct thread *thread, const struct sn_run *run)
{
    if (run->node == SN_NO_INDEX) {
        self->profile->dropped_count++;
        return;
    }
    sn_profile_add(self->profile, thread->index, run->node, run->values);
    add_to_run(self, thread, *run);
    if (!self->first_ns || run->start_ns < self->first_ns)
        self->first_ns = run->start_ns;
    if (run->end_ns > self->last_ns)
        self->last_ns = run->end_ns;
}

/* --- events --- */

static uint64_t leaf_of(const struct sn_event *event)
{
    uint64_t address = 0;
    if (event->stack_depth)
        memcpy(&address, event->stack, event->pointer_size);
    return address;
}

static void add_cpu(struct kernel_samples *self, const struct thread *thread,
                    struct sn_process_sums *sums, uint64_t ns, bool is_kernel)
{
    struct sn_report *report = self->report;
    if (sn_runtime_role_is_tracing(thread->role))
        report->tracing_cpu_ns += ns;
    else if (thread->role)
        report->unseen_cpu_ns += ns;
    report->cpu_ns += ns;
    report->machine.cpu_ns += ns;
    report->machine.kernel_ns += is_kernel ? ns : 0;
    sums->cpu_ns += ns;
    sums->kernel_ns += is_kernel ? ns : 0;
    sums->sample_count++;
}

static void take_cpu(struct kernel_samples *self, const struct sn_event *event,
                     const struct sn_code_process *process, uint64_t weight)
{
    if (!event->pid && !event->thread_id) {
        self->report->machine.idle_sample_count++;
        return;
    }
    struct thread *thread = thread_of(self, event, process);
    struct sn_process_sums *sums = sn_machine_processes_of(&self->processes, process);
    if (!thread || !sums)
        return;
    uint64_t ns = weight * self->interval_ns;
    add_cpu(self, thread, sums, ns, sn_universal_is_kernel(leaf_of(event)));
    const struct sn_run run = {
        .start_ns = event->time_ns > ns ? event->time_ns - ns : 0,
        .end_ns = event->time_ns,
        .node = sn_frames_role_node(self->frames, event, thread->role),
        .values = {[CPU] = ns, [WALL] = ns, [SAMPLES] = 1},
    };
    add(self, thread, &run);
}

static void take_switch(struct kernel_samples *self, const struct sn_event *event,
                        const struct sn_code_process *process,
                        const struct sn_universal_fields *fields)
{
    struct thread *thread = thread_of(self, event, process);
    struct sn_process_sums *sums = sn_machine_processes_of(&self->processes, process);
    uint64_t ns = sn_part_of(&self->part, event->time_ns, fields->numbers[0]);
    uint64_t end_ns = sn_part_end(&self->part, event->time_ns);
    if (!thread || !sums || !event->thread_id)
        return;
    sums->off_ns += ns;
    sums->run_queue_ns += fields->numbers[2] == SN_OFF_PREEMPTED
                              ? ns
                              : sn_part_of(&self->part, event->time_ns, fields->numbers[1]);
    uint32_t node = sn_frames_role_node(self->frames, event, thread->role);
    const struct sn_run run = {
        .start_ns = end_ns - ns,
        .end_ns = end_ns,
        .node = node == SN_NO_INDEX ? node : sn_wait_place(self->profile, node),
        .values = {[WALL] = ns, [WAIT] = ns},
    };
    add(self, thread, &run);
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct kernel_samples *self = (struct kernel_samples *)sink;
    struct sn_universal_fields fields;
    int kind = event->schema == &sn_lost_schema ? -1 : sn_universal_kind(event->schema);
    if (kind < 0 || !sn_universal_decode((enum sn_universal)kind, event, &fields))
        return SONDE_OK;
    bool is_in = kind == SN_UNIVERSAL_SWITCH
                     ? sn_part_of(&self->part, event->time_ns, fields.numbers[0]) > 0
                     : sn_part_has(&self->part, event->time_ns);
    if (!is_in && !sn_part_is_all(&self->part))
        return SONDE_OK;
    if (kind == SN_UNIVERSAL_THROTTLE) {
        self->report->machine.throttled_ns += fields.numbers[1];
        return SONDE_OK;
    }
    const struct sn_code_process *process = sn_kernel_subject_of(&self->subject, event);
    if (process && kind == SN_UNIVERSAL_CPU)
        take_cpu(self, event, process, fields.numbers[0] ? fields.numbers[0] : 1);
    else if (process && kind == SN_UNIVERSAL_SWITCH)
        take_switch(self, event, process, &fields);
    return SONDE_OK;
}

/* --- the end --- */

static void name_processes(struct kernel_samples *self)
{
    struct sn_report *report = self->report;
    for (size_t i = 0; i < report->thread_count; i++) {
        struct sn_thread_time *thread = &report->threads[i];
        const struct sn_code_process *process =
            sn_code_process(self->code, thread->pid, self->last_ns);
        if (process)
            thread->process = sn_machine_process_name(self->code, process, report);
    }
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct kernel_samples *self = (struct kernel_samples *)sink;
    struct sn_report *report = self->report;
    for (size_t i = 0; i < self->thread_count; i++)
        end_run(self, &self->threads[i]);
    self->profile->start_ns = self->first_ns;
    self->profile->end_ns = self->last_ns;
    report->machine.interval_ns = self->interval_ns;
    report->cpu_truth = self->thread_count ? SN_CPU_SAMPLED : SN_CPU_NO_SAMPLES;
    sn_machine_processes_list(&self->processes, self->code, report);
    sn_sample_threads_list(report);
    if (report->machine.count > 1)
        name_processes(self);
    return SONDE_OK;
}

static void free_self(struct sn_sink *sink)
{
    struct kernel_samples *self = (struct kernel_samples *)sink;
    free(self->threads);
    sn_table_done(&self->by_id);
    sn_machine_processes_done(&self->processes);
    sn_frames_free(self->frames);
    free(self);
}

static const struct sn_sink_ops ops = {
    .name = "kernel samples", .event = take_event, .finish = finish, .free = free_self};

struct sn_sink *sn_kernel_samples_make(const struct sn_aggregate_context *context,
                                       struct sonde_error *err)
{
    struct kernel_samples *self = calloc(1, sizeof(*self));
    if (!self) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for samples");
        return NULL;
    }
    *self = (struct kernel_samples){
        .sink.ops = &ops,
        .report = context->report,
        .code = context->code,
        .subject = {context->code, context->is_in, context->is_in_count},
        .interval_ns = context->interval_ns,
        .part = context->part,
        .by_id = sn_table_with_limit(THREAD_LIMIT),
    };
    int rc = sn_profile_new(columns, sizeof(columns) / sizeof(*columns), &self->profile, err);
    context->report->samples = self->profile;
    if (rc == SONDE_OK)
        rc = sn_frames_new(context->code, self->profile, &self->frames, err);
    if (rc != SONDE_OK) {
        free_self(&self->sink);
        return NULL;
    }
    sn_frames_set_kernel(self->frames);
    if (context->with_processes)
        sn_frames_set_processes(self->frames);
    if (context->find_line)
        sn_frames_set_lines(self->frames, context->find_line, context->line_user);
    return &self->sink;
}
