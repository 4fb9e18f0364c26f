/* Waits for static constructors. The runtime notes for each thread the entry of its list of running
 * constructors that the thread is about to enter, so that two constructors that need each other
 * are let through; the entry names the type and the thread that runs it. The runtime has other such
 * lists (of methods that are compiled, of types that are laid out for native code): an entry says
 * which one it is in. */
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/table.h"
#include "format/assembly.h"
#include "source/memory/contract.h"
#include "source/memory/locks_internal.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/thread_state.h"
#include "source/memory/type_system.h"

#define METHODS_MAX 65536u /* of a type */
#define NAME_MAX    1024u

static const struct sn_contract_want wants[] = {
    {"Thread", "BlockingLock", offsetof(struct sn_constructor_layout, blocking), false},
    {"DeadlockAwareLock", "HoldingThread", offsetof(struct sn_constructor_layout, holder), false},
    {"DeadlockAwareLock", "List", offsetof(struct sn_constructor_layout, list), false},
    {"DeadlockAwareLock", "Data", offsetof(struct sn_constructor_layout, data), false},
    {"AppDomain", "ClassInitLock", offsetof(struct sn_constructor_layout, constructors), false},
};

struct constructor_search {
    struct sn_lock_work *work;
    struct sn_table runners; /* runtime's Thread to its index plus one */
    struct sn_table entries; /* to the index of their lock plus one */
};

struct entry {
    uint64_t holder; /* Thread */
    uint64_t list;
    uint64_t type; /* MethodTable */
};

static bool word_now(struct sn_lock_work *work, uint64_t address, uint32_t offset,
                     uint64_t *ret_word)
{
    return sn_memory_read_now(work->runtime->memory, address + offset, ret_word,
                              sizeof(*ret_word)) == sizeof(*ret_word);
}

static bool read_entry(struct sn_lock_work *work, uint64_t address, struct entry *ret_entry)
{
    const struct sn_constructor_layout *layout = &work->constructors;
    return address >= 4096 && !(address & 7) &&
           word_now(work, address, layout->holder, &ret_entry->holder) &&
           word_now(work, address, layout->list, &ret_entry->list) &&
           word_now(work, address, layout->data, &ret_entry->type) && ret_entry->holder &&
           ret_entry->list == work->constructor_list;
}

static bool has_constructor(struct sn_lock_work *work, uint64_t table)
{
    uint32_t first;
    uint32_t count;
    const struct sn_memory_type *type = sn_type_system_type(work->types, table);
    const struct sn_assembly *metadata = type && type->module ? type->module->metadata : NULL;
    if (!metadata || !sn_assembly_methods(metadata, type->token, &first, &count))
        return false;
    for (uint32_t i = 0; i < count && i < METHODS_MAX; i++) {
        SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(NAME_MAX);
        uint32_t owner;
        if (sn_assembly_method(metadata, first + i, &name, &owner) && owner == type->token &&
            strcmp(sn_buf_string(&name), ".cctor") == 0)
            return true;
    }
    return false;
}

bool sn_lock_constructor_is_same(struct sn_lock_work *work, const struct sn_lock_found *found)
{
    struct entry entry;
    return found->lock.owner && read_entry(work, found->address, &entry) &&
           entry.type == found->lock.type &&
           entry.holder == work->threads[found->lock.owner - 1].thread->address;
}

static bool list_runners(struct constructor_search *search)
{
    for (size_t i = 0; i < search->work->thread_count; i++) {
        uint64_t *place = sn_table_put(&search->runners, search->work->threads[i].thread->address);
        if (!place)
            return false;
        *place = i + 1;
    }
    return true;
}

static bool find_list(struct sn_lock_work *work)
{
    uint64_t variable;
    uint64_t domain;
    const char *missing;
    if (!sn_contract_bind(work->runtime->contract, wants, sizeof(wants) / sizeof(*wants),
                          &work->constructors, &missing) ||
        !sn_contract_address(work->runtime->contract, "AppDomain", &variable) ||
        !word_now(work, variable, 0, &domain) || !domain)
        return false;
    work->constructor_list = domain + work->constructors.constructors;
    return true;
}

/* *ret_lock is the index of its lock plus one; 0: what is there is not a constructor, or nobody
 * runs it. False: no memory. */
static bool add_constructor(struct constructor_search *search, uint64_t address, size_t waiter,
                            uint32_t *ret_lock)
{
    struct entry entry;
    struct sn_lock_work *work = search->work;
    uint64_t *known = sn_table_find(&search->entries, address);
    *ret_lock = known ? (uint32_t)*known : 0;
    if (known || !read_entry(work, address, &entry))
        return true;
    const uint64_t *runner = sn_table_find(&search->runners, entry.holder);
    if (!runner || *runner == waiter + 1 || work->count >= SN_LOCKS_MAX ||
        !has_constructor(work, entry.type))
        return true;
    struct sn_lock lock = {.object = entry.type,
                           .type = entry.type,
                           .kind = SN_LOCK_CONSTRUCTOR,
                           .depth = 1,
                           .owner = (uint32_t)*runner,
                           .owner_id = work->threads[*runner - 1].thread->os_id};
    known = sn_table_put(&search->entries, address);
    if (!known || !sn_lock_add(work, &lock, address))
        return false;
    *known = work->count;
    *ret_lock = (uint32_t)work->count;
    return true;
}

/* The note must be of the same rest as the rest of what is known of the thread. False: no memory.
 */
static bool take_waiter(struct constructor_search *search, size_t index)
{
    uint64_t address;
    uint32_t lock;
    struct sn_lock_work *work = search->work;
    const struct sn_lock_thread *thread = &work->threads[index];
    if (!sn_lock_may_sleep(thread) ||
        !word_now(work, thread->thread->address, work->constructors.blocking, &address) || !address)
        return true;
    if (!add_constructor(search, address, index, &lock))
        return false;
    if (!lock || work->found[lock - 1].lock.owner == index + 1 || !sn_lock_has_rested(work, thread))
        return true;
    work->found[lock - 1].lock.told++;
    work->list->waits_for[index] = lock;
    return true;
}

bool sn_lock_constructors_find(struct sn_lock_work *work)
{
    struct constructor_search search = {.work = work,
                                        .runners = sn_table_with_limit(work->thread_count + 1),
                                        .entries = sn_table_with_limit(work->thread_count + 1)};
    if (!find_list(work))
        return true;
    bool is_whole = list_runners(&search);
    for (size_t i = 0; i < work->thread_count && is_whole; i++)
        is_whole = take_waiter(&search, i);
    sn_table_done(&search.runners);
    sn_table_done(&search.entries);
    return is_whole;
}
