/* Converting a saved trace to other formats in one call. */
#ifndef SONDE_CONVERT_H
#define SONDE_CONVERT_H

#include <stdint.h>

#include "sonde/error.h"
#include "sonde/profile.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Writes every event as one line of JSON with its fields by name (NDJSON). SONDE_E_TRUNCATED: the
 * trace was cut; all of it that is there was written. */
int sonde_convert_ndjson(const char *path, sonde_write_fn *write, void *user,
                         struct sonde_error *err);

/** Writes the trace anew as NetTrace 4 or 6, losses included, to the file `output`. */
int sonde_convert_nettrace(const char *path, uint32_t version, const char *output,
                           struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
