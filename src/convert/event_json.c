#include "convert/event_json.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "convert/value_text.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"
#include "model/trace_info.h"
#include "sonde/error.h"

#define ADDRESS_MAX 21u         /* ,"0x0123456789abcdef" with one to spare */
#define TEXT_LIMIT  (16u << 20) /* of one field; a payload is far smaller */

void sn_event_json_init(struct sn_event_json *writer, bool no_stacks)
{
    *writer =
        (struct sn_event_json){.no_stacks = no_stacks, .scratch = sn_buf_with_limit(TEXT_LIMIT)};
}

void sn_event_json_done(struct sn_event_json *writer)
{
    sn_buf_done(&writer->scratch);
}

void sn_event_json_clock(struct sn_event_json *writer, const struct sn_trace_info *info)
{
    writer->start_ns = sn_trace_info_start_ns(info);
    writer->start_utc_ns = info->start_utc_ns;
}

/* --- values --- */

static void write_event_time(const struct sn_event_json *writer, struct sn_json *json,
                             uint64_t time_ns)
{
    char text[SN_VALUE_TIME_MAX];
    uint64_t utc_ns = writer->start_utc_ns + (time_ns - writer->start_ns); /* may be before it */
    if (writer->start_utc_ns && time_ns)
        sn_json_bytes(json, "time", text, sn_value_utc(text, utc_ns));
}

/* Years of five digits have no place in RFC 3339: the number itself, then. */
static void write_file_time(struct sn_json *json, const char *key, uint64_t steps)
{
    char text[SN_VALUE_TIME_MAX];
    size_t size = sn_value_file_time(text, steps);
    if (size)
        sn_json_bytes(json, key, text, size);
    else
        sn_json_u64(json, key, steps);
}

static void write_hex(struct sn_json *json, const char *key, uint64_t value)
{
    char text[18] = "0x";
    sn_json_bytes(json, key, text, 2 + sn_value_hex(text + 2, value));
}

static void write_guid(struct sn_json *json, const char *key, const uint8_t *guid)
{
    char text[SN_VALUE_GUID_MAX];
    sn_json_bytes(json, key, text, sn_value_guid(text, guid));
}

/* Without memory for a text the event has failed: half of it would pass for the whole. */
static void put_scratch(const struct sn_event_json *writer, struct sn_json *json, const char *key)
{
    json->out->failed |= writer->scratch.failed;
    sn_json_bytes(json, key, (const char *)writer->scratch.bytes, writer->scratch.size);
}

static void write_base64(struct sn_event_json *writer, struct sn_json *json, const char *key,
                         const uint8_t *bytes, size_t size)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    sn_buf_clear(&writer->scratch);
    for (size_t at = 0; at < size; at += 3) {
        size_t part = size - at < 3 ? size - at : 3;
        uint32_t group = (uint32_t)bytes[at] << 16;
        group |= part > 1 ? (uint32_t)bytes[at + 1] << 8 : 0;
        group |= part > 2 ? bytes[at + 2] : 0u;
        char four[4] = {letters[group >> 18], letters[group >> 12 & 63], '=', '='};
        if (part > 1)
            four[2] = letters[group >> 6 & 63];
        if (part > 2)
            four[3] = letters[group & 63];
        sn_buf_append(&writer->scratch, four, sizeof(four));
    }
    put_scratch(writer, json, key);
}

static void write_text16(struct sn_event_json *writer, struct sn_json *json, const char *key,
                         const struct sn_value *value)
{
    sn_buf_clear(&writer->scratch);
    sn_text_from_utf16(&writer->scratch, value->bytes, value->size / 2);
    put_scratch(writer, json, key);
}

/* JSON has no word for what is not a number. */
static void write_real(struct sn_json *json, const char *key, double value)
{
    if (isfinite(value))
        sn_json_exact_real(json, key, value);
    else
        sn_json_text(json, key, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
}

static void write_value(struct sn_event_json *writer, struct sn_json *json,
                        const struct sn_value *value)
{
    const char *key = json->is_array[json->depth - 1] ? NULL : value->field->name;
    switch (value->kind) {
    case SN_VALUE_BOOL: sn_json_bool(json, key, value->number != 0); break;
    case SN_VALUE_UINT: sn_json_u64(json, key, value->number); break;
    case SN_VALUE_INT: sn_json_i64(json, key, (int64_t)value->number); break;
    case SN_VALUE_FLOAT: write_real(json, key, value->real); break;
    case SN_VALUE_TEXT16: write_text16(writer, json, key, value); break;
    case SN_VALUE_TEXT8: sn_json_bytes(json, key, (const char *)value->bytes, value->size); break;
    case SN_VALUE_GUID: write_guid(json, key, value->bytes); break;
    case SN_VALUE_TIME: write_file_time(json, key, value->number); break;
    case SN_VALUE_BYTES: write_base64(writer, json, key, value->bytes, value->size); break;
    case SN_VALUE_OPEN:
        if (value->field->type == SN_TYPE_OBJECT)
            sn_json_object(json, key);
        else
            sn_json_array(json, key);
        break;
    case SN_VALUE_CLOSE: sn_json_close(json); break;
    default: sn_json_null(json, key); break;
    }
}

/* --- the event --- */

/* The fields, or nothing at all when the payload does not hold them: half an object would mislead.
 */
static bool write_fields(struct sn_event_json *writer, struct sn_json *json,
                         const struct sn_event *event)
{
    struct sn_payload payload;
    struct sn_value value;
    int rc;
    bool is_inner = sn_schema_is_wrapped(event->schema);
    struct sn_json before = *json;
    size_t size_before = json->out->size;
    sn_payload_start(&payload, event);
    sn_json_object(json, "fields");
    while ((rc = sn_payload_next(&payload, &value)) == SONDE_OK) {
        if (!is_inner || value.depth)
            write_value(writer, json, &value);
    }
    if (rc != SONDE_END) {
        *json = before;
        json->out->size = size_before;
        return false;
    }
    sn_json_close(json);
    size_t left = sn_payload_left(&payload);
    if (left)
        write_base64(writer, json, "trailing", event->payload + event->payload_size - left, left);
    return true;
}

/* Most of a sample is its stack: written straight into the buffer, as digits need no escapes. */
static void write_stack(struct sn_json *json, const struct sn_event *event)
{
    sn_json_array(json, "stack");
    char *start = (char *)sn_buf_reserve(json->out, (size_t)event->stack_depth * ADDRESS_MAX);
    char *to = start;
    for (uint32_t i = 0; start && i < event->stack_depth; i++) {
        uint64_t address = 0;
        memcpy(&address, event->stack + (size_t)i * event->pointer_size, event->pointer_size);
        if (i)
            *to++ = ',';
        *to++ = '"';
        *to++ = '0';
        *to++ = 'x';
        to += sn_value_hex(to, address);
        *to++ = '"';
    }
    if (start)
        sn_buf_grow(json->out, (size_t)(to - start));
    sn_json_close(json);
}

static void write_named_stack(const struct sn_event_owner *owner, struct sn_json *json,
                              const struct sn_event *event)
{
    sn_json_array(json, "stack");
    for (uint32_t i = 0; i < event->stack_depth; i++)
        sn_json_text(json, NULL, owner->frame(owner->user, event, i));
    sn_json_close(json);
}

static void write_head(const struct sn_event_json *writer, struct sn_json *json,
                       const struct sn_event *event)
{
    const struct sn_schema *schema = event->schema;
    write_event_time(writer, json, event->time_ns);
    sn_json_u64(json, "ns", event->time_ns);
    sn_json_text(json, "provider", schema->provider);
    sn_json_text(json, "event", schema->name);
    sn_json_u64(json, "id", schema->event_id);
    sn_json_u64(json, "version", schema->version);
    sn_json_u64(json, "level", schema->level);
    sn_json_u64(json, "opcode", schema->opcode);
    write_hex(json, "keywords", schema->keywords);
    sn_json_u64(json, "pid", writer->owner.pid ? writer->owner.pid : event->pid);
    sn_json_u64(json, "tid", event->thread_id);
    if (event->capture_thread_id != event->thread_id)
        sn_json_u64(json, "captureTid", event->capture_thread_id);
    if (event->activity)
        write_guid(json, "activity", event->activity);
    if (event->related)
        write_guid(json, "related", event->related);
}

void sn_event_json_write(struct sn_event_json *writer, const struct sn_event *event,
                         struct sn_buf *to)
{
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    write_head(writer, &json, event);
    /* The runtime declares no layout for events without fields. */
    bool is_opaque = !event->schema->has_layout && event->payload_size;
    if (is_opaque || !write_fields(writer, &json, event)) {
        sn_json_bool(&json, "undecoded", true);
        write_base64(writer, &json, "payload", event->payload, event->payload_size);
    }
    if (event->stack_depth && !writer->no_stacks) {
        if (writer->owner.frame)
            write_named_stack(&writer->owner, &json, event);
        else
            write_stack(&json, event);
    }
    sn_json_close(&json);
    sn_buf_u8(to, '\n');
}
