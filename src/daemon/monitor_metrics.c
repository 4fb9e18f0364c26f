/* /metrics: a page for Prometheus. As dotnet-monitor it shows the default process without labels,
 * as that does; otherwise every process, told apart by labels. */
#include <stdlib.h>

#include "base/own.h"
#include "daemon/daemon.h"
#include "daemon/monitor_tables.h"
#include "daemon/process_filter.h"
#include "daemon/rest_call.h"
#include "daemon/roads.h"
#include "sink/export/formatters.h"
#include "sonde/counters.h"

static bool is_there(const struct sonde_watched *watched)
{
    return watched->phase != SONDE_CONSUMER_ENDED;
}

/* 0: there is none, or it is not clear which. */
static uint32_t find_default(const struct sn_rest_call *call, const struct sonde_counters *counters)
{
    uint32_t pid = 0;
    unsigned count = 0;
    for (size_t i = 0; i < sonde_counters_process_count(counters); i++) {
        struct sonde_watched watched;
        sonde_counters_process(counters, i, &watched);
        if (!is_there(&watched) || !sn_process_filter_holds(call->daemon->options, watched.process))
            continue;
        pid = watched.process->pid;
        count++;
    }
    return count == 1 ? pid : 0;
}

/* Rows of points, those of one process after another. */
static size_t fill_rows(const struct sonde_counters *counters, const struct sonde_point *points,
                        size_t count, struct sn_export_row *rows, struct sn_export_labels *labels)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct sonde_watched watched;
        if (!sonde_counters_find(counters, points[i].pid, &watched) || !is_there(&watched))
            continue;
        labels[used] = (struct sn_export_labels){.process = watched.process};
        rows[used] = (struct sn_export_row){.point = &points[i], .labels = &labels[used]};
        used++;
    }
    return used;
}

static size_t fill_plain(const struct sonde_point *points, size_t count, struct sn_export_row *rows)
{
    static const struct sn_export_labels none = {0};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (points[i].origin != SONDE_POINT_KERNEL)
            rows[used++] = (struct sn_export_row){.point = &points[i], .labels = &none};
    }
    return used;
}

static int put_page(struct sn_rest_call *call, struct sonde_counters *counters,
                    struct sonde_error *err)
{
    const struct sonde_point *points = NULL;
    size_t count = 0;
    bool is_plain = call->daemon->options->is_dotnet_monitor;
    uint32_t pid = is_plain ? find_default(call, counters) : 0;
    const struct sn_prometheus_options options = {.names = SN_NAMES_DOTNET_MONITOR,
                                                  .with_times = is_plain};
    if (is_plain && !pid) {
        sn_buf_text(&call->out, "# there is no process, or several: DefaultProcess says which\n");
        return SONDE_OK;
    }
    int rc = sonde_counters_latest(counters, pid, &points, &count, err);
    SN_AUTO(sn_free) struct sn_export_row *rows = calloc(count + 1, sizeof(*rows));
    SN_AUTO(sn_free) struct sn_export_labels *labels = calloc(count + 1, sizeof(*labels));
    if (rc != SONDE_OK || !rows || !labels)
        return rc != SONDE_OK ? rc : SONDE_E_NOMEM;
    size_t used = is_plain ? fill_plain(points, count, rows)
                           : fill_rows(counters, points, count, rows, labels);
    return sn_prometheus_page(&options, rows, used, &call->out, err);
}

static void get_metrics(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sonde_counters *counters = sn_roads_counters(call->daemon->roads);
    if (!counters) {
        sn_rest_problem(call, 400, "Metrics was not enabled.");
        return;
    }
    call->content_type = "text/plain; version=0.0.4";
    if (put_page(call, counters, &err) != SONDE_OK)
        sn_rest_failed(call, &err);
}

static const struct sn_response responses[] = {
    {200, "text/plain; version=0.0.4", NULL, "the page"},
    {400, "application/problem+json", "Problem", "counters are switched off"},
    {0}};

const struct sn_route sn_monitor_metrics_routes[] = {
    {.method = "GET",
     .path = "/metrics",
     .resource = "metrics",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_ROADS,
     .responses = responses,
     .summary = "counters in Prometheus' text format",
     .share_ns = SN_ROUTE_MOMENT_NS,
     .handle = get_metrics},
    {0}};
