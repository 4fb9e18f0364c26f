/* Conditions on a comparison: what is read, what is refused and where, what patterns match. */
#include "check.h"

#include <string.h>

#include "api/condition.h"
#include "base/err.h"
#include "sonde/profile.h"

static void conditions_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int view;
        bool is_self;
        const char *pattern;
        enum sn_condition_comparison comparison;
        bool is_change;
        double value;
        enum sn_condition_unit unit;
    } cases[] = {
        {"cpu(Shop.*) > +10%", SONDE_VIEW_CPU, false, "Shop.*", SN_CONDITION_MORE, true, 10,
         SN_CONDITION_PERCENT},
        {"self(Shop.Tax)>=-5ms/s", -1, true, "Shop.Tax", SN_CONDITION_AT_LEAST, true, -5e6,
         SN_CONDITION_NS},
        {"  total ( * ) < 2.5 pt ", -1, false, " * ", SN_CONDITION_LESS, false, 2.5,
         SN_CONDITION_POINTS},
        {"alloc(*)<=1.25MB/s", SONDE_VIEW_ALLOCATION, false, "*", SN_CONDITION_AT_MOST, false,
         1.25e6, SN_CONDITION_BYTES},
        {"exceptions(*Exception) > +0.5/s", SONDE_VIEW_EXCEPTION, false, "*Exception",
         SN_CONDITION_MORE, true, 0.5, SN_CONDITION_COUNT},
        {"wait(a b) > 1s/s", SONDE_VIEW_WAIT, false, "a b", SN_CONDITION_MORE, false, 1e9,
         SN_CONDITION_NS},
        {"contention(x) > .5us/s", SONDE_VIEW_CONTENTION, false, "x", SN_CONDITION_MORE, false, 500,
         SN_CONDITION_NS},
        {"wall(x) > 7ns/s", SONDE_VIEW_WALL, false, "x", SN_CONDITION_MORE, false, 7,
         SN_CONDITION_NS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_condition found = {0};
        struct sonde_error err = {0};
        if (sn_condition_parse(cases[i].text, &found, &err) != SONDE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(found.view, cases[i].view);
        assert_int_equal(found.is_self, cases[i].is_self);
        assert_int_equal(found.pattern_size, strlen(cases[i].pattern));
        assert_memory_equal(found.pattern, cases[i].pattern, found.pattern_size);
        assert_int_equal(found.comparison, cases[i].comparison);
        assert_int_equal(found.is_change, cases[i].is_change);
        assert_true(found.value == cases[i].value);
        assert_int_equal(found.unit, cases[i].unit);
    }
}

static void what_cannot_be_read_is_refused_at_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t offset;
        const char *says;
    } cases[] = {
        {"", 0, "what is measured"},
        {"speed(x) > 1%", 0, "what is measured"},
        {"cpuwallwaitallocexceptions(x) > 1%", 0, "what is measured"},
        {"cpu > 1%", 4, "methods are missing"},
        {"cpu(x > 1%", 10, "')' is missing"},
        {"cpu() > 1%", 4, "no method is named"},
        {"cpu(x)", 6, "> >= < <="},
        {"cpu(x) = 1%", 7, "> >= < <="},
        {"cpu(x) > ", 9, "a number"},
        {"cpu(x) > +%", 10, "a number"},
        {"cpu(x) > +-1%", 10, "a number"},
        {"cpu(x) > .%", 9, "a number"},
        {"cpu(x) > 1,5%", 10, "a unit"},
        {"cpu(x) > 10", 11, "a unit"},
        {"cpu(x) > 10ms", 11, "a unit"},
        {"cpu(x) > 1234567890123456%", 9, "15 digits"},
        {"cpu(x) > 1% and more", 12, "nothing belongs"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_condition found = {0};
        struct sonde_error err = {0};
        assert_int_equal(sn_condition_parse(cases[i].text, &found, &err), SONDE_E_ARGUMENT);
        assert_int_equal(err.offset, cases[i].offset);
        assert_non_null(strstr(err.text, cases[i].says));
    }
}

static void stars_stand_for_anything(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *name;
        bool matches;
    } cases[] = {
        {"Shop", "Shop", true},
        {"Shop", "Shop.Tax", false},
        {"Shop", "MyShop", false},
        {"*", "", true},
        {"*", "anything", true},
        {"**", "anything", true},
        {"Shop.*", "Shop.Tax", true},
        {"Shop.*", "Shopping.Tax", false},
        {"*.Tax", "Shop.Tax", true},
        {"*.Tax", "Shop.Taxes", false},
        {"a*b*c", "a.b.b.c", true},
        {"a*b*c", "a.b.b.d", false},
        {"*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
        {"shop", "Shop", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_condition condition = {.pattern = cases[i].pattern,
                                         .pattern_size = strlen(cases[i].pattern)};
        assert_int_equal(sn_condition_matches(&condition, cases[i].name), cases[i].matches);
    }
}

static void bounds_belong_to_the_words_that_say_so(void **state)
{
    (void)state;
    static const bool expected[][3] = {/* below, at, above */
                                       [SN_CONDITION_MORE] = {false, false, true},
                                       [SN_CONDITION_AT_LEAST] = {false, true, true},
                                       [SN_CONDITION_LESS] = {true, false, false},
                                       [SN_CONDITION_AT_MOST] = {true, true, false}};
    for (int word = SN_CONDITION_MORE; word <= SN_CONDITION_AT_MOST; word++) {
        struct sn_condition condition = {.comparison = (enum sn_condition_comparison)word,
                                         .value = 10};
        for (int i = 0; i < 3; i++)
            assert_int_equal(sn_condition_holds(&condition, 9 + i), expected[word][i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_read),
        cmocka_unit_test(what_cannot_be_read_is_refused_at_its_place),
        cmocka_unit_test(stars_stand_for_anything),
        cmocka_unit_test(bounds_belong_to_the_words_that_say_so),
    };
    return cmocka_run_group_tests_name("condition", tests, NULL, NULL);
}
