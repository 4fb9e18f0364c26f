/* Locks of a runtime made by hand: who holds them is told only where it is proved, and who waits
 * for them only where more than a stale word says so. */
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "check.h"
#include "source/memory/contract.h"
#include "source/memory/locks.h"
#include "source/memory/memory_internal.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/thread_state.h"
#include "source/memory/type_system.h"
#include "unit/memory_scene.h"

#define ENTRY   "\"SyncTableEntry\":{\"!\":16,\"SyncBlock\":0,\"Object\":8}"
#define MONITOR "\"MonitorState\":0,\"MonitorRecursion\":4,\"MonitorOwnerOSId\":16,\"SyncIndex\":28"
#define BLOCK   "\"SyncBlock\":{" MONITOR ",\"MonitorOwner\":8}"

#define LOCKS       2u
#define STACK_WORDS 64u
#define STACK_AT    UINT64_C(0x7e0099900000)
#define TRIES       2000u

static struct scene scene;

struct bench {
    struct sn_runtime_memory *runtime;
    struct sn_type_system *types;
    struct sn_managed_thread *managed; /* owns */
    size_t count;
    uint64_t blocks[LOCKS];
    uint64_t stacks[SCENE_THREADS][STACK_WORDS];
    struct sn_thread_state states[SCENE_THREADS];
    struct sn_lock_thread threads[SCENE_THREADS];
    struct sn_lock_list list;
};

/* All threads sleep in a futex, called from managed code that begins in the middle of the stack. */
static void add_threads(struct bench *bench)
{
    for (size_t i = 0; i < SCENE_THREADS; i++) {
        bench->states[i] = (struct sn_thread_state){.how = SN_THREAD_WAITING,
                                                    .syscall = SYS_futex,
                                                    .registers.sp = STACK_AT,
                                                    .stack = (uint8_t *)bench->stacks[i],
                                                    .stack_size = sizeof(bench->stacks[i])};
        bench->threads[i] = (struct sn_lock_thread){.thread = &bench->managed[i],
                                                    .state = &bench->states[i],
                                                    .wait = SN_LOCK_WAIT_UNKNOWN,
                                                    .native_end = STACK_AT + STACK_WORDS * 4ull};
    }
}

static void open_bench(struct bench *bench, const char *types)
{
    struct sonde_error err = {0};
    bool is_partial;
    char json[512];
    *bench = (struct bench){0};
    scene_make(&scene, 7, NULL, 0);
    uint64_t variable = scene_room(&scene, 8);
    uint64_t table = scene_room(&scene, (LOCKS + 1) * 16 + 2048);
    scene_put(&scene, variable, 8, table);
    for (uint32_t i = 0; i < LOCKS; i++) {
        bench->blocks[i] = scene_room(&scene, 128);
        scene_put(&scene, table + (i + 1) * 16ull, 8, bench->blocks[i]);
        scene_put(&scene, table + (i + 1) * 16ull + 8, 8, scene_room(&scene, 32) + 8);
        scene_put(&scene, bench->blocks[i] + 28, 4, i + 1);
    }
    struct sn_memory *memory = scene_memory(scene_read, &scene);
    assert_non_null(memory);
    if (sn_runtime_memory_open(memory, &bench->runtime, &err) != SONDE_OK ||
        sn_type_system_new(bench->runtime, &bench->types, &err) != SONDE_OK ||
        sn_runtime_memory_threads(bench->runtime, &bench->managed, &bench->count, &is_partial,
                                  &err) != SONDE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(bench->count, SCENE_THREADS);
    int size =
        snprintf(json, sizeof(json),
                 "{\"types\":{%s},\"globals\":{\"SyncTableEntries\":[[0],\"pointer\"]}}", types);
    assert_int_equal(
        sn_contract_add(bench->runtime->contract, json, (size_t)size, &variable, 1, &err),
        SONDE_OK);
    add_threads(bench);
}

static void close_bench(struct bench *bench)
{
    sn_locks_done(&bench->list);
    sn_type_system_free(bench->types);
    sn_runtime_memory_free(bench->runtime);
    free(bench->managed);
}

static void hold(const struct bench *bench, size_t lock, size_t thread, uint32_t waiters)
{
    scene_put(&scene, bench->blocks[lock], 4, 1u | waiters << 6);
    scene_put(&scene, bench->blocks[lock] + 4, 4, 1);
    scene_put(&scene, bench->blocks[lock] + 8, 8, bench->managed[thread].address);
    scene_put(&scene, bench->blocks[lock] + 16, 8, bench->managed[thread].os_id);
}

/* Two pointers to a lock, from that word of a thread's stack on. */
static void point(struct bench *bench, size_t thread, size_t lock, size_t word)
{
    bench->stacks[thread][word] = bench->blocks[lock];
    bench->stacks[thread][word + 3] = bench->blocks[lock];
}

static void look(struct bench *bench)
{
    sn_locks_done(&bench->list);
    sn_memory_forget(bench->runtime->memory);
    assert_int_equal(sn_locks_read(bench->runtime, bench->types, NULL, bench->threads, bench->count,
                                   &bench->list),
                     SONDE_OK);
}

static void an_owner_is_named_twice(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, ENTRY "," BLOCK);
    hold(&bench, 0, 1, 0);
    look(&bench);
    assert_int_equal(bench.list.count, 1);
    assert_int_equal(bench.list.locks[0].owner, 2);
    assert_int_equal(bench.list.locks[0].owner_id, bench.managed[1].os_id);
    assert_int_equal(bench.list.locks[0].depth, 1);
    assert_string_equal(bench.list.remark, "");
    scene_put(&scene, bench.blocks[0] + 8, 8, bench.managed[2].address);
    look(&bench);
    assert_int_equal(bench.list.count, 0);
    close_bench(&bench);
}

static void an_entry_has_room_for_a_pointer(void **state)
{
    (void)state;
    for (unsigned size = 0; size < 8; size++) {
        struct bench bench;
        char types[256];
        (void)snprintf(types, sizeof(types),
                       "\"SyncTableEntry\":{\"!\":%u,\"SyncBlock\":1073741824,\"Object\":0}," BLOCK,
                       size);
        open_bench(&bench, types);
        look(&bench);
        assert_int_equal(bench.list.count, 0);
        assert_non_null(strstr(bench.list.remark, "does not tell"));
        close_bench(&bench);
    }
}

static void waiters_are_found_on_their_stacks(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, ENTRY "," BLOCK);
    hold(&bench, 0, 0, 2);
    point(&bench, 1, 0, 5);
    look(&bench);
    assert_int_equal(bench.list.waits_for[1], 1);
    assert_int_equal(bench.list.locks[0].waiter_count, 1);
    bench.stacks[1][8] = 0; /* one is not enough */
    look(&bench);
    assert_int_equal(bench.list.waits_for[1], 0);
    bench.threads[1].wait = SN_LOCK_WAIT_MONITOR; /* unless its frames say the same */
    look(&bench);
    assert_int_equal(bench.list.waits_for[1], 1);
    close_bench(&bench);
}

static void what_is_waited_for_is_told_before_what_is_only_held(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, ENTRY "," BLOCK);
    hold(&bench, 0, 0, 0);
    hold(&bench, 1, 2, 1);
    point(&bench, 1, 1, 5);
    look(&bench);
    assert_int_equal(bench.list.count, 2);
    assert_int_equal(bench.list.locks[0].owner, 3);
    assert_int_equal(bench.list.locks[0].waiter_count, 1);
    assert_int_equal(bench.list.waits_for[1], 1);
    assert_int_equal(bench.list.locks[1].owner, 1);
    close_bench(&bench);
}

/* What contended for a lock before, and now does something else. */
static void stale_words_make_no_waiters(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, ENTRY "," BLOCK);
    hold(&bench, 0, 0, 2);
    point(&bench, 1, 0, 40); /* in managed frames */
    look(&bench);
    assert_int_equal(bench.list.waits_for[1], 0);
    point(&bench, 1, 0, 5);
    bench.threads[1].native_end = 0; /* not known */
    look(&bench);
    assert_int_equal(bench.list.waits_for[1], 0);
    bench.threads[1].native_end = STACK_AT + 256;
    bench.states[1].syscall = SYS_epoll_wait;
    look(&bench);
    assert_int_equal(bench.list.waits_for[1], 0);
    bench.states[1].syscall = SYS_futex;
    bench.threads[1].wait = SN_LOCK_WAIT_OTHER;
    look(&bench);
    assert_int_equal(bench.list.waits_for[1], 0);
    bench.threads[1].wait = SN_LOCK_WAIT_UNKNOWN;
    look(&bench);
    assert_int_equal(bench.list.waits_for[1], 1);
    close_bench(&bench);
}

static void a_lock_has_no_more_waiters_than_it_counts(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, ENTRY "," BLOCK);
    hold(&bench, 0, 0, 1);
    point(&bench, 1, 0, 5);
    point(&bench, 2, 0, 5);
    look(&bench);
    assert_int_equal(bench.list.waiter_count, 0);
    bench.threads[1].wait = SN_LOCK_WAIT_MONITOR;
    look(&bench);
    assert_int_equal(bench.list.waiter_count, 1);
    assert_int_equal(bench.list.waits_for[1], 1);
    assert_int_equal(bench.list.waits_for[2], 0);
    close_bench(&bench);
}

static void a_circle_is_a_deadlock(void **state)
{
    struct bench bench;
    (void)state;
    open_bench(&bench, ENTRY "," BLOCK);
    hold(&bench, 0, 0, 1);
    hold(&bench, 1, 1, 1);
    point(&bench, 0, 1, 5);
    point(&bench, 1, 0, 5);
    look(&bench);
    assert_int_equal(bench.list.deadlocks, 1);
    bench.states[1].has_timeout = true; /* it tries for a while, and will give up */
    look(&bench);
    assert_int_equal(bench.list.deadlocks, 0);
    bench.states[1].has_timeout = false;
    bench.threads[0].wait = SN_LOCK_WAIT_OTHER; /* it sleeps, and will go on */
    look(&bench);
    assert_int_equal(bench.list.deadlocks, 0);
    close_bench(&bench);
}

/* A thread of ours that sleeps in a futex until it is woken, and then sleeps again. */
struct sleeper {
    pthread_t thread;
    atomic_uint tid;
    atomic_uint word; /* which of its sleeps it is in */
    atomic_bool is_over;
};

static void *sleep_again_and_again(void *user)
{
    struct sleeper *sleeper = user;
    atomic_store(&sleeper->tid, (unsigned)gettid());
    while (!atomic_load(&sleeper->is_over)) {
        unsigned word = atomic_load(&sleeper->word);
        (void)syscall(SYS_futex, &sleeper->word, FUTEX_WAIT, word, NULL, NULL, 0);
    }
    return NULL;
}

static void wake(struct sleeper *sleeper)
{
    atomic_fetch_add(&sleeper->word, 1);
    (void)syscall(SYS_futex, &sleeper->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Looks at it, as whoever reads stacks does, when it has been switched away after `switches`. */
static void look_at_sleeper(struct bench *bench, size_t thread, const struct sleeper *sleeper,
                            uint64_t switches)
{
    struct sn_thread_state seen;
    bool is_asleep = false;
    for (unsigned i = 0; i < TRIES && !is_asleep; i++) {
        sn_thread_state_read(bench->runtime->memory, (uint32_t)getpid(), atomic_load(&sleeper->tid),
                             false, &seen);
        is_asleep =
            seen.how == SN_THREAD_WAITING && seen.syscall == SYS_futex && seen.switches > switches;
        bench->states[thread].switches = seen.switches;
        sn_thread_state_done(&seen);
        if (!is_asleep)
            (void)poll(NULL, 0, 5);
    }
    assert_true(is_asleep);
    bench->threads[thread].tid = atomic_load(&sleeper->tid);
}

/* Threads are looked at one after the other: what the first waited for when it was looked at is no
 * part of a circle if it has gone on when the second is. */
static void waits_of_different_times_are_no_deadlock(void **state)
{
    struct bench bench;
    struct sleeper sleepers[2] = {0};
    (void)state;
    open_bench(&bench, ENTRY "," BLOCK);
    bench.runtime->memory->pid = (uint32_t)getpid();
    hold(&bench, 0, 0, 1);
    hold(&bench, 1, 1, 1);
    point(&bench, 0, 1, 5);
    point(&bench, 1, 0, 5);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            pthread_create(&sleepers[i].thread, NULL, sleep_again_and_again, &sleepers[i]), 0);
        look_at_sleeper(&bench, i, &sleepers[i], 0);
    }
    look(&bench);
    assert_int_equal(bench.list.deadlocks, 1);
    uint64_t seen = bench.states[0].switches;
    wake(&sleepers[0]);
    look_at_sleeper(&bench, 0, &sleepers[0], seen);
    look(&bench);
    assert_int_equal(bench.list.deadlocks, 1); /* both were looked at since */
    bench.states[0].switches = seen;
    look(&bench);
    assert_int_equal(bench.list.deadlocks, 0);
    assert_int_equal(bench.list.waits_for[0], 2); /* which is told as what was seen */
    for (size_t i = 0; i < 2; i++) {
        atomic_store(&sleepers[i].is_over, true);
        wake(&sleepers[i]);
        assert_int_equal(pthread_join(sleepers[i].thread, NULL), 0);
    }
    close_bench(&bench);
}

static void frames_tell_what_is_waited_for(void **state)
{
    static const struct {
        const char *type;
        const char *method;
        enum sn_lock_wait wait;
    } cases[] = {
        {"System.Threading.Monitor", "Enter_Slowpath", SN_LOCK_WAIT_MONITOR},
        {"System.Threading.Monitor", "Wait", SN_LOCK_WAIT_PULSE},
        {"System.Threading.Lock", "TryEnterSlow", SN_LOCK_WAIT_LOCK},
        {"System.Threading.Thread", "SleepInternal", SN_LOCK_WAIT_OTHER},
        {"System.Threading.Thread", "StartCallback", SN_LOCK_WAIT_NONE},
        {"System.Threading.WaitHandle", "WaitOneNoCheck", SN_LOCK_WAIT_OTHER},
        {"System.Threading.LowLevelLifoSemaphore", "WaitNative", SN_LOCK_WAIT_OTHER},
        {"Shop.Orders", "Place", SN_LOCK_WAIT_NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(sn_lock_wait_of_frame(cases[i].type, cases[i].method), cases[i].wait);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_is_named_twice),
        cmocka_unit_test(an_entry_has_room_for_a_pointer),
        cmocka_unit_test(waiters_are_found_on_their_stacks),
        cmocka_unit_test(what_is_waited_for_is_told_before_what_is_only_held),
        cmocka_unit_test(stale_words_make_no_waiters),
        cmocka_unit_test(a_lock_has_no_more_waiters_than_it_counts),
        cmocka_unit_test(a_circle_is_a_deadlock),
        cmocka_unit_test(waits_of_different_times_are_no_deadlock),
        cmocka_unit_test(frames_tell_what_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
