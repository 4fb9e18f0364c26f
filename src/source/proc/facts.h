/* What /proc tells about a process without asking it: who, since when, how much, in which
 * container. */
#ifndef SN_PROC_FACTS_H
#define SN_PROC_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/user.h"

struct sn_proc_facts {
    uint32_t pid;
    uint32_t ns_pid; /* as it counts itself: in its own pid namespace */
    uint32_t parent;
    uint32_t uid;
    char state;           /* as ps shows it: R, S, D, T, Z ... */
    uint64_t start_ticks; /* since boot; with the pid it names the process for ever */
    uint64_t up_ns;
    uint64_t rss_bytes;
    uint64_t cpu_ns; /* user and system, so far */
    uint32_t thread_count;
    char user[SN_USER_NAME_SIZE]; /* a name from /etc/passwd, else the number */
    char comm[17];                /* the kernel's name for it */
    char container[16];           /* the first 12 characters of a container's id, or "" */
    char cgroup[256];             /* its path in the unified tree, else in the first; "" */
    char command_line[512];       /* arguments joined by spaces; cut when longer */
};

/* False when it is gone or hidden. Fields that cannot be read are empty. */
bool sn_proc_facts_read(uint32_t pid, struct sn_proc_facts *ret_facts);

/* What single files of it tell, from their texts; all but the command's own name is the kernel's.
 * False: it is no such text. */
bool sn_proc_facts_of_stat(const char *text, struct sn_proc_facts *facts);
void sn_proc_facts_of_cgroup(const char *text, struct sn_proc_facts *facts);
bool sn_proc_version_in_maps(const char *maps, char *to, size_t size);

/* The version in ".../Microsoft.NETCore.App/10.0.1/libcoreclr.so", from what the process has
 * mapped. */
bool sn_proc_runtime_version(uint32_t pid, char *to, size_t size);

#endif
