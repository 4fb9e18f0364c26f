/* Samples as thread time, the way TraceEvent counts and dotnet-trace shows it: each thread stays
 * where it was seen until it is seen again, below frames for the process and the thread, above one
 * for what the sampler said, CPU_TIME or UNMANAGED_CODE_TIME. */
#ifndef SN_THREAD_TIME_H
#define SN_THREAD_TIME_H

#include "sink/aggregate/aggregates.h"

extern const struct sn_request sn_thread_time_request;

struct sn_sink *sn_thread_time_sink(const struct sn_aggregate_context *context,
                                    struct sonde_error *err);

/* The same, but a thread is also seen, in code that is not managed, where an EventSource wrote: so
 * counts `dotnet-trace report`. Takes all events. */
struct sn_sink *sn_thread_time_events_sink(const struct sn_aggregate_context *context,
                                           struct sonde_error *err);

#endif
