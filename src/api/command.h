/* A program that is started for a recording: held before its first instruction until everybody
 * listens, then let go; its end is noticed. */
#ifndef SN_COMMAND_H
#define SN_COMMAND_H

#include <stdint.h>

struct sn_command;
struct sonde_error;

/* Makes the process; it waits. `ports`: what its runtimes are to connect to
 * (api/port_variable.h), or NULL. */
int sn_command_new(char *const argv[], const char *ports, struct sn_command **ret_command,
                   struct sonde_error *err);

/* One that was never let go is ended; else it goes on. */
void sn_command_free(struct sn_command *command);

uint32_t sn_command_pid(const struct sn_command *command);

/* Lets it run. Fails when it cannot be started: not there, no program, not permitted. */
int sn_command_release(struct sn_command *command, struct sonde_error *err);

/* As waitpid gives it, or -1 while it runs. */
int sn_command_status(struct sn_command *command);

#endif
