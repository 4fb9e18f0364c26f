/* The steps of connecting to a port, for those in this folder that take them one by one. */
#ifndef SN_IPC_CONNECT_H
#define SN_IPC_CONNECT_H

#include <stdbool.h>

#include "source/ipc/discover.h"

/* Looks at the socket file `name` in `dir` without connecting: it must be a socket owned by `uid`.
 * *ret_fd, unless `ret_fd` is NULL, is the file for sn_ipc_socket_connect. */
enum sn_ipc_reach sn_ipc_socket_look(int dir, const char *name, unsigned uid, int *ret_fd);

/* Connects and checks who listens. SN_IPC_REACH_HIDDEN: for another reason, in errno. */
enum sn_ipc_reach sn_ipc_socket_connect(int file, const struct sn_ipc_target *target, int *ret_fd);

/* Why the files of a process cannot be read. */
enum sn_ipc_reach sn_ipc_reach_of_unreadable(const struct sn_ipc_target *target);

/* Whether the process at the other end, or the one that listens there, is this one. */
bool sn_ipc_peer_is(int fd, int pid, unsigned uid);

#endif
