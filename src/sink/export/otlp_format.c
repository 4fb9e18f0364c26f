/* OTLP metrics: an ExportMetricsServiceRequest of opentelemetry-proto, version 1. */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/guid_text.h"
#include "base/own.h"
#include "base/protobuf.h"
#include "sink/export/export_labels.h"
#include "sink/export/export_text.h"
#include "sink/export/export_totals.h"
#include "sink/export/formatters.h"

#define COOKIE_SIZE 16u
#define TEXT_LIMIT  (16u << 10) /* broken UTF-8 triples in length */

/* Numbers of fields, by message. */
enum { REQUEST_RESOURCE_METRICS = 1 };
enum { RESOURCE_METRICS_RESOURCE = 1, RESOURCE_METRICS_SCOPE_METRICS = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_INT = 3 };
enum { SCOPE_METRICS_SCOPE = 1, SCOPE_METRICS_METRICS = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum { METRIC_NAME = 1, METRIC_DESCRIPTION = 2, METRIC_UNIT = 3 };
enum { SUM_TEMPORALITY = 2, SUM_IS_MONOTONIC = 3 };
enum { SHAPE_POINTS = 1, POINT_START = 2, POINT_TIME = 3, POINT_ATTRIBUTES = 7 };
enum { NUMBER_DOUBLE = 4 };
enum { SUMMARY_COUNT = 4, SUMMARY_SUM = 5, SUMMARY_QUANTILES = 6 };
enum { QUANTILE_AT = 1, QUANTILE_VALUE = 2 };

enum { TEMPORALITY_DELTA = 1, TEMPORALITY_CUMULATIVE = 2 };

/* What a metric is, in the order in which a scope has them. */
enum shape {
    GAUGE,
    TOTAL,   /* a sum that only grows, since the beginning */
    DELTA,   /* the same by the interval, where no total is known */
    UP_DOWN, /* a sum that goes both ways */
    SUMMARY,
};

static const unsigned shape_fields[] = {5, 7, 7, 7, 11};

struct item {
    const struct sn_export_row *row;
    const struct sonde_point *point;
    enum shape shape;
    double value;
};

struct message {
    struct sn_buf *to;
    struct sn_buf text;
    uint64_t start_ns;
};

/* --- texts and attributes --- */

static void put_text(struct message *message, unsigned field, const char *text)
{
    sn_buf_clear(&message->text);
    sn_export_valid(&message->text, text);
    if (message->text.size)
        sn_protobuf_bytes(message->to, field, message->text.bytes, message->text.size);
}

static size_t open_attribute(struct message *message, unsigned field, const char *key)
{
    size_t opened = sn_protobuf_open(message->to, field);
    put_text(message, KEY_VALUE_KEY, key);
    return opened;
}

static void put_attribute(struct message *message, unsigned field, const char *key,
                          const char *value)
{
    if (!value || !*value)
        return;
    size_t attribute = open_attribute(message, field, key);
    size_t any = sn_protobuf_open(message->to, KEY_VALUE_VALUE);
    put_text(message, ANY_STRING, value);
    sn_protobuf_close(message->to, any);
    sn_protobuf_close(message->to, attribute);
}

static void put_number_attribute(struct message *message, const char *key, uint64_t value)
{
    size_t attribute = open_attribute(message, RESOURCE_ATTRIBUTES, key);
    size_t any = sn_protobuf_open(message->to, KEY_VALUE_VALUE);
    sn_protobuf_varint(message->to, ANY_INT, value);
    sn_protobuf_close(message->to, any);
    sn_protobuf_close(message->to, attribute);
}

/* --- the resource: a process --- */

/* Unless the configuration says otherwise. */
static void put_fact(struct message *message, const struct sn_export_labels *labels,
                     const char *key, const char *value)
{
    for (size_t i = 0; i < labels->extra_count; i++) {
        if (strcmp(labels->extra[i].name, key) == 0)
            return;
    }
    put_attribute(message, RESOURCE_ATTRIBUTES, key, value);
}

/* The runtime's own id of this instance, or what the kernel knows it by: a pid that is given again
 * is another instance. */
static void put_instance(struct message *message, const struct sn_export_labels *labels)
{
    static const uint8_t none[COOKIE_SIZE];
    const struct sonde_process *process = labels->process;
    const char *host = labels->host ? labels->host : "";
    char text[320];
    if (memcmp(process->cookie, none, COOKIE_SIZE) != 0)
        (void)sn_guid_write(process->cookie, text);
    else if (process->start_ticks)
        (void)snprintf(text, sizeof(text), "%.255s%s%" PRIu32 "-%" PRIu64, host, host[0] ? "-" : "",
                       process->pid, process->start_ticks);
    else
        return;
    put_fact(message, labels, "service.instance.id", text);
}

static void put_process(struct message *message, const struct sn_export_labels *labels)
{
    const struct sonde_process *process = labels->process;
    put_fact(message, labels, "service.name", process->name);
    put_instance(message, labels);
    put_fact(message, labels, "process.owner", process->user);
    put_fact(message, labels, "container.id", process->container);
    put_fact(message, labels, "process.runtime.name", ".NET");
    put_fact(message, labels, "process.runtime.version", process->runtime);
}

static void put_resource(struct message *message, const struct item *item)
{
    const struct sn_export_labels *labels = item->row->labels;
    size_t resource = sn_protobuf_open(message->to, RESOURCE_METRICS_RESOURCE);
    if (labels->process)
        put_process(message, labels);
    put_number_attribute(message, "process.pid", item->point->pid);
    put_fact(message, labels, "host.name", labels->host);
    for (size_t i = 0; i < labels->extra_count; i++)
        put_attribute(message, RESOURCE_ATTRIBUTES, labels->extra[i].name, labels->extra[i].value);
    sn_protobuf_close(message->to, resource);
}

/* --- points --- */

static void put_tags(struct message *message, const struct sonde_point *point)
{
    static const struct sn_label_rules rules = {
        .put_name = sn_export_valid, .put_value = sn_export_valid, .reserved = "", .joiner = ";"};
    SN_AUTO(sn_label_set_done) struct sn_label_set set;
    if (!sn_label_set_init(&set, &rules, point, &(struct sn_export_labels){0}))
        return; /* more than a megabyte of them */
    for (size_t i = 0; i < set.count; i++)
        put_attribute(message, POINT_ATTRIBUTES, set.items[i].name, set.items[i].value);
}

/* When what is told began; 0: before the watching, nobody knows when. */
static uint64_t start_of(const struct message *message, const struct item *item)
{
    const struct sonde_point *point = item->point;
    if (item->shape == DELTA)
        return point->utc_ns > point->interval_ns ? point->utc_ns - point->interval_ns : 0;
    if (point->is_absolute)
        return 0;
    const struct sn_export_totals *totals = item->row->totals;
    return totals && totals->start_ns ? totals->start_ns : message->start_ns;
}

static void put_times(struct message *message, const struct item *item)
{
    uint64_t start = item->shape == GAUGE ? 0 : start_of(message, item);
    if (start)
        sn_protobuf_fixed64(message->to, POINT_START, start);
    sn_protobuf_fixed64(message->to, POINT_TIME, item->point->utc_ns);
}

static void put_quantiles(struct message *message, const struct sonde_point *point)
{
    for (size_t i = 0; i < point->quantile_count; i++) {
        const struct sonde_quantile *quantile = &point->quantiles[i];
        if (!(quantile->at >= 0 && quantile->at <= 1) || !isfinite(quantile->value))
            continue;
        size_t opened = sn_protobuf_open(message->to, SUMMARY_QUANTILES);
        sn_protobuf_double(message->to, QUANTILE_AT, quantile->at);
        sn_protobuf_double(message->to, QUANTILE_VALUE, quantile->value);
        sn_protobuf_close(message->to, opened);
    }
}

static void put_summary(struct message *message, const struct item *item)
{
    struct sn_export_totals totals = sn_export_histogram_totals(item->row);
    sn_protobuf_fixed64(message->to, SUMMARY_COUNT, totals.count);
    sn_protobuf_double(message->to, SUMMARY_SUM, isfinite(totals.sum) ? totals.sum : 0);
    put_quantiles(message, item->point);
}

static void put_point(struct message *message, const struct item *item)
{
    size_t opened = sn_protobuf_open(message->to, SHAPE_POINTS);
    put_times(message, item);
    if (item->shape == SUMMARY)
        put_summary(message, item);
    else
        sn_protobuf_double(message->to, NUMBER_DOUBLE, item->value);
    put_tags(message, item->point);
    sn_protobuf_close(message->to, opened);
}

/* --- metrics --- */

/* EventCounters are called in short and have units of their own; OpenTelemetry's are UCUM's. */
static const char *unit_of(const struct sonde_point *point)
{
    if (point->origin != SONDE_POINT_EVENT_COUNTER)
        return point->unit;
    if (strcmp(point->unit, "MB") == 0)
        return "MBy";
    return strcmp(point->unit, "B") == 0 ? "By" : point->unit;
}

static void put_name(struct message *message, const struct sonde_point *point)
{
    sn_buf_clear(&message->text);
    if (point->origin == SONDE_POINT_EVENT_COUNTER && *point->provider) {
        sn_export_valid(&message->text, point->provider);
        sn_buf_u8(&message->text, '.');
    }
    sn_export_valid(&message->text, *point->name ? point->name : "unnamed");
    sn_protobuf_bytes(message->to, METRIC_NAME, message->text.bytes, message->text.size);
}

static void put_metric(struct message *message, const struct item *items, size_t count)
{
    const struct sonde_point *point = items->point;
    enum shape shape = items->shape;
    size_t metric = sn_protobuf_open(message->to, SCOPE_METRICS_METRICS);
    put_name(message, point);
    put_text(message, METRIC_DESCRIPTION,
             *point->description ? point->description : point->display_name);
    put_text(message, METRIC_UNIT, unit_of(point));
    size_t body = sn_protobuf_open(message->to, shape_fields[shape]);
    for (size_t i = 0; i < count; i++)
        put_point(message, &items[i]);
    if (shape == TOTAL || shape == DELTA || shape == UP_DOWN)
        sn_protobuf_varint(message->to, SUM_TEMPORALITY,
                           shape == DELTA ? TEMPORALITY_DELTA : TEMPORALITY_CUMULATIVE);
    if (shape == TOTAL || shape == DELTA)
        sn_protobuf_varint(message->to, SUM_IS_MONOTONIC, 1);
    sn_protobuf_close(message->to, body);
    sn_protobuf_close(message->to, metric);
}

/* --- rows, sorted into metrics of scopes of processes --- */

static int by_process(const void *a, const void *b)
{
    uint32_t left = ((const struct item *)a)->point->pid;
    uint32_t right = ((const struct item *)b)->point->pid;
    return (left > right) - (left < right);
}

static int by_scope(const void *a, const void *b)
{
    const struct sonde_point *left = ((const struct item *)a)->point;
    const struct sonde_point *right = ((const struct item *)b)->point;
    int order = by_process(a, b);
    if (!order)
        order = strcmp(left->provider, right->provider);
    return order ? order : strcmp(left->version, right->version);
}

static int by_metric(const void *a, const void *b)
{
    const struct item *left = a;
    const struct item *right = b;
    int order = by_scope(a, b);
    if (!order)
        order = left->point->origin - right->point->origin;
    if (!order)
        order = strcmp(left->point->name, right->point->name);
    if (!order)
        order = strcmp(left->point->unit, right->point->unit);
    return order ? order : (int)left->shape - (int)right->shape;
}

/* How many items from the first on are equal to it. */
static size_t run_of(const struct item *items, size_t count,
                     int (*compare)(const void *a, const void *b))
{
    size_t length = 1;
    while (length < count && compare(items, items + length) == 0)
        length++;
    return length;
}

static void put_scope(struct message *message, const struct item *items, size_t count)
{
    size_t metrics = sn_protobuf_open(message->to, RESOURCE_METRICS_SCOPE_METRICS);
    size_t scope = sn_protobuf_open(message->to, SCOPE_METRICS_SCOPE);
    put_text(message, SCOPE_NAME, items->point->provider);
    put_text(message, SCOPE_VERSION, items->point->version);
    sn_protobuf_close(message->to, scope);
    for (size_t i = 0, length; i < count; i += length) {
        length = run_of(items + i, count - i, by_metric);
        put_metric(message, items + i, length);
    }
    sn_protobuf_close(message->to, metrics);
}

static void put_resource_metrics(struct message *message, const struct item *items, size_t count)
{
    size_t opened = sn_protobuf_open(message->to, REQUEST_RESOURCE_METRICS);
    put_resource(message, items);
    for (size_t i = 0, length; i < count; i += length) {
        length = run_of(items + i, count - i, by_scope);
        put_scope(message, items + i, length);
    }
    sn_protobuf_close(message->to, opened);
}

/* False: the row has nothing to tell. */
static bool make_item(const struct sn_export_row *row, struct item *ret_item)
{
    const struct sonde_point *point = row->point;
    struct item item = {.row = row, .point = point, .shape = GAUGE, .value = point->value};
    if (point->kind == SONDE_POINT_HISTOGRAM) {
        item.shape = SUMMARY;
        item.value = 0;
    } else if (point->kind == SONDE_POINT_UP_DOWN) {
        item.shape = UP_DOWN;
        item.value = point->total;
    } else if (point->kind == SONDE_POINT_RATE) {
        double total = sn_export_total(row);
        item.shape = isnan(total) ? DELTA : TOTAL;
        item.value = isnan(total) ? point->value : total;
    }
    *ret_item = item;
    bool has_fallen = item.shape == DELTA && item.value < 0; /* what it says it never does */
    return isfinite(item.value) && !has_fallen;
}

int sn_otlp_message(const struct sn_export_row *rows, size_t count, uint64_t start_ns,
                    struct sn_buf *to, struct sonde_error *err)
{
    SN_AUTO(sn_free) struct item *items = calloc(count ? count : 1, sizeof(*items));
    if (!items)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a message of %zu points", count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        kept += make_item(&rows[i], &items[kept]);
    qsort(items, kept, sizeof(*items), by_metric);
    struct message message = {
        .to = to, .text = sn_buf_with_limit(TEXT_LIMIT), .start_ns = start_ns};
    for (size_t i = 0, length; i < kept; i += length) {
        length = run_of(items + i, kept - i, by_process);
        put_resource_metrics(&message, items + i, length);
    }
    sn_buf_done(&message.text);
    if (to->failed)
        return sn_fail(err, SONDE_E_LIMIT, 0, "no room for a message of %zu points", kept);
    return 0;
}
