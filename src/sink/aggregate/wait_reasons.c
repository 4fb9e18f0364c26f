#include "sink/aggregate/wait_reasons.h"

#include <stddef.h>
#include <string.h>

#include "model/profile.h"

struct clue {
    enum sn_wait_reason reason;
    const char *names; /* of functions, separated and ended by spaces; a star ends a beginning */
};

/* Functions of the kernel, and of libc where the kernel's are not to be seen. */
static const struct clue function_clues[] = {
    {SN_WAIT_SLEEP,
     "hrtimer_nanosleep do_nanosleep common_nsleep* nanosleep clock_nanosleep __clock_nanosleep* "
     "usleep __x64_sys_nanosleep __arm64_sys_nanosleep "},
    {SN_WAIT_LOCK,
     "futex_wait* __futex_wait* do_futex futex_do_wait futex_lock_pi* __mutex_lock* mutex_lock* "
     "rwsem_down_* __rwsem_down* down_read* down_write* percpu_rwsem_wait rt_mutex_* "
     "pthread_cond_* __pthread_cond_* ___pthread_cond_* pthread_mutex_lock* "
     "__pthread_mutex_lock* __lll_lock_wait* sem_wait* __new_sem_wait* __futex_abstimed_wait* "},
    {SN_WAIT_POLL,
     "ep_poll do_epoll_* do_sys_poll do_poll* do_select core_sys_select sk_wait_data tcp_* "
     "inet_* udp* unix_* __skb_wait_for_more_packets sk_stream_wait_* vsock_* sock_* eventfd_* "
     "timerfd_read signalfd_read inotify_read fuse_* epoll_wait epoll_pwait* poll __poll ppoll "
     "select pselect accept accept4 recv recvfrom recvmsg __recv* connect __connect io_cqring_* "},
    {SN_WAIT_PIPE, "pipe_* anon_pipe_* wait_for_partner n_tty_* tty_* "},
    {SN_WAIT_DISK, "io_schedule* folio_wait_* __folio_lock* wait_on_page* wait_on_buffer "
                   "__wait_on_buffer submit_bio_wait blk_* jbd2_* ext4_* xfs_* btrfs_* nfs_* "
                   "filemap_* fsync fdatasync "},
    {SN_WAIT_CHILD, "do_wait* kernel_wait* do_sigtimedwait sigsuspend do_signal_stop ptrace_stop "
                    "wait4 __wait4 waitpid waitid sigwait* __sigtimedwait* rt_sig* "},
    {SN_WAIT_IDLE, "worker_thread rescuer_thread smpboot_thread_fn rcu_gp_kthread kswapd* "
                   "kthread kthread_worker_fn "},
};

/* Managed code that says more than the lock it waits for below. */
static const struct clue managed_clues[] = {
    {SN_WAIT_SLEEP, "System.Threading.Thread.Sleep* System.Threading.WaitSubsystem.Sleep* "},
    {SN_WAIT_IDLE, "System.Threading.LowLevelLifoSemaphore* "
                   "System.Threading.PortableThreadPool.GateThread* "
                   "System.Threading.TimerQueue.TimerThread* "},
};

static const struct clue leaving_clues[] = {
    {SN_WAIT_OTHER, "schedule schedule_* __schedule* io_schedule* preempt_schedule* "
                    "__traceiter_* __perf_event* perf_* ctx_sched_* "},
};

static bool is_listed(const char *names, const char *name)
{
    for (const char *space; (space = strchr(names, ' ')); names = space + 1) {
        size_t size = (size_t)(space - names);
        if (size && names[size - 1] == '*' ? strncmp(names, name, size - 1) == 0
                                           : strlen(name) == size && !memcmp(names, name, size))
            return true;
    }
    return false;
}

static int find_clue(const struct clue *clues, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (is_listed(clues[i].names, name))
            return (int)clues[i].reason;
    }
    return -1;
}

#define FIND(clues, name) find_clue(clues, sizeof(clues) / sizeof(*(clues)), name)

/* What the stack tells, from its leaf on. */
struct told {
    int by_function; /* -1: nothing */
    int by_method;
    bool is_of_runtime; /* one of its own threads */
    bool is_managed;    /* has managed frames */
};

static struct told read_stack(const struct sn_profile *profile, uint32_t node)
{
    struct told told = {.by_function = -1, .by_method = -1};
    for (; node && node != SN_NO_INDEX; node = profile->nodes[node].parent) {
        const struct sn_frame *frame = &profile->frames[profile->nodes[node].frame];
        told.is_of_runtime |= frame->kind == SN_FRAME_RUNTIME;
        told.is_managed |= frame->kind == SN_FRAME_MANAGED;
        if (frame->kind == SN_FRAME_MANAGED) {
            if (told.by_method < 0)
                told.by_method = FIND(managed_clues, frame->name);
        } else if (told.by_function < 0 && !told.is_managed) {
            told.by_function = FIND(function_clues, frame->name);
        }
    }
    return told;
}

enum sn_wait_reason sn_wait_reason_of(const struct sn_profile *profile, uint32_t node,
                                      enum sn_off_reason told)
{
    if (told == SN_OFF_PREEMPTED)
        return SN_WAIT_PREEMPTED;
    struct told stack = read_stack(profile, node);
    if (told == SN_OFF_STOPPED)
        return SN_WAIT_CHILD;
    if (told == SN_OFF_DISK)
        return stack.by_function == SN_WAIT_LOCK ? SN_WAIT_LOCK : SN_WAIT_DISK;
    if (stack.is_of_runtime && !stack.is_managed && stack.by_function != SN_WAIT_SLEEP)
        return SN_WAIT_IDLE;
    bool is_any_wait = stack.by_function < 0 || stack.by_function == SN_WAIT_LOCK;
    if (is_any_wait && stack.by_method >= 0)
        return (enum sn_wait_reason)stack.by_method;
    return stack.by_function >= 0 ? (enum sn_wait_reason)stack.by_function : SN_WAIT_OTHER;
}

uint32_t sn_wait_place(const struct sn_profile *profile, uint32_t node)
{
    while (node && node != SN_NO_INDEX) {
        const struct sn_frame *frame = &profile->frames[profile->nodes[node].frame];
        if (frame->kind != SN_FRAME_KERNEL || FIND(leaving_clues, frame->name) < 0)
            break;
        node = profile->nodes[node].parent;
    }
    return node;
}
