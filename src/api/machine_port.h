/* Where the runtimes of a program that is started for a recording wait, at their first instruction,
 * until their sessions are open.
 *
 * Whoever inherits the variable waits here, also long after the recording. So a guard, a small
 * process of its own, goes on to let them go as soon as nobody records any more, however the
 * recorder ended, for as long as anybody has the variable. */
#ifndef SN_MACHINE_PORT_H
#define SN_MACHINE_PORT_H

#include "source/ipc/port.h"

struct sn_machine_port;

int sn_machine_port_new(struct sn_machine_port **ret_port, struct sonde_error *err);

/* Lets go of it. What borrows it must be gone. */
void sn_machine_port_free(struct sn_machine_port *port);

/* The value for DOTNET_DiagnosticPorts, and the part of it that nobody else has. */
const char *sn_machine_port_setting(const struct sn_machine_port *port);
const char *sn_machine_port_path(const struct sn_machine_port *port);

/* `arrived` is told of each runtime, and has to see to it that it is resumed: by this way. */
int sn_machine_port_watch(struct sn_machine_port *port, struct sn_loop *loop,
                          sn_ipc_arrived_fn *arrived, void *user, struct sonde_error *err);
struct sn_ipc_route sn_machine_port_route(struct sn_machine_port *port,
                                          const struct sn_ipc_target *target,
                                          const struct sn_ipc_guid *cookie);

/* The guard takes over. */
void sn_machine_port_leave(struct sn_machine_port *port);

#endif
