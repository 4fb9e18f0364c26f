/* Reads locks: the runtime's table of sync blocks, Lock objects, and headers that are thin locks.
 * The runtime tells little of a sync block, so each is proved: it holds its own index, and so does
 * the header of its object; its owner is named twice, and both must be the same thread. */
#include "source/memory/locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/own.h"
#include "sonde/error.h"
#include "source/memory/contract.h"
#include "source/memory/locks_internal.h"
#include "source/memory/object_index.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/type_system.h"

/* Of a sync block and of an entry of their table; from known_layouts.h where the runtime does not
 * tell.
 */
struct sn_lock_layout {
    uint32_t state;
    uint32_t depth;
    uint32_t owner_id;
    uint32_t owner;      /* the runtime's Thread, before .NET 10; or SN_CONTRACT_NONE */
    uint32_t managed_id; /* of the owner, from .NET 10 on; or SN_CONTRACT_NONE */
    uint32_t index;
    uint32_t entry_size;
    uint32_t entry_block;
    uint32_t entry_object;
    uint32_t free_index; /* in the cache of sync blocks */
};

static const struct sn_contract_want wants[] = {
    {"SyncBlock", "MonitorState", offsetof(struct sn_lock_layout, state), false},
    {"SyncBlock", "MonitorRecursion", offsetof(struct sn_lock_layout, depth), false},
    {"SyncBlock", "MonitorOwnerOSId", offsetof(struct sn_lock_layout, owner_id), false},
    {"SyncBlock", "MonitorOwner", offsetof(struct sn_lock_layout, owner), true},
    {"SyncBlock", "MonitorOwnerId", offsetof(struct sn_lock_layout, managed_id), true},
    {"SyncBlock", "SyncIndex", offsetof(struct sn_lock_layout, index), false},
    {"SyncTableEntry", "!", offsetof(struct sn_lock_layout, entry_size), false},
    {"SyncTableEntry", "SyncBlock", offsetof(struct sn_lock_layout, entry_block), false},
    {"SyncTableEntry", "Object", offsetof(struct sn_lock_layout, entry_object), false},
    {"SyncBlockCache", "FreeSyncTableIndex", offsetof(struct sn_lock_layout, free_index), true},
};

struct monitor {
    uint32_t state;
    uint32_t depth;
    uint64_t owner_id;   /* OS id */
    uint64_t owner;      /* Thread; or 0 */
    uint32_t managed_id; /* of the owner; or 0 */
    uint32_t index;      /* of the table */
};

#define BLOCK_MAX          256u /* bytes of a sync block */
#define MONITOR_HELD       1u
#define MONITOR_WAITERS    6u /* bits below the number of waiters */
#define INDEX_MASK         0x03FFFFFFu
#define HEADER_KIND        0x0C000000u
#define HEADER_INDEX       0x08000000u
#define HEADER_THREAD      0x0000FFFFu
#define HEADER_DEPTH_SHIFT 16u
#define HEADER_DEPTH       0x3Fu
#define OBJECT_FREE        1u  /* in the table: the entry is not in use */
#define UNUSED_RUN         64u /* entries never used that end the table */
#define TABLE_PIECE        256u
#define ENTRY_MAX          64u /* bytes of an entry */
#define TRIES              4u  /* a lock that is being handed over has no owner for a moment */
#define DEPTH_MAX          100000000u

/* --- threads --- */

static bool list_threads(struct sn_lock_work *work)
{
    for (size_t i = 0; i < work->thread_count; i++) {
        const struct sn_managed_thread *thread = work->threads[i].thread;
        uint64_t *place = thread->os_id ? sn_table_put(&work->os_ids, thread->os_id) : NULL;
        if (thread->os_id && !place)
            return false;
        if (place && !*place)
            *place = i + 1;
        place = sn_table_put(&work->managed_ids, thread->managed_id);
        if (!place)
            return false;
        if (!*place)
            *place = i + 1;
    }
    return true;
}

static uint32_t thread_of(const struct sn_table *ids, uint64_t id)
{
    const uint64_t *place = id ? sn_table_find(ids, id) : NULL;
    return place ? (uint32_t)*place : 0;
}

uint32_t sn_lock_thread_of(const struct sn_lock_work *work, uint64_t os_id)
{
    return thread_of(&work->os_ids, os_id);
}

/* --- the work --- */

static void remark(struct sn_lock_work *work, const char *text)
{
    if (!work->list->remark[0])
        snprintf(work->list->remark, sizeof(work->list->remark), "%s", text);
}

/* Enough for anybody: nothing more is read. */
static bool is_enough(struct sn_lock_work *work)
{
    if (work->count < SN_LOCKS_MAX)
        return false;
    remark(work, "there are more than are shown");
    return true;
}

bool sn_lock_add(struct sn_lock_work *work, const struct sn_lock *lock, uint64_t address)
{
    if (work->count >= SN_LOCKS_MAX)
        return true;
    struct sn_lock_found *found =
        sn_array_room(work->found, work->count, &work->capacity, sizeof(*found));
    if (!found)
        return false;
    work->found = found;
    found[work->count] = (struct sn_lock_found){.lock = *lock, .address = address};
    work->count++;
    return true;
}

/* --- monitors --- */

struct entry {
    uint64_t block;
    uint64_t object;
};

static void copy_of(const uint8_t *bytes, uint32_t offset, void *to, size_t size)
{
    if (offset <= BLOCK_MAX - size)
        memcpy(to, bytes + offset, size);
}

/* How many bytes of a block hold all that is read of it. */
static size_t block_size(const struct sn_lock_layout *layout)
{
    const struct {
        uint32_t offset;
        uint32_t size;
    } parts[] = {{layout->state, 4}, {layout->depth, 4}, {layout->owner_id, 8},
                 {layout->owner, 8}, {layout->index, 4}, {layout->managed_id, 4}};
    uint64_t end = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        uint64_t part_end = (uint64_t)parts[i].offset + parts[i].size;
        if (parts[i].offset != SN_CONTRACT_NONE && part_end > end)
            end = part_end;
    }
    return (size_t)end;
}

/* The block at `address`, all of one moment. */
static bool read_monitor(struct sn_lock_work *work, uint64_t address, struct monitor *ret_monitor)
{
    const struct sn_lock_layout *layout = work->layout;
    uint8_t bytes[BLOCK_MAX] = {0};
    size_t needed = block_size(layout);
    *ret_monitor = (struct monitor){0};
    if (address < 4096 || (address & 7) || needed > sizeof(bytes) ||
        sn_memory_read_now(work->runtime->memory, address, bytes, needed) != needed)
        return false;
    copy_of(bytes, layout->state, &ret_monitor->state, sizeof(ret_monitor->state));
    copy_of(bytes, layout->depth, &ret_monitor->depth, sizeof(ret_monitor->depth));
    copy_of(bytes, layout->owner_id, &ret_monitor->owner_id, sizeof(ret_monitor->owner_id));
    copy_of(bytes, layout->owner, &ret_monitor->owner, sizeof(ret_monitor->owner));
    copy_of(bytes, layout->managed_id, &ret_monitor->managed_id, sizeof(ret_monitor->managed_id));
    copy_of(bytes, layout->index, &ret_monitor->index, sizeof(ret_monitor->index));
    ret_monitor->index &= INDEX_MASK;
    return true;
}

/* The header of the object says the same index: it is the object of that block. */
static bool is_object_of(struct sn_memory *memory, uint64_t object, uint32_t index)
{
    uint32_t header;
    return object >= 4096 && !(object & 7) &&
           sn_memory_read_now(memory, object - 4, &header, sizeof(header)) == sizeof(header) &&
           (header & HEADER_KIND) == HEADER_INDEX && (header & INDEX_MASK) == index;
}

struct sync_counts {
    uint32_t proved;
    uint32_t refused; /* in use, and not as they should be */
    uint32_t unused;  /* never used, in a row */
    uint32_t held;
    uint32_t owned; /* held, and the owner proved: what is read of monitors is what it is */
};

/* Who holds it: the thread that both of its owner's numbers name; plus one, or 0. */
static uint32_t owner_of(const struct sn_lock_work *work, const struct monitor *monitor)
{
    uint32_t owner = sn_lock_thread_of(work, monitor->owner_id);
    if (!owner || !monitor->depth || monitor->depth > DEPTH_MAX)
        return 0;
    const struct sn_managed_thread *thread = work->threads[owner - 1].thread;
    bool is_named_twice = work->layout->managed_id != SN_CONTRACT_NONE
                              ? monitor->managed_id == thread->managed_id
                              : monitor->owner && monitor->owner == thread->address;
    return is_named_twice ? owner : 0;
}

static void take_owner(const struct sn_lock_work *work, const struct monitor *monitor,
                       struct sn_lock *lock, struct sync_counts *counts)
{
    counts->held++;
    lock->owner = owner_of(work, monitor);
    if (!lock->owner)
        return;
    lock->owner_id = monitor->owner_id;
    lock->depth = monitor->depth;
    counts->owned++;
}

/* False: no memory. */
static bool take_entry(struct sn_lock_work *work, const struct entry *entry, uint32_t index,
                       struct sync_counts *counts)
{
    struct sn_memory *memory = work->runtime->memory;
    struct monitor monitor;
    counts->unused = entry->block || entry->object ? 0 : counts->unused + 1;
    if (!entry->block || !entry->object || (entry->object & OBJECT_FREE))
        return true;
    if (!read_monitor(work, entry->block, &monitor) || monitor.index != index) {
        counts->refused++;
        return true;
    }
    counts->proved++;
    if (!(monitor.state & MONITOR_HELD) && !(monitor.state >> MONITOR_WAITERS))
        return true;
    struct sn_lock lock = {
        .object = entry->object, .kind = SN_LOCK_MONITOR, .told = monitor.state >> MONITOR_WAITERS};
    if (monitor.state & MONITOR_HELD)
        take_owner(work, &monitor, &lock, counts);
    if (is_object_of(memory, entry->object, index))
        lock.type = sn_type_system_object_table(work->types, entry->object);
    else if (!lock.owner) /* neither proves it */
        return true;
    return sn_lock_add(work, &lock, entry->block);
}

static bool walk_table(struct sn_lock_work *work, uint64_t table, uint32_t end,
                       struct sync_counts *counts)
{
    const struct sn_lock_layout *layout = work->layout;
    uint8_t piece[TABLE_PIECE * ENTRY_MAX];
    for (uint32_t first = 0; first < end && !is_enough(work); first += TABLE_PIECE) {
        uint32_t wanted = end - first < TABLE_PIECE ? end - first : TABLE_PIECE;
        size_t got =
            sn_memory_read_now(work->runtime->memory, table + (uint64_t)first * layout->entry_size,
                               piece, (size_t)wanted * layout->entry_size) /
            layout->entry_size;
        for (uint32_t i = 0; i < got; i++) {
            const uint8_t *at = piece + (size_t)i * layout->entry_size;
            struct entry entry;
            memcpy(&entry.block, at + layout->entry_block, sizeof(entry.block));
            memcpy(&entry.object, at + layout->entry_object, sizeof(entry.object));
            if (first + i && !take_entry(work, &entry, first + i, counts)) /* 0 stands for none */
                return false;
            if (counts->unused >= UNUSED_RUN || counts->refused > counts->proved + UNUSED_RUN)
                return true;
        }
        if (got < wanted)
            return true;
    }
    return true;
}

/* How many entries have ever been in use; what is not told, the entries themselves must tell. */
static uint32_t table_end(struct sn_lock_work *work)
{
    uint64_t variable;
    uint64_t cache;
    uint32_t end;
    if (work->layout->free_index == SN_CONTRACT_NONE ||
        !sn_contract_address(work->runtime->contract, "SyncBlockCache", &variable) ||
        sn_memory_read_now(work->runtime->memory, variable, &cache, 8) != 8 || !cache ||
        sn_memory_read_now(work->runtime->memory, cache + work->layout->free_index, &end, 4) != 4 ||
        end > SN_SYNC_BLOCKS_MAX)
        return SN_SYNC_BLOCKS_MAX;
    return end;
}

static bool bind_layout(struct sn_lock_work *work, struct sn_lock_layout *layout)
{
    const char *missing;
    if (!sn_contract_bind(work->runtime->contract, wants, sizeof(wants) / sizeof(*wants), layout,
                          &missing) ||
        layout->entry_size < sizeof(uint64_t) || layout->entry_size > ENTRY_MAX ||
        layout->entry_block > layout->entry_size - 8 ||
        layout->entry_object > layout->entry_size - 8)
        return false;
    work->layout = layout;
    return true;
}

/* False: no memory. */
static bool read_monitors(struct sn_lock_work *work, struct sn_lock_layout *layout)
{
    struct sync_counts counts = {0};
    uint64_t variable;
    uint64_t table;
    if (!bind_layout(work, layout) ||
        !sn_contract_address(work->runtime->contract, "SyncTableEntries", &variable) ||
        sn_memory_read_now(work->runtime->memory, variable, &table, 8) != 8 || !table) {
        remark(work, sn_memory_is_late(work->runtime->memory)
                         ? "monitors are not shown: there was no time for them"
                         : "monitors are not shown: this runtime does not tell of its sync blocks");
        return true;
    }
    for (unsigned i = 0; i < TRIES && (!i || (work->count && !counts.owned)); i++) {
        work->count = 0;
        counts = (struct sync_counts){0};
        if (!walk_table(work, table, table_end(work), &counts))
            return false;
    }
    if (!counts.owned)
        work->count = 0; /* what says that they are held or awaited may be anything */
    if (counts.held && !counts.owned) {
        remark(work, "monitors are not shown: none has an owner that proves how they are read");
    } else if (!counts.proved && counts.refused) {
        remark(work,
               "monitors are not shown: this runtime's sync blocks are not as they are known");
    }
    return true;
}

/* --- thin locks --- */

/* Those in the headers of objects, as far as they name a thread that is there. */
static bool read_thin_locks(struct sn_lock_work *work)
{
    const struct sn_found_object *objects;
    size_t count = sn_object_index_list(work->index, SN_OBJECT_HELD, &objects);
    for (size_t i = 0; i < count && !is_enough(work); i++) {
        uint32_t header;
        if (sn_memory_read_now(work->runtime->memory, objects[i].address - 4, &header, 4) != 4 ||
            header != objects[i].header)
            continue; /* let go meanwhile */
        struct sn_lock lock = {.object = objects[i].address,
                               .type = objects[i].type,
                               .kind = SN_LOCK_THIN,
                               .depth = ((header >> HEADER_DEPTH_SHIFT) & HEADER_DEPTH) + 1,
                               .owner = thread_of(&work->managed_ids, header & HEADER_THREAD)};
        if (!lock.owner)
            continue;
        lock.owner_id = work->threads[lock.owner - 1].thread->os_id;
        if (!sn_lock_add(work, &lock, lock.object))
            return false;
    }
    return true;
}

/* --- again --- */

bool sn_lock_is_same(struct sn_lock_work *work, const struct sn_lock_found *found)
{
    struct monitor monitor;
    struct sn_lock lock;
    if (found->lock.kind == SN_LOCK_CONSTRUCTOR)
        return sn_lock_constructor_is_same(work, found);
    if (found->lock.kind == SN_LOCK_OBJECT)
        return sn_lock_object_read(work, found->address, found->lock.type, &lock) &&
               lock.owner_id == found->lock.owner_id && lock.told;
    return work->layout && read_monitor(work, found->address, &monitor) &&
           (monitor.state & MONITOR_HELD) && monitor.state >> MONITOR_WAITERS &&
           found->lock.owner && owner_of(work, &monitor) == found->lock.owner;
}

/* --- the list --- */

static int by_order(const void *a, const void *b)
{
    const struct sn_lock_found *left = a;
    const struct sn_lock_found *right = b;
    if (left->order != right->order)
        return left->order < right->order ? -1 : 1;
    return (left->lock.object > right->lock.object) - (left->lock.object < right->lock.object);
}

/* Deadlocks first, one after the other; then what is waited for; then what is only held. */
static uint32_t order_of(const struct sn_lock *lock)
{
    if (lock->deadlock)
        return lock->deadlock;
    if (lock->waiter_count || lock->told)
        return UINT32_MAX / 2 - (lock->told < 65536 ? lock->told : 65536);
    return UINT32_MAX / 2 + 1u + lock->kind;
}

/* From the work to the list, in order; the indexes of locks change with it. */
static bool write_list(struct sn_lock_work *work)
{
    struct sn_lock_list *list = work->list;
    if (!work->count)
        return true;
    uint32_t *moved = calloc(work->count, sizeof(*moved));
    list->locks = calloc(work->count, sizeof(*list->locks));
    if (!moved || !list->locks) {
        free(moved);
        return false;
    }
    for (size_t i = 0; i < work->count; i++) {
        work->found[i].order = order_of(&work->found[i].lock);
        work->found[i].address = i; /* where it was: no longer needed as what it is */
    }
    qsort(work->found, work->count, sizeof(*work->found), by_order);
    for (size_t i = 0; i < work->count; i++) {
        list->locks[i] = work->found[i].lock;
        moved[work->found[i].address] = (uint32_t)i;
    }
    list->count = work->count;
    for (size_t i = 0; i < work->thread_count; i++) {
        if (list->waits_for[i])
            list->waits_for[i] = moved[list->waits_for[i] - 1] + 1;
    }
    free(moved);
    return true;
}

static void work_done_auto(struct sn_lock_work *work)
{
    free(work->found);
    sn_table_done(&work->os_ids);
    sn_table_done(&work->managed_ids);
    sn_object_fields_done(&work->fields);
}

int sn_locks_read(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                  const struct sn_object_index *index, const struct sn_lock_thread *threads,
                  size_t thread_count, struct sn_lock_list *ret_list)
{
    struct sn_lock_layout layout;
    *ret_list = (struct sn_lock_list){0};
    size_t room = thread_count + 1;
    SN_AUTO(work_done)
    struct sn_lock_work work = {.runtime = runtime,
                                .types = types,
                                .index = index,
                                .threads = threads,
                                .thread_count = thread_count,
                                .os_ids = sn_table_with_limit(room),
                                .managed_ids = sn_table_with_limit(room),
                                .fields = sn_object_fields_of(types),
                                .list = ret_list};
    ret_list->waits_for = calloc(room, sizeof(*ret_list->waits_for));
    if (ret_list->waits_for && list_threads(&work) && read_monitors(&work, &layout) &&
        sn_lock_objects_find(&work) && sn_lock_constructors_find(&work) &&
        (!index || read_thin_locks(&work)) && sn_lock_join(&work) && write_list(&work))
        return SONDE_OK;
    sn_locks_done(ret_list);
    return SONDE_E_NOMEM;
}

void sn_locks_done(struct sn_lock_list *list)
{
    free(list->locks);
    free(list->waiters);
    free(list->waits_for);
    *list = (struct sn_lock_list){0};
}
