#include "net/control_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

#define SOCKET_NAME "/control.sock"

/* Nobody else can have put anything into it. */
static bool is_ours(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
           !(found.st_mode & 022u);
}

/* Its parents are the system's. */
static const char *runtime_folder(void)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    return folder && folder[0] == '/' ? folder : NULL;
}

static bool put(char to[SN_CONTROL_PATH_SIZE], const char *parent, const char *folder)
{
    int size = snprintf(to, SN_CONTROL_PATH_SIZE, "%s/%s" SOCKET_NAME, parent, folder);
    return size > 0 && (size_t)size < SN_CONTROL_PATH_SIZE;
}

size_t sn_control_paths(char to[SN_CONTROL_PATHS][SN_CONTROL_PATH_SIZE])
{
    char own[32];
    char user[40];
    const char *runtime = runtime_folder();
    size_t count = 0;
    (void)snprintf(own, sizeof(own), "sonde-%u", (unsigned)geteuid());
    (void)snprintf(user, sizeof(user), "/run/user/%u", (unsigned)geteuid());
    count += runtime && put(to[count], runtime, "sonde");
    if (!runtime || strcmp(runtime, user) != 0)
        count += put(to[count], user, "sonde");
    count += put(to[count], "/tmp", own);
    count += put(to[count], "/run", "sonde");
    return count;
}

static int make_folder(const char *path, struct sonde_error *err)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return sn_fail_errno(err, "cannot make %s for the control socket; give --socket PATH",
                             path);
    if (!is_ours(path))
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "%s is not ours alone: somebody else could take the place of the control "
                       "socket; give --socket PATH",
                       path);
    return SONDE_OK;
}

int sn_control_path_make(char to[SN_CONTROL_PATH_SIZE], struct sonde_error *err)
{
    char user[40];
    char folder[32] = "sonde";
    const char *parent = runtime_folder();
    (void)snprintf(user, sizeof(user), "/run/user/%u", (unsigned)geteuid());
    if (!parent || !is_ours(parent)) {
        parent = geteuid() == 0 ? "/run" : is_ours(user) ? user : "/tmp";
        if (strcmp(parent, "/tmp") == 0)
            (void)snprintf(folder, sizeof(folder), "sonde-%u", (unsigned)geteuid());
    }
    if (!put(to, parent, folder))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "%.80s is too long for a socket; give --socket PATH", parent);
    char *name = strrchr(to, '/');
    *name = '\0';
    int rc = make_folder(to, err);
    *name = '/';
    return rc;
}
