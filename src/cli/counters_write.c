/* Points into a file or a pipe as they come. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/counters_views.h"

#define BUFFER_LIMIT (64u << 20)

int sn_counters_put(int fd, struct sn_buf *buffer, struct sonde_error *err)
{
    struct sonde_error cause = {0};
    int rc = buffer->failed ? sn_fail(err, SONDE_E_LIMIT, 0, "too many values for one interval")
                            : SONDE_OK;
    if (rc == SONDE_OK && buffer->size) {
        errno = 0;
        rc = sn_file_write_all(fd, buffer->bytes, buffer->size, &cause);
        if (rc != SONDE_OK)
            rc = fd == STDOUT_FILENO && errno == EPIPE ? SONDE_END : sn_fail_as(err, &cause);
    }
    sn_buf_clear(buffer);
    return rc;
}

static const char *name_of(struct sn_counters_writer *writer, uint32_t pid)
{
    if (!writer->name || writer->pid != pid) {
        const struct sonde_process *process = sn_counters_process_of(writer->run, pid);
        writer->name = process ? process->name : "";
        writer->pid = pid;
    }
    return writer->name;
}

static void take(void *user, const struct sonde_point *point)
{
    struct sn_counters_writer *writer = user;
    if (point->is_provisional && !writer->format->takes_provisional)
        return;
    writer->format->point(&writer->buffer, &writer->document, point, name_of(writer, point->pid));
}

static int turned(struct sn_counters_run *run, void *user, struct sonde_error *err)
{
    struct sn_counters_writer *writer = user;
    (void)run;
    writer->name = NULL;
    return sn_counters_put(writer->fd, &writer->buffer, err);
}

/* The name of the process that the document is about. */
static void name_document(const struct sn_counters_run *run, struct sn_counter_document *document)
{
    if (*document->process || !run->source->ops->process_count(run->source) || document->has_many)
        return;
    struct sonde_watched watched;
    run->source->ops->process(run->source, 0, &watched);
    document->process = watched.process->name;
}

static int open_output(struct sn_counters_writer *writer, struct sonde_error *err)
{
    writer->fd = STDOUT_FILENO;
    if (!writer->path || strcmp(writer->path, "-") == 0)
        return SONDE_OK;
    int rc = sn_file_create(writer->path, &writer->fd, err);
    if (rc == SONDE_OK)
        sn_file_truncate(writer->fd);
    return rc;
}

static int close_output(const struct sn_counters_writer *writer, struct sonde_error *err)
{
    if (writer->fd == STDOUT_FILENO || close(writer->fd) == 0)
        return SONDE_OK;
    return sn_fail_errno(err, "cannot write '%s'", writer->path);
}

static int write_all(struct sn_counters_run *run, struct sn_counters_writer *writer,
                     struct sonde_error *err)
{
    if (writer->format->begin)
        writer->format->begin(&writer->buffer, &writer->document);
    int rc = sn_counters_put(writer->fd, &writer->buffer, err);
    if (rc == SONDE_OK)
        rc = sn_counters_each_interval(run, turned, NULL, err);
    if (rc == SONDE_OK && writer->format->end) {
        writer->format->end(&writer->buffer, &writer->document);
        rc = sn_counters_put(writer->fd, &writer->buffer, err);
    }
    return rc;
}

static int show(struct sn_counters_run *run, void *user, struct sonde_error *err)
{
    struct sn_counters_writer *writer = user;
    int rc = open_output(writer, err);
    if (rc != SONDE_OK)
        return rc;
    writer->run = run;
    writer->buffer = sn_buf_with_limit(BUFFER_LIMIT);
    name_document(run, &writer->document);
    rc = write_all(run, writer, err);
    sn_buf_done(&writer->buffer);
    int closed = close_output(writer, err);
    return rc == SONDE_OK ? closed : rc;
}

const struct sn_counters_view sn_counters_write_view = {.take = take, .show = show};
