/* What consumers ask for, joined: wider always, and refused where a process can have only one. */
#include "check.h"

#include <string.h>

#include "api/hub_arguments.h"
#include "api/hub_ask.h"
#include "api/hub_owner.h"
#include "base/buf.h"
#include "sonde/provider.h"

#define METRICS "System.Diagnostics.Metrics"

static void expect_joined(const char *provider, const char *left, const char *right,
                          const char *expected)
{
    struct sonde_error err = {0};
    struct sn_buf to = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    int rc = sn_arguments_join(provider, left, right, &to, &err);
    assert_int_equal(rc, expected ? SONDE_OK : SONDE_E_ARGUMENT);
    if (expected)
        assert_string_equal(sn_buf_string(&to), expected);
    else
        assert_non_null(strstr(err.text, provider));
    sn_buf_done(&to);
}

static void arguments_are_joined_or_refused(void **state)
{
    (void)state;
    expect_joined("A", NULL, NULL, "");
    expect_joined("A", "x=1", NULL, "x=1");
    expect_joined("A", "x=1;y=\"a;b\"", "Y=\"a;b\";x=1", "x=1;y=\"a;b\"");
    expect_joined("A", "x=1", "x=2", NULL);
    expect_joined("A", "EventCounterIntervalSec=1", "EventCounterIntervalSec=0.5",
                  "EventCounterIntervalSec=0.5");
    expect_joined("A", "EventCounterIntervalSec=1", "EventCounterIntervalSec=10",
                  "EventCounterIntervalSec=1");
    expect_joined(METRICS, "Metrics=A,B;RefreshInterval=2;MaxTimeSeries=10",
                  "MaxTimeSeries=20;Metrics=B,C\\d;RefreshInterval=1",
                  "Metrics=\"A,B,C\\d\";RefreshInterval=1;MaxTimeSeries=20");
    expect_joined("Microsoft-Diagnostics-DiagnosticSource",
                  "FilterAndPayloadSpecs=\"A/B:-x;y\r\nC/D\"", "FilterAndPayloadSpecs=\"C/D\nE/F\"",
                  "FilterAndPayloadSpecs=\"A/B:-x;y\nC/D\nE/F\"");
    expect_joined("Microsoft-Extensions-Logging", "FilterSpecs=\"A:Debug;B:Information\"",
                  "FilterSpecs=\"B:Information;C*:Trace\"",
                  "FilterSpecs=\"A:Debug;B:Information;C*:Trace\"");
    expect_joined("Microsoft-Extensions-Logging", "FilterSpecs=A:Debug", NULL, NULL);
}

/* Joined with what it has already, a text stays as it is: that is how it is known to be covered. */
static void joining_what_is_there_changes_nothing(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"A", "EventCounterIntervalSec=0.5"},
        {METRICS, "Metrics=\"A,B\";RefreshInterval=1"},
        {"Microsoft-Diagnostics-DiagnosticSource", "FilterAndPayloadSpecs=\"A/B\nC/D\""},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        expect_joined(texts[i][0], texts[i][1], texts[i][1], texts[i][1]);
}

static void numbers_are_read_whatever_the_locale(void **state)
{
    (void)state;
    assert_true(sn_argument_number("a=1;EventCounterIntervalSec=0.25", "eventcounterintervalsec") ==
                0.25);
    assert_true(sn_argument_number("x=\"7\"", "x") == 7);
    assert_true(sn_argument_number("x=-1", "x") == 0);
    assert_true(sn_argument_number("x=1e3", "x") == 0);
    assert_true(sn_argument_number("x=", "x") == 0);
    assert_true(sn_argument_number(NULL, "x") == 0);
}

static void odd_arguments_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *normal; /* NULL: refused */
    } cases[] = {
        {NULL, ""},
        {"", ""},
        {" ; a=1 ;b", "a=1 ;b="},
        {"a=\"x;y\";b=2", "a=\"x;y\";b=2"},
        {"a=1;A=2", NULL},
        {"a=x\"y\"", NULL},
        {"a=\"x", NULL},
        {"=1", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_buf to = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
        int rc = sn_arguments_normal("A", cases[i].text, &to, NULL);
        assert_int_equal(rc, cases[i].normal ? SONDE_OK : SONDE_E_ARGUMENT);
        if (cases[i].normal)
            assert_string_equal(sn_buf_string(&to), cases[i].normal);
        sn_buf_done(&to);
    }
}

static struct sn_ask ask_for(struct sonde_provider provider)
{
    struct sn_ask ask = {0};
    assert_int_equal(sn_ask_add(&ask, &provider, NULL), SONDE_OK);
    return ask;
}

static void a_union_covers_both_sides(void **state)
{
    (void)state;
    static const uint32_t some[] = {1, 2};
    static const uint32_t others[] = {2, 3};
    const struct sonde_provider providers[] = {
        {.name = "P", .keywords = 1, .level = 4},
        {.name = "p", .keywords = 2, .level = 5},
        {.name = "P", .keywords = 1, .level = 4, .ids = some, .id_count = 2},
        {.name = "P", .keywords = 1, .level = 4, .ids = others, .id_count = 2},
        {.name = "P",
         .keywords = 1,
         .level = 4,
         .ids = some,
         .id_count = 2,
         .ids_are_excluded = true},
        {.name = "P",
         .keywords = 1,
         .level = 4,
         .ids = others,
         .id_count = 2,
         .ids_are_excluded = true},
        {.name = "Q", .level = 1, .arguments = "EventCounterIntervalSec=2"},
        {.name = "Q", .level = 1, .arguments = "EventCounterIntervalSec=1"},
    };
    const size_t count = sizeof(providers) / sizeof(*providers);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            struct sn_ask left = ask_for(providers[i]);
            struct sn_ask right = ask_for(providers[k]);
            struct sn_ask both = ask_for(providers[i]);
            assert_int_equal(sn_ask_join(&both, &right, NULL), SONDE_OK);
            assert_true(sn_ask_covers(&both, &left));
            assert_true(sn_ask_covers(&both, &right));
            assert_true(sn_ask_covers(&left, &right) == sn_ask_equals(&both, &left));
            sn_ask_done(&left);
            sn_ask_done(&right);
            sn_ask_done(&both);
        }
    }
}

static void kept_and_left_out_ids_are_joined(void **state)
{
    (void)state;
    static const uint32_t kept[] = {1, 2};
    static const uint32_t left_out[] = {2, 3};
    struct sn_ask ask = ask_for((struct sonde_provider){.name = "P", .ids = kept, .id_count = 2});
    struct sonde_provider other = {
        .name = "P", .ids = left_out, .id_count = 2, .ids_are_excluded = true};
    assert_int_equal(sn_ask_add(&ask, &other, NULL), SONDE_OK);
    assert_true(ask.items[0].ids_are_excluded); /* all but 3: 2 is kept by the first */
    assert_int_equal(ask.items[0].id_count, 1);
    assert_int_equal(ask.items[0].ids[0], 3);
    sn_ask_done(&ask);
}

static void settings_of_others_are_put_in(void **state)
{
    (void)state;
    struct sn_ask ask = ask_for((struct sonde_provider){
        .name = METRICS,
        .arguments = "Metrics=A;RefreshInterval=1;MaxTimeSeries=10;MaxHistograms=5"});
    struct sonde_provider counters = {.name = "System.Runtime",
                                      .arguments = "EventCounterIntervalSec=1"};
    assert_int_equal(sn_ask_add(&ask, &counters, NULL), SONDE_OK);
    struct sn_ask before = {0};
    assert_int_equal(sn_ask_join(&before, &ask, NULL), SONDE_OK);
    struct sn_hub_settings theirs = {
        .interval = "3", .refresh = "2", .series = "1000", .histograms = "20"};
    struct sn_hub_settings found;
    assert_false(sn_settings_clash(&ask, &before));
    assert_true(sn_settings_apply(&theirs, &ask));
    sn_settings_of(&ask, &found);
    assert_memory_equal(&found, &theirs, sizeof(found));
    assert_true(sn_settings_clash(&ask, &before));
    sn_ask_done(&ask);
    sn_ask_done(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_joined_or_refused),
        cmocka_unit_test(odd_arguments_are_refused),
        cmocka_unit_test(joining_what_is_there_changes_nothing),
        cmocka_unit_test(numbers_are_read_whatever_the_locale),
        cmocka_unit_test(a_union_covers_both_sides),
        cmocka_unit_test(kept_and_left_out_ids_are_joined),
        cmocka_unit_test(settings_of_others_are_put_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
