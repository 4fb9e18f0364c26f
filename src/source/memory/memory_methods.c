/* Methods: MethodDescs, proved by the type they hang on and by its metadata, and their names. */
#include <string.h>

#include "base/text.h"
#include "source/memory/type_system_internal.h"

#define NAME_MAX_BYTES  1024u
#define SIGNATURE_MAX   4096u
#define KIND_MASK       0x0007u
#define EXTENDED_STUB   0x8000u
#define METHOD_TABLE    0x06000000u
#define INST_DEFINITION 1u /* of InstantiatedMethodDesc.Flags2: the generic method itself */

enum method_kind {
    KIND_ARRAY = 4,
    KIND_INSTANTIATED = 5,
    KIND_DYNAMIC = 7,
};

struct method_desc {
    uint64_t address;
    uint64_t table; /* MethodTable */
    uint32_t token;
    uint16_t kind;
    uint16_t slot;
};

/* A MethodDesc tells how far behind its chunk's header it lies; the chunk knows its MethodTable. */
static bool read_desc(struct sn_type_system *types, uint64_t address, struct method_desc *ret_desc)
{
    const struct sn_type_offsets *at = &types->at;
    struct sn_memory *memory = types->memory;
    struct method_desc desc = {.address = address};
    uint16_t flags3 = 0;
    uint16_t range = 0;
    uint8_t index = 0;
    uint8_t length = 0;
    if (!address || address & (types->method_align - 1) ||
        !sn_memory_u8(memory, address + at->md_index, &index) ||
        !sn_memory_u16(memory, address + at->md_flags, &desc.kind) ||
        !sn_memory_u16(memory, address + at->md_flags3, &flags3) ||
        !sn_memory_u16(memory, address + at->md_slot, &desc.slot))
        return false;
    uint64_t chunk = address - index * types->method_align - at->chunk_size;
    if (chunk > address || !sn_memory_u8(memory, chunk + at->chunk_length, &length) ||
        index > length || !sn_memory_u16(memory, chunk + at->chunk_range, &range) ||
        !sn_memory_u64(memory, chunk + at->chunk_table, &desc.table))
        return false;
    uint32_t low = (1u << types->token_bits) - 1;
    uint32_t high = 0xFFFFFFu >> types->token_bits;
    desc.kind &= KIND_MASK;
    desc.token = METHOD_TABLE | (range & high) << types->token_bits | (flags3 & low);
    *ret_desc = desc;
    return true;
}

/* The signature that a method has of its own: it has no metadata, or none that fit. */
static void stored_signature(struct sn_type_system *types, const struct method_desc *desc,
                             const struct sn_assembly *metadata)
{
    static const struct sn_assembly none = {0}; /* most of these have types by address alone */
    uint8_t blob[SIGNATURE_MAX];
    uint64_t at = 0;
    uint32_t size = 0;
    if (types->at.sig_size == UINT32_MAX ||
        !sn_types_pointer(types, desc->address, types->at.sig_at, &at) ||
        !sn_memory_u32(types->memory, desc->address + types->at.sig_size, &size) || !size ||
        size > sizeof(blob) || !sn_memory_read(types->memory, at, blob, size))
        return;
    if (!sn_assembly_signature(metadata ? metadata : &none, blob, size, &types->signature))
        sn_buf_clear(&types->signature);
}

/* A name in memory that has been given back may be anything: what is no text is not one. */
static bool is_text(const char *name)
{
    size_t left = strlen(name);
    bool is_valid = left > 0;
    while (left && is_valid) {
        uint32_t point = 0;
        size_t size = sn_text_decode(name, left, &point, &is_valid);
        is_valid = is_valid && point >= ' ';
        name += size;
        left -= size;
    }
    return is_valid;
}

static bool name_dynamic(struct sn_type_system *types, const struct method_desc *desc,
                         const struct sn_memory_type *type, struct sn_memory_method *method)
{
    char name[NAME_MAX_BYTES];
    uint64_t at = 0;
    uint32_t flags = 0;
    if (!sn_types_pointer(types, desc->address, types->at.dynamic_name, &at) ||
        !sn_memory_utf8(types->memory, at, name, sizeof(name)) || !is_text(name))
        return false;
    if (types->at.sig_flags != UINT32_MAX)
        (void)sn_memory_u32(types->memory, desc->address + types->at.sig_flags, &flags); /* or 0 */
    sn_buf_text(&types->name, name);
    method->is_dynamic = true;
    method->is_stub = flags & EXTENDED_STUB;
    method->type_name = "dynamicClass";
    stored_signature(types, desc, type->module ? type->module->metadata : NULL);
    return true;
}

static bool name_array_method(struct sn_type_system *types, const struct method_desc *desc,
                              const struct sn_memory_type *type, struct sn_memory_method *method)
{
    static const char *const names[] = {"Get", "Set", "Address"};
    struct sn_method_table table;
    if (!type->is_array || !sn_types_read_table(types, desc->table, &table) ||
        desc->slot < table.virtuals)
        return false;
    uint32_t index = (uint32_t)desc->slot - table.virtuals;
    sn_buf_text(&types->name, index < 3 ? names[index] : ".ctor");
    method->type_name = type->name;
    method->module = type->module;
    stored_signature(types, desc, type->module->metadata);
    return true;
}

/* "[System.Int32]" of a generic method, as its dictionary has them. */
static void read_arguments(struct sn_type_system *types, const struct method_desc *desc)
{
    uint64_t handles[SN_TYPES_ARGUMENTS_MAX];
    uint64_t dictionary = 0;
    uint16_t flags = 0;
    uint16_t count = 0;
    const struct sn_type_offsets *at = &types->at;
    if (desc->kind != KIND_INSTANTIATED || at->inst_count == UINT32_MAX ||
        at->inst_flags == UINT32_MAX ||
        !sn_memory_u16(types->memory, desc->address + at->inst_flags, &flags) ||
        (flags & KIND_MASK) == INST_DEFINITION ||
        !sn_memory_u16(types->memory, desc->address + at->inst_count, &count) || !count ||
        count > SN_TYPES_ARGUMENTS_MAX ||
        !sn_types_pointer(types, desc->address, at->inst_args, &dictionary) ||
        !sn_memory_read(types->memory, dictionary, handles, sizeof(handles[0]) * count))
        return;
    (void)sn_types_append_arguments(types, handles, count, &types->arguments); /* else without */
}

static bool name_by_metadata(struct sn_type_system *types, const struct method_desc *desc,
                             const struct sn_memory_type *type, struct sn_memory_method *method)
{
    const struct sn_assembly *metadata = type->module->metadata;
    uint32_t owner = 0;
    if (!metadata || !sn_assembly_method(metadata, desc->token, &types->name, &owner) ||
        owner != type->token)
        return false;
    method->module = type->module;
    method->token = desc->token;
    method->type_name = type->name;
    if (!sn_assembly_method_signature(metadata, desc->token, &types->signature))
        sn_buf_clear(&types->signature);
    read_arguments(types, desc);
    return true;
}

/* All but the texts, which are in the buffers then. */
static bool fill_method(struct sn_type_system *types, const struct method_desc *desc,
                        struct sn_memory_method *method)
{
    const struct sn_memory_type *type = sn_type_system_type(types, desc->table);
    sn_buf_clear(&types->name);
    sn_buf_clear(&types->signature);
    sn_buf_clear(&types->arguments);
    if (!type || !type->module)
        return false;
    method->type = desc->table;
    return desc->kind == KIND_DYNAMIC ? name_dynamic(types, desc, type, method)
           : desc->kind == KIND_ARRAY ? name_array_method(types, desc, type, method)
                                      : name_by_metadata(types, desc, type, method);
}

/* The MethodDesc of a dynamic method that is gone is used for the next one. */
static bool is_still(struct sn_type_system *types, const struct sn_memory_method *kept,
                     const struct sn_memory_method *now)
{
    return kept->type == now->type && kept->token == now->token &&
           kept->is_dynamic == now->is_dynamic &&
           strcmp(kept->name, sn_buf_string(&types->name)) == 0 &&
           strcmp(kept->signature, sn_buf_string(&types->signature)) == 0;
}

static const struct sn_memory_method *keep_method(struct sn_type_system *types, uint64_t address,
                                                  const struct sn_memory_method *method)
{
    struct sn_memory_method *kept = sn_arena_alloc(&types->arena, sizeof(*kept));
    uint64_t *slot = kept ? sn_table_put(&types->methods, address) : NULL;
    if (!slot)
        return NULL;
    *kept = *method;
    kept->name = sn_types_keep(types, &types->name);
    kept->signature = sn_types_keep(types, &types->signature);
    kept->arguments = sn_types_keep(types, &types->arguments);
    *slot = (uintptr_t)kept;
    return kept;
}

const struct sn_memory_method *sn_type_system_method(struct sn_type_system *types,
                                                     uint64_t method_desc)
{
    struct method_desc desc;
    struct sn_memory_method method = {0};
    uint64_t *slot = sn_table_find(&types->methods, method_desc);
    const struct sn_memory_method *kept =
        slot ? (const struct sn_memory_method *)(uintptr_t)*slot : NULL;
    if (kept && !kept->is_dynamic)
        return kept;
    if (!read_desc(types, method_desc, &desc) || !fill_method(types, &desc, &method))
        return NULL;
    return kept && is_still(types, kept, &method) ? kept : keep_method(types, method_desc, &method);
}
