/* Core dumps: the target writes the file itself, as its user and in its file systems, so it is made
 * where both of us reach it; a worker waits for it and brings it home. */
#include "daemon/operation_kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/roads.h"
#include "daemon/spool.h"
#include "daemon/workers.h"
#include "sonde/target.h"

struct dumping {
    struct sn_mailbox_task task;      /* to the worker, and back at its end */
    struct sn_mailbox_task beginning; /* that it runs; is back before its end */
    struct sn_operation *operation;   /* borrows; the worker reads what does not change */
    enum sonde_dump_type type;
    uint64_t start_ns;
    int status;
    struct sonde_error err;
};

/* Where the target writes, as it calls it; and where that is, by descriptors: a path can be made to
 * lead elsewhere by its user at any moment. */
struct meeting {
    char there[PATH_MAX];
    char name[64]; /* of the folder, to be removed afterwards */
    int tmp_fd;    /* owns: where that is; -1 when it is the spool itself */
    int folder_fd; /* owns */
};

static int read_type(const json_t *settings, enum sonde_dump_type *ret_type,
                     struct sonde_error *err)
{
    static const struct {
        const char *name;
        enum sonde_dump_type type;
    } types[] = {{"WithHeap", SONDE_DUMP_HEAP},
                 {"Heap", SONDE_DUMP_HEAP},
                 {"Full", SONDE_DUMP_FULL},
                 {"Mini", SONDE_DUMP_MINI},
                 {"Triage", SONDE_DUMP_TRIAGE}};
    const char *text = json_string_value(json_object_get(settings, "type"));
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (!text || strcasecmp(types[i].name, text) == 0) {
            *ret_type = types[i].type;
            return SONDE_OK;
        }
    }
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "type: Full, WithHeap, Mini or Triage");
}

static int check(const json_t *settings, struct sonde_error *err)
{
    enum sonde_dump_type type;
    return read_type(settings, &type, err);
}

/* --- in the worker --- */

static bool shares_files(uint32_t pid)
{
    char path[64];
    struct stat ours;
    struct stat theirs;
    (void)snprintf(path, sizeof(path), "/proc/%u/ns/mnt", (unsigned)pid);
    return stat("/proc/self/ns/mnt", &ours) == 0 && stat(path, &theirs) == 0 &&
           ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

/* Ours until it is given away: whoever may write to its /tmp could have put another in its place.
 */
static int give_away(int folder_fd, const struct stat *who, struct sonde_error *err)
{
    struct stat status;
    if (folder_fd < 0 || fstat(folder_fd, &status) != 0)
        return sn_fail_errno(err, "cannot open a folder in the target's /tmp");
    if (status.st_uid != geteuid() || (status.st_mode & 0777) != 0700)
        return sn_fail(err, SONDE_E_DENIED, 0, "somebody replaced the folder for the dump");
    if (who->st_uid != geteuid() && fchown(folder_fd, who->st_uid, who->st_gid) != 0)
        return sn_fail_errno(err, "cannot give a folder to user %u", (unsigned)who->st_uid);
    return SONDE_OK;
}

/* As the target would: no link leads out of its root. An old kernel follows none at all. */
static int open_tmp(int root)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof(how));
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    return openat(root, "tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A folder in the target's /tmp that only its user can write to. */
static int meet_in_tmp(uint32_t pid, const struct stat *who, struct meeting *to,
                       struct sonde_error *err)
{
    char id[37];
    char path[64];
    int rc = sn_spool_id(id, err);
    if (rc != SONDE_OK)
        return rc;
    (void)snprintf(path, sizeof(path), "/proc/%u/root", (unsigned)pid);
    SN_AUTO(sn_close) int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    to->tmp_fd = root >= 0 ? open_tmp(root) : -1;
    if (to->tmp_fd < 0)
        return sn_fail_errno(err, "cannot open the target's /tmp");
    (void)snprintf(to->name, sizeof(to->name), "sonde-dump-%s", id);
    (void)snprintf(to->there, sizeof(to->there), "/tmp/%s/core", to->name);
    if (mkdirat(to->tmp_fd, to->name, 0700) != 0)
        return sn_fail_errno(err, "cannot make a folder in the target's /tmp");
    to->folder_fd = openat(to->tmp_fd, to->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return give_away(to->folder_fd, who, err);
}

static int meet(const struct sn_operation *operation, struct meeting *to, struct sonde_error *err)
{
    char path[64];
    struct stat who;
    (void)snprintf(path, sizeof(path), "/proc/%u", (unsigned)operation->pid);
    if (stat(path, &who) != 0)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "no process %u", (unsigned)operation->pid);
    bool is_shared = shares_files(operation->pid);
    if (!is_shared || who.st_uid != geteuid())
        return meet_in_tmp(operation->pid, &who, to, err);
    (void)snprintf(to->there, sizeof(to->there), "%s", sn_artefact_path(operation->artefact));
    return SONDE_OK;
}

/* The folder was somebody else's meanwhile: what lies there now is looked at before it is read. */
static int bring_home(const struct meeting *meeting, const char *home, struct sonde_error *err)
{
    if (meeting->folder_fd < 0)
        return SONDE_OK;
    SN_AUTO(sn_close) int from = sn_file_open_regular_at(meeting->folder_fd, "core");
    if (from < 0)
        return sn_fail_errno(err, "cannot open the dump that the target wrote");
    SN_AUTO(sn_close) int to = open(home, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return sn_fail_errno(err, "cannot make %s", home);
    return sn_file_copy(from, to, err);
}

static void part(const struct meeting *meeting)
{
    if (meeting->folder_fd >= 0)
        (void)unlinkat(meeting->folder_fd, "core", 0);
    if (meeting->tmp_fd >= 0 && meeting->name[0])
        (void)unlinkat(meeting->tmp_fd, meeting->name, AT_REMOVEDIR);
    sn_close(meeting->folder_fd);
    sn_close(meeting->tmp_fd);
}

static void ended(void *user)
{
    struct dumping *dumping = user;
    sn_operation_ended(dumping->operation, dumping->status, dumping->err.text);
}

static void begun(void *user)
{
    sn_operation_running(((struct dumping *)user)->operation);
}

static void dump(void *user)
{
    struct dumping *dumping = user;
    const struct sn_operation *operation = dumping->operation;
    sn_roads_post(operation->daemon->roads, &dumping->beginning, begun, dumping);
    struct meeting meeting = {.tmp_fd = -1, .folder_fd = -1};
    int rc = meet(operation, &meeting, &dumping->err);
    if (rc == SONDE_OK)
        rc = sonde_target_dump(operation->pid, dumping->type, meeting.there, 0, &dumping->err);
    if (rc == SONDE_OK)
        rc = bring_home(&meeting, sn_artefact_path(operation->artefact), &dumping->err);
    part(&meeting);
    dumping->status = rc;
    sn_roads_post(operation->daemon->roads, &dumping->task, ended, dumping);
}

/* --- in the roads thread --- */

static int start(struct sn_operation *operation, struct sonde_error *err)
{
    SN_AUTO(sn_free) struct dumping *dumping = calloc(1, sizeof(*dumping));
    if (!dumping)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a dump");
    dumping->operation = operation;
    dumping->start_ns = sn_clock_monotonic_ns();
    int rc = read_type(operation->settings, &dumping->type, err);
    if (rc != SONDE_OK)
        return rc;
    if (!sn_workers_offer(operation->daemon->workers, &dumping->task, dump, dumping))
        return sn_fail(err, SONDE_E_LIMIT, 0, "too much is under way: try again later");
    operation->user = SN_TAKE(dumping);
    return SONDE_OK;
}

/* A runtime that writes its dump cannot be told to leave off: it ends when it ends. */
static void wait_for_it(struct sn_operation *operation)
{
    (void)operation;
}

static void progress(struct sn_operation *operation, struct sn_json *json)
{
    const struct dumping *dumping = operation->user;
    if (!dumping)
        return;
    uint64_t until = sn_clock_monotonic_ns();
    if (!operation->ended_utc_ns)
        sn_json_real(json, "durationSeconds", (double)(until - dumping->start_ns) / 1e9);
    sn_json_u64(json, "bytes", operation->artefact ? sn_artefact_size(operation->artefact) : 0);
}

static void free_it(struct sn_operation *operation)
{
    free(SN_TAKE(operation->user));
}

const struct sn_operation_kind sn_dump_operation = {
    .name = "dump",
    .extension = "",
    .content_type = "application/octet-stream",
    .concurrent_max = 1,
    .is_whole = true,
    .check = check,
    .start = start,
    .stop = wait_for_it,
    .cancel = wait_for_it,
    .progress = progress,
    .free = free_it,
};
