#include "source/perf/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

#define DEPTH_MAX       16
#define PROCESSES_LIMIT (4u << 20) /* bytes of a list of pids */

static bool is_cgroup(int fd)
{
    struct statfs status;
    return fstatfs(fd, &status) == 0 &&
           (status.f_type == CGROUP2_SUPER_MAGIC || status.f_type == CGROUP_SUPER_MAGIC);
}

/* perf_event's own hierarchy first: where it is one of v1, a directory of v2 is refused. */
static int open_below_root(const char *path)
{
    static const char *const roots[] = {"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup",
                                        "/sys/fs/cgroup/unified"};
    for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
        char whole[4096];
        int size = snprintf(whole, sizeof(whole), "%s/%s", roots[i], path);
        if (size < 0 || (size_t)size >= sizeof(whole))
            break;
        int fd = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

int sn_cgroup_open(const char *path, int *ret_fd, struct sonde_error *err)
{
    SN_AUTO(sn_close)
    int fd = path[0] == '/' ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        fd = open_below_root(path + strspn(path, "/"));
    if (fd < 0)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "there is no cgroup '%s'; /proc/PID/cgroup names those of a process", path);
    if (!is_cgroup(fd))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%s' is no directory of a cgroup", path);
    *ret_fd = sn_take_fd(&fd);
    return SONDE_OK;
}

static void visit_list(int dir, const char *name, sn_cgroup_fn *visit, void *user)
{
    SN_AUTO(sn_buf_done) struct sn_buf list = sn_buf_with_limit(PROCESSES_LIMIT);
    if (sn_file_read_at(dir, name, &list, NULL) != SONDE_OK)
        return; /* removed meanwhile */
    const char *at = sn_buf_string(&list);
    while (*at) {
        char *end;
        uint32_t pid = (uint32_t)strtoul(at, &end, 10);
        if (end == at)
            return;
        if (pid)
            visit(user, pid); /* 0: one of another pid namespace */
        at = end + strspn(end, "\n");
    }
}

void sn_cgroup_processes(int fd, sn_cgroup_fn *visit, void *user)
{
    char root[64];
    char *const paths[] = {root, NULL};
    (void)snprintf(root, sizeof(root), "/proc/self/fd/%d/.", fd);
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
    if (!walk)
        return;
    for (FTSENT *entry = fts_read(walk); entry; entry = fts_read(walk)) {
        if (entry->fts_info == FTS_D && entry->fts_level > DEPTH_MAX)
            (void)fts_set(walk, entry, FTS_SKIP); /* cannot fail with this word */
        else if (strcmp(entry->fts_name, "cgroup.procs") == 0)
            visit_list(AT_FDCWD, entry->fts_accpath, visit, user);
    }
    (void)fts_close(walk);
}
