/* Where every series stands, once a round, to an OpenTelemetry collector over HTTP. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/url.h"
#include "sink/export/export_series.h"
#include "sink/export/exporters.h"

#define MESSAGE_LIMIT (64u << 20)
#define ROWS_PER_SEND 2000u /* in one request: collectors refuse very large ones */

struct otlp {
    struct sn_exporter base;
    struct sn_sender *sender;        /* owns */
    struct sn_export_series *series; /* owns */
    struct sn_buf message;
    uint64_t start_ns; /* since 1970 */
    bool has_news;
};

static void take_point(struct sn_exporter *exporter, const struct sonde_point *point,
                       const struct sn_export_labels *labels)
{
    struct otlp *otlp = (struct otlp *)exporter;
    if (sn_export_series_put(otlp->series, point, labels, NULL) == SONDE_OK)
        otlp->has_news = true;
}

static void send_rows(struct otlp *otlp, const struct sn_export_row *rows, size_t count)
{
    sn_buf_clear(&otlp->message);
    if (sn_otlp_message(rows, count, otlp->start_ns, &otlp->message, NULL) != SONDE_OK)
        return;
    otlp->base.number_count += count;
    (void)sn_sender_put(otlp->sender, otlp->message.bytes, otlp->message.size, count);
}

static void flush(struct sn_exporter *exporter)
{
    struct otlp *otlp = (struct otlp *)exporter;
    size_t count = 0;
    if (!otlp->has_news)
        return;
    otlp->has_news = false;
    sn_export_series_expire(otlp->series, sn_clock_monotonic_ns());
    const struct sn_export_row *rows = sn_export_series_rows(otlp->series, &count);
    for (size_t at = 0; at < count; at += ROWS_PER_SEND)
        send_rows(otlp, rows + at, count - at < ROWS_PER_SEND ? count - at : ROWS_PER_SEND);
}

/* Its last numbers still go out. */
static void forget(struct sn_exporter *exporter, const struct sonde_process *process)
{
    flush(exporter);
    sn_export_series_forget(((struct otlp *)exporter)->series, process);
}

static void get_state(struct sn_exporter *exporter, struct sn_sender_state *ret_state)
{
    sn_sender_state(((struct otlp *)exporter)->sender, ret_state);
}

static void free_otlp(struct sn_exporter *exporter)
{
    struct otlp *otlp = (struct otlp *)exporter;
    if (!otlp)
        return;
    sn_sender_free(otlp->sender, 0);
    sn_export_series_free(otlp->series);
    sn_buf_done(&otlp->message);
    free(otlp);
}

static int start_sender(struct otlp *otlp, struct sn_configuration *configuration,
                        const struct sn_settings *settings, struct sonde_error *err)
{
    struct sn_sender_options options = sn_exporter_sender_options(settings, "url");
    options.content_type = "application/x-protobuf";
    options.headers = sn_settings_list(configuration, settings, "header", &options.header_count);
    options.ca_file =
        sn_settings_has(settings, "ca-file") ? sn_settings_text(settings, "ca-file") : NULL;
    if (!options.headers || !otlp->series)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an exporter");
    return sn_sender_new(&options, &otlp->sender, err);
}

static int open_otlp(struct sn_configuration *configuration, const struct sn_settings *settings,
                     struct sn_exporter **ret_exporter, struct sonde_error *err)
{
    struct otlp *otlp = calloc(1, sizeof(*otlp));
    if (!otlp)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an exporter");
    otlp->series = sn_export_series_new(0);
    otlp->message = sn_buf_with_limit(MESSAGE_LIMIT);
    otlp->start_ns = sn_clock_utc_ns();
    (void)sn_url_shown(sn_settings_text(settings, "url"), otlp->base.place);
    int rc = start_sender(otlp, configuration, settings, err);
    if (rc != SONDE_OK) {
        free_otlp(&otlp->base);
        return rc;
    }
    *ret_exporter = &otlp->base;
    return SONDE_OK;
}

const struct sn_exporter_ops sn_otlp_exporter = {
    .name = "otlp",
    .open = open_otlp,
    .point = take_point,
    .ended = forget,
    .flush = flush,
    .waits_for_round = true,
    .state = get_state,
    .free = free_otlp,
};
