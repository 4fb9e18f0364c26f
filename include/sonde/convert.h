/** @file
 * Converting a saved trace to other formats in one call.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_CONVERT_H
#define SONDE_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/profile.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Which events to write, and what of them. Set `size` to sizeof, zero the rest for the defaults.
 */
struct sonde_ndjson_options {
    size_t size;          /**< sizeof(struct sonde_ndjson_options) */
    const char *provider; /**< only this one's events; NULL: all */
    const char *name;     /**< only events of this name; NULL: all */
    bool no_stacks;       /**< without stacks */
    bool addresses;       /**< stacks as addresses: as they are, and in one reading */
};

/** Writes every event as one line of JSON with its fields by name (NDJSON), as they lie in the
 * file. `options` may be NULL. Losses are lines too, whatever the options. Frames of stacks are
 * named by what the file tells, for which it is read twice. Memory does not grow with the file, but
 * with the methods in it.
 *
 * SONDE_E_TRUNCATED: the trace was cut or is damaged; all of it that is intact was written. What
 * `write` returns other than SONDE_OK ends the writing and is returned. */
int sonde_convert_ndjson(const char *path, const struct sonde_ndjson_options *options,
                         sonde_write_fn *write, void *user, struct sonde_error *err);

/** Writes the trace anew as NetTrace 4 or 6, losses included, to the file `output`, which is
 * replaced and must not be the trace itself.
 *
 * SONDE_E_TRUNCATED: the trace was cut or is damaged; all of it that is intact was written, as a
 * complete file. */
int sonde_convert_nettrace(const char *path, uint32_t version, const char *output,
                           struct sonde_error *err);

/** Writes the CPU samples and switches of a machine-wide recording into a zip file as perfcollect
 * does (NAME.trace.zip), which PerfView opens: the text of `perf script`, with all names in it.
 *
 * SONDE_E_NOT_FOUND: the trace has none. SONDE_E_TRUNCATED: it was cut or not finished; all of it
 * that is intact was written. */
int sonde_convert_perfcollect(const char *path, const char *output, struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
