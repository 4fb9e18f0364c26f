/* Messages and points as dotnet-monitor writes them. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "daemon/log_format.h"
#include "daemon/metric_format.h"
#include "sonde/counters.h"
#include "sonde/log.h"

static const struct sonde_log_value values[] = {{"Id", "7"}, {"Nothing", NULL}};
static const struct sonde_log_value scope_values[] = {{"Path", "/a"}, {"User", "me"}};
static const struct sonde_log_scope scopes[] = {{"A", "", scope_values, 2},
                                                {"B", "", scope_values, 1}};

static struct sonde_log_message message(void)
{
    return (struct sonde_log_message){.level = SONDE_LOG_ERROR,
                                      .event_id = 3,
                                      .event_name = "Failed",
                                      .category = "Shop",
                                      .text = "order 7\nfailed",
                                      .format = "order {Id}",
                                      .exception_type = "",
                                      .exception_message = "",
                                      .exception_text = "System.Exception: x\r\n   at A.B()",
                                      .trace_id = "",
                                      .span_id = "",
                                      .utc_ns = 1794812466123456789u,
                                      .values = values,
                                      .value_count = 2,
                                      .scopes = scopes,
                                      .scope_count = 2};
}

static void a_message_as_text_keeps_its_lines_below_it(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(4096);
    struct sonde_log_message given = message();
    sn_log_format_write(SN_LOG_TEXT, &given, false, &text);
    assert_string_equal(sn_buf_string(&text), "2026-11-16 07:01:06Z fail: Shop[3][Failed]\n"
                                              "      => Path:/a, User:me => Path:/a\n"
                                              "      order 7\n"
                                              "      failed\n"
                                              "      System.Exception: x\n"
                                              "         at A.B()\n");
}

static void a_message_as_json_has_the_members_of_dotnet_monitor(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(4096);
    struct sonde_log_message given = message();
    given.exception_text = "";
    given.scope_count = 1;
    sn_log_format_write(SN_LOG_JSON_SEQ, &given, false, &text);
    assert_string_equal(
        sn_buf_string(&text),
        "\x1e{\"Timestamp\":\"2026-11-16 07:01:06Z\",\"LogLevel\":\"Error\",\"EventId\":3,"
        "\"EventName\":\"Failed\",\"Category\":\"Shop\",\"Message\":\"order 7\\nfailed\","
        "\"State\":{\"Message\":\"order 7\\nfailed\",\"Id\":\"7\",\"Nothing\":null,"
        "\"{OriginalFormat}\":\"order {Id}\"},\"Scopes\":[{\"Path\":\"/a\",\"User\":\"me\"}]}\n");
    sn_buf_clear(&text);
    given.level = 99;
    sn_log_format_write(SN_LOG_NDJSON, &given, false, &text);
    assert_int_equal(text.bytes[0], '{');
    assert_non_null(strstr(sn_buf_string(&text), "\"Information\""));
}

static struct sonde_point point(int origin, int kind)
{
    return (struct sonde_point){.origin = origin,
                                .kind = kind,
                                .provider = "P",
                                .version = "",
                                .name = "n",
                                .display_name = "N of P",
                                .unit = "",
                                .description = "",
                                .tag_text = "",
                                .utc_ns = 1794812466123000000u,
                                .interval_ns = 5000000000u,
                                .value = 2.5,
                                .total = 40};
}

static void assert_point(const struct sonde_point *given, const char *expected)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(4096);
    sn_metric_format_write(given, &text);
    assert_string_equal(sn_buf_string(&text), expected);
}

#define HEAD "\x1e{\"timestamp\":\"2026-11-16T07:01:06.123Z\",\"provider\":\"P\",\"name\":\"n\","
#define TAIL "\"meterTags\":\"\",\"instrumentTags\":\"\"}\n"

static void points_are_metrics_or_rates(void **state)
{
    (void)state;
    struct sonde_point rate = point(SONDE_POINT_EVENT_COUNTER, SONDE_POINT_RATE);
    struct sonde_point mean = point(SONDE_POINT_EVENT_COUNTER, SONDE_POINT_MEAN);
    struct sonde_point meter = point(SONDE_POINT_METER, SONDE_POINT_RATE);
    struct sonde_point up_down = point(SONDE_POINT_METER, SONDE_POINT_UP_DOWN);
    mean.unit = "MB";
    mean.value = NAN;
    meter.unit = "{order}";
    assert_point(&rate,
                 HEAD "\"displayName\":\"N of P\",\"unit\":\"count\",\"counterType\":\"Rate\","
                      "\"tags\":\"\",\"value\":2.5," TAIL);
    assert_point(&mean,
                 HEAD "\"displayName\":\"N of P\",\"unit\":\"MB\",\"counterType\":\"Metric\","
                      "\"tags\":\"\",\"value\":0," TAIL);
    assert_point(&meter, HEAD "\"displayName\":\"n ({order} / 5 sec)\",\"unit\":\"{order}\","
                              "\"counterType\":\"Rate\",\"tags\":\"\",\"value\":2.5," TAIL);
    assert_point(&up_down, HEAD "\"displayName\":\"n\",\"unit\":\"\",\"counterType\":\"Metric\","
                                "\"tags\":\"\",\"value\":40," TAIL);
}

static void a_histogram_is_a_record_for_each_quantile(void **state)
{
    (void)state;
    static const struct sonde_quantile quantiles[] = {{0.5, 1}, {0.99, 3}};
    struct sonde_point given = point(SONDE_POINT_METER, SONDE_POINT_HISTOGRAM);
    given.quantiles = quantiles;
    given.quantile_count = 2;
    given.tag_text = "a=b";
    assert_point(&given, HEAD "\"displayName\":\"n\",\"unit\":\"\",\"counterType\":\"Metric\","
                              "\"tags\":\"a=b,Percentage=50\",\"value\":1," TAIL HEAD
                              "\"displayName\":\"n\",\"unit\":\"\",\"counterType\":\"Metric\","
                              "\"tags\":\"a=b,Percentage=99\",\"value\":3," TAIL);
    given.quantile_count = 0;
    assert_point(&given, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_as_text_keeps_its_lines_below_it),
        cmocka_unit_test(a_message_as_json_has_the_members_of_dotnet_monitor),
        cmocka_unit_test(points_are_metrics_or_rates),
        cmocka_unit_test(a_histogram_is_a_record_for_each_quantile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
