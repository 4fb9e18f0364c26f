/* Where counters come from: runtimes of this machine, through a hub of our own; or a controller
 * that watches them anyway. Views know only this. One thread. */
#ifndef SN_CLI_COUNTERS_SOURCE_H
#define SN_CLI_COUNTERS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/counters.h"

struct sn_counters_source;
struct sn_remote;

/* As the functions of sonde/counters.h and sonde/hub.h of the same names. */
struct sn_counters_source_ops {
    int (*fd)(const struct sn_counters_source *source);
    int (*wait_ms)(const struct sn_counters_source *source);
    int (*turn)(struct sn_counters_source *source, struct sonde_error *err);
    size_t (*process_count)(const struct sn_counters_source *source);
    void (*process)(const struct sn_counters_source *source, size_t index,
                    struct sonde_watched *ret_watched);
    bool (*find)(const struct sn_counters_source *source, uint32_t pid,
                 struct sonde_watched *ret_watched);
    int (*latest)(struct sn_counters_source *source, uint32_t pid,
                  const struct sonde_point **ret_points, size_t *ret_count,
                  struct sonde_error *err);
    void (*free)(struct sn_counters_source *source);
};

struct sn_counters_source {
    const struct sn_counters_source_ops *ops;
    bool is_remote; /* pids are not this machine's */
};

/* Of this machine. `take` gets every point from within a turn. */
int sn_counters_source_own(const struct sonde_counters_options *options, sonde_point_fn *take,
                           void *user, struct sn_counters_source **ret_source,
                           struct sonde_error *err);

static inline void sn_counters_source_free(struct sn_counters_source *source)
{
    if (source)
        source->ops->free(source);
}

#endif
