/* The numbers of a process's control groups, for its vitals. */
#ifndef SN_PROC_GROUP_VITALS_H
#define SN_PROC_GROUP_VITALS_H

#include "source/proc/control_groups.h"

struct sn_vitals;

/* A limit and the group that sets it. */
struct sn_group_limit {
    double limit; /* NAN: none */
    struct sn_control_group group;
};

struct sn_group_vitals {
    struct sn_control_group groups[SN_CONTROLLER_COUNT];
    struct sn_group_limit memory;
    struct sn_group_limit cpu; /* in CPUs */
    struct sn_group_limit pids;
};

/* Finds the groups and the limits that bind; see sn_control_groups_find. */
void sn_group_vitals_find(struct sn_group_vitals *groups, const char *root, const char *cgroup_text,
                          const char *mounts);

/* The limits anew, as somebody may have changed them. */
void sn_group_vitals_find_limits(struct sn_group_vitals *groups);

/* Fills in what is of the groups, and the machine's pressure where the groups do not tell theirs.
 */
void sn_group_vitals_read(const struct sn_group_vitals *groups, const char *root,
                          struct sn_vitals *vitals);

/* The number behind `key` at the start of a line: "key 12". NAN when there is none. */
double sn_vitals_line(const char *text, const char *key);

#endif
