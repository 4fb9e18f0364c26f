/* How CPU time is to be found out on this machine, for these processes. */
#ifndef SN_MACHINE_WAY_H
#define SN_MACHINE_WAY_H

#include "source/perf/kernel.h"

struct sonde_error;

struct sn_machine_way {
    int way; /* enum sonde_record_way, never BEST */
    enum sn_kernel_rung rung;
    char note[384]; /* one line: why no better one, what would help; "" for the best */
};

/* `wanted` is enum sonde_record_way. One that was asked for and is not permitted fails, with the
 * remedy. */
int sn_machine_way_choose(const struct sn_kernel_scope *scope, int wanted,
                          struct sn_machine_way *ret_way, struct sonde_error *err);

#endif
