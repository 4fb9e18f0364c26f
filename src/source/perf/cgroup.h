/* A cgroup to record: its directory in the hierarchy that perf filters by, and who is in it. */
#ifndef SN_CGROUP_H
#define SN_CGROUP_H

#include <stdint.h>

struct sonde_error;

/* Opens `path`, absolute or below the cgroup root (v2, or perf_event's of v1); the caller closes
 * it. SONDE_E_NOT_FOUND, SONDE_E_ARGUMENT when it is no cgroup's directory. */
int sn_cgroup_open(const char *path, int *ret_fd, struct sonde_error *err);

typedef void sn_cgroup_fn(void *user, uint32_t pid);

/* Visits every process in it and in the cgroups below. */
void sn_cgroup_processes(int fd, sn_cgroup_fn *visit, void *user);

#endif
