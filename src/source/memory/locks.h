/* Who holds which lock and who waits for it: monitors by their sync blocks, System.Threading.Lock
 * by its fields; which of them a waiter waits for by what its stack points to; static constructors
 * by what the runtime notes of those who wait; and the circles in it, which are deadlocks. One
 * thread. */
#ifndef SN_LOCKS_H
#define SN_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_managed_thread;
struct sn_object_index;
struct sn_runtime_memory;
struct sn_thread_state;
struct sn_type_system;
struct sonde_error;

/* What the frames of a thread say of its waiting. */
enum sn_lock_wait {
    SN_LOCK_WAIT_UNKNOWN, /* its frames do not tell: before .NET 10 entering a monitor has none */
    SN_LOCK_WAIT_NONE,    /* it waits for no lock */
    SN_LOCK_WAIT_MONITOR, /* to enter a monitor */
    SN_LOCK_WAIT_LOCK,    /* to enter a System.Threading.Lock */
    SN_LOCK_WAIT_PULSE,   /* in Monitor.Wait: for a pulse, which is no edge of a deadlock */
    SN_LOCK_WAIT_OTHER,   /* for something else: it sleeps, or waits for an event or a thread */
};

/* Of one frame; SN_LOCK_WAIT_NONE: go on with the next outer one. A thread's is that of the
 * innermost managed frame which tells, not further than eight managed frames.
 * SN_LOCK_WAIT_OTHER counts of the innermost managed frame only, and gives way to
 * SN_LOCK_WAIT_LOCK: a Lock waits by an event of its own. */
enum sn_lock_wait sn_lock_wait_of_frame(const char *type_name, const char *method_name);

struct sn_lock_thread {
    const struct sn_managed_thread *thread;
    const struct sn_thread_state *state; /* with its stack; NULL: not known */
    uint32_t tid; /* as we see it: it is looked at again before a deadlock is told; 0: not known */
    uint8_t wait; /* enum sn_lock_wait */
    uint64_t native_end; /* sp of its innermost managed frame: what it called lies below it, and so
                            does the pointer to a monitor that it waits for. 0: not known; then
                            nothing is said of one whose frames do not tell */
};

enum sn_lock_kind {
    SN_LOCK_MONITOR,     /* with a sync block */
    SN_LOCK_THIN,        /* a monitor in the object's header: nobody waits for it */
    SN_LOCK_OBJECT,      /* System.Threading.Lock */
    SN_LOCK_CONSTRUCTOR, /* the static constructor of a type, which its owner runs */
};

struct sn_lock {
    uint64_t object;   /* of a static constructor its type, as below */
    uint64_t type;     /* MethodTable of the object, or 0 */
    uint8_t kind;      /* enum sn_lock_kind */
    uint32_t depth;    /* how often its owner has taken it */
    uint32_t told;     /* threads that wait for it, as the lock itself counts them */
    uint64_t owner_id; /* OS id as the target counts it; 0: nobody, or not known */
    uint32_t owner;    /* index of the thread in the caller's array, plus one; 0: not among them */
    uint32_t deadlock; /* number of the circle it is part of, from 1; 0: none */
    uint32_t first;    /* its waiters: `waiter_count` of the list's `waiters` from here on */
    uint32_t waiter_count;
};

struct sn_lock_list {
    struct sn_lock *locks; /* owns; those of deadlocks first, then those with waiters */
    size_t count;
    uint32_t *waiters; /* owns: indexes of threads in the caller's array */
    size_t waiter_count;
    uint32_t *waits_for; /* owns: of each thread, index of the lock it waits for, plus one; or 0 */
    uint32_t deadlocks;
    char remark[160]; /* what could not be told and why; "" */
};

#define SN_LOCK_STACK_SIZE                                                \
    (32u << 10) /* of a stack, from its innermost byte: what is looked at \
                 */
#define SN_LOCKS_MAX       65536u
#define SN_SYNC_BLOCKS_MAX (1u << 20) /* entries of the sync table that are looked at */

/* `index` may be NULL: then thin locks are not known, and of Lock objects only those that threads
 * wait for whose frames say so (SN_LOCK_WAIT_LOCK). What cannot be read is named in the remark;
 * SONDE_E_NOMEM is the only failure. */
int sn_locks_read(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                  const struct sn_object_index *index, const struct sn_lock_thread *threads,
                  size_t thread_count, struct sn_lock_list *ret_list);
void sn_locks_done(struct sn_lock_list *list);

#endif
