/* The kernel source: perf_event_open rings, read, merged and turned into events of
 * format/universal.h on a road.
 *
 * It begins to listen first and looks through /proc second, so that nothing falls between; what it
 * tells of a process comes before the first sample that needs it. Of mappings only those are told
 * that a stack runs through; the kernel's has one id for all processes. A process that executes
 * another program ends and begins anew, with the same pid. Only processes in scope have events. It
 * keeps the executable mappings of each: they cut broken call chains, find the callers that code
 * without frame pointers loses, and pass the mapped files on to `objects` while they can still be
 * opened. One thread: the road's. */
#ifndef SN_KERNEL_H
#define SN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_objects;
struct sn_source;
struct sonde_error;

/* What may be recorded here, best first. */
enum sn_kernel_rung {
    SN_RUNG_MACHINE, /* machine-wide rings: root, CAP_PERFMON or paranoid <= 0 */
    SN_RUNG_THREADS, /* own processes, one event a thread and CPU, no kernel frames; costs the
                        target more when it switches often */
    SN_RUNG_NONE,    /* no perf events at all */
};

/* Which processes. Nothing set: all. */
struct sn_kernel_scope {
    const uint32_t *pids; /* with the children they make from now on */
    size_t pid_count;
    uint32_t held_pid; /* one of these, or 0: a program that has not begun; it does by executing
                          another, and what its process did before is left out */
    const char *const *names; /* patterns (base/pattern.h) against the process's name; those that
                                 start later as well */
    size_t name_count;
    const char
        *cgroup; /* directory below the cgroup root, or an absolute path; the kernel filters */
};

struct sn_kernel_options {
    enum sn_kernel_rung rung;     /* as chosen by the caller from sn_kernel_probe */
    struct sn_kernel_scope scope; /* copied */
    uint32_t frequency;           /* of CPU samples, a second and CPU; 0: no CPU samples */
    bool with_switches;           /* SN_UNIVERSAL_SWITCH with stacks */
    bool with_wakeups; /* run-queue time and waker; needs tracefs, else silently without: state says
                        */
    bool with_syscalls;
    const char *const *tracepoints; /* "sched:sched_process_exec": events with provider "sched",
                                       their own fields and a stack */
    size_t tracepoint_count;
    bool with_hardware; /* cycles instead of cpu-clock where there are counters */
    uint32_t ring_kb; /* a CPU; 0: two fifths of a second of CPU samples (999 a second: 2048), with
                         switches or system calls 16384, on large machines less; halved until it is
                         granted */
    struct sn_objects *objects; /* borrows; or NULL */
};

/* What it could do and did. Texts are borrowed and live as long as the source. */
struct sn_kernel_state {
    uint64_t samples;
    uint64_t switches;
    uint64_t syscalls;
    uint64_t tracepoint_events;
    uint64_t lost; /* records, for want of room or because they made no sense */
    uint64_t throttled_ns;
    uint64_t unwound_leaves; /* lost callers found again */
    uint64_t cut_chains;
    uint32_t processes;  /* in scope, seen so far */
    uint32_t ring_kb;    /* granted */
    const char *sampler; /* "cpu-clock" or "cycles" */
    const char *note;    /* what was asked for and is not to be had, and what would help; or NULL */
};

/* The best rung there is; below the first, *ret_why (static or borrowed until the next call) says
 * in one line why, and how to get better. */
enum sn_kernel_rung sn_kernel_probe(const char **ret_why);

/* How often `pid` switched a second, over `sample_ns`: rung THREADS costs by that. */
uint64_t sn_kernel_switch_rate(uint32_t pid, uint64_t sample_ns);

int sn_kernel_new(const struct sn_kernel_options *options, struct sn_source **ret_source,
                  struct sonde_error *err);
void sn_kernel_state(const struct sn_source *source, struct sn_kernel_state *ret_state);

/* Widens the scope by a process (one that was started for the recording, or found later). */
int sn_kernel_add_process(struct sn_source *source, uint32_t pid, struct sonde_error *err);

#endif
