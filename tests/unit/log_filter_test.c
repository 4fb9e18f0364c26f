/* Which log messages are wanted, what a runtime is asked for, and whose scope a message is in. */
#include "check.h"

#include <string.h>

#include "api/log_scopes.h"
#include "sonde/log.h"

static void the_longest_category_decides(void **state)
{
    (void)state;
    struct sonde_log_filter *filter = NULL;
    size_t count = 0;
    assert_int_equal(sonde_log_filter_new("warn", &filter, NULL), SONDE_OK);
    assert_int_equal(sonde_log_filter_add(filter, "Shop.*=debug", NULL), SONDE_OK);
    assert_int_equal(sonde_log_filter_add(filter, "Shop.Orders=none", NULL), SONDE_OK);
    assert_true(sonde_log_filter_holds(filter, "Other", SONDE_LOG_WARNING));
    assert_false(sonde_log_filter_holds(filter, "Other", SONDE_LOG_INFORMATION));
    assert_true(sonde_log_filter_holds(filter, "shop.Search", SONDE_LOG_DEBUG));
    assert_false(sonde_log_filter_holds(filter, "Shop.Search", SONDE_LOG_TRACE));
    assert_false(sonde_log_filter_holds(filter, "Shop.Orders.Desk", SONDE_LOG_CRITICAL));
    const struct sonde_provider *providers = sonde_log_filter_providers(filter, &count);
    assert_int_equal(count, 2);
    assert_string_equal(providers[0].name, "Microsoft-Extensions-Logging");
    assert_string_equal(providers[0].arguments, "FilterSpecs=\"*:3;Shop.*:1;Shop.Orders*:6\"");
    sonde_log_filter_free(filter);
}

static void the_program_filters_by_default(void **state)
{
    (void)state;
    struct sonde_log_filter *filter = NULL;
    const struct sonde_provider *providers = NULL;
    size_t count = 0;
    assert_int_equal(sonde_log_filter_new(NULL, &filter, NULL), SONDE_OK);
    assert_true(sonde_log_filter_holds(filter, "Any", SONDE_LOG_TRACE));
    providers = sonde_log_filter_providers(filter, &count);
    assert_non_null(providers);
    assert_string_equal(providers[0].arguments, "FilterSpecs=\"UseAppFilters\"");
    sonde_log_filter_free(filter);
}

static void what_cannot_be_asked_for_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",         "Shop",       "=debug",    "Shop=",   "Shop=7",
        "a;b=info", "a\"b=debug", "a*b=debug", "Shop=de", "a:b=debug"};
    struct sonde_log_filter *filter = NULL;
    assert_int_equal(sonde_log_filter_new("loud", &filter, NULL), SONDE_E_ARGUMENT);
    assert_int_equal(sonde_log_filter_new("0", &filter, NULL), SONDE_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct sonde_error err = {0};
        assert_int_equal(sonde_log_filter_add(filter, bad[i], &err), SONDE_E_ARGUMENT);
        assert_string_not_equal(err.text, "");
    }
    assert_true(sonde_log_filter_holds(filter, "Shop", SONDE_LOG_TRACE));
    sonde_log_filter_free(filter);
}

/* --- scopes --- */

/* Paths as the runtime makes them: numbers in nibbles, then a check sum, here of process 0. */
static void make_path(uint8_t activity[16], const char *nibbles)
{
    uint32_t words[4] = {0};
    memset(activity, 0, 16);
    for (size_t i = 0; nibbles[i]; i++) {
        unsigned digit = (unsigned)(nibbles[i] <= '9' ? nibbles[i] - '0' : nibbles[i] - 'a' + 10);
        activity[i / 2] |= (uint8_t)(i % 2 ? digit : digit << 4);
    }
    memcpy(words, activity, 12);
    words[3] = words[0] + words[1] + words[2] + 0x599D99ADu;
    memcpy(activity + 12, &words[3], 4);
}

static size_t scopes_at(struct sn_log_scopes *scopes, const char *path, uint64_t thread_id,
                        const char *trace, const struct sn_log_scope *found[SN_LOG_SCOPES_SHOWN])
{
    uint8_t activity[16];
    make_path(activity, path);
    struct sn_log_place place = {.activity = activity, .thread_id = thread_id, .trace_id = trace};
    return sn_log_scopes_of(scopes, &place, found);
}

static void open_at(struct sn_log_scopes *scopes, uint64_t id, const char *path, uint64_t thread_id)
{
    uint8_t activity[16];
    make_path(activity, path);
    struct sn_log_place place = {.activity = activity, .thread_id = thread_id, .trace_id = ""};
    sn_log_scopes_open(scopes, id, &place, "C", "{}");
}

static void scopes_enclose_what_is_below_them(void **state)
{
    (void)state;
    struct sn_log_scopes scopes = {0};
    const struct sn_log_scope *found[SN_LOG_SCOPES_SHOWN];
    open_at(&scopes, 1, "11", 100);
    open_at(&scopes, 2, "112", 100);
    open_at(&scopes, 3, "12", 101);
    assert_int_equal(scopes_at(&scopes, "1123", 102, "", found), 2);
    assert_int_equal(found[0]->id, 1);
    assert_int_equal(found[1]->id, 2);
    assert_int_equal(scopes_at(&scopes, "121", 100, "", found), 1);
    assert_int_equal(found[0]->id, 3);
    assert_int_equal(scopes_at(&scopes, "1", 100, "", found), 0);
    sn_log_scopes_close(&scopes, 1);
    sn_log_scopes_close(&scopes, 99);
    assert_int_equal(scopes_at(&scopes, "1123", 102, "", found), 1);
    struct sn_log_place nowhere = {.trace_id = ""};
    assert_int_equal(sn_log_scopes_of(&scopes, &nowhere, found), 0);
    sn_log_scopes_done(&scopes);
}

/* 'c' and no number: an id that siblings share. */
static void scopes_with_one_id_are_told_apart_or_left_out(void **state)
{
    (void)state;
    struct sn_log_scopes scopes = {0};
    const struct sn_log_scope *found[SN_LOG_SCOPES_SHOWN];
    open_at(&scopes, 1, "c0", 100);
    open_at(&scopes, 2, "c0", 101);
    assert_int_equal(scopes_at(&scopes, "c0", 100, "aa", found), 1); /* by thread */
    assert_int_equal(found[0]->id, 1);
    assert_int_equal(scopes_at(&scopes, "c0", 105, "aa", found), 1); /* by trace, on any thread */
    assert_int_equal(found[0]->id, 1);
    assert_int_equal(scopes_at(&scopes, "c0", 106, "bb", found), 0); /* nothing tells */
    assert_int_equal(scopes_at(&scopes, "c0", 101, "bb", found), 1);
    assert_int_equal(found[0]->id, 2);
    sn_log_scopes_close(&scopes, 2);
    assert_int_equal(scopes_at(&scopes, "c0", 105, "bb", found), 0); /* 1 is another trace's */
    sn_log_scopes_done(&scopes);
}

static void scopes_are_bounded(void **state)
{
    (void)state;
    struct sn_log_scopes scopes = {0};
    for (uint64_t id = 0; id < 10000; id++)
        open_at(&scopes, id, "11", 100);
    assert_true(scopes.count <= 4096);
    assert_int_equal(scopes.items[scopes.count - 1].id, 9999);
    sn_log_scopes_done(&scopes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_category_decides),
        cmocka_unit_test(the_program_filters_by_default),
        cmocka_unit_test(what_cannot_be_asked_for_is_refused),
        cmocka_unit_test(scopes_enclose_what_is_below_them),
        cmocka_unit_test(scopes_with_one_id_are_told_apart_or_left_out),
        cmocka_unit_test(scopes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
