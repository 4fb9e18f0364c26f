/* sonde logs: what running programs log through ILogger, as it comes. */
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/pattern.h"
#include "cli/live_run.h"
#include "cli/log_lines.h"
#include "cli/remote.h"
#include "cli/remote_logs.h"
#include "cli/terminal.h"
#include "sonde/log.h"

struct arguments {
    struct sn_option_list pids;
    struct sn_option_list names;
    bool all;
    const char *level;
    struct sn_option_list categories;
    const char *grep;
    bool no_scopes;
    const char *format;
    bool json;
    const char *output;
    uint64_t duration_ns;
    uint64_t limit;
    struct sn_remote_choice remote;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'p', "process-id", SN_OPTION_LIST, AT(pids), "PID,...",
     "these processes; may be given several times"},
    {'n', "name", SN_OPTION_LIST, AT(names), "NAME",
     "processes of this name, those to come too; likewise"},
    {'a', "all", SN_OPTION_FLAG, AT(all), NULL, "every .NET process, those to come too"},
    {0, "level", SN_OPTION_TEXT, AT(level), "LEVEL",
     "from this level on; else what the program lets through"},
    {0, "category", SN_OPTION_LIST, AT(categories), "NAME=LEVEL",
     "another level for a category: 'Shop.*=debug'; likewise"},
    {0, "grep", SN_OPTION_TEXT, AT(grep), "PATTERN",
     "only messages that hold this, or are like it: * and ?"},
    {0, "no-scopes", SN_OPTION_FLAG, AT(no_scopes), NULL, "leave out what a message is part of"},
    {0, "format", SN_OPTION_TEXT, AT(format), "FORMAT", "text or ndjson"},
    {0, "json", SN_OPTION_FLAG, AT(json), NULL, "the same as --format ndjson"},
    {'o', "output", SN_OPTION_TEXT, AT(output), "FILE", "write there"},
    {0, "duration", SN_OPTION_DURATION, AT(duration_ns), "TIME",
     "stop after 30s, 5m, or dd:hh:mm:ss"},
    {0, "limit", SN_OPTION_NUMBER, AT(limit), "COUNT", "stop after so many messages"},
    SN_REMOTE_OPTIONS(AT(remote)),
    SN_OPTIONS_END,
};

struct view {
    const struct arguments *arguments;
    struct sonde_log_filter *filter;
    struct sn_log_lines lines;
};

/* --- each event --- */

static const char *shown_name(const struct sn_live_process *process)
{
    return process->run->is_several ? process->name : NULL;
}

static bool is_wanted(const struct view *view, const struct sonde_log_message *message)
{
    const char *pattern = view->arguments->grep;
    return sonde_log_filter_holds(view->filter, message->category, message->level) &&
           (!pattern || sn_pattern_matches(pattern, message->text) ||
            sn_pattern_matches(pattern, message->exception_text));
}

static void take_loss(void *user, uint64_t thread_id, uint64_t count)
{
    const struct sn_live_process *process = user;
    struct view *view = process->run->user;
    (void)thread_id;
    if (!process->run->is_over)
        sn_log_lines_lost(&view->lines, process->pid, shown_name(process), count,
                          &process->run->out);
}

static int take_event(void *user, struct sonde_event *event)
{
    struct sn_live_process *process = user;
    struct sn_live_run *run = process->run;
    struct view *view = run->user;
    struct sonde_log_reader *reader = process->state;
    struct sonde_log_message message;
    if (run->is_over)
        return SONDE_END;
    if (!reader && sonde_log_reader_new(&reader, NULL) != SONDE_OK)
        return SONDE_E_NOMEM;
    process->state = reader;
    int rc = sonde_log_reader_take(reader, event, &message);
    if (rc < 0)
        take_loss(process, 0, 1);
    if (rc != SONDE_OK || !is_wanted(view, &message))
        return SONDE_AGAIN;
    sn_log_lines_write(&view->lines, process->pid, shown_name(process), &message, &run->out);
    return sn_live_line(run);
}

static void forget(struct sn_live_process *process)
{
    sonde_log_reader_free(process->state);
}

/* --- the command line --- */

static int prepare(struct view *view, struct sonde_error *err)
{
    const struct arguments *arguments = view->arguments;
    const char *format = arguments->format ? arguments->format : "text";
    view->lines.is_json = arguments->json || strcasecmp(format, "ndjson") == 0;
    view->lines.has_colour = !arguments->output && sn_terminal_has_colour(stdout);
    view->lines.no_scopes = arguments->no_scopes;
    if (!view->lines.is_json && strcasecmp(format, "text") != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--format: '%.32s' is not text or ndjson", format);
    int rc = sonde_log_filter_new(arguments->level, &view->filter, err);
    for (size_t i = 0; rc == SONDE_OK && i < arguments->categories.count; i++)
        rc = sonde_log_filter_add(view->filter, arguments->categories.items[i], err);
    return rc;
}

static int listen_to(struct view *view, char **command, struct sonde_error *err)
{
    const struct arguments *arguments = view->arguments;
    struct sn_live_run run = {
        .choice = {.pids = &arguments->pids,
                   .names = &arguments->names,
                   .all = arguments->all,
                   .command = command,
                   .output = arguments->output,
                   .duration_ns = arguments->duration_ns,
                   .limit = arguments->limit},
        .verb = {.take = take_event,
                 .forget = forget,
                 .unit = "message",
                 .nothing =
                     arguments->grep ? NULL : "does it log through ILogger? see sonde-logs(1)"},
        .user = view};
    struct sonde_consumer_options *wants = &run.verb.wants;
    wants->size = sizeof(*wants);
    wants->providers = sonde_log_filter_providers(view->filter, &wants->provider_count);
    wants->in_order = true;
    wants->lost = take_loss;
    if (!wants->providers) {
        (void)sn_fail(err, SONDE_E_LIMIT, 0, "the categories are too many or too long");
        return sn_command_fail(err);
    }
    return sn_live_run(&run);
}

/* One process, by its level: more cannot be asked of a controller. */
static int check_remote(const struct arguments *arguments, const struct sn_operands *operands,
                        struct sonde_error *err)
{
    bool has_several = arguments->all || arguments->pids.count + arguments->names.count > 1;
    bool is_ndjson = arguments->json || (arguments->format && *arguments->format == 'n');
    if (has_several || operands->command || arguments->categories.count || arguments->grep ||
        arguments->no_scopes || (arguments->limit && !is_ndjson))
        return sn_remote_refuse(&arguments->remote,
                                "a command, several processes, --category, --grep, --no-scopes or "
                                "--limit of text",
                                err);
    return SONDE_OK;
}

static int run_remote(const struct arguments *arguments, const struct sn_operands *operands,
                      struct sonde_error *err)
{
    struct sn_remote_logs logs = {
        .pid = arguments->pids.count ? arguments->pids.items[0] : NULL,
        .name = arguments->names.count ? arguments->names.items[0] : NULL,
        .level = arguments->level,
        .output = arguments->output,
        .is_ndjson = arguments->json || (arguments->format && *arguments->format == 'n'),
        .duration_ns = arguments->duration_ns,
        .limit = arguments->limit,
    };
    if (check_remote(arguments, operands, err) != SONDE_OK)
        return sn_command_fail(err);
    return sn_remote_logs_run(&logs, &arguments->remote);
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    struct view view = {.arguments = given};
    if (sn_remote_is_named(&arguments->remote))
        return run_remote(arguments, operands, &err);
    int code = prepare(&view, &err) == SONDE_OK ? listen_to(&view, operands->command, &err)
                                                : sn_command_fail(&err);
    sonde_log_filter_free(view.filter);
    return code;
}

const struct sn_command sn_cmd_logs = {
    .name = "logs",
    .usage = "(-p PID | -n NAME | -a | -- COMMAND [ARG...]) [options]",
    .summary = "show what running programs log through ILogger",
    .examples = "  sonde logs -n shop\n"
                "  sonde logs -n shop --level warning --category 'Shop.*=debug'\n"
                "  sonde logs -a --level error --json | jq .exception\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
