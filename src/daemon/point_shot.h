/* The latest value of every counter of every process at one moment: made in the roads thread, never
 * changed, read by any thread. Counted references. */
#ifndef SN_POINT_SHOT_H
#define SN_POINT_SHOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "sonde/counters.h"
#include "sonde/error.h"

struct sn_shot_process {
    uint32_t pid;
    uint64_t start_ticks;
    const char *name;
    const char *note; /* what is not as asked for; "" */
    uint64_t interval_ns;
    int phase; /* enum sonde_consumer_phase */
    bool is_complete;
    const struct sonde_point *points;
    size_t point_count;
};

struct sn_point_shot {
    _Atomic unsigned reference_count;
    uint64_t at_ns;   /* CLOCK_MONOTONIC */
    uint64_t version; /* of its maker: points so far */
    struct sn_arena arena;
    struct sn_shot_process *processes;
    size_t process_count;
};

/* SONDE_E_NOMEM, SONDE_E_LIMIT. Has one reference. */
int sn_point_shot_new(struct sonde_counters *counters, struct sn_point_shot **ret_shot,
                      struct sonde_error *err);
struct sn_point_shot *sn_point_shot_hold(struct sn_point_shot *shot);
void sn_point_shot_release(struct sn_point_shot *shot); /* NULL is fine */

const struct sn_shot_process *sn_point_shot_find(const struct sn_point_shot *shot, uint32_t pid);

#endif
