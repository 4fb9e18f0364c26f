#include "sink/aggregate/metric_decode.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "model/event.h"
#include "model/schema.h"
#include "sink/aggregate/field_map.h"
#include "sonde/error.h"

struct fields {
    const char *session_id;
    const char *running_session_id;
    const char *client_id;
    const char *meter;
    const char *version;
    const char *name;
    const char *type;
    const char *unit;
    const char *description;
    const char *tags;
    const char *error;
    const char *message;
    const char *quantiles; /* "0.5=1;0.95=2" */
    double rate;           /* so called, but it is what was added since the last time */
    double value;
    double last_value;
    double sum;
    double min;
    double max;
    int64_t count;
    int64_t start_ns;
    int64_t end_ns;
};

static const struct sn_field_rule rules[] = {
    {"sessionId", SN_FIELD_TEXT, offsetof(struct fields, session_id)},
    {"runningSessionId", SN_FIELD_TEXT, offsetof(struct fields, running_session_id)},
    {"clientId", SN_FIELD_TEXT, offsetof(struct fields, client_id)},
    {"sharedIdentifier", SN_FIELD_TEXT, offsetof(struct fields, client_id)}, /* its older name */
    {"meterName", SN_FIELD_TEXT, offsetof(struct fields, meter)},
    {"meterVersion", SN_FIELD_TEXT, offsetof(struct fields, version)},
    {"instrumentName", SN_FIELD_TEXT, offsetof(struct fields, name)},
    {"instrumentType", SN_FIELD_TEXT, offsetof(struct fields, type)},
    {"unit", SN_FIELD_TEXT, offsetof(struct fields, unit)},
    {"description", SN_FIELD_TEXT, offsetof(struct fields, description)},
    {"tags", SN_FIELD_TEXT, offsetof(struct fields, tags)},
    {"errorMessage", SN_FIELD_TEXT, offsetof(struct fields, error)},
    {"Message", SN_FIELD_TEXT, offsetof(struct fields, message)},
    {"quantiles", SN_FIELD_TEXT, offsetof(struct fields, quantiles)},
    {"rate", SN_FIELD_NUMERAL, offsetof(struct fields, rate)},
    {"value", SN_FIELD_NUMERAL, offsetof(struct fields, value)},
    {"lastValue", SN_FIELD_NUMERAL, offsetof(struct fields, last_value)},
    {"sum", SN_FIELD_REAL, offsetof(struct fields, sum)},
    {"minimum", SN_FIELD_REAL, offsetof(struct fields, min)},
    {"maximum", SN_FIELD_REAL, offsetof(struct fields, max)},
    {"count", SN_FIELD_WHOLE, offsetof(struct fields, count)},
    {"intervalStartTime", SN_FIELD_TIME, offsetof(struct fields, start_ns)},
    {"intervalEndTime", SN_FIELD_TIME, offsetof(struct fields, end_ns)},
};

static const struct fields nothing = {.session_id = "",
                                      .running_session_id = "",
                                      .client_id = "",
                                      .meter = "",
                                      .version = "",
                                      .name = "",
                                      .type = "",
                                      .unit = "",
                                      .description = "",
                                      .tags = "",
                                      .error = "",
                                      .message = "",
                                      .quantiles = "",
                                      .rate = NAN,
                                      .value = NAN,
                                      .last_value = NAN,
                                      .sum = NAN,
                                      .min = NAN,
                                      .max = NAN};

static const char *const names[] = {
    [SN_METRIC_COLLECTION_START] = "CollectionStart",
    [SN_METRIC_COLLECTION_STOP] = "CollectionStop",
    [SN_METRIC_COUNTER] = "CounterRateValuePublished",
    [SN_METRIC_UP_DOWN] = "UpDownCounterRateValuePublished",
    [SN_METRIC_GAUGE] = "GaugeValuePublished",
    [SN_METRIC_HISTOGRAM] = "HistogramValuePublished",
    [SN_METRIC_EXPONENTIAL] = "Base2ExponentialHistogramValuePublished",
    [SN_METRIC_BEGIN] = "BeginInstrumentReporting",
    [SN_METRIC_END] = "EndInstrumentReporting",
    [SN_METRIC_PUBLISHED] = "InstrumentPublished",
    [SN_METRIC_ENUMERATED] = "InitialInstrumentEnumerationComplete",
    [SN_METRIC_ERROR] = "Error",
    [SN_METRIC_CALLBACK_ERROR] = "ObservableInstrumentCallbackError",
    [SN_METRIC_SERIES_LIMIT] = "TimeSeriesLimitReached",
    [SN_METRIC_HISTOGRAM_LIMIT] = "HistogramLimitReached",
    [SN_METRIC_OTHER_SESSION] = "MultipleSessionsNotSupportedError",
    [SN_METRIC_OTHER_SETTINGS] = "MultipleSessionsConfiguredIncorrectlyError",
    [SN_METRIC_MESSAGE] = "Message",
    [SN_METRIC_VERSION] = "Version",
};

enum sn_metric_kind sn_metric_kind_of(const struct sn_schema *schema)
{
    if (strcmp(schema->provider, "System.Diagnostics.Metrics") != 0)
        return SN_METRIC_NONE;
    for (size_t kind = 1; kind < sizeof(names) / sizeof(*names); kind++) {
        if (strcmp(names[kind], schema->name) == 0)
            return (enum sn_metric_kind)kind;
    }
    return SN_METRIC_NONE;
}

static bool has_instrument(uint8_t kind)
{
    return (kind >= SN_METRIC_COUNTER && kind <= SN_METRIC_PUBLISHED);
}

static bool read_number(const char *from, const char *end, double *ret_value)
{
    return sn_text_to_real(from, (size_t)(end - from), ret_value);
}

/* "0.5=1.5;0.95=2". Pieces that are nothing of the kind are passed over. */
static void read_quantiles(const char *text, struct sn_metric_record *record)
{
    while (*text && record->quantile_count < SN_METRIC_QUANTILE_MAX) {
        const char *end = strchrnul(text, ';');
        const char *middle = memchr(text, '=', (size_t)(end - text));
        struct sn_metric_quantile *to = &record->quantiles[record->quantile_count];
        if (middle && read_number(text, middle, &to->at) &&
            read_number(middle + 1, end, &to->value))
            record->quantile_count++;
        text = *end ? end + 1 : end;
    }
}

static uint64_t positive(int64_t number)
{
    return number > 0 ? (uint64_t)number : 0;
}

static void take(const struct fields *got, uint8_t kind, struct sn_metric_record *to)
{
    bool is_other = kind == SN_METRIC_OTHER_SESSION;
    *to = (struct sn_metric_record){
        .kind = kind,
        .session_id = is_other ? got->running_session_id : got->session_id,
        .client_id = got->client_id,
        .meter = got->meter,
        .version = got->version,
        .name = got->name,
        .type = got->type,
        .unit = got->unit,
        .description = got->description,
        .tags = got->tags,
        .text = kind == SN_METRIC_MESSAGE ? got->message : got->error,
        .increment = got->rate,
        .value = kind == SN_METRIC_GAUGE ? got->last_value : got->value,
        .sum = got->sum,
        .min = got->min,
        .max = got->max,
        .count = positive(got->count),
        .start_ns = positive(got->start_ns),
        .end_ns = positive(got->end_ns),
    };
    read_quantiles(got->quantiles, to);
}

int sn_metric_decode(const struct sn_event *event, struct sn_buf *texts,
                     struct sn_metric_record *ret_record)
{
    struct fields got = nothing;
    uint8_t kind = (uint8_t)sn_metric_kind_of(event->schema);
    if (kind == SN_METRIC_NONE)
        return SONDE_E_UNSUPPORTED;
    int rc = sn_field_map(event, rules, sizeof(rules) / sizeof(*rules), texts, &got);
    if (rc != SONDE_OK)
        return rc;
    if (has_instrument(kind) && (!got.meter[0] || !got.name[0]))
        return SONDE_E_FORMAT;
    take(&got, kind, ret_record);
    return SONDE_OK;
}

/* The piece that begins at `text`, or rather the comma behind it that a tag follows; NULL: it is
 * the last. */
static char *next_tag(char *text)
{
    for (char *comma = strchr(text, ','); comma; comma = strchr(comma + 1, ',')) {
        size_t piece = strcspn(comma + 1, ",");
        if (memchr(comma + 1, '=', piece))
            return comma;
    }
    return NULL;
}

size_t sn_metric_split_tags(char *text, struct sn_metric_tag *tags, size_t most)
{
    size_t count = 0;
    for (char *at = text; at && *at && count < most; count++) {
        char *comma = count + 1 < most ? next_tag(at) : NULL;
        if (comma)
            *comma = '\0';
        char *equals = strchr(at, '=');
        if (equals)
            *equals = '\0';
        tags[count] = (struct sn_metric_tag){.name = at, .value = equals ? equals + 1 : ""};
        at = comma ? comma + 1 : NULL;
    }
    return count;
}
