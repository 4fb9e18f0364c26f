/* Points as a service has them, for the tests of formatters. */
#ifndef SN_TEST_MADE_POINTS_H
#define SN_TEST_MADE_POINTS_H

#include <math.h>

#include "sink/export/formatters.h"

#define MADE_UTC_NS 1700000000500000000u

static const struct sonde_process made_process = {.pid = 4711,
                                                  .ns_pid = 1,
                                                  .uid = 1000,
                                                  .name = "shop",
                                                  .runtime = "10.0.1",
                                                  .user = "web",
                                                  .container = "1f2e3d4c5b6a",
                                                  .command_line = "",
                                                  .architecture = "x64",
                                                  .reason = "",
                                                  .fix = "",
                                                  .cookie = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};

static const struct sn_export_labels made_labels = {.process = &made_process, .host = "box"};

/* A gauge of a meter that has nothing but a name and a value. */
static inline struct sonde_point made_point(const char *name, double value)
{
    return (struct sonde_point){.pid = 4711,
                                .origin = SONDE_POINT_METER,
                                .kind = SONDE_POINT_GAUGE,
                                .provider = "Shop",
                                .version = "",
                                .name = name,
                                .display_name = name,
                                .unit = "",
                                .description = "",
                                .tag_text = "",
                                .time_ns = 5000000000u,
                                .utc_ns = MADE_UTC_NS,
                                .interval_ns = 1000000000u,
                                .value = value,
                                .rate = NAN,
                                .total = NAN,
                                .sum = NAN,
                                .min = NAN,
                                .max = NAN,
                                .deviation = NAN};
}

static inline struct sonde_point made_counter(const char *name, double value, double total)
{
    struct sonde_point point = made_point(name, value);
    point.kind = SONDE_POINT_RATE;
    point.rate = value / 2;
    point.total = total;
    return point;
}

static inline struct sonde_point made_event_counter(const char *name, const char *unit,
                                                    double value)
{
    struct sonde_point point = made_point(name, value);
    point.origin = SONDE_POINT_EVENT_COUNTER;
    point.kind = SONDE_POINT_MEAN;
    point.provider = "System.Runtime";
    point.unit = unit;
    point.count = 1;
    return point;
}

static const struct sonde_quantile made_quantiles[] = {{0.5, 0.25}, {0.95, 1.5}, {0.999, 3}};
static const struct sonde_tag made_tags[] = {{"http.route", "/orders/{id}"},
                                             {"http.request.method", "GET"}};

static inline struct sonde_point made_histogram(void)
{
    struct sonde_point point = made_point("http.server.request.duration", NAN);
    point.kind = SONDE_POINT_HISTOGRAM;
    point.provider = "Microsoft.AspNetCore.Hosting";
    point.version = "10.0";
    point.unit = "s";
    point.description = "Duration of HTTP server requests.";
    point.tags = made_tags;
    point.tag_count = 2;
    point.tag_text = "http.route=/orders/{id},http.request.method=GET";
    point.count = 12;
    point.sum = 4.5;
    point.rate = 12;
    point.quantiles = made_quantiles;
    point.quantile_count = 3;
    return point;
}

#endif
