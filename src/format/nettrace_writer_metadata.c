/* Declarations of events, for the writer: the three layouts that nettrace_fields.c reads. */
#include <string.h>

#include "base/text.h"
#include "format/nettrace_internal.h"
#include "format/nettrace_writer_internal.h"
#include "model/schema.h"

#define TAG_OPCODE 1u
#define TAG_FIELDS 2u

#define OPTION_OPCODE   1u
#define OPTION_KEYWORDS 3u
#define OPTION_LEVEL    8u
#define OPTION_VERSION  9u

#define ROW_PAYLOAD_SIZE 0x80u

/* An object whose fields are being written. */
struct level {
    const struct sn_field *fields;
    const struct sn_field *owner; /* the field it belongs to; NULL at the top */
    size_t size_at;               /* where the size of `owner` goes */
    uint16_t count;
    uint16_t next;
};

struct list {
    struct sn_buf *to;
    enum sn_nettrace_fields_kind kind;
    uint8_t pointer_type;
    unsigned depth;
    struct level levels[SN_FIELD_DEPTH_MAX + 1];
};

static bool is_array(const struct sn_field *field)
{
    return field->child_count == 1 &&
           (field->type == SN_TYPE_ARRAY || field->type == SN_TYPE_FIXED_ARRAY ||
            field->type == SN_TYPE_REL_LOC || field->type == SN_TYPE_DATA_LOC);
}

/* Version 4 has no one-byte bool, but where an event is one nameless object its bools are read as
 * such. */
static bool fits(enum sn_nettrace_fields_kind kind, uint8_t type, bool is_self_describing)
{
    if (type == SN_TYPE_BOOL8 && is_self_describing)
        return true;
    if (type == SN_TYPE_POINTER)
        return true; /* written as the number it is */
    if (kind == SN_NETTRACE_FIELDS_V6)
        return type <= SN_TYPE_BOOL8;
    return type <= (kind == SN_NETTRACE_FIELDS_V2 ? SN_TYPE_ARRAY : SN_TYPE_STRING16);
}

/* Whether a layout can express all of the fields. */
static bool all_fit(enum sn_nettrace_fields_kind kind, const struct sn_field *fields,
                    uint16_t count)
{
    struct level levels[SN_FIELD_DEPTH_MAX + 1] = {{.fields = fields, .count = count}};
    bool is_self_describing = count == 1 && fields[0].type == SN_TYPE_OBJECT && !fields[0].name[0];
    unsigned depth = 1;
    while (depth) {
        struct level *level = &levels[depth - 1];
        if (level->next == level->count) {
            depth--;
            continue;
        }
        const struct sn_field *field = &level->fields[level->next++];
        if (!fits(kind, field->type, is_self_describing) ||
            (field->child_count && depth > SN_FIELD_DEPTH_MAX))
            return false;
        if (field->child_count)
            levels[depth++] =
                (struct level){.fields = field->children, .count = field->child_count};
    }
    return true;
}

static void put_name(const struct list *list, const char *name)
{
    if (list->kind == SN_NETTRACE_FIELDS_V6) {
        sn_buf_varuint(list->to, strlen(name));
        sn_buf_text(list->to, name);
    } else {
        sn_text_to_utf16(list->to, name, strlen(name));
        sn_buf_u16(list->to, 0);
    }
}

static void put_type(const struct list *list, uint8_t type)
{
    if (type == SN_TYPE_POINTER)
        type = list->pointer_type;
    if (type == SN_TYPE_BOOL8 && list->kind != SN_NETTRACE_FIELDS_V6)
        type = SN_TYPE_BOOL32;
    if (list->kind == SN_NETTRACE_FIELDS_V6)
        sn_buf_u8(list->to, type);
    else
        sn_buf_u32(list->to, type);
}

static void put_count(const struct list *list, uint16_t count)
{
    if (list->kind == SN_NETTRACE_FIELDS_V6)
        sn_buf_u16(list->to, count);
    else
        sn_buf_u32(list->to, count);
}

/* Layout 2 counts the size itself, version 6 does not. */
static void patch_size(const struct list *list, size_t size_at)
{
    struct sn_buf *to = list->to;
    if (to->failed)
        return;
    uint32_t size = (uint32_t)(to->size - size_at);
    uint16_t short_size = (uint16_t)(size - 2);
    if (list->kind == SN_NETTRACE_FIELDS_V6)
        memcpy(to->bytes + size_at, &short_size, sizeof(short_size));
    else
        memcpy(to->bytes + size_at, &size, sizeof(size));
}

/* What stands behind the type: counts of fixed arrays, the inner first, or the name. */
static void end_field(const struct list *list, const struct sn_field *field, size_t size_at)
{
    uint16_t counts[SN_FIELD_DEPTH_MAX];
    unsigned fixed = 0;

    if (list->kind == SN_NETTRACE_FIELDS_V1) {
        put_name(list, field->name);
        return;
    }
    for (const struct sn_field *at = field; is_array(at); at = at->children) {
        if (at->type == SN_TYPE_FIXED_ARRAY && fixed < SN_FIELD_DEPTH_MAX)
            counts[fixed++] = at->count;
    }
    while (fixed)
        sn_buf_u16(list->to, counts[--fixed]);
    patch_size(list, size_at);
}

static void put_field(struct list *list, const struct sn_field *field)
{
    size_t size_at = list->to->size;
    if (list->kind != SN_NETTRACE_FIELDS_V1) {
        sn_buf_fill(list->to, 0, list->kind == SN_NETTRACE_FIELDS_V6 ? 2 : 4);
        put_name(list, field->name);
    }
    const struct sn_field *inner = field;
    for (; is_array(inner); inner = inner->children)
        put_type(list, inner->type);
    put_type(list, inner->type);
    if (inner->type != SN_TYPE_OBJECT || list->depth > SN_FIELD_DEPTH_MAX) {
        end_field(list, field, size_at);
        return;
    }
    put_count(list, inner->child_count);
    list->levels[list->depth++] = (struct level){
        .fields = inner->children,
        .owner = field,
        .size_at = size_at,
        .count = inner->child_count,
    };
}

static void put_fields(struct list *list, const struct sn_field *fields, uint16_t count)
{
    put_count(list, count);
    list->levels[list->depth++] = (struct level){.fields = fields, .count = count};
    while (list->depth) {
        struct level *level = &list->levels[list->depth - 1];
        if (level->next < level->count) {
            put_field(list, &level->fields[level->next++]);
            continue;
        }
        list->depth--;
        if (level->owner)
            end_field(list, level->owner, level->size_at);
    }
}

static struct list list_of(struct sn_nettrace_writer *writer, enum sn_nettrace_fields_kind kind,
                           struct sn_buf *to)
{
    return (struct list){
        .to = to,
        .kind = kind,
        .pointer_type = writer->info.pointer_size == 4 ? SN_TYPE_U32 : SN_TYPE_U64,
    };
}

static void put_tags_v4(struct sn_nettrace_writer *writer, struct sn_buf *to,
                        const struct sn_schema *schema, bool needs_fields)
{
    if (!schema->layout_from_table) {
        sn_buf_u32(to, 1);
        sn_buf_u8(to, TAG_OPCODE);
        sn_buf_u8(to, schema->opcode);
    }
    if (!needs_fields)
        return;
    size_t size_at = to->size;
    sn_buf_u32(to, 0);
    sn_buf_u8(to, TAG_FIELDS);
    struct list list = list_of(writer, SN_NETTRACE_FIELDS_V2, to);
    put_fields(&list, schema->fields, schema->field_count);
    uint32_t size = (uint32_t)(to->size - size_at - 5);
    if (!to->failed)
        memcpy(to->bytes + size_at, &size, sizeof(size));
}

static void put_v4(struct sn_nettrace_writer *writer, const struct sn_schema *schema, uint32_t id)
{
    struct sn_buf *to = &writer->scratch;
    uint16_t count = schema->layout_from_table ? 0 : schema->field_count;
    bool is_v1 = all_fit(SN_NETTRACE_FIELDS_V1, schema->fields, count);
    bool is_v2 = !is_v1 && all_fit(SN_NETTRACE_FIELDS_V2, schema->fields, count);
    struct list list = list_of(writer, SN_NETTRACE_FIELDS_V1, to);

    sn_buf_clear(to);
    sn_buf_u32(to, id);
    put_name(&list, schema->provider);
    sn_buf_u32(to, schema->event_id);
    put_name(&list, schema->layout_from_table ? "" : schema->name);
    sn_buf_u64(to, schema->keywords);
    sn_buf_u32(to, schema->version);
    sn_buf_u32(to, schema->level);
    put_fields(&list, schema->fields, is_v1 ? count : 0);
    put_tags_v4(writer, to, schema, is_v2);

    sn_buf_u8(&writer->metadata, ROW_PAYLOAD_SIZE);
    sn_buf_varuint(&writer->metadata, 0); /* no time */
    sn_buf_varuint(&writer->metadata, to->size);
    sn_buf_append(&writer->metadata, to->bytes, to->size);
    writer->metadata.failed |= to->failed;
}

static void put_options_v6(struct sn_buf *to, const struct sn_schema *schema)
{
    size_t size_at = to->size;
    sn_buf_u16(to, 0);
    if (!schema->layout_from_table) {
        sn_buf_u8(to, OPTION_OPCODE);
        sn_buf_u8(to, schema->opcode);
    }
    sn_buf_u8(to, OPTION_KEYWORDS);
    sn_buf_u64(to, schema->keywords);
    sn_buf_u8(to, OPTION_LEVEL);
    sn_buf_u8(to, schema->level);
    sn_buf_u8(to, OPTION_VERSION);
    sn_buf_u8(to, (uint8_t)schema->version);
    uint16_t size = (uint16_t)(to->size - size_at - 2);
    if (!to->failed)
        memcpy(to->bytes + size_at, &size, sizeof(size));
}

/* Without its fields when they, or the whole row, do not fit. */
static void put_v6(struct sn_nettrace_writer *writer, const struct sn_schema *schema, uint32_t id,
                   uint16_t field_count)
{
    struct sn_buf *to = &writer->scratch;
    struct list list = list_of(writer, SN_NETTRACE_FIELDS_V6, to);

    sn_buf_clear(to);
    sn_buf_varuint(to, id);
    put_name(&list, schema->provider);
    sn_buf_varuint(to, schema->event_id);
    put_name(&list, schema->layout_from_table ? "" : schema->name);
    put_fields(&list, schema->fields, field_count);
    put_options_v6(to, schema);
}

void sn_nettrace_write_declaration(struct sn_nettrace_writer *writer,
                                   const struct sn_schema *schema, uint32_t id)
{
    if (writer->version == 4) {
        put_v4(writer, schema, id);
        return;
    }
    uint16_t count = schema->layout_from_table ? 0 : schema->field_count;
    put_v6(writer, schema, id, all_fit(SN_NETTRACE_FIELDS_V6, schema->fields, count) ? count : 0);
    if (writer->scratch.size > UINT16_MAX)
        put_v6(writer, schema, id, 0);
    writer->metadata.failed |= writer->scratch.failed || writer->scratch.size > UINT16_MAX;
    sn_buf_u16(&writer->metadata, (uint16_t)writer->scratch.size);
    sn_buf_append(&writer->metadata, writer->scratch.bytes, writer->scratch.size);
}
