/* Provider sets: strings as dotnet-trace takes them, merging, profiles, filters, refusals. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sonde/provider.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"

static int set_up(void **state)
{
    struct sonde_provider_set *set = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sonde_provider_set_new(&set, &err), SONDE_OK);
    *state = set;
    return 0;
}

static int tear_down(void **state)
{
    sonde_provider_set_free(*state);
    return 0;
}

static void add(struct sonde_provider_set *set, const char *specification)
{
    struct sonde_error err = {0};
    if (sonde_provider_set_add(set, specification, &err) != SONDE_OK)
        fail_msg("'%s': %s", specification, err.text);
}

static void add_profiles(struct sonde_provider_set *set, const char *names)
{
    struct sonde_error err = {0};
    if (sonde_provider_set_add_profiles(set, names, &err) != SONDE_OK)
        fail_msg("'%s': %s", names, err.text);
}

static size_t count_of(const struct sonde_provider_set *set)
{
    size_t count;
    (void)sonde_provider_set_get(set, &count);
    return count;
}

static const struct sonde_provider *at(const struct sonde_provider_set *set, size_t index)
{
    size_t count;
    const struct sonde_provider *providers = sonde_provider_set_get(set, &count);
    assert_true(index < count);
    return &providers[index];
}

static void assert_provider(const struct sonde_provider *provider, const char *name,
                            uint64_t keywords, int level, const char *arguments)
{
    assert_string_equal(provider->name, name);
    if (provider->keywords != keywords)
        fail_msg("keywords 0x%llx", (unsigned long long)provider->keywords);
    assert_int_equal(provider->level, level);
    if (arguments)
        assert_string_equal(provider->arguments, arguments);
    else
        assert_null(provider->arguments);
}

static void parts_of_a_provider_may_be_left_out(void **state)
{
    struct sonde_provider_set *set = *state;
    add(set, "A,B:F,C:F:2,D:F:2:k=v,E::3,F:::k=v,G:0x1:,H:");
    assert_int_equal(count_of(set), 8);
    assert_provider(at(set, 0), "A", UINT64_MAX, 5, NULL);
    assert_provider(at(set, 1), "B", 0xF, 5, NULL);
    assert_provider(at(set, 2), "C", 0xF, 2, NULL);
    assert_provider(at(set, 3), "D", 0xF, 2, "k=v");
    assert_provider(at(set, 4), "E", UINT64_MAX, 3, NULL);
    assert_provider(at(set, 5), "F", UINT64_MAX, 5, "k=v");
    assert_provider(at(set, 6), "G", 0x1, 5, NULL);
    assert_provider(at(set, 7), "H", UINT64_MAX, 5, NULL);
}

static void keywords_are_hexadecimal_with_or_without_a_prefix(void **state)
{
    struct sonde_provider_set *set = *state;
    add(set, "A:10:4,B:0x10:4,C:0XfF:4,D:FFFFFFFFFFFFFFFF:4,E:0x100003801D:4,F:0:4");
    static const uint64_t expected[] = {0x10, 0x10, 0xFF, UINT64_MAX, 0x100003801D, 0};
    for (size_t i = 0; i < 6; i++)
        assert_true(at(set, i)->keywords == expected[i]);
}

static void levels_are_numbers_or_names_in_any_case(void **state)
{
    struct sonde_provider_set *set = *state;
    add(set, "A:1:LogAlways,B:1:critical,C:1:Error,D:1:WARNING,E:1:Informational,F:1:verbose");
    for (int i = 0; i < 6; i++)
        assert_int_equal(at(set, (size_t)i)->level, i);
}

static void arguments_keep_colons_quotes_and_commas_in_quotes(void **state)
{
    struct sonde_provider_set *set = *state;
    add(set, "Src:3:5:Specs=\"L/E@Start:-Name=a.b,c\r\nL2/E2\";Other=1:2,Next:1:4:k=\"x,y\"");
    assert_int_equal(count_of(set), 2);
    assert_provider(at(set, 0), "Src", 3, 5, "Specs=\"L/E@Start:-Name=a.b,c\r\nL2/E2\";Other=1:2");
    assert_provider(at(set, 1), "Next", 1, 4, "k=\"x,y\"");
}

static void an_open_quote_takes_the_rest(void **state)
{
    struct sonde_provider_set *set = *state;
    add(set, "A:1:1:k=\"x,B:2:2");
    assert_int_equal(count_of(set), 1);
    assert_provider(at(set, 0), "A", 1, 1, "k=\"x,B:2:2");
}

static void the_same_provider_is_widened(void **state)
{
    struct sonde_provider_set *set = *state;
    add(set, "My-Source:1:4,MY-SOURCE:2:5");
    add(set, "my-source:8:1");
    assert_int_equal(count_of(set), 1);
    assert_provider(at(set, 0), "My-Source", 0xB, 5, NULL);
    add(set, "My-Source:1:1:k=1");
    add(set, "My-Source:1:1:k=1");
    add(set, "My-Source:4:1");
    assert_provider(at(set, 0), "My-Source", 0xF, 5, "k=1");
}

static void assert_refused(struct sonde_provider_set *set, const char *specification,
                           const char *named)
{
    struct sonde_error err = {0};
    assert_int_equal(sonde_provider_set_add(set, specification, &err), SONDE_E_ARGUMENT);
    if (!strstr(err.text, named))
        fail_msg("'%s': '%s' does not name '%s'", specification, err.text, named);
}

static void different_arguments_for_one_provider_are_refused(void **state)
{
    struct sonde_provider_set *set = *state;
    add(set, "A:1:4:k=1");
    assert_refused(set, "a:1:4:k=2", "different arguments");
    assert_provider(at(set, 0), "A", 1, 4, "k=1");
}

static void what_is_no_provider_is_refused_by_name(void **state)
{
    struct sonde_provider_set *set = *state;
    assert_refused(set, ":1:4", "no name");
    assert_refused(set, ",A", "no name");
    assert_refused(set, "A:xyz", "'xyz'");
    assert_refused(set, "A:0x", "'0x'");
    assert_refused(set, "A:-1", "'-1'");
    assert_refused(set, "A:1FFFFFFFFFFFFFFFF", "1FFFFFFFFFFFFFFFF");
    assert_refused(set, "A:0x0x1", "0x0x1");
    assert_refused(set, "A:1:loud", "'loud'");
    assert_refused(set, "A:1:loud", "'loud'");
    assert_refused(set, "A:1:-1", "'-1'");
    assert_int_equal(count_of(set), 0);
}

static void nothing_adds_nothing(void **state)
{
    struct sonde_provider_set *set = *state;
    add(set, "");
    add_profiles(set, "");
    assert_int_equal(count_of(set), 0);
    add(set, "A:1:4,");
    assert_int_equal(count_of(set), 1);
}

static void profiles_ask_for_what_dotnet_trace_asks_for(void **state)
{
    static const struct {
        const char *profile;
        const char *provider;
        uint64_t keywords;
        int level;
    } cases[] = {
        {"dotnet-common", RUNTIME, 0x100003801D, 4},
        {"dotnet-sampled-thread-time", "Microsoft-DotNETCore-SampleProfiler", 0, 4},
        {"gc-verbose", RUNTIME, 0x8003, 5},
        {"gc-collect", RUNTIME, 0x1, 4},
        {"gc-collect", "Microsoft-Windows-DotNETRuntimePrivate", 0x1, 4},
        {"cpu-sampling", RUNTIME, 0x14C14FCCBD, 4},
        {"cpu-sampling", "Microsoft-DotNETCore-SampleProfiler", 0, 4},
        {"database", "Microsoft-Diagnostics-DiagnosticSource", 0x3, 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        void *fresh = NULL;
        (void)set_up(&fresh);
        struct sonde_provider_set *set = fresh;
        add_profiles(set, cases[i].profile);
        bool found = false;
        for (size_t j = 0; j < count_of(set); j++) {
            const struct sonde_provider *provider = at(set, j);
            if (strcmp(provider->name, cases[i].provider) != 0)
                continue;
            found = true;
            assert_true(provider->keywords == cases[i].keywords);
            assert_int_equal(provider->level, cases[i].level);
        }
        assert_true(found);
        (void)tear_down(&fresh);
    }
}

static void gc_collect_has_a_rundown_of_its_own(void **state)
{
    struct sonde_provider_set *set = *state;
    assert_int_equal(sonde_provider_set_rundown(set), 0);
    add_profiles(set, "gc-collect");
    assert_int_equal(count_of(set), 2);
    assert_true(sonde_provider_set_rundown(set) == 0x1);
    add_profiles(set, "dotnet-common");
    assert_true(sonde_provider_set_rundown(set) == 0x80020139);
}

static void every_profile_can_be_added_alone_and_with_all_others(void **state)
{
    struct sonde_provider_set *set = *state;
    size_t count;
    const struct sonde_trace_profile *profiles = sonde_trace_profiles(&count);
    assert_true(count >= 7);
    for (size_t i = 0; i < count; i++) {
        assert_true(profiles[i].summary[0] && profiles[i].provider_count);
        add_profiles(set, profiles[i].name);
    }
    assert_true(count_of(set) > 5);
}

static void profiles_are_joined_with_each_other_and_with_providers(void **state)
{
    struct sonde_provider_set *set = *state;
    struct sonde_error err = {0};
    add_profiles(set, "GC-Verbose,gc-collect");
    add(set, RUNTIME ":4000:1");
    assert_provider(at(set, 0), RUNTIME, 0xC003, 5, NULL);
    assert_int_equal(sonde_provider_set_add_profiles(set, "gc-verbose,nonsense", &err),
                     SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'nonsense'"));
    err = (struct sonde_error){0};
    assert_int_equal(sonde_provider_set_add_profiles(set, "gc", &err), SONDE_E_ARGUMENT);
}

static void runtime_keywords_go_by_name(void **state)
{
    struct sonde_provider_set *set = *state;
    struct sonde_error err = {0};
    assert_int_equal(sonde_provider_set_add_clr(set, "gc+Exception,jit", "4", &err), SONDE_OK);
    assert_provider(at(set, 0), RUNTIME, 0x8011, 4, NULL);
    assert_int_equal(sonde_provider_set_add_clr(set, "contention", "", &err), SONDE_OK);
    assert_provider(at(set, 0), RUNTIME, 0xC011, 5, NULL);
    assert_int_equal(sonde_provider_set_add_clr(set, "gc+nonsense", NULL, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'nonsense'"));
    err = (struct sonde_error){0};
    assert_int_equal(sonde_provider_set_add_clr(set, "gc", "loud", &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'loud'"));
}

static void a_filter_belongs_to_a_provider_of_the_set(void **state)
{
    struct sonde_provider_set *set = *state;
    struct sonde_error err = {0};
    add(set, "A:1:4,B:1:4");
    assert_int_equal(sonde_provider_set_filter(set, "a=1,2,4294967295", false, &err), SONDE_OK);
    assert_int_equal(at(set, 0)->id_count, 3);
    assert_int_equal(at(set, 0)->ids[2], UINT32_MAX);
    assert_false(at(set, 0)->ids_are_excluded);
    assert_int_equal(at(set, 1)->id_count, 0);
    assert_int_equal(sonde_provider_set_filter(set, "B=7", true, &err), SONDE_OK);
    assert_int_equal(at(set, 1)->id_count, 1);
    assert_true(at(set, 1)->ids_are_excluded);
    assert_int_equal(sonde_provider_set_filter(set, "C=1", false, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'C'"));
}

static void filters_of_one_provider_are_joined_but_not_keep_with_leave_out(void **state)
{
    struct sonde_provider_set *set = *state;
    struct sonde_error err = {0};
    add(set, "A:1:4");
    assert_int_equal(sonde_provider_set_filter(set, "A=1,2", false, &err), SONDE_OK);
    assert_int_equal(sonde_provider_set_filter(set, "A=3", false, &err), SONDE_OK);
    assert_int_equal(at(set, 0)->id_count, 3);
    uint32_t sum = 0;
    for (size_t i = 0; i < 3; i++)
        sum += at(set, 0)->ids[i];
    assert_int_equal(sum, 6);
    assert_int_equal(sonde_provider_set_filter(set, "A=4", true, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'A'"));
    assert_int_equal(at(set, 0)->id_count, 3);
    assert_false(at(set, 0)->ids_are_excluded);
}

static void what_is_no_filter_is_refused_and_changes_nothing(void **state)
{
    struct sonde_provider_set *set = *state;
    static const char *const cases[] = {"",
                                        "A",
                                        "=1",
                                        "A=",
                                        "A=x",
                                        "A=1,,2",
                                        "A=-1",
                                        "A=1;2",
                                        "A= 1",
                                        "A=4294967296",
                                        "A=99999999999999999999"};
    add(set, "A:1:4");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sonde_error err = {0};
        if (sonde_provider_set_filter(set, cases[i], false, &err) != SONDE_E_ARGUMENT)
            fail_msg("'%s'", cases[i]);
        assert_string_not_equal(err.text, "");
        assert_int_equal(at(set, 0)->id_count, 0);
        assert_null(at(set, 0)->ids);
    }
}

static void a_filter_has_a_limit(void **state)
{
    struct sonde_provider_set *set = *state;
    struct sonde_error err = {0};
    char text[2 + 2 * 1025 + 1] = "A=";
    add(set, "A:1:4");
    for (size_t i = 0; i < 1024; i++)
        memcpy(text + 2 + 2 * i, "1,", 2);
    assert_int_equal(sonde_provider_set_filter(set, text, false, &err), SONDE_OK);
    assert_int_equal(at(set, 0)->id_count, 1024);
    memcpy(text + 2 + 2 * 1024, "1", 1);
    assert_int_equal(sonde_provider_set_filter(set, text, false, &err), SONDE_E_LIMIT);
    assert_int_equal(at(set, 0)->id_count, 1024);
}

static void a_thousand_providers_are_the_limit(void **state)
{
    struct sonde_provider_set *set = *state;
    struct sonde_error err = {0};
    char name[16];
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof(name), "P%d", i);
        add(set, name);
    }
    assert_int_equal(sonde_provider_set_add(set, "One-More", &err), SONDE_E_LIMIT);
    assert_int_equal(count_of(set), 1000);
    add(set, "p999:1"); /* known ones can still be widened */
}

static void strings_are_copied_and_bounded(void **state)
{
    struct sonde_provider_set *set = *state;
    struct sonde_error err = {0};
    char text[] = "Gone:1:4:key=value";
    add(set, text);
    memset(text, 'x', sizeof(text) - 1);
    assert_provider(at(set, 0), "Gone", 1, 4, "key=value");
    size_t size = 2u << 20;
    char *huge = malloc(size + 1);
    assert_non_null(huge);
    memset(huge, 'h', size);
    huge[size] = '\0';
    assert_int_equal(sonde_provider_set_add(set, huge, &err), SONDE_E_LIMIT);
    free(huge);
    assert_int_equal(count_of(set), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_of_a_provider_may_be_left_out),
        TEST(keywords_are_hexadecimal_with_or_without_a_prefix),
        TEST(levels_are_numbers_or_names_in_any_case),
        TEST(arguments_keep_colons_quotes_and_commas_in_quotes),
        TEST(an_open_quote_takes_the_rest),
        TEST(the_same_provider_is_widened),
        TEST(different_arguments_for_one_provider_are_refused),
        TEST(what_is_no_provider_is_refused_by_name),
        TEST(nothing_adds_nothing),
        TEST(profiles_ask_for_what_dotnet_trace_asks_for),
        TEST(gc_collect_has_a_rundown_of_its_own),
        TEST(every_profile_can_be_added_alone_and_with_all_others),
        TEST(profiles_are_joined_with_each_other_and_with_providers),
        TEST(runtime_keywords_go_by_name),
        TEST(a_filter_belongs_to_a_provider_of_the_set),
        TEST(filters_of_one_provider_are_joined_but_not_keep_with_leave_out),
        TEST(what_is_no_filter_is_refused_and_changes_nothing),
        TEST(a_filter_has_a_limit),
        TEST(a_thousand_providers_are_the_limit),
        TEST(strings_are_copied_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
