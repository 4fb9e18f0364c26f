/* Async methods that wait, on no thread: their boxes on the heap, who awaits whom, and the chains
 * that follow, the innermost method first. One thread. */
#ifndef SN_PENDING_TASKS_H
#define SN_PENDING_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_memory_module;
struct sn_object_index;
struct sn_runtime_memory;
struct sn_type_system;
struct sonde_error;

/* One async method of a chain: its MoveNext. Texts are borrowed from the type system. */
struct sn_task_frame {
    uint64_t box;                          /* the object */
    uint64_t type;                         /* MethodTable of the state machine */
    const char *type_name;                 /* "Shop.Orders+<PlaceAsync>d__3" */
    const struct sn_memory_module *module; /* or NULL */
    uint32_t token;                        /* of MoveNext; 0: not known */
    int32_t state; /* the number of the await, from 0; -1: it runs at this moment */
};

struct sn_task_chain {
    uint32_t first; /* its frames: `frame_count` of the list's `frames` from here on */
    uint32_t frame_count;
    uint64_t count;       /* chains that look like this */
    const char *waits_on; /* its type, or "": borrowed from the type system or constant */
    uint64_t blocks;      /* object by which a thread waits for the outermost (sync over async),
                             or 0: a pointer to it is on that thread's stack */
    bool is_ready;        /* what it waited for has completed: it waits for a thread to go on */
    bool is_circle;       /* the outermost is awaited by one of the others: none will ever go on */
};

struct sn_task_list {
    struct sn_task_chain *chains; /* owns; the most frequent first */
    size_t count;
    struct sn_task_frame *frames; /* owns */
    size_t frame_count;
    uint64_t boxes;   /* pending ones found */
    uint64_t dropped; /* of those, what could not be proved */
    char remark[160];
};

#define SN_TASK_CHAINS_MAX 65536u /* different ones */
#define SN_TASK_DEPTH_MAX  512u
#define SN_TASK_STEPS_MAX  (8u << 20)

int sn_tasks_read(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                  const struct sn_object_index *index, struct sn_task_list *ret_list,
                  struct sonde_error *err);
void sn_tasks_done(struct sn_task_list *list);

#endif
