/* What the parts of the type system share: where the runtime's fields lie, what was read of them,
 * and the few reads that every part needs. Nobody else includes this. */
#ifndef SN_TYPE_SYSTEM_INTERNAL_H
#define SN_TYPE_SYSTEM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/table.h"
#include "format/assembly.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/type_system.h"

#define SN_TYPES_MODULES_MAX   16384u
#define SN_TYPES_TYPES_MAX     (1u << 20)
#define SN_TYPES_METHODS_MAX   (1u << 20)
#define SN_TYPES_NAME_MAX      (32u << 10)
#define SN_TYPES_KEPT_MAX      (256u << 20) /* names and structures of all together */
#define SN_TYPES_METADATA_MAX  (64u << 20)  /* of one module: the largest known take some 10 MB */
#define SN_TYPES_METADATA_ALL  (512u << 20)
#define SN_TYPES_PARENTS_MAX   256u
#define SN_TYPES_ARGUMENTS_MAX 256u /* generic arguments of one type or method */
#define SN_TYPES_FIELDS_MAX    65536u
#define SN_TYPES_PATH_MAX      4096u

/* Offsets as the contract has them; SN_CONTRACT_NONE where an optional one is not told. */
struct sn_type_offsets {
    uint32_t mt_flags, mt_flags2, mt_base_size, mt_class, mt_module, mt_parent, mt_inst;
    uint32_t mt_virtuals, mt_token;
    uint32_t class_table, class_fields, class_instance, class_static;
    uint32_t class_packed, class_size;
    uint32_t array_rank;
    uint32_t dict_args, dict_count;
    uint32_t desc_kind, param_arg, var_module, var_token;
    uint32_t fn_count, fn_convention, fn_types;
    uint32_t md_index, md_slot, md_flags, md_flags3;
    uint32_t chunk_size, chunk_table, chunk_length, chunk_range;
    uint32_t inst_args, inst_flags, inst_count;
    uint32_t sig_at, sig_size, sig_flags, dynamic_name;
    uint32_t module_assembly, module_base, module_flags, module_path, module_file;
    uint32_t module_pe, module_dynamic, module_typedefs, module_methods, module_fields;
    uint32_t image_path, text_buffer;
    uint32_t assembly_module, pe_image, image_layout, layout_base;
    uint32_t dynamic_size, dynamic_data, dynamic_buffer;
    uint32_t map_next, map_data, map_count, map_flags;
    uint32_t domain_assemblies, list_count, list_first, block_next, block_size, block_items;
    uint32_t object_table, string_length, string_first;
};

struct sn_type_system {
    struct sn_runtime_memory *runtime; /* borrows */
    struct sn_memory *memory;          /* borrows: the runtime's */
    struct sn_type_offsets at;
    struct sn_arena arena;
    struct sn_table modules; /* address -> struct sn_memory_module */
    struct sn_table types;   /* MethodTable -> struct sn_memory_type */
    struct sn_table methods; /* MethodDesc -> struct sn_memory_method */
    struct sn_buf name;      /* of what is being read */
    struct sn_buf signature;
    struct sn_buf arguments;
    uint8_t **metadata; /* owns: copies, one for each module that has any */
    size_t metadata_count;
    size_t metadata_capacity;
    size_t metadata_bytes;
    uint64_t core_library; /* Module, or 0 */
    uint64_t object_mask;  /* bits of an object's first word that are not its MethodTable */
    uint64_t method_align;
    uint32_t token_bits;
};

/* A MethodTable as it was read, and proved to be one. */
struct sn_method_table {
    uint32_t flags;
    uint32_t flags2;
    uint32_t base_size;
    uint16_t virtuals;
    uint64_t module;
    uint64_t parent;
    uint64_t inst;  /* its dictionaries; of an array its element */
    uint64_t clazz; /* EEClass */
    uint64_t canonical;
};

bool sn_types_read_table(struct sn_type_system *types, uint64_t address,
                         struct sn_method_table *ret_table);

static inline bool sn_method_table_is_array(const struct sn_method_table *table)
{
    return (table->flags & 0x000C0000u) == 0x00080000u;
}

static inline bool sn_method_table_is_generic(const struct sn_method_table *table)
{
    return !(table->flags & 0x80000000u) && (table->flags & 0x30u);
}

static inline uint32_t sn_method_table_token(const struct sn_method_table *table)
{
    return table->flags2 >> 8 ? 0x02000000u | table->flags2 >> 8 : 0;
}

/* The generic arguments of a type: at most `room` type handles. How many. */
size_t sn_types_arguments(struct sn_type_system *types, const struct sn_method_table *table,
                          uint64_t *to, size_t room);

/* Appends "[System.Int32,System.__Canon]". */
bool sn_types_append_arguments(struct sn_type_system *types, const uint64_t *handles, size_t count,
                               struct sn_buf *to);

/* What .NET 8 has elsewhere: puts the module and the token of `table` right. False: it is none. */
bool sn_types_fix_old(struct sn_type_system *types, uint64_t address,
                      struct sn_method_table *table);

/* How many fields a class has; the instance fields with those of its parents. */
bool sn_types_field_counts(struct sn_type_system *types, uint64_t clazz, uint16_t *ret_instance,
                           uint16_t *ret_static);

/* A pointer at `address` + `offset`; false also where the contract does not tell the offset. */
bool sn_types_pointer(struct sn_type_system *types, uint64_t address, uint32_t offset,
                      uint64_t *ret_pointer);

/* The metadata of the module `address`, whose image is `image` (base, or 0), copied once. */
bool sn_types_load_metadata(struct sn_type_system *types, uint64_t address,
                            struct sn_memory_module *module);

/* How many bytes of metadata Reflection.Emit has made of a module so far. */
uint32_t sn_types_dynamic_size(struct sn_type_system *types, uint64_t module);

/* The metadata at `address`, pages of which are copied as they are needed. */
bool sn_types_open_lazy(struct sn_type_system *types, uint64_t address, size_t size,
                        struct sn_memory_module *module);

/* Takes `bytes`, if it returns true. */
bool sn_types_keep_bytes(struct sn_type_system *types, uint8_t *bytes, size_t size);

/* A copy with a zero behind it; "" when there is no room for it. */
const char *sn_types_keep(struct sn_type_system *types, const struct sn_buf *text);

#endif
