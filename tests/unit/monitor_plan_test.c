/* Settings of dotnet-monitor: who is heard, and what they mean. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "cli/monitor_plan.h"

static void write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void the_last_who_says_something_is_heard(void **state)
{
    (void)state;
    static char plain[] = "Metrics__Enabled=True";
    static char other[] = "Unknown__Thing=1";
    static char prefixed[] = "dotnetmonitor_Metrics__Providers__10__ProviderName=B";
    static char second[] = "DotnetMonitor_Metrics__Providers__2__ProviderName=A";
    char *const variables[] = {plain, other, prefixed, second, NULL};
    struct sn_monitor_settings settings;
    sn_monitor_settings_init(&settings);
    assert_true(sn_monitor_settings_set(&settings, "metrics:enabled", "False", "first"));
    sn_monitor_settings_read_variables(&settings, variables, "", "Egress,Metrics");
    assert_string_equal(sn_monitor_settings_get(&settings, "Metrics:Enabled"), "True");
    assert_true(sn_monitor_settings_flag(&settings, "METRICS:ENABLED", false));
    assert_null(sn_monitor_settings_get(&settings, "Unknown:Thing"));
    sn_monitor_settings_read_variables(&settings, variables, "DotnetMonitor_", NULL);
    size_t at = sn_monitor_settings_within(&settings, "Metrics:Providers", 0);
    assert_string_equal(settings.items[at].value, "A"); /* 2 before 10 */
    assert_string_equal(settings.items[at + 1].value, "B");
    sn_monitor_settings_done(&settings);
}

static const char document[] =
    "{\"Urls\": \"http://*:1;https://[::1]:2\", \"Metrics\": {\"Endpoints\": \"http://+:3/\","
    "\"IncludeDefaultProviders\": false, \"Meters\": [{\"MeterName\": \"M\"}],"
    "\"Providers\": [{\"ProviderName\": \"P\", \"CounterNames\": [\"a\", \"b\"]}]},"
    "\"GlobalCounter\": {\"IntervalSeconds\": 2.5},"
    "\"Egress\": {\"FileSystem\": {\"one\": {\"DirectoryPath\": \"/a/b\"}}},"
    "\"DefaultProcess\": {\"Filters\": [{\"ProcessName\": \"shop\", \"MatchType\": \"Contains\"},"
    "{\"Key\": \"CommandLine\", \"Value\": \"x\"}]}}";

static void a_file_says_how_to_serve(void **state)
{
    (void)state;
    char path[] = "/tmp/monitor_plan_XXXXXX";
    struct sonde_error err = {0};
    struct sn_monitor_settings settings;
    struct sn_monitor_plan plan;
    SN_AUTO(sn_close) int fd = mkstemp(path);
    write_file(path, document, strlen(document));
    sn_monitor_settings_init(&settings);
    assert_int_equal(sn_monitor_settings_read_file(&settings, path, &err), SONDE_OK);
    assert_int_equal(sn_monitor_plan_make(&settings, &plan, &err), SONDE_OK);
    const struct sn_serve_options *options = &plan.options;
    assert_int_equal(options->place_count, 3);
    assert_string_equal(options->places[0].address, ":1");
    assert_string_equal(options->places[1].address, "[::1]:2");
    assert_string_equal(options->places[2].address, ":3");
    assert_false(options->is_tls[0]);
    assert_true(options->is_tls[1]);
    assert_int_equal(options->places[2].tag, SN_PLACE_METRICS);
    assert_int_equal(options->counter_count, 2);
    assert_string_equal(options->counters[0], "EventCounters\\P[a,b]");
    assert_string_equal(options->counters[1], "Meters\\M");
    assert_int_equal(options->interval_ns, 2500000000u);
    assert_int_equal(options->egress_count, 1);
    assert_string_equal(options->egress[0], "one=/a/b");
    assert_int_equal(options->default_process_count, 2);
    assert_int_equal(options->default_process[0].key, SN_PROCESS_NAME);
    assert_true(options->default_process[0].is_contained);
    assert_int_equal(options->default_process[1].key, SN_PROCESS_COMMAND_LINE);
    sn_monitor_plan_done(&plan);
    sn_monitor_settings_done(&settings);
    (void)unlink(path);
}

static void a_file_that_is_cut_is_refused_wherever(void **state)
{
    (void)state;
    char path[] = "/tmp/monitor_plan_XXXXXX";
    SN_AUTO(sn_close) int fd = mkstemp(path);
    for (size_t size = 0; size < strlen(document); size++) {
        struct sn_monitor_settings settings;
        struct sonde_error err = {0};
        write_file(path, document, size);
        sn_monitor_settings_init(&settings);
        assert_int_equal(sn_monitor_settings_read_file(&settings, path, &err), SONDE_E_FORMAT);
        assert_int_equal(settings.count, 0);
        sn_monitor_settings_done(&settings);
    }
    (void)unlink(path);
}

static int plan_of(const char *name, const char *value)
{
    struct sn_monitor_settings settings;
    struct sn_monitor_plan plan;
    sn_monitor_settings_init(&settings);
    assert_true(sn_monitor_settings_set(&settings, name, value, "test"));
    int rc = sn_monitor_plan_make(&settings, &plan, NULL);
    sn_monitor_plan_done(&plan);
    sn_monitor_settings_done(&settings);
    return rc;
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    assert_int_equal(plan_of("urls", "http://localhost"), SONDE_OK);
    assert_int_equal(plan_of("urls", ";;"), SONDE_OK);
    assert_int_equal(plan_of("urls", "localhost:1"), SONDE_E_ARGUMENT);
    assert_int_equal(plan_of("urls", "http://a;http://b;http://c;http://d;http://e;http://f;"
                                     "http://g;http://h;http://i"),
                     SONDE_E_LIMIT);
    assert_int_equal(plan_of("GlobalCounter:IntervalSeconds", "0"), SONDE_E_ARGUMENT);
    assert_int_equal(plan_of("GlobalCounter:IntervalSeconds", "x"), SONDE_E_ARGUMENT);
    assert_int_equal(plan_of("DefaultProcess:Filters:0:Key", "ProcessName"), SONDE_E_ARGUMENT);
    assert_int_equal(plan_of("Kestrel:Certificates:Default:Path", "a.pfx"), SONDE_E_ARGUMENT);
}

static void secrets_are_not_shown(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(65536);
    struct sn_monitor_settings settings;
    sn_monitor_settings_init(&settings);
    (void)sn_monitor_settings_set(&settings, "Egress:AzureBlobStorage:x:AccountKey", "hush", "t");
    (void)sn_monitor_settings_set(&settings, "Egress:FileSystem:y:DirectoryPath", "/shown", "t");
    (void)sn_monitor_settings_set(&settings, "Kestrel:Certificates:Default:Password", "hush", "t");
    sn_monitor_settings_show(&settings, false, false, &text);
    assert_null(strstr(sn_buf_string(&text), "hush"));
    assert_non_null(strstr(sn_buf_string(&text), "/shown"));
    sn_buf_clear(&text);
    sn_monitor_settings_show(&settings, true, false, &text);
    assert_non_null(strstr(sn_buf_string(&text), "hush"));
    sn_monitor_settings_done(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_who_says_something_is_heard),
        cmocka_unit_test(a_file_says_how_to_serve),
        cmocka_unit_test(a_file_that_is_cut_is_refused_wherever),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(secrets_are_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
