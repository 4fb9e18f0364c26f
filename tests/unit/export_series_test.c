/* The store of latest points: each series once, totals that go on, and an end to what it holds. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_points.h"
#include "sink/export/export_series.h"

static void the_latest_point_stays_and_totals_go_on(void **state)
{
    (void)state;
    struct sn_export_series *series = sn_export_series_new(0);
    struct sonde_point point = made_histogram();
    for (int i = 0; i < 3; i++) {
        point.sum = i;
        assert_int_equal(sn_export_series_put(series, &point, &made_labels, NULL), 0);
    }
    size_t count;
    const struct sn_export_row *rows = sn_export_series_rows(series, &count);
    assert_int_equal(count, 1);
    assert_true(rows[0].point->sum == 2);
    assert_true(rows[0].totals->sum == 3);
    assert_int_equal(rows[0].totals->count, 36);
    sn_export_series_free(series);
}

/* Everything is a copy: what it was made from may change at once. */
static void points_and_labels_are_copied(void **state)
{
    (void)state;
    struct sn_export_series *series = sn_export_series_new(0);
    char name[] = "name";
    char value[] = "value";
    char user[] = "user";
    struct sonde_quantile quantile = {0.5, 1};
    struct sonde_tag tag = {name, value};
    struct sonde_process process = made_process;
    process.user = user;
    struct sn_export_labels labels = {
        .process = &process, .host = value, .extra = &tag, .extra_count = 1};
    struct sonde_point point = made_point(name, 1);
    point.tags = &tag;
    point.tag_count = 1;
    point.quantiles = &quantile;
    point.quantile_count = 1;
    assert_int_equal(sn_export_series_put(series, &point, &labels, NULL), 0);
    memset(name, 'x', sizeof(name) - 1);
    memset(value, 'x', sizeof(value) - 1);
    memset(user, 'x', sizeof(user) - 1);
    quantile.value = 2;
    tag.name = process.name = "gone";
    size_t count;
    const struct sn_export_row *row = sn_export_series_rows(series, &count);
    assert_string_equal(row->point->name, "name");
    assert_string_equal(row->point->tags[0].name, "name");
    assert_string_equal(row->point->tags[0].value, "value");
    assert_true(row->point->quantiles[0].value == 1);
    assert_string_equal(row->labels->process->user, "user");
    assert_string_equal(row->labels->process->name, "shop");
    assert_string_equal(row->labels->host, "value");
    assert_string_equal(row->labels->extra[0].name, "name");
    sn_export_series_free(series);
}

static void silent_series_are_forgotten_and_others_stay(void **state)
{
    (void)state;
    struct sn_export_series *series = sn_export_series_new(0);
    char name[16];
    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        struct sonde_point point = made_point(name, i);
        point.time_ns = i % 2 ? 100000000000u : 50000000000u;
        point.interval_ns = i % 4 ? 1000000000u : 60000000000u;
        assert_int_equal(sn_export_series_put(series, &point, &made_labels, NULL), 0);
    }
    sn_export_series_expire(series, 105000000000u);
    size_t count;
    const struct sn_export_row *rows = sn_export_series_rows(series, &count);
    assert_int_equal(count, 150); /* the odd are new, every fourth comes once a minute */
    for (size_t i = 0; i < count; i++) {
        unsigned number = (unsigned)rows[i].point->value;
        assert_true(number % 4 != 2);
        (void)snprintf(name, sizeof(name), "n%u", number);
        assert_string_equal(rows[i].point->name, name);
        struct sonde_point again = *rows[i].point;
        again.provider = "Shop";
        again.name = name;
        again.display_name = again.unit = again.description = again.version = again.tag_text = "";
        assert_int_equal(sn_export_series_put(series, &again, &made_labels, NULL), 0);
    }
    (void)sn_export_series_rows(series, &count);
    assert_int_equal(count, 150);
    sn_export_series_free(series);
}

static void there_is_an_end_to_series_and_to_bytes(void **state)
{
    (void)state;
    struct sn_export_series *series = sn_export_series_new(2);
    struct sonde_point point = made_point("a", 1);
    assert_int_equal(sn_export_series_put(series, &point, &made_labels, NULL), 0);
    point.name = "b";
    assert_int_equal(sn_export_series_put(series, &point, &made_labels, NULL), 0);
    point.name = "c";
    struct sonde_error err = {0};
    assert_int_equal(sn_export_series_put(series, &point, &made_labels, &err), SONDE_E_LIMIT);
    assert_int_equal(sn_export_series_dropped(series), 1);
    point.name = "a";
    point.value = 5;
    assert_int_equal(sn_export_series_put(series, &point, &made_labels, NULL), 0);
    size_t count;
    (void)sn_export_series_rows(series, &count);
    assert_int_equal(count, 2);
    sn_export_series_free(series);

    series = sn_export_series_new(0);
    char *text = malloc((32u << 20) + 1);
    assert_non_null(text);
    memset(text, 't', 32u << 20);
    text[32u << 20] = '\0';
    point.description = text;
    for (unsigned i = 0; i < 12; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        point.name = name;
        int status = sn_export_series_put(series, &point, &made_labels, NULL);
        assert_int_equal(status, i < 7 ? 0 : SONDE_E_LIMIT);
    }
    assert_int_equal(sn_export_series_dropped(series), 5);
    free(text);
    sn_export_series_free(series);
}

static void a_pid_that_came_back_begins_anew(void **state)
{
    (void)state;
    struct sn_export_series *series = sn_export_series_new(0);
    struct sonde_process other = made_process;
    other.start_ticks = made_process.start_ticks + 1;
    const struct sn_export_labels labels = {.process = &other};
    struct sonde_point point = made_counter("c", 5, NAN);
    assert_int_equal(sn_export_series_put(series, &point, &made_labels, NULL), 0);
    assert_int_equal(sn_export_series_put(series, &point, &made_labels, NULL), 0);
    size_t count;
    assert_true(sn_export_series_rows(series, &count)->totals->added == 10);
    assert_int_equal(sn_export_series_put(series, &point, &labels, NULL), 0);
    assert_true(sn_export_series_rows(series, &count)->totals->added == 5);
    assert_int_equal(count, 1);
    sn_export_series_forget(series, &made_process); /* which had the pid before */
    (void)sn_export_series_rows(series, &count);
    assert_int_equal(count, 1);
    sn_export_series_forget(series, &other);
    (void)sn_export_series_rows(series, &count);
    assert_int_equal(count, 0);
    sn_export_series_free(series);
}

/* The start that receivers are told belongs to the total that stands beside it. */
static void a_total_that_falls_has_a_new_start(void **state)
{
    (void)state;
    static const struct {
        double value, total, added;
        bool begins;
    } steps[] = {{5, NAN, 5, true},  {5, NAN, 10, false}, {-3, NAN, 0, true}, {2, NAN, 2, false},
                 {1, 100, 3, false}, {1, 101, 4, false},  {1, 7, 1, true}};
    struct sn_export_series *series = sn_export_series_new(0);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct sonde_point point = made_counter("c", steps[i].value, steps[i].total);
        size_t count;
        point.interval_ns = 1000;
        point.utc_ns = 1000000 * (i + 1);
        assert_int_equal(sn_export_series_put(series, &point, &made_labels, NULL), 0);
        const struct sn_export_totals *totals = sn_export_series_rows(series, &count)->totals;
        assert_true(totals->added == steps[i].added);
        assert_int_equal(totals->start_ns == point.utc_ns - 1000, steps[i].begins);
    }
    sn_export_series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_point_stays_and_totals_go_on),
        cmocka_unit_test(points_and_labels_are_copied),
        cmocka_unit_test(silent_series_are_forgotten_and_others_stay),
        cmocka_unit_test(there_is_an_end_to_series_and_to_bytes),
        cmocka_unit_test(a_pid_that_came_back_begins_anew),
        cmocka_unit_test(a_total_that_falls_has_a_new_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
