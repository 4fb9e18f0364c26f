#include "source/memory/ready_to_run.h"

#include <stdlib.h>

#include "base/array.h"
#include "source/memory/code_layout.h"
#include "source/memory/code_map.h"
#include "source/memory/memory.h"
#include "source/memory/pointer_map.h"
#include "source/memory/range_sections.h"

enum {
    SECTION_METHOD_ENTRIES = 103, /* of the image's format */
    SECTION_CLAUSES = 104,
    SECTION_DEBUG_INFO = 105,
    SECTIONS_AT = 16, /* behind the start of the header */
    IS_COMPONENT = 0x20,
    UNWIND_CHAINED = 4, /* flag of unwind data: the piece belongs to the one before */
    TOKEN_METHOD_DEF = 0x06000000,
};

#define SIGNATURE     UINT32_C(0x00525452) /* "RTR" */
#define SECTIONS_MAX  64u
#define FUNCTIONS_MAX (1u << 24)
#define PIECES_MAX    4096u /* of one method */
#define HOT_COLD_MAX  (1u << 24)

struct header {
    uint32_t signature;
    uint16_t major;
    uint16_t minor;
    uint32_t flags;
    uint32_t section_count;
};

struct section {
    uint32_t type;
    uint32_t start;
    uint32_t size;
};

static bool is_inside(const struct sn_ready_to_run *image, const struct section *section)
{
    uint64_t size = image->end - image->image;
    return section->start < size && section->size <= size - section->start;
}

static void take_section(struct sn_code_reader *reader, struct sn_ready_to_run *image,
                         const struct section *section)
{
    struct sn_native_array *array = section->type == SECTION_METHOD_ENTRIES ? &image->method_entries
                                    : section->type == SECTION_DEBUG_INFO   ? &image->debug_info
                                                                            : NULL;
    if (section->type == SECTION_CLAUSES && is_inside(image, section)) {
        image->clauses = image->image + section->start;
        image->clause_entries = section->size / 8;
    }
    if (array && is_inside(image, section) &&
        !sn_native_array_open(reader, image->image, section->start, section->size, array))
        array->count = 0;
}

/* What it brings for more than the way from a function to its method; without it that still works.
 */
static void read_header(struct sn_code_reader *reader, struct sn_ready_to_run *image, uint64_t info)
{
    struct header header;
    uint64_t at;
    if (reader->layout->image_header == UINT32_MAX ||
        !sn_code_read_u64(reader, info + reader->layout->image_header, &at) ||
        !sn_code_read(reader, at, &header, sizeof(header)) || header.signature != SIGNATURE ||
        header.flags & IS_COMPONENT || header.section_count > SECTIONS_MAX)
        return;
    image->format = header.major;
    for (uint32_t i = 0; i < header.section_count; i++) {
        struct section section;
        if (!sn_code_read(reader, at + SECTIONS_AT + i * sizeof(section), &section,
                          sizeof(section)))
            return;
        take_section(reader, image, &section);
    }
}

static void read_thunks(struct sn_code_reader *reader, struct sn_ready_to_run *image, uint64_t info)
{
    const struct sn_code_layout *layout = reader->layout;
    uint64_t directory;
    uint32_t start;
    if (sn_code_read_u64(reader, info + layout->image_thunks, &directory) && directory &&
        sn_code_read_u32(reader, directory + layout->directory_address, &start) &&
        sn_code_read_u32(reader, directory + layout->directory_size, &image->thunks_size))
        image->thunks = image->image + start;
}

static bool read_functions(struct sn_code_reader *reader, struct sn_ready_to_run *image,
                           uint64_t info)
{
    const struct sn_code_layout *layout = reader->layout;
    return sn_code_read_u64(reader, info + layout->image_functions, &image->functions) &&
           sn_code_read_u32(reader, info + layout->image_function_count, &image->function_count) &&
           sn_code_read_u64(reader, info + layout->image_hot_cold, &image->hot_cold) &&
           sn_code_read_u32(reader, info + layout->image_hot_cold_count, &image->hot_cold_count) &&
           image->functions >= image->image && image->functions < image->end &&
           image->function_count <= FUNCTIONS_MAX && image->hot_cold_count <= HOT_COLD_MAX;
}

bool sn_ready_to_run_open(struct sn_code_reader *reader, const struct sn_range_section *section,
                          struct sn_ready_to_run *ret_image)
{
    const struct sn_code_layout *layout = reader->layout;
    uint64_t info;
    uint64_t composite; /* of several modules in one image: what belongs to the image */
    *ret_image = (struct sn_ready_to_run){.section = section->address,
                                          .module = section->module,
                                          .image = section->begin,
                                          .end = section->end};
    if (!sn_code_read_u64(reader, section->module + layout->module_image, &info) || !info ||
        !sn_code_read_u64(reader, info + layout->image_composite, &composite) ||
        !read_functions(reader, ret_image, info))
        return false;
    if (!composite)
        composite = info;
    ret_image->methods = composite + layout->image_methods;
    read_thunks(reader, ret_image, info);
    read_header(reader, ret_image, composite);
    return true;
}

static void drop_entries(struct sn_code_reader *reader, struct sn_ready_to_run *image)
{
    free(image->entries);
    reader->rows_left += image->rows;
    image->entries = NULL;
    image->entry_count = 0;
    image->rows = 0;
    image->has_entries = false;
}

void sn_ready_to_run_done(struct sn_code_reader *reader, struct sn_ready_to_run *image)
{
    drop_entries(reader, image);
    *image = (struct sn_ready_to_run){0};
}

static bool is_same_array(const struct sn_native_array *one, const struct sn_native_array *other)
{
    return one->image == other->image && one->base == other->base && one->end == other->end &&
           one->count == other->count && one->index_size == other->index_size;
}

static bool is_same_image(const struct sn_ready_to_run *one, const struct sn_ready_to_run *other)
{
    return one->module == other->module && one->image == other->image && one->end == other->end &&
           one->functions == other->functions && one->function_count == other->function_count &&
           one->clauses == other->clauses && one->clause_entries == other->clause_entries &&
           one->format == other->format && is_same_array(&one->debug_info, &other->debug_info) &&
           is_same_array(&one->method_entries, &other->method_entries);
}

bool sn_ready_to_run_reopen(struct sn_code_reader *reader, const struct sn_range_section *section,
                            struct sn_ready_to_run *image)
{
    struct sn_ready_to_run now;
    if (!sn_ready_to_run_open(reader, section, &now))
        return false;
    if (!image->entries || !is_same_image(image, &now)) {
        drop_entries(reader, image);
    } else {
        now.entries = image->entries;
        now.entry_count = image->entry_count;
        now.rows = image->rows;
        now.has_entries = true;
    }
    *image = now;
    return true;
}

/* --- rows of MethodDef, where the runtime does not tell --- */

static int by_function(const void *a, const void *b)
{
    const struct sn_method_entry *left = a;
    const struct sn_method_entry *right = b;
    return (left->function > right->function) - (left->function < right->function);
}

static bool read_entry(struct sn_code_reader *reader, const struct sn_native_array *array,
                       uint32_t row, uint64_t *ret_function)
{
    uint32_t at;
    uint32_t value;
    if (!sn_native_array_find(reader, array, row, &at) ||
        !sn_native_number(reader, array->image, array->end, &at, &value))
        return false;
    *ret_function = value & 1 ? value >> 2 : value >> 1; /* odd: fixups follow */
    return true;
}

static void build_entries(struct sn_code_reader *reader, struct sn_ready_to_run *image)
{
    image->has_entries = true;
    uint32_t count = image->method_entries.count;
    if (!count || count > reader->rows_left)
        return;
    image->entries = calloc(count, sizeof(*image->entries));
    if (!image->entries)
        return;
    reader->rows_left -= count;
    image->rows = count;
    struct sn_code_reader kept = *reader; /* the image does not change */
    kept.is_now = false;
    for (uint32_t i = 0; i < count; i++) {
        struct sn_method_entry *entry = &image->entries[image->entry_count];
        kept.left = SN_CODE_READS_MAX; /* bounded by the count */
        entry->token = TOKEN_METHOD_DEF | (i + 1);
        if (read_entry(&kept, &image->method_entries, i, &entry->function))
            image->entry_count++;
    }
    if (sn_memory_is_late(reader->memory)) { /* some are missing for want of time alone */
        drop_entries(reader, image);
        return;
    }
    qsort(image->entries, image->entry_count, sizeof(*image->entries), by_function);
}

uint32_t sn_ready_to_run_token(struct sn_code_reader *reader, struct sn_ready_to_run *image,
                               uint64_t start)
{
    uint32_t function;
    if (start < image->image || start - image->image > UINT32_MAX ||
        !sn_code_find_function(reader, image->functions, image->function_count,
                               (uint32_t)(start - image->image), &function))
        return 0;
    if (!image->has_entries)
        build_entries(reader, image);
    size_t at =
        sn_array_first(image->entries, image->entry_count, sizeof(*image->entries), function);
    return at < image->entry_count && image->entries[at].function == function
               ? image->entries[at].token
               : 0;
}

/* --- from an address --- */

static bool read_pair(struct sn_code_reader *reader, const struct sn_ready_to_run *image,
                      uint32_t index, uint32_t pair[2])
{
    return sn_code_read(reader, image->hot_cold + (uint64_t)index * 8, pair, 8);
}

/* The hot function of a cold one (sorted by the cold ones, which lie behind all hot ones); the
 * function itself when it is none. */
static uint32_t hot_of(struct sn_code_reader *reader, const struct sn_ready_to_run *image,
                       uint32_t function)
{
    uint32_t low = 0;
    uint32_t high = image->hot_cold_count / 2;
    uint32_t found = function;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t pair[2];
        if (!read_pair(reader, image, middle, pair))
            return function;
        if (pair[0] <= function) {
            found = pair[1];
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found;
}

static uint64_t debug_info_of(struct sn_code_reader *reader, const struct sn_ready_to_run *image,
                              uint32_t function)
{
    const struct sn_native_array *array = &image->debug_info;
    uint32_t at;
    uint32_t back;
    if (!array->count || !sn_native_array_find(reader, array, function, &at))
        return 0;
    uint32_t start = at;
    if (!sn_native_number(reader, array->image, array->end, &at, &back) || back > start)
        return 0;
    return image->image + (back ? start - back : at); /* the same of several is there once */
}

/* Pieces of a method follow its entry, whose address the runtime knows once it has prepared the
 * method. An entry that has debug information of its own is one, whether the runtime knows or not.
 */
static uint32_t entry_of(struct sn_code_reader *reader, const struct sn_ready_to_run *image,
                         uint32_t function, struct sn_managed_code *code)
{
    for (uint32_t i = 0; i < PIECES_MAX && i <= function; i++) {
        struct sn_code_function piece;
        uint32_t at = function - i;
        if (!sn_code_read_function(reader, image->functions, at, &piece))
            break;
        code->start = image->image + piece.begin;
        code->method = sn_pointer_map_find(reader, image->methods, code->start);
        code->debug_info = debug_info_of(reader, image, at);
        if (code->method || code->debug_info)
            return at;
    }
    return UINT32_MAX;
}

static bool is_chained(struct sn_code_reader *reader, uint64_t unwind_info)
{
    uint8_t flags;
    return sn_code_read_u8(reader, unwind_info, &flags) && (flags >> 3) & UNWIND_CHAINED;
}

static void find_method(struct sn_code_reader *reader, struct sn_ready_to_run *image,
                        uint32_t function, struct sn_managed_code *code)
{
    uint32_t hot = hot_of(reader, image, function);
    uint32_t entry = entry_of(reader, image, hot, code);
    if (entry == UINT32_MAX) {
        code->start = code->function;
        return;
    }
    uint8_t byte;
    if (code->method & 7 || !sn_code_read_u8(reader, code->method, &byte)) /* torn */
        code->method = 0;
    code->is_funclet =
        hot == function && entry != function && !is_chained(reader, code->unwind_info);
}

bool sn_ready_to_run_find(struct sn_code_reader *reader, struct sn_ready_to_run *image,
                          uint64_t address, struct sn_managed_code *ret_code)
{
    struct sn_code_function piece;
    uint32_t index;
    *ret_code = (struct sn_managed_code){.kind = SN_CODE_PRECOMPILED, .module = image->module};
    if (image->thunks && address >= image->thunks && address - image->thunks < image->thunks_size) {
        ret_code->kind = SN_CODE_STUB;
        return true;
    }
    if (address - image->image > UINT32_MAX)
        return false;
    uint32_t relative = (uint32_t)(address - image->image);
    if (!sn_code_find_function(reader, image->functions, image->function_count, relative, &index) ||
        !sn_code_read_function(reader, image->functions, index, &piece) || relative < piece.begin ||
        relative >= piece.end)
        return false;
    ret_code->function = image->image + piece.begin;
    ret_code->function_end = image->image + piece.end;
    ret_code->unwind_info = image->image + piece.unwind;
    find_method(reader, image, index, ret_code);
    return true;
}
