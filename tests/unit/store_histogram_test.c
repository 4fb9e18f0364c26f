/* Histograms in the store: counts, sums and percentiles come back, exact over any time; levels come
 * back as levels, and what an older version kept as what it is. */
#include "store_bench.h"

#include <math.h>

struct histograms {
    struct sn_store_sample samples[32];
    char names[32][32]; /* process and counter are borrowed */
    size_t count;
};

static bool take_histogram(void *user, const struct sn_store_sample *sample)
{
    struct histograms *told = user;
    assert_true(told->count < 32);
    (void)snprintf(told->names[told->count], sizeof(told->names[0]), "%s%s", sample->counter,
                   sample->tags);
    told->samples[told->count++] = *sample;
    return true;
}

static struct histograms histograms(struct store_bench *bench, struct sn_store_query query)
{
    struct histograms told = {.count = 0};
    assert_int_equal(sn_store_history(bench->store, &query, take_histogram, &told, NULL), SONDE_OK);
    return told;
}

#define RARE_COUNT(second)  ((second) % 7 ? 0u : 1u)
#define OFTEN_COUNT(second) (40 + (second) % 11)

/* The one answers seldom and slowly, the other often and quickly. */
static void put_two_routes(struct store_bench *bench, uint64_t seconds)
{
    int64_t shop = bench_process(bench, 10, "shop");
    for (uint64_t second = 0; second < seconds; second++) {
        bench_put_histogram(bench, shop, "rare", second, RARE_COUNT(second),
                            RARE_COUNT(second) * 2.0);
        bench_put_histogram(bench, shop, "often", second, OFTEN_COUNT(second),
                            0.001 * (double)(second + 1) * (double)OFTEN_COUNT(second));
        bench_commit(bench);
    }
}

/* The truth, from the counts: what was put from a second to another. */
static void check_often(const struct sn_store_sample *sample, uint64_t from, uint64_t to)
{
    double count = 0;
    double sum = 0;
    for (uint64_t second = from; second < to; second++) {
        count += (double)OFTEN_COUNT(second);
        sum += 0.001 * (double)(second + 1) * (double)OFTEN_COUNT(second);
    }
    assert_true(sample->has_parts);
    assert_int_equal(sample->kind, SONDE_POINT_HISTOGRAM);
    assert_true(sample->measurement_count == count);
    assert_true(fabs(sample->sum - sum) < 1e-9 * sum);
    assert_true(fabs(sample->value - sum / count) < 1e-9);
    assert_true(sample->seconds == (double)(to - from));
    assert_int_equal(sample->count, to - from);
    for (unsigned i = 0; i < SN_STORE_QUANTILES; i++) {
        assert_true(fabs(sample->quantiles[i].low - (i + 1) * 0.001 * (double)(from + 1)) < 1e-9);
        assert_true(fabs(sample->quantiles[i].high - (i + 1) * 0.001 * (double)to) < 1e-9);
    }
}

static void means_of_histograms_are_exact_and_percentiles_are_bands(void **state)
{
    struct store_bench *bench = *state;
    const struct sn_store_query query = {.counter = "often",
                                         .step_ns = 100 * (uint64_t)BENCH_SECOND};
    put_two_routes(bench, 450); /* some in chunks, some not */
    for (int round = 0; round < 2; round++) {
        struct histograms told = histograms(bench, query);
        assert_int_equal(told.count, 5);
        for (uint64_t i = 0; i < 5; i++)
            check_often(&told.samples[i], i * 100, i == 4 ? 450 : i * 100 + 100);
        struct sn_store_query all = query;
        all.step_ns = 0;
        all.from_ns = BENCH_START_NS + 7 * (uint64_t)BENCH_SECOND;
        all.to_ns = all.from_ns;
        told = histograms(bench, all);
        assert_int_equal(told.count, 1);
        check_often(&told.samples[0], 7, 8);
        bench_reopen(bench);
    }
}

static void an_interval_without_measurements_has_no_mean(void **state)
{
    struct store_bench *bench = *state;
    put_two_routes(bench, 14);
    struct histograms told = histograms(bench, (struct sn_store_query){.counter = "rare"});
    assert_int_equal(told.count, 14);
    for (size_t i = 0; i < 14; i++) {
        const struct sn_store_sample *sample = &told.samples[i];
        assert_true(sample->measurement_count == RARE_COUNT(i));
        assert_true(sample->seconds == 1);
        assert_true(RARE_COUNT(i) ? sample->value == 2 : isnan(sample->value));
        assert_true(RARE_COUNT(i) ? sample->quantiles[2].high == 6
                                  : isnan(sample->quantiles[2].high));
    }
}

/* A block holds 32768 numbers, which seven do not divide. Without the first block nothing is taken
 * for another part. */
static void numbers_of_one_point_are_never_in_two_blocks(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    char name[32];
    for (unsigned i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof(name), "time-%05u", i);
        bench_put_histogram(bench, shop, name, 1, 4, 4.0 * i);
        (void)snprintf(name, sizeof(name), "size-%05u", i);
        bench_put(bench, shop, name, 1, 1);
    }
    bench_commit(bench);
    sn_store_close(bench->store);
    bench->store = NULL;
    bench_sql(bench, "DELETE FROM block WHERE id = (SELECT min(id) FROM block)");
    bench_open(bench);
    unsigned found = 0;
    for (unsigned i = 4600; i < 5000; i += 1) {
        (void)snprintf(name, sizeof(name), "time-%05u", i);
        struct bench_answer answer = bench_ask(bench, (struct sn_store_query){.counter = name});
        found += answer.count == 1;
        assert_true(!answer.count || answer.last == i);
    }
    assert_in_range(found, 300, 330);
}

/* .NET declares the thread pool's levels as counters. */
static void levels_are_kept_as_levels(void **state)
{
    struct store_bench *bench = *state;
    int64_t shop = bench_process(bench, 10, "shop");
    struct sonde_point point = bench_point("dotnet.thread_pool.thread.count", 0, 0);
    point.kind = SONDE_POINT_RATE;
    point.rate = 0;
    point.total = 12;
    assert_int_equal(sn_store_point(bench->store, shop, &point, NULL), SONDE_OK);
    struct histograms told = histograms(bench, (struct sn_store_query){0});
    assert_int_equal(told.count, 1);
    assert_int_equal(told.samples[0].kind, SONDE_POINT_UP_DOWN);
    assert_true(told.samples[0].value == 12);
    assert_false(told.samples[0].has_parts);
}

/* v2.db was written by the last sonde of version 2: 130 seconds of five counters, in chunks and in
 * blocks. /search took 0.25 s on the mean, /order 0.5 s. */
static void a_store_of_version_2_keeps_its_values_and_says_what_has_means_only(void **state)
{
    struct store_bench *bench = *state;
    const struct sn_store_query means = {.counter = "http.server.request.duration",
                                         .step_ns = 100 * (uint64_t)BENCH_SECOND};
    sn_store_close(bench->store);
    bench->store = NULL;
    bench_golden(bench, "v2.db");
    bench_open(bench);
    assert_string_equal(bench_health(bench).set_aside, "");
    assert_int_equal(bench_ask(bench, (struct sn_store_query){0}).count, 5 * 130);
    for (int round = 0; round < 2; round++) {
        struct histograms told = histograms(bench, means);
        assert_int_equal(told.count, round ? 6 : 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(told.samples[i].kind, SONDE_POINT_HISTOGRAM);
            assert_false(told.samples[i].has_parts);
            assert_int_equal(told.samples[i].count, i % 2 ? 30 : 100);
            assert_true(told.samples[i].value == (i < 2 ? 0.25 : 0.5));
        }
        for (size_t i = 4; i < told.count; i++)
            assert_true(told.samples[i].has_parts && told.samples[i].measurement_count == 10);
        struct histograms level = histograms(
            bench, (struct sn_store_query){.counter = "dotnet.thread_pool*", .limit = 1});
        assert_int_equal(level.samples[0].kind, SONDE_POINT_RATE);
        int64_t other = bench_process(bench, 10, "other");
        bench_put_histogram(bench, other, "http.server.request.duration", 1 + (uint64_t)round * 100,
                            10, 5);
        bench_reopen(bench);
        if (!round)
            bench_put_histogram(bench, other, "http.server.request.duration", 101, 10, 5);
    }
    assert_int_equal(bench_health(bench).damaged_count, 0);
    assert_int_equal(bench_health(bench).dropped_count, 0);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, bench_begin, bench_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(means_of_histograms_are_exact_and_percentiles_are_bands),
        STORE_TEST(an_interval_without_measurements_has_no_mean),
        STORE_TEST(numbers_of_one_point_are_never_in_two_blocks),
        STORE_TEST(levels_are_kept_as_levels),
        STORE_TEST(a_store_of_version_2_keeps_its_values_and_says_what_has_means_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
