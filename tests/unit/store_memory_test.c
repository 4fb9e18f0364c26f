/* The store without memory: in a commit, for points, for recordings, in the database itself.
 * Whatever was acknowledged is there afterwards, and nothing twice; the next commit works. */
#include "store_bench.h"

#include "failing_memory.h"

/* Numbers from `first` on, three series of them. */
static void put_numbers(struct store_bench *bench, int64_t process, size_t first, size_t count)
{
    static const char *const counters[] = {"a", "b", "c"};
    for (size_t number = first; number < first + count; number++)
        bench_put(bench, process, counters[number % 3], number, (double)number);
}

static void check_all(struct store_bench *bench, size_t count)
{
    bench_check_numbers(bench, count);
    assert_int_equal(bench_ask(bench, (struct sn_store_query){.limit = 100000}).count, count);
}

/* Each request for memory of a commit fails once, in a commit in which series with points that were
 * acknowledged before become chunks. */
static void a_commit_that_fails_is_made_up_for_by_the_next(void **state)
{
    enum { BEFORE = 90, COUNT = 400 };
    struct store_bench *bench = *state;
    unsigned failed_count = 0;
    for (unsigned n = 0, refused = 1; refused; n++) {
        struct sonde_error err = {0};
        int64_t shop = bench_process(bench, 10, "shop");
        put_numbers(bench, shop, 0, BEFORE);
        bench_commit(bench);
        put_numbers(bench, shop, BEFORE, COUNT - BEFORE);
        memory_fails_at(n);
        int rc = sn_store_commit(bench->store, &err);
        refused = memory_is_back();
        failed_count += rc != SONDE_OK;
        assert_int_equal(bench_health(bench).is_degraded, rc != SONDE_OK);
        assert_true(rc == SONDE_OK || bench_health(bench).why[0]);
        check_all(bench, COUNT); /* also now */
        bench_commit(bench);
        assert_false(bench_health(bench).is_degraded);
        check_all(bench, COUNT);
        assert_int_equal(bench_health(bench).dropped_count, 0);
        bench_reopen(bench);
        check_all(bench, COUNT);
        bench_empty(bench);
    }
    assert_true(failed_count > 0);
}

/* SQLite asks for memory by itself: it gets none beyond what it has. */
static void a_database_without_memory_is_told_and_over_when_it_is_over(void **state)
{
    struct store_bench *bench = *state;
    size_t count = 0;
    unsigned failed_count = 0;
    int64_t shop = bench_process(bench, 10, "shop");
    for (sqlite3_int64 more = 1; more < 1 << 20; more *= 2) {
        put_numbers(bench, shop, count, 100);
        count += 100;
        (void)sqlite3_hard_heap_limit64(sqlite3_memory_used() + more);
        failed_count += sn_store_commit(bench->store, NULL) != SONDE_OK;
        (void)sqlite3_hard_heap_limit64(0);
        bench_commit(bench);
        assert_false(bench_health(bench).is_degraded);
        assert_string_equal(bench_health(bench).set_aside, ""); /* it is not damaged */
        check_all(bench, count);
    }
    assert_true(failed_count > 0);
    bench_reopen(bench);
    check_all(bench, count);
}

/* All its numbers or none, and those that are not kept are counted. */
static void a_point_without_memory_is_dropped_whole_and_counted(void **state)
{
    struct store_bench *bench = *state;
    uint64_t kept = 0;
    uint64_t dropped = 0;
    int64_t shop = bench_process(bench, 10, "shop");
    unsigned quiet = 0;
    for (unsigned n = 0; quiet < 40; n = (n + 1) % 8) { /* how much a point needs differs */
        struct sonde_point point = bench_point("time", kept + dropped, NAN);
        const struct sonde_quantile quantiles[] = {{0.5, 1}, {0.95, 2}, {0.99, 3}};
        point.kind = SONDE_POINT_HISTOGRAM;
        point.interval_ns = BENCH_SECOND;
        point.count = 1;
        point.sum = 7;
        point.quantiles = quantiles;
        point.quantile_count = 3;
        memory_fails_at(n);
        int rc = sn_store_point(bench->store, shop, &point, NULL);
        quiet = memory_is_back() ? 0 : quiet + 1;
        kept += rc == SONDE_OK;
        dropped += rc != SONDE_OK;
        assert_int_equal(bench_health(bench).dropped_count, dropped);
    }
    assert_true(dropped > 0);
    bench_commit(bench);
    bench_reopen(bench);
    struct bench_answer answer = bench_ask(bench, (struct sn_store_query){.limit = 100000});
    assert_int_equal(answer.count, kept);
    assert_true(answer.last == 7);
}

static bool take_recording(void *user, const struct sn_store_recording *recording)
{
    (void)snprintf(user, 64, "%s", recording->state);
    return true;
}

static void a_recording_without_memory_keeps_what_was_known_of_it(void **state)
{
    struct store_bench *bench = *state;
    struct sn_store_recording recording = {
        .id = "one", .state = "Running", .created_utc_ns = BENCH_START_NS};
    char shown[64] = "";
    assert_int_equal(sn_store_recording_put(bench->store, &recording, NULL), SONDE_OK);
    recording.state = "Succeeded";
    recording.ended_utc_ns = BENCH_START_NS + 1;
    for (unsigned n = 0, refused = 1; refused; n++) {
        memory_fails_at(n);
        int rc = sn_store_recording_put(bench->store, &recording, NULL);
        refused = memory_is_back();
        assert_int_equal(sn_store_recordings(bench->store, NULL, take_recording, shown, NULL),
                         SONDE_OK);
        if (!n)
            assert_string_equal(shown, "Running");
        if (rc == SONDE_OK)
            assert_string_equal(shown, "Succeeded");
        bench_commit(bench);
    }
    bench_reopen(bench);
    assert_int_equal(sn_store_recordings(bench->store, NULL, take_recording, shown, NULL),
                     SONDE_OK);
    assert_string_equal(shown, "Succeeded");
}

/* What was not acknowledged may be gone then; what was is there, and the store opens. */
static void a_store_that_is_closed_without_memory_has_what_was_acknowledged(void **state)
{
    struct store_bench *bench = *state;
    for (unsigned n = 0, refused = 1; refused; n++) {
        int64_t shop = bench_process(bench, 10, "shop");
        put_numbers(bench, shop, 0, 300);
        bench_commit(bench);
        put_numbers(bench, shop, 300, 30);
        memory_fails_at(n);
        sn_store_close(bench->store);
        refused = memory_is_back();
        bench->store = NULL;
        bench_open(bench);
        assert_string_equal(bench_health(bench).set_aside, "");
        bench_check_numbers(bench, refused ? 300 : 330);
        bench_empty(bench);
    }
}

/* It opens, or says that it cannot; and then it does, with everything. */
static void a_store_that_is_opened_without_memory_keeps_everything(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    put_numbers(bench, shop, 0, 400);
    bench_commit(bench);
    sn_store_close(bench->store);
    bench->store = NULL;
    unsigned failed_count = 0;
    for (unsigned n = 0, refused = 1; refused; n += 1 + n / 20) {
        const struct sn_store_options options = {.folder = bench->folder};
        struct sonde_error err = {0};
        memory_fails_at(n);
        int rc = sn_store_open(&options, &bench->store, &err);
        refused = memory_is_back();
        failed_count += rc != SONDE_OK;
        assert_true((rc == SONDE_OK) == (bench->store != NULL));
        assert_true(rc == SONDE_OK || err.text[0]);
        sn_store_close(bench->store);
        bench->store = NULL;
        bench_open(bench);
        assert_string_equal(bench_health(bench).set_aside, "");
        check_all(bench, 400);
        sn_store_close(bench->store);
        bench->store = NULL;
    }
    assert_true(failed_count > 0);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, bench_begin, bench_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_commit_that_fails_is_made_up_for_by_the_next),
        STORE_TEST(a_database_without_memory_is_told_and_over_when_it_is_over),
        STORE_TEST(a_point_without_memory_is_dropped_whole_and_counted),
        STORE_TEST(a_recording_without_memory_keeps_what_was_known_of_it),
        STORE_TEST(a_store_that_is_closed_without_memory_has_what_was_acknowledged),
        STORE_TEST(a_store_that_is_opened_without_memory_keeps_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
