/* The collector's description of itself: a block of pointers to its variables, whose layout is
 * versioned and has only been added to. The table that the runtime exports for debuggers points to
 * it; where in that table differs from release to release, so it is looked for and proved. */
#include "source/memory/gc_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "source/memory/heap_walk.h"
#include "source/memory/runtime_memory.h"

#define DAC_SLOTS   192u /* of the exported table that are looked at */
#define GC_MAJOR    2u   /* of the description */
#define BLOCK_SIZE  ((size_t)VAR_COUNT * 8)
#define ADDRESS_TOP (1ull << 47)

/* The block as the collector lays it out; what we do not use is only counted. */
enum variable {
    VAR_HEADER_WORDS = 3, /* version, size of a generation, number of generations */
    VAR_BUILT_WITH_SERVER = 4,
    VAR_GENERATION_TABLE = 6,
    VAR_MAX_GENERATION = 7,
    VAR_EPHEMERAL = 10,
    VAR_ALLOC_ALLOCATED = 15,
    VAR_HEAP_COUNT = 22,
    VAR_HEAPS = 23,
    VAR_INVALID_COUNT = 24,
    VAR_HEAP_OFFSETS = 30,
    VAR_GENERATION_OFFSETS = 31,
    VAR_COUNT = 32,
};

/* Which offsets a heap of several has where. */
#define HEAP_ALLOC_ALLOCATED  0u
#define HEAP_EPHEMERAL        1u
#define HEAP_GENERATION_TABLE 18u
#define HEAP_OFFSETS          19u
#define GENERATION_START      1u
#define GENERATION_OFFSETS    2u

/* A region begins with these. */
enum segment_word {
    SEGMENT_ALLOCATED,
    SEGMENT_COMMITTED,
    SEGMENT_RESERVED,
    SEGMENT_USED,
    SEGMENT_MEMORY,
    SEGMENT_FLAGS,
    SEGMENT_NEXT,
    SEGMENT_WORDS,
};

static bool is_pointer(uint64_t value)
{
    return value >= 4096 && value < ADDRESS_TOP;
}

/* The block at `address`: false when it is none. */
static bool read_block(struct sn_memory *memory, uint64_t address, uint64_t words[VAR_COUNT])
{
    uint32_t max_generation;
    int32_t invalid;
    if (!is_pointer(address) || (address & 7) ||
        sn_memory_read_now(memory, address, words, BLOCK_SIZE) != BLOCK_SIZE)
        return false;
    uint64_t size = words[1];
    return (words[0] & 0xFF) == GC_MAJOR && words[2] == SN_GC_GENERATIONS && size >= 64 &&
           size <= 1024 && !(size & 7) && is_pointer(words[VAR_MAX_GENERATION]) &&
           sn_memory_u32(memory, words[VAR_MAX_GENERATION], &max_generation) &&
           max_generation == 2 && is_pointer(words[VAR_INVALID_COUNT]) &&
           sn_memory_read(memory, words[VAR_INVALID_COUNT], &invalid, sizeof(invalid)) &&
           invalid >= 0 && invalid <= 1024;
}

static bool find_block(struct sn_runtime_memory *runtime, uint64_t words[VAR_COUNT])
{
    struct sn_memory *memory = runtime->memory;
    for (unsigned i = 0; runtime->dac_table && i < DAC_SLOTS; i++) {
        uint64_t slot;
        uint64_t block;
        if (!sn_memory_u64(memory, runtime->dac_table + i * 8ull, &slot))
            return false;
        if (is_pointer(slot) && !(slot & 7) && sn_memory_u64(memory, slot, &block) &&
            read_block(memory, block, words))
            return true;
    }
    return false;
}

/* One heap, its pieces in variables of their own. */
static int read_workstation(const uint64_t words[VAR_COUNT], struct sn_gc_layout *layout,
                            struct sonde_error *err)
{
    layout->heaps = calloc(1, sizeof(*layout->heaps));
    if (!layout->heaps)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the heaps of a collector");
    layout->heap_count = 1;
    layout->heaps[0] = (struct sn_gc_heap){.generations = words[VAR_GENERATION_TABLE],
                                           .alloc_allocated = words[VAR_ALLOC_ALLOCATED],
                                           .ephemeral = words[VAR_EPHEMERAL]};
    return SONDE_OK;
}

static bool are_offsets(const int32_t *offsets, const unsigned *indexes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int32_t offset = offsets[indexes[i]];
        if (offset < 0 || offset > (1 << 20) || (offset & 7))
            return false;
    }
    return true;
}

/* Several heaps, each an object whose offsets the collector tells. */
static int read_server(struct sn_memory *memory, const uint64_t words[VAR_COUNT],
                       struct sn_gc_layout *layout, struct sonde_error *err)
{
    static const unsigned used[] = {HEAP_ALLOC_ALLOCATED, HEAP_EPHEMERAL, HEAP_GENERATION_TABLE};
    int32_t offsets[HEAP_OFFSETS];
    uint64_t table;
    uint32_t count;
    if (!sn_memory_u32(memory, words[VAR_HEAP_COUNT], &count) || !count ||
        count > SN_GC_HEAPS_MAX || !sn_memory_u64(memory, words[VAR_HEAPS], &table) ||
        !sn_memory_read(memory, words[VAR_HEAP_OFFSETS], offsets, sizeof(offsets)) ||
        !are_offsets(offsets, used, sizeof(used) / sizeof(*used)))
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the heaps of this runtime's server collector are not as they are known");
    layout->heaps = calloc(count, sizeof(*layout->heaps));
    if (!layout->heaps)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the heaps of a collector");
    for (uint32_t i = 0; i < count; i++) {
        uint64_t heap;
        if (!sn_memory_u64(memory, table + i * 8ull, &heap) || !is_pointer(heap))
            return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                           "heap %u of this runtime's server collector cannot be read", i);
        layout->heaps[layout->heap_count++] =
            (struct sn_gc_heap){.generations = heap + (uint32_t)offsets[HEAP_GENERATION_TABLE],
                                .alloc_allocated = heap + (uint32_t)offsets[HEAP_ALLOC_ALLOCATED],
                                .ephemeral = heap + (uint32_t)offsets[HEAP_EPHEMERAL]};
    }
    layout->is_server = true;
    return SONDE_OK;
}

int sn_gc_layout_read(struct sn_runtime_memory *runtime, struct sn_gc_layout *ret_layout,
                      struct sonde_error *err)
{
    struct sn_memory *memory = runtime->memory;
    uint64_t words[VAR_COUNT];
    int32_t offsets[GENERATION_OFFSETS];
    SN_AUTO(sn_gc_layout_done) struct sn_gc_layout layout = {0};
    *ret_layout = layout;
    if (!find_block(runtime, words))
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "this runtime's collector does not describe itself as it is known: its heap "
                       "cannot be read");
    layout.generation_size = words[1];
    layout.invalid_count = words[VAR_INVALID_COUNT];
    if (!sn_memory_read(memory, words[VAR_GENERATION_OFFSETS], offsets, sizeof(offsets)) ||
        offsets[GENERATION_START] < 0 || (offsets[GENERATION_START] & 7) ||
        (uint64_t)offsets[GENERATION_START] + 8 > layout.generation_size)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the generations of this runtime's collector are not as they are known");
    layout.start_segment = (uint64_t)offsets[GENERATION_START];
    int rc = words[VAR_GENERATION_TABLE] ? read_workstation(words, &layout, err)
                                         : read_server(memory, words, &layout, err);
    if (rc == SONDE_OK) {
        *ret_layout = layout;
        layout.heaps = NULL;
    }
    return rc;
}

void sn_gc_layout_done(struct sn_gc_layout *layout)
{
    free(layout->heaps);
    layout->heaps = NULL;
}

bool sn_gc_layout_is_collecting(struct sn_runtime_memory *runtime,
                                const struct sn_gc_layout *layout)
{
    int32_t count;
    return sn_memory_read_now(runtime->memory, layout->invalid_count, &count, sizeof(count)) ==
               sizeof(count) &&
           count != 0;
}

/* --- regions --- */

/* Adding up what tells one state of the heap from another. */
static void add_print(struct sn_gc_regions *regions, const struct sn_gc_region *region)
{
    uint64_t facts[3] = {region->segment, region->generation, region->start};
    if (region->generation == 1 || region->generation == 2)
        facts[2] ^= region->end; /* only a collection moves it; the others grow by allocation */
    if (region->generation <= 2)
        regions->print ^= sn_table_key(facts, sizeof(facts));
}

struct place {
    uint64_t ephemeral; /* the newest region of the heap */
    uint64_t end;       /* and where it ends */
    uint8_t generation;
    bool is_first; /* of its generation */
};

/* False: no memory. */
static bool add_region(struct sn_gc_regions *regions, uint64_t segment,
                       const uint64_t words[SEGMENT_WORDS], const struct place *place)
{
    struct sn_gc_region *items =
        sn_array_room(regions->items, regions->count, &regions->capacity, sizeof(*items));
    if (!items)
        return false;
    regions->items = items;
    struct sn_gc_region region = {.segment = segment,
                                  .start = words[SEGMENT_MEMORY],
                                  .end = words[SEGMENT_ALLOCATED],
                                  .generation = place->generation};
    if (segment == place->ephemeral) {
        region.is_newest = true;
        if (place->end >= region.start && place->end <= words[SEGMENT_RESERVED])
            region.end = place->end;
    }
    if (place->generation || place->is_first) /* more of the youngest come by allocation */
        add_print(regions, &region);
    items[regions->count++] = region;
    return true;
}

static bool is_segment(const uint64_t words[SEGMENT_WORDS])
{
    return is_pointer(words[SEGMENT_MEMORY]) && !(words[SEGMENT_MEMORY] & 7) &&
           words[SEGMENT_MEMORY] <= words[SEGMENT_ALLOCATED] &&
           words[SEGMENT_ALLOCATED] <= words[SEGMENT_RESERVED] &&
           words[SEGMENT_RESERVED] < ADDRESS_TOP;
}

/* The list of a generation. A segment that is in several (an older collector's youngest ones share
 * one) is taken once. */
static bool read_generation(struct sn_memory *memory, uint64_t segment, struct place place,
                            struct sn_table *seen, struct sn_gc_regions *regions)
{
    place.is_first = true;
    while (segment) {
        uint64_t words[SEGMENT_WORDS];
        uint64_t *known = sn_table_put(seen, segment);
        if (!known || !is_pointer(segment) || (segment & 7) ||
            sn_memory_read_now(memory, segment, words, sizeof(words)) != sizeof(words) ||
            !is_segment(words)) {
            regions->broken++;
            return true;
        }
        if (*known == place.generation + 1u) { /* in this list already: it loops */
            regions->broken++;
            return true;
        }
        if (!*known && !add_region(regions, segment, words, &place))
            return false;
        *known = place.generation + 1u;
        place.is_first = false;
        segment = words[SEGMENT_NEXT];
    }
    return true;
}

static bool read_heap(struct sn_memory *memory, const struct sn_gc_layout *layout,
                      const struct sn_gc_heap *heap, struct sn_table *seen,
                      struct sn_gc_regions *regions)
{
    struct place place = {0};
    (void)sn_memory_read_now(memory, heap->ephemeral, &place.ephemeral, 8); /* or none */
    (void)sn_memory_read_now(memory, heap->alloc_allocated, &place.end, 8);
    for (unsigned i = 0; i < SN_GC_GENERATIONS; i++) {
        uint64_t segment;
        uint64_t at = heap->generations + i * layout->generation_size + layout->start_segment;
        if (sn_memory_read_now(memory, at, &segment, 8) != 8) {
            regions->broken++;
            continue;
        }
        place.generation = (uint8_t)i;
        if (!read_generation(memory, segment, place, seen, regions))
            return false;
    }
    return true;
}

bool sn_gc_layout_regions(struct sn_runtime_memory *runtime, const struct sn_gc_layout *layout,
                          struct sn_gc_regions *regions)
{
    struct sn_table seen = sn_table_with_limit(SN_HEAP_REGIONS_MAX);
    bool is_read = true;
    regions->count = 0;
    regions->broken = 0;
    regions->print = 0;
    regions->is_collecting = sn_gc_layout_is_collecting(runtime, layout);
    for (uint32_t i = 0; i < layout->heap_count && is_read; i++)
        is_read = read_heap(runtime->memory, layout, &layout->heaps[i], &seen, regions);
    regions->is_collecting |= sn_gc_layout_is_collecting(runtime, layout);
    sn_table_done(&seen);
    return is_read;
}

void sn_gc_regions_done(struct sn_gc_regions *regions)
{
    free(regions->items);
    regions->items = NULL;
}
