#include "source/file/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/zip_reader.h"

#define TRACE "trace.nettrace"

struct sn_input {
    int fd;
    char *path;
    off_t offset;
    enum sn_input_kind kind;
    struct sn_zip *zip;
    struct sn_zip_stream *stream;
};

static int open_fd(int dir_fd, const char *path)
{
    return openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Its recorder holds a lock as long as it lives. */
static bool is_locked(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static int enter_journal(struct sn_input *input, struct sonde_error *err)
{
    SN_AUTO(sn_close) int dir_fd = sn_take_fd(&input->fd);
    input->fd = open_fd(dir_fd, TRACE);
    if (input->fd < 0 && errno == ENOENT)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "'%s' is a folder without a recording: it has no " TRACE, input->path);
    if (input->fd < 0)
        return sn_fail_errno(err, "cannot open '%s/" TRACE "'", input->path);
    input->kind = is_locked(input->fd) ? SN_INPUT_LIVE : SN_INPUT_JOURNAL;
    return SONDE_OK;
}

static bool is_trace_name(const char *name)
{
    size_t size = strlen(name);
    return size > 9 && strcmp(name + size - 9, ".nettrace") == 0;
}

/* Ours, else the only trace in somebody else's. */
static const struct sn_zip_member *find_trace(const struct sn_zip *zip)
{
    const struct sn_zip_member *found = sn_zip_find(zip, TRACE);
    size_t count = 0;
    for (size_t i = 0; !found && i < sn_zip_count(zip); i++)
        count += is_trace_name(sn_zip_member(zip, i)->name);
    for (size_t i = 0; count == 1 && !found; i++) {
        if (is_trace_name(sn_zip_member(zip, i)->name))
            found = sn_zip_member(zip, i);
    }
    return found;
}

static int enter_zip(struct sn_input *input, struct sonde_error *err)
{
    input->kind = SN_INPUT_ZIP;
    int rc = sn_zip_open(input->fd, input->path, &input->zip, err);
    if (rc != SONDE_OK)
        return rc;
    const struct sn_zip_member *trace = find_trace(input->zip);
    if (!trace)
        return sn_fail(err, SONDE_E_FORMAT, 0,
                       "'%s' is a zip file without a trace: it has no " TRACE, input->path);
    return sn_zip_stream_new(input->zip, trace, &input->stream, err);
}

static bool is_zip(int fd)
{
    char head[4];
    return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
           (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

/* Opens the file, archive or folder without looking into it. */
static int open_path(const char *path, struct sn_input *input, mode_t *ret_mode,
                     struct sonde_error *err)
{
    struct stat status;
    input->fd = open_fd(AT_FDCWD, path);
    if (input->fd < 0 || fstat(input->fd, &status) != 0)
        return sn_fail_errno(err, "cannot open '%s'", path);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%s' is not a file", path);
    *ret_mode = status.st_mode;
    return SONDE_OK;
}

int sn_input_open(const char *path, struct sn_input **ret_input, struct sonde_error *err)
{
    SN_AUTO(sn_input_free) struct sn_input *input = calloc(1, sizeof(*input));
    mode_t mode = 0;
    if (!input)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", path);
    input->fd = -1;
    input->path = strdup(path);
    if (!input->path)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for '%s'", path);
    int rc = open_path(path, input, &mode, err);
    if (rc == SONDE_OK && S_ISDIR(mode))
        rc = enter_journal(input, err);
    else if (rc == SONDE_OK && is_zip(input->fd))
        rc = enter_zip(input, err);
    if (rc == SONDE_OK)
        *ret_input = SN_TAKE(input);
    return rc;
}

void sn_input_free(struct sn_input *input)
{
    if (!input)
        return;
    sn_zip_stream_free(input->stream);
    sn_zip_free(input->zip);
    sn_close(input->fd);
    free(input->path);
    free(input);
}

enum sn_input_kind sn_input_kind(const struct sn_input *input)
{
    return input->kind;
}

int sn_input_read(struct sn_input *input, void *to, size_t size, size_t *ret_got,
                  struct sonde_error *err)
{
    if (input->stream)
        return sn_zip_stream_read(input->stream, to, size, ret_got, err);
    ssize_t got;
    do
        got = pread(input->fd, to, size, input->offset);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return sn_fail_errno(err, "cannot read '%s'", input->path);
    input->offset += got;
    *ret_got = (size_t)got;
    return SONDE_OK;
}

static int read_packed(const struct sn_input *input, const char *member, struct sn_buf *to,
                       struct sonde_error *err)
{
    SN_AUTO(sn_zip_free) struct sn_zip *zip = NULL;
    int rc = sn_zip_open(input->fd, input->path, &zip, err);
    const struct sn_zip_member *found = rc == SONDE_OK ? sn_zip_find(zip, member) : NULL;
    if (rc == SONDE_OK && !found)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "'%s' has no %s", input->path, member);
    return rc == SONDE_OK ? sn_zip_read(zip, found, to, err) : rc;
}

int sn_input_member(const char *path, const char *member, struct sn_buf *to,
                    struct sonde_error *err)
{
    struct sn_input input = {.fd = -1, .path = (char *)(uintptr_t)path};
    mode_t mode = 0;
    int rc = open_path(path, &input, &mode, err);
    SN_AUTO(sn_close) int fd = input.fd;
    if (rc != SONDE_OK)
        return rc;
    if (S_ISDIR(mode))
        return sn_file_read_at(fd, member, to, err);
    if (is_zip(fd))
        return read_packed(&input, member, to, err);
    return sn_fail(err, SONDE_E_NOT_FOUND, 0, "'%s' is a mere trace: it has no %s", path, member);
}
