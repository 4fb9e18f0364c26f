#include "sink/aggregate/counter_decode.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "model/event.h"
#include "model/schema.h"
#include "sink/aggregate/field_map.h"
#include "sonde/error.h"

#define NS_PER_SECOND 1e9
#define NS_PER_MS     1000000u

/* Nobody measures for longer than a year. */
#define INTERVAL_MAX_S (366.0 * 86400)
#define ASKED_MAX_MS   (366u * 86400000ull)

struct fields {
    const char *name;
    const char *display_name;
    const char *unit;
    const char *metadata;
    const char *series; /* "Interval=1000" */
    double mean;
    double deviation;
    double min;
    double max;
    double increment;
    double interval_s;
    int64_t count;
};

static const struct sn_field_rule rules[] = {
    {"Name", SN_FIELD_TEXT, offsetof(struct fields, name)},
    {"DisplayName", SN_FIELD_TEXT, offsetof(struct fields, display_name)},
    {"DisplayUnits", SN_FIELD_TEXT, offsetof(struct fields, unit)},
    {"Metadata", SN_FIELD_TEXT, offsetof(struct fields, metadata)},
    {"Series", SN_FIELD_TEXT, offsetof(struct fields, series)},
    {"Mean", SN_FIELD_REAL, offsetof(struct fields, mean)},
    {"StandardDeviation", SN_FIELD_REAL, offsetof(struct fields, deviation)},
    {"Min", SN_FIELD_REAL, offsetof(struct fields, min)},
    {"Max", SN_FIELD_REAL, offsetof(struct fields, max)},
    {"Increment", SN_FIELD_REAL, offsetof(struct fields, increment)},
    {"IntervalSec", SN_FIELD_REAL, offsetof(struct fields, interval_s)},
    {"Count", SN_FIELD_WHOLE, offsetof(struct fields, count)},
};

bool sn_counter_is_record(const struct sn_schema *schema)
{
    return strcmp(schema->name, "EventCounters") == 0;
}

static uint64_t interval_ns(double seconds)
{
    if (!(seconds > 0) || seconds > INTERVAL_MAX_S)
        return 0;
    return (uint64_t)(seconds * NS_PER_SECOND);
}

static uint64_t asked_ns(const char *series)
{
    static const char prefix[] = "Interval=";
    uint64_t ms = 0;
    if (strncmp(series, prefix, sizeof(prefix) - 1) != 0 ||
        !sn_text_to_u64(series + sizeof(prefix) - 1, ASKED_MAX_MS, &ms))
        return 0;
    return ms * NS_PER_MS;
}

static bool is_same(double left, double right)
{
    return left <= right && left >= right; /* NAN is not even itself */
}

int sn_counter_decode(const struct sn_event *event, struct sn_buf *texts,
                      struct sn_counter_record *ret_record)
{
    struct fields got = {.name = "",
                         .display_name = "",
                         .unit = "",
                         .metadata = "",
                         .series = "",
                         .mean = NAN,
                         .deviation = NAN,
                         .min = NAN,
                         .max = NAN,
                         .increment = NAN,
                         .interval_s = NAN};
    int rc = sn_field_map(event, rules, sizeof(rules) / sizeof(*rules), texts, &got);
    if (rc != SONDE_OK)
        return rc;
    bool is_sum = !isnan(got.increment);
    if (!got.name[0] || (!is_sum && isnan(got.mean)))
        return SONDE_E_FORMAT;
    bool is_measured = got.count > 0;
    *ret_record = (struct sn_counter_record){
        .name = got.name,
        .display_name = got.display_name,
        .unit = got.unit,
        .metadata = got.metadata,
        .is_sum = is_sum,
        .is_one_value =
            !is_sum && got.count == 1 && is_same(got.min, got.mean) && is_same(got.max, got.mean),
        .increment = got.increment,
        .mean = got.mean,
        .deviation = got.deviation,
        .min = is_measured ? got.min : NAN, /* the runtime sends infinities */
        .max = is_measured ? got.max : NAN,
        .count = is_measured ? (uint64_t)got.count : 0,
        .interval_ns = interval_ns(got.interval_s),
        .asked_ns = asked_ns(got.series),
    };
    return SONDE_OK;
}
