/* A .NET program that is not there yet: started, or waited for at a port, and held until its
 * runtime answers, so that it can be watched from its beginning. */
#ifndef SN_CLI_ENTRANCE_H
#define SN_CLI_ENTRANCE_H

#include <stdbool.h>
#include <stdint.h>

struct sonde_error;
struct sonde_tracer;

struct sn_entrance {
    struct sonde_tracer *tracer; /* owns; who holds runtimes and lets them go */
    uint32_t pid;                /* of the first runtime */
    bool is_command;             /* it was started here */
    int signals;                 /* of cli/signals.h; borrows: gives the waiting up */
};

/* Starts a program without input, whose output goes nowhere. What it starts itself may be the first
 * runtime. */
int sn_entrance_launch(struct sn_entrance *entrance, char *const argv[], struct sonde_error *err);

/* Waits at `path` for a program that somebody else starts. SONDE_E_GONE: a signal came first. */
int sn_entrance_listen(struct sn_entrance *entrance, const char *path, bool leave_suspended,
                       struct sonde_error *err);

/* A started program goes on. */
void sn_entrance_done(struct sn_entrance *entrance);

/* To be waited for and turned while others are: runtimes that start later want to be let go. */
int sn_entrance_fd(const struct sn_entrance *entrance);
int sn_entrance_turn(struct sn_entrance *entrance, struct sonde_error *err);

/* As a shell would say it; -1 while it runs, and of what was not started here. */
int sn_entrance_exit_code(const struct sn_entrance *entrance);

#endif
