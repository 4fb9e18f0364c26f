/* sonde counters: counters and metrics of processes, live. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/commands.h"
#include "cli/counters_views.h"
#include "cli/entrance.h"
#include "cli/remote.h"
#include "cli/remote_counters.h"
#include "cli/remote_processes.h"
#include "cli/scope_options.h"
#include "cli/signals.h"
#include "cli/terminal.h"

struct arguments {
    struct sn_option_list pids;
    struct sn_option_list names;
    bool all;
    struct sn_option_list counters;
    uint64_t refresh_ns;
    uint64_t interval_ns;
    const char *format;
    bool json;
    const char *output;
    uint64_t duration_ns;
    bool once;
    uint64_t max_series;
    uint64_t max_histograms;
    uint64_t meters_age_ns;
    bool no_kernel;
    bool no_runtimes;
    bool no_provisional;
    bool plain;
    struct sn_remote_choice remote;
};

#define SHORTEST_NS (100ull * SN_NS_PER_MS)
#define LONGEST_NS  (3600ull * SN_NS_PER_SECOND)
#define LISTED      20u

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'p', "process-id", SN_OPTION_LIST, AT(pids), "PID,...",
     "these processes; may be given several times"},
    {'n', "name", SN_OPTION_LIST, AT(names), "NAME",
     "processes of this name, those to come too; likewise"},
    {'a', "all", SN_OPTION_FLAG, AT(all), NULL, "every .NET process, those to come too"},
    {0, "counters", SN_OPTION_LIST, AT(counters), "LIST",
     "Provider[counter,...],...: meters or EventSources"},
    {0, "refresh-interval", SN_OPTION_DURATION, AT(refresh_ns), "TIME",
     "a value every so often; 1s if not given"},
    {0, "interval", SN_OPTION_DURATION, AT(interval_ns), "TIME", "the same"},
    {0, "format", SN_OPTION_TEXT, AT(format), "FORMAT", "text, csv, json, ndjson or prom"},
    {0, "json", SN_OPTION_FLAG, AT(json), NULL, "the same as --format ndjson"},
    {'o', "output", SN_OPTION_TEXT, AT(output), "FILE",
     "write there; its ending is the format if none is given"},
    {0, "duration", SN_OPTION_DURATION, AT(duration_ns), "TIME",
     "stop after 30s, 5m, or dd:hh:mm:ss"},
    {0, "once", SN_OPTION_FLAG, AT(once), NULL, "the first values of all, then the end"},
    {0, "max-series", SN_OPTION_NUMBER, AT(max_series), "COUNT",
     "of meters, held in the target; 1000"},
    {0, "max-histograms", SN_OPTION_NUMBER, AT(max_histograms), "COUNT",
     "of meters, held in the target; 20"},
    {0, "meters-age", SN_OPTION_DURATION, AT(meters_age_ns), "TIME",
     "ask a process for meters when it is that old; 30s, with -p 5s"},
    {0, "no-kernel", SN_OPTION_FLAG, AT(no_kernel), NULL,
     "leave out what the kernel tells of the process"},
    {0, "no-runtimes", SN_OPTION_FLAG, AT(no_runtimes), NULL, "only that: ask no runtime"},
    {0, "no-provisional", SN_OPTION_FLAG, AT(no_provisional), NULL,
     "no early values over a short first interval"},
    {0, "plain", SN_OPTION_FLAG, AT(plain), NULL, "lines also on a terminal; so into a pipe"},
    SN_REMOTE_OPTIONS(AT(remote)),
    SN_OPTIONS_END,
};

/* --- which processes --- */

/* Its end tells processes apart; the beginning is often the same "dotnet". */
static void put_command(const char *command)
{
    int left = (int)sn_terminal_width(stderr) - 9 - 2 - 24 - 2;
    if (sn_terminal_width(stderr))
        sn_terminal_cell_end(stderr, SN_STYLE_DIM, command, left > 10 ? left : 10);
    else
        sn_terminal_put(stderr, SN_STYLE_NONE, command);
}

static void print_choice(const struct sonde_process_list *list)
{
    size_t count = sonde_process_list_count(list);
    for (size_t i = 0; i < count && i < LISTED; i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        (void)fprintf(stderr, "%9" PRIu32 "  ", process->pid);
        sn_terminal_cell(stderr, SN_STYLE_BOLD, process->name, 24);
        (void)fputs("  ", stderr);
        put_command(process->command_line);
        (void)fputc('\n', stderr);
    }
    if (count > LISTED)
        (void)fprintf(stderr, "%9s  and %zu more\n", "...", count - LISTED);
}

/* The only one there is; of several none is better than the others. */
static int take_only(struct sn_pid_list *pids, struct sonde_error *err)
{
    struct sonde_process_list *list = NULL;
    int rc = sonde_process_list_new(&list, err);
    if (rc != SONDE_OK)
        return rc;
    size_t reachable = 0;
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (process->is_reachable && ++reachable)
            pids->items[0] = process->pid;
    }
    pids->count = 1;
    if (reachable != 1) {
        print_choice(list);
        rc = reachable
                 ? sn_fail(err, SONDE_E_ARGUMENT, 0, "which process? give -p PID, -n NAME or --all")
                 : sn_fail(err, SONDE_E_NOT_FOUND, 0,
                           "there is no .NET process that answers; 'sonde ps' says why");
    }
    sonde_process_list_free(list);
    return rc;
}

static bool has_scope(const struct arguments *arguments)
{
    return arguments->pids.count || arguments->names.count || arguments->all;
}

/* The only one where the controller is. */
static int take_only_remote(struct sn_remote *remote, struct sn_pid_list *pids,
                            struct sonde_error *err)
{
    pids->count = 1;
    return sn_remote_processes_choose(remote, 0, NULL, &pids->items[0], err);
}

static int choose_processes(const struct arguments *arguments, const struct sn_operands *operands,
                            struct sn_remote *remote, struct sn_pid_list *pids,
                            struct sonde_error *err)
{
    if (operands->command && has_scope(arguments))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "give processes or a command, not both");
    if (operands->command)
        return SONDE_OK; /* its pid is known when it runs */
    if (!has_scope(arguments))
        return remote ? take_only_remote(remote, pids, err) : take_only(pids, err);
    return sn_pid_list_read(pids, &arguments->pids, err);
}

/* --- how they are shown --- */

enum way { WAY_TEXT, WAY_FORMAT, WAY_PROMETHEUS };

static int choose_way(const struct arguments *arguments, enum way *ret_way,
                      const struct sn_counter_format **ret_format, struct sonde_error *err)
{
    static const struct sn_counter_format *const formats[] = {&sn_counter_csv, &sn_counter_json,
                                                              &sn_counter_ndjson, NULL};
    const char *ending = arguments->output ? strrchr(arguments->output, '.') : NULL;
    const char *format = arguments->json ? "ndjson" : arguments->format;
    const char *name = format ? format : ending ? ending + 1 : "text";
    if (arguments->json && arguments->format && strcmp(arguments->format, "ndjson") != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--json is --format ndjson: not --format %.32s as well", arguments->format);
    *ret_way = strcmp(name, "prom") == 0 ? WAY_PROMETHEUS : WAY_TEXT;
    for (size_t i = 0; formats[i]; i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            *ret_way = WAY_FORMAT;
            *ret_format = formats[i];
        }
    }
    if (*ret_way == WAY_TEXT && arguments->format && strcmp(name, "text") != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--format %.32s: there are text, csv, json, ndjson and prom", name);
    if (*ret_way == WAY_TEXT && arguments->output)
        return sn_fail(
            err, SONDE_E_ARGUMENT, 0,
            "-o: a file that ends in .csv, .json, .ndjson or .prom, or --format says which "
            "of them it is");
    return SONDE_OK;
}

/* Text: the terminal if it can, else lines. */
static int show_text(struct sn_counters_run *run, bool plain, struct sonde_error *err)
{
    struct sn_counters_screen screen = {0};
    struct sn_counters_lines lines = {0};
    bool has_terminal = !plain && !run->once && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
    if (has_terminal) {
        run->view = &sn_counters_screen_view;
        run->user = &screen;
        int rc = sn_counters_run(run, err);
        if (rc != SONDE_E_UNSUPPORTED)
            return rc;
        sn_terminal_put(stderr, SN_STYLE_WARN, err->text);
        (void)fputs(": plain lines instead\n", stderr);
        *err = (struct sonde_error){0};
    }
    run->view = &sn_counters_lines_view;
    run->user = &lines;
    return sn_counters_run(run, err);
}

static int show_format(struct sn_counters_run *run, const struct sn_counter_format *format,
                       const char *output, struct sonde_error *err)
{
    struct sn_counters_writer writer = {
        .format = format,
        .path = output,
        .document = {.process = "",
                     .has_many =
                         run->options.all || run->options.name_count || run->options.pid_count > 1,
                     .interval_ns = sn_counters_interval_ns(run)},
    };
    run->options.no_provisional =
        run->options.no_provisional || run->once || !format->takes_provisional;
    run->options.with_rates = run->once && !format->takes_total;
    run->view = &sn_counters_write_view;
    run->user = &writer;
    return sn_counters_run(run, err);
}

static int show_prometheus(struct sn_counters_run *run, const char *output, struct sonde_error *err)
{
    struct sn_counters_prometheus prometheus = {.path = output};
    run->options.no_provisional = true;
    run->view = &sn_counters_prometheus_view;
    run->user = &prometheus;
    return sn_counters_run(run, err);
}

static int watch(const struct arguments *arguments, struct sn_counters_run *run,
                 struct sonde_error *err)
{
    enum way way = WAY_TEXT;
    const struct sn_counter_format *format = NULL;
    int rc = choose_way(arguments, &way, &format, err);
    if (rc != SONDE_OK)
        return rc;
    switch (way) {
    case WAY_FORMAT: return show_format(run, format, arguments->output, err);
    case WAY_PROMETHEUS: return show_prometheus(run, arguments->output, err);
    default: return show_text(run, arguments->plain, err);
    }
}

/* --- the rest --- */

static int check_numbers(const struct arguments *arguments, struct sonde_error *err)
{
    uint64_t interval = arguments->interval_ns ? arguments->interval_ns : arguments->refresh_ns;
    if (arguments->interval_ns && arguments->refresh_ns)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--interval and --refresh-interval are the same: give one");
    if (interval && (interval < SHORTEST_NS || interval > LONGEST_NS))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--interval: from 100ms to 1h");
    if (arguments->max_series > INT32_MAX || arguments->max_histograms > INT32_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--max-series, --max-histograms: too many");
    if (arguments->no_kernel && arguments->no_runtimes)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--no-kernel --no-runtimes leaves nothing");
    return SONDE_OK;
}

static struct sonde_counters_options counter_options(const struct arguments *arguments,
                                                     const struct sn_pid_list *pids)
{
    return (struct sonde_counters_options){
        .pids = pids->items,
        .pid_count = pids->count,
        .names = arguments->names.items,
        .name_count = arguments->names.count,
        .all = arguments->all,
        .counters = arguments->counters.items,
        .counter_count = arguments->counters.count,
        .interval_ns = arguments->interval_ns ? arguments->interval_ns : arguments->refresh_ns,
        .max_series = (uint32_t)arguments->max_series,
        .max_histograms = (uint32_t)arguments->max_histograms,
        .meters_age_ns = arguments->meters_age_ns,
        .no_kernel = arguments->no_kernel,
        .no_runtime = arguments->no_runtimes,
        .no_provisional = arguments->no_provisional,
    };
}

/* A started program that ended counts with its own word; one that runs goes on. */
static int finish(const struct sn_counters_run *run, const struct sn_operands *operands)
{
    int code = run->entrance ? sn_entrance_exit_code(run->entrance) : -1;
    if (code > 0) {
        sn_terminal_put(stderr, SN_STYLE_NONE, operands->command[0]);
        (void)fprintf(stderr, " ended with %d\n", code);
    } else if (run->entrance && code < 0) {
        (void)fprintf(stderr, "pid %" PRIu32 " goes on\n", run->entrance->pid);
    }
    if (code >= 0)
        return code;
    if (run->was_stopped)
        return SN_EXIT_DONE;
    if (run->found_nobody)
        return SN_EXIT_NO_TARGET;
    return sn_counters_is_fruitless(run) ? SN_EXIT_PARTIAL : SN_EXIT_DONE;
}

/* With signals taken, everything is chosen: starts what is to be started, then watches. */
static int start(const struct arguments *arguments, const struct sn_operands *operands,
                 struct sn_counters_run *run, struct sn_pid_list *pids, struct sonde_error *err)
{
    int rc = SONDE_OK;
    if (operands->command) {
        run->entrance->signals = run->signals;
        rc = sn_entrance_launch(run->entrance, operands->command, err);
        pids->items[0] = run->entrance->pid;
        pids->count = 1;
        run->options.pid_count = 1;
    } else {
        run->entrance = NULL;
    }
    return rc == SONDE_OK ? watch(arguments, run, err) : rc;
}

/* One that was not named serves only who asks for what it watches anyway. */
static int find_remote(const struct arguments *arguments, const struct sn_operands *operands,
                       int signals, struct sn_remote **ret_remote, struct sonde_error *err)
{
    struct sn_pid_list none = {0};
    struct sonde_counters_options wanted = counter_options(arguments, &none);
    if (operands->command)
        return sn_remote_refuse(&arguments->remote, "a command", err);
    int rc = sn_remote_open(&arguments->remote, sn_remote_counters_suit(&wanted), signals,
                            ret_remote, err);
    if (*ret_remote && !(*ret_remote)->is_named &&
        !sn_remote_counters_are_same(*ret_remote, &wanted))
        sn_remote_close(SN_TAKE(*ret_remote));
    return rc;
}

static bool has_pid(const struct sn_pid_list *pids, uint32_t pid)
{
    for (size_t i = 0; i < pids->count; i++) {
        if (pids->items[i] == pid)
            return true;
    }
    return false;
}

/* A controller asks a young process for its meters later than we do when it is named. */
static bool has_young(const struct sn_pid_list *pids)
{
    struct sonde_process_list *list = NULL;
    bool is_there = false;
    if (!pids->count || sonde_process_list_new(&list, NULL) != SONDE_OK)
        return false;
    for (size_t i = 0; i < sonde_process_list_count(list) && !is_there; i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        is_there = process->is_reachable && process->up_ns < SONDE_METERS_AGE_NS &&
                   has_pid(pids, process->pid);
    }
    sonde_process_list_free(list);
    return is_there;
}

/* A controller that nobody asked for gives way where we serve better. */
static int choose_source(const struct arguments *arguments, const struct sn_operands *operands,
                         struct sn_remote **remote, struct sn_pid_list *pids,
                         struct sonde_error *err)
{
    int rc = choose_processes(arguments, operands, *remote, pids, err);
    if (!*remote || (*remote)->is_named || (rc == SONDE_OK && !has_young(pids)))
        return rc;
    sn_remote_close(SN_TAKE(*remote));
    *err = (struct sonde_error){0};
    *pids = (struct sn_pid_list){0};
    return choose_processes(arguments, operands, NULL, pids, err);
}

static int run_counters(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    struct sn_pid_list pids = {0};
    struct sn_entrance entrance = {0};
    SN_AUTO(sn_close) int signals = -1;
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    int rc = check_numbers(arguments, &err);
    if (rc == SONDE_OK)
        rc = sn_signals_open(&signals, &err);
    if (rc == SONDE_OK)
        rc = find_remote(arguments, operands, signals, &remote, &err);
    if (rc == SONDE_OK)
        rc = choose_source(arguments, operands, &remote, &pids, &err);
    if (rc != SONDE_OK)
        return sn_command_fail(&err);
    struct sn_counters_run run = {
        .options = counter_options(arguments, &pids),
        .duration_ns = arguments->duration_ns,
        .once = arguments->once,
        .entrance = &entrance,
        .signals = signals,
        .remote = remote,
    };
    if (run.once && !run.options.meters_age_ns && !remote) /* nobody waits 30 s for one look */
        run.options.meters_age_ns = SONDE_METERS_AGE_LEAST_NS;
    rc = start(arguments, operands, &run, &pids, &err);
    int code = rc == SONDE_OK ? finish(&run, operands) : sn_command_fail(&err);
    sn_entrance_done(&entrance);
    return code;
}

const struct sn_command sn_cmd_counters = {
    .name = "counters",
    .usage = "[options] [-- COMMAND...]",
    .summary = "show counters and metrics live: of runtimes, programs and the kernel",
    .examples = "  sonde counters\n"
                "  sonde counters -n shop --counters 'System.Runtime,MyShop[orders]'\n"
                "  sonde counters -p 1234 --format csv -o shop.csv --duration 5m\n"
                "  sonde counters --all --format prom -o /var/lib/node_exporter/dotnet.prom\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run_counters,
};
