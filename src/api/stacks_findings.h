/* What is read of a process besides stacks: names and exceptions of its threads, locks, async
 * methods that wait, the thread pool. */
#ifndef SN_STACKS_FINDINGS_H
#define SN_STACKS_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/stacks.h"
#include "source/memory/thread_state.h"

struct sn_inspection;
struct sn_managed_thread;
struct sn_memory_frames;
struct sonde_stacks;

/* A thread of the process, while it is looked at. */
struct sn_found_thread {
    uint64_t id;       /* as the target counts it; first, for sorting */
    uint32_t tid;      /* as we see it */
    size_t core_index; /* in a core file */
    struct sn_thread_state state;
    const struct sn_managed_thread *managed; /* NULL: the runtime does not know it */
    size_t first_frame;                      /* in the stacks' frames */
    size_t frame_count;
    bool is_in_managed;  /* in managed code, and not in what that called */
    bool is_calling_out; /* its innermost managed frame has called out by the runtime's own frame */
    uint64_t managed_sp; /* of its innermost managed frame; 0: none */
    uint32_t told;       /* number of the thread in the stacks, from 1; 0: not told */
};

/* What the frames of a thread say of its waiting: enum sn_lock_wait of source/memory/locks.h. */
uint8_t sn_found_thread_wait(const struct sonde_stacks *stacks, uint32_t major,
                             const struct sn_found_thread *thread);

/* As the program named it; "" when it did not. */
const char *sn_found_thread_name(struct sonde_stacks *stacks, struct sn_inspection *inspection,
                                 const struct sn_found_thread *thread);

/* Managed id, exception in flight, what kind of thread it is. */
void sn_found_thread_tell(struct sonde_stacks *stacks, struct sn_inspection *inspection,
                          const struct sn_managed_thread *managed, struct sonde_stack_thread *told);

/* Borrows all. */
struct sn_findings {
    struct sonde_stacks *stacks;
    struct sn_inspection *inspection;
    struct sn_memory_frames *frames;
    const struct sn_found_thread *threads;
    size_t thread_count;
    uint64_t deadline_ns;
};

/* Locks, tasks and pool, as the options want them. What cannot be read becomes a remark; only want
 * of memory fails. */
int sn_findings_add(const struct sn_findings *findings, const struct sonde_stacks_options *options,
                    struct sonde_error *err);

#endif
