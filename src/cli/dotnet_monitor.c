#include "cli/dotnet_monitor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/monitor_plan.h"
#include "cli/monitor_settings.h"
#include "cli/net_options.h"
#include "cli/open_files.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "daemon/jwt.h"
#include "daemon/state_folder.h"

/* The release whose behaviour this is, and who behaves so. */
#define VERSION "10.0.3+sonde." SONDE_VERSION

#define EXIT_FAILED  255 /* its -1 */
#define TEXT_LIMIT   (1u << 20)
#define PATH_LIMIT   4096u
#define FOLDER_MODE  0755
#define SHARED       "/etc/dotnet-monitor"
#define SETTINGS     "settings.json"
#define COMMAND_LINE "command line"

/* Variables without a prefix are heard for these only. */
#define SECTIONS                                                                                 \
    "urls,Kestrel,GlobalCounter,CollectionRules,CollectionRuleDefaults,Templates,"               \
    "CorsConfiguration,DiagnosticPort,InProcessFeatures,Metrics,Storage,DefaultProcess,Logging," \
    "Authentication,Egress"

struct arguments {
    struct sn_net_list urls;
    struct sn_net_list metric_urls;
    int metrics;
    const char *port;
    int no_auth;
    int plain_http;
    int temp_key;
    int no_http_egress;
    const char *file;
    int exit_with_stdin;
    int level;
    int show_sources;
};

enum level { LEVEL_REDACTED, LEVEL_FULL };

static int fail(const struct sonde_error *err)
{
    (void)fputs("dotnet-monitor: ", stderr);
    sn_terminal_put(stderr, SN_STYLE_NONE, err->text);
    (void)fputc('\n', stderr);
    return EXIT_FAILED;
}

/* --- settings, the weakest first --- */

static void set_list(struct sn_monitor_settings *settings, const char *name,
                     const struct sn_net_list *list, const char *standard)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    for (size_t i = 0; i < list->count; i++)
        sn_buf_format(&text, "%s%s", i ? ";" : "", list->items[i]);
    (void)sn_monitor_settings_set(settings, name, list->count ? sn_buf_string(&text) : standard,
                                  COMMAND_LINE);
}

static void set_arguments(struct sn_monitor_settings *settings, const struct arguments *arguments)
{
    (void)sn_monitor_settings_set(settings, "GlobalCounter:IntervalSeconds", "5", "default");
    (void)sn_monitor_settings_set(settings, "Metrics:MetricCount", "3", "default");
    (void)sn_monitor_settings_set(settings, "Metrics:IncludeDefaultProviders", "True", "default");
    bool listens = arguments->port && *arguments->port;
    (void)sn_monitor_settings_set(settings, "DiagnosticPort:ConnectionMode",
                                  listens ? "Listen" : "Connect", COMMAND_LINE);
    (void)sn_monitor_settings_set(settings, "DiagnosticPort:EndpointName",
                                  listens ? arguments->port : NULL, COMMAND_LINE);
    (void)sn_monitor_settings_set(settings, "Metrics:Enabled",
                                  arguments->metrics == SN_NET_OFF ? "False" : "True",
                                  COMMAND_LINE);
    set_list(settings, "Metrics:Endpoints", &arguments->metric_urls, "http://localhost:52325");
    if (arguments->plain_http == SN_NET_ON) /* of ours: nobody sees it who did not ask for it */
        (void)sn_monitor_settings_set(settings, "AllowPlainHttp", "True", COMMAND_LINE);
    set_list(settings, "urls", &arguments->urls, "https://localhost:52323");
}

/* A file that is there and cannot be read is told of, and passed over. */
static void read_file(struct sn_monitor_settings *settings, const char *path, bool must_exist)
{
    struct sonde_error err = {0};
    int rc = sn_monitor_settings_read_file(settings, path, &err);
    if (rc != SONDE_OK && (must_exist || rc != SONDE_E_NOT_FOUND))
        (void)fail(&err);
}

static const char *user_folder(char to[PATH_LIMIT])
{
    const char *override = getenv("DotnetMonitorTestSettings__UserConfigDirectoryOverride");
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (override)
        (void)snprintf(to, PATH_LIMIT, "%s", override);
    else if (config && *config)
        (void)snprintf(to, PATH_LIMIT, "%s/dotnet-monitor", config);
    else
        (void)snprintf(to, PATH_LIMIT, "%s/.config/dotnet-monitor", home ? home : "");
    return to;
}

static void read_settings(struct sn_monitor_settings *settings, const struct arguments *arguments)
{
    char folder[PATH_LIMIT];
    char path[PATH_LIMIT + 32];
    const char *override = getenv("DotnetMonitorTestSettings__SharedConfigDirectoryOverride");
    const char *shared = override ? override : SHARED;
    sn_monitor_settings_init(settings);
    set_arguments(settings, arguments);
    sn_monitor_settings_read_variables(settings, environ, "DOTNET_", "urls");
    sn_monitor_settings_read_variables(settings, environ, "ASPNETCORE_", "urls");
    sn_monitor_settings_read_variables(settings, environ, "", SECTIONS);
    (void)snprintf(path, sizeof(path), "%s/" SETTINGS, user_folder(folder));
    read_file(settings, path, false);
    (void)snprintf(path, sizeof(path), "%s/" SETTINGS, shared);
    read_file(settings, path, false);
    (void)snprintf(path, sizeof(path), "%s/..data", shared);
    sn_monitor_settings_read_folder(settings, access(path, F_OK) == 0 ? path : shared);
    sn_monitor_settings_read_variables(settings, environ, "DotnetMonitor_", NULL);
    if (arguments->file)
        read_file(settings, arguments->file, true);
}

/* --- what it says, as dotnet-monitor logs it --- */

static void say(const char *level, int id, const char *category, const char *text)
{
    uint64_t now = sn_clock_utc_ns();
    time_t second = (time_t)(now / SN_NS_PER_SECOND);
    struct tm local;
    char clock[16] = "";
    if (localtime_r(&second, &local))
        (void)strftime(clock, sizeof(clock), "%H:%M:%S ", &local);
    (void)printf("%s%s: Microsoft.Diagnostics.Tools.Monitor.%s[%d]\n      ", clock, level, category,
                 id);
    sn_terminal_put(stdout, SN_STYLE_NONE, text);
    (void)puts("");
    (void)fflush(stdout);
}

/* Its places and the addresses that they got, in the same order. */
static void say_ready(void *user, const char *const *urls, size_t url_count, const char *link)
{
    const struct sn_monitor_plan *plan = user;
    char text[512];
    (void)link;
    for (size_t i = 0; i < url_count && i < plan->options.place_count; i++) {
        bool is_metrics = plan->options.places[i].tag == SN_PLACE_METRICS;
        (void)snprintf(text, sizeof(text), "Bound %s address: %s",
                       is_metrics ? "metrics" : "default", urls[i]);
        say("info", is_metrics ? 17 : 16, "Startup", text);
    }
}

/* Nobody is waited for: whoever expects that is told what happens instead. */
static void say_port(const struct sn_monitor_settings *settings)
{
    const char *mode = sn_monitor_settings_get(settings, "DiagnosticPort:ConnectionMode");
    const char *port = sn_monitor_settings_get(settings, "DiagnosticPort:EndpointName");
    if (!port)
        port = sn_monitor_settings_get(settings, "DiagnosticPort");
    if ((!port || !*port) && (!mode || strcasecmp(mode, "Listen") != 0))
        return;
    (void)fputs("dotnet-monitor: nobody listens at a diagnostic port", stderr);
    if (port && *port) {
        (void)fputs(" such as ", stderr);
        sn_terminal_put(stderr, SN_STYLE_NONE, port);
    }
    (void)fputs(
        ": processes are found by their own ports instead, which all of them have. One that "
        "was started with ',suspend', or without ',nosuspend', waits for ever\n",
        stderr);
}

/* --- who may come in --- */

static int use_temporary_key(struct sn_monitor_settings *settings, struct sonde_error *err)
{
    struct sn_jwt_generated generated;
    int rc = sn_jwt_generate(SN_JWT_LIFE_S, &generated, err);
    if (rc != SONDE_OK)
        return rc;
    char text[sizeof(generated.token) + 128];
    (void)snprintf(text, sizeof(text),
                   "Generated ApiKey for dotnet-monitor; use the following header for "
                   "authorization: Authorization: Bearer %s",
                   generated.token);
    say("info", 23, "Startup", text);
    (void)sn_monitor_settings_set(settings, "Authentication:MonitorApiKey:Subject",
                                  generated.subject, COMMAND_LINE);
    (void)sn_monitor_settings_set(settings, "Authentication:MonitorApiKey:PublicKey",
                                  generated.public_key, COMMAND_LINE);
    return SONDE_OK;
}

static bool is_plain(const struct sn_serve_options *options)
{
    for (size_t i = 0; i < options->place_count; i++) {
        if (options->places[i].tag == SN_PLACE_API && !options->is_tls[i])
            return true;
    }
    return false;
}

static int allow(struct sn_monitor_settings *settings, const struct arguments *arguments,
                 struct sn_serve_options *options, struct sonde_error *err)
{
    struct sn_access_options *access = &options->access;
    if (arguments->no_auth == SN_NET_ON) {
        say("warn", 13, "Startup",
            "WARNING: Authentication has been disabled: whoever can reach these addresses may do "
            "everything.");
        access->anonymous = SN_SCOPE_SECRETS;
        return SONDE_OK;
    }
    if (is_plain(options))
        say("warn", 14, "Startup",
            "WARNING: Authentication is enabled over insecure http transport: keys can be read on "
            "the way.");
    int rc = arguments->temp_key == SN_NET_ON ? use_temporary_key(settings, err) : SONDE_OK;
    access->jwt_public_key =
        sn_monitor_settings_get(settings, "Authentication:MonitorApiKey:PublicKey");
    access->jwt_subject = sn_monitor_settings_get(settings, "Authentication:MonitorApiKey:Subject");
    access->jwt_issuer = sn_monitor_settings_get(settings, "Authentication:MonitorApiKey:Issuer");
    if (rc == SONDE_OK && !access->jwt_public_key)
        say("warn", 25, "Startup",
            "API key authentication is not configured: 'dotnet-monitor generatekey' makes a key.");
    return rc;
}

/* --- collect --- */

/* Ends us when the other end of standard input does. */
static void *watch_stdin(void *user)
{
    char bytes[512];
    (void)user;
    for (;;) {
        ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (got > 0 || (got < 0 && errno == EINTR))
            continue;
        (void)kill(getpid(), SIGTERM);
        return NULL;
    }
}

static void follow_stdin(const struct arguments *arguments)
{
    pthread_t thread;
    if (arguments->exit_with_stdin == SN_NET_ON &&
        pthread_create(&thread, NULL, watch_stdin, NULL) == 0)
        (void)pthread_detach(thread);
}

/* dotnet-monitor makes the folders of its providers itself; what cannot be made is told later. */
static void make_folders(const struct sn_monitor_plan *plan)
{
    char path[PATH_LIMIT];
    for (size_t i = 0; i < plan->options.egress_count; i++) {
        (void)snprintf(path, sizeof(path), "%s", strchr(plan->egress[i], '=') + 1);
        for (char *at = path; *at; at++) {
            if (*at != '/' || at == path)
                continue;
            *at = '\0';
            (void)mkdir(path, FOLDER_MODE);
            *at = '/';
        }
        (void)mkdir(path, FOLDER_MODE);
    }
}

static int serve(struct sn_monitor_plan *plan, const struct arguments *arguments,
                 struct sonde_error *err)
{
    SN_AUTO(sn_free) char *state = NULL;
    SN_AUTO(sn_close) int signals = -1;
    int rc = sn_state_folder_path(NULL, &state, err);
    if (rc == SONDE_OK)
        rc = sn_signals_open(&signals, err);
    if (rc != SONDE_OK)
        return rc;
    plan->options.no_http_egress = arguments->no_http_egress == SN_NET_ON;
    plan->options.state_folder = state;
    plan->options.access.state_folder = state;
    plan->options.signals = signals;
    plan->options.ready = say_ready;
    plan->options.user = plan;
    make_folders(plan);
    follow_stdin(arguments);
    sn_open_files_raise();
    return sn_serve(&plan->options, err);
}

static void say_rules(const struct sn_monitor_settings *settings)
{
    if (sn_monitor_settings_within(settings, "CollectionRules", 0) < settings->count)
        say("warn", 40, "Startup",
            "CollectionRules are configured: they are passed over, nothing is collected by rule.");
}

static int run_collect(const struct sn_net_line *line)
{
    const struct arguments *arguments = line->arguments;
    struct sonde_error err = {0};
    struct sn_monitor_settings settings;
    struct sn_monitor_plan plan;
    read_settings(&settings, arguments);
    say_port(&settings);
    say_rules(&settings);
    int rc = sn_monitor_plan_make(&settings, &plan, &err);
    if (rc == SONDE_OK)
        rc = allow(&settings, arguments, &plan.options, &err);
    if (rc == SONDE_OK)
        rc = serve(&plan, arguments, &err);
    sn_monitor_plan_done(&plan);
    sn_monitor_settings_done(&settings);
    return rc == SONDE_OK ? 0 : fail(&err);
}

/* --- config show --- */

static int run_show(const struct sn_net_line *line)
{
    const struct arguments *arguments = line->arguments;
    struct sn_monitor_settings settings;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit((size_t)4 * TEXT_LIMIT);
    read_settings(&settings, arguments);
    sn_monitor_settings_show(&settings, arguments->level == LEVEL_FULL,
                             arguments->show_sources == SN_NET_ON, &text);
    (void)fputs(sn_buf_string(&text), stdout);
    sn_monitor_settings_done(&settings);
    return 0;
}

/* --- generatekey --- */

struct key_arguments {
    const char *output;
    uint64_t expiration_ns;
};

static int run_generate(const struct sn_net_line *line)
{
    const struct key_arguments *arguments = line->arguments;
    struct sonde_error err = {0};
    struct sn_jwt_generated generated;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    uint64_t life_s = arguments->expiration_ns / SN_NS_PER_SECOND;
    if (!life_s) {
        (void)sn_fail(&err, SONDE_E_ARGUMENT, 0, "the expiration must be more than nothing");
        return fail(&err);
    }
    if (sn_jwt_generate(life_s, &generated, &err) != SONDE_OK ||
        sn_jwt_print(&text, &generated, arguments->output, &err) != SONDE_OK)
        return fail(&err);
    (void)fputs(sn_buf_string(&text), stdout);
    return 0;
}

/* --- the tool --- */

#define AT(member) offsetof(struct arguments, member)

#define COMMON_OPTIONS                                                                   \
    {"--urls",                                                                           \
     "-u",                                                                               \
     SN_NET_LIST,                                                                        \
     AT(urls),                                                                           \
     NULL,                                                                               \
     false,                                                                              \
     "Where everything is served. [default: https://localhost:52323]"},                  \
        {"--metricUrls",                                                                 \
         NULL,                                                                           \
         SN_NET_LIST,                                                                    \
         AT(metric_urls),                                                                \
         NULL,                                                                           \
         false,                                                                          \
         "Where metrics are served, to everybody. [default: http://localhost:52325]"},   \
        {"--metrics",                                                                    \
         "-m",                                                                           \
         SN_NET_SWITCH,                                                                  \
         AT(metrics),                                                                    \
         NULL,                                                                           \
         false,                                                                          \
         "Whether metrics are served. [default: True]"},                                 \
        {"--diagnostic-port",                                                            \
         NULL,                                                                           \
         SN_NET_TEXT,                                                                    \
         AT(port),                                                                       \
         NULL,                                                                           \
         false,                                                                          \
         "Passed over with a word of warning: processes are found by their own ports."}, \
        {"--no-auth",                                                                    \
         NULL,                                                                           \
         SN_NET_SWITCH,                                                                  \
         AT(no_auth),                                                                    \
         NULL,                                                                           \
         false,                                                                          \
         "Everybody may do everything."},                                                \
        {"--plain-http",                                                                 \
         NULL,                                                                           \
         SN_NET_SWITCH,                                                                  \
         AT(plain_http),                                                                 \
         NULL,                                                                           \
         false,                                                                          \
         "Serve other machines without TLS, too: keys can be read on the way."},         \
        {"--temp-apikey",                                                                \
         NULL,                                                                           \
         SN_NET_SWITCH,                                                                  \
         AT(temp_key),                                                                   \
         NULL,                                                                           \
         false,                                                                          \
         "Make a key for this run and print its header."},                               \
        {"--no-http-egress",                                                             \
         NULL,                                                                           \
         SN_NET_SWITCH,                                                                  \
         AT(no_http_egress),                                                             \
         NULL,                                                                           \
         false,                                                                          \
         "Artefacts go to egress providers only."},                                      \
    {                                                                                    \
        "--configuration-file-path", NULL, SN_NET_TEXT, AT(file), NULL, false,           \
            "A JSON file with settings, stronger than all others."                       \
    }

static const struct sn_net_option collect_options[] = {
    COMMON_OPTIONS,
    {"--exit-on-stdin-disconnect", NULL, SN_NET_SWITCH, AT(exit_with_stdin), NULL, false,
     "End when standard input does."},
    SN_NET_OPTIONS_END,
};

static const struct sn_net_choice levels[] = {
    {"Redacted", LEVEL_REDACTED}, {"Full", LEVEL_FULL}, {NULL, 0}};

static const struct sn_net_option show_options[] = {
    COMMON_OPTIONS,
    {"--level", NULL, SN_NET_CHOICE, AT(level), levels, false,
     "Whether secrets are shown. [default: Redacted]"},
    {"--show-sources", NULL, SN_NET_SWITCH, AT(show_sources), NULL, false,
     "Where each of them comes from."},
    SN_NET_OPTIONS_END,
};

static const struct key_arguments key_defaults = {
    .output = "Json", .expiration_ns = (uint64_t)SN_JWT_LIFE_S * SN_NS_PER_SECOND};

static const struct sn_net_option key_options[] = {
    {"--output", "-o", SN_NET_TEXT, offsetof(struct key_arguments, output), NULL, false,
     "Json, Text, Cmd, PowerShell, Shell or MachineJson. [default: Json]"},
    {"--expiration", "-e", SN_NET_SPAN, offsetof(struct key_arguments, expiration_ns), NULL, false,
     "How long the key is good. [default: 7.00:00:00]"},
    SN_NET_OPTIONS_END,
};

static const struct sn_net_command collect = {
    .name = "collect",
    .path = "collect ",
    .summary = "Serves artefacts and metrics of .NET processes.",
    .options = collect_options,
    .arguments_size = sizeof(struct arguments),
    .run = run_collect,
};

static const struct sn_net_command show = {
    .name = "show",
    .path = "config show ",
    .summary = "Shows the settings as they are in effect.",
    .options = show_options,
    .arguments_size = sizeof(struct arguments),
    .run = run_show,
};

static const struct sn_net_command *const config_commands[] = {&show, NULL};

static const struct sn_net_command config = {
    .name = "config",
    .path = "config ",
    .summary = "About the settings.",
    .children = config_commands,
};

static const struct sn_net_command generate = {
    .name = "generatekey",
    .path = "generatekey ",
    .summary = "Makes a key, and the settings that let it in.",
    .options = key_options,
    .arguments_size = sizeof(struct key_arguments),
    .defaults = &key_defaults,
    .run = run_generate,
};

static const struct sn_net_command *const commands[] = {&collect, &config, &generate, NULL};

static const struct sn_net_command root = {
    .name = "dotnet-monitor",
    .path = "",
    .summary = "Artefacts and metrics of .NET processes over HTTP.",
    .children = commands,
};

int sn_dotnet_monitor_main(int argc, char **argv)
{
    return sn_net_main(&root, "dotnet-monitor", VERSION, argc, argv);
}
