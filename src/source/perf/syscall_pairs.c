#include "source/perf/syscall_pairs.h"

#include <sys/syscall.h>

#include "format/universal.h"

struct thread {
    struct sn_thread_slot slot;
    bool is_inside;
    uint64_t number;
    uint64_t enter_ns;
};

struct sn_syscall_pairs sn_syscall_pairs_of_nobody(void)
{
    return (struct sn_syscall_pairs){.threads = sn_thread_slots_of(sizeof(struct thread))};
}

void sn_syscall_pairs_done(struct sn_syscall_pairs *pairs)
{
    sn_thread_slots_done(&pairs->threads);
}

void sn_syscall_pairs_ended(struct sn_syscall_pairs *pairs, uint32_t tid)
{
    sn_thread_slots_drop(&pairs->threads, tid);
}

void sn_syscall_pairs_doubt(struct sn_syscall_pairs *pairs)
{
    struct thread *thread;
    size_t place = 0;
    while ((thread = sn_thread_slots_next(&pairs->threads, &place)))
        thread->is_inside = false;
}

void sn_syscall_pairs_enter(struct sn_syscall_pairs *pairs, const struct sn_syscall *call,
                            uint64_t time_ns)
{
    struct thread *thread = sn_thread_slots_get(&pairs->threads, call->pid, call->tid);
    if (!thread)
        return;
    thread->is_inside = true;
    thread->number = call->number;
    thread->enter_ns = time_ns;
    sn_thread_slots_keep(&pairs->threads, &thread->slot, call->stack, call->depth);
}

static void describe(const struct thread *thread, uint64_t time_ns, struct sn_syscall *call)
{
    call->number = thread->number;
    call->ns = time_ns > thread->enter_ns ? time_ns - thread->enter_ns : 0;
    call->stack = thread->slot.frames;
    call->depth = thread->slot.depth;
}

/* A younger architecture has no number for fork and vfork: there they are a clone. */
static const uint64_t births[] = {
    SYS_clone,
    SYS_clone3,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
};

/* A thread's first sight is the end of a call: the kernel ends the call that made it in the new
 * thread as well, with the result 0. */
static bool is_birth(const struct sn_syscall *call)
{
    for (size_t i = 0; i < sizeof(births) / sizeof(*births); i++) {
        if (call->number == births[i])
            return call->result == 0;
    }
    return false;
}

static bool take_older(struct sn_syscall_pairs *pairs, struct sn_syscall *call, uint64_t known_ns,
                       uint64_t time_ns)
{
    struct thread *thread = sn_thread_slots_get(&pairs->threads, call->pid, call->tid);
    if (!thread || !known_ns || known_ns >= time_ns || is_birth(call) || call->number == UINT64_MAX)
        return false;
    call->ns = time_ns - known_ns;
    call->stack = NULL;
    call->depth = 0;
    return true;
}

bool sn_syscall_pairs_exit(struct sn_syscall_pairs *pairs, struct sn_syscall *call,
                           uint64_t known_ns, uint64_t time_ns)
{
    struct thread *thread = sn_thread_slots_find(&pairs->threads, call->tid);
    if (!thread)
        return take_older(pairs, call, known_ns, time_ns);
    /* After rt_sigreturn the second end has the number -1. */
    bool is_pair =
        thread->is_inside && (call->number == thread->number || call->number == UINT64_MAX);
    thread->is_inside = false;
    if (is_pair)
        describe(thread, time_ns, call);
    return is_pair;
}

bool sn_syscall_pairs_in_flight(const struct sn_syscall_pairs *pairs, uint64_t time_ns,
                                size_t *place, struct sn_syscall *ret_call)
{
    const struct thread *thread;
    while ((thread = sn_thread_slots_next(&pairs->threads, place))) {
        if (!thread->is_inside)
            continue;
        *ret_call = (struct sn_syscall){
            .pid = thread->slot.pid, .tid = thread->slot.tid, .result = SN_SYSCALL_IN_FLIGHT};
        describe(thread, time_ns, ret_call);
        return true;
    }
    return false;
}
