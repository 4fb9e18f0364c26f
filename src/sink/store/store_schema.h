/* The database file: opened with our settings, made or brought up to our schema, set aside when it
 * is damaged. Its layout is in docs/formats/store.md. */
#ifndef SN_STORE_SCHEMA_H
#define SN_STORE_SCHEMA_H

#include <sqlite3.h>

#include "sonde/error.h"

#define SN_STORE_SCHEMA_VERSION 3
#define SN_STORE_DATABASE       "store.db"
#define SN_STORE_ASIDE          SN_STORE_DATABASE ".damaged-" /* and when */

/* SONDE_E_FORMAT: damaged, or not ours; SONDE_E_UNSUPPORTED: of a newer version; SONDE_E_BUSY:
 * another controller has it. */
int sn_store_schema_open(const char *folder, sqlite3 **ret_db, struct sonde_error *err);

/* Renames the database and its log, which nobody has open. `to` gets the new name. */
int sn_store_schema_set_aside(const char *folder, char to[64], struct sonde_error *err);

#endif
