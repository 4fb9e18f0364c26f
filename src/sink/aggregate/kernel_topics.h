/* The sinks of what the kernel tells, for the table in aggregates.c: samples and switches as the
 * profile that every view shows; where and why threads were off the CPU, waited for one, or stood
 * still for a collection; system calls. */
#ifndef SN_KERNEL_TOPICS_H
#define SN_KERNEL_TOPICS_H

#include "sink/aggregate/work_topics.h"

extern const struct sn_request sn_kernel_samples_request;
extern const struct sn_request sn_off_cpu_request;
extern const struct sn_request sn_syscalls_request;

sn_aggregate_make_fn sn_kernel_samples_make;
sn_aggregate_make_fn sn_off_cpu_make;
sn_aggregate_make_fn sn_syscalls_make;

#endif
