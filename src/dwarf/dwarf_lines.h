/* Source lines from DWARF debug information: libdw reads the file in a child process that may do
 * nothing but that. In the executable only, registered by sonde_set_native_lines. */
#ifndef SN_DWARF_LINES_H
#define SN_DWARF_LINES_H

#include "sonde/lines.h"

/* A sonde_native_lines_fn. A child that crashes, is killed or takes too long has found what it told
 * until then. */
size_t sn_dwarf_lines(int fd, const uint64_t *addresses, size_t count, sonde_native_line_fn *take,
                      void *user);

#endif
