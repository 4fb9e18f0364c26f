/* Which schemas a request matches. */
#include "check.h"

#include "flow/request.h"
#include "model/schema.h"

static const struct sn_schema gc = {.provider = "Microsoft-Windows-DotNETRuntime",
                                    .name = "GCStart",
                                    .event_id = 1,
                                    .level = 4,
                                    .keywords = 0x1};
static const struct sn_schema plain = {
    .provider = "App", .name = "", .event_id = 0, .level = 0, .keywords = 0};

static bool matches(struct sn_request_item item, const struct sn_schema *schema)
{
    const struct sn_request request = {.item_count = 1, .items = &item};
    return sn_request_matches(&request, schema);
}

static void no_items_mean_everything(void **state)
{
    (void)state;
    const struct sn_request request = {0};
    assert_true(sn_request_matches(&request, &gc));
    assert_true(sn_request_matches(&request, &plain));
}

static void an_empty_item_means_everything(void **state)
{
    (void)state;
    assert_true(matches((struct sn_request_item){0}, &gc));
    assert_true(matches((struct sn_request_item){0}, &plain));
}

static void providers_are_compared_without_case_and_names_with_it(void **state)
{
    (void)state;
    assert_true(
        matches((struct sn_request_item){.provider = "microsoft-windows-dotnetruntime"}, &gc));
    assert_false(matches((struct sn_request_item){.provider = "microsoft-windows"}, &gc));
    assert_false(matches((struct sn_request_item){.provider = ""}, &gc));
    assert_true(matches((struct sn_request_item){.name = "GCStart"}, &gc));
    assert_false(matches((struct sn_request_item){.name = "gcstart"}, &gc));
    assert_true(matches((struct sn_request_item){.name = "gcstart", .any_case = true}, &gc));
    assert_false(matches((struct sn_request_item){.name = "gcstar", .any_case = true}, &gc));
    assert_true(matches((struct sn_request_item){.name = ""}, &plain));
}

static void levels_up_to_the_asked_one_pass(void **state)
{
    (void)state;
    for (uint8_t level = 1; level <= 5; level++)
        assert_int_equal(matches((struct sn_request_item){.level = level}, &gc), level >= 4);
    assert_true(matches((struct sn_request_item){.level = 1}, &plain)); /* always logged */
}

static void any_common_keyword_is_enough_and_none_always_passes(void **state)
{
    (void)state;
    assert_true(matches((struct sn_request_item){.keywords = 0x8001}, &gc));
    assert_false(matches((struct sn_request_item){.keywords = 0x8000}, &gc));
    assert_true(matches((struct sn_request_item){.keywords = 0x8000}, &plain));
    assert_true(matches((struct sn_request_item){.keywords = 0}, &gc));
}

static void ids_are_kept_or_left_out(void **state)
{
    (void)state;
    static const uint32_t ids[] = {7, 1, 9};
    struct sn_request_item item = {.ids = ids, .id_count = 3};
    assert_true(matches(item, &gc));
    assert_false(matches(item, &plain));
    item.ids_are_excluded = true;
    assert_false(matches(item, &gc));
    assert_true(matches(item, &plain));
    item.id_count = 0;
    assert_true(matches(item, &gc));
}

static void every_part_of_an_item_must_match_but_one_item_is_enough(void **state)
{
    (void)state;
    const struct sn_request_item items[] = {
        {.provider = "Microsoft-Windows-DotNETRuntime", .name = "GCStop"},
        {.provider = "App", .level = 1},
    };
    const struct sn_request request = {.item_count = 2, .items = items};
    assert_false(sn_request_matches(&request, &gc));
    assert_true(sn_request_matches(&request, &plain));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_items_mean_everything),
        cmocka_unit_test(an_empty_item_means_everything),
        cmocka_unit_test(providers_are_compared_without_case_and_names_with_it),
        cmocka_unit_test(levels_up_to_the_asked_one_pass),
        cmocka_unit_test(any_common_keyword_is_enough_and_none_always_passes),
        cmocka_unit_test(ids_are_kept_or_left_out),
        cmocka_unit_test(every_part_of_an_item_must_match_but_one_item_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
