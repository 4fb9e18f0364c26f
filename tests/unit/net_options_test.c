/* Command lines by System.CommandLine's rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/alias.h"
#include "cli/dotnet_trace.h"
#include "cli/net_options.h"
#include "clr/runtime_events_table.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"

/* --- a tool to speak to --- */

struct arguments {
    int32_t number;
    uint32_t size;
    int flag;
    int other;
    int colour;
    uint64_t span_ns;
    const char *text;
};

static struct arguments got;
static struct sn_net_line line;
static char operand[64];

static int keep(const struct sn_net_line *given)
{
    got = *(const struct arguments *)given->arguments;
    line = *given;
    operand[0] = '\0';
    if (given->operand)
        (void)strncpy(operand, given->operand, sizeof(operand) - 1);
    return 42;
}

#define AT(member) offsetof(struct arguments, member)

static const struct sn_net_choice colours[] = {{"Red", 1}, {"Blue", 2}, {NULL, 0}};
static const struct sn_net_option options[] = {
    {"--number", "-n", SN_NET_INT, AT(number), NULL, false, ""},
    {"--size", NULL, SN_NET_UINT, AT(size), NULL, false, ""},
    {"--flag", "-f", SN_NET_SWITCH, AT(flag), NULL, false, ""},
    {"--other", "-o", SN_NET_SWITCH, AT(other), NULL, false, ""},
    {"--colour", NULL, SN_NET_CHOICE, AT(colour), colours, false, ""},
    {"--span", NULL, SN_NET_SPAN, AT(span_ns), NULL, false, ""},
    {"--text", "--words", SN_NET_TEXT, AT(text), NULL, false, ""},
    SN_NET_OPTIONS_END,
};
static const struct arguments defaults = {.size = 7};
static const struct sn_net_command strict = {.name = "strict",
                                             .path = "strict ",
                                             .summary = "",
                                             .operand = "file",
                                             .operand_help = "",
                                             .options = options,
                                             .arguments_size = sizeof(struct arguments),
                                             .defaults = &defaults,
                                             .run = keep};
static const struct sn_net_command loose = {.name = "loose",
                                            .path = "loose ",
                                            .summary = "",
                                            .takes_command = true,
                                            .options = options,
                                            .arguments_size = sizeof(struct arguments),
                                            .run = keep};
static const struct sn_net_command *const children[] = {&strict, &loose, NULL};
static const struct sn_net_command root = {
    .name = "tool", .path = "", .summary = "", .children = children};

static int run(const char *words)
{
    static char text[256];
    char *argv[32] = {"tool"};
    int argc = 1;
    char *rest = NULL;
    (void)strncpy(text, words, sizeof(text) - 1);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    got = (struct arguments){0};
    line = (struct sn_net_line){0};
    return sn_net_main(&root, "tool", "1.2.3", argc, argv);
}

/* --- tests --- */

static void test_spellings(void **state)
{
    (void)state;
    static const char *const same[] = {
        "strict --number 5", "strict --number=5", "strict --number:5", "strict -n 5",
        "strict -n5",        "strict -n=5",       "strict -n:5"};
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        assert_int_equal(run(same[i]), 42);
        assert_int_equal(got.number, 5);
        assert_int_equal(got.size, 7);
    }
    assert_int_equal(run("strict --number -5"), 42);
    assert_int_equal(got.number, -5);
    assert_int_equal(run("strict -ofn9"), 42); /* letters in one word */
    assert_int_equal(got.flag, SN_NET_ON);
    assert_int_equal(got.other, SN_NET_ON);
    assert_int_equal(got.number, 9);
    assert_int_equal(run("strict --words --flag"), 42); /* a value may look like an option */
    assert_string_equal(got.text, "--flag");
    assert_int_equal(got.flag, SN_NET_UNSET);
}

static void test_switches_and_choices(void **state)
{
    (void)state;
    assert_int_equal(run("strict --flag False file"), 42);
    assert_int_equal(got.flag, SN_NET_OFF);
    assert_string_equal(operand, "file");
    assert_int_equal(run("strict --flag file"), 42); /* not a value of the switch */
    assert_int_equal(got.flag, SN_NET_ON);
    assert_string_equal(operand, "file");
    assert_int_equal(run("strict --flag:false"), 42);
    assert_int_equal(got.flag, SN_NET_OFF);
    assert_int_equal(run("strict --colour blue"), 42);
    assert_int_equal(got.colour, 2);
    assert_int_equal(run("strict --colour 7"), 42); /* for the tool to refuse */
    assert_int_equal(got.colour, 7);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "nothing",
        "Strict",
        "strict --number",
        "strict --number x",
        "strict --number 0x10",
        "strict --number 2147483648",
        "strict --size -1",
        "strict -n 1 -n 2",
        "strict --Number 1",
        "strict --colour green",
        "strict --span soon",
        "strict --unknown",
        "strict one two",
        "strict -nx",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(run(wrong[i]), SN_NET_EXIT_USAGE);
}

static void test_commands_behind(void **state)
{
    (void)state;
    assert_int_equal(run("loose --unknown word -n 3 -- program -n 4"), 42);
    assert_int_equal(got.number, 3);
    assert_string_equal(line.child[0], "program");
    assert_string_equal(line.child[2], "4");
    assert_null(line.child[3]);
    assert_int_equal(run("loose --"), 42);
    assert_null(line.child);
    assert_int_equal(run("strict --number x --help"), 0);
    assert_int_equal(run("--version"), 0);
}

static void test_spans(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t seconds;
    } good[] = {{"00:00:00:01", 1}, {"1:02:03:04", 93784}, {"00:00:01", 1},
                {"00:01", 60},      {"2", 172800},         {"1.02:03:04", 93784},
                {"1.00:01", 86460}, {"25:00:00", 2160000}};
    uint64_t ns;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(sn_net_parse_span(good[i].text, &ns));
        assert_int_equal(ns / SN_NS_PER_SECOND, good[i].seconds);
    }
    assert_true(sn_net_parse_span("00:00:01.25", &ns));
    assert_int_equal(ns, 1250 * SN_NS_PER_MS);
    static const char *const bad[] = {
        "", "x", "1s", "-1", "1:", "1:60", "00:00:60", "1:2:3:4:5", "00:00:00:60", "1.5"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(sn_net_parse_span(bad[i], &ns));
}

static bool has_event(const char *name)
{
    for (unsigned i = 0; i < sn_clr_event_count; i++) {
        if (sn_clr_events[i].provider == SN_CLR_RUNTIME && strcmp(sn_clr_events[i].name, name) == 0)
            return true;
    }
    return false;
}

static void test_event_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"GC/Start", "GCStart"},
                                           {"GC/Stop", "GCEnd"},
                                           {"Method/JittingStarted", "MethodJittingStarted"},
                                           {"Exception/Start", "ExceptionThrown"},
                                           {"GC/AllocationTick", "GCAllocationTick"},
                                           {"Loader/ModuleLoad", "ModuleLoad"}};
    struct sn_buf buf = sn_buf_with_limit(256);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        sn_buf_clear(&buf);
        sn_dotnet_event_name(&buf, RUNTIME, names[i][0]);
        assert_string_equal(sn_buf_string(&buf), names[i][1]);
        assert_true(has_event(names[i][1]));
    }
    sn_buf_clear(&buf);
    sn_dotnet_event_name(&buf, "Shop", "GC/Stop"); /* a name of its own */
    assert_string_equal(sn_buf_string(&buf), "GCStop");
    sn_buf_done(&buf);
}

static void test_aliases(void **state)
{
    (void)state;
    assert_ptr_equal(sn_alias_find("/usr/bin/dotnet-trace"), sn_dotnet_trace_main);
    assert_ptr_equal(sn_alias_find("dotnet-trace"), sn_dotnet_trace_main);
    assert_null(sn_alias_find("/dotnet-trace/sonde"));
    assert_null(sn_alias_find(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings), cmocka_unit_test(test_switches_and_choices),
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_commands_behind),
        cmocka_unit_test(test_spans),     cmocka_unit_test(test_event_names),
        cmocka_unit_test(test_aliases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
