#include "format/pe.h"

#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"

#define DOS_HEADER_SIZE   64u
#define DOS_PE_OFFSET     60u
#define PE_SIGNATURE      0x00004550u
#define PE_HEADER_SIZE    24u  /* signature and COFF header */
#define OPTIONAL_MAX      512u /* more than any optional header with its 16 directories */
#define OPTIONAL_PE32     0x10Bu
#define OPTIONAL_PE64     0x20Bu
#define DEBUG_DIRECTORY   6u
#define CLI_DIRECTORY     14u
#define CLI_HEADER_SIZE   16u /* of it what is needed: sizes, versions, where the metadata are */
#define SECTION_SIZE      40u
#define SECTION_MAX       96u
#define DEBUG_ENTRY_SIZE  28u
#define DEBUG_ENTRY_MAX   32u
#define TYPE_CODEVIEW     2u
#define TYPE_EMBEDDED_PDB 17u
#define CODEVIEW_RSDS     0x53445352u
#define EMBEDDED_MPDB     0x4244504Du
#define METADATA_BSJB     0x424A5342u
#define DEFLATE_RATIO_MAX 1032u /* nothing packs better, so a larger promise is a lie */

struct reader {
    sn_pe_read_fn *read;
    void *user;
    struct sonde_error *err;
    bool is_mapped; /* an address is a place */
};

struct directory {
    uint32_t address; /* in memory, relative to the image */
    uint32_t size;
};

static int take(const struct reader *reader, uint64_t offset, void *to, size_t size,
                const char *what)
{
    if (reader->read(reader->user, offset, to, size))
        return SONDE_OK;
    return sn_fail(reader->err, SONDE_E_TRUNCATED, offset, "a PE file ends within its %s", what);
}

/* Where the optional header begins, how long it is, and how many sections follow. */
struct layout {
    uint64_t optional_offset;
    uint16_t optional_size;
    uint16_t section_count;
};

static int read_headers(const struct reader *reader, struct layout *ret_layout)
{
    uint8_t dos[DOS_HEADER_SIZE];
    uint8_t pe[PE_HEADER_SIZE];
    int rc = take(reader, 0, dos, sizeof(dos), "first header");
    if (rc != SONDE_OK)
        return rc;
    struct sn_cursor cur = sn_cursor_over(dos + DOS_PE_OFFSET, 4);
    uint64_t offset = sn_cursor_u32(&cur);
    if (dos[0] != 'M' || dos[1] != 'Z')
        return sn_fail(reader->err, SONDE_E_FORMAT, 0, "not a PE file: it does not begin with MZ");
    rc = take(reader, offset, pe, sizeof(pe), "PE header");
    if (rc != SONDE_OK)
        return rc;
    cur = sn_cursor_over(pe, sizeof(pe));
    uint32_t signature = sn_cursor_u32(&cur);
    sn_cursor_skip(&cur, 2); /* machine: R2R images carry odd ones */
    ret_layout->section_count = sn_cursor_u16(&cur);
    sn_cursor_skip(&cur, 12);
    ret_layout->optional_size = sn_cursor_u16(&cur);
    ret_layout->optional_offset = offset + PE_HEADER_SIZE;
    if (signature != PE_SIGNATURE || ret_layout->section_count > SECTION_MAX)
        return sn_fail(reader->err, SONDE_E_FORMAT, offset, "not a PE file, or an odd one");
    return SONDE_OK;
}

/* A directory's place; size 0 when there is none. */
static int find_directory(const struct reader *reader, const struct layout *layout, uint32_t index,
                          struct directory *ret_directory)
{
    uint8_t bytes[OPTIONAL_MAX];
    size_t size = layout->optional_size < sizeof(bytes) ? layout->optional_size : sizeof(bytes);
    int rc = take(reader, layout->optional_offset, bytes, size, "optional header");
    if (rc != SONDE_OK)
        return rc;
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    uint16_t magic = sn_cursor_u16(&cur);
    if (magic != OPTIONAL_PE32 && magic != OPTIONAL_PE64)
        return sn_fail(reader->err, SONDE_E_FORMAT, layout->optional_offset,
                       "a PE file with an unknown optional header");
    sn_cursor_skip(&cur, (magic == OPTIONAL_PE64 ? 108 : 92) - 2);
    uint32_t count = sn_cursor_u32(&cur);
    if (cur.bad || count <= index) {
        *ret_directory = (struct directory){0};
        return SONDE_OK;
    }
    sn_cursor_skip(&cur, (size_t)index * 8);
    struct directory directory = {.address = sn_cursor_u32(&cur)};
    directory.size = sn_cursor_u32(&cur);
    *ret_directory = cur.bad ? (struct directory){0} : directory;
    return SONDE_OK;
}

/* From an address in memory to a place in the file, through the section that holds it. */
static int find_offset(const struct reader *reader, const struct layout *layout,
                       const struct directory *directory, uint64_t *ret_offset)
{
    if (reader->is_mapped) {
        *ret_offset = directory->address;
        return SONDE_OK;
    }
    uint64_t at = layout->optional_offset + layout->optional_size;
    for (uint16_t i = 0; i < layout->section_count; i++, at += SECTION_SIZE) {
        uint8_t bytes[SECTION_SIZE];
        int rc = take(reader, at, bytes, sizeof(bytes), "sections");
        if (rc != SONDE_OK)
            return rc;
        struct sn_cursor cur = sn_cursor_over(bytes, sizeof(bytes));
        sn_cursor_skip(&cur, 12); /* name, size in memory */
        uint32_t address = sn_cursor_u32(&cur);
        uint32_t size = sn_cursor_u32(&cur);
        uint32_t offset = sn_cursor_u32(&cur);
        if (directory->address >= address && directory->address - address < size) {
            *ret_offset = (uint64_t)offset + (directory->address - address);
            return SONDE_OK;
        }
    }
    return sn_fail(reader->err, SONDE_E_FORMAT, at,
                   "a PE file with a directory that lies in no section");
}

static void take_codeview(const struct reader *reader, uint64_t offset, uint32_t size,
                          struct sn_pe_debug *debug)
{
    uint8_t bytes[4 + sizeof(debug->pdb_guid)];
    uint32_t signature = 0;
    if (size < sizeof(bytes) || !reader->read(reader->user, offset, bytes, sizeof(bytes)))
        return;
    memcpy(&signature, bytes, sizeof(signature));
    if (signature != CODEVIEW_RSDS || debug->has_pdb_id)
        return;
    memcpy(debug->pdb_guid, bytes + 4, sizeof(debug->pdb_guid));
    debug->has_pdb_id = true;
}

static int read_entries(const struct reader *reader, uint64_t offset, uint32_t count,
                        struct sn_pe_debug *debug)
{
    for (uint32_t i = 0; i < count && i < DEBUG_ENTRY_MAX; i++, offset += DEBUG_ENTRY_SIZE) {
        uint8_t bytes[DEBUG_ENTRY_SIZE];
        int rc = take(reader, offset, bytes, sizeof(bytes), "debug directory");
        if (rc != SONDE_OK)
            return rc;
        struct sn_cursor cur = sn_cursor_over(bytes, sizeof(bytes));
        sn_cursor_skip(&cur, 4 + 4 + 2 + 2); /* characteristics, stamp, versions */
        uint32_t type = sn_cursor_u32(&cur);
        uint32_t size = sn_cursor_u32(&cur);
        uint32_t address = sn_cursor_u32(&cur);
        uint32_t at = sn_cursor_u32(&cur);
        if (reader->is_mapped)
            at = address; /* 0: it is not loaded */
        if (type == TYPE_CODEVIEW)
            take_codeview(reader, at, size, debug);
        if (type == TYPE_EMBEDDED_PDB && at) {
            debug->embedded_offset = at;
            debug->embedded_size = size;
        }
    }
    return SONDE_OK;
}

static int debug_of(const struct reader *reader, const struct layout *layout,
                    struct sn_pe_debug *ret_debug)
{
    struct sn_pe_debug debug = {0};
    struct directory directory = {0};
    uint64_t offset = 0;
    int rc = find_directory(reader, layout, DEBUG_DIRECTORY, &directory);
    if (rc == SONDE_OK && directory.size)
        rc = find_offset(reader, layout, &directory, &offset);
    if (rc == SONDE_OK)
        rc = read_entries(reader, offset, directory.size / DEBUG_ENTRY_SIZE, &debug);
    if (rc == SONDE_OK)
        *ret_debug = debug;
    return rc;
}

int sn_pe_read_debug(sn_pe_read_fn *read, void *user, struct sn_pe_debug *ret_debug,
                     struct sonde_error *err)
{
    const struct reader reader = {.read = read, .user = user, .err = err};
    struct layout layout = {0};
    int rc = read_headers(&reader, &layout);
    return rc == SONDE_OK ? debug_of(&reader, &layout, ret_debug) : rc;
}

static int metadata_of(const struct reader *reader, const struct layout *layout,
                       uint64_t *ret_offset, uint32_t *ret_size)
{
    struct directory directory = {0};
    uint8_t header[CLI_HEADER_SIZE] = {0};
    uint64_t offset = 0;
    int rc = find_directory(reader, layout, CLI_DIRECTORY, &directory);
    if (rc == SONDE_OK && !directory.size)
        rc = sn_fail(reader->err, SONDE_E_FORMAT, 0, "a PE file without .NET in it");
    if (rc == SONDE_OK)
        rc = find_offset(reader, layout, &directory, &offset);
    if (rc == SONDE_OK)
        rc = take(reader, offset, header, sizeof(header), ".NET header");
    struct sn_cursor cur = sn_cursor_over(header, sizeof(header));
    sn_cursor_skip(&cur, 4 + 2 + 2); /* its size, versions */
    directory.address = sn_cursor_u32(&cur);
    directory.size = sn_cursor_u32(&cur);
    if (rc == SONDE_OK)
        rc = find_offset(reader, layout, &directory, &offset);
    if (rc != SONDE_OK)
        return rc;
    *ret_offset = offset;
    *ret_size = directory.size;
    return SONDE_OK;
}

int sn_pe_find_metadata(sn_pe_read_fn *read, void *user, uint64_t *ret_offset, uint32_t *ret_size,
                        struct sonde_error *err)
{
    const struct reader reader = {.read = read, .user = user, .err = err};
    struct layout layout = {0};
    int rc = read_headers(&reader, &layout);
    return rc == SONDE_OK ? metadata_of(&reader, &layout, ret_offset, ret_size) : rc;
}

static int read_one_way(const struct reader *reader, const struct layout *layout,
                        struct sn_pe_image *image)
{
    uint32_t signature = 0;
    int rc = metadata_of(reader, layout, &image->metadata_offset, &image->metadata_size);
    if (rc == SONDE_OK)
        rc = take(reader, image->metadata_offset, &signature, sizeof(signature), "metadata");
    if (rc == SONDE_OK && signature != METADATA_BSJB)
        rc = sn_fail(reader->err, SONDE_E_FORMAT, image->metadata_offset,
                     "a PE image without metadata where they should be");
    image->layout = reader->is_mapped ? SN_PE_MAPPED : SN_PE_FLAT;
    return rc;
}

/* Mapped, then flat, as far as `layout` leaves it open; *err is of the last. */
static int read_layouts(struct reader *reader, enum sn_pe_layout layout,
                        const struct layout *headers, struct sn_pe_image *image)
{
    struct sonde_error *err = reader->err;
    struct sonde_error first = {0};
    reader->is_mapped = layout != SN_PE_FLAT;
    if (layout != SN_PE_EITHER)
        return read_one_way(reader, headers, image);
    reader->err = &first;
    int rc = read_one_way(reader, headers, image);
    reader->err = err;
    reader->is_mapped = rc == SONDE_OK;
    return rc == SONDE_OK ? rc : read_one_way(reader, headers, image);
}

int sn_pe_read_image(sn_pe_read_fn *read, void *user, enum sn_pe_layout layout,
                     struct sn_pe_image *ret_image, struct sonde_error *err)
{
    struct reader reader = {.read = read, .user = user, .err = err};
    struct sonde_error ignored = {0};
    struct sn_pe_image image = {0};
    struct layout headers = {0};
    int rc = read_headers(&reader, &headers);
    if (rc == SONDE_OK)
        rc = read_layouts(&reader, layout, &headers, &image);
    if (rc != SONDE_OK)
        return rc;
    reader.err = &ignored;
    (void)debug_of(&reader, &headers, &image.debug); /* has none, then */
    *ret_image = image;
    return SONDE_OK;
}

/* All of the deflated bytes into exactly `size` bytes. */
static bool inflate_all(struct sn_cursor *packed, uint8_t *to, size_t size)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed->at,
                       .avail_in = (uInt)sn_cursor_left(packed),
                       .next_out = to,
                       .avail_out = (uInt)size};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    int rc = inflate(&stream, Z_FINISH);
    (void)inflateEnd(&stream); /* frees; what it says was said by inflate */
    return rc == Z_STREAM_END && stream.avail_out == 0;
}

int sn_pe_unpack(const uint8_t *bytes, size_t size, struct sn_buf *to, struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    uint32_t signature = sn_cursor_u32(&cur);
    uint32_t full_size = sn_cursor_u32(&cur);
    if (cur.bad || signature != EMBEDDED_MPDB || size > UINT32_MAX)
        return sn_fail(err, SONDE_E_FORMAT, 0, "no PDB is packed here");
    if (full_size / DEFLATE_RATIO_MAX > sn_cursor_left(&cur))
        return sn_fail(err, SONDE_E_FORMAT, 4, "a packed PDB claims more than it can hold");
    uint8_t *room = sn_buf_reserve(to, full_size);
    if (!room)
        return sn_fail(err, SONDE_E_LIMIT, 4, "a packed PDB of %u bytes is too large",
                       (unsigned)full_size);
    if (!inflate_all(&cur, room, full_size))
        return sn_fail(err, SONDE_E_FORMAT, 8, "a packed PDB cannot be unpacked");
    sn_buf_grow(to, full_size);
    return SONDE_OK;
}
