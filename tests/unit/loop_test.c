/* The event loop: order of timers, watches that go away in the middle of a batch, deadlines. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"

#define WATCH_COUNT 8

struct fixture {
    struct sn_loop *loop;
    struct sn_watch watches[WATCH_COUNT];
    struct sn_timer timers[WATCH_COUNT];
    int calls[WATCH_COUNT];
    int call_count;
    char order[64]; /* timers that expired, by number */
    uint32_t events;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct sonde_error err = {0};
    assert_non_null(fixture);
    assert_int_equal(sn_loop_new(&fixture->loop, &err), SONDE_OK);
    for (int i = 0; i < WATCH_COUNT; i++)
        fixture->watches[i].fd = -1;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < WATCH_COUNT; i++) {
        sn_loop_unwatch(&fixture->watches[i]);
        sn_loop_untimer(&fixture->timers[i]);
        if (fixture->watches[i].fd >= 0)
            (void)close(fixture->watches[i].fd);
    }
    sn_loop_free(fixture->loop);
    free(fixture);
    return 0;
}

static void turn(struct fixture *fixture, uint64_t deadline_ns)
{
    struct sonde_error err = {0};
    assert_int_equal(sn_loop_turn(fixture->loop, deadline_ns, &err), SONDE_OK);
}

/* A watch on a descriptor that is always readable (`count` 1) or not yet (0). */
static struct sn_watch *add_watch(struct fixture *fixture, int number, unsigned count,
                                  sn_watch_fn *ready)
{
    struct sonde_error err = {0};
    struct sn_watch *watch = &fixture->watches[number];
    *watch = (struct sn_watch){
        .fd = eventfd(count, EFD_CLOEXEC | EFD_NONBLOCK), .ready = ready, .user = fixture};
    assert_int_equal(sn_loop_watch(fixture->loop, watch, EPOLLIN, &err), SONDE_OK);
    return watch;
}

static void count_call(struct sn_watch *watch, uint32_t events)
{
    struct fixture *fixture = watch->user;
    fixture->calls[watch - fixture->watches]++;
    fixture->call_count++;
    fixture->events = events;
}

static void unwatch_all(struct sn_watch *watch, uint32_t events)
{
    struct fixture *fixture = watch->user;
    count_call(watch, events);
    for (int i = 0; i < WATCH_COUNT; i++)
        sn_loop_unwatch(&fixture->watches[i]);
}

static void unwatch_and_watch_again(struct sn_watch *watch, uint32_t events)
{
    struct fixture *fixture = watch->user;
    struct sonde_error err = {0};
    count_call(watch, events);
    for (int i = 0; i < WATCH_COUNT; i++) {
        sn_loop_unwatch(&fixture->watches[i]);
        assert_int_equal(sn_loop_watch(fixture->loop, &fixture->watches[i], EPOLLIN, &err),
                         SONDE_OK);
    }
}

static void stop_loop(struct sn_watch *watch, uint32_t events)
{
    count_call(watch, events);
    sn_loop_stop(watch->loop);
}

static void note_timer(struct sn_timer *timer)
{
    struct fixture *fixture = timer->user;
    size_t length = strlen(fixture->order);
    assert_null(timer->loop);
    if (length + 1 < sizeof(fixture->order))
        fixture->order[length] = (char)('0' + (timer - fixture->timers));
}

static void note_and_rearm(struct sn_timer *timer)
{
    struct fixture *fixture = timer->user;
    note_timer(timer);
    sn_loop_timer(fixture->loop, timer, 0);
}

static void note_and_disarm_all(struct sn_timer *timer)
{
    struct fixture *fixture = timer->user;
    note_timer(timer);
    for (int i = 0; i < WATCH_COUNT; i++)
        sn_loop_untimer(&fixture->timers[i]);
}

static void arm(struct fixture *fixture, int number, uint64_t due_ns, sn_timer_fn *expired)
{
    fixture->timers[number].expired = expired;
    fixture->timers[number].user = fixture;
    sn_loop_timer(fixture->loop, &fixture->timers[number], due_ns);
}

static void timers_expire_soonest_first_and_ties_as_armed(void **state)
{
    struct fixture *fixture = *state;
    static const uint64_t due[] = {50, 20, 50, 10, 20, 1};
    for (int i = 0; i < 6; i++)
        arm(fixture, i, due[i], note_timer);
    turn(fixture, UINT64_MAX);
    assert_string_equal(fixture->order, "531402");
    assert_int_equal(sn_loop_wait_ms(fixture->loop), -1);
}

static void arming_an_armed_timer_moves_it(void **state)
{
    struct fixture *fixture = *state;
    arm(fixture, 0, 1, note_timer);
    arm(fixture, 1, 2, note_timer);
    arm(fixture, 0, 3, note_timer);
    turn(fixture, UINT64_MAX);
    assert_string_equal(fixture->order, "10");
}

static void a_disarmed_timer_stays_silent_even_when_due(void **state)
{
    struct fixture *fixture = *state;
    arm(fixture, 0, 1, note_and_disarm_all);
    arm(fixture, 1, 2, note_timer);
    arm(fixture, 2, 3, note_timer);
    sn_loop_untimer(&fixture->timers[3]); /* never armed */
    turn(fixture, UINT64_MAX);
    turn(fixture, 0);
    assert_string_equal(fixture->order, "0");
}

static void a_timer_that_rearms_itself_yields_to_others_and_to_the_turn(void **state)
{
    struct fixture *fixture = *state;
    (void)add_watch(fixture, 0, 1, count_call);
    arm(fixture, 0, 0, note_and_rearm);
    arm(fixture, 1, 5, note_timer);
    turn(fixture, UINT64_MAX);
    assert_string_equal(fixture->order, "01");
    turn(fixture, UINT64_MAX);
    turn(fixture, UINT64_MAX);
    assert_string_equal(fixture->order, "0100");
    assert_int_equal(fixture->calls[0], 3);
}

static void a_timer_is_waited_for_and_not_early(void **state)
{
    struct fixture *fixture = *state;
    uint64_t due = sn_clock_deadline(20ull * SN_NS_PER_MS);
    arm(fixture, 0, due, note_timer);
    int ms = sn_loop_wait_ms(fixture->loop);
    assert_true(ms > 0 && ms <= 20);
    while (!fixture->order[0])
        turn(fixture, UINT64_MAX);
    assert_true(sn_clock_monotonic_ns() >= due);
}

static void a_turn_ends_at_its_deadline(void **state)
{
    struct fixture *fixture = *state;
    (void)add_watch(fixture, 0, 0, count_call);
    arm(fixture, 0, sn_clock_deadline(3600ull * SN_NS_PER_SECOND), note_timer);
    uint64_t deadline = sn_clock_deadline(10ull * SN_NS_PER_MS);
    turn(fixture, deadline);
    assert_true(sn_clock_monotonic_ns() >= deadline);
    assert_int_equal(fixture->call_count, 0);
    assert_string_equal(fixture->order, "");
    turn(fixture, 0); /* in the past: does not wait */
}

static void every_ready_watch_is_called_once_a_turn(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < WATCH_COUNT; i++)
        (void)add_watch(fixture, i, i % 2 ? 1 : 0, count_call);
    turn(fixture, UINT64_MAX);
    turn(fixture, UINT64_MAX);
    for (int i = 0; i < WATCH_COUNT; i++)
        assert_int_equal(fixture->calls[i], i % 2 ? 2 : 0);
    assert_int_equal(fixture->events, EPOLLIN);
}

static void an_unwatched_watch_of_the_same_batch_is_not_called(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < WATCH_COUNT; i++)
        (void)add_watch(fixture, i, 1, unwatch_all);
    turn(fixture, UINT64_MAX);
    assert_int_equal(fixture->call_count, 1);
    turn(fixture, 0);
    assert_int_equal(fixture->call_count, 1);
    for (int i = 0; i < WATCH_COUNT; i++)
        assert_null(fixture->watches[i].loop);
}

static void a_watch_that_left_and_came_back_waits_for_the_next_turn(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < WATCH_COUNT; i++)
        (void)add_watch(fixture, i, 1, unwatch_and_watch_again);
    turn(fixture, UINT64_MAX);
    assert_int_equal(fixture->call_count, 1);
    turn(fixture, UINT64_MAX);
    assert_int_equal(fixture->call_count, 2);
}

static void changed_events_count_from_the_next_turn(void **state)
{
    struct fixture *fixture = *state;
    struct sonde_error err = {0};
    struct sn_watch *watch = add_watch(fixture, 0, 0, count_call);
    turn(fixture, 0);
    assert_int_equal(fixture->call_count, 0);
    assert_int_equal(sn_loop_change(watch, EPOLLOUT, &err), SONDE_OK);
    turn(fixture, UINT64_MAX);
    assert_int_equal(fixture->events, EPOLLOUT);
    assert_int_equal(sn_loop_change(watch, 0, &err), SONDE_OK);
    turn(fixture, 0);
    assert_int_equal(fixture->call_count, 1);
}

static void a_descriptor_that_cannot_be_watched_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    struct sonde_error err = {0};
    struct sn_watch watch = {.fd = -1, .ready = count_call, .user = fixture};
    assert_true(sn_loop_watch(fixture->loop, &watch, EPOLLIN, &err) < 0);
    assert_string_not_equal(err.text, "");
    assert_null(watch.loop);
    sn_loop_unwatch(&watch);
}

static void a_closed_descriptor_can_still_be_unwatched(void **state)
{
    struct fixture *fixture = *state;
    struct sn_watch *watch = add_watch(fixture, 0, 1, count_call);
    (void)close(watch->fd);
    sn_loop_unwatch(watch);
    watch->fd = -1;
    turn(fixture, 0);
    assert_int_equal(fixture->call_count, 0);
}

static void run_ends_when_nothing_is_left(void **state)
{
    struct fixture *fixture = *state;
    struct sonde_error err = {0};
    assert_int_equal(sn_loop_run(fixture->loop, &err), SONDE_OK);
    (void)add_watch(fixture, 0, 1, unwatch_all);
    arm(fixture, 1, sn_clock_deadline(SN_NS_PER_MS), note_timer);
    assert_int_equal(sn_loop_run(fixture->loop, &err), SONDE_OK);
    assert_int_equal(fixture->call_count, 1);
    assert_string_equal(fixture->order, "1");
}

static void run_ends_when_told_and_can_run_again(void **state)
{
    struct fixture *fixture = *state;
    struct sonde_error err = {0};
    (void)add_watch(fixture, 0, 1, stop_loop);
    arm(fixture, 0, sn_clock_deadline(3600ull * SN_NS_PER_SECOND), note_timer);
    assert_int_equal(sn_loop_run(fixture->loop, &err), SONDE_OK);
    assert_int_equal(sn_loop_run(fixture->loop, &err), SONDE_OK);
    assert_int_equal(fixture->call_count, 2);
}

static void the_loop_itself_can_be_polled(void **state)
{
    struct fixture *fixture = *state;
    struct pollfd loop = {.fd = sn_loop_fd(fixture->loop), .events = POLLIN};
    struct sn_watch *watch = add_watch(fixture, 0, 0, count_call);
    assert_int_equal(poll(&loop, 1, 0), 0);
    assert_int_equal(eventfd_write(watch->fd, 1), 0);
    assert_int_equal(poll(&loop, 1, 0), 1);
    assert_true(fcntl(loop.fd, F_GETFD) & FD_CLOEXEC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(timers_expire_soonest_first_and_ties_as_armed),
        TEST(arming_an_armed_timer_moves_it),
        TEST(a_disarmed_timer_stays_silent_even_when_due),
        TEST(a_timer_that_rearms_itself_yields_to_others_and_to_the_turn),
        TEST(a_timer_is_waited_for_and_not_early),
        TEST(a_turn_ends_at_its_deadline),
        TEST(every_ready_watch_is_called_once_a_turn),
        TEST(an_unwatched_watch_of_the_same_batch_is_not_called),
        TEST(a_watch_that_left_and_came_back_waits_for_the_next_turn),
        TEST(changed_events_count_from_the_next_turn),
        TEST(a_descriptor_that_cannot_be_watched_is_an_error),
        TEST(a_closed_descriptor_can_still_be_unwatched),
        TEST(run_ends_when_nothing_is_left),
        TEST(run_ends_when_told_and_can_run_again),
        TEST(the_loop_itself_can_be_polled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
