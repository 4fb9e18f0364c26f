/** @file
 * Finding .NET processes: every one on the machine, reachable or not, and why.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_PROCESS_H
#define SONDE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** One .NET process. Borrowed from the list; read only. Strings are UTF-8 as far as the process
 * wrote UTF-8, never NULL, and come from the process: escape them for wherever they go. */
struct sonde_process {
    uint32_t pid;             /**< as this machine counts it */
    uint32_t ns_pid;          /**< as the process counts itself, in its own pid namespace */
    uint32_t uid;             /**< whose it is */
    int is_reachable;         /**< its diagnostics port answers us */
    const char *name;         /**< the entry assembly, or the kernel's name for it */
    const char *runtime;      /**< "10.0.1", or "" when it cannot be told */
    const char *user;         /**< the name of that user, or its number */
    const char *container;    /**< the short id of its container, or "" */
    const char *command_line; /**< its arguments, with spaces between */
    const char *architecture; /**< "x64", or "" */
    const char *reason;       /**< why it cannot be reached, or "" */
    const char *fix;          /**< the line that changes that, or "" */
    uint64_t up_ns;           /**< since its start */
    uint64_t rss_bytes;       /**< memory it has in use */
    uint32_t thread_count;    /**< threads it has */
    uint8_t cookie[16];       /**< the runtime instance's own id; zeros when it did not answer,
                                   or was not asked */
    uint64_t start_ticks;     /**< when it started, as the kernel counts since the machine did; with
                                   the pid it names the process for ever: pids come back */
};

/** Processes as they were at one moment; opaque. */
struct sonde_process_list;

/** Looks at every process once; waits at most a quarter of a second for those that do not answer.
 * The list is sorted by name, then pid. The caller frees it. */
int sonde_process_list_new(struct sonde_process_list **ret_list, struct sonde_error *err);

/** Frees a list and all that was got from it; NULL is fine. */
void sonde_process_list_free(struct sonde_process_list *list);

/** How many there are. */
size_t sonde_process_list_count(const struct sonde_process_list *list);

/** Process `index`; NULL when there is none. */
const struct sonde_process *sonde_process_list_get(const struct sonde_process_list *list,
                                                   size_t index);

/** Whether people would call it `name`: its own name, or the last part of its executable's path;
 * with * for anything and ? for one character. */
bool sonde_process_is_called(const struct sonde_process *process, const char *name);

/** The one process that is called `name`, as sonde_process_is_called says. SONDE_E_NOT_FOUND when
 * there is none; SONDE_E_ARGUMENT, with the pids in the text, when there are several. */
int sonde_process_find(const char *name, uint32_t *ret_pid, struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
