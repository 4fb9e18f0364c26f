/* Readable names of C++ and Rust functions. Input comes from files of targets: lengths, depth and
 * work are bounded. */
#ifndef SN_DEMANGLE_H
#define SN_DEMANGLE_H

#include <stddef.h>

#define SN_DEMANGLE_INPUT_MAX 4096u

/* Writes the readable form of `name` into `to`, cut to `size` - 1, ending in "..." when it was cut;
 * `name` itself when it is not mangled, or not well. Returns `to`. */
const char *sn_demangle(const char *name, char *to, size_t size);

#endif
