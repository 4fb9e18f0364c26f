#include "cli/out_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

/* What a signal that ends us must remove; a handler can know nothing else. */
static const char *volatile doomed;

static void remove_doomed(int signal_number)
{
    if (doomed)
        (void)unlink(doomed);
    (void)raise(signal_number); /* SA_RESETHAND: now it ends us */
}

static void watch_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        struct sigaction present;
        struct sigaction action = {.sa_handler = remove_doomed, .sa_flags = (int)SA_RESETHAND};
        bool is_ignored =
            sigaction(ends[i], NULL, &present) != 0 || present.sa_handler == SIG_IGN; /* nohup */
        if (!is_ignored)
            (void)sigaction(ends[i], &action, NULL);
    }
}

static bool is_same_file(const struct stat *status, const char *path)
{
    struct stat other;
    return stat(path, &other) == 0 && other.st_dev == status->st_dev &&
           other.st_ino == status->st_ino;
}

static char *partial_name(const char *path)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(8192);
    sn_buf_format(&name, "%s.%ld.part", path, (long)getpid());
    return name.failed ? NULL : strdup(sn_buf_string(&name));
}

static int open_partial(struct sn_out_file *file, struct sonde_error *err)
{
    file->partial = partial_name(file->path);
    if (!file->partial)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a file name");
    file->fd = open(file->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644);
    if (file->fd >= 0) {
        doomed = file->partial;
        watch_signals();
        return SONDE_OK;
    }
    int rc = sn_fail_errno(err, "cannot create '%s'", file->path);
    free(SN_TAKE(file->partial));
    return rc;
}

int sn_out_file_open(struct sn_out_file *file, const char *path, const char *input,
                     struct sonde_error *err)
{
    *file = (struct sn_out_file){.path = path, .fd = -1};
    if (strcmp(path, "-") == 0) {
        file->fd = STDOUT_FILENO;
        return SONDE_OK;
    }
    struct stat status;
    if (stat(path, &status) != 0)
        return open_partial(file, err);
    if (is_same_file(&status, input))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "'%s' is the trace itself; give another name with -o", path);
    if (S_ISDIR(status.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%s' is a folder; -o wants a file", path);
    if (S_ISREG(status.st_mode))
        return open_partial(file, err);
    file->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return file->fd < 0 ? sn_fail_errno(err, "cannot open '%s'", path) : SONDE_OK;
}

const char *sn_out_file_name(const struct sn_out_file *file)
{
    if (file->partial)
        return file->partial;
    return file->fd == STDOUT_FILENO ? NULL : file->path;
}

int sn_out_file_write(struct sn_out_file *file, const void *bytes, size_t size,
                      struct sonde_error *err)
{
    file->byte_count += size;
    return sn_file_write_all(file->fd, bytes, size, err);
}

int sn_out_file_finish(struct sn_out_file *file, struct sonde_error *err)
{
    if (!file->partial)
        return SONDE_OK;
    if (rename(file->partial, file->path) != 0)
        return sn_fail_errno(err, "cannot replace '%s'", file->path);
    doomed = NULL;
    free(SN_TAKE(file->partial));
    return SONDE_OK;
}

void sn_out_file_close(struct sn_out_file *file)
{
    if (file->fd != STDOUT_FILENO)
        sn_close(file->fd);
    file->fd = -1;
    if (file->partial)
        (void)unlink(file->partial);
    doomed = NULL;
    free(SN_TAKE(file->partial));
}
