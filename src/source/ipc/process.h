/* One process as /proc shows it, held by a descriptor that cannot come to mean another. */
#ifndef SN_IPC_PROCESS_H
#define SN_IPC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_buf;

struct sn_ipc_process {
    int pid;
    int dir; /* /proc/PID; owns */

    /* of /proc/PID/stat */
    char comm[16];
    char state;
    unsigned flags;
    unsigned thread_count;
    uint64_t start_ticks;

    /* of /proc/PID/status, after sn_ipc_process_read_status */
    int tgid;
    int ns_pid;
    unsigned uid;
    unsigned gid;
};

/* Opens it and reads its stat. False with errno when it is not there. */
bool sn_ipc_process_open(int pid, struct sn_ipc_process *ret_process);
void sn_ipc_process_close(struct sn_ipc_process *process);

static inline void sn_ipc_process_close_auto(struct sn_ipc_process *process)
{
    sn_ipc_process_close(process);
}

bool sn_ipc_process_read_status(struct sn_ipc_process *process);

bool sn_ipc_process_is_kernel_thread(const struct sn_ipc_process *process);
bool sn_ipc_process_is_dead(const struct sn_ipc_process *process);
bool sn_ipc_process_is_stopped(const struct sn_ipc_process *process);

/* The environment it was started with, "NAME=value" and a zero each. False with errno. */
bool sn_ipc_process_read_environment(const struct sn_ipc_process *process, struct sn_buf *buf);

/* A descriptor of its root directory, or -1 with errno. */
int sn_ipc_process_open_root(const struct sn_ipc_process *process);

/* Opens `path` as a process with root directory `root` would, so that neither links nor ".." lead
 * out of it. -1 with errno; ENOSYS on a kernel without openat2 unless `root` is our own. */
int sn_ipc_open_in_root(int root, const char *path, int flags);

/* Whether one of its first `most` threads has a name that only the runtime gives. */
bool sn_ipc_process_has_runtime_thread(const struct sn_ipc_process *process, unsigned most);

/* Whether a library or a mapping of the runtime is in its memory. Slow for large processes. */
bool sn_ipc_process_has_runtime_mapping(const struct sn_ipc_process *process);

#endif
