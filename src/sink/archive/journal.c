#include "sink/archive/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "format/nettrace_reader.h"
#include "format/nettrace_tail.h"
#include "format/nettrace_writer.h"
#include "model/event.h"
#include "model/payload.h"

#define TRACE "trace.nettrace"

/* A recorder is small: what it remembers to write things once must be, too. */
#define STACK_BYTES  (256u << 10)
#define THREAD_COUNT 4096u

struct sn_journal {
    char *path;
    int dir_fd;
    int fd;          /* trace.nettrace; holds the lock that tells readers: this one lives */
    uint64_t now_ns; /* the clock when it was last asked */
    struct sn_nettrace_writer *writer;
};

struct journal_sink {
    struct sn_sink sink;
    struct sn_journal *journal;
    struct sonde_error err;
};

static int write_bytes(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    const struct sn_journal *journal = user;
    int rc = sn_file_write_all(journal->fd, bytes, size, NULL);
    return rc == SONDE_OK ? rc : sn_fail_errno(err, "cannot write '%s/" TRACE "'", journal->path);
}

/* Somebody else's directory or a link in it would lead a privileged recorder astray. */
static int open_directory(struct sn_journal *journal, struct sonde_error *err)
{
    struct stat status;
    journal->dir_fd =
        open(journal->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (journal->dir_fd < 0 || fstat(journal->dir_fd, &status) != 0)
        return sn_fail_errno(err, "cannot open the journal '%s'", journal->path);
    if (status.st_uid != geteuid())
        return sn_fail(err, SONDE_E_DENIED, 0, "the journal '%s' belongs to another user",
                       journal->path);
    return SONDE_OK;
}

static int open_trace(struct sn_journal *journal, int flags, struct sonde_error *err)
{
    journal->fd = openat(journal->dir_fd, TRACE,
                         O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags, 0600);
    struct stat status;
    if (journal->fd < 0 || fstat(journal->fd, &status) != 0)
        return sn_fail_errno(err, "cannot open '%s/" TRACE "'", journal->path);
    if (!S_ISREG(status.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%s/" TRACE "' is not a file", journal->path);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(journal->fd, F_OFD_SETLK, &lock) == 0)
        return SONDE_OK;
    if (errno == EAGAIN || errno == EACCES)
        return sn_fail(err, SONDE_E_BUSY, 0, "a recorder is writing to '%s'", journal->path);
    return sn_fail_errno(err, "cannot lock '%s/" TRACE "'", journal->path);
}

/* A recording that nobody finished is not thrown away for a new one. */
static int check_left_behind(const struct sn_journal *journal, struct sonde_error *err)
{
    struct sn_nettrace_tail tail;
    if (sn_nettrace_find_tail(journal->fd, journal->path, &tail, NULL) == SONDE_OK &&
        !tail.is_finished)
        return sn_fail(err, SONDE_E_BUSY, 0,
                       "'%s' holds a recording that was not finished: finish it, or remove it",
                       journal->path);
    return SONDE_OK;
}

static int open_journal(const char *path, int flags, struct sn_journal **ret_journal,
                        struct sonde_error *err)
{
    struct sn_journal *journal = calloc(1, sizeof(*journal));
    if (!journal)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a journal");
    journal->dir_fd = -1;
    journal->fd = -1;
    *ret_journal = journal;
    journal->path = strdup(path);
    if (!journal->path)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a journal");
    int rc = open_directory(journal, err);
    return rc == SONDE_OK ? open_trace(journal, flags, err) : rc;
}

static void set_mode(const struct sn_journal *journal)
{
    static const struct sn_nettrace_writer_mode mode = {
        .is_ordered = true, .stack_bytes = STACK_BYTES, .thread_count = THREAD_COUNT};
    sn_nettrace_writer_set_mode(journal->writer, &mode);
}

int sn_journal_new(const char *path, const struct sn_trace_info *info,
                   struct sn_journal **ret_journal, struct sonde_error *err)
{
    SN_AUTO(sn_journal_free) struct sn_journal *journal = NULL;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return sn_fail_errno(err, "cannot make the journal '%s'", path);
    int rc = open_journal(path, O_CREAT, &journal, err);
    if (rc != SONDE_OK || !journal)
        return rc;
    rc = check_left_behind(journal, err);
    if (rc != SONDE_OK)
        return rc;
    sn_file_truncate(journal->fd);
    rc = sn_nettrace_writer_new(6, info, write_bytes, journal, &journal->writer, err);
    if (rc != SONDE_OK)
        return rc;
    set_mode(journal);
    *ret_journal = SN_TAKE(journal);
    return SONDE_OK;
}

int sn_journal_reopen(const char *path, struct sn_journal **ret_journal, struct sonde_error *err)
{
    SN_AUTO(sn_journal_free) struct sn_journal *journal = NULL;
    struct sn_nettrace_tail tail;
    int rc = open_journal(path, 0, &journal, err);
    if (rc != SONDE_OK || !journal)
        return rc;
    rc = sn_nettrace_find_tail(journal->fd, path, &tail, err);
    if (rc != SONDE_OK)
        return rc;
    if (ftruncate(journal->fd, (off_t)tail.offset) != 0 ||
        lseek(journal->fd, (off_t)tail.offset, SEEK_SET) < 0)
        return sn_fail_errno(err, "cannot continue '%s'", path);
    rc = sn_nettrace_writer_append(tail.offset, tail.newest_ns, write_bytes, journal,
                                   &journal->writer, err);
    if (rc != SONDE_OK)
        return rc;
    set_mode(journal);
    *ret_journal = SN_TAKE(journal);
    return SONDE_OK;
}

void sn_journal_free(struct sn_journal *journal)
{
    if (!journal)
        return;
    if (journal->writer)
        (void)sn_nettrace_writer_flush(journal->writer, NULL); /* as far as it goes */
    sn_nettrace_writer_free(journal->writer);
    sn_close(journal->fd);
    sn_close(journal->dir_fd);
    free(journal->path);
    free(journal);
}

static int write_loss(struct sn_journal *journal, const struct sn_event *event,
                      struct sonde_error *err)
{
    struct sn_value count;
    if (!sn_payload_find(event, "Count", &count))
        return SONDE_OK;
    struct sn_nettrace_loss loss = {.count = count.number, .time_ns = event->time_ns};
    return sn_nettrace_writer_lost(journal->writer, &loss, err);
}

int sn_journal_event(struct sn_journal *journal, const struct sn_event *event,
                     struct sonde_error *err)
{
    struct sn_event timely = *event;
    if (event->schema == &sn_lost_schema)
        return write_loss(journal, event, err);
    /* One event from the future would drag all that follow it along. */
    if (timely.time_ns > journal->now_ns)
        journal->now_ns = sn_clock_monotonic_ns();
    if (timely.time_ns > journal->now_ns)
        timely.time_ns = journal->now_ns;
    return sn_nettrace_writer_event(journal->writer, &timely, err);
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct journal_sink *own = (struct journal_sink *)sink;
    return sn_journal_event(own->journal, event, &own->err);
}

static int finish_sink(struct sn_sink *sink, struct sonde_error *err)
{
    struct journal_sink *own = (struct journal_sink *)sink;
    if (own->err.status)
        return sn_fail_as(err, &own->err);
    return sn_journal_flush(own->journal, err);
}

static void free_sink(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops sink_ops = {
    .name = "journal", .event = take_event, .finish = finish_sink, .free = free_sink};

struct sn_sink *sn_journal_sink(struct sn_journal *journal)
{
    struct journal_sink *own = calloc(1, sizeof(*own));
    if (!own)
        return NULL;
    own->sink.ops = &sink_ops;
    own->journal = journal;
    return &own->sink;
}

int sn_journal_flush(struct sn_journal *journal, struct sonde_error *err)
{
    return sn_nettrace_writer_flush(journal->writer, err);
}

/* Makes the directory of a member such as "cpu/1234.cpu". */
static int make_parent(const struct sn_journal *journal, const char *member,
                       struct sonde_error *err)
{
    const char *slash = strchr(member, '/');
    char parent[64];
    if (!slash)
        return SONDE_OK;
    (void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - member), member);
    if (mkdirat(journal->dir_fd, parent, 0700) != 0 && errno != EEXIST)
        return sn_fail_errno(err, "cannot make '%s/%s'", journal->path, parent);
    return SONDE_OK;
}

int sn_journal_put(struct sn_journal *journal, const char *member, const void *bytes, size_t size,
                   struct sonde_error *err)
{
    char draft[256];
    int rc = make_parent(journal, member, err);
    if (rc != SONDE_OK)
        return rc;
    (void)snprintf(draft, sizeof(draft), "%s.new", member);
    SN_AUTO(sn_close)
    int fd = openat(journal->dir_fd, draft,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0 || sn_file_write_all(fd, bytes, size, NULL) != SONDE_OK ||
        renameat(journal->dir_fd, draft, journal->dir_fd, member) != 0)
        return sn_fail_errno(err, "cannot write '%s/%s'", journal->path, member);
    return SONDE_OK;
}

const char *sn_journal_path(const struct sn_journal *journal, const char *member, char *to,
                            size_t size)
{
    (void)make_parent(journal, member, NULL); /* whoever opens the path hears of it */
    (void)snprintf(to, size, "%s/%s", journal->path, member);
    return to;
}

int sn_journal_finish(struct sn_journal *journal, struct sonde_error *err)
{
    return sn_nettrace_writer_finish(journal->writer, err);
}

uint64_t sn_journal_bytes(const struct sn_journal *journal)
{
    return sn_nettrace_writer_bytes(journal->writer);
}
