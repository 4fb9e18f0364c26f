/* Graphite: lines and pickles as carbon takes them, whatever targets call things. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "made_points.h"

static const struct sn_graphite_options with_tags = {.prefix = "sonde"};
static const struct sn_graphite_options without_tags = {.prefix = "sonde", .no_tags = true};

static void assert_lines(const struct sn_graphite_options *options, const struct sonde_point *point,
                         const struct sn_export_labels *labels, const char *expected)
{
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(65536);
    size_t start = sn_graphite_begin(options, &to);
    size_t count = sn_graphite_point(options, point, labels, &to);
    sn_graphite_end(options, start, &to);
    assert_string_equal(sn_buf_string(&to), expected);
    size_t lines = 0;
    for (const char *at = expected; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(count, lines);
}

#define LABELS ";container=1f2e3d4c5b6a;host=box;pid=4711;process=shop;user=web"

static void a_gauge_is_one_line_with_its_tags_sorted(void **state)
{
    (void)state;
    struct sonde_point point = made_point("queue.length", 7.25);
    assert_lines(&with_tags, &point, &made_labels,
                 "sonde.Shop.queue.length" LABELS " 7.25 1700000000\n");
}

static void what_the_kernel_measures_has_no_provider_in_its_path(void **state)
{
    (void)state;
    struct sonde_point point = made_point("process.memory.usage", 1e9);
    point.origin = SONDE_POINT_KERNEL;
    point.provider = "process";
    assert_lines(&with_tags, &point, &(struct sn_export_labels){0},
                 "sonde.process.memory.usage 1000000000 1700000000\n");
}

static void a_counter_tells_count_rate_and_total(void **state)
{
    (void)state;
    struct sonde_point point = made_counter("orders", 3, 40);
    assert_lines(&with_tags, &point, &(struct sn_export_labels){0},
                 "sonde.Shop.orders.count 3 1700000000\n"
                 "sonde.Shop.orders.rate 1.5 1700000000\n"
                 "sonde.Shop.orders.total 40 1700000000\n");
}

static void a_histogram_tells_count_sum_and_percentiles(void **state)
{
    (void)state;
    struct sonde_point point = made_histogram();
#define SERIES "sonde.Microsoft_AspNetCore_Hosting.http.server.request.duration"
#define TAGS   ";http.request.method=GET;http.route=/orders/{id} "
    assert_lines(&with_tags, &point, &(struct sn_export_labels){0},
                 SERIES ".count" TAGS "12 1700000000\n" SERIES ".sum" TAGS "4.5 1700000000\n" SERIES
                        ".p50" TAGS "0.25 1700000000\n" SERIES ".p95" TAGS "1.5 1700000000\n" SERIES
                        ".p99_9" TAGS "3 1700000000\n");
}

static void a_mean_of_several_tells_its_ends(void **state)
{
    (void)state;
    struct sonde_point point = made_event_counter("latency", "ms", 4);
    assert_lines(&with_tags, &point, &(struct sn_export_labels){0},
                 "sonde.System_Runtime.latency 4 1700000000\n");
    point.count = 3;
    point.min = 1;
    point.max = 9;
    assert_lines(&with_tags, &point, &(struct sn_export_labels){0},
                 "sonde.System_Runtime.latency 4 1700000000\n"
                 "sonde.System_Runtime.latency.min 1 1700000000\n"
                 "sonde.System_Runtime.latency.max 9 1700000000\n");
}

static void without_tags_labels_are_parts_of_the_path(void **state)
{
    (void)state;
    const struct sonde_tag zone = {"zone", "eu.1"};
    struct sn_export_labels labels = made_labels;
    labels.extra = &zone;
    labels.extra_count = 1;
    struct sonde_point point = made_point("queue.length", 7);
    point.tags = made_tags;
    point.tag_count = 2;
    assert_lines(&without_tags, &point, &labels,
                 "sonde.eu_1.box.shop.4711.Shop.queue.length.http_request_method.GET.http_route."
                 "_orders__id_ 7 1700000000\n");
}

static void hostile_tags_stay_tags(void **state)
{
    (void)state;
    const struct sonde_tag tags[] = {{"name", "evil"},
                                     {"", "x"},
                                     {"a;b=c", "1;pid=1"},
                                     {"n\nx", "0 0 0\nfake 1 1"},
                                     {"pid", "1"},
                                     {"tilde", "~~x"},
                                     {"end", "{a=\"b\"}"},
                                     {"empty", ""},
                                     {"utf", "\xC3\xA9\xE3\x80\x80\xFF"}};
    struct sonde_point point = made_point("q", 1);
    point.tags = tags;
    point.tag_count = sizeof(tags) / sizeof(*tags);
    struct sn_export_labels labels = {.process = &made_process};
    assert_lines(&with_tags, &point, &labels,
                 "sonde.Shop.q;_=x;a_b_c=1_pid=1;container=1f2e3d4c5b6a;end={a=_b_};exported_name="
                 "evil;exported_pid=1;n_x=0_0_0_fake_1_1;pid=4711;process=shop;tilde=_~x;user=web;"
                 "utf=\xC3\xA9_\xEF\xBF\xBD 1 1700000000\n");
}

static void hostile_names_stay_paths(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"", "_"},           {"...", "_"},
                                           {"a..b", "a.b"},     {"../../etc", "_._etc"},
                                           {"a b\tc", "a_b_c"}, {"x 1 1\ny", "x_1_1_y"},
                                           {".a.", "a"},        {"9lives", "9lives"},
                                           {"a;b=c", "a_b_c"},  {"\xC3\xA9t\xC3", "_t_"},
                                           {"{~}", "___"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char expected[128];
        (void)snprintf(expected, sizeof(expected), "Shop.%s 1 1700000000\n", names[i][1]);
        struct sonde_point point = made_point(names[i][0], 1);
        assert_lines(&(struct sn_graphite_options){0}, &point, &(struct sn_export_labels){0},
                     expected);
    }
}

static void long_names_are_cut_and_stay_different(void **state)
{
    (void)state;
    char *name = malloc(65537);
    assert_non_null(name);
    memset(name, 'n', 65536);
    name[65536] = '\0';
    struct sonde_point point = made_point(name, 1);
    const struct sonde_tag tag = {name, name};
    point.tags = &tag;
    point.tag_count = 1;
    SN_AUTO(sn_buf_done) struct sn_buf one = sn_buf_with_limit(65536);
    SN_AUTO(sn_buf_done) struct sn_buf other = sn_buf_with_limit(65536);
    for (int i = 0; i < 2; i++) {
        const struct sn_graphite_options *options = i ? &without_tags : &with_tags;
        sn_buf_clear(&one);
        sn_buf_clear(&other);
        name[65535] = 'n';
        assert_int_equal(sn_graphite_point(options, &point, &made_labels, &one), 1);
        name[65535] = 'm';
        assert_int_equal(sn_graphite_point(options, &point, &made_labels, &other), 1);
        assert_true(one.size < 1200);
        assert_string_not_equal(sn_buf_string(&one), sn_buf_string(&other));
    }
    free(name);
}

static void numbers_that_are_none_are_left_out(void **state)
{
    (void)state;
    const double values[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct sonde_point point = made_point("q", values[i]);
        assert_lines(&with_tags, &point, &made_labels, "");
        SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(64);
        assert_false(
            sn_graphite_number(&with_tags, "a", &made_labels, values[i], MADE_UTC_NS, &to));
        assert_int_equal(to.size, 0);
    }
}

static void a_rule_sends_under_its_own_path(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(256);
    assert_true(sn_graphite_number(&with_tags, "gc.pause ms", &made_labels, -1.5e-7, 0, &to));
    assert_true(sn_graphite_number(&without_tags, "gc.pause", &made_labels, 1e300, 0, &to));
    assert_string_equal(sn_buf_string(&to), "sonde.gc.pause_ms" LABELS " -1.5e-07 0\n"
                                            "sonde.box.shop.4711.gc.pause 1e+300 0\n");
}

static void pickles_are_framed_and_as_python_writes_them(void **state)
{
    (void)state;
    static const uint8_t expected[] = "\0\0\0\x21\x80\x02](X\x06\0\0\0Shop.qJ\0\xF1\x53\x65"
                                      "G\xBF\xF8\0\0\0\0\0\0\x86\x86"
                                      "e.";
    const struct sn_graphite_options options = {.pickle = true};
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(256);
    sn_buf_text(&to, "before");
    size_t start = sn_graphite_begin(&options, &to);
    struct sonde_point point = made_point("q", -1.5);
    assert_int_equal(sn_graphite_point(&options, &point, &(struct sn_export_labels){0}, &to), 1);
    sn_graphite_end(&options, start, &to);
    assert_int_equal(to.size, 6 + sizeof(expected) - 1);
    assert_memory_equal(to.bytes + 6, expected, sizeof(expected) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gauge_is_one_line_with_its_tags_sorted),
        cmocka_unit_test(what_the_kernel_measures_has_no_provider_in_its_path),
        cmocka_unit_test(a_counter_tells_count_rate_and_total),
        cmocka_unit_test(a_histogram_tells_count_sum_and_percentiles),
        cmocka_unit_test(a_mean_of_several_tells_its_ends),
        cmocka_unit_test(without_tags_labels_are_parts_of_the_path),
        cmocka_unit_test(hostile_tags_stay_tags),
        cmocka_unit_test(hostile_names_stay_paths),
        cmocka_unit_test(long_names_are_cut_and_stay_different),
        cmocka_unit_test(numbers_that_are_none_are_left_out),
        cmocka_unit_test(a_rule_sends_under_its_own_path),
        cmocka_unit_test(pickles_are_framed_and_as_python_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
