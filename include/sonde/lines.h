/** @file
 * Source lines. Of managed code: those of a method, by the portable PDB of its assembly. Of native
 * code: libsonde has no reader of DWARF debug information: a program that brings one hands it in
 * here, and recordings with `with_lines` use it. The `sonde` executable does. */
#ifndef SONDE_LINES_H
#define SONDE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** The lines of an assembly; opaque. One thread at a time. */
struct sonde_pdb;

/** Reads the portable PDB of the assembly (a .dll or .exe): the one beside it, or the one inside.
 * The caller frees it.
 *
 * SONDE_E_NOT_FOUND: there is no such file; SONDE_E_FORMAT: it is no assembly, or has no PDB there
 * that belongs to it. */
int sonde_pdb_open(const char *assembly, struct sonde_pdb **ret_pdb, struct sonde_error *err);

/** Frees it; NULL is fine. */
void sonde_pdb_free(struct sonde_pdb *pdb);

/** Where the IL at `il_offset` of the method with that token was written. `*ret_file` is as the
 * compiler saw it, borrowed until the next call. False: it has no lines. */
bool sonde_pdb_find(struct sonde_pdb *pdb, uint32_t token, uint32_t il_offset,
                    const char **ret_file, uint32_t *ret_line);

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
