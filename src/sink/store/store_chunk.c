#include "sink/store/store_chunk.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"

#define TAG_CHUNK      'c'
#define TAG_BLOCK      'b'
#define HEAD_SIZE      32u
#define POINT_SIZE_MAX 32u /* a point at its longest: three varuints, or two and nine bytes */
#define WHOLE_MAX      9007199254740992.0 /* 2^53: up to here every whole number is a double */

enum value_form { FORM_BITS = 0, FORM_WHOLE = 1, FORM_PARTS = 2 };

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

uint8_t *sn_store_chunk_put_bits(uint8_t *at, uint64_t bits)
{
    if (!bits) {
        *at = 0;
        return at + 1;
    }
    unsigned zeros = (unsigned)__builtin_ctzll(bits) / 8;
    unsigned bytes = 8 - zeros - (unsigned)__builtin_clzll(bits) / 8;
    bits >>= 8 * zeros;
    *at = (uint8_t)(zeros << 4 | bytes);
    memcpy(at + 1, &bits, sizeof(bits)); /* more than it has: the next one writes over it */
    return at + 1 + bytes;
}

uint8_t *sn_store_chunk_put_number(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80u);
    *at = (uint8_t)value;
    return at + 1;
}

uint64_t sn_store_chunk_get_bits(struct sn_cursor *cursor)
{
    uint8_t shape = sn_cursor_u8(cursor);
    unsigned zeros = shape >> 4;
    unsigned count = shape & 15;
    const uint8_t *bytes = sn_cursor_bytes(cursor, count);
    if (zeros + count > 8 || (zeros && !count) || !bytes) {
        cursor->bad = true;
        return 0;
    }
    uint64_t bits = 0;
    memcpy(&bits, bytes, count);
    return count ? bits << (8 * zeros) : 0;
}

/* --- a chunk --- */

static bool are_whole(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool fits = fabs(values[i]) <= WHOLE_MAX;
        if (!fits || values[i] != (double)(int64_t)values[i] ||
            (values[i] == 0 && signbit(values[i])))
            return false;
    }
    return true;
}

/* Of every point, which is `width` numbers, the first one's. */
static uint8_t *put_times(uint8_t *at, const uint64_t *times, size_t count, unsigned width)
{
    uint64_t delta = 0;
    at = sn_store_chunk_put_number(at, times[0]);
    for (size_t i = width; i < count; i += width) {
        uint64_t next = times[i] - times[i - width];
        at = sn_store_chunk_put_number(at, sn_store_chunk_zigzag((int64_t)(next - delta)));
        delta = next;
    }
    return at;
}

static void get_times(struct sn_cursor *cursor, uint64_t *times, size_t count, unsigned width)
{
    uint64_t delta = 0;
    uint64_t time = sn_cursor_varuint64(cursor);
    for (size_t i = 0; i < count; i++) {
        if (i && i % width == 0) {
            delta += (uint64_t)sn_store_chunk_unzigzag(sn_cursor_varuint64(cursor));
            time += delta;
        }
        times[i] = time;
    }
}

static uint8_t *put_values(uint8_t *at, const double *values, size_t count, enum value_form form)
{
    double before = 0;
    for (size_t i = 0; i < count; i++) {
        if (form == FORM_WHOLE)
            at = sn_store_chunk_put_number(
                at, sn_store_chunk_zigzag((int64_t)values[i] - (int64_t)before));
        else
            at = sn_store_chunk_put_bits(at, bits_of(values[i]) ^ bits_of(before));
        before = values[i];
    }
    return at;
}

static void get_values(struct sn_cursor *cursor, double *values, size_t count, enum value_form form)
{
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        if (form == FORM_WHOLE) {
            before += (uint64_t)sn_store_chunk_unzigzag(sn_cursor_varuint64(cursor));
            values[i] = (double)(int64_t)before;
        } else {
            before ^= sn_store_chunk_get_bits(cursor);
            values[i] = of_bits(before);
        }
    }
}

/* One part of every point, out of `from` or back into it. */
static void take_part(const double *from, size_t points, unsigned part, double *to)
{
    for (size_t i = 0; i < points; i++)
        to[i] = from[i * SN_STORE_PARTS + part];
}

static void put_part_back(const double *from, size_t points, unsigned part, double *to)
{
    for (size_t i = 0; i < points; i++)
        to[i * SN_STORE_PARTS + part] = from[i];
}

static uint8_t *put_column(uint8_t *at, const double *values, size_t count)
{
    enum value_form form = are_whole(values, count) ? FORM_WHOLE : FORM_BITS;
    *at++ = (uint8_t)form;
    return put_values(at, values, count, form);
}

static uint8_t *put_parts(uint8_t *at, const double *values, size_t points)
{
    double column[SN_STORE_CHUNK_MAX / SN_STORE_PARTS];
    for (unsigned part = 0; part < SN_STORE_PARTS; part++) {
        take_part(values, points, part, column);
        at = put_column(at, column, points);
    }
    return at;
}

static void get_parts(struct sn_cursor *cursor, double *values, size_t points)
{
    double column[SN_STORE_CHUNK_MAX / SN_STORE_PARTS];
    for (unsigned part = 0; part < SN_STORE_PARTS; part++) {
        uint8_t form = sn_cursor_u8(cursor);
        cursor->bad |= form > FORM_WHOLE;
        get_values(cursor, column, points, (enum value_form)form);
        put_part_back(column, points, part, values);
    }
}

/* Room for so many points and their count. */
static int make_room(struct sn_buf *raw, size_t count, struct sonde_error *err)
{
    if (!sn_buf_reserve(raw, HEAD_SIZE + count * POINT_SIZE_MAX))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for %zu points", count);
    return SONDE_OK;
}

int sn_store_chunk_encode(struct sn_store_packer *packer, const struct sn_store_columns *columns,
                          struct sn_buf *out, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done)
    struct sn_buf raw = sn_buf_with_limit(HEAD_SIZE + SN_STORE_CHUNK_MAX * POINT_SIZE_MAX);
    size_t count = columns->count;
    unsigned width = columns->width;
    if (!count || count > SN_STORE_CHUNK_MAX || (width != 1 && width != SN_STORE_PARTS) ||
        count % width)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a chunk of %zu numbers", count);
    int rc = make_room(&raw, count, err);
    if (rc != SONDE_OK)
        return rc;
    enum value_form form = are_whole(columns->values, count) ? FORM_WHOLE : FORM_BITS;
    uint8_t *at = sn_store_chunk_put_number(raw.bytes, count / width);
    *at++ = (uint8_t)(width == 1 ? form : FORM_PARTS);
    at = put_times(at, columns->times_ms, count, width);
    at = width == 1 ? put_values(at, columns->values, count, form)
                    : put_parts(at, columns->values, count / width);
    sn_buf_grow(&raw, (size_t)(at - raw.bytes));
    return sn_store_pack(packer, TAG_CHUNK, &raw, out, err);
}

static int damaged(const struct sn_cursor *cursor, struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_FORMAT, sn_cursor_offset(cursor),
                   "the store: columns are damaged at byte %zu", sn_cursor_offset(cursor));
}

int sn_store_chunk_decode(struct sn_store_packer *packer, const void *bytes, size_t size,
                          struct sn_store_columns *ret_columns, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done)
    struct sn_buf raw = sn_buf_with_limit(HEAD_SIZE + SN_STORE_CHUNK_MAX * POINT_SIZE_MAX);
    int rc = sn_store_unpack(packer, TAG_CHUNK, bytes, size, &raw, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_cursor cursor = sn_cursor_over(raw.bytes, raw.size);
    uint64_t points = sn_cursor_varuint64(&cursor);
    uint8_t form = sn_cursor_u8(&cursor);
    unsigned width = form == FORM_PARTS ? SN_STORE_PARTS : 1;
    if (cursor.bad || !points || points > SN_STORE_CHUNK_MAX / width || form > FORM_PARTS)
        return damaged(&cursor, err);
    get_times(&cursor, ret_columns->times_ms, (size_t)points * width, width);
    if (form == FORM_PARTS)
        get_parts(&cursor, ret_columns->values, (size_t)points);
    else
        get_values(&cursor, ret_columns->values, (size_t)points, (enum value_form)form);
    if (cursor.bad || sn_cursor_left(&cursor))
        return damaged(&cursor, err);
    ret_columns->count = (size_t)points * width;
    ret_columns->width = width;
    return SONDE_OK;
}

/* --- a block --- */

static uint8_t *put_entries(uint8_t *at, const struct sn_store_entry *entries, size_t count)
{
    struct sn_store_entry before = {0};
    at = sn_store_chunk_put_number(at, count);
    for (size_t i = 0; i < count; i++) {
        int64_t delta = (int64_t)(entries[i].series_id - before.series_id);
        at = sn_store_chunk_put_number(at, sn_store_chunk_zigzag(delta));
        before.series_id = entries[i].series_id;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t delta = (int64_t)(entries[i].time_ms - before.time_ms);
        at = sn_store_chunk_put_number(at, sn_store_chunk_zigzag(delta));
        before.time_ms = entries[i].time_ms;
    }
    for (size_t i = 0; i < count; i++)
        at = sn_store_chunk_put_bits(at, bits_of(entries[i].value));
    return at;
}

int sn_store_chunk_encode_block(struct sn_store_packer *packer,
                                const struct sn_store_entry *entries, size_t count,
                                struct sn_buf *out, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done)
    struct sn_buf raw = sn_buf_with_limit(HEAD_SIZE + (size_t)SN_STORE_BLOCK_MAX * POINT_SIZE_MAX);
    int rc = make_room(&raw, count, err);
    if (rc != SONDE_OK)
        return rc;
    sn_buf_grow(&raw, (size_t)(put_entries(raw.bytes, entries, count) - raw.bytes));
    return sn_store_pack(packer, TAG_BLOCK, &raw, out, err);
}

static void get_entries(struct sn_cursor *cursor, struct sn_store_entry *entries, size_t count)
{
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        before += (uint64_t)sn_store_chunk_unzigzag(sn_cursor_varuint64(cursor));
        entries[i].series_id = before;
    }
    before = 0;
    for (size_t i = 0; i < count; i++) {
        before += (uint64_t)sn_store_chunk_unzigzag(sn_cursor_varuint64(cursor));
        entries[i].time_ms = before;
    }
    for (size_t i = 0; i < count; i++)
        entries[i].value = of_bits(sn_store_chunk_get_bits(cursor));
}

int sn_store_chunk_decode_block(struct sn_store_packer *packer, const void *bytes, size_t size,
                                struct sn_store_entry **ret_entries, size_t *ret_count,
                                struct sonde_error *err)
{
    SN_AUTO(sn_buf_done)
    struct sn_buf raw = sn_buf_with_limit(HEAD_SIZE + (size_t)SN_STORE_BLOCK_MAX * POINT_SIZE_MAX);
    int rc = sn_store_unpack(packer, TAG_BLOCK, bytes, size, &raw, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_cursor cursor = sn_cursor_over(raw.bytes, raw.size);
    uint64_t count = sn_cursor_varuint64(&cursor);
    /* A point takes three bytes at least, so that what is allocated was there. */
    if (cursor.bad || count > SN_STORE_BLOCK_MAX || count > sn_cursor_left(&cursor) / 3)
        return damaged(&cursor, err);
    SN_AUTO(sn_free)
    struct sn_store_entry *entries = calloc(count ? (size_t)count : 1, sizeof(*entries));
    if (!entries)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a block of points");
    get_entries(&cursor, entries, (size_t)count);
    if (cursor.bad || sn_cursor_left(&cursor))
        return damaged(&cursor, err);
    *ret_entries = SN_TAKE(entries);
    *ret_count = (size_t)count;
    return SONDE_OK;
}
