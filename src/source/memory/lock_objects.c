/* System.Threading.Lock: an object like any other, read by the names of its fields. Those that are
 * waited for are on the stacks of those who wait; those that are only held, on the heap. */
#include <string.h>

#include "base/table.h"
#include "source/memory/locks_internal.h"
#include "source/memory/object_index.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/thread_state.h"
#include "source/memory/type_system.h"

#define LOCK_WAITERS    7u /* bits of Lock._state below the number of waiters */
#define DEPTH_MAX       100000000u
#define STACK_LOOKED_AT (16u << 10) /* bytes from the top of a stack */

static bool word_of(struct sn_lock_work *work, uint64_t object, uint64_t type,
                    enum sn_object_field field, uint32_t *ret_word)
{
    uint32_t offset = sn_object_fields_at(&work->fields, type, field);
    return offset && sn_memory_read_now(work->runtime->memory, object + offset, ret_word, 4) == 4;
}

/* Of this moment, not of when the heap was walked. False: it is not held, or no Lock any more. */
bool sn_lock_object_read(struct sn_lock_work *work, uint64_t object, uint64_t type,
                         struct sn_lock *ret_lock)
{
    uint64_t now;
    uint32_t state;
    uint32_t owner;
    uint32_t depth;
    if (sn_memory_read_now(work->runtime->memory, object, &now, 8) != 8 || (now & ~7ull) != type ||
        !word_of(work, object, type, SN_FIELD_LOCK_STATE, &state) ||
        !word_of(work, object, type, SN_FIELD_LOCK_OWNER, &owner) ||
        !word_of(work, object, type, SN_FIELD_LOCK_DEPTH, &depth) || !(state & 1))
        return false;
    *ret_lock = (struct sn_lock){.object = object,
                                 .type = type,
                                 .kind = SN_LOCK_OBJECT,
                                 .told = state >> LOCK_WAITERS,
                                 .owner = sn_lock_thread_of(work, owner)};
    ret_lock->owner_id = ret_lock->owner ? owner : 0;
    ret_lock->depth = depth < DEPTH_MAX ? depth + 1 : 0;
    return true;
}

/* False: no memory. */
static bool take(struct sn_lock_work *work, struct sn_table *seen, uint64_t object, uint64_t type)
{
    struct sn_lock lock;
    uint64_t *place = sn_table_put(seen, object);
    if (!place || *place)
        return place || seen->count >= SN_LOCKS_MAX; /* enough of them, or one twice */
    *place = 1;
    return !sn_lock_object_read(work, object, type, &lock) || (!lock.owner && !lock.told) ||
           sn_lock_add(work, &lock, object);
}

/* Objects begin with their type; they do not lie in files, nor on the stack itself. */
static bool is_lock(struct sn_lock_work *work, uint64_t word, uint64_t type)
{
    uint64_t first;
    const struct sn_memory_map *map =
        word & 7 || word < 4096 ? NULL : sn_memory_map_of(work->runtime->memory, word);
    return map && !map->inode && (map->flags & SN_MAP_WRITE) &&
           sn_memory_u64(work->runtime->memory, word, &first) && (first & ~7ull) == type;
}

static bool find_on_stack(struct sn_lock_work *work, const struct sn_lock_thread *thread,
                          uint64_t type, struct sn_table *seen)
{
    const struct sn_thread_state *state = thread->state;
    size_t size = state->stack_size < STACK_LOOKED_AT ? state->stack_size : STACK_LOOKED_AT;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, state->stack + i, sizeof(word));
        if (word - state->registers.sp < state->stack_size)
            continue;
        if (is_lock(work, word, type) && !take(work, seen, word, type))
            return false;
    }
    return true;
}

static bool find_on_heap(struct sn_lock_work *work, struct sn_table *seen)
{
    const struct sn_found_object *objects;
    size_t count = sn_object_index_list(work->index, SN_OBJECT_LOCK, &objects);
    for (size_t i = 0; i < count; i++) {
        if (!take(work, seen, objects[i].address, objects[i].type))
            return false;
    }
    return true;
}

bool sn_lock_objects_find(struct sn_lock_work *work)
{
    struct sn_table seen = sn_table_with_limit(SN_LOCKS_MAX);
    uint64_t type = sn_type_system_find(work->types, NULL, "System.Threading.Lock");
    bool is_read = true;
    for (size_t i = 0; type && i < work->thread_count && is_read; i++) {
        const struct sn_lock_thread *thread = &work->threads[i];
        if (thread->wait == SN_LOCK_WAIT_LOCK && thread->state && thread->state->stack)
            is_read = find_on_stack(work, thread, type, &seen);
    }
    if (work->index && is_read)
        is_read = find_on_heap(work, &seen);
    sn_table_done(&seen);
    return is_read;
}
