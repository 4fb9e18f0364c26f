/* What a program logs, into a file: an operation. Settings: `format` ("text", "ndjson",
 * "json-seq"), `level` (a word; null: as the program filters), `categories` (a list of
 * "Name=level"), `secrets` (true: shown; otherwise what looks like one is left out).
 */
#ifndef SN_LOG_OPERATION_H
#define SN_LOG_OPERATION_H

#include "daemon/operation.h"

extern const struct sn_operation_kind sn_log_operation;

#endif
