/* An event as a line for people: values of every type, long ones cut, stacks, payloads that do not
 * hold, words for the runtime's numbers. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "convert/event_text.h"
#include "model/event.h"
#include "model/schema.h"
#include "model/trace_info.h"

#define FIELD(title, kind)              \
    {                                   \
        .name = (title), .type = (kind) \
    }

struct made {
    struct sn_event_text writer;
    struct sn_schema schema;
    struct sn_event event;
    struct sn_buf payload;
    struct sn_buf line;
};

static void setup(struct made *made, const struct sn_field *fields, uint16_t count)
{
    *made =
        (struct made){.payload = sn_buf_with_limit(1u << 20), .line = sn_buf_with_limit(1u << 20)};
    sn_event_text_init(&made->writer);
    made->writer.name_width = 0;
    made->schema = (struct sn_schema){.provider = "P",
                                      .name = "E",
                                      .level = 4,
                                      .has_layout = fields != NULL,
                                      .fields = fields,
                                      .field_count = count};
}

static void text16(struct made *made, const char *text)
{
    for (; *text; text++)
        sn_buf_u16(&made->payload, (uint8_t)*text);
    sn_buf_u16(&made->payload, 0);
}

/* The line from the provider on. */
static const char *line_of(struct made *made)
{
    made->event.schema = &made->schema;
    made->event.pointer_size = 8;
    made->event.payload = made->payload.bytes;
    made->event.payload_size = (uint32_t)made->payload.size;
    sn_buf_clear(&made->line);
    sn_event_text_write(&made->writer, &made->event, &made->line);
    const char *text = strstr(sn_buf_string(&made->line), "0  ");
    assert_non_null(text);
    return text + 3;
}

static void drop(struct made *made)
{
    sn_event_text_done(&made->writer);
    sn_buf_done(&made->payload);
    sn_buf_done(&made->line);
}

static void values_are_readable_and_unambiguous(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {
        FIELD("n", SN_TYPE_I32),      FIELD("r", SN_TYPE_F64),      FIELD("b", SN_TYPE_BOOL8),
        FIELD("s", SN_TYPE_STRING16), FIELD("t", SN_TYPE_STRING16), FIELD("e", SN_TYPE_STRING16)};
    struct made made;
    setup(&made, fields, 6);
    sn_buf_u32(&made.payload, (uint32_t)-7);
    sn_buf_append(&made.payload, &(double){0.1}, 8);
    sn_buf_u8(&made.payload, 1);
    text16(&made, "plain=1");
    text16(&made, "a \"b\"\n\x1b\\");
    text16(&made, "");
    assert_string_equal(line_of(&made), "P/E  n=-7 r=0.1 b=true s=plain=1 "
                                        "t=\"a \\\"b\\\"\\n\\x1b\\\\\" e=\"\"\n");
    drop(&made);
}

static void objects_and_arrays_nest(void **state)
{
    (void)state;
    static const struct sn_field inner[] = {FIELD("x", SN_TYPE_U8), FIELD("s", SN_TYPE_STRING16)};
    static const struct sn_field object = {
        .name = "", .type = SN_TYPE_OBJECT, .child_count = 2, .children = inner};
    static const struct sn_field fields[] = {
        {.name = "points", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &object},
        FIELD("after", SN_TYPE_U8)};
    struct made made;
    setup(&made, fields, 2);
    sn_buf_u16(&made.payload, 2);
    for (uint8_t i = 1; i <= 2; i++) {
        sn_buf_u8(&made.payload, i);
        text16(&made, i == 1 ? "p" : "q, r");
    }
    sn_buf_u8(&made.payload, 9);
    assert_string_equal(line_of(&made),
                        "P/E  points=[{x: 1, s: p}, {x: 2, s: \"q, r\"}] after=9\n");
    made.writer.value_max = 10;
    assert_string_equal(line_of(&made), "P/E  points=[{x: 1, s:… after=9\n");
    drop(&made);
}

static void what_describes_itself_is_not_wrapped(void **state)
{
    (void)state;
    static const struct sn_field inner[] = {FIELD("x", SN_TYPE_U8)};
    static const struct sn_field fields[] = {
        {.name = "", .type = SN_TYPE_OBJECT, .child_count = 1, .children = inner}};
    struct made made;
    setup(&made, fields, 1);
    sn_buf_u8(&made.payload, 5);
    assert_string_equal(line_of(&made), "P/E  x=5\n");
    drop(&made);
}

static void unknown_layouts_are_told(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {FIELD("n", SN_TYPE_U64)};
    struct made made;
    setup(&made, NULL, 0);
    assert_string_equal(line_of(&made), "P/E\n");
    sn_buf_fill(&made.payload, 1, 7);
    assert_string_equal(line_of(&made), "P/E  (7 bytes, layout not known)\n");
    made.schema.has_layout = true;
    made.schema.fields = fields;
    made.schema.field_count = 1;
    assert_string_equal(line_of(&made), "P/E  (7 bytes, not laid out as declared)\n");
    sn_buf_fill(&made.payload, 0, 3);
    assert_string_equal(line_of(&made), "P/E  n=282578800148737 (and 2 bytes)\n");
    made.schema.name = "";
    made.schema.event_id = 12;
    assert_string_equal(line_of(&made), "P/event 12  n=282578800148737 (and 2 bytes)\n");
    drop(&made);
}

static void the_runtime_has_words(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {FIELD("Reason", SN_TYPE_U32),
                                             FIELD("MethodID", SN_TYPE_U64),
                                             FIELD("ClrInstanceID", SN_TYPE_U16)};
    struct made made;
    setup(&made, fields, 3);
    made.schema.provider = "Microsoft-Windows-DotNETRuntime";
    made.schema.name = "GCStart";
    made.schema.layout_from_table = true;
    sn_buf_u32(&made.payload, 0);
    sn_buf_u64(&made.payload, 0xabc);
    sn_buf_u16(&made.payload, 9);
    assert_string_equal(line_of(&made),
                        "runtime/GCStart  Reason=\"small objects\" MethodID=0xabc\n");
    made.schema.layout_from_table = false; /* somebody else's by that name */
    assert_string_equal(line_of(&made),
                        "runtime/GCStart  Reason=0 MethodID=2748 ClrInstanceID=9\n");
    drop(&made);
}

static const char *name_frame(void *user, const struct sn_event *event, uint32_t index)
{
    (void)user;
    (void)event;
    return index ? "Main" : "Evil\x1b[2J";
}

static void stacks_stand_below(void **state)
{
    (void)state;
    static const uint64_t stack[] = {0x10, 0xabcdef};
    struct made made;
    setup(&made, NULL, 0);
    made.writer.has_stacks = true;
    made.event.stack = (const uint8_t *)stack;
    made.event.stack_depth = 2;
    assert_string_equal(line_of(&made), "P/E\n                  at 0x10\n"
                                        "                  at 0xabcdef\n");
    made.writer.owner = (struct sn_event_owner){.pid = 7, .process = "shop", .frame = name_frame};
    assert_string_equal(line_of(&made), "P/E\n                  at Evil\\x1b[2J\n"
                                        "                  at Main\n");
    assert_non_null(strstr(sn_buf_string(&made.line), "  shop[7]  "));
    drop(&made);
}

static void times_are_local(void **state)
{
    (void)state;
    struct sn_trace_info info = {.start_utc_ns = 1700000000000000000u,
                                 .ticks_per_second = 1000000000};
    struct made made;
    assert_int_equal(setenv("TZ", "XYZ-5:30", 1), 0); /* UTC and five and a half hours */
    tzset();
    setup(&made, NULL, 0);
    sn_event_text_clock(&made.writer, &info);
    made.event.time_ns = sn_trace_info_start_ns(&info) + 1234567890;
    (void)line_of(&made);
    assert_memory_equal(sn_buf_string(&made.line), "03:43:21.234567  ", 17);
    drop(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_readable_and_unambiguous),
        cmocka_unit_test(objects_and_arrays_nest),
        cmocka_unit_test(what_describes_itself_is_not_wrapped),
        cmocka_unit_test(unknown_layouts_are_told),
        cmocka_unit_test(the_runtime_has_words),
        cmocka_unit_test(stacks_stand_below),
        cmocka_unit_test(times_are_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
