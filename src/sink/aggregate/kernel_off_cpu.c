/* Why threads were off the CPU, where and how long; how long they waited for one; and how long they
 * stood still for collections. */
#include <stdlib.h>

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
#include "sink/aggregate/suspensions.h"
#include "sink/aggregate/wait_reasons.h"
#include "symbol/code.h"
#include "symbol/runtime_threads.h"

#define THREAD_LIMIT (1u << 20)
#define NODE_LIMIT   (1u << 22)

#define FIRST_BUCKET_SHIFT 11u /* 2048 ns */

static const uint32_t gc_ids[] = {1, 3, 9}; /* GCStart, RestartEEEnd, SuspendEEBegin */
static const struct sn_request_item items[] = {
    {.provider = "Universal.Events"},
    {.provider = SN_RUNTIME_PROVIDER, .ids = gc_ids, .id_count = 3},
};
const struct sn_request sn_off_cpu_request = {.items = items, .item_count = 2};

struct off_cpu {
    struct sn_sink sink;
    struct sn_report *report;
    struct sn_code *code;
    struct sn_kernel_subject subject;
    uint64_t interval_ns;
    struct sn_part part;
    struct sn_frames *frames;
    struct sn_table threads; /* process and thread -> index + 1 of the report's */
    size_t thread_capacity;
    struct sn_table reasons; /* node and the kernel's word -> reason + 1 */
    struct sn_suspensions suspensions;
};

/* --- threads --- */

static struct sn_thread_wait *add_thread(struct off_cpu *self, const struct sn_event *event,
                                         const struct sn_code_process *process)
{
    struct sn_off_cpu_report *off_cpu = &self->report->off_cpu;
    struct sn_thread_wait *grown = sn_array_room(off_cpu->threads, off_cpu->thread_count,
                                                 &self->thread_capacity, sizeof(*grown));
    if (!grown)
        return NULL;
    off_cpu->threads = grown;
    const char *name = sn_machine_thread_name(self->code, process, event->thread_id);
    grown[off_cpu->thread_count] = (struct sn_thread_wait){
        .thread_id = event->thread_id,
        .pid = event->pid,
        .name = sn_arena_copy(&self->report->arena, name, __builtin_strlen(name)),
        .process = sn_machine_process_name(self->code, process, self->report),
    };
    return &grown[off_cpu->thread_count++];
}

static struct sn_thread_wait *thread_of(struct off_cpu *self, const struct sn_event *event,
                                        const struct sn_code_process *process)
{
    uint64_t *place =
        sn_table_put(&self->threads, (uint64_t)process->index << 40 ^ event->thread_id);
    if (!place)
        return NULL;
    if (*place)
        return &self->report->off_cpu.threads[*place - 1];
    struct sn_thread_wait *thread = add_thread(self, event, process);
    if (thread)
        *place = self->report->off_cpu.thread_count;
    return thread;
}

/* --- switches --- */

/* The stack's own reason, looked for once each. */
static enum sn_wait_reason reason_at(struct off_cpu *self, uint32_t node, uint64_t told)
{
    enum sn_off_reason word = told <= SN_OFF_EXITED ? (enum sn_off_reason)told : SN_OFF_UNKNOWN;
    uint64_t *place = sn_table_put(&self->reasons, (uint64_t)node << 4 | word);
    if (place && *place)
        return (enum sn_wait_reason)(*place - 1);
    enum sn_wait_reason reason = sn_wait_reason_of(self->report->off_cpu.profile, node, word);
    if (place)
        *place = (uint64_t)reason + 1;
    return reason;
}

static enum sn_wait_reason reason_of(struct off_cpu *self, const struct sn_event *event,
                                     const struct sn_universal_fields *fields, uint32_t node,
                                     unsigned role)
{
    enum sn_wait_reason reason = reason_at(self, node, fields->numbers[2]);
    bool may_be_stopped = !role && (reason == SN_WAIT_LOCK || reason == SN_WAIT_OTHER ||
                                    reason == SN_WAIT_SLEEP || reason == SN_WAIT_IDLE);
    if (may_be_stopped && sn_suspensions_off(&self->suspensions, event, fields->numbers[0]))
        return SN_WAIT_GC;
    return reason;
}

static void add_run_queue(struct off_cpu *self, struct sn_thread_wait *thread, uint64_t ns)
{
    struct sn_run_queue_report *queue = &self->report->run_queue;
    if (!ns)
        return;
    unsigned bucket = 0;
    while (bucket + 1 < SN_RUN_QUEUE_BUCKETS && ns >> (FIRST_BUCKET_SHIFT + bucket))
        bucket++;
    queue->event_count++;
    queue->ns += ns;
    queue->max_ns = ns > queue->max_ns ? ns : queue->max_ns;
    queue->buckets[bucket]++;
    thread->run_queue_ns += ns;
    thread->run_queue_max_ns = ns > thread->run_queue_max_ns ? ns : thread->run_queue_max_ns;
}

static void add_to_profile(struct off_cpu *self, const struct sn_event *event, uint32_t node,
                           enum sn_wait_reason reason, uint64_t ns)
{
    struct sn_profile *profile = self->report->off_cpu.profile;
    const char *name = sn_wait_reason_name(reason);
    const struct sn_frame leaf = {
        .name = name, .full_name = name, .module = "", .name_space = "", .kind = SN_FRAME_TYPE};
    const uint64_t values[SN_COLUMN_MAX] = {ns, 1};
    uint32_t thread =
        sn_profile_thread(profile, event->pid, event->thread_id,
                          sn_code_thread_name(self->code, event->pid, event->thread_id));
    uint32_t parent = node == SN_NO_INDEX ? node : sn_wait_place(profile, node);
    sn_profile_add(profile, thread,
                   sn_profile_node(profile, parent, sn_profile_frame(profile, &leaf)), values);
}

static void take_switch(struct off_cpu *self, const struct sn_event *event,
                        const struct sn_code_process *process,
                        const struct sn_universal_fields *fields)
{
    struct sn_off_cpu_report *report = &self->report->off_cpu;
    struct sn_thread_wait *thread = thread_of(self, event, process);
    uint64_t ns = sn_part_of(&self->part, event->time_ns, fields->numbers[0]);
    if (!thread || !event->thread_id || (!ns && !sn_part_is_all(&self->part)))
        return;
    unsigned role = sn_runtime_role(thread->name ? thread->name : "");
    uint32_t node = sn_frames_role_node(self->frames, event, role);
    enum sn_wait_reason reason = reason_of(self, event, fields, node, role);
    struct sn_wait_sum *sum = &report->by_reason[reason];
    report->event_count++;
    report->ns += ns;
    sum->count++;
    sum->ns += ns;
    sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
    thread->count++;
    thread->off_ns += ns;
    thread->by_reason[reason] += ns;
    self->report->suspension.has_threads = true;
    uint64_t queued = sn_part_of(&self->part, event->time_ns, fields->numbers[1]);
    add_run_queue(self, thread, reason == SN_WAIT_PREEMPTED ? ns : queued);
    add_to_profile(self, event, node, reason, ns);
}

static void take_cpu(struct off_cpu *self, const struct sn_event *event, uint64_t weight)
{
    const char *name = sn_code_thread_name(self->code, event->pid, event->thread_id);
    if (sn_runtime_role_is_gc(sn_runtime_role(name)) ||
        sn_suspensions_is_collecting(&self->suspensions, event))
        self->report->suspension.gc_cpu_ns += (weight ? weight : 1) * self->interval_ns;
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct off_cpu *self = (struct off_cpu *)sink;
    struct sn_universal_fields fields;
    const struct sn_code_process *process = sn_kernel_subject_of(&self->subject, event);
    if (!process || event->schema == &sn_lost_schema)
        return SONDE_OK;
    int kind = sn_universal_kind(event->schema);
    bool is_in_part = sn_part_has(&self->part, event->time_ns);
    if (kind < 0 && is_in_part)
        sn_suspensions_take(&self->suspensions, event);
    if (kind < 0 || !sn_universal_decode((enum sn_universal)kind, event, &fields))
        return SONDE_OK;
    if (kind == SN_UNIVERSAL_SWITCH)
        take_switch(self, event, process, &fields);
    else if (kind == SN_UNIVERSAL_CPU && is_in_part)
        take_cpu(self, event, fields.numbers[0]);
    return SONDE_OK;
}

/* --- the end --- */

static int longest_first(const void *left, const void *right)
{
    const struct sn_thread_wait *a = left;
    const struct sn_thread_wait *b = right;
    uint64_t waited_a = a->off_ns - a->by_reason[SN_WAIT_IDLE];
    uint64_t waited_b = b->off_ns - b->by_reason[SN_WAIT_IDLE];
    if (waited_a != waited_b)
        return waited_a < waited_b ? 1 : -1;
    if (a->off_ns != b->off_ns)
        return a->off_ns < b->off_ns ? 1 : -1;
    return (a->thread_id > b->thread_id) - (a->thread_id < b->thread_id);
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct sn_off_cpu_report *report = &((struct off_cpu *)sink)->report->off_cpu;
    if (report->thread_count)
        qsort(report->threads, report->thread_count, sizeof(*report->threads), longest_first);
    return SONDE_OK;
}

static void free_self(struct sn_sink *sink)
{
    struct off_cpu *self = (struct off_cpu *)sink;
    sn_table_done(&self->threads);
    sn_table_done(&self->reasons);
    sn_frames_free(self->frames);
    free(self);
}

static const struct sn_sink_ops ops = {
    .name = "off-cpu", .event = take_event, .finish = finish, .free = free_self};

struct sn_sink *sn_off_cpu_make(const struct sn_aggregate_context *context, struct sonde_error *err)
{
    static const struct sn_column columns[] = {{"time", SN_UNIT_NS}, {"count", SN_UNIT_COUNT}};
    struct off_cpu *self = calloc(1, sizeof(*self));
    if (!self) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for times off the CPU");
        return NULL;
    }
    *self = (struct off_cpu){
        .sink.ops = &ops,
        .report = context->report,
        .code = context->code,
        .subject = {context->code, context->is_in, context->is_in_count},
        .interval_ns = context->interval_ns,
        .part = context->part,
        .threads = sn_table_with_limit(THREAD_LIMIT),
        .reasons = sn_table_with_limit(NODE_LIMIT),
        .suspensions.report = &context->report->suspension,
    };
    struct sn_profile **slot = &context->report->off_cpu.profile;
    int rc = sn_profile_new(columns, 2, slot, err);
    if (rc == SONDE_OK)
        rc = sn_frames_new(context->code, *slot, &self->frames, err);
    if (rc != SONDE_OK) {
        free_self(&self->sink);
        return NULL;
    }
    sn_frames_set_kernel(self->frames);
    if (context->with_processes)
        sn_frames_set_processes(self->frames);
    return &self->sink;
}
