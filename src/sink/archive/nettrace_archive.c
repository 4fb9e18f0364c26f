#include "sink/archive/nettrace_archive.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "flow/road.h"
#include "format/nettrace_reader.h"
#include "format/nettrace_writer.h"
#include "model/event.h"
#include "model/payload.h"

struct sn_nettrace_archive {
    int fd;
    struct sn_nettrace_writer *writer;
};

static int write_bytes(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct sn_nettrace_archive *archive = user;
    return sn_file_write_all(archive->fd, bytes, size, err);
}

typedef int create_fn(const char *path, int *ret_fd, struct sonde_error *err);

static int open_with(create_fn *create, const char *path, uint32_t version,
                     const struct sn_trace_info *info, struct sn_nettrace_archive **ret_archive,
                     struct sonde_error *err)
{
    struct sn_nettrace_archive *archive = calloc(1, sizeof(*archive));
    if (!archive)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", path);
    archive->fd = -1;
    int rc = create(path, &archive->fd, err);
    if (rc == SONDE_OK) {
        sn_file_truncate(archive->fd);
        rc = sn_nettrace_writer_new(version, info, write_bytes, archive, &archive->writer, err);
    }
    if (rc != SONDE_OK) {
        sn_nettrace_archive_free(archive);
        return rc;
    }
    *ret_archive = archive;
    return SONDE_OK;
}

int sn_nettrace_archive_open(const char *path, uint32_t version, const struct sn_trace_info *info,
                             struct sn_nettrace_archive **ret_archive, struct sonde_error *err)
{
    return open_with(sn_file_create, path, version, info, ret_archive, err);
}

int sn_nettrace_archive_open_anew(const char *path, uint32_t version,
                                  const struct sn_trace_info *info,
                                  struct sn_nettrace_archive **ret_archive, struct sonde_error *err)
{
    return open_with(sn_file_create_anew, path, version, info, ret_archive, err);
}

void sn_nettrace_archive_free(struct sn_nettrace_archive *archive)
{
    if (!archive)
        return;
    sn_nettrace_writer_free(archive->writer);
    sn_close(archive->fd);
    free(archive);
}

static int write_loss(struct sn_nettrace_archive *archive, const struct sn_event *event,
                      struct sonde_error *err)
{
    struct sn_value count;
    if (!sn_payload_find(event, "Count", &count))
        return SONDE_OK;
    struct sn_nettrace_loss loss = {.capture_thread_id = event->capture_thread_id,
                                    .count = count.number,
                                    .time_ns = event->time_ns,
                                    .pid = event->pid};
    return sn_nettrace_writer_lost(archive->writer, &loss, err);
}

int sn_nettrace_archive_event(struct sn_nettrace_archive *archive, const struct sn_event *event,
                              struct sonde_error *err)
{
    if (event->schema == &sn_lost_schema)
        return write_loss(archive, event, err);
    return sn_nettrace_writer_event(archive->writer, event, err);
}

int sn_nettrace_archive_skip(struct sn_nettrace_archive *archive, const struct sn_event *event)
{
    return sn_nettrace_writer_skip(archive->writer, event);
}

int sn_nettrace_archive_finish(struct sn_nettrace_archive *archive, struct sonde_error *err)
{
    return sn_nettrace_writer_finish(archive->writer, err);
}

uint64_t sn_nettrace_archive_bytes(const struct sn_nettrace_archive *archive)
{
    return sn_nettrace_writer_bytes(archive->writer);
}
