/* What looking costs: when that is known, and when the load moves by itself. The slices are made.
 */
#include "check.h"

#include <stddef.h>

#include "api/top_cost.h"

static void fill(struct sn_top_cost_side *side, const double *percent, size_t count)
{
    for (size_t i = 0; i < count; i++)
        side->percent[i] = percent[i];
    side->count = count;
}

#define FILL(side, ...)                       \
    fill(side, (const double[]){__VA_ARGS__}, \
         sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static struct sonde_top_cost told(const struct sn_top_cost *cost)
{
    struct sonde_top_cost seen;
    sn_top_cost_tell(cost, &seen);
    return seen;
}

static void steady_load_tells_the_cost(void **state)
{
    (void)state;
    struct sn_top_cost cost = {.count = 1, .name = "shop"};
    FILL(&cost.before, 50, 51, 49, 50);
    FILL(&cost.settling, 90, 75, 71);
    FILL(&cost.since, 70, 71, 69, 70, 70, 71, 69, 70);
    struct sonde_top_cost seen = told(&cost);
    assert_true(seen.is_measured);
    assert_true(seen.is_known);
    assert_true(seen.percent > 19.9 && seen.percent < 20.1);
    assert_string_equal(seen.name, "shop");
    FILL(&cost.since, 50, 51, 49, 50, 50, 51, 49, 50);
    assert_false(told(&cost).is_known);
}

static void few_slices_tell_nothing(void **state)
{
    (void)state;
    struct sn_top_cost cost = {.count = 1};
    FILL(&cost.before, 50, 51, 49, 50);
    FILL(&cost.since, 70, 71, 69);
    assert_false(told(&cost).is_measured);
    FILL(&cost.since, 70, 71, 69, 70);
    assert_true(told(&cost).is_known);
    cost.before.count = 3;
    assert_false(told(&cost).is_measured);
}

/* By two standard errors this one would be known; four slices do not suffice for that. */
static void noise_hides_the_cost(void **state)
{
    (void)state;
    struct sn_top_cost cost = {.count = 1};
    FILL(&cost.before, 40, 60, 60, 40);
    FILL(&cost.since, 60, 80, 80, 60);
    struct sonde_top_cost seen = told(&cost);
    assert_true(seen.is_measured);
    assert_false(seen.is_known);
    FILL(&cost.since, 90, 110, 110, 90);
    assert_true(told(&cost).is_known);
}

/* Load that came after the start is not the view's. */
static void load_that_comes_later_is_no_cost(void **state)
{
    (void)state;
    struct sn_top_cost cost = {.count = 1};
    FILL(&cost.before, 0, 0, 0, 0);
    FILL(&cost.since, 0, 0, 0, 0, 150, 150, 150, 150);
    assert_false(told(&cost).is_known);
    FILL(&cost.since, 0, 150, 150, 150, 150, 150, 150, 150, 150, 150, 150, 150);
    FILL(&cost.settling, 0, 0, 0, 0);
    assert_false(told(&cost).is_known);
    FILL(&cost.settling, 0, 40, 150, 150);
    FILL(&cost.since, 150, 151, 149, 150, 150, 151, 149, 150);
    assert_false(told(&cost).is_known);
}

static void drift_hides_the_cost(void **state)
{
    (void)state;
    struct sn_top_cost cost = {.count = 1};
    FILL(&cost.before, 10, 10, 10, 10);
    FILL(&cost.since, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42);
    assert_true(told(&cost).is_known);
    FILL(&cost.since, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52);
    assert_false(told(&cost).is_known);
    FILL(&cost.before, 0, 20, 60, 80);
    FILL(&cost.since, 90, 91, 89, 90, 90, 91, 89, 90);
    assert_false(told(&cost).is_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_load_tells_the_cost),
        cmocka_unit_test(few_slices_tell_nothing),
        cmocka_unit_test(noise_hides_the_cost),
        cmocka_unit_test(load_that_comes_later_is_no_cost),
        cmocka_unit_test(drift_hides_the_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
