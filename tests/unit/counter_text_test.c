/* Numbers of counters as people read them, the course of a value, tags in little room. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/counter_history.h"
#include "cli/counter_text.h"
#include "made_points.h"

static void expect(double value, const char *unit, const char *wanted)
{
    char text[SN_COUNTER_TEXT];
    assert_string_equal(sn_counter_text(value, unit, text), wanted);
}

static void numbers_are_as_long_as_they_have_to_be(void **state)
{
    (void)state;
    expect(0, "", "0");
    expect(-0.0, "", "0");
    expect(7, "", "7");
    expect(1234567, "1", "1,234,567");
    expect(0.5, "", "0.5");
    expect(12.3456, "", "12.35");
    expect(999.96, "", "1,000");
    expect(-42.25, "", "-42.25");
    expect(0.00001234, "", "1.2e-05");
    expect(9.99e-5, "", "1.0e-04");
    expect(3e20, "", "3.0e+20");
    expect(-1e300, "", "-1.0e+300");
    expect((double)NAN, "s", "-");
    expect((double)INFINITY, "", "-");
}

static void units_are_scaled(void **state)
{
    (void)state;
    expect(220e6, "By", "220 MB");
    expect(12.3, "MB", "12.3 MB");
    expect(0.5, "KB", "500 B");
    expect(0, "B", "0 B");
    expect(1024, "MiBy", "1.074 GB");
    expect(0.00123, "s", "1.23 ms");
    expect(0.0000005, "s", "500 ns");
    expect(0, "ms", "0 s");
    expect(90, "s", "90 s");
    expect(3.25, "%", "3.25 %");
    expect(3, "{request}", "3");
    expect(17, "widgets", "17 widgets");
    expect(1, "a unit that somebody made very long", "1 a unit that ");
    expect(1, "eleven bytesäb", "1 eleven bytes");
    expect(1, "eleven byteäb", "1 eleven byte");
}

static void rates_of_histograms_count_measurements(void **state)
{
    (void)state;
    char text[SN_COUNTER_TEXT];
    struct sonde_point point = made_point("duration", 0);
    point.unit = "s";
    assert_string_equal(sn_counter_rate_text(&point, text), "");
    point.rate = 120;
    point.kind = SONDE_POINT_RATE;
    assert_string_equal(sn_counter_rate_text(&point, text), "120 s/s");
    point.kind = SONDE_POINT_HISTOGRAM;
    assert_string_equal(sn_counter_rate_text(&point, text), "120/s");
}

static void what_says_most_depends_on_the_kind(void **state)
{
    (void)state;
    struct sonde_point point = made_counter("orders", 4, 100);
    assert_true(sn_counter_main(&point) == 100 && sn_counter_course(&point) == point.rate);
    point.total = (double)NAN;
    assert_true(sn_counter_main(&point) == 4);
    point.rate = (double)NAN; /* the first of an observable counter: a gap, not its total */
    assert_true(isnan(sn_counter_course(&point)));
    point = made_point("gauge", 3);
    assert_true(sn_counter_main(&point) == 3 && sn_counter_course(&point) == 3);
    static const struct sonde_quantile quantiles[] = {{0.5, 0.2}, {0.99, 0.9}};
    point.kind = SONDE_POINT_HISTOGRAM;
    assert_true(isnan(sn_counter_main(&point)));
    point.quantiles = quantiles;
    point.quantile_count = 2;
    assert_true(sn_counter_main(&point) == 0.2);
    point.unit = "s";
    point.sum = 12;
    point.count = 60;
    struct sn_buf text = sn_buf_with_limit(256);
    sn_counter_detail(&text, &point);
    assert_string_equal(sn_buf_string(&text), "p50 200 ms  p99 900 ms  sum 12 s  60 values");
    sn_buf_done(&text);
}

static void expect_spark(const double *values, size_t count, bool in_ascii, const char *wanted)
{
    struct sn_buf text = sn_buf_with_limit(256);
    sn_counter_spark(&text, values, count, in_ascii);
    assert_string_equal(sn_buf_string(&text), wanted);
    sn_buf_done(&text);
}

static void sparks_go_from_the_least_to_the_most(void **state)
{
    (void)state;
    static const double rising[] = {0, 1, 2, 3, 4, 5, 6, 7};
    expect_spark(rising, 8, false, "▁▂▃▄▅▆▇█");
    expect_spark(rising, 8, true, "_.:-=+*#");
    const double gaps[] = {-1, (double)NAN, 1, (double)INFINITY};
    expect_spark(gaps, 4, true, "_ # ");
    static const double noise[] = {1000, 1001, 999.5};
    expect_spark(noise, 3, true, "___");
    static const double huge[] = {-1e308, 1e308};
    expect_spark(huge, 2, true, "_#");
    expect_spark(rising, 0, true, "");
}

static void expect_tags(const char *tags, const char *wanted)
{
    struct sn_buf text = sn_buf_with_limit(256);
    sn_counter_short_tags(&text, tags);
    assert_string_equal(sn_buf_string(&text), wanted);
    sn_buf_done(&text);
}

static void tags_lose_the_front_of_their_keys(void **state)
{
    (void)state;
    expect_tags("http.request.method=GET,http.route=/a.b/c", "method=GET,route=/a.b/c");
    expect_tags("plain=1", "plain=1");
    expect_tags("no.value", "no.value");
    expect_tags("a.b=1.5,,=,x.=y", "b=1.5,,=,=y");
    expect_tags("", "");
}

static void history_keeps_the_last_values_of_each_series(void **state)
{
    (void)state;
    struct sn_counter_history history = {0};
    struct sonde_point point = made_point("gauge", 0);
    struct sonde_point other = made_point("gauge", 5);
    double values[SN_HISTORY_LENGTH];
    other.tag_text = "k=v";
    assert_true(sn_counter_key(&point) != sn_counter_key(&other));
    point.is_provisional = true;
    sn_counter_history_add(&history, &point);
    point.is_provisional = false;
    assert_int_equal(sn_counter_history_get(&history, sn_counter_key(&point), values, 10), 0);
    sn_counter_history_add(&history, &other);
    for (unsigned i = 1; i <= SN_HISTORY_LENGTH + 20; i++) {
        point.value = i * i;
        point.time_ns += 1000000000u;
        sn_counter_history_add(&history, &point);
    }
    unsigned last = SN_HISTORY_LENGTH + 20;
    assert_int_equal(sn_counter_history_get(&history, sn_counter_key(&point), values, 3), 3);
    assert_true(values[2] == last * last && values[1] == (last - 1) * (last - 1));
    assert_int_equal(sn_counter_history_get(&history, sn_counter_key(&point), values, 1000),
                     SN_HISTORY_LENGTH);
    assert_true(sn_counter_history_change(&history, sn_counter_key(&point)) == 2 * last - 1);
    assert_true(isnan(sn_counter_history_change(&history, sn_counter_key(&other))));
    assert_int_equal(sn_counter_history_get(&history, sn_counter_key(&other), values, 10), 1);
    sn_counter_history_done(&history);
}

/* Series without end: the old make room, and those that still come stay. */
static void history_has_a_ceiling(void **state)
{
    (void)state;
    struct sn_counter_history history = {0};
    struct sonde_point point = made_point("", 1);
    char name[32];
    double value;
    for (unsigned i = 0; i < 45000; i++) {
        (void)snprintf(name, sizeof(name), "%u", i);
        point.name = name;
        point.time_ns += 20000000; /* the first are old after 15,000 of them */
        sn_counter_history_add(&history, &point);
    }
    assert_true(history.count <= 20000);
    assert_int_equal(sn_counter_history_get(&history, sn_counter_key(&point), &value, 1), 1);
    point.name = "0";
    assert_int_equal(sn_counter_history_get(&history, sn_counter_key(&point), &value, 1), 0);
    sn_counter_history_done(&history);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_as_long_as_they_have_to_be),
        cmocka_unit_test(units_are_scaled),
        cmocka_unit_test(rates_of_histograms_count_measurements),
        cmocka_unit_test(what_says_most_depends_on_the_kind),
        cmocka_unit_test(sparks_go_from_the_least_to_the_most),
        cmocka_unit_test(tags_lose_the_front_of_their_keys),
        cmocka_unit_test(history_keeps_the_last_values_of_each_series),
        cmocka_unit_test(history_has_a_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
