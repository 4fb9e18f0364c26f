/* The store and the loss of power. A disk keeps for sure only what was synced; of what was written
 * since, each piece may be there or not. Such disks are made of the store's own writes, and a store
 * that opens on one has everything that was acknowledged. */
#include "store_bench.h"

#include <fcntl.h>

#define FILES_MAX      8u
#define COMMITS        2000u /* the log is carried over and begun again a few times */
#define CUT_EVERY      25u
#define CUT_EVERY_SYNC 20u
#define RECORD_EVERY   20u
#define REOPEN_EVERY   900u

/* --- a file system that remembers what is not safe yet --- */

struct change {
    size_t at;
    size_t size;
    uint8_t *bytes; /* owns; NULL: the file ends at `at` */
};

struct image {
    uint8_t *bytes; /* owns */
    size_t size;
};

/* A file of the store, open or not. */
struct disk_file {
    char name[32]; /* "": none, or deleted */
    struct image safe;
    struct change *changes; /* owns; since the last sync */
    size_t count;
    size_t capacity;
    sqlite3_file *handle; /* NULL: it is closed */
    const sqlite3_io_methods *real;
    sqlite3_io_methods hooked;
};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    const char *folder;       /* whose files are watched; NULL: none */
    struct store_bench after; /* on the files that a loss of power left */
    struct disk_file files[FILES_MAX];
    uint32_t draw;
    size_t numbers;    /* acknowledged */
    size_t recordings; /* the same */
    unsigned cuts;
    unsigned syncs;
    unsigned checkpoints; /* syncs of the database, to which the log is carried over */
    size_t unsafe;        /* changes that were in doubt, at all cuts together */
} disk;

static void *grown(void *bytes, size_t size)
{
    void *more = realloc(bytes, size ? size : 1);
    assert_non_null(more);
    return more;
}

static void cut_or_fill(struct image *image, size_t size)
{
    image->bytes = grown(image->bytes, size);
    if (size > image->size)
        memset(image->bytes + image->size, 0, size - image->size);
    image->size = size;
}

static void apply(struct image *image, const struct change *change, size_t size)
{
    if (!change->bytes || change->at + size > image->size)
        cut_or_fill(image, change->at + size);
    if (size)
        memcpy(image->bytes + change->at, change->bytes, size);
}

static void forget_changes(struct disk_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->changes[i].bytes);
    file->count = 0;
}

static void forget_file(struct disk_file *file)
{
    forget_changes(file);
    free(file->changes);
    free(file->safe.bytes);
    *file = (struct disk_file){.count = 0};
}

static void note(struct disk_file *file, size_t at, const void *bytes, size_t size)
{
    if (file->count == file->capacity) {
        file->capacity = file->capacity ? 2 * file->capacity : 64;
        file->changes = grown(file->changes, file->capacity * sizeof(*file->changes));
    }
    struct change *change = &file->changes[file->count++];
    *change = (struct change){.at = at, .size = size};
    if (!bytes)
        return;
    change->bytes = grown(NULL, size);
    memcpy(change->bytes, bytes, size);
}

/* --- power fails --- */

enum luck { LUCK_NONE, LUCK_ALL, LUCK_HALF };

static uint32_t draw(uint32_t below)
{
    disk.draw = disk.draw * 1664525u + 1013904223u;
    return (disk.draw >> 8) % below;
}

/* How much of what was written but not synced has come to the disk. */
static size_t part_of(const struct change *change, enum luck luck)
{
    if (luck == LUCK_HALF && draw(8) == 0)
        return change->size / 2; /* torn */
    return luck == LUCK_ALL || (luck == LUCK_HALF && draw(2)) ? change->size : 0;
}

static void write_image(const char *folder, const struct disk_file *file, enum luck luck)
{
    char path[128];
    struct image image = {.size = 0};
    const struct change safe = {.bytes = file->safe.bytes};
    apply(&image, &safe, file->safe.size);
    for (size_t i = 0; i < file->count; i++) {
        size_t size = part_of(&file->changes[i], luck);
        if (size || (!file->changes[i].bytes && luck == LUCK_ALL))
            apply(&image, &file->changes[i], size);
    }
    (void)snprintf(path, sizeof(path), "%s/%s", folder, file->name);
    FILE *to = fopen(path, "we");
    assert_non_null(to);
    assert_int_equal(fwrite(image.bytes, 1, image.size, to), image.size);
    assert_int_equal(fclose(to), 0);
    free(image.bytes);
}

/* The machine that comes up again has what is safe, and with luck more. */
static void lose_power(enum luck luck)
{
    struct store_bench *after = &disk.after;
    struct sn_store_numbers numbers;
    (void)snprintf(after->folder, sizeof(after->folder), "%.50s-XXXXXX", disk.folder);
    assert_non_null(mkdtemp(after->folder));
    for (size_t i = 0; i < FILES_MAX; i++) {
        if (disk.files[i].name[0])
            write_image(after->folder, &disk.files[i], luck);
        disk.unsafe += disk.files[i].count;
    }
    bench_open(after);
    assert_string_equal(bench_health(after).set_aside, "");
    assert_int_equal(bench_health(after).damaged_count, 0);
    bench_check_numbers(after, disk.numbers);
    sn_store_numbers(after->store, &numbers);
    assert_in_range(numbers.recording_count, disk.recordings, disk.recordings + 1);
    bench_close(after);
    disk.cuts++;
}

/* --- what SQLite calls --- */

static struct disk_file *file_of(const sqlite3_file *handle)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        if (disk.files[i].handle == handle)
            return &disk.files[i];
    fail_msg("a file that was not opened");
    return NULL;
}

static int hooked_write(sqlite3_file *handle, const void *from, int size, sqlite3_int64 offset)
{
    struct disk_file *file = file_of(handle);
    note(file, (size_t)offset, from, (size_t)size);
    return file->real->xWrite(handle, from, size, offset);
}

static int hooked_truncate(sqlite3_file *handle, sqlite3_int64 size)
{
    struct disk_file *file = file_of(handle);
    note(file, (size_t)size, NULL, 0);
    return file->real->xTruncate(handle, size);
}

/* Just before a sync most is in doubt. */
static int hooked_sync(sqlite3_file *handle, int flags)
{
    struct disk_file *file = file_of(handle);
    bool is_checkpoint = strcmp(file->name, "store.db") == 0;
    if (disk.numbers && (is_checkpoint || disk.syncs++ % CUT_EVERY_SYNC == 0)) {
        disk.checkpoints += is_checkpoint;
        lose_power(LUCK_NONE);
        lose_power(LUCK_HALF);
        lose_power(LUCK_ALL);
    }
    for (size_t i = 0; i < file->count; i++)
        apply(&file->safe, &file->changes[i], file->changes[i].size);
    forget_changes(file);
    return file->real->xSync(handle, flags);
}

static int hooked_close(sqlite3_file *handle)
{
    struct disk_file *file = file_of(handle);
    file->handle = NULL;
    return file->real->xClose(handle);
}

static const char *watched_name(const char *path)
{
    size_t size = disk.folder ? strlen(disk.folder) : 0;
    return size && path && strncmp(path, disk.folder, size) == 0 && path[size] == '/'
               ? path + size + 1
               : NULL;
}

/* The one with that name; "": a free one. */
static struct disk_file *find_file(const char *name)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        if (strcmp(disk.files[i].name, name) == 0)
            return &disk.files[i];
    return NULL;
}

static int hooked_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *handle, int flags,
                       int *ret_flags)
{
    (void)vfs;
    const char *name = watched_name(path);
    int rc = disk.real->xOpen(disk.real, path, handle, flags, ret_flags);
    if (rc != SQLITE_OK || !name)
        return rc;
    struct disk_file *file = find_file(name);
    if (!file)
        file = find_file("");
    if (!file)
        abort();
    (void)snprintf(file->name, sizeof(file->name), "%s", name);
    file->handle = handle;
    file->real = handle->pMethods;
    file->hooked = *handle->pMethods;
    file->hooked.xWrite = hooked_write;
    file->hooked.xTruncate = hooked_truncate;
    file->hooked.xSync = hooked_sync;
    file->hooked.xClose = hooked_close;
    handle->pMethods = &file->hooked;
    return rc;
}

static int hooked_delete(sqlite3_vfs *vfs, const char *path, int syncs_folder)
{
    (void)vfs;
    const char *name = watched_name(path);
    struct disk_file *file = name ? find_file(name) : NULL;
    if (file)
        forget_file(file);
    return disk.real->xDelete(disk.real, path, syncs_folder);
}

/* --- the store --- */

static int begin(void **state)
{
    struct store_bench *bench;
    disk.real = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.real;
    disk.vfs.zName = "powerless";
    disk.vfs.xOpen = hooked_open;
    disk.vfs.xDelete = hooked_delete;
    if (sqlite3_vfs_register(&disk.vfs, 1) != SQLITE_OK || bench_begin(state) != 0)
        return 1;
    bench = *state;
    disk.folder = bench->folder;
    bench_empty(bench); /* from its first byte on */
    return 0;
}

static int end(void **state)
{
    disk.numbers = 0; /* nothing more is to be shown */
    if (disk.after.folder[0])
        bench_close(&disk.after); /* of a cut that failed */
    int rc = bench_end(state);
    disk.folder = NULL;
    for (size_t i = 0; i < FILES_MAX; i++)
        forget_file(&disk.files[i]);
    return rc;
}

static void put_recording(struct store_bench *bench)
{
    char id[16];
    struct sonde_error err = {0};
    (void)snprintf(id, sizeof(id), "r%zu", disk.recordings);
    const struct sn_store_recording recording = {.id = id,
                                                 .state = "Succeeded",
                                                 .created_utc_ns = BENCH_START_NS,
                                                 .ended_utc_ns = BENCH_START_NS + 1};
    if (sn_store_recording_put(bench->store, &recording, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    disk.recordings++;
}

static void what_was_acknowledged_survives_the_loss_of_power(void **state)
{
    static const char *const counters[] = {"a", "b", "c"};
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    for (size_t number = 0; number < COMMITS; number++) {
        bool has_more;
        bench_put(bench, shop, counters[number % 3], number, (double)number);
        bench_commit(bench);
        disk.numbers = number + 1;
        if (number % RECORD_EVERY == 0)
            put_recording(bench);
        if (number % 50 == 0)
            (void)sn_store_sweep(bench->store, BENCH_START_NS + number * BENCH_SECOND, &has_more,
                                 NULL);
        if (number % CUT_EVERY == 0)
            lose_power((enum luck)(number / CUT_EVERY % 3));
        if (number % REOPEN_EVERY == REOPEN_EVERY - 1)
            bench_reopen(bench);
    }
    print_message("%u cuts, %u checkpoints, %zu changes in doubt\n", disk.cuts, disk.checkpoints,
                  disk.unsafe);
    assert_true(disk.cuts >= COMMITS / CUT_EVERY);
    assert_true(disk.checkpoints > COMMITS / REOPEN_EVERY); /* also others than at the end */
    assert_true(disk.unsafe > 0);                           /* else nothing was at stake */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        what_was_acknowledged_survives_the_loss_of_power, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
