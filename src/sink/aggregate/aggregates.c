#include "sink/aggregate/aggregates.h"

#include "sink/aggregate/kernel_topics.h"
#include "sink/aggregate/samples.h"
#include "sink/aggregate/thread_time.h"
#include "sink/aggregate/topics.h"
#include "sink/aggregate/work_topics.h"

const struct sn_aggregate sn_aggregates[] = {
    {"samples", &sn_samples_request, false, sn_samples_sink, SN_OF_SAMPLER, true},
    {"samples", &sn_kernel_samples_request, false, sn_kernel_samples_make, SN_OF_KERNEL, true},
    {"off-cpu", &sn_off_cpu_request, true, sn_off_cpu_make, SN_OF_KERNEL, true},
    {"syscalls", &sn_syscalls_request, false, sn_syscalls_make, SN_OF_KERNEL, false},
    {"gc", &sn_gc_request, true, sn_gc_sink, SN_OF_PROCESS, false},
    {"exceptions", &sn_exceptions_request, true, sn_exceptions_sink, SN_OF_PROCESS, false},
    {"allocations", &sn_allocations_request, false, sn_allocations_sink, SN_OF_PROCESS, false},
    {"contention", &sn_contention_request, false, sn_contention_sink, SN_OF_PROCESS, false},
    {"jit", &sn_jit_request, true, sn_jit_make, SN_OF_PROCESS, false},
    {"pool", &sn_pool_request, true, sn_pool_make, SN_OF_PROCESS, false},
    {"requests", &sn_requests_request, true, sn_requests_make, SN_OF_PROCESS, false},
    {"tasks", &sn_tasks_request, true, sn_tasks_make, SN_OF_PROCESS, false},
    {0},
};

const struct sn_aggregate sn_extra_aggregates[] = {
    {"thread-time", &sn_thread_time_request, true, sn_thread_time_sink, SN_OF_PROCESS, false},
    {"thread-time-events", &sn_everything, true, sn_thread_time_events_sink, SN_OF_PROCESS, false},
    {0},
};
