#include "sink/store/store_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "sink/store/store_pack.h"
#include "sink/store/store_sql.h"

#define APPLICATION_ID   0x536f6e64 /* "Sond" */
#define BLOB_SIZE_MAX    (64 << 20)
#define SET_VERSION(n)   "PRAGMA user_version = " #n ";"
#define BUSY_PATIENCE_MS 2000 /* a controller that is just ending */

/* The write-ahead log with a sync at each commit: what was acknowledged is on the disk. Nobody else
 * looks at the file while we have it, so the log's index is in our memory and no third file is
 * needed. */
static const char settings[] = "PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = FULL;"
                               "PRAGMA wal_autocheckpoint = 1000;"
                               "PRAGMA journal_size_limit = 4194304;"
                               "PRAGMA cache_size = -1024;"
                               "PRAGMA temp_store = MEMORY;"
                               "PRAGMA trusted_schema = OFF;"
                               "PRAGMA cell_size_check = ON;";

static const char schema[] =
    "CREATE TABLE process (id INTEGER PRIMARY KEY, boot TEXT NOT NULL, pid INTEGER NOT NULL,"
    " start_ticks INTEGER NOT NULL, name TEXT NOT NULL, runtime TEXT NOT NULL, user TEXT NOT NULL,"
    " container TEXT NOT NULL, command_line TEXT NOT NULL, first_ms INTEGER NOT NULL,"
    " last_ms INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX process_who ON process (boot, pid, start_ticks);"
    "CREATE TABLE series (id INTEGER PRIMARY KEY, process_id INTEGER NOT NULL,"
    " provider TEXT NOT NULL, counter TEXT NOT NULL, tags TEXT NOT NULL, unit TEXT NOT NULL,"
    " kind INTEGER NOT NULL, sealed_block INTEGER NOT NULL, shape INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX series_what ON series (process_id, provider, counter, tags, shape);"
    "CREATE TABLE chunk (id INTEGER PRIMARY KEY, series_id INTEGER NOT NULL,"
    " from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL, count INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL, data BLOB NOT NULL);"
    "CREATE INDEX chunk_series ON chunk (series_id, from_ms);"
    "CREATE INDEX chunk_age ON chunk (to_ms);"
    "CREATE TABLE block (id INTEGER PRIMARY KEY AUTOINCREMENT, checksum INTEGER NOT NULL,"
    " data BLOB NOT NULL);"
    "CREATE TABLE recording (id TEXT PRIMARY KEY, kind TEXT NOT NULL, file TEXT NOT NULL,"
    " file_name TEXT NOT NULL, state TEXT NOT NULL, settings TEXT NOT NULL, summary TEXT NOT NULL,"
    " owner TEXT NOT NULL, pid INTEGER NOT NULL, process TEXT NOT NULL,"
    " created_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, bytes INTEGER NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE INDEX recording_age ON recording (created_ns);"
    "CREATE TABLE profile (id INTEGER PRIMARY KEY, recording_id TEXT NOT NULL, view TEXT NOT NULL,"
    " unit TEXT NOT NULL, total INTEGER NOT NULL, methods_checksum INTEGER NOT NULL,"
    " methods BLOB NOT NULL, nodes_checksum INTEGER NOT NULL, nodes BLOB NOT NULL);"
    "CREATE UNIQUE INDEX profile_of ON profile (recording_id, view);";

/* What makes version n + 1 of version n, each for good once it was released. */
static const char *const migrations[] = {
    NULL,
    /* 1: processes were one boot's, chunks had no checksum, recordings no owner. */
    "ALTER TABLE process ADD COLUMN boot TEXT NOT NULL DEFAULT '';"
    "DROP INDEX process_who;"
    "CREATE UNIQUE INDEX process_who ON process (boot, pid, start_ticks);"
    "ALTER TABLE chunk ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;"
    "UPDATE chunk SET checksum = sonde_checksum(data);"
    "ALTER TABLE recording ADD COLUMN owner TEXT NOT NULL DEFAULT '';" SET_VERSION(2),
    /* 2: of a histogram there were means only, of levels that are counted their changes. */
    "ALTER TABLE series ADD COLUMN shape INTEGER NOT NULL DEFAULT 0;"
    "DROP INDEX series_what;"
    "CREATE UNIQUE INDEX series_what ON series (process_id, provider, counter, tags, shape);" SET_VERSION(
        3),
};
_Static_assert(sizeof(migrations) / sizeof(migrations[0]) == SN_STORE_SCHEMA_VERSION,
               "a migration to each version");

/* For migrations. */
static void checksum(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count; /* one, as registered */
    const void *bytes = sqlite3_value_blob(values[0]);
    int size = sqlite3_value_bytes(values[0]);
    sqlite3_result_int64(context, sn_store_pack_checksum(bytes, (size_t)size));
}

static int create(sqlite3 *db, struct sonde_error *err)
{
    char mark[96];
    (void)snprintf(mark, sizeof(mark), "PRAGMA application_id = %d; PRAGMA user_version = %d;",
                   APPLICATION_ID, SN_STORE_SCHEMA_VERSION);
    int rc = sn_store_sql_run(db, "BEGIN IMMEDIATE", err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_run(db, schema, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_run(db, mark, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_run(db, "COMMIT", err);
    return rc;
}

static int migrate(sqlite3 *db, int64_t version, struct sonde_error *err)
{
    int rc = sn_store_sql_run(db, "BEGIN IMMEDIATE", err);
    for (; rc == SONDE_OK && version < SN_STORE_SCHEMA_VERSION; version++)
        rc = sn_store_sql_run(db, migrations[version], err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_run(db, "COMMIT", err);
    return rc;
}

static int not_ours(struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_FORMAT, 0, "the store: the database is not one of ours");
}

/* Every table is there with its columns: statements over them can be prepared. */
static int check(sqlite3 *db, struct sonde_error *err)
{
    static const char *const looks[] = {
        "SELECT boot, pid, start_ticks, name, runtime, user, container, command_line, first_ms,"
        " last_ms FROM process",
        "SELECT process_id, provider, counter, tags, unit, kind, sealed_block, shape FROM series",
        "SELECT series_id, from_ms, to_ms, count, checksum, data FROM chunk",
        "SELECT id, checksum, data FROM block",
        "SELECT kind, file, file_name, state, settings, summary, owner, pid, process, created_ns,"
        " ended_ns, bytes FROM recording",
        "SELECT recording_id, view, unit, total, methods_checksum, methods, nodes_checksum, nodes"
        " FROM profile",
    };
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        SN_AUTO(sn_store_sql_end) sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(db, looks[i], -1, &statement, NULL) == SQLITE_ERROR)
            return not_ours(err);
        if (!statement)
            return sn_store_sql_fail(db, looks[i], err);
    }
    return SONDE_OK;
}

static int bring_up(sqlite3 *db, struct sonde_error *err)
{
    int64_t application = 0;
    int64_t version = 0;
    int64_t tables = 0;
    int rc = sn_store_sql_number(db, "PRAGMA application_id", &application, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_number(db, "PRAGMA user_version", &version, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (rc != SONDE_OK)
        return rc;
    if (!application && !version && !tables)
        return create(db, err);
    if (application != APPLICATION_ID || version < 1)
        return not_ours(err);
    if (version > SN_STORE_SCHEMA_VERSION)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the store is of version %lld, and this sonde knows versions up to %d: use "
                       "the newer sonde, or another state folder",
                       (long long)version, SN_STORE_SCHEMA_VERSION);
    rc = version < SN_STORE_SCHEMA_VERSION ? migrate(db, version, err) : SONDE_OK;
    return rc == SONDE_OK ? check(db, err) : rc;
}

/* For a new one only: to say this of another writes, which a disk that is full does not take. */
static int choose_vacuum(sqlite3 *db, struct sonde_error *err)
{
    int64_t chosen = 0;
    int rc = sn_store_sql_number(db, "PRAGMA auto_vacuum", &chosen, err);
    return rc == SONDE_OK && !chosen ? sn_store_sql_run(db, "PRAGMA auto_vacuum = INCREMENTAL", err)
                                     : rc;
}

static int set_up(sqlite3 *db, struct sonde_error *err)
{
    (void)sqlite3_extended_result_codes(db, 1);
    (void)sqlite3_busy_timeout(db, BUSY_PATIENCE_MS);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, BLOB_SIZE_MAX);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (sqlite3_create_function(db, "sonde_checksum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                checksum, NULL, NULL) != SQLITE_OK)
        return sn_store_sql_fail(db, "functions", err);
    int rc = sn_store_sql_run(db, "PRAGMA locking_mode = EXCLUSIVE", err);
    if (rc == SONDE_OK)
        rc = choose_vacuum(db, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_run(db, settings, err);
    return rc == SONDE_OK ? bring_up(db, err) : rc;
}

/* SQLite would make it readable for whom the umask lets. */
static int make_private(const char *path, struct sonde_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sn_fail_errno(err, "cannot open %s", path);
    sn_close(fd); /* nobody holds a lock on it in this process yet */
    return SONDE_OK;
}

int sn_store_schema_open(const char *folder, sqlite3 **ret_db, struct sonde_error *err)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%.*s/" SN_STORE_DATABASE, PATH_MAX - 64, folder);
    int rc = make_private(path, err);
    if (rc != SONDE_OK)
        return rc;
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK)
        rc = sn_store_sql_fail(db, "open", err);
    else
        rc = set_up(db, err);
    if (rc != SONDE_OK) {
        (void)sqlite3_close_v2(db); /* what is in doubt is rolled back at the next opening */
        return rc;
    }
    *ret_db = db;
    return SONDE_OK;
}

int sn_store_schema_set_aside(const char *folder, char to[64], struct sonde_error *err)
{
    uint64_t now_ns = sn_clock_utc_ns();
    time_t now = (time_t)(now_ns / SN_NS_PER_SECOND);
    struct tm parts;
    char when[32];
    (void)gmtime_r(&now, &parts);
    (void)strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &parts);
    (void)snprintf(to, 64, SN_STORE_ASIDE "%s.%03u", when,
                   (unsigned)(now_ns / SN_NS_PER_MS % 1000));
    char from[PATH_MAX];
    char path[PATH_MAX];
    const char *const tails[] = {"-wal", "-shm", ""};
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        (void)snprintf(from, sizeof(from), "%.*s/" SN_STORE_DATABASE "%s", PATH_MAX - 128, folder,
                       tails[i]);
        (void)snprintf(path, sizeof(path), "%.*s/%.63s%s", PATH_MAX - 128, folder, to, tails[i]);
        if (rename(from, path) != 0 && errno != ENOENT)
            return sn_fail_errno(err, "cannot set the damaged store %s aside", from);
    }
    return SONDE_OK;
}
