/* Starting a program, or waiting for one, so that its runtime waits for us at its first
 * instruction.
 */
#ifndef SN_API_LAUNCH_H
#define SN_API_LAUNCH_H

#include <stdbool.h>

#include "sonde/trace.h"
#include "source/ipc/call.h"

struct sn_launch;
struct sn_loop;
struct sonde_error;

/* Runs argv[0] with the variable that makes its runtime connect to a port of ours and wait there;
 * comes back when it has. */
int sn_launch_new(char *const argv[], const struct sonde_trace_options *options,
                  struct sn_launch **ret_launch, struct sn_ipc_route *ret_route,
                  struct sonde_error *err);

/* Listens at `path` until a runtime connects: that of a program which others start. */
int sn_launch_await(const char *path, const struct sonde_trace_options *options,
                    struct sn_launch **ret_launch, struct sn_ipc_route *ret_route,
                    struct sonde_error *err);

/* Whether there is a program of ours that may end. */
bool sn_launch_has_program(const struct sn_launch *launch);

/* The program goes on, but one that was never resumed is ended. */
void sn_launch_free(struct sn_launch *launch);

/* Lets the program run, and from now on every other runtime that it starts. */
int sn_launch_resume(struct sn_launch *launch, struct sn_loop *loop, struct sonde_error *err);

/* The program is not the runtime itself but something, such as a shell, that started it. */
bool sn_launch_is_wrapped(const struct sn_launch *launch);

/* As waitpid gives it, or -1 while it runs. */
int sn_launch_status(struct sn_launch *launch);

#endif
