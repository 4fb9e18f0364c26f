/* Which functions hold some addresses of one ELF file: one walk through its symbol tables for a
 * sorted batch, so that no table is ever held in memory.
 *
 * A symbol holds what its size says. One without a size holds what follows it up to the next symbol
 * within the same function by .eh_frame. Where no symbol does, only bounds are told. */
#ifndef SN_SYMBOL_SEARCH_H
#define SN_SYMBOL_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "format/eh_frame.h"
#include "format/elf.h"

#define SN_SYMBOL_TABLE_MAX 3u
#define SN_SYMBOL_NAME_SIZE 4096u /* raw: longer names are cut */
#define SN_SYMBOL_BATCH_MAX 4096u /* addresses a walk; more take another */

struct sn_symbol_table {
    struct sn_read_at file;
    struct sn_elf_symbols symbols;
};

struct sn_symbol_tables {
    const struct sn_elf *elf;                          /* borrows */
    struct sn_read_at file;                            /* of `elf` */
    struct sn_symbol_table items[SN_SYMBOL_TABLE_MAX]; /* the best first */
    uint32_t count;
};

/* Where the call frame information of a file lies; hdr_size 0: it has none. */
struct sn_eh_frame sn_symbol_eh_frame(const struct sn_elf *elf);

struct sn_symbol_answer {
    uint64_t start; /* the function; virtual addresses in the file */
    uint64_t size;
    uint64_t from; /* addresses that this answer is sure to hold for, without another search */
    uint64_t until;
    const char *name; /* as in the file, borrowed for the call; "" when only the bounds are known */
};

/* Calls `found` for each function that holds one or more of `vaddrs`, which ascend; again if
 * another function lies within it. Nothing for addresses of which nothing is known, or without
 * memory. */
typedef void sn_symbol_found_fn(void *user, const struct sn_symbol_answer *answer);
void sn_symbol_search(const struct sn_symbol_tables *tables, const uint64_t *vaddrs, size_t count,
                      sn_symbol_found_fn *found, void *user);

#endif
