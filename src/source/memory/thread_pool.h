/* The thread pool from outside: what is queued, and how many workers it has. One thread. */
#ifndef SN_THREAD_POOL_H
#define SN_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_object_index;
struct sn_runtime_memory;
struct sn_type_system;
struct sonde_error;

struct sn_thread_pool {
    bool is_known;         /* its queue was found and what was read of it holds together */
    uint64_t queued;       /* items in the global queues */
    uint64_t queued_local; /* items in the queues of workers */
    bool has_workers;      /* the counts below were found */
    uint32_t workers;      /* worker threads there are */
    uint32_t working;      /* of those, not idle */
    uint32_t goal;         /* how many may work at a time */
    uint32_t min_workers;
    uint32_t max_workers;
    char remark[160];
};

#define SN_POOL_SEGMENTS_MAX 65536u
#define SN_POOL_ITEMS_MAX    (1ull << 32)

void sn_thread_pool_read(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                         const struct sn_object_index *index, struct sn_thread_pool *ret_pool);

#endif
