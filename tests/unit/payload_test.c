/* Payloads by their schema: every type, nesting, counts from siblings, and every cut. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"

#define FIELD(name, type)      \
    {                          \
        name, type, 0, 0, NULL \
    }
#define NESTED(name, type, kids)                            \
    {                                                       \
        name, type, 0, sizeof(kids) / sizeof(*(kids)), kids \
    }

/* The walk as text: "name=value" with a space behind each, "{" and "}" around what nests. */
static int walk(const struct sn_event *event, struct sn_buf *out, size_t *ret_left)
{
    struct sn_payload payload;
    struct sn_value value;
    int rc;
    sn_payload_start(&payload, event);
    while ((rc = sn_payload_next(&payload, &value)) == SONDE_OK) {
        assert_non_null(value.field);
        if (value.kind == SN_VALUE_CLOSE) {
            sn_buf_text(out, "} ");
            continue;
        }
        sn_buf_text(out, value.field->name);
        switch (value.kind) {
        case SN_VALUE_OPEN: sn_buf_format(out, "(%d){", (int)value.number); break;
        case SN_VALUE_BOOL: sn_buf_text(out, value.number ? "=yes" : "=no"); break;
        case SN_VALUE_UINT: sn_buf_format(out, "=%llu", (unsigned long long)value.number); break;
        case SN_VALUE_INT: sn_buf_format(out, "=%lld", (long long)value.number); break;
        case SN_VALUE_FLOAT: sn_buf_format(out, "=%g", value.real); break;
        case SN_VALUE_TIME: sn_buf_format(out, "=@%llu", (unsigned long long)value.number); break;
        case SN_VALUE_TEXT8:
            sn_buf_format(out, "='%.*s'", (int)value.size, (const char *)value.bytes);
            break;
        case SN_VALUE_TEXT16:
            sn_buf_text(out, "=\"");
            sn_text_from_utf16(out, value.bytes, value.size / 2);
            sn_buf_text(out, "\"");
            break;
        case SN_VALUE_GUID: sn_buf_format(out, "=guid%u", value.size); break;
        case SN_VALUE_BYTES: sn_buf_format(out, "=bytes%u", value.size); break;
        default: fail_msg("kind %d", value.kind);
        }
        sn_buf_text(out, " ");
    }
    if (ret_left && rc == SONDE_END)
        *ret_left = sn_payload_left(&payload);
    return rc;
}

static struct sn_schema schema_of(const struct sn_field *fields, size_t count)
{
    return (struct sn_schema){.provider = "P",
                              .name = "E",
                              .has_layout = true,
                              .fields = fields,
                              .field_count = (uint16_t)count};
}

static struct sn_event event_of(const struct sn_schema *schema, const void *bytes, size_t size)
{
    return (struct sn_event){
        .schema = schema, .pointer_size = 8, .payload = bytes, .payload_size = (uint32_t)size};
}

/* Reads as `expected`; and every cut is told as one, never as a whole payload. Copies are cut to
 * size, so that the sanitizer sees a read too far. */
static void assert_reads(const struct sn_field *fields, size_t count, const void *bytes,
                         size_t size, const char *expected)
{
    struct sn_schema schema = schema_of(fields, count);
    for (size_t cut = 0; cut <= size; cut++) {
        SN_AUTO(sn_free) uint8_t *copy = malloc(cut ? cut : 1);
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(65536);
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        struct sn_event event = event_of(&schema, copy, cut);
        size_t left = 99;
        int rc = walk(&event, &text, &left);
        if (cut < size) {
            assert_int_equal(rc, SONDE_E_TRUNCATED);
            continue;
        }
        assert_int_equal(rc, SONDE_END);
        assert_int_equal(left, 0);
        assert_string_equal(sn_buf_string(&text), expected);
    }
}

#define ASSERT_READS(fields, bytes, expected) \
    assert_reads(fields, sizeof(fields) / sizeof(*(fields)), bytes, sizeof(bytes), expected)

static void every_plain_type_is_read(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {
        FIELD("b4", SN_TYPE_BOOL32), FIELD("b1", SN_TYPE_BOOL8),   FIELD("c", SN_TYPE_CHAR16),
        FIELD("i1", SN_TYPE_I8),     FIELD("u1", SN_TYPE_U8),      FIELD("i2", SN_TYPE_I16),
        FIELD("u2", SN_TYPE_U16),    FIELD("i4", SN_TYPE_I32),     FIELD("u4", SN_TYPE_U32),
        FIELD("i8", SN_TYPE_I64),    FIELD("u8", SN_TYPE_U64),     FIELD("f4", SN_TYPE_F32),
        FIELD("f8", SN_TYPE_F64),    FIELD("m", SN_TYPE_DECIMAL),  FIELD("t", SN_TYPE_FILETIME),
        FIELD("g", SN_TYPE_GUID),    FIELD("s", SN_TYPE_STRING16), FIELD("z", SN_TYPE_STRING8),
        FIELD("v", SN_TYPE_VARUINT), FIELD("w", SN_TYPE_VARINT),   FIELD("x", SN_TYPE_UTF8_UNIT),
        FIELD("p", SN_TYPE_POINTER)};
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(1024);
    const float narrow = 1.5F;
    const double wide = -0.25;
    sn_buf_u32(&bytes, 1);
    sn_buf_u8(&bytes, 0);
    sn_buf_u16(&bytes, 'Z');
    sn_buf_u8(&bytes, 0x80);
    sn_buf_u8(&bytes, 0x80);
    sn_buf_u16(&bytes, 0xFFFE);
    sn_buf_u16(&bytes, 0xFFFE);
    sn_buf_u32(&bytes, 0x80000000u);
    sn_buf_u32(&bytes, 0x80000000u);
    sn_buf_u64(&bytes, UINT64_MAX);
    sn_buf_u64(&bytes, UINT64_MAX);
    sn_buf_append(&bytes, &narrow, 4);
    sn_buf_append(&bytes, &wide, 8);
    sn_buf_fill(&bytes, 7, 16);
    sn_buf_u64(&bytes, 1234567);
    sn_buf_fill(&bytes, 9, 16);
    sn_text_to_utf16(&bytes, "h\xC3\xA9", 3);
    sn_buf_u16(&bytes, 0);
    sn_buf_append(&bytes, "latin", 6);
    sn_buf_varuint(&bytes, 300);
    sn_buf_varuint(&bytes, 5); /* zigzag: -3 */
    sn_buf_u8(&bytes, 'q');
    sn_buf_u64(&bytes, 0x7F0012345678u);
    assert_reads(fields, sizeof(fields) / sizeof(*fields), bytes.bytes, bytes.size,
                 "b4=yes b1=no c=\"Z\" i1=-128 u1=128 i2=-2 u2=65534 i4=-2147483648 "
                 "u4=2147483648 i8=-1 u8=18446744073709551615 f4=1.5 f8=-0.25 m=bytes16 "
                 "t=@1234567 g=guid16 s=\"h\xC3\xA9\" z='latin' v=300 w=-3 x=113 "
                 "p=139638282147448 ");
}

static void a_pointer_is_as_wide_as_the_targets(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {FIELD("p", SN_TYPE_POINTER), FIELD("n", SN_TYPE_U8)};
    static const uint8_t bytes[] = {0xFF, 0xFF, 0xFF, 0xFF, 7};
    struct sn_schema schema = schema_of(fields, 2);
    struct sn_event event = event_of(&schema, bytes, sizeof(bytes));
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(256);
    event.pointer_size = 4;
    assert_int_equal(walk(&event, &text, NULL), SONDE_END);
    assert_string_equal(sn_buf_string(&text), "p=4294967295 n=7 ");
}

static void objects_and_arrays_nest(void **state)
{
    (void)state;
    static const struct sn_field element[] = {FIELD("", SN_TYPE_U8)};
    static const struct sn_field number[] = {FIELD("", SN_TYPE_U16)};
    static const struct sn_field point[] = {FIELD("x", SN_TYPE_U8),
                                            NESTED("list", SN_TYPE_ARRAY, number)};
    static const struct sn_field object[] = {NESTED("", SN_TYPE_OBJECT, point)};
    static const struct sn_field fields[] = {NESTED("points", SN_TYPE_ARRAY, object),
                                             NESTED("raw", SN_TYPE_ARRAY, element),
                                             NESTED("last", SN_TYPE_OBJECT, point)};
    static const uint8_t bytes[] = {2, 0, 10, 1, 0, 0xE8, 3, 11, 0, 0, 3, 0, 1, 2, 3, 12, 0, 0};
    ASSERT_READS(fields, bytes,
                 "points(2){ (2){ x=10 list(1){ =1000 } } (2){ x=11 list(0){ } } } raw=bytes3 "
                 "last(2){ x=12 list(0){ } } ");
}

static void arrays_of_characters_are_one_text(void **state)
{
    (void)state;
    static const struct sn_field narrow[] = {FIELD("", SN_TYPE_UTF8_UNIT)};
    static const struct sn_field wide[] = {FIELD("", SN_TYPE_CHAR16)};
    static const struct sn_field fields[] = {NESTED("a", SN_TYPE_ARRAY, narrow),
                                             NESTED("b", SN_TYPE_ARRAY, wide),
                                             {"c", SN_TYPE_FIXED_ARRAY, 3, 1, narrow},
                                             {"d", SN_TYPE_FIXED_ARRAY, 0, 1, wide}};
    static const uint8_t bytes[] = {2, 0, 'h', 'i', 1, 0, 'X', 0, 'a', 'b', 'c'};
    ASSERT_READS(fields, bytes, "a='hi' b=\"X\" c='abc' d=\"\" ");
}

static void a_fixed_array_has_as_many_as_declared(void **state)
{
    (void)state;
    static const struct sn_field number[] = {FIELD("", SN_TYPE_I16)};
    static const struct sn_field inner[] = {{"", SN_TYPE_FIXED_ARRAY, 2, 1, number}};
    static const struct sn_field fields[] = {{"grid", SN_TYPE_FIXED_ARRAY, 2, 1, inner}};
    static const uint8_t bytes[] = {1, 0, 2, 0, 0xFF, 0xFF, 4, 0};
    ASSERT_READS(fields, bytes, "grid(2){ (2){ =1 =2 } (2){ =-1 =4 } } ");
}

static void a_fixed_array_of_nothing_needs_no_payload(void **state)
{
    (void)state;
    static const struct sn_field byte[] = {FIELD("", SN_TYPE_U8)};
    static const struct sn_field fields[] = {{"none", SN_TYPE_FIXED_ARRAY, 0, 1, byte}};
    struct sn_schema schema = schema_of(fields, 1);
    struct sn_event event = event_of(&schema, NULL, 0);
    struct sn_value value;
    assert_true(sn_payload_find(&event, "none", &value));
    assert_int_equal(value.kind, SN_VALUE_BYTES);
    assert_int_equal(value.size, 0);
}

static void a_sibling_counts_an_array(void **state)
{
    (void)state;
    static const struct sn_field text[] = {FIELD("", SN_TYPE_STRING16)};
    static const struct sn_field pointer[] = {FIELD("", SN_TYPE_POINTER)};
    static const struct sn_field values[] = {FIELD("v", SN_TYPE_U8)};
    static const struct sn_field objects[] = {NESTED("", SN_TYPE_OBJECT, values)};
    static const struct sn_field fields[] = {FIELD("m", SN_TYPE_U16),
                                             FIELD("n", SN_TYPE_U32),
                                             {"p", SN_TYPE_COUNTED, 0, 1, pointer},
                                             {"s", SN_TYPE_COUNTED, 1, 1, text},
                                             {"o", SN_TYPE_COUNTED, 0, 1, objects}};
    static const uint8_t bytes[] = {1, 0, 2, 0,   0, 0, 8, 0, 0, 0, 0,
                                    0, 0, 0, 'a', 0, 0, 0, 0, 0, 5};
    ASSERT_READS(fields, bytes, "m=1 n=2 p(1){ =8 } s(2){ =\"a\" =\"\" } o(1){ (1){ v=5 } } ");
}

static int status_of(const struct sn_field *fields, size_t count, const void *bytes, size_t size)
{
    struct sn_schema schema = schema_of(fields, count);
    struct sn_event event = event_of(&schema, bytes, size);
    struct sn_payload payload;
    struct sn_value value;
    int rc;
    uint64_t steps = 0;
    sn_payload_start(&payload, &event);
    do {
        rc = sn_payload_next(&payload, &value);
        assert_true(++steps < 1000000);
    } while (rc == SONDE_OK);
    return rc;
}

static void a_count_that_is_not_a_sibling_before_is_refused(void **state)
{
    (void)state;
    static const struct sn_field number[] = {FIELD("", SN_TYPE_U32)};
    static const struct sn_field itself[] = {{"a", SN_TYPE_COUNTED, 0, 1, number}};
    static const struct sn_field later[] = {{"a", SN_TYPE_COUNTED, 1, 1, number},
                                            FIELD("n", SN_TYPE_U32)};
    static const struct sn_field far_away[] = {FIELD("n", SN_TYPE_U32),
                                               {"a", SN_TYPE_COUNTED, 60000, 1, number}};
    static const struct sn_field counted[] = {{"", SN_TYPE_COUNTED, 0, 1, number}};
    static const struct sn_field in_array[] = {NESTED("a", SN_TYPE_ARRAY, counted)};
    static const uint8_t bytes[64] = {1};
    assert_int_equal(status_of(itself, 1, bytes, 64), SONDE_E_FORMAT);
    assert_int_equal(status_of(later, 2, bytes, 64), SONDE_E_FORMAT);
    assert_int_equal(status_of(far_away, 2, bytes, 64), SONDE_E_FORMAT);
    assert_int_equal(status_of(in_array, 1, bytes, 64), SONDE_E_FORMAT);
}

static void absurd_counts_end(void **state)
{
    (void)state;
    static const struct sn_field nothing[] = {{"", SN_TYPE_OBJECT, 0, 0, NULL}};
    static const struct sn_field many[] = {NESTED("a", SN_TYPE_ARRAY, nothing)};
    static const struct sn_field counted[] = {FIELD("n", SN_TYPE_U64),
                                              {"a", SN_TYPE_COUNTED, 0, 1, nothing}};
    static const struct sn_field text[] = {FIELD("", SN_TYPE_CHAR16)};
    static const struct sn_field counted_text[] = {FIELD("n", SN_TYPE_U64),
                                                   {"a", SN_TYPE_COUNTED, 0, 1, text}};
    static const struct sn_field negative[] = {FIELD("n", SN_TYPE_I32),
                                               {"a", SN_TYPE_COUNTED, 0, 1, text}};
    static const uint8_t ones[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    static const uint8_t half[8] = {0, 0, 0, 0, 0, 0, 0, 0x80}; /* doubled it is 0 */
    assert_int_equal(status_of(many, 1, ones, 2), SONDE_E_FORMAT);
    assert_int_equal(status_of(counted, 2, ones, 8), SONDE_E_TRUNCATED);
    assert_int_equal(status_of(counted_text, 2, ones, 8), SONDE_E_TRUNCATED);
    assert_int_equal(status_of(counted_text, 2, half, 8), SONDE_E_TRUNCATED);
    assert_int_equal(status_of(negative, 2, ones, 4), SONDE_E_TRUNCATED);
}

static void arrays_of_nothing_in_arrays_end_soon(void **state)
{
    (void)state;
    static const struct sn_field byte[] = {FIELD("", SN_TYPE_U8)};
    static const struct sn_field none[] = {{"", SN_TYPE_FIXED_ARRAY, 0, 1, byte}};
    static const struct sn_field inner[] = {{"", SN_TYPE_FIXED_ARRAY, 65535, 1, none}};
    static const struct sn_field fields[] = {{"a", SN_TYPE_FIXED_ARRAY, 65535, 1, inner}};
    assert_int_equal(status_of(fields, 1, "", 0), SONDE_E_FORMAT);
}

static void small_elements_of_large_arrays_are_not_mistaken_for_nothing(void **state)
{
    (void)state;
    static const struct sn_field one[] = {FIELD("x", SN_TYPE_U8)};
    static const struct sn_field object[] = {NESTED("", SN_TYPE_OBJECT, one)};
    static const struct sn_field fields[] = {NESTED("a", SN_TYPE_ARRAY, object)};
    static uint8_t bytes[2 + 60000] = {0x60, 0xEA};
    assert_int_equal(status_of(fields, 1, bytes, sizeof(bytes)), SONDE_END);
}

static void nesting_too_deep_is_refused(void **state)
{
    (void)state;
    struct sn_field chain[40];
    for (size_t i = 0; i < 40; i++)
        chain[i] = (struct sn_field){"o", SN_TYPE_OBJECT, 0, i < 39, i < 39 ? &chain[i + 1] : NULL};
    assert_int_equal(status_of(chain, 1, "", 0), SONDE_E_FORMAT);
    assert_int_equal(status_of(&chain[39 - SN_FIELD_DEPTH_MAX], 1, "", 0), SONDE_END);
}

static void located_arrays_lie_elsewhere_in_the_payload(void **state)
{
    (void)state;
    static const struct sn_field narrow[] = {FIELD("", SN_TYPE_UTF8_UNIT)};
    static const struct sn_field wide[] = {FIELD("", SN_TYPE_CHAR16)};
    static const struct sn_field byte[] = {FIELD("", SN_TYPE_U8)};
    static const struct sn_field fields[] = {NESTED("r", SN_TYPE_REL_LOC, narrow),
                                             NESTED("d", SN_TYPE_DATA_LOC, wide),
                                             NESTED("e", SN_TYPE_REL_LOC, byte)};
    static const uint8_t bytes[] = {8, 0, 3,   0,   15,  0,   4, 0,   7, 0,
                                    0, 0, 'a', 'b', 'c', 'X', 0, 'Y', 0};
    struct sn_schema schema = schema_of(fields, 3);
    struct sn_event event = event_of(&schema, bytes, sizeof(bytes));
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(256);
    size_t left = 0;
    assert_int_equal(walk(&event, &text, &left), SONDE_END);
    assert_string_equal(sn_buf_string(&text), "r='abc' d=\"XY\" e=bytes0 ");
    assert_int_equal(left, 0); /* what lies there was read */
    for (size_t cut = 0; cut < sizeof(bytes); cut++) {
        SN_AUTO(sn_free) uint8_t *copy = malloc(cut ? cut : 1);
        memcpy(copy, bytes, cut);
        assert_int_equal(status_of(fields, 3, copy, cut), SONDE_E_TRUNCATED);
    }
    static const uint8_t outside[] = {0xFF, 0xFF, 0xFF, 0xFF};
    assert_int_equal(status_of(fields, 1, outside, 4), SONDE_E_TRUNCATED);
    assert_int_equal(status_of(fields + 1, 1, outside, 4), SONDE_E_TRUNCATED);
}

static void what_stands_behind_the_last_field_is_counted(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {FIELD("a", SN_TYPE_U8)};
    struct sn_schema schema = schema_of(fields, 1);
    struct sn_event event = event_of(&schema, "abcd", 4);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(64);
    size_t left = 0;
    assert_int_equal(walk(&event, &text, &left), SONDE_END);
    assert_int_equal(left, 3);
}

static void a_type_that_nobody_knows_is_refused(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 256; type++) {
        bool is_known = (type >= 1 && type <= 26 && type != 2) || (type >= 64 && type <= 66);
        if (is_known)
            continue;
        struct sn_field field = FIELD("a", (uint8_t)type);
        assert_int_equal(status_of(&field, 1, "12345678", 8), SONDE_E_FORMAT);
    }
}

static void find_looks_at_the_top_level_only(void **state)
{
    (void)state;
    static const struct sn_field inner[] = {FIELD("Count", SN_TYPE_U8)};
    static const struct sn_field fields[] = {NESTED("Box", SN_TYPE_OBJECT, inner),
                                             FIELD("Count", SN_TYPE_U8),
                                             FIELD("Name", SN_TYPE_STRING16)};
    struct sn_schema schema = schema_of(fields, 3);
    struct sn_event event = event_of(&schema, "\1\2N\0\0\0", 6);
    struct sn_value value;
    assert_true(sn_payload_find(&event, "Count", &value));
    assert_int_equal(value.number, 2);
    assert_true(sn_payload_find(&event, "Box", &value));
    assert_int_equal(value.kind, SN_VALUE_OPEN);
    assert_true(sn_payload_find(&event, "Name", &value));
    assert_int_equal(value.size, 2);
    assert_false(sn_payload_find(&event, "count", &value));
    assert_false(sn_payload_find(&event, "", &value));
    event.payload_size = 5;
    assert_false(sn_payload_find(&event, "Name", &value));
    assert_true(sn_payload_find(&event, "Count", &value)); /* it lies before the cut */
    schema.field_count = 0;
    assert_false(sn_payload_find(&event, "Count", &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plain_type_is_read),
        cmocka_unit_test(a_pointer_is_as_wide_as_the_targets),
        cmocka_unit_test(objects_and_arrays_nest),
        cmocka_unit_test(arrays_of_characters_are_one_text),
        cmocka_unit_test(a_fixed_array_has_as_many_as_declared),
        cmocka_unit_test(a_fixed_array_of_nothing_needs_no_payload),
        cmocka_unit_test(a_sibling_counts_an_array),
        cmocka_unit_test(a_count_that_is_not_a_sibling_before_is_refused),
        cmocka_unit_test(absurd_counts_end),
        cmocka_unit_test(arrays_of_nothing_in_arrays_end_soon),
        cmocka_unit_test(small_elements_of_large_arrays_are_not_mistaken_for_nothing),
        cmocka_unit_test(nesting_too_deep_is_refused),
        cmocka_unit_test(located_arrays_lie_elsewhere_in_the_payload),
        cmocka_unit_test(what_stands_behind_the_last_field_is_counted),
        cmocka_unit_test(a_type_that_nobody_knows_is_refused),
        cmocka_unit_test(find_looks_at_the_top_level_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
