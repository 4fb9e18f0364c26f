#include "sink/export/export_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"

#define MARK_SIZE   17u /* "_" and sixteen digits */
#define REPLACEMENT "\xEF\xBF\xBD"

static void put_mark(struct sn_buf *to, const void *of, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t number = sn_table_key(of, size);
    sn_buf_u8(to, '_');
    for (int shift = 60; shift >= 0; shift -= 4)
        sn_buf_u8(to, (uint8_t)digits[number >> shift & 15]);
}

/* Where to cut, not within a character; all of it when it fits. */
static size_t cut_at(const char *text, size_t size, size_t limit)
{
    if (size <= limit)
        return size;
    size_t at = limit - MARK_SIZE;
    while (at > limit - MARK_SIZE - 4 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return at;
}

static bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void sn_export_word(struct sn_buf *to, const char *text, const char *kept)
{
    size_t size = strlen(text);
    size_t end = cut_at(text, size, SN_EXPORT_WORD_MAX);
    if (!size)
        sn_buf_u8(to, '_');
    for (size_t i = 0, length; i < end; i += length) {
        uint32_t point;
        bool is_valid;
        length = sn_text_decode(text + i, size - i, &point, &is_valid);
        bool stays = length == 1 && (is_word_character(text[i]) || strchr(kept, text[i]));
        sn_buf_u8(to, stays ? (uint8_t)text[i] : '_');
    }
    if (end < size)
        put_mark(to, text, size);
}

/* What str.split() of Python, in which carbon is written, takes for white space; and controls. */
static bool is_space_or_control(uint32_t point)
{
    return point <= 0x20 || (point >= 0x7F && point <= 0xA0) || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
           point == 0x202F || point == 0x205F || point == 0x3000;
}

void sn_export_clean(struct sn_buf *to, const char *text, const char *without, size_t limit)
{
    size_t size = strlen(text);
    size_t end = cut_at(text, size, limit);
    for (size_t i = 0, length; i < end; i += length) {
        uint32_t point;
        bool is_valid;
        length = sn_text_decode(text + i, size - i, &point, &is_valid);
        if (!is_valid)
            sn_buf_text(to, REPLACEMENT);
        else if (is_space_or_control(point) || (length == 1 && strchr(without, text[i])))
            sn_buf_u8(to, '_');
        else
            sn_buf_append(to, text + i, length);
    }
    if (end < size)
        put_mark(to, text, size);
}

void sn_export_valid(struct sn_buf *to, const char *text)
{
    size_t size = strlen(text);
    size_t end = cut_at(text, size, SN_EXPORT_VALUE_MAX);
    for (size_t i = 0, length; i < end; i += length) {
        uint32_t point;
        bool is_valid;
        length = sn_text_decode(text + i, size - i, &point, &is_valid);
        sn_buf_append(to, is_valid ? text + i : REPLACEMENT, is_valid ? length : 3);
    }
    if (end < size)
        put_mark(to, text, size);
}

void sn_export_cut(struct sn_buf *to, size_t start, size_t limit)
{
    size_t size = to->size - start;
    if (to->failed || size <= limit)
        return;
    uint64_t number = sn_table_key(to->bytes + start, size);
    to->size = start + limit - MARK_SIZE;
    put_mark(to, &number, sizeof(number));
}
