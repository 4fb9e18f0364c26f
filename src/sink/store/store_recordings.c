/* Recordings: rows that say what the files beside the database are. One that cannot be written now
 * waits for the next commit, and is told as if it had been. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/pattern.h"
#include "sink/store/store_sql.h"
#include "sink/store/store_state.h"

#define TEXTS    9u
#define TEXT_MAX (256u << 10)
#define LIMIT    100000u
#define CUT_OFF  "the controller ended while this ran; the file has what came until then"

#define INSERT                                                                       \
    "INSERT OR REPLACE INTO recording (id, kind, file, file_name, state, settings, " \
    "summary, owner, process, pid, created_ns, ended_ns, bytes) VALUES "             \
    "(?,?,?,?,?,?,?,?,?,?,?,?,?)"

/* Texts in the order of the columns below. */
static void texts_of(const struct sn_store_recording *recording, const char *texts[TEXTS])
{
    const char *const all[TEXTS] = {recording->id,        recording->kind,  recording->file,
                                    recording->file_name, recording->state, recording->settings,
                                    recording->summary,   recording->owner, recording->process};
    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = all[i] ? all[i] : "";
}

static void put_texts(struct sn_store_recording *recording, const char *const texts[TEXTS])
{
    recording->id = texts[0];
    recording->kind = texts[1];
    recording->file = texts[2];
    recording->file_name = texts[3];
    recording->state = texts[4];
    recording->settings = texts[5];
    recording->summary = texts[6];
    recording->owner = texts[7];
    recording->process = texts[8];
}

/* --- those that wait --- */

static struct sn_store_waiting *copy(const struct sn_store_recording *recording)
{
    const char *texts[TEXTS];
    size_t sizes[TEXTS];
    size_t total = 0;
    texts_of(recording, texts);
    for (size_t i = 0; i < TEXTS; i++)
        total += sizes[i] = strnlen(texts[i], TEXT_MAX) + 1;
    struct sn_store_waiting *waiting = malloc(sizeof(*waiting) + total);
    if (!waiting)
        return NULL;
    char *at = (char *)(waiting + 1);
    for (size_t i = 0; i < TEXTS; i++) {
        memcpy(at, texts[i], sizes[i] - 1);
        at[sizes[i] - 1] = '\0';
        texts[i] = at;
        at += sizes[i];
    }
    waiting->next = NULL;
    waiting->recording = *recording;
    put_texts(&waiting->recording, texts);
    return waiting;
}

static bool drop_waiting(struct sn_store *store, const char *id)
{
    struct sn_store_waiting **slot = &store->waiting;
    while (*slot && strcmp((*slot)->recording.id, id) != 0)
        slot = &(*slot)->next;
    struct sn_store_waiting *found = *slot;
    if (!found)
        return false;
    *slot = found->next;
    free(found);
    store->waiting_count--;
    return true;
}

void sn_store_recordings_written(struct sn_store *store)
{
    store->must_end = false;
    while (store->waiting)
        (void)drop_waiting(store, store->waiting->recording.id); /* it is there */
}

static void bind(sqlite3_stmt *row, const struct sn_store_recording *recording)
{
    const char *texts[TEXTS];
    texts_of(recording, texts);
    for (size_t i = 0; i < TEXTS; i++)
        sn_store_sql_text(row, (int)i + 1, texts[i]);
    (void)sqlite3_bind_int64(row, TEXTS + 1, recording->pid);
    (void)sqlite3_bind_int64(row, TEXTS + 2, (int64_t)recording->created_utc_ns);
    (void)sqlite3_bind_int64(row, TEXTS + 3, (int64_t)recording->ended_utc_ns);
    (void)sqlite3_bind_int64(row, TEXTS + 4, (int64_t)recording->bytes);
}

int sn_store_recording_put(struct sn_store *store, const struct sn_store_recording *recording,
                           struct sonde_error *err)
{
    if (!recording->id || !recording->id[0] || (recording->file && strchr(recording->file, '/')))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a recording needs an id, and a file in files/");
    struct sn_store_waiting *waiting = copy(recording);
    if (!waiting)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a recording");
    (void)drop_waiting(store, recording->id); /* replaced */
    if (store->waiting_count >= SN_STORE_WAITING_MAX) {
        free(waiting);
        return sn_fail(err, SONDE_E_LIMIT, 0, "the store cannot write, and keeps %u recordings",
                       SN_STORE_WAITING_MAX);
    }
    waiting->next = store->waiting;
    store->waiting = waiting;
    store->waiting_count++;
    return sn_store_commit(store, err);
}

/* --- reading --- */

#define COLUMNS                                                                         \
    "SELECT id, kind, file, file_name, state, settings, summary, owner, process, pid, " \
    "created_ns, ended_ns, bytes FROM recording "

static void read_row(sqlite3_stmt *row, struct sn_store_recording *recording)
{
    const char *texts[TEXTS];
    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = sn_store_sql_column(row, (int)i);
    put_texts(recording, texts);
    recording->pid = (uint32_t)sqlite3_column_int64(row, TEXTS);
    recording->created_utc_ns = (uint64_t)sqlite3_column_int64(row, TEXTS + 1);
    recording->ended_utc_ns = (uint64_t)sqlite3_column_int64(row, TEXTS + 2);
    recording->bytes = (uint64_t)sqlite3_column_int64(row, TEXTS + 3);
}

static bool is_wanted(const struct sn_store_query *query,
                      const struct sn_store_recording *recording)
{
    if (!query)
        return true;
    uint64_t to_ns = query->to_ns ? query->to_ns : UINT64_MAX;
    bool is_then = recording->created_utc_ns <= to_ns &&
                   (!recording->ended_utc_ns || recording->ended_utc_ns >= query->from_ns);
    return is_then && (!query->pid || query->pid == recording->pid) &&
           (!query->process || sn_pattern_matches(query->process, recording->process));
}

static bool is_waiting(const struct sn_store *store, const char *id)
{
    const struct sn_store_waiting *waiting = store->waiting;
    while (waiting && strcmp(waiting->recording.id, id) != 0)
        waiting = waiting->next;
    return waiting != NULL;
}

int sn_store_recordings(struct sn_store *store, const struct sn_store_query *query,
                        bool (*each)(void *user, const struct sn_store_recording *recording),
                        void *user, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    size_t left = query && query->limit ? query->limit : LIMIT;
    int rc = sn_store_ready(store, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_prepare(store->db, COLUMNS "ORDER BY created_ns", &row, err);
    while (left && rc == SONDE_OK && (rc = sn_store_sql_row(row, err)) == SONDE_OK) {
        struct sn_store_recording recording;
        read_row(row, &recording);
        if (is_waiting(store, recording.id) || !is_wanted(query, &recording))
            continue;
        left = each(user, &recording) ? left - 1 : 0;
    }
    for (struct sn_store_waiting *waiting = store->waiting; waiting && left && rc >= 0;
         waiting = waiting->next)
        if (is_wanted(query, &waiting->recording))
            left = each(user, &waiting->recording) ? left - 1 : 0;
    return rc < 0 ? rc : SONDE_OK;
}

/* --- the end of one --- */

static int delete_rows(struct sn_store *store, const char *id, struct sonde_error *err)
{
    static const char *const statements[] = {"DELETE FROM profile WHERE recording_id = ?",
                                             "DELETE FROM recording WHERE id = ?"};
    int rc = SONDE_OK;
    for (size_t i = 0; i < 2 && rc == SONDE_OK; i++) {
        SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
        rc = sn_store_sql_prepare(store->db, statements[i], &row, err);
        if (rc != SONDE_OK)
            break;
        sn_store_sql_text(row, 1, id);
        rc = sn_store_sql_step(row, err);
    }
    return rc;
}

/* SONDE_END: there is none. The file's name, "" while it has none. */
static int find_file(struct sn_store *store, const char *id, char *file, size_t size,
                     struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc = sn_store_sql_prepare(store->db, "SELECT file FROM recording WHERE id = ?", &row, err);
    if (rc != SONDE_OK)
        return rc;
    sn_store_sql_text(row, 1, id);
    rc = sn_store_sql_row(row, err);
    (void)snprintf(file, size, "%s", rc == SONDE_OK ? sn_store_sql_column(row, 0) : "");
    return rc;
}

int sn_store_recording_delete(struct sn_store *store, const char *id, struct sonde_error *err)
{
    char file[256] = "";
    int rc = sn_store_ready(store, err);
    if (rc == SONDE_OK)
        rc = find_file(store, id, file, sizeof(file), err);
    if (rc < 0)
        return rc;
    for (const struct sn_store_waiting *waiting = store->waiting; waiting; waiting = waiting->next)
        if (strcmp(waiting->recording.id, id) == 0)
            (void)snprintf(file, sizeof(file), "%s", waiting->recording.file);
    if (!drop_waiting(store, id) && rc == SONDE_END)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "there is no recording %.40s", id);
    rc = sn_store_commit_begin(store, err);
    if (rc == SONDE_OK)
        rc = delete_rows(store, id, err);
    rc = sn_store_commit_end(store, rc, err);
    if (rc == SONDE_OK)
        sn_store_sweep_recording(store, file); /* after its row, which must not be without it */
    return rc;
}

/* --- an earlier life --- */

static int end_one(struct sn_store *store, sqlite3_stmt *row, sqlite3_stmt *change,
                   struct sonde_error *err)
{
    struct sn_store_recording recording;
    read_row(row, &recording);
    int dir = open(store->files, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat facts = {0};
    bool has_file = recording.file[0] && fstatat(dir, recording.file, &facts, 0) == 0;
    sn_close(dir);
    uint64_t ended_ns = store->opened_utc_ns;
    if (has_file) /* it was written to until then */
        ended_ns = (uint64_t)facts.st_mtim.tv_sec * 1000000000u + (uint64_t)facts.st_mtim.tv_nsec;
    sn_store_sql_text(change, 1, CUT_OFF);
    (void)sqlite3_bind_int64(change, 2, (int64_t)ended_ns);
    (void)sqlite3_bind_int64(change, 3, has_file ? (int64_t)facts.st_size : 0);
    sn_store_sql_text(change, 4, recording.id);
    return sn_store_sql_step(change, err);
}

/* Those of this life began after it was opened. */
static int end_all(struct sn_store *store, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *change = NULL;
    int rc = sn_store_sql_prepare(
        store->db, COLUMNS "WHERE ended_ns = 0 AND state <> 'Configured' AND created_ns < ?", &row,
        err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_prepare(store->db,
                                  "UPDATE recording SET state = 'Failed', summary = json_set(CASE "
                                  "WHEN json_valid(summary) THEN summary ELSE '{}' END, "
                                  "'$.message', ?), ended_ns = ?, bytes = ? WHERE id = ?",
                                  &change, err);
    if (rc == SONDE_OK)
        (void)sqlite3_bind_int64(row, 1, (int64_t)store->opened_utc_ns);
    while (rc == SONDE_OK && (rc = sn_store_sql_row(row, err)) == SONDE_OK)
        rc = end_one(store, row, change, err);
    return rc < 0 ? rc : SONDE_OK;
}

/* --- the commit --- */

int sn_store_recordings_write(struct sn_store *store, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc = store->must_end ? end_all(store, err) : SONDE_OK;
    if (!store->waiting || rc != SONDE_OK)
        return rc;
    rc = sn_store_sql_prepare(store->db, INSERT, &row, err);
    for (struct sn_store_waiting *waiting = store->waiting; waiting && rc == SONDE_OK;
         waiting = waiting->next) {
        bind(row, &waiting->recording);
        rc = sn_store_sql_step(row, err);
    }
    return rc;
}

/* A disk that is full does not keep the store from opening: the first commit ends them. */
int sn_store_recordings_end(struct sn_store *store, struct sonde_error *err)
{
    int64_t count = 0;
    int rc = sn_store_sql_number(
        store->db, "SELECT count(*) FROM recording WHERE ended_ns = 0 AND state <> 'Configured'",
        &count, err);
    store->must_end = count > 0;
    if (rc != SONDE_OK || !count)
        return rc;
    struct sonde_error unwritten = {0};
    rc = sn_store_commit(store, &unwritten);
    return rc == SONDE_E_FORMAT ? sn_fail_as(err, &unwritten) : SONDE_OK;
}

/* --- from a damaged database --- */

/* Opened in spite of its damage, and left as it is. NULL: it cannot be. */
static sqlite3 *open_damaged(const struct sn_store *store, const char *name)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%.*s/%.63s", PATH_MAX - 80, store->folder, name);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA writable_schema = ON;", NULL,
                     NULL, NULL) != SQLITE_OK) {
        (void)sqlite3_close_v2(db); /* nothing was written */
        return NULL;
    }
    return db;
}

/* Until the first row that cannot be read. */
static int copy_rows(struct sn_store *store, sqlite3 *damaged, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *from = NULL;
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *to = NULL;
    struct sonde_error unread = {0};
    if (sn_store_sql_prepare(damaged, COLUMNS, &from, &unread) != SONDE_OK)
        return SONDE_OK;
    int rc = sn_store_sql_prepare(store->db, INSERT, &to, err);
    while (rc == SONDE_OK && sn_store_sql_row(from, &unread) == SONDE_OK) {
        struct sn_store_recording recording;
        read_row(from, &recording);
        bind(to, &recording);
        rc = sn_store_sql_step(to, err);
    }
    return rc;
}

void sn_store_recordings_salvage(struct sn_store *store, const char *aside)
{
    struct sonde_error lost = {0};
    sqlite3 *damaged = open_damaged(store, aside);
    if (!damaged)
        return;
    int rc = sn_store_commit_begin(store, &lost);
    if (rc == SONDE_OK)
        rc = copy_rows(store, damaged, &lost);
    (void)sn_store_commit_end(store, rc, &lost); /* the health tells */
    (void)sqlite3_close_v2(damaged);
}
