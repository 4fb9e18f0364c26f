#include "convert/event_json.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"
#include "model/trace_info.h"
#include "sonde/error.h"

#define NS_PER_SECOND   1000000000u
#define SECONDS_PER_DAY 86400u

/* 100 ns steps, as FILETIME counts; it starts at 1601-01-01. */
#define STEPS_PER_SECOND   10000000u
#define DAYS_1601_TO_1970  134774u
#define YEAR_10000_IN_DAYS 3067671u /* from 1601-01-01 */

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

/* --- times --- */

static char *put_digits(char *to, uint32_t value, unsigned count)
{
    for (unsigned i = count; i > 0; i--) {
        to[i - 1] = (char)('0' + value % 10);
        value /= 10;
    }
    return to + count;
}

/* Days since 1601-01-01 as "YYYY-MM-DD". 1601 begins a cycle of 400 years of the calendar; a year
 * is counted from March here, so that the leap day is its last. */
static char *put_date(char *to, uint32_t days)
{
    uint32_t since_march = days + 306; /* 1600-03-01 */
    uint32_t cycle = since_march / 146097;
    uint32_t day = since_march % 146097;
    uint32_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    uint32_t day_of_year = day - (365 * year + year / 4 - year / 100);
    uint32_t month = (5 * day_of_year + 2) / 153; /* 0: March */
    uint32_t day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    uint32_t calendar_month = month < 10 ? month + 3 : month - 9;
    to = put_digits(to, 1600 + cycle * 400 + year + (calendar_month <= 2), 4);
    *to++ = '-';
    to = put_digits(to, calendar_month, 2);
    *to++ = '-';
    return put_digits(to, day_of_month, 2);
}

/* RFC 3339 in UTC; seconds since 1601-01-01, then a fraction of `digits` digits. */
static void write_time(struct sn_json *json, const char *key, uint64_t seconds, uint32_t fraction,
                       unsigned digits)
{
    char text[40];
    char *at = put_date(text, (uint32_t)(seconds / SECONDS_PER_DAY));
    uint32_t second = (uint32_t)(seconds % SECONDS_PER_DAY);
    *at++ = 'T';
    at = put_digits(at, second / 3600, 2);
    *at++ = ':';
    at = put_digits(at, second / 60 % 60, 2);
    *at++ = ':';
    at = put_digits(at, second % 60, 2);
    *at++ = '.';
    at = put_digits(at, fraction, digits);
    *at++ = 'Z';
    sn_json_bytes(json, key, text, (size_t)(at - text));
}

static void write_event_time(const struct sn_event_json *writer, struct sn_json *json,
                             uint64_t time_ns)
{
    uint64_t utc_ns = writer->start_utc_ns + (time_ns - writer->start_ns); /* may be before it */
    if (writer->start_utc_ns && time_ns)
        write_time(json, "time",
                   utc_ns / NS_PER_SECOND + (uint64_t)DAYS_1601_TO_1970 * SECONDS_PER_DAY,
                   (uint32_t)(utc_ns % NS_PER_SECOND), 9);
}

/* Years of five digits have no place in RFC 3339: the number itself, then. */
static void write_file_time(struct sn_json *json, const char *key, uint64_t steps)
{
    uint64_t seconds = steps / STEPS_PER_SECOND;
    if (seconds / SECONDS_PER_DAY >= YEAR_10000_IN_DAYS)
        sn_json_u64(json, key, steps);
    else
        write_time(json, key, seconds, (uint32_t)(steps % STEPS_PER_SECOND), 7);
}

/* --- other values --- */

static char *put_hex(char *to, uint64_t value, unsigned digits)
{
    for (unsigned i = digits; i > 0; i--)
        *to++ = "0123456789abcdef"[value >> 4 * (i - 1) & 15u];
    return to;
}

static unsigned hex_digits(uint64_t value)
{
    return value ? (67u - (unsigned)__builtin_clzll(value)) / 4 : 1;
}

static void write_hex(struct sn_json *json, const char *key, uint64_t value)
{
    char text[18] = "0x";
    const char *end = put_hex(text + 2, value, hex_digits(value));
    sn_json_bytes(json, key, text, (size_t)(end - text));
}

/* The first three parts are little-endian numbers, the rest bytes as they are. */
static void write_guid(struct sn_json *json, const char *key, const uint8_t *guid)
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    char text[36];
    char *at = text;
    for (unsigned i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        at = put_hex(at, guid[order[i]], 2);
    }
    sn_json_bytes(json, key, text, sizeof(text));
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
    sn_json_bytes(json, key, (const char *)writer->scratch.bytes, writer->scratch.size);
}

static void write_text16(struct sn_event_json *writer, struct sn_json *json, const char *key,
                         const struct sn_value *value)
{
    sn_buf_clear(&writer->scratch);
    sn_text_from_utf16(&writer->scratch, value->bytes, value->size / 2);
    sn_json_bytes(json, key, (const char *)writer->scratch.bytes, writer->scratch.size);
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
    struct sn_json before = *json;
    size_t size_before = json->out->size;
    sn_payload_start(&payload, event);
    sn_json_object(json, "fields");
    while ((rc = sn_payload_next(&payload, &value)) == SONDE_OK)
        write_value(writer, json, &value);
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
        to = put_hex(to, address, hex_digits(address));
        *to++ = '"';
    }
    if (start)
        sn_buf_grow(json->out, (size_t)(to - start));
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
    sn_json_u64(json, "pid", event->pid);
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
    if (!event->schema->has_layout || !write_fields(writer, &json, event)) {
        sn_json_bool(&json, "undecoded", true);
        write_base64(writer, &json, "payload", event->payload, event->payload_size);
    }
    if (event->stack_depth && !writer->no_stacks)
        write_stack(&json, event);
    sn_json_close(&json);
    sn_buf_u8(to, '\n');
}
