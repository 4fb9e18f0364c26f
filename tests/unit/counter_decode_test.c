/* EventCounters of all four kinds by the names of their fields; every cut is told. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "base/own.h"
#include "counter_bytes.h"
#include "sink/aggregate/counter_decode.h"
#include "sonde/error.h"

struct mean {
    const char *name;
    double mean;
    double deviation;
    uint32_t count;
    double min;
    double max;
};

static void put_mean(struct sn_buf *to, const struct mean *mean)
{
    put_text16(to, mean->name);
    put_text16(to, "Gr\xC3\xB6\xC3\x9F"
                   "e");
    put_f64(to, mean->mean);
    put_f64(to, mean->deviation);
    sn_buf_u32(to, mean->count);
    put_f64(to, mean->min);
    put_f64(to, mean->max);
    put_f32(to, 0.5F);
    put_text16(to, "Interval=500");
    put_text16(to, "Mean");
    put_text16(to, "k:v");
    put_text16(to, "MB");
}

static void put_sum(struct sn_buf *to, float interval)
{
    put_text16(to, "alloc-rate");
    put_text16(to, "Allocation Rate");
    put_text16(to, "00:00:01");
    put_f64(to, 12.5);
    put_f32(to, interval);
    put_text16(to, "");
    put_text16(to, "Interval=1000");
    put_text16(to, "Sum");
    put_text16(to, "B");
}

/* The whole is read; every shorter payload is a failure that touches nothing behind it. */
static struct sn_counter_record decode_whole(const struct sn_schema *schema,
                                             const struct sn_buf *bytes, struct sn_buf *texts)
{
    struct sn_counter_record record;
    for (size_t cut = 0; cut < bytes->size; cut++) {
        SN_AUTO(sn_free) uint8_t *copy = malloc(cut ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, bytes->bytes, cut);
        struct sn_event event = event_over(schema, copy, cut);
        assert_int_equal(sn_counter_decode(&event, texts, &record), SONDE_E_FORMAT);
    }
    struct sn_event event = event_over(schema, bytes->bytes, bytes->size);
    assert_int_equal(sn_counter_decode(&event, texts, &record), SONDE_OK);
    return record;
}

static void a_mean_has_all_its_numbers(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    put_mean(&bytes, &(struct mean){"request-time", 2.5, 0.5, 4, 2, 3});
    struct sn_counter_record got = decode_whole(&mean_schema, &bytes, &texts);
    assert_string_equal(got.name, "request-time");
    assert_string_equal(got.display_name, "Gr\xC3\xB6\xC3\x9F"
                                          "e");
    assert_string_equal(got.unit, "MB");
    assert_string_equal(got.metadata, "k:v");
    assert_false(got.is_sum);
    assert_false(got.is_one_value);
    assert_true(got.mean == 2.5 && got.deviation == 0.5 && got.min == 2 && got.max == 3);
    assert_int_equal(got.count, 4);
    assert_int_equal(got.interval_ns, 500000000);
    assert_int_equal(got.asked_ns, 500000000);
}

static void one_measurement_is_what_polling_counters_send(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    put_mean(&bytes, &(struct mean){"working-set", 46.5, 0, 1, 46.5, 46.5});
    assert_true(decode_whole(&mean_schema, &bytes, &texts).is_one_value);
}

static void an_interval_without_measurements_has_neither_least_nor_most(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    put_mean(&bytes, &(struct mean){"request-time", 0, 0, 0, INFINITY, -INFINITY});
    struct sn_counter_record got = decode_whole(&mean_schema, &bytes, &texts);
    assert_int_equal(got.count, 0);
    assert_true(isnan(got.min) && isnan(got.max));
    assert_false(got.is_one_value);
}

static void an_increment_has_its_true_interval(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    put_sum(&bytes, 0.25F);
    struct sn_counter_record got = decode_whole(&sum_schema, &bytes, &texts);
    assert_true(got.is_sum);
    assert_true(got.increment == 12.5);
    assert_int_equal(got.interval_ns, 250000000);
    assert_int_equal(got.asked_ns, 1000000000);
}

static void mad_intervals_are_not_told(void **state)
{
    (void)state;
    static const float mad[] = {-1.0F, 0.0F, NAN, INFINITY, 1e30F};
    for (size_t i = 0; i < sizeof(mad) / sizeof(*mad); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
        SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
        put_sum(&bytes, mad[i]);
        assert_int_equal(decode_whole(&sum_schema, &bytes, &texts).interval_ns, 0);
    }
}

static void other_events_are_not_taken_for_records(void **state)
{
    (void)state;
    static const struct sn_field fields[] = {PLAIN("Name", SN_TYPE_STRING16)};
    struct sn_schema schema = {
        .provider = "P", .name = "EventCounters", .field_count = 1, .fields = fields};
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(65536);
    struct sn_counter_record record;
    put_text16(&bytes, "no number");
    struct sn_event event = event_over(&schema, bytes.bytes, bytes.size);
    assert_true(sn_counter_is_record(&schema));
    assert_int_equal(sn_counter_decode(&event, &texts, &record), SONDE_E_FORMAT);
    schema.name = "RequestStart";
    assert_false(sn_counter_is_record(&schema));
}

static void no_memory_is_told(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf texts = sn_buf_with_limit(16);
    struct sn_counter_record record;
    put_sum(&bytes, 1);
    struct sn_event event = event_over(&sum_schema, bytes.bytes, bytes.size);
    assert_int_equal(sn_counter_decode(&event, &texts, &record), SONDE_E_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_has_all_its_numbers),
        cmocka_unit_test(one_measurement_is_what_polling_counters_send),
        cmocka_unit_test(an_interval_without_measurements_has_neither_least_nor_most),
        cmocka_unit_test(an_increment_has_its_true_interval),
        cmocka_unit_test(mad_intervals_are_not_told),
        cmocka_unit_test(other_events_are_not_taken_for_records),
        cmocka_unit_test(no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
