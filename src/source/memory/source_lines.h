/* Source lines of managed code by module, token and IL offset: from the portable PDBs of what is
 * loaded, beside it, within its file, or within its image in memory. Files are looked for as the
 * target sees them, and used only when their id is the module's. One thread. */
#ifndef SN_SOURCE_LINES_H
#define SN_SOURCE_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct sn_memory;
struct sn_memory_module;
struct sn_source_lines;
struct sonde_error;

/* Borrows the memory. */
int sn_source_lines_new(struct sn_memory *memory, struct sn_source_lines **ret_lines,
                        struct sonde_error *err);
void sn_source_lines_free(struct sn_source_lines *lines);

static inline void sn_source_lines_free_auto(struct sn_source_lines **slot)
{
    sn_source_lines_free(*slot);
}

/* False: not known. The file as its compiler wrote it, borrowed until the next call. What only
 * starts an async method or an iterator has no lines of its own: it is where that begins. */
bool sn_source_lines_find(struct sn_source_lines *lines, const struct sn_memory_module *module,
                          uint32_t token, uint32_t il_offset, const char **ret_file,
                          uint32_t *ret_line);

/* The same of the await `number` (from 0) of the async method whose MoveNext that is. */
bool sn_source_lines_find_await(struct sn_source_lines *lines,
                                const struct sn_memory_module *module, uint32_t token,
                                uint32_t number, const char **ret_file, uint32_t *ret_line);

#endif
