#include "source/perf/kernel.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "flow/road.h"
#include "source/perf/cgroup.h"
#include "source/perf/kernel_source.h"
#include "source/perf/task_events.h"

/* Rings say when they are a quarter full; but whoever polls the loop's own descriptor (sn_loop_fd)
 * takes that word away from the loop, for the kernel says it once. So the timer alone must do: with
 * switches and system calls, rings of 16 MB take 800 MB a second each. */
#define DRAIN_EVERY_NS       (100ull * SN_NS_PER_MS)
#define DRAIN_OFTEN_EVERY_NS (20ull * SN_NS_PER_MS)

/* A CPU may still be writing a record that began this long ago. */
#define WRITING_NS (2ull * SN_NS_PER_MS)

#define RESCAN_EVERY_NS (2ull * SN_NS_PER_SECOND)

#define LEAST_RING_KB 256u
#define RINGS_KB      (64u << 10) /* all together */
#define LARGE_RING_KB 16384u

static struct sn_outlet_at of_nobody(const struct sn_perf_record *record)
{
    return (struct sn_outlet_at){.time_ns = record->time_ns, .cpu = record->cpu};
}

static void take_lost(struct sn_kernel *kernel, const struct sn_perf_record *record)
{
    struct sn_outlet_at at = of_nobody(record);
    kernel->state.lost += record->lost;
    kernel->has_lost = true;
    kernel->own.is_unsure = true;
    sn_kernel_events_lost(kernel->events);
    sn_outlet_lost(&kernel->outlet, &at, record->lost);
}

/* Records that made no sense, and what lay behind those that lied about their size. */
static void tell_damage(struct sn_kernel *kernel, uint64_t time_ns)
{
    uint64_t damaged = sn_rings_damaged(&kernel->rings);
    if (damaged == kernel->damaged_count)
        return;
    struct sn_perf_record gap = {
        .time_ns = time_ns, .cpu = UINT32_MAX, .lost = damaged - kernel->damaged_count};
    kernel->damaged_count = damaged;
    take_lost(kernel, &gap);
}

static uint64_t *throttled_slot(struct sn_kernel *kernel, uint32_t cpu)
{
    for (size_t i = 0; i < kernel->rings.cpu_count; i++) {
        if (kernel->rings.cpus[i].cpu == cpu)
            return &kernel->throttled_ns[i];
    }
    return NULL;
}

static void take_throttle(struct sn_kernel *kernel, const struct sn_perf_record *record)
{
    uint64_t *since_ns = throttled_slot(kernel, record->cpu);
    if (!since_ns)
        return;
    if (record->type == SN_PERF_THROTTLE) {
        *since_ns = record->time_ns;
        return;
    }
    if (!*since_ns)
        return;
    uint64_t gap_ns = record->time_ns - *since_ns;
    struct sn_outlet_at at = of_nobody(record);
    struct sn_universal_fields fields = {.numbers = {record->cpu, gap_ns}};
    *since_ns = 0;
    kernel->state.throttled_ns += gap_ns;
    sn_outlet_put(&kernel->outlet, SN_UNIVERSAL_THROTTLE, &at, &fields);
}

/* Nobody: the idle task, or one of another pid namespace. */
static bool is_somebody(const struct sn_perf_record *record)
{
    return record->pid && record->pid != UINT32_MAX;
}

static void take_sample(struct sn_kernel *kernel, unsigned kind,
                        const struct sn_perf_record *record)
{
    if (kind >= SN_KIND_OTHER)
        sn_kernel_events_sample(kernel->events, kind, record);
    else if (kind == SN_KIND_CPU && is_somebody(record))
        sn_cpu_samples_take(kernel, record);
}

static void take(void *user, unsigned kind, const struct sn_perf_record *record)
{
    struct sn_kernel *kernel = user;
    switch (record->type) {
    case SN_PERF_SAMPLE: take_sample(kernel, kind, record); break;
    case SN_PERF_LOST:
    case SN_PERF_LOST_SAMPLES: take_lost(kernel, record); break;
    case SN_PERF_THROTTLE:
    case SN_PERF_UNTHROTTLE: take_throttle(kernel, record); break;
    case SN_PERF_SWITCH:
    case SN_PERF_SWITCH_CPU_WIDE: sn_kernel_events_switch(kernel->events, record); break;
    default:
        if (is_somebody(record)) {
            sn_tasks_take(kernel->tasks, record);
            sn_own_threads_take(&kernel->own, record);
            sn_kernel_events_task(kernel->events, record);
        }
        break;
    }
}

void sn_kernel_note(struct sn_kernel *kernel, const char *format, ...)
{
    size_t used = strlen(kernel->note);
    if (used && used + 2 < sizeof(kernel->note)) {
        memcpy(kernel->note + used, "; ", 3);
        used += 2;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(kernel->note + used, sizeof(kernel->note) - used, format, args);
    va_end(args);
}

static void look_at(void *user, uint32_t pid)
{
    struct sn_kernel *kernel = user;
    sn_tasks_look_at(kernel->tasks, pid, kernel->scanned_ns, false);
}

/* `time_ns`: since when what is found holds on the road. */
static void scan(struct sn_kernel *kernel, uint64_t time_ns, bool with_children)
{
    kernel->scanned_ns = time_ns;
    if (kernel->cgroup_fd >= 0)
        sn_cgroup_processes(kernel->cgroup_fd, look_at, kernel);
    else
        sn_tasks_scan(kernel->tasks, time_ns, with_children);
}

/* After losses; and where only threads that we found tell us anything, for processes that were not
 * there before. */
static void scan_if_needed(struct sn_kernel *kernel, uint64_t time_ns)
{
    bool is_deaf = kernel->options.rung == SN_RUNG_THREADS && !kernel->is_closed_scope;
    uint64_t pause_ns = kernel->has_lost ? SN_NS_PER_SECOND : RESCAN_EVERY_NS;
    if ((!kernel->has_lost && !is_deaf) || time_ns < kernel->scanned_ns + pause_ns)
        return;
    if (kernel->has_lost) {
        sn_tasks_doubt(kernel->tasks, time_ns);
        sn_own_threads_doubt(&kernel->own);
    }
    scan(kernel, time_ns, kernel->has_lost);
    kernel->has_lost = false;
}

static void drain(struct sn_kernel *kernel, uint64_t until_ns)
{
    sn_rings_drain(&kernel->rings, until_ns, take, kernel);
    tell_damage(kernel, until_ns);
    scan_if_needed(kernel, until_ns);
    sn_tasks_sweep(kernel->tasks, until_ns);
    sn_own_threads_close_ended(kernel, until_ns);
    sn_road_complete(kernel->outlet.road, &kernel->source, until_ns);
}

static void drain_now(struct sn_kernel *kernel)
{
    drain(kernel, sn_clock_monotonic_ns() - WRITING_NS);
}

/* Whether more than CPU samples is asked for. */
static bool is_much(const struct sn_kernel_options *options)
{
    return options->with_switches || options->with_syscalls || options->tracepoint_count;
}

static void set_timer(struct sn_kernel *kernel)
{
    uint64_t pause_ns = is_much(&kernel->options) ? DRAIN_OFTEN_EVERY_NS : DRAIN_EVERY_NS;
    sn_loop_timer(sn_road_loop(kernel->outlet.road), &kernel->timer, sn_clock_deadline(pause_ns));
}

static void timer_expired(struct sn_timer *timer)
{
    struct sn_kernel *kernel = timer->user;
    set_timer(kernel);
    drain_now(kernel);
}

static void ring_filled(struct sn_watch *watch, uint32_t events)
{
    (void)events;
    drain_now(watch->user);
}

/* Two fifths of a second of CPU samples: that long a reader on a busy machine may have to wait.
 * Large machines get smaller rings: each of their CPUs has less to tell meanwhile. */
static uint32_t usual_ring_kb(const struct sn_kernel_options *options)
{
    uint64_t wanted_kb = (uint64_t)options->frequency * (SN_LEAF_WHOLE_BYTES + 512) * 2 / 5 / 1024;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t kb = LARGE_RING_KB;
    while (!is_much(options) && kb > LEAST_RING_KB && kb / 2 >= wanted_kb)
        kb /= 2;
    while (kb > LEAST_RING_KB && kb * cpus > RINGS_KB)
        kb /= 2;
    return kb;
}

static int open_rings(struct sn_kernel *kernel, struct sonde_error *err)
{
    const struct sn_kernel_options *options = &kernel->options;
    struct sn_rings_options rings = {.is_machine_wide = options->rung == SN_RUNG_MACHINE,
                                     .cgroup_fd = kernel->cgroup_fd,
                                     .with_switches = options->with_switches,
                                     .kb = options->ring_kb};
    if (!rings.kb)
        rings.kb = usual_ring_kb(options);
    int rc = sn_rings_open(&kernel->rings, &rings, err);
    if (rc != SONDE_OK)
        return rc;
    kernel->state.ring_kb = kernel->rings.options.kb;
    kernel->throttled_ns = calloc(kernel->rings.cpu_count, sizeof(*kernel->throttled_ns));
    return kernel->throttled_ns ? SONDE_OK
                                : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the rings");
}

static int open_events(struct sn_kernel *kernel, struct sonde_error *err)
{
    bool is_by_thread = kernel->options.rung == SN_RUNG_THREADS; /* opened as they are found */
    int rc = SONDE_OK;
    if (kernel->options.frequency && !is_by_thread)
        rc = sn_cpu_samples_open(kernel, 0, err);
    return rc == SONDE_OK ? sn_kernel_events_open(kernel->events, kernel, err) : rc;
}

static int watch_rings(struct sn_kernel *kernel, struct sn_loop *loop, struct sonde_error *err)
{
    for (size_t i = 0; i < kernel->rings.cpu_count; i++) {
        struct sn_watch *watch = &kernel->rings.cpus[i].watch;
        watch->ready = ring_filled;
        watch->user = kernel;
        int rc = sn_loop_watch(loop, watch, EPOLLIN, err);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

/* Those who were named must be there, and on the second rung be ours; of the others some. */
static int check_found(struct sn_kernel *kernel, struct sonde_error *err)
{
    uint32_t missing = sn_tasks_missing(kernel->tasks);
    if (kernel->refused_count && (missing || !sn_tasks_seen(kernel->tasks)))
        return sn_own_threads_refused(kernel, err);
    if (missing && kernel->cgroup_fd < 0)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "there is no process %" PRIu32, missing);
    return SONDE_OK;
}

static int start(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    struct sn_kernel *kernel = (struct sn_kernel *)source;
    int rc = sn_outlet_open(&kernel->outlet, road, source, err);
    if (rc == SONDE_OK)
        rc = open_rings(kernel, err);
    if (rc == SONDE_OK)
        rc = open_events(kernel, err);
    if (rc == SONDE_OK)
        rc = watch_rings(kernel, sn_road_loop(road), err);
    if (rc != SONDE_OK)
        return rc;
    kernel->started_ns = sn_clock_monotonic_ns();
    sn_rings_enable(&kernel->rings);
    scan(kernel, kernel->started_ns, false);
    set_timer(kernel);
    return check_found(kernel, err);
}

static void tell_short_stacks(struct sn_kernel *kernel, uint64_t now_ns)
{
    uint64_t all_ns = (now_ns - kernel->started_ns) * kernel->rings.cpu_count;
    uint64_t short_ns = sn_rings_short_ns(&kernel->rings, now_ns);
    if (short_ns && all_ns)
        sn_kernel_note(kernel,
                       "so much happened on the machine that for %" PRIu64
                       " %% of the time stacks of waits reach their nearest callers only",
                       (short_ns * 100 + all_ns - 1) / all_ns);
}

static void tell_refused(struct sn_kernel *kernel)
{
    uint64_t waits = sn_kernel_events_refused(kernel->events);
    uint64_t mappings = sn_tasks_events(kernel->tasks)->files.refused;
    if (waits)
        sn_kernel_note(kernel,
                       "more threads waited than there was room for: %" PRIu64
                       " waits or calls, or their stacks, are missing",
                       waits);
    if (mappings)
        sn_kernel_note(kernel,
                       "more files were mapped than there was room for: code in %" PRIu64
                       " mappings has no name",
                       mappings);
}

static void stop(struct sn_source *source)
{
    struct sn_kernel *kernel = (struct sn_kernel *)source;
    if (source->has_ended)
        return;
    sn_loop_untimer(&kernel->timer);
    sn_rings_disable(&kernel->rings);
    uint64_t now_ns = sn_clock_monotonic_ns();
    drain(kernel, now_ns);
    tell_short_stacks(kernel, now_ns);
    tell_refused(kernel);
    sn_kernel_events_finish(kernel->events, now_ns);
    sn_road_ended(kernel->outlet.road, source, SONDE_OK);
}

static void free_kernel(struct sn_source *source)
{
    struct sn_kernel *kernel = (struct sn_kernel *)source;
    sn_loop_untimer(&kernel->timer);
    sn_rings_close(&kernel->rings);
    sn_kernel_events_free(kernel->events);
    sn_tasks_free(kernel->tasks);
    sn_leaf_free(kernel->stack.leaf);
    sn_own_threads_done(&kernel->own);
    sn_close(kernel->cgroup_fd);
    sn_outlet_done(&kernel->outlet);
    free(kernel->throttled_ns);
    free(kernel);
}

static const struct sn_source_ops kernel_ops = {
    .name = "kernel", .start = start, .stop = stop, .free = free_kernel};

static int prepare(struct sn_kernel *kernel, const struct sn_kernel_scope *scope,
                   struct sonde_error *err)
{
    const struct sn_kernel_options *options = &kernel->options;
    int rc = sn_tasks_new(scope, &kernel->outlet, options->objects, &kernel->tasks, err);
    if (rc != SONDE_OK)
        return rc;
    kernel->stack.tasks = kernel->tasks;
    kernel->is_closed_scope = scope->pid_count && !scope->name_count;
    if (options->rung == SN_RUNG_THREADS)
        sn_tasks_set_admit(kernel->tasks, sn_own_threads_admit, kernel);
    if (options->objects)
        rc = sn_leaf_new(options->objects, &kernel->stack.leaf, err);
    if (rc == SONDE_OK && scope->cgroup)
        rc = sn_cgroup_open(scope->cgroup, &kernel->cgroup_fd, err);
    return rc == SONDE_OK ? sn_kernel_events_new(options, &kernel->events, err) : rc;
}

int sn_kernel_new(const struct sn_kernel_options *options, struct sn_source **ret_source,
                  struct sonde_error *err)
{
    if (options->rung == SN_RUNG_NONE)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "no events of the kernel are to be had here");
    if (options->rung == SN_RUNG_THREADS && options->scope.cgroup)
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "to record a cgroup takes the right to the whole machine: root or "
                       "CAP_PERFMON");
    struct sn_kernel *kernel = calloc(1, sizeof(*kernel));
    if (!kernel)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the events of the kernel");
    kernel->source.ops = &kernel_ops;
    kernel->options = *options;
    kernel->options.scope = (struct sn_kernel_scope){0};
    kernel->cgroup_fd = -1;
    sn_own_threads_init(&kernel->own);
    kernel->timer = (struct sn_timer){.expired = timer_expired, .user = kernel};
    int rc = prepare(kernel, &options->scope, err);
    if (rc != SONDE_OK) {
        free_kernel(&kernel->source);
        return rc;
    }
    *ret_source = &kernel->source;
    return SONDE_OK;
}

void sn_kernel_state(const struct sn_source *source, struct sn_kernel_state *ret_state)
{
    const struct sn_kernel *kernel = (const struct sn_kernel *)source;
    *ret_state = kernel->state;
    sn_kernel_events_state(kernel->events, ret_state);
    ret_state->processes = sn_tasks_seen(kernel->tasks);
    ret_state->note = kernel->note[0] ? kernel->note : NULL;
}

int sn_kernel_add_process(struct sn_source *source, uint32_t pid, struct sonde_error *err)
{
    struct sn_kernel *kernel = (struct sn_kernel *)source;
    return sn_tasks_add(kernel->tasks, pid, sn_clock_monotonic_ns(), err);
}
