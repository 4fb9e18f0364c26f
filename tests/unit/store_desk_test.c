/* The store's thread: points of another thread are kept within a second or at the end, tasks run
 * there in order, and what finds no room is counted. */
#include "store_bench.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/store_desk.h"

struct desk_bench {
    char folder[OWN_FOLDER_SIZE];
    uint64_t start_ns; /* of its points, to the second: a while ago */
    struct sn_serve_options options;
    struct sn_daemon daemon;
};

static int begin(void **state)
{
    struct desk_bench *bench = calloc(1, sizeof(*bench));
    struct sonde_error err = {0};
    assert_non_null(bench);
    own_folder_make(bench->folder, "desk");
    bench->options.state_folder = bench->folder;
    bench->daemon.options = &bench->options;
    bench->start_ns = (sn_clock_utc_ns() / BENCH_SECOND - 110) * BENCH_SECOND;
    if (sn_store_desk_new(&bench->daemon, &bench->daemon.store, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct desk_bench *bench = *state;
    sn_store_desk_free(bench->daemon.store);
    own_folder_remove(bench->folder);
    free(bench);
    return 0;
}

static const struct sonde_process process = {.pid = 0x7ffffff0,
                                             .start_ticks = 5,
                                             .name = "shop",
                                             .runtime = "10.0.1",
                                             .user = "web",
                                             .container = "",
                                             .command_line = "shop --db-password hunter2"};

/* What a question in its thread brought. */
struct asked {
    struct sn_mailbox_task task;
    struct sn_store_desk *desk;
    struct bench_answer answer;
    char command_line[256];
    _Atomic bool is_done;
};

static bool take_seen(void *user, const struct sn_store_seen *seen)
{
    struct asked *asked = user;
    (void)snprintf(asked->command_line, sizeof(asked->command_line), "%s",
                   seen->process.command_line);
    return true;
}

static void answer(void *user)
{
    struct asked *asked = user;
    const struct sn_store_query query = {.limit = 100000};
    struct sn_store *store = sn_store_desk_store(asked->desk);
    (void)sn_store_history(store, &query, bench_take, &asked->answer, NULL);
    (void)sn_store_processes(store, &query, take_seen, asked, NULL);
    asked->is_done = true;
}

/* After a flood it has room again when its thread has had a turn, which is the kernel's to give. */
static struct asked ask(struct desk_bench *bench)
{
    struct asked asked = {.desk = bench->daemon.store};
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    while (!sn_store_desk_offer(bench->daemon.store, &asked.task, answer, &asked)) {
        assert_true(sn_clock_monotonic_ns() < end_ns);
        (void)usleep(1000);
    }
    while (!asked.is_done)
        (void)usleep(1000);
    return asked;
}

static void put(struct desk_bench *bench, uint64_t second)
{
    struct sonde_point point = bench_point("cpu", 0, (double)second);
    point.utc_ns = bench->start_ns + second * BENCH_SECOND;
    sn_store_desk_point(bench->daemon.store, &process, &point);
}

static void points_are_kept_within_a_moment(void **state)
{
    struct desk_bench *bench = *state;
    put(bench, 0);
    put(bench, 1);
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    while (ask(bench).answer.count < 2)
        assert_true(sn_clock_monotonic_ns() < end_ns);
    struct asked asked = ask(bench);
    char expected[128];
    unsigned long long start = (bench->start_ns - BENCH_START_NS) / BENCH_SECOND;
    (void)snprintf(expected, sizeof(expected), "shop.cpu@%llu=0(0-0)1 shop.cpu@%llu=1(1-1)1", start,
                   start + 1);
    assert_string_equal(asked.answer.text, expected);
    assert_string_equal(asked.command_line, "shop --db-password [redacted]");
}

static void answer_after_catching_up(void *user)
{
    struct asked *asked = user;
    sn_store_desk_catch_up(asked->desk);
    answer(user);
}

/* What was put before a question is in its answer, however late the next commit is. */
static void a_question_knows_what_was_put_before_it(void **state)
{
    struct desk_bench *bench = *state;
    for (uint64_t second = 0; second < 20; second++) {
        put(bench, second);
        struct asked asked = {.desk = bench->daemon.store};
        sn_store_desk_post(bench->daemon.store, &asked.task, answer_after_catching_up, &asked);
        while (!asked.is_done)
            (void)usleep(1000);
        assert_int_equal(asked.answer.count, second + 1);
    }
}

static bool take_time(void *user, const struct sn_store_sample *sample)
{
    uint64_t *times = user;
    times[(size_t)sample->value] = sample->utc_ns;
    return true;
}

struct times {
    struct sn_mailbox_task task;
    struct sn_store_desk *desk;
    uint64_t of[4];
    _Atomic bool is_done;
};

static void ask_times(void *user)
{
    struct times *times = user;
    sn_store_desk_catch_up(times->desk);
    (void)sn_store_history(sn_store_desk_store(times->desk), &(struct sn_store_query){0}, take_time,
                           times->of, NULL);
    times->is_done = true;
}

/* By clocks of a year to come, of 1970, of two seconds ago, of a moment from now. */
static void times_that_cannot_be_are_ours_and_counted(void **state)
{
    struct desk_bench *bench = *state;
    struct sn_store_health health = {0};
    uint64_t before_ns = sn_clock_utc_ns() / SN_NS_PER_MS * SN_NS_PER_MS;
    const uint64_t claimed[4] = {before_ns + 365ull * 86400 * BENCH_SECOND, 7,
                                 before_ns - 2ull * BENCH_SECOND, before_ns + BENCH_SECOND / 2};
    for (unsigned i = 0; i < 4; i++) {
        struct sonde_point point = bench_point("cpu", 0, i);
        point.utc_ns = claimed[i];
        sn_store_desk_point(bench->daemon.store, &process, &point);
    }
    uint64_t after_ns = sn_clock_utc_ns();
    struct times times = {.desk = bench->daemon.store};
    sn_store_desk_post(bench->daemon.store, &times.task, ask_times, &times);
    while (!times.is_done)
        (void)usleep(1000);
    for (unsigned i = 0; i < 2; i++)
        assert_true(times.of[i] >= before_ns && times.of[i] <= after_ns);
    for (unsigned i = 2; i < 4; i++)
        assert_true(times.of[i] == claimed[i]);
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    while (health.clamped_count < 2) {
        assert_true(sn_clock_monotonic_ns() < end_ns);
        sn_store_desk_health(bench->daemon.store, &health);
    }
    assert_int_equal(health.clamped_count, 2);
}

static void points_of_the_last_moment_are_kept_at_the_end(void **state)
{
    struct desk_bench *bench = *state;
    for (uint64_t second = 0; second < 100; second++)
        put(bench, second);
    sn_store_desk_free(bench->daemon.store);
    bench->daemon.store = NULL;
    assert_int_equal(sn_store_desk_new(&bench->daemon, &bench->daemon.store, NULL), SONDE_OK);
    assert_int_equal(ask(bench).answer.count, 100);
}

static void hold(void *user)
{
    _Atomic bool *may_go = user;
    while (!*may_go)
        (void)usleep(1000);
}

/* The disk hangs: nobody waits for it, what comes meanwhile has a bound. */
static void what_finds_no_room_is_dropped_and_counted(void **state)
{
    struct desk_bench *bench = *state;
    _Atomic bool may_go = false;
    const uint64_t count = 100000;
    static struct sn_mailbox_task tasks[100001];
    assert_true(sn_store_desk_offer(bench->daemon.store, &tasks[100000], hold, (void *)&may_go));
    for (uint64_t second = 0; second < count; second++)
        put(bench, second);
    unsigned posted = 0;
    while (posted < 100000 &&
           sn_store_desk_offer(bench->daemon.store, &tasks[posted], hold, (void *)&may_go))
        posted++;
    assert_true(posted < 100000);
    may_go = true;
    struct sn_store_health health;
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    do {
        assert_true(sn_clock_monotonic_ns() < end_ns);
        sn_store_desk_health(bench->daemon.store, &health);
    } while (!health.dropped_count);
    uint64_t kept = 0;
    while (kept + health.dropped_count < count) {
        assert_true(sn_clock_monotonic_ns() < end_ns);
        kept = ask(bench).answer.count;
        sn_store_desk_health(bench->daemon.store, &health);
    }
    assert_int_equal(kept + health.dropped_count, count);
    assert_true(kept > 1000);
    assert_false(health.is_degraded);
}

static void without_a_desk_nothing_happens(void **state)
{
    (void)state;
    struct sonde_point point = bench_point("cpu", 0, 0);
    struct sn_store_health health;
    sn_store_desk_point(NULL, &process, &point);
    sn_store_desk_health(NULL, &health);
    assert_false(health.is_degraded);
    struct sn_mailbox_task task = {0};
    assert_false(sn_store_desk_offer(NULL, &task, answer, NULL));
    assert_null(sn_store_desk_store(NULL));
    sn_store_desk_free(NULL);
}

static void a_second_controller_is_refused(void **state)
{
    struct desk_bench *bench = *state;
    struct sn_store_desk *second = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_store_desk_new(&bench->daemon, &second, &err), SONDE_E_BUSY);
    assert_null(second);
}

#define DESK_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DESK_TEST(points_are_kept_within_a_moment),
        DESK_TEST(a_question_knows_what_was_put_before_it),
        DESK_TEST(times_that_cannot_be_are_ours_and_counted),
        DESK_TEST(points_of_the_last_moment_are_kept_at_the_end),
        DESK_TEST(what_finds_no_room_is_dropped_and_counted),
        cmocka_unit_test(without_a_desk_nothing_happens),
        DESK_TEST(a_second_controller_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
