/* Decoded events through a controller: its stream of the topic events/PID, as lines of JSON. */
#ifndef SN_CLI_REMOTE_EVENTS_H
#define SN_CLI_REMOTE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "sonde/provider.h"

struct sn_remote_choice;

struct sn_remote_events {
    const char *pid;  /* as typed; NULL */
    const char *name; /* NULL */
    const struct sonde_provider *providers;
    size_t provider_count;
    const struct sn_option_list *events; /* patterns of their names */
    uint8_t level;                       /* 0: any */
    const char *output;                  /* NULL: standard output */
    uint64_t duration_ns;                /* 0: until stopped */
    uint64_t limit;                      /* of events; 0: none */
};

/* Returns the exit code; failures are told. */
int sn_remote_events_run(const struct sn_remote_events *events,
                         const struct sn_remote_choice *choice);

#endif
