/* Names of C++ and Rust as c++filt and rustfilt show them; plain names stay; nothing hostile takes
 * long or leaves its room. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "symbol/demangle.h"

static void names_become_readable(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"malloc", "malloc"},
        {"_start", "_start"},
        {"_Znwm", "operator new(unsigned long)"},
        {"_ZN3WKS7gc_heap10mark_phaseEi", "WKS::gc_heap::mark_phase(int)"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi",
         "std::vector<int, std::allocator<int> >::push_back(int const&)"},
        {"_Z3addIiET_S0_S0_", "add<int>(int, int)"},
        {"_ZN3fooC1Ev", "foo::foo()"},
        {"_ZN3foo3barEv.cold", "foo::bar() [clone .cold]"},
        {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"},
        {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
         "3bar17h930b740aa94f1d3aE",
         "<Test + 'static as foo::Bar<Test>>::bar"},
        {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
        {"_RNvMs_Cs1234_7mycrateNtB4_3Foo3new", "<mycrate::Foo>::new"},
        {"_Z", "_Z"},
        {"_ZN", "_ZN"},
        {"_ZNotMangled", "_ZNotMangled"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char to[256];
        assert_string_equal(sn_demangle(cases[i][0], to, sizeof(to)), cases[i][1]);
    }
}

static void long_names_are_cut(void **state)
{
    (void)state;
    char name[SN_DEMANGLE_INPUT_MAX * 2];
    char to[20];
    assert_string_equal(sn_demangle("_ZNSt6vectorIiSaIiEE9push_backERKi", to, sizeof(to)),
                        "std::vector<int,...");
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    memcpy(name, "_Z", 2);
    assert_int_equal(strlen(sn_demangle(name, to, sizeof(to))), sizeof(to) - 1);
}

/* Each step doubles what it stands for: 2 to the 35th names if all were printed. */
static void names_that_stand_for_too_much_end(void **state)
{
    (void)state;
    char name[1024] = "_Z1f1TIiE";
    char to[256];
    for (int i = 0; i < 35; i++) {
        char step[16];
        size_t used = strlen(name);
        const char digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];
        (void)snprintf(step, sizeof(step), "S_IS%c_S%c_E", digit, digit);
        (void)snprintf(name + used, sizeof(name) - used, "%s", step);
    }
    (void)sn_demangle(name, to, sizeof(to));
    assert_int_equal(strlen(to), sizeof(to) - 1);
    assert_string_equal(to + sizeof(to) - 4, "...");
}

/* Deep nesting ends at the library's limit, not at the end of the stack. */
static void deep_names_do_not_overflow(void **state)
{
    (void)state;
    char name[SN_DEMANGLE_INPUT_MAX];
    char to[256];
    memset(name, 'P', sizeof(name));
    memcpy(name, "_Z1f", 4);
    name[sizeof(name) - 2] = 'i';
    name[sizeof(name) - 1] = 0;
    (void)sn_demangle(name, to, sizeof(to));
    memset(name, 'R', sizeof(name) - 2);
    name[0] = '_';
    (void)sn_demangle(name, to, sizeof(to));
    assert_true(to[0]);
}

static void every_cut_of_a_name_is_safe(void **state)
{
    (void)state;
    static const char *const names[] = {
        "_ZNSt6vectorISt4pairIKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiESaIS8_EE9"
        "push_backERKS8_",
        "_RINvNtCs1234_4core3ptr13drop_in_placeINtNtB4_6option6OptionNtCs5_3foo3BarEEB1e_",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (size_t cut = 0; cut <= strlen(names[i]); cut++) {
            char name[256];
            char to[64];
            memcpy(name, names[i], cut);
            name[cut] = 0;
            assert_in_range(strlen(sn_demangle(name, to, sizeof(to))), cut ? 1 : 0, sizeof(to) - 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_readable),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(names_that_stand_for_too_much_end),
        cmocka_unit_test(deep_names_do_not_overflow),
        cmocka_unit_test(every_cut_of_a_name_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
