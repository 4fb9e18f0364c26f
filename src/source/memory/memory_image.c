/* Where the metadata of a module are: in its image in memory, whichever way it lies there, or in
 * what Reflection.Emit has made so far. Never in the file at its path, which may be another by now.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "format/assembly_tables.h"
#include "format/pe.h"
#include "source/memory/memory_pe.h"
#include "source/memory/type_system_internal.h"

#define MODULE_DYNAMIC 0x40u /* made by Reflection.Emit */

bool sn_types_keep_bytes(struct sn_type_system *types, uint8_t *bytes, size_t size)
{
    uint8_t **copies = sn_array_room(types->metadata, types->metadata_count,
                                     &types->metadata_capacity, sizeof(*copies));
    if (!copies)
        return false;
    types->metadata = copies;
    types->metadata[types->metadata_count++] = bytes;
    types->metadata_bytes += size;
    return true;
}

/* Takes `bytes`. */
static bool open_metadata(struct sn_type_system *types, uint8_t *bytes, size_t size,
                          struct sn_memory_module *module)
{
    struct sonde_error ignored = {0};
    struct sn_assembly *assembly = sn_arena_alloc(&types->arena, sizeof(*assembly));
    if (!assembly || sn_assembly_open(bytes, size, assembly, &ignored) != SONDE_OK ||
        !sn_types_keep_bytes(types, bytes, size)) {
        free(bytes);
        return false;
    }
    module->metadata = assembly;
    (void)sn_metadata_version_id(&assembly->metadata, module->version_id); /* else zeros */
    return true;
}

static bool has_room(const struct sn_type_system *types, uint64_t size)
{
    return size && size <= SN_TYPES_METADATA_MAX &&
           types->metadata_bytes + size <= SN_TYPES_METADATA_ALL;
}

/* What lies in the mapping of a file is what the file is now: it may have been written over, and
 * of a core it is whatever has that path here. The runtime has made its tables by the counts of the
 * metadata that it loaded. */
static bool is_of(struct sn_type_system *types, uint64_t address,
                  const struct sn_assembly *metadata)
{
    const struct {
        uint32_t map;
        unsigned table;
    } known[] = {{types->at.module_typedefs, SN_TABLE_TYPE_DEF},
                 {types->at.module_methods, SN_TABLE_METHOD},
                 {types->at.module_fields, SN_TABLE_FIELD}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        uint32_t count = 0;
        if (known[i].map == UINT32_MAX || types->at.map_count == UINT32_MAX ||
            !sn_memory_u32(types->memory, address + known[i].map + types->at.map_count, &count) ||
            !count)
            continue; /* not told, or not made yet */
        if (count != metadata->tables[known[i].table].row_count + 1)
            return false;
    }
    return true;
}

/* What was opened last. */
static void let_go(struct sn_type_system *types, size_t size, struct sn_memory_module *module)
{
    free(types->metadata[--types->metadata_count]);
    types->metadata_bytes -= size;
    module->metadata = NULL;
    memset(module->version_id, 0, sizeof(module->version_id));
}

static bool take_image(struct sn_type_system *types, uint64_t address,
                       struct sn_memory_module *module)
{
    struct sn_memory_pe image = {types->memory, module->image};
    struct sn_pe_image found = {0};
    struct sonde_error ignored = {0};
    if (sn_pe_read_image(sn_memory_pe_read, &image, SN_PE_EITHER, &found, &ignored) != SONDE_OK ||
        !has_room(types, found.metadata_size) ||
        !sn_types_open_lazy(types, module->image + found.metadata_offset, found.metadata_size,
                            module))
        return false;
    if (!is_of(types, address, module->metadata)) {
        let_go(types, found.metadata_size, module);
        return false;
    }
    if (found.debug.has_pdb_id)
        memcpy(module->pdb_guid, found.debug.pdb_guid, sizeof(module->pdb_guid));
    return true;
}

/* Where the runtime keeps a copy of what Reflection.Emit has made so far: behind its size, or
 * where a pointer beside it leads. */
static uint64_t find_dynamic(struct sn_type_system *types, uint64_t address, uint32_t *ret_size)
{
    uint64_t dynamic = 0;
    uint64_t buffer = 0;
    if (!sn_types_pointer(types, address, types->at.module_dynamic, &dynamic) || !dynamic ||
        types->at.dynamic_size == UINT32_MAX ||
        !sn_memory_u32(types->memory, dynamic + types->at.dynamic_size, ret_size))
        return 0;
    if (types->at.dynamic_data != UINT32_MAX)
        return dynamic + types->at.dynamic_data;
    return sn_types_pointer(types, dynamic, types->at.dynamic_buffer, &buffer) ? buffer : 0;
}

uint32_t sn_types_dynamic_size(struct sn_type_system *types, uint64_t module)
{
    uint32_t size = 0;
    return find_dynamic(types, module, &size) ? size : 0;
}

static bool copy_dynamic(struct sn_type_system *types, uint64_t address,
                         struct sn_memory_module *module)
{
    uint32_t size = 0;
    uint64_t from = find_dynamic(types, address, &size);
    if (!from || !has_room(types, size))
        return false;
    uint8_t *bytes = malloc(size);
    if (!bytes || sn_memory_read_now(types->memory, from, bytes, size) != size) {
        free(bytes);
        return false;
    }
    return open_metadata(types, bytes, size, module);
}

bool sn_types_load_metadata(struct sn_type_system *types, uint64_t address,
                            struct sn_memory_module *module)
{
    uint32_t flags = 0;
    if (types->at.module_flags != UINT32_MAX)
        (void)sn_memory_u32(types->memory, address + types->at.module_flags, &flags); /* else 0 */
    module->is_dynamic = flags & MODULE_DYNAMIC || (!module->image && !module->path[0]);
    return module->is_dynamic || !module->image ? copy_dynamic(types, address, module)
                                                : take_image(types, address, module);
}
