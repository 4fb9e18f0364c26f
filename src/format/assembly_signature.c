/* Signatures (ECMA-335 II.23.2) in the words of the runtime's events. Types lie within types, so
 * what is still to be written is kept on a stack of its own with an end, and nothing recurses. */
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "format/assembly.h"
#include "format/assembly_tables.h"

#define TODO_MAX      256u   /* as deep as types may lie within types, and some */
#define BLOB_MAX      8u     /* a TypeSpec that is named within a TypeSpec, and so on */
#define STEP_MAX      16384u /* TypeSpecs that name each other twice could double without end */
#define SIGNATURE_MAX (64u << 10) /* bytes of text: an event holds no more */
#define RANK_MAX      32u         /* of arrays: the runtime's own ceiling */

#define HAS_THIS  0x20u
#define GENERIC   0x10u
#define KIND_MASK 0x0Fu
#define KIND_END  12u

enum element {
    E_PTR = 0x0F,
    E_BYREF = 0x10,
    E_VALUE_TYPE = 0x11,
    E_CLASS = 0x12,
    E_VAR = 0x13,
    E_ARRAY = 0x14,
    E_GENERIC = 0x15,
    E_FUNCTION = 0x1B,
    E_VECTOR = 0x1D,
    E_MVAR = 0x1E,
    E_MODIFIER_REQD = 0x1F,
    E_MODIFIER_OPT = 0x20,
    E_INTERNAL = 0x21,
    E_SENTINEL = 0x41,
    E_PINNED = 0x45,
};

/* What is still to be written. */
enum todo_kind {
    TODO_TYPE,
    TODO_TEXT,
    TODO_SHAPE,
    TODO_GENERIC,
    TODO_LIST,
    TODO_METHOD,
    TODO_BACK
};

struct todo {
    uint8_t kind;     /* enum todo_kind */
    bool has_before;  /* a list: something stands before the next one */
    bool is_call;     /* a list: of arguments, which may have "..." among them */
    uint32_t left;    /* a list: how many are still to come */
    const char *text; /* text; a list: what ends it; a method: what begins its arguments */
};

struct writer {
    const struct sn_assembly *assembly;
    struct sn_buf *to;
    struct sn_cursor blobs[BLOB_MAX]; /* the last is being read */
    size_t blob_count;
    struct todo todo[TODO_MAX];
    size_t todo_count;
    bool failed;
};

static struct sn_cursor *blob_of(struct writer *writer)
{
    return &writer->blobs[writer->blob_count - 1];
}

static void push(struct writer *writer, struct todo todo)
{
    if (writer->todo_count == TODO_MAX)
        writer->failed = true;
    else
        writer->todo[writer->todo_count++] = todo;
}

static void push_type(struct writer *writer)
{
    push(writer, (struct todo){.kind = TODO_TYPE});
}

/* The type that follows, and then this. */
static void push_type_and(struct writer *writer, const char *text)
{
    push(writer, (struct todo){.kind = TODO_TEXT, .text = text});
    push_type(writer);
}

/* --- types --- */

/* Those of one word. */
static const char *simple_type(uint8_t element)
{
    static const char *const names[] = {
        [0x01] = "void",           [0x02] = "bool",
        [0x03] = "wchar",          [0x04] = "int8",
        [0x05] = "unsigned int8",  [0x06] = "int16",
        [0x07] = "unsigned int16", [0x08] = "int32",
        [0x09] = "unsigned int32", [0x0A] = "int64",
        [0x0B] = "unsigned int64", [0x0C] = "float32",
        [0x0D] = "float64",        [0x0E] = "class System.String",
        [0x16] = "refany",         [0x18] = "int",
        [0x19] = "unsigned int",   [0x1C] = "class System.Object",
    };
    return element < sizeof(names) / sizeof(*names) ? names[element] : NULL;
}

/* A TypeSpec is read where it is named, and then on here. */
static void enter_type_spec(struct writer *writer, uint32_t token)
{
    uint32_t row = sn_assembly_row(writer->assembly, SN_TABLE_TYPE_SPEC, token);
    uint32_t index =
        sn_assembly_cell(writer->assembly, SN_TABLE_TYPE_SPEC, row, SN_TYPE_SPEC_SIGNATURE);
    if (!row || writer->blob_count == BLOB_MAX) {
        writer->failed = true;
        return;
    }
    writer->blobs[writer->blob_count++] = sn_metadata_blob(&writer->assembly->metadata, index);
    push(writer, (struct todo){.kind = TODO_BACK});
    push_type(writer);
}

/* Of a type that is nested, its own name alone: so the runtime has it. */
static void write_own_name(struct writer *writer, unsigned table, uint32_t row)
{
    const struct sn_assembly *assembly = writer->assembly;
    uint32_t name_index = sn_assembly_cell(assembly, table, row, SN_TYPE_DEF_NAME);
    uint32_t space_index = sn_assembly_cell(assembly, table, row, SN_TYPE_DEF_NAMESPACE);
    const char *name = sn_metadata_string(&assembly->metadata, name_index);
    const char *space = sn_metadata_string(&assembly->metadata, space_index);
    if (!row || !name || !space) {
        writer->failed = true;
        return;
    }
    sn_buf_text(writer->to, space);
    sn_buf_text(writer->to, *space ? "." : "");
    sn_buf_text(writer->to, name);
}

static void write_named(struct writer *writer, const char *before)
{
    uint32_t token = sn_assembly_type_token(sn_metadata_unsigned(blob_of(writer)));
    unsigned table = token >> 24;
    sn_buf_text(writer->to, before);
    if (table == SN_TABLE_TYPE_SPEC)
        enter_type_spec(writer, token);
    else
        write_own_name(writer, table, sn_assembly_row(writer->assembly, table, token));
}

/* The name of the modifier may itself be still to come, so what follows it is put below. */
static void write_modifier(struct writer *writer, const char *before)
{
    push_type(writer);
    push(writer, (struct todo){.kind = TODO_TEXT, .text = " "});
    write_named(writer, before);
}

static void write_number(struct writer *writer, const char *before)
{
    sn_buf_text(writer->to, before);
    sn_buf_decimal(writer->to, sn_metadata_unsigned(blob_of(writer)));
}

/* A type that is told by its address: in what the runtime made itself. */
static void write_internal(struct writer *writer)
{
    uint64_t address = sn_cursor_u64(blob_of(writer));
    sn_buf_format(writer->to, "pMT: 0x%llx", (unsigned long long)address);
}

static void write_compound(struct writer *writer, uint8_t element)
{
    switch (element) {
    case E_VALUE_TYPE: return write_named(writer, "value class ");
    case E_CLASS: return write_named(writer, "class ");
    case E_MODIFIER_REQD: return write_modifier(writer, "required_modifier ");
    case E_MODIFIER_OPT: return write_modifier(writer, "optional_modifier ");
    case E_VAR: return write_number(writer, "!");
    case E_MVAR: return write_number(writer, "!!");
    case E_VECTOR: return push_type_and(writer, "[]");
    case E_PTR: return push_type_and(writer, "*");
    case E_BYREF: return push_type_and(writer, "&");
    case E_PINNED: return push_type_and(writer, " pinned");
    case E_ARRAY: push(writer, (struct todo){.kind = TODO_SHAPE}); return push_type(writer);
    case E_GENERIC: push(writer, (struct todo){.kind = TODO_GENERIC}); return push_type(writer);
    case E_FUNCTION:
        sn_buf_text(writer->to, "fnptr ");
        return push(writer, (struct todo){.kind = TODO_METHOD, .text = "("});
    case E_INTERNAL: return write_internal(writer);
    default: writer->failed = true;
    }
}

static void write_type(struct writer *writer)
{
    uint8_t element = sn_cursor_u8(blob_of(writer));
    const char *simple = simple_type(element);
    if (simple)
        sn_buf_text(writer->to, simple);
    else
        write_compound(writer, element);
}

/* Sizes or lower bounds; those that are not told stay 0. */
static void read_bounds(struct writer *writer, uint32_t rank, uint32_t bounds[RANK_MAX])
{
    uint32_t count = sn_metadata_unsigned(blob_of(writer));
    if (count > rank)
        writer->failed = true;
    for (uint32_t i = 0; i < count && i < rank; i++)
        bounds[i] = sn_metadata_unsigned(blob_of(writer));
}

/* "[,]". Bounds are written as the runtime writes them, which is not as they were meant. */
static void write_shape(struct writer *writer)
{
    uint32_t sizes[RANK_MAX] = {0};
    uint32_t lows[RANK_MAX] = {0};
    uint32_t rank = sn_metadata_unsigned(blob_of(writer));
    if (!rank || rank > RANK_MAX) {
        writer->failed = true;
        return;
    }
    read_bounds(writer, rank, sizes);
    read_bounds(writer, rank, lows);
    sn_buf_text(writer->to, "[");
    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] && lows[i])
            sn_buf_format(writer->to, "%u...%u", lows[i], lows[i] + sizes[i] + 1);
        sn_buf_text(writer->to, i + 1 < rank ? "," : "]");
    }
}

/* --- lists --- */

static void write_generic(struct writer *writer)
{
    uint32_t count = sn_metadata_unsigned(blob_of(writer));
    sn_buf_text(writer->to, "<");
    push(writer, (struct todo){.kind = TODO_LIST, .left = count, .text = ">"});
}

static void write_list(struct writer *writer, struct todo list)
{
    struct sn_cursor *blob = blob_of(writer);
    if (!list.left) {
        sn_buf_text(writer->to, list.text);
        return;
    }
    sn_buf_text(writer->to, list.has_before ? "," : "");
    list.has_before = true;
    if (list.is_call && sn_cursor_left(blob) && *blob->at == E_SENTINEL) {
        sn_cursor_skip(blob, 1);
        sn_buf_text(writer->to, "...");
        push(writer, list);
        return;
    }
    list.left--;
    push(writer, list);
    push_type(writer);
}

static void write_method(struct writer *writer, const char *begin)
{
    static const char *const kinds[KIND_END] = {
        "",
        "unmanaged cdecl ",
        "unmanaged stdcall ",
        "unmanaged thiscall ",
        "unmanaged fastcall ",
        "vararg ",
        NULL,
        NULL,
        NULL,
        "",
        NULL,
        "native vararg ",
    };
    struct sn_cursor *blob = blob_of(writer);
    uint8_t kind = sn_cursor_u8(blob);
    const char *word = (kind & KIND_MASK) < KIND_END ? kinds[kind & KIND_MASK] : NULL;
    if (!word) { /* not of a method */
        writer->failed = true;
        return;
    }
    if (kind & GENERIC)
        (void)sn_metadata_unsigned(blob); /* how many type parameters */
    uint32_t count = sn_metadata_unsigned(blob);
    sn_buf_format(writer->to, "%s%s%s", kind & HAS_THIS ? "instance " : "",
                  kind & GENERIC ? "generic " : "", word);
    push(writer, (struct todo){.kind = TODO_LIST, .left = count, .is_call = true, .text = ")"});
    push_type_and(writer, begin);
}

/* --- the walk --- */

static void write_next(struct writer *writer)
{
    struct todo next = writer->todo[--writer->todo_count];
    switch (next.kind) {
    case TODO_TYPE: return write_type(writer);
    case TODO_TEXT: return sn_buf_text(writer->to, next.text);
    case TODO_SHAPE: return write_shape(writer);
    case TODO_GENERIC: return write_generic(writer);
    case TODO_LIST: return write_list(writer, next);
    case TODO_METHOD: return write_method(writer, next.text);
    default: writer->blob_count--;
    }
}

bool sn_assembly_signature(const struct sn_assembly *assembly, const uint8_t *blob, size_t size,
                           struct sn_buf *to)
{
    struct writer writer = {
        .assembly = assembly, .to = to, .blobs = {sn_cursor_over(blob, size)}, .blob_count = 1};
    size_t before = to->size;
    push(&writer, (struct todo){.kind = TODO_METHOD, .text = "  ("});
    for (unsigned steps = 0; writer.todo_count && !writer.failed; steps++) {
        write_next(&writer);
        if (blob_of(&writer)->bad || to->failed || steps == STEP_MAX ||
            to->size - before > SIGNATURE_MAX)
            writer.failed = true;
    }
    if (writer.failed)
        to->size = before;
    return !writer.failed;
}
