#include "sink/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "sink/store/store_schema.h"
#include "sink/store/store_sql.h"
#include "sink/store/store_state.h"

#define DEFAULT_BYTES  (2ull << 30)
#define DEFAULT_AGE_NS (7ull * 24 * 3600 * SN_NS_PER_SECOND)

/* --- folders --- */

/* With those above it. */
static int make_folder(const char *path, struct sonde_error *err)
{
    char part[PATH_MAX];
    size_t size = strlen(path);
    if (size >= sizeof(part) - 128)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the store's folder has too long a name");
    for (size_t i = 1; i <= size; i++) {
        if (path[i] != '/' && path[i])
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return sn_fail_errno(err, "cannot make the store's folder %s", part);
    }
    return SONDE_OK;
}

static int make_folders(struct sn_store *store, const struct sn_store_options *options,
                        struct sonde_error *err)
{
    store->folder = strdup(options->folder);
    if (!store->folder || asprintf(&store->files, "%s/files", options->folder) < 0) {
        store->files = NULL;
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the store");
    }
    int rc = make_folder(store->folder, err);
    return rc == SONDE_OK ? make_folder(store->files, err) : rc;
}

/* Pids and start times begin again with each boot. */
static void read_boot(struct sn_store *store)
{
    if (sn_file_peek_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", store->boot,
                        sizeof(store->boot) - 1) < 0)
        store->boot[0] = '\0';
    store->boot[strcspn(store->boot, "\n")] = '\0';
}

/* --- opening --- */

static int read_numbers(struct sn_store *store, struct sonde_error *err)
{
    int64_t process = 0;
    int64_t series = 0;
    int rc = sn_store_sql_number(store->db, "SELECT max(id) FROM process", &process, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_number(store->db, "SELECT max(id) FROM series", &series, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_number(store->db, "SELECT max(seq) FROM sqlite_sequence",
                                 &store->last_block, err);
    store->next_process_id = process + 1;
    store->next_series_id = series + 1;
    return rc;
}

static int open_database(struct sn_store *store, struct sonde_error *err)
{
    int rc = sn_store_schema_open(store->folder, &store->db, err);
    if (rc == SONDE_OK)
        rc = read_numbers(store, err);
    if (rc == SONDE_OK)
        rc = sn_store_commit_recall(store, err);
    store->is_loaded = rc == SONDE_OK;
    if (rc == SONDE_OK)
        rc = sn_store_recordings_end(store, err);
    return rc;
}

/* What came of it so far goes; the folder stays ours. */
static void empty(struct sn_store *store)
{
    sn_store_live_forget(store, true);
    (void)sqlite3_close_v2(store->db); /* damaged or not read: nothing to lose */
    store->db = NULL;
    store->is_loaded = false;
    store->last_block = 0;
}

int sn_store_load(struct sn_store *store, struct sonde_error *err)
{
    struct sonde_error cause = {0};
    int rc = open_database(store, &cause);
    if (rc == SONDE_E_FORMAT) {
        empty(store);
        cause = (struct sonde_error){0};
        rc = sn_store_schema_set_aside(store->folder, store->health.set_aside, &cause);
        store->must_look = true;
        store->is_damaged = false;
        if (rc == SONDE_OK)
            rc = open_database(store, &cause);
        if (rc == SONDE_OK) {
            sn_store_recordings_salvage(store, store->health.set_aside);
            rc = sn_store_recordings_end(store, &cause);
        }
    }
    if (rc == SONDE_OK)
        return rc;
    empty(store);
    sn_store_commit_failed(store, &cause);
    return sn_fail_as(err, &cause);
}

/* A disk that is full now may not be later; what only people can change is refused. */
static int load_first(struct sn_store *store, struct sonde_error *err)
{
    struct sonde_error cause = {0};
    int rc = sn_store_load(store, &cause);
    bool can_wait = rc == SONDE_E_SYSTEM && cause.system_error != EROFS;
    return rc == SONDE_OK || can_wait ? SONDE_OK : sn_fail_as(err, &cause);
}

static void sn_store_close_auto(struct sn_store *const *slot)
{
    sn_store_close(*slot);
}

int sn_store_open(const struct sn_store_options *options, struct sn_store **ret_store,
                  struct sonde_error *err)
{
    SN_AUTO(sn_store_close) struct sn_store *store = calloc(1, sizeof(*store));
    if (!store)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the store");
    store->bytes_max = options->bytes_max ? options->bytes_max : DEFAULT_BYTES;
    store->age_max_ns = options->age_max_ns ? options->age_max_ns : DEFAULT_AGE_NS;
    store->opened_utc_ns = sn_clock_utc_ns();
    store->live_by_id = sn_table_with_limit(SN_STORE_LIVE_MAX);
    store->series_table = sn_table_with_limit(SN_STORE_SERIES_MAX);
    store->health.schema_version = SN_STORE_SCHEMA_VERSION;
    store->next_process_id = store->next_series_id = 1;
    store->must_look = true;
    read_boot(store);
    int rc = make_folders(store, options, err);
    if (rc == SONDE_OK)
        rc = load_first(store, err);
    if (rc != SONDE_OK)
        return rc;
    sn_store_sweep_measure(store);
    *ret_store = SN_TAKE(store);
    return SONDE_OK;
}

void sn_store_close(struct sn_store *store)
{
    if (!store)
        return;
    if (store->is_loaded)
        (void)sn_store_commit(store, NULL); /* nobody is left to tell */
    sn_store_live_forget(store, true);
    sn_store_recordings_written(store);
    (void)sqlite3_close_v2(store->db);
    sn_store_packer_done(&store->packer);
    sn_table_done(&store->live_by_id);
    sn_table_done(&store->series_table);
    free(store->old.files);
    free(store->batch);
    free(store->files);
    free(store->folder);
    free(store);
}

/* --- how it stands --- */

int sn_store_ready(struct sn_store *store, struct sonde_error *err)
{
    if (store->db && store->is_loaded)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_GONE, 0, "the store: %s", store->health.why);
}

void sn_store_health(const struct sn_store *store, struct sn_store_health *ret_health)
{
    *ret_health = store->health;
}

/* Once for each, as far as we can remember. */
void sn_store_count_damaged(struct sn_store *store, int64_t chunk_id)
{
    size_t count = sizeof(store->damaged_ids) / sizeof(store->damaged_ids[0]);
    for (size_t i = 0; i < count; i++)
        if (store->damaged_ids[i] == chunk_id)
            return;
    store->damaged_ids[store->health.damaged_count++ % count] = chunk_id;
}

const char *sn_store_files(const struct sn_store *store)
{
    return store->files;
}
