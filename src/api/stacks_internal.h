/* The stacks of one moment, as they are kept; the ways by which they are come by; and how they get
 * their names. */
#ifndef SN_STACKS_INTERNAL_H
#define SN_STACKS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/process_sight.h"
#include "sonde/stacks.h"
#include "symbol/name_pool.h"

struct sn_stacks_session;

#define SN_STACKS_REMARKS 32u

/* Texts that anything in here points to are in `texts`: the same text is the same pointer, and
 * groups are found by that. */
struct sonde_stacks {
    uint32_t pid;     /* 0: of a core file */
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
    uint32_t *members;              /* owns; what groups point to */
    struct sonde_stack_lock *locks; /* owns; those of deadlocks first */
    size_t lock_count;
    uint32_t *waiters;              /* owns; what locks point to */
    struct sonde_stack_task *tasks; /* owns; the most frequent first */
    size_t task_count;
    struct sonde_stack_frame *task_frames; /* owns; what tasks point to */
    struct sonde_stack_pool pool;
    bool has_locks;     /* they were asked for, and by a way that tells of them */
    bool has_tasks;     /* the same */
    bool is_compared;   /* with stacks before these */
    const char *source; /* "the memory of .NET 10.0.12"; NULL: not said */
    const char *remarks[SN_STACKS_REMARKS];
    size_t remark_count;
    struct sn_name_pool texts; /* what frames, threads, locks and tasks point to */
};

/* The ways. Each fills in `threads`, `frames`, `utc_ns`, `lost_count` and `source` (and what else
 * it can tell) of stacks that know their process already, or fails with a half-filled one that is
 * thrown away. `options` are whole. SONDE_END: it was cancelled. */
int sn_stacks_from_memory(struct sonde_stacks *stacks, const struct sonde_stacks_options *options,
                          struct sonde_error *err);
int sn_stacks_from_port(struct sonde_stacks *stacks, const struct sonde_stacks_options *options,
                        struct sonde_error *err);

/* The one copy of a text; "" without room: a name less is no reason to fail. */
const char *sn_stacks_keep(struct sonde_stacks *stacks, const char *text);

/* Adds a copy of a frame to those of all threads, which may move. False without room, and for NULL.
 */
bool sn_stacks_append(struct sonde_stacks *stacks, const struct sonde_stack_frame *frame);

/* Adds a remark for people, one line; those over the ceiling are dropped. */
void sn_stacks_add_remark(struct sonde_stacks *stacks, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Finds who is in the same place. */
int sn_stacks_group(struct sonde_stacks *stacks, struct sonde_error *err);

/* Fills in threads and frames from what the session told. */
int sn_stacks_name(struct sonde_stacks *stacks, struct sn_stacks_session *session,
                   struct sonde_error *err);

#endif
