/* The kernel's CPU time of every thread of a process, polled: how much each ran since the last
 * look.
 *
 * Descriptors of a thread's schedstat stay open between polls, so that a look costs one read a
 * thread. */
#ifndef SN_PROC_CPU_TIMES_H
#define SN_PROC_CPU_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_cpu_times;
struct sonde_error;

struct sn_cpu_slice {
    uint32_t tid;         /* as the kernel counts it here */
    uint32_t ns_tid;      /* as the target counts it: what its events carry */
    uint64_t ran_ns;      /* since the last poll */
    const char *new_name; /* the thread's name, when it was seen for the first time; else NULL */
};

/* Called for every thread that ran since the last poll or is new. Borrowed. */
typedef void sn_cpu_slice_fn(void *user, const struct sn_cpu_slice *slice);

int sn_cpu_times_new(uint32_t pid, struct sn_cpu_times **ret_times, struct sonde_error *err);
void sn_cpu_times_free(struct sn_cpu_times *times);

/* SONDE_OK, or SONDE_E_GONE when the process is. */
int sn_cpu_times_poll(struct sn_cpu_times *times, sn_cpu_slice_fn *ran, void *user);

/* What threads ran that have ended, since the last call: the process's CPU time less what its
 * living threads were seen to run. After a poll. 0 where the kernel does not tell. */
uint64_t sn_cpu_times_ended(struct sn_cpu_times *times);

/* Names every thread anew at the next poll, as if it had not been seen. */
void sn_cpu_times_repeat_names(struct sn_cpu_times *times);

/* Threads seen at the last poll. */
size_t sn_cpu_times_thread_count(const struct sn_cpu_times *times);

#endif
