/* A bounded reader over bytes that may be hostile: reads past the end give zero and a mark that
 * stays, so fields are read straight down and checked once. */
#ifndef SN_CURSOR_H
#define SN_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sn_cursor {
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    bool bad; /* something did not fit; every read since gave zero */
};

static inline struct sn_cursor sn_cursor_over(const void *bytes, size_t size)
{
    const uint8_t *start = bytes;
    return (struct sn_cursor){.start = start, .at = start, .end = size ? start + size : start};
}

static inline size_t sn_cursor_left(const struct sn_cursor *cur)
{
    return (size_t)(cur->end - cur->at);
}

static inline size_t sn_cursor_offset(const struct sn_cursor *cur)
{
    return (size_t)(cur->at - cur->start);
}

/* The next `size` bytes, borrowed from the input; NULL and bad when there are not as many. */
static inline const uint8_t *sn_cursor_bytes(struct sn_cursor *cur, size_t size)
{
    if (cur->bad || size > sn_cursor_left(cur)) {
        cur->bad = true;
        return NULL;
    }
    const uint8_t *bytes = cur->at;
    if (size)
        cur->at += size;
    return bytes;
}

static inline void sn_cursor_skip(struct sn_cursor *cur, size_t size)
{
    (void)sn_cursor_bytes(cur, size); /* the mark is enough */
}

#define SN_CURSOR_READ(name, type)                                  \
    static inline type sn_cursor_##name(struct sn_cursor *cur)      \
    {                                                               \
        type value = 0;                                             \
        const uint8_t *bytes = sn_cursor_bytes(cur, sizeof(value)); \
        if (bytes)                                                  \
            memcpy(&value, bytes, sizeof(value));                   \
        return value;                                               \
    }

/* Little-endian, as every format we read; a big-endian host is not supported.
 */
SN_CURSOR_READ(u8, uint8_t)
SN_CURSOR_READ(u16, uint16_t)
SN_CURSOR_READ(u32, uint32_t)
SN_CURSOR_READ(u64, uint64_t)
SN_CURSOR_READ(i16, int16_t)
SN_CURSOR_READ(i32, int32_t)
SN_CURSOR_READ(i64, int64_t)
#undef SN_CURSOR_READ

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire formats are little-endian");

/* LEB128, at most 5 and 10 bytes; longer, or bits that do not fit, are bad. */
uint32_t sn_cursor_varuint32(struct sn_cursor *cur);
uint64_t sn_cursor_varuint64(struct sn_cursor *cur);
int64_t sn_cursor_varint64(struct sn_cursor *cur); /* whose last byte has the sign (SLEB128) */

#endif
