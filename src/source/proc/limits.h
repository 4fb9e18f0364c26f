/* How much memory a process may use before its cgroup's limit kills it. */
#ifndef SN_PROC_LIMITS_H
#define SN_PROC_LIMITS_H

#include <stdint.h>

/* The tightest memory limit of the process's cgroup and those above it, version 1 or 2; UINT64_MAX
 * when there is none or it cannot be read. `root` is "" but for tests: it stands before /proc and
 * /sys. */
uint64_t sn_proc_memory_limit(const char *root, uint32_t pid);

#endif
