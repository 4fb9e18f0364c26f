/* What /proc tells of a process that runs: name, executable mappings, threads. No state. */
#ifndef SN_PROC_TASK_H
#define SN_PROC_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number of /proc's root or of a task directory; 0 for other names. */
uint32_t sn_proc_task_number(const char *name);

/* The kernel's name of a process, without its newline, cut to `size` - 1. False: gone. */
bool sn_proc_task_name(uint32_t pid, char *to, size_t size);
bool sn_proc_task_thread_name(uint32_t pid, uint32_t tid, char *to, size_t size);

/* 0: gone or hidden. */
uint32_t sn_proc_task_parent(uint32_t pid);

/* Some thread of it has not ended. */
bool sn_proc_task_lives(uint32_t pid);

/* More threads than its main one. */
bool sn_proc_task_has_threads(uint32_t pid);

typedef void sn_proc_thread_fn(void *user, uint32_t pid, uint32_t tid);
void sn_proc_task_threads(uint32_t pid, sn_proc_thread_fn *visit, void *user);

struct sn_proc_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint64_t device;
    uint64_t inode;
    const char *path; /* borrowed; "" for memory without a name */
};

/* Calls `visit` for every executable mapping; false when the list cannot be read. */
typedef void sn_proc_mapping_fn(void *user, const struct sn_proc_mapping *mapping);
bool sn_proc_task_mappings(uint32_t pid, sn_proc_mapping_fn *visit, void *user);

#endif
