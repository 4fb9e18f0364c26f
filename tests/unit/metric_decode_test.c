/* Events of System.Diagnostics.Metrics: all kinds, older versions, every cut, tags and quantiles as
 * hostile as they come. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "base/own.h"
#include "counter_bytes.h"
#include "sink/aggregate/metric_decode.h"
#include "sonde/error.h"

static void put_instrument(struct sn_buf *to)
{
    put_text16(to, "SHARED");
    put_text16(to, "Shop.Orders");
    put_text16(to, "1.2");
    put_text16(to, "orders");
}

static struct sn_metric_record decode_whole(const struct sn_schema *schema,
                                            const struct sn_buf *bytes, struct sn_buf *texts)
{
    struct sn_metric_record record;
    for (size_t cut = 0; cut < bytes->size; cut++) {
        SN_AUTO(sn_free) uint8_t *copy = malloc(cut ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, bytes->bytes, cut);
        struct sn_event event = event_over(schema, copy, cut);
        assert_int_equal(sn_metric_decode(&event, texts, &record), SONDE_E_FORMAT);
    }
    struct sn_event event = event_over(schema, bytes->bytes, bytes->size);
    assert_int_equal(sn_metric_decode(&event, texts, &record), SONDE_OK);
    return record;
}

static void put_counter(struct sn_buf *to, const char *rate, const char *value)
{
    put_instrument(to);
    put_text16(to, "{order}");
    put_text16(to, "city=Oslo,kind=new");
    put_text16(to, rate);
    put_text16(to, value);
}

static void counters_have_what_was_added_and_where_they_stand(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    put_counter(&bytes, "2.5", "1E+16");
    sn_buf_u32(&bytes, 7);
    struct sn_metric_record got = decode_whole(&metric_schemas[4], &bytes, &texts);
    assert_int_equal(got.kind, SN_METRIC_COUNTER);
    assert_string_equal(got.session_id, "SHARED");
    assert_string_equal(got.meter, "Shop.Orders");
    assert_string_equal(got.version, "1.2");
    assert_string_equal(got.name, "orders");
    assert_string_equal(got.unit, "{order}");
    assert_string_equal(got.tags, "city=Oslo,kind=new");
    assert_true(got.increment == 2.5 && got.value == 1e16);
    got = decode_whole(&metric_schemas[16], &bytes, &texts);
    assert_int_equal(got.kind, SN_METRIC_UP_DOWN);
}

/* .NET 8 declares fewer fields behind the last that matters. */
static void older_versions_have_fewer_fields(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    struct sn_schema older = metric_schemas[4];
    older.version = 1;
    older.field_count--;
    put_counter(&bytes, "", "42");
    struct sn_metric_record got = decode_whole(&older, &bytes, &texts);
    assert_true(isnan(got.increment));
    assert_true(got.value == 42);
}

static void gauges_may_have_no_value(void **state)
{
    (void)state;
    static const char *const values[] = {"", "-0.5"};
    for (size_t i = 0; i < 2; i++) {
        SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
        SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
        put_instrument(&bytes);
        put_text16(&bytes, "");
        put_text16(&bytes, "");
        put_text16(&bytes, values[i]);
        sn_buf_u32(&bytes, 7);
        struct sn_metric_record got = decode_whole(&metric_schemas[5], &bytes, &texts);
        assert_true(i ? got.value == -0.5 : isnan(got.value));
    }
}

static struct sn_metric_record decode_histogram(const char *quantiles, struct sn_buf *texts)
{
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(65536);
    put_instrument(&bytes);
    put_text16(&bytes, "s");
    put_text16(&bytes, "");
    put_text16(&bytes, quantiles);
    sn_buf_u32(&bytes, 12);
    put_f64(&bytes, 99.5);
    sn_buf_u32(&bytes, 7);
    return decode_whole(&metric_schemas[6], &bytes, texts);
}

static void histograms_have_count_sum_and_quantiles(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(1u << 20);
    struct sn_metric_record got = decode_histogram("0.5=1.5;0.95=2E-05;0.99=3", &texts);
    assert_int_equal(got.count, 12);
    assert_true(got.sum == 99.5);
    assert_int_equal(got.quantile_count, 3);
    assert_true(got.quantiles[1].at == 0.95 && got.quantiles[1].value == 2e-5);
    assert_int_equal(decode_histogram("", &texts).quantile_count, 0);
    got = decode_histogram(";;=;0.5;x=1;0.5=;0.9=1,5;0.99=7;", &texts);
    assert_int_equal(got.quantile_count, 1);
    assert_true(got.quantiles[0].value == 7);
    got = decode_histogram(
        "1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1;1=1", &texts);
    assert_int_equal(got.quantile_count, SN_METRIC_QUANTILE_MAX);
}

static void exponential_histograms_have_count_sum_least_and_most(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    put_instrument(&bytes);
    sn_buf_u32(&bytes, 7);
    put_text16(&bytes, "s");
    put_text16(&bytes, "a=b");
    sn_buf_u32(&bytes, 20);
    put_f64(&bytes, 6);
    sn_buf_u64(&bytes, 3);
    sn_buf_u64(&bytes, 0);
    put_f64(&bytes, 1);
    put_f64(&bytes, 3);
    put_text16(&bytes, "1, 0, 2");
    struct sn_metric_record got = decode_whole(&metric_schemas[19], &bytes, &texts);
    assert_int_equal(got.kind, SN_METRIC_EXPONENTIAL);
    assert_int_equal(got.count, 3);
    assert_true(got.sum == 6 && got.min == 1 && got.max == 3);
}

static void instruments_begin_with_type_and_description(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    put_instrument(&bytes);
    put_text16(&bytes, "ObservableCounter`1");
    put_text16(&bytes, "By");
    put_text16(&bytes, "What it is.");
    for (int i = 0; i < 3; i++)
        put_text16(&bytes, "");
    sn_buf_u32(&bytes, 7);
    put_text16(&bytes, "");
    struct sn_metric_record got = decode_whole(&metric_schemas[7], &bytes, &texts);
    assert_int_equal(got.kind, SN_METRIC_BEGIN);
    assert_string_equal(got.type, "ObservableCounter`1");
    assert_string_equal(got.description, "What it is.");
}

static void collections_have_their_interval(void **state)
{
    (void)state;
    const uint64_t epoch = 116444736000000000u;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    put_text16(&bytes, "SHARED");
    sn_buf_u64(&bytes, epoch + 10000000);
    sn_buf_u64(&bytes, epoch + 20000000);
    struct sn_metric_record got = decode_whole(&metric_schemas[2], &bytes, &texts);
    assert_int_equal(got.start_ns, 1000000000);
    assert_int_equal(got.end_ns, 2000000000);
}

static void errors_and_conflicts_say_what_and_whose(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    put_text16(&bytes, "SHARED");
    put_text16(&bytes, "System.Exception: boo");
    struct sn_metric_record got = decode_whole(&metric_schemas[14], &bytes, &texts);
    assert_int_equal(got.kind, SN_METRIC_CALLBACK_ERROR);
    assert_string_equal(got.text, "System.Exception: boo");

    sn_buf_clear(&bytes);
    put_text16(&bytes, "other");
    got = decode_whole(&metric_schemas[15], &bytes, &texts);
    assert_int_equal(got.kind, SN_METRIC_OTHER_SESSION);
    assert_string_equal(got.session_id, "other");

    sn_buf_clear(&bytes);
    static const char *const words[] = {"me", "10", "20", "1000", "500", "5", "1"};
    for (size_t i = 0; i < 7; i++)
        put_text16(&bytes, words[i]);
    got = decode_whole(&metric_schemas[17], &bytes, &texts);
    assert_int_equal(got.kind, SN_METRIC_OTHER_SETTINGS);
    assert_string_equal(got.client_id, "me");
}

static void what_is_not_known_is_told_so(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    struct sn_metric_record record;
    struct sn_schema later = metric_schemas[4];
    later.name = "SomethingOfNet20";
    struct sn_event event = event_over(&later, "", 0);
    assert_int_equal(sn_metric_decode(&event, &texts, &record), SONDE_E_UNSUPPORTED);
    later = metric_schemas[4];
    later.provider = "System.Runtime";
    assert_int_equal(sn_metric_decode(&event, &texts, &record), SONDE_E_UNSUPPORTED);
    for (size_t id = 1; id < sizeof(metric_schemas) / sizeof(*metric_schemas); id++)
        assert_int_not_equal(sn_metric_kind_of(&metric_schemas[id]), SN_METRIC_NONE);
}

static void assert_splits(const char *text, size_t most, const char *expected)
{
    char copy[128];
    struct sn_metric_tag tags[8];
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1024);
    assert_true(strlen(text) < sizeof(copy) && most <= 8);
    memcpy(copy, text, strlen(text) + 1);
    size_t count = sn_metric_split_tags(copy, tags, most);
    for (size_t i = 0; i < count; i++)
        sn_buf_format(&out, "[%s|%s]", tags[i].name, tags[i].value);
    assert_string_equal(sn_buf_string(&out), expected);
}

static void tags_with_commas_and_equal_signs_lose_nothing(void **state)
{
    (void)state;
    assert_splits("", 8, "");
    assert_splits("a=1", 8, "[a|1]");
    assert_splits("a=1,b=2", 8, "[a|1][b|2]");
    assert_splits("route=/a,b,c,x=2", 8, "[route|/a,b,c][x|2]");
    assert_splits("q=x=y,b=", 8, "[q|x=y][b|]");
    assert_splits("plain", 8, "[plain|]");
    assert_splits(",a=1,,", 8, "[|][a|1,,]");
    assert_splits("=,=", 8, "[|][|]");
    assert_splits("a=1,b=2,c=3", 2, "[a|1][b|2,c=3]");
    assert_splits("a=1", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_have_what_was_added_and_where_they_stand),
        cmocka_unit_test(older_versions_have_fewer_fields),
        cmocka_unit_test(gauges_may_have_no_value),
        cmocka_unit_test(histograms_have_count_sum_and_quantiles),
        cmocka_unit_test(exponential_histograms_have_count_sum_least_and_most),
        cmocka_unit_test(instruments_begin_with_type_and_description),
        cmocka_unit_test(collections_have_their_interval),
        cmocka_unit_test(errors_and_conflicts_say_what_and_whose),
        cmocka_unit_test(what_is_not_known_is_told_so),
        cmocka_unit_test(tags_with_commas_and_equal_signs_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
