#include "convert/event_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/style.h"
#include "base/text.h"
#include "convert/event_words.h"
#include "convert/value_text.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"
#include "model/trace_info.h"
#include "sonde/error.h"

#define NS_PER_SECOND  1000000000u
#define NS_PER_US      1000u
#define TEXT_LIMIT     (16u << 20) /* of one field; a payload is far smaller */
#define USUAL_NAME     24u
#define WIDEST_NAME    32u
#define WIDEST_PROCESS 32u
#define ELLIPSIS       "…"

void sn_event_text_init(struct sn_event_text *writer)
{
    *writer = (struct sn_event_text){
        .second = -1, .name_width = USUAL_NAME, .scratch = sn_buf_with_limit(TEXT_LIMIT)};
}

void sn_event_text_done(struct sn_event_text *writer)
{
    sn_buf_done(&writer->scratch);
}

void sn_event_text_clock(struct sn_event_text *writer, const struct sn_trace_info *info)
{
    writer->start_ns = sn_trace_info_start_ns(info);
    writer->start_utc_ns = info->start_utc_ns;
}

/* --- pieces of a line --- */

static void begin(const struct sn_event_text *writer, struct sn_buf *to, enum sn_style style)
{
    if (writer->has_colour && sn_style_code(style))
        sn_buf_format(to, "\033[%sm", sn_style_code(style));
}

static void end(const struct sn_event_text *writer, struct sn_buf *to, enum sn_style style)
{
    if (writer->has_colour && sn_style_code(style))
        sn_buf_text(to, "\033[0m");
}

static void put_styled(const struct sn_event_text *writer, struct sn_buf *to, enum sn_style style,
                       const char *text)
{
    begin(writer, to, style);
    sn_text_printable(to, text, strlen(text));
    end(writer, to, style);
}

static size_t columns_of(const uint8_t *text, size_t size)
{
    size_t columns = 0;
    for (size_t i = 0; i < size; i++)
        columns += (text[i] & 0xC0u) != 0x80u;
    return columns;
}

/* Spaces up to the widest that was seen, within reason: columns settle after some lines. */
static void pad(struct sn_buf *to, size_t columns, uint32_t *widest, uint32_t limit)
{
    if (columns > *widest)
        *widest = columns < limit ? (uint32_t)columns : limit;
    sn_buf_fill(to, ' ', *widest > columns ? *widest - columns : 0);
}

/* --- values --- */

static bool is_plain(const uint8_t *text, size_t size, bool is_nested)
{
    static const char special[] = " \"\\=,:{}[]";
    for (size_t i = 0; i < size; i++) {
        if (text[i] <= ' ' || text[i] == 0x7f || text[i] == '"' || text[i] == '\\' ||
            (is_nested && strchr(special, text[i])))
            return false;
    }
    return size > 0;
}

static const char *escape_of(uint8_t letter)
{
    switch (letter) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return NULL;
    }
}

/* In quotes where it would otherwise be unclear where it ends. */
static void put_text(struct sn_buf *to, const uint8_t *text, size_t size, bool is_nested)
{
    bool is_bare = is_plain(text, size, is_nested);
    size_t done = 0;
    sn_buf_text(to, is_bare ? "" : "\"");
    for (size_t i = 0; i < size; i++) {
        const char *escape = escape_of(text[i]);
        if (!escape)
            continue;
        sn_text_printable(to, (const char *)text + done, i - done);
        sn_buf_text(to, escape);
        done = i + 1;
    }
    sn_text_printable(to, (const char *)text + done, size - done);
    sn_buf_text(to, is_bare ? "" : "\"");
}

static void put_text16(struct sn_event_text *writer, struct sn_buf *to,
                       const struct sn_value *value)
{
    sn_buf_clear(&writer->scratch);
    sn_text_from_utf16(&writer->scratch, value->bytes, value->size / 2);
    to->failed |= writer->scratch.failed; /* half of it would pass for the whole */
    put_text(to, writer->scratch.bytes, writer->scratch.size, value->depth > 0);
}

static void put_hex(struct sn_buf *to, uint64_t number)
{
    char text[16];
    size_t size = sn_value_hex(text, number);
    sn_buf_text(to, "0x");
    sn_buf_append(to, text, size);
}

static void put_bytes(struct sn_buf *to, const uint8_t *bytes, size_t size)
{
    sn_buf_text(to, size ? "0x" : "\"\"");
    for (size_t i = 0; i < size; i++) {
        sn_buf_u8(to, (uint8_t) "0123456789abcdef"[bytes[i] >> 4]);
        sn_buf_u8(to, (uint8_t) "0123456789abcdef"[bytes[i] & 15u]);
    }
}

static void put_real(struct sn_buf *to, double value)
{
    char text[32];
    if (isfinite(value))
        sn_buf_text(to, sn_text_exact_real(value, text));
    else
        sn_buf_text(to, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
}

static void put_time(struct sn_buf *to, uint64_t steps)
{
    char text[SN_VALUE_TIME_MAX];
    size_t size = sn_value_file_time(text, steps);
    if (size)
        sn_buf_append(to, text, size);
    else
        sn_buf_decimal(to, steps);
}

static void put_guid(struct sn_buf *to, const uint8_t *guid)
{
    char text[SN_VALUE_GUID_MAX];
    sn_buf_append(to, text, sn_value_guid(text, guid));
}

static void put_number(struct sn_buf *to, const struct sn_event *event,
                       const struct sn_value *value)
{
    const char *word = sn_event_word(event->schema, value->field->name, value->number);
    if (word)
        put_text(to, (const uint8_t *)word, strlen(word), false);
    else if (sn_event_is_address(event->schema, value->field))
        put_hex(to, value->number);
    else
        sn_buf_decimal(to, value->number);
}

static void put_scalar(struct sn_event_text *writer, struct sn_buf *to,
                       const struct sn_event *event, const struct sn_value *value)
{
    switch (value->kind) {
    case SN_VALUE_BOOL: sn_buf_text(to, value->number ? "true" : "false"); break;
    case SN_VALUE_UINT: put_number(to, event, value); break;
    case SN_VALUE_INT: sn_buf_format(to, "%" PRId64, (int64_t)value->number); break;
    case SN_VALUE_FLOAT: put_real(to, value->real); break;
    case SN_VALUE_TEXT16: put_text16(writer, to, value); break;
    case SN_VALUE_TEXT8: put_text(to, value->bytes, value->size, value->depth > 0); break;
    case SN_VALUE_GUID: put_guid(to, value->bytes); break;
    case SN_VALUE_TIME: put_time(to, value->number); break;
    case SN_VALUE_BYTES: put_bytes(to, value->bytes, value->size); break;
    default: sn_buf_text(to, "none"); break;
    }
}

/* Cuts what stands behind `start` at so many characters. */
static void cut(const struct sn_event_text *writer, struct sn_buf *to, size_t start)
{
    if (!writer->value_max || to->failed ||
        columns_of(to->bytes + start, to->size - start) <= writer->value_max)
        return;
    size_t at = start;
    for (uint32_t left = writer->value_max; at < to->size; at++) {
        bool begins = (to->bytes[at] & 0xC0u) != 0x80u;
        if (begins && left-- == 0)
            break;
    }
    bool is_quoted = to->bytes[start] == '"';
    to->size = at;
    sn_buf_text(to, is_quoted ? ELLIPSIS "\"" : ELLIPSIS);
}

/* --- the fields --- */

/* Where a walk over the fields stands. */
struct fields {
    struct sn_event_text *writer;
    struct sn_buf *to;
    size_t value_start;   /* of the field of the event itself that is being written */
    unsigned depth;       /* of what is shown */
    bool is_first;        /* of its object or array */
    uint32_t array_depth; /* bit n: what is open at depth n is an array */
};

/* An event that describes itself has one nameless object around its fields: that is no news. Nor is
 * the number of the runtime in its process: there is but one. */
static bool is_noise(const struct sn_event *event, const struct sn_value *value)
{
    bool is_wrapping = value->depth == 0 && !value->field->name[0] &&
                       value->field->type == SN_TYPE_OBJECT && event->schema->field_count == 1;
    return is_wrapping ||
           (event->schema->layout_from_table && strcmp(value->field->name, "ClrInstanceID") == 0);
}

static void put_name(struct fields *fields, const char *name)
{
    struct sn_buf *to = fields->to;
    bool is_element = fields->depth && (fields->array_depth >> fields->depth & 1u);
    if (fields->depth == 0)
        sn_buf_text(to, " ");
    else
        sn_buf_text(to, fields->is_first ? "" : ", ");
    fields->is_first = false;
    if (!is_element) {
        put_styled(fields->writer, to, SN_STYLE_DIM, name);
        sn_buf_text(to, fields->depth ? ": " : "=");
    }
    if (fields->depth == 0)
        fields->value_start = to->size;
}

static void open_level(struct fields *fields, bool is_array)
{
    fields->depth++;
    fields->array_depth &= ~(1u << fields->depth);
    fields->array_depth |= (is_array ? 1u : 0u) << fields->depth;
    fields->is_first = true;
    sn_buf_u8(fields->to, is_array ? '[' : '{');
}

static void close_level(struct fields *fields)
{
    sn_buf_u8(fields->to, fields->array_depth >> fields->depth & 1u ? ']' : '}');
    fields->depth--;
    fields->is_first = false;
}

static void put_value(struct fields *fields, const struct sn_event *event,
                      const struct sn_value *value)
{
    if (value->kind == SN_VALUE_CLOSE) {
        close_level(fields);
    } else {
        put_name(fields, value->field->name);
        if (value->kind == SN_VALUE_OPEN)
            open_level(fields, value->field->type != SN_TYPE_OBJECT);
        else
            put_scalar(fields->writer, fields->to, event, value);
    }
    if (fields->depth == 0)
        cut(fields->writer, fields->to, fields->value_start);
}

/* The fields, or nothing at all when the payload does not hold them: half of them would mislead. */
static bool put_fields(struct sn_event_text *writer, struct sn_buf *to,
                       const struct sn_event *event)
{
    struct fields fields = {.writer = writer, .to = to};
    struct sn_payload payload;
    struct sn_value value;
    size_t start = to->size;
    int rc;
    sn_payload_start(&payload, event);
    while ((rc = sn_payload_next(&payload, &value)) == SONDE_OK) {
        if (!is_noise(event, &value))
            put_value(&fields, event, &value);
    }
    if (rc != SONDE_END) {
        to->size = start;
        return false;
    }
    size_t left = sn_payload_left(&payload);
    if (left)
        sn_buf_format(to, " (and %zu bytes)", left);
    return true;
}

static void put_payload(struct sn_event_text *writer, struct sn_buf *to,
                        const struct sn_event *event)
{
    if (event->schema->has_layout && put_fields(writer, to, event))
        return;
    if (event->payload_size)
        sn_buf_format(to, " (%" PRIu32 " bytes, %s)", event->payload_size,
                      event->schema->has_layout ? "not laid out as declared" : "layout not known");
}

/* --- the line --- */

static void put_clock(struct sn_event_text *writer, struct sn_buf *to, uint64_t time_ns)
{
    uint64_t utc_ns = writer->start_utc_ns + (time_ns - writer->start_ns); /* may be before it */
    time_t second = (time_t)(utc_ns / NS_PER_SECOND);
    struct tm local;
    if (!writer->start_utc_ns || !time_ns) {
        sn_buf_text(to, "               "); /* as wide as a time */
        return;
    }
    if (second != writer->second && localtime_r(&second, &local)) {
        (void)strftime(writer->clock, sizeof(writer->clock), "%H:%M:%S", &local);
        writer->second = second;
    }
    begin(writer, to, SN_STYLE_DIM);
    sn_buf_format(to, "%s.%06u", writer->clock, (unsigned)(utc_ns % NS_PER_SECOND / NS_PER_US));
    end(writer, to, SN_STYLE_DIM);
}

static void put_process(struct sn_event_text *writer, struct sn_buf *to)
{
    if (!writer->owner.process)
        return;
    sn_buf_text(to, "  ");
    size_t start = to->size;
    sn_text_printable(to, writer->owner.process, strlen(writer->owner.process));
    sn_buf_format(to, "[%" PRIu32 "]", writer->owner.pid);
    if (!to->failed)
        pad(to, columns_of(to->bytes + start, to->size - start), &writer->process_width,
            WIDEST_PROCESS);
}

static enum sn_style style_of(const struct sn_schema *schema)
{
    if (schema->level == 1 || schema->level == 2)
        return SN_STYLE_BAD;
    return schema->level == 3 ? SN_STYLE_WARN : SN_STYLE_BOLD;
}

static void put_event_name(struct sn_event_text *writer, struct sn_buf *to,
                           const struct sn_schema *schema)
{
    struct sn_buf *name = &writer->scratch;
    const char *provider = sn_event_text_provider(schema->provider);
    sn_buf_clear(name);
    if (schema->name[0])
        sn_text_printable(name, schema->name, strlen(schema->name));
    else
        sn_buf_format(name, "event %" PRIu32, schema->event_id);
    begin(writer, to, SN_STYLE_DIM);
    size_t start = to->size;
    sn_text_printable(to, provider, strlen(provider));
    sn_buf_u8(to, '/');
    size_t columns = to->failed ? 0 : columns_of(to->bytes + start, to->size - start);
    end(writer, to, SN_STYLE_DIM);
    begin(writer, to, style_of(schema));
    sn_buf_append(to, name->bytes, name->size);
    end(writer, to, style_of(schema));
    pad(to, columns + columns_of(name->bytes, name->size), &writer->name_width, WIDEST_NAME);
    sn_buf_u8(to, ' ');
}

static void put_stack(const struct sn_event_text *writer, struct sn_buf *to,
                      const struct sn_event *event)
{
    const struct sn_event_owner *owner = &writer->owner;
    for (uint32_t i = 0; i < event->stack_depth; i++) {
        uint64_t address = 0;
        memcpy(&address, event->stack + (size_t)i * event->pointer_size, event->pointer_size);
        sn_buf_text(to, "                  at ");
        if (owner->frame)
            put_styled(writer, to, SN_STYLE_NONE, owner->frame(owner->user, event, i));
        else
            put_hex(to, address);
        sn_buf_u8(to, '\n');
    }
}

void sn_event_text_write(struct sn_event_text *writer, const struct sn_event *event,
                         struct sn_buf *to)
{
    put_clock(writer, to, event->time_ns);
    put_process(writer, to);
    sn_buf_format(to, "  %7" PRIu64 "  ", event->thread_id);
    put_event_name(writer, to, event->schema);
    put_payload(writer, to, event);
    while (!to->failed && to->size && to->bytes[to->size - 1] == ' ')
        to->size--;
    sn_buf_u8(to, '\n');
    if (writer->has_stacks)
        put_stack(writer, to, event);
}
