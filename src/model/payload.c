#include "model/payload.h"

#include <string.h>

#include "base/err.h"
#include "model/event.h"

static void start(struct sn_payload *payload, const struct sn_event *event)
{
    payload->cur = sn_cursor_over(event->payload, event->payload_size);
    payload->pointer_size = event->pointer_size;
    payload->depth = 0;
    payload->located_end = 0;
    payload->steps_left = 4096u + 2u * (uint64_t)event->payload_size;
    payload->levels[0].fields = event->schema->fields;
    payload->levels[0].owner = NULL;
    payload->levels[0].count = event->schema->field_count;
    payload->levels[0].next = 0;
    payload->levels[0].is_array = false;
    payload->widths = (struct sn_payload_widths){0};
}

/* Whether one of the four 16-bit units in `word` is zero. */
static bool has_zero_unit(uint64_t word)
{
    return ((word - 0x0001000100010001u) & ~word & 0x8000800080008000u) != 0;
}

/* The first 16-bit zero at or behind `at`, in steps of a unit; `end` when there is none. */
static const uint8_t *find_zero_unit(const uint8_t *at, const uint8_t *end)
{
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        if (has_zero_unit(word))
            break;
    }
    for (; end - at >= 2; at += 2) {
        if (at[0] == 0 && at[1] == 0)
            return at;
    }
    return end;
}

/* Text up to its zero of `unit` bytes, which is eaten and not part of the value. */
static void read_text(struct sn_cursor *cur, size_t unit, struct sn_value *value)
{
    const uint8_t *start = cur->at;
    size_t left = sn_cursor_left(cur);
    const uint8_t *zero = unit == 2 ? find_zero_unit(start, cur->end)
                          : left    ? memchr(start, 0, left)
                                    : NULL;
    if (!zero || zero == cur->end) {
        cur->bad = true;
        return;
    }
    value->kind = unit == 1 ? SN_VALUE_TEXT8 : SN_VALUE_TEXT16;
    value->bytes = start;
    value->size = (uint32_t)(zero - start);
    cur->at = zero + unit;
}

/* Text of a fixed size, as the kernel's tracepoints have it, is filled up with zeros. */
static void end_at_zero(struct sn_value *value)
{
    if (value->kind == SN_VALUE_TEXT8 && value->bytes)
        value->size = (uint32_t)strnlen((const char *)value->bytes, value->size);
}

static void read_bytes(struct sn_cursor *cur, uint64_t size, uint8_t kind, struct sn_value *value)
{
    value->kind = kind;
    value->size = (uint32_t)size;
    if (size > sn_cursor_left(cur))
        cur->bad = true;
    value->bytes = sn_cursor_bytes(cur, (size_t)size);
}

static void read_real(struct sn_cursor *cur, size_t width, struct sn_value *value)
{
    const uint8_t *bytes = sn_cursor_bytes(cur, width);
    float narrow = 0;
    value->kind = SN_VALUE_FLOAT;
    value->real = 0;
    if (bytes && width == sizeof(narrow)) {
        memcpy(&narrow, bytes, sizeof(narrow));
        value->real = (double)narrow;
    } else if (bytes) {
        memcpy(&value->real, bytes, sizeof(value->real));
    }
}

static void read_uint(struct sn_cursor *cur, size_t width, uint8_t kind, struct sn_value *value)
{
    const uint8_t *bytes = sn_cursor_bytes(cur, width);
    value->kind = kind;
    value->number = 0;
    if (bytes)
        memcpy(&value->number, bytes, width);
}

static void read_int(struct sn_cursor *cur, size_t width, struct sn_value *value)
{
    read_uint(cur, width, SN_VALUE_INT, value);
    unsigned unused_bits = 64u - 8u * (unsigned)width;
    value->number = (uint64_t)((int64_t)(value->number << unused_bits) >> unused_bits);
}

/* A small integer that is an enumeration: four bytes, of which it must be all there is. */
static void read_wide(struct sn_cursor *cur, uint8_t type, struct sn_value *value)
{
    int64_t wide;
    read_int(cur, 4, value);
    memcpy(&wide, &value->number, sizeof(wide));
    switch (type) {
    case SN_TYPE_U8: cur->bad |= wide < 0 || wide > UINT8_MAX; break;
    case SN_TYPE_U16: cur->bad |= wide < 0 || wide > UINT16_MAX; break;
    case SN_TYPE_I8: cur->bad |= wide < INT8_MIN || wide > INT8_MAX; break;
    default: cur->bad |= wide < INT16_MIN || wide > INT16_MAX; break;
    }
    if (wide >= 0 && (type == SN_TYPE_U8 || type == SN_TYPE_U16))
        value->kind = SN_VALUE_UINT;
}

/* An array that lies elsewhere in the payload: u16 offset, u16 size in bytes. */
static void read_located(struct sn_payload *payload, bool is_relative, struct sn_value *value)
{
    struct sn_cursor *cur = &payload->cur;
    size_t offset = sn_cursor_u16(cur);
    size_t size = sn_cursor_u16(cur);
    const uint8_t *base = is_relative ? cur->at : cur->start;
    if (cur->bad || offset + size > (size_t)(cur->end - base)) {
        cur->bad = true;
        return;
    }
    const struct sn_field *element = value->field->children;
    value->kind = element->type == SN_TYPE_UTF8_UNIT ? SN_VALUE_TEXT8
                  : element->type == SN_TYPE_CHAR16  ? SN_VALUE_TEXT16
                                                     : SN_VALUE_BYTES;
    value->bytes = base + offset;
    value->size = (uint32_t)size;
    size_t end = (size_t)(value->bytes - cur->start) + size;
    payload->located_end = end > payload->located_end ? end : payload->located_end;
    end_at_zero(value);
}

static int open_level(struct sn_payload *payload, const struct sn_field *field, uint64_t count,
                      struct sn_value *value)
{
    if (payload->depth + 1u >= sizeof(payload->levels) / sizeof(*payload->levels) ||
        !payload->steps_left)
        return SONDE_E_FORMAT;
    payload->steps_left--;
    struct sn_payload_level *level = &payload->levels[++payload->depth];
    level->fields = field->children;
    level->owner = field;
    level->count = count;
    level->next = 0;
    level->is_array = field->type != SN_TYPE_OBJECT;
    value->kind = SN_VALUE_OPEN;
    value->number = count;
    return SONDE_OK;
}

/* Arrays of bytes and of characters are one value; any other array is opened. */
static int read_array(struct sn_payload *payload, uint64_t count, struct sn_value *value)
{
    if (payload->cur.bad)
        return SONDE_E_TRUNCATED;
    switch (value->field->children->type) {
    case SN_TYPE_U8: read_bytes(&payload->cur, count, SN_VALUE_BYTES, value); break;
    case SN_TYPE_UTF8_UNIT: read_bytes(&payload->cur, count, SN_VALUE_TEXT8, value); break;
    case SN_TYPE_CHAR16: read_bytes(&payload->cur, count * 2, SN_VALUE_TEXT16, value); break;
    default: return open_level(payload, value->field, count, value);
    }
    if (!count && !payload->steps_left)
        return SONDE_E_FORMAT;
    payload->steps_left -= !count; /* nothing eats no bytes, so something else must bound it */
    if (value->field->type == SN_TYPE_FIXED_ARRAY)
        end_at_zero(value);
    return payload->cur.bad ? SONDE_E_TRUNCATED : SONDE_OK;
}

static int read_nested(struct sn_payload *payload, const struct sn_payload_level *level,
                       struct sn_value *value)
{
    const struct sn_field *field = value->field;
    switch (field->type) {
    case SN_TYPE_OBJECT: return open_level(payload, field, field->child_count, value);
    case SN_TYPE_ARRAY: return read_array(payload, sn_cursor_u16(&payload->cur), value);
    case SN_TYPE_FIXED_ARRAY: return read_array(payload, field->count, value);
    case SN_TYPE_COUNTED:
        if (level->is_array || field->count >= SN_COUNT_FIELD_MAX ||
            &level->fields[field->count] >= field)
            return SONDE_E_FORMAT;
        if (level->counts[field->count] > sn_cursor_left(&payload->cur) + 4096u)
            return SONDE_E_TRUNCATED;
        return read_array(payload, level->counts[field->count], value);
    default: return SONDE_E_FORMAT;
    }
}

static uint64_t unzigzag(uint64_t value)
{
    return (value >> 1) ^ (0u - (value & 1u));
}

/* What is not written as it was declared, but as this event's widths say. */
static bool read_otherwise(struct sn_payload *payload, uint64_t index, struct sn_value *value)
{
    struct sn_cursor *cur = &payload->cur;
    uint8_t type = value->field->type;
    if (payload->widths.is_self_described && type == SN_TYPE_BOOL32)
        read_uint(cur, 1, SN_VALUE_BOOL, value);
    else if (payload->widths.is_self_described && type == SN_TYPE_DECIMAL)
        read_real(cur, 8, value);
    else if (!payload->depth && index < 32 && payload->widths.wide >> index & 1u)
        read_wide(cur, type, value);
    else
        return false;
    return true;
}

static int read_value(struct sn_payload *payload, const struct sn_payload_level *level,
                      struct sn_value *value)
{
    struct sn_cursor *cur = &payload->cur;
    bool is_as_declared = !payload->widths.is_self_described && !payload->widths.wide;
    if (!is_as_declared && read_otherwise(payload, level->next - 1, value))
        return cur->bad ? SONDE_E_TRUNCATED : SONDE_OK;
    switch (value->field->type) {
    case SN_TYPE_BOOL32: read_uint(cur, 4, SN_VALUE_BOOL, value); break;
    case SN_TYPE_BOOL8: read_uint(cur, 1, SN_VALUE_BOOL, value); break;
    case SN_TYPE_I8: read_int(cur, 1, value); break;
    case SN_TYPE_I16: read_int(cur, 2, value); break;
    case SN_TYPE_I32: read_int(cur, 4, value); break;
    case SN_TYPE_I64: read_int(cur, 8, value); break;
    case SN_TYPE_U8:
    case SN_TYPE_UTF8_UNIT: read_uint(cur, 1, SN_VALUE_UINT, value); break;
    case SN_TYPE_U16: read_uint(cur, 2, SN_VALUE_UINT, value); break;
    case SN_TYPE_CHAR16: read_bytes(cur, 2, SN_VALUE_TEXT16, value); break;
    case SN_TYPE_U32: read_uint(cur, 4, SN_VALUE_UINT, value); break;
    case SN_TYPE_U64: read_uint(cur, 8, SN_VALUE_UINT, value); break;
    case SN_TYPE_POINTER: read_uint(cur, payload->pointer_size, SN_VALUE_UINT, value); break;
    case SN_TYPE_FILETIME: read_uint(cur, 8, SN_VALUE_TIME, value); break;
    case SN_TYPE_F32: read_real(cur, 4, value); break;
    case SN_TYPE_F64: read_real(cur, 8, value); break;
    case SN_TYPE_DECIMAL: read_bytes(cur, 16, SN_VALUE_BYTES, value); break;
    case SN_TYPE_GUID: read_bytes(cur, 16, SN_VALUE_GUID, value); break;
    case SN_TYPE_STRING16: read_text(cur, 2, value); break;
    case SN_TYPE_STRING8: read_text(cur, 1, value); break;
    case SN_TYPE_REL_LOC: read_located(payload, true, value); break;
    case SN_TYPE_DATA_LOC: read_located(payload, false, value); break;
    case SN_TYPE_VARUINT:
        value->kind = SN_VALUE_UINT;
        value->number = sn_cursor_varuint64(cur);
        break;
    case SN_TYPE_VARINT:
        value->kind = SN_VALUE_INT;
        value->number = unzigzag(sn_cursor_varuint64(cur));
        break;
    default: return read_nested(payload, level, value);
    }
    return cur->bad ? SONDE_E_TRUNCATED : SONDE_OK;
}

static int close_level(struct sn_payload *payload, struct sn_value *value)
{
    value->field = payload->levels[payload->depth].owner;
    value->kind = SN_VALUE_CLOSE;
    payload->depth--;
    value->depth = payload->depth;
    return SONDE_OK;
}

/* Bytes of a kernel's record that no field has: nameless, a fixed number of them. */
static bool is_hole(const struct sn_field *field)
{
    return field->type == SN_TYPE_FIXED_ARRAY && !field->name[0] &&
           field->children->type == SN_TYPE_U8;
}

static void skip_hole(struct sn_payload *payload, struct sn_payload_level *level)
{
    if (payload->depth || level->next == level->count || !is_hole(&level->fields[level->next]))
        return;
    sn_cursor_skip(&payload->cur, level->fields[level->next].count);
    level->next++;
}

int sn_payload_next(struct sn_payload *payload, struct sn_value *ret_value)
{
    struct sn_payload_level *level = &payload->levels[payload->depth];
    skip_hole(payload, level);
    uint64_t index = level->next;
    if (index == level->count)
        return payload->depth ? close_level(payload, ret_value) : SONDE_END;
    level->next++;
    ret_value->field = level->is_array ? level->fields : &level->fields[index];
    ret_value->depth = payload->depth;
    ret_value->number = 0;
    int rc = read_value(payload, level, ret_value);
    if (index < SN_COUNT_FIELD_MAX)
        level->counts[index] = ret_value->number;
    return rc;
}

size_t sn_payload_left(const struct sn_payload *payload)
{
    size_t read = sn_cursor_offset(&payload->cur);
    size_t used = read > payload->located_end ? read : payload->located_end;
    return (size_t)(payload->cur.end - payload->cur.start) - used;
}

/* --- widths ---
 *
 * The runtime describes an event's parameters by their types, and then writes some otherwise: an
 * enumeration smaller than an int as an int, unless the source wrote it by hand; and in sources
 * that ask for events which describe themselves, booleans in one byte and decimals as doubles. The
 * declaration does not tell these apart from what they are said to be, the payload does: it has to
 * end where its last field does. */

#define DOUBTFUL_MAX 6u    /* small integers that are tried: 64 ways at most */
#define TRIAL_VALUES 4096u /* read in all trials of one event; beyond it is read as declared */

/* Whether the payload ends where its last field does. `left` is what may still be read. */
static bool fits(const struct sn_event *event, struct sn_payload_widths widths, uint32_t *left)
{
    struct sn_payload payload;
    struct sn_value value;
    int rc;
    start(&payload, event);
    payload.widths = widths;
    do {
        rc = sn_payload_next(&payload, &value);
    } while (rc == SONDE_OK && *left && (*left)--);
    return rc == SONDE_END && sn_payload_left(&payload) == 0;
}

static bool is_small(uint8_t type)
{
    return type == SN_TYPE_U8 || type == SN_TYPE_I8 || type == SN_TYPE_U16 || type == SN_TYPE_I16;
}

/* Finds which small integers are wide, all of them first. */
static struct sn_payload_widths find_enumerations(const struct sn_event *event, uint32_t *left)
{
    const struct sn_schema *schema = event->schema;
    uint32_t bits[DOUBTFUL_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < schema->field_count && i < 32 && count < DOUBTFUL_MAX; i++)
        if (is_small(schema->fields[i].type))
            bits[count++] = 1u << i;
    for (unsigned choice = (1u << count) - 1; choice && *left; choice--) {
        struct sn_payload_widths widths = {0};
        for (unsigned i = 0; i < count; i++)
            widths.wide |= choice >> i & 1u ? bits[i] : 0;
        if (fits(event, widths, left))
            return widths;
    }
    return (struct sn_payload_widths){0};
}

static struct sn_payload_widths find_widths(const struct sn_event *event)
{
    struct sn_payload_widths as_declared = {0};
    struct sn_payload_widths self_described = {.is_self_described = true};
    uint32_t left = TRIAL_VALUES;
    if (fits(event, as_declared, &left))
        return as_declared;
    return fits(event, self_described, &left) ? self_described : find_enumerations(event, &left);
}

void sn_payload_start(struct sn_payload *payload, const struct sn_event *event)
{
    start(payload, event);
    if (event->schema->is_doubtful)
        payload->widths = find_widths(event);
}

bool sn_payload_find(const struct sn_event *event, const char *name, struct sn_value *ret_value)
{
    struct sn_payload payload;
    sn_payload_start(&payload, event);
    while (sn_payload_next(&payload, ret_value) == SONDE_OK) {
        if (ret_value->depth == 0 && ret_value->kind != SN_VALUE_CLOSE &&
            strcmp(ret_value->field->name, name) == 0)
            return true;
    }
    return false;
}
