/* A saved trace in other formats: one pass over it with a writing sink. */
#include "sonde/convert.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "api/event_frames.h"
#include "api/names_beside.h"
#include "api/options_in.h"
#include "api/profile_internal.h"
#include "api/walk.h"
#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/event_json.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/schema.h"
#include "sink/archive/nettrace_archive.h"

/* Reads the trace to its end. Damage is told as a cut is: all that is intact was written. */
static int run_to_end(struct sn_walk *walk, struct sonde_error *err)
{
    int rc = sn_walk_run(walk, NULL, NULL, err);
    if (rc != SONDE_OK || !sn_walk_counters(walk).damages)
        return rc;
    return sn_fail(err, SONDE_E_TRUNCATED, 0,
                   "'%s' is damaged, 'sonde report' says where; the rest was converted",
                   walk->path);
}

/* --- NDJSON --- */

struct line_sink {
    struct sn_sink sink;
    const struct sn_walk *walk; /* borrows */
    struct sonde_ndjson_options options;
    struct sn_writer writer;
    struct sn_stream stream;
    struct sn_event_json json;
    bool has_clock;
};

/* Losses are what every reader must know. */
static bool is_wanted(const struct line_sink *lines, const struct sn_schema *schema)
{
    const struct sonde_ndjson_options *options = &lines->options;
    if (schema == &sn_lost_schema)
        return true;
    return (!options->provider || strcasecmp(options->provider, schema->provider) == 0) &&
           (!options->name || strcmp(options->name, schema->name) == 0);
}

static int write_line(struct sn_sink *sink, const struct sn_event *event)
{
    struct line_sink *lines = (struct line_sink *)sink;
    if (!is_wanted(lines, event->schema))
        return SONDE_AGAIN;
    const struct sn_trace_info *info = lines->has_clock ? NULL : sn_walk_info(lines->walk);
    if (info) {
        sn_event_json_clock(&lines->json, info);
        lines->has_clock = true;
    }
    sn_event_json_write(&lines->json, event, &lines->stream.buf);
    sn_stream_settle(&lines->stream);
    return lines->stream.err.status;
}

static int finish_lines(struct sn_sink *sink, struct sonde_error *err)
{
    return sn_stream_finish(&((struct line_sink *)sink)->stream, err);
}

static void free_lines(struct sn_sink *sink)
{
    struct line_sink *lines = (struct line_sink *)sink;
    sn_stream_done(&lines->stream);
    sn_event_json_done(&lines->json);
    free(lines);
}

static const struct sn_sink_ops line_ops = {
    .name = "lines of JSON", .event = write_line, .finish = finish_lines, .free = free_lines};

/* NULL without memory. */
static struct line_sink *new_lines(const struct sn_walk *walk,
                                   const struct sonde_ndjson_options *options)
{
    struct line_sink *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return NULL;
    lines->sink.ops = &line_ops;
    lines->walk = walk;
    lines->options = *options;
    sn_stream_init(&lines->stream, sn_writer_write, &lines->writer);
    sn_event_json_init(&lines->json, lines->options.no_stacks);
    return lines;
}

static int write_lines(const char *path, const struct sonde_ndjson_options *options,
                       struct sn_event_frames *frames, struct sn_writer writer,
                       struct sonde_error *err)
{
    SN_AUTO(sn_walk_done) struct sn_walk walk;
    int rc = sn_walk_init(&walk, path, err);
    if (rc != SONDE_OK)
        return rc;
    struct line_sink *lines = new_lines(&walk, options);
    if (!lines)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    lines->writer = writer;
    if (frames)
        lines->json.owner = (struct sn_event_owner){.frame = sn_event_frames_name, .user = frames};
    rc = sn_walk_subscribe(&walk, &sn_everything, &lines->sink, false, err);
    return rc == SONDE_OK ? run_to_end(&walk, err) : rc;
}

int sonde_convert_ndjson(const char *path, const struct sonde_ndjson_options *options,
                         sonde_write_fn *write, void *user, struct sonde_error *err)
{
    SN_AUTO(sn_event_frames_free) struct sn_event_frames *frames = NULL;
    struct sonde_ndjson_options asked;
    int rc = sn_options_in(options, &asked, sizeof(asked), "NDJSON options", err);
    if (rc == SONDE_OK && !asked.no_stacks && !asked.addresses)
        rc = sn_event_frames_new(path, &frames, err);
    if (rc != SONDE_OK)
        return rc;
    return write_lines(path, &asked, frames, (struct sn_writer){.write = write, .user = user}, err);
}

/* --- NetTrace --- */

struct copy_sink {
    struct sn_sink sink;
    const struct sn_walk *walk; /* borrows */
    uint32_t version;
    const char *output;
    struct sn_nettrace_archive *archive;
    struct sonde_error err;
};

/* Only once the trace turns out to be one: a mistyped name must not cost a file. */
static int open_archive(struct copy_sink *copy)
{
    if (copy->version == 4 && !sn_walk_info(copy->walk)->pid)
        return sn_fail(&copy->err, SONDE_E_ARGUMENT, 0,
                       "NetTrace 4 has room for one process, a recording has many; write 6");
    return sn_nettrace_archive_open(copy->output, copy->version, sn_walk_info(copy->walk),
                                    &copy->archive, &copy->err);
}

static int copy_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct copy_sink *copy = (struct copy_sink *)sink;
    int rc = copy->archive ? SONDE_OK : open_archive(copy);
    return rc == SONDE_OK ? sn_nettrace_archive_event(copy->archive, event, &copy->err) : rc;
}

struct names_sink {
    struct sn_sink sink;
    struct copy_sink *copy; /* borrows */
};

static int copy_name(struct sn_sink *sink, const struct sn_event *event)
{
    return copy_event(&((struct names_sink *)sink)->copy->sink, event);
}

static void free_names_sink(struct sn_sink *sink)
{
    free(sink);
}

static struct sn_sink *new_names_sink(struct copy_sink *copy)
{
    static const struct sn_sink_ops ops = {
        .name = "names", .event = copy_name, .free = free_names_sink};
    struct names_sink *names = calloc(1, sizeof(*names));
    if (!names)
        return NULL;
    *names = (struct names_sink){.sink.ops = &ops, .copy = copy};
    return &names->sink;
}

/* What a rundown would have said: other readers of the copy know no file of names. */
static int finish_with_names(struct copy_sink *copy)
{
    SN_AUTO(sn_names_beside_close) struct sn_names_beside beside = {0};
    int rc = sn_names_beside_open(&beside, copy->walk->path, sn_walk_info(copy->walk), &copy->err);
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(&beside.walk, &sn_everything, new_names_sink(copy), false,
                               &copy->err);
    if (rc == SONDE_OK)
        rc = sn_names_beside_run(&beside, &copy->err);
    if (rc < 0 || copy->err.status)
        return copy->err.status;
    return sn_nettrace_archive_finish(copy->archive, &copy->err); /* while their kinds are there */
}

static int finish_copy(struct sn_sink *sink, struct sonde_error *err)
{
    struct copy_sink *copy = (struct copy_sink *)sink;
    if (!copy->err.status && !copy->archive && sn_walk_info(copy->walk))
        (void)open_archive(copy); /* a trace without events */
    if (!copy->err.status && copy->archive)
        (void)finish_with_names(copy);
    if (copy->err.status && err && !err->status)
        *err = copy->err; /* as it is: it tells what the system said already */
    return copy->err.status;
}

static void free_copy(struct sn_sink *sink)
{
    struct copy_sink *copy = (struct copy_sink *)sink;
    sn_nettrace_archive_free(copy->archive);
    free(copy);
}

static const struct sn_sink_ops copy_ops = {
    .name = "trace file", .event = copy_event, .finish = finish_copy, .free = free_copy};

static int write_copy(const char *path, uint32_t version, const char *output,
                      struct sonde_error *err)
{
    SN_AUTO(sn_walk_done) struct sn_walk walk;
    int rc = sn_walk_init(&walk, path, err);
    if (rc != SONDE_OK)
        return rc;
    struct copy_sink *copy = calloc(1, sizeof(*copy));
    if (!copy)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    *copy = (struct copy_sink){
        .sink.ops = &copy_ops, .walk = &walk, .version = version, .output = output};
    rc = sn_walk_subscribe(&walk, &sn_everything, &copy->sink, false, err);
    return rc == SONDE_OK ? run_to_end(&walk, err) : rc;
}

static bool is_same_file(const char *path, const char *other)
{
    struct stat a;
    struct stat b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int sonde_convert_nettrace(const char *path, uint32_t version, const char *output,
                           struct sonde_error *err)
{
    if (version != 4 && version != 6)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "NetTrace %u cannot be written, only 4 and 6",
                       version);
    if (is_same_file(path, output))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "'%s' is the trace itself; give another name for the copy", output);
    return write_copy(path, version, output, err);
}
