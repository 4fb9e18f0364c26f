#include "api/trace_output.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/schema.h"
#include "sink/archive/nettrace_archive.h"
#include "sonde/provider.h"
#include "source/ipc/eventpipe.h"

#define ROLL_RUNDOWN_TIMEOUT_NS (10ull * SN_NS_PER_SECOND)
#define ROLL_BUFFER_MB          64u

/* A rolled file that waits for its rundown. */
struct closing {
    struct sn_nettrace_archive *archive;
    uint64_t bytes_before; /* the rundown */
    struct sn_road *road;
    struct sn_source *source; /* borrows from the road */
};

/* Which event ids of a provider are kept. */
struct filter {
    char *provider;
    uint32_t *ids;
    size_t id_count;
    bool ids_are_excluded;
};

struct sn_trace_output {
    struct sn_loop *loop;
    struct sn_trace_output_options options;
    char *base_path;
    char *path; /* of the present file */
    int fd;     /* raw mode */
    bool is_new_file;
    struct sn_nettrace_archive *archive;
    struct closing closing;
    struct filter *filters;
    size_t filter_count;
    uint32_t file_count;
    bool has_stopped_rolling;
    uint32_t nameless_count; /* rolls whose rundown did not come whole */
    uint64_t event_count;
    uint64_t earlier_bytes; /* of files before the present one */
    uint64_t rundown_bytes; /* of the last roll: room to leave for the next one's */
    struct sonde_error err; /* why the sink broke */
};

/* --- names --- */

/* "trace.nettrace" rolls as "trace.0001.nettrace". The caller frees. */
static char *path_of(const struct sn_trace_output *output, uint32_t number)
{
    const char *base = output->base_path;
    if (!base)
        return NULL;
    if (!output->options.roll_bytes)
        return strdup(base);
    const char *dot = strrchr(base, '.');
    if (!dot || strchr(dot, '/'))
        dot = base + strlen(base);
    char *path = NULL;
    int length = asprintf(&path, "%.*s.%04" PRIu32 "%s", (int)(dot - base), base, number, dot);
    return length < 0 ? NULL : path;
}

static void drop_oldest(struct sn_trace_output *output)
{
    uint32_t keep = output->options.roll_keep;
    if (!keep || output->file_count <= keep)
        return;
    SN_AUTO(sn_free) char *path = path_of(output, output->file_count - keep);
    SN_AUTO(sn_free) char *companion = NULL;
    if (path)
        (void)unlink(path); /* it may have been taken away already */
    if (path && asprintf(&companion, "%s.cpu", path) >= 0)
        (void)unlink(companion);
}

/* --- filters --- */

static int copy_filter(struct filter *filter, const struct sonde_provider *provider,
                       struct sonde_error *err)
{
    filter->provider = strdup(provider->name);
    filter->ids = calloc(provider->id_count, sizeof(*filter->ids));
    if (!filter->provider || !filter->ids)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for event ids");
    memcpy(filter->ids, provider->ids, provider->id_count * sizeof(*filter->ids));
    filter->id_count = provider->id_count;
    filter->ids_are_excluded = provider->ids_are_excluded;
    return SONDE_OK;
}

static int copy_filters(struct sn_trace_output *output, struct sonde_error *err)
{
    const struct sn_trace_output_options *options = &output->options;
    output->filters = calloc(options->provider_count + 1, sizeof(*output->filters));
    if (!output->filters)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for event ids");
    for (size_t i = 0; i < options->provider_count; i++) {
        if (!options->providers[i].id_count)
            continue;
        int rc = copy_filter(&output->filters[output->filter_count++], &options->providers[i], err);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

static bool passes(const struct filter *filter, const struct sn_schema *schema)
{
    if (strcasecmp(filter->provider, schema->provider) != 0)
        return true;
    for (size_t i = 0; i < filter->id_count; i++) {
        if (filter->ids[i] == schema->event_id)
            return !filter->ids_are_excluded;
    }
    return filter->ids_are_excluded;
}

static bool is_kept(const struct sn_trace_output *output, const struct sn_schema *schema)
{
    for (size_t i = 0; i < output->filter_count; i++) {
        if (!passes(&output->filters[i], schema))
            return false;
    }
    return true;
}

/* --- rolls --- */

struct closing_sink {
    struct sn_sink sink;
    struct sn_trace_output *output; /* borrows */
};

static int write_rundown(struct sn_sink *sink, const struct sn_event *event)
{
    struct sn_trace_output *output = ((struct closing_sink *)sink)->output;
    return sn_nettrace_archive_event(output->closing.archive, event, &output->err);
}

static void free_plain(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops closing_ops = {
    .name = "rundown", .event = write_rundown, .free = free_plain};

/* A session that wants nothing and is stopped at once: the runtime still writes its rundown. */
static int fetch_rundown(struct sn_trace_output *output, struct sonde_error *err)
{
    static const struct sn_ipc_provider nothing = {.name = "Microsoft-DotNETCore-EventPipe",
                                                   .level = 1};
    static const struct sn_request everything = {0};
    struct closing *closing = &output->closing;
    int rc = sn_road_new(output->loop, NULL, &closing->road, err);
    if (rc != SONDE_OK)
        return rc;
    struct closing_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a rundown");
    *sink = (struct closing_sink){.sink.ops = &closing_ops, .output = output};
    rc = sn_road_subscribe(closing->road, &everything, &sink->sink, false, err);
    if (rc < 0)
        return rc;
    struct sn_eventpipe_options options = {
        .route = output->options.route,
        .wants = {.providers = &nothing,
                  .provider_count = 1,
                  .buffer_mb = ROLL_BUFFER_MB,
                  .rundown_keyword = output->options.rundown_keyword,
                  .stacks = true},
        .stop_timeout_ns = ROLL_RUNDOWN_TIMEOUT_NS,
        .stops_at_once = true};
    struct sn_source *source = NULL;
    rc = sn_eventpipe_new(&options, &source, err);
    if (rc == SONDE_OK)
        rc = sn_road_add_source(closing->road, source, err);
    if (rc == SONDE_OK)
        closing->source = source;
    return rc;
}

static void complete_closing(struct sn_trace_output *output)
{
    struct closing *closing = &output->closing;
    bool has_names = closing->source && closing->source->status == SONDE_OK &&
                     !sn_road_tracker(closing->road)->lost_count;
    if (output->options.rundown_keyword && !has_names)
        output->nameless_count++;
    (void)sn_nettrace_archive_finish(closing->archive, &output->err); /* told when the trace ends */
    uint64_t bytes = sn_nettrace_archive_bytes(closing->archive);
    output->earlier_bytes += bytes;
    output->rundown_bytes = bytes - closing->bytes_before;
    sn_nettrace_archive_free(closing->archive);
    sn_road_free(closing->road);
    output->closing = (struct closing){0};
}

static void roll(struct sn_trace_output *output)
{
    output->closing.bytes_before = sn_nettrace_archive_bytes(output->archive);
    output->closing.archive = SN_TAKE(output->archive);
    bool wants_rundown = output->options.rundown_keyword != 0;
    if (!wants_rundown || fetch_rundown(output, NULL) != SONDE_OK)
        complete_closing(output); /* without method names rather than not at all */
}

static int open_next(struct sn_trace_output *output)
{
    const struct sn_trace_output_options *options = &output->options;
    char *path = path_of(output, output->file_count + 1);
    if (!path)
        return sn_fail(&output->err, SONDE_E_NOMEM, 0, "no memory for a file name");
    free(output->path);
    output->path = path;
    output->file_count++;
    drop_oldest(output);
    return sn_nettrace_archive_open(output->path, options->version, options->info(options->user),
                                    &output->archive, &output->err);
}

/* --- the sink --- */

struct output_sink {
    struct sn_sink sink;
    struct sn_trace_output *output; /* borrows */
};

/* At most half of a file is left for its rundown, however long that is. */
static bool is_full(const struct sn_trace_output *output)
{
    uint64_t limit = output->options.roll_bytes;
    uint64_t room = output->rundown_bytes < limit / 2 ? output->rundown_bytes : limit / 2;
    return limit && !output->has_stopped_rolling &&
           sn_nettrace_archive_bytes(output->archive) >= limit - room;
}

static int write_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct sn_trace_output *output = ((struct output_sink *)sink)->output;
    if (!is_kept(output, event->schema)) {
        if (output->archive)
            (void)sn_nettrace_archive_skip(output->archive, event); /* leaves no gap; cannot fail */
        return SONDE_AGAIN;
    }
    int rc = output->archive ? SONDE_OK : open_next(output);
    if (rc == SONDE_OK)
        rc = sn_nettrace_archive_event(output->archive, event, &output->err);
    if (rc != SONDE_OK)
        return rc;
    output->event_count += event->schema != &sn_lost_schema;
    if (is_full(output) && !output->closing.archive)
        roll(output);
    return SONDE_OK;
}

static const struct sn_sink_ops output_ops = {
    .name = "trace file", .event = write_event, .free = free_plain};

int sn_trace_output_sink_new(struct sn_trace_output *output, struct sn_sink **ret_sink,
                             struct sonde_error *err)
{
    struct output_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a trace file");
    *sink = (struct output_sink){.sink.ops = &output_ops, .output = output};
    *ret_sink = &sink->sink;
    return SONDE_OK;
}

/* --- life --- */

/* In raw mode the file is there from the start; otherwise a try tells early that it cannot be
 * written. What stands in it is not touched before the first bytes come: the session may still be
 * refused. */
static int open_first(struct sn_trace_output *output, struct sonde_error *err)
{
    output->path = path_of(output, 1);
    if (!output->path)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a file name");
    output->is_new_file = access(output->path, F_OK) != 0;
    SN_AUTO(sn_close) int fd = -1;
    int rc = sn_file_create(output->path, &fd, err);
    if (rc == SONDE_OK && output->options.is_raw) {
        output->fd = sn_take_fd(&fd);
        output->file_count = 1;
    }
    return rc;
}

int sn_trace_output_new(struct sn_loop *loop, const struct sn_trace_output_options *options,
                        struct sn_trace_output **ret_output, struct sonde_error *err)
{
    struct sn_trace_output *output = calloc(1, sizeof(*output));
    if (!output)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a trace file");
    output->loop = loop;
    output->options = *options;
    output->fd = -1;
    output->base_path = strdup(options->path);
    int rc =
        output->base_path ? copy_filters(output, err) : sn_fail(err, SONDE_E_NOMEM, 0, "no memory");
    if (rc == SONDE_OK)
        rc = open_first(output, err);
    if (rc != SONDE_OK) {
        sn_trace_output_free(output);
        return rc;
    }
    output->options.path = NULL;
    output->options.providers = NULL;
    *ret_output = output;
    return SONDE_OK;
}

uint64_t sn_trace_output_bytes(const struct sn_trace_output *output)
{
    uint64_t bytes = output->earlier_bytes;
    if (output->archive)
        bytes += sn_nettrace_archive_bytes(output->archive);
    if (output->closing.archive)
        bytes += sn_nettrace_archive_bytes(output->closing.archive);
    return bytes;
}

void sn_trace_output_free(struct sn_trace_output *output)
{
    if (!output)
        return;
    if (output->is_new_file && !sn_trace_output_bytes(output))
        (void)unlink(output->path); /* nothing came: leave nothing behind */
    sn_nettrace_archive_free(output->closing.archive);
    sn_road_free(output->closing.road);
    sn_nettrace_archive_free(output->archive);
    sn_close(output->fd);
    for (size_t i = 0; i < output->filter_count; i++) {
        free(output->filters[i].provider);
        free(output->filters[i].ids);
    }
    free(output->filters);
    free(output->base_path);
    free(output->path);
    free(output);
}

int sn_trace_output_tap(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct sn_trace_output *output = user;
    if (!output->earlier_bytes)
        sn_file_truncate(output->fd);
    int rc = sn_file_write_all(output->fd, bytes, size, NULL);
    if (rc != SONDE_OK)
        return sn_fail(err, SONDE_E_SYSTEM, 0, "cannot write '%s'", output->path);
    output->earlier_bytes += size;
    return SONDE_OK;
}

void sn_trace_output_stop_rolling(struct sn_trace_output *output)
{
    output->has_stopped_rolling = true;
}

void sn_trace_output_tend(struct sn_trace_output *output)
{
    bool is_broken = output->err.status != SONDE_OK;
    if (is_broken)
        sn_trace_output_abandon(output);
    if (output->closing.archive && sn_road_is_done(output->closing.road))
        complete_closing(output);
}

void sn_trace_output_abandon(struct sn_trace_output *output)
{
    if (output->closing.source)
        sn_eventpipe_abandon(output->closing.source);
}

bool sn_trace_output_is_idle(const struct sn_trace_output *output)
{
    return !output->closing.archive;
}

int sn_trace_output_finish(struct sn_trace_output *output, struct sonde_error *err)
{
    bool has_nothing = !output->options.is_raw && !output->file_count && !output->err.status;
    if (has_nothing && output->options.info(output->options.user))
        (void)open_next(output); /* no event passed the filters: an empty trace, but a trace */
    int rc = output->archive ? sn_nettrace_archive_finish(output->archive, &output->err) : SONDE_OK;
    if (output->err.status)
        return sn_fail_because(err, &output->err, output->base_path);
    if (rc == SONDE_OK && output->nameless_count)
        return sn_fail(err, SONDE_E_TRUNCATED, 0,
                       "%" PRIu32 " of the rolled files lack method names", output->nameless_count);
    return rc;
}

uint64_t sn_trace_output_event_count(const struct sn_trace_output *output)
{
    return output->event_count;
}

uint32_t sn_trace_output_file_count(const struct sn_trace_output *output)
{
    return output->file_count;
}

const char *sn_trace_output_path(const struct sn_trace_output *output)
{
    return output->path;
}

bool sn_trace_output_file(const struct sn_trace_output *output, uint32_t number, char *to,
                          size_t size)
{
    uint32_t keep = output->options.roll_keep;
    uint32_t first = keep && output->file_count > keep ? output->file_count - keep + 1 : 1;
    if (number < first || number > output->file_count)
        return false;
    SN_AUTO(sn_free) char *path = path_of(output, number);
    int length = path ? snprintf(to, size, "%s", path) : -1;
    return length >= 0 && (size_t)length < size;
}
