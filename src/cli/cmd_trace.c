/* sonde trace: records the events of chosen processes to .nettrace files. */
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/provider_options.h"
#include "cli/remote.h"
#include "cli/remote_processes.h"
#include "cli/remote_recording.h"
#include "cli/signals.h"
#include "cli/trace_run.h"
#include "sonde/provider.h"

struct arguments {
    struct sn_option_list pids;
    struct sn_option_list names;
    struct sn_option_list profiles;
    struct sn_option_list providers;
    const char *clr_events;
    const char *clr_level;
    struct sn_option_list events;
    struct sn_option_list exclude_events;
    bool no_stacks;
    bool no_rundown;
    uint64_t duration_ns;
    uint64_t buffer_mb;
    const char *output;
    const char *format;
    uint64_t roll_bytes;
    uint64_t keep;
    const char *stop_provider;
    const char *stop_event;
    const char *stop_payload;
    bool no_cpu;
    bool list_profiles;
    bool json;
    struct sn_remote_choice remote;
};

#define LARGEST_BUFFER_MB 65536u
#define SMALLEST_ROLL     100000u

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'p', "process-id", SN_OPTION_LIST, AT(pids), "PID", "the process; may be given several times"},
    {'n', "name", SN_OPTION_LIST, AT(names), "NAME", "the process, by name; likewise"},
    {0, "profile", SN_OPTION_LIST, AT(profiles), "NAME,...",
     "named choices of events; --list-profiles shows them"},
    {0, "providers", SN_OPTION_LIST, AT(providers), "SPEC,...",
     "Name[:Keywords[:Level[:key=value;...]]]"},
    {0, "clrevents", SN_OPTION_TEXT, AT(clr_events), "NAME+...",
     "the runtime's events, by keyword: gc+exception"},
    {0, "clreventlevel", SN_OPTION_TEXT, AT(clr_level), "LEVEL",
     "how verbose those are: 0 to 5 or a name"},
    {0, "events", SN_OPTION_LIST, AT(events), "PROV=ID,...",
     "keep only these event ids of a provider"},
    {0, "exclude-events", SN_OPTION_LIST, AT(exclude_events), "PROV=ID,...", "leave these out"},
    {0, "no-stacks", SN_OPTION_FLAG, AT(no_stacks), NULL,
     "far cheaper for the target; .NET 9 and later"},
    {0, "no-rundown", SN_OPTION_FLAG, AT(no_rundown), NULL, "no method names at the end"},
    {0, "duration", SN_OPTION_DURATION, AT(duration_ns), "TIME",
     "stop after 30s, 5m, or dd:hh:mm:ss"},
    {0, "buffersize", SN_OPTION_NUMBER, AT(buffer_mb), "MB",
     "buffer in the target; 256, or 5 % of its limit"},
    {'o', "output", SN_OPTION_TEXT, AT(output), "FILE", "default NAME_DATE_TIME.nettrace"},
    {0, "format", SN_OPTION_TEXT, AT(format), "FORMAT",
     "NetTrace (the runtime's own bytes), NetTrace4, NetTrace6"},
    {0, "roll", SN_OPTION_BYTES, AT(roll_bytes), "SIZE", "start a new, complete file at this size"},
    {0, "keep", SN_OPTION_NUMBER, AT(keep), "COUNT", "of rolled files keep the newest only"},
    {0, "stopping-event-provider-name", SN_OPTION_TEXT, AT(stop_provider), "NAME",
     "stop after an event of this"},
    {0, "stopping-event-event-name", SN_OPTION_TEXT, AT(stop_event), "NAME", "... called so"},
    {0, "stopping-event-payload-filter", SN_OPTION_TEXT, AT(stop_payload), "F:V,...",
     "... with these field values"},
    {0, "no-cpu", SN_OPTION_FLAG, AT(no_cpu), NULL,
     "do not record CPU time per thread in FILE.cpu"},
    {0, "list-profiles", SN_OPTION_FLAG, AT(list_profiles), NULL, "what --profile takes"},
    {0, "json", SN_OPTION_FLAG, AT(json), NULL, "the outcome as JSON"},
    SN_REMOTE_OPTIONS(AT(remote)),
    SN_OPTIONS_END,
};

static int list_profiles(void)
{
    size_t count;
    const struct sonde_trace_profile *profiles = sonde_trace_profiles(&count);
    for (size_t i = 0; i < count; i++) {
        (void)printf("%-28s %s\n", profiles[i].name, profiles[i].summary);
        for (size_t k = 0; k < profiles[i].provider_count; k++) {
            const struct sonde_provider *provider = &profiles[i].providers[k];
            (void)printf("%-28s   %s:0x%llx:%d\n", "", provider->name,
                         (unsigned long long)provider->keywords, provider->level);
        }
    }
    return SN_EXIT_DONE;
}

static int keep_ids(struct sonde_provider_set *set, const char *text, struct sonde_error *err)
{
    return sonde_provider_set_filter(set, text, false, err);
}

static int leave_out_ids(struct sonde_provider_set *set, const char *text, struct sonde_error *err)
{
    return sonde_provider_set_filter(set, text, true, err);
}

/* Nothing asked for: what dotnet-trace collects by default. */
static int choose_providers(const struct arguments *arguments, struct sonde_provider_set *set,
                            struct sonde_error *err)
{
    struct sn_provider_choice choice = {.profiles = &arguments->profiles,
                                        .providers = &arguments->providers,
                                        .clr_events = arguments->clr_events,
                                        .clr_level = arguments->clr_level};
    int rc = SONDE_OK;
    if (sn_provider_choice_is_empty(&choice))
        rc = sonde_provider_set_add_profiles(set, "dotnet-common,dotnet-sampled-thread-time", err);
    if (rc == SONDE_OK)
        rc = sn_provider_choice_add(&choice, set, err);
    if (rc == SONDE_OK)
        rc = sn_provider_add_each(set, &arguments->events, keep_ids, err);
    if (rc == SONDE_OK)
        rc = sn_provider_add_each(set, &arguments->exclude_events, leave_out_ids, err);
    return rc;
}

static int read_format(const char *text, uint32_t *ret_format, struct sonde_error *err)
{
    static const struct {
        const char *name;
        uint32_t format;
    } formats[] = {{"NetTrace", 0}, {"NetTrace4", 4}, {"NetTrace6", 6}};
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        if (!text || strcasecmp(formats[i].name, text) == 0) {
            *ret_format = formats[i].format;
            return SONDE_OK;
        }
    }
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "--format: '%.32s' is not NetTrace, NetTrace4 or NetTrace6", text);
}

/* Once, however often it was named: two traces would write the same file. */
static void add_target(struct sn_trace_run *run, uint32_t pid)
{
    for (size_t i = 0; i < run->pid_count; i++) {
        if (run->pids[i] == pid)
            return;
    }
    run->pids[run->pid_count++] = pid;
}

static int resolve_targets(const struct arguments *arguments, struct sn_trace_run *run,
                           struct sonde_error *err)
{
    for (size_t i = 0; i < arguments->pids.count; i++) {
        uint64_t pid = 0;
        if (!sn_text_to_u64(arguments->pids.items[i], INT32_MAX, &pid) || !pid)
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.32s' is not a pid",
                           arguments->pids.items[i]);
        add_target(run, (uint32_t)pid);
    }
    for (size_t i = 0; i < arguments->names.count; i++) {
        uint32_t pid = 0;
        int rc = sn_command_target(0, arguments->names.items[i], &pid, err);
        if (rc != SONDE_OK)
            return rc;
        add_target(run, pid);
    }
    if (!run->pid_count && !(run->command && run->command[0]))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "which process? give -p PID, -n NAME or -- COMMAND; 'sonde ps' lists them");
    if (run->pid_count && run->command)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "give processes or a command, not both");
    return SONDE_OK;
}

/* Options that mean nothing alone, or nothing good. */
static int check_together(const struct arguments *arguments, struct sonde_error *err)
{
    if (arguments->buffer_mb > LARGEST_BUFFER_MB)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--buffersize: at most %u MB", LARGEST_BUFFER_MB);
    if (arguments->roll_bytes && arguments->roll_bytes < SMALLEST_ROLL)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--roll: at least %u bytes, as each file has names of its own",
                       SMALLEST_ROLL);
    if (arguments->keep > UINT32_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--keep: at most %u files", UINT32_MAX);
    if (arguments->keep && !arguments->roll_bytes)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--keep needs --roll");
    return SONDE_OK;
}

/* --- through a controller --- */

static json_t *stopping_event(const struct arguments *arguments)
{
    json_t *event = json_object();
    sn_remote_put_text(event, "provider", arguments->stop_provider);
    sn_remote_put_text(event, "event", arguments->stop_event);
    sn_remote_put_text(event, "payload", arguments->stop_payload);
    return event;
}

static json_t *remote_body(const struct arguments *arguments, uint32_t pid)
{
    json_t *body = json_pack("{s:s, s:{s:I}, s:b, s:b, s:b}", "kind", "trace", "process", "pid",
                             (json_int_t)pid, "stacks", !arguments->no_stacks, "rundown",
                             !arguments->no_rundown, "cpu", !arguments->no_cpu);
    sn_remote_put_words(body, "profile", arguments->profiles.items, arguments->profiles.count);
    sn_remote_put_list(body, "providers", arguments->providers.items, arguments->providers.count);
    sn_remote_put_text(body, "clrEvents", arguments->clr_events);
    sn_remote_put_text(body, "clrEventLevel", arguments->clr_level);
    sn_remote_put_list(body, "events", arguments->events.items, arguments->events.count);
    sn_remote_put_list(body, "excludeEvents", arguments->exclude_events.items,
                       arguments->exclude_events.count);
    sn_remote_put_text(body, "format", arguments->format);
    if (arguments->duration_ns)
        (void)json_object_set_new(body, "durationSeconds",
                                  json_real((double)arguments->duration_ns / 1e9));
    if (arguments->buffer_mb)
        (void)json_object_set_new(body, "bufferMB", json_integer((json_int_t)arguments->buffer_mb));
    if (arguments->stop_provider)
        (void)json_object_set_new(body, "stoppingEvent", stopping_event(arguments));
    return body;
}

/* What a controller can do for us: one process that is there, one file. */
static bool suits_remote(const struct arguments *arguments, const struct sn_operands *operands)
{
    return !operands->command && !arguments->roll_bytes &&
           arguments->pids.count + arguments->names.count <= 1;
}

/* What one does for us that nobody named: just what would come of it here. */
static bool suits_any(const struct arguments *arguments, const struct sn_operands *operands)
{
    return suits_remote(arguments, operands) && !operands->count && !arguments->json &&
           !arguments->keep && !arguments->stop_provider && !arguments->stop_event &&
           !arguments->stop_payload && arguments->pids.count + arguments->names.count == 1;
}

static int find_remote_target(const struct arguments *arguments, struct sn_remote *remote,
                              uint32_t *ret_pid, struct sonde_error *err)
{
    uint64_t pid = 0;
    if (arguments->pids.count &&
        (!sn_text_to_u64(arguments->pids.items[0], INT32_MAX, &pid) || !pid))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.32s' is not a pid", arguments->pids.items[0]);
    return sn_remote_processes_choose(
        remote, pid, arguments->names.count ? arguments->names.items[0] : NULL, ret_pid, err);
}

/* -1: a controller that nobody named cannot do it. */
static int run_remote(const struct arguments *arguments, struct sn_remote *remote, int signals)
{
    struct sonde_error err = {0};
    uint32_t pid = 0;
    if (find_remote_target(arguments, remote, &pid, &err) != SONDE_OK)
        return remote->is_named ? sn_command_fail(&err) : -1;
    struct sn_remote_recording recording = {.remote = remote,
                                            .body = remote_body(arguments, pid),
                                            .output = arguments->output,
                                            .ending = ".nettrace",
                                            .json = arguments->json,
                                            .is_trace = true,
                                            .has_cpu_record = !arguments->no_cpu,
                                            .is_optional = !remote->is_named,
                                            .is_live = isatty(STDERR_FILENO),
                                            .reads_keys = isatty(STDIN_FILENO),
                                            .signals = signals,
                                            .tell = sn_remote_tell_trace};
    int code = sn_remote_recording_run(&recording);
    json_decref(recording.body);
    return code;
}

/* -1: here, and by ourselves. */
static int try_remote(const struct arguments *arguments, const struct sn_operands *operands)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_close) int signals = -1;
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    int rc = SONDE_OK;
    if (sn_remote_is_named(&arguments->remote) && !suits_remote(arguments, operands))
        rc = sn_remote_refuse(&arguments->remote, "a command, --roll or several processes", &err);
    if (rc == SONDE_OK)
        rc = sn_signals_open(&signals, &err);
    if (rc == SONDE_OK)
        rc = sn_remote_open(&arguments->remote, suits_any(arguments, operands), signals, &remote,
                            &err);
    if (rc != SONDE_OK)
        return sn_command_fail(&err);
    return remote ? run_remote(arguments, remote, signals) : -1;
}

/* --- the verb --- */

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    if (arguments->list_profiles)
        return list_profiles();
    int code = try_remote(arguments, operands);
    if (code >= 0)
        return code;
    struct sn_trace_run trace = {.command = operands->command,
                                 .output = arguments->output,
                                 .duration_ns = arguments->duration_ns,
                                 .json = arguments->json,
                                 .asked = &arguments->providers,
                                 .is_live = isatty(STDERR_FILENO) && !operands->command,
                                 .reads_keys = isatty(STDIN_FILENO) && !operands->command};
    SN_AUTO(sonde_provider_set_free) struct sonde_provider_set *set = NULL;
    int rc = operands->count
                 ? sn_fail(&err, SONDE_E_ARGUMENT, 0, "what is '%.64s'? a command stands behind --",
                           operands->words[0])
                 : sonde_provider_set_new(&set, &err);
    if (rc == SONDE_OK)
        rc = choose_providers(arguments, set, &err);
    if (rc == SONDE_OK)
        rc = read_format(arguments->format, &trace.options.format, &err);
    if (rc == SONDE_OK)
        rc = check_together(arguments, &err);
    if (rc == SONDE_OK)
        rc = resolve_targets(arguments, &trace, &err);
    if (rc != SONDE_OK)
        return sn_command_fail(&err);
    trace.options.size = sizeof(trace.options);
    trace.options.providers = sonde_provider_set_get(set, &trace.options.provider_count);
    trace.options.rundown_keyword = sonde_provider_set_rundown(set);
    trace.options.buffer_mb = (uint32_t)arguments->buffer_mb;
    trace.options.no_stacks = arguments->no_stacks;
    trace.options.no_rundown = arguments->no_rundown;
    trace.options.roll_bytes = arguments->roll_bytes;
    trace.options.roll_keep = (uint32_t)arguments->keep;
    trace.options.stop_provider = arguments->stop_provider;
    trace.options.stop_event = arguments->stop_event;
    trace.options.stop_payload = arguments->stop_payload;
    trace.options.no_cpu_record = arguments->no_cpu;
    return sn_trace_run(&trace);
}

const struct sn_command sn_cmd_trace = {
    .name = "trace",
    .usage = "(-p PID | -n NAME | -- COMMAND [ARG...]) [options]",
    .summary = "record the events of chosen processes to .nettrace files",
    .examples = "  sonde trace -p 1234 --duration 30s\n"
                "  sonde trace -n shop --profile gc-verbose,exceptions -o shop.nettrace\n"
                "  sonde trace --clrevents gc+jit --roll 100MB --keep 5 -p 1234\n"
                "  sonde trace --profile aspnet -- dotnet shop.dll\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
