#include "base/run_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

static bool is_ours(int folder)
{
    struct stat found;
    return folder >= 0 && fstat(folder, &found) == 0 && found.st_uid == geteuid() &&
           !(found.st_mode & 022);
}

/* A folder of ours that nobody else can write to, or -1. */
static int open_below(int above, const char *name, bool is_made)
{
    if (is_made)
        (void)mkdirat(above, name, 0700); /* that it is there and fit is checked below */
    SN_AUTO(sn_close)
    int folder = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return is_ours(folder) ? sn_take_fd(&folder) : -1;
}

static int open_folder(size_t number, bool is_made)
{
    char name[32];
    if (number == 0) {
        (void)snprintf(name, sizeof(name), "/run/user/%u", (unsigned)geteuid());
        SN_AUTO(sn_close) int runtime = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return is_ours(runtime) ? open_below(runtime, "sonde", is_made) : -1;
    }
    (void)snprintf(name, sizeof(name), "sonde-%u", (unsigned)geteuid());
    SN_AUTO(sn_close) int temporary = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return temporary >= 0 ? open_below(temporary, name, is_made) : -1;
}

int sn_run_folder_open(size_t number)
{
    return open_folder(number, false);
}

int sn_run_folder_make(void)
{
    int folder = -1;
    for (size_t i = 0; i < SN_RUN_FOLDERS && folder < 0; i++)
        folder = open_folder(i, true);
    return folder;
}

int sn_run_file_open(int folder, const char *name, int flags)
{
    SN_AUTO(sn_close)
    int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
    struct stat found;
    bool is_file = file >= 0 && fstat(file, &found) == 0 && S_ISREG(found.st_mode);
    return is_file ? sn_take_fd(&file) : -1;
}

bool sn_run_file_is(int folder, const char *name, int file)
{
    struct stat there;
    struct stat ours;
    return fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(file, &ours) == 0 &&
           there.st_ino == ours.st_ino && there.st_dev == ours.st_dev;
}
