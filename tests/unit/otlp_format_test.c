/* OTLP: what stands in a message, and where; tests/interop/formats_test reads it with the public
 * protocol buffers. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "made_points.h"

#define START_NS 1600000000000000000u

/* The bytes of a fixed field, as they stand in a message. */
static size_t put_fixed(uint8_t *to, uint8_t key, uint64_t value)
{
    to[0] = key;
    memcpy(to + 1, &value, sizeof(value));
    return 9;
}

static size_t put_double(uint8_t *to, uint8_t key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return put_fixed(to, key, bits);
}

static bool has(const struct sn_buf *in, const void *bytes, size_t size)
{
    return memmem(in->bytes, in->size, bytes, size) != NULL;
}

static void make(struct sn_buf *to, const struct sn_export_row *rows, size_t count)
{
    sn_buf_clear(to);
    assert_int_equal(sn_otlp_message(rows, count, START_NS, to, NULL), 0);
}

static void a_gauge_is_a_message_to_the_byte(void **state)
{
    (void)state;
    uint8_t expected[128] = "\x0A\x37" /* resource metrics */
                            "\x0A\x13\x0A\x11\x0A\x0Bprocess.pid\x12\x02\x18\x07" /* resource */
                            "\x12\x20\x0A\x03\x0A\x01M"          /* scope metrics, scope */
                            "\x12\x19\x0A\x01g\x2A\x14\x0A\x12"; /* metric, gauge, point */
    size_t size = 2 + 21 + 7 + 9;
    struct sonde_point point = made_point("g", 0);
    point.pid = 7;
    point.provider = "M";
    point.display_name = "";
    const struct sn_export_row row = {&point, &(struct sn_export_labels){0}, NULL};
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(4096);
    make(&to, &row, 1);
    size += put_fixed(expected + size, 3 << 3 | 1, MADE_UTC_NS);
    size += put_double(expected + size, 4 << 3 | 1, 0);
    assert_int_equal(to.size, size);
    assert_memory_equal(to.bytes, expected, size);
}

static void sums_tell_since_when(void **state)
{
    (void)state;
    uint8_t start[9];
    (void)put_fixed(start, 2 << 3 | 1, START_NS);
    struct sonde_point point = made_counter("orders", 3, 40);
    const struct sn_export_row row = {&point, &made_labels, NULL};
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(4096);
    make(&to, &row, 1);
    assert_true(has(&to, start, 9));
    assert_true(has(&to, "\x10\x02\x18\x01", 4)); /* cumulative, monotonic */
    point.is_absolute = true;                     /* since the program's start, whenever that was */
    make(&to, &row, 1);
    assert_false(has(&to, start, 9));
    point.is_absolute = false;
    point.total = NAN; /* then what was added in the interval */
    make(&to, &row, 1);
    (void)put_fixed(start, 2 << 3 | 1, MADE_UTC_NS - point.interval_ns);
    assert_true(has(&to, start, 9));
    assert_true(has(&to, "\x10\x01\x18\x01", 4)); /* delta, monotonic */
    point.value = -1;                             /* which it then is not */
    make(&to, &row, 1);
    assert_int_equal(to.size, 0);
    const struct sn_export_totals totals = {.start_ns = START_NS + 5, .added = 7};
    const struct sn_export_row later = {&point, &made_labels, &totals};
    make(&to, &later, 1); /* the series has a start of its own */
    (void)put_fixed(start, 2 << 3 | 1, START_NS + 5);
    assert_true(has(&to, start, 9));
    point.kind = SONDE_POINT_UP_DOWN;
    point.total = -4;
    make(&to, &row, 1);
    assert_false(has(&to, "\x18\x01", 2));
}

static void histograms_tell_what_was_added_up(void **state)
{
    (void)state;
    struct sonde_point point = made_histogram();
    const struct sn_export_totals totals = {.sum = 100.5, .count = 300};
    const struct sn_export_row row = {&point, &made_labels, &totals};
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(4096);
    make(&to, &row, 1);
    uint8_t numbers[18];
    (void)put_fixed(numbers, 4 << 3 | 1, 300);
    (void)put_double(numbers + 9, 5 << 3 | 1, 100.5);
    assert_true(has(&to, numbers, 18));
    (void)put_double(numbers, 1 << 3 | 1, 0.95);
    (void)put_double(numbers + 9, 2 << 3 | 1, 1.5);
    assert_true(has(&to, numbers, 18));
}

static void texts_that_are_no_utf8_are_mended(void **state)
{
    (void)state;
    const struct sonde_tag tag = {"k\xFF", "v\xC3"};
    struct sonde_point point = made_point("n\x80", 1);
    point.tags = &tag;
    point.tag_count = 1;
    const struct sn_export_row row = {&point, &made_labels, NULL};
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(4096);
    make(&to, &row, 1);
    assert_true(has(&to, "\x0A\x04n\xEF\xBF\xBD", 6));
    assert_true(has(&to, "\x0A\x04k\xEF\xBF\xBD\x12\x06\x0A\x04v\xEF\xBF\xBD", 14));
}

static void long_broken_texts_do_not_lose_the_message(void **state)
{
    (void)state;
    char *text = malloc(65537);
    assert_non_null(text);
    memset(text, 0xFF, 65536);
    text[65536] = '\0';
    const struct sonde_tag tag = {text, text};
    struct sonde_point point = made_event_counter(text, text, 1);
    point.provider = point.version = point.description = text;
    point.tags = &tag;
    point.tag_count = 1;
    const struct sn_export_row row = {&point, &made_labels, NULL};
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(65536);
    make(&to, &row, 1);
    assert_true(to.size > 10000 && to.size < 40000);
    free(text);
}

static void numbers_that_are_none_make_no_message(void **state)
{
    (void)state;
    struct sonde_point point = made_point("g", NAN);
    const struct sn_export_row row = {&point, &made_labels, NULL};
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(4096);
    make(&to, &row, 1);
    assert_int_equal(to.size, 0);
}

static void what_the_configuration_says_stands_alone(void **state)
{
    (void)state;
    const struct sonde_tag extra = {"service.name", "till"};
    struct sn_export_labels labels = made_labels;
    labels.extra = &extra;
    labels.extra_count = 1;
    struct sonde_point point = made_point("g", 1);
    const struct sn_export_row row = {&point, &labels, NULL};
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(4096);
    make(&to, &row, 1);
    assert_true(has(&to, "till", 4));
    assert_false(has(&to, "shop", 4));
    assert_true(has(&to, "04030201-0605-0807-090a-000000000000", 36));
    struct sonde_process silent = made_process; /* its runtime was not asked */
    memset(silent.cookie, 0, sizeof(silent.cookie));
    silent.start_ticks = 99;
    labels.process = &silent;
    make(&to, &row, 1);
    assert_true(has(&to, "box-4711-99", 11));
}

static void a_message_that_does_not_fit_is_an_error(void **state)
{
    (void)state;
    struct sonde_point point = made_point("g", 1);
    const struct sn_export_row row = {&point, &made_labels, NULL};
    for (size_t limit = 0; limit < 100; limit++) {
        SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(limit);
        assert_int_equal(sn_otlp_message(&row, 1, START_NS, &to, NULL), SONDE_E_LIMIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gauge_is_a_message_to_the_byte),
        cmocka_unit_test(sums_tell_since_when),
        cmocka_unit_test(histograms_tell_what_was_added_up),
        cmocka_unit_test(texts_that_are_no_utf8_are_mended),
        cmocka_unit_test(long_broken_texts_do_not_lose_the_message),
        cmocka_unit_test(numbers_that_are_none_make_no_message),
        cmocka_unit_test(what_the_configuration_says_stands_alone),
        cmocka_unit_test(a_message_that_does_not_fit_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
