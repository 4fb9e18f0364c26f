/* The memory of a dead process, from its core file; what was not saved because it is in a file
 * comes from that file, if it is still the same. One thread. */
#ifndef SN_CORE_MEMORY_H
#define SN_CORE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct sn_elf_core;
struct sn_memory;
struct sn_thread_state;
struct sonde_error;

/* *ret_core is borrowed from the memory. */
int sn_core_memory_open(const char *path, struct sn_memory **ret_memory,
                        const struct sn_elf_core **ret_core, struct sonde_error *err);

/* Where thread `index` of the core file was; done by sn_thread_state_done. */
void sn_core_memory_thread(struct sn_memory *memory, const struct sn_elf_core *core, size_t index,
                           struct sn_thread_state *ret_state);

#endif
