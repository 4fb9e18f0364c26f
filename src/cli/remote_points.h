/* Points of counters out of the JSON of a controller. What is missing or of a wrong kind is as if
 * it was not told. */
#ifndef SN_CLI_REMOTE_POINTS_H
#define SN_CLI_REMOTE_POINTS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "sonde/counters.h"

#define SN_REMOTE_POINTS_MAX 65536u

struct sn_remote_points {
    struct sn_arena arena;     /* owns everything; texts are copies */
    struct sonde_point *items; /* sorted by provider, name, tags and pid */
    size_t count;
};

/* When a point was taken, since 1970: "2026-11-15T10:12:45.223Z". 0: it does not say. */
uint64_t sn_remote_points_time(const json_t *object);

/* `list` is an array of points. `offset_ns` is from that time to ours, CLOCK_MONOTONIC.
 * SONDE_E_FORMAT: it is no array; _LIMIT: too long. */
int sn_remote_points_read(const json_t *list, int64_t offset_ns,
                          struct sn_remote_points *ret_points, struct sonde_error *err);
void sn_remote_points_done(struct sn_remote_points *points);

/* The order of items. */
int sn_remote_points_compare(const struct sonde_point *left, const struct sonde_point *right);

#endif
