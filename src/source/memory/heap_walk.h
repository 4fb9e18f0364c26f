/* The objects of the garbage collector's heap, one after the other, region by region, from outside.
 * Nothing is paused: the collector says whether it is at work, the regions are looked at again
 * afterwards, and where the objects of a region do not follow one another it is counted as torn and
 * taken up again at the next object that can be proved. One thread. */
#ifndef SN_HEAP_WALK_H
#define SN_HEAP_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_runtime_memory;
struct sonde_error;

struct sn_heap_object {
    uint64_t address;
    uint64_t type; /* MethodTable */
    uint64_t size;
    const uint8_t *bytes; /* from `address` on, as far as the walk has them at hand; borrowed */
    size_t byte_count;    /* less than `size` for objects that are very large */
    uint32_t header;      /* the word before it: thin lock, sync block index, hash code */
    uint32_t tag;         /* what `wants` said of its type */
    uint8_t generation;   /* 0, 1, 2, 3 large, 4 pinned */
};

/* Who is told of objects. `wants` is asked once for each type: 0 is not interested in it. `header`
 * (may be NULL) is told of every object whose header is a thin lock that somebody holds. `again`:
 * the heap was collected meanwhile and is walked from the start; what was taken is to be forgotten.
 * `take` gives false when it has enough. */
struct sn_heap_visitor {
    uint32_t (*wants)(void *user, uint64_t method_table);
    bool (*take)(void *user, const struct sn_heap_object *object);
    void (*header)(void *user, uint64_t object, uint64_t method_table, uint32_t header);
    void (*again)(void *user);
    void *user;
    uint64_t bytes_max;   /* of heap to look at; 0: SN_HEAP_BYTES_MAX */
    uint64_t deadline_ns; /* of sn_clock_now_ns; 0: none */
};

#define SN_HEAP_BYTES_MAX   (64ull << 30)
#define SN_HEAP_REGIONS_MAX 262144u

/* What is to be said of a walk. */
struct sn_heap_facts {
    uint64_t objects;
    uint64_t bytes;       /* of regions that were looked at */
    uint64_t bytes_lost;  /* of those, in places where objects could not be told apart */
    uint64_t bytes_blank; /* of those, zeros: given to a thread and not used yet */
    uint32_t regions;
    uint32_t regions_torn;
    uint32_t heaps; /* 1: workstation; as many as there are: server */
    bool is_server;
    bool is_collecting; /* the collector was at work, also after we waited for it a little */
    bool is_changed;    /* a collection ran during the walk, each time it was tried */
    bool is_cut;        /* a limit or the time ended it */
};

/* SONDE_E_UNSUPPORTED: the collector's structures are not as we know them, with what was not. */
int sn_heap_walk(struct sn_runtime_memory *runtime, const struct sn_heap_visitor *visitor,
                 struct sn_heap_facts *ret_facts, struct sonde_error *err);

#endif
