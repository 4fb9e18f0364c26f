#include "cli/counter_formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "sonde/counters.h"

#define TEXT_LIMIT (1u << 20)

/* --- what dotnet-counters calls things --- */

static bool is_rate(const struct sonde_point *point)
{
    return point->kind == SONDE_POINT_RATE;
}

static const char *unit_of(const struct sonde_point *point)
{
    bool is_counted = !*point->unit && is_rate(point);
    return is_counted || strcmp(point->unit, "count") == 0 ? "Count" : point->unit;
}

void sn_counter_display_name(struct sn_buf *to, const struct sonde_point *point,
                             uint64_t interval_ns)
{
    char seconds[32];
    const char *unit = unit_of(point);
    sn_buf_text(to, point->origin == SONDE_POINT_METER ? point->name : point->display_name);
    if (is_rate(point))
        sn_buf_format(to, " (%s / %s sec)", unit,
                      sn_text_real((double)interval_ns / SN_NS_PER_SECOND, seconds));
    else if (*unit)
        sn_buf_format(to, " (%s)", unit);
}

static double number_of(const struct sonde_point *point)
{
    bool stands = point->kind == SONDE_POINT_UP_DOWN && isfinite(point->total);
    return stands ? point->total : point->value;
}

/* Calls `row` for each number: a histogram is one for every quantile, told by a tag. */
typedef void row_fn(struct sn_buf *to, struct sn_counter_document *document,
                    const struct sonde_point *point, const char *tags, double number);

static void each_number(struct sn_buf *to, struct sn_counter_document *document,
                        const struct sonde_point *point, row_fn *row)
{
    if (is_rate(point) && !isfinite(point->value)) /* the first of an observable counter */
        return;
    if (point->kind != SONDE_POINT_HISTOGRAM) {
        row(to, document, point, point->tag_text, number_of(point));
        document->point_count++;
        return;
    }
    for (size_t i = 0; i < point->quantile_count; i++) {
        SN_AUTO(sn_buf_done) struct sn_buf tags = sn_buf_with_limit(TEXT_LIMIT);
        char percent[32];
        sn_buf_format(&tags, "%s%sPercentile=%s", point->tag_text, *point->tag_text ? "," : "",
                      sn_text_real(point->quantiles[i].at * 100, percent));
        row(to, document, point, sn_buf_string(&tags), point->quantiles[i].value);
        document->point_count++;
    }
}

static struct tm local_time(uint64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / SN_NS_PER_SECOND);
    struct tm parts;
    return localtime_r(&seconds, &parts) ? parts : (struct tm){.tm_mday = 1};
}

/* --- CSV --- */

/* Quoted where it has to be; what could command a terminal, or break a line, is escaped; what a
 * spreadsheet would take for a formula begins with an apostrophe. */
static void csv_text(struct sn_buf *to, const char *text)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit(TEXT_LIMIT);
    sn_text_printable(&safe, text, strlen(text));
    const char *shown = sn_buf_string(&safe);
    const char *mark = *shown && strchr("=+-@", *shown) ? "'" : "";
    if (!strpbrk(shown, ",\"")) {
        sn_buf_format(to, "%s%s", mark, shown);
        return;
    }
    sn_buf_format(to, "\"%s", mark);
    for (; *shown; shown++)
        sn_buf_append(to, *shown == '"' ? "\"\"" : shown, *shown == '"' ? 2 : 1);
    sn_buf_u8(to, '"');
}

static void csv_begin(struct sn_buf *to, const struct sn_counter_document *document)
{
    sn_buf_format(to, "Timestamp,Provider,Counter Name,Counter Type,Mean/Increment%s\n",
                  document->has_many ? ",Process" : "");
}

static void csv_row(struct sn_buf *to, struct sn_counter_document *document,
                    const struct sonde_point *point, const char *tags, double number)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(TEXT_LIMIT);
    struct tm time = local_time(point->utc_ns);
    char text[32];
    sn_counter_display_name(&name, point, document->interval_ns);
    if (*tags)
        sn_buf_u8(&name, '[');
    for (const char *at = tags; *at; at++)
        sn_buf_u8(&name, *at == ',' ? ';' : (uint8_t)*at);
    if (*tags)
        sn_buf_u8(&name, ']');
    (void)strftime(text, sizeof(text), "%m/%d/%Y %H:%M:%S,", &time);
    sn_buf_text(to, text);
    csv_text(to, point->provider);
    sn_buf_u8(to, ',');
    csv_text(to, sn_buf_string(&name));
    sn_buf_format(to, ",%s,%s", is_rate(point) ? "Rate" : "Metric",
                  isfinite(number) ? sn_text_exact_real(number, text) : "NaN");
    if (document->has_many)
        sn_buf_format(to, ",%" PRIu32, point->pid);
    sn_buf_u8(to, '\n');
}

static void csv_point(struct sn_buf *to, struct sn_counter_document *document,
                      const struct sonde_point *point, const char *process)
{
    (void)process;
    each_number(to, document, point, csv_row);
}

const struct sn_counter_format sn_counter_csv = {
    .name = "csv", .begin = csv_begin, .point = csv_point};

/* --- JSON --- */

/* "2026-01-31T23:59:59.1234567+01:00". */
static void json_time(struct sn_buf *to, uint64_t utc_ns)
{
    struct tm time = local_time(utc_ns);
    char text[32];
    long minutes = time.tm_gmtoff / 60;
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &time);
    sn_buf_format(to, "\"%s.%07" PRIu64 "%c%02ld:%02ld\"", text, utc_ns % SN_NS_PER_SECOND / 100,
                  minutes < 0 ? '-' : '+', labs(minutes) / 60, labs(minutes) % 60);
}

static void json_text(struct sn_buf *to, const char *text)
{
    struct sn_json json = sn_json_to(to);
    sn_json_text(&json, NULL, text);
}

static void json_begin(struct sn_buf *to, const struct sn_counter_document *document)
{
    sn_buf_text(to, "{ \"TargetProcess\": ");
    json_text(to, document->process);
    sn_buf_text(to, ", \"StartTime\": ");
    json_time(to, sn_clock_utc_ns());
    sn_buf_text(to, ", \"Events\": [");
}

static void json_row(struct sn_buf *to, struct sn_counter_document *document,
                     const struct sonde_point *point, const char *tags, double number)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(TEXT_LIMIT);
    char text[32];
    sn_counter_display_name(&name, point, document->interval_ns);
    sn_buf_text(to, document->point_count ? ",{ \"timestamp\": " : "{ \"timestamp\": ");
    json_time(to, point->utc_ns);
    sn_buf_text(to, ",  \"provider\": ");
    json_text(to, point->provider);
    sn_buf_text(to, ",  \"name\": ");
    json_text(to, sn_buf_string(&name));
    sn_buf_text(to, ",  \"tags\": ");
    json_text(to, tags);
    sn_buf_format(to,
                  ",  \"counterType\": \"%s\",  \"meterTags\": \"\",  \"instrumentTags\": \"\",  "
                  "\"value\": %s",
                  is_rate(point) ? "Rate" : "Metric",
                  isfinite(number) ? sn_text_exact_real(number, text) : "null");
    if (document->has_many)
        sn_buf_format(to, ",  \"pid\": %" PRIu32, point->pid);
    sn_buf_text(to, " }");
}

static void json_point(struct sn_buf *to, struct sn_counter_document *document,
                       const struct sonde_point *point, const char *process)
{
    (void)process;
    each_number(to, document, point, json_row);
}

static void json_end(struct sn_buf *to, const struct sn_counter_document *document)
{
    (void)document;
    sn_buf_text(to, "]}");
}

const struct sn_counter_format sn_counter_json = {
    .name = "json", .begin = json_begin, .point = json_point, .end = json_end};

/* --- lines of JSON --- */

static const char *const origins[] = {[SONDE_POINT_EVENT_COUNTER] = "eventCounter",
                                      [SONDE_POINT_METER] = "meter",
                                      [SONDE_POINT_KERNEL] = "kernel"};
static const char *const kinds[] = {[SONDE_POINT_GAUGE] = "gauge",
                                    [SONDE_POINT_MEAN] = "mean",
                                    [SONDE_POINT_RATE] = "rate",
                                    [SONDE_POINT_UP_DOWN] = "upDown",
                                    [SONDE_POINT_HISTOGRAM] = "histogram"};

static const char *name_in(const char *const *names, size_t count, int number)
{
    return number > 0 && (size_t)number < count ? names[number] : "unknown";
}

static void line_real(struct sn_json *json, const char *key, double number)
{
    if (isfinite(number))
        sn_json_exact_real(json, key, number);
}

static void line_text(struct sn_json *json, const char *key, const char *text)
{
    if (*text)
        sn_json_text(json, key, text);
}

static void line_whose(struct sn_json *json, const struct sonde_point *point, const char *process)
{
    char time[32];
    sn_json_text(json, "time", sn_clock_rfc3339(point->utc_ns, time));
    sn_json_u64(json, "ns", point->time_ns);
    sn_json_u64(json, "pid", point->pid);
    line_text(json, "process", process);
    sn_json_text(json, "origin",
                 name_in(origins, sizeof(origins) / sizeof(*origins), point->origin));
    sn_json_text(json, "provider", point->provider);
    line_text(json, "version", point->version);
    sn_json_text(json, "name", point->name);
    if (strcmp(point->display_name, point->name) != 0)
        line_text(json, "displayName", point->display_name);
    line_text(json, "unit", point->unit);
    sn_json_text(json, "kind", name_in(kinds, sizeof(kinds) / sizeof(*kinds), point->kind));
}

static void line_tags(struct sn_json *json, const struct sonde_point *point)
{
    if (!point->tag_count)
        return;
    sn_json_object(json, "tags");
    for (size_t i = 0; i < point->tag_count; i++)
        sn_json_text(json, point->tags[i].name, point->tags[i].value);
    sn_json_close(json);
}

static void line_quantiles(struct sn_json *json, const struct sonde_point *point)
{
    if (!point->quantile_count)
        return;
    sn_json_object(json, "quantiles");
    for (size_t i = 0; i < point->quantile_count; i++) {
        char at[32];
        line_real(json, sn_text_real(point->quantiles[i].at, at), point->quantiles[i].value);
    }
    sn_json_close(json);
}

static void line_numbers(struct sn_json *json, const struct sonde_point *point)
{
    bool is_many = point->kind == SONDE_POINT_MEAN || point->kind == SONDE_POINT_HISTOGRAM;
    line_real(json, "value", point->value);
    line_real(json, "rate", point->rate);
    line_real(json, "total", point->total);
    if (isfinite(point->total))
        sn_json_bool(json, "absolute", point->is_absolute);
    if (is_many)
        sn_json_u64(json, "count", point->count);
    line_real(json, "sum", point->sum);
    line_real(json, "min", point->min);
    line_real(json, "max", point->max);
    line_real(json, "deviation", point->deviation);
}

static void line_point(struct sn_buf *to, struct sn_counter_document *document,
                       const struct sonde_point *point, const char *process)
{
    struct sn_json json = sn_json_to(to);
    document->point_count++;
    sn_json_object(&json, NULL);
    line_whose(&json, point, process);
    line_tags(&json, point);
    if (point->interval_ns)
        sn_json_real(&json, "seconds", (double)point->interval_ns / SN_NS_PER_SECOND);
    if (point->is_provisional)
        sn_json_bool(&json, "provisional", true);
    line_numbers(&json, point);
    line_quantiles(&json, point);
    sn_json_close(&json);
    sn_buf_u8(to, '\n');
}

const struct sn_counter_format sn_counter_ndjson = {
    .name = "ndjson", .takes_provisional = true, .takes_total = true, .point = line_point};
