#include "source/perf/off_cpu.h"

#include "format/universal.h"

/* Of prev_state, the same in every kernel; what is above them differs, and means "could run". */
#define STATE_INTERRUPTIBLE   0x01
#define STATE_UNINTERRUPTIBLE 0x02
#define STATE_STOPPED         0x0C /* by a signal or a debugger */
#define STATE_ENDED           0x30
#define STATE_PARKED          0xC0 /* kernel threads with nothing to do */

struct thread {
    struct sn_thread_slot slot;
    bool is_off;
    bool has_ended; /* and waits for its parent: its last switch is still to come */
    uint8_t reason;
    uint32_t waker;
    uint64_t off_ns;
    uint64_t woken_ns; /* 0: not yet */
};

struct sn_off_cpu sn_off_cpu_of_nobody(void)
{
    return (struct sn_off_cpu){.threads = sn_thread_slots_of(sizeof(struct thread))};
}

void sn_off_cpu_done(struct sn_off_cpu *off)
{
    sn_thread_slots_done(&off->threads);
}

void sn_off_cpu_ended(struct sn_off_cpu *off, uint32_t tid)
{
    sn_thread_slots_drop(&off->threads, tid);
}

static uint8_t reason_of(int64_t state)
{
    if (state == SN_OFF_STATE_UNKNOWN)
        return SN_OFF_UNKNOWN;
    if (state & (STATE_INTERRUPTIBLE | STATE_PARKED))
        return SN_OFF_SLEEPING;
    if (state & STATE_UNINTERRUPTIBLE)
        return SN_OFF_DISK;
    if (state & STATE_STOPPED)
        return SN_OFF_STOPPED;
    return state & STATE_ENDED ? SN_OFF_EXITED : SN_OFF_PREEMPTED;
}

static struct thread *set_off(struct sn_off_cpu *off, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    struct thread *thread = sn_thread_slots_get(&off->threads, pid, tid);
    if (!thread)
        return NULL;
    thread->slot.pid = pid;
    thread->slot.depth = 0;
    thread->is_off = true;
    thread->has_ended = false;
    thread->reason = SN_OFF_UNKNOWN;
    thread->waker = 0;
    thread->off_ns = time_ns;
    thread->woken_ns = 0;
    return thread;
}

void sn_off_cpu_born(struct sn_off_cpu *off, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    struct thread *thread = set_off(off, pid, tid, time_ns);
    if (thread)
        thread->reason = SN_OFF_PREEMPTED;
}

void sn_off_cpu_leaves(struct sn_off_cpu *off, const struct sn_off_time *who, uint64_t time_ns,
                       int64_t state)
{
    struct thread *thread = set_off(off, who->pid, who->tid, time_ns);
    if (!thread)
        return;
    thread->reason = reason_of(state);
    thread->has_ended = thread->reason == SN_OFF_EXITED;
    thread->is_off = !thread->has_ended;
    sn_thread_slots_keep(&off->threads, &thread->slot, who->stack, who->depth);
}

void sn_off_cpu_left(struct sn_off_cpu *off, uint32_t pid, uint32_t tid, uint64_t time_ns,
                     bool could_run)
{
    struct thread *thread = sn_thread_slots_find(&off->threads, tid);
    if (thread && thread->has_ended)
        return;
    if (!thread || !thread->is_off)
        thread = set_off(off, pid, tid, time_ns); /* without a stack */
    if (!thread)
        return;
    thread->off_ns = time_ns; /* to take the stack took a while, and that was on the CPU */
    if (thread->reason == SN_OFF_UNKNOWN)
        thread->reason = could_run ? SN_OFF_PREEMPTED : SN_OFF_SLEEPING;
}

void sn_off_cpu_woken(struct sn_off_cpu *off, uint32_t tid, uint64_t time_ns, uint32_t waker)
{
    struct thread *thread = sn_thread_slots_find(&off->threads, tid);
    if (!thread || !thread->is_off || thread->woken_ns)
        return; /* still running: it did not go to sleep after all */
    thread->woken_ns = time_ns;
    thread->waker = waker;
}

static uint64_t since(uint64_t start_ns, uint64_t end_ns)
{
    return end_ns > start_ns ? end_ns - start_ns : 0;
}

static void describe(const struct thread *thread, uint64_t time_ns, struct sn_off_time *ret_time)
{
    *ret_time = (struct sn_off_time){
        .pid = thread->slot.pid,
        .tid = thread->slot.tid,
        .ns = since(thread->off_ns, time_ns),
        .queue_ns = thread->woken_ns ? since(thread->woken_ns, time_ns) : 0,
        .reason = thread->reason,
        .waker = thread->waker,
        .stack = thread->slot.frames,
        .depth = thread->slot.depth,
    };
    if (thread->reason == SN_OFF_PREEMPTED)
        ret_time->queue_ns = ret_time->ns;
}

void sn_off_cpu_doubt(struct sn_off_cpu *off)
{
    struct thread *thread;
    size_t place = 0;
    while ((thread = sn_thread_slots_next(&off->threads, &place)))
        thread->is_off = false;
}

bool sn_off_cpu_back(struct sn_off_cpu *off, const struct sn_off_time *who, uint64_t known_ns,
                     uint64_t time_ns, struct sn_off_time *ret_time)
{
    struct thread *thread = sn_thread_slots_find(&off->threads, who->tid);
    if (!thread && known_ns)
        thread = set_off(off, who->pid, who->tid, known_ns);
    if (!thread || !thread->is_off)
        return false;
    describe(thread, time_ns, ret_time);
    ret_time->pid = who->pid; /* a thread that calls exec takes its process's number */
    thread->is_off = false;
    thread->slot.depth = 0;
    return thread->off_ns < time_ns;
}

bool sn_off_cpu_still(const struct sn_off_cpu *off, uint64_t time_ns, size_t *place,
                      struct sn_off_time *ret_time)
{
    const struct thread *thread;
    while ((thread = sn_thread_slots_next(&off->threads, place))) {
        if (!thread->is_off)
            continue;
        describe(thread, time_ns, ret_time);
        return true;
    }
    return false;
}
