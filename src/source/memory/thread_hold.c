#include "source/memory/thread_hold.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/memory/thread_state.h"

#define REST_NS      250000000u /* until a thread that is to be held comes to rest */
#define COPY_NS      100000000  /* that it is held at most, then */
#define SEE_NS       200000u
#define NS_PER_S     1000000000
#define SPIN_NS      30000u
#define TURN_NS      100000u /* the shortest that can be had */
#define SHORT_LOOKS  200u
#define END_LOOKS    32u   /* looks until it is asked whether it is there at all */
#define SHORT_NS     5000  /* between the first looks whether it has, */
#define LONG_NS      50000 /* and between later ones */
#define HELPER_STACK (256u << 10)

struct holding {
    struct sn_memory *memory;
    struct sn_thread_state *state;
    int task; /* /proc/PID/task/TID of before */
    pid_t tid;
    uint64_t began_ns; /* it was held from here on at the earliest */
    enum sn_hold_result result;
    bool is_first;    /* the holder, of all that want to run */
    bool may_copy;    /* it stands still; told by is_at_rest */
    sem_t is_at_rest; /* or never will be */
    sem_t is_copied;
};

/* Asks for short turns that come soon, which Linux 6.12 grants anybody; older ones do nothing. The
 * first layout of the kernel's struct sched_attr. */
static void ask_for_short_turns(void)
{
    struct {
        uint32_t size;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime;
        uint64_t deadline;
        uint64_t period;
    } wish = {.policy = SCHED_OTHER, .runtime = TURN_NS};
    wish.size = sizeof(wish);
    errno = 0;
    wish.nice = getpriority(PRIO_PROCESS, 0);
    if (!errno)
        (void)syscall(SYS_sched_setattr, 0, &wish, 0);
}

/* As long as we wait for a CPU, it is held for nothing. True: nobody else comes before. */
static bool be_first(void)
{
    const struct sched_param first = {.sched_priority = 1};
    (void)prctl(PR_SET_TIMERSLACK, 1);
    if (!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first))
        return true;
    (void)setpriority(PRIO_PROCESS, 0, -20);
    ask_for_short_turns();
    return false;
}

/* At first not at all: what runs on another CPU comes to rest at once. Then sleeps, as it may need
 * the CPU that we are on. */
static void pause_between(uint64_t waited_ns, unsigned look)
{
    const struct timespec pause = {.tv_nsec = look < SHORT_LOOKS ? SHORT_NS : LONG_NS};
    if (waited_ns > SPIN_NS)
        (void)nanosleep(&pause, NULL);
}

/* Waits until it stands still. 1: it does, 0: it did not in time, -1: it has ended. Asks for what
 * only one that stands still has, and never by wait(): that would take the end of a child from
 * whoever started it, and another thread's wait() may have taken the stop. */
static int wait_for_rest(struct holding *holding, siginfo_t *ret_stop)
{
    uint64_t now = sn_clock_monotonic_ns();
    uint64_t end = now + REST_NS;
    holding->began_ns = now;
    for (unsigned look = 1; now < end; look++) {
        if (ptrace(PTRACE_GETSIGINFO, holding->tid, NULL, ret_stop) == 0)
            return 1;
        if (errno != ESRCH)
            return 0;
        uint64_t waited = now - (end - REST_NS);
        if (waited > SPIN_NS && look % END_LOOKS == 0 && !sn_thread_is_there(holding->task))
            return -1;
        holding->began_ns = now; /* it was not yet at rest */
        pause_between(waited, look);
        now = sn_clock_monotonic_ns();
    }
    return 0;
}

#ifdef __x86_64__

static bool read_registers(pid_t tid, struct sn_thread_state *state)
{
    struct user_regs_struct regs;
    struct iovec to = {&regs, sizeof(regs)};
    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &to) < 0 || to.iov_len != sizeof(regs))
        return false;
    state->registers = (struct sn_registers){
        .ip = regs.rip,
        .sp = regs.rsp,
        .bp = regs.rbp,
        .has_bp = true,
    };
    state->syscall = (int64_t)regs.orig_rax < 0 ? -1 : (int64_t)regs.orig_rax;
    return true;
}

#else

static bool read_registers(pid_t tid, struct sn_thread_state *state)
{
    (void)tid;
    (void)state;
    return false;
}

#endif

/* Asked for by us, or one of the whole process. */
static bool is_event_stop(const siginfo_t *stop)
{
    return stop->si_code >> 8 == PTRACE_EVENT_STOP;
}

/* The signal that stopped it is the thread's own, unless the stop was asked for by us or is one of
 * the whole process, which stays as it is. */
static long own_signal(const siginfo_t *stop)
{
    return is_event_stop(stop) ? 0 : stop->si_signo;
}

/* To be woken takes longer than most copies do. The reader has the CPU of the thread that is held,
 * or else ours. */
static bool see_copied(struct holding *holding)
{
    uint64_t end = sn_clock_monotonic_ns() + SEE_NS;
    while (holding->is_first && sn_clock_monotonic_ns() < end) {
        if (sem_trywait(&holding->is_copied) == 0)
            return true;
        (void)sched_yield();
    }
    return false;
}

/* Lets the reader copy, but not for long: a page may be behind a file system that answers late or
 * never, or by the very thread that is held. */
static bool wait_for_copy(struct holding *holding)
{
    struct timespec end;
    holding->may_copy = true;
    (void)sem_post(&holding->is_at_rest);
    if (see_copied(holding))
        return true;
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += COPY_NS;
    end.tv_sec += end.tv_nsec / NS_PER_S;
    end.tv_nsec %= NS_PER_S;
    int rc = 0;
    do
        rc = sem_clockwait(&holding->is_copied, CLOCK_MONOTONIC, &end);
    while (rc != 0 && errno == EINTR);
    return rc == 0;
}

static enum sn_hold_result copy_at_rest(struct holding *holding, const siginfo_t *stop)
{
    bool is_read = read_registers(holding->tid, holding->state) && wait_for_copy(holding);
    (void)ptrace(PTRACE_DETACH, holding->tid, NULL, own_signal(stop));
    holding->state->held_ns = sn_clock_monotonic_ns() - holding->began_ns;
    if (!is_read)
        return SN_HOLD_REFUSED;
    return is_event_stop(stop) && stop->si_signo != SIGTRAP ? SN_HOLD_STOPPED : SN_HOLD_DONE;
}

/* Its number may be another's by now. If it is still there when whoever has the number is ours, it
 * was it; nobody was stopped yet. */
static enum sn_hold_result hold(struct holding *holding)
{
    siginfo_t stop = {0};
    if (ptrace(PTRACE_SEIZE, holding->tid, NULL, NULL) < 0)
        return errno == ESRCH ? SN_HOLD_GONE : SN_HOLD_REFUSED;
    if (!sn_thread_is_there(holding->task))
        return SN_HOLD_GONE;
    if (ptrace(PTRACE_INTERRUPT, holding->tid, NULL, NULL) < 0 && errno != ESRCH)
        return SN_HOLD_REFUSED;
    int rest = wait_for_rest(holding, &stop);
    if (rest <= 0)
        return rest < 0 ? SN_HOLD_GONE : SN_HOLD_REFUSED;
    return copy_at_rest(holding, &stop);
}

/* Stops it and lets it go. One that does not come to rest cannot be let go by request, but the
 * kernel does it when the thread that asked has ended. */
static void *run_holder(void *user)
{
    struct holding *holding = user;
    holding->is_first = be_first();
    holding->result = hold(holding);
    (void)sem_post(
        &holding->is_at_rest); /* again, or for the first time: there is nothing to copy */
    return NULL;
}

/* Copies, apart from the holder: who waits for a page cannot let go. */
static void *run_reader(void *user)
{
    struct holding *holding = user;
    (void)be_first();
    while (sem_wait(&holding->is_at_rest) != 0 && errno == EINTR)
        continue;
    if (holding->may_copy)
        sn_thread_copy_stack(holding->memory, holding->state);
    (void)sem_post(&holding->is_copied);
    return NULL;
}

static bool start(void *(*run)(void *), struct holding *holding, pthread_t *ret_thread)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    if (pthread_attr_init(&attributes))
        return false;
    (void)pthread_attr_setstacksize(&attributes, HELPER_STACK);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(ret_thread, &attributes, run, holding);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return !failed;
}

enum sn_hold_result sn_thread_hold(struct sn_memory *memory, int task, uint32_t tid,
                                   struct sn_thread_state *state)
{
    struct holding holding = {
        .memory = memory,
        .state = state,
        .task = task,
        .tid = (pid_t)tid,
        .result = SN_HOLD_REFUSED,
    };
    pthread_t reader;
    pthread_t holder;
    (void)sem_init(&holding.is_at_rest, 0, 0);
    (void)sem_init(&holding.is_copied, 0, 0);
    if (start(run_reader, &holding, &reader)) {
        if (start(run_holder, &holding, &holder))
            (void)pthread_join(holder, NULL);
        else
            (void)sem_post(&holding.is_at_rest);
        (void)pthread_join(reader, NULL);
    }
    (void)sem_destroy(&holding.is_at_rest);
    (void)sem_destroy(&holding.is_copied);
    return holding.result;
}
