/* Options that a caller hands in, who may know an older or a newer header than this library: the
 * one rule for every struct of the public interface that begins with its `size`. */
#ifndef SN_OPTIONS_IN_H
#define SN_OPTIONS_IN_H

#include <stddef.h>

struct sonde_error;

/* Copies what both know of `given` to `to`, which takes `size` bytes; the rest of it is zero, the
 * default, and all of it when `given` is NULL. `what` names them: "trace options".
 *
 * SONDE_E_ARGUMENT: the caller did not set `size`, or wants something that is not known here. */
int sn_options_in(const void *given, void *to, size_t size, const char *what,
                  struct sonde_error *err);

#endif
