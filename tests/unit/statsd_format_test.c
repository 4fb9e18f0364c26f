/* StatsD: counts are added, gauges are set, also below zero, whatever targets call things. */
#include "check.h"

#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "made_points.h"

static const struct sn_statsd_options plain = {.prefix = "sonde"};
static const struct sn_statsd_options tagged = {.prefix = "sonde", .tags = true};
static const struct sn_export_labels few = {.host = "box"};

static void assert_lines(const struct sn_statsd_options *options, const struct sonde_point *point,
                         const char *expected)
{
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(65536);
    size_t count = sn_statsd_point(options, point, &few, &to);
    assert_string_equal(sn_buf_string(&to), expected);
    size_t lines = 0;
    for (const char *at = expected; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(count, lines);
}

static void a_counter_sends_what_was_added(void **state)
{
    (void)state;
    struct sonde_point point = made_counter("orders", 3, 40);
    assert_lines(&plain, &point, "sonde.box.Shop.orders:3|c\n");
    assert_lines(&tagged, &point, "sonde.Shop.orders:3|c|#host:box\n");
    point.value = NAN;
    assert_lines(&plain, &point, "");
}

static void a_gauge_below_zero_is_set_and_not_subtracted(void **state)
{
    (void)state;
    struct sonde_point point = made_point("balance", -2.5);
    assert_lines(&plain, &point, "sonde.box.Shop.balance:0|g\nsonde.box.Shop.balance:-2.5|g\n");
    assert_lines(&tagged, &point, "sonde.Shop.balance:-2.5|g|#host:box\n");
    point.kind = SONDE_POINT_UP_DOWN;
    point.total = 4;
    assert_lines(&plain, &point, "sonde.box.Shop.balance:4|g\n");
}

static void a_histogram_counts_and_has_percentiles_as_gauges(void **state)
{
    (void)state;
    struct sonde_point point = made_histogram();
#define SERIES "sonde.Microsoft_AspNetCore_Hosting.http.server.request.duration"
#define TAGS   "|#host:box,http.request.method:GET,http.route:/orders/{id}\n"
    assert_lines(&tagged, &point,
                 SERIES ".count:12|c" TAGS SERIES ".sum:4.5|c" TAGS SERIES ".p50:0.25|g" TAGS SERIES
                        ".p95:1.5|g" TAGS SERIES ".p99_9:3|g" TAGS);
}

static void hostile_names_and_tags_stay_where_they_are(void **state)
{
    (void)state;
    const struct sonde_tag tags[] = {{"a:b|c", "1,pid:1|g"}, {"x\ny", "q:1|c\nr:2|c"}, {"", "#"}};
    struct sonde_point point = made_point("n:1|c\nm", 1);
    point.tags = tags;
    point.tag_count = 3;
    assert_lines(&tagged, &point,
                 "sonde.Shop.n_1_c_m:1|g|#_:_,a_b_c:1_pid:1_g,host:box,x_y:q:1_c_r:2_c\n");
    assert_lines(&plain, &point,
                 "sonde.box.Shop.n_1_c_m._._.a_b_c.1_pid_1_g.x_y.q_1_c_r_2_c:1|g\n");
}

static void a_line_that_no_datagram_takes_is_left_out(void **state)
{
    (void)state;
    char names[100][8];
    char value[200];
    struct sonde_tag tags[100];
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (size_t i = 0; i < 100; i++) {
        memcpy(names[i], "tag_00", 7);
        names[i][4] = (char)('0' + i / 10);
        names[i][5] = (char)('0' + i % 10);
        tags[i] = (struct sonde_tag){names[i], value};
    }
    struct sonde_point point = made_point("q", 1);
    point.tags = tags;
    point.tag_count = 100;
    assert_lines(&tagged, &point, "");
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(65536);
    assert_int_equal(sn_statsd_point(&plain, &point, &few, &to), 1);
    assert_true(to.size < 1100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_sends_what_was_added),
        cmocka_unit_test(a_gauge_below_zero_is_set_and_not_subtracted),
        cmocka_unit_test(a_histogram_counts_and_has_percentiles_as_gauges),
        cmocka_unit_test(hostile_names_and_tags_stay_where_they_are),
        cmocka_unit_test(a_line_that_no_datagram_takes_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
