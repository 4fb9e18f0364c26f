/* Proofs of known layouts: what tells who waits for a static constructor. At most moments nobody
 * does, so the proof is by what lies around it; each wait proves itself once more where it is read
 * (constructor_waits.c). */
#include <stddef.h>

#include "source/memory/known_layouts_internal.h"
#include "source/memory/runtime_memory.h"

#define LIST_COUNT      4u
#define LIST_SHAPE      0x800000FFu /* bits of the flags of a list's lock */
#define LIST_INITED     0x80000000u
#define FIRST_COUNT     2u /* lists whose locks may be taken in any order: one more bit */
#define FIRST_FLAGS     3u
#define SECOND_FLAGS    1u
#define LOCK_ENTRY_SIZE 32u

struct constructor_layout {
    uint32_t blocking;
    uint32_t lock_entry; /* SN_CONTRACT_NONE from 9 on */
    uint32_t id;
    uint32_t locals;
    uint32_t lists;
    uint32_t constructors;
    uint32_t list_size;
    uint32_t list_flags;
    uint32_t list_is_initialized;
};

#define WANT(type, field, member, is_optional)                                \
    {                                                                         \
        type, field, offsetof(struct constructor_layout, member), is_optional \
    }

static const struct sn_contract_want wants[] = {
    WANT("Thread", "BlockingLock", blocking, false),
    WANT("Thread", "LockEntry", lock_entry, true),
    WANT("Thread", "Id", id, false),
    WANT("Thread", "RuntimeThreadLocals", locals, true),
    WANT("AppDomain", "ListLocks", lists, false),
    WANT("AppDomain", "ClassInitLock", constructors, false),
    WANT("ListLock", "!", list_size, false),
    WANT("ListLock", "Flags", list_flags, false),
    WANT("ListLock", "IsInitialized", list_is_initialized, false),
};

/* 8 tells nothing, but there the words before it are a list with one entry: the pointer to the
 * entry, and the entry, which begins with two to itself. */
static bool is_behind_list(struct sn_layout_trial *trial, const struct constructor_layout *layout,
                           uint64_t thread)
{
    uint64_t entry = thread + layout->lock_entry;
    uint64_t words[3];
    return layout->lock_entry >= 8 && layout->lock_entry + LOCK_ENTRY_SIZE == layout->blocking &&
           sn_memory_read(trial->memory, entry - 8, words, sizeof(words)) && words[0] == entry &&
           words[1] == entry && words[2] == entry;
}

/* 9 and 10 tell what lies right before it and right behind it. */
static bool is_between(const struct constructor_layout *layout)
{
    return layout->id + 8 == layout->blocking && layout->locals == layout->blocking + 8;
}

static bool check_thread(struct sn_layout_trial *trial, const struct constructor_layout *layout,
                         uint64_t thread)
{
    uint64_t blocking;
    uint64_t word;
    bool is_placed = layout->lock_entry == SN_CONTRACT_NONE ? is_between(layout)
                                                            : is_behind_list(trial, layout, thread);
    if (!is_placed || !sn_memory_u64(trial->memory, thread + layout->blocking, &blocking))
        return false;
    return !blocking || (!(blocking & 7) && sn_memory_u64(trial->memory, blocking, &word));
}

/* Four in a row, each with a lock of its own. */
static bool check_lists(struct sn_layout_trial *trial, const struct constructor_layout *layout,
                        uint64_t domain)
{
    for (uint32_t i = 0; i < LIST_COUNT; i++) {
        uint64_t list = domain + layout->lists + (uint64_t)i * layout->list_size;
        uint32_t flags;
        uint8_t is_initialized;
        uint32_t shape = LIST_INITED | (i < FIRST_COUNT ? FIRST_FLAGS : SECOND_FLAGS);
        if (!sn_memory_u32(trial->memory, list + layout->list_flags, &flags) ||
            (flags & LIST_SHAPE) != shape ||
            !sn_memory_u8(trial->memory, list + layout->list_is_initialized, &is_initialized) ||
            is_initialized != 1)
            return false;
    }
    return layout->constructors == layout->lists ||
           layout->constructors == layout->lists + layout->list_size;
}

bool sn_prove_constructors(struct sn_layout_trial *trial)
{
    struct constructor_layout layout;
    uint64_t finalizer;
    uint64_t domain;
    if (!sn_trial_bind(trial, wants, sizeof(wants) / sizeof(*wants), &layout))
        return false;
    if (!sn_trial_pointer(trial, "FinalizerThread", &finalizer) ||
        !sn_trial_pointer(trial, "AppDomain", &domain))
        return sn_trial_fail(trial, "the program's domain is not there, or not yet");
    if (!check_thread(trial, &layout, finalizer))
        return sn_trial_fail(trial, "a thread does not have what it waits for where it is known");
    return check_lists(trial, &layout, domain) ||
           sn_trial_fail(trial, "the lists of running constructors are not as they are known");
}
