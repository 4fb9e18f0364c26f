/* Times off the CPU from switches, stacks and wake-ups as the kernel tells them. */
#include "check.h"

#include <string.h>

#include "format/universal.h"
#include "source/perf/off_cpu.h"

#define RUNNING         0
#define INTERRUPTIBLE   1
#define UNINTERRUPTIBLE 2
#define STOPPED         4
#define DEAD            0x10
#define ZOMBIE          0x20
#define PREEMPTED       0x100

static const uint64_t frames[] = {0xFFFFFFFF81000000u, 0x1000, 0x2000};

static struct sn_off_time thread_7(void)
{
    return (struct sn_off_time){.pid = 5, .tid = 7, .stack = frames, .depth = 3};
}

static void sleeps(struct sn_off_cpu *off, int64_t state, uint64_t time_ns)
{
    struct sn_off_time who = thread_7();
    sn_off_cpu_leaves(off, &who, time_ns - 10, state);
    sn_off_cpu_left(off, 5, 7, time_ns, state == RUNNING || state == PREEMPTED);
}

static bool comes_back(struct sn_off_cpu *off, uint32_t pid, uint32_t tid, uint64_t time_ns,
                       struct sn_off_time *ret_time)
{
    struct sn_off_time who = {.pid = pid, .tid = tid};
    return sn_off_cpu_back(off, &who, 100, time_ns, ret_time);
}

static void a_wait_has_its_stack_waker_and_queue(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    struct sn_off_time time;
    sleeps(&off, INTERRUPTIBLE, 1000);
    sn_off_cpu_woken(&off, 7, 5000, 9);
    sn_off_cpu_woken(&off, 7, 5500, 11); /* the first did it */
    assert_true(comes_back(&off, 5, 7, 6000, &time));
    assert_int_equal(time.pid, 5);
    assert_int_equal(time.tid, 7);
    assert_int_equal(time.ns, 5000);
    assert_int_equal(time.queue_ns, 1000);
    assert_int_equal(time.reason, SN_OFF_SLEEPING);
    assert_int_equal(time.waker, 9);
    assert_int_equal(time.depth, 3);
    assert_memory_equal(time.stack, frames, sizeof(frames));
    assert_false(comes_back(&off, 5, 7, 7000, &time)); /* it never left */
    sn_off_cpu_done(&off);
}

static void reasons_come_from_the_state(void **state)
{
    (void)state;
    static const int64_t states[] = {RUNNING, PREEMPTED, INTERRUPTIBLE, UNINTERRUPTIBLE,
                                     STOPPED, 0x102,     0x80,          2048};
    static const uint32_t reasons[] = {SN_OFF_PREEMPTED, SN_OFF_PREEMPTED, SN_OFF_SLEEPING,
                                       SN_OFF_DISK,      SN_OFF_STOPPED,   SN_OFF_DISK,
                                       SN_OFF_SLEEPING,  SN_OFF_PREEMPTED};
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        struct sn_off_time time;
        sleeps(&off, states[i], 1000 + i * 100);
        assert_true(comes_back(&off, 5, 7, 1050 + i * 100, &time));
        assert_int_equal(time.reason, reasons[i]);
        assert_int_equal(time.queue_ns, time.reason == SN_OFF_PREEMPTED ? 50 : 0);
    }
    sn_off_cpu_done(&off);
}

static void without_tracefs_the_record_tells_who_could_run(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    struct sn_off_time time;
    struct sn_off_time who = thread_7();
    sn_off_cpu_leaves(&off, &who, 990, SN_OFF_STATE_UNKNOWN);
    sn_off_cpu_left(&off, 5, 7, 1000, true);
    assert_true(comes_back(&off, 5, 7, 2000, &time));
    assert_int_equal(time.reason, SN_OFF_PREEMPTED);
    assert_int_equal(time.ns, 1000);
    assert_int_equal(time.depth, 3);
    sn_off_cpu_left(&off, 5, 7, 3000, false); /* and no stack: without privileges */
    assert_true(comes_back(&off, 5, 7, 4000, &time));
    assert_int_equal(time.reason, SN_OFF_SLEEPING);
    assert_int_equal(time.ns, 1000);
    assert_int_equal(time.depth, 0);
    sn_off_cpu_done(&off);
}

static void who_was_away_at_the_start_is_counted_from_there(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    struct sn_off_time time;
    assert_true(comes_back(&off, 5, 7, 1100, &time));
    assert_int_equal(time.ns, 1000);
    assert_int_equal(time.reason, SN_OFF_UNKNOWN);
    assert_int_equal(time.depth, 0);
    sn_off_cpu_born(&off, 5, 8, 2000); /* but not who was made later */
    assert_true(comes_back(&off, 5, 8, 2300, &time));
    assert_int_equal(time.ns, 300);
    assert_int_equal(time.queue_ns, 300);
    sn_off_cpu_done(&off);
}

static void those_still_away_are_told_at_the_end(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    struct sn_off_time time;
    size_t place = 0;
    sleeps(&off, INTERRUPTIBLE, 1000);
    (void)comes_back(&off, 5, 8, 1500, &time); /* runs */
    sn_off_cpu_left(&off, 5, 9, 2000, false);
    sn_off_cpu_left(&off, 5, 10, 2000, false);
    sn_off_cpu_ended(&off, 10);
    assert_true(sn_off_cpu_still(&off, 5000, &place, &time));
    assert_int_equal(time.tid, 7);
    assert_int_equal(time.ns, 4000);
    assert_int_equal(time.depth, 3);
    assert_true(sn_off_cpu_still(&off, 5000, &place, &time));
    assert_int_equal(time.tid, 9);
    assert_int_equal(time.ns, 3000);
    assert_false(sn_off_cpu_still(&off, 5000, &place, &time));
    sn_off_cpu_done(&off);
}

static void the_dead_do_not_wait(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    struct sn_off_time time;
    size_t place = 0;
    sleeps(&off, INTERRUPTIBLE, 500);
    struct sn_off_time who = thread_7();
    sn_off_cpu_leaves(&off, &who, 1000, ZOMBIE);
    sn_off_cpu_left(&off, 5, 7, 1001, false);
    assert_false(sn_off_cpu_still(&off, 5000, &place, &time));
    sn_off_cpu_leaves(&off, &who, 1000, DEAD);
    place = 0;
    assert_false(sn_off_cpu_still(&off, 5000, &place, &time));
    sn_off_cpu_done(&off);
}

static void nobodys_threads_are_none(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    struct sn_off_time time;
    sn_off_cpu_left(&off, 0, 0, 1000, true);
    assert_false(comes_back(&off, 0, 0, 2000, &time));
    assert_false(comes_back(&off, UINT32_MAX, UINT32_MAX, 2000, &time));
    sn_off_cpu_woken(&off, 4711, 2000, 1); /* of a process that is not in scope */
    assert_int_equal(off.threads.by_tid.count, 0);
    sn_off_cpu_done(&off);
}

static void time_that_runs_backwards_is_nothing(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    struct sn_off_time time;
    sleeps(&off, INTERRUPTIBLE, 1000);
    sn_off_cpu_woken(&off, 7, 2000, 9);
    assert_false(comes_back(&off, 5, 7, 900, &time));
    assert_int_equal(time.ns, 0);
    assert_int_equal(time.queue_ns, 0);
    sn_off_cpu_done(&off);
}

/* Threads come and go for days: what they held serves the next ones. */
static void memory_is_that_of_the_threads_alive(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    uint64_t deep[200] = {0};
    for (uint32_t tid = 1; tid <= 100000; tid++) {
        struct sn_off_time who = {.pid = 5, .tid = tid, .stack = deep, .depth = 200};
        sn_off_cpu_leaves(&off, &who, tid, INTERRUPTIBLE);
        if (tid > 10)
            sn_off_cpu_ended(&off, tid - 10);
    }
    assert_int_equal(off.threads.by_tid.count, 10);
    assert_true(off.threads.count <= 11);
    assert_int_equal(off.threads.stack_bytes, off.threads.count * SN_THREAD_STACK_MAX * 8);
    assert_int_equal(off.threads.refused, 0);
    struct sn_off_time time;
    assert_true(comes_back(&off, 5, 100000, 200000, &time));
    assert_int_equal(time.depth, SN_THREAD_STACK_MAX);
    sn_off_cpu_done(&off);
}

static void more_threads_than_there_is_room_for_are_counted(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    for (uint32_t tid = 1; tid <= (1u << 17) + 5; tid++)
        sn_off_cpu_left(&off, 5, tid, tid, false);
    assert_int_equal(off.threads.refused, 5);
    sn_off_cpu_done(&off);
}

static void waits_whose_stacks_find_no_room_are_counted(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    uint64_t deep[SN_THREAD_STACK_MAX] = {0};
    const uint32_t room = (64u << 20) / sizeof(deep);
    for (uint32_t tid = 1; tid <= room + 5; tid++) {
        struct sn_off_time who = {.pid = 5, .tid = tid, .stack = deep, .depth = 160};
        sn_off_cpu_leaves(&off, &who, tid, INTERRUPTIBLE);
    }
    assert_int_equal(off.threads.refused, 5);
    struct sn_off_time time;
    assert_true(comes_back(&off, 5, room, 200000, &time));
    assert_int_equal(time.depth, SN_THREAD_STACK_MAX);
    assert_true(comes_back(&off, 5, room + 1, 200000, &time)); /* its time counts all the same */
    assert_int_equal(time.depth, 0);
    sn_off_cpu_done(&off);
}

static void what_was_lost_is_not_counted_as_a_wait(void **state)
{
    (void)state;
    struct sn_off_cpu off = sn_off_cpu_of_nobody();
    struct sn_off_time time;
    size_t place = 0;
    sleeps(&off, INTERRUPTIBLE, 1000);
    sn_off_cpu_doubt(&off);
    assert_false(sn_off_cpu_still(&off, 8000, &place, &time));
    assert_false(comes_back(&off, 5, 7, 9000, &time));
    sleeps(&off, INTERRUPTIBLE, 10000);
    assert_true(comes_back(&off, 5, 7, 10500, &time));
    assert_int_equal(time.ns, 500);
    struct sn_off_time stranger = {.pid = 5, .tid = 8}; /* its beginning may be among the lost */
    assert_false(sn_off_cpu_back(&off, &stranger, 0, 11000, &time));
    sn_off_cpu_done(&off);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_has_its_stack_waker_and_queue),
        cmocka_unit_test(reasons_come_from_the_state),
        cmocka_unit_test(without_tracefs_the_record_tells_who_could_run),
        cmocka_unit_test(who_was_away_at_the_start_is_counted_from_there),
        cmocka_unit_test(those_still_away_are_told_at_the_end),
        cmocka_unit_test(the_dead_do_not_wait),
        cmocka_unit_test(nobodys_threads_are_none),
        cmocka_unit_test(time_that_runs_backwards_is_nothing),
        cmocka_unit_test(memory_is_that_of_the_threads_alive),
        cmocka_unit_test(more_threads_than_there_is_room_for_are_counted),
        cmocka_unit_test(waits_whose_stacks_find_no_room_are_counted),
        cmocka_unit_test(what_was_lost_is_not_counted_as_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
