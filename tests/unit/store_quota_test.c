/* What counts for the quota, and what has to go for it. */
#include <fcntl.h>
#include <sys/stat.h>

#include "store_bench.h"

/* A recording of so many bytes; that of a live one is gone when nobody looks. */
static void put(struct store_bench *bench, const char *id, bool is_live, size_t size)
{
    const struct sn_store_recording recording = {
        .id = id,
        .kind = "trace",
        .file = id,
        .file_name = "shop.nettrace",
        .state = is_live ? "Running" : "Succeeded",
        .settings = is_live ? "{\"profile\":\"cpu\",\"live\":true}" : "{\"profile\":\"cpu\"}",
        .summary = "",
        .owner = "key:alice",
        .process = "shop",
        .created_utc_ns = BENCH_START_NS,
        .ended_utc_ns = is_live ? 0 : BENCH_START_NS + 1,
        .bytes = size};
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", sn_store_files(bench->store), id);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(posix_fallocate(fd, 0, (off_t)size), 0);
    (void)close(fd);
    assert_int_equal(sn_store_recording_put(bench->store, &recording, NULL), SONDE_OK);
}

static bool has(const struct store_bench *bench, const char *id)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", sn_store_files(bench->store), id);
    return access(path, F_OK) == 0;
}

static void begin_with_room(struct store_bench *bench, uint64_t bytes)
{
    bench->bytes_max = bytes;
    bench->age_max_ns = UINT64_MAX;
    bench_reopen(bench);
}

static void sweep(struct store_bench *bench)
{
    for (bool has_more = true; has_more;)
        assert_int_equal(
            sn_store_sweep(bench->store, BENCH_START_NS + BENCH_SECOND, &has_more, NULL), SONDE_OK);
}

static void nothing_that_is_kept_goes_for_a_live_recording(void **state)
{
    struct store_bench *bench = *state;
    begin_with_room(bench, 1u << 20);
    put(bench, "live", true, 2u << 20);
    put(bench, "kept", false, 100000);
    sweep(bench);
    assert_true(has(bench, "kept") && has(bench, "live"));
    put(bench, "large", false, 2u << 20);
    sweep(bench);
    assert_false(has(bench, "kept") || has(bench, "large"));
    assert_true(has(bench, "live"));
}

static void a_database_that_was_set_aside_takes_part_of_the_room(void **state)
{
    struct store_bench *bench = *state;
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/store.db.damaged-20010909", bench->folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(posix_fallocate(fd, 0, 2 << 20), 0);
    assert_int_equal(futimens(fd, long_ago), 0);
    (void)close(fd);
    begin_with_room(bench, 1u << 20);
    put(bench, "kept", false, 100000);
    sweep(bench);
    assert_int_equal(access(path, F_OK), -1);
    assert_true(has(bench, "kept"));
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, bench_begin, bench_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(nothing_that_is_kept_goes_for_a_live_recording),
        STORE_TEST(a_database_that_was_set_aside_takes_part_of_the_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
