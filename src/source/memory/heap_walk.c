/* Walks the heap object by object. An object begins with the pointer to its type, which tells its
 * size; the next one follows. Zeros between two are memory that a thread has been given and has not
 * used yet. Anything else that is no type is a tear: a collection or an allocation was at work. */
#include "source/memory/heap_walk.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "source/memory/contract.h"
#include "source/memory/gc_layout.h"
#include "source/memory/runtime_memory.h"

#define WINDOW        (1u << 20)  /* bytes that are read at a time */
#define OBJECT_WHOLE  (64u << 10) /* an object up to here is given with all its bytes */
#define TYPES_MAX     (1u << 20)
#define OBJECT_MIN    24u
#define SIZE_LEAST    16u /* of a base size: strings have 22 */
#define TRIES         4u
#define COLLECT_WAITS 25u /* times that a collection is waited for */
#define COLLECT_NS    2000000
#define SEARCH_MAX    65536u /* words that are no type, in a row, before a region is given up */
#define PROOF         2u     /* objects that must follow where the walk is taken up again */

/* What things cost, in steps from one object to the next: the clock is looked at by what was done,
 * wherever it was done. */
#define LOOK_EVERY  4096u
#define COST_WINDOW 1024u
#define COST_TYPE   64u
#define COST_REGION 16u

/* Bits of an object's header. */
#define HEADER_NO_THIN_LOCK 0x1C000000u /* spinning, index or hash code, hash code */
#define HEADER_THREAD       0x0000FFFFu

#define TYPE_HAS_COUNT 0x80000000u
#define TYPE_LOW_BITS  7ull /* the collector's own marks in an object's first word */

struct type_facts {
    uint32_t base_size;
    uint32_t component_size;
    uint32_t tag;
    bool is_type;
    bool is_free; /* a gap that the collector has filled */
};

struct layout {
    uint32_t flags;
    uint32_t base_size;
    uint32_t class_or_canon;
    uint32_t class_table;
};

static const struct sn_contract_want wants[] = {
    {"MethodTable", "MTFlags", offsetof(struct layout, flags), false},
    {"MethodTable", "BaseSize", offsetof(struct layout, base_size), false},
    {"MethodTable", "EEClassOrCanonMT", offsetof(struct layout, class_or_canon), false},
    {"EEClass", "MethodTable", offsetof(struct layout, class_table), false},
};

struct walk {
    struct sn_runtime_memory *runtime;
    const struct sn_heap_visitor *visitor;
    struct sn_heap_facts *facts;
    struct layout layout;
    uint64_t free_type;       /* of gaps; 0: not known */
    struct sn_table known;    /* type to index in `types`, plus one */
    struct type_facts *types; /* owns */
    size_t type_count;
    size_t type_capacity;
    uint64_t last_address; /* the type that was asked for last */
    struct type_facts last;
    uint8_t *window; /* owns */
    uint64_t window_start;
    size_t window_size;
    uint64_t budget; /* bytes that may still be looked at */
    uint32_t spent;  /* since the clock was looked at */
    bool is_done;
};

static void walk_done_auto(struct walk *walk)
{
    sn_table_done(&walk->known);
    free(walk->types);
    free(walk->window);
}

/* --- time --- */

static bool is_late(const struct walk *walk)
{
    return walk->visitor->deadline_ns && sn_clock_monotonic_ns() > walk->visitor->deadline_ns;
}

/* Counts work of any kind, over all regions and tries. False: the time is over. */
static bool spend(struct walk *walk, uint32_t cost)
{
    walk->spent += cost;
    if (walk->spent >= LOOK_EVERY) {
        walk->spent = 0;
        if (is_late(walk)) {
            walk->facts->is_cut = true;
            walk->is_done = true;
        }
    }
    return !walk->is_done;
}

/* --- types --- */

/* Its class points back to it, or to the one that it shares the class with. */
static bool is_type(struct walk *walk, uint64_t address)
{
    struct sn_memory *memory = walk->runtime->memory;
    uint64_t class_address;
    uint64_t back;
    uint64_t canon = address;
    if (!sn_memory_u64(memory, address + walk->layout.class_or_canon, &class_address))
        return false;
    if (class_address & 1) {
        canon = class_address & ~1ull;
        if (!sn_memory_u64(memory, canon + walk->layout.class_or_canon, &class_address))
            return false;
    }
    return class_address && !(class_address & 7) &&
           sn_memory_u64(memory, class_address + walk->layout.class_table, &back) && back == canon;
}

static struct type_facts read_type(struct walk *walk, uint64_t address)
{
    struct sn_memory *memory = walk->runtime->memory;
    struct type_facts facts = {0};
    uint32_t flags;
    if (!sn_memory_u32(memory, address + walk->layout.flags, &flags) ||
        !sn_memory_u32(memory, address + walk->layout.base_size, &facts.base_size) ||
        facts.base_size < SIZE_LEAST || facts.base_size > INT32_MAX)
        return facts;
    facts.component_size = flags & TYPE_HAS_COUNT ? flags & 0xFFFFu : 0;
    facts.is_free = address == walk->free_type;
    facts.is_type = facts.is_free || is_type(walk, address);
    if (facts.is_type && !facts.is_free)
        facts.tag = walk->visitor->wants(walk->visitor->user, address);
    return facts;
}

/* Nothing is kept of what is no type: there may be too much of that. */
static struct type_facts type_of(struct walk *walk, uint64_t address)
{
    if (address == walk->last_address)
        return walk->last;
    if (address < 4096 || (address & 7) || address >> 47)
        return (struct type_facts){0};
    uint64_t *place = sn_table_find(&walk->known, address);
    struct type_facts facts;
    if (place) {
        facts = walk->types[*place - 1];
    } else {
        if (!spend(walk, COST_TYPE) || !sn_memory_map_of(walk->runtime->memory, address))
            return (struct type_facts){0};
        facts = read_type(walk, address);
        if (!facts.is_type)
            return facts;
        struct type_facts *types =
            sn_array_room(walk->types, walk->type_count, &walk->type_capacity, sizeof(*types));
        place = types ? sn_table_put(&walk->known, address) : NULL;
        if (types)
            walk->types = types;
        if (!place)
            return facts; /* asked again each time, then */
        walk->types[walk->type_count++] = facts;
        *place = walk->type_count;
    }
    walk->last_address = address;
    walk->last = facts;
    return facts;
}

/* --- bytes --- */

/* The bytes at `address`, at least `size` of them, as many more as there are at hand; NULL when
 * they cannot be read, or the time is over: that ends every loop here. */
static const uint8_t *bytes_at(struct walk *walk, uint64_t address, size_t size, size_t *ret_size)
{
    if (walk->is_done)
        return NULL;
    if (address < walk->window_start || address + size > walk->window_start + walk->window_size) {
        walk->window_start = address;
        walk->window_size = 0;
        if (!spend(walk, COST_WINDOW))
            return NULL;
        walk->window_size =
            sn_memory_read_now(walk->runtime->memory, address, walk->window, WINDOW);
        if (walk->window_size < size)
            return NULL;
    }
    *ret_size = (size_t)(walk->window_start + walk->window_size - address);
    return walk->window + (address - walk->window_start);
}

static bool word_at(struct walk *walk, uint64_t address, uint64_t *ret_word)
{
    size_t size;
    const uint8_t *bytes = bytes_at(walk, address, sizeof(*ret_word), &size);
    if (bytes)
        memcpy(ret_word, bytes, sizeof(*ret_word));
    return bytes != NULL;
}

/* --- objects --- */

/* An object at `address`; false when there is none that ends by `end`. */
static bool object_at(struct walk *walk, uint64_t address, uint64_t end,
                      struct type_facts *ret_type, struct sn_heap_object *ret_object)
{
    uint64_t words[2];
    size_t size;
    if (end - address < sizeof(words))
        return false;
    const uint8_t *bytes = bytes_at(walk, address, sizeof(words), &size);
    if (!bytes)
        return false;
    memcpy(words, bytes, sizeof(words));
    words[0] &= ~TYPE_LOW_BITS;
    *ret_type = type_of(walk, words[0]);
    if (!ret_type->is_type)
        return false;
    uint64_t count = words[1] & UINT32_MAX;
    uint64_t length = ret_type->base_size + count * ret_type->component_size;
    length = (length + 7) & ~7ull;
    if (length < OBJECT_MIN || length > end - address)
        return false;
    *ret_object = (struct sn_heap_object){
        .address = address, .type = words[0], .size = length, .tag = ret_type->tag};
    return true;
}

static void give_header(struct walk *walk, const struct type_facts *type,
                        const struct sn_heap_object *object)
{
    uint32_t header = object->header;
    if (walk->visitor->header && (header & HEADER_THREAD) && !(header & HEADER_NO_THIN_LOCK) &&
        !type->is_free)
        walk->visitor->header(walk->visitor->user, object->address, object->type, header);
}

/* Tells of an object. False: the bytes are gone, or it was enough. */
static bool give(struct walk *walk, const struct type_facts *type, struct sn_heap_object *object)
{
    size_t size;
    size_t whole = object->size < OBJECT_WHOLE ? (size_t)object->size : OBJECT_WHOLE;
    if (!type->tag)
        return true;
    object->bytes = bytes_at(walk, object->address, whole, &size);
    object->byte_count = whole;
    if (object->bytes && !walk->visitor->take(walk->visitor->user, object)) {
        walk->facts->is_cut = true;
        walk->is_done = true;
    }
    return !walk->is_done;
}

/* --- regions --- */

/* Past zeros, to the next word that is none. */
static uint64_t skip_blank(struct walk *walk, uint64_t address, uint64_t end)
{
    uint64_t at = address;
    while (at < end) {
        size_t size;
        const uint8_t *bytes = bytes_at(walk, at, 8, &size);
        if (!bytes)
            break;
        size = size < end - at ? size : (size_t)(end - at);
        size_t i = 0;
        uint64_t word = 0;
        for (; i + 8 <= size && !word; i += 8)
            memcpy(&word, bytes + i, 8);
        if (word) {
            at += i - 8;
            break;
        }
        at += i;
        if (i < 8)
            break;
    }
    walk->facts->bytes_blank += at - address;
    return at;
}

/* Several in a row are objects: what a tear left over is hardly that. */
static bool is_proved(struct walk *walk, uint64_t address, uint64_t end)
{
    struct sn_heap_object object;
    struct type_facts type;
    for (unsigned i = 0; i < PROOF && address < end; i++) {
        uint64_t word;
        if (i && word_at(walk, address, &word) && !word)
            return true; /* not used yet from here on */
        if (!object_at(walk, address, end, &type, &object))
            return false;
        address += object.size;
    }
    return true;
}

/* The next place where objects are to be had again; `end` when there is none. */
static uint64_t find_object(struct walk *walk, uint64_t address, uint64_t end)
{
    unsigned words = 0;
    while (end - address > 8 && words++ < SEARCH_MAX) {
        uint64_t word;
        address += 8;
        if (!word_at(walk, address, &word))
            break;
        if (word && is_proved(walk, address, end))
            return address;
    }
    return end;
}

/* At a place that is no object. Zeros, and the header of the object behind them, are as it should
 * be; anything else is a tear. */
static uint64_t pass_gap(struct walk *walk, uint64_t address, uint64_t end, bool *is_torn)
{
    uint64_t start = address;
    struct sn_heap_object object;
    struct type_facts type;
    address = skip_blank(walk, address, end);
    if (end - address < 8 || (address > start && object_at(walk, address, end, &type, &object)))
        return end - address < 8 ? end : address;
    if (address > start && end - address > 8 && object_at(walk, address + 8, end, &type, &object))
        return address + 8;
    *is_torn = true;
    uint64_t next = find_object(walk, address, end);
    walk->facts->bytes_lost += next - address;
    return next;
}

static void walk_region(struct walk *walk, const struct sn_gc_region *region)
{
    uint64_t address = region->start;
    uint32_t header = 0; /* of the first: the word before the region is not its own */
    bool is_torn = false;
    walk->window_size = 0;
    (void)spend(walk, COST_REGION);
    while (address < region->end && spend(walk, 1)) {
        struct sn_heap_object object;
        struct type_facts type;
        uint64_t before;
        if (!object_at(walk, address, region->end, &type, &object)) {
            address = pass_gap(walk, address, region->end, &is_torn);
            header = address - 8 >= region->start && word_at(walk, address - 8, &before)
                         ? (uint32_t)(before >> 32)
                         : 0;
            continue;
        }
        object.generation = region->generation;
        object.header = header;
        walk->facts->objects++;
        give_header(walk, &type, &object);
        if (!give(walk, &type, &object))
            break;
        address += object.size;
        header = word_at(walk, address - 8, &before) ? (uint32_t)(before >> 32) : 0;
    }
    walk->facts->regions++;
    walk->facts->regions_torn += is_torn;
}

static void walk_regions(struct walk *walk, const struct sn_gc_regions *regions)
{
    walk->budget = walk->visitor->bytes_max ? walk->visitor->bytes_max : SN_HEAP_BYTES_MAX;
    for (size_t i = 0; i < regions->count && !walk->is_done; i++) {
        struct sn_gc_region region = regions->items[i];
        uint64_t size = region.end - region.start;
        if (size > walk->budget) {
            walk->facts->is_cut = true;
            return;
        }
        walk->budget -= size;
        walk->facts->bytes += size;
        walk_region(walk, &region);
    }
}

/* --- the whole --- */

/* Reads the regions when the collector rests, waiting for that a little. False: no memory. */
static bool settle(struct walk *walk, const struct sn_gc_layout *layout,
                   struct sn_gc_regions *regions)
{
    struct timespec pause = {.tv_nsec = COLLECT_NS};
    for (unsigned i = 0;; i++) {
        if (!sn_gc_layout_regions(walk->runtime, layout, regions))
            return false;
        if (!regions->is_collecting || i >= COLLECT_WAITS ||
            !sn_memory_pid(walk->runtime->memory) || is_late(walk))
            return true;
        nanosleep(&pause, NULL);
    }
}

static int walk_heap(struct walk *walk, const struct sn_gc_layout *layout, struct sonde_error *err)
{
    SN_AUTO(sn_gc_regions_done) struct sn_gc_regions regions = {0};
    SN_AUTO(sn_gc_regions_done) struct sn_gc_regions after = {0};
    struct sn_heap_facts *facts = walk->facts;
    for (unsigned i = 0; i < TRIES; i++) {
        if (i)
            walk->visitor->again(walk->visitor->user);
        *facts =
            (struct sn_heap_facts){.heaps = layout->heap_count, .is_server = layout->is_server};
        walk->is_done = false;
        if (!settle(walk, layout, &regions))
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the regions of a heap");
        facts->is_collecting = regions.is_collecting;
        facts->regions_torn = regions.broken;
        walk_regions(walk, &regions);
        if (!sn_gc_layout_regions(walk->runtime, layout, &after))
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the regions of a heap");
        facts->is_changed = after.print != regions.print || after.is_collecting;
        if (!facts->is_changed || facts->is_collecting || facts->is_cut || is_late(walk))
            break;
    }
    return SONDE_OK;
}

int sn_heap_walk(struct sn_runtime_memory *runtime, const struct sn_heap_visitor *visitor,
                 struct sn_heap_facts *ret_facts, struct sonde_error *err)
{
    SN_AUTO(sn_gc_layout_done) struct sn_gc_layout layout = {0};
    SN_AUTO(walk_done)
    struct walk walk = {.runtime = runtime,
                        .visitor = visitor,
                        .facts = ret_facts,
                        .known = sn_table_with_limit(TYPES_MAX)};
    const char *missing;
    uint64_t variable;
    *ret_facts = (struct sn_heap_facts){0};
    if (!sn_contract_bind(runtime->contract, wants, sizeof(wants) / sizeof(*wants), &walk.layout,
                          &missing))
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "this runtime does not tell of %s", missing);
    if (!sn_contract_address(runtime->contract, "FreeObjectMethodTable", &variable) ||
        !sn_memory_u64(runtime->memory, variable, &walk.free_type))
        walk.free_type = 0;
    int rc = sn_gc_layout_read(runtime, &layout, err);
    if (rc != SONDE_OK)
        return rc;
    walk.window = malloc(WINDOW);
    if (!walk.window)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a piece of the heap");
    return walk_heap(&walk, &layout, err);
}
