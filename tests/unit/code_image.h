/* A runtime's code as it lies in memory, made here: a heap of compiled methods and a precompiled
 * image, at offsets that no runtime has, since the contract alone says where things are. */
#ifndef SN_TEST_CODE_IMAGE_H
#define SN_TEST_CODE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CODE_CONTRACT(version)                                                                    \
    "{\"version\":0,\"baseline\":\"empty\",\"contracts\":{\"ExecutionManager\":" version "},"     \
    "\"types\":{\"RangeSectionMap\":{\"TopLevelData\":16},"                                       \
    "\"RangeSectionFragment\":{\"Next\":40,\"RangeBegin\":8,\"RangeEndOpen\":24,"                 \
    "\"RangeSection\":32},"                                                                       \
    "\"RangeSection\":{\"RangeBegin\":8,\"RangeEndOpen\":0,\"HeapList\":24,\"R2RModule\":16},"    \
    "\"CodeHeapListNode\":{\"StartAddress\":8,\"EndAddress\":0,\"MapBase\":24,\"HeaderMap\":16}," \
    "\"RealCodeHeader\":{\"DebugInfo\":8,\"MethodDesc\":0,\"NumUnwindInfos\":16,"                 \
    "\"UnwindInfos\":20},"                                                                        \
    "\"RuntimeFunction\":{\"!\":16,\"BeginAddress\":4,\"EndAddress\":0,\"UnwindData\":12},"       \
    "\"Module\":{\"ReadyToRunInfo\":24},"                                                         \
    "\"ReadyToRunInfo\":{\"ReadyToRunHeader\":0,\"CompositeInfo\":8,\"RuntimeFunctions\":16,"     \
    "\"NumRuntimeFunctions\":24,\"HotColdMap\":32,\"NumHotColdMap\":40,"                          \
    "\"DelayLoadMethodCallThunks\":48,\"EntryPointToMethodDescMap\":56},"                         \
    "\"ImageDataDirectory\":{\"VirtualAddress\":4,\"Size\":0},"                                   \
    "\"HashMap\":{\"Buckets\":8},\"Bucket\":{\"!\":72,\"Keys\":8,\"Values\":40}},"                \
    "\"globals\":{\"ExecutionManagerCodeRangeMapAddress\":[[0],\"pointer\"],"                     \
    "\"StubCodeBlockLast\":[\"0xf\",\"uint8\"],\"HashMapSlotsPerBucket\":[\"0x4\",\"uint32\"],"   \
    "\"HashMapValueMask\":[\"0x7fffffffffffffff\",\"uint64\"]}}"

#define IMAGE_BASE UINT64_C(0x7f0000000000)
#define IMAGE_SIZE 0x80000u

/* Where things lie, from the base. */
enum {
    AT_MAP = 0x0, /* the levels below it: 0x1000, 0x2000, ... */
    AT_FRAGMENTS = 0x6000,
    AT_SECTIONS = 0x7000,
    AT_HEAP = 0x7800,
    AT_NIBBLES = 0x8000,
    AT_HEADERS = 0x9000,
    AT_MODULE = 0xb000,
    AT_INFO = 0xb100,
    AT_DIRECTORY = 0xb200,
    AT_BUCKETS = 0xb400,
    AT_METHODS = 0xc000, /* MethodDescs */
    AT_DEBUG = 0xd000,
    AT_CODE = 0x20000,     /* the heap */
    AT_CODE_END = 0x30000, /* of 64 KB */
    AT_STUBS = 0x30000,
    AT_STUBS_END = 0x31000,
    AT_IMAGE = 0x60000,
    AT_IMAGE_END = 0x70000,
    AT_FUNCTIONS = 0x61000,
    AT_HOT_COLD = 0x62000,
    AT_ENTRIES = 0x63000,
    AT_DEBUG_INFO = 0x64000,
    AT_HEADER = 0x60100,
};

struct code_image {
    uint8_t bytes[IMAGE_SIZE];
    uint64_t reads;
    uint32_t version; /* of the nibble map */
    uint32_t section_count;
};

static inline size_t code_image_read(void *user, uint64_t address, void *to, size_t size)
{
    struct code_image *image = user;
    image->reads++;
    if (address < IMAGE_BASE || address - IMAGE_BASE >= IMAGE_SIZE)
        return 0;
    size_t left = IMAGE_SIZE - (size_t)(address - IMAGE_BASE);
    size_t got = size < left ? size : left;
    memcpy(to, image->bytes + (address - IMAGE_BASE), got);
    return got;
}

static inline void put64(struct code_image *image, size_t at, uint64_t value)
{
    memcpy(image->bytes + at, &value, sizeof(value));
}

static inline void put32(struct code_image *image, size_t at, uint32_t value)
{
    memcpy(image->bytes + at, &value, sizeof(value));
}

/* A range [begin, end) in the map: its levels, fragment and section. All in one level per step. */
static inline void add_section(struct code_image *image, uint64_t begin, uint64_t end,
                               uint64_t heap, uint64_t module)
{
    uint32_t index = image->section_count++;
    size_t section = AT_SECTIONS + index * 64u;
    put64(image, section + 8, IMAGE_BASE + begin);
    put64(image, section + 0, IMAGE_BASE + end);
    put64(image, section + 24, heap ? IMAGE_BASE + heap : 0);
    put64(image, section + 16, module ? IMAGE_BASE + module : 0);
    size_t level = AT_MAP + 16;
    for (unsigned i = 0; i < 4; i++) {
        size_t next = 0x1000u * (i + 1);
        put64(image, level + (((IMAGE_BASE + begin) >> (49 - 8 * i)) & 255) * 8,
              (IMAGE_BASE + next) | (i == 2)); /* one is tagged */
        level = next;
    }
    for (uint64_t at = begin; at < end; at += 0x20000u - at % 0x20000u) {
        size_t fragment = AT_FRAGMENTS + index * 64u;
        size_t slot = level + (((IMAGE_BASE + at) >> 17) & 255) * 8;
        uint64_t first;
        memcpy(&first, image->bytes + slot, 8);
        put64(image, fragment + 40, first); /* before those that are there */
        put64(image, fragment + 8, IMAGE_BASE + begin);
        put64(image, fragment + 24, IMAGE_BASE + end);
        put64(image, fragment + 32, IMAGE_BASE + section);
        put64(image, slot, (IMAGE_BASE + fragment) | 1);
    }
}

/* Marks a method's start and, of the newer kind, every word that it covers whole. */
static inline void mark_start(struct code_image *image, uint32_t start, uint32_t size)
{
    uint32_t word;
    size_t at = AT_NIBBLES + start / 256 * 4;
    memcpy(&word, image->bytes + at, 4);
    word |= (start % 32 / 4 + 1) << (28 - start % 256 / 32 * 4);
    put32(image, at, word);
    for (uint32_t unit = start / 256 + 1; image->version == 2 && (unit + 1) * 256 <= start + size;
         unit++)
        put32(image, AT_NIBBLES + unit * 4, (start & ~15u) + 9 + (start & 15u) / 4);
}

static inline void put_function(struct code_image *image, size_t at, uint32_t begin, uint32_t end,
                                uint32_t unwind)
{
    put32(image, at + 4, begin);
    put32(image, at + 0, end);
    put32(image, at + 12, unwind);
}

/* A compiled method at `start` of the heap, with pieces that end at `ends`. */
static inline void add_method(struct code_image *image, uint32_t index, uint32_t start,
                              const uint32_t *ends, uint32_t count)
{
    size_t header = AT_HEADERS + index * 256u;
    put64(image, AT_CODE + start - 8, IMAGE_BASE + header);
    put64(image, header + 0, IMAGE_BASE + AT_METHODS + index * 16u);
    put64(image, header + 8, IMAGE_BASE + AT_DEBUG + index * 64u);
    put32(image, header + 16, count);
    for (uint32_t i = 0; i < count; i++)
        put_function(image, header + 20 + i * 16u, i ? ends[i - 1] : start, ends[i],
                     0x8000 + index * 16u + i);
    mark_start(image, start, ends[count - 1] - start);
}

/* A method that the runtime has prepared: its entry point leads to its MethodDesc. */
static inline void add_entry(struct code_image *image, uint32_t bucket, uint32_t slot,
                             uint64_t entry, uint64_t method)
{
    size_t at = AT_BUCKETS + 72u * (bucket + 1);
    put64(image, at + 8 + slot * 8u, entry);
    put64(image, at + 40 + slot * 8u, method >> 1);
}

/* A number of the native format, in four bytes. */
static inline void put_number(struct code_image *image, size_t at, uint32_t value)
{
    put32(image, at, value << 4 | 7);
}

#define NO_VALUE UINT32_MAX

/* The entries [first, first + width) of a block as a tree; where it ends. */
static inline size_t put_tree(struct code_image *image, size_t at, const uint32_t *values,
                              uint32_t first, uint32_t width)
{
    uint32_t counts[2] = {0, 0};
    uint32_t last = first;
    for (uint32_t i = 0; i < width; i++) {
        if (values[first + i] != NO_VALUE) {
            counts[width > 1 && i >= width / 2]++;
            last = first + i;
        }
    }
    if (width == 1) {
        put_number(image, at, values[first]);
        return at + 4;
    }
    if (counts[0] + counts[1] == 1) {
        put_number(image, at, last << 2);
        put_number(image, at + 4, values[last]);
        return at + 8;
    }
    size_t end = at + 4;
    if (counts[0])
        end = put_tree(image, end, values, first, width / 2);
    put_number(image, at,
               (uint32_t)(end - at) << 2 | (counts[0] ? 1u : 0u) | (counts[1] ? 2u : 0u));
    return counts[1] ? put_tree(image, end, values, first + width / 2, width / 2) : end;
}

/* A sparse array of one block of 16. */
static inline void put_array(struct code_image *image, size_t at, const uint32_t values[16])
{
    put_number(image, at, 16 << 2 | 2); /* with offsets of four bytes */
    put32(image, at + 4, 4);
    (void)put_tree(image, at + 8, values, 0, 16);
}

/* --- the whole of it --- */

/* Compiled, from the heap's start: A [0x40, 0x70), B [0x1004, 0x1900) with two funclets, a stub at
 * 0x3000, C [0x4000, 0x4010). */
static const uint32_t code_image_a[] = {0x70};
static const uint32_t code_image_b[] = {0x1800, 0x1880, 0x1900};
static const uint32_t code_image_c[] = {0x4010};

static inline void add_heap(struct code_image *image)
{
    add_section(image, AT_CODE, AT_CODE_END, AT_HEAP, 0);
    put64(image, AT_HEAP + 8, IMAGE_BASE + AT_CODE + 0x10);
    put64(image, AT_HEAP + 0, IMAGE_BASE + AT_CODE + 0x8000);
    put64(image, AT_HEAP + 24, IMAGE_BASE + AT_CODE);
    put64(image, AT_HEAP + 16, IMAGE_BASE + AT_NIBBLES);
    add_method(image, 0, 0x40, code_image_a, 1);
    add_method(image, 1, 0x1004, code_image_b, 3);
    put64(image, AT_CODE + 0x3000 - 8, 5);
    mark_start(image, 0x3000, 0x20);
    add_method(image, 2, 0x4000, code_image_c, 1);
}

static inline void put_section(struct code_image *image, uint32_t index, uint32_t type, size_t at)
{
    put32(image, AT_HEADER + 16 + index * 12u, type);
    put32(image, AT_HEADER + 20 + index * 12u, (uint32_t)(at - AT_IMAGE));
    put32(image, AT_HEADER + 24 + index * 12u, 0x400);
}

static inline void add_image_tables(struct code_image *image)
{
    /* rows of MethodDef: the first begins with function 0, the third with 3, with fixups */
    static const uint32_t entries[16] = {
        0 << 1,   NO_VALUE, 3 << 2 | 1, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE,
        NO_VALUE, NO_VALUE, NO_VALUE,   NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE};
    /* by function: of 0, 3 and 5; each lies behind its number */
    static const uint32_t infos[16] = {0,        NO_VALUE, NO_VALUE, 0,        NO_VALUE, 0,
                                       NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE,
                                       NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE};
    put64(image, AT_INFO + 0, IMAGE_BASE + AT_HEADER);
    put32(image, AT_HEADER, 0x00525452);
    put32(image, AT_HEADER + 4, 16); /* format */
    put32(image, AT_HEADER + 12, 2);
    put_section(image, 0, 103, AT_ENTRIES);
    put_section(image, 1, 105, AT_DEBUG_INFO);
    put_array(image, AT_ENTRIES, entries);
    put_array(image, AT_DEBUG_INFO, infos);
}

/* Precompiled, from the image's start: methods 0 [0x2000, 0x2100) with funclets 1, 2 up to 0x2180;
 * 3 [0x2200, 0x2280), which the runtime has not prepared, with funclet 4; 5 [0x2300, 0x2400), whose
 * entry went on to a second bucket; 6, the cold part of 0, [0x8000, 0x8010). Thunks [0x7000,
 * 0x7100). */
static inline void add_image(struct code_image *image)
{
    static const uint32_t functions[][2] = {{0x2000, 0x2100}, {0x2100, 0x2140}, {0x2140, 0x2180},
                                            {0x2200, 0x2280}, {0x2280, 0x2290}, {0x2300, 0x2400},
                                            {0x8000, 0x8010}};
    add_section(image, AT_IMAGE, AT_IMAGE_END, 0, AT_MODULE);
    put64(image, AT_MODULE + 24, IMAGE_BASE + AT_INFO);
    put64(image, AT_INFO + 8, IMAGE_BASE + AT_INFO);
    put64(image, AT_INFO + 16, IMAGE_BASE + AT_FUNCTIONS);
    put32(image, AT_INFO + 24, 7);
    for (uint32_t i = 0; i < 7; i++)
        put_function(image, AT_FUNCTIONS + i * 16u, functions[i][0], functions[i][1],
                     0x9000 + i * 16u);
    put64(image, AT_INFO + 32, IMAGE_BASE + AT_HOT_COLD);
    put32(image, AT_INFO + 40, 2);
    put32(image, AT_HOT_COLD, 6);
    put32(image, AT_HOT_COLD + 4, 0);
    put64(image, AT_INFO + 48, IMAGE_BASE + AT_DIRECTORY);
    put32(image, AT_DIRECTORY + 4, 0x7000);
    put32(image, AT_DIRECTORY + 0, 0x100);
    put64(image, AT_INFO + 56 + 8, IMAGE_BASE + AT_BUCKETS);
    uint32_t count = 7;
    put32(image, AT_BUCKETS, count);
    uint64_t entry = IMAGE_BASE + AT_IMAGE + 0x2000;
    add_entry(image, (uint32_t)(entry >> 2) % count, 1, entry, IMAGE_BASE + AT_METHODS + 0x100);
    entry = IMAGE_BASE + AT_IMAGE + 0x2300;
    uint32_t first = (uint32_t)(entry >> 2) % count;
    uint32_t next =
        ((uint32_t)(entry >> 2) + 1 + ((uint32_t)(entry >> 5) + 1) % (count - 1)) % count;
    add_entry(image, next, 3, entry, IMAGE_BASE + AT_METHODS + 0x110);
    image->bytes[AT_BUCKETS + 72u * (first + 1) + 40 + 7] |= 0x80; /* it went on */
    add_image_tables(image);
}

static inline void code_image_make(struct code_image *image, uint32_t version)
{
    memset(image, 0, sizeof(*image));
    image->version = version;
    add_heap(image);
    add_section(image, AT_STUBS, AT_STUBS_END, 0, 0);
    add_image(image);
}

#endif
