/* What a stream says about itself before its first event. */
#ifndef SN_TRACE_INFO_H
#define SN_TRACE_INFO_H

#include <stdint.h>

struct sn_trace_info {
    uint32_t format_version; /* 4 or 6 */
    uint64_t start_utc_ns;   /* wall clock at the start */
    uint64_t start_ticks;    /* the stream's own clock at the start */
    uint64_t ticks_per_second;
    uint32_t pointer_size;
    uint32_t pid; /* in the target's namespace; 0 when there are many */
    uint32_t processor_count;
    uint32_t sampling_interval_ns;
};

/* CLOCK_MONOTONIC at the start, as events count. */
static inline uint64_t sn_trace_info_start_ns(const struct sn_trace_info *info)
{
    if (!info->ticks_per_second)
        return 0;
    __extension__ unsigned __int128 wide = (unsigned __int128)info->start_ticks * 1000000000u;
    return (uint64_t)(wide / info->ticks_per_second);
}

/* Ticks of the stream's clock in nanoseconds. */
static inline uint64_t sn_trace_time_ns(const struct sn_trace_info *info, uint64_t ticks)
{
    if (info->ticks_per_second == 1000000000u)
        return ticks;
    __extension__ unsigned __int128 wide = (unsigned __int128)ticks * 1000000000u;
    return (uint64_t)(wide / info->ticks_per_second);
}

#endif
