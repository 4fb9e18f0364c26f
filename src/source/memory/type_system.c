/* The type system's frame: binding the contract, and objects on top of types. */
#include "source/memory/type_system.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "source/memory/contract.h"
#include "source/memory/type_system_internal.h"

#define STRING_CUT 4096u /* UTF-16 units that are read of a string at most */

#define NEED(type, field, member)                                    \
    {                                                                \
        type, field, offsetof(struct sn_type_offsets, member), false \
    }
#define MAY(type, field, member)                                    \
    {                                                               \
        type, field, offsetof(struct sn_type_offsets, member), true \
    }

static const struct sn_contract_want wants[] = {
    NEED("MethodTable", "MTFlags", mt_flags),
    NEED("MethodTable", "MTFlags2", mt_flags2),
    NEED("MethodTable", "BaseSize", mt_base_size),
    NEED("MethodTable", "EEClassOrCanonMT", mt_class),
    NEED("MethodTable", "Module", mt_module),
    NEED("MethodTable", "ParentMethodTable", mt_parent),
    NEED("MethodTable", "PerInstInfo", mt_inst),
    NEED("MethodTable", "NumVirtuals", mt_virtuals),
    MAY("MethodTable", "Token", mt_token),
    NEED("EEClass", "MethodTable", class_table),
    MAY("EEClass", "FieldDescList", class_fields),
    MAY("EEClass", "NumInstanceFields", class_instance),
    MAY("EEClass", "NumStaticFields", class_static),
    MAY("EEClass", "FieldsArePacked", class_packed),
    MAY("EEClass", "FixedSize", class_size),
    MAY("ArrayClass", "Rank", array_rank),
    NEED("GenericsDictInfo", "NumTypeArgs", dict_args),
    MAY("GenericsDictInfo", "NumDicts", dict_count),
    NEED("TypeDesc", "TypeAndFlags", desc_kind),
    NEED("ParamTypeDesc", "TypeArg", param_arg),
    MAY("TypeVarTypeDesc", "Module", var_module),
    MAY("TypeVarTypeDesc", "Token", var_token),
    MAY("FnPtrTypeDesc", "NumArgs", fn_count),
    MAY("FnPtrTypeDesc", "CallConv", fn_convention),
    MAY("FnPtrTypeDesc", "RetAndArgTypes", fn_types),
    NEED("MethodDesc", "ChunkIndex", md_index),
    NEED("MethodDesc", "Slot", md_slot),
    NEED("MethodDesc", "Flags", md_flags),
    NEED("MethodDesc", "Flags3AndTokenRemainder", md_flags3),
    NEED("MethodDescChunk", "!", chunk_size),
    NEED("MethodDescChunk", "MethodTable", chunk_table),
    NEED("MethodDescChunk", "Size", chunk_length),
    NEED("MethodDescChunk", "FlagsAndTokenRange", chunk_range),
    MAY("InstantiatedMethodDesc", "PerInstInfo", inst_args),
    MAY("InstantiatedMethodDesc", "Flags2", inst_flags),
    MAY("InstantiatedMethodDesc", "NumGenericArgs", inst_count),
    MAY("StoredSigMethodDesc", "Sig", sig_at),
    MAY("StoredSigMethodDesc", "cSig", sig_size),
    MAY("StoredSigMethodDesc", "ExtendedFlags", sig_flags),
    MAY("DynamicMethodDesc", "MethodName", dynamic_name),
    NEED("Module", "Assembly", module_assembly),
    MAY("Module", "Base", module_base),
    MAY("Module", "Flags", module_flags),
    MAY("Module", "Path", module_path),
    MAY("Module", "FileName", module_file),
    MAY("Module", "PEAssembly", module_pe),
    MAY("Module", "DynamicMetadata", module_dynamic),
    MAY("Module", "TypeDefToMethodTableMap", module_typedefs),
    MAY("Module", "MethodDefToDescMap", module_methods),
    MAY("Module", "FieldDefToDescMap", module_fields),
    MAY("Assembly", "Module", assembly_module),
    MAY("PEAssembly", "PEImage", pe_image),
    MAY("PEImage", "LoadedImageLayout", image_layout),
    MAY("PEImage", "Path", image_path),
    MAY("SString", "Buffer", text_buffer),
    MAY("PEImageLayout", "Base", layout_base),
    MAY("DynamicMetadata", "Size", dynamic_size),
    MAY("DynamicMetadata", "Data", dynamic_data),
    MAY("DynamicMetadata", "Buffer", dynamic_buffer),
    MAY("ModuleLookupMap", "Next", map_next),
    MAY("ModuleLookupMap", "TableData", map_data),
    MAY("ModuleLookupMap", "Count", map_count),
    MAY("ModuleLookupMap", "SupportedFlagsMask", map_flags),
    MAY("AppDomain", "DomainAssemblyList", domain_assemblies),
    MAY("ArrayListBase", "Count", list_count),
    MAY("ArrayListBase", "FirstBlock", list_first),
    MAY("ArrayListBlock", "Next", block_next),
    MAY("ArrayListBlock", "Size", block_size),
    MAY("ArrayListBlock", "ArrayStart", block_items),
    NEED("Object", "m_pMethTab", object_table),
    NEED("String", "m_StringLength", string_length),
    NEED("String", "m_FirstChar", string_first),
};

static uint64_t number_or(struct sn_type_system *types, const char *name, uint64_t otherwise)
{
    uint64_t value = otherwise;
    (void)sn_contract_number(types->runtime->contract, name, &value); /* else the default */
    return value;
}

static int check_versions(struct sn_type_system *types, struct sonde_error *err)
{
    static const char *const used[] = {"RuntimeTypeSystem", "Loader", "Object", "EcmaMetadata"};
    for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
        uint32_t version = sn_contract_version(types->runtime->contract, used[i]);
        if (version > 1)
            return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                           "the runtime describes its types in a way that is not known here: "
                           "contract %s is of version %u, not 1",
                           used[i], (unsigned)version);
    }
    return SONDE_OK;
}

static int bind_contract(struct sn_type_system *types, struct sonde_error *err)
{
    const char *missing = NULL;
    int rc = check_versions(types, err);
    if (rc != SONDE_OK)
        return rc;
    if (!sn_contract_bind(types->runtime->contract, wants, sizeof(wants) / sizeof(wants[0]),
                          &types->at, &missing))
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the runtime does not tell of its types: %s is missing", missing);
    if (types->at.dict_count == UINT32_MAX && types->at.dict_args >= 2)
        types->at.dict_count = types->at.dict_args - 2; /* a pair of 16 bits each */
    types->object_mask = number_or(types, "ObjectToMethodTableUnmask", 7);
    types->method_align = number_or(types, "MethodDescAlignment", 8);
    types->token_bits = (uint32_t)number_or(types, "MethodDescTokenRemainderBitCount", 12);
    if (types->token_bits < 8 || types->token_bits > 16 || types->method_align != 8)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the runtime's methods are laid out in a way that is not known here");
    return SONDE_OK;
}

/* The module of System.Object, which all else begins with; not there before the runtime is up. */
static void find_core_library(struct sn_type_system *types)
{
    struct sn_method_table table;
    uint64_t variable = 0;
    uint64_t object = 0;
    if (!sn_contract_address(types->runtime->contract, "ObjectMethodTable", &variable) ||
        !sn_memory_u64(types->memory, variable, &object) ||
        !sn_types_read_table(types, object, &table))
        return;
    types->core_library = table.module;
}

int sn_type_system_new(struct sn_runtime_memory *runtime, struct sn_type_system **ret_types,
                       struct sonde_error *err)
{
    struct sn_type_system *types = calloc(1, sizeof(*types));
    if (!types)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the types of a process");
    types->runtime = runtime;
    types->memory = runtime->memory;
    types->arena = sn_arena_with_limit(SN_TYPES_KEPT_MAX);
    types->modules = sn_table_with_limit(SN_TYPES_MODULES_MAX);
    types->types = sn_table_with_limit(SN_TYPES_TYPES_MAX);
    types->methods = sn_table_with_limit(SN_TYPES_METHODS_MAX);
    types->name = sn_buf_with_limit(SN_TYPES_NAME_MAX);
    types->signature = sn_buf_with_limit(SN_TYPES_NAME_MAX);
    types->arguments = sn_buf_with_limit(SN_TYPES_NAME_MAX);
    int rc = bind_contract(types, err);
    if (rc != SONDE_OK) {
        sn_type_system_free(types);
        return rc;
    }
    find_core_library(types);
    *ret_types = types;
    return SONDE_OK;
}

static void drop_all(struct sn_type_system *types)
{
    for (size_t i = 0; i < types->metadata_count; i++)
        free(types->metadata[i]);
    types->metadata_count = 0;
    types->metadata_bytes = 0;
    sn_table_clear(&types->modules);
    sn_table_clear(&types->types);
    sn_table_clear(&types->methods);
    sn_arena_done(&types->arena);
    types->arena = sn_arena_with_limit(SN_TYPES_KEPT_MAX);
}

void sn_type_system_forget(struct sn_type_system *types)
{
    drop_all(types);
    if (!types->core_library)
        find_core_library(types);
}

void sn_type_system_free(struct sn_type_system *types)
{
    if (!types)
        return;
    drop_all(types);
    free(types->metadata);
    sn_buf_done(&types->name);
    sn_buf_done(&types->signature);
    sn_buf_done(&types->arguments);
    sn_table_done(&types->modules);
    sn_table_done(&types->types);
    sn_table_done(&types->methods);
    free(types);
}

bool sn_types_pointer(struct sn_type_system *types, uint64_t address, uint32_t offset,
                      uint64_t *ret_pointer)
{
    return offset != UINT32_MAX && address && address <= UINT64_MAX - offset &&
           sn_memory_u64(types->memory, address + offset, ret_pointer);
}

const char *sn_types_keep(struct sn_type_system *types, const struct sn_buf *text)
{
    if (text->failed || !text->size)
        return "";
    const char *copy = sn_arena_copy(&types->arena, text->bytes, text->size);
    return copy ? copy : "";
}

uint64_t sn_type_system_object_table(struct sn_type_system *types, uint64_t object)
{
    uint64_t word = 0;
    if (!object || object & 7 || !sn_types_pointer(types, object, types->at.object_table, &word))
        return 0;
    word &= ~types->object_mask;
    return sn_type_system_type(types, word) ? word : 0;
}

const char *sn_type_system_object_type(struct sn_type_system *types, uint64_t object)
{
    uint64_t table = sn_type_system_object_table(types, object);
    const struct sn_memory_type *type = table ? sn_type_system_type(types, table) : NULL;
    return type ? type->name : "";
}

bool sn_type_system_read_string(struct sn_type_system *types, uint64_t object, char *to,
                                size_t size)
{
    uint8_t units[STRING_CUT * 2];
    uint32_t length = 0;
    if (!size)
        return false;
    to[0] = 0;
    uint64_t table = sn_type_system_object_table(types, object);
    const struct sn_memory_type *type = table ? sn_type_system_type(types, table) : NULL;
    if (!type || !type->is_string ||
        !sn_memory_u32(types->memory, object + types->at.string_length, &length) ||
        length > INT32_MAX)
        return false;
    size_t count = length < STRING_CUT ? length : STRING_CUT;
    if (count > size)
        count = size;
    if (!sn_memory_read(types->memory, object + types->at.string_first, units, count * 2))
        return false;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit((size_t)STRING_CUT * 4);
    sn_text_from_utf16(&text, units, count);
    sn_text_copy(to, size, sn_buf_string(&text));
    size_t end = strlen(to);
    if (end == size - 1) /* it may be cut: not within a character */
        while (end && (text.bytes[end] & 0xC0) == 0x80)
            to[--end] = 0;
    return true;
}
