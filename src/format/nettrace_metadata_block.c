/* Metadata blocks: declarations of events to schemas. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "format/nettrace_internal.h"
#include "format/nettrace_row.h"

#define HEADER_SIZE_V4  20u
#define FLAG_COMPRESSED 1u

/* Bits that EventSource uses for its sessions; they say nothing about the event. */
#define SESSION_KEYWORDS 0x0000F00000000000u

#define OPCODE_START 1u
#define OPCODE_STOP  2u

enum tag_v4 {
    TAG_OPCODE = 1,
    TAG_FIELDS = 2,
};

enum option_v6 {
    OPTION_OPCODE = 1,
    OPTION_KEYWORDS = 3,
    OPTION_TEMPLATE = 4,
    OPTION_DESCRIPTION = 5,
    OPTION_PAIR = 6,
    OPTION_PROVIDER_GUID = 7,
    OPTION_LEVEL = 8,
    OPTION_VERSION = 9,
};

/* A declaration as it is read, before it is anybody's schema. */
struct declaration {
    struct sn_schema schema;
    bool has_opcode;
    const char *why; /* its fields cannot be used; NULL: they can */
};

static uint64_t hash_rest(const struct sn_cursor *cur)
{
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (const uint8_t *at = cur->at; at < cur->end; at++)
        hash = (hash ^ *at) * 0x100000001B3u;
    return hash;
}

static bool ends_with(const char *text, const char *end)
{
    size_t text_size = strlen(text);
    size_t end_size = strlen(end);
    return text_size >= end_size && strcmp(text + text_size - end_size, end) == 0;
}

static void read_fields(struct sn_nettrace_reader *reader, struct sn_cursor *cur,
                        enum sn_nettrace_fields_kind kind, struct declaration *declaration)
{
    const char *why = NULL;
    if (!sn_nettrace_fields_read(&reader->schemas, cur, kind, &declaration->schema, &why))
        declaration->why = why;
}

static void read_tag_v4(struct sn_nettrace_reader *reader, struct sn_cursor *cur,
                        struct declaration *declaration)
{
    uint32_t size = sn_cursor_u32(cur);
    uint8_t kind = sn_cursor_u8(cur);
    const uint8_t *bytes = sn_cursor_bytes(cur, size);
    if (cur->bad)
        return;
    struct sn_cursor tag = sn_cursor_over(bytes, size);
    if (kind == TAG_OPCODE && size) {
        declaration->schema.opcode = sn_cursor_u8(&tag);
        declaration->has_opcode = true;
    } else if (kind == TAG_FIELDS) {
        declaration->why = NULL;
        read_fields(reader, &tag, SN_NETTRACE_FIELDS_V2, declaration);
    }
}

static bool read_v4(struct sn_nettrace_reader *reader, struct sn_cursor *cur,
                    struct declaration *declaration)
{
    struct sn_schema *schema = &declaration->schema;

    schema->provider = sn_nettrace_string16(&reader->schemas, cur);
    schema->event_id = sn_cursor_u32(cur);
    schema->name = sn_nettrace_string16(&reader->schemas, cur);
    schema->keywords = sn_cursor_u64(cur) & ~SESSION_KEYWORDS;
    schema->version = sn_cursor_u32(cur);
    schema->level = (uint8_t)sn_cursor_u32(cur);
    if (cur->bad || !schema->provider || !schema->name)
        return false;
    if (sn_cursor_left(cur))
        read_fields(reader, cur, SN_NETTRACE_FIELDS_V1, declaration);
    while (!cur->bad && !declaration->why && sn_cursor_left(cur))
        read_tag_v4(reader, cur, declaration);
    if (cur->bad && !declaration->why)
        declaration->why = "its tags end early";
    return true;
}

static void skip_string(struct sn_cursor *cur)
{
    sn_cursor_skip(cur, sn_cursor_varuint32(cur));
}

static void read_option_v6(struct sn_cursor *cur, struct declaration *declaration)
{
    struct sn_schema *schema = &declaration->schema;
    switch (sn_cursor_u8(cur)) {
    case OPTION_OPCODE:
        schema->opcode = sn_cursor_u8(cur);
        declaration->has_opcode = true;
        break;
    case OPTION_KEYWORDS: schema->keywords = sn_cursor_u64(cur); break;
    case OPTION_PAIR:
        skip_string(cur);
        skip_string(cur);
        break;
    case OPTION_TEMPLATE:
    case OPTION_DESCRIPTION: skip_string(cur); break;
    case OPTION_PROVIDER_GUID: sn_cursor_skip(cur, 16); break;
    case OPTION_LEVEL: schema->level = sn_cursor_u8(cur); break;
    case OPTION_VERSION: schema->version = sn_cursor_u8(cur); break;
    default: sn_cursor_skip(cur, sn_cursor_left(cur)); /* of unknown length: so is the rest */
    }
}

static bool read_v6(struct sn_nettrace_reader *reader, struct sn_cursor *cur,
                    struct declaration *declaration)
{
    struct sn_schema *schema = &declaration->schema;

    schema->provider = sn_nettrace_string8(&reader->schemas, cur);
    schema->event_id = sn_cursor_varuint32(cur);
    schema->name = sn_nettrace_string8(&reader->schemas, cur);
    if (cur->bad || !schema->provider || !schema->name)
        return false;
    read_fields(reader, cur, SN_NETTRACE_FIELDS_V6, declaration);
    if (declaration->why)
        return true; /* where its options begin is not known */
    uint16_t size = sn_cursor_u16(cur);
    const uint8_t *bytes = sn_cursor_bytes(cur, size);
    struct sn_cursor options = sn_cursor_over(bytes, bytes ? size : 0);
    while (sn_cursor_left(&options) && !options.bad)
        read_option_v6(&options, declaration);
    if (cur->bad || options.bad)
        declaration->why = "its options end early";
    return true;
}

/* What the stream does not say: an opcode by the name, the layout of native events by a table. */
static void complete(struct sn_nettrace_reader *reader, struct declaration *declaration)
{
    struct sn_schema *schema = &declaration->schema;

    if (declaration->why) {
        schema->fields = NULL;
        schema->field_count = 0;
    }
    schema->has_layout = schema->field_count > 0;
    if (!declaration->has_opcode && ends_with(schema->name, "Start"))
        schema->opcode = OPCODE_START;
    if (!declaration->has_opcode && ends_with(schema->name, "Stop"))
        schema->opcode = OPCODE_STOP;
    if (!schema->name[0] && !schema->field_count && !declaration->why && reader->layout)
        schema->layout_from_table =
            reader->layout(reader->layout_user, schema, &reader->schemas.arena);
}

static struct sn_schema *keep(struct sn_nettrace_schemas *schemas,
                              const struct declaration *declaration, uint64_t hash)
{
    if (schemas->count >= SN_NETTRACE_SCHEMA_MAX)
        return NULL;
    struct sn_schema *schema = sn_arena_alloc(&schemas->arena, sizeof(*schema));
    if (!schema)
        return NULL;
    *schema = declaration->schema;
    schema->index = schemas->count++;
    uint64_t *slot = sn_table_put(&schemas->by_hash, hash);
    if (slot)
        *slot = (uintptr_t)schema;
    return schema;
}

static bool widen(struct sn_nettrace_schemas *schemas, uint32_t id)
{
    if (id < schemas->dense_count)
        return true;
    uint32_t count = schemas->dense_count ? schemas->dense_count : 256;
    while (count <= id)
        count *= 2;
    struct sn_nettrace_schema_slot *by_id = realloc(schemas->by_id, count * sizeof(*by_id));
    if (!by_id)
        return false;
    memset(by_id + schemas->dense_count, 0, (count - schemas->dense_count) * sizeof(*by_id));
    schemas->by_id = by_id;
    schemas->dense_count = count;
    return true;
}

static bool map_id(struct sn_nettrace_schemas *schemas, uint32_t id, struct sn_schema *schema)
{
    if (id < SN_NETTRACE_DENSE_MAX) {
        if (!widen(schemas, id))
            return false;
        schemas->by_id[id].schema = schema;
        return true;
    }
    uint64_t *slot = sn_table_put(&schemas->far_ids, id);
    if (slot)
        *slot = (uintptr_t)schema;
    return slot != NULL;
}

static int declare(struct sn_nettrace_reader *reader, const struct declaration *declaration,
                   struct sn_schema *schema, uint64_t offset)
{
    int rc = SONDE_OK;
    if (declaration->why)
        rc = sn_nettrace_damage(reader, offset, 0, "fields of %s/%s are left out: %s",
                                schema->provider, schema->name, declaration->why);
    if (rc == SONDE_OK && reader->ops.schema)
        rc = reader->ops.schema(reader->user, schema);
    return rc;
}

/* The same event may be declared again, under another id or after the ids were cleared: it keeps
 * its schema. */
static int read_one(struct sn_nettrace_reader *reader, const uint8_t *bytes, size_t size,
                    uint64_t offset)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    struct sn_nettrace_schemas *schemas = &reader->schemas;
    struct declaration declaration = {0};
    bool is_v6 = reader->info.format_version == 6;
    uint32_t id = is_v6 ? sn_cursor_varuint32(&cur) : sn_cursor_u32(&cur);
    uint64_t hash = hash_rest(&cur);
    const uint64_t *known = sn_table_find(&schemas->by_hash, hash);
    struct sn_schema *schema = known ? (struct sn_schema *)(uintptr_t)*known : NULL;

    if (!schema) {
        if (!(is_v6 ? read_v6 : read_v4)(reader, &cur, &declaration))
            return sn_nettrace_damage(reader, offset, size,
                                      "declaration of an event cannot be read");
        complete(reader, &declaration);
        schema = keep(schemas, &declaration, hash);
    }
    if (!schema || !map_id(schemas, id, schema))
        return sn_nettrace_damage(reader, offset, size, "too many events are declared");
    return known ? SONDE_OK : declare(reader, &declaration, schema, offset);
}

static int report_row(struct sn_nettrace_reader *reader, uint64_t offset, size_t left)
{
    return sn_nettrace_damage(reader, offset, left,
                              "metadata row cannot be read; the rest of its block is lost");
}

static int each_v6(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                   uint64_t offset)
{
    struct sn_cursor cur = sn_cursor_over(block, size);
    sn_cursor_skip(&cur, sn_cursor_u16(&cur));
    if (cur.bad)
        return sn_nettrace_damage(reader, offset, size, "metadata block header cannot be read");
    while (sn_cursor_left(&cur)) {
        size_t start = sn_cursor_offset(&cur);
        uint16_t row_size = sn_cursor_u16(&cur);
        const uint8_t *row = sn_cursor_bytes(&cur, row_size);
        if (cur.bad)
            return report_row(reader, offset + start, size - start);
        int rc = read_one(reader, row, row_size, offset + start);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

static bool next_row(struct sn_nettrace_row *row, struct sn_cursor *cur, bool is_compressed)
{
    if (!is_compressed)
        return sn_row_plain(row, cur, false);
    size_t left = sn_cursor_left(cur);
    bool bad = false;
    size_t used = left >= SN_ROW_REACH ? sn_row_header(row, cur->at, false, &bad)
                                       : sn_row_header_at_end(row, cur->at, left, false, &bad);
    if (bad)
        return false;
    sn_cursor_skip(cur, used);
    sn_cursor_skip(cur, row->payload_size);
    return !cur->bad;
}

static int each_v4(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                   uint64_t offset)
{
    struct sn_cursor cur = sn_cursor_over(block, size);
    uint16_t header_size = sn_cursor_u16(&cur);
    bool is_compressed = sn_cursor_u16(&cur) & FLAG_COMPRESSED;
    struct sn_nettrace_row row = {0};

    if (cur.bad || header_size < HEADER_SIZE_V4 || header_size > size)
        return sn_nettrace_damage(reader, offset, size, "metadata block header cannot be read");
    sn_cursor_skip(&cur, header_size - 4u);
    while (sn_cursor_left(&cur)) {
        size_t start = sn_cursor_offset(&cur);
        if (!next_row(&row, &cur, is_compressed))
            return report_row(reader, offset + start, size - start);
        int rc = read_one(reader, row.payload, row.payload_size, offset + start);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

int sn_nettrace_metadata_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                               uint64_t offset)
{
    bool is_v6 = reader->info.format_version == 6;
    return (is_v6 ? each_v6 : each_v4)(reader, block, size, offset);
}
