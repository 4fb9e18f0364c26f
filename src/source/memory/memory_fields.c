/* Fields: FieldDescs, each believed only where metadata say the same of it. */
#include <string.h>

#include "source/memory/type_system_internal.h"

#define FIELD_SIZE       16u
#define FIELD_STATIC     0x01000000u
#define FIELD_FULL_TOKEN 0x40000000u
#define ROW_MASK         0x00FFFFFFu
#define ROW_MASK_PACKED  0x0001FFFFu
#define OFFSET_MASK      0x07FFFFFFu
#define OFFSET_LAST      (OFFSET_MASK - 6) /* above it are marks */
#define FIELD_TABLE      0x04000000u
#define META_STATIC      0x10u
#define META_LITERAL     0x40u
#define OBJECT_OVERHEAD  16u /* header and pointer to the MethodTable, of base_size */

enum element {
    ELEMENT_BOOLEAN = 0x02,
    ELEMENT_CHAR = 0x03,
    ELEMENT_R8 = 0x0D,
    ELEMENT_STRING = 0x0E,
    ELEMENT_PTR = 0x0F,
    ELEMENT_BYREF = 0x10,
    ELEMENT_VALUETYPE = 0x11,
    ELEMENT_CLASS = 0x12,
    ELEMENT_ARRAY = 0x14,
    ELEMENT_I = 0x18,
    ELEMENT_U = 0x19,
    ELEMENT_FNPTR = 0x1B,
    ELEMENT_OBJECT = 0x1C,
    ELEMENT_SZARRAY = 0x1D,
};

/* A FieldDesc as it was read. */
struct field_desc {
    uint64_t enclosing;
    uint32_t bits; /* token and flags */
    uint32_t place;
};

static uint32_t row_of(const struct field_desc *desc)
{
    return desc->bits & (desc->bits & FIELD_FULL_TOKEN ? ROW_MASK : ROW_MASK_PACKED);
}

/* Whether a field of that signature may lie there as that: enums are their numbers, references are
 * all the same, and variables may be anything. */
static bool may_be(uint8_t signature, uint8_t lies)
{
    switch (signature) {
    case ELEMENT_STRING:
    case ELEMENT_CLASS:
    case ELEMENT_ARRAY:
    case ELEMENT_OBJECT:
    case ELEMENT_SZARRAY: return lies == ELEMENT_CLASS;
    case ELEMENT_PTR:
    case ELEMENT_FNPTR:
        return lies == ELEMENT_PTR || lies == ELEMENT_FNPTR || lies == ELEMENT_I ||
               lies == ELEMENT_U;
    case ELEMENT_VALUETYPE:
        return lies == ELEMENT_VALUETYPE || (lies >= ELEMENT_BOOLEAN && lies <= ELEMENT_R8) ||
               lies == ELEMENT_I || lies == ELEMENT_U;
    default:
        return (signature >= ELEMENT_BOOLEAN && signature <= ELEMENT_R8) ||
                       signature == ELEMENT_I || signature == ELEMENT_U
                   ? lies == signature
                   : true;
    }
}

static uint32_t size_of(uint8_t element)
{
    static const uint8_t sizes[] = {0, 0, 1, 2, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    if (element < sizeof(sizes))
        return sizes[element];
    return element == ELEMENT_VALUETYPE ? 1 : 8; /* at least */
}

/* How many FieldDescs of its own a type has: its instance fields count those of its parent. */
static uint32_t count_fields(struct sn_type_system *types, const struct sn_method_table *table)
{
    struct sn_method_table parent;
    uint16_t of_parent_statics = 0;
    uint16_t instance = 0;
    uint16_t of_parent = 0;
    uint16_t statics = 0;
    if (!sn_types_field_counts(types, table->clazz, &instance, &statics))
        return 0;
    if (table->parent &&
        (!sn_types_read_table(types, table->parent, &parent) ||
         !sn_types_field_counts(types, parent.clazz, &of_parent, &of_parent_statics)))
        return 0;
    return of_parent <= instance ? (uint32_t)(instance - of_parent) + statics : 0;
}

/* The row of the type's field of that name, and how many of its fields the runtime keeps. */
static uint32_t find_row(const struct sn_assembly *metadata, uint32_t type, const char *name,
                         struct sn_assembly_field *ret_field, uint32_t *ret_kept)
{
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t found = 0;
    *ret_kept = 0;
    if (!sn_assembly_fields(metadata, type, &first, &count) || count > SN_TYPES_FIELDS_MAX)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        struct sn_assembly_field field;
        if (!sn_assembly_field(metadata, first + i, &field))
            return 0;
        if (field.flags & META_LITERAL)
            continue;
        *ret_kept += 1;
        if (!found && strcmp(field.name, name) == 0) {
            *ret_field = field;
            found = (first + i) & ROW_MASK;
        }
    }
    return found;
}

/* The FieldDesc of `row` among those of a type. */
static bool find_desc(struct sn_type_system *types, const struct sn_method_table *table,
                      uint32_t row, uint32_t count, struct field_desc *ret_desc)
{
    uint64_t list = 0;
    if (!sn_types_pointer(types, table->clazz, types->at.class_fields, &list) || !list)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t bytes[FIELD_SIZE];
        if (!sn_memory_read(types->memory, list + (uint64_t)i * FIELD_SIZE, bytes, sizeof(bytes)))
            return false;
        struct sn_cursor cur = sn_cursor_over(bytes, sizeof(bytes));
        struct field_desc desc = {.enclosing = sn_cursor_u64(&cur)};
        desc.bits = sn_cursor_u32(&cur);
        desc.place = sn_cursor_u32(&cur);
        if (row_of(&desc) != row)
            continue;
        *ret_desc = desc;
        return true;
    }
    return false;
}

/* What the runtime says of a field against what metadata say. */
static bool is_proved(const struct sn_method_table *table, const struct field_desc *desc,
                      const struct sn_assembly_field *meta)
{
    bool is_static = desc->bits & FIELD_STATIC;
    uint32_t offset = desc->place & OFFSET_MASK;
    uint8_t element = (uint8_t)(desc->place >> 27);
    if (desc->enclosing != table->canonical || is_static != !!(meta->flags & META_STATIC) ||
        !may_be(meta->element, element) || offset > OFFSET_LAST)
        return false;
    return is_static || (table->base_size > OBJECT_OVERHEAD &&
                         offset + size_of(element) <= table->base_size - OBJECT_OVERHEAD);
}

/* In this very type. How many fields it has is asked first: it is cheap, and cannot be read once
 * there is no time left. */
static bool find_field(struct sn_type_system *types, const struct sn_method_table *table,
                       const char *name, struct sn_memory_field *ret_field)
{
    const struct sn_memory_module *module = sn_type_system_module(types, table->module);
    struct sn_assembly_field meta = {0};
    struct field_desc desc;
    uint32_t kept = 0;
    uint32_t count = count_fields(types, table);
    if (!count || !module || !module->metadata || sn_method_table_is_array(table))
        return false;
    uint32_t row = find_row(module->metadata, sn_method_table_token(table), name, &meta, &kept);
    if (!row || count != kept || !find_desc(types, table, row, kept, &desc) ||
        !is_proved(table, &desc, &meta))
        return false;
    *ret_field = (struct sn_memory_field){
        .offset = desc.place & OFFSET_MASK,
        .element =
            meta.element == ELEMENT_STRING ? (uint8_t)ELEMENT_STRING : (uint8_t)(desc.place >> 27),
        .token = FIELD_TABLE | row,
        .is_static = desc.bits & FIELD_STATIC,
    };
    return true;
}

bool sn_type_system_field(struct sn_type_system *types, uint64_t method_table, const char *name,
                          struct sn_memory_field *ret_field)
{
    struct sn_method_table table;
    uint64_t address = method_table;
    for (uint32_t i = 0; address && i < SN_TYPES_PARENTS_MAX; i++, address = table.parent) {
        if (!sn_types_read_table(types, address, &table))
            return false;
        if (find_field(types, &table, name, ret_field)) {
            ret_field->owner = address;
            return true;
        }
    }
    return false;
}
