/* Running a trace in front of a person: signals, the live line, the last line. */
#ifndef SN_CLI_TRACE_RUN_H
#define SN_CLI_TRACE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "sonde/trace.h"

#define SN_TRACE_TARGETS_MAX 128u

struct sonde_error;

/* Another way to tell of a trace than sonde's own: every function gets the run's `voice_user`. */
struct sn_trace_voice {
    void (*started)(void *user, const struct sonde_tracer *tracer); /* all sessions are open */
    void (*live)(void *user, const struct sonde_tracer *tracer, bool is_stopping);
    void (*stopping)(void *user, const struct sonde_tracer *tracer);
    int (*failed)(void *user, const struct sonde_error *err); /* both return the exit code */
    int (*finished)(void *user, const struct sonde_tracer *tracer, bool was_signalled);
};

struct sn_trace_run {
    uint32_t pids[SN_TRACE_TARGETS_MAX];
    size_t pid_count;
    char *const *command; /* NULL: none */
    const char *port;     /* wait there for a program; NULL: no */
    const char *output;   /* NULL: a name made of the process's */
    uint64_t duration_ns; /* 0: until stopped */
    bool json;
    const struct sn_option_list
        *asked; /* provider strings as typed: those are told of when nothing comes */
    struct sonde_trace_options options; /* but for `output` */
    bool is_live;                       /* a terminal is there to be rewritten */
    bool reads_keys;                    /* Enter ends it */
    bool ignores_signals;               /* they are for the command */
    const struct sn_trace_voice *voice; /* NULL: sonde's own */
    void *voice_user;
};

/* Returns the exit code. */
int sn_trace_run(const struct sn_trace_run *run);

#endif
