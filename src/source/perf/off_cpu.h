/* Times off the CPU, thread by thread: from where and why it left, who woke it, when it came back.
 * Told in the order of time; one thread.
 *
 * What it is told comes from two kinds of events. Switch records (PERF_RECORD_SWITCH) give the
 * times: they need no tracefs, no privilege for one's own threads, obey a cgroup's filter on both
 * ends and count threads as our own pid namespace does; the tracepoint's `next_pid` does none of
 * this. The stack is that of a sample taken as the thread leaves: of sched:sched_switch where
 * tracefs is at hand, because it tells a wait for the disk from any other for 64 bytes a switch,
 * else of the software event context-switches, which fires at the same place. Either way three
 * records a switch. Wake-ups are sched:sched_waking: unlike sched_wakeup it always fires in the
 * waker's context, not in the interrupt of the CPU that is to run the thread. */
#ifndef SN_OFF_CPU_H
#define SN_OFF_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/perf/thread_slots.h"

#define SN_OFF_STATE_UNKNOWN INT64_MIN

struct sn_off_cpu {
    struct sn_thread_slots threads;
};

/* One time off the CPU. */
struct sn_off_time {
    uint32_t pid;
    uint32_t tid;
    uint64_t ns;           /* off the CPU */
    uint64_t queue_ns;     /* of which it could have run; 0: not known */
    uint32_t reason;       /* enum sn_off_reason */
    uint32_t waker;        /* thread; 0: not known, or an interrupt */
    const uint64_t *stack; /* where it left, leaf first; borrowed until the next call */
    uint32_t depth;
};

struct sn_off_cpu sn_off_cpu_of_nobody(void);
void sn_off_cpu_done(struct sn_off_cpu *off);

/* A thread was made; until it runs it waits for a CPU. */
void sn_off_cpu_born(struct sn_off_cpu *off, uint32_t pid, uint32_t tid, uint64_t time_ns);
void sn_off_cpu_ended(struct sn_off_cpu *off, uint32_t tid);

/* It is about to leave, here: pid, tid and stack of `who`. `state` is sched_switch's prev_state or
 * SN_OFF_STATE_UNKNOWN. */
void sn_off_cpu_leaves(struct sn_off_cpu *off, const struct sn_off_time *who, uint64_t time_ns,
                       int64_t state);

/* It has left. `could_run`: it was preempted or yielded. */
void sn_off_cpu_left(struct sn_off_cpu *off, uint32_t pid, uint32_t tid, uint64_t time_ns,
                     bool could_run);

/* It can run again, since `waker` did something (0: not known). */
void sn_off_cpu_woken(struct sn_off_cpu *off, uint32_t tid, uint64_t time_ns, uint32_t waker);

/* Records were lost: who is away, and since when, is not known any more. */
void sn_off_cpu_doubt(struct sn_off_cpu *off);

/* It is back; false when it never left. One that is seen for the first time has been away since
 * `known_ns`, when its process came into sight (0: nobody can say, as records were lost). */
bool sn_off_cpu_back(struct sn_off_cpu *off, const struct sn_off_time *who, uint64_t known_ns,
                     uint64_t time_ns, struct sn_off_time *ret_time);

/* Threads that are still away at `time_ns`, one a call; `place` begins with 0. */
bool sn_off_cpu_still(const struct sn_off_cpu *off, uint64_t time_ns, size_t *place,
                      struct sn_off_time *ret_time);

#endif
