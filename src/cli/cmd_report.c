/* sonde report: what a saved trace says. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out_file.h"
#include "cli/terminal.h"
#include "sonde/report.h"

struct arguments {
    const char *view;
    const char *sections;
    const char *method;
    const char *cpu_record;
    const char *process;
    uint64_t from_ns;
    uint64_t to_ns;
    const char *html;
    uint64_t count;
    bool tree;
    bool framework;
    bool lines;
    bool json;
};

static const struct sn_option options[] = {
    {'v', "view", SN_OPTION_TEXT, offsetof(struct arguments, view), "VIEW",
     "cpu, wall, wait, alloc, exceptions, contention or samples"},
    {'s', "section", SN_OPTION_TEXT, offsetof(struct arguments, sections), "NAMES",
     "only these: file, methods, tree, threads, modules, gc, ..."},
    {'m', "method", SN_OPTION_TEXT, offsetof(struct arguments, method), "NAME",
     "callers and callees of what matches (a part, or with *)"},
    {'t', "tree", SN_OPTION_FLAG, offsetof(struct arguments, tree), NULL, "the call tree as well"},
    {'f', "framework", SN_OPTION_FLAG, offsetof(struct arguments, framework), NULL,
     "the framework's methods in lists with everything called"},
    {'l', "lines", SN_OPTION_FLAG, offsetof(struct arguments, lines), NULL,
     "source lines, where PDB files are at hand"},
    {'p', "process", SN_OPTION_TEXT, offsetof(struct arguments, process), "PID|NAME",
     "of a recording: only this process (a part of its name, or with *)"},
    {0, "from", SN_OPTION_DURATION, offsetof(struct arguments, from_ns), "TIME",
     "only what happens from then on: 12.5 or 1m30s after its start"},
    {0, "to", SN_OPTION_DURATION, offsetof(struct arguments, to_ns), "TIME",
     "only what happens before then"},
    {0, "cpu-record", SN_OPTION_TEXT, offsetof(struct arguments, cpu_record), "FILE",
     "the CPU record (the trace's name with .cpu)"},
    {'c', "count", SN_OPTION_NUMBER, offsetof(struct arguments, count), "N",
     "rows of each list (15)"},
    {0, "html", SN_OPTION_TEXT, offsetof(struct arguments, html), "FILE",
     "write one page with a flame graph; - for standard output"},
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL, "print JSON"},
    SN_OPTIONS_END,
};

static void sonde_report_free_auto(struct sonde_report **slot)
{
    sonde_report_free(*slot);
}

/* Where nobody looks, names are not cut; unless COLUMNS says how wide it shall be. */
static unsigned width_of_output(void)
{
    enum { WIDE = 200, WIDEST = 10000 };
    const char *asked = getenv("COLUMNS");
    uint64_t columns = sn_terminal_width(stdout);
    if (!columns && (!asked || !sn_text_to_u64(asked, WIDEST, &columns) || !columns))
        columns = WIDE;
    return (unsigned)columns;
}

static int show_of(const struct arguments *arguments, struct sonde_report_show *show,
                   struct sonde_error *err)
{
    *show = (struct sonde_report_show){
        .size = sizeof(*show),
        .format = arguments->html   ? SONDE_REPORT_HTML
                  : arguments->json ? SONDE_REPORT_JSON
                                    : SONDE_REPORT_TEXT,
        .sections = arguments->sections,
        .view = arguments->view,
        .count = arguments->count > UINT32_MAX ? UINT32_MAX : (uint32_t)arguments->count,
        .method = arguments->method,
        .with_tree = arguments->tree,
        .with_framework = arguments->framework,
        .has_colour = !arguments->html && sn_terminal_has_colour(stdout),
        .width = width_of_output(),
    };
    if (arguments->html && (arguments->method || arguments->tree))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "the page shows callers and call trees by itself: without --method and "
                       "--tree");
    if (arguments->html && arguments->json)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "give --html or --json, not both");
    if (arguments->view && sonde_view_find(arguments->view) < 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no view '%.64s'; see --help",
                       arguments->view);
    return SONDE_OK;
}

/* Damaged or cut: something came, but not all of it. */
static int exit_code(const struct sonde_report *report)
{
    struct sonde_file_totals totals;
    sonde_summary_totals(sonde_report_summary(report), &totals);
    return totals.is_cut || totals.damage_count ? SN_EXIT_PARTIAL : SN_EXIT_DONE;
}

static int write_out(void *user, const void *bytes, size_t size)
{
    struct sonde_error err = {0}; /* the library says that writing failed */
    return sn_out_file_write(user, bytes, size, &err);
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    struct sonde_report_show show;
    if (operands->count != 1)
        (void)sn_fail(&err, SONDE_E_ARGUMENT, 0, "which file? 'sonde report FILE'");
    else
        (void)show_of(arguments, &show, &err);
    if (err.status)
        return sn_command_fail(&err);
    SN_AUTO(sonde_report_free) struct sonde_report *report = NULL;
    const struct sonde_report_options reading = {.size = sizeof(reading),
                                                 .with_lines = arguments->lines,
                                                 .cpu_record = arguments->cpu_record,
                                                 .process = arguments->process,
                                                 .from_ns = arguments->from_ns,
                                                 .to_ns = arguments->to_ns};
    if (sonde_report_read(operands->words[0], &reading, &report, &err) != SONDE_OK)
        return sn_command_fail(&err);
    SN_AUTO(sn_out_file_close) struct sn_out_file output = {.fd = -1};
    const char *const inputs[] = {operands->words[0], arguments->cpu_record, NULL};
    int rc = sn_out_file_open(&output, arguments->html ? arguments->html : "-", inputs, &err);
    if (rc == SONDE_OK)
        rc = sonde_report_write(report, &show, write_out, &output, &err);
    if (rc == SONDE_OK)
        rc = sn_out_file_finish(&output, &err);
    return rc == SONDE_OK ? exit_code(report) : sn_command_fail(&err);
}

const struct sn_command sn_cmd_report = {
    .name = "report",
    .usage = "FILE [--view VIEW] [--method NAME] [--tree] [--html FILE] [--json] ...",
    .summary = "say what a trace or recording holds: hot methods, collections, waits, requests",
    .examples = "  sonde report shop.nettrace\n"
                "  sonde report machine.sonde.zip --process shop\n"
                "  sonde report shop.nettrace --view alloc --tree\n"
                "  sonde report shop.nettrace --method 'Shop.Tax.*'\n"
                "  sonde report shop.nettrace --html shop.html\n"
                "  sonde report shop.nettrace --json | jq .gc\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 1,
    .is_offline = true,
    .run = run,
};
