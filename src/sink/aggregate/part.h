/* A part of a trace, by time: topics are told of what happens in it, as if the trace had begun then
 * and ended then. */
#ifndef SN_AGGREGATE_PART_H
#define SN_AGGREGATE_PART_H

#include <stdbool.h>
#include <stdint.h>

struct sn_sink;

struct sn_part {
    uint64_t from_ns; /* as times of events */
    uint64_t to_ns;   /* not itself; 0: to the end */
};

static inline bool sn_part_has(const struct sn_part *part, uint64_t time_ns)
{
    return time_ns >= part->from_ns && (!part->to_ns || time_ns < part->to_ns);
}

static inline bool sn_part_is_all(const struct sn_part *part)
{
    return !part->from_ns && !part->to_ns;
}

static inline uint64_t sn_part_end(const struct sn_part *part, uint64_t end_ns)
{
    return !part->to_ns || end_ns < part->to_ns ? end_ns : part->to_ns;
}

/* How much of what took `ns` until `end_ns` is in it. */
uint64_t sn_part_of(const struct sn_part *part, uint64_t end_ns, uint64_t ns);

/* Passes on to `inner`, which it owns, what is in the part. NULL (and `inner` is gone) without
 * memory. */
struct sn_sink *sn_part_sink(const struct sn_part *part, struct sn_sink *inner);

#endif
