/* Types: MethodTables, read and proved, and what is kept of them. */
#include <string.h>

#include "source/memory/type_system_internal.h"

#define FLAG_COMPONENT_SIZE 0x80000000u
#define CATEGORY_MASK       0x000F0000u
#define CATEGORY_VALUE_MASK 0x000C0000u
#define CATEGORY_VALUE_TYPE 0x00040000u
#define TABLE_SIZE_MAX      256u /* all of a MethodTable's fields lie in as much */
#define BASE_SIZE_MAX       (1u << 28)

static uint32_t u32_at(const uint8_t *bytes, uint32_t offset)
{
    uint32_t value;
    memcpy(&value, bytes + offset, sizeof(value));
    return value;
}

static uint64_t u64_at(const uint8_t *bytes, uint32_t offset)
{
    uint64_t value;
    memcpy(&value, bytes + offset, sizeof(value));
    return value;
}

/* One read for all of it: the last field's end. 0: the offsets are odd ones. */
static size_t table_size(const struct sn_type_offsets *at)
{
    const uint32_t offsets[] = {at->mt_flags,  at->mt_flags2, at->mt_base_size, at->mt_class,
                                at->mt_module, at->mt_parent, at->mt_inst,      at->mt_virtuals};
    uint32_t most = 0;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
        most = offsets[i] > most ? offsets[i] : most;
    return most <= TABLE_SIZE_MAX - 8 ? most + 8 : 0;
}

/* The EEClass of a MethodTable, by way of the canonical one where it has none of its own. */
static bool find_class(struct sn_type_system *types, uint64_t address, uint64_t word,
                       struct sn_method_table *table)
{
    table->canonical = address;
    if (word & 3) {
        table->canonical = word & ~3ull;
        if (!sn_types_pointer(types, table->canonical, types->at.mt_class, &word) || word & 3)
            return false;
    }
    table->clazz = word;
    uint64_t back = 0;
    return sn_types_pointer(types, word, types->at.class_table, &back) && back == table->canonical;
}

bool sn_types_read_table(struct sn_type_system *types, uint64_t address,
                         struct sn_method_table *ret_table)
{
    uint8_t bytes[TABLE_SIZE_MAX];
    const struct sn_type_offsets *at = &types->at;
    size_t size = table_size(at);
    if (!address || address & 7 || !size || !sn_memory_read(types->memory, address, bytes, size))
        return false;
    struct sn_method_table table = {
        .flags = u32_at(bytes, at->mt_flags),
        .flags2 = u32_at(bytes, at->mt_flags2),
        .base_size = u32_at(bytes, at->mt_base_size),
        .virtuals = (uint16_t)u32_at(bytes, at->mt_virtuals),
        .module = u64_at(bytes, at->mt_module),
        .parent = u64_at(bytes, at->mt_parent),
        .inst = u64_at(bytes, at->mt_inst),
    };
    if (table.base_size > BASE_SIZE_MAX || table.module & 7 || table.parent & 7 ||
        !find_class(types, address, u64_at(bytes, at->mt_class), &table))
        return false;
    if (at->mt_token != UINT32_MAX && !sn_types_fix_old(types, address, &table))
        return false;
    *ret_table = table;
    return true;
}

size_t sn_types_arguments(struct sn_type_system *types, const struct sn_method_table *table,
                          uint64_t *to, size_t room)
{
    uint64_t dictionary = 0;
    uint16_t count = 0;
    /* Its own dictionary is the last of them; those of its parents come before it. */
    uint16_t dictionaries = 1;
    if (!sn_method_table_is_generic(table) || table->inst < 8 ||
        !sn_memory_u16(types->memory, table->inst - 8 + types->at.dict_args, &count) || !count ||
        count > room)
        return 0;
    if (types->at.dict_count != UINT32_MAX &&
        (!sn_memory_u16(types->memory, table->inst - 8 + types->at.dict_count, &dictionaries) ||
         !dictionaries || dictionaries > SN_TYPES_PARENTS_MAX))
        return 0;
    if (!sn_memory_u64(types->memory, table->inst + 8ull * (dictionaries - 1u), &dictionary) ||
        !sn_memory_read(types->memory, dictionary, to, sizeof(*to) * count))
        return 0;
    return count;
}

size_t sn_type_system_arguments(struct sn_type_system *types, uint64_t method_table, uint64_t *to,
                                size_t room)
{
    struct sn_method_table table;
    return sn_types_read_table(types, method_table, &table)
               ? sn_types_arguments(types, &table, to, room)
               : 0;
}

/* Of System.MulticastDelegate: looked at by name, as to look for it would take all names there are.
 */
static bool is_delegate(struct sn_type_system *types, const struct sn_method_table *table)
{
    struct sn_method_table parent;
    struct sn_assembly_type type;
    const struct sn_memory_module *core = sn_type_system_module(types, types->core_library);
    return core && core->metadata && table->parent &&
           sn_types_read_table(types, table->parent, &parent) &&
           parent.module == types->core_library &&
           sn_assembly_type(core->metadata, sn_method_table_token(&parent), &type) &&
           strcmp(type.name, "MulticastDelegate") == 0 && strcmp(type.name_space, "System") == 0;
}

static void fill_type(struct sn_type_system *types, const struct sn_method_table *table,
                      struct sn_memory_type *type)
{
    bool has_component = table->flags & FLAG_COMPONENT_SIZE;
    type->is_array = sn_method_table_is_array(table);
    type->base_size = table->base_size;
    type->component_size = has_component ? table->flags & 0xFFFFu : 0;
    type->is_string = has_component && !type->is_array && type->component_size == 2;
    type->is_value_type = (table->flags & CATEGORY_VALUE_MASK) == CATEGORY_VALUE_TYPE;
    type->parent = table->parent;
    type->element = type->is_array ? table->inst : 0;
    type->token = type->is_array ? 0 : sn_method_table_token(table);
    type->is_delegate = !type->is_array && is_delegate(types, table);
    type->canonical = table->canonical;
}

/* What is kept of a type, with the metadata that it was named by: where there were none, or they
 * have grown, it is named again. */
struct kept_type {
    struct sn_memory_type type; /* first: who has it, has this */
    const struct sn_assembly *named_by;
};

static void name_type(struct sn_type_system *types, struct kept_type *kept)
{
    struct sn_memory_type *type = &kept->type;
    kept->named_by = type->module->metadata;
    sn_buf_clear(&types->name);
    (void)sn_type_system_handle_name(types, type->address, &types->name); /* else "" */
    type->name = sn_types_keep(types, &types->name);
}

static struct kept_type *read_type(struct sn_type_system *types, uint64_t address)
{
    struct sn_method_table table;
    if (!sn_types_read_table(types, address, &table))
        return NULL;
    const struct sn_memory_module *module = sn_type_system_module(types, table.module);
    struct kept_type *kept = module ? sn_arena_alloc(&types->arena, sizeof(*kept)) : NULL;
    if (!kept)
        return NULL;
    kept->type.address = address;
    kept->type.module = module;
    fill_type(types, &table, &kept->type);
    name_type(types, kept);
    return kept;
}

const struct sn_memory_type *sn_type_system_type(struct sn_type_system *types,
                                                 uint64_t method_table)
{
    uint64_t *slot = sn_table_find(&types->types, method_table);
    struct kept_type *kept = slot ? (struct kept_type *)(uintptr_t)*slot : NULL;
    if (kept) {
        if (!kept->type.name[0] &&
            sn_type_system_module(types, kept->type.module->address)->metadata != kept->named_by)
            name_type(types, kept);
        return &kept->type;
    }
    kept = read_type(types, method_table);
    slot = kept ? sn_table_put(&types->types, method_table) : NULL;
    if (!slot)
        return NULL;
    *slot = (uintptr_t)kept;
    return &kept->type;
}
