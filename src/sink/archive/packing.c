/* Packs a finished journal into its archive. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "format/zip_writer.h"
#include "sink/archive/journal.h"

#define PIECE       (128u << 10) /* at a turn: some milliseconds */
#define MEMBERS_MAX 4096u
#define NAME_SIZE   64u

struct sn_packing {
    char *journal;
    char *archive;
    char *draft; /* the archive until it is whole */
    int dir_fd;
    int fd;        /* of the draft */
    int member_fd; /* being packed */
    size_t next;   /* in `members` */
    size_t count;
    size_t packed_count; /* of those; drafts, which stand last, only go with the journal */
    struct sn_zip_writer *writer;
    uint8_t *piece;
    char (*members)[NAME_SIZE];
};

/* Of a member that was never put: its recorder was killed. */
static bool is_draft(const char *name)
{
    size_t size = strlen(name);
    return size > 4 && strcmp(name + size - 4, ".new") == 0;
}

/* "cpu/1234.cpu.new" at most: the journal has no deeper folders. */
static int add_member(struct sn_packing *packing, const char *folder, const char *name,
                      struct sonde_error *err)
{
    if (packing->count == MEMBERS_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "'%s' has more than %u files", packing->journal,
                       MEMBERS_MAX);
    char *to = packing->members[packing->count];
    int wrote = snprintf(to, NAME_SIZE, "%s%s%s", folder, *folder ? "/" : "", name);
    if (wrote < 0 || wrote >= (int)NAME_SIZE)
        return sn_fail(err, SONDE_E_FORMAT, 0, "'%s' holds a file that is not ours: '%s'",
                       packing->journal, name);
    packing->count++;
    return SONDE_OK;
}

static int list_folder(struct sn_packing *packing, const char *folder, struct sonde_error *err)
{
    SN_AUTO(sn_close)
    int fd = openat(packing->dir_fd, *folder ? folder : ".",
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return sn_fail_errno(err, "cannot list '%s/%s'", packing->journal, folder);
    (void)sn_take_fd(&fd);
    int rc = SONDE_OK;
    const struct dirent *entry;
    while (rc == SONDE_OK && (entry = readdir(dir))) {
        bool is_folder = entry->d_type == DT_DIR;
        if (entry->d_name[0] == '.')
            continue;
        if (!is_folder)
            rc = add_member(packing, folder, entry->d_name, err);
        else if (!*folder)
            rc = list_folder(packing, entry->d_name, err);
    }
    (void)closedir(dir);
    return rc;
}

/* The trace first, so that a cut archive still has it; drafts last; the rest by name. */
static int compare(const void *left, const void *right)
{
    bool left_is_trace = strcmp(left, "trace.nettrace") == 0;
    bool right_is_trace = strcmp(right, "trace.nettrace") == 0;
    if (left_is_trace != right_is_trace)
        return left_is_trace ? -1 : 1;
    if (is_draft(left) != is_draft(right))
        return is_draft(left) ? 1 : -1;
    return strcmp(left, right);
}

static char *with_suffix(const char *text, const char *suffix)
{
    char *joined = NULL;
    return asprintf(&joined, "%s%s", text, suffix) < 0 ? NULL : joined;
}

static int open_draft(struct sn_packing *packing, struct sonde_error *err)
{
    (void)unlink(packing->draft); /* of a packing that was killed */
    packing->fd = open(packing->draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (packing->fd < 0)
        return sn_fail_errno(err, "cannot write '%s'", packing->draft);
    return sn_zip_writer_new(packing->fd, sn_clock_utc_ns(), &packing->writer, err);
}

static int prepare(struct sn_packing *packing, struct sonde_error *err)
{
    packing->dir_fd =
        open(packing->journal, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (packing->dir_fd < 0)
        return sn_fail_errno(err, "cannot open the journal '%s'", packing->journal);
    int rc = list_folder(packing, "", err);
    if (rc != SONDE_OK)
        return rc;
    qsort(packing->members, packing->count, sizeof(*packing->members), compare);
    packing->packed_count = packing->count;
    while (packing->packed_count && is_draft(packing->members[packing->packed_count - 1]))
        packing->packed_count--;
    if (!packing->count || strcmp(packing->members[0], "trace.nettrace") != 0)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "'%s' is no journal: it has no trace.nettrace",
                       packing->journal);
    return open_draft(packing, err);
}

int sn_packing_new(const char *journal_path, const char *archive, struct sn_packing **ret_packing,
                   struct sonde_error *err)
{
    SN_AUTO(sn_packing_free) struct sn_packing *packing = calloc(1, sizeof(*packing));
    if (!packing)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to pack '%s'", journal_path);
    packing->dir_fd = packing->fd = packing->member_fd = -1;
    packing->journal = strdup(journal_path);
    packing->archive = strdup(archive);
    packing->draft = with_suffix(archive, ".part");
    packing->piece = malloc(PIECE);
    packing->members = calloc(MEMBERS_MAX, sizeof(*packing->members));
    if (!packing->journal || !packing->archive || !packing->draft || !packing->piece ||
        !packing->members)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to pack '%s'", journal_path);
    int rc = prepare(packing, err);
    if (rc == SONDE_OK)
        *ret_packing = SN_TAKE(packing);
    return rc;
}

void sn_packing_free(struct sn_packing *packing)
{
    if (!packing)
        return;
    if (packing->fd >= 0)
        (void)unlink(packing->draft); /* unless it has its name by now */
    sn_zip_writer_free(packing->writer);
    sn_close(packing->member_fd);
    sn_close(packing->fd);
    sn_close(packing->dir_fd);
    free(packing->journal);
    free(packing->archive);
    free(packing->draft);
    free(packing->piece);
    free(packing->members);
    free(packing);
}

static int begin_member(struct sn_packing *packing, struct sonde_error *err)
{
    const char *name = packing->members[packing->next];
    struct stat status;
    packing->member_fd =
        openat(packing->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (packing->member_fd < 0 || fstat(packing->member_fd, &status) != 0)
        return sn_fail_errno(err, "cannot read '%s/%s'", packing->journal, name);
    if (!S_ISREG(status.st_mode))
        return sn_fail(err, SONDE_E_FORMAT, 0, "'%s/%s' is not a file", packing->journal, name);
    return sn_zip_writer_begin(packing->writer, name, (uint64_t)status.st_size, err);
}

static int pack_piece(struct sn_packing *packing, struct sonde_error *err)
{
    ssize_t got = read(packing->member_fd, packing->piece, PIECE);
    if (got < 0 && errno == EINTR)
        return SONDE_OK;
    if (got < 0)
        return sn_fail_errno(err, "cannot read '%s'", packing->journal);
    if (got > 0)
        return sn_zip_writer_write(packing->writer, packing->piece, (size_t)got, err);
    sn_close(sn_take_fd(&packing->member_fd));
    packing->next++;
    return sn_zip_writer_end(packing->writer, err);
}

/* The archive is there before anything of the journal goes. */
static int finish(struct sn_packing *packing, struct sonde_error *err)
{
    int rc = sn_zip_writer_finish(packing->writer, err);
    if (rc != SONDE_OK)
        return rc;
    if (close(sn_take_fd(&packing->fd)) != 0 || rename(packing->draft, packing->archive) != 0) {
        rc = sn_fail_errno(err, "cannot write '%s'", packing->archive);
        (void)unlink(packing->draft);
        return rc;
    }
    for (size_t i = 0; i < packing->count; i++)
        (void)unlinkat(packing->dir_fd, packing->members[i], 0); /* what stays is seen */
    for (size_t i = 0; i < packing->count; i++) {
        char *slash = strchr(packing->members[i], '/');
        if (!slash)
            continue;
        *slash = '\0';
        (void)unlinkat(packing->dir_fd, packing->members[i], AT_REMOVEDIR);
    }
    (void)rmdir(packing->journal);
    return SONDE_OK;
}

int sn_packing_turn(struct sn_packing *packing, uint64_t *ret_bytes, struct sonde_error *err)
{
    int rc = SONDE_AGAIN;
    if (packing->next == packing->packed_count)
        rc = finish(packing, err);
    else if (packing->member_fd < 0)
        rc = begin_member(packing, err);
    else
        rc = pack_piece(packing, err);
    *ret_bytes = sn_zip_writer_bytes(packing->writer);
    return rc == SONDE_OK && packing->fd >= 0 ? SONDE_AGAIN : rc;
}
