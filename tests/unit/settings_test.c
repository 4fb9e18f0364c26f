/* Configurations of sonde export: what is read, what is refused and in which words. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "sink/export/explain.h"
#include "sink/export/settings.h"
#include "sink/export/settings_value.h"

static const char whole[] = "# a comment\n"
                            "[targets]\n"
                            "  names = shop, worker*\r\n"
                            "names = api\n"
                            "\n"
                            "[counters]\n"
                            "counters = System.Runtime, Shop.Orders[placed,failed] ,X\n"
                            "interval=5s ; soon\n"
                            "kernel = off\n"
                            "[labels]\n"
                            "environment = production\n"
                            "[graphite]\n"
                            "address = tcp://127.0.0.1:2003\n"
                            "prefix =\n"
                            "queue = 64K\n"
                            "[graphite far]\n"
                            "address = tcp://far:2004\n"
                            "protocol = pickle\n"
                            "[prometheus]\n"
                            "[rule gen2]\n"
                            "event = GCHeapStats\n"
                            "keywords = gc\n"
                            "field = GenerationSize2\n"
                            "to = graphite, far\n"
                            "path = gc.{process}.gen2\n";

static struct sn_configuration *read_text(const char *text, size_t size)
{
    struct sn_configuration *made = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_configuration_parse("x.ini", text, size, &made, &err), SONDE_OK);
    assert_int_equal(sn_configuration_check(made, &err), SONDE_OK);
    return made;
}

static void a_whole_file_is_read(void **state)
{
    (void)state;
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *made = read_text(whole, sizeof(whole) - 1);
    for (size_t i = 0; i < made->problem_count; i++)
        print_message("%u: %s\n", made->problems[i].line, made->problems[i].text);
    assert_int_equal(made->problem_count, 0);
    size_t count;
    const struct sn_settings *targets = sn_configuration_find(made, "targets", "");
    const char *const *names = sn_settings_list(made, targets, "names", &count);
    assert_int_equal(count, 3);
    assert_string_equal(names[0], "shop");
    assert_string_equal(names[1], "worker*");
    assert_string_equal(names[2], "api");
    const struct sn_settings *counters = sn_configuration_find(made, "counters", "");
    names = sn_settings_list(made, counters, "counters", &count);
    assert_int_equal(count, 3);
    assert_string_equal(names[1], "Shop.Orders[placed,failed]");
    assert_int_equal(sn_settings_number(counters, "interval"), 5000000000u);
    assert_false(sn_settings_flag(counters, "kernel"));
    assert_true(sn_settings_flag(counters, "runtime"));
    assert_int_equal(sn_settings_number(counters, "max-series"), 1000);
    const struct sn_settings *graphite = sn_configuration_find(made, "graphite", "");
    assert_string_equal(sn_settings_text(graphite, "prefix"), "");
    assert_int_equal(sn_settings_number(graphite, "queue"), 64000);
    assert_string_equal(sn_settings_text(graphite, "protocol"), "plain");
    const struct sn_settings *far = sn_configuration_find(made, "graphite", "far");
    assert_string_equal(sn_settings_text(far, "protocol"), "pickle");
    assert_string_equal(sn_settings_text(far, "prefix"), "sonde");
    assert_non_null(sn_configuration_find(made, "prometheus", ""));
    assert_null(sn_configuration_find(made, "otlp", ""));
}

/* One thing wrong at a time, with its line and its words. */
static void everything_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
        const char *told;
    } cases[] = {
        {"[prometheus]\nprefx = a\n", 2, "unknown key 'prefx' in [prometheus]; it takes listen"},
        {"[graphite]\naddress=tcp://a:1\nprefx = a\n", 3, "did you mean 'prefix'?"},
        {"[prometheus]\n[graphit]\n", 2, "unknown section [graphit], did you mean [graphite]?"},
        {"[prometheus]\n[elsewhere]\nx=1\n", 2, "unknown section [elsewhere]; there are [targets]"},
        {"x=1\n[prometheus]\n", 1, "'x' stands before any [section]"},
        {"[prometheus]\nlisten\n", 2, "neither 'key = value' nor '[section]'"},
        {"[prometheus]\n= 5\n", 2, "a value without a key before '='"},
        {"[prometheus] x\n", 1, "something stands behind the ']'"},
        {"[prometheus\n", 1, "'[' begins a section that ']' must end"},
        {"[prometheus]\nlisten = 9464\n", 2, "'9464' is not an address such as 127.0.0.1:9464"},
        {"[prometheus]\nlisten = a:70000\n", 2, "is not an address"},
        {"[prometheus]\nnames = mine\n", 2, "'mine' is not one of otel or dotnet-monitor"},
        {"[prometheus]\npath = metrics\n", 2, "begins with a slash"},
        {"[prometheus]\npath = /a\npath = /b\n", 3, "'path' is given twice, first in line 2"},
        {"[prometheus]\n[prometheus]\n", 2, "[prometheus] is there twice, first in line 1; give"},
        {"[prometheus]\n[targets]\n[targets]\n", 3, "[targets] is there twice, first in line 2"},
        {"[prometheus]\n[targets x]\n", 2, "[targets] takes no name"},
        {"[prometheus]\n[rule]\n", 2, "[rule] needs a name: [rule NAME]"},
        {"[prometheus]\n[counters]\ninterval = soon\n", 3, "is not a duration such as 5s"},
        {"[prometheus]\n[counters]\ninterval = 1ms\n", 3, "from 100ms to 1h"},
        {"[prometheus]\n[counters]\nkernel = maybe\n", 3, "'maybe' is not yes or no"},
        {"[prometheus]\n[counters]\nmax-series = -1\n", 3, "is not a whole number"},
        {"[prometheus]\n[targets]\npids = 12, x\n", 3, "'x' is not a process id"},
        {"[prometheus]\n[targets]\nall = no\n", 3, "no process is watched"},
        {"[graphite]\n", 1, "needs 'address', such as address = tcp://127.0.0.1:2003"},
        {"[graphite]\naddress = http://a:1\n", 2, "begins with tcp, udp or unix"},
        {"[graphite]\naddress = tcp://a\n", 2, "is not an address"},
        {"[graphite]\naddress = tcp://a:1\nqueue = big\n", 3, "is not a size such as 4MiB"},
        {"[otlp]\nurl = https://user:secret@a/b\n", 2, "'...' is not an address"},
        {"[otlp]\nurl = https://a/v1/metrics\nheader = secret\n", 3, "header: not 'Name: value'"},
        {"[otlp]\nurl = https://a\nheader = A: ${NO_SUCH_NAME}\n", 3, "no variable 'NO_SUCH_NAME'"},
        {"[otlp]\nurl = https://a\nheader = A: ${x\n", 3, "that '}' must end"},
        {"[prometheus]\n[rule a]\naggregate = count\n", 2, "there is no [graphite] to send to"},
        {"[graphite]\naddress=tcp://a:1\n[rule a]\n", 3, "[rule a] needs 'field'"},
        {"[graphite]\naddress=tcp://a:1\n[rule a]\nfield=x\nto=far\n", 5, "no [graphite far]"},
        {"[graphite]\naddress=tcp://a:1\n[rule a]\nfield=x\npath=a.{b\n", 5, "stand around a name"},
        {"[graphite]\naddress=tcp://a:1\n[rule a]\nfield=x\npath=a b\n", 5, "without blanks"},
        {"[graphite]\naddress=tcp://a:1\n[rule a]\nfield=x\nkeywords=nothing\n", 5, "'nothing'"},
        {"[graphite]\naddress=tcp://a:1\n[rule a]\nfield=x\nprovider=X\nkeywords=gc\n", 6,
         "must be hexadecimal"},
        {"[usdt]\nprofile = nothing\n", 2, "profile: "},
        {"[targets]\nall = yes\n", 0, "nothing is exported"},
        {"", 0, "nothing is exported"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        SN_AUTO(sn_configuration_free)
        struct sn_configuration *made = read_text(cases[i].text, strlen(cases[i].text));
        struct sonde_error err = {0};
        bool is_told = false;
        for (size_t k = 0; k < made->problem_count; k++)
            is_told |= made->problems[k].line == cases[i].line && !made->problems[k].is_warning &&
                       strstr(made->problems[k].text, cases[i].told);
        if (!is_told || !made->error_count) {
            for (size_t k = 0; k < made->problem_count; k++)
                print_message("%u: %s\n", made->problems[k].line, made->problems[k].text);
            fail_msg("not told: line %u, '%s' of\n%s", cases[i].line, cases[i].told, cases[i].text);
        }
        assert_int_equal(sn_configuration_fault(made, &err), SONDE_E_ARGUMENT);
        assert_ptr_equal(strstr(err.text, "x.ini"), err.text);
    }
}

static void conditions_are_read_with_the_file(void **state)
{
    (void)state;
    static const char text[] = "[graphite]\naddress=tcp://a:1\n[rule a]\nfield=x\nwhere = x >\n";
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *made = read_text(text, sizeof(text) - 1);
    assert_int_equal(made->error_count, 1);
    assert_int_equal(made->problems[0].line, 5);
}

static void every_problem_of_a_file_is_told_in_order(void **state)
{
    (void)state;
    static const char text[] = "[rule a]\npath = {\n[nothing]\n[graphite]\nx = 1\ny\n";
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *made = read_text(text, sizeof(text) - 1);
    assert_true(made->problem_count >= 6);
    for (size_t i = 1; i < made->problem_count; i++)
        assert_true(made->problems[i - 1].line <= made->problems[i].line);
}

static void secrets_come_from_the_environment(void **state)
{
    (void)state;
    static const char text[] =
        "[otlp]\nurl = http://a/b\nheader = Authorization: Bearer ${SN_T}x\n";
    assert_int_equal(setenv("SN_T", "token", 1), 0);
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *made = read_text(text, sizeof(text) - 1);
    assert_int_equal(made->problem_count, 0);
    const struct sn_settings *otlp = sn_configuration_find(made, "otlp", "");
    assert_string_equal(sn_settings_text(otlp, "header"), "Authorization: Bearer tokenx");
    assert_int_equal(setenv("SN_T", "a\r\nEvil: b", 1), 0);
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *broken = read_text(text, sizeof(text) - 1);
    assert_int_equal(broken->error_count, 1);
    assert_null(strstr(broken->problems[0].text, "Evil"));
}

static void a_secret_that_all_can_read_is_warned_of(void **state)
{
    (void)state;
    char path[] = "/tmp/settings_test.XXXXXX";
    static const char text[] = "[otlp]\nurl = http://a/b\nheader = Authorization: hunter2\n";
    SN_AUTO(sn_close) int fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    for (mode_t mode = 0600; mode <= 0604; mode += 4) {
        SN_AUTO(sn_configuration_free) struct sn_configuration *made = NULL;
        assert_int_equal(chmod(path, mode), 0);
        assert_int_equal(sn_configuration_read(path, &made, NULL), SONDE_OK);
        assert_int_equal(made->error_count, 0);
        assert_int_equal(made->problem_count, mode == 0604 ? 1 : 0);
        if (mode == 0604) {
            assert_int_equal(made->problems[0].line, 3);
            assert_null(strstr(made->problems[0].text, "hunter2"));
        }
    }
    assert_int_equal(unlink(path), 0);
}

static void values_have_any_length_up_to_a_limit(void **state)
{
    (void)state;
    static const size_t sizes[] = {600, 60000, 70000};
    for (size_t i = 0; i < 3; i++) {
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
        sn_buf_text(&text, "[graphite]\naddress = tcp://a:1\nprefix = ");
        sn_buf_fill(&text, 'a', sizes[i]);
        SN_AUTO(sn_configuration_free)
        struct sn_configuration *made = read_text((const char *)text.bytes, text.size);
        const struct sn_settings *graphite = sn_configuration_find(made, "graphite", "");
        assert_int_equal(made->error_count, i == 2);
        if (i < 2)
            assert_int_equal(strlen(sn_settings_text(graphite, "prefix")), sizes[i]);
        else
            assert_int_equal(made->problems[0].line, 3);
    }
}

static void problems_are_counted_and_bounded(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
    sn_buf_text(&text, "[prometheus]\n");
    for (int i = 0; i < 5000; i++)
        sn_buf_text(&text, "x\n");
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *made = read_text((const char *)text.bytes, text.size);
    assert_int_equal(made->error_count, 5000);
    assert_int_equal(made->problem_count, 100);
}

/* Every beginning of a file: a status, and each section explained. */
static void every_cut_is_read_or_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(whole); size++) {
        SN_AUTO(sn_free) char *cut = malloc(size + 1); /* so that a sanitizer sees its end */
        memcpy(cut, whole, size);
        SN_AUTO(sn_configuration_free) struct sn_configuration *made = read_text(cut, size);
        for (size_t i = 0; i < made->section_count; i++) {
            SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 16);
            sn_settings_explain(made, made->sections[i], &text);
            assert_true(text.size > 0 && !text.failed);
        }
    }
}

static const char *explained(struct sn_configuration *made, const char *kind, const char *name,
                             struct sn_buf *to)
{
    sn_buf_clear(to);
    sn_settings_explain(made, sn_configuration_find(made, kind, name), to);
    return sn_buf_string(to);
}

static void a_file_is_explained_in_sentences(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 16);
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *made = read_text(whole, sizeof(whole) - 1);
    assert_string_equal(explained(made, "targets", "", &text),
                        "watches processes named shop, worker*, api, those to come too");
    assert_string_equal(explained(made, "counters", "", &text),
                        "counters and metrics of System.Runtime, Shop.Orders[placed,failed], X, "
                        "every 5.0 s");
    assert_string_equal(explained(made, "graphite", "far", &text),
                        "sends pickles to carbon at tcp://far:2004, paths begin with 'sonde', "
                        "labels are tags; up to 4.0 MB wait when it is away");
    assert_string_equal(explained(made, "rule", "gen2", &text),
                        "sends GenerationSize2 of every event GCHeapStats of "
                        "Microsoft-Windows-DotNETRuntime (level informational, keywords gc) as "
                        "gc.{process}.gen2 to graphite, far");
}

static void keys_in_queries_are_not_shown(void **state)
{
    (void)state;
    static const char text[] = "[otlp]\nurl = https://a/v1/metrics?api-key=SECRET\n";
    static const char wrong[] = "[otlp]\nurl = https:/a/v1/metrics?api-key=SECRET\n";
    SN_AUTO(sn_buf_done) struct sn_buf means = sn_buf_with_limit(1u << 16);
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *made = read_text(text, sizeof(text) - 1);
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *refused = read_text(wrong, sizeof(wrong) - 1);
    struct sonde_error err = {0};
    assert_string_equal(explained(made, "otlp", "", &means),
                        "sends OTLP metrics to https://a/v1/metrics?...; up to 4.0 MB wait when it "
                        "is away");
    assert_int_equal(sn_configuration_fault(refused, &err), SONDE_E_ARGUMENT);
    assert_null(strstr(err.text, "SECRET"));
}

/* As when there was no memory to keep them. */
static void errors_that_were_only_counted_are_errors(void **state)
{
    (void)state;
    SN_AUTO(sn_configuration_free) struct sn_configuration *made = read_text("", 0);
    struct sonde_error err = {0};
    made->problem_count = 0;
    made->error_count = 2;
    assert_int_equal(sn_configuration_fault(made, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "2 errors"));
}

static void the_example_is_a_good_file(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
    sn_settings_example(&text);
    SN_AUTO(sn_configuration_free)
    struct sn_configuration *made = read_text((const char *)text.bytes, text.size);
    assert_int_equal(made->problem_count, 0);
    for (const struct sn_section_kind *kind = sn_section_kinds; kind->name; kind++) {
        for (const struct sn_setting_key *key = kind->keys; key && key->name; key++)
            assert_non_null(strstr(sn_buf_string(&text), key->help));
    }
}

/* Defaults and examples are what their keys take. */
static void the_table_agrees_with_itself(void **state)
{
    (void)state;
    for (const struct sn_section_kind *kind = sn_section_kinds; kind->name; kind++) {
        for (const struct sn_setting_key *key = kind->keys; key && key->name; key++) {
            const char *values[] = {key->fallback, key->example};
            for (size_t i = 0; i < 2; i++) {
                SN_AUTO(sn_buf_done) struct sn_buf reason = sn_buf_with_limit(1024);
                uint64_t number;
                if (values[i] && !sn_setting_read(key, values[i], &number, &reason))
                    fail_msg("[%s] %s = %s", kind->name, key->name, values[i]);
            }
        }
    }
}

static void what_was_meant_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"prefix", "protocol", "address", "to"};
    assert_string_equal(sn_setting_nearest("prefx", names, 4), "prefix");
    assert_string_equal(sn_setting_nearest("adress", names, 4), "address");
    assert_string_equal(sn_setting_nearest("too", names, 4), "to");
    assert_null(sn_setting_nearest("colour", names, 4));
    assert_null(sn_setting_nearest("", names, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_is_read),
        cmocka_unit_test(everything_wrong_is_told_with_its_line),
        cmocka_unit_test(conditions_are_read_with_the_file),
        cmocka_unit_test(every_problem_of_a_file_is_told_in_order),
        cmocka_unit_test(secrets_come_from_the_environment),
        cmocka_unit_test(a_secret_that_all_can_read_is_warned_of),
        cmocka_unit_test(values_have_any_length_up_to_a_limit),
        cmocka_unit_test(problems_are_counted_and_bounded),
        cmocka_unit_test(every_cut_is_read_or_refused),
        cmocka_unit_test(a_file_is_explained_in_sentences),
        cmocka_unit_test(keys_in_queries_are_not_shown),
        cmocka_unit_test(errors_that_were_only_counted_are_errors),
        cmocka_unit_test(the_example_is_a_good_file),
        cmocka_unit_test(the_table_agrees_with_itself),
        cmocka_unit_test(what_was_meant_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
