#include "api/event_internal.h"

#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "model/event.h"
#include "model/trace_info.h"

/* 100 ns from 1601 to 1970. */
#define UNIX_EPOCH_TICKS 116444736000000000ll
#define NS_PER_TICK      100ll

/* No converted byte needs more than four, its text's zero included. */
#define TEXT_ROOM 4u

/* --- what every event has --- */

static uint64_t utc_of(const struct sn_trace_info *info, uint64_t time_ns)
{
    if (!info || !info->start_utc_ns || !info->ticks_per_second)
        return 0;
    /* Wraps as it should for what came before. */
    return info->start_utc_ns + (time_ns - sn_trace_info_start_ns(info));
}

void sonde_event_info(const struct sonde_event *event, struct sonde_event_info *ret_info)
{
    const struct sn_event *from = event->event;
    const struct sn_schema *schema = from->schema;
    *ret_info = (struct sonde_event_info){
        .provider = schema->provider,
        .name = schema->name,
        .id = schema->event_id,
        .version = schema->version,
        .level = schema->level,
        .opcode = schema->opcode,
        .pid = from->pid,
        .keywords = schema->keywords,
        .time_ns = from->time_ns,
        .utc_ns = utc_of(event->info, from->time_ns),
        .thread_id = from->thread_id,
        .stack_depth = from->stack_depth,
        .payload_size = from->payload_size,
        .payload = from->payload,
        .activity = from->activity,
        .related = from->related,
    };
}

uint64_t sonde_event_stack(const struct sonde_event *event, size_t index)
{
    const struct sn_event *from = event->event;
    uint64_t address = 0;
    if (index < from->stack_depth)
        memcpy(&address, from->stack + index * from->pointer_size, from->pointer_size);
    return address;
}

/* --- values --- */

static void append_valid(struct sn_buf *to, const char *text, size_t size)
{
    while (size) {
        uint32_t point;
        bool is_valid;
        size_t length = sn_text_decode(text, size, &point, &is_valid);
        if (is_valid)
            sn_buf_append(to, text, length);
        else
            sn_buf_text(to, "\xEF\xBF\xBD"); /* U+FFFD */
        text += length;
        size -= length;
    }
}

/* The room of a text is found by where it lies in the payload. So texts stay where they are however
 * often and in whatever order fields are asked for, and memory is bounded by the payload. */
static bool take_text(struct sonde_event *event, const struct sn_value *value,
                      struct sonde_value *to)
{
    if (!value->size)
        return true;
    const struct sn_event *from = event->event;
    uint8_t *room = sn_buf_reserve(&event->texts, (size_t)from->payload_size * TEXT_ROOM);
    if (!room)
        return false;
    struct sn_buf text = sn_buf_over(room + (size_t)(value->bytes - from->payload) * TEXT_ROOM,
                                     (size_t)value->size * TEXT_ROOM);
    if (value->kind == SN_VALUE_TEXT16)
        sn_text_from_utf16(&text, value->bytes, value->size / 2u);
    else
        append_valid(&text, (const char *)value->bytes, value->size);
    struct sn_buf_view whole = sn_buf_view(&text);
    to->text = whole.text;
    to->size = whole.size;
    return true;
}

static uint64_t unix_ns(uint64_t ticks)
{
    int64_t since = 0;
    if (ticks > INT64_MAX ||
        __builtin_mul_overflow((int64_t)ticks - UNIX_EPOCH_TICKS, NS_PER_TICK, &since))
        since = ticks < (uint64_t)UNIX_EPOCH_TICKS ? INT64_MIN : INT64_MAX;
    return (uint64_t)since;
}

static void take_bytes(const struct sn_value *value, struct sonde_value *to)
{
    to->bytes = value->bytes;
    to->size = value->size;
}

static bool is_array(const struct sn_value *value)
{
    return value->field->type != SN_TYPE_OBJECT;
}

static bool take_value(struct sonde_event *event, const struct sn_value *value,
                       struct sonde_value *to)
{
    static const uint8_t types[] = {
        [SN_VALUE_NONE] = SONDE_TYPE_NONE,  [SN_VALUE_BOOL] = SONDE_TYPE_BOOL,
        [SN_VALUE_UINT] = SONDE_TYPE_UINT,  [SN_VALUE_INT] = SONDE_TYPE_INT,
        [SN_VALUE_FLOAT] = SONDE_TYPE_REAL, [SN_VALUE_TEXT16] = SONDE_TYPE_TEXT,
        [SN_VALUE_TEXT8] = SONDE_TYPE_TEXT, [SN_VALUE_GUID] = SONDE_TYPE_GUID,
        [SN_VALUE_TIME] = SONDE_TYPE_TIME,  [SN_VALUE_BYTES] = SONDE_TYPE_BYTES,
        [SN_VALUE_OPEN] = SONDE_TYPE_OPEN,  [SN_VALUE_CLOSE] = SONDE_TYPE_CLOSE,
    };
    *to = (struct sonde_value){
        .name = value->field->name, .type = types[value->kind], .depth = value->depth, .text = ""};
    switch (value->kind) {
    case SN_VALUE_BOOL: to->number = value->number != 0; break;
    case SN_VALUE_UINT:
    case SN_VALUE_INT: to->number = value->number; break;
    case SN_VALUE_TIME: to->number = unix_ns(value->number); break;
    case SN_VALUE_FLOAT: to->real = value->real; break;
    case SN_VALUE_TEXT16:
    case SN_VALUE_TEXT8: return take_text(event, value, to);
    case SN_VALUE_GUID:
    case SN_VALUE_BYTES: take_bytes(value, to); break;
    case SN_VALUE_OPEN:
    case SN_VALUE_CLOSE:
        to->is_array = is_array(value);
        to->number = value->kind == SN_VALUE_OPEN && to->is_array ? value->number : 0;
        break;
    default: break;
    }
    return true;
}

/* As sn_payload_next, less the wrapping. */
static int next_value(const struct sn_schema *schema, struct sn_payload *payload,
                      struct sn_value *value)
{
    bool is_inner = sn_schema_is_wrapped(schema);
    int rc;
    do {
        rc = sn_payload_next(payload, value);
    } while (rc == SONDE_OK && is_inner && value->depth == 0);
    if (rc == SONDE_OK && is_inner)
        value->depth--;
    return rc;
}

static int read_next(struct sonde_event *event, struct sonde_value *ret_value)
{
    const struct sn_schema *schema = event->event->schema;
    struct sn_value value;
    if (!schema->has_layout) /* the runtime declares none for events without fields */
        return event->event->payload_size ? SONDE_E_UNSUPPORTED : SONDE_END;
    if (!event->is_walking)
        sn_payload_start(&event->payload, event->event);
    event->is_walking = true;
    int rc = next_value(schema, &event->payload, &value);
    if (rc < 0)
        return SONDE_E_FORMAT;
    if (rc != SONDE_OK)
        return rc;
    return take_value(event, &value, ret_value) ? SONDE_OK : SONDE_E_NOMEM;
}

int sonde_event_next(struct sonde_event *event, struct sonde_value *ret_value)
{
    int rc = read_next(event, ret_value);
    if (rc != SONDE_OK)
        sonde_event_rewind(event);
    return rc;
}

void sonde_event_rewind(struct sonde_event *event)
{
    event->is_walking = false;
}

static bool find_field(const struct sn_event *event, const char *name, struct sn_value *ret_value)
{
    struct sn_payload payload;
    if (!event->schema->has_layout)
        return false;
    sn_payload_start(&payload, event);
    while (next_value(event->schema, &payload, ret_value) == SONDE_OK) {
        if (ret_value->depth == 0 && strcmp(ret_value->field->name, name) == 0)
            return true;
    }
    return false;
}

bool sonde_event_field(struct sonde_event *event, const char *name, struct sonde_value *ret_value)
{
    struct sn_value value;
    if (find_field(event->event, name, &value) && take_value(event, &value, ret_value))
        return true;
    *ret_value = (struct sonde_value){.name = "", .text = ""};
    return false;
}
