/* The folder of files in the making: ours alone, emptied at the start, every name an id of our own.
 */
#ifndef SN_SPOOL_H
#define SN_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

/* `folder` (0700) is made if it is not there, and what an earlier life left in it removed. Fails
 * when it is somebody else's. */
int sn_spool_open(const char *folder, struct sonde_error *err);

/* What its files take up on the disk; whether that has less than a twentieth and less than 64 MB
 * left. From any thread. */
uint64_t sn_spool_bytes(const char *folder);
bool sn_spool_is_full(const char *folder);

/* How large another file in it may be: within `quota` for all of them, and without filling the
 * disk. From any thread. */
uint64_t sn_spool_room(const char *folder, uint64_t quota);

/* Within the state folder, or where temporary files are: then with a name of ours. The caller frees
 * it. NULL: no memory. */
char *sn_spool_path(const char *state_folder, bool is_temporary);

/* A random GUID in small letters; `to` needs 37 bytes. */
int sn_spool_id(char to[37], struct sonde_error *err);

#endif
