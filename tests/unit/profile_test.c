/* Profiles: names kept once, sums that count recursion once, timelines that come back as they went
 * in. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "model/profile.h"
#include "model/report.h"

static const struct sn_column two[] = {{"time", SN_UNIT_NS}, {"count", SN_UNIT_COUNT}};

static struct sn_profile *new_profile(void)
{
    struct sn_profile *profile = NULL;
    assert_int_equal(sn_profile_new(two, 2, &profile, NULL), 0);
    return profile;
}

static uint32_t frame(struct sn_profile *profile, const char *name)
{
    struct sn_frame frame = {.name = name, .full_name = name, .module = "m", .name_space = ""};
    return sn_profile_frame(profile, &frame);
}

static uint32_t stack(struct sn_profile *profile, const char *letters)
{
    uint32_t node = 0;
    for (; *letters; letters++)
        node = sn_profile_node(profile, node, frame(profile, (char[2]){*letters, 0}));
    return node;
}

static void add(struct sn_profile *profile, uint64_t thread, const char *letters, uint64_t time)
{
    uint64_t values[SN_COLUMN_MAX] = {time, 1};
    sn_profile_add(profile, sn_profile_thread(profile, 1, thread, ""), stack(profile, letters),
                   values);
}

static void equal_frames_are_one(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    uint32_t a = frame(profile, "A");
    assert_int_equal(frame(profile, "A"), a);
    assert_int_not_equal(frame(profile, "B"), a);
    struct sn_frame line = {
        .name = "A", .full_name = "A", .module = "m", .file = "a.cs", .line = 3};
    uint32_t with_line = sn_profile_frame(profile, &line);
    assert_int_not_equal(with_line, a);
    line.line = 4;
    assert_int_not_equal(sn_profile_frame(profile, &line), with_line);
    line.module = "n";
    assert_int_not_equal(sn_profile_frame(profile, &line), with_line);
    assert_int_equal(profile->frame_count, 5);
}

static void many_frames_and_nodes_stay_apart(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    char name[16];
    for (uint32_t i = 0; i < 20000; i++) {
        (void)snprintf(name, sizeof(name), "M%u", i);
        assert_int_equal(frame(profile, name), i);
        assert_int_equal(sn_profile_node(profile, 0, i), i + 1);
    }
    for (uint32_t i = 0; i < 20000; i++)
        assert_int_equal(sn_profile_node(profile, 0, i), i + 1);
    assert_int_equal(profile->dropped_count, 0);
}

static void recursion_counts_once(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    add(profile, 1, "ABAB", 10);
    add(profile, 1, "AB", 5);
    add(profile, 2, "BC", 7);
    SN_AUTO(sn_free) struct sn_frame_sum *sums = sn_profile_frame_sums(profile, 0, SN_NO_INDEX);
    assert_int_equal(sums[frame(profile, "A")].self, 0);
    assert_int_equal(sums[frame(profile, "A")].total, 15);
    assert_int_equal(sums[frame(profile, "B")].self, 15);
    assert_int_equal(sums[frame(profile, "B")].total, 22);
    assert_int_equal(sums[frame(profile, "C")].total, 7);
    SN_AUTO(sn_free) struct sn_frame_sum *second = sn_profile_frame_sums(profile, 0, 1);
    assert_int_equal(second[frame(profile, "B")].total, 7);
    assert_int_equal(sn_profile_total(profile, 0, SN_NO_INDEX), 22);
    assert_int_equal(sn_profile_total(profile, 1, SN_NO_INDEX), 3);
    assert_int_equal(sn_profile_total(profile, 0, 0), 15);
}

static void the_root_holds_everything(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    add(profile, 1, "ABC", 10);
    add(profile, 1, "AB", 5);
    add(profile, 1, "D", 1);
    uint64_t *self = NULL;
    SN_AUTO(sn_free) uint64_t *totals = sn_profile_node_totals(profile, 0, SN_NO_INDEX, &self);
    assert_int_equal(totals[0], 16);
    assert_int_equal(totals[stack(profile, "A")], 15);
    assert_int_equal(self[stack(profile, "A")], 0);
    assert_int_equal(self[stack(profile, "AB")], 5);
    free(self);
}

static void a_refused_part_is_counted(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    const uint64_t values[SN_COLUMN_MAX] = {1};
    assert_int_equal(sn_profile_node(profile, SN_NO_INDEX, 0), SN_NO_INDEX);
    sn_profile_add(profile, SN_NO_INDEX, 0, values);
    sn_profile_add(profile, 0, SN_NO_INDEX, values);
    const struct sn_run nowhere = {.node = SN_NO_INDEX};
    sn_profile_run(profile, 0, &nowhere);
    assert_int_equal(profile->dropped_count, 3);
    assert_int_equal(profile->row_count, 0);
}

static void a_timeline_comes_back(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    uint32_t thread = sn_profile_thread(profile, 1, 7, "worker");
    const struct sn_run runs[] = {
        {1000, 2000, 1, {5, 6}}, {2000, 2000, 2, {0, 1}}, {UINT64_MAX - 9, UINT64_MAX, 3, {1, 0}}};
    for (size_t i = 0; i < 3; i++)
        sn_profile_run(profile, thread, &runs[i]);
    struct sn_run_cursor cursor = {0};
    struct sn_run run;
    for (size_t i = 0; i < 3; i++) {
        assert_true(sn_profile_next_run(profile, thread, &cursor, &run));
        assert_memory_equal(&run, &runs[i], sizeof(run));
    }
    assert_false(sn_profile_next_run(profile, thread, &cursor, &run));
}

static void runs_never_overlap(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    uint32_t thread = sn_profile_thread(profile, 1, 7, "");
    const struct sn_run first = {.start_ns = 10, .end_ns = 20, .node = 1};
    const struct sn_run late = {.start_ns = 5, .end_ns = 15, .node = 2};
    sn_profile_run(profile, thread, &first);
    sn_profile_run(profile, thread, &late);
    struct sn_run_cursor cursor = {0};
    struct sn_run run;
    assert_true(sn_profile_next_run(profile, thread, &cursor, &run));
    assert_true(sn_profile_next_run(profile, thread, &cursor, &run));
    assert_int_equal(run.start_ns, 20);
    assert_int_equal(run.end_ns, 20);
}

/* --- series --- */

static void percentiles_are_ranks(void **state)
{
    (void)state;
    struct sn_series series = {0};
    assert_int_equal(sn_series_percentile(&series, 50), 0);
    for (uint64_t i = 100; i > 0; i--)
        sn_series_add(&series, i);
    assert_int_equal(sn_series_percentile(&series, 50), 50);
    assert_int_equal(sn_series_percentile(&series, 99), 99);
    assert_int_equal(sn_series_percentile(&series, 0), 1);
    assert_int_equal(sn_series_percentile(&series, 100), 100);
    assert_int_equal(series.sum, 5050);
    sn_series_done(&series);
}

static void a_long_series_is_thinned_evenly(void **state)
{
    (void)state;
    struct sn_series series = {0};
    uint64_t count = 3ull * SN_SERIES_MAX;
    for (uint64_t i = 0; i < count; i++)
        sn_series_add(&series, i);
    assert_true(series.count <= SN_SERIES_MAX);
    assert_int_equal(series.seen_count, count);
    assert_int_equal(series.max, count - 1);
    uint64_t median = sn_series_percentile(&series, 50);
    assert_in_range(median, count / 2 - count / 100, count / 2 + count / 100);
    sn_series_done(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_frames_are_one),
        cmocka_unit_test(many_frames_and_nodes_stay_apart),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(the_root_holds_everything),
        cmocka_unit_test(a_refused_part_is_counted),
        cmocka_unit_test(a_timeline_comes_back),
        cmocka_unit_test(runs_never_overlap),
        cmocka_unit_test(percentiles_are_ranks),
        cmocka_unit_test(a_long_series_is_thinned_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
