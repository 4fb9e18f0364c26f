#include "model/filter_value.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/guid_text.h"
#include "base/text.h"
#include "model/payload.h"

#define TICKS_PER_SECOND 10000000
#define UNIX_EPOCH_S     11644473600ll /* from 1601 to 1970 */

/* How two values stand to each other. */
enum order { BEFORE, SAME, BEHIND, UNRELATED };

/* --- reading --- */

static bool read_number(const char *text, size_t size, long double *ret_number)
{
    bool is_negative = *text == '-';
    uint64_t whole = 0;
    double real = 0;
    if (sn_text_to_u64(text + is_negative, UINT64_MAX, &whole)) {
        *ret_number = is_negative ? -(long double)whole : (long double)whole;
        return true;
    }
    if (!sn_text_to_real(text, size, &real) || !isfinite(real))
        return false;
    *ret_number = real;
    return true;
}

/* `digits` digits as a number within its bounds; moves on. */
static bool take_digits(const char **at, int digits, int least, int most, int *ret_value)
{
    int value = 0;
    for (int i = 0; i < digits; i++) {
        if ((*at)[i] < '0' || (*at)[i] > '9')
            return false;
        value = value * 10 + ((*at)[i] - '0');
    }
    *at += digits;
    *ret_value = value;
    return value >= least && value <= most;
}

static bool take_char(const char **at, char wanted)
{
    bool is_there = **at == wanted;
    *at += is_there;
    return is_there;
}

/* [.fraction], to 100 ns. */
static int64_t take_fraction(const char **at)
{
    int64_t ticks = 0;
    int64_t unit = TICKS_PER_SECOND;
    if (!take_char(at, '.'))
        return 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        unit /= 10;
        ticks += (**at - '0') * unit;
    }
    return ticks;
}

/* Nothing or Z is UTC; else +HH:MM or -HH:MM, which is taken off. */
static bool take_zone(const char **at, int64_t *ticks)
{
    int hours;
    int minutes;
    if (!**at || take_char(at, 'Z') || take_char(at, 'z'))
        return true;
    int64_t sign = **at == '-' ? -1 : 1;
    if (!take_char(at, '-') && !take_char(at, '+'))
        return false;
    if (!take_digits(at, 2, 0, 23, &hours) || !take_char(at, ':') ||
        !take_digits(at, 2, 0, 59, &minutes))
        return false;
    *ticks -= sign * (hours * 60 + minutes) * 60 * (int64_t)TICKS_PER_SECOND;
    return true;
}

/* RFC 3339, also without the time, its seconds or its zone. */
static bool read_time(const char *text, int64_t *ret_ticks)
{
    const char *at = text;
    struct tm tm = {0};
    int64_t fraction = 0;
    if (!take_digits(&at, 4, 1601, 9999, &tm.tm_year) || !take_char(&at, '-') ||
        !take_digits(&at, 2, 1, 12, &tm.tm_mon) || !take_char(&at, '-') ||
        !take_digits(&at, 2, 1, 31, &tm.tm_mday))
        return false;
    if (take_char(&at, 'T') || take_char(&at, 't') || take_char(&at, ' ')) {
        if (!take_digits(&at, 2, 0, 23, &tm.tm_hour) || !take_char(&at, ':') ||
            !take_digits(&at, 2, 0, 59, &tm.tm_min))
            return false;
        if (take_char(&at, ':') && !take_digits(&at, 2, 0, 60, &tm.tm_sec))
            return false;
        fraction = take_fraction(&at);
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret_ticks = ((int64_t)timegm(&tm) + UNIX_EPOCH_S) * TICKS_PER_SECOND + fraction;
    return take_zone(&at, ret_ticks) && !*at;
}

void sn_filter_value_read(struct sn_filter_value *value, const char *text, size_t size,
                          bool is_quoted)
{
    value->text = text;
    value->size = size;
    value->has_guid = sn_guid_read(text, size, value->guid);
    value->has_time = read_time(text, &value->ticks);
    if (is_quoted)
        return;
    value->has_number = read_number(text, size, &value->number);
    value->has_bool = strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0;
    if (value->has_bool)
        value->number = *text == 't' || *text == 'T';
}

/* --- comparing --- */

static enum order order_numbers(long double a, long double b)
{
    return a < b ? BEFORE : a > b ? BEHIND : a <= b ? SAME : UNRELATED; /* the last: no numbers */
}

/* A number of the payload; the right side is rounded as the field is. */
static enum order order_number(const struct sn_filter_value *value, const struct sn_value *got)
{
    long double number = got->kind == SN_VALUE_INT     ? (long double)(int64_t)got->number
                         : got->kind == SN_VALUE_FLOAT ? (long double)got->real
                                                       : (long double)got->number;
    if (value->has_bool)
        return order_numbers(number != 0, value->number);
    if (!value->has_number)
        return UNRELATED;
    bool is_narrow = got->field->type == SN_TYPE_F32;
    return order_numbers(number, is_narrow ? (long double)(float)value->number : value->number);
}

static enum order order_bytes(const void *a, size_t a_size, const void *b, size_t b_size)
{
    size_t shared = a_size < b_size ? a_size : b_size;
    int order = shared ? memcmp(a, b, shared) : 0;
    if (order == 0)
        return a_size < b_size ? BEFORE : a_size > b_size ? BEHIND : SAME;
    return order < 0 ? BEFORE : BEHIND;
}

/* A text in units of one byte or two. */
struct units {
    const uint8_t *bytes;
    size_t count;
    size_t width;
};

static struct units units_of(const struct sn_value *got)
{
    size_t width = got->kind == SN_VALUE_TEXT16 ? 2 : 1;
    return (struct units){got->bytes, got->size / width, width};
}

static unsigned unit_at(const struct units *text, size_t index)
{
    const uint8_t *at = text->bytes + index * text->width;
    return text->width == 2 ? at[0] | (unsigned)at[1] << 8 : at[0];
}

/* The right side in the width of the left one. */
static struct units same_width(const struct sn_filter_value *value, size_t width)
{
    if (width == 2)
        return (struct units){value->text16, value->size16 / 2, 2};
    return (struct units){(const uint8_t *)value->text, value->size, 1};
}

static enum order order_units(const struct units *a, const struct units *b)
{
    if (a->width == 1)
        return order_bytes(a->bytes, a->count, b->bytes, b->count);
    size_t i = 0;
    while (i < a->count && i < b->count && unit_at(a, i) == unit_at(b, i))
        i++;
    if (i == a->count || i == b->count)
        return a->count < b->count ? BEFORE : a->count > b->count ? BEHIND : SAME;
    return unit_at(a, i) < unit_at(b, i) ? BEFORE : BEHIND;
}

static unsigned lower(unsigned unit)
{
    return unit >= 'A' && unit <= 'Z' ? unit | 0x20u : unit;
}

static bool same_letters(const struct units *a, const struct units *b)
{
    bool is_same = a->count == b->count;
    for (size_t i = 0; is_same && i < a->count; i++)
        is_same = lower(unit_at(a, i)) == lower(unit_at(b, i));
    return is_same;
}

/* Digits in a text, as 64 units at most. */
static bool text_number(const struct units *text, long double *ret_number)
{
    char digits[64];
    if (text->count >= sizeof(digits))
        return false;
    for (size_t i = 0; i < text->count; i++) {
        unsigned unit = unit_at(text, i);
        if (unit == 0 || unit > 0x7F)
            return false;
        digits[i] = (char)unit;
    }
    digits[text->count] = '\0';
    return read_number(digits, text->count, ret_number);
}

/* Text that holds a number is compared as one when a number was asked for. */
static enum order order_text(const struct sn_filter_value *value, const struct sn_value *got)
{
    struct units text = units_of(got);
    struct units wanted = same_width(value, text.width);
    long double number;
    if (value->has_number)
        return text_number(&text, &number) ? order_numbers(number, value->number) : UNRELATED;
    if (value->has_bool) /* .NET writes "True" */
        return same_letters(&text, &wanted) ? SAME : UNRELATED;
    return order_units(&text, &wanted);
}

static enum order order_time(const struct sn_filter_value *value, const struct sn_value *got)
{
    if (value->has_time)
        return order_numbers((long double)got->number, (long double)value->ticks);
    if (!value->has_number)
        return UNRELATED;
    long double since_1970 = (long double)got->number / TICKS_PER_SECOND - UNIX_EPOCH_S;
    return order_numbers(since_1970, value->number);
}

/* A decimal: 4 bytes of flags (bit 31 the sign, bits 16 to 23 the scale), then a number of 96 bits:
 * its high part and the rest. Rounded as the number that it is compared with. */
static double decimal_number(const uint8_t *bytes)
{
    uint32_t flags;
    uint32_t high;
    uint64_t low;
    memcpy(&flags, bytes, sizeof(flags));
    memcpy(&high, bytes + 4, sizeof(high));
    memcpy(&low, bytes + 8, sizeof(low));
    long double number = (long double)high * 0x1p64L + (long double)low;
    for (uint32_t scale = flags >> 16 & 0xFF; scale && scale <= 28; scale--)
        number /= 10;
    return (double)(flags >> 31 ? -number : number);
}

static enum order order_of(const struct sn_filter_value *value, const struct sn_value *got)
{
    switch (got->kind) {
    case SN_VALUE_BOOL:
    case SN_VALUE_UINT:
    case SN_VALUE_INT:
    case SN_VALUE_FLOAT: return order_number(value, got);
    case SN_VALUE_TEXT16:
    case SN_VALUE_TEXT8: return order_text(value, got);
    case SN_VALUE_TIME: return order_time(value, got);
    case SN_VALUE_GUID:
        return value->has_guid && memcmp(got->bytes, value->guid, 16) == 0 ? SAME : UNRELATED;
    case SN_VALUE_BYTES:
        if (got->field->type == SN_TYPE_DECIMAL && value->has_number)
            return order_numbers(decimal_number(got->bytes), value->number);
        return UNRELATED;
    default: return UNRELATED;
    }
}

/* --- patterns --- */

/* `*` is anything, `?` one unit. Goes back to the last star only, so it takes at most pattern times
 * text steps. */
static bool matches_whole(const struct units *pattern, const struct units *text)
{
    size_t p = 0;
    size_t star = SIZE_MAX;
    size_t resume = 0;
    for (size_t t = 0; t < text->count;) {
        unsigned wanted = p < pattern->count ? unit_at(pattern, p) : 0;
        if (p < pattern->count && wanted == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern->count &&
                   (wanted == '?' || lower(wanted) == lower(unit_at(text, t)))) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern->count && unit_at(pattern, p) == '*')
        p++;
    return p == pattern->count;
}

static bool has_part(const struct units *part, const struct units *text)
{
    struct units rest = *text;
    for (; rest.count >= part->count; rest.count--, rest.bytes += rest.width) {
        struct units head = {rest.bytes, part->count, rest.width};
        if (same_letters(&head, part))
            return true;
        if (!rest.count)
            break;
    }
    return false;
}

/* Without a star or question mark a part is enough, as for patterns everywhere. */
static bool is_like(const struct sn_filter_value *value, const struct units *text)
{
    struct units pattern = same_width(value, text->width);
    if (strpbrk(value->text, "*?"))
        return matches_whole(&pattern, text);
    return has_part(&pattern, text);
}

static bool guid_is_like(const struct sn_filter_value *value, const uint8_t *guid)
{
    char text[SN_GUID_LENGTH + 1];
    (void)sn_guid_write(guid, text);
    return is_like(value, &(struct units){(const uint8_t *)text, SN_GUID_LENGTH, 1});
}

static bool like(const struct sn_filter_value *value, const struct sn_value *got)
{
    struct units text = units_of(got);
    switch (got->kind) {
    case SN_VALUE_TEXT16:
    case SN_VALUE_TEXT8: return is_like(value, &text);
    case SN_VALUE_GUID: return guid_is_like(value, got->bytes);
    default: return false;
    }
}

/* --- holding --- */

static bool is_there(const struct sn_value *got)
{
    switch (got->kind) {
    case SN_VALUE_TEXT16:
    case SN_VALUE_TEXT8:
    case SN_VALUE_BYTES: return got->size != 0;
    case SN_VALUE_FLOAT: return got->real < 0 || got->real > 0;
    case SN_VALUE_GUID: {
        static const uint8_t none[16] = {0};
        return memcmp(got->bytes, none, sizeof(none)) != 0;
    }
    case SN_VALUE_OPEN: return got->field->type == SN_TYPE_OBJECT || got->number != 0;
    default: return got->number != 0;
    }
}

bool sn_filter_value_holds(const struct sn_filter_value *value, enum sn_filter_op op,
                           const struct sn_value *got)
{
    if (op == SN_FILTER_THERE)
        return is_there(got);
    if (got->kind == SN_VALUE_OPEN) /* what is in it is compared, not it */
        return false;
    if (op == SN_FILTER_LIKE || op == SN_FILTER_UNLIKE)
        return like(value, got) == (op == SN_FILTER_LIKE);
    enum order order = order_of(value, got);
    switch (op) {
    case SN_FILTER_EQUAL: return order == SAME;
    case SN_FILTER_UNEQUAL: return order != SAME;
    case SN_FILTER_LESS: return order == BEFORE;
    case SN_FILTER_AT_MOST: return order == BEFORE || order == SAME;
    case SN_FILTER_MORE: return order == BEHIND;
    default: return order == BEHIND || order == SAME;
    }
}
