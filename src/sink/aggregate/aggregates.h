/* The aggregating sinks: one topic of a report each. A sink writes its part of the report while
 * events come, and puts it in order when it is finished. */
#ifndef SN_AGGREGATES_H
#define SN_AGGREGATES_H

#include <stdbool.h>

#include "flow/request.h"
#include "symbol/frames.h"

struct sn_cpu_slices;
struct sn_report;
struct sn_sink;
struct sonde_error;

/* What the sinks work with; all borrowed. */
struct sn_aggregate_context {
    struct sn_report *report;
    struct sn_methods *methods;      /* names; filled before, or while they run */
    const struct sn_cpu_slices *cpu; /* the kernel's CPU times, or NULL */
    sn_line_fn *find_line;           /* or NULL */
    void *line_user;
};

struct sn_aggregate {
    const char *name; /* the topic: "gc" */
    const struct sn_request *request;
    bool needs_order; /* its events come from many threads */
    struct sn_sink *(*make)(const struct sn_aggregate_context *context, struct sonde_error *err);
};

/* Ended by one without a name. */
extern const struct sn_aggregate sn_aggregates[];

/* Likewise; read only when asked for by name. */
extern const struct sn_aggregate sn_extra_aggregates[];

#endif
