/* System calls from their two ends (raw_syscalls:sys_enter and sys_exit), thread by thread; the
 * stack is that of the first. Told in the order of time; one thread. */
#ifndef SN_SYSCALL_PAIRS_H
#define SN_SYSCALL_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/perf/thread_slots.h"

struct sn_syscall_pairs {
    struct sn_thread_slots threads;
};

/* One system call. */
struct sn_syscall {
    uint32_t pid;
    uint32_t tid;
    uint64_t number;
    uint64_t ns;
    uint64_t result;       /* as the kernel returned it, or SN_SYSCALL_IN_FLIGHT */
    const uint64_t *stack; /* where it was called, leaf first; borrowed until the next call */
    uint32_t depth;
};

struct sn_syscall_pairs sn_syscall_pairs_of_nobody(void);
void sn_syscall_pairs_done(struct sn_syscall_pairs *pairs);

/* The call begins: pid, tid, number and stack of `call`. */
void sn_syscall_pairs_enter(struct sn_syscall_pairs *pairs, const struct sn_syscall *call,
                            uint64_t time_ns);

/* The call of call->pid, ->tid, ->number (as the second end has it) ends with call->result; fills
 * in the rest. False when there is no such call: it is a new thread's return from its making, or
 * the first end was lost. A thread that is seen for the first time has been inside since
 * `known_ns`, when its process came into sight (0: nobody can say, as records were lost). */
bool sn_syscall_pairs_exit(struct sn_syscall_pairs *pairs, struct sn_syscall *call,
                           uint64_t known_ns, uint64_t time_ns);

/* Records were lost: who is inside which call is not known any more. */
void sn_syscall_pairs_doubt(struct sn_syscall_pairs *pairs);

void sn_syscall_pairs_ended(struct sn_syscall_pairs *pairs, uint32_t tid);

/* Calls under way at `time_ns`, one a call; `place` begins with 0. */
bool sn_syscall_pairs_in_flight(const struct sn_syscall_pairs *pairs, uint64_t time_ns,
                                size_t *place, struct sn_syscall *ret_call);

#endif
