/* dotnet-trace collect: one process or one launched program into one file. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/dotnet_trace.h"
#include "cli/terminal.h"
#include "cli/trace_run.h"

#define TEXT_LIMIT 65536u

/* The value that --output has when nobody gives one. */
#define DEFAULT_OUTPUT "default"

#define DEFAULT_PROFILES "dotnet-common,dotnet-sampled-thread-time"
/* What a program that is not there or may not be run makes sonde say. */
#define NOT_STARTED "cannot start"

#define NAMES_RUNDOWN 0x80020139ull

enum buffering { BUFFERING_DROP, BUFFERING_BLOCK };

struct arguments {
    struct sn_dotnet_attach attach;
    const char *providers;
    const char *profiles;
    const char *clr_events;
    const char *clr_level;
    uint32_t buffer_mb;
    int format;
    const char *output;
    uint64_t duration_ns;
    int show_child_io;
    int resume_runtime;
    int rundown;
    int buffering;
    const char *stop_provider;
    const char *stop_event;
    const char *stop_payload;
};

/* One run of the verb. */
struct collection {
    const struct arguments *arguments;
    char **child;
    uint32_t pid;        /* 0 when a program is launched or waited for */
    const char *process; /* what "Process" shows */
    struct sn_dotnet_process found;
    struct sn_buf port; /* the path of one */
    struct sn_buf output;
    bool is_quiet;
    bool has_status; /* status lines stand on the terminal */
};

static void say(const struct collection *collection, const char *text)
{
    if (!collection->is_quiet)
        (void)puts(text);
    (void)fflush(stdout);
}

/* --- the process --- */

static bool has(const char *text)
{
    return text && *text;
}

static int resolve(struct collection *collection)
{
    const struct arguments *arguments = collection->arguments;
    if (!collection->child && arguments->show_child_io == SN_NET_ON) {
        (void)puts("--show-child-io must not be specified when attaching to a process");
        return SN_DOTNET_ARGUMENT;
    }
    return sn_dotnet_attach(&arguments->attach, collection->child != NULL, &collection->pid);
}

static bool waits_at_port(const struct collection *collection)
{
    return has(collection->arguments->attach.port) && !collection->pid;
}

/* --- the stopping event --- */

static int check_payload(const char *payload)
{
    for (const char *pair = payload; *pair;) {
        size_t size = strcspn(pair, ",");
        const char *colon = memchr(pair, ':', size);
        if (!colon || memchr(colon + 1, ':', size - (size_t)(colon + 1 - pair)))
            return 0;
        pair += size + (pair[size] == ',');
    }
    return 1;
}

static int check_stopping(const struct arguments *arguments)
{
    const char *wrong = NULL;
    if (!has(arguments->stop_provider) &&
        (has(arguments->stop_event) || has(arguments->stop_payload)))
        wrong = "--stopping-event-event-name and --stopping-event-payload-filter need "
                "--stopping-event-provider-name.";
    else if (!has(arguments->stop_event) && has(arguments->stop_payload))
        wrong = "--stopping-event-payload-filter needs --stopping-event-event-name.";
    else if (has(arguments->stop_payload) && !check_payload(arguments->stop_payload))
        wrong = "--stopping-event-payload-filter takes field:value pairs, separated by commas.";
    if (!wrong)
        return SN_DOTNET_OK;
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s\n", wrong);
    return SN_DOTNET_ARGUMENT;
}

/* --- the file --- */

/* <program>_<yyyyMMdd>_<HHmmss>.nettrace in the current folder, unless another name was given. */
static void choose_output(struct collection *collection)
{
    const char *given = collection->arguments->output;
    const char *name = given ? strrchr(given, '/') : NULL;
    name = name ? name + 1 : given;
    if (given && strcasecmp(name, DEFAULT_OUTPUT) != 0) {
        sn_dotnet_full_path(&collection->output, given);
        return;
    }
    char stamp[32];
    time_t now = time(NULL);
    struct tm parts;
    if (!localtime_r(&now, &parts))
        parts = (struct tm){.tm_mday = 1};
    (void)strftime(stamp, sizeof(stamp), "_%Y%m%d_%H%M%S.nettrace", &parts);
    const char *slash = strrchr(collection->process, '/');
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(TEXT_LIMIT);
    sn_buf_text(&file, slash ? slash + 1 : collection->process);
    sn_buf_text(&file, stamp);
    sn_dotnet_full_path(&collection->output, sn_buf_string(&file));
}

/* --- telling --- */

static void format_span(uint64_t ns, char to[32])
{
    uint64_t seconds = ns / SN_NS_PER_SECOND;
    (void)snprintf(to, 32, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 86400,
                   seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
}

static void tell_started(void *user, const struct sonde_tracer *tracer)
{
    struct collection *collection = user;
    struct sn_dotnet_process process;
    struct sonde_trace_stats stats;
    char span[32];
    sonde_tracer_stats(tracer, 0, &stats);
    if (collection->is_quiet)
        return;
    sn_dotnet_process_read(stats.pid, &process);
    (void)fputs("Process        : ", stdout);
    bool is_found = process.path[0] && !has(collection->arguments->attach.port);
    sn_terminal_put(stdout, SN_STYLE_NONE, is_found ? process.path : collection->process);
    (void)fputs("\nOutput File    : ", stdout);
    sn_terminal_put(stdout, SN_STYLE_NONE, sn_buf_string(&collection->output));
    (void)putchar('\n');
    if (collection->arguments->duration_ns) {
        format_span(collection->arguments->duration_ns, span);
        (void)printf("Trace Duration : %s\n", span);
    }
    say(collection, "");
}

static void format_size(uint64_t bytes, char to[32])
{
    static const char *const units[] = {"B", "KB", "MB", "GB"};
    uint64_t unit = 1;
    size_t index = 0;
    while (index < 3 && bytes > unit * 1000) {
        unit *= 1000;
        index++;
    }
    char number[24];
    (void)snprintf(number, sizeof(number), "%" PRIu64 ".%02" PRIu64, bytes / unit,
                   bytes % unit * 100 / unit);
    (void)snprintf(to, 32, "%-8s (%s)", number, units[index]);
}

static void tell_live(void *user, const struct sonde_tracer *tracer, bool is_stopping)
{
    struct collection *collection = user;
    struct sonde_trace_stats stats;
    char span[32];
    char size[32];
    if (is_stopping)
        return;
    sonde_tracer_stats(tracer, 0, &stats);
    format_span(stats.duration_ns, span);
    format_size(stats.byte_count, size);
    if (collection->has_status)
        (void)fputs("\x1b[2A", stdout); /* over the two lines of the last time */
    collection->has_status = true;
    (void)printf("\r\x1b[K[%s]\tRecording trace %s\n\r\x1b[KPress <Enter> or <Ctrl+C> to exit...\n",
                 span, size);
    (void)fflush(stdout);
}

static void tell_stopping(void *user, const struct sonde_tracer *tracer)
{
    (void)tracer;
    say(user, "Stopping the trace. This may take several minutes depending on the application "
              "being traced.");
}

/* The runtime's refusals are about the session; what else fails, fails in tracing. */
static int tell_failure(void *user, const struct sonde_error *err)
{
    const struct collection *collection = user;
    int code = err->status == SONDE_E_DENIED || err->status == SONDE_E_REFUSED ? SN_DOTNET_SESSION
                                                                               : SN_DOTNET_TRACING;
    if (waits_at_port(collection) && err->status == SONDE_E_GONE)
        return SN_DOTNET_OK; /* told to stop before anybody came */
    if (collection->child && strncmp(err->text, NOT_STARTED, strlen(NOT_STARTED)) == 0)
        code = SN_DOTNET_ARGUMENT;
    return sn_dotnet_fail(code, "%s", err->text);
}

/* A program that outlives its trace is ended. */
static void end_child(const struct sonde_tracer *tracer)
{
    struct sonde_trace_stats stats;
    sonde_tracer_stats(tracer, 0, &stats);
    if (sonde_tracer_child_status(tracer, 0) < 0 && stats.pid)
        (void)kill((pid_t)stats.pid, SIGKILL);
}

static int child_code(const struct collection *collection, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (!collection->is_quiet)
        (void)printf("Process exited with code '%d'.\n", code);
    return code;
}

static int tell_finished(void *user, const struct sonde_tracer *tracer, bool was_signalled)
{
    struct collection *collection = user;
    const char *output = sn_buf_string(&collection->output);
    struct sonde_trace_stats stats;
    sonde_tracer_stats(tracer, 0, &stats);
    if (strcmp(stats.stop_cause, "stopping event") == 0)
        tell_stopping(user, tracer);
    if (stats.status != SONDE_OK && stats.status != SONDE_E_GONE &&
        stats.status != SONDE_E_TRUNCATED)
        return sn_dotnet_fail(SN_DOTNET_TRACING, "%s", stats.message);
    say(collection, "\nTrace completed.");
    int format = collection->arguments->format;
    if (format != SN_DOTNET_NETTRACE) {
        SN_AUTO(sn_buf_done) struct sn_buf converted = sn_buf_with_limit(TEXT_LIMIT);
        sn_dotnet_converted_name(&converted, output, format);
        sn_dotnet_convert_file(output, sn_buf_string(&converted), format);
    }
    if (!collection->child)
        return SN_DOTNET_OK;
    int status = sonde_tracer_child_status(tracer, 0);
    end_child(tracer);
    if (was_signalled)
        return SN_DOTNET_TRACING;
    return status >= 0 && !stats.stop_cause[0] ? child_code(collection, status) : SN_DOTNET_OK;
}

static const struct sn_trace_voice voice = {
    .started = tell_started,
    .live = tell_live,
    .stopping = tell_stopping,
    .failed = tell_failure,
    .finished = tell_finished,
};

/* --- running --- */

static int choose_session(const struct collection *collection, struct sn_dotnet_session *session)
{
    const struct arguments *arguments = collection->arguments;
    const char *profiles = arguments->profiles;
    bool is_default =
        !has(arguments->providers) && !has(arguments->profiles) && !has(arguments->clr_events);
    if (is_default) {
        say(collection, "No profile or providers specified, defaulting to trace profiles "
                        "'dotnet-common' + 'dotnet-sampled-thread-time'.");
        profiles = DEFAULT_PROFILES;
    }
    int code = sn_dotnet_session_choose(session, arguments->providers, profiles,
                                        arguments->clr_events, arguments->clr_level);
    if (code != SN_DOTNET_OK)
        return code;
    if (!collection->is_quiet)
        sn_dotnet_session_print(session);
    return session->count ? SN_DOTNET_OK
                          : sn_dotnet_fail(SN_DOTNET_ARGUMENT, "No providers are chosen.");
}

static void print_command(const struct collection *collection)
{
    if (collection->is_quiet)
        return;
    (void)fputs("Launching:", stdout);
    for (char **word = collection->child; *word; word++) {
        const char *quote = strchr(*word, ' ') ? "\"" : "";
        (void)printf(" %s", quote);
        sn_terminal_put(stdout, SN_STYLE_NONE, *word);
        (void)fputs(quote, stdout);
    }
    (void)puts(" ");
    (void)fflush(stdout);
}

static struct sonde_trace_options trace_options(const struct arguments *arguments,
                                                const struct sn_dotnet_session *session)
{
    return (struct sonde_trace_options){
        .size = sizeof(struct sonde_trace_options),
        .providers = session->providers,
        .provider_count = session->count,
        .buffer_mb = arguments->buffer_mb ? arguments->buffer_mb : 1,
        .no_rundown = arguments->rundown == SN_NET_OFF,
        .rundown_keyword =
            session->rundown_keyword | (arguments->rundown == SN_NET_ON ? NAMES_RUNDOWN : 0),
        .stop_provider = has(arguments->stop_provider) ? arguments->stop_provider : NULL,
        .stop_payload = has(arguments->stop_payload) ? arguments->stop_payload : NULL,
        .no_cpu_record = true, /* dotnet-trace writes one file */
        .hide_child_io = arguments->show_child_io != SN_NET_ON,
        .leave_suspended = arguments->resume_runtime == SN_NET_OFF,
    };
}

static int trace(struct collection *collection, const struct sn_dotnet_session *session)
{
    const struct arguments *arguments = collection->arguments;
    static const struct sn_option_list none = {0};
    SN_AUTO(sn_buf_done) struct sn_buf event = sn_buf_with_limit(TEXT_LIMIT);
    bool hands_over_io = collection->child && arguments->show_child_io == SN_NET_ON;
    struct sn_trace_run run = {
        .pids = {collection->pid},
        .pid_count = collection->pid ? 1 : 0,
        .port = waits_at_port(collection) ? sn_buf_string(&collection->port) : NULL,
        .command = collection->child,
        .output = sn_buf_string(&collection->output),
        .duration_ns = arguments->duration_ns,
        .asked = &none,
        .options = trace_options(arguments, session),
        .is_live = isatty(STDOUT_FILENO) && !hands_over_io,
        .reads_keys = isatty(STDIN_FILENO) && !hands_over_io,
        .ignores_signals = hands_over_io,
        .voice = &voice,
        .voice_user = collection,
    };
    if (run.options.stop_provider && has(arguments->stop_event)) {
        sn_dotnet_event_name(&event, arguments->stop_provider, arguments->stop_event);
        run.options.stop_event = sn_buf_string(&event);
    }
    return sn_trace_run(&run);
}

/* A process that is reached through a port is called what the port is called. */
static int name_port(struct collection *collection)
{
    int code = sn_dotnet_resolve_port(collection->arguments->attach.port, &collection->port,
                                      &collection->pid);
    const char *path = sn_buf_string(&collection->port);
    const char *slash = strrchr(path, '/');
    collection->process = slash ? slash + 1 : path;
    return code;
}

/* What the file is named after, and "Process" shows. */
static int name_process(struct collection *collection)
{
    struct sn_dotnet_process *process = &collection->found;
    collection->process = process->path;
    if (has(collection->arguments->attach.port))
        return name_port(collection);
    if (collection->child) {
        collection->process = collection->child[0];
        return SN_DOTNET_OK;
    }
    sn_dotnet_process_read(collection->pid, process);
    if (!process->name[0])
        return sn_dotnet_fail(SN_DOTNET_TRACING,
                              "Process with an Id of %" PRIu32 " is not running.", collection->pid);
    if (!process->path[0])
        (void)snprintf(process->path, sizeof(process->path), "Process%" PRIu32, collection->pid);
    return SN_DOTNET_OK;
}

static void print_waiting(struct collection *collection)
{
    const char *path = sn_buf_string(&collection->port);
    (void)printf(
        "Waiting for connection on %s\nStart an application with the following environment "
        "variable: DOTNET_DiagnosticPorts=%s\n",
        path, path);
    (void)fflush(stdout);
}

static int collect(struct collection *collection, struct sn_dotnet_session *session)
{
    const struct arguments *arguments = collection->arguments;
    int code = resolve(collection);
    if (code == SN_DOTNET_OK)
        code = choose_session(collection, session);
    if (code == SN_DOTNET_OK)
        code = check_stopping(arguments);
    if (code == SN_DOTNET_OK && collection->child)
        print_command(collection);
    if (code == SN_DOTNET_OK)
        code = name_process(collection);
    if (code == SN_DOTNET_OK && arguments->buffering == BUFFERING_BLOCK) {
        (void)fputs("The Block buffering mode needs .NET 11 or later in the process.\n", stderr);
        code = SN_DOTNET_SESSION;
    }
    if (code != SN_DOTNET_OK)
        return code;
    choose_output(collection);
    if (waits_at_port(collection))
        print_waiting(collection);
    return trace(collection, session);
}

static int run(const struct sn_net_line *line)
{
    const struct arguments *arguments = line->arguments;
    SN_AUTO(sn_dotnet_session_done) struct sn_dotnet_session session = {0};
    struct collection collection = {.arguments = arguments,
                                    .child = line->child,
                                    .port = sn_buf_with_limit(TEXT_LIMIT),
                                    .output = sn_buf_with_limit(TEXT_LIMIT),
                                    .is_quiet = arguments->show_child_io == SN_NET_ON};
    int code = collect(&collection, &session);
    sn_buf_done(&collection.port);
    sn_buf_done(&collection.output);
    return code;
}

static const struct sn_net_choice bufferings[] = {
    {"Block", BUFFERING_BLOCK}, {"Drop", BUFFERING_DROP}, {NULL, 0}};

static const struct arguments defaults = {.buffer_mb = 256, .format = SN_DOTNET_NETTRACE};

#define AT(member) offsetof(struct arguments, member)

static const struct sn_net_option options[] = {
    {"--process-id", "-p", SN_NET_INT, AT(attach.pid), NULL, false, "The process, by its pid."},
    {"--buffersize", NULL, SN_NET_UINT, AT(buffer_mb), NULL, false,
     "The buffer in the process, in megabytes. [default: 256]"},
    {"--output", "-o", SN_NET_TEXT, AT(output), NULL, false,
     "The file to write; by default '<appname>_<yyyyMMdd>_<HHmmss>.nettrace'. [default: default]"},
    {"--providers", NULL, SN_NET_TEXT, AT(providers), NULL, false,
     "Providers of events, separated by commas: Name[:Keywords[:Level[:key=value;...]]]."},
    {"--profile", NULL, SN_NET_TEXT, AT(profiles), NULL, false,
     "Named choices of providers, separated by commas; list-profiles shows them."},
    {"--format", NULL, SN_NET_CHOICE, AT(format), sn_dotnet_formats, false,
     "Also write a file of this format beside the .nettrace. [default: NetTrace]"},
    {"--duration", NULL, SN_NET_SPAN, AT(duration_ns), NULL, false,
     "How long to trace: dd:hh:mm:ss."},
    {"--clrevents", NULL, SN_NET_TEXT, AT(clr_events), NULL, false,
     "The CLR's events, by keyword, joined by '+'."},
    {"--clreventlevel", NULL, SN_NET_TEXT, AT(clr_level), NULL, false, "How verbose those are."},
    {"--name", "-n", SN_NET_TEXT, AT(attach.name), NULL, false, "The process, by its name."},
    {"--diagnostic-port", "--dport", SN_NET_TEXT, AT(attach.port), NULL, false,
     "The process, by its diagnostic port: PATH,connect, or one to wait at: PATH[,listen]."},
    {"--show-child-io", NULL, SN_NET_SWITCH, AT(show_child_io), NULL, false,
     "Leave input and output to the launched program."},
    {"--resume-runtime", NULL, SN_NET_SWITCH, AT(resume_runtime), NULL, false,
     "Let a suspended runtime go once the session is there. [default: True]"},
    {"--stopping-event-provider-name", NULL, SN_NET_TEXT, AT(stop_provider), NULL, false,
     "Stop after an event of this provider ..."},
    {"--stopping-event-event-name", NULL, SN_NET_TEXT, AT(stop_event), NULL, false,
     "... of this name ..."},
    {"--stopping-event-payload-filter", NULL, SN_NET_TEXT, AT(stop_payload), NULL, false,
     "... and with these fields: field:value,field:value."},
    {"--rundown", NULL, SN_NET_SWITCH, AT(rundown), NULL, false,
     "Whether the names of methods are collected at the end."},
    {"--buffering-mode", NULL, SN_NET_CHOICE, AT(buffering), bufferings, false,
     "What the runtime does with a full buffer. [default: Drop]"},
    {"--dsrouter", NULL, SN_NET_TEXT, AT(attach.router), NULL, false,
     "Not offered by sonde: start dotnet-dsrouter yourself and use -p."},
    SN_NET_OPTIONS_END,
};

const struct sn_net_command sn_dotnet_collect = {
    .name = "collect",
    .path = "collect ",
    .summary = "Collects a trace of a running process, or of a program started behind '--', whose "
               "exit code it then ends with.",
    .takes_command = true,
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .defaults = &defaults,
    .run = run,
};
