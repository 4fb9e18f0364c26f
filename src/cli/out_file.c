#include "cli/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"

#define LINK_MAX_DEPTH 40 /* as the kernel */

/* What a signal that ends us must remove; a handler can know nothing else. */
static const char *volatile doomed;

static void remove_doomed(int signal_number)
{
    if (doomed)
        (void)unlink(doomed);
    (void)raise(signal_number); /* SA_RESETHAND: now it ends us */
}

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void watch_signals(void)
{
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        struct sigaction present;
        struct sigaction action = {.sa_handler = remove_doomed, .sa_flags = (int)SA_RESETHAND};
        bool is_ignored =
            sigaction(ends[i], NULL, &present) != 0 || present.sa_handler == SIG_IGN; /* nohup */
        if (!is_ignored)
            (void)sigaction(ends[i], &action, NULL);
    }
}

/* --- what a name leads to --- */

static bool is_same_file(const struct stat *status, const char *path)
{
    struct stat other;
    return stat(path, &other) == 0 && other.st_dev == status->st_dev &&
           other.st_ino == status->st_ino;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* /dev/stdout and /dev/fd/3 are links in /proc to what is open, not to its name. */
static bool is_descriptor(const char *path)
{
    SN_AUTO(sn_free) char *folder = folder_of(path);
    struct statfs system;
    return folder && statfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* What the link `path` says, from where we are; NULL: it is no link. */
static char *read_link(const char *path)
{
    char text[PATH_MAX];
    ssize_t size = readlink(path, text, sizeof(text) - 1);
    if (size <= 0)
        return NULL;
    text[size] = '\0';
    if (text[0] == '/')
        return strdup(text);
    SN_AUTO(sn_free) char *folder = folder_of(path);
    SN_AUTO(sn_buf_done) struct sn_buf joined = sn_buf_with_limit((size_t)2 * PATH_MAX);
    sn_buf_format(&joined, "%s/%s", folder ? folder : "", text);
    return folder && !joined.failed ? strdup(sn_buf_string(&joined)) : NULL;
}

/* Follows links, whether or not anything is at their end, up to one that has no name behind it.
 * NULL without memory. */
static char *follow(const char *path)
{
    char *at = strdup(path);
    for (int i = 0; at && i < LINK_MAX_DEPTH && !is_descriptor(at); i++) {
        char *next = read_link(at);
        if (!next)
            break;
        free(at);
        at = next;
    }
    return at;
}

/* --- opening --- */

static char *partial_name(const char *path)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(8192);
    sn_buf_format(&name, "%s.%ld.part", path, (long)getpid());
    return name.failed ? NULL : strdup(sn_buf_string(&name));
}

/* Between the file and the note of it no signal may come. */
static int create_partial(struct sn_out_file *file, mode_t mode)
{
    sigset_t held;
    sigset_t before;
    (void)sigemptyset(&held);
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        (void)sigaddset(&held, ends[i]);
    (void)pthread_sigmask(SIG_BLOCK, &held, &before);
    file->fd = open(file->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, mode);
    if (file->fd >= 0) {
        doomed = file->partial;
        watch_signals();
    }
    int error = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return file->fd;
}

/* `old`: what it will replace, whose owner and mode stay; NULL: nothing. */
static int open_partial(struct sn_out_file *file, const struct stat *old, struct sonde_error *err)
{
    file->partial = partial_name(file->target);
    if (!file->partial)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a file name");
    if (create_partial(file, old ? 0600 : 0644) >= 0) {
        if (old && fchown(file->fd, old->st_uid, old->st_gid) == 0) /* else it is another's */
            (void)fchmod(file->fd, old->st_mode & 0777u);
        return SONDE_OK;
    }
    int rc = sn_fail_errno(err, "cannot create '%s'", file->path);
    free(SN_TAKE(file->partial));
    return rc;
}

/* Our own is taken as it is, so that what is written stands where it has got to. */
static int open_descriptor(struct sn_out_file *file, const struct stat *status,
                           struct sonde_error *err)
{
    const char *name = strrchr(file->target, '/');
    struct stat own;
    uint64_t number = 0;
    bool is_own = name && sn_text_to_u64(name + 1, INT_MAX, &number) &&
                  fstat((int)number, &own) == 0 && own.st_dev == status->st_dev &&
                  own.st_ino == status->st_ino;
    if (is_own)
        file->fd = fcntl((int)number, F_DUPFD_CLOEXEC, 0);
    else
        file->fd = open(file->target, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    return file->fd < 0 ? sn_fail_errno(err, "cannot open '%s'", file->path) : SONDE_OK;
}

static int check_inputs(const struct sn_out_file *file, const struct stat *status,
                        const char *const *inputs, struct sonde_error *err)
{
    for (; *inputs; inputs++) {
        SN_AUTO(sn_buf_done) struct sn_buf record = sn_buf_with_limit(8192);
        sn_buf_format(&record, "%s.cpu", *inputs);
        if (is_same_file(status, *inputs) || is_same_file(status, sn_buf_string(&record)))
            return sn_fail(err, SONDE_E_ARGUMENT, 0,
                           "'%s' is the trace itself, or its CPU record; give another name",
                           file->path);
    }
    return SONDE_OK;
}

static int open_target(struct sn_out_file *file, const char *const *inputs, struct sonde_error *err)
{
    struct stat status;
    if (!file->target)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a file name");
    if (stat(file->target, &status) != 0)
        return open_partial(file, NULL, err);
    int rc = check_inputs(file, &status, inputs, err);
    if (rc != SONDE_OK)
        return rc;
    if (S_ISDIR(status.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%s' is a folder; a file is wanted", file->path);
    if (is_descriptor(file->target))
        return open_descriptor(file, &status, err);
    if (S_ISREG(status.st_mode))
        return open_partial(file, &status, err);
    file->fd = open(file->target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return file->fd < 0 ? sn_fail_errno(err, "cannot open '%s'", file->path) : SONDE_OK;
}

int sn_out_file_open(struct sn_out_file *file, const char *path, const char *const *inputs,
                     struct sonde_error *err)
{
    *file = (struct sn_out_file){.path = path, .fd = -1};
    if (strcmp(path, "-") == 0) {
        file->fd = STDOUT_FILENO;
        return SONDE_OK;
    }
    file->target = follow(path);
    return open_target(file, inputs, err);
}

const char *sn_out_file_name(const struct sn_out_file *file)
{
    if (file->partial || !file->target)
        return file->partial;
    return is_descriptor(file->target) ? NULL : file->target;
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
    if (rename(file->partial, file->target) != 0)
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
    free(SN_TAKE(file->target));
}
