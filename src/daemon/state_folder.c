#include "daemon/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

#define LOCK         "lock"
#define LOCK_TRIES   20u
#define LOCK_WAIT_MS 100 /* between them: one that is just ending */

static const char *set_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int sn_state_folder_path(const char *given, char **ret_path, struct sonde_error *err)
{
    const char *unit = set_variable("STATE_DIRECTORY");
    const char *state = set_variable("XDG_STATE_HOME");
    const char *home = set_variable("HOME");
    int rc;
    if (given || unit)
        rc = asprintf(ret_path, "%s", given ? given : unit);
    else if (state)
        rc = asprintf(ret_path, "%s/sonde", state);
    else if (home)
        rc = asprintf(ret_path, "%s/.local/state/sonde", home);
    else
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "no folder for keys and recordings: HOME is not set; give --state FOLDER");
    return rc < 0 ? sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a path") : SONDE_OK;
}

static int check_owner(const char *path, struct sonde_error *err)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return sn_fail_errno(err, "cannot look at %.200s", path);
    if (!S_ISDIR(facts.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%.200s is no folder", path);
    if (facts.st_uid != geteuid() && facts.st_uid != 0)
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "%.200s belongs to another user; choose another --state FOLDER", path);
    if (facts.st_mode & S_IWOTH && !(facts.st_mode & S_ISVTX))
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "everybody may write into %.200s; 'chmod 700' it, or choose another "
                       "--state FOLDER",
                       path);
    return SONDE_OK;
}

int sn_state_folder_make(const char *path, struct sonde_error *err)
{
    SN_AUTO(sn_free) char *part = strdup(path);
    if (!part)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a path");
    for (char *slash = part; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return sn_fail_errno(err, "cannot make the folder %.200s", part);
        *slash = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return sn_fail_errno(err, "cannot make the folder %.200s", path);
    return check_owner(path, err);
}

bool sn_state_folder_is_usable(const char *path)
{
    return sn_state_folder_make(path, NULL) == SONDE_OK && access(path, W_OK) == 0;
}

static int fail_used(const char *path, int fd, struct sonde_error *err)
{
    char pid[16] = "";
    ssize_t got = pread(fd, pid, sizeof(pid) - 1, 0);
    pid[got > 0 ? strspn(pid, "0123456789") : 0] = '\0';
    return sn_fail(err, SONDE_E_BUSY, 0,
                   "another sonde uses the state folder %.200s (pid %s): end it, or choose another "
                   "--state FOLDER",
                   path, *pid ? pid : "unknown");
}

int sn_state_folder_lock(const char *path, int *ret_fd, struct sonde_error *err)
{
    SN_AUTO(sn_free) char *file = NULL;
    int rc = sn_state_folder_make(path, err);
    if (rc != SONDE_OK)
        return rc;
    if (asprintf(&file, "%s/" LOCK, path) < 0) {
        file = NULL;
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a path");
    }
    SN_AUTO(sn_close) int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sn_fail_errno(err, "cannot open %.200s", file);
    unsigned tries = 0;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return sn_fail_errno(err, "cannot lock %.200s", file);
        if (++tries == LOCK_TRIES)
            return fail_used(path, fd, err);
        (void)poll(NULL, 0, LOCK_WAIT_MS);
    }
    char pid[16];
    int size = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (ftruncate(fd, 0) != 0 || sn_file_write_all(fd, pid, (size_t)size, NULL) != SONDE_OK)
        (void)fd; /* a disk that is full: only the pid is missing */
    *ret_fd = sn_take_fd(&fd);
    return SONDE_OK;
}
