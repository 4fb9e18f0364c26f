#include "sink/export/prometheus_names.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/own.h"
#include "sink/export/export_text.h"

#define NAME_LIMIT 1024u /* of one part, as it is cleaned */

enum sn_prometheus_type sn_prometheus_type(enum sn_export_names names,
                                           const struct sonde_point *point)
{
    if (point->kind == SONDE_POINT_HISTOGRAM)
        return SN_PROMETHEUS_SUMMARY;
    bool is_counter = point->kind == SONDE_POINT_RATE && names == SN_NAMES_OTEL;
    return is_counter ? SN_PROMETHEUS_COUNTER : SN_PROMETHEUS_GAUGE;
}

/* As EventCounters say it: millions of bytes. Meters say MBy. */
static bool is_megabytes(const struct sonde_point *point)
{
    return point->origin == SONDE_POINT_EVENT_COUNTER && strcasecmp(point->unit, "MB") == 0;
}

double sn_prometheus_scale(enum sn_export_names names, const struct sonde_point *point)
{
    bool is_monitors = names == SN_NAMES_DOTNET_MONITOR && strcasecmp(point->unit, "MB") == 0;
    return is_megabytes(point) || is_monitors ? 1e6 : 1;
}

/* --- units --- */

struct unit_word {
    const char *unit;
    const char *word;
};

static const struct unit_word units[] = {
    {"d", "days"},          {"h", "hours"},         {"min", "minutes"},    {"s", "seconds"},
    {"ms", "milliseconds"}, {"us", "microseconds"}, {"ns", "nanoseconds"}, {"By", "bytes"},
    {"KiBy", "kibibytes"},  {"MiBy", "mebibytes"},  {"GiBy", "gibibytes"}, {"TiBy", "tibibytes"},
    {"KBy", "kilobytes"},   {"kBy", "kilobytes"},   {"MBy", "megabytes"},  {"GBy", "gigabytes"},
    {"TBy", "terabytes"},   {"m", "meters"},        {"V", "volts"},        {"A", "amperes"},
    {"J", "joules"},        {"W", "watts"},         {"g", "grams"},        {"Cel", "celsius"},
    {"Hz", "hertz"},        {"%", "percent"},       {"bit", "bits"},
};

static const struct unit_word per_units[] = {
    {"s", "second"}, {"min", "minute"}, {"h", "hour"}, {"d", "day"},
    {"w", "week"},   {"mo", "month"},   {"y", "year"}, {"m", "meter"},
};

static const char *find_word(const struct unit_word *words, size_t count, const char *unit)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i].unit, unit) == 0)
            return words[i].word;
    }
    return unit;
}

/* What is in braces only explains: "{request}" is no unit, "By{rss}" is By. */
static void put_without_notes(struct sn_buf *to, const char *unit)
{
    bool is_note = false;
    for (; *unit; unit++) {
        is_note = *unit == '{' || (is_note && *unit != '}');
        if (!is_note && *unit != '}')
            sn_buf_u8(to, (uint8_t)*unit);
    }
}

/* "By/s": bytes_per_second; "{request}/s": per_second. */
static void put_unit(struct sn_buf *to, char *unit)
{
    char *slash = strchr(unit, '/');
    if (slash)
        *slash = '\0';
    if (*unit && strcmp(unit, "1") != 0)
        sn_buf_text(to, find_word(units, sizeof(units) / sizeof(*units), unit));
    if (!slash || !slash[1])
        return;
    sn_buf_text(to, "_per_");
    sn_buf_text(to, find_word(per_units, sizeof(per_units) / sizeof(*per_units), slash + 1));
}

static void put_otel_unit(struct sn_buf *to, const struct sonde_point *point)
{
    const char *unit = point->unit;
    bool is_counter = point->origin == SONDE_POINT_EVENT_COUNTER;
    if (is_counter && (is_megabytes(point) || strcmp(unit, "B") == 0)) {
        sn_buf_text(to, "bytes");
    } else if (strcmp(unit, "1") == 0) {
        if (point->kind == SONDE_POINT_GAUGE || point->kind == SONDE_POINT_MEAN)
            sn_buf_text(to, "ratio");
    } else if (!is_counter || strcmp(unit, "count") != 0) {
        SN_AUTO(sn_buf_done) struct sn_buf plain = sn_buf_with_limit(NAME_LIMIT);
        put_without_notes(&plain, unit);
        (void)sn_buf_string(&plain);
        if (plain.size && !plain.failed)
            put_unit(to, (char *)plain.bytes);
    }
}

/* --- names --- */

/* No `_` twice, nor at either end unless it keeps them. */
static void put_squeezed(struct sn_buf *to, const struct sn_buf *text, bool keeps_ends)
{
    bool is_pending = false;
    size_t start = to->size;
    for (size_t i = 0; i < text->size; i++) {
        if (text->bytes[i] == '_') {
            is_pending = true;
            continue;
        }
        if (is_pending && (keeps_ends || to->size > start))
            sn_buf_u8(to, '_');
        is_pending = false;
        sn_buf_u8(to, text->bytes[i]);
    }
    if (is_pending && keeps_ends)
        sn_buf_u8(to, '_');
}

static void put_squeezed_word(struct sn_buf *to, const char *text, bool keeps_ends)
{
    SN_AUTO(sn_buf_done) struct sn_buf word = sn_buf_with_limit(NAME_LIMIT);
    sn_export_word(&word, text, "");
    put_squeezed(to, &word, keeps_ends);
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* Two underscores at the start would be one of Prometheus' own labels. */
void sn_prometheus_label(struct sn_buf *to, const char *name)
{
    SN_AUTO(sn_buf_done) struct sn_buf word = sn_buf_with_limit(NAME_LIMIT);
    put_squeezed_word(&word, name, true);
    if (word.size && is_digit(word.bytes[0]))
        sn_buf_u8(to, '_');
    sn_buf_append(to, word.bytes, word.size);
}

static bool ends_with(const struct sn_buf *text, const char *end, size_t size)
{
    return text->size > size + 1 && text->bytes[text->size - size - 1] == '_' &&
           memcmp(text->bytes + text->size - size, end, size) == 0;
}

static void put_lower(struct sn_buf *to, const char *text)
{
    size_t start = to->size;
    put_squeezed_word(to, text, false);
    for (size_t i = start; i < to->size; i++) {
        if (to->bytes[i] >= 'A' && to->bytes[i] <= 'Z')
            to->bytes[i] = (uint8_t)(to->bytes[i] + ('a' - 'A'));
    }
}

/* Meters and the kernel have names that tell enough; a counter's is short: its source comes first.
 */
static void put_otel_base(struct sn_buf *to, const struct sonde_point *point)
{
    if (point->origin == SONDE_POINT_EVENT_COUNTER) {
        put_lower(to, point->provider);
        if (to->size)
            sn_buf_u8(to, '_');
    }
    put_squeezed_word(to, point->name, false);
    if (!to->size)
        sn_buf_text(to, "unnamed");
}

static void put_otel_name(struct sn_buf *to, const struct sonde_point *point, size_t *ret_unit_size)
{
    SN_AUTO(sn_buf_done) struct sn_buf base = sn_buf_with_limit(NAME_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf raw = sn_buf_with_limit(NAME_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf unit = sn_buf_with_limit(NAME_LIMIT);
    put_otel_base(&base, point);
    put_otel_unit(&raw, point);
    if (raw.size)
        put_squeezed_word(&unit, sn_buf_string(&raw), false);
    if (point->kind == SONDE_POINT_RATE && ends_with(&base, "total", 5))
        base.size -= 6;
    if (base.size && is_digit(base.bytes[0]))
        sn_buf_u8(to, '_');
    sn_buf_append(to, base.bytes, base.size);
    if (unit.size && !ends_with(&base, (const char *)unit.bytes, unit.size)) {
        sn_buf_u8(to, '_');
        sn_buf_append(to, unit.bytes, unit.size);
    }
    *ret_unit_size = unit.size;
}

/* --- dotnet-monitor's --- */

static bool is_plain(char c, bool is_first)
{
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return is_letter || (!is_first && c >= '0' && c <= '9');
}

static void put_monitor_part(struct sn_buf *to, const char *text)
{
    for (size_t i = 0; text[i] && i < SN_EXPORT_WORD_MAX; i++)
        sn_buf_u8(to, is_plain(text[i], i == 0) ? (uint8_t)text[i] : '_');
}

static void put_monitor_provider(struct sn_buf *to, const char *text)
{
    for (size_t i = 0; text[i] && i < SN_EXPORT_WORD_MAX; i++) {
        if (!is_plain(text[i], i == 0))
            continue;
        if (!to->size && is_digit((uint8_t)text[i])) /* what stood before it was dropped */
            sn_buf_u8(to, '_');
        sn_buf_u8(to, (uint8_t)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]));
    }
    if (!to->size)
        sn_buf_u8(to, '_');
}

static const char *monitor_unit(const char *unit)
{
    static const struct unit_word known[] = {
        {"count", ""}, {"B", "bytes"}, {"MB", "bytes"}, {"%", "ratio"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcasecmp(known[i].unit, unit) == 0)
            return known[i].word;
    }
    size_t size = strlen(unit);
    bool is_note = size > 1 && unit[0] == '{' && strchr(unit, '}') == unit + size - 1;
    return is_note ? "" : unit; /* "{cpu}" explains, and is no unit */
}

static void put_monitor_name(struct sn_buf *to, const struct sonde_point *point,
                             size_t *ret_unit_size)
{
    const char *unit = monitor_unit(point->unit);
    put_monitor_provider(to, point->provider);
    sn_buf_u8(to, '_');
    put_monitor_part(to, point->name);
    size_t before = to->size + 1;
    if (*unit) {
        sn_buf_u8(to, '_');
        put_monitor_part(to, unit);
    }
    *ret_unit_size = *unit && !to->failed ? to->size - before : 0;
}

void sn_prometheus_name(enum sn_export_names names, const struct sonde_point *point,
                        struct sn_buf *to, size_t *ret_unit_size)
{
    if (names == SN_NAMES_DOTNET_MONITOR)
        put_monitor_name(to, point, ret_unit_size);
    else
        put_otel_name(to, point, ret_unit_size);
}
