/* sonde events: decoded events of running processes, as they come. */
#include "cli/commands.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/live_run.h"
#include "cli/provider_options.h"
#include "cli/remote.h"
#include "cli/remote_events.h"
#include "cli/terminal.h"
#include "sonde/filter.h"
#include "sonde/writer.h"

struct arguments {
    struct sn_option_list pids;
    struct sn_option_list names;
    bool all;
    struct sn_option_list profiles;
    struct sn_option_list providers;
    const char *clr_events;
    const char *clr_level;
    struct sn_option_list events;
    const char *level;
    const char *where;
    bool stacks;
    const char *format;
    bool json;
    const char *output;
    uint64_t duration_ns;
    uint64_t limit;
    struct sn_remote_choice remote;
};

/* Values on a terminal: what is longer is seldom read there. */
#define SHOWN_MAX 120u

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'p', "process-id", SN_OPTION_LIST, AT(pids), "PID,...",
     "these processes; may be given several times"},
    {'n', "name", SN_OPTION_LIST, AT(names), "NAME",
     "processes of this name, those to come too; likewise"},
    {'a', "all", SN_OPTION_FLAG, AT(all), NULL, "every .NET process, those to come too"},
    {0, "profile", SN_OPTION_LIST, AT(profiles), "NAME,...",
     "named choices of events; 'sonde trace --list-profiles' shows them"},
    {0, "providers", SN_OPTION_LIST, AT(providers), "SPEC,...",
     "Name[:Keywords[:Level[:key=value;...]]]"},
    {0, "clrevents", SN_OPTION_TEXT, AT(clr_events), "NAME+...",
     "the runtime's events, by keyword: gc+exception"},
    {0, "clreventlevel", SN_OPTION_TEXT, AT(clr_level), "LEVEL",
     "how verbose those are: 0 to 5 or a name"},
    {0, "event", SN_OPTION_LIST, AT(events), "NAME",
     "only events of this name; * and ? are allowed; likewise"},
    {0, "level", SN_OPTION_TEXT, AT(level), "LEVEL",
     "only events at most this verbose: 1 to 5 or a name"},
    {0, "where", SN_OPTION_TEXT, AT(where), "CONDITION",
     "only events for which it holds: 'DurationNs > 1e6'"},
    {0, "stacks", SN_OPTION_FLAG, AT(stacks), NULL, "where each came from, by name"},
    {0, "format", SN_OPTION_TEXT, AT(format), "FORMAT", "text or ndjson; with --host ndjson only"},
    {0, "json", SN_OPTION_FLAG, AT(json), NULL, "the same as --format ndjson"},
    {'o', "output", SN_OPTION_TEXT, AT(output), "FILE", "write there"},
    {0, "duration", SN_OPTION_DURATION, AT(duration_ns), "TIME",
     "stop after 30s, 5m, or dd:hh:mm:ss"},
    {0, "limit", SN_OPTION_NUMBER, AT(limit), "COUNT", "stop after so many events"},
    SN_REMOTE_OPTIONS(AT(remote)),
    SN_OPTIONS_END,
};

/* What is looked at in each event that comes. */
struct view {
    const struct arguments *arguments;
    uint8_t level; /* 0: any */
    struct sonde_filter *filter;
    struct sonde_writer *writer;
    struct sonde_provider_set *set;
};

/* --- each event --- */

static bool is_named(const struct sn_option_list *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (fnmatch(names->items[i], name, FNM_CASEFOLD) == 0)
            return true;
    }
    return !names->count;
}

static bool is_wanted(const struct view *view, struct sonde_event *event)
{
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    return (!view->level || info.level <= view->level) &&
           is_named(&view->arguments->events, info.name) &&
           (!view->filter || sonde_filter_holds(view->filter, event));
}

static struct sonde_writer_source source_of(const struct sn_live_process *process)
{
    return (struct sonde_writer_source){.pid = process->pid,
                                        .process = process->run->is_several ? process->name : NULL,
                                        .names = process->run->names};
}

static void move_lines(struct sonde_writer *writer, struct sn_buf *to)
{
    size_t size;
    const char *bytes = sonde_writer_bytes(writer, &size);
    sn_buf_append(to, bytes, size);
    sonde_writer_clear(writer);
}

static int take_event(void *user, struct sonde_event *event)
{
    const struct sn_live_process *process = user;
    struct sn_live_run *run = process->run;
    const struct view *view = run->user;
    if (run->is_over)
        return SONDE_END;
    if (!is_wanted(view, event))
        return SONDE_AGAIN;
    struct sonde_writer_source source = source_of(process);
    int rc = sonde_writer_event(view->writer, &source, event);
    move_lines(view->writer, &run->out);
    return rc == SONDE_OK ? sn_live_line(run) : rc;
}

static void take_loss(void *user, uint64_t thread_id, uint64_t count)
{
    const struct sn_live_process *process = user;
    const struct view *view = process->run->user;
    struct sonde_writer_source source = source_of(process);
    if (!process->run->is_over && sonde_writer_lost(view->writer, &source, thread_id, count) == 0)
        move_lines(view->writer, &process->run->out);
}

/* --- the command line --- */

static int read_level(const char *text, uint8_t *ret_level, struct sonde_error *err)
{
    static const char *const names[] = {"critical", "error", "warning", "informational", "verbose"};
    uint64_t number = 0;
    if (!text)
        return SONDE_OK;
    for (uint8_t i = 0; i < 5; i++) {
        if (strcasecmp(names[i], text) == 0)
            number = i + 1u;
    }
    if (!number && (!sn_text_to_u64(text, 5, &number) || !number))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--level: '%.32s' is not a number from 1 to 5, nor critical, error, "
                       "warning, informational or verbose",
                       text);
    *ret_level = (uint8_t)number;
    return SONDE_OK;
}

/* What people look for first, and cheap: collections, exceptions, locks that were waited for, and
 * the thread pool when it changes its mind. */
static int add_usual(struct sonde_provider_set *set, struct sonde_error *err)
{
    int rc = sonde_provider_set_add_clr(set, "gc+exception+contention+threading", "4", err);
    if (rc == SONDE_OK)
        rc = sonde_provider_set_filter(set, "Microsoft-Windows-DotNETRuntime=1,2,55,80,81,91",
                                       false, err);
    return rc;
}

static int choose_providers(struct view *view, struct sonde_error *err)
{
    const struct arguments *arguments = view->arguments;
    struct sn_provider_choice choice = {.profiles = &arguments->profiles,
                                        .providers = &arguments->providers,
                                        .clr_events = arguments->clr_events,
                                        .clr_level = arguments->clr_level};
    int rc = sonde_provider_set_new(&view->set, err);
    if (rc == SONDE_OK && sn_provider_choice_is_empty(&choice))
        rc = add_usual(view->set, err);
    return rc == SONDE_OK ? sn_provider_choice_add(&choice, view->set, err) : rc;
}

static int make_writer(struct view *view, struct sonde_error *err)
{
    const struct arguments *arguments = view->arguments;
    const char *format = arguments->format ? arguments->format : "text";
    bool is_shown = !arguments->output && isatty(STDOUT_FILENO);
    struct sonde_writer_options wanted = {.size = sizeof(wanted),
                                          .stacks = arguments->stacks,
                                          .colour = is_shown && sn_terminal_has_colour(stdout),
                                          .value_max = is_shown ? SHOWN_MAX : 0};
    if (arguments->json || strcasecmp(format, "ndjson") == 0)
        wanted.format = SONDE_WRITER_NDJSON;
    else if (strcasecmp(format, "text") != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--format: '%.32s' is not text or ndjson", format);
    return sonde_writer_new(&wanted, &view->writer, err);
}

static int prepare(struct view *view, struct sonde_error *err)
{
    int rc = read_level(view->arguments->level, &view->level, err);
    if (rc == SONDE_OK)
        rc = choose_providers(view, err);
    return rc == SONDE_OK ? make_writer(view, err) : rc;
}

/* Shows where a condition cannot be read. */
static int refuse_condition(const char *condition, const struct sonde_error *err)
{
    int code = sn_command_fail(err);
    (void)fputs("  ", stderr);
    sn_terminal_put(stderr, SN_STYLE_NONE, condition);
    (void)fprintf(stderr, "\n  %*s^\n", (int)err->offset, "");
    return code;
}

static int listen_to(struct view *view, char **command)
{
    const struct arguments *arguments = view->arguments;
    const struct sn_option_list *events = &arguments->events;
    bool is_choosy = events->count || view->level || view->filter;
    struct sn_live_run run = {
        .choice = {.pids = &arguments->pids,
                   .names = &arguments->names,
                   .all = arguments->all,
                   .command = command,
                   .output = arguments->output,
                   .duration_ns = arguments->duration_ns,
                   .limit = arguments->limit},
        .verb = {.has_names = arguments->stacks,
                 .take = take_event,
                 .unit = "event",
                 .declined = is_choosy ? "--event, --level or --where left out" : NULL},
        .user = view};
    struct sonde_consumer_options *wants = &run.verb.wants;
    wants->size = sizeof(*wants);
    wants->providers = sonde_provider_set_get(view->set, &wants->provider_count);
    wants->name =
        events->count == 1 && !strpbrk(events->items[0], "*?[\\") ? events->items[0] : NULL;
    wants->stacks = arguments->stacks;
    wants->in_order = true;
    wants->lost = take_loss;
    return sn_live_run(&run);
}

/* One process, as lines of JSON, without names of methods: more cannot be asked of a controller. */
static int run_remote(const struct view *view, const struct sn_operands *operands,
                      struct sonde_error *err)
{
    const struct arguments *arguments = view->arguments;
    bool has_several = arguments->all || arguments->pids.count + arguments->names.count > 1;
    bool is_ndjson =
        arguments->json || (arguments->format && strcasecmp(arguments->format, "ndjson") == 0);
    struct sn_remote_events events = {
        .pid = arguments->pids.count ? arguments->pids.items[0] : NULL,
        .name = arguments->names.count ? arguments->names.items[0] : NULL,
        .events = &arguments->events,
        .level = view->level,
        .output = arguments->output,
        .duration_ns = arguments->duration_ns,
        .limit = arguments->limit,
    };
    events.providers = sonde_provider_set_get(view->set, &events.provider_count);
    if (has_several || operands->command || arguments->where || arguments->stacks || !is_ndjson) {
        (void)sn_remote_refuse(
            &arguments->remote,
            "a command, several processes, --where, --stacks or text (but --format ndjson)", err);
        return sn_command_fail(err);
    }
    return sn_remote_events_run(&events, &arguments->remote);
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    struct view view = {.arguments = arguments};
    int code;
    if (arguments->where && sonde_filter_new(arguments->where, &view.filter, &err) != SONDE_OK)
        code = refuse_condition(arguments->where, &err);
    else if (prepare(&view, &err) != SONDE_OK)
        code = sn_command_fail(&err);
    else if (sn_remote_is_named(&arguments->remote))
        code = run_remote(&view, operands, &err);
    else
        code = listen_to(&view, operands->command);
    sonde_filter_free(view.filter);
    sonde_writer_free(view.writer);
    sonde_provider_set_free(view.set);
    return code;
}

const struct sn_command sn_cmd_events = {
    .name = "events",
    .usage = "(-p PID | -n NAME | -a | -- COMMAND [ARG...]) [options]",
    .summary = "show events of running processes as they come",
    .examples = "  sonde events -p 1234\n"
                "  sonde events -n shop --clrevents exception --stacks\n"
                "  sonde events -n shop --event ContentionStop --where 'DurationNs > 1e6'\n"
                "  sonde events -a --providers System.Net.Http --json | jq .fields\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
