/* System calls from their two ends. */
#include "check.h"

#include <errno.h>
#include <sys/syscall.h>

#include "format/universal.h"
#include "source/perf/syscall_pairs.h"

static const uint64_t frames[] = {0x1000, 0x2000};

static void enters(struct sn_syscall_pairs *pairs, uint32_t tid, uint64_t number, uint64_t time_ns)
{
    struct sn_syscall call = {.pid = 5, .tid = tid, .number = number, .stack = frames, .depth = 2};
    sn_syscall_pairs_enter(pairs, &call, time_ns);
}

static struct sn_syscall end_of(uint32_t tid, uint64_t number, int64_t result)
{
    return (struct sn_syscall){.pid = 5, .tid = tid, .number = number, .result = (uint64_t)result};
}

static void a_call_has_two_ends(void **state)
{
    (void)state;
    struct sn_syscall_pairs pairs = sn_syscall_pairs_of_nobody();
    enters(&pairs, 7, SYS_read, 1000);
    enters(&pairs, 8, SYS_futex, 1200);
    struct sn_syscall call = end_of(7, SYS_read, -EAGAIN);
    assert_true(sn_syscall_pairs_exit(&pairs, &call, 100, 1500));
    assert_int_equal(call.number, SYS_read);
    assert_int_equal(call.ns, 500);
    assert_int_equal((int64_t)call.result, -EAGAIN);
    assert_int_equal(call.depth, 2);
    assert_memory_equal(call.stack, frames, sizeof(frames));
    call = end_of(7, SYS_read, 1);
    assert_false(sn_syscall_pairs_exit(&pairs, &call, 100, 1600)); /* an end too many */
    sn_syscall_pairs_done(&pairs);
}

static void a_signals_return_has_no_number_at_its_end(void **state)
{
    (void)state;
    struct sn_syscall_pairs pairs = sn_syscall_pairs_of_nobody();
    enters(&pairs, 7, SYS_rt_sigreturn, 1000);
    struct sn_syscall call = end_of(7, UINT64_MAX, 0);
    assert_true(sn_syscall_pairs_exit(&pairs, &call, 100, 1500));
    assert_int_equal(call.number, SYS_rt_sigreturn);
    sn_syscall_pairs_done(&pairs);
}

/* Where records were lost two halves of different calls must not become one. */
static void halves_of_different_calls_are_no_call(void **state)
{
    (void)state;
    struct sn_syscall_pairs pairs = sn_syscall_pairs_of_nobody();
    enters(&pairs, 7, SYS_read, 1000);
    struct sn_syscall call = end_of(7, SYS_write, 1);
    assert_false(sn_syscall_pairs_exit(&pairs, &call, 100, 1500));
    call = end_of(7, SYS_read, 1);
    assert_false(sn_syscall_pairs_exit(&pairs, &call, 100, 1600));
    sn_syscall_pairs_done(&pairs);
}

static void a_call_from_before_the_start_counts_from_there(void **state)
{
    (void)state;
    struct sn_syscall_pairs pairs = sn_syscall_pairs_of_nobody();
    struct sn_syscall call = end_of(7, SYS_read, 1);
    assert_true(sn_syscall_pairs_exit(&pairs, &call, 100, 1100));
    assert_int_equal(call.ns, 1000);
    assert_int_equal(call.depth, 0);
    call = end_of(7, SYS_read, 1); /* the thread is known by now */
    assert_false(sn_syscall_pairs_exit(&pairs, &call, 100, 1200));
    call = end_of(8, SYS_read, 1);
    assert_false(sn_syscall_pairs_exit(&pairs, &call, 0, 1200));
    call = end_of(9, SYS_clone3, 0); /* born */
    assert_false(sn_syscall_pairs_exit(&pairs, &call, 100, 1200));
    call = end_of(10, SYS_clone3, 4711); /* gave birth */
    assert_true(sn_syscall_pairs_exit(&pairs, &call, 100, 1200));
    sn_syscall_pairs_done(&pairs);
}

static void calls_in_flight_are_told_at_the_end(void **state)
{
    (void)state;
    struct sn_syscall_pairs pairs = sn_syscall_pairs_of_nobody();
    struct sn_syscall call = end_of(6, SYS_read, 0);
    size_t place = 0;
    enters(&pairs, 6, SYS_read, 1000);
    enters(&pairs, 7, SYS_futex, 1000);
    enters(&pairs, 8, SYS_exit, 1000);
    sn_syscall_pairs_ended(&pairs, 8);
    assert_true(sn_syscall_pairs_exit(&pairs, &call, 100, 2000));
    assert_true(sn_syscall_pairs_in_flight(&pairs, 9000, &place, &call));
    assert_int_equal(call.pid, 5);
    assert_int_equal(call.tid, 7);
    assert_int_equal(call.number, SYS_futex);
    assert_int_equal(call.ns, 8000);
    assert_true(call.result == SN_SYSCALL_IN_FLIGHT);
    assert_int_equal(call.depth, 2);
    assert_false(sn_syscall_pairs_in_flight(&pairs, 9000, &place, &call));
    sn_syscall_pairs_done(&pairs);
}

static void what_was_lost_is_not_counted_as_a_call(void **state)
{
    (void)state;
    struct sn_syscall_pairs pairs = sn_syscall_pairs_of_nobody();
    struct sn_syscall call = end_of(7, SYS_futex, 0);
    size_t place = 0;
    enters(&pairs, 7, SYS_futex, 1000);
    sn_syscall_pairs_doubt(&pairs);
    assert_false(sn_syscall_pairs_in_flight(&pairs, 9000, &place, &call));
    call = end_of(7, SYS_futex, 0); /* of a later call, whose beginning was lost */
    assert_false(sn_syscall_pairs_exit(&pairs, &call, 100, 9000));
    sn_syscall_pairs_done(&pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_has_two_ends),
        cmocka_unit_test(a_signals_return_has_no_number_at_its_end),
        cmocka_unit_test(halves_of_different_calls_are_no_call),
        cmocka_unit_test(a_call_from_before_the_start_counts_from_there),
        cmocka_unit_test(calls_in_flight_are_told_at_the_end),
        cmocka_unit_test(what_was_lost_is_not_counted_as_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
