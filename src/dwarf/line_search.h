/* The lines of addresses in one ELF file, by libdw. Runs in the cage: libdw trusts its input more
 * than we do. */
#ifndef SN_LINE_SEARCH_H
#define SN_LINE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* How an answer begins on the pipe; `file_size` bytes follow. */
struct sn_line_answer {
    uint64_t address;
    uint32_t line;
    uint32_t file_size;
};

#define SN_LINE_FILE_MAX 4000u

/* Writes the answers for `addresses` (rising) to `out`, as they are found. */
void sn_line_search(int in, const uint64_t *addresses, size_t count, int out);

#endif
