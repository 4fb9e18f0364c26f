/* Work for another thread: in order, never lost, never refused but when it is offered, from tasks
 * that their owners have had all along. Many threads at once: run this under tsan as well. */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/mailbox.h"
#include "base/own.h"

static char said[64];

static void note(void *user)
{
    (void)strcat(said, user);
}

static bool is_readable(const struct sn_mailbox *mailbox)
{
    struct pollfd polled = {.fd = sn_mailbox_fd(mailbox), .events = POLLIN};
    return poll(&polled, 1, 0) == 1;
}

static struct sn_mailbox *new_mailbox(size_t limit)
{
    struct sn_mailbox *mailbox = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_mailbox_new(limit, &mailbox, &err), SONDE_OK);
    said[0] = '\0';
    return mailbox;
}

static void offers_are_refused_when_it_is_full_and_posts_are_not(void **state)
{
    (void)state;
    struct sn_mailbox_task tasks[6] = {0};
    struct sn_mailbox *mailbox = new_mailbox(2);
    assert_false(is_readable(mailbox));
    assert_true(sn_mailbox_offer(mailbox, &tasks[0], note, "a"));
    assert_false(sn_mailbox_is_full(mailbox));
    assert_true(sn_mailbox_offer(mailbox, &tasks[1], note, "b"));
    assert_true(sn_mailbox_is_full(mailbox));
    assert_false(sn_mailbox_offer(mailbox, &tasks[2], note, "x"));
    sn_mailbox_post(mailbox, &tasks[2], note, "c"); /* it is free still */
    sn_mailbox_post(mailbox, &tasks[3], note, "d");
    assert_int_equal(sn_mailbox_count(mailbox), 4);
    assert_true(is_readable(mailbox));
    sn_mailbox_turn(mailbox);
    assert_string_equal(said, "abcd");
    assert_false(is_readable(mailbox));
    assert_true(sn_mailbox_offer(mailbox, &tasks[2], note, "e"));
    sn_mailbox_free(mailbox); /* what was not run is not looked at */
    assert_string_equal(said, "abcd");
}

static void a_task_that_is_nudged_twice_runs_once_and_then_again(void **state)
{
    (void)state;
    struct sn_mailbox_task task = {0};
    struct sn_mailbox *mailbox = new_mailbox(1);
    assert_true(sn_mailbox_nudge(mailbox, &task, note, "n"));
    assert_false(sn_mailbox_nudge(mailbox, &task, note, "n"));
    sn_mailbox_turn(mailbox);
    assert_string_equal(said, "n");
    assert_true(sn_mailbox_nudge(mailbox, &task, note, "m"));
    sn_mailbox_turn(mailbox);
    assert_string_equal(said, "nm");
    sn_mailbox_turn(mailbox);
    assert_string_equal(said, "nm");
    sn_mailbox_free(mailbox);
}

/* An owner that goes on by itself, or is gone, once its task has its turn. */
struct owner {
    struct sn_mailbox_task task;
    struct sn_mailbox *mailbox;
    unsigned left;
};

static void go_on(void *user)
{
    struct owner *owner = user;
    (void)strcat(said, "g");
    if (owner->left--)
        sn_mailbox_post(owner->mailbox, &owner->task, go_on, owner);
    else
        free(owner);
}

static void a_task_may_post_itself_or_free_its_owner(void **state)
{
    (void)state;
    struct sn_mailbox *mailbox = new_mailbox(1);
    for (unsigned i = 0; i < 2; i++) {
        struct owner *owner = calloc(1, sizeof(*owner));
        assert_non_null(owner);
        *owner = (struct owner){.mailbox = mailbox, .left = 2};
        sn_mailbox_post(mailbox, &owner->task, go_on, owner);
    }
    for (unsigned turns = 1; turns <= 3; turns++) {
        sn_mailbox_turn(mailbox);
        assert_int_equal(strlen(said), 2 * turns); /* what it posts is for the next turn */
    }
    assert_int_equal(sn_mailbox_count(mailbox), 0);
    sn_mailbox_turn(mailbox);
    assert_int_equal(strlen(said), 6);
    sn_mailbox_free(mailbox);
}

static void a_stir_wakes_and_runs_nothing(void **state)
{
    (void)state;
    struct sn_mailbox *mailbox = new_mailbox(1);
    sn_mailbox_stir(mailbox);
    assert_true(is_readable(mailbox));
    sn_mailbox_turn(mailbox);
    assert_false(is_readable(mailbox));
    assert_string_equal(said, "");
    sn_mailbox_free(mailbox);
    sn_mailbox_free(NULL);
}

/* --- threads --- */

#define SENDERS 4u
#define ROUNDS  4000u

/* Goes to and fro between two mailboxes, as a call does between seats. */
struct traveller {
    struct sn_mailbox_task task;
    struct sn_mailbox *here;
    struct sn_mailbox *there;
    unsigned left;
    atomic_uint *arrived;
};

static void travel(void *user)
{
    struct traveller *one = user;
    struct sn_mailbox *next = one->there;
    one->there = one->here;
    one->here = next;
    if (one->left--)
        sn_mailbox_post(next, &one->task, travel, one);
    else
        (void)atomic_fetch_add(one->arrived, 1);
}

struct station {
    struct sn_mailbox *mailbox;
    atomic_uint *arrived;
    unsigned wanted;
};

static void *turn_station(void *user)
{
    const struct station *station = user;
    struct pollfd polled = {.fd = sn_mailbox_fd(station->mailbox), .events = POLLIN};
    while (atomic_load(station->arrived) < station->wanted) {
        (void)poll(&polled, 1, 10);
        sn_mailbox_turn(station->mailbox);
    }
    return NULL;
}

static void tasks_travel_between_threads_and_none_is_lost(void **state)
{
    (void)state;
    atomic_uint arrived = 0;
    pthread_t threads[2];
    struct traveller travellers[8] = {0};
    struct sn_mailbox *boxes[2] = {new_mailbox(1), new_mailbox(1)};
    struct station stations[2];
    for (unsigned i = 0; i < 8; i++) {
        travellers[i] = (struct traveller){
            .here = boxes[0], .there = boxes[1], .left = ROUNDS, .arrived = &arrived};
        sn_mailbox_post(boxes[0], &travellers[i].task, travel, &travellers[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        stations[i] = (struct station){boxes[i], &arrived, 8};
        assert_int_equal(pthread_create(&threads[i], NULL, turn_station, &stations[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(arrived, 8);
    sn_mailbox_free(boxes[0]);
    sn_mailbox_free(boxes[1]);
}

/* Many say that something has changed: whoever is told sees all that was changed before. */
struct news {
    struct sn_mailbox *mailbox;
    struct sn_mailbox_task task;
    atomic_uint changes;
    unsigned seen; /* the receiver's */
    unsigned runs; /* likewise */
};

static void see(void *user)
{
    struct news *news = user;
    news->seen = atomic_load(&news->changes);
    news->runs++;
}

static void *change(void *user)
{
    struct news *news = user;
    for (unsigned i = 0; i < ROUNDS; i++) {
        (void)atomic_fetch_add(&news->changes, 1);
        (void)sn_mailbox_nudge(news->mailbox, &news->task, see, news);
    }
    return NULL;
}

static void the_last_change_is_seen_however_often_it_was_nudged(void **state)
{
    (void)state;
    pthread_t threads[SENDERS];
    struct news news = {.mailbox = new_mailbox(1)};
    for (unsigned i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, change, &news), 0);
    while (news.seen < SENDERS * ROUNDS) {
        struct pollfd polled = {.fd = sn_mailbox_fd(news.mailbox), .events = POLLIN};
        assert_int_equal(poll(&polled, 1, 60000), 1);
        sn_mailbox_turn(news.mailbox);
    }
    for (unsigned i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(news.runs >= 1 && news.runs <= SENDERS * ROUNDS);
    sn_mailbox_free(news.mailbox);
}

static void add_one(void *user)
{
    (void)atomic_fetch_add((atomic_uint *)user, 1);
}

static void *work(void *user)
{
    while (sn_mailbox_run_next(user))
        continue;
    return NULL;
}

static void several_threads_share_one_and_end_when_it_is_closed(void **state)
{
    (void)state;
    enum { TASKS = 2000 };
    static struct sn_mailbox_task tasks[TASKS];
    atomic_uint done = 0;
    pthread_t threads[SENDERS];
    struct sn_mailbox *mailbox = new_mailbox(TASKS);
    memset(tasks, 0, sizeof(tasks));
    assert_false(sn_mailbox_is_awaited(mailbox));
    for (unsigned i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, mailbox), 0);
    while (!sn_mailbox_is_awaited(mailbox))
        (void)poll(NULL, 0, 1);
    for (unsigned i = 0; i < TASKS; i++)
        assert_true(sn_mailbox_offer(mailbox, &tasks[i], add_one, &done));
    sn_mailbox_close(mailbox); /* what waits is done first */
    for (unsigned i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(done, TASKS);
    assert_false(sn_mailbox_run_next(mailbox));
    sn_mailbox_free(mailbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offers_are_refused_when_it_is_full_and_posts_are_not),
        cmocka_unit_test(a_task_that_is_nudged_twice_runs_once_and_then_again),
        cmocka_unit_test(a_task_may_post_itself_or_free_its_owner),
        cmocka_unit_test(a_stir_wakes_and_runs_nothing),
        cmocka_unit_test(tasks_travel_between_threads_and_none_is_lost),
        cmocka_unit_test(the_last_change_is_seen_however_often_it_was_nudged),
        cmocka_unit_test(several_threads_share_one_and_end_when_it_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
