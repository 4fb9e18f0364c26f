/* Events of EventCounters and of System.Diagnostics.Metrics as runtimes declare and write them, for
 * tests and fuzz targets. */
#ifndef SN_TEST_COUNTER_BYTES_H
#define SN_TEST_COUNTER_BYTES_H

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "model/event.h"
#include "model/schema.h"

#define PLAIN(name, type)      \
    {                          \
        name, type, 0, 0, NULL \
    }
#define OBJECT(name, kids)                                            \
    {                                                                 \
        name, SN_TYPE_OBJECT, 0, sizeof(kids) / sizeof(*(kids)), kids \
    }

static const struct sn_field mean_fields[] = {
    PLAIN("Name", SN_TYPE_STRING16),     PLAIN("DisplayName", SN_TYPE_STRING16),
    PLAIN("Mean", SN_TYPE_F64),          PLAIN("StandardDeviation", SN_TYPE_F64),
    PLAIN("Count", SN_TYPE_I32),         PLAIN("Min", SN_TYPE_F64),
    PLAIN("Max", SN_TYPE_F64),           PLAIN("IntervalSec", SN_TYPE_F32),
    PLAIN("Series", SN_TYPE_STRING16),   PLAIN("CounterType", SN_TYPE_STRING16),
    PLAIN("Metadata", SN_TYPE_STRING16), PLAIN("DisplayUnits", SN_TYPE_STRING16),
};
static const struct sn_field mean_payload[] = {OBJECT("Payload", mean_fields)};
static const struct sn_field mean_event[] = {OBJECT("", mean_payload)};

static const struct sn_field sum_fields[] = {
    PLAIN("Name", SN_TYPE_STRING16),
    PLAIN("DisplayName", SN_TYPE_STRING16),
    PLAIN("DisplayRateTimeScale", SN_TYPE_STRING16),
    PLAIN("Increment", SN_TYPE_F64),
    PLAIN("IntervalSec", SN_TYPE_F32),
    PLAIN("Metadata", SN_TYPE_STRING16),
    PLAIN("Series", SN_TYPE_STRING16),
    PLAIN("CounterType", SN_TYPE_STRING16),
    PLAIN("DisplayUnits", SN_TYPE_STRING16),
};
static const struct sn_field sum_payload[] = {OBJECT("Payload", sum_fields)};
static const struct sn_field sum_event[] = {OBJECT("", sum_payload)};

static const struct sn_schema mean_schema __attribute__((unused)) = {.provider = "System.Runtime",
                                                                     .name = "EventCounters",
                                                                     .event_id = 157,
                                                                     .has_layout = true,
                                                                     .field_count = 1,
                                                                     .fields = mean_event};
static const struct sn_schema sum_schema __attribute__((unused)) = {.provider = "System.Runtime",
                                                                    .name = "EventCounters",
                                                                    .event_id = 156,
                                                                    .has_layout = true,
                                                                    .field_count = 1,
                                                                    .fields = sum_event};

#define INSTRUMENT                                                              \
    PLAIN("sessionId", SN_TYPE_STRING16), PLAIN("meterName", SN_TYPE_STRING16), \
        PLAIN("meterVersion", SN_TYPE_STRING16), PLAIN("instrumentName", SN_TYPE_STRING16)

static const struct sn_field counter_fields[] = {
    INSTRUMENT,
    PLAIN("unit", SN_TYPE_STRING16),
    PLAIN("tags", SN_TYPE_STRING16),
    PLAIN("rate", SN_TYPE_STRING16),
    PLAIN("value", SN_TYPE_STRING16),
    PLAIN("instrumentId", SN_TYPE_I32),
};
static const struct sn_field gauge_fields[] = {
    INSTRUMENT,
    PLAIN("unit", SN_TYPE_STRING16),
    PLAIN("tags", SN_TYPE_STRING16),
    PLAIN("lastValue", SN_TYPE_STRING16),
    PLAIN("instrumentId", SN_TYPE_I32),
};
static const struct sn_field histogram_fields[] = {
    INSTRUMENT,
    PLAIN("unit", SN_TYPE_STRING16),
    PLAIN("tags", SN_TYPE_STRING16),
    PLAIN("quantiles", SN_TYPE_STRING16),
    PLAIN("count", SN_TYPE_I32),
    PLAIN("sum", SN_TYPE_F64),
    PLAIN("instrumentId", SN_TYPE_I32),
};
static const struct sn_field exponential_fields[] = {
    INSTRUMENT,
    PLAIN("instrumentId", SN_TYPE_I32),
    PLAIN("unit", SN_TYPE_STRING16),
    PLAIN("tags", SN_TYPE_STRING16),
    PLAIN("scale", SN_TYPE_I32),
    PLAIN("sum", SN_TYPE_F64),
    PLAIN("count", SN_TYPE_I64),
    PLAIN("zeroCount", SN_TYPE_I64),
    PLAIN("minimum", SN_TYPE_F64),
    PLAIN("maximum", SN_TYPE_F64),
    PLAIN("buckets", SN_TYPE_STRING16),
};
static const struct sn_field begin_fields[] = {
    INSTRUMENT,
    PLAIN("instrumentType", SN_TYPE_STRING16),
    PLAIN("unit", SN_TYPE_STRING16),
    PLAIN("description", SN_TYPE_STRING16),
    PLAIN("instrumentTags", SN_TYPE_STRING16),
    PLAIN("meterTags", SN_TYPE_STRING16),
    PLAIN("meterScopeHash", SN_TYPE_STRING16),
    PLAIN("instrumentId", SN_TYPE_I32),
    PLAIN("meterTelemetrySchemaUrl", SN_TYPE_STRING16),
};
static const struct sn_field collection_fields[] = {
    PLAIN("sessionId", SN_TYPE_STRING16),
    PLAIN("intervalStartTime", SN_TYPE_FILETIME),
    PLAIN("intervalEndTime", SN_TYPE_FILETIME),
};
static const struct sn_field session_fields[] = {PLAIN("sessionId", SN_TYPE_STRING16)};
static const struct sn_field running_fields[] = {PLAIN("runningSessionId", SN_TYPE_STRING16)};
static const struct sn_field error_fields[] = {PLAIN("sessionId", SN_TYPE_STRING16),
                                               PLAIN("errorMessage", SN_TYPE_STRING16)};
static const struct sn_field settings_fields[] = {
    PLAIN("clientId", SN_TYPE_STRING16),
    PLAIN("expectedMaxHistograms", SN_TYPE_STRING16),
    PLAIN("actualMaxHistograms", SN_TYPE_STRING16),
    PLAIN("expectedMaxTimeSeries", SN_TYPE_STRING16),
    PLAIN("actualMaxTimeSeries", SN_TYPE_STRING16),
    PLAIN("expectedRefreshInterval", SN_TYPE_STRING16),
    PLAIN("actualRefreshInterval", SN_TYPE_STRING16),
};
static const struct sn_field message_fields[] = {PLAIN("Message", SN_TYPE_STRING16)};
static const struct sn_field version_fields[] = {
    PLAIN("Major", SN_TYPE_I32), PLAIN("Minor", SN_TYPE_I32), PLAIN("Patch", SN_TYPE_I32)};

#define METRIC(id, word, list)                             \
    [id] = {.provider = "System.Diagnostics.Metrics",      \
            .name = word,                                  \
            .event_id = id,                                \
            .has_layout = true,                            \
            .field_count = sizeof(list) / sizeof(*(list)), \
            .fields = list}

/* By their ids, which are stable. */
static const struct sn_schema metric_schemas[] __attribute__((unused)) = {
    METRIC(1, "Message", message_fields),
    METRIC(2, "CollectionStart", collection_fields),
    METRIC(3, "CollectionStop", collection_fields),
    METRIC(4, "CounterRateValuePublished", counter_fields),
    METRIC(5, "GaugeValuePublished", gauge_fields),
    METRIC(6, "HistogramValuePublished", histogram_fields),
    METRIC(7, "BeginInstrumentReporting", begin_fields),
    METRIC(8, "EndInstrumentReporting", begin_fields),
    METRIC(9, "Error", error_fields),
    METRIC(10, "InitialInstrumentEnumerationComplete", session_fields),
    METRIC(11, "InstrumentPublished", begin_fields),
    METRIC(12, "TimeSeriesLimitReached", session_fields),
    METRIC(13, "HistogramLimitReached", session_fields),
    METRIC(14, "ObservableInstrumentCallbackError", error_fields),
    METRIC(15, "MultipleSessionsNotSupportedError", running_fields),
    METRIC(16, "UpDownCounterRateValuePublished", counter_fields),
    METRIC(17, "MultipleSessionsConfiguredIncorrectlyError", settings_fields),
    METRIC(18, "Version", version_fields),
    METRIC(19, "Base2ExponentialHistogramValuePublished", exponential_fields),
};

static inline void put_text16(struct sn_buf *to, const char *text)
{
    sn_text_to_utf16(to, text, strlen(text));
    sn_buf_u16(to, 0);
}

static inline void put_f64(struct sn_buf *to, double value)
{
    sn_buf_append(to, &value, sizeof(value));
}

static inline void put_f32(struct sn_buf *to, float value)
{
    sn_buf_append(to, &value, sizeof(value));
}

static inline struct sn_event event_over(const struct sn_schema *schema, const void *bytes,
                                         size_t size)
{
    return (struct sn_event){
        .schema = schema, .pointer_size = 8, .payload = bytes, .payload_size = (uint32_t)size};
}

#endif
