/* Assemblies: a small one as its compiler made it, signatures by hand, tables that are made up, and
 * every cut. What runtimes say of thousands of methods is compared in tests/interop. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/assembly.h"
#include "format/pe.h"

#define GOLDEN SONDE_SOURCE_DIR "/tests/golden/pdb/"

struct bytes {
    const uint8_t *bytes;
    size_t size;
};

static struct sn_buf load(const char *name)
{
    char path[512];
    struct sonde_error err = {0};
    struct sn_buf file = sn_buf_with_limit(1u << 20);
    assert_true((size_t)snprintf(path, sizeof(path), GOLDEN "%s", name) < sizeof(path));
    if (sn_file_read_at(AT_FDCWD, path, &file, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return file;
}

static bool read_bytes(void *user, uint64_t offset, void *to, size_t size)
{
    const struct bytes *all = user;
    if (offset > all->size || size > all->size - offset)
        return false;
    memcpy(to, all->bytes + offset, size);
    return true;
}

static struct bytes metadata_in(const struct sn_buf *file)
{
    struct bytes all = {file->bytes, file->size};
    struct sn_pe_image image = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_pe_read_image(read_bytes, &all, SN_PE_FLAT, &image, &err), SONDE_OK);
    assert_int_equal(image.layout, SN_PE_FLAT);
    assert_true(image.metadata_offset + image.metadata_size <= file->size);
    return (struct bytes){file->bytes + image.metadata_offset, image.metadata_size};
}

static struct sn_assembly open_golden(const struct sn_buf *file)
{
    struct bytes metadata = metadata_in(file);
    struct sn_assembly assembly = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_assembly_open(metadata.bytes, metadata.size, &assembly, &err), SONDE_OK);
    return assembly;
}

/* --- what a compiler made --- */

static void types_are_named_and_found(void **state)
{
    (void)state;
    static const char *const names[] = {"<Module>", "Small.Program", "Small.Program+<>c",
                                        "Small.Program+<Main>d__1", "Small.Program+<Numbers>d__2"};
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1000);
    struct sn_assembly assembly = open_golden(&file);
    for (uint32_t i = 0; i < 5; i++) {
        sn_buf_clear(&name);
        assert_true(sn_assembly_type_name(&assembly, 0x02000001 + i, &name));
        assert_string_equal(sn_buf_string(&name), names[i]);
        assert_int_equal(sn_assembly_find_type(&assembly, names[i]), 0x02000001 + i);
    }
    sn_buf_clear(&name);
    assert_true(sn_assembly_type_name(&assembly, 0x01000004, &name));
    assert_string_equal(sn_buf_string(&name),
                        "System.Diagnostics.DebuggableAttribute+DebuggingModes");
    static const uint32_t none[] = {0,          0x02000000, 0x02000006, 0x01000000,
                                    0x01FFFFFF, 0x06000001, 0x1B000001, 0xFF000001};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        sn_buf_clear(&name);
        assert_false(sn_assembly_type_name(&assembly, none[i], &name));
        assert_int_equal(name.size, 0);
    }
    static const char *const unknown[] = {"",
                                          "Program",
                                          "<>c",
                                          "Small",
                                          "Small.Program+",
                                          "Small.Program+<>",
                                          "+",
                                          "Small.Program+c",
                                          "Small+Program",
                                          "mall.Program"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
        assert_int_equal(sn_assembly_find_type(&assembly, unknown[i]), 0);
}

static void types_tell_what_they_are(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1000);
    struct sn_assembly assembly = open_golden(&file);
    struct sn_assembly_type type = {0};
    assert_true(sn_assembly_type(&assembly, 0x02000004, &type));
    assert_string_equal(type.name, "<Main>d__1");
    assert_string_equal(type.name_space, "");
    assert_int_equal(type.outer, 0x02000002);
    assert_true(sn_assembly_type_name(&assembly, type.extends, &name));
    assert_string_equal(sn_buf_string(&name), "System.ValueType");
    assert_true(sn_assembly_type(&assembly, 0x02000002, &type));
    assert_string_equal(type.name_space, "Small");
    assert_int_equal(type.outer, 0);
    assert_false(sn_assembly_type(&assembly, 0x02000006, &type));
    assert_false(sn_assembly_type(&assembly, 0x01000001, &type));
}

static void methods_have_names_types_and_signatures(void **state)
{
    (void)state;
    static const struct {
        uint32_t token, type;
        const char *text;
    } cases[] = {
        {0x06000001, 0x02000002, "Main class System.Threading.Tasks.Task  (class System.String[])"},
        {0x06000002, 0x02000002,
         "Numbers class System.Collections.Generic.IEnumerable`1<int32>  (int32)"},
        {0x06000004, 0x02000002, "<Main> void  (class System.String[])"},
        {0x06000005, 0x02000003, ".cctor void  ()"},
        {0x06000007, 0x02000003, "<Main>b__1_0 instance int32  (int32)"},
        {0x06000011, 0x02000005,
         "System.Collections.IEnumerable.GetEnumerator instance class "
         "System.Collections.IEnumerator  ()"},
    };
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1000);
    struct sn_assembly assembly = open_golden(&file);
    uint32_t type = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        sn_buf_clear(&text);
        assert_true(sn_assembly_method(&assembly, cases[i].token, &text, &type));
        sn_buf_text(&text, " ");
        assert_true(sn_assembly_method_signature(&assembly, cases[i].token, &text));
        assert_string_equal(sn_buf_string(&text), cases[i].text);
        assert_int_equal(type, cases[i].type);
    }
    sn_buf_clear(&text);
    assert_false(sn_assembly_method(&assembly, 0x06000012, &text, &type));
    assert_false(sn_assembly_method(&assembly, 0x06000000, &text, &type));
    assert_false(sn_assembly_method(&assembly, 0x04000001, &text, &type));
    assert_false(sn_assembly_method_signature(&assembly, 0x06000012, &text));
    assert_int_equal(text.size, 0);
    uint32_t first = 0;
    uint32_t count = 0;
    assert_true(sn_assembly_methods(&assembly, 0x02000005, &first, &count));
    assert_int_equal(first, 0x0600000A);
    assert_int_equal(count, 8);
}

static void fields_have_names_and_types(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    struct sn_assembly assembly = open_golden(&file);
    struct sn_assembly_field field = {0};
    uint32_t first = 0;
    uint32_t count = 0;
    assert_true(sn_assembly_fields(&assembly, 0x02000004, &first, &count));
    assert_int_equal(first, 0x04000004);
    assert_int_equal(count, 4);
    assert_true(sn_assembly_field(&assembly, first + 1, &field));
    assert_string_equal(field.name, "<>t__builder");
    assert_int_equal(field.element, 0x11);
    assert_int_equal(field.flags & 0x10, 0);
    assert_true(sn_assembly_field(&assembly, 0x04000001, &field));
    assert_string_equal(field.name, "s_sum");
    assert_int_equal(field.flags & 0x10, 0x10);
    assert_false(sn_assembly_field(&assembly, 0x0400000E, &field));
    assert_false(sn_assembly_fields(&assembly, 0x02000006, &first, &count));
    assert_true(sn_assembly_fields(&assembly, 0x02000001, &first, &count)); /* <Module> */
    assert_int_equal(count, 0);
}

/* --- signatures --- */

struct spelling {
    const char *bytes;
    size_t size;
    const char *text; /* NULL: it is none */
};
#define SPELLING(bytes, text)          \
    {                                  \
        bytes, sizeof(bytes) - 1, text \
    }

/* 8 is System.Object, 0x10 Func`2, 0x11 System.ValueType of the golden assembly's TypeRefs; in
 * signatures that number is shifted by two, with 1 for a TypeRef. */
static const struct spelling spellings[] = {
    SPELLING("\x00\x00\x01", "void  ()"),
    SPELLING("\x20\x0D\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x1C",
             "instance bool  (wchar,int8,unsigned int8,int16,unsigned int16,int32,unsigned "
             "int32,int64,unsigned int64,float32,float64,class System.String,class System.Object)"),
    SPELLING("\x00\x02\x18\x19\x16", "int  (unsigned int,refany)"),
    SPELLING("\x30\x02\x01\x1E\x00\x13\x81\x00", "instance generic !!0  (!256)"),
    SPELLING("\x00\x02\x1D\x1D\x08\x10\x0F\x01\x45\x0E",
             "int32[][]  (void*&,class System.String pinned)"),
    SPELLING("\x00\x02\x11\x45\x12\x21\x15\x12\x41\x02\x08\x0E",
             "value class System.ValueType  (class System.Object,class "
             "System.Func`2<int32,class System.String>)"),
    SPELLING("\x00\x01\x01\x14\x08\x03\x00\x00", "void  (int32[,,])"),
    SPELLING("\x00\x01\x01\x14\x08\x02\x02\x03\x04\x02\x01\x00", "void  (int32[1...5,])"),
    SPELLING("\x00\x01\x01\x1F\x21\x10\x08", "void  (required_modifier System.Object int32&)"),
    SPELLING("\x00\x01\x20\x21\x01\x0E",
             "optional_modifier System.Object void  (class System.String)"),
    SPELLING("\x00\x02\x01\x1B\x00\x02\x08\x0E\x0A\x1B\x09\x00\x01",
             "void  (fnptr int32(class System.String,int64),fnptr void())"),
    SPELLING("\x00\x01\x01\x1B\x01\x00\x01", "void  (fnptr unmanaged cdecl void())"),
    SPELLING("\x05\x02\x01\x08\x41\x0E", "vararg void  (int32,...,class System.String)"),
    SPELLING("\x00\x01\x01\x21\x78\x56\x34\x12\x00\x7F\x00\x00", "void  (pMT: 0x7f0012345678)"),
    SPELLING("\x00\x01\x15\x21\x78\x56\x34\x12\x00\x7F\x00\x00\x01\x0E\x08",
             "pMT: 0x7f0012345678<class System.String>  (int32)"),
    SPELLING("\x00\x01\x01\x12\x08", "void  (class Small.Program)"),
    SPELLING("\x00\x01\x01\x12\x0C", "void  (class <>c)"), /* nested: its own name alone */
    SPELLING("\x00\x00\x01\x77", "void  ()"),              /* what follows is nobody's business */
    SPELLING("\x00\x01\x01\x12\x00", NULL),
    SPELLING("\x00\x01\x01\x12\x03", NULL),
    SPELLING("\x00\x01\x01\x12\x7D", NULL),
    SPELLING("\x00\x01\x01\x12\x06",
             "void  (class class System.Collections.Generic.IEnumerator`1<int32>)"),
    SPELLING("\x00\x01\x01\x14\x08\x00\x00\x00", NULL),
    SPELLING("\x00\x01\x01\x14\x08\x01\x02\x03\x04\x00", NULL),
    SPELLING("\x00\x01\x01\x14\x08\xC0\x00\x00\x21\x00\x00", NULL),
    SPELLING("\x00\x01\x01\x17", NULL),
    SPELLING("\x00\x01\x01\x00", NULL),
    SPELLING("\x00\x01\x01\x41", NULL),
    SPELLING("\x00\x02\x01\x08", NULL),
    SPELLING("\x06\x08", NULL),
    SPELLING("\x07\x01\x08", NULL),
    SPELLING("\x0C\x00\x01", NULL),
    SPELLING("\x00\xDF\xFF\xFF\xFF\x01", NULL),
    SPELLING("", NULL),
};

static void signatures_are_spelled_as_the_runtime_does(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1000);
    struct sn_assembly assembly = open_golden(&file);
    for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
        const struct spelling *spelling = &spellings[i];
        sn_buf_clear(&text);
        bool is_one = sn_assembly_signature(&assembly, (const uint8_t *)spelling->bytes,
                                            spelling->size, &text);
        if (is_one != (spelling->text != NULL))
            fail_msg("%zu: %s", i, sn_buf_string(&text));
        assert_string_equal(sn_buf_string(&text), spelling->text ? spelling->text : "");
    }
}

static void every_cut_of_a_signature_is_none(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1000);
    struct sn_assembly assembly = open_golden(&file);
    for (size_t i = 1; i < sizeof(spellings) / sizeof(*spellings) && spellings[i].text; i++) {
        if (spellings[i].bytes[spellings[i].size - 1] == 0x77)
            continue;
        for (size_t cut = 0; cut < spellings[i].size; cut++) {
            SN_AUTO(sn_free) uint8_t *copy = malloc(cut + 1);
            memcpy(copy, spellings[i].bytes, cut);
            assert_false(sn_assembly_signature(&assembly, copy, cut, &text));
            assert_int_equal(text.size, 0);
        }
    }
}

/* A type within a type, `depth` times. */
static bool spell_nested(const struct sn_assembly *assembly, size_t depth, struct sn_buf *text)
{
    SN_AUTO(sn_buf_done) struct sn_buf blob = sn_buf_with_limit(1u << 20);
    sn_buf_append(&blob, "\x00\x01\x01", 3);
    sn_buf_fill(&blob, 0x1D, depth);
    sn_buf_u8(&blob, 0x08);
    sn_buf_clear(text);
    return sn_assembly_signature(assembly, blob.bytes, blob.size, text);
}

static void signatures_have_ceilings(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
    SN_AUTO(sn_buf_done) struct sn_buf many = sn_buf_with_limit(1u << 20);
    struct sn_assembly assembly = open_golden(&file);
    assert_true(spell_nested(&assembly, 100, &text));
    assert_false(spell_nested(&assembly, 1000, &text));
    assert_false(spell_nested(&assembly, 100000, &text));
    sn_buf_append(&many, "\x00\xC0\x00\x40\x00\x01", 6); /* 16,384 arguments, all of them there */
    sn_buf_fill(&many, 0x1C, 0x4000);
    assert_false(sn_assembly_signature(&assembly, many.bytes, many.size, &text));
    assert_int_equal(text.size, 0);
    SN_AUTO(sn_buf_done) struct sn_buf small = sn_buf_with_limit(10);
    assert_false(sn_assembly_method_signature(&assembly, 0x06000001, &small));
}

/* --- tables that are made up --- */

#define MADE_TABLES 0x2Du

struct made {
    struct sn_buf rows[MADE_TABLES];
    uint32_t counts[MADE_TABLES];
    struct sn_buf strings;
    struct sn_buf blobs;
    uint64_t sorted;
    const char *stream; /* "#~", "#-" */
    struct sn_buf out;
};

static void made_done_auto(struct made *made)
{
    for (size_t i = 0; i < MADE_TABLES; i++)
        sn_buf_done(&made->rows[i]);
    sn_buf_done(&made->strings);
    sn_buf_done(&made->blobs);
    sn_buf_done(&made->out);
}

static struct made begin_made(const char *stream)
{
    struct made made = {.stream = stream, .sorted = UINT64_MAX};
    for (size_t i = 0; i < MADE_TABLES; i++)
        made.rows[i] = sn_buf_with_limit(1u << 20);
    made.strings = sn_buf_with_limit(1u << 20);
    made.blobs = sn_buf_with_limit(1u << 20);
    made.out = sn_buf_with_limit(4u << 20);
    sn_buf_u8(&made.strings, 0);
    sn_buf_u8(&made.blobs, 0);
    return made;
}

static uint16_t add_name(struct made *made, const char *name)
{
    size_t at = made->strings.size;
    sn_buf_append(&made->strings, name, strlen(name) + 1);
    return (uint16_t)at;
}

static uint16_t add_blob(struct made *made, const void *bytes, size_t size)
{
    size_t at = made->blobs.size;
    assert_true(size < 0x4000);
    sn_buf_u8(&made->blobs, (uint8_t)(0x80u | size >> 8));
    sn_buf_u8(&made->blobs, (uint8_t)size);
    sn_buf_append(&made->blobs, bytes, size);
    return (uint16_t)at;
}

/* Two bytes a column; flags of four bytes are two columns. */
static void add_row(struct made *made, unsigned table, const uint16_t *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sn_buf_u16(&made->rows[table], cells[i]);
    made->counts[table]++;
}
#define ADD_ROW(made, table, ...)                         \
    add_row(made, table, (const uint16_t[]){__VA_ARGS__}, \
            sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

static void append_stream(struct sn_buf *out, const char *name, size_t *offset, size_t size)
{
    sn_buf_u32(out, (uint32_t)*offset);
    sn_buf_u32(out, (uint32_t)size);
    sn_buf_text(out, name);
    sn_buf_fill(out, 0, 4 - strlen(name) % 4);
    *offset += size;
}

static void append_tables(struct made *made, struct sn_buf *tables)
{
    uint64_t present = 0;
    for (unsigned i = 0; i < MADE_TABLES; i++)
        present |= (uint64_t)(made->counts[i] != 0) << i;
    sn_buf_append(tables, "\0\0\0\0\2\0\0\1", 8);
    sn_buf_u64(tables, present);
    sn_buf_u64(tables, made->sorted);
    for (unsigned i = 0; i < MADE_TABLES; i++) {
        if (made->counts[i])
            sn_buf_u32(tables, made->counts[i]);
    }
    for (unsigned i = 0; i < MADE_TABLES; i++)
        sn_buf_append(tables, made->rows[i].bytes, made->rows[i].size);
}

static struct sn_assembly open_made(struct made *made)
{
    SN_AUTO(sn_buf_done) struct sn_buf tables = sn_buf_with_limit(4u << 20);
    struct sn_buf *out = &made->out;
    struct sn_assembly assembly = {0};
    struct sonde_error err = {0};
    append_tables(made, &tables);
    sn_buf_clear(out);
    sn_buf_append(out, "BSJB\1\0\1\0\0\0\0\0\4\0\0\0v4\0\0\0\0\3\0", 24);
    size_t offset = 24 + 12 + 20 + 16;
    append_stream(out, made->stream, &offset, tables.size);
    append_stream(out, "#Strings", &offset, made->strings.size);
    append_stream(out, "#Blob", &offset, made->blobs.size);
    sn_buf_append(out, tables.bytes, tables.size);
    sn_buf_append(out, made->strings.bytes, made->strings.size);
    sn_buf_append(out, made->blobs.bytes, made->blobs.size);
    if (sn_assembly_open(out->bytes, out->size, &assembly, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return assembly;
}

static bool is_named(const struct sn_assembly *assembly, uint32_t type, const char *expected)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1u << 20);
    bool is_told = sn_assembly_type_name(assembly, type, &name);
    assert_int_equal(is_told, name.size != 0);
    return strcmp(sn_buf_string(&name), expected) == 0;
}

enum {
    TYPE_REF = 0x01,
    TYPE_DEF = 0x02,
    FIELD_PTR,
    FIELD,
    METHOD_PTR,
    METHOD,
    TYPE_SPEC = 0x1B,
    NESTED = 0x29
};
#define IS_NESTED 2u

/* Types and what is theirs, by pointers that are in no order, as uncompressed metadata may be. */
static void pointers_are_followed(void **state)
{
    (void)state;
    SN_AUTO(made_done) struct made made = begin_made("#-");
    uint16_t name = add_name(&made, "M");
    uint16_t blob = add_blob(&made, "\x06\x1F\x05\x08", 4); /* with a modifier */
    ADD_ROW(&made, TYPE_DEF, 0, 0, add_name(&made, "A"), add_name(&made, "N"), 0, 1, 1);
    ADD_ROW(&made, TYPE_DEF, 0, 0, add_name(&made, "B"), 0, 0, 3, 3);
    for (uint16_t i = 0; i < 3; i++) {
        ADD_ROW(&made, METHOD, 0, 0, 0, 0, name, blob, 1);
        ADD_ROW(&made, FIELD, 0, name, blob);
        ADD_ROW(&made, METHOD_PTR, (const uint16_t[]){3, 1, 2}[i]);
        ADD_ROW(&made, FIELD_PTR, (const uint16_t[]){2, 3, 1}[i]);
    }
    struct sn_assembly assembly = open_made(&made);
    static const uint32_t owners[] = {0x02000001, 0x02000002, 0x02000001};
    for (uint32_t i = 0; i < 3; i++) {
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(100);
        uint32_t type = 0;
        assert_true(sn_assembly_method(&assembly, 0x06000001 + i, &text, &type));
        assert_int_equal(type, owners[i]);
    }
    uint32_t first = 0;
    uint32_t count = 0;
    assert_false(sn_assembly_methods(&assembly, 0x02000001, &first, &count)); /* 3, 1 */
    assert_true(sn_assembly_methods(&assembly, 0x02000002, &first, &count));
    assert_int_equal(first, 0x06000002);
    assert_int_equal(count, 1);
    assert_true(sn_assembly_fields(&assembly, 0x02000001, &first, &count));
    assert_int_equal(first, 0x04000002);
    assert_int_equal(count, 2);
    struct sn_assembly_field field = {0};
    assert_true(sn_assembly_field(&assembly, first, &field));
    assert_int_equal(field.element, 0x08);
    assert_true(is_named(&assembly, 0x02000001, "N.A"));
    assert_int_equal(sn_assembly_find_type(&assembly, "N.A"), 0x02000001);
    assert_int_equal(sn_assembly_find_type(&assembly, "B"), 0x02000002);
}

static void lists_that_do_not_rise_are_refused(void **state)
{
    (void)state;
    SN_AUTO(made_done) struct made made = begin_made("#~");
    uint16_t name = add_name(&made, "M");
    static const uint16_t firsts[] = {2, 1, 0, 9, 0xFFFF};
    for (size_t i = 0; i < 5; i++)
        ADD_ROW(&made, TYPE_DEF, 0, 0, name, 0, 0, 1, firsts[i]);
    for (size_t i = 0; i < 3; i++)
        ADD_ROW(&made, METHOD, 0, 0, 0, 0, name, 0, 1);
    struct sn_assembly assembly = open_made(&made);
    uint32_t first = 0;
    uint32_t count = 0;
    for (uint32_t type = 1; type <= 6; type++)
        assert_false(sn_assembly_methods(&assembly, 0x02000000 | type, &first, &count));
    for (uint32_t method = 1; method <= 4; method++) {
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(100);
        (void)sn_assembly_method(&assembly, 0x06000000 | method, &text, &first); /* any answer */
    }
}

/* Of rows in no order too; and of what lies in itself, or too deep, nothing is said. */
static void nesting_ends(void **state)
{
    (void)state;
    for (int is_sorted = 0; is_sorted < 2; is_sorted++) {
        SN_AUTO(made_done) struct made made = begin_made("#~");
        for (uint16_t i = 1; i <= 201; i++) /* nothing tells where the last is nested */
            ADD_ROW(&made, TYPE_DEF, i > 1 ? IS_NESTED : 0, 0, add_name(&made, "T"), 0, 0, 1, 1);
        for (uint16_t i = 2; i <= 200; i++) {
            uint16_t inner = is_sorted ? i : (uint16_t)(202 - i);
            ADD_ROW(&made, NESTED, inner, inner == 200 ? 200 : (uint16_t)(inner - 1));
        }
        ADD_ROW(&made, TYPE_REF, 1 << 2 | 3, add_name(&made, "R"), 0); /* in itself */
        ADD_ROW(&made, TYPE_REF, 99 << 2 | 3, add_name(&made, "R"), 0);
        ADD_ROW(&made, TYPE_REF, 0, add_name(&made, "a+b,[]*&\\c"), add_name(&made, "n"));
        ADD_ROW(&made, TYPE_REF, 3 << 2 | 3, add_name(&made, "R"), 0);
        if (!is_sorted)
            made.sorted = 0;
        struct sn_assembly assembly = open_made(&made);
        assert_true(is_named(&assembly, 0x02000001, "T"));
        assert_true(is_named(&assembly, 0x02000003, "T+T+T"));
        assert_int_equal(sn_assembly_find_type(&assembly, "T+T+T"), 0x02000003);
        assert_true(is_named(&assembly, 0x02000064, ""));
        assert_true(is_named(&assembly, 0x020000C8, ""));
        assert_true(is_named(&assembly, 0x020000C9, ""));
        assert_true(is_named(&assembly, 0x01000001, ""));
        assert_true(is_named(&assembly, 0x01000002, ""));
        assert_true(is_named(&assembly, 0x01000003, "n.a\\+b\\,\\[\\]\\*\\&\\\\c"));
        assert_true(is_named(&assembly, 0x01000004, "n.a\\+b\\,\\[\\]\\*\\&\\\\c+R"));
    }
}

/* TypeSpecs that name themselves, and some that name each other a hundred times over. */
static void named_signatures_end(void **state)
{
    (void)state;
    SN_AUTO(made_done) struct made made = begin_made("#~");
    SN_AUTO(sn_buf_done) struct sn_buf bomb = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
    ADD_ROW(&made, TYPE_DEF, 0, 0, add_name(&made, "A"), 0, 0, 1, 1);
    ADD_ROW(&made, TYPE_SPEC, add_blob(&made, "\x12\x06", 2));
    ADD_ROW(&made, TYPE_SPEC, add_blob(&made, "\x1D\x08", 2));
    for (uint8_t i = 3; i < 9; i++) {
        sn_buf_clear(&bomb);
        sn_buf_append(&bomb, "\x15\x12\x04\x64", 4);
        for (int j = 0; j < 100; j++) {
            sn_buf_u8(&bomb, 0x12);
            sn_buf_u8(&bomb, (uint8_t)((i == 8 ? 2 : i + 1) << 2 | 2));
        }
        ADD_ROW(&made, TYPE_SPEC, add_blob(&made, bomb.bytes, bomb.size));
    }
    struct sn_assembly assembly = open_made(&made);
    assert_false(sn_assembly_signature(&assembly, (const uint8_t *)"\0\0\x12\x06", 4, &text));
    assert_false(sn_assembly_signature(&assembly, (const uint8_t *)"\0\0\x12\x0E", 4, &text));
    assert_false(sn_assembly_signature(&assembly, (const uint8_t *)"\0\0\x12\x7E", 4, &text));
    assert_int_equal(text.size, 0);
    assert_true(sn_assembly_signature(&assembly, (const uint8_t *)"\0\0\x20\x0A\x0E", 5, &text));
    assert_string_equal(sn_buf_string(&text), "optional_modifier int32[] class System.String  ()");
}

static void names_without_an_end_are_none(void **state)
{
    (void)state;
    SN_AUTO(made_done) struct made made = begin_made("#~");
    SN_AUTO(sn_free) char *name = calloc(1, SN_METADATA_NAME_MAX + 1);
    memset(name, 'x', SN_METADATA_NAME_MAX);
    ADD_ROW(&made, TYPE_DEF, 0, 0, add_name(&made, name), 0, 0, 1, 1);
    ADD_ROW(&made, TYPE_DEF, 0, 0, add_name(&made, name + 1), 0, 0, 1, 1);
    ADD_ROW(&made, TYPE_DEF, 0, 0, add_name(&made, "last"), 0, 0, 1, 1);
    ADD_ROW(&made, TYPE_DEF, 0, 0, 0xFFFF, 0, 0, 1, 1);
    made.strings.size--; /* its zero */
    struct sn_assembly assembly = open_made(&made);
    assert_true(is_named(&assembly, 0x02000001, ""));
    assert_true(is_named(&assembly, 0x02000002, name + 1));
    assert_true(is_named(&assembly, 0x02000003, ""));
    assert_true(is_named(&assembly, 0x02000004, ""));
    assert_int_equal(sn_assembly_find_type(&assembly, "last"), 0);
}

/* Indexes that need four bytes, of a table and of a choice between tables. */
static void wide_indexes_are_read(void **state)
{
    (void)state;
    SN_AUTO(made_done) struct made made = begin_made("#~");
    uint16_t name = add_name(&made, "T");
    for (uint32_t i = 0; i < 0x4001; i++) /* two bits of sixteen choose */
        ADD_ROW(&made, TYPE_REF, 4, 0, name, 0);
    ADD_ROW(&made, TYPE_DEF, 0, 0, name, 0, 1 << 2 | 1, 0, 1, 1);
    struct sn_assembly assembly = open_made(&made);
    struct sn_assembly_type type = {0};
    assert_true(sn_assembly_type(&assembly, 0x02000001, &type));
    assert_int_equal(type.extends, 0x01000001);
    assert_string_equal(type.name, "T");
    assert_true(is_named(&assembly, 0x01004001, "T"));
    assert_true(is_named(&assembly, 0x01004002, ""));
}

/* --- damage --- */

static void ask_everything(const struct sn_assembly *assembly)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 16);
    struct sn_assembly_type type;
    struct sn_assembly_field field;
    uint32_t first = 0;
    uint32_t count = 0;
    for (uint32_t row = 0; row <= 32; row++) {
        sn_buf_clear(&text);
        (void)sn_assembly_type_name(assembly, 0x01000000 | row, &text);
        (void)sn_assembly_type_name(assembly, 0x02000000 | row, &text);
        (void)sn_assembly_type(assembly, 0x02000000 | row, &type);
        (void)sn_assembly_fields(assembly, 0x02000000 | row, &first, &count);
        (void)sn_assembly_methods(assembly, 0x02000000 | row, &first, &count);
        (void)sn_assembly_method(assembly, 0x06000000 | row, &text, &first);
        (void)sn_assembly_method_signature(assembly, 0x06000000 | row, &text);
        (void)sn_assembly_field(assembly, 0x04000000 | row, &field);
    }
    (void)sn_assembly_find_type(assembly, "Small.Program+<>c"); /* no crash is the point */
}

/* Its streams lie one behind the other to its end, so none of the cuts leaves it whole. */
static void every_cut_of_an_assembly_is_told(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    struct bytes metadata = metadata_in(&file);
    for (size_t cut = 0; cut < metadata.size; cut++) {
        SN_AUTO(sn_free) uint8_t *copy = malloc(cut ? cut : 1);
        struct sn_assembly assembly = {0};
        struct sonde_error err = {0};
        memcpy(copy, metadata.bytes, cut);
        int rc = sn_assembly_open(copy, cut, &assembly, &err);
        assert_true(rc == SONDE_E_TRUNCATED || rc == SONDE_E_FORMAT);
        assert_true(err.text[0]);
    }
}

static void every_byte_of_an_assembly_may_be_wrong(void **state)
{
    (void)state;
    static const uint8_t flips[] = {0xFF, 0x01, 0x80};
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    struct bytes metadata = metadata_in(&file);
    SN_AUTO(sn_free) uint8_t *copy = malloc(metadata.size);
    memcpy(copy, metadata.bytes, metadata.size);
    for (size_t i = 0; i < 3 * metadata.size; i++) {
        struct sn_assembly assembly = {0};
        struct sonde_error err = {0};
        copy[i / 3] ^= flips[i % 3];
        if (sn_assembly_open(copy, metadata.size, &assembly, &err) == SONDE_OK)
            ask_everything(&assembly);
        copy[i / 3] ^= flips[i % 3];
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_named_and_found),
        cmocka_unit_test(types_tell_what_they_are),
        cmocka_unit_test(methods_have_names_types_and_signatures),
        cmocka_unit_test(fields_have_names_and_types),
        cmocka_unit_test(signatures_are_spelled_as_the_runtime_does),
        cmocka_unit_test(every_cut_of_a_signature_is_none),
        cmocka_unit_test(signatures_have_ceilings),
        cmocka_unit_test(pointers_are_followed),
        cmocka_unit_test(lists_that_do_not_rise_are_refused),
        cmocka_unit_test(nesting_ends),
        cmocka_unit_test(named_signatures_end),
        cmocka_unit_test(names_without_an_end_are_none),
        cmocka_unit_test(wide_indexes_are_read),
        cmocka_unit_test(every_cut_of_an_assembly_is_told),
        cmocka_unit_test(every_byte_of_an_assembly_may_be_wrong),
    };
    return cmocka_run_group_tests_name("assembly", tests, NULL, NULL);
}
