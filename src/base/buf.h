/* A growable byte buffer with a ceiling: no input can make it grow without bound.
 *
 * Once an append does not fit, the buffer is `failed` and further appends do nothing, so a message
 * is built straight down and checked once. One thread.
 *
 * Invariants, whatever was appended and whatever failed:
 *   - size <= capacity, and size <= limit;
 *   - bytes[0..size) is memory of this buffer: appends that were whole, none of them cut;
 *   - what sn_buf_string returns has at least `size` bytes before its zero, so a pointer of it and
 *     a size of this buffer fit together in any order. A failed buffer is empty from then on;
 *   - a text of exactly `limit` bytes is whole: its zero does not count, and has room.
 * Who passes text and length on takes both at once: sn_buf_view (tools/check-names looks). */
#ifndef SN_BUF_H
#define SN_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_buf {
    uint8_t *bytes; /* owns */
    size_t size;
    size_t capacity;
    size_t limit;  /* the most it may ever hold */
    bool failed;   /* an append was over the limit or out of memory */
    bool is_fixed; /* the memory is somebody else's, and never moves */
};

/* What a buffer holds, for whom it is passed to: valid until the next change of the buffer. */
struct sn_buf_view {
    const char *text; /* with a zero behind it, never NULL */
    size_t size;
};

/* In place; nothing is allocated before the first append. */
static inline struct sn_buf sn_buf_with_limit(size_t limit)
{
    return (struct sn_buf){.limit = limit};
}

/* In place over memory that stays the caller's; of its `size` bytes all may be content. A string
 * needs one of them for its zero. */
static inline struct sn_buf sn_buf_over(void *memory, size_t size)
{
    return (struct sn_buf){.bytes = memory, .capacity = size, .limit = size, .is_fixed = true};
}

void sn_buf_done(struct sn_buf *buf);

static inline void sn_buf_done_auto(struct sn_buf *buf)
{
    sn_buf_done(buf);
}

/* Empties it and clears `failed`; keeps the memory. */
void sn_buf_clear(struct sn_buf *buf);

/* Makes room for `size` more bytes and returns where they go (NULL when failed). The size does not
 * change until sn_buf_grow. */
uint8_t *sn_buf_reserve(struct sn_buf *buf, size_t size);

/* Counts `size` reserved bytes as written: no more than were reserved. */
void sn_buf_grow(struct sn_buf *buf, size_t size);

/* Drops the first `size` bytes, no more than there are, and moves the rest to the front. */
void sn_buf_consume(struct sn_buf *buf, size_t size);

void sn_buf_append(struct sn_buf *buf, const void *bytes, size_t size);
void sn_buf_fill(struct sn_buf *buf, uint8_t byte, size_t count);
void sn_buf_u8(struct sn_buf *buf, uint8_t value);
void sn_buf_u16(struct sn_buf *buf, uint16_t value);
void sn_buf_u32(struct sn_buf *buf, uint32_t value);
void sn_buf_u64(struct sn_buf *buf, uint64_t value);
void sn_buf_varuint(struct sn_buf *buf, uint64_t value);
void sn_buf_text(struct sn_buf *buf, const char *text);
void sn_buf_decimal(struct sn_buf *buf, uint64_t value); /* much faster than a format */
void sn_buf_format(struct sn_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sn_buf_vformat(struct sn_buf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* The content as a C string: a zero is put behind it that is not counted. A failed buffer becomes
 * empty: "". */
const char *sn_buf_string(struct sn_buf *buf);

/* The same with its length: all of it, or nothing when the buffer has failed. */
struct sn_buf_view sn_buf_view(struct sn_buf *buf);

#endif
