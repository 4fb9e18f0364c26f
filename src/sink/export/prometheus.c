/* A page with where every series stands, made when somebody asks for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/http_server.h"
#include "net/page_share.h"
#include "sink/export/export_series.h"
#include "sink/export/exporters.h"

struct prometheus {
    struct sn_exporter base;
    struct sn_http_server *server;   /* owns */
    struct sn_page_share *pages;     /* owns */
    struct sn_export_series *series; /* owns */
    const char *path;
    enum sn_export_names names;
};

static void take_point(struct sn_exporter *exporter, const struct sonde_point *point,
                       const struct sn_export_labels *labels)
{
    struct prometheus *prometheus = (struct prometheus *)exporter;
    (void)sn_export_series_put(prometheus->series, point, labels,
                               NULL); /* it counts what it cannot take */
}

static void answer_page(struct prometheus *prometheus, const struct sn_page_request *request,
                        struct sn_page_response *response)
{
    struct sn_prometheus_options options = {
        .names = prometheus->names,
        .openmetrics = sn_prometheus_wants_openmetrics(request->accept),
    };
    struct sonde_error err = {0};
    size_t count = 0;
    sn_export_series_expire(prometheus->series, sn_clock_monotonic_ns());
    const struct sn_export_row *rows = sn_export_series_rows(prometheus->series, &count);
    response->status = 200;
    response->content_type = sn_prometheus_content_type(&options);
    if (sn_prometheus_page(&options, rows, count, response->body, &err) != SONDE_OK) {
        sn_buf_clear(response->body);
        sn_buf_format(response->body, "%s\n", err.text);
        response->status = 500;
        response->content_type = "text/plain; charset=utf-8";
    } else
        prometheus->base.number_count += count;
}

static void make_page(void *user, const struct sn_page_request *request,
                      struct sn_page_response *response)
{
    struct prometheus *prometheus = user;
    if (strcmp(request->path, prometheus->path) == 0)
        answer_page(prometheus, request, response);
    else {
        response->status = strcmp(request->path, "/") == 0 ? 200 : 404;
        sn_buf_format(response->body, "sonde export: the metrics are at %s\n", prometheus->path);
    }
}

static void answer(void *user, struct sn_http_exchange *exchange)
{
    struct prometheus *prometheus = user;
    if (strcmp(sn_http_exchange_path(exchange), prometheus->path) == 0) {
        prometheus->base.asked_count++;
        prometheus->base.asked_utc_ns = sn_clock_utc_ns();
    }
    sn_page_share_answer(prometheus->pages, exchange);
}

static void flush(struct sn_exporter *exporter)
{
    struct prometheus *prometheus = (struct prometheus *)exporter;
    sn_export_series_expire(prometheus->series,
                            sn_clock_monotonic_ns()); /* also when nobody asks */
}

static void forget(struct sn_exporter *exporter, const struct sonde_process *process)
{
    sn_export_series_forget(((struct prometheus *)exporter)->series, process);
}

static int get_fd(const struct sn_exporter *exporter)
{
    return sn_http_server_fd(((const struct prometheus *)exporter)->server);
}

static int get_wait_ms(const struct sn_exporter *exporter)
{
    return sn_http_server_wait_ms(((const struct prometheus *)exporter)->server);
}

static int turn(struct sn_exporter *exporter, struct sonde_error *err)
{
    return sn_http_server_turn(((struct prometheus *)exporter)->server, err);
}

static void free_prometheus(struct sn_exporter *exporter)
{
    struct prometheus *prometheus = (struct prometheus *)exporter;
    if (!prometheus)
        return;
    sn_http_server_free(prometheus->server);
    sn_page_share_free(prometheus->pages);
    sn_export_series_free(prometheus->series);
    free(prometheus);
}

static int start(struct prometheus *prometheus, const char *listen, const char **ret_url,
                 struct sonde_error *err)
{
    static const struct sn_http_limits limits = {
        .connection_max = 64,
        .connection_max_of_one = 32, /* one address does not lock out the others */
        .body_max = 1024,            /* nobody has anything to send */
        .idle_max_ns = 30ull * SN_NS_PER_SECOND,
    };
    int rc = sn_page_share_new(NULL, make_page, prometheus, &prometheus->pages, err);
    if (rc == SONDE_OK)
        rc = sn_http_server_new(&limits, answer, prometheus, &prometheus->server, err);
    if (rc != SONDE_OK)
        return rc;
    return sn_http_server_listen(prometheus->server, &(struct sn_http_place){.address = listen},
                                 ret_url, err);
}

static int open_prometheus(struct sn_configuration *configuration,
                           const struct sn_settings *settings, struct sn_exporter **ret_exporter,
                           struct sonde_error *err)
{
    (void)configuration;
    struct prometheus *prometheus = calloc(1, sizeof(*prometheus));
    if (!prometheus)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an exporter");
    prometheus->path = sn_settings_text(settings, "path");
    prometheus->names = strcmp(sn_settings_text(settings, "names"), "otel") == 0
                            ? SN_NAMES_OTEL
                            : SN_NAMES_DOTNET_MONITOR;
    prometheus->series = sn_export_series_new(0);
    const char *url = "";
    int rc = prometheus->series ? start(prometheus, sn_settings_text(settings, "listen"), &url, err)
                                : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an exporter");
    if (rc != SONDE_OK) {
        free_prometheus(&prometheus->base);
        return rc;
    }
    (void)snprintf(prometheus->base.place, sizeof(prometheus->base.place), "%s%s", url,
                   prometheus->path);
    *ret_exporter = &prometheus->base;
    return SONDE_OK;
}

const struct sn_exporter_ops sn_prometheus_exporter = {
    .name = "prometheus",
    .open = open_prometheus,
    .point = take_point,
    .ended = forget,
    .flush = flush,
    .fd = get_fd,
    .wait_ms = get_wait_ms,
    .turn = turn,
    .free = free_prometheus,
};
