/* Threads of real children: waiting, running, stopped, traced by another, ended. Each is found as
 * it is with its registers and its stack, and goes on as if nobody had looked. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "check.h"
#include "source/memory/memory.h"
#include "source/memory/thread_hold.h"
#include "source/memory/thread_state.h"

#define MARK    0x5eed5eed5eed5eedu
#define TRIES   2000u
#define SIGNALS 300u
#define DEEP    (64u << 10)
#define LOOKS   50u
#define LONG_NS (30ull * SN_NS_PER_SECOND)

#define HOLD_MAX_NS INT64_C(100000000) /* as thread_hold.h promises */

/* The longest that a holder has said it would wait for a copy. The deadline counts, not when the
 * machine had time for it: it is never later than that much from when the wait begins. */
static struct {
    unsigned count;
    int64_t longest_ns;
} copy_waits;

int __real_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end);
int __wrap_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end);

int __wrap_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *end)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    int64_t left_ns = (int64_t)(end->tv_sec - now.tv_sec) * (int64_t)SN_NS_PER_SECOND +
                      end->tv_nsec - now.tv_nsec;
    copy_waits.count++;
    if (left_ns > copy_waits.longest_ns)
        copy_waits.longest_ns = left_ns;
    return __real_sem_clockwait(semaphore, clock, end);
}

/* What the child and we both see. */
struct shared {
    atomic_uint_least64_t rounds;
    atomic_uint_least64_t signals;
    atomic_uint_least64_t sent;
    atomic_bool is_enough;       /* of signals */
    atomic_uint word;            /* that nobody changes */
    atomic_uint_least64_t stack; /* where the child has its mark */
};

static struct shared *shared;

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&shared->signals, 1);
}

static void spin(void)
{
    for (;;)
        atomic_fetch_add(&shared->rounds, 1);
}

static void sleep_on(void)
{
    for (;;) {
        atomic_fetch_add(&shared->rounds, 1);
        (void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 8);
    }
}

/* A child with a mark on its stack, deep enough that it is not found by luck. */
static pid_t start(void (*body)(void))
{
    memset(shared, 0, sizeof(*shared));
    pid_t child = fork();
    if (child)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGRTMIN, count_signal);
    volatile uint64_t marks[DEEP / 8];
    marks[DEEP / 16] = MARK;
    atomic_store(&shared->stack, (uint64_t)(uintptr_t)&marks[DEEP / 16]);
    body();
    _exit(0);
}

static void end(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void wait_until_begun(void)
{
    for (unsigned i = 0; i < TRIES && !atomic_load(&shared->rounds); i++)
        (void)poll(NULL, 0, 5);
    assert_true(atomic_load(&shared->rounds));
}

static void assert_works_on(void)
{
    uint64_t before = atomic_load(&shared->rounds);
    for (unsigned i = 0; i < TRIES && atomic_load(&shared->rounds) == before; i++)
        (void)poll(NULL, 0, 5);
    assert_true(atomic_load(&shared->rounds) > before);
}

static void assert_stack(const struct sn_thread_state *state)
{
    uint64_t word = 0;
    uint64_t at = atomic_load(&shared->stack) - state->registers.sp;
    assert_true(state->registers.ip);
    assert_true(at < state->stack_size && at + 8 <= state->stack_size);
    memcpy(&word, state->stack + at, sizeof(word));
    assert_true(word == MARK);
}

static struct sn_memory *memory_of(pid_t child)
{
    struct sn_memory *memory = NULL;
    assert_int_equal(sn_memory_of_process((uint32_t)child, &memory, NULL), 0);
    return memory;
}

/* Looks until it is seen as `how`: children take a while to where they are going. */
static void look_until(pid_t child, bool may_hold, unsigned how, struct sn_thread_state *ret_state)
{
    struct sn_memory *memory = memory_of(child);
    for (unsigned i = 0; i < TRIES; i++) {
        sn_thread_state_read(memory, (uint32_t)child, (uint32_t)child, may_hold, ret_state);
        if (ret_state->how == how)
            break;
        sn_thread_state_done(ret_state);
        (void)poll(NULL, 0, 5);
    }
    sn_memory_free(memory);
    assert_int_equal(ret_state->how, how);
}

static void waiting(void **context)
{
    (void)context;
    struct sn_thread_state state;
    pid_t child = start(sleep_on);
    look_until(child, false, SN_THREAD_WAITING, &state);
    assert_stack(&state);
    assert_int_equal(state.syscall, SYS_ppoll);
    assert_false(state.registers.has_bp);
    assert_int_equal(state.kernel_state, 'S');
    assert_string_equal(state.name, "thread_state_te"); /* as much as the kernel keeps */
    assert_int_equal(state.held_ns, 0);
    sn_thread_state_done(&state);
    end(child);
}

static void wait_in_futex(const struct timespec *limit)
{
    for (;;) {
        atomic_fetch_add(&shared->rounds, 1);
        (void)syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, limit, NULL, 0);
    }
}

static void wait_for_ever(void)
{
    wait_in_futex(NULL);
}

static void wait_for_a_day(void)
{
    const struct timespec day = {.tv_sec = 86400};
    wait_in_futex(&day);
}

static bool sees_time_limit_of(void (*body)(void))
{
    struct sn_thread_state state;
    pid_t child = start(body);
    wait_until_begun();
    look_until(child, false, SN_THREAD_WAITING, &state);
    assert_int_equal(state.syscall, SYS_futex);
    bool has_timeout = state.has_timeout;
    sn_thread_state_done(&state);
    end(child);
    return has_timeout;
}

/* One that ends by itself is part of no deadlock. */
static void a_wait_with_a_time_limit_is_not_one_for_ever(void **context)
{
    (void)context;
    assert_true(sees_time_limit_of(wait_for_a_day));
    assert_false(sees_time_limit_of(wait_for_ever));
}

/* With so many groups the kernel's text of a thread is longer than a page or two. */
static void sleep_in_many_groups(void)
{
    static gid_t groups[4000];
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
        groups[i] = (gid_t)(1000000 + i);
    if (setgroups(sizeof(groups) / sizeof(*groups), groups) == 0)
        sleep_on();
}

static void switches_are_read_however_long_the_text_is(void **context)
{
    (void)context;
    struct sn_thread_state state;
    if (geteuid() != 0)
        skip_because("only root may belong to thousands of groups");
    pid_t child = start(sleep_in_many_groups);
    wait_until_begun();
    look_until(child, false, SN_THREAD_WAITING, &state);
    assert_int_equal(state.kernel_state, 'S');
    assert_true(state.switches > 0);
    sn_thread_state_done(&state);
    end(child);
}

static void running(void **context)
{
    (void)context;
    struct sn_thread_state state;
    pid_t child = start(spin);
    wait_until_begun();
    look_until(child, false, SN_THREAD_RUNNING, &state);
    assert_int_equal(state.stack_size, 0);
    sn_thread_state_done(&state);
    for (unsigned i = 0; i < 50; i++) {
        look_until(child, true, SN_THREAD_HELD, &state);
        assert_stack(&state);
        assert_true(state.registers.has_bp);
        assert_int_equal(state.syscall, -1);
        assert_true(state.held_ns > 0);
        sn_thread_state_done(&state);
        assert_works_on();
    }
    end(child);
}

static char state_of(pid_t child)
{
    char path[64];
    char text[512] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", child);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    (void)fclose(file);
    return strrchr(text, ')')[2];
}

static void stop_and_look(pid_t child, int64_t syscall_number)
{
    struct sn_thread_state state;
    int status = 0;
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    uint64_t rounds = atomic_load(&shared->rounds);
    bool has_bp = false; /* on a busy machine it may be too slow to be asked, once */
    for (unsigned i = 0; i < 10; i++) {
        look_until(child, true, SN_THREAD_STOPPED, &state);
        assert_stack(&state);
        has_bp |= state.registers.has_bp;
        assert_int_equal(state.syscall, syscall_number);
        sn_thread_state_done(&state);
        for (unsigned j = 0; j < TRIES && state_of(child) != 'T'; j++) /* the kernel's step aside */
            (void)poll(NULL, 0, 1);
        assert_int_equal(state_of(child), 'T');
        assert_true(atomic_load(&shared->rounds) == rounds);
    }
    assert_int_equal(has_bp, syscall_number < 0);
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_works_on();
}

static void stopped_while_running(void **context)
{
    (void)context;
    pid_t child = start(spin);
    wait_until_begun();
    stop_and_look(child, -1);
    stop_and_look(child, -1);
    end(child);
}

static void sleep_long(void)
{
    for (;;) {
        atomic_fetch_add(&shared->rounds, 1);
        struct timespec long_time = {.tv_sec = 1};
        (void)syscall(SYS_ppoll, NULL, 0, &long_time, NULL, 8);
    }
}

static void stopped_while_waiting(void **context)
{
    (void)context;
    struct sn_thread_state state;
    pid_t child = start(sleep_long);
    look_until(child, false, SN_THREAD_WAITING, &state);
    sn_thread_state_done(&state);
    stop_and_look(child, SYS_ppoll);
    end(child);
}

/* As after vfork: until its child is done with it, it sleeps so that nothing wakes it. */
static void wait_for_child(void)
{
    if (!syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL)) {
        (void)syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;)
            (void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 8);
    }
}

static void uninterruptible(void **context)
{
    (void)context;
    struct sn_thread_state state;
    pid_t child = start(wait_for_child);
    for (unsigned i = 0; i < TRIES && state_of(child) != 'D'; i++)
        (void)poll(NULL, 0, 5);
    look_until(child, true, SN_THREAD_WAITING, &state);
    assert_int_equal(state.kernel_state, 'D');
    assert_int_equal(state.held_ns, 0);
    assert_stack(&state);
    sn_thread_state_done(&state);
    end(child);
}

/* What a debugger holds cannot be held by us, and need not be. */
static void traced_by_another(void **context)
{
    (void)context;
    struct sn_thread_state state;
    int status = 0;
    pid_t child = start(spin);
    wait_until_begun();
    assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
    look_until(child, true, SN_THREAD_RUNNING, &state);
    sn_thread_state_done(&state);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, &status, __WALL), child);
    look_until(child, true, SN_THREAD_STOPPED, &state);
    assert_int_equal(state.kernel_state, 't');
    assert_stack(&state);
    sn_thread_state_done(&state);
    assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
    assert_works_on();
    end(child);
}

/* So many, and on until somebody has seen enough. */
static pid_t start_sender(pid_t child)
{
    pid_t sender = fork();
    if (sender)
        return sender;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint64_t i = 1; i <= SIGNALS || !atomic_load(&shared->is_enough); i++) {
        while (sigqueue(child, SIGRTMIN, (union sigval){0}) && errno == EAGAIN)
            (void)poll(NULL, 0, 1);
        atomic_store(&shared->sent, i);
        if (i % 8 == 0)
            (void)poll(NULL, 0, 1);
    }
    _exit(0);
}

/* Signals that come while it is held are its own. */
static void signals_arrive(void **context)
{
    (void)context;
    struct sn_thread_state state;
    pid_t child = start(spin);
    wait_until_begun();
    unsigned held = 0;
    struct sn_memory *memory = memory_of(child);
    pid_t sender = start_sender(child);
    for (unsigned i = 0; held < LOOKS || atomic_load(&shared->signals) < SIGNALS; i++) {
        sn_thread_state_read(memory, (uint32_t)child, (uint32_t)child, true, &state);
        held += state.how == SN_THREAD_HELD;
        sn_thread_state_done(&state);
        assert_true(i < 100 * TRIES);
    }
    atomic_store(&shared->is_enough, true);
    assert_int_equal(waitpid(sender, NULL, 0), sender);
    uint64_t sent = atomic_load(&shared->sent);
    for (unsigned i = 0; i < TRIES && atomic_load(&shared->signals) < sent; i++)
        (void)poll(NULL, 0, 5);
    assert_true(atomic_load(&shared->signals) == sent);
    assert_works_on();
    sn_memory_free(memory);
    end(child);
}

static void ended(void **context)
{
    (void)context;
    struct sn_thread_state state;
    pid_t child = start(spin);
    wait_until_begun();
    struct sn_memory *memory = memory_of(child);
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT);
    for (unsigned i = 0; i < 2; i++) { /* a zombie, then nothing */
        sn_thread_state_read(memory, (uint32_t)child, (uint32_t)child, true, &state);
        assert_int_equal(state.how, SN_THREAD_GONE);
        sn_thread_state_done(&state);
        (void)waitpid(child, NULL, 0);
    }
    sn_memory_free(memory);
}

/* Its end is its parent's, also when it comes while the child is held. */
static void end_is_the_parents(void **context)
{
    (void)context;
    for (unsigned i = 0; i < 2 * LOOKS; i++) {
        struct sn_thread_state state;
        bool is_gone = false;
        int status = 0;
        pid_t child = start(spin);
        wait_until_begun();
        struct sn_memory *memory = memory_of(child);
        pid_t killer = fork();
        if (!killer) {
            (void)usleep(i * 10);
            _exit(kill(child, SIGKILL));
        }
        for (unsigned j = 0; j < 100 * TRIES && !is_gone; j++) {
            sn_thread_state_read(memory, (uint32_t)child, (uint32_t)child, true, &state);
            is_gone = state.how == SN_THREAD_GONE;
            sn_thread_state_done(&state);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_equal(waitpid(killer, NULL, 0), killer);
        sn_memory_free(memory);
    }
}

struct waiter {
    atomic_bool is_over;
    atomic_uint taken;
};

static void *take_all_stops(void *user)
{
    struct waiter *waiter = user;
    while (!atomic_load(&waiter->is_over)) {
        if (waitpid(-1, NULL, __WALL | WNOHANG) > 0)
            atomic_fetch_add(&waiter->taken, 1);
    }
    return NULL;
}

/* A program may wait for whatever child it has, all the time. It seldom comes to see a stop, if
 * others have the CPUs. */
static void another_thread_waits(void **context)
{
    (void)context;
    struct sn_thread_state state;
    struct waiter waiter = {0};
    pthread_t thread;
    unsigned refused = 0;
    unsigned looks = 0;
    pid_t child = start(spin);
    wait_until_begun();
    struct sn_memory *memory = memory_of(child);
    assert_int_equal(pthread_create(&thread, NULL, take_all_stops, &waiter), 0);
    uint64_t end_ns = sn_clock_monotonic_ns() + LONG_NS;
    for (; looks < 2 * LOOKS || !atomic_load(&waiter.taken); looks++) {
        if (sn_clock_monotonic_ns() > end_ns)
            break;
        sn_thread_state_read(memory, (uint32_t)child, (uint32_t)child, true, &state);
        refused += state.how != SN_THREAD_HELD;
        sn_thread_state_done(&state);
    }
    atomic_store(&waiter.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    print_message("%u looks, %u stops taken, %u refused\n", looks, atomic_load(&waiter.taken),
                  refused);
    assert_true(refused * 2 < looks); /* a busy machine may keep some from resting */
    assert_works_on();
    sn_memory_free(memory);
    end(child);
    if (!atomic_load(&waiter.taken))
        skip_because("the machine was too busy: no stop was taken");
}

/* The number of a thread that has ended belongs to another: that one is left alone. */
static void number_is_anothers(void **context)
{
    (void)context;
    char path[64];
    struct sn_thread_state state = {0};
    pid_t gone = start(spin);
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d", gone, gone);
    SN_AUTO(sn_close) int task = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(task >= 0);
    end(gone);
    pid_t child = start(spin);
    wait_until_begun();
    struct sn_memory *memory = memory_of(child);
    assert_int_equal(sn_thread_hold(memory, task, (uint32_t)child, &state), SN_HOLD_GONE);
    assert_int_equal(state.registers.ip, 0);
    assert_int_equal(state.held_ns, 0);
    assert_works_on();
    sn_thread_state_done(&state);
    sn_memory_free(memory);
    end(child);
}

/* Of memory that comes when the thread that is held for it goes on: a file system may be like that.
 */
struct late {
    bool was_read;
    bool works; /* the thread, while it was read */
};

static size_t read_late(void *user, uint64_t address, void *to, size_t size)
{
    struct late *late = user;
    uint64_t before = atomic_load(&shared->rounds);
    (void)address;
    for (unsigned i = 0; i < TRIES && atomic_load(&shared->rounds) == before; i++)
        (void)poll(NULL, 0, 5);
    late->was_read = true;
    late->works = atomic_load(&shared->rounds) != before;
    memset(to, 0, size);
    return size;
}

static void look_with_late_memory(struct late *late)
{
    struct sn_thread_state state;
    struct sn_memory *memory = NULL;
    const struct sn_memory_source source = {read_late, NULL, late};
    pid_t child = start(spin);
    wait_until_begun();
    assert_int_equal(sn_memory_of_source(&source, NULL, 0, &memory, NULL), 0);
    for (unsigned i = 0; i < TRIES && !late->was_read; i++) {
        sn_thread_state_read(memory, (uint32_t)child, (uint32_t)child, true, &state);
        assert_int_equal(state.how, SN_THREAD_RUNNING); /* what was read is not of one moment */
        sn_thread_state_done(&state);
    }
    assert_works_on();
    sn_memory_free(memory);
    end(child);
}

static void memory_comes_late(void **context)
{
    (void)context;
    struct late late = {0};
    look_with_late_memory(&late);
    assert_true(late.works);
}

static void a_thread_is_held_for_a_tenth_of_a_second_at_most(void **context)
{
    (void)context;
    struct late late = {0};
    memset(&copy_waits, 0, sizeof(copy_waits));
    look_with_late_memory(&late);
    assert_true(copy_waits.count > 0);
    assert_true(copy_waits.longest_ns <= HOLD_MAX_NS);
}

/* Of a thread that goes on while it is copied: as often as `moves_left` says it wakes, and sleeps
 * in the same place again before the bytes come. Every copy differs. */
struct torn {
    pid_t child;
    unsigned moves_left;
    uint8_t copies;
};

static size_t read_torn(void *user, uint64_t address, void *to, size_t size)
{
    struct torn *torn = user;
    (void)address;
    if (torn->moves_left) {
        uint64_t before = atomic_load(&shared->rounds);
        torn->moves_left--;
        assert_int_equal(kill(torn->child, SIGRTMIN), 0);
        for (unsigned i = 0; i < TRIES && atomic_load(&shared->rounds) == before; i++)
            (void)poll(NULL, 0, 5);
        assert_true(atomic_load(&shared->rounds) != before);
        for (unsigned i = 0; i < TRIES && state_of(torn->child) != 'S'; i++)
            (void)poll(NULL, 0, 5);
        assert_int_equal(state_of(torn->child), 'S');
    }
    memset(to, ++torn->copies, size);
    return size;
}

static void look_while_it_moves(pid_t child, unsigned moves, struct sn_thread_state *ret_state)
{
    struct torn torn = {.child = child, .moves_left = moves};
    struct sn_memory *memory = NULL;
    const struct sn_memory_source source = {read_torn, NULL, &torn};
    look_until(child, false, SN_THREAD_WAITING, ret_state); /* it is asleep from now on */
    sn_thread_state_done(ret_state);
    assert_int_equal(sn_memory_of_source(&source, NULL, 0, &memory, NULL), 0);
    sn_thread_state_read(memory, (uint32_t)child, (uint32_t)child, false, ret_state);
    sn_memory_free(memory);
}

static void a_stack_that_moved_while_it_was_copied_is_copied_again(void **context)
{
    (void)context;
    struct sn_thread_state state;
    pid_t child = start(sleep_on);
    wait_until_begun();
    look_while_it_moves(child, 1, &state);
    assert_int_equal(state.how, SN_THREAD_WAITING);
    assert_true(state.stack_size > 0);
    assert_true(state.stack[0] > 1); /* not the copy during which it moved */
    sn_thread_state_done(&state);
    end(child);
}

static void a_stack_that_moves_at_every_copy_is_not_given(void **context)
{
    (void)context;
    struct sn_thread_state state;
    pid_t child = start(sleep_on);
    wait_until_begun();
    look_while_it_moves(child, UINT_MAX, &state);
    assert_int_equal(state.how, SN_THREAD_RUNNING);
    assert_int_equal(state.stack_size, 0);
    assert_int_equal(state.registers.ip, 0);
    assert_int_equal(state.registers.sp, 0);
    sn_thread_state_done(&state);
    end(child);
}

int main(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting),
        cmocka_unit_test(a_wait_with_a_time_limit_is_not_one_for_ever),
        cmocka_unit_test(switches_are_read_however_long_the_text_is),
        cmocka_unit_test(running),
        cmocka_unit_test(stopped_while_running),
        cmocka_unit_test(stopped_while_waiting),
        cmocka_unit_test(uninterruptible),
        cmocka_unit_test(traced_by_another),
        cmocka_unit_test(signals_arrive),
        cmocka_unit_test(ended),
        cmocka_unit_test(end_is_the_parents),
        cmocka_unit_test(another_thread_waits),
        cmocka_unit_test(number_is_anothers),
        cmocka_unit_test(memory_comes_late),
        cmocka_unit_test(a_thread_is_held_for_a_tenth_of_a_second_at_most),
        cmocka_unit_test(a_stack_that_moved_while_it_was_copied_is_copied_again),
        cmocka_unit_test(a_stack_that_moves_at_every_copy_is_not_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
