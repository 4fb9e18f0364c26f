/* What was known of all watched processes at one moment, as copies that stay: a view can be paused,
 * sorted and looked at in peace. */
#ifndef SN_CLI_COUNTERS_SHOT_H
#define SN_CLI_COUNTERS_SHOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "sonde/counters.h"

struct sn_counters_run;
struct sonde_error;

struct sn_shot_process {
    uint32_t pid;
    int phase;
    uint64_t lost_count;
    uint64_t interval_ns;
    const char *name;
    const char *runtime;
    const char *container;
    const char *note;
    const char *summary; /* "CPU 143 %  memory 220 MB of 512 MB", as the kernel tells */
};

struct sn_counters_shot {
    struct sn_arena arena;      /* owns all that follows */
    struct sonde_point *points; /* of all processes; tags as text only */
    size_t point_count;
    struct sn_shot_process *processes;
    size_t process_count;
};

/* Into an empty one, or instead of what is there, which stays when this fails. */
int sn_counters_shot_take(struct sn_counters_shot *shot, const struct sn_counters_run *run,
                          struct sonde_error *err);
void sn_counters_shot_done(struct sn_counters_shot *shot);

#endif
