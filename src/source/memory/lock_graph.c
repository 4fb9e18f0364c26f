/* Joins threads to the locks they wait for, and finds the circles. What a thread waits for is
 * written nowhere; but the code in which it waits has a pointer to it on the thread's stack, near
 * its top, and the lock says that it is waited for and by whom it is held. Who waits for a static
 * constructor is known before (constructor_waits.c). */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/table.h"
#include "source/memory/locks_internal.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/thread_state.h"

#define HITS_UNKNOWN 2u /* pointers that it takes where the frames are not known */

static const struct {
    const char *type;
    const char *method; /* begins with */
    uint8_t wait;
} frames[] = {
    {"System.Threading.Monitor", "Wait", SN_LOCK_WAIT_PULSE},
    {"System.Threading.Monitor", "ObjWait", SN_LOCK_WAIT_PULSE},
    {"System.Threading.Monitor", "", SN_LOCK_WAIT_MONITOR},
    {"System.Threading.Lock", "", SN_LOCK_WAIT_LOCK},
    {"System.Threading.WaitHandle", "", SN_LOCK_WAIT_OTHER},
    {"System.Threading.Thread", "Sleep", SN_LOCK_WAIT_OTHER},
    {"System.Threading.Thread", "Join", SN_LOCK_WAIT_OTHER},
    {"System.Threading.Thread", "StartCore", SN_LOCK_WAIT_OTHER},
    {"System.Threading.Thread", "StartInternal", SN_LOCK_WAIT_OTHER},
    {"System.Threading.LowLevelLifoSemaphore", "", SN_LOCK_WAIT_OTHER},
    {"System.Threading.LowLevelMonitor", "", SN_LOCK_WAIT_OTHER},
    {"System.GC", "", SN_LOCK_WAIT_OTHER},
};

enum sn_lock_wait sn_lock_wait_of_frame(const char *type_name, const char *method_name)
{
    for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
        if (strcmp(type_name, frames[i].type) == 0 &&
            strncmp(method_name, frames[i].method, strlen(frames[i].method)) == 0)
            return (enum sn_lock_wait)frames[i].wait;
    }
    return SN_LOCK_WAIT_NONE;
}

/* --- who waits for what --- */

static bool may_wait(const struct sn_lock_thread *thread, const struct sn_lock *lock)
{
    if (lock->kind == SN_LOCK_MONITOR)
        return thread->wait == SN_LOCK_WAIT_MONITOR || thread->wait == SN_LOCK_WAIT_UNKNOWN;
    return lock->kind == SN_LOCK_OBJECT &&
           (thread->wait == SN_LOCK_WAIT_LOCK || thread->wait == SN_LOCK_WAIT_UNKNOWN);
}

static bool is_at_rest(const struct sn_thread_state *state)
{
    return state && state->stack &&
           (state->how == SN_THREAD_WAITING || state->how == SN_THREAD_STOPPED);
}

/* Both kinds of locks are waited for in the end by a futex. Of some that are stopped, and of the
 * dead, the system call is not told. */
static bool may_sleep_for_lock(const struct sn_thread_state *state)
{
    return state->syscall == SYS_futex || (state->how == SN_THREAD_STOPPED && state->syscall < 0);
}

bool sn_lock_may_sleep(const struct sn_lock_thread *thread)
{
    const struct sn_thread_state *state = thread->state;
    return state && (state->how == SN_THREAD_WAITING || state->how == SN_THREAD_STOPPED) &&
           may_sleep_for_lock(state);
}

/* How much of its stack may hold a pointer to what it waits for. What lies above its innermost
 * managed frame may be of an earlier wait; a Lock, though, is waited for by managed code. */
static size_t part_looked_at(const struct sn_lock_thread *thread)
{
    const struct sn_thread_state *state = thread->state;
    size_t size = state->stack_size < SN_LOCK_STACK_SIZE ? state->stack_size : SN_LOCK_STACK_SIZE;
    uint64_t sp = state->registers.sp;
    if (thread->wait == SN_LOCK_WAIT_LOCK ||
        (!thread->native_end && thread->wait != SN_LOCK_WAIT_UNKNOWN))
        return size;
    uint64_t native = thread->native_end > sp ? thread->native_end - sp : 0;
    return native < size ? (size_t)native : size;
}

/* The lock that the top of its stack points to: the nearest, pointed to often enough. Index plus
 * one, or 0. */
static uint32_t find_awaited(const struct sn_lock_work *work, const struct sn_table *waited,
                             size_t index)
{
    const struct sn_lock_thread *thread = &work->threads[index];
    size_t size = part_looked_at(thread);
    uint32_t found = 0;
    uint32_t hits = 0;
    uint32_t enough = thread->wait == SN_LOCK_WAIT_UNKNOWN ? HITS_UNKNOWN : 1;
    if (thread->wait == SN_LOCK_WAIT_UNKNOWN && !may_sleep_for_lock(thread->state))
        return 0;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, thread->state->stack + i, sizeof(word));
        const uint64_t *place = word ? sn_table_find(waited, word) : NULL;
        if (!place)
            continue;
        uint32_t lock = (uint32_t)*place;
        if (!may_wait(thread, &work->found[lock - 1].lock) ||
            work->found[lock - 1].lock.owner == index + 1 || (found && found != lock))
            continue;
        found = lock;
        hits++;
    }
    return hits >= enough ? found : 0;
}

/* A lock counts those that wait for it: where its count is less than those found, whoever was found
 * by its stack alone is not believed. False: no memory. */
static bool drop_doubtful(struct sn_lock_work *work)
{
    uint32_t *waits_for = work->list->waits_for;
    uint32_t *found = calloc(work->count ? work->count : 1, sizeof(*found));
    if (!found)
        return false;
    for (size_t i = 0; i < work->thread_count; i++) {
        if (waits_for[i])
            found[waits_for[i] - 1]++;
    }
    for (size_t i = 0; i < work->thread_count; i++) {
        if (waits_for[i] && work->threads[i].wait == SN_LOCK_WAIT_UNKNOWN &&
            found[waits_for[i] - 1] > work->found[waits_for[i] - 1].lock.told)
            waits_for[i] = 0;
    }
    free(found);
    return true;
}

/* False: no memory. */
static bool find_waits(struct sn_lock_work *work)
{
    struct sn_table waited = sn_table_with_limit(SN_LOCKS_MAX);
    bool is_whole = true;
    for (size_t i = 0; i < work->count && is_whole; i++) {
        if (!work->found[i].lock.told || work->found[i].lock.kind == SN_LOCK_CONSTRUCTOR)
            continue;
        uint64_t *place = sn_table_put(&waited, work->found[i].address);
        is_whole = place != NULL;
        if (place)
            *place = i + 1;
    }
    for (size_t i = 0; i < work->thread_count && is_whole && waited.count; i++) {
        if (!work->list->waits_for[i] && is_at_rest(work->threads[i].state))
            work->list->waits_for[i] = find_awaited(work, &waited, i);
    }
    sn_table_done(&waited);
    return is_whole;
}

/* --- waiters of each --- */

static bool list_waiters(struct sn_lock_work *work)
{
    struct sn_lock_list *list = work->list;
    uint32_t first = 0;
    for (size_t i = 0; i < work->thread_count; i++) {
        if (list->waits_for[i])
            work->found[list->waits_for[i] - 1].lock.waiter_count++;
    }
    for (size_t i = 0; i < work->count; i++) {
        struct sn_lock *lock = &work->found[i].lock;
        lock->first = first;
        first += lock->waiter_count;
        lock->waiter_count = 0; /* counted again while they are written */
    }
    list->waiters = calloc(first ? first : 1, sizeof(*list->waiters));
    if (!list->waiters)
        return false;
    list->waiter_count = first;
    for (size_t i = 0; i < work->thread_count; i++) {
        if (!list->waits_for[i])
            continue;
        struct sn_lock *lock = &work->found[list->waits_for[i] - 1].lock;
        list->waiters[lock->first + lock->waiter_count++] = (uint32_t)i;
    }
    return true;
}

/* --- circles --- */

/* The thread that holds what `thread` waits for; plus one, or 0. */
static uint32_t next_of(const struct sn_lock_work *work, uint32_t thread)
{
    uint32_t lock = work->list->waits_for[thread];
    return lock ? work->found[lock - 1].lock.owner : 0;
}

/* It has not run since it was looked at, or is stopped. Threads are looked at one after the other:
 * without this, a circle could be made of waits that were never at the same time. */
bool sn_lock_has_rested(struct sn_lock_work *work, const struct sn_lock_thread *thread)
{
    struct sn_thread_state now = {0};
    uint32_t pid = sn_memory_pid(work->runtime->memory);
    if (thread->state->how == SN_THREAD_STOPPED || !pid || !thread->tid)
        return true;
    sn_thread_state_read(work->runtime->memory, pid, thread->tid, false, &now);
    bool has_not_run = (now.how == SN_THREAD_WAITING || now.how == SN_THREAD_STOPPED) &&
                       now.switches == thread->state->switches;
    sn_thread_state_done(&now);
    return has_not_run;
}

/* Whether everything of the circle through `start` still holds. */
static bool is_for_ever(const struct sn_lock_thread *thread)
{
    return !thread->state || !thread->state->has_timeout;
}

/* TryEnter with a time is how programs avoid deadlocks: such a circle opens by itself. */
static bool is_lasting(struct sn_lock_work *work, uint32_t start)
{
    uint32_t thread = start;
    do {
        uint32_t lock = work->list->waits_for[thread];
        if (!is_for_ever(&work->threads[thread]) ||
            !sn_lock_has_rested(work, &work->threads[thread]) ||
            !sn_lock_is_same(work, &work->found[lock - 1]))
            return false;
        thread = next_of(work, thread) - 1;
    } while (thread != start);
    return true;
}

static void mark_circle(struct sn_lock_work *work, uint32_t start)
{
    uint32_t thread = start;
    uint32_t number = ++work->list->deadlocks;
    do {
        work->found[work->list->waits_for[thread] - 1].lock.deadlock = number;
        thread = next_of(work, thread) - 1;
    } while (thread != start);
}

/* Each thread waits for one lock at most and each lock has one owner: following them from each
 * thread, a circle is met when the way comes back to a thread of the same way. */
static bool find_circles(struct sn_lock_work *work)
{
    uint32_t *way = calloc(work->thread_count ? work->thread_count : 1, sizeof(*way));
    if (!way)
        return false;
    for (size_t i = 0; i < work->thread_count; i++) {
        uint32_t thread = (uint32_t)i;
        while (!way[thread]) {
            way[thread] = (uint32_t)i + 1;
            uint32_t next = next_of(work, thread);
            if (!next)
                break;
            thread = next - 1;
            if (way[thread] == i + 1 && is_lasting(work, thread))
                mark_circle(work, thread);
        }
    }
    free(way);
    return true;
}

bool sn_lock_join(struct sn_lock_work *work)
{
    return find_waits(work) && drop_doubtful(work) && list_waiters(work) && find_circles(work);
}
