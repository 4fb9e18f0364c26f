/* Text from outside: both encodings and their broken forms, what a terminal may see, numbers. */
#include "check.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"

#define FFFD "\xEF\xBF\xBD"

static void assert_from_utf16(const uint16_t *units, size_t count, const char *expected)
{
    uint8_t unaligned[65];
    assert_true(count <= 32);
    memcpy(unaligned + 1, units, count * 2);
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(256);
    sn_text_from_utf16(&buf, unaligned + 1, count);
    assert_string_equal(sn_buf_string(&buf), expected);
}

static void utf16_of_every_width_becomes_utf8(void **state)
{
    (void)state;
    const uint16_t units[] = {'A',    0x7F,   0x80,   0x7FF,  0x800,
                              0xFFFF, 0xD83D, 0xDE00, 0xDBFF, 0xDFFF};
    assert_from_utf16(units, 10,
                      "A\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x9F\x98\x80"
                      "\xF4\x8F\xBF\xBF");
    assert_from_utf16(units, 0, "");
}

static void lone_surrogates_become_replacements_and_eat_nothing_else(void **state)
{
    (void)state;
    assert_from_utf16((const uint16_t[]){0xD800}, 1, FFFD);
    assert_from_utf16((const uint16_t[]){0xDC00}, 1, FFFD);
    assert_from_utf16((const uint16_t[]){0xD800, 'a'}, 2, FFFD "a");
    assert_from_utf16((const uint16_t[]){0xDC00, 0xD800}, 2, FFFD FFFD);
    assert_from_utf16((const uint16_t[]){0xD800, 0xD800, 0xDC00}, 3, FFFD "\xF0\x90\x80\x80");
    assert_from_utf16((const uint16_t[]){0xD83D, 0xDE00, 0xDE00}, 3, "\xF0\x9F\x98\x80" FFFD);
}

static void every_code_point_comes_back_from_a_round_trip(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf wide = sn_buf_with_limit(16);
    SN_AUTO(sn_buf_done) struct sn_buf narrow = sn_buf_with_limit(16);
    for (uint32_t point = 1; point <= 0x10FFFF; point++) {
        if (point >= 0xD800 && point <= 0xDFFF)
            continue;
        sn_buf_clear(&wide);
        sn_buf_clear(&narrow);
        if (point >= 0x10000)
            sn_buf_u16(&wide, (uint16_t)(0xD7C0 + (point >> 10)));
        sn_buf_u16(&wide, (uint16_t)(point >= 0x10000 ? 0xDC00 + (point & 0x3FF) : point));
        sn_text_from_utf16(&narrow, wide.bytes, wide.size / 2);
        uint32_t decoded = 0;
        bool valid = false;
        size_t length = sn_text_decode((const char *)narrow.bytes, narrow.size, &decoded, &valid);
        if (!valid || decoded != point || length != narrow.size)
            fail_msg("U+%X came back as U+%X", point, decoded);
        size_t size = wide.size;
        sn_text_to_utf16(&wide, (const char *)narrow.bytes, narrow.size);
        assert_int_equal(wide.size, 2 * size);
        assert_memory_equal(wide.bytes, wide.bytes + size, size);
    }
}

static void assert_bad(const char *text, size_t size)
{
    uint32_t point = 0;
    bool valid = true;
    assert_int_equal(sn_text_decode(text, size, &point, &valid), 1);
    assert_false(valid);
    assert_int_equal(point, 0xFFFD);
}

static void overlong_surrogate_and_cut_utf8_is_bad(void **state)
{
    (void)state;
    assert_bad("\xC0\x80", 2);
    assert_bad("\xC1\xBF", 2);
    assert_bad("\xE0\x9F\xBF", 3);
    assert_bad("\xF0\x8F\xBF\xBF", 4);
    assert_bad("\xED\xA0\x80", 3);
    assert_bad("\xED\xBF\xBF", 3);
    assert_bad("\xF4\x90\x80\x80", 4);
    assert_bad("\xF8\x88\x80\x80\x80", 5);
    assert_bad("\xFF\xBF\xBF\xBF", 4);
    assert_bad("\x80", 1);
    assert_bad("\xBF", 1);
    assert_bad("\xC3(", 2);
    assert_bad("\xF0\x9F\x98(", 4);
    for (size_t size = 1; size < 4; size++)
        assert_bad("\xF0\x9F\x98\x80", size);
}

static void bytes_that_begin_nothing_are_bad_whatever_follows(void **state)
{
    (void)state;
    for (unsigned first = 0x80; first <= 0xFF; first++) {
        if (first >= 0xC2 && first <= 0xF4)
            continue;
        for (unsigned second = 0x80; second <= 0xBF; second++) {
            const char text[] = {(char)first, (char)second, '\x98', '\x9C', '\x80', '\x80'};
            assert_bad(text, sizeof(text));
        }
    }
}

static void every_broken_byte_is_replaced_on_its_own(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(64);
    sn_text_to_utf16(&buf, "a\xC0\x80\xE2\x82z", 6);
    const uint16_t expected[] = {'a', 0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD, 'z'};
    assert_int_equal(buf.size, sizeof(expected));
    assert_memory_equal(buf.bytes, expected, sizeof(expected));
}

static void assert_shown(const char *text, size_t size, const char *expected)
{
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(512);
    sn_text_printable(&buf, text, size);
    assert_string_equal(sn_buf_string(&buf), expected);
}

static void nothing_that_commands_a_terminal_passes(void **state)
{
    (void)state;
    assert_shown("\033[31mred\033[0m", 12, "\\x1b[31mred\\x1b[0m");
    assert_shown("\033]0;title\a", 10, "\\x1b]0;title\\x07");
    assert_shown("a\r\n\tb\0c", 7, "a\\x0d\\x0a\\x09b\\x00c");
    assert_shown("\x7F", 1, "\\x7f");
    assert_shown("\xC2\x9B"
                 "31m",
                 5, "\\x9b31m"); /* C1: the one-byte CSI */
    assert_shown("\xC2\x80\xC2\x9F\xC2\xA0", 6, "\\x80\\x9f\xC2\xA0");
    assert_shown("\x9B", 1, "\\x9b");
}

static void nothing_that_reorders_or_hides_text_passes(void **state)
{
    (void)state;
    static const uint32_t marks[] = {0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A,
                                     0x202E, 0x2060, 0x2066, 0x2069, 0x206F, 0xFEFF};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf mark = sn_buf_with_limit(8);
        uint16_t unit = (uint16_t)marks[i];
        sn_text_from_utf16(&mark, (const uint8_t *)&unit, 1);
        char expected[16];
        (void)snprintf(expected, sizeof(expected), "\\u{%x}", marks[i]);
        assert_shown((const char *)mark.bytes, mark.size, expected);
    }
}

static void ordinary_text_of_any_script_passes_unchanged(void **state)
{
    (void)state;
    const char *text = "Grüße, 世界, עולם, \xF0\x9F\x98\x80 ~";
    assert_shown(text, strlen(text), text);
    assert_shown("ok\xFF\xC3", 4, "ok\\xff\\xc3");
}

static void whole_numbers_are_read_up_to_their_limit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t most;
        bool is_good;
        uint64_t value;
    } cases[] = {
        {"0", 0, true, 0},
        {"1", 0, false, 0},
        {"007", 7, true, 7},
        {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, false, 0},
        {"99999999999999999999999", UINT64_MAX, false, 0},
        {"0xFFFFFFFFFFFFFFFF", UINT64_MAX, true, UINT64_MAX},
        {"0x10000000000000000", UINT64_MAX, false, 0},
        {"0XaB", 255, true, 0xAB},
        {"256", 255, false, 0},
        {"", UINT64_MAX, false, 0},
        {"0x", UINT64_MAX, false, 0},
        {"-1", UINT64_MAX, false, 0},
        {"+1", UINT64_MAX, false, 0},
        {" 1", UINT64_MAX, false, 0},
        {"1 ", UINT64_MAX, false, 0},
        {"1e3", UINT64_MAX, false, 0},
        {"ab", UINT64_MAX, false, 0},
        {"0xg", UINT64_MAX, false, 0},
        {"1.0", UINT64_MAX, false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t value = 4711;
        if (sn_text_to_u64(cases[i].text, cases[i].most, &value) != cases[i].is_good)
            fail_msg("'%s'", cases[i].text);
        assert_true(value == (cases[i].is_good ? cases[i].value : 4711));
    }
}

static void numbers_have_a_point_whatever_the_locale(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    " 1",       "1 ",    "1,5",   "0x10", "nan",
                                      "inf", "1.5.2",    "1e",    "--1",   ".",    "e5",
                                      "-",   "infinity", "1_000", "1,000", "1e5x", "NaN1"};
    const char *before = setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* where it is installed */
    double value = 0;
    (void)before;
    assert_true(sn_text_to_real("-1.5", strlen("-1.5"), &value));
    assert_true(value == -1.5);
    assert_true(
        sn_text_to_real("1.2345678901234567E+16", strlen("1.2345678901234567E+16"), &value));
    assert_true(value == 12345678901234567.0);
    assert_true(
        sn_text_to_real("4.9406564584124654E-324", strlen("4.9406564584124654E-324"), &value));
    assert_true(value > 0);
    assert_true(sn_text_to_real("NaN", strlen("NaN"), &value));
    assert_true(isnan(value));
    assert_true(sn_text_to_real("-Infinity", strlen("-Infinity"), &value));
    assert_true(isinf(value) && value < 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(sn_text_to_real(bad[i], strlen(bad[i]), &value));
    (void)setlocale(LC_NUMERIC, "C");
}

static void sizes_have_three_digits_or_fewer(void **state)
{
    (void)state;
    char text[16];
    assert_string_equal(sn_text_bytes(0, text), "0 B");
    assert_string_equal(sn_text_bytes(999, text), "999 B");
    assert_string_equal(sn_text_bytes(1000, text), "1.0 KB");
    assert_string_equal(sn_text_bytes(9949, text), "9.9 KB");
    assert_string_equal(sn_text_bytes(9951, text), "10 KB");
    assert_string_equal(sn_text_bytes(999499, text), "999 KB");
    assert_string_equal(sn_text_bytes(999500, text), "1.0 MB");
    assert_string_equal(sn_text_bytes(340000000, text), "340 MB");
    assert_string_equal(sn_text_bytes(UINT64_MAX, text), "18 EB");
}

static void durations_use_the_unit_that_fits(void **state)
{
    (void)state;
    const uint64_t s = 1000000000u;
    char text[32];
    assert_string_equal(sn_text_duration(0, text), "0 us");
    assert_string_equal(sn_text_duration(999999, text), "999 us");
    assert_string_equal(sn_text_duration(1000000, text), "1 ms");
    assert_string_equal(sn_text_duration(s - 1, text), "999 ms");
    assert_string_equal(sn_text_duration(s + s / 5, text), "1.2 s");
    assert_string_equal(sn_text_duration(60 * s - 1, text), "59.9 s");
    assert_string_equal(sn_text_duration(200 * s, text), "3 m 20 s");
    assert_string_equal(sn_text_duration(3600 * s, text), "1 h 0 m");
    assert_string_equal(sn_text_duration((2 * 86400 + 4 * 3600) * s, text), "2 d 4 h");
    assert_string_equal(sn_text_duration(UINT64_MAX, text), "213503 d 23 h");
}

static void counts_get_a_comma_every_three_digits(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(sn_text_count(0, text), "0");
    assert_string_equal(sn_text_count(999, text), "999");
    assert_string_equal(sn_text_count(1000, text), "1,000");
    assert_string_equal(sn_text_count(1234567, text), "1,234,567");
    assert_string_equal(sn_text_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf16_of_every_width_becomes_utf8),
        cmocka_unit_test(lone_surrogates_become_replacements_and_eat_nothing_else),
        cmocka_unit_test(every_code_point_comes_back_from_a_round_trip),
        cmocka_unit_test(overlong_surrogate_and_cut_utf8_is_bad),
        cmocka_unit_test(bytes_that_begin_nothing_are_bad_whatever_follows),
        cmocka_unit_test(every_broken_byte_is_replaced_on_its_own),
        cmocka_unit_test(nothing_that_commands_a_terminal_passes),
        cmocka_unit_test(nothing_that_reorders_or_hides_text_passes),
        cmocka_unit_test(ordinary_text_of_any_script_passes_unchanged),
        cmocka_unit_test(whole_numbers_are_read_up_to_their_limit),
        cmocka_unit_test(numbers_have_a_point_whatever_the_locale),
        cmocka_unit_test(sizes_have_three_digits_or_fewer),
        cmocka_unit_test(durations_use_the_unit_that_fits),
        cmocka_unit_test(counts_get_a_comma_every_three_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
