/* The JSON writer: commas, escapes, broken text, numbers in any locale. */
#include "check.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

struct fixture {
    struct sn_buf buf;
    struct sn_json json;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->buf = sn_buf_with_limit(1u << 16);
    fixture->json = sn_json_to(&fixture->buf);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sn_buf_done(&fixture->buf);
    free(fixture);
    return 0;
}

static void commas_stand_between_members_only(void **state)
{
    struct fixture *fixture = *state;
    struct sn_json *json = &fixture->json;
    sn_json_object(json, NULL);
    sn_json_array(json, "empty");
    sn_json_close(json);
    sn_json_object(json, "inner");
    sn_json_null(json, "a");
    sn_json_bool(json, "b", true);
    sn_json_close(json);
    sn_json_array(json, "list");
    sn_json_u64(json, NULL, 1);
    sn_json_object(json, NULL);
    sn_json_close(json);
    sn_json_bool(json, NULL, false);
    sn_json_close(json);
    sn_json_text(json, "last", NULL);
    sn_json_close(json);
    assert_string_equal(sn_buf_string(&fixture->buf),
                        "{\"empty\":[],\"inner\":{\"a\":null,\"b\":true},"
                        "\"list\":[1,{},false],\"last\":null}");
}

static void a_document_may_be_one_value(void **state)
{
    struct fixture *fixture = *state;
    sn_json_text(&fixture->json, NULL, "x");
    assert_string_equal(sn_buf_string(&fixture->buf), "\"x\"");
}

static void nesting_goes_to_its_limit(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < SN_JSON_DEPTH_MAX; i++) {
        if (i % 2)
            sn_json_object(&fixture->json, NULL);
        else
            sn_json_array(&fixture->json, i ? "k" : NULL);
    }
    for (unsigned i = 0; i < SN_JSON_DEPTH_MAX; i++)
        sn_json_close(&fixture->json);
    const char *text = sn_buf_string(&fixture->buf);
    assert_int_equal(strncmp(text, "[{\"k\":[{\"k\":[", 13), 0);
    assert_string_equal(text + strlen(text) - 4, "}]}]");
    assert_int_equal(fixture->json.depth, 0);
}

static const char *written(struct fixture *fixture, const char *text, size_t size)
{
    sn_buf_clear(&fixture->buf);
    sn_json_bytes(&fixture->json, NULL, text, size);
    return sn_buf_string(&fixture->buf);
}

static void every_control_character_is_escaped(void **state)
{
    struct fixture *fixture = *state;
    assert_string_equal(written(fixture, "\b\f\n\r\t\"\\/", 8), "\"\\b\\f\\n\\r\\t\\\"\\\\/\"");
    for (int byte = 0; byte < 0x20; byte++) {
        char text = (char)byte;
        const char *shown = written(fixture, &text, 1);
        assert_int_equal(shown[1], '\\');
        if (!strchr("\b\f\n\r\t", byte) || !byte) {
            char expected[16];
            (void)snprintf(expected, sizeof(expected), "\"\\u%04x\"", byte);
            assert_string_equal(shown, expected);
        }
    }
    assert_string_equal(written(fixture, "\x7F", 1), "\"\\u007f\"");
    assert_string_equal(written(fixture, "\xE2\x80\xA8\xE2\x80\xA9", 6), "\"\\u2028\\u2029\"");
    assert_string_equal(written(fixture, NULL, 0), "\"\"");
}

static void text_that_is_not_utf8_gets_replacements(void **state)
{
    struct fixture *fixture = *state;
    assert_string_equal(written(fixture, "a\xFFz", 3), "\"a\xEF\xBF\xBDz\"");
    assert_string_equal(written(fixture, "\xC0\xAF", 2), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
    assert_string_equal(written(fixture, "\xF0\x9F\x98", 3),
                        "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    assert_string_equal(written(fixture, "\xF0\x9F\x98\x80", 4), "\"\xF0\x9F\x98\x80\"");
    assert_string_equal(written(fixture, "\xE4\xB8\x96\"", 4), "\"\xE4\xB8\x96\\\"\"");
}

static void keys_are_escaped_too(void **state)
{
    struct fixture *fixture = *state;
    sn_json_object(&fixture->json, NULL);
    sn_json_u64(&fixture->json, "a\"\n\xFF", 1);
    sn_json_u64(&fixture->json, "", 2);
    sn_json_close(&fixture->json);
    assert_string_equal(sn_buf_string(&fixture->buf), "{\"a\\\"\\n\xEF\xBF\xBD\":1,\"\":2}");
}

static void whole_numbers_keep_all_their_bits(void **state)
{
    struct fixture *fixture = *state;
    sn_json_array(&fixture->json, NULL);
    sn_json_u64(&fixture->json, NULL, UINT64_MAX);
    sn_json_i64(&fixture->json, NULL, INT64_MIN);
    sn_json_i64(&fixture->json, NULL, -1);
    sn_json_close(&fixture->json);
    assert_string_equal(sn_buf_string(&fixture->buf),
                        "[18446744073709551615,-9223372036854775808,-1]");
}

static void check_reals(struct fixture *fixture)
{
    static const double values[] = {0.5,  -0.25,     1e300, -1e-300, 3.14159265358979,
                                    1e15, 123456.75, 1e308, DBL_MIN, 0.1};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        sn_buf_clear(&fixture->buf);
        sn_json_real(&fixture->json, NULL, values[i]);
        const char *text = sn_buf_string(&fixture->buf);
        assert_int_equal(strspn(text, "-+.e0123456789"), strlen(text));
        assert_true(strchr(text, '.') == strrchr(text, '.'));
        /* The reader is another program: it reads with a point. */
        locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        double back = strtod_l(text, NULL, plain);
        freelocale(plain);
        assert_true(fabs(back - values[i]) <= fabs(values[i]) * 1e-14);
    }
}

static void reals_are_written_to_15_digits(void **state)
{
    struct fixture *fixture = *state;
    check_reals(fixture);
    sn_buf_clear(&fixture->buf);
    sn_json_array(&fixture->json, NULL);
    sn_json_real(&fixture->json, NULL, 0.1);
    sn_json_real(&fixture->json, NULL, 1);
    sn_json_real(&fixture->json, NULL, 1e21);
    sn_json_close(&fixture->json);
    assert_string_equal(sn_buf_string(&fixture->buf), "[0.1,1,1e+21]");
}

static void what_is_not_finite_is_null(void **state)
{
    struct fixture *fixture = *state;
    sn_json_array(&fixture->json, NULL);
    sn_json_real(&fixture->json, NULL, NAN);
    sn_json_real(&fixture->json, NULL, INFINITY);
    sn_json_real(&fixture->json, NULL, -INFINITY);
    sn_json_close(&fixture->json);
    assert_string_equal(sn_buf_string(&fixture->buf), "[null,null,null]");
}

static void a_foreign_locale_changes_nothing(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
    bool found = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        found = true;
        check_reals(*state);
    }
    (void)setlocale(LC_ALL, "C");
    if (!found)
        skip_because("no locale with commas in its numbers" INSTALLABLE);
}

static void a_full_buffer_fails_and_stays_within_its_limit(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < 35; limit++) {
        struct sn_buf buf = sn_buf_with_limit(limit);
        struct sn_json json = sn_json_to(&buf);
        sn_json_object(&json, NULL);
        sn_json_text(&json, "name", "a value of some length\n");
        sn_json_close(&json);
        assert_int_equal(json.depth, 0);
        assert_true(buf.size <= limit);
        assert_true(buf.failed);
        sn_buf_done(&buf);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(commas_stand_between_members_only),
        TEST(a_document_may_be_one_value),
        TEST(nesting_goes_to_its_limit),
        TEST(every_control_character_is_escaped),
        TEST(text_that_is_not_utf8_gets_replacements),
        TEST(keys_are_escaped_too),
        TEST(whole_numbers_keep_all_their_bits),
        TEST(reals_are_written_to_15_digits),
        TEST(what_is_not_finite_is_null),
        TEST(a_foreign_locale_changes_nothing),
        cmocka_unit_test(a_full_buffer_fails_and_stays_within_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
