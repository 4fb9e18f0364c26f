/* A little around SQLite's C interface: errors in our words, statements that end with their scope.
 */
#ifndef SN_STORE_SQL_H
#define SN_STORE_SQL_H

#include <sqlite3.h>
#include <stdint.h>

#include "sonde/error.h"

static inline void sn_store_sql_end_auto(sqlite3_stmt *const *statement)
{
    (void)sqlite3_finalize(*statement); /* what failed was told by the step */
}

/* Why the last call failed, as one of our statuses: SONDE_E_FORMAT for a damaged database,
 * SONDE_E_BUSY for one that another holds, SONDE_E_SYSTEM for a disk that is full or broken. */
int sn_store_sql_fail(sqlite3 *db, const char *what, struct sonde_error *err);

int sn_store_sql_run(sqlite3 *db, const char *sql, struct sonde_error *err);
int sn_store_sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement,
                         struct sonde_error *err);

/* One step of a statement that gives no rows; it is ready for the next values afterwards. */
int sn_store_sql_step(sqlite3_stmt *statement, struct sonde_error *err);

/* The next row of one that does: SONDE_OK, SONDE_END, or a failure. */
int sn_store_sql_row(sqlite3_stmt *statement, struct sonde_error *err);

/* The first number of the first row; 0 when there is none. */
int sn_store_sql_number(sqlite3 *db, const char *sql, int64_t *ret_number, struct sonde_error *err);

/* Texts are borrowed until the step is over; NULL is "". */
void sn_store_sql_text(sqlite3_stmt *statement, int index, const char *text);
const char *sn_store_sql_column(sqlite3_stmt *statement, int column); /* never NULL */

#endif
