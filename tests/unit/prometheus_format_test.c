/* Prometheus' page: names by OpenTelemetry's rules or dotnet-monitor's, no family or series twice,
 * whatever targets call things. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "made_points.h"

static const struct sn_export_labels none = {0};
static const struct sn_prometheus_options text = {0};
static const struct sn_prometheus_options openmetrics = {.openmetrics = true};
static const struct sn_prometheus_options monitor = {.names = SN_NAMES_DOTNET_MONITOR};

static void assert_page(const struct sn_prometheus_options *options,
                        const struct sn_export_row *rows, size_t count, const char *expected)
{
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(65536);
    struct sonde_error err = {0};
    assert_int_equal(sn_prometheus_page(options, rows, count, &to, &err), 0);
    assert_string_equal(sn_buf_string(&to), expected);
}

/* The name of the only sample. */
static void assert_named(const struct sn_prometheus_options *options,
                         const struct sonde_point *point, const char *expected)
{
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(65536);
    const struct sn_export_row row = {.point = point, .labels = &none};
    assert_int_equal(sn_prometheus_page(options, &row, 1, &to, NULL), 0);
    const char *line = sn_buf_string(&to);
    while (*line == '#')
        line = strchr(line, '\n') + 1;
    char name[512];
    size_t size = strcspn(line, "{ ");
    assert_true(size < sizeof(name));
    memcpy(name, line, size);
    name[size] = '\0';
    assert_string_equal(name, expected);
}

static void each_family_is_told_once_whatever_the_order(void **state)
{
    (void)state;
    struct sonde_process other = made_process;
    other.pid = 4712;
    other.name = "ca\"sh\\\n";
    other.container = "";
    const struct sn_export_labels others = {.process = &other};
    const struct sn_export_labels ours = {.process = &made_process};
    struct sonde_point orders = made_counter("shop.orders", 3, 40);
    struct sonde_point length = made_point("queue.length", -7.5);
    length.unit = "{item}";
    length.description = "Items \\ that\nwait \"now\".";
    const struct sn_export_row rows[] = {
        {&orders, &others, NULL}, {&length, &ours, NULL}, {&orders, &ours, NULL}};
#define OURS \
    "container=\"1f2e3d4c5b6a\",name=\"shop\",otel_scope_name=\"Shop\",pid=\"4711\",user=\"web\"} "
#define THEIRS "name=\"ca\\\"sh\\\\\\n\",otel_scope_name=\"Shop\",pid=\"4712\",user=\"web\"} "
    assert_page(&text, rows, 3,
                "# TYPE queue_length gauge\n"
                "# HELP queue_length Items \\\\ that\\nwait \"now\".\n"
                "queue_length{" OURS "-7.5\n"
                "# TYPE shop_orders_total counter\n"
                "# HELP shop_orders_total shop.orders\n"
                "shop_orders_total{" OURS "40\n"
                "shop_orders_total{" THEIRS "40\n");
    assert_page(&openmetrics, rows, 3,
                "# TYPE queue_length gauge\n"
                "# HELP queue_length Items \\\\ that\\nwait \\\"now\\\".\n"
                "queue_length{" OURS "-7.5\n"
                "# TYPE shop_orders counter\n"
                "# HELP shop_orders shop.orders\n"
                "shop_orders_total{" OURS "40\n"
                "shop_orders_total{" THEIRS "40\n"
                "# EOF\n");
}

static void a_histogram_is_a_summary_with_what_was_added_up(void **state)
{
    (void)state;
    struct sonde_point point = made_histogram();
    const struct sn_export_totals totals = {.sum = 100.5, .count = 300};
    const struct sn_export_row row = {&point, &none, &totals};
#define TAGS                                                                               \
    "http_request_method=\"GET\",http_route=\"/orders/{id}\",otel_scope_name=\"Microsoft." \
    "AspNetCore.Hosting\",otel_scope_version=\"10.0\""
    assert_page(&openmetrics, &row, 1,
                "# TYPE http_server_request_duration_seconds summary\n"
                "# UNIT http_server_request_duration_seconds seconds\n"
                "# HELP http_server_request_duration_seconds Duration of HTTP server requests.\n"
                "http_server_request_duration_seconds{" TAGS ",quantile=\"0.5\"} 0.25\n"
                "http_server_request_duration_seconds{" TAGS ",quantile=\"0.95\"} 1.5\n"
                "http_server_request_duration_seconds{" TAGS ",quantile=\"0.999\"} 3\n"
                "http_server_request_duration_seconds_sum{" TAGS "} 100.5\n"
                "http_server_request_duration_seconds_count{" TAGS "} 300\n"
                "# EOF\n");
}

static void units_are_spelled_out(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a.time", "s", "a_time_seconds"},
        {"a.time", "ms", "a_time_milliseconds"},
        {"a.size", "By", "a_size_bytes"},
        {"a.size", "By{resident}", "a_size_bytes"},
        {"a.size.bytes", "By", "a_size_bytes"},
        {"bytes", "By", "bytes_bytes"},
        {"a", "{request}", "a"},
        {"a", "{request}/s", "a_per_second"},
        {"a", "By/s", "a_bytes_per_second"},
        {"a", "1", "a_ratio"},
        {"a", "%", "a_percent"},
        {"a", "widgets", "a_widgets"},
        {"a", "we ird\"\n", "a_we_ird"},
        {"a", "", "a"},
        {"a", "{", "a"},
        {"a", "}/", "a"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sonde_point point = made_point(cases[i][0], 1);
        point.unit = cases[i][1];
        assert_named(&text, &point, cases[i][2]);
    }
}

static void counters_end_in_total_once(void **state)
{
    (void)state;
    struct sonde_point point = made_counter("jobs_total", 1, 2);
    assert_named(&text, &point, "jobs_total");
    point.unit = "s";
    assert_named(&openmetrics, &point, "jobs_seconds_total");
    point.unit = "1"; /* no share of anything */
    assert_named(&openmetrics, &point, "jobs_total");
    point.kind = SONDE_POINT_UP_DOWN;
    assert_named(&text, &point, "jobs_total");
}

static void event_counters_begin_with_their_source(void **state)
{
    (void)state;
    struct sonde_point point = made_event_counter("working-set", "MB", 12.5);
    const struct sn_export_row row = {&point, &none, NULL};
    assert_page(&text, &row, 1,
                "# TYPE system_runtime_working_set_bytes gauge\n"
                "# HELP system_runtime_working_set_bytes working-set\n"
                "system_runtime_working_set_bytes{otel_scope_name=\"System.Runtime\"} 12500000\n");
    point = made_event_counter("cpu-usage", "%", 3);
    assert_named(&text, &point, "system_runtime_cpu_usage_percent");
    point = made_event_counter("assembly-count", "count", 3);
    assert_named(&text, &point, "system_runtime_assembly_count");
}

static void dotnet_monitors_names_on_request(void **state)
{
    (void)state;
    struct sonde_point point = made_event_counter("cpu-usage", "%", 3);
    assert_named(&monitor, &point, "systemruntime_cpu_usage_ratio");
    point = made_event_counter("working-set", "MB", 3);
    const struct sn_export_row row = {&point, &none, NULL};
    assert_page(&monitor, &row, 1,
                "# TYPE systemruntime_working_set_bytes gauge\n"
                "# HELP systemruntime_working_set_bytes working-set\n"
                "systemruntime_working_set_bytes 3000000\n");
    point = made_event_counter("exception-count", "", 3);
    point.kind = SONDE_POINT_RATE;
    assert_named(&monitor, &point, "systemruntime_exception_count");
    point.provider = "!@#";
    assert_named(&monitor, &point, "__exception_count");
    point.provider = "!9";
    assert_named(&monitor, &point, "_9_exception_count");
    point = made_histogram();
    assert_named(&monitor, &point, "microsoftaspnetcorehosting_http_server_request_duration_s");
    point.unit = "{request}";
    assert_named(&monitor, &point, "microsoftaspnetcorehosting_http_server_request_duration");
}

static void hostile_names_become_names(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "unnamed"},      {"9lives", "_9lives"}, {"a{b=\"c\"} 1\nd", "a_b_c_1_d"},
        {"__name__", "name"}, {"a..b::c", "a_b_c"},  {"\xFF\xC3\xA9", "unnamed"},
        {"# EOF", "EOF"},     {"a\r\nb", "a_b"},     {"UP", "UP"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sonde_point point = made_point(cases[i][0], 1);
        assert_named(&text, &point, cases[i][1]);
    }
}

static void hostile_labels_become_labels(void **state)
{
    (void)state;
    const struct sonde_tag tags[] = {{"__name__", "evil"}, {"quantile", "0.5"},  {"pid", "1"},
                                     {"a.b", "2"},         {"a-b", "1"},         {"", "e"},
                                     {"9", "n"},           {"bad", "\xFF\n\"\\"}};
    struct sonde_point point = made_point("q", NAN);
    point.origin = SONDE_POINT_KERNEL;
    point.tags = tags;
    point.tag_count = sizeof(tags) / sizeof(*tags);
    struct sonde_process process = made_process;
    process.name = process.user = process.container = "";
    const struct sn_export_labels labels = {.process = &process};
    const struct sn_export_row row = {&point, &labels, NULL};
    assert_page(&text, &row, 1,
                "# TYPE q gauge\n# HELP q q\n"
                "q{_=\"e\",_9=\"n\",_name_=\"evil\",a_b=\"1;2\",bad=\"\xEF\xBF\xBD\\n\\\"\\\\\","
                "exported_pid=\"1\",exported_quantile=\"0.5\",pid=\"4711\"} NaN\n");
}

static void names_that_become_alike_do_not_meet(void **state)
{
    (void)state;
    struct sonde_point older = made_point("a.b", 1);
    struct sonde_point newer = made_point("a-b", 2);
    newer.time_ns++;
    struct sonde_point counter = made_counter("a b", 1, 3);
    struct sonde_point histogram = made_histogram();
    histogram.tag_count = histogram.quantile_count = 0;
    histogram.name = "a_b";
    histogram.unit = "";
    histogram.provider = "";
    histogram.version = "";
    struct sonde_point count = made_point("a_b_summary_count", 9);
    older.provider = newer.provider = counter.provider = count.provider = "";
    const struct sn_export_row rows[] = {{&older, &none, NULL},
                                         {&newer, &none, NULL},
                                         {&counter, &none, NULL},
                                         {&histogram, &none, NULL},
                                         {&count, &none, NULL}};
    assert_page(&text, rows, 5,
                "# TYPE a_b_total counter\n# HELP a_b_total a b\na_b_total 3\n"
                "# TYPE a_b_gauge gauge\n# HELP a_b_gauge a-b\na_b_gauge 2\n"
                "# TYPE a_b_summary summary\n# HELP a_b_summary Duration of HTTP server requests.\n"
                "a_b_summary_sum 4.5\na_b_summary_count 12\n"
                "# TYPE a_b_summary_count_gauge gauge\n"
                "# HELP a_b_summary_count_gauge a_b_summary_count\na_b_summary_count_gauge 9\n");
}

static void counters_that_are_none_are_left_out_and_gauges_have_words(void **state)
{
    (void)state;
    struct sonde_point unknown = made_counter("c", 1, NAN);
    struct sonde_point negative = made_counter("d", 1, -1);
    struct sonde_point up = made_point("up", INFINITY);
    struct sonde_point down = made_point("down", -INFINITY);
    up.provider = down.provider = "";
    const struct sn_export_row rows[] = {{&unknown, &none, NULL},
                                         {&negative, &none, NULL},
                                         {&up, &none, NULL},
                                         {&down, &none, NULL}};
    assert_page(&text, rows, 4,
                "# TYPE down gauge\n# HELP down down\ndown -Inf\n"
                "# TYPE up gauge\n# HELP up up\nup +Inf\n");
    const struct sn_export_totals totals = {.added = 5};
    const struct sn_export_row added = {&unknown, &none, &totals};
    unknown.provider = "";
    assert_page(&text, &added, 1, "# TYPE c_total counter\n# HELP c_total c\nc_total 5\n");
}

static void a_page_that_does_not_fit_is_an_error(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(20);
    struct sonde_point point = made_point("a", 1);
    const struct sn_export_row row = {&point, &none, NULL};
    struct sonde_error err = {0};
    assert_int_equal(sn_prometheus_page(&text, &row, 1, &to, &err), SONDE_E_LIMIT);
    assert_page(&text, NULL, 0, "");
    assert_page(&openmetrics, NULL, 0, "# EOF\n");
}

static void scrapers_choose_the_format(void **state)
{
    (void)state;
    assert_true(sn_prometheus_wants_openmetrics(
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
        "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
    assert_false(sn_prometheus_wants_openmetrics("text/plain"));
    assert_false(sn_prometheus_wants_openmetrics(""));
    assert_non_null(strstr(sn_prometheus_content_type(&text), "version=0.0.4"));
    assert_non_null(strstr(sn_prometheus_content_type(&openmetrics), "version=1.0.0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_family_is_told_once_whatever_the_order),
        cmocka_unit_test(a_histogram_is_a_summary_with_what_was_added_up),
        cmocka_unit_test(units_are_spelled_out),
        cmocka_unit_test(counters_end_in_total_once),
        cmocka_unit_test(event_counters_begin_with_their_source),
        cmocka_unit_test(dotnet_monitors_names_on_request),
        cmocka_unit_test(hostile_names_become_names),
        cmocka_unit_test(hostile_labels_become_labels),
        cmocka_unit_test(names_that_become_alike_do_not_meet),
        cmocka_unit_test(counters_that_are_none_are_left_out_and_gauges_have_words),
        cmocka_unit_test(a_page_that_does_not_fit_is_an_error),
        cmocka_unit_test(scrapers_choose_the_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
