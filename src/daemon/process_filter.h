/* What a process must be like to be the default one: dotnet-monitor's DefaultProcess. */
#ifndef SN_PROCESS_FILTER_H
#define SN_PROCESS_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct sn_serve_options;
struct sonde_process;

enum sn_process_key {
    SN_PROCESS_ID = 0,
    SN_PROCESS_NAME,
    SN_PROCESS_COMMAND_LINE,
    SN_PROCESS_ASSEMBLY, /* of its entry point */
};

struct sn_process_filter {
    enum sn_process_key key;
    const char *value;
    bool is_contained; /* a part of it is enough; case never matters */
};

/* -1: there is no such key ("ProcessName"). */
int sn_process_filter_find(const char *key);

/* Whether it can be the default process: it answers, and every filter holds. */
bool sn_process_filter_holds(const struct sn_serve_options *options,
                             const struct sonde_process *process);

#endif
