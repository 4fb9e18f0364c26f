/* What the kernel source records besides CPU samples: context switches with wake-ups, system calls,
 * and tracepoints by name. Opens their events, pairs their records and puts the result on the road.
 * One thread. */
#ifndef SN_KERNEL_EVENTS_H
#define SN_KERNEL_EVENTS_H

#include <stdint.h>

struct sn_kernel;
struct sn_kernel_events;
struct sn_kernel_options;
struct sn_kernel_state;
struct sn_perf_record;
struct sonde_error;

/* Finds out what the options need of tracefs. Without it switches lack the reason "disk", wake-ups
 * and system calls are not recorded: sn_kernel_note says so. A tracepoint that was asked for by
 * name and is not to be had is an error. */
int sn_kernel_events_new(const struct sn_kernel_options *options,
                         struct sn_kernel_events **ret_events, struct sonde_error *err);
void sn_kernel_events_free(struct sn_kernel_events *events); /* accepts NULL */

/* Declares the schemas of tracepoints and opens all events in the rings of `kernel`, which is
 * borrowed from now on. */
int sn_kernel_events_open(struct sn_kernel_events *events, struct sn_kernel *kernel,
                          struct sonde_error *err);

/* A sample of a kind from SN_KIND_OTHER on; a switch; a thread that was made or has ended. Whether
 * they are of the scope is seen here: a waker need not be. */
void sn_kernel_events_sample(struct sn_kernel_events *events, unsigned kind,
                             const struct sn_perf_record *record);
void sn_kernel_events_switch(struct sn_kernel_events *events, const struct sn_perf_record *record);
void sn_kernel_events_task(struct sn_kernel_events *events, const struct sn_perf_record *record);

/* Records were lost: what began before them may have ended unseen. */
void sn_kernel_events_lost(struct sn_kernel_events *events);

/* The recording is over: tells who is still off the CPU and which calls are in flight. */
void sn_kernel_events_finish(struct sn_kernel_events *events, uint64_t time_ns);

/* Waits and calls, or their stacks, for which there was no room. */
uint64_t sn_kernel_events_refused(const struct sn_kernel_events *events);

/* Fills in the counts. */
void sn_kernel_events_state(const struct sn_kernel_events *events,
                            struct sn_kernel_state *ret_state);

#endif
