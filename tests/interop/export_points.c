/* Made-up points through a formatter, for the programs that receive such things.
 *
 *   export_points graphite|pickle|paths|statsd|dogstatsd|prometheus|openmetrics|monitor|otlp
 * SECONDS
 *
 * SECONDS: since 1970, when they were measured. Two processes with a gauge, a negative gauge, a
 * counter, an up-down counter, a histogram and an EventCounter each; and names that try to break
 * out. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sink/export/export_series.h"
#include "sink/export/formatters.h"

#define OUTPUT_LIMIT (16u << 20)
#define LONG_SIZE    65535u

static const struct sonde_process processes[] = {
    {.pid = 100,
     .name = "shop",
     .runtime = "10.0.1",
     .user = "web",
     .container = "0123456789ab",
     .cookie = {1}},
    {.pid = 200, .name = "cash \"desk\"; 1\n", .runtime = "8.0.0", .user = "1000", .container = ""},
};

static const struct sonde_tag zone = {"zone", "eu-1"};

static const struct sonde_tag route[] = {{"http.route", "/orders/{id}"}, {"status", "200"}};
static const struct sonde_quantile quantiles[] = {{0.5, 0.25}, {0.95, 1.5}, {0.99, 3}};

static const char *const nasty[] = {
    "",
    "..",
    "../../../etc/passwd",
    "a b",
    "a\nfake 1 1700000000",
    "a\r\nb",
    "a;b=c",
    "a=b",
    "~tilde",
    "{x=\"y\"}",
    "a{b=\"",
    "\"}",
    "__name__",
    "quantile",
    "le",
    "# EOF",
    "#",
    "9",
    "a:1|c",
    "a|g|#b:c,d:e",
    "\\",
    "\\\"",
    "\xFF\xFE",
    "\xC3\xA9\xE2\x82\xAC",
    "\xE2\x80\xA8",
    "\x1B[2J",
    "name",
    "pid",
    "job",
    "a..b",
    ".a.",
    "%n%s",
    "$(reboot)",
    "\xE3\x80\x80",
    "a\tb",
};

#define NASTY_COUNT (sizeof(nasty) / sizeof(*nasty))

enum { GRAPHITE, STATSD, PROMETHEUS, OTLP };

static const struct {
    const char *name;
    int family;
    struct sn_graphite_options graphite;
    struct sn_statsd_options statsd;
    struct sn_prometheus_options prometheus;
} formats[] = {
    {.name = "graphite", .family = GRAPHITE, .graphite = {.prefix = "sonde"}},
    {.name = "pickle", .family = GRAPHITE, .graphite = {.prefix = "pickled", .pickle = true}},
    {.name = "paths", .family = GRAPHITE, .graphite = {.prefix = "plain", .no_tags = true}},
    {.name = "statsd", .family = STATSD, .statsd = {.prefix = "sonde"}},
    {.name = "dogstatsd", .family = STATSD, .statsd = {.prefix = "sonde", .tags = true}},
    {.name = "prometheus", .family = PROMETHEUS},
    {.name = "openmetrics", .family = PROMETHEUS, .prometheus = {.openmetrics = true}},
    {.name = "monitor", .family = PROMETHEUS, .prometheus = {.names = SN_NAMES_DOTNET_MONITOR}},
    {.name = "otlp", .family = OTLP},
};

static uint64_t utc_ns;

static struct sonde_point make(const struct sonde_process *process, int kind, const char *name)
{
    return (struct sonde_point){.pid = process->pid,
                                .origin = SONDE_POINT_METER,
                                .kind = kind,
                                .provider = "Shop",
                                .version = "1.2",
                                .name = name,
                                .display_name = name,
                                .unit = "",
                                .description = "",
                                .tag_text = "",
                                .time_ns = 1,
                                .utc_ns = utc_ns,
                                .interval_ns = 1000000000u,
                                .value = NAN,
                                .rate = NAN,
                                .total = NAN,
                                .sum = NAN,
                                .min = NAN,
                                .max = NAN,
                                .deviation = NAN};
}

static void put(struct sn_export_series *series, const struct sonde_process *process,
                const struct sonde_point *point)
{
    const struct sn_export_labels labels = {
        .process = process, .host = "box", .extra = &zone, .extra_count = 1};
    if (sn_export_series_put(series, point, &labels, NULL))
        abort();
}

static void put_numbers(struct sn_export_series *series, const struct sonde_process *process)
{
    struct sonde_point gauge = make(process, SONDE_POINT_GAUGE, "queue.length");
    gauge.value = 7.5;
    gauge.unit = "{item}";
    put(series, process, &gauge);
    struct sonde_point balance = make(process, SONDE_POINT_GAUGE, "balance");
    balance.value = -2.25;
    put(series, process, &balance);
    struct sonde_point orders = make(process, SONDE_POINT_RATE, "orders");
    orders.value = 3;
    orders.rate = 3;
    orders.total = 1234567890123;
    orders.is_absolute = true;
    put(series, process, &orders);
    struct sonde_point open = make(process, SONDE_POINT_UP_DOWN, "connections");
    open.value = -1;
    open.total = 4;
    put(series, process, &open);
    struct sonde_point working_set = make(process, SONDE_POINT_MEAN, "working-set");
    working_set.origin = SONDE_POINT_EVENT_COUNTER;
    working_set.provider = "System.Runtime";
    working_set.version = "";
    working_set.unit = "MB";
    working_set.value = 81.5;
    working_set.count = 1;
    put(series, process, &working_set);
}

/* Twice, as over two intervals. */
static void put_histogram(struct sn_export_series *series, const struct sonde_process *process)
{
    struct sonde_point duration = make(process, SONDE_POINT_HISTOGRAM, "request.duration");
    duration.unit = "s";
    duration.description = "How long requests take.";
    duration.tags = route;
    duration.tag_count = 2;
    duration.tag_text = "http.route=/orders/{id},status=200";
    duration.count = 10;
    duration.sum = 5.5;
    duration.quantiles = quantiles;
    duration.quantile_count = 3;
    put(series, process, &duration);
    put(series, process, &duration);
}

/* Each as a name, a unit, a tag's name and its value; of every kind. */
static void put_nasty(struct sn_export_series *series, const struct sonde_process *process,
                      const char *text)
{
    const struct sonde_tag tags[] = {{text, "x"}, {"t", text}};
    for (int kind = SONDE_POINT_GAUGE; kind <= SONDE_POINT_HISTOGRAM; kind++) {
        struct sonde_point point = make(process, kind, text);
        point.provider = kind == SONDE_POINT_MEAN ? text : "Nasty";
        point.origin = kind == SONDE_POINT_MEAN ? SONDE_POINT_EVENT_COUNTER : SONDE_POINT_METER;
        point.unit = kind == SONDE_POINT_RATE ? text : "";
        point.description = text;
        point.tags = tags;
        point.tag_count = 2;
        point.tag_text = text;
        point.value = point.total = point.rate = 1;
        point.count = 1;
        point.sum = 1;
        point.quantiles = quantiles;
        point.quantile_count = 3;
        put(series, process, &point);
    }
}

static void put_all(struct sn_export_series *series)
{
    for (size_t i = 0; i < 2; i++) {
        put_numbers(series, &processes[i]);
        put_histogram(series, &processes[i]);
    }
    for (size_t i = 0; i < NASTY_COUNT; i++)
        put_nasty(series, &processes[1], nasty[i]);
    static char endless[LONG_SIZE + 1];
    memset(endless, 'x', LONG_SIZE);
    put_nasty(series, &processes[1], endless);
}

static void put_graphite(const struct sn_graphite_options *options,
                         const struct sn_export_row *rows, size_t count, struct sn_buf *to)
{
    size_t start = sn_graphite_begin(options, to);
    for (size_t i = 0; i < count; i++)
        (void)sn_graphite_point(options, rows[i].point, rows[i].labels, to);
    (void)sn_graphite_number(options, "events.gc.pause", rows[0].labels, 12.5, utc_ns, to);
    sn_graphite_end(options, start, to);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    (void)setlocale(LC_ALL, ""); /* it must not matter */
    utc_ns = strtoull(argv[2], NULL, 10) * 1000000000u;
    struct sn_export_series *series = sn_export_series_new(0);
    if (!series)
        return 1;
    put_all(series);
    size_t count;
    const struct sn_export_row *rows = sn_export_series_rows(series, &count);
    struct sn_buf to = sn_buf_with_limit(OUTPUT_LIMIT);
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        if (strcmp(formats[i].name, argv[1]) != 0)
            continue;
        if (formats[i].family == GRAPHITE)
            put_graphite(&formats[i].graphite, rows, count, &to);
        for (size_t row = 0; formats[i].family == STATSD && row < count; row++)
            (void)sn_statsd_point(&formats[i].statsd, rows[row].point, rows[row].labels, &to);
        if (formats[i].family == PROMETHEUS)
            (void)sn_prometheus_page(&formats[i].prometheus, rows, count, &to, NULL);
        if (formats[i].family == OTLP)
            (void)sn_otlp_message(rows, count, utc_ns - 1000000000u, &to, NULL);
    }
    bool is_fine = !to.failed && to.size && fwrite(to.bytes, to.size, 1, stdout) == 1;
    sn_buf_done(&to);
    sn_export_series_free(series);
    return is_fine ? 0 : 1;
}
