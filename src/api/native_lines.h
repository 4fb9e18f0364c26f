/* Source lines of native code, by the reader that the program brought. */
#ifndef SN_NATIVE_LINES_H
#define SN_NATIVE_LINES_H

#include "sonde/lines.h"

/* Calls `take` for every address that has a line; none without a reader. The contract is that of
 * sonde_native_lines_fn. */
size_t sn_native_lines(int fd, const uint64_t *addresses, size_t count, sonde_native_line_fn *take,
                       void *user);

#endif
