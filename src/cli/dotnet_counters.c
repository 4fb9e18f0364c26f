#include "cli/dotnet_counters.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/counters_views.h"
#include "cli/dotnet_trace.h"
#include "cli/entrance.h"
#include "cli/keyboard.h"
#include "cli/signals.h"
#include "cli/terminal.h"

/* The release whose behaviour this is, and who behaves so. */
#define VERSION "10.0.75+sonde." SONDE_VERSION

#define TEXT_LIMIT    65536u
#define DEFAULT_LIST  "System.Runtime"
#define EXIT_NOT_LIST 1 /* what `list` ends with, having pointed elsewhere */

enum format { FORMAT_CSV, FORMAT_JSON };

/* Of monitor and collect; each uses its own part. */
struct arguments {
    struct sn_dotnet_attach attach;
    const char *counters;
    int32_t interval_s;
    int32_t max_histograms;
    int32_t max_series;
    uint64_t duration_ns;
    int resume_runtime;
    int show_deltas;
    int abbreviate;
    int format;
    const char *output;
};

/* One run of a verb. */
struct watch {
    const struct arguments *arguments;
    char **child;
    uint32_t pid;
    struct sn_entrance entrance;
    struct sn_counters_run run;
    struct sn_buf file; /* its name */
};

/* --- which process --- */

static int fail(const struct sonde_error *err)
{
    bool is_argument = err->status == SONDE_E_ARGUMENT;
    return sn_dotnet_fail(is_argument ? SN_DOTNET_ARGUMENT : SN_DOTNET_SESSION, "%s", err->text);
}

static int check_numbers(const struct arguments *arguments)
{
    if (arguments->max_histograms < 0)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "Argument --maxHistograms must be non-negative");
    if (arguments->max_series < 0)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "Argument --maxTimeSeries must be non-negative");
    if (arguments->interval_s <= 0)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "Argument --refresh-interval must be positive");
    return SN_DOTNET_OK;
}

static int wait_at_port(struct watch *watch, const char *path)
{
    struct sonde_error err = {0};
    (void)printf(
        "Waiting for connection on %s\nStart an application with the following environment "
        "variable: DOTNET_DiagnosticPorts=%s\n",
        path, path);
    (void)fflush(stdout);
    int rc = sn_entrance_listen(&watch->entrance, path,
                                watch->arguments->resume_runtime == SN_NET_OFF, &err);
    return rc == SONDE_OK ? SN_DOTNET_OK : fail(&err);
}

/* Finds the process, starts it, or waits for it. */
static int find_process(struct watch *watch)
{
    const char *port = watch->arguments->attach.port;
    struct sonde_error err = {0};
    watch->entrance.signals = watch->run.signals;
    int code = sn_dotnet_attach(&watch->arguments->attach, watch->child != NULL, &watch->pid);
    if (code != SN_DOTNET_OK)
        return code;
    if (watch->child) {
        if (sn_entrance_launch(&watch->entrance, watch->child, &err) != SONDE_OK)
            return fail(&err);
    } else if (port && *port) {
        SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(TEXT_LIMIT);
        code = sn_dotnet_resolve_port(port, &path, &watch->pid);
        if (code == SN_DOTNET_OK && !watch->pid)
            code = wait_at_port(watch, sn_buf_string(&path));
    }
    if (watch->entrance.tracer) {
        watch->pid = watch->entrance.pid;
        watch->run.entrance = &watch->entrance;
    }
    return code;
}

/* --- running --- */

static void fill_options(struct watch *watch)
{
    static const char *const by_default[] = {DEFAULT_LIST};
    const struct arguments *arguments = watch->arguments;
    bool is_default = !arguments->counters;
    if (is_default)
        (void)puts("--counters is unspecified. Monitoring System.Runtime counters by default.");
    (void)fflush(stdout);
    watch->run.duration_ns = arguments->duration_ns;
    watch->run.is_terse = true;
    watch->run.options = (struct sonde_counters_options){
        .pids = &watch->pid,
        .pid_count = 1,
        .counters = is_default ? by_default : &arguments->counters,
        .counter_count = 1,
        .interval_ns = (uint64_t)arguments->interval_s * SN_NS_PER_SECOND,
        .max_series = (uint32_t)arguments->max_series,
        .max_histograms = (uint32_t)arguments->max_histograms,
        .no_kernel = true,
    };
}

/* A program that outlives its session is ended. */
static void end_child(struct watch *watch)
{
    if (watch->child && watch->entrance.tracer && sn_entrance_exit_code(&watch->entrance) < 0)
        (void)kill((pid_t)watch->entrance.pid, SIGKILL);
    sn_entrance_done(&watch->entrance);
}

static int with_process(const struct sn_net_line *line, int (*show)(struct watch *watch))
{
    struct sonde_error err = {0};
    SN_AUTO(sn_close) int signals = -1;
    struct watch watch = {
        .arguments = line->arguments, .child = line->child, .file = sn_buf_with_limit(TEXT_LIMIT)};
    int code = check_numbers(watch.arguments);
    if (code == SN_DOTNET_OK && sn_signals_open(&signals, &err) != SONDE_OK)
        code = fail(&err);
    watch.run.signals = signals;
    if (code == SN_DOTNET_OK)
        code = find_process(&watch);
    if (code == SN_DOTNET_OK) {
        fill_options(&watch);
        code = show(&watch);
    }
    end_child(&watch);
    sn_buf_done(&watch.file);
    return code;
}

/* --- monitor --- */

static int show_monitor(struct watch *watch)
{
    struct sonde_error err = {0};
    struct sn_counters_lines lines = {0};
    struct sn_counters_screen screen = {
        .shows_deltas = watch->arguments->show_deltas == SN_NET_ON,
        .shows_whole = watch->arguments->abbreviate == SN_NET_OFF,
    };
    int rc = SONDE_E_UNSUPPORTED;
    watch->run.view = &sn_counters_screen_view;
    watch->run.user = &screen;
    if (isatty(STDOUT_FILENO) && isatty(STDIN_FILENO))
        rc = sn_counters_run(&watch->run, &err);
    if (rc == SONDE_E_UNSUPPORTED) {
        err = (struct sonde_error){0};
        watch->run.view = &sn_counters_lines_view;
        watch->run.user = &lines;
        rc = sn_counters_run(&watch->run, &err);
    }
    return rc == SONDE_OK ? SN_DOTNET_OK : fail(&err);
}

static int run_monitor(const struct sn_net_line *line)
{
    return with_process(line, show_monitor);
}

/* --- collect --- */

static void name_file(struct sn_buf *to, const char *given, const char *ending)
{
    size_t size = strlen(given);
    size_t tail = strlen(ending);
    bool has_it = size >= tail && strcmp(given + size - tail, ending) == 0;
    sn_buf_format(to, "%s%s", given, has_it ? "" : ending);
}

static void say_file(const char *before, const char *path, const char *after)
{
    (void)fputs(before, stdout);
    sn_terminal_put(stdout, SN_STYLE_NONE, path);
    (void)puts(after);
    (void)fflush(stdout);
}

static int write_file(struct watch *watch, struct sonde_error *err)
{
    struct sn_dotnet_process process;
    struct sn_keyboard keyboard;
    sn_dotnet_process_read(watch->pid, &process);
    struct sn_counters_writer writer = {
        .format = watch->arguments->format == FORMAT_JSON ? &sn_counter_json : &sn_counter_csv,
        .document = {.process = process.name, .interval_ns = watch->run.options.interval_ns},
        .path = sn_buf_string(&watch->file),
    };
    watch->run.options.no_provisional = true;
    watch->run.view = &sn_counters_write_view;
    watch->run.user = &writer;
    (void)puts("Starting a counter session. Press Q to quit.");
    (void)fflush(stdout);
    watch->run.reads_keys = sn_keyboard_open(&keyboard);
    int rc = sn_counters_run(&watch->run, err);
    sn_keyboard_close(&keyboard);
    return rc;
}

static int show_collect(struct watch *watch)
{
    const struct arguments *arguments = watch->arguments;
    struct sonde_error err = {0};
    if (!*arguments->output)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "Output cannot be an empty string");
    name_file(&watch->file, arguments->output, arguments->format == FORMAT_JSON ? ".json" : ".csv");
    const char *path = sn_buf_string(&watch->file);
    if (access(path, F_OK) == 0)
        say_file("[Warning] ", path, " already exists. This file will be overwritten.");
    int rc = write_file(watch, &err);
    if (rc != SONDE_OK)
        return fail(&err);
    say_file("File saved to ", path, "");
    return SN_DOTNET_OK;
}

static int run_collect(const struct sn_net_line *line)
{
    return with_process(line, show_collect);
}

/* --- list --- */

static int run_list(const struct sn_net_line *line)
{
    (void)line;
    (void)puts("Counters that .NET itself has are described online:\n"
               "https://learn.microsoft.com/dotnet/core/diagnostics/built-in-metrics\n"
               "'sonde counters' shows those that a process has.");
    return EXIT_NOT_LIST;
}

/* --- the tool --- */

static const struct arguments defaults = {
    .interval_s = 1, .max_histograms = 10, .max_series = 1000, .output = "counter"};

#define AT(member) offsetof(struct arguments, member)

#define COMMON_OPTIONS                                                                               \
    {"--counters",                                                                                   \
     NULL,                                                                                           \
     SN_NET_TEXT,                                                                                    \
     AT(counters),                                                                                   \
     NULL,                                                                                           \
     false,                                                                                          \
     "Providers, separated by commas: Name or Name[counter,counter], of a meter or else an "         \
     "EventSource; EventCounters\\Name for the EventSource."},                                       \
        {"--process-id", "-p", SN_NET_INT, AT(attach.pid), NULL, false, "The process, by its pid."}, \
        {"--refresh-interval",                                                                       \
         NULL,                                                                                       \
         SN_NET_INT,                                                                                 \
         AT(interval_s),                                                                             \
         NULL,                                                                                       \
         false,                                                                                      \
         "Seconds between values. [default: 1]"},                                                    \
        {"--name", "-n", SN_NET_TEXT, AT(attach.name), NULL, false, "The process, by its name."},    \
        {"--diagnostic-port",                                                                        \
         "--dport",                                                                                  \
         SN_NET_TEXT,                                                                                \
         AT(attach.port),                                                                            \
         NULL,                                                                                       \
         false,                                                                                      \
         "The process, by its diagnostic port: PATH,connect, or one to wait at: PATH[,listen]."},    \
        {"--resume-runtime",                                                                         \
         NULL,                                                                                       \
         SN_NET_SWITCH,                                                                              \
         AT(resume_runtime),                                                                         \
         NULL,                                                                                       \
         false,                                                                                      \
         "Let a suspended runtime go once the session is there. [default: True]"},                   \
        {"--maxHistograms",                                                                          \
         NULL,                                                                                       \
         SN_NET_INT,                                                                                 \
         AT(max_histograms),                                                                         \
         NULL,                                                                                       \
         false,                                                                                      \
         "How many histograms the process keeps for us. [default: 10]"},                             \
        {"--maxTimeSeries",                                                                          \
         NULL,                                                                                       \
         SN_NET_INT,                                                                                 \
         AT(max_series),                                                                             \
         NULL,                                                                                       \
         false,                                                                                      \
         "How many time series it keeps. [default: 1000]"},                                          \
        {"--duration",                                                                               \
         NULL,                                                                                       \
         SN_NET_SPAN,                                                                                \
         AT(duration_ns),                                                                            \
         NULL,                                                                                       \
         false,                                                                                      \
         "How long to watch: dd:hh:mm:ss."},                                                         \
    {                                                                                                \
        "--dsrouter", NULL, SN_NET_TEXT, AT(attach.router), NULL, false,                             \
            "Not offered by sonde: start dotnet-dsrouter yourself and use -p."                       \
    }

static const struct sn_net_option monitor_options[] = {
    COMMON_OPTIONS,
    {"--showDeltas", NULL, SN_NET_SWITCH, AT(show_deltas), NULL, false,
     "A column of what has changed since the value before."},
    {"--abbreviateLargeNumbers", NULL, SN_NET_SWITCH, AT(abbreviate), NULL, false,
     "Scale numbers by their unit. [default: True]"},
    SN_NET_OPTIONS_END,
};

static const struct sn_net_choice formats[] = {
    {"csv", FORMAT_CSV}, {"json", FORMAT_JSON}, {NULL, 0}};

static const struct sn_net_option collect_options[] = {
    COMMON_OPTIONS,
    {"--format", NULL, SN_NET_CHOICE, AT(format), formats, false,
     "The format of the file. [default: csv]"},
    {"--output", "-o", SN_NET_TEXT, AT(output), NULL, false,
     "The file to write, '.csv' or '.json' behind it. [default: counter]"},
    SN_NET_OPTIONS_END,
};

struct list_arguments {
    const char *version;
};

static const struct sn_net_option list_options[] = {
    {"--runtime-version", "-r", SN_NET_TEXT, offsetof(struct list_arguments, version), NULL, false,
     "Passed over. [default: 6.0]"},
    SN_NET_OPTIONS_END,
};

static const struct sn_net_command monitor = {
    .name = "monitor",
    .path = "monitor ",
    .summary = "Shows counters of a running process, or of a program started behind '--', live.",
    .takes_command = true,
    .options = monitor_options,
    .arguments_size = sizeof(struct arguments),
    .defaults = &defaults,
    .run = run_monitor,
};

static const struct sn_net_command collect = {
    .name = "collect",
    .path = "collect ",
    .summary = "Writes counters of a running process, or of a program started behind '--', into a "
               "file.",
    .takes_command = true,
    .options = collect_options,
    .arguments_size = sizeof(struct arguments),
    .defaults = &defaults,
    .run = run_collect,
};

static const struct sn_net_command list = {
    .name = "list",
    .path = "list ",
    .summary = "Says where counters are described.",
    .options = list_options,
    .arguments_size = sizeof(struct list_arguments),
    .run = run_list,
};

static const struct sn_net_command ps = {
    .name = "ps",
    .path = "ps ",
    .summary = "Lists the .NET processes that can be watched.",
    .run = sn_dotnet_run_ps,
};

static const struct sn_net_command *const commands[] = {&monitor, &collect, &list, &ps, NULL};

static const struct sn_net_command root = {
    .name = "dotnet-counters",
    .path = "",
    .summary = "Shows and records counters of .NET processes: sonde, under dotnet-counters' name.",
    .children = commands,
};

int sn_dotnet_counters_main(int argc, char **argv)
{
    return sn_net_main(&root, "dotnet-counters", VERSION, argc, argv);
}
