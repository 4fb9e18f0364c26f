/* Method names of a process whose trace still runs and has no rundown yet: a short second session
 * that wants nothing and is stopped at once makes the runtime enumerate what it has. */
#ifndef SN_PROFILE_NAMES_H
#define SN_PROFILE_NAMES_H

#include <stdint.h>

#include "sonde/error.h"

/* In a worker: waits ten seconds at most. `path` is replaced when it is whole. */
int sn_profile_names_fetch(uint32_t pid, const char *path, struct sonde_error *err);

#endif
