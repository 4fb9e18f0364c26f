#include "daemon/metric_format.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "sonde/counters.h"

#define RECORD_SEPARATOR 0x1E
#define PERCENT          100.0
#define NAME_MAX_BYTES   1024u

/* A meter's counters are called by what they count and for how long, as people see them there. */
static const char *display_name(const struct sonde_point *point, struct sn_buf *to)
{
    if (point->origin != SONDE_POINT_METER || point->kind != SONDE_POINT_RATE)
        return point->origin == SONDE_POINT_METER ? point->name : point->display_name;
    char seconds[32];
    double interval = round((double)point->interval_ns / SN_NS_PER_SECOND);
    sn_buf_format(to, "%s (%s / %s sec)", point->name, point->unit[0] ? point->unit : "Count",
                  sn_text_real(interval, seconds));
    return to->failed ? point->name : sn_buf_string(to);
}

/* EventCounters without a unit count things. */
static const char *unit_of(const struct sonde_point *point)
{
    bool is_count = point->origin == SONDE_POINT_EVENT_COUNTER && !point->unit[0] &&
                    point->kind == SONDE_POINT_RATE;
    return is_count ? "count" : point->unit;
}

static double value_of(const struct sonde_point *point)
{
    double value = point->kind == SONDE_POINT_UP_DOWN ? point->total : point->value;
    return isfinite(value) ? value : 0.0;
}

static void put_record(const struct sonde_point *point, const char *tags, double value,
                       struct sn_buf *to)
{
    struct sn_json json = sn_json_to(to);
    char time[32];
    struct sn_buf name = sn_buf_with_limit(NAME_MAX_BYTES);
    sn_buf_u8(to, RECORD_SEPARATOR);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "timestamp", sn_clock_rfc3339(point->utc_ns, time));
    sn_json_text(&json, "provider", point->provider);
    sn_json_text(&json, "name", point->name);
    sn_json_text(&json, "displayName", display_name(point, &name));
    sn_json_text(&json, "unit", unit_of(point));
    sn_json_text(&json, "counterType", point->kind == SONDE_POINT_RATE ? "Rate" : "Metric");
    sn_json_text(&json, "tags", tags);
    sn_json_exact_real(&json, "value", value);
    sn_json_text(&json, "meterTags", "");
    sn_json_text(&json, "instrumentTags", "");
    sn_json_close(&json);
    sn_buf_u8(to, '\n');
    sn_buf_done(&name);
}

static void put_quantiles(const struct sonde_point *point, struct sn_buf *to)
{
    for (size_t i = 0; i < point->quantile_count; i++) {
        const struct sonde_quantile *quantile = &point->quantiles[i];
        struct sn_buf tags = sn_buf_with_limit(SIZE_MAX);
        sn_buf_format(&tags, "%s%sPercentage=%d", point->tag_text, point->tag_text[0] ? "," : "",
                      (int)lround(quantile->at * PERCENT));
        put_record(point, sn_buf_string(&tags), isfinite(quantile->value) ? quantile->value : 0.0,
                   to);
        sn_buf_done(&tags);
    }
}

void sn_metric_format_write(const struct sonde_point *point, struct sn_buf *to)
{
    if (point->kind == SONDE_POINT_HISTOGRAM)
        put_quantiles(point, to);
    else
        put_record(point, point->tag_text, value_of(point), to);
}

void sn_metric_format_lost(uint64_t count, struct sn_buf *to)
{
    sn_buf_u8(to, RECORD_SEPARATOR);
    sn_buf_format(to, "{\"lost\":%llu}\n", (unsigned long long)count);
}
