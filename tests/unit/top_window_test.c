/* The last seconds of a live view: what is added together, what leaves, what finds no room. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "api/top_window.h"
#include "base/clock.h"
#include "sonde/error.h"

#define SECOND ((uint64_t)SN_NS_PER_SECOND)
#define START  (1000u * SECOND)

static const uint64_t frames_a[] = {1, 2, 3};
static const uint64_t frames_b[] = {1, 2, 4};

static void add(struct sn_top_window *window, uint32_t pid, const uint64_t *frames, uint32_t depth,
                uint64_t time_ns)
{
    sn_top_window_add(window, &(struct sn_top_stack){.pid = pid,
                                                     .kind = SN_TOP_RUN,
                                                     .depth = depth,
                                                     .weight_ns = 10,
                                                     .ready_ns = 1,
                                                     .last_ns = time_ns,
                                                     .frames = frames});
}

struct seen {
    size_t stacks;
    size_t with_frames;
    uint64_t weight_ns;
    uint64_t ready_ns;
    uint64_t last_frame_sum;
};

static void see(void *user, const struct sn_top_stack *stack)
{
    struct seen *seen = user;
    seen->stacks++;
    seen->with_frames += stack->depth > 0;
    seen->weight_ns += stack->weight_ns;
    seen->ready_ns += stack->ready_ns;
    if (stack->depth)
        seen->last_frame_sum += stack->frames[stack->depth - 1];
}

static struct seen look(const struct sn_top_window *window)
{
    struct seen seen = {0};
    sn_top_window_each(window, see, &seen);
    return seen;
}

static struct sn_top_window *new_window(void)
{
    struct sn_top_window *window = NULL;
    assert_int_equal(sn_top_window_new(5 * SECOND, &window, NULL), SONDE_OK);
    sn_top_window_move(window, START);
    return window;
}

static void equal_stacks_of_a_slice_are_one(void **state)
{
    (void)state;
    struct sn_top_window *window = new_window();
    add(window, 7, frames_a, 3, START);
    add(window, 7, frames_a, 3, START + 1);
    add(window, 7, frames_b, 3, START + 2);
    add(window, 8, frames_a, 3, START + 3);
    struct seen seen = look(window);
    assert_int_equal(seen.stacks, 3);
    assert_int_equal(seen.weight_ns, 40);
    assert_int_equal(seen.ready_ns, 4);
    assert_int_equal(seen.last_frame_sum, 3 + 4 + 3);
    sn_top_window_free(window);
}

/* A thread runs and waits in the same place: two stacks, and each has its frames. */
static void what_ran_and_what_waited_in_one_place_stay_apart(void **state)
{
    (void)state;
    struct sn_top_window *window = new_window();
    add(window, 7, frames_a, 3, START);
    sn_top_window_add(window, &(struct sn_top_stack){.pid = 7,
                                                     .kind = SN_TOP_WAIT,
                                                     .depth = 3,
                                                     .weight_ns = 10,
                                                     .last_ns = START + 1,
                                                     .frames = frames_a});
    struct seen seen = look(window);
    assert_int_equal(seen.stacks, 2);
    assert_int_equal(seen.with_frames, 2);
    sn_top_window_free(window);
}

static void what_is_older_than_the_window_has_left(void **state)
{
    (void)state;
    struct sn_top_window *window = new_window();
    add(window, 7, frames_a, 3, START);
    add(window, 7, frames_b, 3, START + 4 * SECOND);
    assert_int_equal(look(window).stacks, 2);
    assert_int_equal(sn_top_window_span(window), 4 * SECOND);
    sn_top_window_move(window, START + 6 * SECOND); /* nothing happens, and time passes */
    assert_int_equal(look(window).stacks, 1);
    add(window, 7, frames_a, 3, START); /* too late */
    assert_int_equal(look(window).stacks, 1);
    sn_top_window_move(window, START + 600 * SECOND);
    assert_int_equal(look(window).stacks, 0);
    assert_true(sn_top_window_span(window) < 6 * SECOND);
    sn_top_window_free(window);
}

static void a_slice_that_is_used_again_is_empty(void **state)
{
    (void)state;
    struct sn_top_window *window = new_window();
    for (uint64_t i = 0; i < 100; i++)
        add(window, 7, frames_a, 3, START + i * SECOND / 2);
    assert_int_equal(look(window).weight_ns, 11 * 10);
    sn_top_window_free(window);
}

static void what_finds_no_room_keeps_its_time(void **state)
{
    (void)state;
    struct sn_top_window *window = new_window();
    const uint64_t count = 50000;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t frames[] = {i + 1, i + 2};
        add(window, (uint32_t)(i % 100), frames, 2, START);
    }
    struct seen seen = look(window);
    assert_int_equal(seen.weight_ns, count * 10);
    assert_true(seen.with_frames < count);
    assert_true(seen.stacks - seen.with_frames <= 100);
    sn_top_window_free(window);
}

static void a_stack_without_an_end_loses_its_frames_only(void **state)
{
    (void)state;
    struct sn_top_window *window = new_window();
    uint64_t *frames = calloc(5000, sizeof(*frames));
    add(window, 7, frames, 5000, START);
    struct seen seen = look(window);
    assert_int_equal(seen.with_frames, 0);
    assert_int_equal(seen.weight_ns, 10);
    free(frames);
    sn_top_window_free(window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stacks_of_a_slice_are_one),
        cmocka_unit_test(what_ran_and_what_waited_in_one_place_stay_apart),
        cmocka_unit_test(what_is_older_than_the_window_has_left),
        cmocka_unit_test(a_slice_that_is_used_again_is_empty),
        cmocka_unit_test(what_finds_no_room_keeps_its_time),
        cmocka_unit_test(a_stack_without_an_end_loses_its_frames_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
