#include "base/json_pairs.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define NOT_TEXT 0xFFFDu

/* --- letters --- */

static bool is_among(char letter, const char *letters)
{
    return letter && strchr(letters, letter);
}

static void put_point(struct sn_buf *to, uint32_t point)
{
    if (point == 0 || (point >= 0xD800 && point < 0xE000) || point > 0x10FFFF)
        point = NOT_TEXT;
    if (point < 0x80) {
        sn_buf_u8(to, (uint8_t)point);
        return;
    }
    unsigned more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const uint8_t marks[] = {0, 0xC0, 0xE0, 0xF0};
    sn_buf_u8(to, (uint8_t)(marks[more] | point >> 6 * more));
    while (more-- > 0)
        sn_buf_u8(to, (uint8_t)(0x80u | (point >> 6 * more & 0x3Fu)));
}

static int hex_value(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    letter = (char)(letter | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Four digits; UINT32_MAX when they are not there. */
static uint32_t read_unit(struct sn_json_pairs *pairs)
{
    uint32_t unit = 0;
    if (pairs->end - pairs->at < 4)
        return UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(pairs->at[i]);
        if (digit < 0)
            return UINT32_MAX;
        unit = unit << 4 | (uint32_t)digit;
    }
    pairs->at += 4;
    return unit;
}

static bool is_at(const struct sn_json_pairs *pairs, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(pairs->end - pairs->at) >= size && memcmp(pairs->at, word, size) == 0;
}

/* Two halves make one letter; a half alone makes none. */
static void read_escaped_unit(struct sn_json_pairs *pairs, struct sn_buf *to)
{
    uint32_t unit = read_unit(pairs);
    pairs->is_bad |= unit == UINT32_MAX;
    if (unit >= 0xD800 && unit < 0xDC00 && is_at(pairs, "\\u")) {
        const char *before = pairs->at;
        pairs->at += 2;
        uint32_t low = read_unit(pairs);
        if (low >= 0xDC00 && low < 0xE000)
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        else
            pairs->at = before;
    }
    put_point(to, unit);
}

static void read_escape(struct sn_json_pairs *pairs, struct sn_buf *to)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    if (pairs->at == pairs->end) {
        pairs->is_bad = true;
        return;
    }
    char letter = *pairs->at++;
    const char *found = is_among(letter, letters) ? strchr(letters, letter) : NULL;
    if (letter == 'u')
        read_escaped_unit(pairs, to);
    else if (found)
        sn_buf_u8(to, (uint8_t)meant[found - letters]);
    else
        pairs->is_bad = true;
}

/* --- pieces --- */

static void skip_spaces(struct sn_json_pairs *pairs)
{
    while (pairs->at < pairs->end && is_among(*pairs->at, " \t\r\n"))
        pairs->at++;
}

static bool take(struct sn_json_pairs *pairs, char letter)
{
    skip_spaces(pairs);
    bool is_there = pairs->at < pairs->end && *pairs->at == letter;
    pairs->at += is_there;
    return is_there;
}

static void read_text(struct sn_json_pairs *pairs, struct sn_buf *to)
{
    sn_buf_clear(to);
    if (!take(pairs, '"')) {
        pairs->is_bad = true;
        return;
    }
    while (!pairs->is_bad && pairs->at < pairs->end && *pairs->at != '"') {
        char letter = *pairs->at++;
        if (letter == '\\')
            read_escape(pairs, to);
        else if (letter == '\0')
            put_point(to, NOT_TEXT);
        else
            sn_buf_u8(to, (uint8_t)letter);
    }
    if (!take(pairs, '"'))
        pairs->is_bad = true;
}

/* A number, true, false or null. */
static void read_word(struct sn_json_pairs *pairs, struct sn_buf *to, bool *ret_is_null)
{
    sn_buf_clear(to);
    while (pairs->at < pairs->end &&
           (hex_value(*pairs->at) >= 0 || is_among(*pairs->at, "+-.truelsn")))
        sn_buf_u8(to, (uint8_t)*pairs->at++);
    *ret_is_null = to->size == 4 && memcmp(to->bytes, "null", 4) == 0;
    pairs->is_bad |= !to->size;
}

static void read_value(struct sn_json_pairs *pairs, struct sn_buf *value, bool *ret_is_null)
{
    skip_spaces(pairs);
    if (is_at(pairs, "\""))
        read_text(pairs, value);
    else
        read_word(pairs, value, ret_is_null);
}

static void read_pair(struct sn_json_pairs *pairs, struct sn_buf *name, struct sn_buf *value,
                      bool *ret_is_null)
{
    read_text(pairs, name);
    if (!pairs->is_bad && !take(pairs, ':'))
        pairs->is_bad = true;
    if (!pairs->is_bad)
        read_value(pairs, value, ret_is_null);
}

bool sn_json_pairs_next(struct sn_json_pairs *pairs, struct sn_buf *name, struct sn_buf *value,
                        bool *ret_is_null)
{
    bool is_first = !pairs->is_inside;
    *ret_is_null = false;
    if (pairs->is_bad || pairs->is_done)
        return false;
    pairs->is_inside = true;
    if (is_first && !take(pairs, '{'))
        pairs->is_bad = true;
    pairs->is_done = !pairs->is_bad && take(pairs, '}');
    if (pairs->is_done) {
        skip_spaces(pairs);
        pairs->is_bad = pairs->at != pairs->end;
        return false;
    }
    if (!is_first && !take(pairs, ','))
        pairs->is_bad = true;
    if (!pairs->is_bad)
        read_pair(pairs, name, value, ret_is_null);
    return !pairs->is_bad;
}
