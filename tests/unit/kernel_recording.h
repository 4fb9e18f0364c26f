/* The kernel source on a road of its own, a sink that remembers what came, and children of known
 * behaviour. */
#ifndef KERNEL_RECORDING_H
#define KERNEL_RECORDING_H

#include "check.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "format/universal.h"
#include "model/event.h"
#include "source/perf/kernel.h"

#define MS ((uint64_t)SN_NS_PER_MS)

/* --- a sink that remembers what it was told of one process --- */

struct heard {
    struct sn_sink sink;
    uint32_t pid;  /* whom it listens for */
    uint64_t from; /* a range of code */
    uint64_t until;
    uint64_t last_ns;
    unsigned counts[SN_UNIVERSAL_COUNT];
    unsigned others; /* events of other processes */
    unsigned in_range;
    unsigned with_kernel;
    unsigned unmapped; /* frames in no mapping that was told before them */
    uint64_t starts[256];
    uint64_t ends[256];
    size_t mapping_count;
    char created[32]; /* the names it was created with, last */
    char thread_name[32];
    uint64_t named_thread; /* the last */
    uint64_t ended_thread; /* the first */
    bool is_unsorted;
    uint64_t lost;
};

static inline void copy_text(char to[32], const struct sn_universal_text *text)
{
    (void)snprintf(to, 32, "%.*s", (int)text->size, text->bytes);
}

static inline uint64_t frame_of(const struct sn_event *event, uint32_t at)
{
    uint64_t frame;
    memcpy(&frame, event->stack + at * sizeof(frame), sizeof(frame));
    return frame;
}

static inline bool is_mapped(const struct heard *heard, uint64_t address)
{
    for (size_t i = 0; i < heard->mapping_count; i++) {
        if (address >= heard->starts[i] && address < heard->ends[i])
            return true;
    }
    return false;
}

static inline void hear_stack(struct heard *heard, const struct sn_event *event)
{
    bool has_kernel = false;
    for (uint32_t i = 0; i < event->stack_depth; i++) {
        uint64_t frame = frame_of(event, i);
        bool is_here = frame >= heard->from && frame < heard->until;
        heard->in_range += is_here && !i;
        has_kernel = has_kernel || sn_universal_is_kernel(frame);
        heard->unmapped += !is_mapped(heard, i ? frame - 1 : frame);
    }
    heard->with_kernel += has_kernel;
}

static inline int hear(struct sn_sink *sink, const struct sn_event *event)
{
    struct heard *heard = (struct heard *)sink;
    int kind = sn_universal_kind(event->schema);
    struct sn_universal_fields fields;
    if (strcmp(event->schema->name, "Lost") == 0) {
        uint64_t count;
        memcpy(&count, event->payload, sizeof(count));
        heard->lost += count;
    }
    if (kind < 0)
        return SONDE_OK;
    heard->is_unsorted = heard->is_unsorted || event->time_ns < heard->last_ns;
    heard->last_ns = event->time_ns;
    if (event->pid != heard->pid) {
        heard->others++;
        return SONDE_OK;
    }
    heard->counts[kind]++;
    assert_true(sn_universal_decode((enum sn_universal)kind, event, &fields));
    if (kind == SN_UNIVERSAL_CPU)
        hear_stack(heard, event);
    if (kind == SN_UNIVERSAL_MAPPING && heard->mapping_count < 256) {
        heard->starts[heard->mapping_count] = fields.numbers[1];
        heard->ends[heard->mapping_count++] = fields.numbers[2];
    }
    if (kind == SN_UNIVERSAL_PROCESS_CREATE || kind == SN_UNIVERSAL_EXISTING_PROCESS)
        copy_text(heard->created, &fields.texts[0]);
    if (kind == SN_UNIVERSAL_THREAD_NAME) {
        copy_text(heard->thread_name, &fields.texts[0]);
        heard->named_thread = event->thread_id;
    }
    if (kind == SN_UNIVERSAL_THREAD_EXIT && !heard->ended_thread)
        heard->ended_thread = event->thread_id;
    return SONDE_OK;
}

static inline void forget_heard(struct sn_sink *sink)
{
    (void)sink; /* the test's own */
}

static const struct sn_sink_ops heard_ops = {.name = "heard", .event = hear, .free = forget_heard};

/* --- a recording --- */

struct recording {
    struct sn_loop *loop;
    struct sn_road *road;
    struct sn_source *source;
    struct heard heard;
};

static inline void begin(struct recording *recording, const struct sn_kernel_options *options)
{
    struct sonde_error err = {0};
    struct sn_request everything = {0};
    recording->heard.sink.ops = &heard_ops;
    assert_int_equal(sn_loop_new(&recording->loop, &err), SONDE_OK);
    assert_int_equal(sn_road_new(recording->loop, NULL, &recording->road, &err), SONDE_OK);
    assert_true(
        sn_road_subscribe(recording->road, &everything, &recording->heard.sink, true, &err) >= 0);
    assert_int_equal(sn_kernel_new(options, &recording->source, &err), SONDE_OK);
    if (sn_road_add_source(recording->road, recording->source, &err) != SONDE_OK)
        fail_msg("%s", err.text);
}

static inline void go_on(struct recording *recording, uint64_t for_ns)
{
    uint64_t end_ns = sn_clock_deadline(for_ns);
    while (sn_clock_monotonic_ns() < end_ns)
        assert_int_equal(sn_loop_turn(recording->loop, end_ns, NULL), SONDE_OK);
}

/* However busy the machine is: until the process has been sampled that often. */
static inline void go_on_until(struct recording *recording, unsigned samples)
{
    uint64_t end_ns = sn_clock_deadline(60000 * MS);
    while (recording->heard.counts[SN_UNIVERSAL_CPU] < samples && sn_clock_monotonic_ns() < end_ns)
        go_on(recording, 50 * MS);
}

static inline void finish(struct recording *recording)
{
    sn_road_stop(recording->road);
    assert_true(sn_road_is_done(recording->road));
    assert_int_equal(sn_road_finish(recording->road, NULL), SONDE_OK);
    assert_false(recording->heard.is_unsorted);
}

static inline void end(struct recording *recording)
{
    sn_road_free(recording->road);
    sn_loop_free(recording->loop);
}

static inline void need_machine(void)
{
    const char *why = "";
    if (sn_kernel_probe(&why) == SN_RUNG_MACHINE)
        return;
    skip_because(why);
}

/* --- children --- */

/* A section of its own: the linker tells where it begins and ends. */
extern const char spin_code_start[] __asm__("__start_spin_code");
extern const char spin_code_end[] __asm__("__stop_spin_code");

static inline uint64_t own_cpu_ns(void)
{
    struct timespec spent;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (uint64_t)spent.tv_sec * SN_NS_PER_SECOND + (uint64_t)spent.tv_nsec;
}

/* For so much time on a CPU. */
__attribute__((noinline, unused, section("spin_code"))) static void spin(volatile unsigned *counter,
                                                                         uint64_t for_ns)
{
    uint64_t until_ns = own_cpu_ns() + for_ns;
    while (own_cpu_ns() < until_ns) {
        for (unsigned i = 0; i < 1000000; i++)
            *counter += i;
    }
}

static inline pid_t start_busy(uint64_t for_ns)
{
    pid_t pid = fork();
    if (pid == 0) {
        volatile unsigned counter = 0;
        spin(&counter, for_ns);
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static inline void reap(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static inline pid_t fork_as(pid_t wanted)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};
    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

#endif
