/* sonde check: what this user may do on this machine, each with the line that changes it. */
#include "cli/commands.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "cli/terminal.h"
#include "sonde/check.h"

#define OUTPUT_LIMIT (1u << 20)

struct arguments {
    uint64_t pid;
    const char *name;
    bool json;
};

static const struct sn_option options[] = {
    {'p', "process-id", SN_OPTION_NUMBER, offsetof(struct arguments, pid), "PID",
     "look at this process too"},
    {'n', "name", SN_OPTION_TEXT, offsetof(struct arguments, name), "NAME", "the same, by name"},
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL, "one JSON array"},
    SN_OPTIONS_END,
};

static const char *const words[] = {"yes", "partly", "no"};

static void print_finding(void *user, const struct sonde_finding *finding)
{
    (void)user;
    static const enum sn_style styles[] = {SN_STYLE_GOOD, SN_STYLE_WARN, SN_STYLE_BAD};
    sn_terminal_cell(stdout, styles[finding->verdict], words[finding->verdict], 8);
    sn_terminal_cell(stdout, SN_STYLE_BOLD, finding->what, 16);
    sn_terminal_put(stdout, SN_STYLE_NONE, finding->means);
    (void)fputs("\n                        ", stdout);
    sn_terminal_put(stdout, SN_STYLE_DIM, finding->detail);
    if (finding->fix[0]) {
        (void)fputs("\n                        fix: ", stdout);
        sn_terminal_put(stdout, SN_STYLE_NONE, finding->fix);
    }
    (void)putchar('\n');
}

static void write_finding(void *user, const struct sonde_finding *finding)
{
    struct sn_json *json = user;
    sn_json_object(json, NULL);
    sn_json_text(json, "what", finding->what);
    sn_json_text(json, "means", finding->means);
    sn_json_text(json, "verdict", words[finding->verdict]);
    sn_json_text(json, "detail", finding->detail);
    sn_json_text(json, "fix", finding->fix);
    sn_json_close(json);
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    uint32_t pid = 0;
    (void)operands;
    bool has_target = arguments->pid || arguments->name;
    if (has_target && sn_command_target(arguments->pid, arguments->name, &pid, &err) != SONDE_OK)
        return sn_command_fail(&err);
    if (!arguments->json)
        return sonde_check(pid, print_finding, NULL, &err) == SONDE_OK ? SN_EXIT_DONE
                                                                       : sn_command_fail(&err);
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    struct sn_json json = sn_json_to(&out);
    sn_json_array(&json, NULL);
    if (sonde_check(pid, write_finding, &json, &err) != SONDE_OK)
        return sn_command_fail(&err);
    sn_json_close(&json);
    return sn_terminal_flush(&out) ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

const struct sn_command sn_cmd_check = {
    .name = "check",
    .usage = "[-p PID | -n NAME] [--json]",
    .summary = "show what you may do here, to a process too, and the line that changes it",
    .examples = "  sonde check\n"
                "  sonde check -p 1234\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
