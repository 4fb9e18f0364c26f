/* The aggregating sinks: one topic of a report each. A sink writes its part of the report while
 * events come, and puts it in order when it is finished. */
#ifndef SN_AGGREGATES_H
#define SN_AGGREGATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/request.h"
#include "sink/aggregate/part.h"
#include "symbol/frames.h"

struct sn_code;
struct sn_cpu_slices;
struct sn_methods;
struct sn_report;
struct sn_sink;
struct sonde_error;

/* What the sinks work with; all borrowed. */
struct sn_aggregate_context {
    struct sn_report *report;
    struct sn_code *code;            /* names; filled before, or while they run */
    struct sn_methods *methods;      /* of the process that the runtime's topics are about */
    const struct sn_cpu_slices *cpu; /* the kernel's CPU times, or NULL */
    sn_line_fn *find_line;           /* or NULL */
    void *line_user;
    /* of a machine-wide recording: */
    const bool *is_in; /* one a process of the code: the kernel's topics are about it; NULL: all */
    size_t is_in_count;
    bool with_processes;  /* stacks begin with a frame for the process */
    uint64_t interval_ns; /* what a sample of the kernel stands for */
    struct sn_part part;  /* of those that cut it out themselves */
};

/* What a topic is made of. */
enum sn_aggregate_of {
    SN_OF_PROCESS, /* the runtime's events of one process */
    SN_OF_SAMPLER, /* the same, and only where the kernel took no samples */
    SN_OF_KERNEL,  /* the kernel's events */
};

struct sn_aggregate {
    const char *name; /* the topic: "gc" */
    const struct sn_request *request;
    bool needs_order; /* its events come from many threads */
    struct sn_sink *(*make)(const struct sn_aggregate_context *context, struct sonde_error *err);
    enum sn_aggregate_of of;
    bool cuts_itself; /* a part of the trace out of all of it: what it counts takes time */
};

/* Ended by one without a name. */
extern const struct sn_aggregate sn_aggregates[];

/* Likewise; read only when asked for by name. */
extern const struct sn_aggregate sn_extra_aggregates[];

#endif
