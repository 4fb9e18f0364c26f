/* Words of an ELF file that the loader makes addresses of (R_X86_64_RELATIVE): what they are in
 * memory, by what the file says of them. Reads through a callback, bounded; nothing trusted. */
#ifndef SN_ELF_RELATIVE_H
#define SN_ELF_RELATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/elf.h"

/* Where the file's table of them lies. */
struct sn_elf_relative {
    uint64_t offset; /* in the file */
    uint64_t count;  /* 0: none */
};

/* False: no ELF file, or it has none. */
bool sn_elf_relative_find(const struct sn_read_at *file, struct sn_elf_relative *ret_table);

/* Puts right what of `bytes`, the file's at `offset`, the loader changes when the file's address 0
 * is at `bias`. */
void sn_elf_relative_apply(const struct sn_read_at *file, const struct sn_elf_relative *table,
                           uint64_t bias, uint64_t offset, void *bytes, size_t size);

#endif
