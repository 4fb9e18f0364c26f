/* Connecting to a port only when its listener is certain: the other half of discover.h. */
#include "source/ipc/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/own.h"
#include "source/ipc/discover.h"
#include "source/ipc/neighbour.h"
#include "source/ipc/process.h"

enum sn_ipc_reach sn_ipc_socket_look(int dir, const char *name, unsigned uid, int *ret_fd)
{
    /* The file itself is held, so that what was looked at is what is connected to. */
    SN_AUTO(sn_close) int file = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat stat;
    if (file < 0)
        return errno == EACCES ? SN_IPC_REACH_DENIED : SN_IPC_REACH_NO_SOCKET;
    if (fstat(file, &stat) != 0 || !S_ISSOCK(stat.st_mode) || stat.st_uid != uid)
        return SN_IPC_REACH_FAKE;
    if (ret_fd)
        *ret_fd = sn_take_fd(&file);
    return SN_IPC_REACH_OK;
}

enum sn_ipc_reach sn_ipc_reach_of_unreadable(const struct sn_ipc_target *target)
{
    unsigned user = geteuid();
    return user != 0 && target->uid != user ? SN_IPC_REACH_DENIED : SN_IPC_REACH_HIDDEN;
}

bool sn_ipc_peer_is(int fd, int pid, unsigned uid)
{
    struct ucred peer = {0};
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return false;
    if (sn_ipc_is_neighbour(pid)) /* whom we do not see has no pid here */
        return peer.pid == 0 && peer.uid == uid;
    return peer.pid > 0 && peer.pid == pid && peer.uid == uid;
}

enum sn_ipc_reach sn_ipc_socket_connect(int file, const struct sn_ipc_target *target, int *ret_fd)
{
    SN_AUTO(sn_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return SN_IPC_REACH_HIDDEN;
    /* Through our own descriptor: a long path below another root would not fit into sun_path. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        switch (errno) {
        case ECONNREFUSED: return SN_IPC_REACH_STALE;
        case EACCES:
        case EPERM: return SN_IPC_REACH_DENIED;
        default: return SN_IPC_REACH_HIDDEN; /* errno says more */
        }
    }
    if (!sn_ipc_peer_is(fd, target->pid, target->uid))
        return SN_IPC_REACH_FAKE;
    *ret_fd = sn_take_fd(&fd);
    return SN_IPC_REACH_OK;
}

static bool is_same_process(const struct sn_ipc_process *process,
                            const struct sn_ipc_target *target)
{
    return process->start_ticks == target->start_ticks && !sn_ipc_process_is_dead(process);
}

static int fail_gone(const struct sn_ipc_target *target, struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_GONE, 0, "pid %d has ended", target->pid);
}

static int open_socket_file(const struct sn_ipc_process *process,
                            const struct sn_ipc_target *target, int *ret_file,
                            struct sonde_error *err)
{
    SN_AUTO(sn_close) int root = sn_ipc_process_open_root(process);
    if (root < 0 && errno != EACCES && errno != EPERM)
        return fail_gone(target, err);
    if (root < 0)
        return sn_ipc_reach_fail(target, sn_ipc_reach_of_unreadable(target), err);
    SN_AUTO(sn_close)
    int dir = sn_ipc_open_in_root(root, target->directory, O_PATH | O_DIRECTORY);
    if (dir < 0)
        return sn_fail_errno(err, "cannot open '%s' as pid %d sees it", target->directory,
                             target->pid);
    const char *name = strrchr(target->socket_path, '/');
    enum sn_ipc_reach reach =
        name ? sn_ipc_socket_look(dir, name + 1, target->uid, ret_file) : SN_IPC_REACH_NO_SOCKET;
    return reach == SN_IPC_REACH_OK ? SONDE_OK : sn_ipc_reach_fail(target, reach, err);
}

int sn_ipc_connect(const struct sn_ipc_target *target, int *ret_fd, struct sonde_error *err)
{
    SN_AUTO(sn_ipc_process_close) struct sn_ipc_process held = {.dir = -1};
    if (sn_ipc_is_neighbour(target->pid))
        return sn_ipc_neighbour_connect(target, ret_fd, err);
    if (!sn_ipc_process_open(target->pid, &held) || !is_same_process(&held, target))
        return fail_gone(target, err);
    if (sn_ipc_process_is_stopped(&held))
        return sn_ipc_reach_fail(target, SN_IPC_REACH_STOPPED, err);

    SN_AUTO(sn_close) int file = -1;
    int rc = open_socket_file(&held, target, &file, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_close) int fd = -1;
    errno = 0;
    enum sn_ipc_reach reach = sn_ipc_socket_connect(file, target, &fd);
    if (reach == SN_IPC_REACH_HIDDEN && errno == EAGAIN)
        return SONDE_AGAIN;
    if (reach == SN_IPC_REACH_HIDDEN)
        return sn_fail_errno(err, "cannot connect to '%s' of pid %d", target->socket_path,
                             target->pid);
    if (reach != SN_IPC_REACH_OK)
        return sn_ipc_reach_fail(target, reach, err);

    /* Reads through the held descriptor fail once the process is gone, whoever has its pid now. */
    if (!sn_ipc_process_read_status(&held))
        return fail_gone(target, err);
    *ret_fd = sn_take_fd(&fd);
    return SONDE_OK;
}
