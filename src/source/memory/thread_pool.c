/* Counts what the thread pool has queued: the segments of its concurrent queues, the queues of its
 * workers, and the numbers of the pool itself, each by the names of the fields. */
#include "source/memory/thread_pool.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "source/memory/object_fields.h"
#include "source/memory/object_index.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/type_system.h"

#define FROZEN_ROUNDS   2u /* a frozen segment's tail is moved on by twice its length */
#define LENGTH_MAX      (1u << 26)
#define WORKERS_MAX     65536u
#define STRUCTURE_MAX   4096u
#define WORK_QUEUES_MAX 64u /* there is one; others are remains of none */
#define HEAD_AND_TAIL   "System.Collections.Concurrent.PaddedHeadAndTail"
#define WORK_QUEUE      "System.Threading.ThreadPoolWorkQueue"
#define POOL_COUNTS     "System.Threading.PortableThreadPool+CacheLineSeparated"

struct pool {
    struct sn_memory *memory;
    struct sn_type_system *types;
    struct sn_thread_pool *to;
    struct sn_object_fields fields;
    bool has_ends; /* where a segment's head and tail lie in _headAndTail is known */
    uint32_t head_at;
    uint32_t tail_at;
    uint32_t segments; /* looked at so far, of all queues */
};

static void pool_done_auto(struct pool *pool)
{
    sn_object_fields_done(&pool->fields);
}

/* --- fields --- */

/* Where a field of an object lies; 0: there is none. */
static uint64_t place_of(struct pool *pool, uint64_t object, enum sn_object_field field)
{
    uint64_t type = object ? sn_type_system_object_table(pool->types, object) : 0;
    uint32_t offset = type ? sn_object_fields_at(&pool->fields, type, field) : 0;
    return offset ? object + offset : 0;
}

static bool reference_of(struct pool *pool, uint64_t object, enum sn_object_field field,
                         uint64_t *ret_object)
{
    uint64_t place = place_of(pool, object, field);
    return place && sn_memory_u64(pool->memory, place, ret_object);
}

static bool number_of(struct pool *pool, uint64_t object, enum sn_object_field field,
                      int32_t *ret_number)
{
    uint64_t place = place_of(pool, object, field);
    return place && sn_memory_read(pool->memory, place, ret_number, sizeof(*ret_number));
}

static bool length_of(struct pool *pool, uint64_t array, uint32_t *ret_length)
{
    return array && sn_type_system_object_table(pool->types, array) &&
           sn_memory_u32(pool->memory, array + 8, ret_length) && *ret_length &&
           *ret_length <= LENGTH_MAX;
}

/* --- queues --- */

/* Where a field of a structure lies within it. */
static bool place_in(struct pool *pool, const char *type_name, const char *name,
                     uint32_t *ret_offset)
{
    struct sn_memory_field field;
    uint64_t type = sn_type_system_find(pool->types, NULL, type_name);
    if (!type || !sn_type_system_field(pool->types, type, name, &field) || field.is_static ||
        field.offset > STRUCTURE_MAX)
        return false;
    *ret_offset = field.offset;
    return true;
}

static bool count_segment(struct pool *pool, uint64_t segment, uint64_t *ret_count)
{
    uint64_t slots;
    uint32_t length;
    int32_t head;
    int32_t tail;
    uint8_t is_frozen = 0;
    uint64_t place = place_of(pool, segment, SN_FIELD_SEGMENT_ENDS);
    uint64_t frozen = place_of(pool, segment, SN_FIELD_SEGMENT_FROZEN);
    if (!place || !pool->has_ends || !reference_of(pool, segment, SN_FIELD_SEGMENT_SLOTS, &slots) ||
        !length_of(pool, slots, &length) || (length & (length - 1)) ||
        !sn_memory_read(pool->memory, place + pool->head_at, &head, sizeof(head)) ||
        !sn_memory_read(pool->memory, place + pool->tail_at, &tail, sizeof(tail)) ||
        (frozen && !sn_memory_u8(pool->memory, frozen, &is_frozen)))
        return false;
    uint32_t count = (uint32_t)tail - (uint32_t)head;
    if (is_frozen && count >= FROZEN_ROUNDS * length)
        count -= FROZEN_ROUNDS * length;
    *ret_count = count;
    return count <= length;
}

/* Items of a ConcurrentQueue. False: it does not hold together. */
static bool count_queue(struct pool *pool, uint64_t queue, uint64_t *ret_count)
{
    uint64_t segment;
    *ret_count = 0;
    if (!reference_of(pool, queue, SN_FIELD_QUEUE_HEAD, &segment) || !segment)
        return false;
    while (segment && pool->segments++ < SN_POOL_SEGMENTS_MAX) {
        uint64_t count;
        if (!count_segment(pool, segment, &count))
            return false;
        *ret_count += count;
        if (!reference_of(pool, segment, SN_FIELD_SEGMENT_NEXT, &segment))
            return false;
    }
    return segment == 0 && *ret_count <= SN_POOL_ITEMS_MAX;
}

static bool count_global(struct pool *pool, uint64_t work_queue)
{
    static const struct {
        enum sn_object_field field;
        bool is_needed;
    } queues[] = {{SN_FIELD_POOL_ITEMS, true},
                  {SN_FIELD_POOL_HIGH_ITEMS, false},
                  {SN_FIELD_POOL_LOW_ITEMS, false}};
    uint64_t array;
    uint32_t length;
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof(queues) / sizeof(*queues); i++) {
        uint64_t queue;
        uint64_t count = 0;
        if (reference_of(pool, work_queue, queues[i].field, &queue) && queue) {
            if (!count_queue(pool, queue, &count))
                return false;
        } else if (queues[i].is_needed) {
            return false;
        }
        total += count;
    }
    /* On machines with very many processors there are more, each for some of the workers. */
    if (reference_of(pool, work_queue, SN_FIELD_POOL_QUEUES, &array) &&
        length_of(pool, array, &length)) {
        for (uint32_t i = 0; i < length && i < WORKERS_MAX; i++) {
            uint64_t queue;
            uint64_t count;
            if (sn_memory_u64(pool->memory, array + 16 + i * 8ull, &queue) && queue &&
                count_queue(pool, queue, &count))
                total += count;
        }
    }
    pool->to->queued = total;
    return true;
}

/* Of one worker; 0 where it does not hold together. */
static uint64_t count_local(struct pool *pool, uint64_t queue)
{
    uint64_t array;
    uint32_t length;
    int32_t head;
    int32_t tail;
    if (!reference_of(pool, queue, SN_FIELD_LOCAL_ARRAY, &array) ||
        !length_of(pool, array, &length) || !number_of(pool, queue, SN_FIELD_LOCAL_HEAD, &head) ||
        !number_of(pool, queue, SN_FIELD_LOCAL_TAIL, &tail) || tail <= head ||
        (uint32_t)(tail - head) > length)
        return 0;
    return (uint64_t)(tail - head);
}

static void count_locals(struct pool *pool, const struct sn_object_index *index)
{
    const struct sn_found_object *queues;
    size_t count = sn_object_index_list(index, SN_OBJECT_LOCAL_QUEUE, &queues);
    for (size_t i = 0; i < count && i < WORKERS_MAX; i++)
        pool->to->queued_local += count_local(pool, queues[i].address);
}

/* --- workers --- */

/* The pool packs its counts into one number: workers that are not idle, all workers, and how many
 * it wants, 16 bits each. */
static void read_counts(struct pool *pool, uint64_t portable)
{
    struct sn_thread_pool *to = pool->to;
    uint64_t place = place_of(pool, portable, SN_FIELD_POOL_COUNTS);
    uint64_t least = place_of(pool, portable, SN_FIELD_POOL_LEAST);
    uint64_t most = place_of(pool, portable, SN_FIELD_POOL_MOST);
    uint64_t counts;
    uint16_t min;
    uint16_t max;
    uint32_t at;
    if (!place || !least || !most || !place_in(pool, POOL_COUNTS, "counts", &at) ||
        !sn_memory_u64(pool->memory, place + at, &counts) ||
        !sn_memory_u16(pool->memory, least, &min) || !sn_memory_u16(pool->memory, most, &max))
        return;
    uint32_t working = (uint32_t)(counts & 0xFFFF);
    uint32_t workers = (uint32_t)(counts >> 16 & 0xFFFF);
    uint32_t goal = (uint32_t)(counts >> 32 & 0xFFFF);
    if (working > workers || workers > 32768 || !goal || goal > max || min > max || !min)
        return;
    to->has_workers = true;
    to->working = working;
    to->workers = workers;
    to->goal = goal;
    to->min_workers = min;
    to->max_workers = max;
}

void sn_thread_pool_read(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                         const struct sn_object_index *index, struct sn_thread_pool *ret_pool)
{
    SN_AUTO(pool_done)
    struct pool pool = {.memory = runtime->memory,
                        .types = types,
                        .to = ret_pool,
                        .fields = sn_object_fields_of(types)};
    const struct sn_found_object *objects;
    *ret_pool = (struct sn_thread_pool){0};
    sn_memory_forget(runtime->memory);
    pool.has_ends = place_in(&pool, HEAD_AND_TAIL, "Head", &pool.head_at) &&
                    place_in(&pool, HEAD_AND_TAIL, "Tail", &pool.tail_at);
    size_t count = sn_object_index_list(index, SN_OBJECT_WORK_QUEUE, &objects);
    for (size_t i = 0; i < count && i < WORK_QUEUES_MAX && !ret_pool->is_known; i++)
        ret_pool->is_known = count_global(&pool, objects[i].address);
    if (!ret_pool->is_known) {
        /* A program that has never used it has not even loaded its type. */
        ret_pool->is_known = !count && sn_type_system_find(types, NULL, "System.Object") &&
                             !sn_type_system_find(types, NULL, WORK_QUEUE);
        if (!ret_pool->is_known)
            snprintf(ret_pool->remark, sizeof(ret_pool->remark), "%s",
                     count ? "the thread pool's queue is not as it is known, or changed while it "
                             "was read"
                           : "the thread pool's queue was not found");
        return;
    }
    count_locals(&pool, index);
    if (sn_object_index_list(index, SN_OBJECT_POOL, &objects))
        read_counts(&pool, objects[0].address);
}
