/* Series of points: readings of any interval become points of the wanted one; totals go on over a
 * new session; nothing grows without bound. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/point_series.h"
#include "base/clock.h"

#define S  ((uint64_t)SN_NS_PER_SECOND)
#define MS ((uint64_t)SN_NS_PER_MS)

struct got {
    unsigned count;
    struct sonde_point last;
    struct sonde_quantile quantiles[4];
};

static void take(void *user, const struct sonde_point *point)
{
    struct got *got = user;
    got->count++;
    got->last = *point;
    for (size_t i = 0; i < point->quantile_count && i < 4; i++)
        got->quantiles[i] = point->quantiles[i];
}

static struct sn_reading reading_of(int kind, const char *name, double value, uint64_t interval_ns)
{
    static uint64_t now_ns;
    now_ns += interval_ns;
    return (struct sn_reading){
        .origin = SONDE_POINT_METER,
        .kind = kind,
        .provider = "P",
        .version = "",
        .name = name,
        .display_name = "",
        .unit = "",
        .description = "",
        .tag_text = "",
        .time_ns = now_ns,
        .interval_ns = interval_ns,
        .value = value,
        .total = NAN,
        .sum = NAN,
        .min = NAN,
        .max = NAN,
        .deviation = NAN,
    };
}

static struct got add(struct sn_point_series_set *set, const struct sn_reading *reading,
                      uint64_t wanted_ns)
{
    struct got got = {0};
    assert_int_equal(sn_point_series_add(set, reading), SONDE_OK);
    enum sn_points_told told = sn_point_series_flush(set, wanted_ns, false, take, &got);
    assert_int_equal(told, got.count ? SN_POINTS_GIVEN : SN_POINTS_KEPT);
    return got;
}

static void increments_are_summed_up_to_the_wanted_interval(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    for (int i = 1; i <= 20; i++) {
        struct sn_reading reading = reading_of(SONDE_POINT_RATE, "n", i, 100 * MS);
        struct got got = add(&set, &reading, S);
        assert_int_equal(got.count, i % 10 == 0);
        if (i == 20) {
            assert_true(got.last.value == 155);
            assert_true(got.last.rate == 155);
            assert_true(got.last.total == 210);
            assert_int_equal(got.last.interval_ns, S);
            assert_int_equal(got.last.pid, 7);
            assert_string_equal(got.last.display_name, "n");
        }
    }
    sn_point_series_set_done(&set);
}

static void a_longer_interval_than_wanted_is_given_as_it_is(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    struct sn_reading reading = reading_of(SONDE_POINT_RATE, "n", 30, 3 * S);
    struct got got = add(&set, &reading, S);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.last.interval_ns, 3 * S);
    assert_true(got.last.rate == 10);
    sn_point_series_set_done(&set);
}

static void intervals_are_never_exact(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    for (int i = 0; i < 5; i++) {
        struct sn_reading reading = reading_of(SONDE_POINT_RATE, "n", 1, 999 * MS + (uint64_t)i);
        assert_int_equal(add(&set, &reading, S).count, 1);
    }
    sn_point_series_set_done(&set);
}

static void means_are_weighed_by_their_measurements(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    struct sn_reading first = reading_of(SONDE_POINT_MEAN, "m", 1, 500 * MS);
    first.count = 1;
    first.min = first.max = 1;
    first.deviation = 0;
    struct sn_reading second = reading_of(SONDE_POINT_MEAN, "m", 4, 500 * MS);
    second.count = 2;
    second.min = 3;
    second.max = 5;
    second.deviation = 1;
    assert_int_equal(add(&set, &first, S).count, 0);
    struct got got = add(&set, &second, S);
    assert_int_equal(got.count, 1);
    assert_true(got.last.value == 3); /* of 1, 3, 5 */
    assert_int_equal(got.last.count, 3);
    assert_true(got.last.min == 1 && got.last.max == 5);
    assert_true(fabs(got.last.deviation - sqrt(8.0 / 3)) < 1e-12);
    sn_point_series_set_done(&set);
}

/* What polling counters send looks the same until something else comes. */
static void a_gauge_that_turns_out_to_be_a_mean_stays_one(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    struct sn_reading gauge = reading_of(SONDE_POINT_GAUGE, "g", 5, S);
    gauge.count = 1;
    assert_int_equal(add(&set, &gauge, S).last.kind, SONDE_POINT_GAUGE);
    struct sn_reading mean = reading_of(SONDE_POINT_MEAN, "g", 0, S);
    assert_int_equal(add(&set, &mean, S).last.kind, SONDE_POINT_MEAN);
    gauge.time_ns += 2 * S;
    struct got got = add(&set, &gauge, S);
    assert_int_equal(got.last.kind, SONDE_POINT_MEAN);
    assert_true(got.last.value == 5);
    sn_point_series_set_done(&set);
}

static void histograms_add_counts_and_keep_the_last_quantiles(void **state)
{
    (void)state;
    static const struct sonde_quantile early[] = {{0.5, 1}};
    static const struct sonde_quantile late[] = {{0.5, 2}, {0.99, 9}};
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    struct sn_reading readings[4];
    for (int i = 0; i < 4; i++)
        readings[i] = reading_of(SONDE_POINT_HISTOGRAM, "h", NAN, 500 * MS);
    readings[0].count = 2;
    readings[0].sum = 3;
    readings[0].quantiles = early;
    readings[0].quantile_count = 1;
    readings[1].count = 4;
    readings[1].sum = 10;
    readings[1].quantiles = late;
    readings[1].quantile_count = 2;
    readings[2].sum = 0;
    readings[3].sum = 0;
    assert_int_equal(add(&set, &readings[0], S).count, 0);
    struct got got = add(&set, &readings[1], S);
    assert_int_equal(got.last.count, 6);
    assert_true(got.last.sum == 13 && got.last.rate == 6);
    assert_int_equal(got.last.quantile_count, 2);
    assert_true(got.quantiles[1].value == 9);
    assert_int_equal(add(&set, &readings[2], S).count, 0);
    got = add(&set, &readings[3], S);
    assert_int_equal(got.last.count, 0);
    assert_int_equal(got.last.quantile_count, 0);
    sn_point_series_set_done(&set);
}

static struct got add_total(struct sn_point_series_set *set, double added, double total,
                            bool is_absolute)
{
    struct sn_reading reading = reading_of(SONDE_POINT_UP_DOWN, "t", added, S);
    reading.total = total;
    reading.is_absolute = is_absolute;
    return add(set, &reading, S);
}

static void totals_go_on_when_a_session_begins_anew(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    assert_true(add_total(&set, 5, 5, false).last.total == 5);
    assert_true(add_total(&set, -2, 3, false).last.total == 3);
    assert_true(add_total(&set, 4, 4, false).last.total == 7); /* the runtime counts from 0 again */
    assert_true(add_total(&set, 1, 5, false).last.total == 8);
    sn_point_series_set_done(&set);
}

static struct got add_counted(struct sn_point_series_set *set, double added, double total)
{
    struct sn_reading reading = reading_of(SONDE_POINT_RATE, "c", added, S);
    reading.total = total;
    return add(set, &reading, S);
}

static void totals_do_not_fall_when_the_first_record_of_a_session_is_lost(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    assert_true(add_counted(&set, 50, 50).last.total == 50);
    assert_true(add_counted(&set, -5, 45).last.total == 45); /* a program may do so */
    assert_true(add_counted(&set, 4, 7).last.total == 52);   /* 3 and 4 since it began anew */
    assert_true(add_counted(&set, 1, 8).last.total == 53);
    sn_point_series_set_done(&set);
}

static void what_is_held_waits_for_its_release(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    struct got got = {0};
    sn_point_series_set_init(&set, 7);
    struct sn_reading held = reading_of(SONDE_POINT_RATE, "held", 5, S);
    held.is_held = true;
    assert_int_equal(add(&set, &held, S).count, 0);
    struct sn_reading other = reading_of(SONDE_POINT_GAUGE, "g", 1, S);
    got = add(&set, &other, S);
    assert_int_equal(got.count, 1);
    assert_string_equal(got.last.name, "g");
    assert_int_equal(add(&set, &held, S).count, 0);
    sn_point_series_release(&set);
    got = (struct got){0};
    (void)sn_point_series_flush(&set, S, false, take, &got);
    assert_int_equal(got.count, 1);
    assert_true(got.last.value == 10);
    sn_point_series_set_done(&set);
}

static void what_the_runtime_does_not_tell_is_known_from_before(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    struct got got = add_total(&set, NAN, 100, true);
    assert_int_equal(got.count, 1);
    assert_true(isnan(got.last.value) && isnan(got.last.rate));
    assert_true(got.last.is_absolute && got.last.total == 100);
    got = add_total(&set, NAN, 130, true); /* a new session looks at it for the first time */
    assert_true(got.last.value == 30 && got.last.rate == 30);
    sn_point_series_set_done(&set);
}

/* Two meters of one name: their instruments are one series. */
static void parts_of_one_collection_are_one_point(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    struct got got = {0};
    sn_point_series_set_init(&set, 7);
    struct sn_reading reading = reading_of(SONDE_POINT_RATE, "p", 2, S);
    reading.collection = 1;
    reading.total = 20;
    assert_int_equal(sn_point_series_add(&set, &reading), SONDE_OK);
    reading.value = 3;
    reading.total = 30;
    assert_int_equal(sn_point_series_add(&set, &reading), SONDE_OK);
    (void)sn_point_series_flush(&set, S, false, take, &got);
    assert_int_equal(got.count, 1);
    assert_true(got.last.value == 5 && got.last.total == 50);
    assert_int_equal(got.last.interval_ns, S);
    reading = reading_of(SONDE_POINT_RATE, "p", 1, S);
    reading.collection = 2;
    reading.total = 21; /* less than both had together: still no new beginning */
    assert_int_equal(sn_point_series_add(&set, &reading), SONDE_OK);
    reading.total = 31;
    assert_true(add(&set, &reading, S).last.total == 52);
    sn_point_series_set_done(&set);
}

static void the_first_values_do_not_wait_but_rates_need_some_time(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    struct got got = {0};
    sn_point_series_set_init(&set, 7);
    struct sn_reading gauge = reading_of(SONDE_POINT_GAUGE, "g", 5, MS);
    struct sn_reading rate = reading_of(SONDE_POINT_RATE, "r", 5, MS);
    (void)sn_point_series_add(&set, &gauge);
    (void)sn_point_series_add(&set, &rate);
    (void)sn_point_series_flush(&set, S, true, take, &got);
    assert_int_equal(got.count, 1);
    assert_string_equal(got.last.name, "g");
    assert_true(got.last.is_provisional);
    rate = reading_of(SONDE_POINT_RATE, "r", 7, 99 * MS);
    (void)sn_point_series_add(&set, &rate);
    (void)sn_point_series_flush(&set, S, true, take, &got);
    assert_int_equal(got.count, 2);
    assert_true(got.last.value == 12 && fabs(got.last.rate - 120) < 1e-9);
    sn_point_series_set_done(&set);
}

static void silent_series_are_left_out_and_then_freed(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    struct got got = {0};
    sn_point_series_set_init(&set, 7);
    struct sn_reading reading = reading_of(SONDE_POINT_GAUGE, "g", 5, S);
    (void)add(&set, &reading, S);
    sn_point_series_each(&set, reading.time_ns + 3 * S, S, take, &got);
    assert_int_equal(got.count, 1);
    sn_point_series_each(&set, reading.time_ns + 3 * S + 1, S, take, &got);
    assert_int_equal(got.count, 1);
    sn_point_series_sweep(&set, reading.time_ns + 59 * S, S);
    assert_int_equal(set.count, 1);
    sn_point_series_sweep(&set, reading.time_ns + 61 * S, S);
    assert_int_equal(set.count, 0);
    assert_int_equal(set.bytes, 0);
    sn_point_series_set_done(&set);
}

static void a_hostile_process_finds_an_end(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    char name[64];
    char tags[2100];
    unsigned refused = 0;
    sn_point_series_set_init(&set, 7);
    memset(tags, ',', sizeof(tags));
    tags[2000] = '\0';
    for (unsigned i = 0; i < 20000; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        struct sn_reading reading = reading_of(SONDE_POINT_GAUGE, name, 5, S);
        reading.tag_text = tags;
        refused += sn_point_series_add(&set, &reading) == SONDE_E_LIMIT;
    }
    assert_true(set.bytes <= 4u << 20);
    assert_true(refused > 15000);
    assert_in_range(sn_point_series_refused_count(&set), 1, 8192);
    memset(tags, 'x', sizeof(tags));
    tags[sizeof(tags) - 1] = '\0';
    struct sn_reading reading = reading_of(SONDE_POINT_GAUGE, "long", 5, S);
    reading.tag_text = tags;
    assert_int_equal(sn_point_series_add(&set, &reading), SONDE_E_LIMIT);
    sn_point_series_set_done(&set);
}

static void series_of_a_provider_are_forgotten(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    struct got got = {0};
    sn_point_series_set_init(&set, 7);
    struct sn_reading reading = reading_of(SONDE_POINT_GAUGE, "g", 5, S);
    (void)sn_point_series_add(&set, &reading);
    sn_point_series_forget(&set, SONDE_POINT_EVENT_COUNTER, "P");
    assert_int_equal(set.count, 1);
    sn_point_series_forget(&set, SONDE_POINT_METER, "p");
    assert_int_equal(set.count, 0);
    (void)sn_point_series_flush(&set, S, false, take, &got); /* it had something to say */
    assert_int_equal(got.count, 0);
    sn_point_series_set_done(&set);
}

static void tags_are_given_one_by_one(void **state)
{
    (void)state;
    struct sn_point_series_set set;
    sn_point_series_set_init(&set, 7);
    struct sn_reading reading = reading_of(SONDE_POINT_GAUGE, "g", 5, S);
    reading.tag_text = "a=1,b=x,y";
    struct got got = add(&set, &reading, S);
    assert_string_equal(got.last.tag_text, "a=1,b=x,y");
    assert_int_equal(got.last.tag_count, 2);
    assert_string_equal(got.last.tags[1].name, "b");
    assert_string_equal(got.last.tags[1].value, "x,y");
    sn_point_series_set_done(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(increments_are_summed_up_to_the_wanted_interval),
        cmocka_unit_test(a_longer_interval_than_wanted_is_given_as_it_is),
        cmocka_unit_test(intervals_are_never_exact),
        cmocka_unit_test(means_are_weighed_by_their_measurements),
        cmocka_unit_test(a_gauge_that_turns_out_to_be_a_mean_stays_one),
        cmocka_unit_test(histograms_add_counts_and_keep_the_last_quantiles),
        cmocka_unit_test(totals_go_on_when_a_session_begins_anew),
        cmocka_unit_test(totals_do_not_fall_when_the_first_record_of_a_session_is_lost),
        cmocka_unit_test(what_is_held_waits_for_its_release),
        cmocka_unit_test(what_the_runtime_does_not_tell_is_known_from_before),
        cmocka_unit_test(parts_of_one_collection_are_one_point),
        cmocka_unit_test(the_first_values_do_not_wait_but_rates_need_some_time),
        cmocka_unit_test(silent_series_are_left_out_and_then_freed),
        cmocka_unit_test(a_hostile_process_finds_an_end),
        cmocka_unit_test(series_of_a_provider_are_forgotten),
        cmocka_unit_test(tags_are_given_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
