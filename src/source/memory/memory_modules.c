/* Modules: where the runtime lists them, their paths and images. */
#include <string.h>

#include "source/memory/contract.h"
#include "source/memory/type_system_internal.h"

#define LIST_BLOCKS_MAX 65536u
#define MAP_PIECES_MAX  4096u
#define READS_MAX       64u /* of one module, as it grows */

/* The runtime's Module, its Assembly and back again. */
static bool is_module(struct sn_type_system *types, uint64_t module)
{
    uint64_t assembly = 0;
    uint64_t back = 0;
    if (!module || module & 7 ||
        !sn_types_pointer(types, module, types->at.module_assembly, &assembly) || !assembly)
        return false;
    if (types->at.assembly_module == UINT32_MAX)
        return true; /* not told: what is read of it is checked as far as it goes */
    return sn_types_pointer(types, assembly, types->at.assembly_module, &back) && back == module;
}

static uint64_t find_image(struct sn_type_system *types, uint64_t module)
{
    uint64_t at = 0;
    uint64_t base = 0;
    if (sn_types_pointer(types, module, types->at.module_pe, &at) &&
        sn_types_pointer(types, at, types->at.pe_image, &at) &&
        sn_types_pointer(types, at, types->at.image_layout, &at) &&
        sn_types_pointer(types, at, types->at.layout_base, &base) && base)
        return base;
    if (sn_types_pointer(types, module, types->at.module_base, &base))
        return base;
    return 0;
}

static const char *read_text(struct sn_type_system *types, uint64_t module, uint32_t offset)
{
    char text[SN_TYPES_PATH_MAX];
    uint64_t at = 0;
    if (!sn_types_pointer(types, module, offset, &at) || !at ||
        !sn_memory_utf16(types->memory, at, text, sizeof(text)))
        return "";
    const char *copy = sn_arena_copy(&types->arena, text, strlen(text));
    return copy ? copy : "";
}

/* As the module tells it, or the image that it is of. */
static const char *find_path(struct sn_type_system *types, uint64_t module)
{
    const struct sn_type_offsets *offsets = &types->at;
    const char *path = read_text(types, module, offsets->module_path);
    uint64_t at = 0;
    if (!path[0])
        path = read_text(types, module, offsets->module_file);
    if (path[0] || offsets->image_path == UINT32_MAX || offsets->text_buffer == UINT32_MAX ||
        !sn_types_pointer(types, module, offsets->module_pe, &at) ||
        !sn_types_pointer(types, at, offsets->pe_image, &at))
        return path;
    return read_text(types, at + offsets->image_path, offsets->text_buffer);
}

/* What is kept of a module: how often it was read, and how much its metadata were then. */
struct kept_module {
    struct sn_memory_module module; /* first: who has it, has this */
    uint32_t reads;
    uint32_t dynamic_size;
};

static void read_module(struct sn_type_system *types, uint64_t address, struct kept_module *kept)
{
    struct sn_memory_module *module = &kept->module;
    kept->reads++;
    kept->dynamic_size = sn_types_dynamic_size(types, address);
    module->address = address;
    module->path = find_path(types, address);
    const char *slash = strrchr(module->path, '/');
    module->name = slash ? slash + 1 : module->path;
    module->image = find_image(types, address);
    (void)sn_types_load_metadata(types, address, module); /* else without */
}

/* One that was being loaded may be there by now, and a dynamic one grows. */
static void refresh(struct sn_type_system *types, uint64_t address, struct kept_module *kept)
{
    const struct sn_memory_module *module = &kept->module;
    if ((module->metadata && !module->is_dynamic) || kept->reads == READS_MAX)
        return;
    if (module->metadata && sn_types_dynamic_size(types, address) == kept->dynamic_size)
        return;
    read_module(types, address, kept);
}

const struct sn_memory_module *sn_type_system_module(struct sn_type_system *types, uint64_t module)
{
    uint64_t *slot = sn_table_find(&types->modules, module);
    struct kept_module *kept = slot ? (struct kept_module *)(uintptr_t)*slot : NULL;
    if (kept) {
        refresh(types, module, kept);
        return &kept->module;
    }
    if (!is_module(types, module))
        return NULL;
    kept = sn_arena_alloc(&types->arena, sizeof(*kept));
    slot = kept ? sn_table_put(&types->modules, module) : NULL;
    if (!slot)
        return NULL;
    *slot = (uintptr_t)kept;
    read_module(types, module, kept);
    return &kept->module;
}

/* Module of an element of the domain's list, which points to what points to the Assembly. */
static uint64_t module_of(struct sn_type_system *types, uint64_t domain_assembly)
{
    uint64_t at = 0;
    if (!sn_types_pointer(types, domain_assembly, 0, &at) ||
        !sn_types_pointer(types, at, types->at.assembly_module, &at))
        return 0;
    return at;
}

static uint64_t first_block(struct sn_type_system *types, uint32_t *ret_count)
{
    uint64_t at = 0;
    if (!sn_contract_address(types->runtime->contract, "AppDomain", &at) ||
        types->at.domain_assemblies == UINT32_MAX || types->at.list_count == UINT32_MAX ||
        types->at.list_first == UINT32_MAX || types->at.block_size == UINT32_MAX ||
        types->at.block_items == UINT32_MAX || !sn_memory_u64(types->memory, at, &at) || !at)
        return 0;
    at += types->at.domain_assemblies;
    if (!sn_memory_u32(types->memory, at + types->at.list_count, ret_count))
        return 0;
    return at + types->at.list_first; /* the first lies within the list itself */
}

void sn_type_system_modules(struct sn_type_system *types, sn_memory_module_fn *take, void *user)
{
    uint32_t left = 0;
    uint64_t block = first_block(types, &left);
    if (left > SN_TYPES_MODULES_MAX)
        left = SN_TYPES_MODULES_MAX;
    for (uint32_t blocks = 0; block && left && blocks < LIST_BLOCKS_MAX; blocks++) {
        uint32_t size = 0;
        if (!sn_memory_u32(types->memory, block + types->at.block_size, &size))
            return;
        for (uint32_t i = 0; i < size && left; i++, left--) {
            uint64_t item = 0;
            uint64_t at = block + types->at.block_items + 8ull * i;
            if (!sn_memory_u64(types->memory, at, &item))
                return;
            uint64_t module = item ? module_of(types, item) : 0;
            const struct sn_memory_module *found =
                module ? sn_type_system_module(types, module) : NULL;
            if (found && !take(user, found))
                return;
        }
        if (!sn_types_pointer(types, block, types->at.block_next, &block))
            return;
    }
}

/* The entry of row `row` in a module's map of its types. */
static uint64_t look_up(struct sn_type_system *types, uint64_t map, uint32_t row)
{
    uint64_t flags = 0;
    uint64_t data = 0;
    uint64_t entry = 0;
    uint32_t count = 0;
    if (types->at.map_count == UINT32_MAX ||
        !sn_types_pointer(types, map, types->at.map_flags, &flags))
        return 0;
    for (uint32_t i = 0; map && i < MAP_PIECES_MAX; i++) {
        if (!sn_memory_u32(types->memory, map + types->at.map_count, &count))
            return 0;
        if (row < count)
            return sn_types_pointer(types, map, types->at.map_data, &data) && data &&
                           sn_memory_u64(types->memory, data + 8ull * row, &entry)
                       ? entry & ~flags
                       : 0;
        row -= count;
        if (!sn_types_pointer(types, map, types->at.map_next, &map))
            return 0;
    }
    return 0;
}

struct search {
    const char *name;
    const struct sn_memory_module *found;
};

static bool is_named(void *user, const struct sn_memory_module *module)
{
    struct search *search = user;
    if (strcmp(module->name, search->name) != 0)
        return true;
    search->found = module;
    return false;
}

uint64_t sn_type_system_find(struct sn_type_system *types, const char *module_name,
                             const char *full_name)
{
    struct search search = {.name = module_name};
    if (module_name)
        sn_type_system_modules(types, is_named, &search);
    else
        search.found = sn_type_system_module(types, types->core_library);
    if (!search.found || !search.found->metadata)
        return 0;
    uint32_t token = sn_assembly_find_type(search.found->metadata, full_name);
    return token ? sn_type_system_typedef(types, search.found, token) : 0;
}

uint64_t sn_type_system_typedef(struct sn_type_system *types, const struct sn_memory_module *module,
                                uint32_t token)
{
    if (types->at.module_typedefs == UINT32_MAX)
        return 0;
    uint64_t map = module->address + types->at.module_typedefs;
    uint64_t table = look_up(types, map, token & 0xFFFFFFu);
    const struct sn_memory_type *type = table ? sn_type_system_type(types, table) : NULL;
    return type && type->token == token && type->module == module ? table : 0;
}
