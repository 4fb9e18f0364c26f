/* Stacks from a process's memory, or from a core file: nothing in the process runs or waits. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/inspection.h"
#include "api/memory_frames.h"
#include "api/stacks_findings.h"
#include "api/stacks_internal.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/own_id.h"
#include "base/table.h"
#include "format/elf_core.h"
#include "format/syscall_names.h"
#include "source/memory/core_memory.h"
#include "source/memory/locks.h"
#include "source/memory/stack_walk.h"
#include "source/memory/thread_state.h"

#define THREADS_MAX        65536u
#define DEFAULT_TIMEOUT_NS (UINT64_C(10) * SN_NS_PER_SECOND)

struct taking {
    struct sonde_stacks *stacks;                /* borrows */
    const struct sonde_stacks_options *options; /* borrows */
    struct sn_inspection inspection;
    struct sn_memory_frames frames;
    struct sn_found_thread
        *threads; /* owns; the states' stacks too, as long as somebody needs them */
    size_t thread_count;
    size_t thread_capacity;
    struct sn_managed_thread *managed; /* owns */
    size_t managed_count;
    uint64_t deadline_ns;
    uint64_t cut_count;  /* threads whose first function was not reached */
    uint64_t late_count; /* threads for which there was no time */
};

static void taking_done_auto(struct taking *taking)
{
    for (size_t i = 0; i < taking->thread_count; i++)
        sn_thread_state_done(&taking->threads[i].state);
    free(taking->threads);
    free(taking->managed);
    sn_memory_frames_done(&taking->frames);
    sn_inspection_done(&taking->inspection);
}

/* --- who is there --- */

static bool add_thread(struct taking *taking, uint32_t tid, uint64_t id, size_t core_index)
{
    if (taking->thread_count >= THREADS_MAX)
        return false;
    struct sn_found_thread *threads = sn_array_room(taking->threads, taking->thread_count,
                                                    &taking->thread_capacity, sizeof(*threads));
    if (!threads)
        return false;
    taking->threads = threads;
    threads[taking->thread_count++] = (struct sn_found_thread){
        .tid = tid, .id = id, .core_index = core_index, .state.how = SN_THREAD_GONE};
    return true;
}

static int list_live(struct taking *taking, struct sonde_error *err)
{
    char path[64];
    uint32_t pid = taking->stacks->pid;
    bool is_apart = sn_own_id_is_apart(pid);
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
    DIR *dir = opendir(path);
    if (!dir)
        return sn_fail(err, SONDE_E_GONE, 0, "pid %" PRIu32 " has ended", pid);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        uint64_t id = is_apart && tid ? sn_own_id(pid, tid) : tid; /* 0: it has just ended */
        if (id && !add_thread(taking, tid, id, 0))
            taking->stacks->lost_count++;
    }
    (void)closedir(dir);
    return SONDE_OK;
}

static int list_dead(struct taking *taking)
{
    const struct sn_elf_core *core = taking->inspection.core;
    for (size_t i = 0; i < core->thread_count; i++) {
        if (!add_thread(taking, core->threads[i].tid, core->threads[i].tid, i))
            taking->stacks->lost_count++;
    }
    return SONDE_OK;
}

static int by_id(const void *one, const void *other)
{
    uint64_t a = ((const struct sn_found_thread *)one)->id;
    uint64_t b = ((const struct sn_found_thread *)other)->id;
    return (a > b) - (a < b);
}

/* The runtime's threads, each with the kernel's of the same number. */
static int join_managed(struct taking *taking, struct sonde_error *err)
{
    bool is_partial = false;
    int rc = sn_runtime_memory_threads(taking->inspection.runtime, &taking->managed,
                                       &taking->managed_count, &is_partial, err);
    if (rc != SONDE_OK)
        return rc;
    if (is_partial)
        sn_stacks_add_remark(taking->stacks, "the list of threads changed while it was read: some "
                                             "may be missing");
    for (size_t i = 0; i < taking->managed_count; i++) {
        const struct sn_found_thread key = {.id = taking->managed[i].os_id};
        struct sn_found_thread *found =
            bsearch(&key, taking->threads, taking->thread_count, sizeof(*taking->threads), by_id);
        if (found && taking->managed[i].os_id)
            found->managed = &taking->managed[i];
    }
    return SONDE_OK;
}

/* --- one thread --- */

static bool is_cancelled(const struct taking *taking)
{
    const struct sonde_stacks_options *options = taking->options;
    return options->is_cancelled && options->is_cancelled(options->cancel_user);
}

static void read_state(struct taking *taking, struct sn_found_thread *thread)
{
    struct sn_memory *memory = taking->inspection.runtime->memory;
    if (taking->inspection.core)
        sn_core_memory_thread(memory, taking->inspection.core, thread->core_index, &thread->state);
    else
        sn_thread_state_read_noting(memory, taking->stacks->pid, thread->tid,
                                    !taking->options->no_stop,
                                    thread->managed ? thread->managed->address : 0, &thread->state);
}

static bool is_in_kernel(const struct sn_thread_state *state)
{
    return state->how == SN_THREAD_WAITING ||
           (state->how == SN_THREAD_STOPPED && state->syscall >= 0);
}

static void note_innermost(struct sn_found_thread *thread, const struct sn_walk_frame *walked,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (walked[i].kind != SN_WALK_MANAGED)
            continue;
        thread->managed_sp = walked[i].sp;
        thread->is_calling_out = walked[i].callee != 0;
        return;
    }
}

/* Its frames go to the end of the stacks' frames. */
static void walk_thread(struct taking *taking, struct sn_found_thread *thread)
{
    const struct sn_walk_frame *walked = NULL;
    bool is_whole = false;
    thread->first_frame = taking->stacks->frame_count;
    if (thread->state.how == SN_THREAD_GONE || !thread->state.stack)
        return;
    if (taking->options->with_native && !taking->inspection.core && is_in_kernel(&thread->state))
        sn_memory_frames_add_kernel(&taking->frames, taking->stacks->pid, thread->tid);
    size_t count = sn_stack_walk_take(taking->inspection.walk, &thread->state, thread->managed,
                                      &walked, &is_whole);
    if (!sn_memory_frames_add(&taking->frames, walked, count)) {
        taking->stacks->frame_count = thread->first_frame;
        taking->stacks->lost_count++;
        return;
    }
    taking->cut_count += !is_whole;
    note_innermost(thread, walked, count);
    thread->is_in_managed = count && walked[0].kind == SN_WALK_MANAGED;
    thread->frame_count = taking->stacks->frame_count - thread->first_frame;
}

/* Whether the stack may hold the pointer to a lock, or to what a thread waits for synchronously. */
static bool may_hold_lock(const struct taking *taking, const struct sn_found_thread *thread)
{
    if (taking->options->with_tasks)
        return true;
    if (!taking->options->with_locks)
        return false;
    switch (sn_found_thread_wait(taking->stacks, taking->inspection.runtime->major, thread)) {
    case SN_LOCK_WAIT_NONE:
    case SN_LOCK_WAIT_PULSE:
    case SN_LOCK_WAIT_OTHER: return false;
    default: return true;
    }
}

/* The stack is of no use any more, unless its innermost part is searched for what it waits for. */
static void let_go(struct taking *taking, struct sn_found_thread *thread)
{
    struct sn_thread_state *state = &thread->state;
    state->note = NULL; /* it lies behind the stack, and was for the walk */
    bool is_needed = state->stack && thread->managed && may_hold_lock(taking, thread);
    uint8_t *kept = is_needed && state->stack_size > SN_LOCK_STACK_SIZE
                        ? realloc(state->stack, SN_LOCK_STACK_SIZE)
                        : NULL;
    if (kept) {
        state->stack = kept;
        state->stack_size = SN_LOCK_STACK_SIZE;
    } else if (!is_needed) {
        free(state->stack);
        state->stack = NULL;
        state->stack_size = 0;
    }
}

static int take_threads(struct taking *taking)
{
    for (size_t i = 0; i < taking->thread_count; i++) {
        struct sn_found_thread *thread = &taking->threads[i];
        if (!thread->managed && !taking->options->with_native)
            continue;
        if (is_cancelled(taking))
            return SONDE_END;
        if (sn_clock_monotonic_ns() > taking->deadline_ns) {
            taking->late_count++;
            taking->stacks->lost_count++;
            continue;
        }
        read_state(taking, thread);
        walk_thread(taking, thread);
        let_go(taking, thread);
    }
    return SONDE_OK;
}

/* --- what is told of them --- */

static int doing_of(const struct sn_thread_state *state)
{
    switch (state->how) {
    case SN_THREAD_WAITING: return SONDE_THREAD_WAITING;
    case SN_THREAD_STOPPED: return SONDE_THREAD_STOPPED;
    case SN_THREAD_HELD:
    case SN_THREAD_RUNNING: return SONDE_THREAD_RUNNING;
    default: return SONDE_THREAD_UNKNOWN;
    }
}

static const char *syscall_of(struct sonde_stacks *stacks, const struct sn_thread_state *state)
{
    const char *name = state->syscall >= 0 ? sn_syscall_name((uint32_t)state->syscall) : NULL;
    return name ? sn_stacks_keep(stacks, name) : "";
}

/* As the program named it, else as the kernel has it, but for the process's own. */
static const char *name_of(struct taking *taking, const struct sn_found_thread *thread)
{
    const char *name = sn_found_thread_name(taking->stacks, &taking->inspection, thread);
    if (name[0])
        return name;
    return strcmp(thread->state.name, taking->stacks->comm) == 0
               ? ""
               : sn_stacks_keep(taking->stacks, thread->state.name);
}

static void tell_thread(struct taking *taking, struct sn_found_thread *thread)
{
    struct sonde_stacks *stacks = taking->stacks;
    struct sonde_stack_thread told = {.thread_id = thread->id,
                                      .name = name_of(taking, thread),
                                      .is_managed = thread->is_in_managed,
                                      .frames = stacks->frames + thread->first_frame,
                                      .frame_count = thread->frame_count,
                                      .doing = doing_of(&thread->state),
                                      .syscall = syscall_of(stacks, &thread->state),
                                      .exception = "",
                                      .message = "",
                                      .moves = thread->state.switches};
    if (thread->managed)
        sn_found_thread_tell(stacks, &taking->inspection, thread->managed, &told);
    stacks->threads[stacks->thread_count] = told;
    thread->told = (uint32_t)++stacks->thread_count;
}

/* A thread without frames is told of only if it was running and was not to be held. */
static bool is_told(const struct taking *taking, const struct sn_found_thread *thread)
{
    if (thread->state.how == SN_THREAD_GONE || (!thread->managed && !taking->options->with_native))
        return false;
    return thread->frame_count || thread->state.how == SN_THREAD_RUNNING;
}

static int tell_threads(struct taking *taking, struct sonde_error *err)
{
    struct sonde_stacks *stacks = taking->stacks;
    stacks->threads = calloc(taking->thread_count + 1, sizeof(*stacks->threads));
    if (!stacks->threads)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for stacks");
    for (size_t i = 0; i < taking->thread_count; i++) {
        if (is_told(taking, &taking->threads[i]))
            tell_thread(taking, &taking->threads[i]);
    }
    return SONDE_OK;
}

/* Without a single name the port, which knows them, is the better way. */
static int check_names(const struct taking *taking, struct sonde_error *err)
{
    const struct sn_memory_frames *frames = &taking->frames;
    if (!frames->nameless || frames->named || sn_memory_is_late(taking->inspection.runtime->memory))
        return SONDE_OK;
    return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                   "the methods of .NET %s cannot be named from its memory",
                   taking->inspection.runtime->version);
}

static void remark(struct taking *taking)
{
    const char *unproved = taking->inspection.runtime->remarks;
    if (unproved[0])
        sn_stacks_add_remark(taking->stacks, "not read of this runtime: %s", unproved);
    if (taking->late_count)
        sn_stacks_add_remark(taking->stacks,
                             "%" PRIu64 " threads are missing: there was no time for them; "
                             "--timeout gives more",
                             taking->late_count);
    if (taking->frames.nameless)
        sn_stacks_add_remark(taking->stacks, "%" PRIu64 " places in managed code have no name",
                             taking->frames.nameless);
    if (taking->cut_count)
        sn_stacks_add_remark(taking->stacks,
                             "%" PRIu64 " stacks could not be followed to their thread's first "
                             "function",
                             taking->cut_count);
}

/* --- all of it --- */

static void name_source(struct taking *taking)
{
    char text[96];
    const char *version = taking->inspection.runtime->version;
    (void)snprintf(text, sizeof(text), "%s of .NET %s",
                   taking->inspection.core ? "a core file" : "the memory",
                   version[0] ? version : "(version not known)");
    taking->stacks->source = sn_stacks_keep(taking->stacks, text);
}

/* A core file knows the process that it was, and is as old as its end. */
static void name_dead(struct taking *taking)
{
    const struct sn_elf_core *core = taking->inspection.core;
    struct stat status;
    if (!core)
        return;
    if (stat(taking->options->core, &status) == 0)
        taking->stacks->utc_ns =
            (uint64_t)status.st_mtim.tv_sec * SN_NS_PER_SECOND + (uint64_t)status.st_mtim.tv_nsec;
    taking->stacks->main_id = core->pid;
    (void)snprintf(taking->stacks->comm, sizeof(taking->stacks->comm), "%s", core->name);
    (void)snprintf(taking->stacks->process_name, sizeof(taking->stacks->process_name), "%s",
                   core->name);
}

static void remark_late(const struct taking *taking)
{
    if (sn_memory_is_late(taking->inspection.runtime->memory))
        sn_stacks_add_remark(taking->stacks, "time ran out: names, exceptions and locks may be "
                                             "missing; --timeout gives more");
}

static int look(struct taking *taking, struct sonde_error *err)
{
    int rc = taking->inspection.core ? list_dead(taking) : list_live(taking, err);
    if (rc == SONDE_OK && taking->thread_count)
        qsort(taking->threads, taking->thread_count, sizeof(*taking->threads), by_id);
    if (rc == SONDE_OK)
        rc = join_managed(taking, err);
    if (rc == SONDE_OK)
        rc = take_threads(taking);
    if (rc == SONDE_OK)
        rc = check_names(taking, err);
    if (rc == SONDE_OK)
        rc = tell_threads(taking, err);
    if (rc != SONDE_OK)
        return rc;
    remark(taking);
    const struct sn_findings findings = {.stacks = taking->stacks,
                                         .inspection = &taking->inspection,
                                         .frames = &taking->frames,
                                         .threads = taking->threads,
                                         .thread_count = taking->thread_count,
                                         .deadline_ns = taking->deadline_ns};
    rc = sn_findings_add(&findings, taking->options, err);
    remark_late(taking);
    return rc;
}

int sn_stacks_from_memory(struct sonde_stacks *stacks, const struct sonde_stacks_options *options,
                          struct sonde_error *err)
{
    uint64_t timeout_ns = options->timeout_ns ? options->timeout_ns : DEFAULT_TIMEOUT_NS;
    SN_AUTO(taking_done)
    struct taking taking = {
        .stacks = stacks, .options = options, .deadline_ns = sn_clock_monotonic_ns() + timeout_ns};
    taking.inspection.deadline_ns = taking.deadline_ns;
    int rc = sn_inspection_open(&taking.inspection, stacks->pid, options->core, options->with_lines,
                                err);
    if (rc != SONDE_OK)
        return rc;
    sn_memory_frames_init(&taking.frames, stacks, &taking.inspection, options->with_native);
    stacks->utc_ns = sn_clock_utc_ns();
    name_source(&taking);
    name_dead(&taking);
    return look(&taking, err);
}
