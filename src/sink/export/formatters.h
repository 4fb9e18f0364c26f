/* Points as the bytes that receivers understand: pure functions, no I/O, no state but what is
 * passed in. Names and tags come from targets: each function escapes them for its own format.
 * Numbers are never written by locale; what is not finite is left out where the format has no word
 * for it. */
#ifndef SN_EXPORT_FORMATTERS_H
#define SN_EXPORT_FORMATTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/counters.h"

/* How points are called. */
enum sn_export_names {
    SN_NAMES_OTEL = 0,      /* OpenTelemetry's: http_server_request_duration_seconds */
    SN_NAMES_DOTNET_MONITOR /* systemruntime_cpu_usage_ratio */
};

/* Labels besides the point's own tags. Everything is borrowed. */
struct sn_export_labels {
    const struct sonde_process *process; /* pid, name, user, container; NULL: none of them */
    const char *host;                    /* "" or NULL: none */
    const struct sonde_tag *extra;       /* of the configuration */
    size_t extra_count;
};

/* --- Graphite: "prefix.provider.name.field;tag=value 1.5 1700000000\n" --- */

struct sn_graphite_options {
    const char *prefix; /* "sonde"; "" or NULL: none */
    bool no_tags;       /* labels become parts of the path instead */
    bool pickle;        /* length-prefixed pickles (port 2004) instead of lines */
};

/* Opens a message and returns where it begins in `to`; nothing is written for lines. Carbon takes
 * pickles of up to 1 MiB: end one and begin the next well before that, say at 256 KiB. */
size_t sn_graphite_begin(const struct sn_graphite_options *options, struct sn_buf *to);

/* Appends every number of the point that its kind has and that is finite. Returns how many. */
size_t sn_graphite_point(const struct sn_graphite_options *options, const struct sonde_point *point,
                         const struct sn_export_labels *labels, struct sn_buf *to);

/* One number under a path of its own, whose dots stay: rules that send fields of raw events.
 * False: it is not finite. */
bool sn_graphite_number(const struct sn_graphite_options *options, const char *path,
                        const struct sn_export_labels *labels, double value, uint64_t utc_ns,
                        struct sn_buf *to);

/* Closes the message that begins at `start`. */
void sn_graphite_end(const struct sn_graphite_options *options, size_t start, struct sn_buf *to);

/* --- StatsD --- */

struct sn_statsd_options {
    const char *prefix;
    bool tags; /* DogStatsD's |#tag:value; otherwise labels become parts of the name */
};

/* Gauges as |g, what was added in the interval as |c. Returns how many lines were appended. Those
 * of one point belong into one datagram: a negative gauge is set to zero by the line before it. */
size_t sn_statsd_point(const struct sn_statsd_options *options, const struct sonde_point *point,
                       const struct sn_export_labels *labels, struct sn_buf *to);

/* --- what whole messages are made of --- */

/* Of a series since the watching began. .NET tells histograms, and the increments of counters, by
 * the interval: export_series.h adds them up. */
struct sn_export_totals {
    uint64_t start_ns; /* since 1970: when it began, or began anew; 0: with all others */
    double added;      /* of a rate */
    double told;       /* the total that its last point told; NAN */
    double sum;        /* of a histogram */
    uint64_t count;    /* of a histogram */
};

/* One point with its labels. */
struct sn_export_row {
    const struct sonde_point *point;
    const struct sn_export_labels *labels;
    const struct sn_export_totals *totals; /* NULL: what the point itself has */
};

/* --- Prometheus text 0.0.4 and OpenMetrics 1.0 --- */

struct sn_prometheus_options {
    enum sn_export_names names;
    bool openmetrics;
    bool with_times; /* behind each value but a summary's, in milliseconds, as dotnet-monitor */
};

/* The whole page: families with HELP and TYPE, each once, whatever the order of `rows`; no series
 * twice. Without timestamps, unless asked for: what is there holds now, and a series that is left
 * out is stale.
 * SONDE_E_NOMEM; SONDE_E_LIMIT: `to` is full. */
int sn_prometheus_page(const struct sn_prometheus_options *options,
                       const struct sn_export_row *rows, size_t count, struct sn_buf *to,
                       struct sonde_error *err);

const char *sn_prometheus_content_type(const struct sn_prometheus_options *options);

/* Whether what a scraper sends as Accept asks for OpenMetrics. */
bool sn_prometheus_wants_openmetrics(const char *accept);

/* --- OTLP: an ExportMetricsServiceRequest, protobuf --- */

/* One resource a process, one scope a meter or provider. `start_ns`: since 1970, when the watching
 * began, for rows whose totals do not say it. Statuses as above. */
int sn_otlp_message(const struct sn_export_row *rows, size_t count, uint64_t start_ns,
                    struct sn_buf *to, struct sonde_error *err);

#endif
