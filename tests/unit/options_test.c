/* Option tables: every kind, every way to write one, and what is refused. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/quantity.h"
#include "cli/options.h"

#define WORD_MAX 256

struct arguments {
    bool verbose;
    const char *name;
    struct sn_option_list items;
    uint64_t pid;
    uint64_t bytes;
    uint64_t duration_ns;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'v', "verbose", SN_OPTION_FLAG, AT(verbose), NULL, "say more"},
    {'n', "name", SN_OPTION_TEXT, AT(name), "NAME", "the name"},
    {0, "item", SN_OPTION_LIST, AT(items), "ITEM", "may be given several times"},
    {'p', "pid", SN_OPTION_NUMBER, AT(pid), "PID", "the process"},
    {0, "size", SN_OPTION_BYTES, AT(bytes), "SIZE", "how much"},
    {0, "duration", SN_OPTION_DURATION, AT(duration_ns), "TIME", "how long"},
    SN_OPTIONS_END,
};

struct parsed {
    int rc;
    struct arguments arguments;
    struct sn_operands operands;
    struct sonde_error err;
    char *words[WORD_MAX + 1];
};

/* Parses words up to NULL. */
static struct parsed *parse(struct parsed *parsed, const char *const *words)
{
    int count = 0;
    memset(parsed, 0, sizeof(*parsed));
    for (; words[count]; count++) {
        assert_true(count < WORD_MAX);
        parsed->words[count] = (char *)(uintptr_t)words[count];
    }
    parsed->rc = sn_options_parse(options, count, parsed->words, &parsed->arguments,
                                  &parsed->operands, &parsed->err);
    return parsed;
}

#define PARSE(...) parse(&parsed, (const char *const[]){__VA_ARGS__, NULL})

static void assert_refused(const struct parsed *parsed, const char *named)
{
    assert_int_equal(parsed->rc, SONDE_E_ARGUMENT);
    assert_int_equal(parsed->err.status, SONDE_E_ARGUMENT);
    if (!strstr(parsed->err.text, named))
        fail_msg("'%s' does not name '%s'", parsed->err.text, named);
}

static void every_kind_is_stored_in_its_place(void **state)
{
    (void)state;
    struct parsed parsed;
    PARSE("--verbose", "--name", "x", "--item", "a", "--item", "b", "--pid", "12", "--size", "2KB",
          "--duration", "3s");
    assert_int_equal(parsed.rc, SONDE_OK);
    assert_true(parsed.arguments.verbose);
    assert_string_equal(parsed.arguments.name, "x");
    assert_int_equal(parsed.arguments.items.count, 2);
    assert_string_equal(parsed.arguments.items.items[1], "b");
    assert_int_equal(parsed.arguments.pid, 12);
    assert_int_equal(parsed.arguments.bytes, 2000);
    assert_int_equal(parsed.arguments.duration_ns, 3000000000u);
    assert_int_equal(parsed.operands.count, 0);
    assert_null(parsed.operands.command);
}

static void a_value_may_stand_in_the_same_word(void **state)
{
    (void)state;
    struct parsed parsed;
    PARSE("--pid=12", "--name=a=b", "-v");
    assert_int_equal(parsed.rc, SONDE_OK);
    assert_int_equal(parsed.arguments.pid, 12);
    assert_string_equal(parsed.arguments.name, "a=b");
    assert_true(parsed.arguments.verbose);
    assert_int_equal(PARSE("-p12", "-nx")->arguments.pid, 12);
    assert_string_equal(parsed.arguments.name, "x");
    assert_int_equal(PARSE("-p=0x10")->arguments.pid, 16);
    assert_string_equal(PARSE("--name=")->arguments.name, "");
    assert_string_equal(PARSE("--name", "")->arguments.name, "");
}

static void a_value_may_look_like_an_option(void **state)
{
    (void)state;
    struct parsed parsed;
    PARSE("--name", "--verbose", "-n", "-");
    assert_int_equal(parsed.rc, SONDE_OK);
    assert_string_equal(parsed.arguments.name, "-");
    assert_false(parsed.arguments.verbose);
}

static void the_last_of_several_values_counts(void **state)
{
    (void)state;
    struct parsed parsed;
    assert_int_equal(PARSE("-p1", "--pid", "2", "-p", "3")->arguments.pid, 3);
}

static void what_is_not_in_the_table_is_refused_by_name(void **state)
{
    (void)state;
    struct parsed parsed;
    assert_refused(PARSE("--nothing"), "--nothing");
    assert_refused(PARSE("--nothing=1"), "--nothing=1");
    assert_refused(PARSE("-z"), "-z");
    assert_refused(PARSE("--verb"), "--verb"); /* no guessing */
    assert_refused(PARSE("--pidd=1"), "--pidd");
    assert_refused(PARSE("--=1"), "--=1");
    assert_refused(PARSE("---"), "---");
}

static void a_flag_takes_no_value(void **state)
{
    (void)state;
    struct parsed parsed;
    assert_refused(PARSE("--verbose=yes"), "--verbose=yes");
    assert_refused(PARSE("-vx"), "-vx");
}

static void a_missing_value_is_refused(void **state)
{
    (void)state;
    struct parsed parsed;
    assert_refused(PARSE("--name"), "--name needs NAME");
    assert_refused(PARSE("-v", "-p"), "--pid needs PID");
}

static void bad_values_are_refused_with_the_option_and_the_value(void **state)
{
    (void)state;
    struct parsed parsed;
    assert_refused(PARSE("-p", "twelve"), "--pid: 'twelve' is not a number");
    assert_refused(PARSE("--pid=-1"), "'-1'");
    assert_refused(PARSE("--pid="), "--pid: ''");
    assert_refused(PARSE("--size=12XB"), "12XB");
    assert_refused(PARSE("--duration=soon"), "soon");
}

static void operands_keep_their_order_between_options(void **state)
{
    (void)state;
    struct parsed parsed;
    PARSE("one", "-p", "1", "two", "-", "--name=x", "three", "");
    assert_int_equal(parsed.rc, SONDE_OK);
    static const char *const expected[] = {"one", "two", "-", "three", ""};
    assert_int_equal(parsed.operands.count, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(parsed.operands.words[i], expected[i]);
}

static void everything_behind_two_dashes_is_a_command(void **state)
{
    (void)state;
    struct parsed parsed;
    PARSE("one", "--", "dotnet", "--pid", "--", "-v");
    assert_int_equal(parsed.rc, SONDE_OK);
    assert_int_equal(parsed.operands.count, 1);
    static const char *const expected[] = {"dotnet", "--pid", "--", "-v"};
    for (int i = 0; i < 4; i++)
        assert_string_equal(parsed.operands.command[i], expected[i]);
    assert_null(parsed.operands.command[4]);
    assert_false(parsed.arguments.verbose);
    PARSE("--");
    assert_non_null(parsed.operands.command);
    assert_null(parsed.operands.command[0]);
    assert_int_equal(PARSE("--name", "--")->rc, SONDE_OK); /* here it is a value */
    assert_null(parsed.operands.command);
}

static void a_list_has_a_limit(void **state)
{
    (void)state;
    struct parsed parsed;
    const char *words[SN_OPTION_LIST_MAX + 2] = {0};
    for (size_t i = 0; i < SN_OPTION_LIST_MAX; i++)
        words[i] = "--item=x";
    assert_int_equal(parse(&parsed, words)->rc, SONDE_OK);
    assert_int_equal(parsed.arguments.items.count, SN_OPTION_LIST_MAX);
    words[SN_OPTION_LIST_MAX] = "--item=y";
    assert_refused(parse(&parsed, words), "--item");
    assert_non_null(strstr(parsed.err.text, "too often"));
}

static void no_words_are_fine(void **state)
{
    (void)state;
    struct parsed parsed;
    static const char *const none[] = {NULL};
    assert_int_equal(parse(&parsed, none)->rc, SONDE_OK);
    assert_int_equal(parsed.operands.count, 0);
}

static void durations_are_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ms;
    } cases[] = {{"30", 30000},
                 {"30s", 30000},
                 {"0", 0},
                 {"250ms", 250},
                 {"5m", 300000},
                 {"1h30m", 5400000},
                 {"2d4h", 187200000},
                 {"1s500ms", 1500},
                 {"1.5s", 1500},
                 {"0.25", 250},
                 {"1.5h", 5400000},
                 {"00:00:01:30", 90000},
                 {"1:00:00:00", 86400000},
                 {"01:30", 90000},
                 {"1:0:0", 3600000},
                 {"00:90:00", 5400000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t ns = 0;
        if (!sn_quantity_duration(cases[i].text, &ns) || ns != cases[i].ms * 1000000u)
            fail_msg("'%s' is %llu ns", cases[i].text, (unsigned long long)ns);
    }
}

static void what_is_no_duration_is_refused_and_never_wraps(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        "s",
                                        "-1",
                                        "1.s",
                                        "30 s",
                                        " 30",
                                        "5y",
                                        "5S",
                                        "m5",
                                        "0x10",
                                        ":",
                                        "1:",
                                        ":1",
                                        "1::2",
                                        "0x10:00",
                                        "1:2:3:4:5",
                                        "00:00:01:30:",
                                        "1:2s",
                                        "-1:00",
                                        "300000:0:0:0",
                                        "99999999999d",
                                        "999999999999",
                                        "50000d50000d50000d50000d50000d"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t ns = 4711;
        if (sn_quantity_duration(cases[i], &ns))
            fail_msg("'%s' is %llu ns", cases[i], (unsigned long long)ns);
    }
}

static void sizes_are_read_in_decimal_and_binary_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"0", 0},
                 {"17", 17},
                 {"17B", 17},
                 {"1k", 1000},
                 {"1KB", 1000},
                 {"1kB", 1000},
                 {"64M", 64000000},
                 {"100MB", 100000000},
                 {"1GB", 1000000000},
                 {"1KiB", 1024},
                 {"2MiB", 2097152},
                 {"4GiB", 4294967296},
                 {"5000000000", 5000000000},
                 {"10000000000B", 10000000000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t bytes = 4711;
        if (!sn_quantity_bytes(cases[i].text, &bytes) || bytes != cases[i].bytes)
            fail_msg("'%s' is %llu", cases[i].text, (unsigned long long)bytes);
    }
}

static void what_is_no_size_is_refused_and_never_wraps(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        "MB",
                                        "-1",
                                        "1.5GB",
                                        "1 GB",
                                        "0x10",
                                        "1mb",
                                        "1TB",
                                        "1KBx",
                                        "10GB ",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "18446744074G",
                                        "9999999999999999GB",
                                        "17179869184GiB"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t bytes = 4711;
        if (sn_quantity_bytes(cases[i], &bytes))
            fail_msg("'%s' is %llu", cases[i], (unsigned long long)bytes);
        assert_int_equal(bytes, 4711);
    }
}

static void help_names_every_option_its_value_and_its_use(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    sn_options_print(options, to);
    (void)fclose(to);
    for (const struct sn_option *option = options; option->name; option++) {
        char expected[64];
        (void)snprintf(expected, sizeof(expected), "--%s%s%s", option->name,
                       option->argument ? " " : "", option->argument ? option->argument : "");
        assert_non_null(strstr(text, expected));
        assert_non_null(strstr(text, option->help));
    }
    assert_non_null(strstr(text, "-p, --pid PID"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_stored_in_its_place),
        cmocka_unit_test(a_value_may_stand_in_the_same_word),
        cmocka_unit_test(a_value_may_look_like_an_option),
        cmocka_unit_test(the_last_of_several_values_counts),
        cmocka_unit_test(what_is_not_in_the_table_is_refused_by_name),
        cmocka_unit_test(a_flag_takes_no_value),
        cmocka_unit_test(a_missing_value_is_refused),
        cmocka_unit_test(bad_values_are_refused_with_the_option_and_the_value),
        cmocka_unit_test(operands_keep_their_order_between_options),
        cmocka_unit_test(everything_behind_two_dashes_is_a_command),
        cmocka_unit_test(a_list_has_a_limit),
        cmocka_unit_test(no_words_are_fine),
        cmocka_unit_test(durations_are_read_as_people_write_them),
        cmocka_unit_test(what_is_no_duration_is_refused_and_never_wraps),
        cmocka_unit_test(sizes_are_read_in_decimal_and_binary_units),
        cmocka_unit_test(what_is_no_size_is_refused_and_never_wraps),
        cmocka_unit_test(help_names_every_option_its_value_and_its_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
