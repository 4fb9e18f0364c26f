/* Two profiles side by side: rates, methods that are several frames, recursion, conditions. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "api/profile_internal.h"
#include "base/err.h"
#include "base/own.h"

#define SECOND 1000000000ull
#define MS     1000000ull

static struct sonde_profile *new_profile(uint64_t duration_ns)
{
    static const struct sn_column column = {"cpu", SN_UNIT_NS};
    struct sonde_profile *profile = calloc(1, sizeof(*profile));
    struct sonde_error err = {0};
    assert_non_null(profile);
    assert_int_equal(sn_profile_new(&column, 1, &profile->data, &err), SONDE_OK);
    profile->view = SONDE_VIEW_CPU;
    profile->title = strdup("trace");
    profile->duration_ns = duration_ns;
    return profile;
}

/* A stack as "Main;Tax:7;Tax:9" (caller first, with lines) and what was spent in it. */
static void spend(struct sonde_profile *profile, const char *stack, uint64_t ns)
{
    char text[256];
    char *rest = text;
    uint32_t node = 0;
    uint32_t thread = sn_profile_thread(profile->data, 1, 1, "");
    const uint64_t values[SN_COLUMN_MAX] = {ns};
    assert_true(strlen(stack) < sizeof(text));
    memcpy(text, stack, strlen(stack) + 1);
    for (char *name = strsep(&rest, ";"); name && *name; name = strsep(&rest, ";")) {
        char *line = strchr(name, ':');
        if (line)
            *line++ = '\0';
        struct sn_frame frame = {.name = name,
                                 .full_name = name,
                                 .module = "Shop",
                                 .name_space = "",
                                 .file = line ? "Shop.cs" : NULL,
                                 .line = line ? (uint32_t)strtoul(line, NULL, 10) : 0};
        node = sn_profile_node(profile->data, node, sn_profile_frame(profile->data, &frame));
    }
    sn_profile_add(profile->data, thread, node, values);
}

static void settle(struct sonde_profile *profile)
{
    const struct sn_profile *data = profile->data;
    profile->sums = sn_profile_frame_sums(data, 0, SN_NO_INDEX);
    profile->totals = sn_profile_node_totals(data, 0, SN_NO_INDEX, &profile->self);
    assert_true(profile->sums && profile->totals);
}

static void sonde_comparison_free_auto(struct sonde_comparison **slot)
{
    sonde_comparison_free(*slot);
}

static struct sonde_comparison *compare(const struct sonde_profile *before,
                                        const struct sonde_profile *after)
{
    struct sonde_comparison *comparison = NULL;
    struct sonde_error err = {0};
    if (sonde_compare(before, after, &comparison, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return comparison;
}

static void assert_change(const struct sonde_comparison *comparison, size_t index, const char *name,
                          const double numbers[4])
{
    struct sonde_change change;
    assert_true(sonde_comparison_get(comparison, index, &change));
    assert_string_equal(change.name, name);
    assert_string_equal(change.module, "Shop");
    assert_float_equal(change.self_before, numbers[0] * MS, 1);
    assert_float_equal(change.self_after, numbers[1] * MS, 1);
    assert_float_equal(change.total_before, numbers[2] * MS, 1);
    assert_float_equal(change.total_after, numbers[3] * MS, 1);
}

static void methods_compare_by_rate_largest_change_first(void **state)
{
    (void)state;
    SN_AUTO(sonde_profile_free) struct sonde_profile *before = new_profile(SECOND);
    SN_AUTO(sonde_profile_free) struct sonde_profile *after = new_profile(2 * SECOND);
    spend(before, "Main", 10 * MS);
    spend(before, "Main;Tax", 100 * MS);
    spend(before, "Main;Old", 30 * MS);
    spend(after, "Main", 20 * MS);
    spend(after, "Main;Tax", 400 * MS);
    spend(after, "Main;New", 50 * MS);
    settle(before);
    settle(after);
    SN_AUTO(sonde_comparison_free) struct sonde_comparison *found = compare(before, after);
    assert_int_equal(sonde_comparison_count(found), 4);
    assert_change(found, 0, "Tax", (double[]){100, 200, 100, 200});
    assert_change(found, 1, "Old", (double[]){30, 0, 30, 0});
    assert_change(found, 2, "New", (double[]){0, 25, 0, 25});
    assert_change(found, 3, "Main", (double[]){10, 10, 140, 235});
    struct sonde_change all;
    assert_false(sonde_comparison_get(found, 4, &all));
    sonde_comparison_all(found, &all);
    assert_float_equal(all.total_before, 140 * MS, 1);
    assert_float_equal(all.total_after, 235 * MS, 1);
}

/* Frames that differ by line only are one method; recursion, also through others, counts once. */
static void lines_and_recursion_make_one_method(void **state)
{
    (void)state;
    SN_AUTO(sonde_profile_free) struct sonde_profile *before = new_profile(SECOND);
    SN_AUTO(sonde_profile_free) struct sonde_profile *after = new_profile(SECOND);
    spend(before, "Main;Tax:7;Tax:9", 10 * MS);
    spend(before, "Main;Tax:7;Other;Tax:9", 5 * MS);
    spend(before, "Other;Tax:8", 1 * MS);
    spend(before, "", 3 * MS); /* no stack */
    spend(after, "Main;Tax:70", 16 * MS);
    settle(before);
    settle(after);
    SN_AUTO(sonde_comparison_free) struct sonde_comparison *found = compare(before, after);
    assert_int_equal(sonde_comparison_count(found), 3);
    assert_change(found, 0, "Other", (double[]){0, 0, 6, 0});
    assert_change(found, 1, "Main", (double[]){0, 0, 15, 16});
    assert_change(found, 2, "Tax", (double[]){16, 16, 16, 16});
}

struct trial {
    const char *condition;
    bool holds;
    const char *says;
};

static void assert_trials(struct sonde_comparison *comparison, const struct trial *trials,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sonde_error err = {0};
        const char *text = NULL;
        bool holds = !trials[i].holds;
        int rc = sonde_comparison_test(comparison, trials[i].condition, &holds, &text, &err);
        if (rc < 0)
            fail_msg("%s", err.text);
        assert_int_equal(rc == SONDE_END, strncmp(text, "no method is called", 19) == 0);
        if (holds != trials[i].holds || !strstr(text, trials[i].says))
            fail_msg("%s: %d, %s", trials[i].condition, holds, text);
    }
}

/* 100 to 150 ms/s in Shop.*, of 200 and 200: 50 % of all to 75 %. */
static void conditions_are_tested(void **state)
{
    (void)state;
    static const struct trial trials[] = {
        {"cpu(Shop.*) > +49%", true, "100 ms/s before, 150 ms/s after (+50 %)"},
        {"cpu(Shop.*) > +50%", false, "(+50 %)"},
        {"cpu(Shop.*) >= +50%", true, "(+50 %)"},
        {"total(Shop.*) > +24pt", true, "50 % and 75 % of all"},
        {"total(Shop.*) > +25pt", false, ""},
        {"cpu(Shop.*) > +49ms/s", true, ""},
        {"cpu(Shop.*) > +50ms/s", false, ""},
        {"cpu(Shop.*) > 149ms/s", true, ""},
        {"cpu(Shop.*) > 150ms/s", false, ""},
        {"cpu(Shop.*) > 74%", true, "75 % of all"},
        {"cpu(Shop.*) > 75pt", false, ""},
        {"cpu(Other) < -49%", true, "100 ms/s before, 50 ms/s after (-50 %)"},
        {"cpu(Other) < -50%", false, ""},
        {"self(Shop.*) > +49%", true, ""},
        {"self(Shop.Outer) > 0ns/s", false, "none before, none after (0 %)"},
        {"cpu(Shop.New) > +1000000%", true, "(new)"},
        {"cpu(*) > +0.1%", false, "200 ms/s before, 200 ms/s after (0 %)"},
        {"cpu(Shop.Typo) < 5ms/s", false, "no method is called Shop.Typo"},
    };
    SN_AUTO(sonde_profile_free) struct sonde_profile *before = new_profile(SECOND);
    SN_AUTO(sonde_profile_free) struct sonde_profile *after = new_profile(SECOND);
    spend(before, "Main;Shop.Outer;Shop.Inner;Library;Shop.Inner", 100 * MS);
    spend(before, "Main;Other", 100 * MS);
    spend(after, "Main;Shop.Outer;Shop.Inner", 140 * MS);
    spend(after, "Main;Shop.New", 10 * MS);
    spend(after, "Main;Other", 50 * MS);
    settle(before);
    settle(after);
    SN_AUTO(sonde_comparison_free) struct sonde_comparison *found = compare(before, after);
    assert_trials(found, trials, sizeof(trials) / sizeof(*trials));
}

/* 100 ms/s in Shop of 400, then 100 of 200: a share is of its own side. */
static void shares_are_of_their_own_side(void **state)
{
    (void)state;
    static const struct trial trials[] = {
        {"cpu(Shop) > +24pt", true, "25 % and 50 % of all"},
        {"cpu(Shop) > +25pt", false, ""},
        {"cpu(Other) < -24pt", true, "75 % and 50 % of all"},
        {"cpu(Shop) > +0%", false, "(0 %)"},
    };
    SN_AUTO(sonde_profile_free) struct sonde_profile *before = new_profile(SECOND);
    SN_AUTO(sonde_profile_free) struct sonde_profile *after = new_profile(SECOND);
    spend(before, "Shop", 100 * MS);
    spend(before, "Other", 300 * MS);
    spend(after, "Shop", 100 * MS);
    spend(after, "Other", 100 * MS);
    settle(before);
    settle(after);
    SN_AUTO(sonde_comparison_free) struct sonde_comparison *found = compare(before, after);
    assert_trials(found, trials, sizeof(trials) / sizeof(*trials));
}

static void what_is_not_there_is_nothing(void **state)
{
    (void)state;
    static const struct trial trials[] = {
        {"cpu(Main) > +10%", true, "none before, 5 ms/s after (new)"},
        {"cpu(*) > 4ms/s", true, ""},
    };
    SN_AUTO(sonde_profile_free) struct sonde_profile *after = new_profile(SECOND);
    spend(after, "Main", 5 * MS);
    settle(after);
    SN_AUTO(sonde_comparison_free) struct sonde_comparison *found = compare(NULL, after);
    assert_change(found, 0, "Main", (double[]){0, 5, 0, 5});
    assert_trials(found, trials, 2);
}

static void what_does_not_compare_is_refused(void **state)
{
    (void)state;
    SN_AUTO(sonde_profile_free) struct sonde_profile *profile = new_profile(SECOND);
    SN_AUTO(sonde_profile_free) struct sonde_profile *other = new_profile(SECOND);
    SN_AUTO(sonde_profile_free) struct sonde_profile *empty = new_profile(0);
    struct sonde_comparison *found = NULL;
    struct sonde_error err = {0};
    spend(profile, "Main", 5 * MS);
    settle(profile);
    other->view = SONDE_VIEW_WALL;
    assert_int_equal(sonde_compare(profile, other, &found, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'cpu' cannot be compared with a view 'wall'"));
    err = (struct sonde_error){0};
    assert_int_equal(sonde_compare(profile, empty, &found, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "no length"));
    assert_int_equal(sonde_compare(NULL, NULL, &found, &err), SONDE_E_ARGUMENT);
    assert_null(found);
    SN_AUTO(sonde_comparison_free) struct sonde_comparison *same = compare(profile, profile);
    static const char *const conditions[] = {"wall(*) > 1%", "cpu(*) > 1MB/s", "cpu(*) > 1/s",
                                             "cpu(*"};
    for (size_t i = 0; i < 4; i++) {
        bool holds = false;
        const char *text = NULL;
        err = (struct sonde_error){0};
        assert_int_equal(sonde_comparison_test(same, conditions[i], &holds, &text, &err),
                         SONDE_E_ARGUMENT);
        assert_non_null(strstr(err.text, conditions[i]));
    }
}

/* A stack as deep as they come is walked without recursion. */
static void deep_trees_are_walked(void **state)
{
    (void)state;
    SN_AUTO(sonde_profile_free) struct sonde_profile *profile = new_profile(SECOND);
    const uint64_t values[SN_COLUMN_MAX] = {5 * MS};
    uint32_t node = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        const char *name = i % 2 ? "Odd" : "Even";
        struct sn_frame frame = {
            .name = name, .full_name = name, .module = "Shop", .name_space = ""};
        node = sn_profile_node(profile->data, node, sn_profile_frame(profile->data, &frame));
    }
    sn_profile_add(profile->data, sn_profile_thread(profile->data, 1, 1, ""), node, values);
    settle(profile);
    SN_AUTO(sonde_comparison_free) struct sonde_comparison *found = compare(profile, profile);
    assert_change(found, 0, "Even", (double[]){0, 0, 5, 5});
    assert_change(found, 1, "Odd", (double[]){5, 5, 5, 5});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_compare_by_rate_largest_change_first),
        cmocka_unit_test(lines_and_recursion_make_one_method),
        cmocka_unit_test(conditions_are_tested),
        cmocka_unit_test(shares_are_of_their_own_side),
        cmocka_unit_test(what_is_not_there_is_nothing),
        cmocka_unit_test(what_does_not_compare_is_refused),
        cmocka_unit_test(deep_trees_are_walked),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
