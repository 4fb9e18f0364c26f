#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY 256u

void sn_buf_done(struct sn_buf *buf)
{
    free(buf->bytes);
    *buf = sn_buf_with_limit(buf->limit);
}

void sn_buf_clear(struct sn_buf *buf)
{
    buf->size = 0;
    buf->failed = false;
}

static bool enlarge(struct sn_buf *buf, size_t needed)
{
    size_t capacity = buf->capacity ? buf->capacity : SMALLEST_CAPACITY;
    while (capacity < needed)
        capacity *= 2;
    if (capacity > buf->limit)
        capacity = buf->limit;
    uint8_t *bytes = realloc(buf->bytes, capacity);
    if (!bytes)
        return false;
    buf->bytes = bytes;
    buf->capacity = capacity;
    return true;
}

uint8_t *sn_buf_reserve(struct sn_buf *buf, size_t size)
{
    if (buf->failed || size > buf->limit - buf->size) {
        buf->failed = true;
        return NULL;
    }
    if (size > buf->capacity - buf->size && !enlarge(buf, buf->size + size)) {
        buf->failed = true;
        return NULL;
    }
    return buf->bytes ? buf->bytes + buf->size : NULL;
}

void sn_buf_grow(struct sn_buf *buf, size_t size)
{
    buf->size += size;
}

void sn_buf_consume(struct sn_buf *buf, size_t size)
{
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
    /* One more: vsnprintf wants to write its zero, which is then not counted. */
    uint8_t *to = sn_buf_reserve(buf, (size_t)length + 1);
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
    uint8_t *end = sn_buf_reserve(buf, 1);
    if (!end)
        return "";
    *end = 0;
    return (const char *)buf->bytes;
}
