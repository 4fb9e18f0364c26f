/* What a program logs, through a controller's route of dotnet-monitor. */
#ifndef SN_CLI_REMOTE_LOGS_H
#define SN_CLI_REMOTE_LOGS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_remote_choice;

struct sn_remote_logs {
    const char *pid;  /* as typed; NULL */
    const char *name; /* NULL */
    const char *level;
    const char *output;
    bool is_ndjson;
    uint64_t duration_ns; /* 0: until stopped */
    uint64_t limit;       /* of lines; 0: none */
};

/* Returns the exit code; failures are told. */
int sn_remote_logs_run(const struct sn_remote_logs *logs, const struct sn_remote_choice *choice);

#endif
