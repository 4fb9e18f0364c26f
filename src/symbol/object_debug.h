/* Finds the separate debug file of an ELF file, as debuggers look for it: by build id, then by
 * debug link; in the target's root, then in ours. */
#ifndef SN_OBJECT_DEBUG_H
#define SN_OBJECT_DEBUG_H

#include <stdbool.h>

#include "symbol/object_file.h"

struct sn_arena;
struct sn_elf;

/* `path` is the file's own. Opens only what has the same build id; where the file has none, what
 * its debug link names, and then *ret_needs_crc says that sn_object_debug_has_crc must still be
 * asked. The place's path lives in `texts`. */
bool sn_object_debug_find(const struct sn_object_file *file, const struct sn_elf *elf,
                          struct sn_arena *texts, struct sn_object_file *ret_debug,
                          struct sn_elf *ret_elf, bool *ret_needs_crc);

/* Reads all of it. */
bool sn_object_debug_has_crc(const struct sn_object_file *debug, uint32_t crc);

#endif
