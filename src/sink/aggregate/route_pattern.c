#include "sink/aggregate/route_pattern.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

#define SEGMENT_MAX   12u /* what is deeper is left out */
#define HEX_ID_MIN    8u  /* hexadecimal words as long as this, with a digit, are ids */
#define MIXED_ID_MIN  20u /* words of letters and digits as long as this are ids */
#define LONG_WORD_MIN 64u /* and so is everything as long as this */
#define TIME_DIGITS   12u /* of a date and a time of day, at least */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_separator(char c)
{
    return c && strchr("-_.,:;=~+@", c);
}

struct word {
    size_t digits;
    size_t hex; /* digits included */
    size_t letters;
    size_t separators;
    size_t time_letters; /* of 2024-01-02T03:04:05Z */
};

static struct word weigh(const char *text, size_t size)
{
    struct word word = {0};
    for (size_t i = 0; i < size; i++) {
        word.digits += is_digit(text[i]);
        word.hex += is_hex(text[i]);
        word.letters += is_letter(text[i]);
        word.separators += is_separator(text[i]);
        word.time_letters += text[i] == 'T' || text[i] == 'Z';
    }
    return word;
}

static bool is_guid(const char *text, size_t size)
{
    if (size != 36)
        return false;
    for (size_t i = 0; i < size; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text[i] != '-' : !is_hex(text[i]))
            return false;
    }
    return true;
}

static bool is_id(const char *text, size_t size)
{
    struct word word = weigh(text, size);
    if (size >= LONG_WORD_MIN || is_guid(text, size))
        return true;
    if (word.digits && word.hex == size && size >= HEX_ID_MIN)
        return true;
    return size >= MIXED_ID_MIN && word.digits && word.digits + word.letters == size;
}

/* One word between separators. */
static void put_word(struct sn_buf *to, const char *text, size_t size)
{
    struct word word = weigh(text, size);
    if (size && word.digits == size)
        sn_buf_text(to, "{n}");
    else if (is_id(text, size))
        sn_buf_text(to, "{id}");
    else
        sn_buf_append(to, text, size);
}

static bool is_number(const char *text, size_t size)
{
    struct word word = weigh(text, size);
    size_t letters = word.digits >= TIME_DIGITS && word.time_letters <= 2 ? word.time_letters : 0;
    return word.digits && word.digits + word.separators + letters == size;
}

static void put_segment(struct sn_buf *to, const char *text, size_t size)
{
    if (is_number(text, size)) {
        sn_buf_text(to, "{n}");
        return;
    }
    if (is_id(text, size)) {
        sn_buf_text(to, "{id}");
        return;
    }
    size_t start = 0;
    for (size_t i = 0; i <= size; i++) {
        if (i < size && !is_separator(text[i]))
            continue;
        put_word(to, text + start, i - start);
        if (i < size)
            sn_buf_append(to, text + i, 1);
        start = i + 1;
    }
}

void sn_route_pattern(struct sn_buf *to, const char *path, size_t size)
{
    size_t length = 0;
    while (length < size && path[length] != '?' && path[length] != '#')
        length++;
    if (!length) {
        sn_buf_text(to, "/");
        return;
    }
    size_t start = 0;
    unsigned segments = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && path[i] != '/')
            continue;
        if (segments++ > SEGMENT_MAX) {
            sn_buf_text(to, "...");
            return;
        }
        put_segment(to, path + start, i - start);
        if (i < length)
            sn_buf_text(to, "/");
        start = i + 1;
    }
}
