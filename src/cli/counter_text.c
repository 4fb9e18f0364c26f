#include "cli/counter_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "sonde/counters.h"

#define UNIT_SHOWN     12u   /* bytes of an unknown unit */
#define LARGEST_WHOLE  1e15  /* beyond, and below the smallest, powers of ten */
#define SMALLEST_SHOWN 0.001 /* what three decimals can say */

/* --- numbers --- */

static void group_digits(uint64_t whole, const char *sign, char to[32])
{
    char digits[32];
    (void)snprintf(to, 32, "%s%s", sign, sn_text_count(whole, digits));
}

/* Four digits where there are so many, three decimals at most, none at the end that are zero. */
static void write_number(double value, char to[32])
{
    double size = fabs(value);
    int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
    if (size == 0) {
        (void)snprintf(to, 32, "0");
        return;
    }
    if (size >= LARGEST_WHOLE || size < SMALLEST_SHOWN) {
        int power = (int)floor(log10(size));
        long long tenths = llround(value / pow(10, power) * 10);
        if (llabs(tenths) >= 100) { /* 9.99 is 10.0 */
            tenths /= 10;
            power++;
        }
        (void)snprintf(to, 32, "%s%lld.%llde%+03d", value < 0 ? "-" : "", llabs(tenths) / 10,
                       llabs(tenths) % 10, power);
        return;
    }
    uint64_t scale = decimals == 3 ? 1000 : decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
    uint64_t scaled = (uint64_t)llround(size * (double)scale);
    uint64_t fraction = scaled % scale;
    group_digits(scaled / scale, value < 0 ? "-" : "", to);
    for (; fraction && fraction % 10 == 0; fraction /= 10)
        decimals--;
    size_t used = strlen(to);
    if (fraction)
        (void)snprintf(to + used, 32 - used, ".%0*" PRIu64, decimals, fraction);
}

/* --- units --- */

struct scale {
    const char *unit;
    double factor;
};

/* What is counted in these, is shown in the largest that leaves something before the point. */
static const struct scale byte_scales[] = {{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6},
                                           {"KB", 1e3},  {"B", 1},    {NULL, 0}};
static const struct scale time_scales[] = {
    {"s", 1}, {"ms", 1e-3}, {"\xC2\xB5s", 1e-6}, {"ns", 1e-9}, {NULL, 0}};

static const struct known {
    const char *name;
    double factor;
    const struct scale *scales; /* NULL: a number alone */
} knowns[] = {
    {"B", 1, byte_scales},
    {"By", 1, byte_scales},
    {"bytes", 1, byte_scales},
    {"KB", 1e3, byte_scales},
    {"kBy", 1e3, byte_scales},
    {"MB", 1e6, byte_scales},
    {"MBy", 1e6, byte_scales},
    {"GB", 1e9, byte_scales},
    {"GBy", 1e9, byte_scales},
    {"KiBy", 1024, byte_scales},
    {"MiBy", 1048576, byte_scales},
    {"GiBy", 1073741824, byte_scales},
    {"s", 1, time_scales},
    {"ms", 1e-3, time_scales},
    {"us", 1e-6, time_scales},
    {"\xC2\xB5s", 1e-6, time_scales},
    {"ns", 1e-9, time_scales},
    {"", 1, NULL},
    {"1", 1, NULL},
    {"count", 1, NULL},
    {"Count", 1, NULL},
};

static const struct known *find_unit(const char *unit)
{
    if (unit[0] == '{') /* an annotation: what is counted, not what in */
        unit = "";
    for (size_t i = 0; i < sizeof(knowns) / sizeof(*knowns); i++) {
        if (strcmp(knowns[i].name, unit) == 0)
            return &knowns[i];
    }
    return NULL;
}

static const struct scale *choose_scale(const struct scale *scales, double value)
{
    const struct scale *base = scales;
    for (; scales->unit; scales++) {
        if (scales->factor == 1)
            base = scales;
        if (fabs(value) >= scales->factor)
            return scales;
    }
    return value == 0 ? base : scales - 1;
}

const char *sn_counter_text(double value, const char *unit, char to[SN_COUNTER_TEXT])
{
    char number[32];
    const struct known *known = find_unit(unit);
    if (!isfinite(value)) {
        (void)snprintf(to, SN_COUNTER_TEXT, "-");
    } else if (!known) {
        size_t shown = strnlen(unit, UNIT_SHOWN);
        while (shown && ((unsigned char)unit[shown] & 0xC0u) == 0x80u)
            shown--; /* not inside a character */
        write_number(value, number);
        (void)snprintf(to, SN_COUNTER_TEXT, "%s %.*s", number, (int)shown, unit);
    } else if (!known->scales) {
        write_number(value, to);
    } else {
        const struct scale *scale = choose_scale(known->scales, value * known->factor);
        write_number(value * known->factor / scale->factor, number);
        (void)snprintf(to, SN_COUNTER_TEXT, "%s %s", number, scale->unit);
    }
    return to;
}

const char *sn_counter_rate_text(const struct sonde_point *point, char to[SN_COUNTER_TEXT])
{
    bool is_count = point->kind == SONDE_POINT_HISTOGRAM; /* of measurements */
    to[0] = '\0';
    if (!isfinite(point->rate))
        return to;
    (void)sn_counter_text(point->rate, is_count ? "" : point->unit, to);
    strncat(to, "/s", SN_COUNTER_TEXT - 1 - strlen(to));
    return to;
}

/* --- points --- */

double sn_counter_main(const struct sonde_point *point)
{
    switch (point->kind) {
    case SONDE_POINT_RATE:
    case SONDE_POINT_UP_DOWN: return isfinite(point->total) ? point->total : point->value;
    case SONDE_POINT_HISTOGRAM:
        return point->quantile_count ? point->quantiles[0].value : (double)NAN;
    default: return point->value;
    }
}

double sn_counter_course(const struct sonde_point *point)
{
    return point->kind == SONDE_POINT_RATE ? point->rate : sn_counter_main(point);
}

static void detail_number(struct sn_buf *to, const char *name, double value, const char *unit)
{
    char text[SN_COUNTER_TEXT];
    if (isfinite(value))
        sn_buf_format(to, "%s%s %s", to->size ? "  " : "", name,
                      sn_counter_text(value, unit, text));
}

static void detail_count(struct sn_buf *to, uint64_t count)
{
    char text[32];
    sn_buf_format(to, "%s%s value%s", to->size ? "  " : "", sn_text_count(count, text),
                  count == 1 ? "" : "s");
}

void sn_counter_detail(struct sn_buf *to, const struct sonde_point *point)
{
    for (size_t i = 0; i < point->quantile_count; i++) {
        char name[40];
        char percent[32];
        write_number(point->quantiles[i].at * 100, percent);
        (void)snprintf(name, sizeof(name), "p%s", percent);
        detail_number(to, name, point->quantiles[i].value, point->unit);
    }
    if (point->kind == SONDE_POINT_HISTOGRAM)
        detail_number(to, "sum", point->sum, point->unit);
    if (point->kind == SONDE_POINT_MEAN && point->count > 1) {
        detail_number(to, "min", point->min, point->unit);
        detail_number(to, "max", point->max, point->unit);
        detail_number(to, "deviation", point->deviation, point->unit);
    }
    if (point->kind == SONDE_POINT_HISTOGRAM ||
        (point->kind == SONDE_POINT_MEAN && point->count > 1))
        detail_count(to, point->count);
}

void sn_counter_short_tags(struct sn_buf *to, const char *tags)
{
    while (*tags) {
        size_t key = strcspn(tags, "=,");
        const char *dot = tags[key] == '=' ? memrchr(tags, '.', key) : NULL;
        size_t size = strcspn(tags, ",") + 1; /* with the comma */
        const char *end = tags + strnlen(tags, size);
        const char *start = dot ? dot + 1 : tags;
        sn_buf_append(to, start, (size_t)(end - start));
        tags = end;
    }
}

/* --- the course of a number --- */

#define LEVELS 8

void sn_counter_spark(struct sn_buf *to, const double *values, size_t count, bool in_ascii)
{
    static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const marks[LEVELS] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    const char *const *levels = in_ascii ? marks : blocks;
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        low = isfinite(values[i]) ? fmin(low, values[i]) : low;
        high = isfinite(values[i]) ? fmax(high, values[i]) : high;
    }
    double range = high / 2 - low / 2;             /* halves: the whole may be beyond all numbers */
    bool is_flat = !(range > fabs(high) * 0.0025); /* noise is no course */
    for (size_t i = 0; i < count; i++) {
        bool is_number = isfinite(values[i]);
        double share = is_flat || !is_number ? 0 : (values[i] / 2 - low / 2) / range;
        sn_buf_text(to, is_number ? levels[(int)(share * (LEVELS - 0.01))] : " ");
    }
}
