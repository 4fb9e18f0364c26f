/* The sinks of the program's own work: what is compiled, queued, served and awaited. */
#ifndef SN_WORK_TOPICS_H
#define SN_WORK_TOPICS_H

#include <stdint.h>

#include "model/report.h"
#include "sink/aggregate/aggregates.h"

#define SN_RUNTIME_PROVIDER "Microsoft-Windows-DotNETRuntime"

typedef struct sn_sink *sn_aggregate_make_fn(const struct sn_aggregate_context *context,
                                             struct sonde_error *err);

extern const struct sn_request sn_jit_request;
extern const struct sn_request sn_pool_request;
extern const struct sn_request sn_requests_request;
extern const struct sn_request sn_tasks_request;

sn_aggregate_make_fn sn_jit_make;
sn_aggregate_make_fn sn_pool_make;
sn_aggregate_make_fn sn_requests_make;
sn_aggregate_make_fn sn_tasks_make;

/* When the trace ends: as the report has it, or the last event that a sink saw. */
static inline uint64_t sn_end_of_trace(const struct sn_report *report, uint64_t last_ns)
{
    uint64_t end_ns = report->first_ns + report->duration_ns;
    return end_ns > last_ns ? end_ns : last_ns;
}

#endif
