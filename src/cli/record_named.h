/* Recordings that are started in one shell and stopped in another: `sonde record start NAME`,
 * `stop NAME`, `list`. */
#ifndef SN_CLI_RECORD_NAMED_H
#define SN_CLI_RECORD_NAMED_H

#include <stdbool.h>

struct sn_record_run;

/* All return the exit code, having said what there is to say. */

/* Starts a recorder of its own that outlives this program and its shell; returns when it records,
 * or could not. Of `run`, what it shows and how it ends is decided here. */
int sn_record_start(const char *name, const struct sn_record_run *run);

/* Ends it, waits for its archive, and says its last words. */
int sn_record_stop(const char *name, bool json);

/* Those there are; `name` NULL: all. */
int sn_record_list(const char *name, bool json);

#endif
