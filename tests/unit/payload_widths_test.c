/* Payloads that are written otherwise than they were declared: enumerations of few bytes, and the
 * booleans and decimals of events that describe themselves. */
#include "check.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"

#define FIELD(field_name, field_type)              \
    {                                              \
        .name = (field_name), .type = (field_type) \
    }

/* The numbers of an event in their order, texts by their length, "..." for what is left over. */
static const char *read_event(const struct sn_field *fields, size_t count,
                              const struct sn_buf *bytes)
{
    static char text[256];
    struct sn_buf out = {.bytes = (uint8_t *)text, .capacity = sizeof(text), .limit = sizeof(text)};
    struct sn_schema schema = {
        .has_layout = true, .is_doubtful = true, .fields = fields, .field_count = (uint16_t)count};
    struct sn_event event = {.schema = &schema,
                             .payload = bytes->bytes,
                             .payload_size = (uint32_t)bytes->size,
                             .pointer_size = 8};
    struct sn_payload payload;
    struct sn_value value;
    sn_payload_start(&payload, &event);
    int rc = sn_payload_next(&payload, &value);
    for (; rc == SONDE_OK; rc = sn_payload_next(&payload, &value)) {
        bool is_text = value.kind == SN_VALUE_TEXT16;
        bool is_real = value.kind == SN_VALUE_FLOAT;
        sn_buf_format(&out, "%lld ",
                      is_text   ? (long long)value.size / 2
                      : is_real ? (long long)(value.real * 10)
                                : (long long)value.number);
    }
    assert_int_equal(rc, SONDE_END);
    if (sn_payload_left(&payload))
        sn_buf_text(&out, "...");
    return sn_buf_string(&out);
}

#define READ(fields, bytes) read_event(fields, sizeof(fields) / sizeof((fields)[0]), bytes)

static void text16(struct sn_buf *buf, const char *text)
{
    sn_text_to_utf16(buf, text, strlen(text));
    sn_buf_u16(buf, 0);
}

static struct sn_buf bytes;

static int set_up(void **state)
{
    (void)state;
    bytes = sn_buf_with_limit(256);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sn_buf_done(&bytes);
    return 0;
}

static void an_enumeration_may_take_four_bytes(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {FIELD("kind", SN_TYPE_U8),
                                             FIELD("after", SN_TYPE_STRING16)};
    sn_buf_u32(&bytes, 200);
    text16(&bytes, "text");
    assert_string_equal(READ(fields, &bytes), "200 4 ");
    sn_buf_clear(&bytes);
    sn_buf_u8(&bytes, 200); /* or as many as were declared */
    text16(&bytes, "text");
    assert_string_equal(READ(fields, &bytes), "200 4 ");
}

static void each_small_type_keeps_its_sign(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {FIELD("a", SN_TYPE_I8), FIELD("b", SN_TYPE_U8),
                                             FIELD("c", SN_TYPE_I16), FIELD("d", SN_TYPE_U16)};
    sn_buf_u32(&bytes, (uint32_t)-128);
    sn_buf_u32(&bytes, 255);
    sn_buf_u32(&bytes, (uint32_t)-32768);
    sn_buf_u32(&bytes, 65535);
    assert_string_equal(READ(fields, &bytes), "-128 255 -32768 65535 ");
}

static void those_that_are_no_enumerations_stay_small(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {
        FIELD("a", SN_TYPE_U8),          FIELD("kind", SN_TYPE_U8),   FIELD("b", SN_TYPE_U8),
        FIELD("text", SN_TYPE_STRING16), FIELD("small", SN_TYPE_I16), FIELD("c", SN_TYPE_I16)};
    sn_buf_u8(&bytes, 1);
    sn_buf_u32(&bytes, 2);
    sn_buf_u8(&bytes, 3);
    text16(&bytes, "xyz");
    sn_buf_u32(&bytes, (uint32_t)-4);
    sn_buf_u16(&bytes, 5);
    assert_string_equal(READ(fields, &bytes), "1 2 3 3 -4 5 ");
}

static void events_that_describe_themselves_have_small_booleans(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {
        FIELD("yes", SN_TYPE_BOOL32), FIELD("small", SN_TYPE_U8), FIELD("price", SN_TYPE_DECIMAL),
        FIELD("text", SN_TYPE_STRING16)};
    double price = 12.5;
    sn_buf_u8(&bytes, 1);
    sn_buf_u8(&bytes, 7);
    sn_buf_append(&bytes, &price, sizeof(price));
    text16(&bytes, "ab");
    assert_string_equal(READ(fields, &bytes), "1 7 125 2 ");
}

static void what_fits_no_way_is_read_as_declared(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {FIELD("kind", SN_TYPE_U8), FIELD("b", SN_TYPE_U8)};
    sn_buf_u32(&bytes, 0x01020304);
    assert_string_equal(READ(fields, &bytes), "4 3 ...");
}

/* More than can be tried: those in front are, the rest stays as it was declared. */
static void there_is_a_bound_to_what_is_tried(void **state)
{
    (void)state;
    struct sn_field fields[40];
    for (size_t i = 0; i < 40; i++)
        fields[i] = (struct sn_field)FIELD("kind", SN_TYPE_U8);
    sn_buf_fill(&bytes, 0, 40 + 6 * 3);
    assert_null(strstr(READ(fields, &bytes), "..."));
    sn_buf_fill(&bytes, 0, 3);
    assert_non_null(strstr(READ(fields, &bytes), "..."));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_enumeration_may_take_four_bytes),
        TEST(each_small_type_keeps_its_sign),
        TEST(those_that_are_no_enumerations_stay_small),
        TEST(events_that_describe_themselves_have_small_booleans),
        TEST(what_fits_no_way_is_read_as_declared),
        TEST(there_is_a_bound_to_what_is_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
