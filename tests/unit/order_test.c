/* The ordering window: merged by time, bounded, late ones counted, copies that live long enough. */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "flow/order.h"
#include "model/event.h"

struct seen {
    uint64_t times[64];
    size_t count;
    uint64_t last_ns;
    uint64_t inversions;
    uint32_t last_sequence;
};

static void remember(void *user, const struct sn_event *event, uint64_t word)
{
    (void)word;
    struct seen *seen = user;
    if (seen->count < 64)
        seen->times[seen->count] = event->time_ns;
    seen->inversions += seen->count && event->time_ns < seen->last_ns;
    seen->last_ns = event->time_ns;
    seen->last_sequence = event->sequence;
    seen->count++;
}

static struct sn_order *new_order(size_t limit_bytes, sn_order_fn *release, void *user)
{
    struct sn_order *order = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_order_new(limit_bytes, release, user, &order, &err), SONDE_OK);
    return order;
}

static void hold_at(struct sn_order *order, uint64_t time_ns)
{
    struct sn_event event = {.time_ns = time_ns, .pointer_size = 8};
    assert_int_equal(sn_order_hold(order, &event, 0), SONDE_OK);
}

static void events_leave_by_time_up_to_the_mark(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct sn_order *order = new_order(1u << 20, remember, &seen);
    static const uint64_t times[] = {50, 10, 40, 10, 30};
    for (size_t i = 0; i < 5; i++)
        hold_at(order, times[i]);
    sn_order_release(order, 9);
    assert_int_equal(seen.count, 0);
    sn_order_release(order, 30);
    assert_int_equal(seen.count, 3);
    assert_true(seen.times[0] == 10 && seen.times[1] == 10 && seen.times[2] == 30);
    hold_at(order, 35);
    sn_order_release(order, UINT64_MAX);
    assert_true(seen.times[3] == 35 && seen.times[4] == 40 && seen.times[5] == 50);
    assert_int_equal(sn_order_late_count(order), 0);
    sn_order_free(order);
}

static void check_sequence(void *user, const struct sn_event *event, uint64_t word)
{
    (void)word;
    uint32_t *next = user;
    assert_int_equal(event->sequence, *next);
    (*next)++;
}

static void ties_keep_the_order_in_which_they_came(void **state)
{
    (void)state;
    uint32_t next = 0;
    struct sn_order *order = new_order(1u << 24, check_sequence, &next);
    for (uint32_t i = 0; i < 5000; i++) {
        struct sn_event event = {.time_ns = 7, .sequence = i, .pointer_size = 8};
        assert_int_equal(sn_order_hold(order, &event, 0), SONDE_OK);
    }
    sn_order_release(order, 7);
    assert_int_equal(next, 5000);
    sn_order_free(order);
}

static void what_is_behind_the_last_release_is_late_what_is_level_is_not(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct sn_order *order = new_order(1u << 20, remember, &seen);
    hold_at(order, 100);
    sn_order_release(order, 200);
    hold_at(order, 150); /* nothing younger has left yet */
    hold_at(order, 100);
    assert_int_equal(seen.count, 1);
    hold_at(order, 99);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.last_ns, 99);
    assert_int_equal(sn_order_late_count(order), 1);
    sn_order_free(order);
}

/* Bytes that tell which event they belong to. */
static void fill(uint8_t *bytes, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(seed + i);
}

static void check_copy(void *user, const struct sn_event *event, uint64_t word)
{
    (void)word;
    uint8_t expected[4096];
    uint64_t *count = user;
    uint32_t seed = event->sequence;
    fill(expected, sizeof(expected), seed);
    assert_memory_equal(event->payload, expected, event->payload_size);
    assert_memory_equal(event->stack, expected, (size_t)event->stack_depth * event->pointer_size);
    assert_int_equal(event->activity != NULL, seed % 2);
    assert_int_equal(event->related != NULL, seed % 3 == 0);
    if (event->activity)
        assert_memory_equal(event->activity, expected, 16);
    if (event->related)
        assert_memory_equal(event->related, expected, 16);
    (*count)++;
}

static void payloads_stacks_and_ids_are_copied(void **state)
{
    (void)state;
    uint64_t count = 0;
    struct sn_order *order = new_order(1u << 20, check_copy, &count);
    for (uint32_t i = 0; i < 2000; i++) {
        uint8_t *bytes = malloc(4096); /* freed at once: nothing may point there */
        assert_non_null(bytes);
        fill(bytes, 4096, i);
        struct sn_event event = {.time_ns = (i * 7919u) % 1000,
                                 .sequence = i,
                                 .pointer_size = i % 2 ? 8 : 4,
                                 .payload = bytes,
                                 .payload_size = i % 4096,
                                 .stack = bytes,
                                 .stack_depth = i % 200,
                                 .activity = i % 2 ? bytes : NULL,
                                 .related = i % 3 ? NULL : bytes};
        assert_int_equal(sn_order_hold(order, &event, 0), SONDE_OK);
        free(bytes);
    }
    sn_order_release(order, UINT64_MAX);
    assert_int_equal(count, 2000);
    sn_order_free(order);
}

static void a_payload_larger_than_the_window_still_passes(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct sn_order *order = new_order(1000, remember, &seen);
    static uint8_t large[200000];
    struct sn_event event = {
        .time_ns = 5, .pointer_size = 8, .payload = large, .payload_size = sizeof(large)};
    assert_int_equal(sn_order_hold(order, &event, 0), SONDE_OK);
    assert_int_equal(seen.count, 1);
    sn_order_free(order);
}

static void over_the_limit_the_oldest_half_goes_first(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct sn_order *order = new_order(20000, remember, &seen);
    uint64_t held = 0;
    while (!seen.count)
        hold_at(order, 1000 - held++);
    assert_int_equal(seen.count, (held + 1) / 2);
    assert_int_equal(seen.times[0], 1000 - held + 1);
    assert_int_equal(seen.inversions, 0);
    assert_true(held > 50 && held < 500);
    sn_order_free(order); /* what is held is dropped without a leak */
}

static void random_events_in_a_window_leave_sorted(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct sn_order *order = new_order(64u << 20, remember, &seen);
    uint64_t seed = 1;
    for (uint64_t i = 0; i < 50000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        hold_at(order, i * 10 + (seed >> 40) % 1000); /* up to 100 places out of order */
        if (i % 64 == 0 && i * 10 > 1000)
            sn_order_release(order, i * 10 - 1000);
    }
    sn_order_release(order, UINT64_MAX);
    assert_int_equal(seen.count, 50000);
    assert_int_equal(seen.inversions, 0);
    assert_int_equal(sn_order_late_count(order), 0);
    sn_order_free(order);
}

/* Each event has the stack that its sequence says, whichever are held with it. */
static void check_stack(void *user, const struct sn_event *event, uint64_t word)
{
    (void)word;
    uint64_t first = 0;
    size_t *count = user;
    assert_int_equal(event->stack_depth, 64);
    memcpy(&first, event->stack, sizeof(first));
    assert_true(first == event->sequence % 3);
    (*count)++;
}

static void equal_stacks_are_held_once(void **state)
{
    (void)state;
    enum { EVENTS = 2000, DEPTH = 64 };
    size_t count = 0;
    /* Room for the events, but not for two thousand stacks of half a kilobyte. */
    struct sn_order *order = new_order(EVENTS * 320u, check_stack, &count);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint64_t stack[DEPTH] = {i % 3};
        struct sn_event event = {.time_ns = EVENTS - i,
                                 .sequence = i,
                                 .pointer_size = 8,
                                 .stack = (const uint8_t *)stack,
                                 .stack_depth = DEPTH};
        assert_int_equal(sn_order_hold(order, &event, 0), SONDE_OK);
    }
    assert_int_equal(count, 0);
    sn_order_release(order, EVENTS / 2);
    assert_int_equal(count, EVENTS / 2);
    sn_order_release(order, UINT64_MAX);
    assert_int_equal(count, EVENTS);
    assert_int_equal(sn_order_late_count(order), 0);
    sn_order_free(order);
}

/* A sink that says something on its own road. */
static void hold_another(void *user, const struct sn_event *event, uint64_t word)
{
    (void)word;
    (void)sn_order_hold(*(struct sn_order **)user, event, 0);
}

static void release_more(void *user, const struct sn_event *event, uint64_t word)
{
    (void)event;
    (void)word;
    sn_order_release(*(struct sn_order **)user, UINT64_MAX);
}

/* How a child ends whose window calls `release`. */
static int end_of_reentry(sn_order_fn *release)
{
    struct sn_order *order = NULL;
    int status = 0;
    pid_t child = fork();
    if (child) {
        assert_int_equal(waitpid(child, &status, 0), child);
        return status;
    }
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)dup2(nowhere, STDERR_FILENO);                /* what assert says is no news here */
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0}); /* and no core either */
    order = new_order(1u << 20, release, &order);
    hold_at(order, 10);
    hold_at(order, 20);
    sn_order_release(order, UINT64_MAX);
    _exit(0);
}

static void a_window_that_is_entered_from_its_own_release_stops_the_program(void **state)
{
    (void)state;
#ifdef NDEBUG
    skip_because("the program was built without assertions");
#endif
    static sn_order_fn *const releases[] = {hold_another, release_more};
    for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
        int status = end_of_reentry(releases[i]);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}

static void what_has_no_time_waits_for_nobody(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct sn_order *order = new_order(1u << 20, remember, &seen);
    struct sn_event timeless = {.time_ns = 100, .pointer_size = 8};
    hold_at(order, 20);
    hold_at(order, 30);
    sn_order_pass(order, &timeless, 0);
    sn_order_release(order, 20);
    sn_order_pass(order, &timeless, 0);
    sn_order_release(order, UINT64_MAX);
    assert_int_equal(seen.count, 4);
    assert_true(seen.times[0] == 20 && seen.times[2] == 20); /* where they came, not when */
    assert_int_equal(seen.inversions, 0);
    assert_int_equal(sn_order_late_count(order), 0);
    sn_order_free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_leave_by_time_up_to_the_mark),
        cmocka_unit_test(ties_keep_the_order_in_which_they_came),
        cmocka_unit_test(what_is_behind_the_last_release_is_late_what_is_level_is_not),
        cmocka_unit_test(payloads_stacks_and_ids_are_copied),
        cmocka_unit_test(a_payload_larger_than_the_window_still_passes),
        cmocka_unit_test(over_the_limit_the_oldest_half_goes_first),
        cmocka_unit_test(random_events_in_a_window_leave_sorted),
        cmocka_unit_test(equal_stacks_are_held_once),
        cmocka_unit_test(a_window_that_is_entered_from_its_own_release_stops_the_program),
        cmocka_unit_test(what_has_no_time_waits_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
