#include "source/perf/kernel_events.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "flow/road.h"
#include "format/perf_record.h"
#include "format/tracepoint.h"
#include "format/universal.h"
#include "model/event.h"
#include "source/perf/kernel_source.h"
#include "source/perf/off_cpu.h"
#include "source/perf/syscall_pairs.h"
#include "source/perf/tracefs.h"

#define TRACEPOINT_LIMIT 128u

/* /proc/self/ns/pid of the first pid namespace (the kernel's PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

/* common_flags of a record that was written in an interrupt: who runs there has not done it. */
#define IN_INTERRUPT 0x18

/* Ours come first, then those that were asked for by name. */
enum kind {
    KIND_SWITCH,
    KIND_WAKING,
    KIND_ENTER,
    KIND_EXIT,
    KIND_NAMED,
};

/* Our own tracepoints, and the numbers that are read from each. */
struct point {
    struct sn_tracepoint *tracepoint; /* owns; NULL: not used */
    struct sn_tracepoint_place first;
    struct sn_tracepoint_place second;
};

struct sn_kernel_events {
    bool with_switches;
    bool has_stacks; /* of switches */
    struct point points[KIND_NAMED];
    struct sn_tracepoint *named[TRACEPOINT_LIMIT]; /* owns */
    size_t named_count;
    struct sn_kernel *kernel; /* borrows */
    struct sn_off_cpu off_cpu;
    struct sn_syscall_pairs pairs;
    uint64_t switch_count;
    uint64_t syscall_count;
    uint64_t tracepoint_count;
    struct sonde_error why; /* what could not be had; its text is empty when there is nothing */
};

/* --- what tracefs tells --- */

static int load_point(struct sn_kernel_events *events, int dir, enum kind kind, const char *name,
                      const char *first, const char *second)
{
    struct point *point = &events->points[kind];
    struct sn_tracepoint *loaded = NULL;
    int rc = sn_tracefs_load(dir, name, &loaded, &events->why);
    if (rc != SONDE_OK)
        return rc;
    point->first = sn_tracepoint_find(loaded, first);
    point->second = sn_tracepoint_find(loaded, second);
    if (!point->first.size || !point->second.size) {
        sn_tracepoint_free(loaded);
        return sn_fail(&events->why, SONDE_E_UNSUPPORTED, 0,
                       "this kernel's tracepoint '%s' has no field '%s' or '%s'", name, first,
                       second);
    }
    point->tracepoint = loaded;
    return SONDE_OK;
}

/* Payloads count threads as the machine does; inside a container these are not our numbers. */
static bool is_first_pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == FIRST_PID_NAMESPACE;
}

static void load_wakeups(struct sn_kernel_events *events, int dir)
{
    if (is_first_pid_namespace())
        (void)load_point(events, dir, KIND_WAKING, "sched:sched_waking", "pid", "common_flags");
    else
        (void)sn_fail(&events->why, SONDE_E_UNSUPPORTED, 0,
                      "wake-ups cannot be recorded in a pid namespace of its own; record on the "
                      "host, or with the host's pids (hostPID)");
}

static void load_syscalls(struct sn_kernel_events *events, int dir)
{
    if (load_point(events, dir, KIND_ENTER, "raw_syscalls:sys_enter", "id", "common_pid") ==
        SONDE_OK)
        (void)load_point(events, dir, KIND_EXIT, "raw_syscalls:sys_exit", "id", "ret");
}

static int load_named(struct sn_kernel_events *events, const struct sn_kernel_options *options,
                      int dir, struct sonde_error *err)
{
    if (options->tracepoint_count > TRACEPOINT_LIMIT)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u tracepoints", TRACEPOINT_LIMIT);
    for (size_t i = 0; i < options->tracepoint_count; i++) {
        struct sn_tracepoint **slot = &events->named[events->named_count];
        int rc = sn_tracefs_load(dir, options->tracepoints[i], slot, err);
        if (rc != SONDE_OK)
            return rc;
        (*slot)->schema.index = SN_UNIVERSAL_COUNT + (uint32_t)events->named_count;
        events->named_count++;
    }
    return SONDE_OK;
}

static int load(struct sn_kernel_events *events, const struct sn_kernel_options *options,
                struct sonde_error *err)
{
    SN_AUTO(sn_close) int dir = -1;
    struct sonde_error why = {0};
    if (!options->with_switches && !options->with_syscalls && !options->tracepoint_count)
        return SONDE_OK;
    if (options->rung != SN_RUNG_MACHINE)
        (void)sn_fail(&why, SONDE_E_DENIED, 0,
                      "tracepoints are for root, or for CAP_PERFMON with a readable tracefs");
    if (why.status || sn_tracefs_open(&dir, &why) != SONDE_OK) {
        if (options->tracepoint_count)
            return sn_fail_as(err, &why);
        if (options->with_wakeups || options->with_syscalls)
            (void)sn_fail_because(&events->why, &why,
                                  options->with_syscalls ? "no system calls" : "no wake-ups");
        return SONDE_OK;
    }
    if (options->with_switches)
        (void)load_point(events, dir, KIND_SWITCH, "sched:sched_switch", "prev_state",
                         "common_pid");
    if (options->with_switches && options->with_wakeups)
        load_wakeups(events, dir);
    if (options->with_syscalls)
        load_syscalls(events, dir);
    return load_named(events, options, dir, err);
}

int sn_kernel_events_new(const struct sn_kernel_options *options,
                         struct sn_kernel_events **ret_events, struct sonde_error *err)
{
    struct sn_kernel_events *events = calloc(1, sizeof(*events));
    if (!events)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for events of the kernel");
    events->with_switches = options->with_switches;
    events->has_stacks = options->rung == SN_RUNG_MACHINE;
    events->off_cpu = sn_off_cpu_of_nobody();
    events->pairs = sn_syscall_pairs_of_nobody();
    int rc = load(events, options, err);
    if (rc == SONDE_OK)
        *ret_events = events;
    else
        sn_kernel_events_free(events);
    return rc;
}

void sn_kernel_events_free(struct sn_kernel_events *events)
{
    if (!events)
        return;
    for (size_t i = 0; i < KIND_NAMED; i++)
        sn_tracepoint_free(events->points[i].tracepoint);
    for (size_t i = 0; i < events->named_count; i++)
        sn_tracepoint_free(events->named[i]);
    sn_off_cpu_done(&events->off_cpu);
    sn_syscall_pairs_done(&events->pairs);
    free(events);
}

/* --- their events --- */

/* As often as that a CPU switches or is called, when there is much to do. */
#define SWITCH_RATE  8000u
#define SYSCALL_RATE 50000u

static void ask_for_stacks(const struct sn_kernel_events *events, uint32_t per_second,
                           struct perf_event_attr *attr)
{
    uint32_t ring_kb = events->kernel->rings.options.kb;
    attr->sample_type |= SN_PERF_CALLCHAIN | SN_PERF_REGS_USER | SN_PERF_STACK_USER;
    attr->sample_regs_user = SN_STACK_USER_REGS;
    attr->sample_stack_user = sn_stack_user_bytes(ring_kb, per_second);
}

static struct perf_event_attr tracepoint_attr(const struct sn_tracepoint *tracepoint)
{
    return (struct perf_event_attr){.type = PERF_TYPE_TRACEPOINT,
                                    .config = tracepoint->schema.event_id,
                                    .sample_type = SN_PERF_RAW,
                                    .sample_period = 1};
}

static int add(const struct sn_kernel_events *events, unsigned kind,
               const struct perf_event_attr *attr, const char *filter, struct sonde_error *err)
{
    struct sn_rings_event event = {.attr = *attr, .kind = SN_KIND_OTHER + kind, .filter = filter};
    return sn_rings_add(&events->kernel->rings, &event, err);
}

/* Stacks of those that leave the CPU. */
static int add_switches(const struct sn_kernel_events *events, struct sonde_error *err)
{
    const struct sn_tracepoint *tracepoint = events->points[KIND_SWITCH].tracepoint;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .sample_period = 1};
    if (!events->with_switches || !events->has_stacks)
        return SONDE_OK;
    if (tracepoint)
        attr = tracepoint_attr(tracepoint);
    ask_for_stacks(events, SWITCH_RATE, &attr);
    struct sn_rings_event event = {
        .attr = attr, .kind = SN_KIND_OTHER + KIND_SWITCH, .short_stack = SN_STACK_NEAR_BYTES};
    return sn_rings_add(&events->kernel->rings, &event, err);
}

/* Whoever wakes those in scope need not be in it. */
static int add_wakeups(const struct sn_kernel_events *events, struct sonde_error *err)
{
    const struct sn_tracepoint *waking = events->points[KIND_WAKING].tracepoint;
    if (!waking)
        return SONDE_OK;
    struct sn_rings_event event = {.attr = tracepoint_attr(waking),
                                   .kind = SN_KIND_OTHER + KIND_WAKING,
                                   .is_everybodys = true};
    return sn_rings_add(&events->kernel->rings, &event, err);
}

/* The kernel's frames at a call's start are the same for all calls. Our own calls are not asked
 * for: to read and write them takes calls again. Filters by process are not worth it: they know
 * threads only, and grow with each. */
static int add_syscalls(const struct sn_kernel_events *events, struct sonde_error *err)
{
    const struct sn_tracepoint *enter = events->points[KIND_ENTER].tracepoint;
    const struct sn_tracepoint *leave = events->points[KIND_EXIT].tracepoint;
    char filter[32];
    if (!enter || !leave)
        return SONDE_OK;
    (void)snprintf(filter, sizeof(filter), "common_pid != %d", (int)gettid());
    const char *not_ours = is_first_pid_namespace() ? filter : NULL;
    struct perf_event_attr attr = tracepoint_attr(enter);
    ask_for_stacks(events, SYSCALL_RATE, &attr);
    attr.exclude_callchain_kernel = 1;
    int rc = add(events, KIND_ENTER, &attr, not_ours, err);
    attr = tracepoint_attr(leave);
    return rc == SONDE_OK ? add(events, KIND_EXIT, &attr, not_ours, err) : rc;
}

static int add_named(const struct sn_kernel_events *events, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (unsigned i = 0; i < events->named_count && rc == SONDE_OK; i++) {
        struct perf_event_attr attr = tracepoint_attr(events->named[i]);
        ask_for_stacks(events, SYSCALL_RATE, &attr);
        rc = sn_road_schema(events->kernel->outlet.road, &events->named[i]->schema, err);
        if (rc == SONDE_OK)
            rc = add(events, KIND_NAMED + i, &attr, NULL, err);
    }
    return rc;
}

int sn_kernel_events_open(struct sn_kernel_events *events, struct sn_kernel *kernel,
                          struct sonde_error *err)
{
    events->kernel = kernel;
    if (events->why.text[0])
        sn_kernel_note(kernel, "%s", events->why.text);
    int rc = add_switches(events, err);
    if (rc == SONDE_OK)
        rc = add_wakeups(events, err);
    if (rc == SONDE_OK)
        rc = add_syscalls(events, err);
    if (rc == SONDE_OK)
        rc = add_named(events, err);
    return rc;
}

/* --- what goes onto the road --- */

static void put_off_time(struct sn_kernel_events *events, const struct sn_off_time *off,
                         uint64_t time_ns, uint32_t cpu)
{
    struct sn_outlet_at at = {.time_ns = time_ns, .pid = off->pid, .tid = off->tid, .cpu = cpu};
    struct sn_universal_fields fields = {
        .numbers = {off->ns, off->queue_ns, off->reason, off->waker}};
    sn_outlet_put_stack(&events->kernel->outlet, SN_UNIVERSAL_SWITCH, &at, &fields, off->stack,
                        off->depth);
    events->switch_count++;
}

static void put_syscall(struct sn_kernel_events *events, const struct sn_syscall *call,
                        uint64_t time_ns, uint32_t cpu)
{
    struct sn_outlet_at at = {.time_ns = time_ns, .pid = call->pid, .tid = call->tid, .cpu = cpu};
    struct sn_universal_fields fields = {.numbers = {call->number, call->ns, call->result}};
    sn_outlet_put_stack(&events->kernel->outlet, SN_UNIVERSAL_SYSCALL, &at, &fields, call->stack,
                        call->depth);
    events->syscall_count++;
}

static void put_named(struct sn_kernel_events *events, const struct sn_tracepoint *tracepoint,
                      const struct sn_perf_record *record, const struct sn_stack *stack)
{
    const uint8_t *raw = record->sample.raw;
    size_t raw_size = sn_tracepoint_size(tracepoint, raw, record->sample.raw_size);
    struct sn_event event = {.schema = &tracepoint->schema,
                             .time_ns = record->time_ns,
                             .pid = record->pid,
                             .cpu = record->cpu,
                             .thread_id = record->tid,
                             .pointer_size = 8,
                             .payload = raw,
                             .payload_size = (uint32_t)raw_size,
                             .stack = (const uint8_t *)stack->frames,
                             .stack_depth = stack->depth};
    sn_road_event(events->kernel->outlet.road, &events->kernel->source, &event);
    events->tracepoint_count++;
}

/* --- records --- */

/* The process, if it is in scope and lives. */
static struct sn_task *task_of(struct sn_kernel_events *events, const struct sn_perf_record *record)
{
    if (!record->pid || record->pid == UINT32_MAX)
        return NULL;
    struct sn_task *task = sn_tasks_meet(events->kernel->tasks, record->pid, record->time_ns);
    return task && !task->exited_ns ? task : NULL;
}

/* Since when all that its threads did has been told; 0: not all was. */
static uint64_t known_ns(const struct sn_kernel_events *events, const struct sn_task *task)
{
    return events->kernel->state.lost ? 0 : task->since_ns;
}

static const struct sn_stack *stack_of(struct sn_kernel_events *events, struct sn_task *task,
                                       const struct sn_perf_record *record)
{
    struct sn_kernel *kernel = events->kernel;
    sn_stack_build(&kernel->stack, task, record);
    kernel->state.cut_chains += kernel->stack.was_cut;
    kernel->state.unwound_leaves += kernel->stack.found;
    return &kernel->stack;
}

static bool read_number(const struct sn_tracepoint_place *place,
                        const struct sn_perf_record *record, int64_t *ret_number)
{
    return sn_tracepoint_read(place, record->sample.raw, record->sample.raw_size, ret_number);
}

static void take_switch(struct sn_kernel_events *events, const struct sn_perf_record *record)
{
    struct sn_task *task = task_of(events, record);
    int64_t state = SN_OFF_STATE_UNKNOWN; /* the software event tells none */
    if (!task)
        return;
    const struct sn_stack *stack = stack_of(events, task, record);
    struct sn_off_time who = {
        .pid = record->pid, .tid = record->tid, .stack = stack->frames, .depth = stack->depth};
    (void)read_number(&events->points[KIND_SWITCH].first, record, &state);
    sn_off_cpu_leaves(&events->off_cpu, &who, record->time_ns, state);
}

static void take_waking(struct sn_kernel_events *events, const struct sn_perf_record *record)
{
    const struct point *point = &events->points[KIND_WAKING];
    int64_t tid;
    int64_t flags;
    if (read_number(&point->first, record, &tid) && read_number(&point->second, record, &flags))
        sn_off_cpu_woken(&events->off_cpu, (uint32_t)tid, record->time_ns,
                         flags & IN_INTERRUPT ? 0 : record->tid);
}

static void take_enter(struct sn_kernel_events *events, const struct sn_perf_record *record)
{
    struct sn_task *task = task_of(events, record);
    int64_t number;
    if (!task || !read_number(&events->points[KIND_ENTER].first, record, &number))
        return;
    const struct sn_stack *stack = stack_of(events, task, record);
    struct sn_syscall call = {.pid = record->pid,
                              .tid = record->tid,
                              .number = (uint64_t)number,
                              .stack = stack->frames,
                              .depth = stack->depth};
    sn_syscall_pairs_enter(&events->pairs, &call, record->time_ns);
}

static void take_exit(struct sn_kernel_events *events, const struct sn_perf_record *record)
{
    const struct point *point = &events->points[KIND_EXIT];
    const struct sn_task *task = task_of(events, record);
    int64_t number;
    int64_t result;
    if (!task || !read_number(&point->first, record, &number) ||
        !read_number(&point->second, record, &result))
        return;
    struct sn_syscall call = {.pid = record->pid,
                              .tid = record->tid,
                              .number = (uint64_t)number,
                              .result = (uint64_t)result};
    if (sn_syscall_pairs_exit(&events->pairs, &call, known_ns(events, task), record->time_ns))
        put_syscall(events, &call, record->time_ns, record->cpu);
}

static void take_named(struct sn_kernel_events *events, unsigned which,
                       const struct sn_perf_record *record)
{
    struct sn_task *task = which < events->named_count ? task_of(events, record) : NULL;
    if (task)
        put_named(events, events->named[which], record, stack_of(events, task, record));
}

void sn_kernel_events_sample(struct sn_kernel_events *events, unsigned kind,
                             const struct sn_perf_record *record)
{
    unsigned own = kind - SN_KIND_OTHER;
    switch (own) {
    case KIND_SWITCH: take_switch(events, record); break;
    case KIND_WAKING: take_waking(events, record); break;
    case KIND_ENTER: take_enter(events, record); break;
    case KIND_EXIT: take_exit(events, record); break;
    default: take_named(events, own - KIND_NAMED, record); break;
    }
}

void sn_kernel_events_switch(struct sn_kernel_events *events, const struct sn_perf_record *record)
{
    const struct sn_task *task = events->with_switches ? task_of(events, record) : NULL;
    struct sn_off_time who = {.pid = record->pid, .tid = record->tid};
    struct sn_off_time off;
    if (!task)
        return;
    if (record->swap.is_out)
        sn_off_cpu_left(&events->off_cpu, record->pid, record->tid, record->time_ns,
                        record->swap.was_preempted);
    else if (sn_off_cpu_back(&events->off_cpu, &who, known_ns(events, task), record->time_ns, &off))
        put_off_time(events, &off, record->time_ns, record->cpu);
}

void sn_kernel_events_task(struct sn_kernel_events *events, const struct sn_perf_record *record)
{
    if (record->type == SN_PERF_FORK && events->with_switches && task_of(events, record))
        sn_off_cpu_born(&events->off_cpu, record->pid, record->tid, record->time_ns);
    if (record->type != SN_PERF_EXIT)
        return;
    sn_off_cpu_ended(&events->off_cpu, record->tid);
    sn_syscall_pairs_ended(&events->pairs, record->tid);
}

void sn_kernel_events_lost(struct sn_kernel_events *events)
{
    sn_off_cpu_doubt(&events->off_cpu);
    sn_syscall_pairs_doubt(&events->pairs);
}

void sn_kernel_events_finish(struct sn_kernel_events *events, uint64_t time_ns)
{
    struct sn_off_time off;
    struct sn_syscall call;
    size_t place = 0;
    while (sn_off_cpu_still(&events->off_cpu, time_ns, &place, &off))
        put_off_time(events, &off, time_ns, UINT32_MAX);
    place = 0;
    while (sn_syscall_pairs_in_flight(&events->pairs, time_ns, &place, &call))
        put_syscall(events, &call, time_ns, UINT32_MAX);
}

uint64_t sn_kernel_events_refused(const struct sn_kernel_events *events)
{
    return events->off_cpu.threads.refused + events->pairs.threads.refused;
}

void sn_kernel_events_state(const struct sn_kernel_events *events,
                            struct sn_kernel_state *ret_state)
{
    ret_state->switches = events->switch_count;
    ret_state->syscalls = events->syscall_count;
    ret_state->tracepoint_events = events->tracepoint_count;
}
