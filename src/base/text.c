#include "base/text.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define REPLACEMENT 0xFFFDu

static void append_utf8(struct sn_buf *buf, uint32_t point)
{
    if (point < 0x80) {
        sn_buf_u8(buf, (uint8_t)point);
        return;
    }
    if (point < 0x800) {
        sn_buf_u8(buf, (uint8_t)(0xC0u | (point >> 6)));
    } else if (point < 0x10000) {
        sn_buf_u8(buf, (uint8_t)(0xE0u | (point >> 12)));
        sn_buf_u8(buf, (uint8_t)(0x80u | ((point >> 6) & 0x3Fu)));
    } else {
        sn_buf_u8(buf, (uint8_t)(0xF0u | (point >> 18)));
        sn_buf_u8(buf, (uint8_t)(0x80u | ((point >> 12) & 0x3Fu)));
        sn_buf_u8(buf, (uint8_t)(0x80u | ((point >> 6) & 0x3Fu)));
    }
    sn_buf_u8(buf, (uint8_t)(0x80u | (point & 0x3Fu)));
}

static uint32_t unit_at(const uint8_t *units, size_t index)
{
    uint16_t unit;
    memcpy(&unit, units + index * 2, sizeof(unit));
    return unit;
}

void sn_text_from_utf16(struct sn_buf *buf, const uint8_t *units, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t point = unit_at(units, i);
        if (point >= 0xD800 && point <= 0xDFFF) {
            uint32_t low = i + 1 < count ? unit_at(units, i + 1) : 0;
            if (point < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF) {
                point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
                i++;
            } else {
                point = REPLACEMENT;
            }
        }
        append_utf8(buf, point);
    }
}

size_t sn_text_decode(const char *text, size_t size, uint32_t *ret_point, bool *ret_valid)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *bytes = (const uint8_t *)text;
    uint8_t first = bytes[0];
    size_t length = first < 0x80    ? 1
                    : first >= 0xF5 ? 0
                    : first >= 0xF0 ? 4
                    : first >= 0xE0 ? 3
                    : first >= 0xC2 ? 2
                                    : 0;
    uint32_t point = length == 1 ? first : first & (0x7Fu >> length);

    *ret_point = REPLACEMENT;
    *ret_valid = false;
    if (!length || length > size)
        return 1;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0u) != 0x80u)
            return 1;
        point = (point << 6) | (bytes[i] & 0x3Fu);
    }
    if (point < smallest[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return 1;
    *ret_point = point;
    *ret_valid = true;
    return length;
}

void sn_text_to_utf16(struct sn_buf *buf, const char *text, size_t size)
{
    while (size) {
        uint32_t point;
        bool valid;
        size_t length = sn_text_decode(text, size, &point, &valid);
        if (point >= 0x10000) {
            sn_buf_u16(buf, (uint16_t)(0xD800 + ((point - 0x10000) >> 10)));
            sn_buf_u16(buf, (uint16_t)(0xDC00 + ((point - 0x10000) & 0x3FF)));
        } else {
            sn_buf_u16(buf, (uint16_t)point);
        }
        text += length;
        size -= length;
    }
}

static bool is_printable(uint32_t point)
{
    if (point < 0x20 || (point >= 0x7F && point < 0xA0))
        return false;
    /* Marks that reorder or hide what stands beside them. */
    bool reorders = (point >= 0x200B && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
                    (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF || point == 0x061C;
    return !reorders;
}

void sn_text_printable(struct sn_buf *buf, const char *text, size_t size)
{
    while (size) {
        uint32_t point;
        bool valid;
        size_t length = sn_text_decode(text, size, &point, &valid);
        if (valid && is_printable(point))
            sn_buf_append(buf, text, length);
        else if (!valid || point < 0x100)
            sn_buf_format(buf, "\\x%02x", valid ? point : (unsigned)(uint8_t)text[0]);
        else
            sn_buf_format(buf, "\\u{%x}", point);
        text += length;
        size -= length;
    }
}

uint64_t sn_text_hash(uint64_t before, const char *text)
{
    uint64_t hash = before ? before : 0xcbf29ce484222325ull; /* FNV-1a */
    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
    return (hash ^ 0xFF) * 0x100000001b3ull; /* no byte of UTF-8: here it ends */
}

bool sn_text_to_u64(const char *text, uint64_t most, uint64_t *ret_value)
{
    unsigned base = 10;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    }
    uint64_t value = 0;
    const char *start = text;
    for (; *text; text++) {
        unsigned digit;
        if (*text >= '0' && *text <= '9')
            digit = (unsigned)(*text - '0');
        else if (*text >= 'a' && *text <= 'f')
            digit = (unsigned)(*text - 'a' + 10);
        else if (*text >= 'A' && *text <= 'F')
            digit = (unsigned)(*text - 'A' + 10);
        else
            return false;
        if (digit >= base || value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    if (text == start || value > most)
        return false;
    *ret_value = value;
    return true;
}

static bool is_word_for_real(const char *text, double *ret_value)
{
    bool is_negative = text[0] == '-';
    if (strcmp(text, "NaN") == 0)
        *ret_value = NAN;
    else if (strcmp(text + is_negative, "Infinity") == 0)
        *ret_value = is_negative ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}

static bool is_all_digits(const char *text, double *ret_value)
{
    char *end;
    if (!text[0] || text[strspn(text, "+-.0123456789eE")])
        return false; /* strtod would take white space, hexadecimal and other words */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* nothing is allocated for "C" */
    if (!plain)
        return false;
    double value = strtod_l(text, &end, plain);
    freelocale(plain);
    if (*end || end == text)
        return false;
    *ret_value = value;
    return true;
}

bool sn_text_to_real(const char *text, size_t size, double *ret_value)
{
    char whole[64];
    if (size >= sizeof(whole) || memchr(text, 0, size))
        return false;
    memcpy(whole, text, size);
    whole[size] = '\0';
    return is_word_for_real(whole, ret_value) || is_all_digits(whole, ret_value);
}

/* Whatever the host program's locale calls a decimal point becomes one. */
static const char *with_point(char *to)
{
    for (char *at = to; *at; at++) {
        if (!strchr("+-0123456789einfa", *at))
            *at = '.';
    }
    return to;
}

const char *sn_text_real(double value, char to[32])
{
    (void)snprintf(to, 32, "%.15g", value);
    return with_point(to);
}

const char *sn_text_exact_real(double value, char to[32])
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(to, 32, "%.*g", digits, value);
        double again = strtod(to, NULL);
        if (!(again < value) && !(again > value))
            break;
    }
    return with_point(to);
}

const char *sn_text_bytes(uint64_t bytes, char to[16])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(*units)) {
        value /= 1000;
        unit++;
    }
    if (unit && value < 9.95) {
        unsigned tenths = (unsigned)(value * 10 + 0.5); /* with a point, whatever the locale */
        (void)snprintf(to, 16, "%u.%u %s", tenths / 10, tenths % 10, units[unit]);
    } else {
        (void)snprintf(to, 16, "%.0f %s", value, units[unit]);
    }
    return to;
}

const char *sn_text_duration(uint64_t ns, char to[32])
{
    uint64_t seconds = ns / 1000000000u;
    if (ns < 1000000u)
        (void)snprintf(to, 32, "%" PRIu64 " us", ns / 1000u);
    else if (ns < 1000000000u)
        (void)snprintf(to, 32, "%" PRIu64 " ms", ns / 1000000u);
    else if (seconds < 60)
        (void)snprintf(to, 32, "%" PRIu64 ".%" PRIu64 " s", seconds, ns / 100000000u % 10);
    else if (seconds < 3600)
        (void)snprintf(to, 32, "%" PRIu64 " m %" PRIu64 " s", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        (void)snprintf(to, 32, "%" PRIu64 " h %" PRIu64 " m", seconds / 3600, seconds / 60 % 60);
    else
        (void)snprintf(to, 32, "%" PRIu64 " d %" PRIu64 " h", seconds / 86400, seconds / 3600 % 24);
    return to;
}

const char *sn_text_count(uint64_t count, char to[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    char *at = to;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return to;
}

void sn_text_copy(char *to, size_t size, const char *from)
{
    size_t length = from ? strnlen(from, size - 1) : 0;
    if (length)
        memcpy(to, from, length);
    to[length] = '\0';
}
