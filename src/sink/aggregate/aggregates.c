#include "sink/aggregate/aggregates.h"

#include "sink/aggregate/samples.h"
#include "sink/aggregate/thread_time.h"
#include "sink/aggregate/topics.h"
#include "sink/aggregate/work_topics.h"

const struct sn_aggregate sn_aggregates[] = {
    {"samples", &sn_samples_request, false, sn_samples_sink},
    {"gc", &sn_gc_request, true, sn_gc_sink},
    {"exceptions", &sn_exceptions_request, true, sn_exceptions_sink},
    {"allocations", &sn_allocations_request, false, sn_allocations_sink},
    {"contention", &sn_contention_request, false, sn_contention_sink},
    {"jit", &sn_jit_request, true, sn_jit_make},
    {"pool", &sn_pool_request, true, sn_pool_make},
    {"requests", &sn_requests_request, true, sn_requests_make},
    {"tasks", &sn_tasks_request, true, sn_tasks_make},
    {0},
};

const struct sn_aggregate sn_extra_aggregates[] = {
    {"thread-time", &sn_thread_time_request, true, sn_thread_time_sink},
    {"thread-time-events", &sn_everything, true, sn_thread_time_events_sink},
    {0},
};
