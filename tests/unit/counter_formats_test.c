/* Files of counters: what dotnet-counters writes, byte for byte, and names that try to break out.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "cli/counter_formats.h"
#include "made_points.h"

static struct sn_buf out;

static struct sn_counter_document document;

static int set_up(void **state)
{
    (void)state;
    (void)setenv("TZ", "Asia/Kolkata", 1);
    tzset();
    out = sn_buf_with_limit(1u << 20);
    document = (struct sn_counter_document){.process = "shop", .interval_ns = 1000000000u};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sn_buf_done(&out);
    return 0;
}

static const char *write_point(const struct sn_counter_format *format,
                               const struct sonde_point *point)
{
    sn_buf_clear(&out);
    format->point(&out, &document, point, "shop");
    return sn_buf_string(&out);
}

static void csv_is_that_of_dotnet_counters(void **state)
{
    (void)state;
    sn_counter_csv.begin(&out, &document);
    assert_string_equal(sn_buf_string(&out),
                        "Timestamp,Provider,Counter Name,Counter Type,Mean/Increment\n");
    struct sonde_point point = made_event_counter("cpu-usage", "%", 0.25);
    point.display_name = "CPU Usage";
    assert_string_equal(write_point(&sn_counter_csv, &point),
                        "11/15/2023 03:43:20,System.Runtime,CPU Usage (%),Metric,0.25\n");
    point.kind = SONDE_POINT_RATE;
    point.display_name = "Gen 0 GC Count";
    point.unit = "";
    document.interval_ns = 5000000000u;
    assert_string_equal(
        write_point(&sn_counter_csv, &point),
        "11/15/2023 03:43:20,System.Runtime,Gen 0 GC Count (Count / 5 sec),Rate,0.25\n");
    point = made_counter("orders", 4, 100);
    point.tag_text = "a=1,b=2";
    point.unit = "{order}";
    assert_string_equal(write_point(&sn_counter_csv, &point),
                        "11/15/2023 03:43:20,Shop,orders ({order} / 5 sec)[a=1;b=2],Rate,4\n");
    point.kind = SONDE_POINT_UP_DOWN;
    assert_string_equal(write_point(&sn_counter_csv, &point),
                        "11/15/2023 03:43:20,Shop,orders ({order})[a=1;b=2],Metric,100\n");
    point.kind = SONDE_POINT_RATE;
    point.value = (double)NAN; /* nothing was added yet that anybody knows of */
    assert_string_equal(write_point(&sn_counter_csv, &point), "");
}

static void a_spreadsheet_takes_no_cell_for_a_formula(void **state)
{
    (void)state;
    struct sonde_point point = made_counter("@sum(A1)", 4, 100);
    point.provider = "=cmd|' /C calc'!A0,x";
    assert_string_equal(write_point(&sn_counter_csv, &point),
                        "11/15/2023 03:43:20,\"'=cmd|' /C calc'!A0,x\","
                        "'@sum(A1) (Count / 1 sec),Rate,4\n");
}

static void histograms_are_a_row_for_each_quantile(void **state)
{
    (void)state;
    struct sonde_point point = made_histogram();
    point.tag_text = "k=v";
    assert_string_equal(write_point(&sn_counter_csv, &point),
                        "11/15/2023 03:43:20,Microsoft.AspNetCore.Hosting,"
                        "http.server.request.duration (s)[k=v;Percentile=50],Metric,0.25\n"
                        "11/15/2023 03:43:20,Microsoft.AspNetCore.Hosting,"
                        "http.server.request.duration (s)[k=v;Percentile=95],Metric,1.5\n"
                        "11/15/2023 03:43:20,Microsoft.AspNetCore.Hosting,"
                        "http.server.request.duration (s)[k=v;Percentile=99.9],Metric,3\n");
    assert_int_equal(document.point_count, 3);
}

static void json_is_that_of_dotnet_counters(void **state)
{
    (void)state;
    struct sonde_point point = made_point("depth", 0.1);
    point.tag_text = "a=1,b=2";
    assert_string_equal(
        write_point(&sn_counter_json, &point),
        "{ \"timestamp\": \"2023-11-15T03:43:20.5000000+05:30\",  \"provider\": \"Shop\",  "
        "\"name\": \"depth\",  \"tags\": \"a=1,b=2\",  \"counterType\": \"Metric\",  "
        "\"meterTags\": \"\",  \"instrumentTags\": \"\",  \"value\": 0.1 }");
    assert_memory_equal(write_point(&sn_counter_json, &point), ",{ ", 3);
    point.value = (double)NAN;
    assert_non_null(strstr(write_point(&sn_counter_json, &point), "\"value\": null }"));
    sn_buf_clear(&out);
    sn_counter_json.begin(&out, &document);
    sn_counter_json.end(&out, &document);
    const char *text = sn_buf_string(&out);
    assert_memory_equal(text, "{ \"TargetProcess\": \"shop\", \"StartTime\": \"20", 42);
    assert_non_null(strstr(text, "+05:30\", \"Events\": []}"));
}

static void of_many_processes_each_row_says_whose_it_is(void **state)
{
    (void)state;
    struct sonde_point point = made_point("depth", 1);
    document.has_many = true;
    sn_counter_csv.begin(&out, &document);
    assert_non_null(strstr(sn_buf_string(&out), "Mean/Increment,Process\n"));
    assert_non_null(strstr(write_point(&sn_counter_csv, &point), ",1,4711\n"));
    assert_non_null(strstr(write_point(&sn_counter_json, &point), ",  \"pid\": 4711 }"));
}

static void lines_hold_what_a_kind_has(void **state)
{
    (void)state;
    struct sonde_point point = made_histogram();
    assert_string_equal(
        write_point(&sn_counter_ndjson, &point),
        "{\"time\":\"2023-11-14T22:13:20.500Z\",\"ns\":5000000000,\"pid\":4711,\"process\":\"shop\","
        "\"origin\":\"meter\",\"provider\":\"Microsoft.AspNetCore.Hosting\",\"version\":\"10.0\","
        "\"name\":\"http.server.request.duration\",\"unit\":\"s\",\"kind\":\"histogram\","
        "\"tags\":{\"http.route\":\"/orders/{id}\",\"http.request.method\":\"GET\"},"
        "\"seconds\":1,\"rate\":12,\"count\":12,\"sum\":4.5,"
        "\"quantiles\":{\"0.5\":0.25,\"0.95\":1.5,\"0.999\":3}}\n");
    point = made_counter("orders", 4, 100);
    point.is_provisional = true;
    point.origin = 77;
    assert_string_equal(
        write_point(&sn_counter_ndjson, &point),
        "{\"time\":\"2023-11-14T22:13:20.500Z\",\"ns\":5000000000,\"pid\":4711,\"process\":\"shop\","
        "\"origin\":\"unknown\",\"provider\":\"Shop\",\"name\":\"orders\",\"kind\":\"rate\","
        "\"seconds\":1,\"provisional\":true,\"value\":4,\"rate\":2,\"total\":100,"
        "\"absolute\":false}\n");
}

/* Names as a hostile program could choose them. */
static void hostile_names_stay_inside_their_field(void **state)
{
    (void)state;
    static const struct sonde_tag tags[] = {{"k\"\n,", "v\\\x1b"}};
    struct sonde_point point = made_point("a,\"b\"\r\n\x1b[31m%s%n\xE2\x80\xAE\xFF", 1);
    point.provider = "x\"},{\"y\":1\n";
    point.unit = "%d";
    point.tag_text = "k\"\n,=v\\\x1b";
    point.tags = tags;
    point.tag_count = 1;
    assert_string_equal(write_point(&sn_counter_csv, &point),
                        "11/15/2023 03:43:20,\"x\"\"},{\"\"y\"\":1\\x0a\","
                        "\"a,\"\"b\"\"\\x0d\\x0a\\x1b[31m%s%n\\u{202e}\\xff (%d)"
                        "[k\"\"\\x0a;=v\\\\x1b]\",Metric,1\n");
    const char *json = write_point(&sn_counter_json, &point);
    assert_non_null(strstr(json, "\"provider\": \"x\\\"},{\\\"y\\\":1\\n\""));
    assert_null(strpbrk(json, "\n\r\x1b"));
    const char *line = write_point(&sn_counter_ndjson, &point);
    assert_non_null(strstr(line, "\"tags\":{\"k\\\"\\n,\":\"v\\\\\\u001b\"}"));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_null(strchr(line, '\x1b'));
}

static void long_names_are_written_whole_or_nothing_is(void **state)
{
    (void)state;
    static char name[200000];
    memset(name, 'n', sizeof(name) - 1);
    struct sonde_point point = made_point(name, 1);
    assert_int_equal(strlen(write_point(&sn_counter_csv, &point)),
                     sizeof(name) - 1 + strlen("11/15/2023 03:43:20,Shop,,Metric,1\n"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(csv_is_that_of_dotnet_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_spreadsheet_takes_no_cell_for_a_formula, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(histograms_are_a_row_for_each_quantile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_is_that_of_dotnet_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_many_processes_each_row_says_whose_it_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(lines_hold_what_a_kind_has, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_names_stay_inside_their_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_names_are_written_whole_or_nothing_is, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
