/* Where the garbage collector keeps its heaps and regions: found through what it shows to
 * debuggers, and proved by what must hold together. Borrows the runtime. One thread. */
#ifndef SN_GC_LAYOUT_H
#define SN_GC_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_runtime_memory;
struct sonde_error;

#define SN_GC_HEAPS_MAX   1024u
#define SN_GC_GENERATIONS 5u /* three, large objects, pinned objects */

struct sn_gc_heap {
    uint64_t generations;     /* where its table of generations lies */
    uint64_t alloc_allocated; /* address of where its newest region ends */
    uint64_t ephemeral;       /* address of the pointer to that region */
};

struct sn_gc_layout {
    struct sn_gc_heap *heaps; /* owns */
    uint32_t heap_count;
    bool is_server;
    uint64_t generation_size;
    uint64_t start_segment; /* in a generation */
    uint64_t invalid_count; /* address of an i32: not 0 while a collection is at work */
};

/* SONDE_E_UNSUPPORTED: it is not as we know it, with what was not. */
int sn_gc_layout_read(struct sn_runtime_memory *runtime, struct sn_gc_layout *ret_layout,
                      struct sonde_error *err);
void sn_gc_layout_done(struct sn_gc_layout *layout);

static inline void sn_gc_layout_done_auto(struct sn_gc_layout *layout)
{
    sn_gc_layout_done(layout);
}

/* Objects lie in [start, end), one behind the other. */
struct sn_gc_region {
    uint64_t segment; /* the runtime's description of it */
    uint64_t start;
    uint64_t end;
    uint8_t generation;
    bool is_newest; /* objects are being added to it */
};

struct sn_gc_regions {
    struct sn_gc_region *items; /* owns */
    size_t count;
    size_t capacity;
    uint32_t broken;    /* lists that were cut: not a region, a loop, or more than there may be */
    uint64_t print;     /* of all but what allocation changes: differs when a collection ran */
    bool is_collecting; /* the collector was at work */
};

/* All regions of all heaps, read now. False: no memory. */
bool sn_gc_layout_regions(struct sn_runtime_memory *runtime, const struct sn_gc_layout *layout,
                          struct sn_gc_regions *regions);
void sn_gc_regions_done(struct sn_gc_regions *regions);

static inline void sn_gc_regions_done_auto(struct sn_gc_regions *regions)
{
    sn_gc_regions_done(regions);
}

bool sn_gc_layout_is_collecting(struct sn_runtime_memory *runtime,
                                const struct sn_gc_layout *layout);

#endif
