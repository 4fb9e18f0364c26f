/* What sonde export says of itself, as points like all others: what went out, what was dropped,
 * what waits, what it costs. One thread. */
#ifndef SN_EXPORT_OWN_POINTS_H
#define SN_EXPORT_OWN_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/counters.h"

/* One of its numbers. What counts up goes on from `before`, which belongs to it. */
struct sn_own_number {
    const char *name;        /* "sonde.export.sent" */
    const char *unit;        /* "{message}", "By", "s" */
    const char *description; /* one line */
    const char *receiver;    /* whom it is about: a tag; NULL: none */
    bool is_total;           /* counts up since the start; otherwise it holds now */
    double value;
};

/* Processor time that this process used, in seconds, and the memory that it has. */
void sn_own_cost(double *ret_cpu_seconds, uint64_t *ret_rss_bytes);

/* Calls `take` with the point for a number. */
void sn_own_point(const struct sn_own_number *number, uint64_t interval_ns, double before,
                  sonde_point_fn *take, void *user);

#endif
