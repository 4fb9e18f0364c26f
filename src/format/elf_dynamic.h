/* The exported symbols of an ELF file without section headers, from what the loader itself uses:
 * PT_DYNAMIC and its hash table. */
#ifndef SN_ELF_DYNAMIC_H
#define SN_ELF_DYNAMIC_H

#include <stddef.h>

#include "format/elf.h"

/* `loads` are all loaded segments, `dynamic` is PT_DYNAMIC. A table with count 0 when there is
 * none. */
struct sn_elf_symbols sn_elf_dynamic_symbols(const struct sn_read_at *file,
                                             const struct sn_elf_segment *loads, size_t load_count,
                                             const struct sn_elf_segment *dynamic);

#endif
