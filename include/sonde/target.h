/** @file
 * Asking one .NET process: its environment, a core dump. Every call has a deadline and never leaves
 * the process worse off. */
#ifndef SONDE_TARGET_H
#define SONDE_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Called with each variable, "NAME=value" of `size` bytes; borrowed. */
typedef void sonde_variable_fn(void *user, const char *variable, size_t size);

/** The runtime's live environment, which can differ from /proc/PID/environ. */
int sonde_target_environment(uint32_t pid, sonde_variable_fn *each, void *user,
                             struct sonde_error *err);

/** What a core dump holds. */
enum sonde_dump_type {
    SONDE_DUMP_MINI = 1,   /**< stacks of all threads, the modules' names */
    SONDE_DUMP_HEAP = 2,   /**< that, and the managed heap */
    SONDE_DUMP_TRIAGE = 3, /**< as mini, without what may be personal */
    SONDE_DUMP_FULL = 4,   /**< all memory */
};

/** Writes a core dump to `path`, which must be absolute and is opened by the *target*: in its mount
 * namespace, as its user. Waits up to `timeout_ns` (0: ten minutes). */
int sonde_target_dump(uint32_t pid, enum sonde_dump_type type, const char *path,
                      uint64_t timeout_ns, struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
