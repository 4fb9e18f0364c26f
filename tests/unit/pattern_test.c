/* Name patterns. */
#include "check.h"

#include <string.h>

#include "base/pattern.h"

static void stars_and_parts(void **state)
{
    (void)state;
    assert_true(sn_pattern_matches("Tax", "Shop.Tax.Compute"));
    assert_false(sn_pattern_matches("tax", "Shop.Tax.Compute"));
    assert_true(sn_pattern_matches("Shop.*", "Shop.Tax"));
    assert_false(sn_pattern_matches("Shop.*", "My.Shop.Tax"));
    assert_true(sn_pattern_matches("*.Tax*", "My.Shop.Tax.Compute"));
    assert_true(sn_pattern_matches("S?op.*", "Shop.Tax"));
    assert_false(sn_pattern_matches("?", ""));
    assert_true(sn_pattern_matches("*", ""));
    assert_true(sn_pattern_matches("", "anything"));
    assert_true(sn_pattern_matches("a*b*c", "aXbXbXc"));
    assert_false(sn_pattern_matches("a*b*c", "aXbXbX"));
}

/* The pattern that makes a backtracking matcher take for ever. */
static void stars_upon_stars_end(void **state)
{
    (void)state;
    char text[4097];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_false(sn_pattern_matches("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stars_and_parts),
        cmocka_unit_test(stars_upon_stars_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
