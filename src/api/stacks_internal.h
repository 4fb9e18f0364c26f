/* The stacks of one moment, as they are kept; and how they get their names. */
#ifndef SN_STACKS_INTERNAL_H
#define SN_STACKS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "api/process_sight.h"
#include "sonde/stacks.h"
#include "symbol/name_pool.h"

struct sn_stacks_session;

struct sonde_stacks {
    uint32_t pid;
    uint64_t main_id; /* of the first thread, as the target counts it */
    uint64_t utc_ns;
    size_t lost_count;
    char process_name[SN_PROCESS_NAME]; /* as the list of processes shows it */
    char comm[32];                      /* as the kernel has it, and threads without a name */
    struct sonde_stack_thread *threads; /* owns; by rising id */
    size_t thread_count;
    struct sonde_stack_frame *frames; /* owns; of all threads: those at the same addresses share */
    size_t frame_count;
    size_t frame_capacity;
    struct sonde_stack_group *groups; /* owns; the largest first */
    size_t group_count;
    uint32_t *members;         /* owns; what groups point to */
    struct sn_name_pool texts; /* what frames and threads point to */
};

/* Fills in threads and frames from what the session told. */
int sn_stacks_name(struct sonde_stacks *stacks, struct sn_stacks_session *session,
                   struct sonde_error *err);

#endif
