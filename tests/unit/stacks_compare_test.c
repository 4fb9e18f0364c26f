/* Stacks of one moment beside those of a moment before, and threads that are in the same place. */
#include "check.h"

#include <stdlib.h>

#include "api/stacks_internal.h"

#define SECOND 1000000000ull

static struct sonde_stacks stacks_at(uint64_t second, struct sonde_stack_thread *threads,
                                     size_t count)
{
    return (struct sonde_stacks){
        .utc_ns = second * SECOND, .threads = threads, .thread_count = count};
}

static struct sonde_stack_thread thread(uint64_t id, int doing, uint64_t moves)
{
    return (struct sonde_stack_thread){.thread_id = id, .doing = doing, .moves = moves};
}

enum { WAITING = SONDE_THREAD_WAITING, RUNNING = SONDE_THREAD_RUNNING };

static void who_does_not_run_is_told_with_all_the_time_that_was_seen(void **state)
{
    (void)state;
    struct sonde_stack_thread first[] = {thread(1, WAITING, 5), thread(2, WAITING, 5)};
    struct sonde_stack_thread second[] = {thread(1, WAITING, 5), thread(2, WAITING, 6)};
    struct sonde_stack_thread third[] = {thread(1, WAITING, 5), thread(2, WAITING, 6)};
    struct sonde_stacks stacks[] = {stacks_at(10, first, 2), stacks_at(12, second, 2),
                                    stacks_at(15, third, 2)};
    sonde_stacks_compare(&stacks[1], &stacks[0]);
    sonde_stacks_compare(&stacks[2], &stacks[1]);
    assert_true(second[0].still_ns == 2 * SECOND);
    assert_true(second[1].still_ns == 0);
    assert_true(third[0].still_ns == 5 * SECOND);
    assert_true(third[1].still_ns == 3 * SECOND);
}

/* One on a CPU of its own is never switched. */
static void who_runs_moves_though_the_kernel_does_not_switch_it(void **state)
{
    (void)state;
    struct sonde_stack_thread first[] = {thread(1, RUNNING, 5), thread(2, WAITING, 5),
                                         thread(3, RUNNING, 5), thread(4, WAITING, 0)};
    struct sonde_stack_thread second[] = {thread(1, RUNNING, 5), thread(2, RUNNING, 5),
                                          thread(3, WAITING, 5), thread(4, WAITING, 0)};
    struct sonde_stacks before = stacks_at(10, first, 4);
    struct sonde_stacks now = stacks_at(11, second, 4);
    sonde_stacks_compare(&now, &before);
    for (size_t i = 0; i < 4; i++)
        assert_true(second[i].still_ns == 0);
}

static void threads_come_and_go_between_two_looks(void **state)
{
    (void)state;
    struct sonde_stack_thread first[] = {thread(2, WAITING, 5), thread(4, WAITING, 5)};
    struct sonde_stack_thread second[] = {thread(1, WAITING, 5), thread(3, WAITING, 5),
                                          thread(4, WAITING, 5)};
    struct sonde_stacks before = stacks_at(10, first, 2);
    struct sonde_stacks now = stacks_at(11, second, 3);
    sonde_stacks_compare(&now, &before);
    assert_true(second[0].still_ns == 0 && second[1].still_ns == 0);
    assert_true(second[2].still_ns == SECOND);
}

static void one_place_is_the_same_methods_at_the_same_lines(void **state)
{
    (void)state;
    static const char name[] = "Main";
    static const char other[] = "Other";
    const struct sonde_stack_frame frames[][2] = {
        {{.name = name, .line = 7}, {.name = name, .line = 9}},
        {{.name = name, .line = 7}, {.name = name, .line = 10}}, /* another line of the caller */
        {{.name = name, .line = 7}, {.name = name, .line = 9}},
        {{.name = name, .line = 7}, {.name = other, .line = 9}},
    };
    struct sonde_stack_thread threads[6];
    for (unsigned i = 0; i < 6; i++) {
        threads[i] = thread(i + 1, WAITING, 1);
        threads[i].frames = frames[i % 4];
        threads[i].frame_count = i == 5 ? 1 : 2; /* the last one's caller is not known */
    }
    struct sonde_stacks stacks = stacks_at(10, threads, 6);
    assert_int_equal(sn_stacks_group(&stacks, NULL), 0);
    assert_int_equal(stacks.group_count, 4);
    assert_int_equal(stacks.groups[0].thread_count, 3);
    const uint32_t largest[] = {0, 2, 4};
    assert_memory_equal(stacks.groups[0].threads, largest, sizeof(largest));
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(stacks.groups[i].thread_count, 1);
    free(stacks.groups);
    free(stacks.members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_does_not_run_is_told_with_all_the_time_that_was_seen),
        cmocka_unit_test(who_runs_moves_though_the_kernel_does_not_switch_it),
        cmocka_unit_test(threads_come_and_go_between_two_looks),
        cmocka_unit_test(one_place_is_the_same_methods_at_the_same_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
