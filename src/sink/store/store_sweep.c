/* Room: what is too old or too much goes, oldest first, a little at a time. Recordings that run and
 * their files stay, and so do points that are not in chunks yet. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/folder.h"
#include "base/own.h"
#include "sink/store/store_schema.h"
#include "sink/store/store_sql.h"
#include "sink/store/store_state.h"

#define CHUNKS_A_STEP "64"
#define SERIES_A_STEP 256
#define PAGES_A_STEP  "256"
#define FREE_PAGES    64 /* are left for what comes */
#define FILES_MAX     4096u

static uint64_t written_ns(const struct stat *facts)
{
    return (uint64_t)facts->st_mtim.tv_sec * 1000000000u + (uint64_t)facts->st_mtim.tv_nsec;
}

/* --- files --- */

/* What the files of a folder take: journals are folders of files. */
static uint64_t folder_bytes(int parent, const char *name)
{
    uint64_t bytes = 0;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    SN_AUTO(sn_closedir) DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder)
        sn_close(fd);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct stat facts;
        if (fstatat(dirfd(folder), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(facts.st_mode))
            bytes += (uint64_t)facts.st_blocks * 512; /* files with holes are smaller */
    }
    return bytes;
}

/* Something in one of our folders. */
struct found {
    const char *name;
    uint64_t written_ns;
    uint64_t bytes;
};

/* Calls `look` with every file of a folder, and with every folder in files/. */
static void each_file(struct sn_store *store, const char *path,
                      void (*look)(struct sn_store *store, const struct found *found, void *user),
                      void *user)
{
    SN_AUTO(sn_closedir) DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct stat facts;
        bool is_inside = entry->d_name[0] != '.' && path == store->files;
        if (fstatat(dirfd(folder), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        struct found found = {.name = entry->d_name,
                              .written_ns = written_ns(&facts),
                              .bytes = (uint64_t)facts.st_blocks * 512};
        if (S_ISDIR(facts.st_mode) && is_inside)
            found.bytes += folder_bytes(dirfd(folder), entry->d_name);
        else if (!S_ISREG(facts.st_mode))
            continue;
        look(store, &found, user);
    }
}

static void add_size(struct sn_store *store, const struct found *found, void *user)
{
    (void)store;
    *(uint64_t *)user += found->bytes;
}

void sn_store_sweep_measure(struct sn_store *store)
{
    uint64_t bytes = 0;
    each_file(store, store->folder, add_size, &bytes);
    each_file(store, store->files, add_size, &bytes);
    store->health.bytes = bytes;
}

static void remember(struct sn_store *store, const struct found *found, bool is_beside)
{
    struct sn_store_sweep_files *old = &store->old;
    if (old->count >= FILES_MAX || strlen(found->name) >= sizeof(old->files->name))
        return;
    struct sn_store_sweep_file *files =
        sn_array_room(old->files, old->count, &old->capacity, sizeof(*files));
    if (!files)
        return;
    old->files = files;
    struct sn_store_sweep_file *file = &files[old->count++];
    *file = (struct sn_store_sweep_file){
        .written_ns = found->written_ns, .bytes = found->bytes, .is_beside = is_beside};
    memcpy(file->name, found->name, strlen(found->name) + 1);
}

static void look_beside(struct sn_store *store, const struct found *found, void *user)
{
    (void)user;
    if (strncmp(found->name, SN_STORE_ASIDE, strlen(SN_STORE_ASIDE)) == 0)
        remember(store, found, true);
}

/* Journals and CPU records lie beside the file of their recording, and are called as it is. */
static void look_in_files(struct sn_store *store, const struct found *found, void *user)
{
    sqlite3_stmt *row = user;
    struct sonde_error unread = {0};
    if (found->written_ns >= store->opened_utc_ns)
        return;
    char stem[256];
    (void)snprintf(stem, sizeof(stem), "%.*s", (int)strcspn(found->name, "."), found->name);
    sn_store_sql_text(row, 1, stem);
    if (sn_store_sql_row(row, &unread) == SONDE_END)
        remember(store, found, false);
    (void)sqlite3_reset(row); /* a file that could not be looked up stays */
}

static int newest_first(const void *left, const void *right)
{
    const struct sn_store_sweep_file *a = left;
    const struct sn_store_sweep_file *b = right;
    return a->written_ns > b->written_ns ? -1 : a->written_ns < b->written_ns;
}

static int look_for_files(struct sn_store *store, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc = sn_store_sql_prepare(store->db,
                                  "SELECT 1 FROM recording WHERE file = ?1 OR "
                                  "substr(file, 1, length(?1) + 1) = ?1 || '.'",
                                  &row, err);
    if (rc != SONDE_OK)
        return rc;
    store->old.count = 0;
    each_file(store, store->folder, look_beside, NULL);
    each_file(store, store->files, look_in_files, row);
    if (store->old.count)
        qsort(store->old.files, store->old.count, sizeof(*store->old.files), newest_first);
    store->must_look = false;
    return SONDE_OK;
}

static void empty_folder(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    SN_AUTO(sn_closedir) DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder)
        sn_close(fd);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        (void)unlinkat(dirfd(folder), entry->d_name, 0); /* what stays keeps the folder */
}

static void remove_entry(const char *folder, const char *name)
{
    SN_AUTO(sn_close) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || unlinkat(dir, name, 0) == 0 || errno != EISDIR)
        return;
    empty_folder(dir, name);
    (void)unlinkat(dir, name, AT_REMOVEDIR); /* as above */
}

static void remove_oldest_file(struct sn_store *store)
{
    const struct sn_store_sweep_file *file = &store->old.files[--store->old.count];
    remove_entry(file->is_beside ? store->folder : store->files, file->name);
}

static void remove_alike(struct sn_store *store, const struct found *found, void *user)
{
    const char *file = user;
    size_t stem = strcspn(file, ".");
    if (strncmp(found->name, file, stem) == 0 && (!found->name[stem] || found->name[stem] == '.'))
        remove_entry(store->files, found->name);
}

void sn_store_sweep_recording(struct sn_store *store, const char *file)
{
    char name[256];
    (void)snprintf(name, sizeof(name), "%s", file);
    if (strcspn(name, "."))
        each_file(store, store->files, remove_alike, name);
}

/* --- what is oldest --- */

enum sort { SORT_NONE = 0, SORT_CHUNKS, SORT_RECORDING, SORT_FILE };

static int find_oldest(struct sn_store *store, enum sort *ret_sort, uint64_t *ret_ns,
                       struct sonde_error *err)
{
    int64_t chunk_ms = 0;
    int64_t recording_ns = 0;
    int rc = sn_store_sql_number(store->db, "SELECT min(to_ms) FROM chunk", &chunk_ms, err);
    if (rc == SONDE_OK)
        rc =
            sn_store_sql_number(store->db, "SELECT min(ended_ns) FROM recording WHERE ended_ns > 0",
                                &recording_ns, err);
    *ret_sort = SORT_NONE;
    *ret_ns = UINT64_MAX;
    if (chunk_ms) {
        *ret_sort = SORT_CHUNKS;
        *ret_ns = (uint64_t)chunk_ms * SN_STORE_NS_PER_MS;
    }
    if (recording_ns && (uint64_t)recording_ns < *ret_ns) {
        *ret_sort = SORT_RECORDING;
        *ret_ns = (uint64_t)recording_ns;
    }
    const struct sn_store_sweep_files *old = &store->old;
    if (old->count && old->files[old->count - 1].written_ns < *ret_ns) {
        *ret_sort = SORT_FILE;
        *ret_ns = old->files[old->count - 1].written_ns;
    }
    return rc;
}

/* Those that ended before. */
static int remove_chunks(struct sn_store *store, uint64_t before_ns, struct sonde_error *err)
{
    char sql[192];
    (void)snprintf(sql, sizeof(sql),
                   "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE to_ms <= %lld "
                   "ORDER BY to_ms LIMIT " CHUNKS_A_STEP ")",
                   (long long)(before_ns / SN_STORE_NS_PER_MS));
    int rc = sn_store_commit_begin(store, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_run(store->db, sql, err);
    store->has_swept = true;
    return sn_store_commit_end(store, rc, err);
}

static int remove_recording(struct sn_store *store, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    char id[64] = "";
    int rc = sn_store_sql_prepare(
        store->db, "SELECT id FROM recording WHERE ended_ns > 0 ORDER BY ended_ns LIMIT 1", &row,
        err);
    if (rc == SONDE_OK && (rc = sn_store_sql_row(row, err)) == SONDE_OK)
        (void)snprintf(id, sizeof(id), "%s", sn_store_sql_column(row, 0));
    (void)sqlite3_reset(row); /* a statement that reads would be in the way */
    return rc == SONDE_OK ? sn_store_recording_delete(store, id, err) : rc;
}

static int remove_oldest(struct sn_store *store, enum sort sort, uint64_t before_ns,
                         struct sonde_error *err)
{
    switch (sort) {
    case SORT_CHUNKS: return remove_chunks(store, before_ns, err);
    case SORT_RECORDING: return remove_recording(store, err);
    case SORT_FILE: remove_oldest_file(store); return SONDE_OK;
    default: return SONDE_OK;
    }
}

/* --- what is left over --- */

/* Series without chunks, unless points come for them; and processes without series. */
static int remove_empty(struct sn_store *store, struct sonde_error *err)
{
    char sql[512];
    int64_t last = 0;
    (void)snprintf(
        sql, sizeof(sql),
        "SELECT max(id) FROM (SELECT id FROM series WHERE id > %lld ORDER BY id LIMIT %d)",
        (long long)store->swept_series, SERIES_A_STEP);
    int rc = sn_store_sql_number(store->db, sql, &last, err);
    if (rc != SONDE_OK)
        return rc;
    int64_t first = store->swept_series;
    store->swept_series = last;
    store->has_swept = last > 0;
    /* A series that points come for has points in a block, or had some a moment ago. */
    (void)snprintf(
        sql, sizeof(sql),
        "DELETE FROM series WHERE id > %lld AND id <= %lld AND NOT EXISTS (SELECT 1 FROM "
        "chunk WHERE series_id = series.id) AND NOT sonde_is_live(process_id); "
        "DELETE FROM process WHERE %lld = 0 AND NOT EXISTS (SELECT 1 FROM series WHERE "
        "process_id = process.id) AND NOT sonde_is_live(id)",
        (long long)first, (long long)last, (long long)last);
    rc = sn_store_commit_begin(store, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_run(store->db, sql, err);
    return sn_store_commit_end(store, rc, err);
}

static void is_live(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count; /* one, as registered */
    const struct sn_store *store = sqlite3_user_data(context);
    uint64_t id = (uint64_t)sqlite3_value_int64(values[0]);
    sqlite3_result_int(context, sn_table_find(&store->live_by_id, id) != NULL);
}

/* Pages that are free go back to the disk. */
static int shrink(struct sn_store *store, bool *ret_more, struct sonde_error *err)
{
    int64_t pages = 0;
    int rc = sn_store_sql_number(store->db, "PRAGMA freelist_count", &pages, err);
    if (rc != SONDE_OK || pages <= FREE_PAGES)
        return rc;
    *ret_more = true;
    rc = sn_store_commit_begin(store, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_run(store->db, "PRAGMA incremental_vacuum(" PAGES_A_STEP ")", err);
    return sn_store_commit_end(store, rc, err);
}

/* --- a step --- */

struct kept_files {
    sqlite3_stmt *live; /* whether a file is a live recording's */
    uint64_t bytes;
};

static void add_kept(struct sn_store *store, const struct found *found, void *user)
{
    struct kept_files *kept = user;
    struct sonde_error unread = {0};
    char stem[256];
    (void)store;
    (void)snprintf(stem, sizeof(stem), "%.*s", (int)strcspn(found->name, "."), found->name);
    sn_store_sql_text(kept->live, 1, stem);
    if (sn_store_sql_row(kept->live, &unread) == SONDE_END)
        kept->bytes += found->bytes;
    (void)sqlite3_reset(kept->live);
}

/* Live recordings, which are gone when nobody looks at them, have a ceiling of their own: nothing
 * that is kept goes for them. */
static int kept_bytes(struct sn_store *store, uint64_t *ret_bytes, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc = sn_store_sql_prepare(store->db,
                                  "SELECT 1 FROM recording WHERE id = ?1 AND "
                                  "instr(settings, '\"live\":true') > 0",
                                  &row, err);
    if (rc != SONDE_OK)
        return rc;
    struct kept_files kept = {.live = row};
    each_file(store, store->files, add_kept, &kept);
    *ret_bytes = kept.bytes;
    return SONDE_OK;
}

/* Without the write-ahead log, which has a size of its own, and without pages that are free. */
static int used_bytes(struct sn_store *store, uint64_t *ret_bytes, struct sonde_error *err)
{
    int64_t page = 0;
    int64_t all = 0;
    int64_t unused = 0;
    uint64_t files = 0;
    int rc = sn_store_sql_number(store->db, "PRAGMA page_size", &page, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_number(store->db, "PRAGMA page_count", &all, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_number(store->db, "PRAGMA freelist_count", &unused, err);
    if (rc == SONDE_OK)
        rc = kept_bytes(store, &files, err);
    for (size_t i = 0; i < store->old.count; i++)
        files += store->old.files[i].is_beside ? store->old.files[i].bytes : 0;
    *ret_bytes = (uint64_t)((all - unused) * page) + files;
    return rc;
}

static int step(struct sn_store *store, uint64_t now_utc_ns, bool *ret_more,
                struct sonde_error *err)
{
    enum sort sort = SORT_NONE;
    uint64_t oldest_ns = 0;
    uint64_t bytes = 0;
    int rc = store->must_look ? look_for_files(store, err) : SONDE_OK;
    if (rc == SONDE_OK)
        rc = find_oldest(store, &sort, &oldest_ns, err);
    if (rc == SONDE_OK)
        rc = used_bytes(store, &bytes, err);
    if (rc != SONDE_OK)
        return rc;
    bool is_old = now_utc_ns > store->age_max_ns && oldest_ns <= now_utc_ns - store->age_max_ns;
    if (sort != SORT_NONE && (is_old || bytes > store->bytes_max)) {
        *ret_more = true;
        return remove_oldest(store, sort, is_old ? now_utc_ns - store->age_max_ns : UINT64_MAX,
                             err);
    }
    if (store->has_swept) {
        *ret_more = true;
        return remove_empty(store, err);
    }
    return shrink(store, ret_more, err);
}

int sn_store_sweep(struct sn_store *store, uint64_t now_utc_ns, bool *ret_more,
                   struct sonde_error *err)
{
    *ret_more = false;
    int rc = sn_store_ready(store, err);
    if (rc != SONDE_OK)
        return rc;
    if (sqlite3_create_function(store->db, "sonde_is_live", 1, SQLITE_UTF8, store, is_live, NULL,
                                NULL) != SQLITE_OK)
        return sn_store_sql_fail(store->db, "functions", err);
    rc = step(store, now_utc_ns, ret_more, err);
    sn_store_sweep_measure(store);
    return rc;
}
