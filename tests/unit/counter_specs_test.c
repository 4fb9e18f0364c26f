/* Which counters are wanted, as people write it. */
#include "check.h"

#include <string.h>

#include "api/counter_specs.h"
#include "base/buf.h"
#include "base/own.h"
#include "sonde/error.h"

static void assert_metrics(const char *text, const char *expected)
{
    struct sn_counter_specs specs;
    struct sonde_error err = {0};
    SN_AUTO(sn_buf_done) struct sn_buf metrics = sn_buf_with_limit(1024);
    assert_int_equal(sn_counter_specs_read(&specs, &text, 1, &err), SONDE_OK);
    sn_counter_specs_metrics(&specs, &metrics);
    assert_string_equal(sn_buf_string(&metrics), expected);
    sn_counter_specs_done(&specs);
}

static void meters_are_asked_for_whole_or_by_instrument(void **state)
{
    (void)state;
    assert_metrics("A", "A");
    assert_metrics("A, B[x, y],C", "A,B\\x,B\\y,C");
    assert_metrics("EventCounters\\A,Meters\\B[x]", "B\\x");
    assert_metrics("eventcounters\\A", "");
    assert_metrics("A[]", "A");
    assert_metrics("Shop.*", "Shop.*");
}

static void what_cannot_be_read_is_told(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       ",",      "A,",   "A,,B",   "[x]",
                                      "A[x",    "A]",     "A;B",  "A\"",    "A\nB",
                                      "A[x]y",  "A[x;y]", "A[[]", "A[x\"]", "EventCounters\\",
                                      "A[x][y]"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct sn_counter_specs specs;
        struct sonde_error err = {0};
        assert_int_equal(sn_counter_specs_read(&specs, &bad[i], 1, &err), SONDE_E_ARGUMENT);
        assert_non_null(strstr(err.text, "cannot be read"));
        sn_counter_specs_done(&specs);
    }
}

static void names_choose_whatever_the_case(void **state)
{
    (void)state;
    struct sn_counter_specs specs;
    const char *text = "System.Runtime[cpu-usage],EventCounters\\Old,Meters\\New,Shop.*";
    assert_int_equal(sn_counter_specs_read(&specs, &text, 1, NULL), SONDE_OK);
    assert_true(sn_counter_specs_want_counter(&specs, "system.runtime", "CPU-usage"));
    assert_false(sn_counter_specs_want_counter(&specs, "System.Runtime", "alloc-rate"));
    assert_true(sn_counter_specs_want_meter(&specs, "System.Runtime", "cpu-usage"));
    assert_true(sn_counter_specs_want_counter(&specs, "Old", "any"));
    assert_false(sn_counter_specs_want_meter(&specs, "Old", "any"));
    assert_true(sn_counter_specs_want_meter(&specs, "New", "any"));
    assert_false(sn_counter_specs_want_counter(&specs, "New", "any"));
    assert_true(sn_counter_specs_want_meter(&specs, "Shop.Orders", "any"));
    assert_false(sn_counter_specs_want_meter(&specs, "Workshop.Orders", "any"));
    sn_counter_specs_done(&specs);
}

static void a_meter_is_preferred_unless_the_source_is_asked_for(void **state)
{
    (void)state;
    struct sn_counter_specs specs;
    const char *text = "A,B,EventCounters\\B,Meters\\C";
    assert_int_equal(sn_counter_specs_read(&specs, &text, 1, NULL), SONDE_OK);
    assert_true(sn_counter_specs_prefer_meter(&specs, "A"));
    assert_false(sn_counter_specs_prefer_meter(&specs, "B"));
    assert_false(sn_counter_specs_prefer_meter(&specs, "C"));
    assert_false(sn_counter_specs_prefer_meter(&specs, "D"));
    sn_counter_specs_done(&specs);
}

static void without_any_the_runtime_and_its_server_are_wanted(void **state)
{
    (void)state;
    struct sn_counter_specs specs;
    assert_int_equal(sn_counter_specs_read(&specs, NULL, 0, NULL), SONDE_OK);
    assert_true(sn_counter_specs_want_counter(&specs, "System.Runtime", "cpu-usage"));
    assert_true(sn_counter_specs_want_meter(&specs, "Microsoft.AspNetCore.Hosting",
                                            "http.server.request.duration"));
    sn_counter_specs_done(&specs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meters_are_asked_for_whole_or_by_instrument),
        cmocka_unit_test(what_cannot_be_read_is_told),
        cmocka_unit_test(names_choose_whatever_the_case),
        cmocka_unit_test(a_meter_is_preferred_unless_the_source_is_asked_for),
        cmocka_unit_test(without_any_the_runtime_and_its_server_are_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
