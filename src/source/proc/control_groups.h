/* Where the control groups of a process lie in the file system: version 1, version 2, and machines
 * that mount both. */
#ifndef SN_PROC_CONTROL_GROUPS_H
#define SN_PROC_CONTROL_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_controller {
    SN_CONTROLLER_MEMORY,
    SN_CONTROLLER_CPU,
    SN_CONTROLLER_CPUACCT, /* version 2 has it in cpu */
    SN_CONTROLLER_PIDS,
    SN_CONTROLLER_UNIFIED, /* the group of version 2, whatever it controls */
    SN_CONTROLLER_COUNT
};

struct sn_control_group {
    int version;    /* 1 or 2; 0: there is none, or it is not mounted here */
    size_t top;     /* length of the mount point in `path`: what is above is no group */
    char path[512]; /* its folder */
};

/* The groups of a process. `cgroup_text` is its /proc/PID/cgroup, `mounts` the mountinfo of the
 * reader: paths in the one are what the reader's namespace sees. Groups outside of what is mounted
 * here, as of a neighbouring container, are left at version 0. `root` stands before every path. */
void sn_control_groups_find(const char *root, const char *cgroup_text, const char *mounts,
                            struct sn_control_group groups[SN_CONTROLLER_COUNT]);

/* Whether it is the root of the hierarchy, which is the machine; inside a container the group that
 * looks like the root is not. */
bool sn_control_group_is_machine(const struct sn_control_group *group);

/* Moves to the group above; false at the top. */
bool sn_control_group_up(struct sn_control_group *group);

/* A file of the group, cut at `size`, with a zero behind it. False when it is not there or empty.
 */
bool sn_control_group_read(const struct sn_control_group *group, const char *file, char *to,
                           size_t size);

#endif
