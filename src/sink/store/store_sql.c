#include "sink/store/store_sql.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"

static int status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM: return SONDE_E_NOMEM;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return SONDE_E_FORMAT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return SONDE_E_BUSY;
    case SQLITE_TOOBIG: return SONDE_E_LIMIT;
    default: return SONDE_E_SYSTEM;
    }
}

int sn_store_sql_fail(sqlite3 *db, const char *what, struct sonde_error *err)
{
    int code = db ? sqlite3_errcode(db) : SQLITE_NOMEM;
    int rc = status_of(code);
    errno = db ? sqlite3_system_errno(db) : 0;
    if ((code & 0xff) == SQLITE_FULL) /* its write said so, or wrote a part only */
        errno = ENOSPC;
    if (rc == SONDE_E_BUSY)
        return sn_fail(err, rc, 0,
                       "the store: another program has its database open: end that, or choose "
                       "another --state FOLDER");
    /* Of a statement its first word is enough for people; settings say nothing to them. */
    int size = strncmp(what, "PRAGMA", 6) == 0 ? 0 : (int)strcspn(what, " ");
    return sn_fail(err, rc, 0, "the store cannot be used: %s%s%.*s%s",
                   db ? sqlite3_errmsg(db) : "no memory", size ? " (" : "", size, what,
                   size ? ")" : "");
}

int sn_store_sql_run(sqlite3 *db, const char *sql, struct sonde_error *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return sn_store_sql_fail(db, sql, err);
    return SONDE_OK;
}

int sn_store_sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement,
                         struct sonde_error *err)
{
    if (sqlite3_prepare_v2(db, sql, -1, ret_statement, NULL) != SQLITE_OK)
        return sn_store_sql_fail(db, sql, err);
    return SONDE_OK;
}

int sn_store_sql_step(sqlite3_stmt *statement, struct sonde_error *err)
{
    int code = sqlite3_step(statement);
    int rc = SONDE_OK;
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        rc = sn_store_sql_fail(sqlite3_db_handle(statement), sqlite3_sql(statement), err);
    (void)sqlite3_reset(statement); /* says again what the step said */
    return rc;
}

int sn_store_sql_row(sqlite3_stmt *statement, struct sonde_error *err)
{
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW: return SONDE_OK;
    case SQLITE_DONE: return SONDE_END;
    default: return sn_store_sql_fail(sqlite3_db_handle(statement), sqlite3_sql(statement), err);
    }
}

int sn_store_sql_number(sqlite3 *db, const char *sql, int64_t *ret_number, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *statement = NULL;
    int rc = sn_store_sql_prepare(db, sql, &statement, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_row(statement, err);
    if (rc < 0)
        return rc;
    *ret_number = rc == SONDE_OK ? sqlite3_column_int64(statement, 0) : 0;
    return SONDE_OK;
}

void sn_store_sql_text(sqlite3_stmt *statement, int index, const char *text)
{
    (void)sqlite3_bind_text(statement, index, text ? text : "", -1, SQLITE_STATIC);
}

const char *sn_store_sql_column(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? (const char *)text : "";
}
