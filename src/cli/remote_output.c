#include "cli/remote_output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "cli/out_file.h"
#include "cli/remote.h"
#include "cli/signals.h"
#include "net/http_client.h"

#define PIECE_LIMIT (1u << 20)

struct sink {
    struct sn_remote_output *output; /* borrows */
    struct sn_out_file file;
    int fd; /* of a stream; -1: `file` */
    bool is_filtered;
    bool after_c2; /* the first byte of what may be a control character beyond ASCII */
};

static bool is_bad(struct sink *sink, uint8_t byte)
{
    bool is_c1 = sink->after_c2 && byte >= 0x80 && byte < 0xa0;
    sink->after_c2 = byte == 0xc2;
    return is_c1 || (byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f;
}

/* A question mark for what is no text: nothing that comes moves a cursor or names a window. */
static void filter(struct sink *sink, const uint8_t *bytes, size_t size, struct sn_buf *to)
{
    for (size_t i = 0; i < size; i++)
        sn_buf_u8(to, is_bad(sink, bytes[i]) ? '?' : bytes[i]);
}

static int write_all(struct sink *sink, const void *bytes, size_t size, struct sonde_error *err)
{
    const uint8_t *at = bytes;
    if (sink->fd < 0)
        return sn_out_file_write(&sink->file, bytes, size, err);
    while (size) {
        ssize_t part = write(sink->fd, at, size);
        if (part < 0 && errno == EPIPE) {
            sink->output->was_enough = true;
            return SONDE_END;
        }
        if (part < 0 && errno != EINTR)
            return sn_fail_errno(err, "cannot write");
        at += part > 0 ? part : 0;
        size -= part > 0 ? (size_t)part : 0;
    }
    return SONDE_OK;
}

/* How many of the bytes are wanted. */
static size_t count_lines(struct sn_remote_output *output, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        output->line_count += bytes[i] == '\n';
        if (bytes[i] == '\n' && output->line_limit && output->line_count >= output->line_limit) {
            output->was_enough = true;
            return i + 1;
        }
    }
    return size;
}

static int take(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct sink *sink = user;
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit(PIECE_LIMIT);
    size_t wanted = count_lines(sink->output, bytes, size);
    const void *shown = bytes;
    if (sink->is_filtered) {
        filter(sink, bytes, wanted, &safe);
        shown = safe.bytes;
    }
    sink->output->byte_count += wanted;
    int rc = safe.failed ? sn_fail(err, SONDE_E_NOMEM, 0, "no memory for output")
                         : write_all(sink, shown, wanted, err);
    return rc == SONDE_OK && sink->output->was_enough ? SONDE_END : rc;
}

static int open_sink(struct sink *sink, bool is_stream, struct sonde_error *err)
{
    static const char *const no_inputs[] = {NULL};
    const char *path = sink->output->path;
    bool is_standard = !path || strcmp(path, "-") == 0;
    sink->is_filtered = is_standard && (sink->output->is_text || isatty(STDOUT_FILENO));
    if (!is_stream)
        return sn_out_file_open(&sink->file, is_standard ? "-" : path, no_inputs, err);
    if (is_standard) {
        sink->fd = STDOUT_FILENO;
        return SONDE_OK;
    }
    int rc = sn_file_create(path, &sink->fd, err);
    if (rc == SONDE_OK)
        sn_file_truncate(sink->fd);
    return rc;
}

/* What ends a stream well: enough of it, or Ctrl-C. */
static bool is_good_end(const struct sink *sink, const struct sn_remote *remote, bool is_stream,
                        int status)
{
    return sink->output->was_enough || status == SONDE_END ||
           (is_stream && sn_http_client_is_stopped(remote->client));
}

int sn_remote_output_fetch(struct sn_remote_output *output, struct sn_remote *remote,
                           const char *path, const char *accept, bool is_stream,
                           struct sonde_error *err)
{
    struct sink sink = {.output = output, .fd = -1, .file = {.fd = -1}};
    struct sonde_error cause = {0};
    int rc = open_sink(&sink, is_stream, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sn_remote_fetch(remote, path, accept, take, &sink, &cause);
    if (rc != SONDE_OK && !is_good_end(&sink, remote, is_stream, rc))
        rc = sn_fail_as(err, &cause);
    else
        rc = SONDE_OK;
    if (sink.fd < 0) {
        if (rc == SONDE_OK)
            rc = sn_out_file_finish(&sink.file, err);
        sn_out_file_close(&sink.file);
    } else if (sink.fd != STDOUT_FILENO) {
        sn_close(sink.fd);
    }
    return rc;
}
