/* The latest values as a page for Prometheus: on standard output, or in a file that is replaced as
 * a whole, as node_exporter's textfile collector wants it. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/counters_views.h"
#include "cli/out_file.h"
#include "sink/export/export_series.h"
#include "sink/export/formatters.h"

#define PAGE_LIMIT (256u << 20)

/* .NET tells what was added by the interval: a page wants where it stands since the watching began,
 * so every point is taken, not only the last before a page. */
static void take(void *user, const struct sonde_point *point)
{
    struct sn_counters_prometheus *prometheus = user;
    struct sn_export_labels labels = {.process =
                                          sn_counters_process_of(prometheus->run, point->pid)};
    if (prometheus->series && labels.process)
        (void)sn_export_series_put(prometheus->series, point, &labels, NULL); /* or it counts it */
}

/* Of one that ended nothing holds any more, also when its pid has come back. */
static bool is_running(const struct sn_counters_run *run, const struct sonde_process *process)
{
    struct sonde_watched watched;
    return run->source->ops->find(run->source, process->pid, &watched) &&
           watched.phase != SONDE_CONSUMER_ENDED &&
           watched.process->start_ticks == process->start_ticks;
}

static int make_page(const struct sn_counters_prometheus *prometheus, struct sn_buf *to,
                     struct sonde_error *err)
{
    static const struct sn_prometheus_options options = {.names = SN_NAMES_OTEL};
    size_t count = 0;
    size_t kept = 0;
    sn_export_series_expire(prometheus->series, sn_clock_monotonic_ns());
    const struct sn_export_row *all = sn_export_series_rows(prometheus->series, &count);
    SN_AUTO(sn_free) struct sn_export_row *rows = calloc(count + 1, sizeof(*rows));
    if (!rows)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a page of values");
    for (size_t i = 0; i < count; i++) {
        if (is_running(prometheus->run, all[i].labels->process))
            rows[kept++] = all[i];
    }
    return sn_prometheus_page(&options, rows, kept, to, err);
}

static int replace_file(const char *path, struct sn_buf *page, struct sonde_error *err)
{
    static const char *const no_inputs[] = {NULL};
    SN_AUTO(sn_out_file_close) struct sn_out_file file;
    int rc = sn_out_file_open(&file, path, no_inputs, err);
    if (rc == SONDE_OK)
        rc = sn_out_file_write(&file, page->bytes, page->size, err);
    if (rc == SONDE_OK)
        rc = sn_out_file_finish(&file, err);
    return rc;
}

static int tick(struct sn_counters_run *run, void *user, struct sonde_error *err)
{
    const struct sn_counters_prometheus *prometheus = user;
    SN_AUTO(sn_buf_done) struct sn_buf page = sn_buf_with_limit(PAGE_LIMIT);
    (void)run;
    int rc = make_page(prometheus, &page, err);
    if (rc != SONDE_OK)
        return rc;
    if (prometheus->path)
        return replace_file(prometheus->path, &page, err);
    return sn_counters_put(STDOUT_FILENO, &page, err);
}

/* What was the latest when it ended is what stays. */
static int show(struct sn_counters_run *run, void *user, struct sonde_error *err)
{
    struct sn_counters_prometheus *prometheus = user;
    prometheus->run = run;
    prometheus->series = sn_export_series_new(0);
    if (!prometheus->series)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for values");
    int rc = sn_counters_each_interval(run, NULL, tick, err);
    sn_export_series_free(SN_TAKE(prometheus->series));
    return rc;
}

const struct sn_counters_view sn_counters_prometheus_view = {.take = take, .show = show};
