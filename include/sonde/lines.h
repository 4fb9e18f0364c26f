/** @file
 * Source lines of native code. libsonde has no reader of DWARF debug information: a program that
 * brings one hands it in here, and recordings with `with_lines` use it. The `sonde` executable
 * does. */
#ifndef SONDE_LINES_H
#define SONDE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Takes the line of one address. `file` is borrowed for the call. */
typedef void sonde_native_line_fn(void *user, uint64_t address, const char *file, uint32_t line);

/** Finds the lines of `count` addresses of instructions (virtual addresses in the file, rising) in
 * the ELF file `fd`, and calls `take` for those that have one. The file may be hostile: whatever is
 * in it costs its lines only. Returns how many were found. */
typedef size_t sonde_native_lines_fn(int fd, const uint64_t *addresses, size_t count,
                                     sonde_native_line_fn *take, void *user);

/** Sets the reader for the whole process; NULL: none, as at the start. Not while a recorder lives.
 */
void sonde_set_native_lines(sonde_native_lines_fn *find);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
