#include "source/memory/code_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "format/debug_info.h"
#include "source/memory/code_layout.h"
#include "source/memory/contract.h"
#include "source/memory/exception_clauses.h"
#include "source/memory/nibble_map.h"
#include "source/memory/range_sections.h"
#include "source/memory/ready_to_run.h"
#include "source/memory/runtime_memory.h"

#define KEPT_SLOTS       4096u /* answers; a power of two */
#define IMAGES_MAX       8192u
#define UNWIND_INFOS_MAX 65536u
#define FIRST_BITS       2  /* ExecutionManager of runtimes that pack debug information by bits */
#define FORMAT_BITS      16 /* the same of images: their format */

struct kept {
    uint64_t address;
    uint64_t look; /* when it was found; 0: empty */
    struct sn_managed_code code;
};

struct sn_code_map {
    struct sn_runtime_memory *runtime; /* borrows */
    struct sn_code_layout layout;
    struct kept *kept; /* owns; by a hash of the address, the later one stays */
    uint64_t look;     /* counts sn_code_map_forget, from 1 */
    struct sn_ready_to_run *images;
    size_t image_count;
    size_t image_capacity;
    struct sn_code_reader reader;
};

int sn_code_map_new(struct sn_runtime_memory *runtime, struct sn_code_map **ret_map,
                    struct sonde_error *err)
{
    SN_AUTO(sn_code_map_free) struct sn_code_map *map = calloc(1, sizeof(*map));
    *ret_map = NULL;
    if (map)
        map->kept = calloc(KEPT_SLOTS, sizeof(*map->kept));
    if (!map || !map->kept)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the map of code");
    map->runtime = runtime;
    map->look = 1;
    int status = sn_code_layout_read(runtime->contract, &map->layout, err);
    if (status != SONDE_OK)
        return status;
    map->reader = (struct sn_code_reader){
        .memory = runtime->memory, .layout = &map->layout, .rows_left = SN_CODE_ROWS_MAX};
    *ret_map = SN_TAKE(map);
    return SONDE_OK;
}

/* Those that were not seen in this look. */
static void drop_images(struct sn_code_map *map, uint64_t look)
{
    size_t stay = 0;
    for (size_t i = 0; i < map->image_count; i++) {
        if (map->images[i].look == look)
            map->images[stay++] = map->images[i];
        else
            sn_ready_to_run_done(&map->reader, &map->images[i]);
    }
    map->image_count = stay;
}

void sn_code_map_free(struct sn_code_map *map)
{
    if (!map)
        return;
    drop_images(map, 0);
    free(map->images);
    free(map->kept);
    free(map);
}

void sn_code_map_forget(struct sn_code_map *map)
{
    drop_images(map, map->look);
    map->look++;
}

/* --- compiled here --- */

/* The word before a method: where its header is. */
static bool read_header(struct sn_code_reader *reader, uint64_t header,
                        const struct sn_range_section *section, uint64_t address,
                        struct sn_managed_code *code)
{
    const struct sn_code_layout *layout = reader->layout;
    uint64_t unwinds = header + layout->header_unwind;
    struct sn_code_function piece;
    uint32_t count;
    uint32_t index;
    if (header & 7 || !sn_code_read_u64(reader, header + layout->header_method, &code->method) ||
        !sn_code_read_u32(reader, header + layout->header_unwind_count, &count) || !count ||
        count > UNWIND_INFOS_MAX || !code->method || code->method & 7)
        return false;
    /* the pieces must be of this method: the first begins where it starts */
    if (!sn_code_read_function(reader, unwinds, 0, &piece) ||
        section->begin + piece.begin != code->start ||
        !sn_code_find_function(reader, unwinds, count, (uint32_t)(address - section->begin),
                               &index) ||
        !sn_code_read_function(reader, unwinds, index, &piece))
        return false;
    code->function = section->begin + piece.begin;
    code->function_end = section->begin + piece.end;
    code->unwind_info = section->begin + piece.unwind;
    code->is_funclet = index > 0;
    return address < code->function_end;
}

static bool find_compiled(struct sn_code_reader *reader, const struct sn_range_section *section,
                          uint64_t address, struct sn_managed_code *code)
{
    const struct sn_code_layout *layout = reader->layout;
    uint64_t start;
    uint64_t end;
    uint64_t base;
    uint64_t map;
    uint64_t header;
    uint8_t byte;
    if (!sn_code_read_u64(reader, section->heap + layout->heap_start, &start) ||
        !sn_code_read_u64(reader, section->heap + layout->heap_end, &end) ||
        !sn_code_read_u64(reader, section->heap + layout->heap_map_base, &base) ||
        !sn_code_read_u64(reader, section->heap + layout->heap_map, &map) || address < start ||
        address >= end || section->end - section->begin > UINT32_MAX ||
        !sn_nibble_map_find(reader, map, base, address, &code->start) || code->start < start ||
        !sn_code_read_u64(reader, code->start - sizeof(header), &header))
        return false;
    if (header <= layout->stub_last) {
        *code = (struct sn_managed_code){.kind = SN_CODE_STUB, .start = code->start};
        return true;
    }
    code->kind = SN_CODE_JIT;
    if (!read_header(reader, header, section, address, code) ||
        !sn_code_read_u8(reader, code->method, &byte))
        return false;
    uint32_t at = layout->header_debug_info == UINT32_MAX ? 0 : layout->header_debug_info;
    return sn_code_read_u64(reader, header + at, &code->debug_info);
}

/* --- precompiled --- */

static struct sn_ready_to_run *image_of(struct sn_code_map *map, uint64_t section)
{
    for (size_t i = 0; i < map->image_count; i++) {
        if (map->images[i].section == section)
            return &map->images[i];
    }
    return NULL;
}

/* That of a look before may be another by now, as may that of this one. */
static struct sn_ready_to_run *check_image(struct sn_code_map *map, struct sn_ready_to_run *image,
                                           const struct sn_range_section *section)
{
    if (image->look == map->look && image->image == section->begin &&
        image->module == section->module && image->end == section->end)
        return image;
    if (!sn_ready_to_run_reopen(&map->reader, section, image))
        return NULL;
    image->look = map->look;
    return image;
}

static struct sn_ready_to_run *open_image(struct sn_code_map *map,
                                          const struct sn_range_section *section)
{
    struct sn_ready_to_run *image = image_of(map, section->address);
    if (image)
        return check_image(map, image, section);
    if (map->image_count >= IMAGES_MAX)
        return NULL;
    image = sn_array_room(map->images, map->image_count, &map->image_capacity, sizeof(*image));
    if (!image)
        return NULL;
    map->images = image;
    image = &map->images[map->image_count];
    if (!sn_ready_to_run_open(&map->reader, section, image))
        return NULL;
    image->look = map->look;
    map->image_count++;
    return image;
}

/* The image of this look that has the address; NULL: none. */
static struct sn_ready_to_run *image_at(struct sn_code_map *map, uint64_t address)
{
    for (size_t i = 0; i < map->image_count; i++) {
        struct sn_ready_to_run *image = &map->images[i];
        if (image->look == map->look && address >= image->image && address < image->end)
            return image;
    }
    return NULL;
}

/* --- any --- */

/* *ret_is_ours: a range of the runtime's holds it. */
static bool look(struct sn_code_map *map, uint64_t address, struct sn_managed_code *code,
                 bool *ret_is_ours)
{
    struct sn_range_section section;
    map->reader.left = SN_CODE_READS_MAX;
    *code = (struct sn_managed_code){0};
    *ret_is_ours = sn_range_sections_find(&map->reader, address, &section);
    if (!*ret_is_ours)
        return false;
    if (section.module) {
        struct sn_ready_to_run *image = open_image(map, &section);
        return image && sn_ready_to_run_find(&map->reader, image, address, code);
    }
    if (section.heap)
        return find_compiled(&map->reader, &section, address, code);
    code->kind = SN_CODE_STUB;
    return true;
}

/* Files that hold native code: the runtime makes none there. */
static bool is_native_file(const struct sn_code_map *map, uint64_t address)
{
    const struct sn_memory_map *at = sn_memory_map_of(map->runtime->memory, address);
    return at && at->inode && !strstr(at->path, ".dll") && !strstr(at->path, "memfd:") &&
           !strstr(at->path, "doublemapper");
}

/* Whether an answer from what is kept may be wrong for its age: the runtime knows the entry points
 * of the methods that it has prepared so far, and what lies behind one that is not known looks like
 * a part of the method before it. */
static bool is_doubtful(const struct sn_managed_code *code)
{
    return code->kind == SN_CODE_PRECOMPILED && (!code->method || code->is_funclet);
}

/* What makes no sense is looked at again as it is now. */
static bool look_twice(struct sn_code_map *map, uint64_t address, struct sn_managed_code *code)
{
    bool is_ours;
    map->reader.is_now = false;
    if (look(map, address, code, &is_ours) && !is_doubtful(code))
        return true;
    if (!is_ours && is_native_file(map, address))
        return false;
    map->reader.is_now = true;
    return look(map, address, code, &is_ours);
}

/* By the image alone, where the runtime knows of no method. */
static void find_token(struct sn_code_map *map, struct sn_managed_code *code)
{
    struct sn_ready_to_run *image = image_at(map, code->start);
    if (image)
        code->token = sn_ready_to_run_token(&map->reader, image, code->start);
}

static struct kept *slot_of(struct sn_code_map *map, uint64_t address)
{
    uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15);
    return &map->kept[hash >> 32 & (KEPT_SLOTS - 1)];
}

bool sn_code_map_find(struct sn_code_map *map, uint64_t address, struct sn_managed_code *ret_code)
{
    struct kept *slot = slot_of(map, address);
    if (slot->look == map->look && slot->address == address) {
        *ret_code = slot->code;
        return true;
    }
    if (!look_twice(map, address, ret_code)) {
        *ret_code = (struct sn_managed_code){0};
        return false;
    }
    if (ret_code->kind == SN_CODE_PRECOMPILED && !ret_code->method) {
        find_token(map, ret_code); /* not kept: the runtime may know it soon */
        return true;
    }
    *slot = (struct kept){.address = address, .look = map->look, .code = *ret_code};
    return true;
}

bool sn_code_map_is_filter(struct sn_code_map *map, const struct sn_managed_code *code)
{
    map->reader.left = SN_CODE_READS_MAX;
    map->reader.is_now = false;
    if (!code->is_funclet)
        return false;
    if (code->kind == SN_CODE_JIT)
        return sn_exception_clauses_has_filter(&map->reader, code);
    const struct sn_ready_to_run *image = image_at(map, code->start);
    return image && sn_exception_clauses_has_image_filter(&map->reader, image, code);
}

/* --- IL --- */

/* How it is packed; false: in a way that is not known. .NET 10 does not tell, but has changed it
 * together with its nibble maps. */
static bool debug_kind(struct sn_code_map *map, const struct sn_managed_code *code,
                       struct sn_debug_info_kind *ret_kind)
{
    uint32_t version = sn_contract_version(map->runtime->contract, "DebugInfo");
    bool is_bits = map->layout.version >= FIRST_BITS || version == 1;
    *ret_kind = (struct sn_debug_info_kind){.has_prefix = code->kind == SN_CODE_JIT};
    if (version > 1)
        return false;
    if (code->kind == SN_CODE_PRECOMPILED) {
        const struct sn_ready_to_run *image = image_at(map, code->function);
        if (!image || image->format > FORMAT_BITS)
            return false;
        is_bits = image->format == FORMAT_BITS;
    }
    ret_kind->form = is_bits ? SN_DEBUG_INFO_BITS : SN_DEBUG_INFO_NIBBLES;
    return true;
}

/* As many bytes as there are, at most `size`: nobody says where it ends. */
static size_t read_up_to(struct sn_memory *memory, uint64_t address, uint8_t *to, size_t size)
{
    size_t got = 0;
    while (got < size) {
        size_t piece = 4096 - (size_t)((address + got) & 4095);
        piece = piece < size - got ? piece : size - got;
        if (!sn_memory_read(memory, address + got, to + got, piece))
            break;
        got += piece;
    }
    return got;
}

bool sn_code_map_il_offset(struct sn_code_map *map, const struct sn_managed_code *code,
                           uint64_t address, uint32_t *ret_il_offset)
{
    *ret_il_offset = 0;
    if (!code->debug_info || address < code->start || address - code->start > UINT32_MAX - 1 ||
        address < code->function || address >= code->function_end)
        return false;
    struct sn_debug_info_kind kind;
    if (!debug_kind(map, code, &kind))
        return false;
    for (size_t size = 1024; size <= 1u << 20; size *= 8) {
        SN_AUTO(sn_free) uint8_t *bytes = malloc(size);
        struct sn_debug_bounds bounds;
        if (!bytes)
            return false;
        size_t got = read_up_to(map->runtime->memory, code->debug_info, bytes, size);
        int result = sn_debug_info_open(bytes, got, kind, &bounds);
        if (result == SN_DEBUG_INFO_OPEN)
            return sn_debug_bounds_find(bounds, (uint32_t)(address - code->start), ret_il_offset);
        if (result != SN_DEBUG_INFO_CUT || got < size)
            return false;
    }
    return false;
}
