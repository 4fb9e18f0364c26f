#include "sink/store/store_points.h"

#include <string.h>

#include "base/cursor.h"

#define POINT_ROOM 20u /* two numbers at their longest */

bool sn_store_points_add(struct sn_store_points *points, uint64_t time_ms, double value)
{
    if (points->count >= SN_STORE_CHUNK_MAX)
        return false;
    uint8_t *at = sn_buf_reserve(&points->bytes, POINT_ROOM);
    if (!at) {
        points->bytes.failed = false;
        return false;
    }
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint64_t delta = time_ms - points->last_ms;
    uint8_t *end =
        sn_store_chunk_put_number(at, sn_store_chunk_zigzag((int64_t)(delta - points->delta_ms)));
    end = sn_store_chunk_put_bits(end, bits ^ points->last_bits);
    sn_buf_grow(&points->bytes, (size_t)(end - at));
    points->last_ms = time_ms;
    points->delta_ms = delta;
    points->last_bits = bits;
    points->count++;
    return true;
}

void sn_store_points_go_back(struct sn_store_points *points, const struct sn_store_points *before)
{
    struct sn_buf bytes = points->bytes; /* it may have grown */
    bytes.size = before->bytes.size;
    *points = *before;
    points->bytes = bytes;
}

void sn_store_points_read(const struct sn_store_points *points,
                          struct sn_store_columns *ret_columns)
{
    struct sn_cursor cursor = sn_cursor_over(points->bytes.bytes, points->bytes.size);
    uint64_t time_ms = 0;
    uint64_t delta_ms = 0;
    uint64_t bits = 0;
    for (size_t i = 0; i < points->count; i++) {
        delta_ms += (uint64_t)sn_store_chunk_unzigzag(sn_cursor_varuint64(&cursor));
        time_ms += delta_ms;
        bits ^= sn_store_chunk_get_bits(&cursor);
        ret_columns->times_ms[i] = time_ms;
        memcpy(&ret_columns->values[i], &bits, sizeof(bits));
    }
    ret_columns->count = points->count;
    ret_columns->width = points->width;
}

void sn_store_points_clear(struct sn_store_points *points)
{
    sn_buf_clear(&points->bytes);
    points->last_ms = 0;
    points->delta_ms = 0;
    points->last_bits = 0;
    points->count = 0;
}
