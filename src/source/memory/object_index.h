/* The objects that locks, tasks and the thread pool are read from, all found in one walk over the
 * heap, with the bytes they had at that moment. Borrows runtime and types. One thread. */
#ifndef SN_OBJECT_INDEX_H
#define SN_OBJECT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/memory/heap_walk.h"

struct sn_object_index;
struct sn_runtime_memory;
struct sn_type_system;
struct sonde_error;

enum sn_object_role {
    SN_OBJECT_NONE,
    SN_OBJECT_BOX,         /* an async method that has not completed: its Task */
    SN_OBJECT_POOLED_BOX,  /* the same of a pooled ValueTask */
    SN_OBJECT_PROMISE,     /* TaskCompletionSource: knows the task that it completes */
    SN_OBJECT_LOCK,        /* System.Threading.Lock that is held */
    SN_OBJECT_WORK_QUEUE,  /* ThreadPoolWorkQueue */
    SN_OBJECT_LOCAL_QUEUE, /* ThreadPoolWorkQueue+WorkStealingQueue */
    SN_OBJECT_POOL,        /* PortableThreadPool */
    SN_OBJECT_HELD,        /* any whose header says that a thread holds it (no sync block) */
    SN_OBJECT_ROLES,
};

struct sn_found_object {
    uint64_t address;
    uint64_t type;        /* MethodTable */
    const uint8_t *bytes; /* from the address on */
    uint32_t size;        /* of `bytes`; SN_OBJECT_HELD: 0 */
    uint32_t header;
};

#define SN_OBJECT_INDEX_MAX   (1u << 20)   /* objects of a role */
#define SN_OBJECT_INDEX_BYTES (256u << 20) /* of all of them */
#define SN_OBJECT_SIZE_MAX    4096u        /* of an object; a larger one is cut */

/* `deadline_ns` of sn_clock_now_ns ends the walk (0: none); what was found by then is kept. */
int sn_object_index_read(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                         uint64_t deadline_ns, struct sn_object_index **ret_index,
                         struct sonde_error *err);
void sn_object_index_free(struct sn_object_index *index);

static inline void sn_object_index_free_auto(struct sn_object_index **slot)
{
    sn_object_index_free(*slot);
}

/* Those of a role, by rising address; borrowed. */
size_t sn_object_index_list(const struct sn_object_index *index, enum sn_object_role role,
                            const struct sn_found_object **ret_objects);
/* The one of that role at `address`, or NULL. */
const struct sn_found_object *sn_object_index_find(const struct sn_object_index *index,
                                                   enum sn_object_role role, uint64_t address);

const struct sn_heap_facts *sn_object_index_facts(const struct sn_object_index *index);

/* What is to be said of it for people ("the heap was being collected: ..."); "" when nothing is. */
const char *sn_object_index_remark(const struct sn_object_index *index);

#endif
