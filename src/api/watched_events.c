/* Events of one watched process: records of EventCounters and meters become readings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/event_internal.h"
#include "api/watched.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "model/event.h"
#include "sink/aggregate/counter_decode.h"
#include "sink/aggregate/metric_decode.h"

#define INSTRUMENT_MAX 4096u

/* The runtime polls once right after the start: that is no interval. */
#define WHOLE_INTERVAL_NS (50ull * SN_NS_PER_MS)

/* How long counters are held back for meters of the same name that may yet be told of. Since .NET 9
 * every runtime says when it has told of all; before, one without meters says nothing. */
#define HOLD_MOST_NS       (5ull * SN_NS_PER_SECOND)
#define HOLD_MOST_NET_8_NS (500ull * SN_NS_PER_MS)

/* From the first values of a young process until its meters are asked for: where everything takes
 * longer, its start does as well. */
#define SETTLE_NS (3500ull * SN_NS_PER_MS)

static enum sn_points_told flush(struct sn_watched *watched)
{
    const struct sn_watching *common = watched->common;
    bool is_first = watched->stage == SN_WATCHED_FIRST;
    enum sn_points_told told = sn_point_series_flush(&watched->series, common->interval_ns,
                                                     is_first, common->take, common->user);
    if (told > watched->told)
        watched->told = told;
    return told;
}

static void answered(struct sn_watched *watched, uint64_t interval_ns)
{
    if (interval_ns < WHOLE_INTERVAL_NS)
        return;
    watched->interval_ns = interval_ns;
    watched->heard_ns = sn_clock_monotonic_ns();
    if (watched->answered_ns)
        return;
    watched->answered_ns = watched->heard_ns;
    if (!watched->has_meters_asked && watched->old_ns < watched->answered_ns + SETTLE_NS)
        watched->old_ns = watched->answered_ns + SETTLE_NS;
}

static void set_time(struct sn_reading *reading, const struct sonde_event *event)
{
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    reading->time_ns = info.time_ns;
    reading->utc_ns = info.utc_ns;
}

/* --- EventCounters --- */

/* Two names may have one hash: somebody made them. */
bool sn_watched_has_meter(const struct sn_watched *watched, const char *name)
{
    const uint64_t *place = sn_table_find(&watched->meters, sn_text_hash(0, name));
    return place && *place && strcmp((const char *)(uintptr_t)*place, name) == 0;
}

/* A meter of the same name would take its place. Before .NET 9 the runtime itself has none. */
static bool is_held(const struct sn_watched *watched, const char *provider)
{
    unsigned long major = strtoul(watched->sight.process.runtime, NULL, 10); /* 0: not known */
    bool is_before_9 = major && major < 9;
    uint64_t most_ns = is_before_9 ? HOLD_MOST_NET_8_NS : HOLD_MOST_NS;
    if (watched->is_enumerated || !watched->has_meters_asked ||
        (is_before_9 && strcmp(provider, "System.Runtime") == 0))
        return false;
    return sn_clock_monotonic_ns() < watched->stage_ns + most_ns &&
           sn_counter_specs_prefer_meter(&watched->common->specs, provider);
}

/* "k:v,k:v" as tags are written, in place. */
static const char *as_tags(char *metadata)
{
    bool is_name = true;
    for (char *at = metadata; *at; at++) {
        if (*at == ',') {
            is_name = true;
        } else if (*at == ':' && is_name) {
            *at = '=';
            is_name = false;
        }
    }
    return metadata;
}

static int kind_of_counter(const struct sn_counter_record *record)
{
    if (record->is_sum)
        return SONDE_POINT_RATE;
    return record->is_one_value ? SONDE_POINT_GAUGE : SONDE_POINT_MEAN;
}

static int take_counter(struct sn_watched *watched, const struct sonde_event *event)
{
    struct sn_watching *common = watched->common;
    const char *provider = event->event->schema->provider;
    struct sn_counter_record record;
    if (sn_watched_has_meter(watched, provider) &&
        sn_counter_specs_prefer_meter(&common->specs, provider))
        return SONDE_AGAIN;
    if (sn_counter_decode(event->event, &common->texts, &record) != SONDE_OK ||
        !sn_counter_specs_want_counter(&common->specs, provider, record.name))
        return SONDE_AGAIN;
    struct sn_reading reading = {
        .origin = SONDE_POINT_EVENT_COUNTER,
        .kind = kind_of_counter(&record),
        .provider = provider,
        .version = "",
        .name = record.name,
        .display_name = record.display_name,
        .unit = record.unit,
        .description = "",
        .tag_text = as_tags((char *)record.metadata),
        .interval_ns = record.interval_ns,
        .value = record.is_sum ? record.increment : record.mean,
        .total = NAN,
        .count = record.count,
        .sum = NAN,
        .min = record.min,
        .max = record.max,
        .deviation = record.deviation,
    };
    set_time(&reading, event);
    reading.is_held = is_held(watched, provider);
    (void)sn_point_series_add(&watched->series, &reading);
    if (reading.is_held)
        return SONDE_OK;
    answered(watched, record.interval_ns);
    (void)flush(watched);
    return SONDE_OK;
}

/* --- instruments --- */

static uint64_t instrument_key(const struct sn_metric_record *record)
{
    return sn_text_hash(sn_text_hash(0, record->meter), record->name);
}

static struct sn_instrument *find_instrument(const struct sn_watched *watched,
                                             const struct sn_metric_record *record)
{
    const uint64_t *place = sn_table_find(&watched->instrument_places, instrument_key(record));
    struct sn_instrument *found = place ? &watched->instruments[*place] : NULL;
    bool is_same =
        found && strcmp(found->meter, record->meter) == 0 && strcmp(found->name, record->name) == 0;
    return is_same ? found : NULL;
}

static const char *keep(struct sn_watched *watched, const char *text)
{
    return sn_arena_copy(&watched->instrument_texts, text, strlen(text));
}

/* NULL: there is no room, and it goes without description. */
static struct sn_instrument *add_instrument(struct sn_watched *watched,
                                            const struct sn_metric_record *record)
{
    struct sn_instrument *room =
        watched->instrument_count < INSTRUMENT_MAX
            ? sn_array_room(watched->instruments, watched->instrument_count,
                            &watched->instrument_capacity, sizeof(*room))
            : NULL;
    if (!room)
        return NULL;
    watched->instruments = room;
    struct sn_instrument made = {.meter = keep(watched, record->meter),
                                 .name = keep(watched, record->name),
                                 .description = keep(watched, record->description)};
    bool is_whole = made.meter && made.name && made.description;
    uint64_t *place =
        is_whole ? sn_table_put(&watched->instrument_places, instrument_key(record)) : NULL;
    if (!place)
        return NULL;
    *place = watched->instrument_count++;
    room[*place] = made;
    return &room[*place];
}

/* A meter answers: the EventSource of its name is not listened to any more, unless by its prefix.
 */
static void meet_meter(struct sn_watched *watched, const char *meter)
{
    if (sn_watched_has_meter(watched, meter))
        return;
    uint64_t *place = sn_table_put(&watched->meters, sn_text_hash(0, meter));
    if (place && !*place)
        *place = (uint64_t)(uintptr_t)keep(watched, meter);
    if (sn_counter_specs_prefer_meter(&watched->common->specs, meter))
        sn_point_series_forget(&watched->series, SONDE_POINT_EVENT_COUNTER, meter);
}

static void begin_instrument(struct sn_watched *watched, const struct sn_metric_record *record)
{
    struct sn_instrument *instrument = find_instrument(watched, record);
    if (!instrument)
        instrument = add_instrument(watched, record);
    if (instrument)
        instrument->is_observable = strncmp(record->type, "Observable", 10) == 0;
    meet_meter(watched, record->meter);
}

/* --- values of meters --- */

static int kind_of_metric(uint8_t kind)
{
    switch (kind) {
    case SN_METRIC_COUNTER: return SONDE_POINT_RATE;
    case SN_METRIC_UP_DOWN: return SONDE_POINT_UP_DOWN;
    case SN_METRIC_GAUGE: return SONDE_POINT_GAUGE;
    default: return SONDE_POINT_HISTOGRAM;
    }
}

static bool is_absolute(struct sn_watched *watched, const struct sn_metric_record *record)
{
    struct sn_instrument *instrument = find_instrument(watched, record);
    if (!instrument)
        instrument = add_instrument(watched, record);
    if (instrument && isnan(record->increment))
        instrument->is_observable = true; /* others always have something added */
    return instrument && instrument->is_observable;
}

static const char *description_of(const struct sn_watched *watched,
                                  const struct sn_metric_record *record)
{
    const struct sn_instrument *instrument = find_instrument(watched, record);
    return instrument ? instrument->description : "";
}

static int take_value(struct sn_watched *watched, const struct sonde_event *event,
                      const struct sn_metric_record *record)
{
    bool is_gauge = record->kind == SN_METRIC_GAUGE;
    bool is_counted = record->kind == SN_METRIC_COUNTER || record->kind == SN_METRIC_UP_DOWN;
    struct sonde_quantile quantiles[SN_METRIC_QUANTILE_MAX];
    for (size_t i = 0; i < record->quantile_count; i++)
        quantiles[i] = (struct sonde_quantile){record->quantiles[i].at, record->quantiles[i].value};
    if (!watched->collection_ns ||
        !sn_counter_specs_want_meter(&watched->common->specs, record->meter, record->name))
        return SONDE_AGAIN;
    if ((is_gauge || is_counted) && isnan(record->value))
        return SONDE_AGAIN; /* nothing was measured: its callback failed */
    struct sn_reading reading = {
        .origin = SONDE_POINT_METER,
        .kind = kind_of_metric(record->kind),
        .provider = record->meter,
        .version = record->version,
        .name = record->name,
        .display_name = "",
        .unit = record->unit,
        .is_absolute = is_counted && is_absolute(watched, record),
        .description = description_of(watched, record),
        .tag_text = record->tags,
        .interval_ns = watched->collection_ns,
        .collection = watched->collection,
        .value = is_gauge ? record->value : record->increment,
        .total = is_counted ? record->value : NAN,
        .count = record->count,
        .sum = record->sum,
        .min = record->min,
        .max = record->max,
        .deviation = NAN,
        .quantiles = quantiles,
        .quantile_count = record->quantile_count,
    };
    set_time(&reading, event);
    watched->has_rates_later |= reading.kind == SONDE_POINT_RATE && isnan(reading.value);
    meet_meter(watched, record->meter);
    (void)sn_point_series_add(&watched->series, &reading);
    return SONDE_OK;
}

/* --- other things that meters tell --- */

static void begin_collection(struct sn_watched *watched, const struct sn_metric_record *record)
{
    (void)flush(watched); /* the end of the one before may have been lost */
    watched->collection++;
    watched->collection_ns =
        record->end_ns > record->start_ns ? record->end_ns - record->start_ns : 0;
}

static void end_collection(struct sn_watched *watched)
{
    /* Another client may ask for shorter intervals than we do: several make one of ours. */
    if (flush(watched) != SN_POINTS_KEPT)
        watched->collected_count++;
    if (watched->collection_ns)
        answered(watched, watched->collection_ns);
}

/* The first line is what people need; the rest is a stack. */
static void say(char to[192], const char *what, const char *text)
{
    (void)snprintf(to, 192, "%s%.*s", what, (int)strcspn(text, "\r\n"), text);
}

static int take_metric(struct sn_watched *watched, const struct sonde_event *event)
{
    struct sn_metric_record record;
    if (sn_metric_decode(event->event, &watched->common->texts, &record) != SONDE_OK)
        return SONDE_AGAIN;
    switch (record.kind) {
    case SN_METRIC_COLLECTION_START: begin_collection(watched, &record); break;
    case SN_METRIC_COLLECTION_STOP: end_collection(watched); break;
    case SN_METRIC_COUNTER:
    case SN_METRIC_UP_DOWN:
    case SN_METRIC_GAUGE:
    case SN_METRIC_HISTOGRAM:
    case SN_METRIC_EXPONENTIAL: return take_value(watched, event, &record);
    case SN_METRIC_BEGIN:
        if (sn_counter_specs_want_meter(&watched->common->specs, record.meter, record.name))
            begin_instrument(watched, &record);
        break;
    case SN_METRIC_ENUMERATED:
        watched->is_enumerated = true;
        sn_point_series_release(&watched->series);
        (void)flush(watched);
        break;
    case SN_METRIC_SERIES_LIMIT: watched->is_series_limited = true; break;
    case SN_METRIC_HISTOGRAM_LIMIT: watched->is_histogram_limited = true; break;
    case SN_METRIC_ERROR: say(watched->mistake, "the meters failed: ", record.text); break;
    case SN_METRIC_CALLBACK_ERROR:
        say(watched->mistake, "an instrument's callback failed: ", record.text);
        break;
    default: return SONDE_AGAIN;
    }
    return SONDE_OK;
}

int sn_watched_event(void *user, struct sonde_event *event)
{
    struct sn_watched *watched = user;
    const struct sn_schema *schema = event->event->schema;
    if (sn_counter_is_record(schema))
        return take_counter(watched, event);
    return sn_metric_kind_of(schema) ? take_metric(watched, event) : SONDE_AGAIN;
}

void sn_watched_restart(struct sn_watched *watched)
{
    watched->collection_ns = 0;
    watched->collected_count = 0;
    watched->has_rates_later = false;
    watched->is_series_limited = false;
    watched->is_histogram_limited = false;
}
