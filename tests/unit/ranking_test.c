/* Lists of a profile: one line a name, recursion once, what was allocated is no method. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "convert/ranking.h"
#include "model/profile.h"

static const struct sn_column bytes[] = {{"bytes", SN_UNIT_BYTES}};

/* "A>B>=String" is B called by A, which allocated a String. */
static void add(struct sn_profile *profile, const char *stack, uint64_t value)
{
    uint32_t node = 0;
    SN_AUTO(sn_free) char *copy = strdup(stack);
    char *rest = NULL;
    for (char *word = strtok_r(copy, ">", &rest); word; word = strtok_r(NULL, ">", &rest)) {
        bool is_type = word[0] == '=';
        char *bar = strchr(word, '|'); /* "Name|Full" */
        struct sn_frame frame = {.name = word + is_type,
                                 .full_name = bar ? bar + 1 : word,
                                 .module = "m",
                                 .name_space = "n",
                                 .kind = is_type ? SN_FRAME_TYPE : SN_FRAME_MANAGED};
        if (bar)
            *bar = '\0';
        node = sn_profile_node(profile, node, sn_profile_frame(profile, &frame));
    }
    const uint64_t values[SN_COLUMN_MAX] = {value};
    sn_profile_add(profile, sn_profile_thread(profile, 1, 1, ""), node, values);
}

static struct sn_profile *new_profile(void)
{
    struct sn_profile *profile = NULL;
    assert_int_equal(sn_profile_new(bytes, 1, &profile, NULL), 0);
    return profile;
}

static const struct sn_ranked *find(const struct sn_ranking *ranking, const char *name)
{
    for (size_t i = 0; i < ranking->count; i++) {
        if (strcmp(ranking->items[i].name, name) == 0)
            return &ranking->items[i];
    }
    return NULL;
}

static void what_goes_by_one_name_is_one(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    add(profile, "Serve|Serve()>Start>Serve|Serve.MoveNext()>Work", 10);
    add(profile, "Serve|Serve()", 5);
    SN_AUTO(sn_ranking_done) struct sn_ranking ranking = {0};
    sn_ranking_inclusive(&ranking, profile, 0);
    assert_int_equal(ranking.count, 3);
    assert_int_equal(find(&ranking, "Serve")->total, 15);
    assert_int_equal(find(&ranking, "Serve")->self, 5);
    assert_int_equal(ranking.whole, 15);
}

static void the_method_allocates_not_the_type(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    add(profile, "Main>Make>=String", 10);
    add(profile, "Main>Make>=Int32[]", 7);
    add(profile, "Main>=String", 1);
    SN_AUTO(sn_ranking_done) struct sn_ranking ranking = {0};
    sn_ranking_methods(&ranking, profile, 0);
    assert_int_equal(ranking.count, 2);
    assert_string_equal(ranking.items[0].name, "Make");
    assert_int_equal(ranking.items[0].self, 17);
    assert_int_equal(ranking.items[1].total, 18);
    assert_null(find(&ranking, "String"));
}

static void callers_and_callees_count_recursion_once(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    add(profile, "Main>A>B>A>B", 100);
    SN_AUTO(sn_neighbours_done) struct sn_neighbours found = {0};
    sn_neighbours_find(&found, profile, 0, "A");
    assert_int_equal(found.total, 100);
    assert_int_equal(found.self, 0);
    assert_int_equal(found.callers.count, 1);
    assert_int_equal(find(&found.callers, "Main")->total, 100);
    assert_int_equal(find(&found.callees, "B")->total, 100);
    assert_int_equal(find(&found.callees, "B")->self, 100);
}

static void every_match_is_listed(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    add(profile, "Main>Shop.A>Shop.B", 30);
    add(profile, "Main>Shop.A>Shop.C>Other", 12);
    SN_AUTO(sn_neighbours_done) struct sn_neighbours found = {0};
    sn_neighbours_find(&found, profile, 0, "Shop.*");
    assert_int_equal(found.matched.count, 3);
    assert_int_equal(find(&found.matched, "Shop.A")->total, 42);
    assert_int_equal(find(&found.matched, "Shop.B")->self, 30);
    assert_int_equal(found.self, 30);
    assert_int_equal(found.total, 42);
    assert_int_equal(found.callees.count, 1);
    assert_int_equal(find(&found.callees, "Other")->total, 12);
}

/* A stack as deep as hostile input makes it takes no longer than it is long. */
static void depth_costs_nothing(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    uint32_t node = 0;
    for (uint32_t i = 0; i < 300000; i++) {
        struct sn_frame frame = {.name = i % 2 ? "A" : "B", .full_name = i % 2 ? "A" : "B"};
        node = sn_profile_node(profile, node, sn_profile_frame(profile, &frame));
    }
    const uint64_t values[SN_COLUMN_MAX] = {9};
    sn_profile_add(profile, sn_profile_thread(profile, 1, 1, ""), node, values);
    SN_AUTO(sn_ranking_done) struct sn_ranking ranking = {0};
    sn_ranking_inclusive(&ranking, profile, 0);
    assert_int_equal(find(&ranking, "A")->total, 9);
    assert_int_equal(find(&ranking, "B")->total, 9);
}

/* Named first is where the program's own work forks, not what merely calls that. */
static void the_own_method_is_no_mere_caller(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    struct sn_ranked own;
    assert_false(sn_ranking_own(&own, profile, 0));
    add(profile, "Main>Run>Step>Parse", 40);
    add(profile, "Main>Run>Step>Write>Step>Parse", 30);
    add(profile, "Main>Run>Other", 8);
    add(profile, "Main", 5);
    add(profile, "Else", 60);
    assert_true(sn_ranking_own(&own, profile, 0));
    assert_string_equal(own.name, "Parse");
    assert_int_equal(own.total, 70);
    add(profile, "Main>Run>Step>Sum", 40);
    assert_true(sn_ranking_own(&own, profile, 0));
    assert_string_equal(own.name, "Step");
    assert_int_equal(own.total, 110);
    assert_int_equal(own.self, 0);
}

/* Stacks of waits end in the kernel, all alike; who waits is told. */
static void waits_are_of_the_code_that_waits(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    static const struct sn_frame frames[] = {
        {.name = "Shop.Place", .full_name = "P", .module = "Shop", .name_space = "Shop"},
        {.name = "futex_wait",
         .full_name = "F",
         .module = "libc.so.6",
         .name_space = "",
         .kind = SN_FRAME_NATIVE},
        {.name = "schedule",
         .full_name = "S",
         .module = "kernel",
         .name_space = "",
         .kind = SN_FRAME_KERNEL},
        {.name = "main",
         .full_name = "M",
         .module = "tool",
         .name_space = "",
         .kind = SN_FRAME_NATIVE},
        {.name = "[runtime: collector]",
         .full_name = "[runtime: collector]",
         .module = "",
         .name_space = "",
         .kind = SN_FRAME_RUNTIME},
    };
    static const int stacks[][4] = {{0, 1, 2, -1}, {3, 1, 2, -1}, {4, 3, 2, -1}};
    for (size_t i = 0; i < 3; i++) {
        uint32_t node = 0;
        for (const int *at = stacks[i]; *at >= 0; at++)
            node = sn_profile_node(profile, node, sn_profile_frame(profile, &frames[*at]));
        const uint64_t values[SN_COLUMN_MAX] = {10 * (i + 1)};
        sn_profile_add(profile, sn_profile_thread(profile, 1, 1, ""), node, values);
    }
    SN_AUTO(sn_ranking_done) struct sn_ranking ranking = {0};
    sn_ranking_waits(&ranking, profile, 0);
    assert_int_equal(ranking.count, 3);
    assert_int_equal(find(&ranking, "Shop.Place")->self, 10);
    assert_int_equal(find(&ranking, "main")->self, 20);
    assert_int_equal(find(&ranking, "main")->total, 50);
    assert_int_equal(find(&ranking, "[runtime: collector]")->self, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_by_one_name_is_one),
        cmocka_unit_test(the_method_allocates_not_the_type),
        cmocka_unit_test(callers_and_callees_count_recursion_once),
        cmocka_unit_test(every_match_is_listed),
        cmocka_unit_test(depth_costs_nothing),
        cmocka_unit_test(the_own_method_is_no_mere_caller),
        cmocka_unit_test(waits_are_of_the_code_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
