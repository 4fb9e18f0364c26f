/* An event as a line of JSON: every type of field, times at the edges, payloads that do not hold.
 */
#include "check.h"

#include <math.h>
#include <string.h>

#include "convert/event_json.h"
#include "model/event.h"
#include "model/schema.h"
#include "model/trace_info.h"

#define FIELD(title, kind)              \
    {                                   \
        .name = (title), .type = (kind) \
    }

struct made {
    struct sn_schema schema;
    struct sn_buf payload;
    struct sn_buf line;
};

/* The line's part from "fields" (or what stands in its place) on, without the last brace. */
static const char *line_of(struct made *made, const struct sn_field *fields, uint16_t count)
{
    struct sn_event_json writer;
    made->schema = (struct sn_schema){.provider = "P",
                                      .name = "E",
                                      .has_layout = fields != NULL,
                                      .fields = fields,
                                      .field_count = count};
    struct sn_event event = {.schema = &made->schema,
                             .pointer_size = 8,
                             .payload = made->payload.bytes,
                             .payload_size = (uint32_t)made->payload.size};
    sn_event_json_init(&writer, false);
    sn_buf_clear(&made->line);
    sn_event_json_write(&writer, &event, &made->line);
    sn_event_json_done(&writer);
    const char *text = sn_buf_string(&made->line);
    const char *tid = strstr(text, "\"tid\":0,");
    assert_non_null(tid);
    return tid + strlen("\"tid\":0,");
}

static struct made made_of(void)
{
    return (struct made){.payload = sn_buf_with_limit(1u << 20),
                         .line = sn_buf_with_limit(1u << 20)};
}

static void drop(struct made *made)
{
    sn_buf_done(&made->payload);
    sn_buf_done(&made->line);
}

static void numbers_keep_all_their_digits(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {
        FIELD("max", SN_TYPE_U64),   FIELD("min", SN_TYPE_I64),   FIELD("minus", SN_TYPE_I8),
        FIELD("yes", SN_TYPE_BOOL8), FIELD("tenth", SN_TYPE_F64), FIELD("third", SN_TYPE_F64)};
    struct made made = made_of();
    sn_buf_u64(&made.payload, UINT64_MAX);
    sn_buf_u64(&made.payload, (uint64_t)INT64_MIN);
    sn_buf_u8(&made.payload, 0xFF);
    sn_buf_u8(&made.payload, 1);
    sn_buf_append(&made.payload, &(double){0.1}, 8);
    sn_buf_append(&made.payload, &(double){1.0 / 3}, 8);
    assert_string_equal(line_of(&made, fields, 6),
                        "\"fields\":{\"max\":18446744073709551615,\"min\":-9223372036854775808,"
                        "\"minus\":-1,\"yes\":true,\"tenth\":0.1,\"third\":0.3333333333333333}}\n");
    drop(&made);
}

static void what_is_no_number_is_text(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {FIELD("a", SN_TYPE_F64), FIELD("b", SN_TYPE_F64)};
    struct made made = made_of();
    sn_buf_append(&made.payload, &(double){(double)NAN}, 8);
    sn_buf_append(&made.payload, &(double){-(double)INFINITY}, 8);
    assert_string_equal(line_of(&made, fields, 2),
                        "\"fields\":{\"a\":\"NaN\",\"b\":\"-Infinity\"}}\n");
    drop(&made);
}

static void check_time(uint64_t steps, const char *wanted)
{
    static const struct sn_field fields[] = {FIELD("t", SN_TYPE_FILETIME)};
    struct made made = made_of();
    struct sn_buf text = sn_buf_with_limit(128);
    sn_buf_u64(&made.payload, steps);
    sn_buf_format(&text, "\"fields\":{\"t\":%s}}\n", wanted);
    assert_string_equal(line_of(&made, fields, 1), sn_buf_string(&text));
    sn_buf_done(&text);
    drop(&made);
}

static void times_are_right_at_the_edges(void **state)
{
    (void)state;
    check_time(0, "\"1601-01-01T00:00:00.0000000Z\"");
    check_time(116444736000000000u, "\"1970-01-01T00:00:00.0000000Z\"");
    check_time(125962559999999999u, "\"2000-02-28T23:59:59.9999999Z\"");
    check_time(125962560000000000u, "\"2000-02-29T00:00:00.0000000Z\"");
    check_time(157520160000000000u, "\"2100-03-01T00:00:00.0000000Z\"");
    check_time(2650467743999999999u, "\"9999-12-31T23:59:59.9999999Z\"");
    check_time(2650467744000000000u, "2650467744000000000"); /* no year of five digits */
    check_time(UINT64_MAX, "18446744073709551615");
}

static void arrays_and_objects_nest(void **state)
{
    (void)state;
    static const struct sn_field number = FIELD("", SN_TYPE_U16);
    static const struct sn_field inside[] = {
        {.name = "list", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &number},
        FIELD("text", SN_TYPE_STRING16)};
    static const struct sn_field fields[] = {
        {.name = "o", .type = SN_TYPE_OBJECT, .child_count = 2, .children = inside},
        FIELD("g", SN_TYPE_GUID)};
    struct made made = made_of();
    sn_buf_append(&made.payload, "\x02\x00\x07\x00\x08\x00", 6);
    sn_buf_append(&made.payload, "\"\0\x00\xD8\0\0", 6); /* a quote and half a surrogate pair */
    for (uint8_t i = 0; i < 16; i++)
        sn_buf_u8(&made.payload, i);
    assert_string_equal(line_of(&made, fields, 2),
                        "\"fields\":{\"o\":{\"list\":[7,8],\"text\":\"\\\"\xEF\xBF\xBD\"},"
                        "\"g\":\"03020100-0504-0706-0809-0a0b0c0d0e0f\"}}\n");
    drop(&made);
}

static void a_payload_that_does_not_hold_is_given_as_it_is(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {FIELD("a", SN_TYPE_U8), FIELD("b", SN_TYPE_U64)};
    struct made made = made_of();
    sn_buf_append(&made.payload, "\x01\x02", 2);
    assert_string_equal(line_of(&made, fields, 2), "\"undecoded\":true,\"payload\":\"AQI=\"}\n");
    assert_string_equal(line_of(&made, NULL, 0), "\"undecoded\":true,\"payload\":\"AQI=\"}\n");
    assert_string_equal(line_of(&made, fields, 1), "\"fields\":{\"a\":1},\"trailing\":\"Ag==\"}\n");
    drop(&made);
}

static void clocks_are_put_together(void **state)
{
    (void)state;
    static const struct sn_trace_info info = {
        .start_utc_ns = 1700000000000000001u, .start_ticks = 50, .ticks_per_second = 10};
    static const struct sn_schema schema = {.provider = "P", .name = "E", .has_layout = true};
    static const uint8_t stack[] = {0xAB, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0};
    struct sn_event event = {.schema = &schema,
                             .time_ns = 4999999999u, /* before the start: threads do not wait */
                             .thread_id = 7,
                             .capture_thread_id = 8,
                             .pointer_size = 4,
                             .stack = stack,
                             .stack_depth = 3};
    struct sn_event_json writer;
    struct sn_buf line = sn_buf_with_limit(4096);
    sn_event_json_init(&writer, false);
    sn_event_json_clock(&writer, &info);
    sn_event_json_write(&writer, &event, &line);
    assert_string_equal(sn_buf_string(&line),
                        "{\"time\":\"2023-11-14T22:13:20.000000000Z\",\"ns\":4999999999,"
                        "\"provider\":\"P\",\"event\":\"E\",\"id\":0,\"version\":0,\"level\":0,"
                        "\"opcode\":0,\"keywords\":\"0x0\",\"pid\":0,\"tid\":7,\"captureTid\":8,"
                        "\"fields\":{},\"stack\":[\"0xab\",\"0xffffffff\",\"0x0\"]}\n");
    sn_event_json_done(&writer);
    sn_buf_done(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_keep_all_their_digits),
        cmocka_unit_test(what_is_no_number_is_text),
        cmocka_unit_test(times_are_right_at_the_edges),
        cmocka_unit_test(arrays_and_objects_nest),
        cmocka_unit_test(a_payload_that_does_not_hold_is_given_as_it_is),
        cmocka_unit_test(clocks_are_put_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
