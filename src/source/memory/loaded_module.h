/* An ELF file as it lies in a process's memory: what it exports, by the tables that the loader
 * itself uses. No state. */
#ifndef SN_LOADED_MODULE_H
#define SN_LOADED_MODULE_H

#include <stdint.h>

struct sn_memory;

/* Address of what the module that is loaded at `base` (its first byte) exports by that name; 0: it
 * does not, or it is no ELF file. */
uint64_t sn_loaded_module_symbol(struct sn_memory *memory, uint64_t base, const char *name);

#endif
