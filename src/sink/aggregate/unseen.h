/* CPU time that no sample stands for: the runtime's own threads, and native code without managed
 * callers. It enters the profile under a name for what the thread does. */
#ifndef SN_UNSEEN_H
#define SN_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

struct sn_cpu_slices;
struct sn_cpu_thread;
struct sn_report;

/* A thread, and what is known of it. All borrowed. */
struct sn_unseen {
    const struct sn_cpu_slices *cpu;
    const struct sn_cpu_thread *thread;
    uint64_t assigned_ns; /* what its samples were given */
    uint64_t first_ns;    /* of the samples of all threads */
    uint64_t last_ns;
    bool is_sampler; /* it took the samples: whatever it is called, it is the runtime's */
};

/* Adds what the thread ran between the two times, less what its samples were given, to
 * report->samples and to the report's sums. */
void sn_unseen_add(struct sn_report *report, const struct sn_unseen *unseen);

/* The same for threads that have ended and were not seen to run: in no thread's name. */
void sn_unseen_ended(struct sn_report *report, uint64_t ns);

#endif
