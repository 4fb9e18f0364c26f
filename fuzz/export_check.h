/* Strict readers of what the formatters write, which share nothing with them: what they do not know
 * aborts. */
#ifndef SN_FUZZ_EXPORT_CHECK_H
#define SN_FUZZ_EXPORT_CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/text.h"

#define NAMES_MAX 4096u

static inline void insist(bool is_true)
{
    if (!is_true)
        abort();
}

static inline void insist_utf8(const void *bytes, size_t size)
{
    const char *text = bytes;
    for (size_t at = 0; at < size;) {
        uint32_t point;
        bool is_valid;
        at += sn_text_decode(text + at, size - at, &point, &is_valid);
        insist(is_valid);
    }
}

/* --- a line of text --- */

struct reader {
    const char *at;
    const char *end;
};

static inline char peek(const struct reader *in)
{
    return in->at < in->end ? *in->at : '\0';
}

static inline void expect(struct reader *in, const char *text)
{
    size_t size = strlen(text);
    insist((size_t)(in->end - in->at) >= size && memcmp(in->at, text, size) == 0);
    in->at += size;
}

/* One or more of `set`; returns how many. */
static inline size_t span(struct reader *in, const char *set)
{
    const char *start = in->at;
    while (in->at < in->end && *in->at && strchr(set, *in->at))
        in->at++;
    insist(in->at > start);
    return (size_t)(in->at - start);
}

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD    LETTERS DIGITS "_"

static inline void number(struct reader *in)
{
    in->at += peek(in) == '-';
    (void)span(in, DIGITS);
    if (peek(in) == '.') {
        in->at++;
        (void)span(in, DIGITS);
    }
    if (peek(in) != 'e')
        return;
    in->at++;
    in->at += peek(in) == '-' || peek(in) == '+';
    (void)span(in, DIGITS);
}

/* At least one character up to one of `stops`, none a control or a space. */
static inline void plain_until(struct reader *in, const char *stops)
{
    const char *start = in->at;
    while (in->at < in->end && !strchr(stops, *in->at)) {
        insist((unsigned char)*in->at > ' ' && *in->at != 0x7F);
        in->at++;
    }
    insist(in->at > start);
}

static inline void dotted_path(struct reader *in)
{
    do {
        insist(span(in, WORD "-") <= 255);
    } while (peek(in) == '.' && in->at++);
}

/* --- Graphite --- */

static inline void graphite_series(struct reader *in)
{
    dotted_path(in);
    while (peek(in) == ';') {
        in->at++;
        insist(strncmp(in->at, "name=", 5) != 0);
        (void)span(in, WORD "-.");
        expect(in, "=");
        insist(peek(in) != '~');
        plain_until(in, "; ");
        insist(in->at[-1] != '}' || in->at[-2] != '"');
    }
}

static inline size_t check_graphite_lines(const uint8_t *bytes, size_t size)
{
    struct reader in = {(const char *)bytes, (const char *)bytes + size};
    size_t count = 0;
    insist_utf8(bytes, size);
    for (; in.at < in.end; count++) {
        const char *start = in.at;
        graphite_series(&in);
        expect(&in, " ");
        number(&in);
        expect(&in, " ");
        (void)span(&in, DIGITS);
        expect(&in, "\n");
        insist(in.at - start < 16384);
    }
    return count;
}

static inline void pickled_float(struct sn_cursor *in)
{
    insist(sn_cursor_u8(in) == 'G');
    uint64_t bits = __builtin_bswap64(sn_cursor_u64(in));
    double value;
    memcpy(&value, &bits, sizeof(value));
    insist(isfinite(value));
}

static inline size_t check_pickle(const uint8_t *bytes, size_t size)
{
    struct sn_cursor in = sn_cursor_over(bytes, size);
    size_t count = 0;
    insist(__builtin_bswap32(sn_cursor_u32(&in)) == size - 4);
    insist(sn_cursor_u32(&in) == 0x285D0280); /* protocol 2, a list, a mark */
    for (; sn_cursor_left(&in) > 2; count++) {
        insist(sn_cursor_u8(&in) == 'X');
        uint32_t length = sn_cursor_u32(&in);
        const char *series = (const char *)sn_cursor_bytes(&in, length);
        insist(series);
        insist_utf8(series, length);
        struct reader path = {series, series + length};
        graphite_series(&path);
        insist(path.at == path.end);
        if (*in.at == 'J')
            sn_cursor_skip(&in, 5);
        else
            pickled_float(&in);
        pickled_float(&in);
        insist(sn_cursor_u16(&in) == 0x8686);
    }
    insist(sn_cursor_u16(&in) == ('e' | '.' << 8) && !in.bad);
    return count;
}

/* --- StatsD --- */

static inline size_t check_statsd(const uint8_t *bytes, size_t size, bool has_tags)
{
    struct reader in = {(const char *)bytes, (const char *)bytes + size};
    size_t count = 0;
    insist_utf8(bytes, size);
    for (; in.at < in.end; count++) {
        const char *start = in.at;
        dotted_path(&in);
        expect(&in, ":");
        number(&in);
        expect(&in, peek(&in) == '|' && in.at[1] == 'c' ? "|c" : "|g");
        for (bool is_first = true; has_tags && peek(&in) != '\n'; is_first = false) {
            expect(&in, is_first ? "|#" : ",");
            (void)span(&in, WORD "-./");
            expect(&in, ":");
            plain_until(&in, ",|#\n");
        }
        expect(&in, "\n");
        insist(in.at - start <= 8192);
    }
    return count;
}

/* --- Prometheus --- */

struct name {
    const char *text;
    size_t size;
};

/* Names and series that may be there once only. */
struct names {
    struct name items[NAMES_MAX];
    size_t count;
};

static inline bool is_name(const struct name *name, const char *text, size_t size)
{
    return name->size == size && memcmp(name->text, text, size) == 0;
}

static inline void insist_new(struct names *names, const char *text, size_t size)
{
    for (size_t i = 0; i < names->count; i++)
        insist(!is_name(&names->items[i], text, size));
    if (names->count < NAMES_MAX)
        names->items[names->count++] = (struct name){text, size};
}

static inline void quoted(struct reader *in)
{
    expect(in, "\"");
    while (peek(in) != '"') {
        insist(in->at < in->end && *in->at != '\n');
        if (*in->at == '\\')
            insist(in->at[1] == '\\' || in->at[1] == '"' || in->at[1] == 'n');
        in->at += *in->at == '\\' ? 2 : 1;
    }
    in->at++;
}

/* Sorted, so that none comes twice; the quantile is the last. */
static inline void labels(struct reader *in)
{
    struct name last = {"", 0};
    expect(in, "{");
    do {
        const char *start = in->at;
        insist(!strchr(DIGITS, peek(in)));
        size_t size = span(in, WORD);
        insist(strncmp(start, "__", 2) != 0);
        size_t shorter = size < last.size ? size : last.size;
        int order = memcmp(start, last.text, shorter);
        bool is_quantile = size == 8 && memcmp(start, "quantile", 8) == 0;
        insist(is_quantile || order > 0 || (order == 0 && size > last.size));
        insist(!is_name(&last, "quantile", 8));
        last = (struct name){start, size};
        expect(in, "=");
        quoted(in);
    } while (peek(in) == ',' && in->at++);
    expect(in, "}");
}

static inline void prometheus_number(struct reader *in)
{
    if (peek(in) == 'N')
        expect(in, "NaN");
    else if (peek(in) == '+')
        expect(in, "+Inf");
    else if (peek(in) == '-' && in->at[1] == 'I')
        expect(in, "-Inf");
    else
        number(in);
}

static inline bool is_suffixed(const struct name *family, const struct name *sample,
                               const char *suffix)
{
    size_t size = strlen(suffix);
    return sample->size == family->size + size &&
           memcmp(sample->text, family->text, family->size) == 0 &&
           memcmp(sample->text + family->size, suffix, size) == 0;
}

static inline struct name metric_name(struct reader *in)
{
    const char *start = in->at;
    insist(!strchr(DIGITS, peek(in)));
    size_t size = span(in, WORD);
    return (struct name){start, size};
}

/* "# TYPE name type", then UNIT in OpenMetrics and HELP; returns the type's first letter. */
static inline char family_head(struct reader *in, bool is_openmetrics, struct name *ret_name)
{
    expect(in, "# TYPE ");
    *ret_name = metric_name(in);
    expect(in, " ");
    char type = peek(in);
    expect(in, type == 'c' ? "counter" : type == 'g' ? "gauge" : "summary");
    expect(in, "\n# ");
    if (is_openmetrics && peek(in) == 'U') {
        expect(in, "UNIT ");
        struct name again = metric_name(in);
        insist(is_name(ret_name, again.text, again.size));
        expect(in, " ");
        const char *unit = in->at;
        size_t size = span(in, WORD);
        insist(size < again.size && again.text[again.size - size - 1] == '_' &&
               memcmp(again.text + again.size - size, unit, size) == 0);
        expect(in, "\n# ");
    }
    expect(in, "HELP ");
    struct name again = metric_name(in);
    insist(is_name(ret_name, again.text, again.size));
    expect(in, " ");
    while (peek(in) != '\n' && in->at < in->end)
        in->at++;
    expect(in, "\n");
    if (type == 'c' && !is_openmetrics) {
        insist(ret_name->size > 6 && memcmp(ret_name->text + ret_name->size - 6, "_total", 6) == 0);
        ret_name->size -= 6;
    }
    return type;
}

static inline bool is_of(const struct name *family, const struct name *sample, char type)
{
    if (type == 'c')
        return is_suffixed(family, sample, "_total");
    if (type == 's' &&
        (is_suffixed(family, sample, "_sum") || is_suffixed(family, sample, "_count")))
        return true;
    return is_suffixed(family, sample, "");
}

static inline void check_page(const uint8_t *bytes, size_t size, bool is_openmetrics)
{
    static struct names families;
    static struct names series;
    struct reader in = {(const char *)bytes, (const char *)bytes + size};
    families.count = series.count = 0;
    insist_utf8(bytes, size);
    while (in.at < in.end && !(is_openmetrics && in.end - in.at == 6)) {
        struct name family;
        char type = family_head(&in, is_openmetrics, &family);
        insist_new(&families, family.text, family.size);
        while (in.at < in.end && peek(&in) != '#') {
            const char *start = in.at;
            struct name sample = metric_name(&in);
            insist(is_of(&family, &sample, type));
            if (peek(&in) == '{')
                labels(&in);
            insist_new(&series, start, (size_t)(in.at - start));
            expect(&in, " ");
            prometheus_number(&in);
            expect(&in, "\n");
        }
    }
    if (is_openmetrics)
        expect(&in, "# EOF\n");
    insist(in.at == in.end);
}

/* --- OTLP --- */

/* What a field of a message holds: a text, a message (its number), or a number. */
enum { T = 100, V, F };

enum {
    REQUEST,
    RESOURCE_METRICS,
    SCOPE_METRICS,
    RESOURCE,
    KEY_VALUE,
    ANY,
    SCOPE,
    METRIC,
    NUMBERS,
    SUMMARY,
    NUMBER,
    SUMMARY_POINT,
    QUANTILE
};

/* By message and field number; 0 is not known, and REQUEST is inside nothing. */
static const uint8_t fields[][12] = {
    [REQUEST] = {[1] = RESOURCE_METRICS},
    [RESOURCE_METRICS] = {[1] = RESOURCE, [2] = SCOPE_METRICS},
    [SCOPE_METRICS] = {[1] = SCOPE, [2] = METRIC},
    [RESOURCE] = {[1] = KEY_VALUE},
    [KEY_VALUE] = {[1] = T, [2] = ANY},
    [ANY] = {[1] = T, [3] = V},
    [SCOPE] = {[1] = T, [2] = T},
    [METRIC] = {[1] = T, [2] = T, [3] = T, [5] = NUMBERS, [7] = NUMBERS, [11] = SUMMARY},
    [NUMBERS] = {[1] = NUMBER, [2] = V, [3] = V},
    [SUMMARY] = {[1] = SUMMARY_POINT},
    [NUMBER] = {[2] = F, [3] = F, [4] = F, [7] = KEY_VALUE},
    [SUMMARY_POINT] = {[2] = F, [3] = F, [4] = F, [5] = F, [6] = QUANTILE, [7] = KEY_VALUE},
    [QUANTILE] = {[1] = F, [2] = F},
};

struct open_message {
    int kind;
    size_t end;
};

/* Without recursion: messages are eight deep at most. Returns how many points there were. */
static inline size_t check_otlp(const uint8_t *bytes, size_t size)
{
    struct open_message open[10] = {{REQUEST, size}};
    struct sn_cursor in = sn_cursor_over(bytes, size);
    size_t depth = 0;
    size_t points = 0;
    while (sn_cursor_offset(&in) < size) {
        while (sn_cursor_offset(&in) == open[depth].end)
            depth--;
        uint32_t key = sn_cursor_varuint32(&in);
        insist(key >> 3 < 12);
        int kind = fields[open[depth].kind][key >> 3];
        insist(kind != 0);
        static const unsigned wires[] = {2, 0, 1};
        insist((key & 7) == (kind >= T ? wires[kind - T] : 2));
        if (kind == V || kind == F) {
            (void)(kind == V ? sn_cursor_varuint64(&in) : sn_cursor_u64(&in));
        } else {
            uint64_t length = sn_cursor_varuint64(&in);
            insist(!in.bad && length <= open[depth].end - sn_cursor_offset(&in));
            if (kind == T) {
                insist_utf8(in.at, length);
                sn_cursor_skip(&in, length);
            } else {
                insist(depth + 1 < sizeof(open) / sizeof(*open));
                points += kind == NUMBER || kind == SUMMARY_POINT;
                open[++depth] = (struct open_message){kind, sn_cursor_offset(&in) + length};
            }
        }
        insist(!in.bad && sn_cursor_offset(&in) <= open[depth].end);
    }
    return points;
}

#endif
