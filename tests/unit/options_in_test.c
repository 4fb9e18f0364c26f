/* One rule for every struct of options: callers of older and newer headers, and careless ones. */
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "api/options_in.h"
#include "base/err.h"
#include "sonde/sonde.h"

#define TRACE SONDE_SOURCE_DIR "/tests/golden/nettrace/8-sampler.nettrace"

/* --- the rule --- */

struct known {
    size_t size;
    int a;
    int b;
};

struct newer {
    struct known known;
    int c;
    int d;
};

static int take(const void *given, struct known *ret_known)
{
    struct sonde_error err = {0};
    *ret_known = (struct known){1, 2, 3};
    int rc = sn_options_in(given, ret_known, sizeof(*ret_known), "test options", &err);
    assert_int_equal(err.status, rc);
    assert_int_equal(strstr(err.text, "test options") != NULL, rc != SONDE_OK);
    return rc;
}

static void none_are_the_defaults(void **state)
{
    (void)state;
    struct known known;
    assert_int_equal(take(NULL, &known), SONDE_OK);
    assert_true(known.a == 0 && known.b == 0);
}

static void what_an_older_caller_does_not_know_is_zero(void **state)
{
    (void)state;
    struct known known;
    struct known older = {.size = offsetof(struct known, b), .a = 7, .b = 8};
    assert_int_equal(take(&older, &known), SONDE_OK);
    assert_true(known.a == 7 && known.b == 0);
    older.size = sizeof(size_t);
    assert_int_equal(take(&older, &known), SONDE_OK);
    assert_true(known.a == 0 && known.b == 0);
}

static void what_a_newer_caller_wants_must_be_known(void **state)
{
    (void)state;
    struct known known;
    struct newer newer = {.known = {.size = sizeof(newer), .a = 7, .b = 8}};
    assert_int_equal(take(&newer, &known), SONDE_OK);
    assert_true(known.a == 7 && known.b == 8);
    newer.d = 1;
    assert_int_equal(take(&newer, &known), SONDE_E_ARGUMENT);
    newer.known.size = offsetof(struct newer, d);
    assert_int_equal(take(&newer, &known), SONDE_OK);
}

static void a_size_that_nobody_set_is_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct known known;
        struct known given = {.size = sizes[i], .a = 7};
        assert_int_equal(take(&given, &known), SONDE_E_ARGUMENT);
        assert_int_equal(known.a, 0);
    }
}

/* --- every function that takes some --- */

static int drop(void *user, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    (void)size;
    return SONDE_OK;
}

static int pass(void *user, struct sonde_event *event)
{
    (void)user;
    (void)event;
    return SONDE_OK;
}

static int read_profile(const void *given, struct sonde_error *err)
{
    struct sonde_profile *profile = NULL;
    int rc = sonde_profile_read(TRACE, given, &profile, err);
    sonde_profile_free(profile);
    return rc;
}

static int write_profile(const void *given, struct sonde_error *err)
{
    const struct sonde_profile_options options = {.size = sizeof(options), .view = SONDE_VIEW_WALL};
    struct sonde_profile *profile = NULL;
    assert_int_equal(sonde_profile_read(TRACE, &options, &profile, err), SONDE_OK);
    int rc = sonde_profile_write(profile, "collapsed", given, drop, NULL, err);
    sonde_profile_free(profile);
    return rc;
}

static int read_report(const void *given, struct sonde_error *err)
{
    struct sonde_report *report = NULL;
    int rc = sonde_report_read(TRACE, given, &report, err);
    sonde_report_free(report);
    return rc;
}

static int write_report(const void *given, struct sonde_error *err)
{
    struct sonde_report *report = NULL;
    assert_int_equal(sonde_report_read(TRACE, NULL, &report, err), SONDE_OK);
    int rc = sonde_report_write(report, given, drop, NULL, err);
    sonde_report_free(report);
    return rc;
}

static int write_ndjson(const void *given, struct sonde_error *err)
{
    return sonde_convert_ndjson(TRACE, given, drop, NULL, err);
}

static int read_events(const void *given, struct sonde_error *err)
{
    return sonde_file_read(TRACE, given, pass, NULL, err);
}

static int subscribe(const void *given, struct sonde_error *err)
{
    struct sonde_subscription *subscription = NULL;
    return sonde_subscribe(1, given, pass, NULL, &subscription, err);
}

static int trace(const void *given, struct sonde_error *err)
{
    struct sonde_tracer *tracer = NULL;
    assert_int_equal(sonde_tracer_new(&tracer, err), SONDE_OK);
    int rc = sonde_tracer_add(tracer, 1, given, err);
    sonde_tracer_free(tracer);
    return rc;
}

static const struct {
    const char *name;
    int (*call)(const void *given, struct sonde_error *err);
    size_t size;
    int by_default; /* what the defaults alone come to with TRACE */
} calls[] = {
    {"profile", read_profile, sizeof(struct sonde_profile_options), SONDE_E_NOT_FOUND},
    {"write", write_profile, sizeof(struct sonde_write_options), SONDE_OK},
    {"report", read_report, sizeof(struct sonde_report_options), SONDE_OK},
    {"show", write_report, sizeof(struct sonde_report_show), SONDE_OK},
    {"NDJSON", write_ndjson, sizeof(struct sonde_ndjson_options), SONDE_OK},
    {"read", read_events, sizeof(struct sonde_read_options), SONDE_OK},
    {"subscribe", subscribe, sizeof(struct sonde_subscribe_options), SONDE_E_ARGUMENT},
    {"trace", trace, sizeof(struct sonde_trace_options), SONDE_E_ARGUMENT},
};

static void check_call(size_t index, size_t size, uint8_t behind, int status, const char *text)
{
    struct sonde_error err = {0};
    union {
        size_t size;
        uint8_t bytes[512];
    } given = {.bytes = {0}};
    assert_true(calls[index].size + 16 <= sizeof(given));
    given.bytes[calls[index].size + 15] = behind;
    given.size = size;
    int rc = calls[index].call(&given, &err);
    if (rc != status || !strstr(err.text, text))
        fail_msg("%s options of size %zu: %d, '%s'", calls[index].name, size, rc, err.text);
}

static void every_call_keeps_the_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        size_t size = calls[i].size;
        struct sonde_error err = {0};
        assert_int_equal(calls[i].call(NULL, &err), calls[i].by_default);
        check_call(i, sizeof(size_t), 0, calls[i].by_default, "");
        check_call(i, size, 1, calls[i].by_default, "");
        check_call(i, size + 16, 0, calls[i].by_default, "");
        check_call(i, size + 16, 1, SONDE_E_ARGUMENT, "does not know");
        check_call(i, 0, 0, SONDE_E_ARGUMENT, "is not set");
    }
}

static void a_view_is_named(void **state)
{
    (void)state;
    struct sonde_error err = {0};
    struct sonde_report_show show = {.size = sizeof(show), .view = "wall"};
    assert_int_equal(write_report(&show, &err), SONDE_OK);
    show.view = "cpu"; /* asked for in so many words, it must be there */
    assert_int_equal(write_report(&show, &err), SONDE_E_NOT_FOUND);
    err = (struct sonde_error){0};
    show.view = "none";
    assert_int_equal(write_report(&show, &err), SONDE_E_ARGUMENT);
}

/* --- tables that are handed out --- */

static void *ask_tables(void *ret_tables)
{
    const void **tables = ret_tables;
    size_t count = 0;
    tables[0] = sonde_formats(&count);
    tables[1] = sonde_report_sections();
    return (void *)(uintptr_t)count;
}

static void tables_are_whole_for_every_thread(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    const void *tables[THREADS][2] = {{NULL}};
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_tables, tables[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *count = NULL;
        assert_int_equal(pthread_join(threads[i], &count), 0);
        const struct sonde_format *formats = tables[i][0];
        const char *const *sections = tables[i][1];
        assert_int_equal((uintptr_t)count, 5);
        assert_string_equal(formats[0].name, "speedscope");
        assert_string_equal(sections[0], "file");
        size_t section_count = 0;
        while (sections[section_count])
            section_count++;
        assert_string_equal(sections[section_count - 1], "events");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_whole_for_every_thread),
        cmocka_unit_test(none_are_the_defaults),
        cmocka_unit_test(what_an_older_caller_does_not_know_is_zero),
        cmocka_unit_test(what_a_newer_caller_wants_must_be_known),
        cmocka_unit_test(a_size_that_nobody_set_is_refused),
        cmocka_unit_test(every_call_keeps_the_rule),
        cmocka_unit_test(a_view_is_named),
    };
    return cmocka_run_group_tests_name("options in", tests, NULL, NULL);
}
