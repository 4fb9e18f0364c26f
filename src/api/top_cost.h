/* What looking costs the processes that are looked at: their CPU by the kernel's clocks, before and
 * since. Nothing is estimated. One thread. */
#ifndef SN_TOP_COST_H
#define SN_TOP_COST_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/top.h"

#define SN_TOP_COST_PROCESSES 64u
#define SN_TOP_COST_SLICES    32u /* of each side; later ones take the place of the first */

struct sn_top_cost_side {
    double percent[SN_TOP_COST_SLICES];
    size_t count; /* all that came */
};

struct sn_top_cost {
    uint32_t pids[SN_TOP_COST_PROCESSES];
    uint64_t cpu_ns[SN_TOP_COST_PROCESSES]; /* at the last reading */
    size_t count;
    char name[80];
    uint64_t read_ns; /* CLOCK_MONOTONIC */
    uint64_t settled_ns;
    struct sn_top_cost_side before;
    struct sn_top_cost_side since;
};

/* Chooses the .NET processes that the options mean, and measures them for `baseline_ns`. */
void sn_top_cost_before(struct sn_top_cost *cost, const struct sonde_top_options *options);

/* At every snapshot: reads the clocks when it is time. */
void sn_top_cost_settle(struct sn_top_cost *cost, uint64_t now_ns);

void sn_top_cost_tell(const struct sn_top_cost *cost, struct sonde_top_cost *ret_cost);

#endif
