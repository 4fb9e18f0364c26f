#include "format/metadata.h"

#include <string.h>

#include "base/err.h"

#define NAME_PIECE      128u
#define SIGNATURE       0x424A5342u /* "BSJB" */
#define VERSION_MAX     256u
#define STREAM_MAX      32u
#define STREAM_NAME_MAX 32u

/* Bits of the heap sizes. */
#define WIDE_STRINGS 1u
#define WIDE_GUIDS   2u
#define WIDE_BLOBS   4u
#define EXTRA_DATA   0x40u

static int fail_at(const struct sn_cursor *cur, struct sonde_error *err, const char *what)
{
    return sn_fail(err, cur->bad ? SONDE_E_TRUNCATED : SONDE_E_FORMAT, sn_cursor_offset(cur),
                   cur->bad ? "metadata ends within its %s" : "metadata has a bad %s", what);
}

/* A zero-terminated name, padded to four bytes; "" and bad when it has no end. */
static const char *stream_name(struct sn_cursor *cur)
{
    size_t most = sn_cursor_left(cur) < STREAM_NAME_MAX ? sn_cursor_left(cur) : STREAM_NAME_MAX;
    const char *name = (const char *)cur->at;
    size_t length = most ? strnlen(name, most) : 0;
    sn_cursor_skip(cur, length < most ? (length + 4) / 4 * 4 : SIZE_MAX);
    return cur->bad ? "" : name;
}

static int open_root(struct sn_cursor *cur, uint16_t *ret_stream_count, struct sonde_error *err)
{
    uint32_t signature = sn_cursor_u32(cur);
    if (!cur->bad && signature != SIGNATURE)
        return sn_fail(err, SONDE_E_FORMAT, 0, "not metadata: it does not begin with BSJB");
    sn_cursor_skip(cur, 2 + 2 + 4); /* versions, reserved */
    uint32_t version_size = sn_cursor_u32(cur);
    if (version_size > VERSION_MAX)
        return fail_at(cur, err, "version");
    sn_cursor_skip(cur, ((size_t)version_size + 3) / 4 * 4 + 2); /* and flags */
    *ret_stream_count = sn_cursor_u16(cur);
    if (cur->bad || *ret_stream_count > STREAM_MAX)
        return fail_at(cur, err, "header");
    return SONDE_OK;
}

bool sn_metadata_row_counts(struct sn_cursor *cur, uint64_t mask,
                            uint32_t counts[SN_METADATA_TABLES])
{
    for (unsigned i = 0; i < SN_METADATA_TABLES; i++) {
        uint32_t count = mask >> i & 1u ? sn_cursor_u32(cur) : 0;
        if (count > SN_METADATA_ROW_MAX)
            return false;
        if (mask >> i & 1u)
            counts[i] = count;
    }
    return !cur->bad;
}

static int open_tables(struct sn_metadata *metadata, struct sn_metadata_stream stream,
                       struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(stream.bytes, stream.size);
    sn_cursor_skip(&cur, 4 + 1 + 1); /* reserved, versions */
    uint8_t wide = sn_cursor_u8(&cur);
    sn_cursor_skip(&cur, 1);
    uint64_t present = sn_cursor_u64(&cur);
    metadata->sorted = sn_cursor_u64(&cur);
    if (!sn_metadata_row_counts(&cur, present, metadata->row_counts))
        return fail_at(&cur, err, "row counts");
    sn_cursor_skip(&cur, wide & EXTRA_DATA ? 4 : 0);
    if (cur.bad)
        return fail_at(&cur, err, "tables");
    metadata->string_width = wide & WIDE_STRINGS ? 4 : 2;
    metadata->guid_width = wide & WIDE_GUIDS ? 4 : 2;
    metadata->blob_width = wide & WIDE_BLOBS ? 4 : 2;
    metadata->rows = (struct sn_metadata_stream){cur.at, sn_cursor_left(&cur)};
    return SONDE_OK;
}

int sn_metadata_open(const uint8_t *bytes, size_t size, struct sn_metadata *ret_metadata,
                     struct sonde_error *err)
{
    struct sn_metadata metadata = {0};
    struct sn_metadata_stream tables = {0};
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    uint16_t count = 0;
    int rc = open_root(&cur, &count, err);
    for (uint16_t i = 0; rc == SONDE_OK && i < count; i++) {
        uint32_t offset = sn_cursor_u32(&cur);
        uint32_t length = sn_cursor_u32(&cur);
        const char *name = stream_name(&cur);
        if (cur.bad || offset > size || length > size - offset)
            return sn_fail(err, SONDE_E_TRUNCATED, sn_cursor_offset(&cur),
                           "metadata ends within its stream %u", (unsigned)i);
        struct sn_metadata_stream stream = {bytes + offset, length};
        if (strcmp(name, "#~") == 0 || strcmp(name, "#-") == 0)
            tables = stream;
        else if (strcmp(name, "#Strings") == 0)
            metadata.strings = stream;
        else if (strcmp(name, "#Blob") == 0)
            metadata.blob = stream;
        else if (strcmp(name, "#GUID") == 0)
            metadata.guid = stream;
        else if (strcmp(name, "#Pdb") == 0)
            metadata.pdb = stream;
    }
    if (rc == SONDE_OK && !tables.bytes)
        rc = sn_fail(err, SONDE_E_FORMAT, sn_cursor_offset(&cur), "metadata without tables");
    if (rc == SONDE_OK)
        rc = open_tables(&metadata, tables, err);
    if (rc == SONDE_OK)
        *ret_metadata = metadata;
    return rc;
}

struct sn_cursor sn_metadata_blob(const struct sn_metadata *metadata, uint32_t index)
{
    struct sn_cursor heap = sn_cursor_over(metadata->blob.bytes, metadata->blob.size);
    sn_cursor_skip(&heap, index);
    size_t left = sn_cursor_left(&heap);
    heap.bad |= left && !sn_metadata_load(metadata, heap.at, left < 4 ? left : 4);
    uint32_t size = sn_metadata_unsigned(&heap);
    const uint8_t *bytes = sn_cursor_bytes(&heap, size);
    if (bytes && size && !sn_metadata_load(metadata, bytes, size))
        bytes = NULL;
    struct sn_cursor blob = sn_cursor_over(bytes, bytes ? size : 0);
    blob.bad = !bytes;
    return blob;
}

const char *sn_metadata_string(const struct sn_metadata *metadata, uint32_t index)
{
    if (index >= metadata->strings.size)
        return NULL;
    size_t left = metadata->strings.size - index;
    const char *name = (const char *)metadata->strings.bytes + index;
    left = left < SN_METADATA_NAME_MAX ? left : SN_METADATA_NAME_MAX;
    for (size_t at = 0; at < left; at += NAME_PIECE) { /* no more of a lazy heap than it takes */
        size_t size = left - at < NAME_PIECE ? left - at : NAME_PIECE;
        if (!sn_metadata_load(metadata, (const uint8_t *)name + at, size))
            return NULL;
        if (memchr(name + at, 0, size))
            return name;
    }
    return NULL;
}

/* The first table, which has one row: generation, name, MVID, two more. GUIDs count from 1. */
bool sn_metadata_version_id(const struct sn_metadata *metadata, uint8_t ret_guid[16])
{
    enum { MODULE_TABLE = 0, GUID_SIZE = 16 };
    struct sn_cursor row = sn_cursor_over(metadata->rows.bytes, metadata->rows.size);
    sn_cursor_skip(&row, 2 + (size_t)metadata->string_width);
    uint32_t index = metadata->guid_width == 4 ? sn_cursor_u32(&row) : sn_cursor_u16(&row);
    if (row.bad || !metadata->row_counts[MODULE_TABLE] || !index ||
        index > metadata->guid.size / GUID_SIZE)
        return false;
    memcpy(ret_guid, metadata->guid.bytes + (size_t)(index - 1) * GUID_SIZE, GUID_SIZE);
    return true;
}

/* The value and how many bits it may take: 7, 14 or 29, told by the first byte. */
static uint32_t packed(struct sn_cursor *cur, unsigned *ret_bits)
{
    uint32_t first = sn_cursor_u8(cur);
    *ret_bits = !(first & 0x80u) ? 7 : !(first & 0x40u) ? 14 : 29;
    if (*ret_bits == 7)
        return first;
    if (*ret_bits == 14) {
        uint32_t second = sn_cursor_u8(cur);
        return cur->bad ? 0 : (first & 0x3Fu) << 8 | second;
    }
    const uint8_t *rest = sn_cursor_bytes(cur, 3);
    cur->bad = cur->bad || first & 0x20u; /* no number begins with three ones */
    if (cur->bad)
        return 0;
    return (first & 0x1Fu) << 24 | (uint32_t)rest[0] << 16 | (uint32_t)rest[1] << 8 | rest[2];
}

uint32_t sn_metadata_unsigned(struct sn_cursor *cur)
{
    unsigned bits = 0;
    return packed(cur, &bits);
}

int32_t sn_metadata_signed(struct sn_cursor *cur)
{
    unsigned bits = 0;
    uint32_t value = packed(cur, &bits);
    int32_t magnitude = (int32_t)(value >> 1); /* the sign was rotated to the lowest bit */
    return value & 1u ? magnitude - (int32_t)(1u << (bits - 1)) : magnitude;
}
