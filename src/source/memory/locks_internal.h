/* What reading locks and joining them to threads share. Nobody else includes this. */
#ifndef SN_LOCKS_INTERNAL_H
#define SN_LOCKS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "source/memory/locks.h"
#include "source/memory/object_fields.h"

struct sn_lock_layout;

/* A lock while it is being looked at. */
struct sn_lock_found {
    struct sn_lock lock;
    uint64_t address; /* what the stack of a waiter points to: sync block, or the Lock itself */
    uint32_t order;   /* where it goes in the list */
};

struct sn_constructor_layout {
    uint32_t blocking; /* in a Thread */
    uint32_t holder, list, data;
    uint32_t constructors; /* in the domain */
};

struct sn_lock_work {
    struct sn_runtime_memory *runtime;
    struct sn_type_system *types;
    const struct sn_object_index *index; /* or NULL */
    const struct sn_lock_layout *layout; /* of sync blocks; NULL: not known */
    const struct sn_lock_thread *threads;
    size_t thread_count;
    struct sn_table os_ids;      /* of threads, to their index plus one */
    struct sn_table managed_ids; /* the same */
    struct sn_object_fields fields;
    struct sn_constructor_layout constructors;
    uint64_t constructor_list;   /* address; 0: not known */
    struct sn_lock_found *found; /* owns */
    size_t count;
    size_t capacity;
    struct sn_lock_list *list;
};

/* Index of the thread with that OS id, plus one; 0: none. */
uint32_t sn_lock_thread_of(const struct sn_lock_work *work, uint64_t os_id);

/* False: no memory. `address` is what the stack of a waiter points to. */
bool sn_lock_add(struct sn_lock_work *work, const struct sn_lock *lock, uint64_t address);

/* A Lock of this moment. False: it is not held, or none (any more). */
bool sn_lock_object_read(struct sn_lock_work *work, uint64_t object, uint64_t type,
                         struct sn_lock *ret_lock);

/* Adds the Lock objects that there are to be found. False: no memory. */
bool sn_lock_objects_find(struct sn_lock_work *work);

/* Adds static constructors that threads wait for, and who waits for them. False: no memory. */
bool sn_lock_constructors_find(struct sn_lock_work *work);
bool sn_lock_constructor_is_same(struct sn_lock_work *work, const struct sn_lock_found *found);

/* What the kernel says of a thread is what it says of one that waits for a lock. */
bool sn_lock_may_sleep(const struct sn_lock_thread *thread);

/* It has not run since it was looked at, or is stopped. */
bool sn_lock_has_rested(struct sn_lock_work *work, const struct sn_lock_thread *thread);

/* Reads a lock again: it is still held by whom it was held by. */
bool sn_lock_is_same(struct sn_lock_work *work, const struct sn_lock_found *found);

/* Fills in waits_for, waiters and deadlocks. False: no memory. */
bool sn_lock_join(struct sn_lock_work *work);

#endif
