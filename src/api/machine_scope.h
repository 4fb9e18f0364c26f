/* Which processes a recording is about, for what is found without the kernel source. */
#ifndef SN_MACHINE_SCOPE_H
#define SN_MACHINE_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

struct sonde_error;

#include "source/perf/kernel.h"

/* Nothing set: everything. */
bool sn_machine_scope_is_everything(const struct sn_kernel_scope *scope);

/* Whether a process, by itself or as a descendant, is meant. */
bool sn_machine_scope_has(const struct sn_kernel_scope *scope, uint32_t pid);

/* Where only runtimes are asked: whether each process that was chosen by its pid is there, and is
 * not another user's. SONDE_E_NOT_FOUND, SONDE_E_DENIED. */
int sn_machine_scope_check(const struct sn_kernel_scope *scope, struct sonde_error *err);

#endif
