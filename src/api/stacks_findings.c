/* Threads' names and exceptions, locks, tasks and the thread pool: from the runtime's memory to
 * what stacks tell. */
#include "api/stacks_findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/inspection.h"
#include "api/memory_frames.h"
#include "api/stacks_internal.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "source/memory/contract.h"
#include "source/memory/locks.h"
#include "source/memory/object_index.h"
#include "source/memory/pending_tasks.h"
#include "source/memory/source_lines.h"
#include "source/memory/thread_pool.h"
#include "source/memory/type_system.h"

#define STATE_BACKGROUND  0x200u /* bits of the runtime's Thread.State, the same from 8 to 10 */
#define STATE_POOL_WORKER 0x1000000u
#define TEXT_SIZE         1024u
#define LOCK_FRAMES       8u /* managed frames in which the wait for a lock must show */
#define FIRST_WITH_FRAMES \
    10u                 /* version in which a thread that enters a monitor has a managed frame */
#define PARENTS_MAX 64u /* of a type */
#define HEAP_SHARE  2u  /* half of the time that is left, for walking the heap */

/* --- threads --- */

static bool read_object(struct sn_inspection *inspection, uint64_t address, uint64_t *ret_object)
{
    return address && sn_memory_u64(inspection->runtime->memory, address, ret_object) &&
           *ret_object;
}

/* A field that refers to a string, of an object; "" when it is not set or cannot be read. */
static const char *text_field(struct sonde_stacks *stacks, struct sn_inspection *inspection,
                              uint64_t object, const char *name)
{
    char text[TEXT_SIZE];
    uint64_t string;
    struct sn_memory_field field;
    uint64_t type = sn_type_system_object_table(inspection->types, object);
    if (!type || !sn_type_system_field(inspection->types, type, name, &field) || field.is_static ||
        !read_object(inspection, object + sizeof(uint64_t) + field.offset, &string) ||
        !sn_type_system_read_string(inspection->types, string, text, sizeof(text)))
        return "";
    return sn_stacks_keep(stacks, text);
}

const char *sn_found_thread_name(struct sonde_stacks *stacks, struct sn_inspection *inspection,
                                 const struct sn_found_thread *thread)
{
    uint64_t object;
    if (!thread->managed || !read_object(inspection, thread->managed->exposed, &object) ||
        strcmp(sn_type_system_object_type(inspection->types, object), "System.Threading.Thread") !=
            0)
        return "";
    return text_field(stacks, inspection, object, "_name");
}

/* Objects move, and what was read before may be anything by now. */
static bool is_exception(struct sn_inspection *inspection, uint64_t object)
{
    uint64_t variable;
    uint64_t wanted;
    uint64_t table = sn_type_system_object_table(inspection->types, object);
    if (!sn_contract_address(inspection->runtime->contract, "ExceptionMethodTable", &variable) ||
        !sn_memory_u64(inspection->runtime->memory, variable, &wanted))
        return false;
    for (unsigned i = 0; table && i < PARENTS_MAX; i++) {
        const struct sn_memory_type *type = sn_type_system_type(inspection->types, table);
        if (table == wanted)
            return true;
        table = type ? type->parent : 0;
    }
    return false;
}

static void tell_exception(struct sonde_stacks *stacks, struct sn_inspection *inspection,
                           uint64_t object, struct sonde_stack_thread *told)
{
    if (!object || !is_exception(inspection, object))
        return;
    told->exception = sn_stacks_keep(stacks, sn_type_system_object_type(inspection->types, object));
    told->message = text_field(stacks, inspection, object, "_message");
}

void sn_found_thread_tell(struct sonde_stacks *stacks, struct sn_inspection *inspection,
                          const struct sn_managed_thread *managed, struct sonde_stack_thread *told)
{
    told->managed_id = managed->managed_id;
    told->is_background = managed->state & STATE_BACKGROUND;
    told->is_pool = managed->state & STATE_POOL_WORKER;
    tell_exception(stacks, inspection, managed->exception, told);
}

/* --- locks --- */

/* What its innermost managed frames say of its waiting. Before .NET 10 entering a monitor is native
 * code that leaves no frame: its absence says nothing there, unless what was called is known to be
 * something else. */
uint8_t sn_found_thread_wait(const struct sonde_stacks *stacks, uint32_t major,
                             const struct sn_found_thread *thread)
{
    unsigned seen = 0;
    uint8_t otherwise = major >= FIRST_WITH_FRAMES || thread->is_calling_out || !thread->managed_sp
                            ? SN_LOCK_WAIT_NONE
                            : SN_LOCK_WAIT_UNKNOWN;
    for (size_t i = 0; i < thread->frame_count && seen < LOCK_FRAMES; i++) {
        const struct sonde_stack_frame *frame = &stacks->frames[thread->first_frame + i];
        if (frame->kind != SONDE_FRAME_MANAGED)
            continue;
        enum sn_lock_wait wait = sn_lock_wait_of_frame(frame->type_name, frame->method_name);
        if (wait == SN_LOCK_WAIT_OTHER && !seen)
            otherwise = SN_LOCK_WAIT_OTHER;
        else if (wait == SN_LOCK_WAIT_LOCK ||
                 (wait != SN_LOCK_WAIT_OTHER && wait != SN_LOCK_WAIT_NONE &&
                  otherwise != SN_LOCK_WAIT_OTHER))
            return (uint8_t)wait;
        seen++;
    }
    return otherwise;
}

static const char *kind_of(const struct sn_lock *lock)
{
    switch (lock->kind) {
    case SN_LOCK_OBJECT: return "Lock";
    case SN_LOCK_CONSTRUCTOR: return "static constructor";
    default: return "monitor";
    }
}

/* Numbers of the caller's threads become numbers of those that are told. */
static void tell_lock(const struct sn_findings *findings, const struct sn_lock_list *list,
                      const struct sn_lock *lock, const uint32_t *told, struct sonde_stack_lock *to)
{
    struct sonde_stacks *stacks = findings->stacks;
    const struct sn_memory_type *type =
        lock->type ? sn_type_system_type(findings->inspection->types, lock->type) : NULL;
    uint32_t *waiters = stacks->waiters + lock->first;
    *to = (struct sonde_stack_lock){.object = lock->object,
                                    .type_name = type ? sn_stacks_keep(stacks, type->name) : "",
                                    .kind = kind_of(lock),
                                    .owner = lock->owner ? told[lock->owner - 1] : 0,
                                    .owner_id = lock->owner_id,
                                    .depth = lock->depth,
                                    .waiters = waiters,
                                    .deadlock = lock->deadlock};
    for (uint32_t i = 0; i < lock->waiter_count; i++) {
        uint32_t number = told[list->waiters[lock->first + i]];
        if (number)
            waiters[to->waiter_count++] = number - 1;
    }
}

static int tell_locks(const struct sn_findings *findings, const struct sn_lock_list *list,
                      const uint32_t *told, struct sonde_error *err)
{
    struct sonde_stacks *stacks = findings->stacks;
    stacks->locks = calloc(list->count + 1, sizeof(*stacks->locks));
    stacks->waiters = calloc(list->waiter_count + 1, sizeof(*stacks->waiters));
    if (!stacks->locks || !stacks->waiters)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for locks");
    for (size_t i = 0; i < list->count; i++)
        tell_lock(findings, list, &list->locks[i], told, &stacks->locks[stacks->lock_count++]);
    for (size_t i = 0; i < stacks->lock_count; i++) {
        const struct sonde_stack_lock *lock = &stacks->locks[i];
        for (uint32_t k = 0; k < lock->waiter_count; k++)
            stacks->threads[lock->waiters[k]].waits_for = (uint32_t)i + 1;
    }
    if (list->remark[0])
        sn_stacks_add_remark(stacks, "locks: %s", list->remark);
    return SONDE_OK;
}

static void locks_done_auto(struct sn_lock_list *list)
{
    sn_locks_done(list);
}

static int add_locks(const struct sn_findings *findings, const struct sn_object_index *index,
                     struct sonde_error *err)
{
    size_t count = 0;
    SN_AUTO(locks_done) struct sn_lock_list list = {0};
    SN_AUTO(sn_free)
    struct sn_lock_thread *threads = calloc(findings->thread_count + 1, sizeof(*threads));
    SN_AUTO(sn_free) uint32_t *told = calloc(findings->thread_count + 1, sizeof(*told));
    if (!threads || !told)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for locks");
    for (size_t i = 0; i < findings->thread_count; i++) {
        const struct sn_found_thread *thread = &findings->threads[i];
        if (!thread->managed)
            continue;
        told[count] = thread->told;
        threads[count++] = (struct sn_lock_thread){
            .thread = thread->managed,
            .state = &thread->state,
            .tid = thread->tid,
            .wait = sn_found_thread_wait(findings->stacks, findings->inspection->runtime->major,
                                         thread),
            .native_end = thread->managed_sp};
    }
    int rc = sn_locks_read(findings->inspection->runtime, findings->inspection->types, index,
                           threads, count, &list);
    if (rc == SONDE_E_NOMEM)
        return sn_fail(err, rc, 0, "no memory for locks");
    return tell_locks(findings, &list, told, err);
}

/* --- tasks --- */

/* Where in the source the await is that it stands at. */
static void tell_await(const struct sn_findings *findings, const struct sn_task_frame *from,
                       struct sonde_stack_frame *frame)
{
    const char *file;
    uint32_t line;
    if (findings->inspection->lines && from->state >= 0 &&
        sn_source_lines_find_await(findings->inspection->lines, from->module, from->token,
                                   (uint32_t)from->state, &file, &line)) {
        frame->file = sn_stacks_keep(findings->stacks, file);
        frame->line = line;
    }
}

static void tell_task(const struct sn_findings *findings, const struct sn_task_list *list,
                      const struct sn_task_chain *chain, struct sonde_stack_task *to)
{
    struct sonde_stacks *stacks = findings->stacks;
    struct sonde_stack_frame *frames = stacks->task_frames + chain->first;
    const struct sn_task_frame *innermost = &list->frames[chain->first];
    *to = (struct sonde_stack_task){.frames = frames,
                                    .frame_count = chain->frame_count,
                                    .count = chain->count,
                                    .object = innermost->box,
                                    .waits_on = sn_stacks_keep(stacks, chain->waits_on),
                                    .state = innermost->state,
                                    .is_circle = chain->is_circle,
                                    .is_ready = chain->is_ready};
    for (uint32_t i = 0; i < chain->frame_count; i++) {
        const struct sn_task_frame *from = &list->frames[chain->first + i];
        sn_memory_frames_name(findings->frames, from->type_name, "MoveNext", from->module,
                              &frames[i]);
        frames[i].token = from->token;
        tell_await(findings, from, &frames[i]);
    }
}

/* Threads that wait for a task have what wakes them on their stacks. */
static void find_blocked(const struct sn_findings *findings, const struct sn_table *by_event,
                         const struct sn_found_thread *thread)
{
    const struct sn_thread_state *state = &thread->state;
    if (!thread->told || !state->stack ||
        (state->how != SN_THREAD_WAITING && state->how != SN_THREAD_STOPPED))
        return;
    for (size_t i = 0; i + sizeof(uint64_t) <= state->stack_size; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, state->stack + i, sizeof(word));
        const uint64_t *place = word ? sn_table_find(by_event, word) : NULL;
        if (!place)
            continue;
        if (!findings->stacks->tasks[*place].blocks)
            findings->stacks->tasks[*place].blocks = thread->told;
        return; /* it waits for one */
    }
}

static void tell_blocked(const struct sn_findings *findings, const struct sn_table *by_event)
{
    for (size_t i = 0; by_event->count && i < findings->thread_count; i++)
        find_blocked(findings, by_event, &findings->threads[i]);
}

static void tell_tasks(const struct sn_findings *findings, const struct sn_task_list *list)
{
    struct sonde_stacks *stacks = findings->stacks;
    struct sn_table by_event = sn_table_with_limit(SN_TASK_CHAINS_MAX); /* to the chain's index */
    for (size_t i = 0; i < list->count; i++) {
        const struct sn_task_chain *chain = &list->chains[i];
        if (!chain->frame_count)
            continue;
        uint64_t *place = chain->blocks ? sn_table_put(&by_event, chain->blocks) : NULL;
        if (place)
            *place = stacks->task_count;
        tell_task(findings, list, chain, &stacks->tasks[stacks->task_count++]);
    }
    tell_blocked(findings, &by_event);
    sn_table_done(&by_event);
}

static void tasks_done_auto(struct sn_task_list *list)
{
    sn_tasks_done(list);
}

static int add_tasks(const struct sn_findings *findings, const struct sn_object_index *index,
                     struct sonde_error *err)
{
    struct sonde_stacks *stacks = findings->stacks;
    struct sonde_error why = {0};
    SN_AUTO(tasks_done) struct sn_task_list list = {0};
    int rc = sn_tasks_read(findings->inspection->runtime, findings->inspection->types, index, &list,
                           &why);
    if (rc != SONDE_OK) {
        sn_stacks_add_remark(stacks, "async methods: %s", why.text);
        return rc == SONDE_E_NOMEM ? sn_fail_as(err, &why) : SONDE_OK;
    }
    stacks->tasks = calloc(list.count + 1, sizeof(*stacks->tasks));
    stacks->task_frames = calloc(list.frame_count + 1, sizeof(*stacks->task_frames));
    if (!stacks->tasks || !stacks->task_frames)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for tasks");
    tell_tasks(findings, &list);
    if (list.remark[0])
        sn_stacks_add_remark(stacks, "async methods: %s", list.remark);
    return SONDE_OK;
}

/* --- pool --- */

static void add_pool(const struct sn_findings *findings, const struct sn_object_index *index)
{
    struct sn_thread_pool pool = {0};
    struct sonde_stacks *stacks = findings->stacks;
    sn_thread_pool_read(findings->inspection->runtime, findings->inspection->types, index, &pool);
    stacks->pool = (struct sonde_stack_pool){
        .is_known = pool.is_known, .queued = pool.queued, .queued_local = pool.queued_local};
    for (size_t i = 0; i < stacks->thread_count; i++)
        stacks->pool.workers += stacks->threads[i].is_pool;
    if (pool.has_workers) {
        stacks->pool.workers = pool.workers;
        stacks->pool.has_limits = true;
        stacks->pool.working = pool.working;
        stacks->pool.goal = pool.goal;
        stacks->pool.least = pool.min_workers;
        stacks->pool.most = pool.max_workers;
    }
    if (pool.remark[0])
        sn_stacks_add_remark(stacks, "thread pool: %s", pool.remark);
}

/* --- all --- */

/* The heap is walked only when tasks are asked for: it may be large. NULL: it cannot be, and a
 * remark says why. */
static struct sn_object_index *read_heap(const struct sn_findings *findings)
{
    struct sn_object_index *index = NULL;
    struct sonde_error why = {0};
    uint64_t now_ns = sn_clock_monotonic_ns();
    uint64_t left_ns = findings->deadline_ns > now_ns ? findings->deadline_ns - now_ns : 0;
    uint64_t deadline_ns = now_ns + left_ns / HEAP_SHARE;
    int rc = sn_object_index_read(findings->inspection->runtime, findings->inspection->types,
                                  deadline_ns, &index, &why);
    if (rc != SONDE_OK)
        sn_stacks_add_remark(findings->stacks, "the heap cannot be read: %s", why.text);
    else if (sn_object_index_remark(index)[0])
        sn_stacks_add_remark(findings->stacks, "%s", sn_object_index_remark(index));
    return index;
}

int sn_findings_add(const struct sn_findings *findings, const struct sonde_stacks_options *options,
                    struct sonde_error *err)
{
    SN_AUTO(sn_object_index_free)
    struct sn_object_index *index = options->with_tasks ? read_heap(findings) : NULL;
    int rc = SONDE_OK;
    if (options->with_locks)
        rc = add_locks(findings, index, err);
    if (rc == SONDE_OK && index)
        rc = add_tasks(findings, index, err);
    if (index)
        add_pool(findings, index);
    return rc;
}
