/* The store: what was put comes back by every question, over restarts, migrations and damage. */
#include "store_bench.h"

#include <fcntl.h>
#include <glob.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/own.h"
#include "sink/store/store_schema.h"

/* --- points --- */

static void points_are_there_before_and_after_a_commit_and_a_restart(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    const char *expected = "shop.cpu@0=1.5(1.5-1.5)1 shop.cpu@1=2(2-2)1 shop.heap@1=7(7-7)1";
    bench_put(bench, shop, "cpu", 0, 1.5);
    bench_put(bench, shop, "cpu", 1, 2);
    bench_put(bench, shop, "heap", 1, 7);
    struct bench_answer answer = bench_ask(bench, (struct sn_store_query){0});
    assert_int_equal(answer.count, 3);
    bench_commit(bench);
    assert_string_equal(bench_ask(bench, (struct sn_store_query){0}).text, expected);
    bench_reopen(bench);
    assert_string_equal(bench_ask(bench, (struct sn_store_query){0}).text, expected);
    assert_int_equal(bench_process(bench, 10, "shop"), shop);
}

static void series_become_chunks_and_blocks_go(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    for (uint64_t second = 0; second < 1000; second++) {
        bench_put(bench, shop, "cpu", second, (double)second);
        bench_put(bench, shop, "heap", second, 0.1 * (double)second);
        bench_commit(bench);
        if (second % 333 == 0)
            bench_reopen(bench);
    }
    for (int i = 0; i < 2; i++) {
        struct bench_answer answer =
            bench_ask(bench, (struct sn_store_query){.counter = "cpu", .from_ns = 1});
        assert_int_equal(answer.count, 1000);
        assert_true(answer.last == 999);
        bench_reopen(bench);
    }
    char path[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *count = NULL;
    sn_store_close(bench->store);
    bench->store = NULL;
    (void)snprintf(path, sizeof(path), "%s/store.db", bench->folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT (SELECT count(*) FROM chunk), (SELECT "
                                        "count(*) FROM block), (SELECT sum(count) FROM chunk)",
                                        -1, &count, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(count), SQLITE_ROW);
    assert_in_range(sqlite3_column_int(count, 0), 14, 30);
    assert_in_range(sqlite3_column_int(count, 1), 1, 150);
    assert_in_range(sqlite3_column_int(count, 2), 1700, 2000);
    (void)sqlite3_finalize(count);
    (void)sqlite3_close(db);
}

/* How many chunks the series have together. */
static int chunk_count(struct store_bench *bench)
{
    char path[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *count = NULL;
    sn_store_close(bench->store);
    bench->store = NULL;
    (void)snprintf(path, sizeof(path), "%s/store.db", bench->folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM chunk", -1, &count, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(count), SQLITE_ROW);
    int chunks = sqlite3_column_int(count, 0);
    (void)sqlite3_finalize(count);
    (void)sqlite3_close(db);
    bench_open(bench);
    return chunks;
}

/* Were the others silent beside it, each 16th commit would make small chunks of all of them. */
static void a_point_of_the_future_silences_nobody(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    struct sonde_point liar = bench_point("cpu", 0, 1);
    liar.utc_ns = sn_clock_utc_ns() + 365ull * 86400 * BENCH_SECOND;
    assert_int_equal(sn_store_point(bench->store, bench_process(bench, 20, "liar"), &liar, NULL),
                     SONDE_OK);
    for (int life = 0; life < 2; life++) {
        for (unsigned i = 0; i < 20; i++) {
            struct sonde_point point = bench_point("cpu", 0, i);
            point.utc_ns = sn_clock_utc_ns();
            assert_int_equal(sn_store_point(bench->store, shop, &point, NULL), SONDE_OK);
            bench_commit(bench);
        }
        assert_int_equal(chunk_count(bench), 0);
        shop = bench_process(bench, 10, "shop");
    }
}

static void many_points_of_one_series_at_once_are_all_kept(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    for (uint64_t second = 0; second < 5000; second++)
        bench_put(bench, shop, "cpu", second, (double)second);
    bench_commit(bench);
    bench_reopen(bench);
    assert_int_equal(bench_ask(bench, (struct sn_store_query){0}).count, 5000);
    assert_int_equal(bench_health(bench).dropped_count, 0);
}

static void questions_choose_by_process_time_and_counter(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    int64_t desk = bench_process(bench, 20, "desk");
    for (uint64_t second = 0; second < 300; second++) {
        bench_put(bench, shop, "cpu-usage", second, 1);
        bench_put(bench, shop, "heap-size", second, 2);
        bench_put(bench, desk, "cpu-usage", second, 3);
        bench_commit(bench);
    }
    uint64_t from_ns = BENCH_START_NS + 100 * (uint64_t)BENCH_SECOND;
    uint64_t to_ns = from_ns + 9 * (uint64_t)BENCH_SECOND;
    assert_int_equal(bench_ask(bench, (struct sn_store_query){.pid = 20}).count, 300);
    assert_int_equal(bench_ask(bench, (struct sn_store_query){.process = "sho*"}).count, 600);
    assert_int_equal(bench_ask(bench, (struct sn_store_query){.counter = "heap*"}).count, 300);
    assert_int_equal(bench_ask(bench, (struct sn_store_query){.provider = "Nobody"}).count, 0);
    assert_int_equal(
        bench_ask(bench, (struct sn_store_query){.from_ns = from_ns, .to_ns = to_ns}).count, 30);
    assert_int_equal(bench_ask(bench, (struct sn_store_query){.limit = 7}).count, 7);
}

static void steps_put_points_together(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    for (uint64_t second = 0; second < 250; second++) {
        bench_put(bench, shop, "cpu", second, (double)second);
        bench_commit(bench);
    }
    struct bench_answer answer =
        bench_ask(bench, (struct sn_store_query){.step_ns = 100 * (uint64_t)BENCH_SECOND});
    assert_string_equal(answer.text, "shop.cpu@0=49.5(0-99)100 shop.cpu@100=149.5(100-199)100 "
                                     "shop.cpu@200=224.5(200-249)50");
}

static void each_kind_of_point_has_its_number(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    struct sonde_point point = bench_point("x", 0, 5);
    point.kind = SONDE_POINT_RATE;
    point.name = "rate";
    point.rate = 2.5;
    assert_int_equal(sn_store_point(bench->store, shop, &point, NULL), SONDE_OK);
    point.kind = SONDE_POINT_UP_DOWN;
    point.name = "up";
    point.total = 77;
    assert_int_equal(sn_store_point(bench->store, shop, &point, NULL), SONDE_OK);
    point.kind = SONDE_POINT_HISTOGRAM;
    point.name = "time";
    point.sum = 12;
    point.count = 4;
    assert_int_equal(sn_store_point(bench->store, shop, &point, NULL), SONDE_OK);
    point.kind = SONDE_POINT_GAUGE;
    point.name = "nothing";
    point.value = NAN;
    assert_int_equal(sn_store_point(bench->store, shop, &point, NULL), SONDE_OK);
    bench_commit(bench);
    struct bench_answer answer = bench_ask(bench, (struct sn_store_query){0});
    assert_int_equal(answer.count, 3);
    assert_non_null(strstr(answer.text, "shop.rate@0=2.5"));
    assert_non_null(strstr(answer.text, "shop.up@0=77"));
    assert_non_null(strstr(answer.text, "shop.time@0=3"));
}

static void a_pid_that_comes_back_is_another_process(void **state)
{
    struct store_bench *bench = *state;
    struct sn_store_process process = {.pid = 10, .start_ticks = 1, .name = "a"};
    int64_t first = 0;
    int64_t second = 0;
    assert_int_equal(sn_store_process(bench->store, &process, &first, NULL), SONDE_OK);
    process.start_ticks = 2;
    assert_int_equal(sn_store_process(bench->store, &process, &second, NULL), SONDE_OK);
    assert_int_not_equal(first, second);
}

static bool count_seen(void *user, const struct sn_store_seen *seen)
{
    size_t *count = user;
    ++*count;
    assert_string_equal(seen->process.user, "web");
    assert_true(seen->first_utc_ns == BENCH_START_NS);
    assert_true(seen->last_utc_ns == BENCH_START_NS + 9 * (uint64_t)BENCH_SECOND);
    return true;
}

/* Who has no time left gets what was found by then, and knows. */
static void a_question_has_its_time(void **state)
{
    struct store_bench *bench = *state;
    bool is_late = false;
    size_t count = 0;
    struct sn_store_query query = {.deadline_ns = 1, .ret_is_late = &is_late};
    bench_put(bench, bench_process(bench, 10, "shop"), "cpu", 0, 1);
    bench_reopen(bench);
    assert_int_equal(sn_store_processes(bench->store, &query, count_seen, &count, NULL), SONDE_OK);
    assert_true(is_late && count == 0);
    is_late = false;
    assert_int_equal(bench_ask(bench, query).count, 0);
    assert_true(is_late);
    is_late = false;
    query.deadline_ns = UINT64_MAX;
    assert_int_equal(bench_ask(bench, query).count, 1);
    assert_false(is_late);
}

/* Other things are done between its parts: here a commit, which gives pending series their rows. */
static void a_question_that_pauses_tells_every_series_once(void **state)
{
    struct store_bench *bench = *state;
    static const char *const counters[] = {"cpu", "heap", "queue"};
    static const char *const names[] = {"shop", "desk"};
    struct sn_store_place place = {0};
    struct sn_store_query query = {.place = &place}; /* the time for its pause is always there */
    struct bench_answer parts = {.size = 0};
    size_t part_count = 0;
    for (size_t i = 0; i < 6; i++) {
        int64_t process = bench_process(bench, 10 + (uint32_t)(i / 3), names[i / 3]);
        bench_put(bench, process, counters[i % 3], i, (double)i);
        bench_put(bench, process, counters[i % 3], 10 + i, (double)i);
    }
    bench_commit(bench);
    bench_put(bench, bench_process(bench, 11, "desk"), "late", 99, 7);
    struct bench_answer whole = bench_ask(bench, (struct sn_store_query){0});
    assert_int_equal(whole.count, 13);
    do {
        assert_int_equal(sn_store_history(bench->store, &query, bench_take, &parts, NULL),
                         SONDE_OK);
        if (++part_count == 2)
            bench_commit(bench);
        assert_true(part_count < 20);
    } while (place.is_paused);
    assert_true(part_count > 6);
    assert_string_equal(parts.text, whole.text);
}

static void processes_are_told_with_their_times(void **state)
{
    struct store_bench *bench = *state;
    const struct sn_store_query query = {.process = "shop"};
    for (int round = 0; round < 2; round++) {
        size_t count = 0;
        int64_t shop = bench_process(bench, 10, "shop");
        for (uint64_t second = 0; second < 10 && !round; second++)
            bench_put(bench, shop, "cpu", second, 1);
        assert_int_equal(sn_store_processes(bench->store, &query, count_seen, &count, NULL),
                         SONDE_OK);
        assert_int_equal(count, 1);
        bench_reopen(bench);
    }
}

/* --- recordings and profiles --- */

static struct sn_store_recording made_recording(const char *id, uint64_t ended_ns)
{
    return (struct sn_store_recording){.id = id,
                                       .kind = "trace",
                                       .file = id,
                                       .file_name = "shop.nettrace",
                                       .state = ended_ns ? "Succeeded" : "Running",
                                       .settings = "{\"profile\":\"cpu\"}",
                                       .summary = ended_ns ? "{}" : "",
                                       .owner = "key:alice",
                                       .pid = 10,
                                       .process = "shop",
                                       .created_utc_ns = BENCH_START_NS,
                                       .ended_utc_ns = ended_ns,
                                       .bytes = 5};
}

static void put_recording(struct store_bench *bench, const char *id, uint64_t ended_ns, size_t size)
{
    struct sn_store_recording recording = made_recording(id, ended_ns);
    char path[512];
    char block[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", sn_store_files(bench->store), id);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    memset(block, 'x', sizeof(block));
    for (size_t done = 0; done < size; done += sizeof(block))
        (void)fwrite(block, 1, size - done < sizeof(block) ? size - done : sizeof(block), file);
    assert_int_equal(fclose(file), 0);
    struct sonde_error err = {0};
    int rc = sn_store_recording_put(bench->store, &recording, &err);
    if (rc != SONDE_OK)
        fail_msg("%s", err.text);
}

struct told {
    char text[2048];
    size_t size;
};

static bool tell(void *user, const struct sn_store_recording *recording)
{
    struct told *told = user;
    told->size += (size_t)snprintf(told->text + told->size, sizeof(told->text) - told->size,
                                   "%s:%s:%llu:%s ", recording->id, recording->state,
                                   (unsigned long long)recording->bytes, recording->owner);
    return true;
}

static struct told recordings(struct store_bench *bench)
{
    struct told told = {.size = 0};
    assert_int_equal(sn_store_recordings(bench->store, NULL, tell, &told, NULL), SONDE_OK);
    return told;
}

static bool has_file(const struct store_bench *bench, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/files/%s", bench->folder, name);
    return access(path, F_OK) == 0;
}

static void make_file(const struct store_bench *bench, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/files/%s", bench->folder, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void recordings_are_kept_replaced_and_deleted(void **state)
{
    struct store_bench *bench = *state;
    make_file(bench, "one.cpu"); /* goes with it */
    make_file(bench, "ones");    /* is somebody else's */
    put_recording(bench, "one", 0, 5);
    put_recording(bench, "one", BENCH_START_NS + 1, 5);
    put_recording(bench, "two", BENCH_START_NS + 2, 5);
    bench_reopen(bench);
    assert_string_equal(recordings(bench).text,
                        "one:Succeeded:5:key:alice two:Succeeded:5:key:alice ");
    assert_int_equal(sn_store_recording_delete(bench->store, "one", NULL), SONDE_OK);
    assert_int_equal(sn_store_recording_delete(bench->store, "one", NULL), SONDE_E_NOT_FOUND);
    assert_false(has_file(bench, "one") || has_file(bench, "one.cpu"));
    assert_true(has_file(bench, "two") && has_file(bench, "ones"));
    assert_string_equal(recordings(bench).text, "two:Succeeded:5:key:alice ");
    struct sn_store_recording outside = made_recording("three", 1);
    outside.file = "../three";
    assert_int_equal(sn_store_recording_put(bench->store, &outside, NULL), SONDE_E_ARGUMENT);
}

static void one_that_ran_when_we_died_has_failed_and_has_its_file(void **state)
{
    struct store_bench *bench = *state;
    struct sn_store_recording waiting = made_recording("later", 0);
    put_recording(bench, "one", 0, 1234);
    waiting.state = "Configured";
    waiting.file = "";
    assert_int_equal(sn_store_recording_put(bench->store, &waiting, NULL), SONDE_OK);
    bench_reopen(bench);
    assert_string_equal(recordings(bench).text,
                        "later:Configured:5:key:alice one:Failed:1234:key:alice ");
    assert_true(has_file(bench, "one"));
}

static const struct sn_store_method methods[] = {{"Shop.Basket.Total(int)", "Shop", 60, 90},
                                                 {"Shop.Program.Main()", "Shop", 10, 100},
                                                 {"System.String.Concat", "System", 30, 30}};
static const struct sn_store_profile_node nodes[] = {
    {0, UINT32_MAX, 0}, {0, 1, 10}, {1, 0, 60}, {2, 2, 30}};
static const struct sn_store_profile profile = {.view = "cpu",
                                                .unit = "samples",
                                                .methods = methods,
                                                .method_count = 3,
                                                .nodes = nodes,
                                                .node_count = 4};

static void check_profile(void *user, const struct sn_store_profile *got)
{
    *(bool *)user = true;
    assert_int_equal(got->method_count, 3);
    assert_int_equal(got->node_count, 4);
    assert_memory_equal(got->nodes, nodes, sizeof(nodes));
    assert_string_equal(got->methods[2].name, "System.String.Concat");
    assert_string_equal(got->methods[2].module, "System");
    assert_int_equal(got->methods[0].total, 90);
    assert_string_equal(got->unit, "samples");
}

static bool tell_hit(void *user, const struct sn_store_hit *hit)
{
    struct told *told = user;
    told->size += (size_t)snprintf(told->text + told->size, sizeof(told->text) - told->size,
                                   "%s:%s:%llu/%llu ", hit->recording_id, hit->method,
                                   (unsigned long long)hit->total, (unsigned long long)hit->all);
    return true;
}

static void methods_are_found_in_recordings_the_heaviest_first(void **state)
{
    struct store_bench *bench = *state;
    bool was_told = false;
    struct told told = {.size = 0};
    struct sn_store_profile light = profile;
    const struct sn_store_profile_node more[] = {
        {0, UINT32_MAX, 900}, {0, 1, 10}, {1, 0, 60}, {2, 2, 30}};
    light.nodes = more;
    put_recording(bench, "light", BENCH_START_NS + 1, 5);
    put_recording(bench, "heavy", BENCH_START_NS + 2, 5);
    assert_int_equal(sn_store_profile_put(bench->store, "light", &light, NULL), SONDE_OK);
    assert_int_equal(sn_store_profile_put(bench->store, "heavy", &profile, NULL), SONDE_OK);
    bench_reopen(bench);
    assert_int_equal(
        sn_store_profile_get(bench->store, "heavy", "cpu", check_profile, &was_told, NULL),
        SONDE_OK);
    assert_true(was_told);
    assert_int_equal(
        sn_store_profile_get(bench->store, "heavy", "gc", check_profile, &was_told, NULL),
        SONDE_E_NOT_FOUND);
    const struct sn_store_query query = {.method = "Basket"};
    assert_int_equal(sn_store_methods(bench->store, &query, tell_hit, &told, NULL), SONDE_OK);
    assert_string_equal(
        told.text, "heavy:Shop.Basket.Total(int):90/100 light:Shop.Basket.Total(int):90/1000 ");
    told = (struct told){.size = 0};
    const struct sn_store_query best = {.limit = 1};
    assert_int_equal(sn_store_methods(bench->store, &best, tell_hit, &told, NULL), SONDE_OK);
    assert_string_equal(told.text, "heavy:Shop.Program.Main():100/100 ");
    assert_int_equal(sn_store_recording_delete(bench->store, "heavy", NULL), SONDE_OK);
    told = (struct told){.size = 0};
    assert_int_equal(sn_store_methods(bench->store, &query, tell_hit, &told, NULL), SONDE_OK);
    assert_string_equal(told.text, "light:Shop.Basket.Total(int):90/1000 ");
}

/* --- sweeping --- */

static unsigned sweep_all(struct store_bench *bench, uint64_t now_ns)
{
    unsigned steps = 0;
    for (bool has_more = true; has_more; steps++) {
        struct sonde_error err = {0};
        int rc = sn_store_sweep(bench->store, now_ns, &has_more, &err);
        if (rc != SONDE_OK)
            fail_msg("%s", err.text);
        assert_true(steps < 10000);
    }
    return steps;
}

static void what_is_too_old_goes_and_what_is_written_stays(void **state)
{
    struct store_bench *bench = *state;
    uint64_t hour = 3600 * (uint64_t)BENCH_SECOND;
    bench->age_max_ns = hour;
    bench_reopen(bench);
    int64_t shop = bench_process(bench, 10, "shop");
    int64_t gone = bench_process(bench, 20, "gone");
    for (uint64_t second = 0; second < 7200; second++) {
        bench_put(bench, shop, "cpu", second, (double)second);
        if (second < 600)
            bench_put(bench, gone, "cpu", second, 1);
        if (second % 10 == 0)
            bench_commit(bench);
    }
    put_recording(bench, "old", BENCH_START_NS + 1, 5);
    put_recording(bench, "new", BENCH_START_NS + 2 * hour, 5);
    put_recording(bench, "running", 0, 5);
    unsigned steps = sweep_all(bench, BENCH_START_NS + 2 * hour);
    assert_true(steps > 2); /* a little at a time */
    assert_string_equal(recordings(bench).text,
                        "new:Succeeded:5:key:alice running:Running:5:key:alice ");
    assert_false(has_file(bench, "old"));
    assert_true(has_file(bench, "new") && has_file(bench, "running"));
    struct bench_answer answer = bench_ask(bench, (struct sn_store_query){.pid = 10});
    assert_in_range(answer.count, 3600 - 1, 3600 + 256);
    assert_true(answer.last == 7199);
    size_t seen = 0;
    const struct sn_store_query nobody = {.process = "gone"};
    assert_int_equal(sn_store_processes(bench->store, &nobody, count_seen, &seen, NULL), SONDE_OK);
    assert_int_equal(seen, 0);
}

static void what_is_too_much_goes_oldest_first(void **state)
{
    struct store_bench *bench = *state;
    bench->bytes_max = 1u << 20;
    bench->age_max_ns = UINT64_MAX;
    bench_reopen(bench);
    for (unsigned i = 0; i < 20; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "r%02u", i);
        put_recording(bench, id, i == 3 ? 0 : BENCH_START_NS + i + 1, 100000);
    }
    (void)sweep_all(bench, BENCH_START_NS + 100);
    assert_true(has_file(bench, "r03")); /* it runs */
    assert_false(has_file(bench, "r00"));
    assert_true(has_file(bench, "r19"));
    assert_true(bench_health(bench).bytes < (6u << 20));
}

static void files_that_nobody_knows_go_when_they_are_old(void **state)
{
    struct store_bench *bench = *state;
    put_recording(bench, "known", BENCH_START_NS + 1, 5);
    make_file(bench, "stray");
    uint64_t now_ns = sn_clock_utc_ns();
    bench->age_max_ns = UINT64_MAX;
    bench_reopen(bench);
    (void)sweep_all(bench, now_ns);
    assert_true(has_file(bench, "stray"));
    bench->age_max_ns = 3600 * (uint64_t)BENCH_SECOND;
    bench_reopen(bench);
    (void)sweep_all(bench, now_ns + 2 * bench->age_max_ns);
    assert_false(has_file(bench, "stray"));
}

/* --- versions and damage --- */

static void a_store_of_version_1_is_brought_up(void **state)
{
    struct store_bench *bench = *state;
    sn_store_close(bench->store);
    bench->store = NULL;
    bench_golden(bench, "v1.db");
    for (int round = 0; round < 2; round++) {
        bench_open(bench);
        assert_string_equal(bench_health(bench).set_aside, "");
        struct bench_answer answer = bench_ask(bench, (struct sn_store_query){.process = "shop"});
        assert_int_equal(answer.count, 60);
        assert_true(answer.last == 159);
        assert_string_equal(recordings(bench).text,
                            "0a1b2c3d-0000-4000-8000-000000000001:Succeeded:0: ");
        assert_int_equal(bench_health(bench).damaged_count, 0);
        int64_t shop = bench_process(bench, 10, "other");
        bench_put(bench, shop, "cpu", 1, 1);
        bench_commit(bench);
        if (!round) {
            sn_store_close(bench->store);
            bench->store = NULL;
        }
    }
}

static void a_store_of_a_newer_version_is_refused_and_left_alone(void **state)
{
    struct store_bench *bench = *state;
    const struct sn_store_options options = {.folder = bench->folder};
    struct sonde_error err = {0};
    put_recording(bench, "one", BENCH_START_NS + 1, 5);
    sn_store_close(bench->store);
    bench->store = NULL;
    bench_sql(bench, "PRAGMA user_version = 99");
    assert_int_equal(sn_store_open(&options, &bench->store, &err), SONDE_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "99"));
    bench_sql(bench, "PRAGMA user_version = 3");
    bench_open(bench);
    assert_string_equal(recordings(bench).text, "one:Succeeded:5:key:alice ");
}

static size_t aside_count(const struct store_bench *bench)
{
    char pattern[512];
    glob_t found = {0};
    (void)snprintf(pattern, sizeof(pattern), "%s/store.db.damaged-*[0-9]", bench->folder);
    int rc = glob(pattern, 0, NULL, &found);
    size_t count = rc == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

static void fill(struct store_bench *bench)
{
    int64_t shop = bench_process(bench, 10, "shop");
    for (uint64_t second = 0; second < 2000; second++) {
        bench_put(bench, shop, "cpu", second, sin((double)second));
        bench_put(bench, shop, "heap", second, cos((double)second));
        if (second % 20 == 0)
            bench_commit(bench);
    }
    bench_commit(bench);
}

static void harm(const struct store_bench *bench, int way)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/store.db", bench->folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    struct stat facts;
    assert_int_equal(fstat(fd, &facts), 0);
    char garbage[4096];
    memset(garbage, 0xa5, sizeof(garbage));
    ssize_t size = 1;
    if (way == 0) /* no database at all */
        size = pwrite(fd, garbage, sizeof(garbage), 0);
    else if (way == 1) /* cut in the middle */
        assert_int_equal(ftruncate(fd, facts.st_size / 2), 0);
    else if (way == 2) /* cut in the first page */
        assert_int_equal(ftruncate(fd, 1000), 0);
    else /* the schema */
        size = pwrite(fd, garbage, 2000, 2000);
    assert_true(size > 0);
    (void)close(fd);
}

static void a_damaged_database_is_set_aside_and_a_new_one_begun(void **state)
{
    struct store_bench *bench = *state;
    for (int way = 0; way < 4; way++) {
        put_recording(bench, "one", BENCH_START_NS + 1, 5);
        put_recording(bench, "two", 0, 5);
        fill(bench);
        sn_store_close(bench->store);
        bench->store = NULL;
        harm(bench, way);
        bench_open(bench);
        assert_true(strncmp(bench_health(bench).set_aside, "store.db.damaged-", 17) == 0);
        assert_int_equal(aside_count(bench), way + 1);
        /* Of one that was only cut they can still be read. */
        assert_string_equal(recordings(bench).text,
                            way == 1 ? "one:Succeeded:5:key:alice two:Failed:5:key:alice " : "");
        assert_int_equal(bench_ask(bench, (struct sn_store_query){0}).count, 0);
        int64_t shop = bench_process(bench, 10, "shop");
        bench_put(bench, shop, "cpu", 1, 1);
        bench_commit(bench);
        bench_reopen(bench);
        assert_int_equal(bench_ask(bench, (struct sn_store_query){0}).count, 1);
        assert_string_equal(bench_health(bench).set_aside, "");
    }
}

static void a_database_of_somebody_else_is_set_aside(void **state)
{
    struct store_bench *bench = *state;
    sn_store_close(bench->store);
    bench->store = NULL;
    bench_sql(bench, "PRAGMA application_id = 4711");
    bench_open(bench);
    assert_int_equal(aside_count(bench), 1);
}

/* Pages in the middle, found when they are read: what is in memory goes on in a new one. */
static void damage_that_is_found_at_work_ends_in_a_new_one(void **state)
{
    struct store_bench *bench = *state;
    fill(bench);
    sn_store_close(bench->store);
    bench->store = NULL;
    char path[512];
    char garbage[4096];
    memset(garbage, 0xa5, sizeof(garbage));
    (void)snprintf(path, sizeof(path), "%s/store.db", bench->folder);
    bench_open(bench);
    int64_t shop = bench_process(bench, 10, "shop");
    bench_put(bench, shop, "cpu", 5000, 1);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (off_t page = 2; page < 60; page++)
        assert_int_equal(pwrite(fd, garbage, 4096, page * 4096), 4096);
    bool has_failed = false;
    for (uint64_t second = 5001; second < 5600; second++) {
        bench_put(bench, shop, "cpu", second, 1);
        has_failed |= sn_store_commit(bench->store, NULL) != SONDE_OK;
    }
    (void)close(fd); /* lets go of SQLite's locks too: only now */
    assert_true(has_failed);
    assert_int_equal(aside_count(bench), 1);
    assert_false(bench_health(bench).is_degraded);
    bench_reopen(bench);
    struct bench_answer answer = bench_ask(
        bench, (struct sn_store_query){.counter = "cpu",
                                       .from_ns = BENCH_START_NS + 5000 * (uint64_t)BENCH_SECOND});
    assert_int_equal(answer.count, 600);
}

static void chunks_whose_bytes_changed_are_counted_and_left_out(void **state)
{
    struct store_bench *bench = *state;
    fill(bench);
    sn_store_close(bench->store);
    bench->store = NULL;
    bench_sql(bench, "UPDATE chunk SET data = zeroblob(length(data)) WHERE id = 3");
    bench_open(bench);
    for (int i = 0; i < 2; i++) {
        struct bench_answer answer = bench_ask(bench, (struct sn_store_query){0});
        assert_in_range(answer.count, 4000 - 256, 4000 - 1);
        assert_int_equal(bench_health(bench).damaged_count, 1);
    }
}

static void another_controller_is_told_that_the_store_is_taken(void **state)
{
    struct store_bench *bench = *state;
    const struct sn_store_options options = {.folder = bench->folder};
    struct sn_store *second = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_store_open(&options, &second, &err), SONDE_E_BUSY);
    assert_null(second);
}

static void files_of_the_store_are_private(void **state)
{
    struct store_bench *bench = *state;
    struct stat facts;
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/store.db", bench->folder);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    (void)snprintf(path, sizeof(path), "%s/files", bench->folder);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, bench_begin, bench_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(points_are_there_before_and_after_a_commit_and_a_restart),
        STORE_TEST(series_become_chunks_and_blocks_go),
        STORE_TEST(a_point_of_the_future_silences_nobody),
        STORE_TEST(many_points_of_one_series_at_once_are_all_kept),
        STORE_TEST(questions_choose_by_process_time_and_counter),
        STORE_TEST(steps_put_points_together),
        STORE_TEST(each_kind_of_point_has_its_number),
        STORE_TEST(a_pid_that_comes_back_is_another_process),
        STORE_TEST(processes_are_told_with_their_times),
        STORE_TEST(a_question_has_its_time),
        STORE_TEST(a_question_that_pauses_tells_every_series_once),
        STORE_TEST(recordings_are_kept_replaced_and_deleted),
        STORE_TEST(one_that_ran_when_we_died_has_failed_and_has_its_file),
        STORE_TEST(methods_are_found_in_recordings_the_heaviest_first),
        STORE_TEST(what_is_too_old_goes_and_what_is_written_stays),
        STORE_TEST(what_is_too_much_goes_oldest_first),
        STORE_TEST(files_that_nobody_knows_go_when_they_are_old),
        STORE_TEST(a_store_of_version_1_is_brought_up),
        STORE_TEST(a_store_of_a_newer_version_is_refused_and_left_alone),
        STORE_TEST(a_damaged_database_is_set_aside_and_a_new_one_begun),
        STORE_TEST(a_database_of_somebody_else_is_set_aside),
        STORE_TEST(damage_that_is_found_at_work_ends_in_a_new_one),
        STORE_TEST(chunks_whose_bytes_changed_are_counted_and_left_out),
        STORE_TEST(another_controller_is_told_that_the_store_is_taken),
        STORE_TEST(files_of_the_store_are_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
