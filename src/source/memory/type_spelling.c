/* Names of types as the runtime's events spell them: "System.Collections.Generic.List`1[System.
 * Int32]", "System.Byte*", "System.String[,]". What is nested is worked off from a stack: how deep
 * it goes is the target's to say, and ours to end. */
#include "format/assembly_tables.h"
#include "source/memory/type_system_internal.h"

#define WORK_MAX        512u
#define STEPS_MAX       4096u
#define RANK_MAX        32u
#define SZARRAY_FLAG    0x00020000u
#define CONVENTION_MASK 0x0Fu
#define VARARG          5u

enum element {
    ELEMENT_PTR = 0x0F,
    ELEMENT_BYREF = 0x10,
    ELEMENT_VALUETYPE = 0x11,
    ELEMENT_VAR = 0x13,
    ELEMENT_FNPTR = 0x1B,
    ELEMENT_MVAR = 0x1E,
};

/* What is still to be written, the next on top: a text, or a type handle. */
struct work {
    const char *text;
    uint64_t handle;
};

struct writer {
    struct sn_type_system *types;
    struct sn_buf *to;
    struct work stack[WORK_MAX];
    size_t depth;
    bool failed;
};

static void push_text(struct writer *writer, const char *text)
{
    if (writer->depth == WORK_MAX)
        writer->failed = true;
    else
        writer->stack[writer->depth++] = (struct work){.text = text};
}

static void push_handle(struct writer *writer, uint64_t handle)
{
    if (writer->depth == WORK_MAX)
        writer->failed = true;
    else
        writer->stack[writer->depth++] = (struct work){.handle = handle};
}

/* "[a,b]" with what is written last pushed first. */
static void push_list(struct writer *writer, const uint64_t *handles, size_t count,
                      const char *between)
{
    for (size_t i = count; i-- > 0;) {
        push_handle(writer, handles[i]);
        if (i)
            push_text(writer, between);
    }
}

static void write_array(struct writer *writer, const struct sn_method_table *table)
{
    static const char commas[] = "[,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,]"; /* of 32 dimensions */
    static char const open[] = "[";
    uint8_t rank = 0;
    uint32_t offset = writer->types->at.array_rank;
    if (table->flags & SZARRAY_FLAG) {
        push_text(writer, "[]");
    } else if (offset == UINT32_MAX ||
               !sn_memory_u8(writer->types->memory, table->clazz + offset, &rank) || !rank ||
               rank > RANK_MAX) {
        writer->failed = true;
    } else if (rank == 1) {
        push_text(writer, "[*]");
    } else {
        push_text(writer, commas + sizeof(commas) - 1 - rank);
        push_text(writer, open);
    }
    push_handle(writer, table->inst);
}

static void write_table(struct writer *writer, uint64_t handle)
{
    struct sn_method_table table;
    uint64_t arguments[SN_TYPES_ARGUMENTS_MAX];
    if (!sn_types_read_table(writer->types, handle, &table)) {
        writer->failed = true;
        return;
    }
    if (sn_method_table_is_array(&table)) {
        write_array(writer, &table);
        return;
    }
    const struct sn_memory_module *module = sn_type_system_module(writer->types, table.module);
    uint32_t token = sn_method_table_token(&table);
    if (!token)
        sn_buf_text(writer->to, "(dynamicClass)");
    else if (!module || !module->metadata ||
             !sn_assembly_type_name(module->metadata, token, writer->to))
        writer->failed = true;
    if (!sn_method_table_is_generic(&table))
        return;
    size_t count = sn_types_arguments(writer->types, &table, arguments, SN_TYPES_ARGUMENTS_MAX);
    if (!count)
        writer->failed = true;
    push_text(writer, "]");
    push_list(writer, arguments, count, ",");
    push_text(writer, "[");
}

static bool write_variable_name(const struct sn_assembly *assembly, uint32_t row, struct sn_buf *to)
{
    uint32_t index = sn_assembly_cell(assembly, SN_TABLE_GENERIC_PARAM, row, SN_GENERIC_PARAM_NAME);
    const char *name = sn_metadata_string(&assembly->metadata, index);
    if (!name || !name[0])
        return false;
    sn_buf_text(to, name);
    return true;
}

static void write_variable(struct writer *writer, uint64_t desc)
{
    struct sn_type_system *types = writer->types;
    uint64_t address = 0;
    uint32_t token = 0;
    if (types->at.var_token == UINT32_MAX ||
        !sn_types_pointer(types, desc, types->at.var_module, &address) ||
        !sn_memory_u32(types->memory, desc + types->at.var_token, &token)) {
        writer->failed = true;
        return;
    }
    const struct sn_memory_module *module = sn_type_system_module(types, address);
    if (!module || !module->metadata ||
        !write_variable_name(module->metadata, token & 0xFFFFFFu, writer->to))
        writer->failed = true;
}

static void write_function(struct writer *writer, uint64_t desc)
{
    struct sn_type_system *types = writer->types;
    uint64_t handles[SN_TYPES_ARGUMENTS_MAX];
    uint32_t count = 0;
    uint32_t convention = 0;
    const struct sn_type_offsets *at = &types->at;
    if (at->fn_count == UINT32_MAX || at->fn_types == UINT32_MAX ||
        at->fn_convention == UINT32_MAX ||
        !sn_memory_u32(types->memory, desc + at->fn_count, &count) ||
        count >= SN_TYPES_ARGUMENTS_MAX ||
        !sn_memory_u32(types->memory, desc + at->fn_convention, &convention) ||
        !sn_memory_read(types->memory, desc + at->fn_types, handles, 8 * (count + 1ull))) {
        writer->failed = true;
        return;
    }
    push_text(writer, ")");
    if ((convention & CONVENTION_MASK) == VARARG)
        push_text(writer, count ? ", ..." : "...");
    push_list(writer, handles + 1, count, ", ");
    push_text(writer, "(");
    push_handle(writer, handles[0]);
}

static void write_desc(struct writer *writer, uint64_t desc)
{
    struct sn_type_system *types = writer->types;
    uint32_t kind = 0;
    uint64_t of = 0;
    if (!sn_memory_u32(types->memory, desc + types->at.desc_kind, &kind)) {
        writer->failed = true;
        return;
    }
    kind &= 0xFF;
    if (kind == ELEMENT_VAR || kind == ELEMENT_MVAR) {
        write_variable(writer, desc);
    } else if (kind == ELEMENT_FNPTR) {
        write_function(writer, desc);
    } else if ((kind == ELEMENT_PTR || kind == ELEMENT_BYREF || kind == ELEMENT_VALUETYPE) &&
               sn_types_pointer(types, desc, types->at.param_arg, &of)) {
        if (kind == ELEMENT_VALUETYPE)
            sn_buf_text(writer->to, "VALUETYPE");
        else
            push_text(writer, kind == ELEMENT_PTR ? "*" : "&");
        push_handle(writer, of);
    } else {
        writer->failed = true;
    }
}

static bool write_all(struct writer *writer)
{
    for (size_t steps = 0; writer->depth && !writer->failed && !writer->to->failed; steps++) {
        const struct work work = writer->stack[--writer->depth];
        if (steps == STEPS_MAX || sn_memory_is_late(writer->types->memory))
            return false;
        if (work.text)
            sn_buf_text(writer->to, work.text);
        else if (!work.handle)
            sn_buf_text(writer->to, "(null)");
        else if (work.handle & 2)
            write_desc(writer, work.handle & ~2ull);
        else
            write_table(writer, work.handle);
    }
    return !writer->failed && !writer->to->failed;
}

bool sn_type_system_handle_name(struct sn_type_system *types, uint64_t handle, struct sn_buf *to)
{
    struct writer writer;
    size_t before = to->size;
    writer.types = types;
    writer.to = to;
    writer.depth = 0;
    writer.failed = false;
    push_handle(&writer, handle);
    if (write_all(&writer))
        return true;
    to->size = before; /* half a name would be a wrong one */
    return false;
}

bool sn_types_append_arguments(struct sn_type_system *types, const uint64_t *handles, size_t count,
                               struct sn_buf *to)
{
    struct writer writer;
    size_t before = to->size;
    writer.types = types;
    writer.to = to;
    writer.depth = 0;
    writer.failed = false;
    push_text(&writer, "]");
    push_list(&writer, handles, count, ",");
    push_text(&writer, "[");
    if (write_all(&writer))
        return true;
    to->size = before;
    return false;
}
