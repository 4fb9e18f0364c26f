/* sonde top: what runs and what waits, live. */
#include "cli/commands.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/scope_options.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/top_view.h"
#include "sonde/top.h"

struct arguments {
    uint64_t interval_ns;
    struct sn_option_list pids;
    struct sn_option_list names;
    const char *cgroup;
    const char *frequency;
    const char *way;
    uint64_t window_ns;
    uint64_t rows;
    bool waits;
    bool no_runtimes;
    bool plain;
    bool once;
    bool json;
};

#define SHORTEST_NS  (100ull * SN_NS_PER_MS)
#define LONGEST_NS   (3600ull * SN_NS_PER_SECOND)
#define DEFAULT_ROWS 20u
#define BASELINE_NS  (1ull * SN_NS_PER_SECOND)
#define COST_NS      (4ull * SN_NS_PER_SECOND) /* sooner, the library cannot know the cost */

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'d', "interval", SN_OPTION_DURATION, AT(interval_ns), "TIME", "show anew every so often; 2s"},
    {'p', "process-id", SN_OPTION_LIST, AT(pids), "PID,...",
     "these processes and what they start; may be given several times"},
    {'n', "name", SN_OPTION_LIST, AT(names), "NAME",
     "processes of this name, those to come too; likewise"},
    {0, "cgroup", SN_OPTION_TEXT, AT(cgroup), "PATH", "the processes of a cgroup: a container"},
    {'F', "frequency", SN_OPTION_TEXT, AT(frequency), "HZ",
     "CPU samples per second and CPU; 249 if not given"},
    {0, "way", SN_OPTION_TEXT, AT(way), "WAY",
     "machine, threads or runtime; if not given, the best there is"},
    {0, "window", SN_OPTION_DURATION, AT(window_ns), "TIME", "numbers are over this time; 5s"},
    {0, "rows", SN_OPTION_NUMBER, AT(rows), "COUNT", "of plain tables and JSON; 20"},
    {'w', "waits", SN_OPTION_FLAG, AT(waits), NULL,
     "what waits, too: records each switch of a thread"},
    {0, "no-runtimes", SN_OPTION_FLAG, AT(no_runtimes), NULL,
     "ask no runtime: managed code has no names"},
    {0, "plain", SN_OPTION_FLAG, AT(plain), NULL, "tables, one below the other; so into a pipe"},
    {0, "once", SN_OPTION_FLAG, AT(once), NULL, "one table after one interval, then the end"},
    {0, "json", SN_OPTION_FLAG, AT(json), NULL, "a JSON object a line, one an interval"},
    SN_OPTIONS_END,
};

static void sonde_top_free_auto(struct sonde_top **slot)
{
    sonde_top_free(*slot);
}

static uint64_t interval_of(const struct arguments *arguments)
{
    return arguments->interval_ns ? arguments->interval_ns : 2ull * SN_NS_PER_SECOND;
}

/* Nobody waits for what cannot be known in the end. */
static uint64_t baseline_of(const struct arguments *arguments)
{
    return arguments->once && interval_of(arguments) < COST_NS ? 0 : BASELINE_NS;
}

static int check_times(const struct arguments *arguments, struct sonde_error *err)
{
    if (arguments->interval_ns &&
        (arguments->interval_ns < SHORTEST_NS || arguments->interval_ns > LONGEST_NS))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--interval: from 100ms to 1h");
    if (arguments->window_ns &&
        (arguments->window_ns < SHORTEST_NS || arguments->window_ns > LONGEST_NS))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--window: from 100ms to 1h");
    return SONDE_OK;
}

/* The terminal if it can, else tables; once and JSON are no view for one. */
static int show(struct sn_top_view *view, bool plain, struct sonde_error *err)
{
    if (plain || view->json || view->once || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
        return sn_top_print(view, err);
    int rc = sn_top_screen(view, err);
    if (rc != SONDE_E_UNSUPPORTED)
        return rc;
    sn_terminal_put(stderr, SN_STYLE_WARN, err->text);
    (void)fputs(": plain tables instead\n", stderr);
    *err = (struct sonde_error){0};
    return sn_top_print(view, err);
}

static int watch(const struct arguments *arguments, const struct sonde_top_options *chosen,
                 struct sonde_error *err)
{
    SN_AUTO(sonde_top_free) struct sonde_top *top = NULL;
    SN_AUTO(sn_close) int signals = -1;
    int rc = sn_signals_open(&signals, err);
    if (rc == SONDE_OK)
        rc = sonde_top_new(chosen, &top, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_top_view view = {
        .top = top,
        .chosen = *chosen,
        .signals = signals,
        .interval_ns = interval_of(arguments),
        .rows = arguments->rows ? arguments->rows : DEFAULT_ROWS,
        .json = arguments->json,
        .once = arguments->once,
        .has_scope = chosen->pid_count || chosen->name_count || chosen->cgroup,
    };
    rc = show(&view, arguments->plain, err);
    (void)SN_TAKE(top);
    sonde_top_free(view.top); /* the screen may have opened another */
    return rc;
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    struct sn_pid_list pids = {0};
    struct sonde_top_options chosen = {.size = sizeof(chosen),
                                       .pids = pids.items,
                                       .names = arguments->names.items,
                                       .name_count = arguments->names.count,
                                       .cgroup = arguments->cgroup,
                                       .window_ns = arguments->window_ns,
                                       .no_waits = !arguments->waits,
                                       .baseline_ns = baseline_of(arguments),
                                       .no_runtimes = arguments->no_runtimes};
    int rc =
        operands->command ? sn_fail(&err, SONDE_E_ARGUMENT, 0, "top takes no command") : SONDE_OK;
    if (rc == SONDE_OK)
        rc = sn_pid_list_read(&pids, &arguments->pids, &err);
    if (rc == SONDE_OK)
        rc = sn_pid_list_add_names(&pids, &arguments->names, &err);
    if (rc == SONDE_OK)
        rc = sn_way_read(arguments->way, &chosen.way, &err);
    if (rc == SONDE_OK)
        rc = sn_frequency_read(arguments->frequency, &chosen.frequency, &err);
    if (rc == SONDE_OK)
        rc = check_times(arguments, &err);
    chosen.pid_count = pids.count;
    if (rc == SONDE_OK)
        rc = watch(arguments, &chosen, &err);
    return rc == SONDE_OK ? SN_EXIT_DONE : sn_command_fail(&err);
}

const struct sn_command sn_cmd_top = {
    .name = "top",
    .usage = "[options]",
    .summary = "show live what runs and what waits: processes, then methods",
    .examples = "  sonde top\n"
                "  sonde top -n shop\n"
                "  sonde top --once --json -p 1234\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
