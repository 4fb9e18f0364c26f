/* sonde env: the environment a runtime sees; values stay hidden unless asked for, as they hold
 * secrets. */
#include "cli/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "cli/remote.h"
#include "cli/remote_processes.h"
#include "cli/terminal.h"
#include "sonde/target.h"

#define OUTPUT_LIMIT (16u << 20)
#define HIDDEN       "<hidden>"

struct arguments {
    uint64_t pid;
    const char *name;
    bool values;
    bool json;
    struct sn_remote_choice remote;
};

static const struct sn_option options[] = {
    {'p', "process-id", SN_OPTION_NUMBER, offsetof(struct arguments, pid), "PID", "the process"},
    {'n', "name", SN_OPTION_TEXT, offsetof(struct arguments, name), "NAME", "the process, by name"},
    {0, "values", SN_OPTION_FLAG, offsetof(struct arguments, values), NULL,
     "show the values too; they may be secrets"},
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL, "one JSON object"},
    SN_REMOTE_OPTIONS(offsetof(struct arguments, remote)),
    SN_OPTIONS_END,
};

struct printer {
    const struct arguments *arguments;
    struct sn_json json;
};

/* Switches of the runtime, which say how it runs. Not every DOTNET_ variable: hosts read their
 * configuration, passwords included, from such names too. A name that ends in * stands for all that
 * begin so. */
static const char *const harmless[] = {
    "ASPNETCORE_ENVIRONMENT",
    "CORECLR_ENABLE_PROFILING",
    "CORECLR_PROFILER",
    "CORECLR_PROFILER_PATH*",
    "DOTNET_DiagnosticPorts",
    "DOTNET_DefaultDiagnosticPortSuspend",
    "DOTNET_EnableDiagnostics",
    "DOTNET_EnableDiagnostics_*",
    "DOTNET_ENVIRONMENT",
    "DOTNET_EventPipe*",
    "DOTNET_EnableEventPipe",
    "DOTNET_GC*",
    "DOTNET_gc*",
    "DOTNET_PerfMap*",
    "DOTNET_PROCESSOR_COUNT",
    "DOTNET_ReadyToRun",
    "DOTNET_ROLL_FORWARD*",
    "DOTNET_ROOT*",
    "DOTNET_RUNNING_IN_CONTAINER",
    "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT",
    "DOTNET_TC_*",
    "DOTNET_Thread*",
    "DOTNET_Tiered*",
    "DOTNET_VERSION",
    "COMPlus_EnableDiagnostics*",
    "COMPlus_gc*",
    "COMPlus_GC*",
};

static bool is_harmless(const char *name)
{
    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
        size_t size = strlen(harmless[i]);
        bool is_prefix = harmless[i][size - 1] == '*';
        if (is_prefix ? strncmp(name, harmless[i], size - 1) == 0 && !strstr(name, "__")
                      : strcmp(name, harmless[i]) == 0)
            return true;
    }
    return false;
}

static void print_variable(void *user, const char *variable, size_t size)
{
    struct printer *printer = user;
    size_t name_size = strcspn(variable, "=");
    const char *value = name_size < size ? variable + name_size + 1 : "";
    SN_AUTO(sn_free) char *name = strndup(variable, name_size);
    if (!name)
        return;
    const char *shown = printer->arguments->values || is_harmless(name) ? value : HIDDEN;
    if (printer->arguments->json) {
        sn_json_text(&printer->json, name, shown);
        return;
    }
    sn_terminal_put(stdout, SN_STYLE_BOLD, name);
    (void)putchar('=');
    sn_terminal_put(stdout, shown == value ? SN_STYLE_NONE : SN_STYLE_DIM, shown);
    (void)putchar('\n');
}

/* As the controller lets us see it: who may not have secrets gets none. */
static int print_remote(struct printer *printer, struct sn_remote *remote, struct sonde_error *err)
{
    char path[64];
    uint32_t pid = 0;
    json_t *variables = NULL;
    const char *name;
    json_t *value;
    int rc = sn_remote_processes_choose(remote, printer->arguments->pid, printer->arguments->name,
                                        &pid, err);
    (void)snprintf(path, sizeof(path), "/env?pid=%" PRIu32, pid);
    if (rc == SONDE_OK)
        rc = sn_remote_ask(remote, "GET", path, NULL, &variables, err);
    json_object_foreach(variables, name, value)
    {
        SN_AUTO(sn_buf_done) struct sn_buf variable = sn_buf_with_limit(OUTPUT_LIMIT);
        sn_buf_format(&variable, "%s=%s", name,
                      json_is_string(value) ? json_string_value(value) : "");
        struct sn_buf_view shown = sn_buf_view(&variable);
        print_variable(printer, shown.text, shown.size);
    }
    json_decref(variables);
    return rc;
}

static int print_own(struct printer *printer, struct sonde_error *err)
{
    uint32_t pid = 0;
    int rc = sn_command_target(printer->arguments->pid, printer->arguments->name, &pid, err);
    return rc == SONDE_OK ? sonde_target_environment(pid, print_variable, printer, err) : rc;
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    (void)operands;
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    struct printer printer = {.arguments = arguments, .json = sn_json_to(&out)};
    int rc = sn_remote_open(&arguments->remote, false, -1, &remote, &err);
    sn_json_object(&printer.json, NULL);
    if (rc == SONDE_OK)
        rc = remote ? print_remote(&printer, remote, &err) : print_own(&printer, &err);
    if (rc != SONDE_OK)
        return sn_command_fail(&err);
    sn_json_close(&printer.json);
    if (arguments->json)
        return sn_terminal_flush(&out) ? SN_EXIT_DONE : SN_EXIT_FAILED;
    if (!arguments->values)
        (void)fputs("values are hidden; --values shows them\n", stderr);
    return SN_EXIT_DONE;
}

const struct sn_command sn_cmd_env = {
    .name = "env",
    .usage = "(-p PID | -n NAME) [--values] [--json]",
    .summary = "show the environment of a .NET process, as its runtime sees it",
    .examples = "  sonde env -p 1234\n"
                "  sonde env -n shop --values --json\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
