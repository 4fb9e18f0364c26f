/* The points of one series that no chunk has yet, in a few bytes each. In memory only. One thread.
 */
#ifndef SN_STORE_POINTS_H
#define SN_STORE_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sink/store/store_chunk.h"

struct sn_store_points {
    struct sn_buf bytes;
    unsigned width; /* numbers of a point */
    uint64_t last_ms;
    uint64_t delta_ms;
    uint64_t last_bits;
    uint32_t count; /* of numbers */
};

static inline struct sn_store_points sn_store_points_none(unsigned width)
{
    return (struct sn_store_points){
        .bytes = sn_buf_with_limit(((size_t)SN_STORE_CHUNK_MAX + 1) * 20), .width = width};
}

/* One number. False without memory, or when it holds as many as a chunk may. */
bool sn_store_points_add(struct sn_store_points *points, uint64_t time_ms, double value);
/* As it was before some were added. */
void sn_store_points_go_back(struct sn_store_points *points, const struct sn_store_points *before);
void sn_store_points_read(const struct sn_store_points *points,
                          struct sn_store_columns *ret_columns);
void sn_store_points_clear(struct sn_store_points *points); /* keeps the memory */

#endif
