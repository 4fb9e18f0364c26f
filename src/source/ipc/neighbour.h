/* Runtimes whose process nobody here sees, but whose port can be reached: in another pid namespace
 * with the same temporary directory, as the containers of a pod are. All that is known of one is
 * its socket, so it has no pid of ours: it gets a number above all pids that stands for the
 * socket's name. Its listener must be the owner of the socket, and no process in sight. */
#ifndef SN_IPC_NEIGHBOUR_H
#define SN_IPC_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "source/ipc/discover.h"

#define SN_IPC_NEIGHBOURS 0x40000000 /* the kernel's pids end at 2^22 */

static inline bool sn_ipc_is_neighbour(int pid)
{
    return pid >= SN_IPC_NEIGHBOURS;
}

/* Calls `found` for each; where every process is in sight there can be none. Without `connects`
 * sockets on which nobody listens are among them. A status that is not SONDE_OK stops it and is
 * returned. */
int sn_ipc_neighbours(bool connects, sn_ipc_found_fn *found, void *user);

/* The one with this number, by its socket: looks only. False: there is none. *ret_since_ns (may be
 * NULL) is when the socket was made, since 1970. */
bool sn_ipc_neighbour_find(int pid, struct sn_ipc_target *ret_target, uint64_t *ret_since_ns);

/* As sn_ipc_connect, for one of them. */
int sn_ipc_neighbour_connect(const struct sn_ipc_target *target, int *ret_fd,
                             struct sonde_error *err);

#endif
