/* A diagnostics port of ours that runtimes connect to (DOTNET_DiagnosticPorts): how a program is
 * watched, or held, from its first instruction on.
 *
 * A runtime connects, says who it is, and waits for one command; once that is used, it connects
 * again. The port keeps the waiting connection of each runtime. Every process that inherits the
 * variable connects and, with `suspend`, waits to be resumed: resume also those nobody asked for.
 * One thread. */
#ifndef SN_IPC_PORT_H
#define SN_IPC_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/ipc/discover.h"
#include "source/ipc/guid.h"

struct sn_ipc_port;
struct sn_ipc_route;
struct sn_loop;
struct sonde_error;

#define SN_IPC_ADVERTISEMENT_SIZE 34u

struct sn_ipc_advertisement {
    struct sn_ipc_guid cookie;
    uint64_t ns_pid; /* in its own pid namespace */
};

/* Reads the 34 bytes a runtime sends first. */
int sn_ipc_decode_advertisement(const void *bytes, size_t size, struct sn_ipc_advertisement *ret,
                                struct sonde_error *err);

/* A runtime has connected for the first time; `target` holds its pid as we see it. Called from the
 * loop, or from within any function of the port; must not free it. */
typedef void sn_ipc_arrived_fn(void *user, const struct sn_ipc_target *target,
                               const struct sn_ipc_guid *cookie);

/* Listens on `path`, which only our own user may connect to; NULL makes a private directory that
 * goes away with the port. What is left over at `path` from a port of ours that has ended is
 * replaced; SONDE_E_BUSY when somebody listens there. */
int sn_ipc_port_new(const char *path, struct sn_ipc_port **ret_port, struct sonde_error *err);

/* Closes what it holds and removes the socket. Runtimes held by it stay held. */
void sn_ipc_port_free(struct sn_ipc_port *port);

static inline void sn_ipc_port_free_auto(struct sn_ipc_port **slot)
{
    sn_ipc_port_free(*slot);
}

/* Another process has it as well, and removes the socket in the end: free only closes. */
void sn_ipc_port_share(struct sn_ipc_port *port);

/* Other users may connect as well. */
int sn_ipc_port_admit_all(struct sn_ipc_port *port, struct sonde_error *err);

/* Nobody new is let in; those that are half in try elsewhere. */
void sn_ipc_port_close(struct sn_ipc_port *port);

int sn_ipc_port_fd(const struct sn_ipc_port *port); /* what it listens on */
const char *sn_ipc_port_path(const struct sn_ipc_port *port);

/* "PATH,suspend" or "PATH,nosuspend": the value for DOTNET_DiagnosticPorts. */
const char *sn_ipc_port_setting(const struct sn_ipc_port *port, bool suspend, char *to,
                                size_t size);

/* Serves arrivals from `loop` on; those that nobody has waited for yet are told at once. */
int sn_ipc_port_watch(struct sn_ipc_port *port, struct sn_loop *loop, sn_ipc_arrived_fn *arrived,
                      void *user, struct sonde_error *err);

/* Waits until a runtime has arrived that nobody has waited for yet: process `pid`, or any when 0.
 */
int sn_ipc_port_wait(struct sn_ipc_port *port, int pid, uint64_t timeout_ns,
                     struct sn_ipc_route *ret_route, struct sonde_error *err);

/* The way to a runtime that has arrived. */
struct sn_ipc_route sn_ipc_port_route(struct sn_ipc_port *port, const struct sn_ipc_target *target,
                                      const struct sn_ipc_guid *cookie);

/* Moves the waiting connection of a runtime out. SONDE_AGAIN: it has not come back yet. */
int sn_ipc_port_take(struct sn_ipc_port *port, const struct sn_ipc_guid *cookie, int *ret_fd,
                     struct sonde_error *err);

#endif
