/* A process that is made up: a few of a runtime's types at addresses of our choice, and a contract
 * whose offsets are no runtime's. */
#ifndef SN_TEST_MADE_TYPES_H
#define SN_TEST_MADE_TYPES_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "source/memory/contract.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/type_system.h"

#define MADE_BASE 0x10000u
#define MADE_SIZE 0x2800u

enum made_place { /* addresses */
                  MADE_GLOBALS = MADE_BASE + 0x10,
                  MADE_MODULE = MADE_BASE + 0x40,
                  MADE_ASSEMBLY = MADE_BASE + 0x80,
                  MADE_OUTER = MADE_BASE + 0x100, /* Made.Outer */
                  MADE_INNER = MADE_BASE + 0x180, /* Made.Outer+Inner, of it */
                  MADE_BOX = MADE_BASE + 0x200,   /* Made.Box`1[Made.Outer] */
                  MADE_ARRAY = MADE_BASE + 0x280, /* Made.Box`1[Made.Outer][] */
                  MADE_POINTER = MADE_BASE + 0x300,
                  MADE_DICTIONARIES = MADE_BASE + 0x348,
                  MADE_ARGUMENTS = MADE_BASE + 0x360,
                  MADE_CLASS_OUTER = MADE_BASE + 0x400,
                  MADE_CLASS_INNER = MADE_BASE + 0x440,
                  MADE_CLASS_BOX = MADE_BASE + 0x480,
                  MADE_CLASS_ARRAY = MADE_BASE + 0x4C0,
                  MADE_FIELDS_OUTER = MADE_BASE + 0x500,
                  MADE_FIELDS_INNER = MADE_BASE + 0x540,
                  MADE_FIELDS_BOX = MADE_BASE + 0x560,
                  MADE_CHUNK = MADE_BASE + 0x580,
                  MADE_METHOD = MADE_BASE + 0x5A8, /* Made.Outer.Run */
                  MADE_NAME = MADE_BASE + 0x5E0,
                  MADE_DYNAMIC = MADE_BASE + 0x610, /* dynamicClass.Emitted */
                  MADE_OBJECT = MADE_BASE + 0x680,  /* of Made.Outer+Inner */
                  MADE_STRING = MADE_BASE + 0x6C0,
                  MADE_STRING_TABLE = MADE_BASE + 0x700,
                  MADE_CLASS_STRING = MADE_BASE + 0x780,
                  MADE_FUNCTION = MADE_BASE + 0x7C0,
                  MADE_METADATA = MADE_BASE + 0x800,
                  MADE_PATH = MADE_BASE + 0xF00,
                  MADE_IMAGE = MADE_BASE + 0x1000,
};

/* The runtime's own form, with offsets that differ from any. */
static const char made_contract[] =
    "{\"version\":0,\"baseline\":\"empty\",\"contracts\":{\"RuntimeTypeSystem\":1,\"Loader\":1},"
    "\"types\":{"
    "\"MethodTable\":{\"MTFlags\":8,\"MTFlags2\":0,\"BaseSize\":4,\"EEClassOrCanonMT\":16,"
    "\"Module\":24,\"ParentMethodTable\":32,\"PerInstInfo\":40,\"NumVirtuals\":48},"
    "\"EEClass\":{\"MethodTable\":8,\"FieldDescList\":0,\"NumInstanceFields\":16,"
    "\"NumStaticFields\":18},"
    "\"ArrayClass\":{\"Rank\":40},\"GenericsDictInfo\":{\"NumDicts\":4,\"NumTypeArgs\":6},"
    "\"TypeDesc\":{\"TypeAndFlags\":0},\"ParamTypeDesc\":{\"TypeArg\":8},"
    "\"TypeVarTypeDesc\":{\"Module\":8,\"Token\":16},"
    "\"FnPtrTypeDesc\":{\"NumArgs\":8,\"CallConv\":12,\"RetAndArgTypes\":16},"
    "\"MethodDesc\":{\"ChunkIndex\":0,\"Slot\":2,\"Flags\":4,\"Flags3AndTokenRemainder\":6},"
    "\"MethodDescChunk\":{\"!\":32,\"MethodTable\":0,\"Size\":8,\"FlagsAndTokenRange\":10},"
    "\"InstantiatedMethodDesc\":{\"PerInstInfo\":8,\"Flags2\":16,\"NumGenericArgs\":18},"
    "\"StoredSigMethodDesc\":{\"Sig\":8,\"cSig\":16,\"ExtendedFlags\":20},"
    "\"DynamicMethodDesc\":{\"MethodName\":24},"
    "\"Module\":{\"Assembly\":0,\"Flags\":8,\"DynamicMetadata\":16,\"Base\":24,\"Path\":32,"
    "\"TypeDefToMethodTableMap\":168,\"MethodDefToDescMap\":176,\"FieldDefToDescMap\":184},"
    "\"ModuleLookupMap\":{\"Count\":0},\"Assembly\":{\"Module\":8},"
    "\"DynamicMetadata\":{\"Size\":0,\"Data\":4},\"Object\":{\"m_pMethTab\":0},"
    "\"String\":{\"m_StringLength\":8,\"m_FirstChar\":12}},"
    "\"globals\":{\"ObjectMethodTable\":[[1],\"pointer\"],"
    "\"ObjectToMethodTableUnmask\":[\"0x7\",\"uint8\"],"
    "\"MethodDescTokenRemainderBitCount\":[\"0xc\",\"uint8\"],"
    "\"MethodDescAlignment\":[\"0x8\",\"uint64\"]}}";

struct made_process {
    uint8_t bytes[MADE_SIZE];
    size_t size; /* of them, what there is */
    unsigned reads;
};

static inline size_t made_read(void *user, uint64_t address, void *to, size_t size)
{
    struct made_process *process = user;
    process->reads++;
    if (address < MADE_BASE || address - MADE_BASE >= process->size)
        return 0;
    size_t offset = (size_t)(address - MADE_BASE);
    size_t part = size < process->size - offset ? size : process->size - offset;
    memcpy(to, process->bytes + offset, part);
    return part;
}

static inline void made_u16(struct made_process *process, uint64_t at, uint16_t value)
{
    memcpy(process->bytes + (at - MADE_BASE), &value, sizeof(value));
}

static inline void made_u32(struct made_process *process, uint64_t at, uint32_t value)
{
    memcpy(process->bytes + (at - MADE_BASE), &value, sizeof(value));
}

static inline void made_u64(struct made_process *process, uint64_t at, uint64_t value)
{
    memcpy(process->bytes + (at - MADE_BASE), &value, sizeof(value));
}

/* A MethodTable with a class of its own. */
static inline void made_table(struct made_process *process, uint64_t at, uint64_t clazz,
                              uint32_t row, uint32_t flags, uint32_t base_size)
{
    made_u32(process, at, row << 8);
    made_u32(process, at + 4, base_size);
    made_u32(process, at + 8, flags);
    made_u64(process, at + 16, clazz);
    made_u64(process, at + 24, MADE_MODULE);
    made_u64(process, clazz + 8, at);
}

static inline void made_field(struct made_process *process, uint64_t at, uint64_t table,
                              uint32_t bits, uint32_t offset, uint32_t element)
{
    made_u64(process, at, table);
    made_u32(process, at + 8, bits);
    made_u32(process, at + 12, element << 27 | offset);
}

/* Places in the heap of strings. */
static const char made_strings[] =
    "\0Made\0Outer\0Inner\0Box`1\0first\0text\0shared\0deep\0value\0Run\0T";
enum made_string {
    TEXT_MADE = 1,
    TEXT_OUTER = 6,
    TEXT_INNER = 12,
    TEXT_BOX = 18,
    TEXT_FIRST = 24,
    TEXT_TEXT = 30,
    TEXT_SHARED = 35,
    TEXT_DEEP = 42,
    TEXT_VALUE = 47,
    TEXT_RUN = 53,
    TEXT_T = 57,
};

/* int32, string, object, the first variable, and a method without arguments; each with its length
 * before it. */
static const uint8_t made_blobs[] = {0, 2, 6,    0x08, 2, 6,    0x0E, 2, 6, 0x1C,
                                     3, 6, 0x13, 0,    3, 0x20, 0,    1, 0, 0};
enum made_blob {
    BLOB_INT = 1,
    BLOB_STRING = 4,
    BLOB_OBJECT = 7,
    BLOB_VARIABLE = 10,
    BLOB_METHOD = 14,
};

static inline void made_cells(struct sn_buf *buf, const uint16_t *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sn_buf_u16(buf, cells[i]);
}

/* Module, TypeDef, Field, Method, NestedClass, GenericParam. */
static inline void made_tables(struct sn_buf *buf)
{
    static const uint32_t counts[] = {1, 4, 5, 2, 1, 1};
    static const uint16_t cells[] = {
        0,         TEXT_MADE,   1,
        0,         0, /* the module */
        0,         0,           TEXT_MADE,
        0,         0,           1,
        1, /* <Module> */
        1,         0,           TEXT_OUTER,
        TEXT_MADE, 0,           1,
        1, /* Made.Outer */
        2,         0,           TEXT_INNER,
        0,         2 << 2,      4,
        2, /* Inner, of Outer */
        1,         0,           TEXT_BOX,
        TEXT_MADE, 0,           5,
        2, /* Made.Box`1 */
        6,         TEXT_FIRST,  BLOB_INT,
        6,         TEXT_TEXT,   BLOB_STRING, /* of Outer */
        0x16,      TEXT_SHARED, BLOB_STRING, /* of Outer, static */
        6,         TEXT_DEEP,   BLOB_OBJECT,
        6,         TEXT_VALUE,  BLOB_VARIABLE, /* of Inner, of Box`1 */
        0,         0,           0,
        6,         TEXT_RUN,    BLOB_METHOD,
        1, /* of Outer */
        0,         0,           0,
        6,         TEXT_RUN,    BLOB_METHOD,
        1,            /* of Box`1 */
        3,         2, /* Inner is nested in Outer */
        0,         0,           4 << 1,
        TEXT_T, /* of Box`1 */
    };
    sn_buf_u32(buf, 0);
    sn_buf_u32(buf, 0x01000002); /* version 2.0, small heaps */
    sn_buf_u64(buf, 1u | 1u << 2 | 1u << 4 | 1u << 6 | 1ull << 0x29 | 1ull << 0x2A);
    sn_buf_u64(buf, 0);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        sn_buf_u32(buf, counts[i]);
    made_cells(buf, cells, sizeof(cells) / sizeof(cells[0]));
    while (buf->size & 3)
        sn_buf_u8(buf, 0);
}

static inline void made_stream(struct sn_buf *buf, const char *name, size_t *offset, size_t size)
{
    sn_buf_u32(buf, (uint32_t)*offset);
    sn_buf_u32(buf, (uint32_t)size);
    sn_buf_append(buf, name, strlen(name) + 1);
    while (buf->size & 3)
        sn_buf_u8(buf, 0);
    *offset += size;
}

static inline void made_metadata(struct sn_buf *buf)
{
    struct sn_buf tables = sn_buf_with_limit(MADE_SIZE);
    static const char strings[64] = {0};
    size_t offset = 20 + 12 + 20 + 16 + 16;
    made_tables(&tables);
    sn_buf_text(buf, "BSJB");
    sn_buf_u32(buf, 0x00010001);
    sn_buf_u32(buf, 0);
    sn_buf_u32(buf, 4);
    sn_buf_text(buf, "v4");
    sn_buf_u16(buf, 0);
    sn_buf_u16(buf, 0);
    sn_buf_u16(buf, 4);
    offset += 4;
    made_stream(buf, "#~", &offset, tables.size);
    made_stream(buf, "#Strings", &offset, sizeof(strings));
    made_stream(buf, "#Blob", &offset, sizeof(made_blobs));
    made_stream(buf, "#GUID", &offset, 16);
    sn_buf_append(buf, tables.bytes, tables.size);
    sn_buf_append(buf, made_strings, sizeof(made_strings));
    sn_buf_append(buf, strings, sizeof(strings) - sizeof(made_strings));
    sn_buf_append(buf, made_blobs, sizeof(made_blobs));
    sn_buf_fill(buf, 7, 16);
    sn_buf_done(&tables);
}

static inline void made_process_types(struct made_process *process)
{
    made_table(process, MADE_OUTER, MADE_CLASS_OUTER, 2, 0, 32);
    made_table(process, MADE_INNER, MADE_CLASS_INNER, 3, 0, 40);
    made_table(process, MADE_BOX, MADE_CLASS_BOX, 4, 0x10, 24);
    made_table(process, MADE_ARRAY, MADE_CLASS_ARRAY, 0, 0x800A0008u, 24);
    made_table(process, MADE_STRING_TABLE, MADE_CLASS_STRING, 2, 0x80000002u, 22);
    made_u64(process, MADE_INNER + 32, MADE_OUTER);
    made_u64(process, MADE_BOX + 40, MADE_DICTIONARIES);
    made_u16(process, MADE_DICTIONARIES - 4, 1);
    made_u16(process, MADE_DICTIONARIES - 2, 1);
    made_u64(process, MADE_DICTIONARIES, MADE_ARGUMENTS);
    made_u64(process, MADE_ARGUMENTS, MADE_OUTER);
    made_u64(process, MADE_ARRAY + 40, MADE_BOX);
    made_u32(process, MADE_POINTER, 0x0F);
    made_u64(process, MADE_POINTER + 8, MADE_ARRAY);
}

static inline void made_process_fields(struct made_process *process)
{
    made_u64(process, MADE_CLASS_OUTER, MADE_FIELDS_OUTER);
    made_u16(process, MADE_CLASS_OUTER + 16, 2);
    made_u16(process, MADE_CLASS_OUTER + 18, 1);
    made_u64(process, MADE_CLASS_INNER, MADE_FIELDS_INNER);
    made_u16(process, MADE_CLASS_INNER + 16, 3);
    made_u64(process, MADE_CLASS_BOX, MADE_FIELDS_BOX);
    made_u16(process, MADE_CLASS_BOX + 16, 1);
    made_field(process, MADE_FIELDS_OUTER, MADE_OUTER, 1, 8, 0x08);
    made_field(process, MADE_FIELDS_OUTER + 16, MADE_OUTER, 2, 0, 0x12);
    made_field(process, MADE_FIELDS_OUTER + 32, MADE_OUTER, 0x01000003, 0, 0x12);
    made_field(process, MADE_FIELDS_INNER, MADE_INNER, 4, 16, 0x12);
    made_field(process, MADE_FIELDS_BOX, MADE_BOX, 5, 0, 0x12);
}

static inline void made_process_methods(struct made_process *process)
{
    made_u64(process, MADE_CHUNK, MADE_OUTER);
    process->bytes[MADE_CHUNK + 8 - MADE_BASE] = 1;
    process->bytes[MADE_METHOD - MADE_BASE] = 1; /* the second in its chunk */
    made_u16(process, MADE_METHOD + 6, 1);
    made_u64(process, MADE_DYNAMIC - 32, MADE_OUTER);
    made_u16(process, MADE_DYNAMIC + 4, 7);
    made_u64(process, MADE_DYNAMIC + 24, MADE_NAME);
    memcpy(process->bytes + (MADE_NAME - MADE_BASE), "Emitted", 8);
}

static inline void made_process_fill(struct made_process *process)
{
    struct sn_buf metadata = sn_buf_with_limit(MADE_SIZE);
    memset(process, 0, sizeof(*process));
    process->size = MADE_SIZE;
    made_metadata(&metadata);
    made_u32(process, MADE_METADATA, (uint32_t)metadata.size);
    memcpy(process->bytes + (MADE_METADATA + 4 - MADE_BASE), metadata.bytes, metadata.size);
    sn_buf_done(&metadata);
    made_u64(process, MADE_GLOBALS, MADE_OUTER);
    made_u64(process, MADE_MODULE, MADE_ASSEMBLY);
    made_u32(process, MADE_MODULE + 8, 0x40);
    made_u64(process, MADE_MODULE + 16, MADE_METADATA);
    made_u64(process, MADE_ASSEMBLY + 8, MADE_MODULE);
    made_process_types(process);
    made_process_fields(process);
    made_process_methods(process);
    made_u64(process, MADE_OBJECT, MADE_INNER | 1); /* marked, as while garbage is collected */
    made_u64(process, MADE_STRING, MADE_STRING_TABLE);
    made_u32(process, MADE_STRING + 8, 2);
    made_u32(process, MADE_STRING + 12, 'b' << 16 | 'a');
}

/* Makes the module one with an image, and the metadata there: as in a file, or with its section
 * where it is to be in memory. */
static inline void made_process_image(struct made_process *process, bool is_mapped)
{
    enum { PE = 0x40, OPTIONAL = PE + 24, SECTIONS = OPTIONAL + 240, IN_FILE = 0x200 };
    const uint32_t address = 0x1000;
    uint64_t section = MADE_IMAGE + (is_mapped ? address : IN_FILE);
    uint32_t size = 0;
    memcpy(&size, process->bytes + (MADE_METADATA - MADE_BASE), sizeof(size));
    memcpy(process->bytes + (MADE_IMAGE - MADE_BASE), "MZ", 2);
    made_u32(process, MADE_IMAGE + 60, PE);
    made_u32(process, MADE_IMAGE + PE, 0x4550);
    made_u16(process, MADE_IMAGE + PE + 6, 1);
    made_u16(process, MADE_IMAGE + PE + 20, 240);
    made_u16(process, MADE_IMAGE + OPTIONAL, 0x20B);
    made_u32(process, MADE_IMAGE + OPTIONAL + 108, 16);
    made_u32(process, MADE_IMAGE + OPTIONAL + 112 + 14 * 8, address);
    made_u32(process, MADE_IMAGE + OPTIONAL + 112 + 14 * 8 + 4, 72);
    made_u32(process, MADE_IMAGE + SECTIONS + 12, address);
    made_u32(process, MADE_IMAGE + SECTIONS + 16, 0x800);
    made_u32(process, MADE_IMAGE + SECTIONS + 20, IN_FILE);
    made_u32(process, section, 72);
    made_u32(process, section + 8, address + 72);
    made_u32(process, section + 12, size);
    memcpy(process->bytes + (section + 72 - MADE_BASE),
           process->bytes + (MADE_METADATA + 4 - MADE_BASE), size);
    made_u32(process, MADE_MODULE + 8, 0);
    made_u64(process, MADE_MODULE + 16, 0);
    made_u64(process, MADE_MODULE + 24, MADE_IMAGE);
    made_u64(process, MADE_MODULE + 32, MADE_PATH);
    made_u32(process, MADE_PATH, 'a' << 16 | '/');
    made_u32(process, MADE_PATH + 4, 'b' << 16 | '/');
}

/* The runtime in it, with the memory; the caller frees. NULL without memory. */
static inline struct sn_runtime_memory *made_process_open(struct made_process *process)
{
    const struct sn_memory_source source = {.read = made_read, .user = process};
    const struct sn_memory_map map = {MADE_BASE, MADE_BASE + MADE_SIZE, 0, 0, 0, "", SN_MAP_READ};
    const uint64_t pointers[] = {0, MADE_GLOBALS};
    struct sonde_error err = {0};
    struct sn_runtime_memory *runtime = calloc(1, sizeof(*runtime));
    if (runtime && sn_memory_of_source(&source, &map, 1, &runtime->memory, &err) == SONDE_OK &&
        sn_contract_new(&runtime->contract, &err) == SONDE_OK &&
        sn_contract_add(runtime->contract, made_contract, sizeof(made_contract) - 1, pointers, 2,
                        &err) == SONDE_OK)
        return runtime;
    sn_runtime_memory_free(runtime);
    return NULL;
}

#endif
