/* Points as columns. A chunk is one series: its times as differences of differences, its values as
 * differences of whole numbers where they all are, else by the bytes in which each differs from the
 * one before. A block is what one commit brought, of all series. Times are in milliseconds.
 *
 * A point of a histogram is six numbers: six entries of one time, in the order of enum
 * sn_store_part. In a chunk each of the six is a column of its own. */
#ifndef SN_STORE_CHUNK_H
#define SN_STORE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sink/store/store_pack.h"
#include "sonde/error.h"

#define SN_STORE_CHUNK_MAX 768u        /* numbers of a chunk: six times 128 */
#define SN_STORE_BLOCK_MAX (32u << 10) /* numbers of a block */

enum sn_store_part {
    SN_STORE_PART_COUNT,
    SN_STORE_PART_SUM,
    SN_STORE_PART_SECONDS, /* that it is over */
    SN_STORE_PART_P50,     /* NAN: it was not told */
    SN_STORE_PART_P95,
    SN_STORE_PART_P99,
    SN_STORE_PARTS
};

struct sn_store_columns {
    uint64_t times_ms[SN_STORE_CHUNK_MAX];
    double values[SN_STORE_CHUNK_MAX];
    size_t count;   /* of numbers */
    unsigned width; /* of a point: 1 or SN_STORE_PARTS */
};

struct sn_store_entry {
    uint64_t series_id;
    uint64_t time_ms;
    double value;
};

/* The bytes in which a value differs from the one before: how many zeros end it and how many bytes
 * there are, then those. Also what points look like in memory. They write to `at`, where there is
 * room for ten bytes, and return where to go on. */
uint8_t *sn_store_chunk_put_bits(uint8_t *at, uint64_t bits);
uint8_t *sn_store_chunk_put_number(uint8_t *at, uint64_t value);
struct sn_cursor;
uint64_t sn_store_chunk_get_bits(struct sn_cursor *cursor);

/* Small numbers of either sign as small numbers without. */
static inline uint64_t sn_store_chunk_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}
static inline int64_t sn_store_chunk_unzigzag(uint64_t value)
{
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}

/* Append to `out`. */
int sn_store_chunk_encode(struct sn_store_packer *packer, const struct sn_store_columns *columns,
                          struct sn_buf *out, struct sonde_error *err);
int sn_store_chunk_encode_block(struct sn_store_packer *packer,
                                const struct sn_store_entry *entries, size_t count,
                                struct sn_buf *out, struct sonde_error *err);

/* SONDE_E_FORMAT: damaged. */
int sn_store_chunk_decode(struct sn_store_packer *packer, const void *bytes, size_t size,
                          struct sn_store_columns *ret_columns, struct sonde_error *err);
/* The caller frees *ret_entries. */
int sn_store_chunk_decode_block(struct sn_store_packer *packer, const void *bytes, size_t size,
                                struct sn_store_entry **ret_entries, size_t *ret_count,
                                struct sonde_error *err);

#endif
