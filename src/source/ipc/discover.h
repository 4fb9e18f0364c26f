/* Finding .NET processes and the sockets of their diagnostics ports: in any pid and mount
 * namespace, of any user, without asking them anything.
 *
 * All of it is read below a descriptor of /proc/PID, which, like a pidfd, cannot come to mean
 * another process. A file that cannot be read means that the process is gone or not ours to see,
 * never an error. */
#ifndef SN_IPC_DISCOVER_H
#define SN_IPC_DISCOVER_H

#include <stddef.h>
#include <stdint.h>

struct sonde_error;

enum sn_ipc_reach {
    SN_IPC_REACH_OK,
    SN_IPC_REACH_DENIED,    /* of another user */
    SN_IPC_REACH_HIDDEN,    /* its root or environment cannot be read, though the user is right */
    SN_IPC_REACH_OFF,       /* its environment switches the port off */
    SN_IPC_REACH_NO_SOCKET, /* the socket was removed, or is somewhere we cannot know */
    SN_IPC_REACH_STOPPED,   /* by a signal or a debugger: it would not answer */
    SN_IPC_REACH_ZOMBIE,    /* has ended and waits for its parent */
    SN_IPC_REACH_STALE,     /* a socket is there and nobody listens */
    SN_IPC_REACH_FAKE,      /* something is there that is not this process's socket */
};

struct sn_ipc_target {
    int pid;              /* as we see it; of one that we do not see, neighbour.h */
    int ns_pid;           /* as it sees itself */
    uint64_t start_ticks; /* with pid, the identity of the process */
    unsigned uid;         /* effective */
    unsigned gid;         /* effective */
    enum sn_ipc_reach reach;
    char state;            /* letter of /proc/PID/stat */
    char comm[16];         /* its short name, as it came: not safe to print */
    char directory[112];   /* of the socket, as the target sees it; "" when not known */
    char socket_path[208]; /* likewise; "" when there is none */
};

typedef int sn_ipc_found_fn(void *user, const struct sn_ipc_target *target);

/* Calls `found` for every .NET process, reachable or not, in the order of /proc. A status that is
 * not SONDE_OK stops it and is returned. */
int sn_ipc_discover(sn_ipc_found_fn *found, void *user, struct sonde_error *err);

/* The target with this pid; fails with reason and remedy when it is not there, is not .NET, or
 * cannot be reached. */
int sn_ipc_target_of_pid(int pid, struct sn_ipc_target *ret_target, struct sonde_error *err);

/* The same, but gives what it found whenever the process is .NET, with `reach` saying how it is. */
int sn_ipc_target_inspect(int pid, struct sn_ipc_target *ret_target, struct sonde_error *err);

/* Why a target is out of reach, and what helps. `to` is returned. */
const char *sn_ipc_reach_reason(enum sn_ipc_reach reach);
const char *sn_ipc_reach_fix(const struct sn_ipc_target *target, char *to, size_t size);

/* Fails with reason and remedy: SONDE_E_DENIED, SONDE_E_GONE or SONDE_E_NOT_FOUND. */
int sn_ipc_reach_fail(const struct sn_ipc_target *target, enum sn_ipc_reach reach,
                      struct sonde_error *err);

/* Connects to the port of `target`, once it is certain that the process is still the same and that
 * it is the one that listens. *ret_fd is non-blocking. SONDE_AGAIN: its queue is full, try later.
 */
int sn_ipc_connect(const struct sn_ipc_target *target, int *ret_fd, struct sonde_error *err);

#endif
