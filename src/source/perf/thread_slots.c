#include "source/perf/thread_slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define THREAD_LIMIT (1u << 17)
#define STACK_LIMIT  (64u << 20) /* bytes: all frames of 50,000 threads */
#define STACK_STEP   16u         /* frames */

struct sn_thread_slots sn_thread_slots_of(size_t slot_size)
{
    return (struct sn_thread_slots){.by_tid = sn_table_with_limit(THREAD_LIMIT),
                                    .slot_size = slot_size};
}

static struct sn_thread_slot *slot_at(const struct sn_thread_slots *slots, size_t index)
{
    return (struct sn_thread_slot *)(void *)(slots->slots + index * slots->slot_size);
}

void sn_thread_slots_done(struct sn_thread_slots *slots)
{
    for (size_t i = 0; i < slots->count; i++)
        free(slot_at(slots, i)->frames);
    free(slots->slots);
    sn_table_done(&slots->by_tid);
    *slots = (struct sn_thread_slots){0};
}

void *sn_thread_slots_find(const struct sn_thread_slots *slots, uint32_t tid)
{
    const uint64_t *index = sn_table_find(&slots->by_tid, tid);
    return index ? slot_at(slots, (size_t)*index - 1) : NULL;
}

/* A free slot, zeroed but for the room for its stack. Its index + 1; 0 without memory. */
static uint32_t take_free(struct sn_thread_slots *slots)
{
    uint32_t taken = slots->first_free;
    if (taken) {
        struct sn_thread_slot *slot = slot_at(slots, taken - 1u);
        struct sn_thread_slot kept = {.capacity = slot->capacity, .frames = slot->frames};
        slots->first_free = slot->next;
        memset(slot, 0, slots->slot_size);
        *slot = kept;
        return taken;
    }
    uint8_t *grown = sn_array_room(slots->slots, slots->count, &slots->capacity, slots->slot_size);
    if (!grown)
        return 0;
    slots->slots = grown;
    memset(slot_at(slots, slots->count), 0, slots->slot_size);
    return (uint32_t)++slots->count;
}

void *sn_thread_slots_get(struct sn_thread_slots *slots, uint32_t pid, uint32_t tid)
{
    struct sn_thread_slot *slot = sn_thread_slots_find(slots, tid);
    if (slot || !tid || tid == UINT32_MAX)
        return slot;
    uint64_t *index = sn_table_put(&slots->by_tid, tid);
    uint32_t taken = index ? take_free(slots) : 0;
    if (!taken) {
        if (index)
            sn_table_remove(&slots->by_tid, tid);
        slots->refused++;
        return NULL;
    }
    *index = taken;
    slot = slot_at(slots, taken - 1u);
    slot->pid = pid;
    slot->tid = tid;
    return slot;
}

void sn_thread_slots_drop(struct sn_thread_slots *slots, uint32_t tid)
{
    const uint64_t *index = sn_table_find(&slots->by_tid, tid);
    if (!index)
        return;
    uint32_t freed = (uint32_t)*index;
    struct sn_thread_slot *slot = slot_at(slots, freed - 1u);
    slot->tid = 0;
    slot->depth = 0;
    slot->next = slots->first_free;
    slots->first_free = freed;
    sn_table_remove(&slots->by_tid, tid);
}

void *sn_thread_slots_next(const struct sn_thread_slots *slots, size_t *place)
{
    while (*place < slots->count) {
        struct sn_thread_slot *slot = slot_at(slots, (*place)++);
        if (slot->tid)
            return slot;
    }
    return NULL;
}

static bool make_room(struct sn_thread_slots *slots, struct sn_thread_slot *slot, size_t depth)
{
    if (depth <= slot->capacity)
        return true;
    size_t capacity = (depth + STACK_STEP - 1) / STACK_STEP * STACK_STEP;
    size_t more = (capacity - slot->capacity) * sizeof(*slot->frames);
    if (more > STACK_LIMIT - slots->stack_bytes)
        return false;
    uint64_t *frames = realloc(slot->frames, capacity * sizeof(*frames));
    if (!frames)
        return false;
    slot->frames = frames;
    slot->capacity = (uint16_t)capacity;
    slots->stack_bytes += more;
    return true;
}

void sn_thread_slots_keep(struct sn_thread_slots *slots, struct sn_thread_slot *slot,
                          const uint64_t *frames, size_t depth)
{
    if (depth > SN_THREAD_STACK_MAX)
        depth = SN_THREAD_STACK_MAX;
    slot->depth = 0;
    if (!make_room(slots, slot, depth)) {
        slots->refused++;
        return;
    }
    if (depth)
        memcpy(slot->frames, frames, depth * sizeof(*frames));
    slot->depth = (uint16_t)depth;
}
