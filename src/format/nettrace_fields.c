/* Lists of fields in metadata, in their three layouts, without recursion.
 *
 * Fields are first read into a flat list in the order they stand in, each with the place of its
 * parent; only a list that was read to its end becomes an array of struct sn_field. */
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/text.h"
#include "format/nettrace_internal.h"

#define TOP UINT32_MAX

struct node {
    const char *name;
    uint32_t parent; /* place in the list, or TOP */
    uint32_t children;
    uint32_t first; /* place of the first child in the final array; counts up while it is filled */
    uint16_t count; /* of a fixed array */
    uint8_t type;
};

/* An object whose fields are being read. */
struct level {
    uint32_t left;    /* fields still to come */
    uint32_t owner;   /* the node whose fields they are, or TOP */
    uint32_t field;   /* the node that its own field begins with: arrays around it */
    uint32_t nesting; /* how many objects and arrays its fields are in */
    size_t end;       /* where its own field ends; unused in layout 1 */
};

struct fields {
    struct sn_nettrace_schemas *schemas;
    struct sn_cursor *cur;
    enum sn_nettrace_fields_kind kind;
    unsigned depth; /* of levels */
    struct level levels[SN_FIELD_DEPTH_MAX + 1];
    const char *why;
};

static uint64_t hash_bytes(const uint8_t *bytes, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001B3u;
    return hash;
}

/* The one copy of a string. Strings of one hash that differ are kept twice: correct all the same.
 */
static const char *intern(struct sn_nettrace_schemas *schemas, const char *text, size_t size)
{
    if (!size)
        return "";
    uint64_t *slot = sn_table_put(&schemas->strings, hash_bytes((const uint8_t *)text, size));
    const char *known = slot ? (const char *)(uintptr_t)*slot : NULL;
    if (known && strlen(known) == size && memcmp(known, text, size) == 0)
        return known;
    const char *copy = sn_arena_copy(&schemas->arena, text, size);
    if (slot && copy)
        *slot = (uintptr_t)copy;
    return copy;
}

const char *sn_nettrace_string16(struct sn_nettrace_schemas *schemas, struct sn_cursor *cur)
{
    const uint8_t *units = cur->at;
    size_t count = 0;
    while (sn_cursor_u16(cur))
        count++;
    if (cur->bad || count > SN_NETTRACE_STRING_MAX)
        return NULL;
    sn_buf_clear(&schemas->scratch);
    sn_text_from_utf16(&schemas->scratch, units, count);
    if (schemas->scratch.failed)
        return NULL;
    return intern(schemas, (const char *)schemas->scratch.bytes, schemas->scratch.size);
}

/* Copies UTF-8 up to a zero; what is none becomes U+FFFD. */
static void append_valid(struct sn_buf *to, const char *text, size_t size)
{
    while (size && *text) {
        uint32_t point;
        bool is_valid;
        size_t length = sn_text_decode(text, size, &point, &is_valid);
        sn_buf_append(to, is_valid ? text : "\xEF\xBF\xBD", is_valid ? length : 3);
        text += length;
        size -= length;
    }
}

const char *sn_nettrace_string8(struct sn_nettrace_schemas *schemas, struct sn_cursor *cur)
{
    uint32_t size = sn_cursor_varuint32(cur);
    const uint8_t *bytes = sn_cursor_bytes(cur, size);
    if (!bytes || size > SN_NETTRACE_STRING_MAX)
        return NULL;
    sn_buf_clear(&schemas->scratch);
    append_valid(&schemas->scratch, (const char *)bytes, size);
    if (schemas->scratch.failed)
        return NULL;
    return intern(schemas, (const char *)schemas->scratch.bytes, schemas->scratch.size);
}

static struct node *node_at(const struct fields *fields, uint32_t place)
{
    return (struct node *)(void *)fields->schemas->nodes.bytes + place;
}

static uint32_t node_count(const struct fields *fields)
{
    return (uint32_t)(fields->schemas->nodes.size / sizeof(struct node));
}

static bool fail(struct fields *fields, const char *why)
{
    fields->why = why;
    return false;
}

static bool add_node(struct fields *fields, uint32_t parent, uint8_t type)
{
    struct node node = {.name = "", .parent = parent, .type = type};
    if (node_count(fields) >= SN_NETTRACE_FIELDS_MAX)
        return fail(fields, "too many fields");
    sn_buf_append(&fields->schemas->nodes, &node, sizeof(node));
    if (fields->schemas->nodes.failed)
        return fail(fields, "no memory for its fields");
    if (parent != TOP)
        node_at(fields, parent)->children++;
    return true;
}

static bool is_array(uint32_t type)
{
    return type == SN_TYPE_ARRAY || type == SN_TYPE_FIXED_ARRAY || type == SN_TYPE_REL_LOC ||
           type == SN_TYPE_DATA_LOC;
}

/* Which types a layout knows: the first has no arrays, and only the last those from 20. */
static bool is_known(enum sn_nettrace_fields_kind kind, uint32_t type)
{
    if (type == SN_TYPE_OBJECT)
        return true;
    if (type < SN_TYPE_BOOL32)
        return false;
    if (kind == SN_NETTRACE_FIELDS_V1)
        return type < SN_TYPE_ARRAY;
    return type <= (kind == SN_NETTRACE_FIELDS_V2 ? SN_TYPE_ARRAY : SN_TYPE_BOOL8);
}

static uint32_t read_count(const struct fields *fields)
{
    return fields->kind == SN_NETTRACE_FIELDS_V6 ? sn_cursor_u16(fields->cur)
                                                 : sn_cursor_u32(fields->cur);
}

static uint32_t read_type(const struct fields *fields)
{
    return fields->kind == SN_NETTRACE_FIELDS_V6 ? sn_cursor_u8(fields->cur)
                                                 : sn_cursor_u32(fields->cur);
}

static const char *read_name(const struct fields *fields)
{
    return fields->kind == SN_NETTRACE_FIELDS_V6
               ? sn_nettrace_string8(fields->schemas, fields->cur)
               : sn_nettrace_string16(fields->schemas, fields->cur);
}

static bool push(struct fields *fields, struct level level)
{
    /* No field is shorter than 4 bytes, so a count that the bytes cannot hold is caught early. */
    if (fields->cur->bad || level.left > sn_cursor_left(fields->cur) / 4)
        return fail(fields, "more fields than bytes for them");
    fields->levels[fields->depth++] = level;
    return true;
}

/* What stands behind a field's type: counts of fixed arrays from the inside out, or its name. */
static bool close_field(struct fields *fields, uint32_t field, size_t end)
{
    struct sn_cursor *cur = fields->cur;
    if (fields->kind == SN_NETTRACE_FIELDS_V1) {
        const char *name = read_name(fields);
        if (!name)
            return fail(fields, "a field's name cannot be read");
        node_at(fields, field)->name = name;
        return true;
    }
    size_t at = sn_cursor_offset(cur);
    if (cur->bad || at > end)
        return fail(fields, "a field is longer than its size");
    sn_cursor_skip(cur, end - at);
    return !cur->bad || fail(fields, "a field ends early");
}

/* Reads the counts of the fixed arrays that end here: from `node` outwards up to `field`. */
static void close_arrays(struct fields *fields, uint32_t node, uint32_t field)
{
    while (node != field) {
        node = node_at(fields, node)->parent;
        if (node_at(fields, node)->type == SN_TYPE_FIXED_ARRAY)
            node_at(fields, node)->count = sn_cursor_u16(fields->cur);
    }
}

/* A type, with the arrays around it; when it is an object, its level is pushed. */
static bool read_type_chain(struct fields *fields, uint32_t parent, size_t end)
{
    uint32_t field = node_count(fields);
    uint32_t nesting = fields->levels[fields->depth - 1].nesting;
    for (;;) {
        uint32_t type = read_type(fields);
        if (fields->cur->bad || !is_known(fields->kind, type))
            return fail(fields, "a field's type is not known");
        if (++nesting > SN_FIELD_DEPTH_MAX)
            return fail(fields, "fields nest too deep");
        uint32_t node = node_count(fields);
        if (!add_node(fields, parent, (uint8_t)type))
            return false;
        parent = node;
        if (type == SN_TYPE_OBJECT)
            return push(fields, (struct level){read_count(fields), node, field, nesting, end});
        if (!is_array(type)) {
            close_arrays(fields, node, field);
            return close_field(fields, field, end);
        }
    }
}

static bool begin_field(struct fields *fields, uint32_t parent)
{
    struct sn_cursor *cur = fields->cur;
    if (fields->kind == SN_NETTRACE_FIELDS_V1)
        return read_type_chain(fields, parent, 0);

    bool is_v6 = fields->kind == SN_NETTRACE_FIELDS_V6;
    size_t start = sn_cursor_offset(cur);
    size_t end = is_v6 ? sn_cursor_u16(cur) + start + 2 : sn_cursor_u32(cur) + start;
    const char *name = read_name(fields);
    uint32_t field = node_count(fields);
    if (!name)
        return fail(fields, "a field's name cannot be read");
    if (!read_type_chain(fields, parent, end))
        return false;
    node_at(fields, field)->name = name;
    return true;
}

static bool end_level(struct fields *fields)
{
    struct level level = fields->levels[--fields->depth];
    if (level.owner == TOP)
        return true;
    close_arrays(fields, level.owner, level.field);
    return close_field(fields, level.field, level.end);
}

/* Self-describing events (EventSource.Write) are declared as one nameless object. The runtime
 * declares their bool and decimal fields as it does elsewhere, but writes one byte and a double:
 * the payload wins. */
static bool is_self_describing(const struct fields *fields, uint32_t top_count)
{
    if (fields->kind == SN_NETTRACE_FIELDS_V6 || top_count != 1 || !node_count(fields))
        return false;
    const struct node *first = node_at(fields, 0);
    return first->type == SN_TYPE_OBJECT && !first->name[0];
}

static uint8_t written_type(uint8_t declared)
{
    return declared == SN_TYPE_BOOL32    ? SN_TYPE_BOOL8
           : declared == SN_TYPE_DECIMAL ? SN_TYPE_F64
                                         : declared;
}

/* Types that other sources of the runtime may write otherwise than they declare them. */
static bool is_doubtful(uint8_t type)
{
    return type == SN_TYPE_BOOL32 || type == SN_TYPE_DECIMAL || type == SN_TYPE_U8 ||
           type == SN_TYPE_I8 || type == SN_TYPE_U16 || type == SN_TYPE_I16;
}

/* Gives every node its place: the children of one parent side by side. */
static bool build(struct fields *fields, struct sn_schema *schema, uint32_t top_count)
{
    uint32_t count = node_count(fields);
    struct sn_field *built =
        count ? sn_arena_alloc(&fields->schemas->arena, count * sizeof(*built)) : NULL;
    if (count && !built)
        return fail(fields, "no memory for its fields");

    uint32_t next = top_count;
    for (uint32_t i = 0; i < count; i++) {
        node_at(fields, i)->first = next;
        next += node_at(fields, i)->children;
    }
    bool is_own_layout = is_self_describing(fields, top_count);
    uint32_t next_top = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct node *node = node_at(fields, i);
        schema->is_doubtful |= !is_own_layout && is_doubtful(node->type);
        uint32_t place = node->parent == TOP ? next_top++ : node_at(fields, node->parent)->first++;
        /* A parent stands before its children, so `first` has not moved yet. */
        built[place] = (struct sn_field){
            .name = node->name,
            .type = is_own_layout ? written_type(node->type) : node->type,
            .count = node->count,
            .child_count = (uint16_t)node->children,
            .children = node->children ? built + node->first : NULL,
        };
    }
    schema->fields = built;
    schema->field_count = (uint16_t)top_count;
    return true;
}

static bool read_all(struct fields *fields, struct sn_schema *schema)
{
    uint32_t count = read_count(fields);
    if (!push(fields, (struct level){.left = count, .owner = TOP}))
        return false;
    while (fields->depth) {
        struct level *level = &fields->levels[fields->depth - 1];
        bool is_done = level->left == 0;
        if (!is_done)
            level->left--;
        if (!(is_done ? end_level(fields) : begin_field(fields, level->owner)))
            return false;
    }
    return build(fields, schema, count);
}

bool sn_nettrace_fields_read(struct sn_nettrace_schemas *schemas, struct sn_cursor *cur,
                             enum sn_nettrace_fields_kind kind, struct sn_schema *schema,
                             const char **ret_why)
{
    struct fields fields = {.schemas = schemas, .cur = cur, .kind = kind, .why = ""};
    sn_buf_clear(&schemas->nodes);
    if (read_all(&fields, schema))
        return true;
    *ret_why = fields.why;
    return false;
}
