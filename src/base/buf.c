#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY 256u

void sn_buf_done(struct sn_buf *buf)
{
    assert(!buf->is_fixed);
    free(buf->bytes);
    *buf = sn_buf_with_limit(buf->limit);
}

void sn_buf_clear(struct sn_buf *buf)
{
    buf->size = 0;
    buf->failed = false;
}

/* Room for `needed` bytes of at most `most`; false: none, and nothing has changed. */
static bool enlarge(struct sn_buf *buf, size_t needed, size_t most)
{
    if (buf->is_fixed)
        return false;
    size_t capacity = buf->capacity ? buf->capacity : SMALLEST_CAPACITY;
    while (capacity < needed)
        capacity = capacity <= most / 2 ? capacity * 2 : most;
    if (capacity > most)
        capacity = most;
    uint8_t *bytes = realloc(buf->bytes, capacity);
    if (!bytes)
        return false;
    buf->bytes = bytes;
    buf->capacity = capacity;
    return true;
}

uint8_t *sn_buf_reserve(struct sn_buf *buf, size_t size)
{
    assert(buf->size <= buf->limit && buf->size <= buf->capacity);
    if (buf->failed || size > buf->limit - buf->size) {
        buf->failed = true;
        return NULL;
    }
    if (size > buf->capacity - buf->size && !enlarge(buf, buf->size + size, buf->limit)) {
        buf->failed = true;
        return NULL;
    }
    return buf->bytes ? buf->bytes + buf->size : NULL;
}

/* The same for text of `size` bytes, with room for a zero behind it, which the ceiling does not
 * count. */
static uint8_t *reserve_text(struct sn_buf *buf, size_t size)
{
    if (!sn_buf_reserve(buf, size) && buf->failed)
        return NULL;
    size_t most = buf->limit < SIZE_MAX ? buf->limit + 1 : SIZE_MAX;
    if (buf->capacity - buf->size <= size && !enlarge(buf, buf->size + size + 1, most)) {
        buf->failed = true;
        return NULL;
    }
    return buf->bytes + buf->size;
}

void sn_buf_grow(struct sn_buf *buf, size_t size)
{
    assert(size <= buf->capacity - buf->size);
    buf->size += size;
}

void sn_buf_consume(struct sn_buf *buf, size_t size)
{
    assert(size <= buf->size);
    if (size < buf->size)
        memmove(buf->bytes, buf->bytes + size, buf->size - size);
    buf->size -= size;
}

void sn_buf_append(struct sn_buf *buf, const void *bytes, size_t size)
{
    uint8_t *to = sn_buf_reserve(buf, size);
    if (!to || !size)
        return;
    memcpy(to, bytes, size);
    buf->size += size;
}

void sn_buf_fill(struct sn_buf *buf, uint8_t byte, size_t count)
{
    uint8_t *to = sn_buf_reserve(buf, count);
    if (!to || !count)
        return;
    memset(to, byte, count);
    buf->size += count;
}

void sn_buf_u8(struct sn_buf *buf, uint8_t value)
{
    sn_buf_append(buf, &value, sizeof(value));
}

void sn_buf_u16(struct sn_buf *buf, uint16_t value)
{
    sn_buf_append(buf, &value, sizeof(value));
}

void sn_buf_u32(struct sn_buf *buf, uint32_t value)
{
    sn_buf_append(buf, &value, sizeof(value));
}

void sn_buf_u64(struct sn_buf *buf, uint64_t value)
{
    sn_buf_append(buf, &value, sizeof(value));
}

void sn_buf_varuint(struct sn_buf *buf, uint64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;
    while (value >= 0x80) {
        bytes[size++] = (uint8_t)(value | 0x80u);
        value >>= 7;
    }
    bytes[size++] = (uint8_t)value;
    sn_buf_append(buf, bytes, size);
}

void sn_buf_text(struct sn_buf *buf, const char *text)
{
    sn_buf_append(buf, text, strlen(text));
}

void sn_buf_decimal(struct sn_buf *buf, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    sn_buf_append(buf, digits + at, sizeof(digits) - at);
}

void sn_buf_vformat(struct sn_buf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        buf->failed = true;
        return;
    }
    uint8_t *to = reserve_text(buf, (size_t)length); /* vsnprintf writes its zero in any case */
    if (!to)
        return;
    (void)vsnprintf((char *)to, (size_t)length + 1, format, args);
    buf->size += (size_t)length;
}

void sn_buf_format(struct sn_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sn_buf_vformat(buf, format, args);
    va_end(args);
}

const char *sn_buf_string(struct sn_buf *buf)
{
    uint8_t *end = reserve_text(buf, 0);
    if (end) {
        *end = 0;
        return (const char *)buf->bytes;
    }
    buf->size = 0; /* what is over the ceiling or out of memory is nothing, not a part */
    if (!buf->bytes || !buf->capacity)
        return "";
    *buf->bytes = 0; /* not a literal: whoever has read the size before reads what is his */
    return (const char *)buf->bytes;
}

struct sn_buf_view sn_buf_view(struct sn_buf *buf)
{
    const char *text = sn_buf_string(buf);
    return (struct sn_buf_view){.text = text, .size = buf->size};
}
