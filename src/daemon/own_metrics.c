/* /api/v1/metrics: what the controller itself does and costs, for Prometheus. */

#include "base/buf.h"
#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/rest_call.h"
#include "daemon/roads.h"
#include "daemon/route.h"
#include "daemon/router.h"
#include "daemon/store_desk.h"
#include "daemon/topic.h"
#include "daemon/workers.h"
#include "net/http_server.h"
#include "sink/export/own_points.h"

static void put(struct sn_buf *to, const char *name, const char *type, const char *help,
                double value)
{
    sn_buf_format(to, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name,
                  value);
}

static void put_requests(struct sn_buf *to, const struct sn_router_numbers *numbers)
{
    sn_buf_text(to, "# HELP sonde_http_requests_total Requests answered, by status.\n"
                    "# TYPE sonde_http_requests_total counter\n");
    for (unsigned status = 0; status < 600; status++) {
        if (numbers->answered[status])
            sn_buf_format(to, "sonde_http_requests_total{status=\"%u\"} %llu\n", status,
                          (unsigned long long)numbers->answered[status]);
    }
    put(to, "sonde_http_request_seconds_total", "counter",
        "Time from asking to answering, of all requests.",
        (double)numbers->busy_ns / SN_NS_PER_SECOND);
    put(to, "sonde_http_requests_open", "gauge", "Requests under way.", numbers->open_count);
}

static void put_queues(struct sn_buf *to, struct sn_daemon *daemon)
{
    sn_buf_format(to,
                  "# HELP sonde_queue_waiting Tasks that wait for a thread.\n"
                  "# TYPE sonde_queue_waiting gauge\n"
                  "sonde_queue_waiting{thread=\"roads\"} %zu\n"
                  "sonde_queue_waiting{thread=\"workers\"} %zu\n",
                  sn_roads_waiting_count(daemon->roads), sn_workers_waiting_count(daemon->workers));
}

static void put_store(struct sn_buf *to, struct sn_store_desk *store)
{
    struct sn_store_health health;
    if (!store)
        return;
    sn_store_desk_health(store, &health);
    put(to, "sonde_store_bytes", "gauge", "What is kept.", (double)health.bytes);
    put(to, "sonde_store_dropped_points_total", "counter", "Points that could not be kept.",
        (double)health.dropped_count);
    put(to, "sonde_store_clamped_points_total", "counter",
        "Points whose time could not be: kept with the time they came at.",
        (double)health.clamped_count);
    put(to, "sonde_store_is_degraded", "gauge", "1 while the disk is full or broken.",
        health.is_degraded);
}

static void get_metrics(struct sn_rest_call *call)
{
    double cpu_seconds;
    uint64_t rss_bytes;
    struct sn_buf *to = &call->out;
    struct sn_daemon *daemon = call->daemon;
    sn_own_cost(&cpu_seconds, &rss_bytes);
    call->content_type = "text/plain; version=0.0.4; charset=utf-8";
    put_requests(to, sn_router_numbers(daemon->router));
    put(to, "sonde_http_connections", "gauge", "Connections that are open.",
        sn_http_server_connection_count(daemon->http));
    put(to, "sonde_streams", "gauge", "Readers of event streams.",
        sn_topics_stream_count(daemon->topics));
    put(to, "sonde_stream_lost_messages_total", "counter", "Messages that slow readers missed.",
        (double)sn_topics_lost_count(daemon->topics));
    put(to, "sonde_stream_unmade_messages_total", "counter",
        "Messages that were too large for their readers.",
        (double)sn_topics_unmade_count(daemon->topics));
    put_queues(to, daemon);
    put_store(to, daemon->store);
    put(to, "sonde_uptime_seconds", "gauge", "Since the start of the controller.",
        (double)(sn_clock_monotonic_ns() - daemon->start_ns) / SN_NS_PER_SECOND);
    put(to, "process_cpu_seconds_total", "counter", "Processor time of the controller.",
        cpu_seconds);
    put(to, "process_resident_memory_bytes", "gauge", "Memory of the controller.",
        (double)rss_bytes);
}

static const struct sn_response responses[] = {
    {200, "text/plain", NULL, "in Prometheus' text format"},
    {.status = 0},
};

const struct sn_route sn_own_metrics_routes[] = {
    {.method = "GET",
     .path = "/api/v1/metrics",
     .resource = "metrics",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_HTTP,
     .responses = responses,
     .summary = "metrics of the controller itself",
     .handle = get_metrics},
    {.method = NULL},
};
