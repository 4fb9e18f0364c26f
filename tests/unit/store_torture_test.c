/* The store over a disk that fails: every n-th write, sync or growth, a disk that is full for a
 * while. Whatever was acknowledged is there afterwards, and nothing twice. */
#include "store_bench.h"

#include <sqlite3.h>

/* --- a file system that fails when it is told to --- */

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    unsigned every; /* n: each n-th call fails; 0: none */
    unsigned calls;
    unsigned failures;
    int code;
} shim;

struct shim_file {
    sqlite3_file base; /* the real file lies behind it */
    int64_t unused;
};

static bool fails(void)
{
    if (!shim.every || ++shim.calls % shim.every)
        return false;
    shim.failures++;
    return true;
}

static sqlite3_file *real_file(sqlite3_file *file)
{
    return (sqlite3_file *)((struct shim_file *)file + 1);
}

static int shim_close(sqlite3_file *file)
{
    return real_file(file)->pMethods->xClose(real_file(file));
}
static int shim_read(sqlite3_file *file, void *to, int size, sqlite3_int64 offset)
{
    return real_file(file)->pMethods->xRead(real_file(file), to, size, offset);
}
static int shim_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 offset)
{
    if (!fails())
        return real_file(file)->pMethods->xWrite(real_file(file), from, size, offset);
    if (size > 512) /* torn, as real disks do it */
        (void)real_file(file)->pMethods->xWrite(real_file(file), from, size / 2, offset);
    return shim.code;
}
static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return fails() ? SQLITE_IOERR_TRUNCATE
                   : real_file(file)->pMethods->xTruncate(real_file(file), size);
}
static int shim_sync(sqlite3_file *file, int flags)
{
    return fails() ? SQLITE_IOERR_FSYNC : real_file(file)->pMethods->xSync(real_file(file), flags);
}
static int shim_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_file(file)->pMethods->xFileSize(real_file(file), size);
}
static int shim_lock(sqlite3_file *file, int lock)
{
    return real_file(file)->pMethods->xLock(real_file(file), lock);
}
static int shim_unlock(sqlite3_file *file, int lock)
{
    return real_file(file)->pMethods->xUnlock(real_file(file), lock);
}
static int shim_reserved(sqlite3_file *file, int *result)
{
    return real_file(file)->pMethods->xCheckReservedLock(real_file(file), result);
}
static int shim_control(sqlite3_file *file, int operation, void *argument)
{
    return real_file(file)->pMethods->xFileControl(real_file(file), operation, argument);
}
static int shim_sector(sqlite3_file *file)
{
    return real_file(file)->pMethods->xSectorSize(real_file(file));
}
static int shim_traits(sqlite3_file *file)
{
    return real_file(file)->pMethods->xDeviceCharacteristics(real_file(file));
}
static int shim_map(sqlite3_file *file, int page, int size, int extend, void volatile **to)
{
    return real_file(file)->pMethods->xShmMap(real_file(file), page, size, extend, to);
}
static int shim_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_file(file)->pMethods->xShmLock(real_file(file), offset, count, flags);
}
static void shim_barrier(sqlite3_file *file)
{
    real_file(file)->pMethods->xShmBarrier(real_file(file));
}
static int shim_unmap(sqlite3_file *file, int is_deleted)
{
    return real_file(file)->pMethods->xShmUnmap(real_file(file), is_deleted);
}

static const sqlite3_io_methods shim_methods = {.iVersion = 2,
                                                .xClose = shim_close,
                                                .xRead = shim_read,
                                                .xWrite = shim_write,
                                                .xTruncate = shim_truncate,
                                                .xSync = shim_sync,
                                                .xFileSize = shim_size,
                                                .xLock = shim_lock,
                                                .xUnlock = shim_unlock,
                                                .xCheckReservedLock = shim_reserved,
                                                .xFileControl = shim_control,
                                                .xSectorSize = shim_sector,
                                                .xDeviceCharacteristics = shim_traits,
                                                .xShmMap = shim_map,
                                                .xShmLock = shim_shm_lock,
                                                .xShmBarrier = shim_barrier,
                                                .xShmUnmap = shim_unmap};

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    file->pMethods = NULL;
    int rc = shim.real->xOpen(shim.real, name, real_file(file), flags, out);
    if (rc == SQLITE_OK)
        file->pMethods = &shim_methods;
    return rc;
}

static int install(void **state)
{
    (void)state;
    shim.real = sqlite3_vfs_find(NULL);
    if (!shim.real)
        return -1;
    shim.vfs = *shim.real;
    shim.vfs.zName = "failing";
    shim.vfs.szOsFile = (int)sizeof(struct shim_file) + shim.real->szOsFile;
    shim.vfs.xOpen = shim_open;
    return sqlite3_vfs_register(&shim.vfs, 1);
}

static void fail_every(unsigned every, int code)
{
    shim.every = every;
    shim.calls = 0;
    shim.failures = 0;
    shim.code = code;
}

/* --- what must hold --- */

/* Commits numbers while calls fail; how many of them are acknowledged. Points of a commit that
 * failed come with the next one. */
static size_t write_numbers(struct store_bench *bench, size_t count)
{
    static const char *const counters[] = {"a", "b", "c"};
    size_t acknowledged = 0;
    int64_t shop = bench_process(bench, 10, "shop");
    for (size_t number = 0; number < count; number++) {
        struct sonde_point point = bench_point(counters[number % 3], number, (double)number);
        assert_int_equal(sn_store_point(bench->store, shop, &point, NULL), SONDE_OK);
        if (sn_store_commit(bench->store, NULL) == SONDE_OK)
            acknowledged = number + 1;
        bool has_more;
        if (number % 50 == 0)
            (void)sn_store_sweep(bench->store, point.utc_ns, &has_more, NULL);
    }
    return acknowledged;
}

static void torture(struct store_bench *bench, int code)
{
    unsigned total = 0;
    for (unsigned every = 2; every < 60; every += every < 12 ? 3 : 17) {
        fail_every(every, code);
        size_t acknowledged = write_numbers(bench, 400);
        total += shim.failures;
        assert_true(shim.failures > 0);
        bench_check_numbers(bench, acknowledged);
        fail_every(0, 0);
        bench_commit(bench); /* what waited */
        assert_false(bench_health(bench).is_degraded);
        assert_int_equal(bench_health(bench).dropped_count, 0);
        bench_check_numbers(bench, 400);
        bench_reopen(bench);
        assert_string_equal(bench_health(bench).set_aside, "");
        bench_check_numbers(bench, 400);
        bench_empty(bench);
    }
    assert_true(total > 200);
}

static void every_nth_write_fails(void **state)
{
    torture(*state, SQLITE_IOERR_WRITE);
}

static void the_disk_is_full_at_every_nth_write(void **state)
{
    torture(*state, SQLITE_FULL);
}

/* --- full for a while --- */

static void a_full_disk_is_told_and_over_when_it_is_over(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    bench_put(bench, shop, "cpu", 0, 0);
    bench_commit(bench);
    fail_every(1, SQLITE_FULL);
    for (uint64_t second = 1; second < 50; second++) {
        bench_put(bench, shop, "cpu", second, (double)second);
        assert_int_not_equal(sn_store_commit(bench->store, NULL), SONDE_OK);
        assert_true(bench_health(bench).is_degraded);
    }
    assert_non_null(strstr(bench_health(bench).why, "full"));
    assert_int_equal(bench_ask(bench, (struct sn_store_query){0}).count, 50); /* also now */
    fail_every(0, 0);
    bench_commit(bench);
    assert_false(bench_health(bench).is_degraded);
    assert_string_equal(bench_health(bench).why, "");
    bench_reopen(bench);
    bench_check_numbers(bench, 50);
}

static void what_a_full_disk_cannot_take_is_dropped_at_a_bound_and_counted(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    bench_put(bench, shop, "c0", 0, 0);
    bench_commit(bench);
    fail_every(1, SQLITE_FULL);
    (void)sn_store_commit(bench->store, NULL); /* nothing to write: nothing is known yet */
    uint64_t taken = 0;
    uint64_t refused = 0;
    for (uint64_t second = 1; second <= 300; second++) {
        for (unsigned series = 0; series < 1000; series++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "c%u", series);
            struct sonde_point point = bench_point(name, second, 1);
            int rc = sn_store_point(bench->store, shop, &point, NULL);
            taken += rc == SONDE_OK;
            refused += rc == SONDE_E_LIMIT;
        }
        if (second % 30 == 1)
            assert_int_not_equal(sn_store_commit(bench->store, NULL), SONDE_OK);
    }
    assert_int_equal(taken + refused, 300000);
    assert_int_equal(taken, 128 << 10);
    assert_int_equal(bench_health(bench).dropped_count, refused);
    fail_every(0, 0);
    bench_commit(bench);
    bench_reopen(bench);
    assert_int_equal(bench_ask(bench, (struct sn_store_query){.limit = 1000000}).count, taken + 1);
}

static void recordings_wait_for_room(void **state)
{
    struct store_bench *bench = *state;
    const struct sn_store_recording recording = {.id = "one",
                                                 .state = "Succeeded",
                                                 .created_utc_ns = BENCH_START_NS,
                                                 .ended_utc_ns = BENCH_START_NS + 1};
    fail_every(1, SQLITE_FULL);
    assert_int_not_equal(sn_store_recording_put(bench->store, &recording, NULL), SONDE_OK);
    fail_every(0, 0);
    bench_commit(bench);
    bench_reopen(bench);
    assert_int_equal(sn_store_recording_delete(bench->store, "one", NULL), SONDE_OK);
}

static void a_store_begins_on_a_full_disk_and_takes_up_when_there_is_room(void **state)
{
    struct store_bench *bench = *state;
    char path[128];
    sn_store_close(bench->store);
    bench->store = NULL;
    (void)snprintf(path, sizeof(path), "%s/store.db", bench->folder);
    assert_int_equal(unlink(path), 0);
    fail_every(1, SQLITE_FULL);
    bench_open(bench);
    assert_true(bench_health(bench).is_degraded);
    fail_every(0, 0);
    bench_commit(bench);
    assert_false(bench_health(bench).is_degraded);
    int64_t shop = bench_process(bench, 10, "shop");
    bench_put(bench, shop, "cpu", 0, 0);
    bench_commit(bench);
    bench_reopen(bench);
    bench_check_numbers(bench, 1);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, bench_begin, bench_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(every_nth_write_fails),
        STORE_TEST(the_disk_is_full_at_every_nth_write),
        STORE_TEST(a_full_disk_is_told_and_over_when_it_is_over),
        STORE_TEST(what_a_full_disk_cannot_take_is_dropped_at_a_bound_and_counted),
        STORE_TEST(recordings_wait_for_room),
        STORE_TEST(a_store_begins_on_a_full_disk_and_takes_up_when_there_is_room),
    };
    return cmocka_run_group_tests(tests, install, NULL);
}
