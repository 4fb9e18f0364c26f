/* The small file beside a trace (NAME.nettrace.cpu): the kernel's CPU time of each thread while it
 * ran. Layout: docs/formats/cpu-record.md. */
#ifndef SN_CPU_RECORD_H
#define SN_CPU_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct sn_cpu_record;
struct sn_loop;
struct sonde_error;

/* Starts polling `pid` from `loop`; only sums are kept until a file is opened. Threads have the ids
 * that they have in their own pid namespace, as in the runtime's trace, or those that we see. */
int sn_cpu_record_new(struct sn_loop *loop, uint32_t pid, bool with_our_ids,
                      struct sn_cpu_record **ret_record, struct sonde_error *err);

/* Writes to TRACE.cpu from now on; does nothing when that is the present file. A new file names
 * every thread again. */
int sn_cpu_record_open(struct sn_cpu_record *record, const char *trace_path,
                       struct sonde_error *err);

/* Looks a last time; the sums stay. */
void sn_cpu_record_stop(struct sn_cpu_record *record);
void sn_cpu_record_free(struct sn_cpu_record *record);

/* CPU time of all threads since the start, and of those in which the runtime writes its events out.
 */
uint64_t sn_cpu_record_total_ns(const struct sn_cpu_record *record);
uint64_t sn_cpu_record_tracing_ns(const struct sn_cpu_record *record);

#endif
