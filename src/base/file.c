#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"

#define COPY_BYTES 65536u

#define READ_STEP 4096u
#define LINE_SIZE 256u

int sn_file_read_at(int dir_fd, const char *path, struct sn_buf *buf, struct sonde_error *err)
{
    SN_AUTO(sn_close) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sn_fail_errno(err, "cannot open '%s'", path);
    for (;;) {
        size_t step = buf->limit - buf->size < READ_STEP ? buf->limit - buf->size : READ_STEP;
        uint8_t *to = sn_buf_reserve(buf, step ? step : 1);
        if (!to)
            return sn_fail(err, SONDE_E_LIMIT, buf->size, "'%s' is over %zu bytes", path,
                           buf->limit);
        ssize_t got = read(fd, to, step);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sn_fail_errno(err, "cannot read '%s'", path);
        if (got == 0)
            return SONDE_OK;
        sn_buf_grow(buf, (size_t)got);
    }
}

long sn_file_peek_at(int dir_fd, const char *path, char *to, size_t size)
{
    SN_AUTO(sn_close) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    size_t have = 0;
    while (have + 1 < size) {
        ssize_t got = read(fd, to + have, size - 1 - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    to[have] = '\0';
    return (long)have;
}

/* The line that is being read, and what was kept. */
struct line_filter {
    const char *const *keys;
    char line[LINE_SIZE];
    size_t length;
    char *to;
    size_t size;
    size_t have;
    bool is_full;
};

static bool line_is_wanted(const struct line_filter *filter)
{
    for (const char *const *key = filter->keys; *key; key++) {
        if (strncmp(filter->line, *key, strlen(*key)) == 0)
            return true;
    }
    return false;
}

static void line_end(struct line_filter *filter)
{
    filter->line[filter->length] = '\0';
    bool is_wanted = !filter->is_full && line_is_wanted(filter);
    if (is_wanted && filter->length + 2 > filter->size - filter->have)
        filter->is_full = true;
    else if (is_wanted) {
        memcpy(filter->to + filter->have, filter->line, filter->length);
        filter->have += filter->length;
        filter->to[filter->have++] = '\n';
    }
    filter->length = 0;
}

static void filter_bytes(struct line_filter *filter, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n')
            line_end(filter);
        else if (filter->length < sizeof(filter->line) - 1)
            filter->line[filter->length++] = bytes[i];
    }
}

long sn_file_peek_lines(int fd, const char *const *keys, char *to, size_t size)
{
    struct line_filter filter = {.keys = keys, .to = to, .size = size};
    char bytes[4096];
    off_t at = 0;
    for (;;) {
        ssize_t got = pread(fd, bytes, sizeof(bytes), at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        filter_bytes(&filter, bytes, (size_t)got);
        at += got;
    }
    if (filter.length)
        line_end(&filter);
    to[filter.have] = '\0';
    return (long)filter.have;
}

long sn_file_peek_lines_at(int dir_fd, const char *path, const char *const *keys, char *to,
                           size_t size)
{
    SN_AUTO(sn_close) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -1 : sn_file_peek_lines(fd, keys, to, size);
}

size_t sn_file_read_from(int fd, uint64_t offset, void *to, size_t size)
{
    uint8_t *bytes = to;
    size_t have = 0;
    if (size > INT64_MAX || offset > INT64_MAX - size) /* offsets of files are signed */
        return 0;
    while (have < size) {
        ssize_t got = pread(fd, bytes + have, size - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    return have;
}

/* First only a handle, O_PATH, which opens nothing; what is behind it cannot change any more. */
int sn_file_open_regular_at(int dir_fd, const char *name)
{
    SN_AUTO(sn_close) int handle = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    char path[32];
    if (handle < 0 || fstat(handle, &status) != 0)
        return -1;
    if (!S_ISREG(status.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", handle); /* fits */
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

int sn_file_create(const char *path, int *ret_fd, struct sonde_error *err)
{
    SN_AUTO(sn_close)
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    struct stat status = {0};
    bool has_no_reader = fd < 0 && errno == ENXIO;
    if (!has_no_reader && (fd < 0 || fstat(fd, &status) != 0))
        return sn_fail(err, SONDE_E_SYSTEM, 0, "cannot write '%s'", path);
    if (has_no_reader || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "cannot write '%s': it is a pipe, a file is needed", path);
    *ret_fd = sn_take_fd(&fd);
    return SONDE_OK;
}

int sn_file_create_anew(const char *path, int *ret_fd, struct sonde_error *err)
{
    (void)unlink(path); /* mostly there is none */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return sn_fail(err, SONDE_E_SYSTEM, 0, "cannot write '%s'", path);
    *ret_fd = fd;
    return SONDE_OK;
}

void sn_file_truncate(int fd)
{
    if (ftruncate(fd, 0) != 0)
        errno = 0; /* a device: nothing to empty */
}

int sn_file_write_all(int fd, const void *bytes, size_t size, struct sonde_error *err)
{
    const char *at = bytes;
    while (size) {
        ssize_t wrote = write(fd, at, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return sn_fail(err, SONDE_E_SYSTEM, 0, "cannot write");
        at += wrote;
        size -= (size_t)wrote;
    }
    return SONDE_OK;
}

int sn_file_copy(int from, int to, struct sonde_error *err)
{
    char bytes[COPY_BYTES];
    for (;;) {
        ssize_t got = read(from, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sn_fail_errno(err, "cannot read what is to be copied");
        if (!got)
            return SONDE_OK;
        int rc = sn_file_write_all(to, bytes, (size_t)got, err);
        if (rc != SONDE_OK)
            return rc;
    }
}

int sn_file_replace_at(int folder, const char *name, const struct sn_buf *text,
                       struct sonde_error *err)
{
    char other[256];
    (void)snprintf(other, sizeof(other), ".%s.new", name);
    (void)unlinkat(folder, other, 0);
    SN_AUTO(sn_close)
    int fd = openat(folder, other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sn_fail_errno(err, "cannot write the file '%s'", name);
    int rc = text->failed ? sn_fail(err, SONDE_E_LIMIT, 0, "the file '%s' would be too large", name)
                          : SONDE_OK;
    if (rc == SONDE_OK &&
        (sn_file_write_all(fd, text->bytes, text->size, NULL) != SONDE_OK || fsync(fd) != 0))
        rc = sn_fail_errno(err, "cannot write the file '%s'", name);
    if (rc == SONDE_OK && renameat(folder, other, folder, name) != 0)
        rc = sn_fail_errno(err, "cannot replace the file '%s'", name);
    if (rc != SONDE_OK)
        (void)unlinkat(folder, other, 0);
    else
        (void)fsync(folder);
    return rc;
}
