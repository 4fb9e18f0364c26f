/* CPU time that no sample stands for: the runtime's own threads, and native code without managed
 * callers. It enters the profile under a name for what the thread does. */
#ifndef SN_UNSEEN_H
#define SN_UNSEEN_H

#include <stdint.h>

struct sn_cpu_slices;
struct sn_cpu_thread;
struct sn_report;

/* Adds what `thread` ran between two times, less what its samples were given, to report->samples
 * and to the report's sums. */
void sn_unseen_add(struct sn_report *report, const struct sn_cpu_slices *cpu,
                   const struct sn_cpu_thread *thread, uint64_t assigned_ns, uint64_t first_ns,
                   uint64_t last_ns);

#endif
