#include "daemon/point_text.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/pattern.h"
#include "base/text.h"

const char *sn_point_kind_name(int kind)
{
    switch (kind) {
    case SONDE_POINT_GAUGE: return "gauge";
    case SONDE_POINT_MEAN: return "mean";
    case SONDE_POINT_RATE: return "rate";
    case SONDE_POINT_UP_DOWN: return "upDown";
    case SONDE_POINT_HISTOGRAM: return "histogram";
    default: return "unknown";
    }
}

static const char *origin_name(int origin)
{
    switch (origin) {
    case SONDE_POINT_EVENT_COUNTER: return "eventCounter";
    case SONDE_POINT_METER: return "meter";
    default: return "kernel";
    }
}

static bool is_wanted(const struct sonde_point *point, const struct sn_point_filter *filter)
{
    return (!filter->provider || sn_pattern_matches(filter->provider, point->provider)) &&
           (!filter->name || sn_pattern_matches(filter->name, point->name));
}

/* Where it stands: of a counter that goes both ways that is not what was added. */
static double value_of(const struct sonde_point *point)
{
    bool stands = point->kind == SONDE_POINT_UP_DOWN && isfinite(point->total);
    return stands ? point->total : point->value;
}

static double change_of(const struct sonde_point *point)
{
    return point->kind == SONDE_POINT_UP_DOWN ? point->value : NAN;
}

/* --- JSON --- */

/* What its kind does not have is left out. */
static void put_real(struct sn_json *json, const char *key, double value)
{
    if (isfinite(value))
        sn_json_real(json, key, value);
}

static void put_tags(struct sn_json *json, const struct sonde_point *point)
{
    if (!point->tag_count)
        return;
    sn_json_object(json, "tags");
    for (size_t i = 0; i < point->tag_count; i++)
        sn_json_text(json, point->tags[i].name, point->tags[i].value);
    sn_json_close(json);
}

static void put_quantiles(struct sn_json *json, const struct sonde_point *point)
{
    if (!point->quantile_count)
        return;
    sn_json_object(json, "quantiles");
    for (size_t i = 0; i < point->quantile_count; i++) {
        char at[32];
        put_real(json, sn_text_real(point->quantiles[i].at, at), point->quantiles[i].value);
    }
    sn_json_close(json);
}

void sn_point_json(struct sn_json *json, const struct sonde_point *point)
{
    char time[32];
    sn_json_object(json, NULL);
    sn_json_text(json, "provider", point->provider);
    sn_json_text(json, "name", point->name);
    sn_json_text(json, "displayName", point->display_name);
    sn_json_text(json, "unit", point->unit);
    sn_json_text(json, "kind", sn_point_kind_name(point->kind));
    sn_json_text(json, "origin", origin_name(point->origin));
    put_tags(json, point);
    sn_json_text(json, "time", sn_clock_rfc3339(point->utc_ns, time));
    sn_json_real(json, "intervalSeconds", (double)point->interval_ns / SN_NS_PER_SECOND);
    put_real(json, "value", value_of(point));
    put_real(json, "change", change_of(point));
    put_real(json, "rate", point->rate);
    put_real(json, "total", point->total);
    if (point->kind == SONDE_POINT_MEAN || point->kind == SONDE_POINT_HISTOGRAM)
        sn_json_u64(json, "count", point->count);
    put_real(json, "sum", point->sum);
    put_real(json, "min", point->min);
    put_real(json, "max", point->max);
    put_real(json, "deviation", point->deviation);
    put_quantiles(json, point);
    if (point->is_provisional)
        sn_json_bool(json, "isProvisional", true);
    sn_json_close(json);
}

void sn_point_json_begin(struct sn_json *json, const struct sn_shot_process *process)
{
    sn_json_object(json, NULL);
    sn_json_u64(json, "pid", process->pid);
    sn_json_text(json, "name", process->name);
    sn_json_bool(json, "hasEnded", process->phase == SONDE_CONSUMER_ENDED);
    sn_json_bool(json, "isComplete", process->is_complete);
    sn_json_real(json, "intervalSeconds", (double)process->interval_ns / SN_NS_PER_SECOND);
    sn_json_text(json, "note", process->note);
    sn_json_array(json, "counters");
}

void sn_point_json_end(struct sn_json *json, uint64_t left_out_count)
{
    sn_json_close(json);
    if (left_out_count)
        sn_json_u64(json, "leftOut", left_out_count);
    sn_json_close(json);
}

void sn_point_json_process(struct sn_json *json, const struct sn_shot_process *process,
                           const struct sn_point_filter *filter)
{
    sn_point_json_begin(json, process);
    for (size_t i = 0; i < process->point_count; i++) {
        if (is_wanted(&process->points[i], filter))
            sn_point_json(json, &process->points[i]);
    }
    sn_point_json_end(json, 0);
}

/* --- CSV --- */

/* Quoted always; a spreadsheet must not take it for a formula. */
static void put_cell(struct sn_buf *to, const char *text)
{
    sn_buf_text(to, text[0] && strchr("=+-@\t\r", text[0]) ? "\"'" : "\"");
    for (const char *at = text; *at; at++) {
        if (*at == '"')
            sn_buf_u8(to, '"');
        sn_buf_u8(to, (unsigned char)*at < ' ' ? ' ' : (uint8_t)*at);
    }
    sn_buf_text(to, "\"");
}

static void put_number(struct sn_buf *to, double value)
{
    char text[32];
    sn_buf_text(to, ",");
    if (isfinite(value))
        sn_buf_text(to, sn_text_real(value, text));
}

void sn_point_csv_head(struct sn_buf *to)
{
    sn_buf_text(to, "time,pid,process,provider,name,unit,tags,kind,value,rate,total,count,sum,"
                    "min,max,change,p50,p95,p99\r\n");
}

static double quantile_of(const struct sonde_point *point, double at)
{
    for (size_t i = 0; i < point->quantile_count; i++) {
        if (fabs(point->quantiles[i].at - at) < 1e-6)
            return point->quantiles[i].value;
    }
    return NAN;
}

static void put_line(struct sn_buf *to, const struct sn_shot_process *process,
                     const struct sonde_point *point)
{
    char time[32];
    const char *const cells[] = {point->provider, point->name, point->unit, point->tag_text,
                                 sn_point_kind_name(point->kind)};
    sn_buf_format(to, "%s,%u,", sn_clock_rfc3339(point->utc_ns, time), process->pid);
    put_cell(to, process->name);
    for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
        sn_buf_text(to, ",");
        put_cell(to, cells[i]);
    }
    put_number(to, value_of(point));
    put_number(to, point->rate);
    put_number(to, point->total);
    bool is_counted = point->kind == SONDE_POINT_MEAN || point->kind == SONDE_POINT_HISTOGRAM;
    put_number(to, is_counted ? (double)point->count : NAN);
    put_number(to, point->sum);
    put_number(to, point->min);
    put_number(to, point->max);
    put_number(to, change_of(point));
    put_number(to, quantile_of(point, 0.5));
    put_number(to, quantile_of(point, 0.95));
    put_number(to, quantile_of(point, 0.99));
    sn_buf_text(to, "\r\n");
}

void sn_point_csv_process(struct sn_buf *to, const struct sn_shot_process *process,
                          const struct sn_point_filter *filter)
{
    for (size_t i = 0; i < process->point_count; i++) {
        if (is_wanted(&process->points[i], filter))
            put_line(to, process, &process->points[i]);
    }
}
