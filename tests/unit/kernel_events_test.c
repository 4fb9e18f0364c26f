/* The real kernel against a program that measures itself: waits, system calls, a tracepoint. One
 * recording as root for all checks, one without any right for the times alone. */
#include "check.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/payload.h"
#include "source/perf/kernel.h"

#define MS           1000000ull
#define PREADS       5000
#define ROUND_TRIPS  25000
#define PAUSE_NS     20000 /* between two: some 50,000 switches a second */
#define NOBODY       65534
#define EVENT_LIMIT  400000u
#define FRAME_LIMIT  (8u << 20)
#define THREAD_COUNT 8

/* --- the program that is recorded --- */

/* What a thread saw of itself. */
struct measured {
    uint32_t tid;
    uint64_t from_ns;
    uint64_t to_ns;
    uint64_t off_ns; /* time that went by less time on the CPU */
    uint64_t switches;
};

enum thread_name { SLEEPER, LOCKED, READER, BUSY_A, BUSY_B, PONG, STUCK, MAIN };

/* What is done: a few long waits, or very many short ones. */
enum work { LONG_WAITS, SHORT_WAITS };

struct program {
    struct measured threads[THREAD_COUNT];
    pthread_mutex_t lock;
    int to_reader[2];
    int to_stuck[2];
    int ping[2];
    int pong[2];
    atomic_int ready;
};

static struct program program;

static uint64_t now_of(clockid_t clock)
{
    struct timespec time;
    (void)clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000 * MS + (uint64_t)time.tv_nsec;
}

static uint64_t switches_of_this_thread(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static void begin(struct measured *mine)
{
    mine->tid = (uint32_t)gettid();
    mine->from_ns = now_of(CLOCK_MONOTONIC);
    mine->switches = switches_of_this_thread();
    mine->off_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
}

static void end(struct measured *mine)
{
    uint64_t ran = now_of(CLOCK_THREAD_CPUTIME_ID) - mine->off_ns;
    mine->to_ns = now_of(CLOCK_MONOTONIC);
    mine->off_ns = mine->to_ns - mine->from_ns - ran;
    mine->switches = switches_of_this_thread() - mine->switches;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / (1000 * MS)),
                            .tv_nsec = (long)(ns % (1000 * MS))};
    while (nanosleep(&time, &time) != 0)
        continue;
}

static void *be_sleeper(void *unused)
{
    begin(&program.threads[SLEEPER]);
    for (int i = 0; i < 10; i++)
        sleep_ns(20 * MS);
    end(&program.threads[SLEEPER]);
    return unused;
}

static void *be_locked(void *unused)
{
    begin(&program.threads[LOCKED]);
    atomic_fetch_add(&program.ready, 1);
    (void)pthread_mutex_lock(&program.lock);
    (void)pthread_mutex_unlock(&program.lock);
    end(&program.threads[LOCKED]);
    return unused;
}

static void *be_reader(void *unused)
{
    char byte;
    begin(&program.threads[READER]);
    atomic_fetch_add(&program.ready, 1);
    (void)!read(program.to_reader[0], &byte, 1);
    end(&program.threads[READER]);
    return unused;
}

static void *be_busy(void *which)
{
    struct measured *mine = which;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    begin(mine);
    while (now_of(CLOCK_MONOTONIC) < mine->from_ns + 400 * MS)
        continue;
    end(mine);
    return NULL;
}

static void *be_pong(void *unused)
{
    char byte;
    begin(&program.threads[PONG]);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        if (read(program.ping[0], &byte, 1) != 1 || write(program.pong[1], &byte, 1) != 1)
            break;
    }
    end(&program.threads[PONG]);
    return unused;
}

/* Waits for what never comes; two of ours are above libc's read, which hides the first. */
static __attribute__((noinline)) void wait_for_ever(void)
{
    char byte;
    (void)!read(program.to_stuck[0], &byte, 1);
    __asm__ volatile("");
}

static __attribute__((noinline)) void wait_above(void)
{
    wait_for_ever();
    __asm__ volatile("");
}

static void *be_stuck(void *unused)
{
    begin(&program.threads[STUCK]);
    wait_above();
    __asm__ volatile("");
    return unused;
}

static void call_the_system(void)
{
    char bytes[16];
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < PREADS; i++)
        (void)!pread(zero, bytes, sizeof(bytes), 0);
    sn_close(zero);
    sleep_ns(300 * MS);
}

static void play_ping(void)
{
    char byte = 1;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        uint64_t pause_end_ns = now_of(CLOCK_MONOTONIC) + PAUSE_NS;
        while (now_of(CLOCK_MONOTONIC) < pause_end_ns)
            continue;
        if (write(program.ping[1], &byte, 1) != 1 || read(program.pong[0], &byte, 1) != 1)
            break;
    }
}

static void execute_something(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)execl("/bin/true", "true", NULL);
        _exit(1);
    }
    (void)waitpid(child, NULL, 0);
}

static void wait_long(void)
{
    pthread_t threads[STUCK + 1];
    (void)pthread_mutex_lock(&program.lock);
    (void)pthread_create(&threads[STUCK], NULL, be_stuck, NULL);
    (void)pthread_create(&threads[SLEEPER], NULL, be_sleeper, NULL);
    (void)pthread_create(&threads[LOCKED], NULL, be_locked, NULL);
    (void)pthread_create(&threads[READER], NULL, be_reader, NULL);
    (void)pthread_create(&threads[BUSY_A], NULL, be_busy, &program.threads[BUSY_A]);
    (void)pthread_create(&threads[BUSY_B], NULL, be_busy, &program.threads[BUSY_B]);
    while (atomic_load(&program.ready) < 2)
        sleep_ns(MS);
    call_the_system();
    (void)pthread_mutex_unlock(&program.lock);
    (void)!write(program.to_reader[1], "", 1);
    for (int i = SLEEPER; i <= BUSY_B; i++)
        (void)pthread_join(threads[i], NULL);
    execute_something();
}

static void wait_often(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, be_pong, NULL);
    play_ping();
    (void)pthread_join(thread, NULL);
}

static void run_program(enum work work, int report_fd)
{
    (void)pthread_mutex_init(&program.lock, NULL);
    (void)!pipe(program.to_reader);
    (void)!pipe(program.to_stuck);
    (void)!pipe(program.ping);
    (void)!pipe(program.pong);
    begin(&program.threads[MAIN]);
    if (work == LONG_WAITS)
        wait_long();
    else
        wait_often();
    end(&program.threads[MAIN]);
    (void)!write(report_fd, program.threads, sizeof(program.threads));
    wait_above();
}

/* Starts the program; it waits for a byte. */
static pid_t start_program(enum work work, int *ret_go, int *ret_report)
{
    int go[2];
    int report[2];
    char byte;
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(report, O_CLOEXEC | O_NONBLOCK), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        sn_close(go[1]);
        if (read(go[0], &byte, 1) == 1)
            run_program(work, report[1]);
        _exit(1);
    }
    sn_close(go[0]);
    sn_close(report[1]);
    *ret_go = go[1];
    *ret_report = report[0];
    return pid;
}

/* --- the recording --- */

struct seen {
    uint32_t kind; /* enum sn_universal, or SN_UNIVERSAL_COUNT for a tracepoint's */
    uint64_t time_ns;
    uint32_t pid;
    uint32_t tid;
    uint64_t numbers[4];
    uint32_t first_frame;
    uint32_t depth;
};

struct recording {
    struct measured threads[THREAD_COUNT];
    uint32_t pid;
    uint64_t ended_ns;
    struct sn_kernel_state state;
    char note[256];
    struct seen *events;
    size_t count;
    uint64_t *frames;
    size_t frame_count;
    char executed[64];
};

static struct recording recording;

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    (void)sink;
    struct sn_universal_fields fields = {0};
    struct sn_value value;
    int kind = sn_universal_kind(event->schema);
    if (strcmp(event->schema->name, "sched_process_exec") == 0) {
        assert_string_equal(event->schema->provider, "sched");
        assert_true(sn_payload_find(event, "filename", &value));
        (void)snprintf(recording.executed, sizeof(recording.executed), "%.*s", (int)value.size,
                       (const char *)value.bytes);
        kind = SN_UNIVERSAL_COUNT;
    } else if (kind != SN_UNIVERSAL_SWITCH && kind != SN_UNIVERSAL_SYSCALL) {
        return SONDE_OK;
    } else {
        assert_true(sn_universal_decode((enum sn_universal)kind, event, &fields));
    }
    assert_true(recording.count < EVENT_LIMIT);
    assert_true(recording.frame_count + event->stack_depth < FRAME_LIMIT);
    struct seen *seen = &recording.events[recording.count++];
    *seen = (struct seen){.kind = (uint32_t)kind,
                          .time_ns = event->time_ns,
                          .pid = event->pid,
                          .tid = (uint32_t)event->thread_id,
                          .first_frame = (uint32_t)recording.frame_count,
                          .depth = event->stack_depth};
    memcpy(seen->numbers, fields.numbers, sizeof(seen->numbers));
    if (event->stack_depth)
        memcpy(recording.frames + recording.frame_count, event->stack, event->stack_depth * 8ul);
    recording.frame_count += event->stack_depth;
    return SONDE_OK;
}

static void free_nothing(struct sn_sink *sink)
{
    (void)sink;
}

static const struct sn_sink_ops notebook = {
    .name = "notebook", .event = take_event, .free = free_nothing};

static void record_until(struct sn_road *road, struct sn_loop *loop, int go, int report)
{
    struct sonde_error err = {0};
    uint64_t deadline = sn_clock_monotonic_ns() + 60000 * MS;
    bool is_stopped = false;
    assert_int_equal(write(go, "", 1), 1);
    while (!sn_road_is_done(road) && sn_clock_monotonic_ns() < deadline) {
        /* As programs with a loop of their own do it, sonde record among them. */
        struct pollfd mine[] = {{.fd = sn_loop_fd(loop), .events = POLLIN},
                                {.fd = report, .events = POLLIN}};
        (void)poll(mine, is_stopped ? 1 : 2, sn_loop_wait_ms(loop));
        if (sn_loop_turn(loop, 0, &err) != SONDE_OK)
            fail_msg("%s", err.text);
        if (!is_stopped && read(report, recording.threads, sizeof(recording.threads)) > 0) {
            is_stopped = true;
            recording.ended_ns = now_of(CLOCK_MONOTONIC);
            sn_road_stop(road);
        }
    }
    assert_true(is_stopped && sn_road_is_done(road));
}

static bool has_tracefs = true;

static void record_once(enum work work, enum sn_kernel_rung rung)
{
    static const char *const tracepoints[] = {"sched:sched_process_exec"};
    static struct sn_sink sink = {.ops = &notebook};
    SN_AUTO(sn_loop_free) struct sn_loop *loop = NULL;
    SN_AUTO(sn_road_free) struct sn_road *road = NULL;
    SN_AUTO(sn_close) int go = -1;
    SN_AUTO(sn_close) int report = -1;
    struct sn_source *source = NULL;
    struct sonde_error err = {0};
    recording.count = 0;
    recording.frame_count = 0;
    recording.pid = (uint32_t)start_program(work, &go, &report);
    struct sn_kernel_options options = {.rung = rung,
                                        .scope = {.pids = &recording.pid, .pid_count = 1},
                                        .frequency = 99,
                                        .with_switches = true,
                                        .with_wakeups = true,
                                        .with_syscalls = work == LONG_WAITS,
                                        .tracepoints = tracepoints,
                                        .tracepoint_count = has_tracefs};
    if (sn_kernel_new(&options, &source, &err) != SONDE_OK ||
        sn_loop_new(&loop, &err) != SONDE_OK || sn_road_new(loop, NULL, &road, &err) != SONDE_OK ||
        sn_road_subscribe(road, &sn_everything, &sink, true, &err) < 0 ||
        sn_road_add_source(road, source, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    record_until(road, loop, go, report);
    assert_int_equal(sn_road_finish(road, &err), SONDE_OK);
    sn_kernel_state(source, &recording.state);
    (void)snprintf(recording.note, sizeof(recording.note), "%s",
                   recording.state.note ? recording.state.note : "");
    (void)kill((pid_t)recording.pid, SIGKILL);
    (void)waitpid((pid_t)recording.pid, NULL, 0);
}

/* On a machine where everybody wants the CPU at once the rings may run over; that is told, and
 * tried again. */
static void record(enum work work, enum sn_kernel_rung rung)
{
    for (int i = 0; i < 3; i++) {
        record_once(work, rung);
        if (!recording.state.lost)
            return;
        (void)printf("tried again: %llu records were lost\n",
                     (unsigned long long)recording.state.lost);
    }
#ifdef __SANITIZE_ADDRESS__
    (void)puts("skipped: with a sanitizer too slow for what goes on here");
    exit(77);
#endif
}

/* --- what must agree --- */

struct sums {
    uint64_t count;
    uint64_t ns;
    uint64_t queue_ns;
    uint64_t by_reason[SN_OFF_EXITED + 1];
    const struct seen *longest;
};

/* The times off the CPU of a thread that ended while it measured. */
static struct sums sums_of(enum thread_name name)
{
    const struct measured *thread = &recording.threads[name];
    struct sums sums = {0};
    for (size_t i = 0; i < recording.count; i++) {
        const struct seen *seen = &recording.events[i];
        if (seen->kind != SN_UNIVERSAL_SWITCH || seen->tid != thread->tid ||
            seen->time_ns < thread->from_ns || seen->time_ns > thread->to_ns)
            continue;
        assert_int_equal(seen->pid, recording.pid);
        sums.count++;
        sums.ns += seen->numbers[0];
        sums.queue_ns += seen->numbers[1];
        sums.by_reason[seen->numbers[2]] += seen->numbers[0];
        if (!sums.longest || seen->numbers[0] > sums.longest->numbers[0])
            sums.longest = seen;
    }
    return sums;
}

static void expect_all_switches(const char *what, enum thread_name name)
{
    struct sums sums = sums_of(name);
    uint64_t expected = recording.threads[name].switches;
    if (sums.count > expected + 1 || sums.count + 1 < expected)
        fail_msg("%s: counted %llu switches, recorded %llu", what, (unsigned long long)expected,
                 (unsigned long long)sums.count);
}

/* Within three hundredths of the time that went by, and what two clock readings may differ. */
static void expect_agreement(const char *what, enum thread_name name)
{
    const struct measured *thread = &recording.threads[name];
    struct sums sums = sums_of(name);
    uint64_t slack = (thread->to_ns - thread->from_ns) * 3 / 100 + 2 * MS;
    expect_all_switches(what, name);
    if (sums.ns > thread->off_ns + slack || sums.ns + slack < thread->off_ns)
        fail_msg("%s: measured %llu ns off the CPU, recorded %llu in %llu switches", what,
                 (unsigned long long)thread->off_ns, (unsigned long long)sums.ns,
                 (unsigned long long)sums.count);
}

static void waits_agree_with_the_program(void **state)
{
    (void)state;
    expect_agreement("sleeper", SLEEPER);
    expect_agreement("locked", LOCKED);
    expect_agreement("reader", READER);
    expect_agreement("busy a", BUSY_A);
    expect_agreement("busy b", BUSY_B);
    expect_agreement("main", MAIN);
    assert_int_equal(recording.state.lost, 0);
}

static void reasons_are_told_apart(void **state)
{
    (void)state;
    struct sums sleeper = sums_of(SLEEPER);
    struct sums busy = sums_of(BUSY_A);
    assert_true(sleeper.count >= 10);
    assert_true(sleeper.by_reason[SN_OFF_SLEEPING] >= 200 * MS);
    assert_true(busy.by_reason[SN_OFF_PREEMPTED] > 50 * MS);
    assert_true(busy.by_reason[SN_OFF_PREEMPTED] > busy.by_reason[SN_OFF_SLEEPING]);
}

static void time_in_the_run_queue_is_known(void **state)
{
    (void)state;
    struct sums busy = sums_of(BUSY_B);
    struct sums locked = sums_of(LOCKED);
    assert_true(busy.queue_ns >= busy.by_reason[SN_OFF_PREEMPTED]);
    assert_true(locked.longest->numbers[1] > 0);
    assert_true(locked.longest->numbers[1] < locked.longest->numbers[0]);
}

static void who_woke_whom_is_known(void **state)
{
    (void)state;
    assert_int_equal(sums_of(LOCKED).longest->numbers[3], recording.threads[MAIN].tid);
    assert_int_equal(sums_of(READER).longest->numbers[3], recording.threads[MAIN].tid);
    assert_int_equal(sums_of(SLEEPER).longest->numbers[3], 0); /* a timer */
}

static bool has_frame_in(const struct seen *seen, void (*function)(void))
{
    for (uint32_t i = 0; i < seen->depth; i++) {
        uint64_t frame = recording.frames[seen->first_frame + i];
        if (frame > (uintptr_t)function && frame <= (uintptr_t)function + 64)
            return true;
    }
    return false;
}

/* The thread that waits at the end has waited since it began, there. */
static void who_never_came_back_is_told(void **state)
{
    (void)state;
    const struct measured *stuck = &recording.threads[STUCK];
    const struct seen *last = NULL;
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < recording.count; i++) {
        const struct seen *seen = &recording.events[i];
        if (seen->kind != SN_UNIVERSAL_SWITCH || seen->tid != stuck->tid ||
            seen->time_ns < stuck->from_ns)
            continue;
        last = seen;
        sum_ns += seen->numbers[0];
    }
    assert_non_null(last);
    assert_true(last->time_ns >= recording.ended_ns);
    assert_true(last->numbers[0] > 300 * MS);
    assert_true(sum_ns <= last->time_ns - stuck->from_ns);
    assert_true(sum_ns + sum_ns / 33 + 2 * MS > last->time_ns - stuck->from_ns);
    assert_true(has_frame_in(last, wait_above));
    assert_true(sn_universal_is_kernel(recording.frames[last->first_frame]));
}

static void waits_have_stacks(void **state)
{
    (void)state;
    size_t without = 0;
    size_t all = 0;
    for (size_t i = 0; i < recording.count; i++) {
        const struct seen *seen = &recording.events[i];
        all += seen->kind == SN_UNIVERSAL_SWITCH;
        without += seen->kind == SN_UNIVERSAL_SWITCH && !seen->depth;
    }
    assert_true(all > 30);
    assert_true(without <= 2ul * THREAD_COUNT); /* first comings */
    assert_true(recording.state.switches == all);
}

static size_t count_calls(uint64_t number, const struct seen **ret_longest)
{
    size_t count = 0;
    *ret_longest = NULL;
    for (size_t i = 0; i < recording.count; i++) {
        const struct seen *seen = &recording.events[i];
        if (seen->kind != SN_UNIVERSAL_SYSCALL || seen->numbers[0] != number ||
            seen->pid != recording.pid)
            continue;
        count++;
        if (!*ret_longest || seen->numbers[1] > (*ret_longest)->numbers[1])
            *ret_longest = seen;
    }
    return count;
}

static void every_system_call_is_seen_once(void **state)
{
    (void)state;
    const struct seen *longest = NULL;
    const struct measured *whole = &recording.threads[MAIN];
    assert_int_equal(count_calls(SYS_pread64, &longest), PREADS);
    assert_int_equal(longest->numbers[2], 16);
    assert_true(longest->numbers[1] < whole->to_ns - whole->from_ns);
    assert_true(longest->depth > 0);
    (void)count_calls(SYS_clock_nanosleep, &longest);
    assert_int_equal(longest->tid, whole->tid);
    assert_true(longest->numbers[1] >= 300 * MS);
    assert_true(longest->numbers[1] < whole->to_ns - whole->from_ns);
    assert_int_equal(longest->numbers[2], 0);
}

static void calls_in_flight_are_told(void **state)
{
    (void)state;
    size_t in_flight = 0;
    for (size_t i = 0; i < recording.count; i++) {
        const struct seen *seen = &recording.events[i];
        if (seen->kind != SN_UNIVERSAL_SYSCALL || seen->numbers[2] != SN_SYSCALL_IN_FLIGHT ||
            seen->tid != recording.threads[STUCK].tid)
            continue;
        in_flight++;
        assert_int_equal(seen->numbers[0], SYS_read);
        assert_true(seen->numbers[1] > 300 * MS);
        assert_true(has_frame_in(seen, wait_above));
    }
    assert_int_equal(in_flight, 1);
}

/* All that was asked for is there. On a busy machine stacks of waits may be short, which is said;
 * that alone. */
static void expect_nothing_missing(void)
{
    static const char busy[] = "so much happened on the machine";
    if (strncmp(recording.note, busy, strlen(busy)) != 0)
        assert_string_equal(recording.note, "");
    assert_null(strchr(recording.note, ';'));
}

static void a_tracepoint_by_name_is_an_event(void **state)
{
    (void)state;
    assert_string_equal(recording.executed, "/bin/true");
    assert_int_equal(recording.state.tracepoint_events, 1);
    expect_nothing_missing();
}

static void events_are_of_the_scope_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < recording.count; i++) {
        if (recording.events[i].pid != recording.pid) /* the child that executed */
            assert_true(recording.events[i].time_ns > recording.threads[BUSY_A].to_ns);
    }
}

/* As fast as two threads can wake each other: nothing is lost, and every switch is there. */
static void many_switches_are_all_seen(void **state)
{
    (void)state;
    record(SHORT_WAITS, SN_RUNG_MACHINE);
    const struct measured *pong = &recording.threads[PONG];
    print_message("%llu switches in %llu ms\n", (unsigned long long)recording.state.switches,
                  (unsigned long long)((pong->to_ns - pong->from_ns) / MS));
    assert_int_equal(recording.state.lost, 0);
    expect_all_switches("pong", PONG);
    assert_true(recording.state.switches > ROUND_TRIPS / 2);
}

/* --- with fewer rights --- */

/* Becomes nobody, with one capability or none. */
static bool drop_rights(int kept)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    if (prctl(PR_SET_KEEPCAPS, 1) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return false;
    if (kept >= 0)
        data[kept / 32].effective = data[kept / 32].permitted = 1u << (kept % 32);
    return syscall(SYS_capset, &header, data) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static void check_threads_rung(void)
{
    record(LONG_WAITS, SN_RUNG_THREADS);
    waits_agree_with_the_program(NULL);
    reasons_are_told_apart(NULL);
    assert_int_equal(recording.frame_count, 0);
    assert_non_null(strstr(recording.note, "no system calls"));
}

/* Machine-wide, but tracefs is root's: stacks come from the software event. */
static void check_without_tracefs(void)
{
    record(LONG_WAITS, SN_RUNG_MACHINE);
    waits_agree_with_the_program(NULL);
    reasons_are_told_apart(NULL);
    waits_have_stacks(NULL);
    who_never_came_back_is_told(NULL);
    assert_non_null(strstr(recording.note, "tracefs"));
}

static void check_as(int kept, enum sn_kernel_rung rung, void (*check)(void))
{
    const char *why = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        has_tracefs = false;
        if (!drop_rights(kept) || sn_kernel_probe(&why) != rung)
            _exit(2);
        check();
        _exit(0); /* what fails comes back from main */
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip_because("no recording of other processes without rights");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void times_need_no_rights(void **state)
{
    (void)state;
    check_as(-1, SN_RUNG_THREADS, check_threads_rung);
}

static void stacks_need_no_tracefs(void **state)
{
    (void)state;
    check_as(CAP_PERFMON, SN_RUNG_MACHINE, check_without_tracefs);
}

static int record_as_root(void **state)
{
    (void)state;
    record(LONG_WAITS, SN_RUNG_MACHINE);
    return 0;
}

int main(void)
{
    const char *why = NULL;
    recording.events = calloc(EVENT_LIMIT, sizeof(*recording.events));
    recording.frames = calloc(FRAME_LIMIT, sizeof(*recording.frames));
    if (!recording.events || !recording.frames)
        return 1;
    if (sn_kernel_probe(&why) != SN_RUNG_MACHINE || geteuid() != 0) {
        (void)printf("skipped: needs root: %s\n", why);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_agree_with_the_program),
        cmocka_unit_test(reasons_are_told_apart),
        cmocka_unit_test(time_in_the_run_queue_is_known),
        cmocka_unit_test(who_woke_whom_is_known),
        cmocka_unit_test(who_never_came_back_is_told),
        cmocka_unit_test(waits_have_stacks),
        cmocka_unit_test(every_system_call_is_seen_once),
        cmocka_unit_test(calls_in_flight_are_told),
        cmocka_unit_test(a_tracepoint_by_name_is_an_event),
        cmocka_unit_test(events_are_of_the_scope_only),
        cmocka_unit_test(many_switches_are_all_seen),
        cmocka_unit_test(times_need_no_rights),
        cmocka_unit_test(stacks_need_no_tracefs),
    };
    int rc = cmocka_run_group_tests(tests, record_as_root, NULL);
    free(recording.events);
    free(recording.frames);
    return rc;
}
