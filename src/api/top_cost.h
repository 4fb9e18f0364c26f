/* What looking costs the processes that are looked at: their CPU by the kernel's clocks, before and
 * since. Nothing is estimated. One thread. */
#ifndef SN_TOP_COST_H
#define SN_TOP_COST_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "sonde/top.h"

#define SN_TOP_COST_PROCESSES 64u
#define SN_TOP_COST_SLICES    12u /* of each side: what comes later is not compared */
#define SN_TOP_COST_LEAST     4u  /* of each side */
#define SN_TOP_COST_SLICE_NS  (250ull * SN_NS_PER_MS)
#define SN_TOP_COST_SETTLE_NS (2ull * SN_NS_PER_SECOND) /* names are asked for at the start */

struct sn_top_cost_side {
    double percent[SN_TOP_COST_SLICES];
    size_t count;
};

struct sn_top_cost {
    uint32_t pids[SN_TOP_COST_PROCESSES];
    uint64_t cpu_ns[SN_TOP_COST_PROCESSES]; /* at the last reading */
    size_t count;
    char name[80];
    uint64_t read_ns; /* CLOCK_MONOTONIC */
    uint64_t settled_ns;
    uint64_t attached_ns; /* in half of the time to settle */
    struct sn_top_cost_side before;
    struct sn_top_cost_side settling; /* its second half */
    struct sn_top_cost_side since;
};

/* Chooses the .NET processes that the options mean, and measures them for `baseline_ns`. */
void sn_top_cost_before(struct sn_top_cost *cost, const struct sonde_top_options *options);

/* At every snapshot: reads the clocks when it is time. */
void sn_top_cost_settle(struct sn_top_cost *cost, uint64_t now_ns);

/* The rule, of the slices alone. The cost is known when it is above the noise of both sides (by
 * Student's factor, 95 %), above the drift within each of them, and above the rise since the time
 * to settle: a view costs most at its start, so what rises later is load. */
void sn_top_cost_tell(const struct sn_top_cost *cost, struct sonde_top_cost *ret_cost);

#endif
