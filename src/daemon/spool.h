/* The folder of files in the making: ours alone, emptied at the start, every name an id of our own.
 */
#ifndef SN_SPOOL_H
#define SN_SPOOL_H

#include <stddef.h>

#include "sonde/error.h"

/* `folder` (0700) is made if it is not there, and what an earlier life left in it removed. Fails
 * when it is somebody else's. */
int sn_spool_open(const char *folder, struct sonde_error *err);

/* A random GUID in small letters; `to` needs 37 bytes. */
int sn_spool_id(char to[37], struct sonde_error *err);

#endif
