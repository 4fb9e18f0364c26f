#include "format/tracepoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"

/* A record is at most a page and a bit in every kernel; offsets beyond are nonsense. */
#define RECORD_LIMIT 65536u
#define ARENA_LIMIT  (256u << 10)

static const struct sn_field text_unit = {.name = "", .type = SN_TYPE_UTF8_UNIT};
static const struct sn_field byte_unit = {.name = "", .type = SN_TYPE_U8};

struct span {
    const char *at;
    const char *end;
};

/* One line "field:TYPE NAME[COUNT]; offset:8; size:4; signed:1;" */
struct declaration {
    struct span type;
    struct span name;
    struct span count; /* between the brackets; at NULL: no array */
    uint64_t offset;
    uint64_t size;
    uint64_t is_signed;
};

struct parsing {
    struct sn_tracepoint *tracepoint;
    struct sn_field fields[SN_TRACEPOINT_FIELD_MAX];
    struct sn_tracepoint_place places[SN_TRACEPOINT_FIELD_MAX];
    uint16_t count;
    uint32_t end; /* of the fields so far */
    bool has_id;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct span trim(struct span span)
{
    while (span.at < span.end && is_blank(*span.at))
        span.at++;
    while (span.at < span.end && is_blank(span.end[-1]))
        span.end--;
    return span;
}

static size_t length(struct span span)
{
    return (size_t)(span.end - span.at);
}

static bool starts_with(struct span span, const char *prefix)
{
    size_t size = strlen(prefix);
    return length(span) >= size && memcmp(span.at, prefix, size) == 0;
}

static bool is_text(struct span span, const char *text)
{
    return length(span) == strlen(text) && starts_with(span, text);
}

static bool to_number(struct span span, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (const char *at = span.at; at < span.end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        number = number * 10 + (uint64_t)(*at - '0');
        if (number > most)
            return false;
    }
    *ret_number = number;
    return span.at < span.end;
}

/* Takes the text up to `mark`, which is eaten; false when there is no mark. */
static bool take_until(struct span *from, char mark, struct span *ret_part)
{
    const char *found = length(*from) ? memchr(from->at, mark, length(*from)) : NULL;
    if (!found)
        return false;
    *ret_part = trim((struct span){from->at, found});
    from->at = found + 1;
    return true;
}

/* "  key:NUMBER;" */
static bool take_number(struct span *from, const char *key, uint64_t most, uint64_t *ret_number)
{
    struct span part;
    if (!take_until(from, ';', &part) || !starts_with(part, key))
        return false;
    part.at += strlen(key);
    return to_number(part, most, ret_number);
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "unsigned long args[6]" into its three parts; "__data_loc char[] name" has brackets in the type.
 */
static bool split_declaration(struct span text, struct declaration *ret_line)
{
    if (length(text) && text.end[-1] == ']') {
        const char *open = text.end - 1;
        while (open > text.at && *open != '[')
            open--;
        if (*open != '[')
            return false;
        ret_line->count = trim((struct span){open + 1, text.end - 1});
        text.end = open;
        text = trim(text);
    }
    const char *name = text.end;
    while (name > text.at && is_name_char(name[-1]))
        name--;
    ret_line->name = (struct span){name, text.end};
    ret_line->type = trim((struct span){text.at, name});
    return length(ret_line->name) && length(ret_line->type);
}

static bool parse_line(struct span line, struct declaration *ret_line)
{
    struct span text;
    *ret_line = (struct declaration){0};
    line.at += strlen("field:");
    if (!take_until(&line, ';', &text) || !split_declaration(text, ret_line) ||
        !take_number(&line, "offset:", RECORD_LIMIT, &ret_line->offset) ||
        !take_number(&line, "size:", RECORD_LIMIT, &ret_line->size))
        return false;
    if (!take_number(&line, "signed:", 1, &ret_line->is_signed))
        ret_line->is_signed = 0; /* kernels before 2.6.39 do not say */
    return true;
}

static uint8_t number_type(uint64_t size, bool is_signed)
{
    switch (size) {
    case 1: return is_signed ? SN_TYPE_I8 : SN_TYPE_U8;
    case 2: return is_signed ? SN_TYPE_I16 : SN_TYPE_U16;
    case 4: return is_signed ? SN_TYPE_I32 : SN_TYPE_U32;
    case 8: return is_signed ? SN_TYPE_I64 : SN_TYPE_U64;
    default: return 0;
    }
}

static bool is_char(struct span type)
{
    return is_text(type, "char") || is_text(type, "const char") || starts_with(type, "char[");
}

/* Texts and arrays behind the record's fixed part: a place and a size stand in their stead. */
static bool shape_located(const struct declaration *line, struct sn_field *field)
{
    static const char data[] = "__data_loc ";
    static const char relative[] = "__rel_loc ";
    struct span type = line->type;
    if (line->size != 4)
        return false;
    if (starts_with(type, data)) {
        field->type = SN_TYPE_DATA_LOC;
        type.at += strlen(data);
    } else if (starts_with(type, relative)) {
        field->type = SN_TYPE_REL_LOC;
        type.at += strlen(relative);
    } else {
        return false;
    }
    field->child_count = 1;
    field->children = is_char(trim(type)) ? &text_unit : &byte_unit;
    return true;
}

/* An array in the record. What its elements are is known from its count; a count that is a name
 * (older kernels print macros), and structures, leave bytes. */
static bool shape_array(struct parsing *parsing, const struct declaration *line,
                        struct sn_field *field)
{
    uint64_t count = 0;
    uint8_t element = 0;
    field->type = SN_TYPE_FIXED_ARRAY;
    field->count = (uint16_t)line->size;
    field->child_count = 1;
    field->children = is_char(line->type) ? &text_unit : &byte_unit;
    if (is_char(line->type) || !line->count.at ||
        !to_number(line->count, RECORD_LIMIT - 1, &count) || !count || line->size % count)
        return true;
    element = number_type(line->size / count, line->is_signed);
    if (!element || element == SN_TYPE_U8)
        return true;
    struct sn_field *child = sn_arena_alloc(&parsing->tracepoint->arena, sizeof(*child));
    if (!child)
        return false;
    *child = (struct sn_field){.name = "", .type = element};
    field->count = (uint16_t)count;
    field->children = child;
    return true;
}

static bool shape_field(struct parsing *parsing, const struct declaration *line,
                        struct sn_field *field, struct sn_tracepoint_place *place)
{
    place->offset = (uint32_t)line->offset;
    if (shape_located(line, field))
        return true;
    uint8_t type = line->count.at ? 0 : number_type(line->size, line->is_signed);
    if (!type)
        return shape_array(parsing, line, field);
    field->type = line->size == 1 && is_text(line->type, "bool") ? SN_TYPE_BOOL8 : type;
    *place = (struct sn_tracepoint_place){.offset = (uint32_t)line->offset,
                                          .size = (uint8_t)line->size,
                                          .is_signed = line->is_signed};
    return true;
}

/* Bytes between two fields; a field without a name is passed over when a payload is read. */
static void add_hole(struct parsing *parsing, uint32_t size)
{
    parsing->fields[parsing->count++] = (struct sn_field){.name = "",
                                                          .type = SN_TYPE_FIXED_ARRAY,
                                                          .count = (uint16_t)size,
                                                          .child_count = 1,
                                                          .children = &byte_unit};
}

static const char *add_field(struct parsing *parsing, const struct declaration *line)
{
    if (line->offset < parsing->end || line->offset + line->size >= RECORD_LIMIT)
        return "its fields lie over each other or too far away";
    bool has_hole = line->offset > parsing->end;
    if (parsing->count + (unsigned)has_hole >= SN_TRACEPOINT_FIELD_MAX)
        return "it has too many fields";
    if (has_hole)
        add_hole(parsing, (uint32_t)line->offset - parsing->end);
    struct sn_field *field = &parsing->fields[parsing->count];
    field->name = sn_arena_copy(&parsing->tracepoint->arena, line->name.at, length(line->name));
    if (!field->name || !shape_field(parsing, line, field, &parsing->places[parsing->count]))
        return "it takes too much memory";
    parsing->count++;
    parsing->end = (uint32_t)(line->offset + line->size);
    return NULL;
}

/* Returns what is wrong with the line, or NULL. Lines that are none of ours are passed over. */
static const char *take_line(struct parsing *parsing, struct span line)
{
    struct sn_schema *schema = &parsing->tracepoint->schema;
    struct declaration declaration;
    uint64_t id;
    line = trim(line);
    if (starts_with(line, "name:")) {
        line.at += strlen("name:");
        line = trim(line);
        schema->name = sn_arena_copy(&parsing->tracepoint->arena, line.at, length(line));
        return schema->name && schema->name[0] ? NULL : "it has no name";
    }
    if (starts_with(line, "ID:")) {
        line.at += strlen("ID:");
        parsing->has_id = to_number(trim(line), UINT32_MAX, &id);
        schema->event_id = parsing->has_id ? (uint32_t)id : 0;
        return parsing->has_id ? NULL : "its number is none";
    }
    if (!starts_with(line, "field:"))
        return NULL;
    if (!parse_line(line, &declaration))
        return "a field cannot be read";
    return add_field(parsing, &declaration);
}

static int take_lines(struct parsing *parsing, const char *text, size_t size,
                      struct sonde_error *err)
{
    const char *end = text + size;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct span line = {at, newline ? newline : end};
        if (starts_with(line, "print fmt:"))
            break;
        const char *why = take_line(parsing, line);
        if (why)
            return sn_fail(err, SONDE_E_FORMAT, (uint64_t)(at - text),
                           "the kernel's description of a tracepoint cannot be read: %s", why);
        at = newline ? newline + 1 : end;
    }
    if (!parsing->has_id || !parsing->tracepoint->schema.name || !parsing->count)
        return sn_fail(err, SONDE_E_FORMAT, size,
                       "the kernel's description of a tracepoint is not whole");
    return SONDE_OK;
}

/* Moves what was gathered into the arena. */
static int keep(struct parsing *parsing, const char *subsystem, struct sonde_error *err)
{
    struct sn_tracepoint *tracepoint = parsing->tracepoint;
    struct sn_schema *schema = &tracepoint->schema;
    size_t fields_size = parsing->count * sizeof(*parsing->fields);
    size_t places_size = parsing->count * sizeof(*parsing->places);
    struct sn_field *fields = sn_arena_alloc(&tracepoint->arena, fields_size);
    tracepoint->places = sn_arena_alloc(&tracepoint->arena, places_size);
    schema->provider = sn_arena_copy(&tracepoint->arena, subsystem, strlen(subsystem));
    if (!fields || !tracepoint->places || !schema->provider)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a tracepoint");
    memcpy(fields, parsing->fields, fields_size);
    memcpy(tracepoint->places, parsing->places, places_size);
    schema->fields = fields;
    schema->field_count = parsing->count;
    schema->has_layout = true;
    schema->level = 4;
    tracepoint->record_size = parsing->end;
    return SONDE_OK;
}

int sn_tracepoint_parse(const char *subsystem, const char *text, size_t size,
                        struct sn_tracepoint **ret_tracepoint, struct sonde_error *err)
{
    if (size > SN_TRACEPOINT_TEXT_MAX)
        return sn_fail(err, SONDE_E_LIMIT, size, "a tracepoint's description is too long");
    struct sn_tracepoint *tracepoint = calloc(1, sizeof(*tracepoint));
    struct parsing *parsing = calloc(1, sizeof(*parsing));
    int rc = SONDE_E_NOMEM;
    if (tracepoint && parsing) {
        tracepoint->arena = sn_arena_with_limit(ARENA_LIMIT);
        parsing->tracepoint = tracepoint;
        rc = take_lines(parsing, text, size, err);
        if (rc == SONDE_OK)
            rc = keep(parsing, subsystem, err);
    } else {
        rc = sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a tracepoint");
    }
    free(parsing);
    if (rc == SONDE_OK)
        *ret_tracepoint = tracepoint;
    else
        sn_tracepoint_free(tracepoint);
    return rc;
}

void sn_tracepoint_free(struct sn_tracepoint *tracepoint)
{
    if (!tracepoint)
        return;
    sn_arena_done(&tracepoint->arena);
    free(tracepoint);
}

struct sn_tracepoint_place sn_tracepoint_find(const struct sn_tracepoint *tracepoint,
                                              const char *name)
{
    for (uint16_t i = 0; i < tracepoint->schema.field_count; i++) {
        if (strcmp(tracepoint->schema.fields[i].name, name) == 0)
            return tracepoint->places[i];
    }
    return (struct sn_tracepoint_place){0};
}

bool sn_tracepoint_read(const struct sn_tracepoint_place *place, const uint8_t *record, size_t size,
                        int64_t *ret_value)
{
    uint64_t value = 0;
    if (!place->size || place->offset > size || place->size > size - place->offset)
        return false;
    memcpy(&value, record + place->offset, place->size);
    unsigned unused_bits = 64u - 8u * place->size;
    *ret_value = place->is_signed ? (int64_t)(value << unused_bits) >> unused_bits : (int64_t)value;
    return true;
}

/* Where the bytes end that a located field tells of: u16 offset, u16 size. */
static size_t located_end(uint8_t type, uint32_t field_offset, const uint8_t *record, size_t size)
{
    struct sn_cursor cur = sn_cursor_over(record, size);
    sn_cursor_skip(&cur, field_offset);
    size_t offset = sn_cursor_u16(&cur);
    size_t length = sn_cursor_u16(&cur);
    size_t base = type == SN_TYPE_REL_LOC ? sn_cursor_offset(&cur) : 0;
    return cur.bad ? 0 : base + offset + length;
}

size_t sn_tracepoint_size(const struct sn_tracepoint *tracepoint, const uint8_t *record,
                          size_t size)
{
    size_t used = tracepoint->record_size;
    for (uint16_t i = 0; i < tracepoint->schema.field_count; i++) {
        uint8_t type = tracepoint->schema.fields[i].type;
        if (type != SN_TYPE_DATA_LOC && type != SN_TYPE_REL_LOC)
            continue;
        size_t end = located_end(type, tracepoint->places[i].offset, record, size);
        used = end > used ? end : used;
    }
    return used < size ? used : size;
}
