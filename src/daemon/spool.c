#include "daemon/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/folder.h"
#include "base/guid_text.h"
#include "base/own.h"

#define FREE_BYTES_MIN (64ull << 20)

static int check_owner(int fd, const char *folder, struct sonde_error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return sn_fail_errno(err, "cannot look at %s", folder);
    if (status.st_uid != geteuid())
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "%s belongs to user %u: give a folder of one's own with --state", folder,
                       (unsigned)status.st_uid);
    if ((status.st_mode & 077) != 0 && fchmod(fd, 0700) != 0)
        return sn_fail_errno(err, "cannot close %s to others", folder);
    return SONDE_OK;
}

static bool is_itself(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Files of one folder; `inner` is called for what cannot be removed so. */
static void empty(int folder_fd, void (*inner)(int folder_fd, const char *name))
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SN_AUTO(sn_closedir) DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        sn_close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (!is_itself(entry->d_name) && unlinkat(folder_fd, entry->d_name, 0) != 0 && inner)
            inner(folder_fd, entry->d_name);
    }
}

static void remove_folder(int folder_fd, const char *name, void (*inner)(int, const char *))
{
    SN_AUTO(sn_close)
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        empty(fd, inner);
    (void)unlinkat(folder_fd, name, AT_REMOVEDIR);
}

static void remove_innermost(int folder_fd, const char *name)
{
    remove_folder(folder_fd, name, NULL);
}

/* A journal of a recording is a folder of files, perhaps with folders of files in it: nothing
 * deeper was ever made. */
static void remove_journal(int folder_fd, const char *name)
{
    remove_folder(folder_fd, name, remove_innermost);
}

char *sn_spool_path(const char *state_folder, bool is_temporary)
{
    char *path = NULL;
    const char *place = getenv("TMPDIR");
    int size = is_temporary ? asprintf(&path, "%s/sonde-spool.%d", place && *place ? place : "/tmp",
                                       (int)getpid())
                            : asprintf(&path, "%s/spool", state_folder);
    return size < 0 ? NULL : path;
}

int sn_spool_open(const char *folder, struct sonde_error *err)
{
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return sn_fail_errno(err, "cannot make %s", folder);
    SN_AUTO(sn_close) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sn_fail_errno(err, "cannot open %s", folder);
    int rc = check_owner(fd, folder, err);
    if (rc == SONDE_OK)
        empty(fd, remove_journal);
    return rc;
}

uint64_t sn_spool_bytes(const char *folder)
{
    uint64_t sum = 0;
    SN_AUTO(sn_closedir) DIR *files = opendir(folder);
    if (!files)
        return 0;
    for (const struct dirent *entry; (entry = readdir(files));) {
        struct stat status;
        if (fstatat(dirfd(files), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            sum += (uint64_t)status.st_blocks * 512;
    }
    return sum;
}

bool sn_spool_is_full(const char *folder)
{
    struct statvfs system;
    if (statvfs(folder, &system) != 0 || !system.f_blocks)
        return false;
    uint64_t all = (uint64_t)system.f_blocks * system.f_frsize;
    uint64_t left = (uint64_t)system.f_bavail * system.f_frsize;
    return left < all / 20 && left < FREE_BYTES_MIN;
}

uint64_t sn_spool_room(const char *folder, uint64_t quota)
{
    struct statvfs system;
    uint64_t used = sn_spool_bytes(folder);
    uint64_t room = quota > used ? quota - used : 0;
    if (statvfs(folder, &system) != 0)
        return room;
    uint64_t left = (uint64_t)system.f_bavail * system.f_frsize;
    left = left > FREE_BYTES_MIN ? left - FREE_BYTES_MIN : 0;
    return left < room ? left : room;
}

int sn_spool_id(char to[37], struct sonde_error *err)
{
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return sn_fail_errno(err, "cannot get random bytes");
    bytes[7] = (uint8_t)((bytes[7] & 0x0f) | 0x40); /* version 4, as everybody else's */
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    (void)sn_guid_write(bytes, to);
    return SONDE_OK;
}
