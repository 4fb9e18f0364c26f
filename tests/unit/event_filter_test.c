/* Conditions on events: what they mean for every type of field, and what of them is refused, where.
 */
#include "check.h"

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "model/event.h"
#include "model/event_filter.h"
#include "model/schema.h"
#include "sonde/error.h"

/* --- one event with a field of every type --- */

static const struct sn_field pair_fields[] = {{.name = "Key", .type = SN_TYPE_STRING16},
                                              {.name = "Value", .type = SN_TYPE_STRING16}};
static const struct sn_field pair = {
    .name = "", .type = SN_TYPE_OBJECT, .child_count = 2, .children = pair_fields};
static const struct sn_field number = {.name = "", .type = SN_TYPE_I32};
static const struct sn_field point_fields[] = {{.name = "X", .type = SN_TYPE_I32},
                                               {.name = "Label", .type = SN_TYPE_STRING16}};
static const struct sn_field point = {
    .name = "", .type = SN_TYPE_OBJECT, .child_count = 2, .children = point_fields};
static const struct sn_field byte = {.name = "", .type = SN_TYPE_U8};

static const struct sn_field fields[] = {
    {.name = "Flag", .type = SN_TYPE_BOOL32},
    {.name = "Off", .type = SN_TYPE_BOOL8},
    {.name = "Small", .type = SN_TYPE_I8},
    {.name = "Low", .type = SN_TYPE_I64},
    {.name = "High", .type = SN_TYPE_U64},
    {.name = "Duration", .type = SN_TYPE_F64},
    {.name = "Ratio", .type = SN_TYPE_F32},
    {.name = "Nan", .type = SN_TYPE_F64},
    {.name = "Name", .type = SN_TYPE_STRING16},
    {.name = "Empty", .type = SN_TYPE_STRING16},
    {.name = "Digits", .type = SN_TYPE_STRING16},
    {.name = "Narrow", .type = SN_TYPE_STRING8},
    {.name = "Truth", .type = SN_TYPE_STRING16},
    {.name = "Id", .type = SN_TYPE_GUID},
    {.name = "When", .type = SN_TYPE_FILETIME},
    {.name = "Price", .type = SN_TYPE_DECIMAL},
    {.name = "Numbers", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &number},
    {.name = "None", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &number},
    {.name = "Points", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &point},
    {.name = "Origin", .type = SN_TYPE_OBJECT, .child_count = 2, .children = point_fields},
    {.name = "Arguments", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &pair},
    {.name = "Blob", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &byte},
    {.name = "dotted.name", .type = SN_TYPE_I32},
    {.name = "with space", .type = SN_TYPE_I32},
    {.name = "Twice", .type = SN_TYPE_I32},
    {.name = "Twice", .type = SN_TYPE_I32},
};

static struct sn_schema schema = {
    .provider = "Shop-Events",
    .name = "OrderPlaced",
    .event_id = 7,
    .version = 2,
    .level = 4,
    .opcode = 1,
    .keywords = 0x8000000000000001u,
    .has_layout = true,
    .field_count = sizeof(fields) / sizeof(fields[0]),
    .fields = fields,
};

static const uint8_t guid[16] = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66,
                                 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

static void text16(struct sn_buf *buf, const char *text)
{
    sn_text_to_utf16(buf, text, strlen(text));
    sn_buf_u16(buf, 0);
}

static void real64(struct sn_buf *buf, double value)
{
    sn_buf_append(buf, &value, sizeof(value));
}

static void write_texts(struct sn_buf *buf)
{
    text16(buf, "Größe M*");
    text16(buf, "");
    text16(buf, "1500");
    sn_buf_append(buf, "latin", 6);
    text16(buf, "True");
}

static void write_payload(struct sn_buf *buf)
{
    float ratio = 0.1f;
    sn_buf_u32(buf, 1);
    sn_buf_u8(buf, 0);
    sn_buf_u8(buf, 0xFB); /* -5 */
    sn_buf_u64(buf, (uint64_t)INT64_MIN + 1);
    sn_buf_u64(buf, UINT64_MAX - 1);
    real64(buf, 50.5);
    sn_buf_append(buf, &ratio, sizeof(ratio));
    real64(buf, __builtin_nan(""));
    write_texts(buf);
    sn_buf_append(buf, guid, sizeof(guid));
    sn_buf_u64(buf, 116444736000000000u + 1700000000u * 10000000ull); /* 2023-11-14T22:13:20Z */
    sn_buf_u32(buf, 0x80020000u);                                     /* -12.34: its scale is 2 */
    sn_buf_u32(buf, 0);
    sn_buf_u64(buf, 1234);
    sn_buf_u16(buf, 3);
    for (uint32_t i = 1; i <= 3; i++)
        sn_buf_u32(buf, i * 10);
    sn_buf_u16(buf, 0);
    sn_buf_u16(buf, 2);
    for (uint32_t i = 1; i <= 2; i++) {
        sn_buf_u32(buf, i);
        text16(buf, i == 1 ? "first" : "second");
    }
    sn_buf_u32(buf, 99);
    text16(buf, "zero");
    sn_buf_u16(buf, 2);
    text16(buf, "Method");
    text16(buf, "GET");
    text16(buf, "http.status");
    text16(buf, "404");
    sn_buf_u16(buf, 2);
    sn_buf_u16(buf, 0xBEEF);
    sn_buf_u32(buf, 1);
    sn_buf_u32(buf, 2);
    sn_buf_u32(buf, 3);
    sn_buf_u32(buf, 4);
}

static struct sn_buf payload;
static struct sn_event event;

static int set_up(void **state)
{
    (void)state;
    payload = sn_buf_with_limit(4096);
    write_payload(&payload);
    event = (struct sn_event){.schema = &schema,
                              .pid = 42,
                              .thread_id = 4242,
                              .pointer_size = 8,
                              .payload = payload.bytes,
                              .payload_size = (uint32_t)payload.size,
                              .activity = guid};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sn_buf_done(&payload);
    return 0;
}

static bool holds(const char *text)
{
    struct sn_event_filter *filter = NULL;
    struct sonde_error err = {0};
    if (sn_event_filter_new(text, &filter, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    bool does = sn_event_filter_holds(filter, &event);
    sn_event_filter_free(filter);
    return does;
}

static void expect(bool wanted, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (holds(texts[i]) != wanted)
            fail_msg("%s %s", texts[i], wanted ? "should hold" : "should not hold");
}

#define HOLD(...)                                                 \
    do {                                                          \
        const char *const texts_[] = {__VA_ARGS__};               \
        expect(true, texts_, sizeof(texts_) / sizeof(texts_[0])); \
    } while (0)
#define FAIL(...)                                                  \
    do {                                                           \
        const char *const texts_[] = {__VA_ARGS__};                \
        expect(false, texts_, sizeof(texts_) / sizeof(texts_[0])); \
    } while (0)

/* --- what it means --- */

static void numbers_are_compared_as_numbers(void **state)
{
    (void)state;
    HOLD("Duration > 50", "Duration >= 50.5", "Duration < 5.1e1", "Duration = 50.5",
         "Duration != 50", "duration == 50.5", "DURATION>50", "Small == -5", "Small < -4.5",
         "Small <= -5", "High == 18446744073709551614", "High == 0xFFFFFFFFFFFFFFFE",
         "High < 18446744073709551615", "High > 18446744073709551613", "High > -1",
         "Low == -9223372036854775807", "Low > -9223372036854775808", "Low < 1e3", "Ratio == 0.1",
         "Ratio <= 0.1", "Nan != 1", "!(Nan == 1)", "Price == -12.34", "Price < -12");
    FAIL("Duration > 50.5", "Duration == 50", "High == 18446744073709551615", "High < 0",
         "High == 1.8446744073709552e19", "Low == -9223372036854775808", "Nan < 1", "Nan > 1",
         "Nan == 1", "Small == 251", "Duration == fifty", "Duration == \"50.5\"", "Price > 0");
}

static void booleans_are_words_or_numbers(void **state)
{
    (void)state;
    HOLD("Flag", "!Off", "Flag == true", "Flag == TRUE", "Flag == 1", "Off == false", "Off == 0",
         "Flag != false", "Duration == true", "Truth == true", "Truth == True",
         "Truth == \"True\"");
    FAIL("Off", "Flag == false", "Flag == 2", "Truth == false", "Truth == \"true\"");
}

static void text_is_compared_as_text(void **state)
{
    (void)state;
    HOLD("Name == \"Größe M*\"", "Name == 'Größe M*'", "Name > A", "Name < Z", "Name != x",
         "Empty == \"\"", "Name =~ gr*", "Name =~ *M?", "Name =~ \"öße m\"", "Name !~ klein",
         "Narrow == latin", "Narrow =~ LAT*", "Narrow =~ TI", "Narrow >= latin", "Narrow < lb",
         "Empty =~ *", "Name =~ G*ö*e*", "Name =~ \"\"");
    FAIL("Name == \"größe M*\"", "Name == Größe", "Name =~ r*", "Name =~ *x", "Name < A",
         "Empty != \"\"", "Narrow == Latin", "Narrow =~ latin?", "Narrow =~ latinx", "Empty =~ ?",
         "Empty < \"\"", "Name !~ gr*");
}

static void digits_in_text_are_numbers_when_a_number_is_asked_for(void **state)
{
    (void)state;
    HOLD("Digits == 1500", "Digits > 200", "Digits == 1.5e3", "Digits == \"1500\"",
         "Digits < \"200\"", "Name != 5");
    FAIL("Digits == \"1.5e3\"", "Name == 5", "Name > 5", "Empty == 0", "Digits < 200");
}

static void a_field_alone_holds_when_it_says_something(void **state)
{
    (void)state;
    HOLD("Flag", "Small", "Duration", "Name", "Id", "When", "Numbers", "Origin", "Blob", "Points",
         "@name", "@pid", "!Empty", "!None", "!Nan");
    FAIL("Off", "Empty", "None", "Missing", "Origin.Missing", "@related", "!Flag");
}

static void guids_and_times_are_read_as_such(void **state)
{
    (void)state;
    HOLD("Id == 00112233-4455-6677-8899-aabbccddeeff",
         "Id == {00112233-4455-6677-8899-AABBCCDDEEFF}",
         "Id == \"00112233-4455-6677-8899-aabbccddeeff\"", "Id =~ 0011*", "Id =~ DDEEFF", "Id != 5",
         "@activity == 00112233-4455-6677-8899-aabbccddeeff", "When > 2023-11-14",
         "When == 2023-11-14T22:13:20Z", "When == 2023-11-14T23:13:20+01:00",
         "When == \"2023-11-14 22:13:20\"", "When < 2023-11-14T22:13:20.0000001",
         "When == 1700000000", "When > 1699999999.5", "When < 2023-11-15",
         "When >= 2023-11-14T22:13");
    FAIL("Id == 00112233-4455-6677-8899-aabbccddeef0", "Id == x", "When == now",
         "When < 2023-11-14", "When > 2023-13-14",
         "@related != 00112233-4455-6677-8899-aabbccddeeff");
}

static void objects_and_arrays_are_looked_into(void **state)
{
    (void)state;
    HOLD("Numbers == 20", "Numbers > 25", "Numbers != 10", "Points.X == 2",
         "points.label == second", "Points.Label =~ FIR*", "Origin.X == 99", "Origin.Label == zero",
         "dotted.name == 1", "'with space' == 2", "Blob", "Twice == 3");
    FAIL("Numbers == 40", "Numbers > 30", "None == 0", "None != 0", "Points == 1", "Points.Y == 1",
         "X == 99", "Origin == 99", "Origin.X.Y == 1", "Origin. == 1", "dotted == 1", "Twice == 4",
         "Points.X == 99", "Blob == 1", "Numbers.X == 10");
}

static void the_key_of_a_pair_is_a_name(void **state)
{
    (void)state;
    HOLD("Arguments.Method == GET", "arguments.method =~ g?t", "Arguments.http.status >= 400",
         "Arguments.Key == Method", "Arguments.Value == 404", "Arguments.Method");
    FAIL("Arguments.Method == 404", "Arguments.http == 404", "Arguments.GET == Method",
         "Arguments.Method == POST", "Method == GET");
}

static void what_the_event_itself_has_is_asked_with_an_at(void **state)
{
    (void)state;
    HOLD("@provider == Shop-Events", "@name == OrderPlaced", "@Name =~ order*", "@id == 7",
         "@version == 2", "@level <= informational", "@level == Informational", "@level > warning",
         "@level == 4", "@opcode == 1", "@thread == 4242", "@pid == 42",
         "@keywords == 0x8000000000000001", "\"@id\" == 7 || @id == 7");
    FAIL("@provider == shop-events", "@level < warning", "@level == \"chatty\"", "\"@id\" == 7");
}

static void operators_bind_as_everywhere(void **state)
{
    (void)state;
    HOLD("Flag || Off && Off", "(Flag || Off) && Flag", "!Off && Flag", "!Off and not Off or Off",
         "NOT Off AND Flag", "!(Off || Off)", "!!Flag", "! ( ! ( Flag ) )",
         "Off or (Off or (Flag))", "Missing != 1 || Flag", "!(Missing == 1)", "Flag&&!Off",
         "@id == 8 || Small == -5", "Android == 1 || Flag", "Order || Flag");
    FAIL("(Flag || Off) && Off", "!Flag || Off", "!(Flag || Off)", "!Flag && Flag || Off",
         "Missing != 1", "Flag and Off", "@id == 8 && Flag");
}

static void an_event_without_a_layout_has_no_fields(void **state)
{
    (void)state;
    schema.has_layout = false;
    FAIL("Flag", "Missing != 1");
    HOLD("!Flag", "@id == 7");
    schema.has_layout = true;
}

static void an_event_that_describes_itself_has_its_fields_at_the_top(void **state)
{
    (void)state;
    struct sn_field whole = {
        .name = "", .type = SN_TYPE_OBJECT, .child_count = schema.field_count, .children = fields};
    struct sn_schema wrapped = schema;
    wrapped.fields = &whole;
    wrapped.field_count = 1;
    event.schema = &wrapped;
    HOLD("Duration > 50", "Origin.X == 99", "Arguments.Method == GET", "Numbers == 30");
}

/* What was read before the cut still counts, and nothing is read behind it. */
static void a_payload_cut_at_every_byte_is_survived(void **state)
{
    (void)state;
    struct sn_event_filter *filter = NULL;
    const char *text = "Twice == 3 || Arguments.x == 1 || Points.Label == none || Name =~ *q*";
    assert_int_equal(sn_event_filter_new(text, &filter, NULL), SONDE_OK);
    for (uint32_t size = 0; size < payload.size; size++) {
        uint8_t *cut = malloc(size ? size : 1); /* so that a sanitizer sees the end */
        assert_non_null(cut);
        memcpy(cut, payload.bytes, size);
        event.payload = cut;
        event.payload_size = size;
        assert_int_equal(sn_event_filter_holds(filter, &event), size >= payload.size - 4);
        free(cut);
    }
    sn_event_filter_free(filter);
}

/* --- what is refused --- */

static void refused_at(const char *text, uint64_t offset)
{
    struct sn_event_filter *filter = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_event_filter_new(text, &filter, &err), SONDE_E_ARGUMENT);
    assert_null(filter);
    if (err.offset != offset)
        fail_msg("'%s': offset %d instead of %d: %s", text, (int)err.offset, (int)offset, err.text);
}

static void errors_point_at_what_is_wrong(void **state)
{
    (void)state;
    refused_at("", 0);
    refused_at("   ", 3);
    refused_at("Duration >", 10);
    refused_at("Duration > ", 11);
    refused_at("Duration >> 5", 10);
    refused_at("Duration === 5", 11);
    refused_at("> 5", 0);
    refused_at("a == 1 b == 2", 7);
    refused_at("a == 1 & b == 2", 7);
    refused_at("a == 1 &&", 9);
    refused_at("a == 1 && || b", 10);
    refused_at("(a == 1", 0);
    refused_at("a && (b || (c)", 5);
    refused_at("a == 1)", 6);
    refused_at("()", 1);
    refused_at("a == \"open", 5);
    refused_at("a == 'open\\'", 5);
    refused_at("@nothing == 1", 0);
    refused_at("a && @", 5);
    refused_at("\"\" == 1", 0);
    refused_at("not", 3);
    refused_at("a !b", 2);
    refused_at("a ~ b", 2);
}

static void repeat(struct sn_buf *buf, const char *text, int count)
{
    for (int i = 0; i < count; i++)
        sn_buf_text(buf, text);
}

static void there_is_a_ceiling_to_everything(void **state)
{
    (void)state;
    struct sn_buf text = sn_buf_with_limit(10000);
    repeat(&text, "(", 65);
    refused_at(sn_buf_string(&text), 64);
    sn_buf_clear(&text);
    repeat(&text, "!", 64);
    sn_buf_text(&text, "Flag");
    assert_true(holds(sn_buf_string(&text)));
    sn_buf_clear(&text);
    repeat(&text, "Off||", 63);
    sn_buf_text(&text, "Flag");
    assert_true(holds(sn_buf_string(&text)));
    sn_buf_text(&text, "||Flag");
    refused_at(sn_buf_string(&text), 63ull * 5 + 6);
    sn_buf_clear(&text);
    repeat(&text, "!!!!!!a&&", 40);
    sn_buf_text(&text, "a");
    refused_at(sn_buf_string(&text), 9ull * 33); /* seven steps each, and one to join two */
    sn_buf_clear(&text);
    sn_buf_text(&text, "Name == \"");
    repeat(&text, "ß", 2043);
    sn_buf_text(&text, "\"");
    assert_false(holds(sn_buf_string(&text)));
    sn_buf_text(&text, " ");
    refused_at(sn_buf_string(&text), 4096);
    sn_buf_done(&text);
}

static void numbers_are_read_alike_in_every_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        skip_because("no German locale" INSTALLABLE);
    HOLD("Duration == 50.5", "Ratio == 0.1", "Duration > 5.04e1");
    assert_non_null(setlocale(LC_NUMERIC, "C"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_are_compared_as_numbers),
        TEST(booleans_are_words_or_numbers),
        TEST(text_is_compared_as_text),
        TEST(digits_in_text_are_numbers_when_a_number_is_asked_for),
        TEST(a_field_alone_holds_when_it_says_something),
        TEST(guids_and_times_are_read_as_such),
        TEST(objects_and_arrays_are_looked_into),
        TEST(the_key_of_a_pair_is_a_name),
        TEST(what_the_event_itself_has_is_asked_with_an_at),
        TEST(operators_bind_as_everywhere),
        TEST(an_event_without_a_layout_has_no_fields),
        TEST(an_event_that_describes_itself_has_its_fields_at_the_top),
        TEST(a_payload_cut_at_every_byte_is_survived),
        TEST(errors_point_at_what_is_wrong),
        TEST(there_is_a_ceiling_to_everything),
        TEST(numbers_are_read_alike_in_every_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
