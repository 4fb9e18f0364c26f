/* Which build of a module a process runs: the version id (MVID) in the metadata of its file. */
#ifndef SN_VERSION_ID_H
#define SN_VERSION_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the .dll at `path` as that process sees it. `budget` is how many bytes may be read, and is
 * taken from whether they help or not. False when it cannot be told: `ret_guid` is zeros. */
bool sn_version_id_read(uint32_t pid, const char *path, size_t *budget, uint8_t ret_guid[16]);

#endif
