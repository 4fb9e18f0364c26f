/* The processes that a controller sees, as ours are. */
#ifndef SN_CLI_REMOTE_PROCESSES_H
#define SN_CLI_REMOTE_PROCESSES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/process.h"

struct sn_remote;
struct sonde_error;

#define SN_REMOTE_PROCESSES_MAX 65536u

struct sn_remote_processes {
    json_t *json;                /* owns every text */
    struct sonde_process *items; /* owns; sorted by name, then pid */
    size_t count;
};

int sn_remote_processes_get(struct sn_remote *remote, struct sn_remote_processes *ret_processes,
                            struct sonde_error *err);
void sn_remote_processes_done(struct sn_remote_processes *processes);

static inline void sn_remote_processes_done_auto(struct sn_remote_processes *processes)
{
    sn_remote_processes_done(processes);
}

/* One object of the list; texts are borrowed from it. */
void sn_remote_process_read(const json_t *object, struct sonde_process *to);

/* What -p or -n mean there; without both the only one there is. SONDE_E_NOT_FOUND; _ARGUMENT:
 * several, or none given. */
int sn_remote_processes_find(const struct sn_remote_processes *processes, uint64_t pid,
                             const char *name, uint32_t *ret_pid, struct sonde_error *err);

/* The same, asked for now. */
int sn_remote_processes_choose(struct sn_remote *remote, uint64_t pid, const char *name,
                               uint32_t *ret_pid, struct sonde_error *err);

#endif
