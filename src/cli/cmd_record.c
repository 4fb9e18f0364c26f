/* sonde record: everything that runs on this machine, or chosen processes, into one archive. */
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/file_name.h"
#include "cli/patience.h"
#include "cli/record_named.h"
#include "cli/record_run.h"
#include "cli/remote.h"
#include "cli/remote_recording.h"
#include "cli/scope_options.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "sonde/provider.h"

struct arguments {
    struct sn_option_list pids;
    struct sn_option_list names;
    const char *cgroup;
    bool all;
    uint64_t duration_ns;
    const char *output;
    const char *frequency;
    const char *preset;
    bool off_cpu;
    bool syscalls;
    struct sn_option_list events;
    struct sn_option_list profiles;
    struct sn_option_list providers;
    const char *way;
    bool no_cpu;
    bool no_runtimes;
    bool perf_map;
    bool lines;
    bool keep_journal;
    bool keep_command_lines;
    bool json;
    struct sn_remote_choice remote;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'d', "duration", SN_OPTION_DURATION, AT(duration_ns), "TIME",
     "stop after 30s, 5m, or dd:hh:mm:ss"},
    {'a', "all", SN_OPTION_FLAG, AT(all), NULL, "every process; the default"},
    {'p', "process-id", SN_OPTION_LIST, AT(pids), "PID,...",
     "these processes and what they start; may be given several times"},
    {'n', "name", SN_OPTION_LIST, AT(names), "NAME",
     "processes of this name, those to come too; likewise"},
    {0, "cgroup", SN_OPTION_TEXT, AT(cgroup), "PATH", "the processes of a cgroup: a container"},
    {'o', "output", SN_OPTION_TEXT, AT(output), "FILE", "default NAME_DATE_TIME.sonde.zip"},
    {'F', "frequency", SN_OPTION_TEXT, AT(frequency), "HZ",
     "CPU samples per second and CPU; 999 if not given"},
    {0, "preset", SN_OPTION_TEXT, AT(preset), "NAME",
     "cpu (the default), thread-time or everything"},
    {0, "off-cpu", SN_OPTION_FLAG, AT(off_cpu), NULL, "where threads wait, how long, for what"},
    {0, "syscalls", SN_OPTION_FLAG, AT(syscalls), NULL, "system calls with durations and stacks"},
    {0, "events", SN_OPTION_LIST, AT(events), "SYS:NAME,...",
     "kernel tracepoints: sched:sched_process_exec"},
    {0, "profile", SN_OPTION_LIST, AT(profiles), "NAME,...",
     "runtime events instead of the preset's, as in 'sonde trace'"},
    {0, "providers", SN_OPTION_LIST, AT(providers), "SPEC,...",
     "the same as Name[:Keywords[:Level[:key=value;...]]]"},
    {0, "way", SN_OPTION_TEXT, AT(way), "WAY",
     "machine, threads or runtime; if not given, the best there is"},
    {0, "no-cpu", SN_OPTION_FLAG, AT(no_cpu), NULL, "no CPU samples"},
    {0, "no-runtimes", SN_OPTION_FLAG, AT(no_runtimes), NULL,
     "ask no runtime: managed code has no names"},
    {0, "perf-map", SN_OPTION_FLAG, AT(perf_map), NULL,
     "let runtimes write /tmp/perf-PID.map: names of their stubs"},
    {0, "lines", SN_OPTION_FLAG, AT(lines), NULL, "source lines of native code"},
    {0, "keep-journal", SN_OPTION_FLAG, AT(keep_journal), NULL,
     "leave the directory NAME.sonde, do not zip it"},
    {0, "keep-command-lines", SN_OPTION_FLAG, AT(keep_command_lines), NULL,
     "do not take out what looks like a secret"},
    {0, "json", SN_OPTION_FLAG, AT(json), NULL, "the outcome as JSON"},
    SN_REMOTE_OPTIONS(AT(remote)),
    SN_OPTIONS_END,
};

/* What people want to see, as events of runtimes (docs/profiles.md) and of the kernel. */
struct preset {
    const char *name;
    const char *profiles;
    bool with_switches;
    bool with_syscalls;
};

static const struct preset presets[] = {
    {"cpu", "light", false, false},
    {"thread-time", "light,threadpool,async", true, false},
    {"everything", "light,threadpool,async,jit,alloc", true, true},
};

/* Everything that the options of a recording point to. */
struct plan {
    struct sn_pid_list pids;
    struct sn_word_list tracepoints;
    struct sonde_provider_set *providers; /* owns */
    struct sn_buf output;
};

static void plan_done_auto(struct plan *plan)
{
    sn_word_list_done(&plan->tracepoints);
    sonde_provider_set_free(plan->providers);
    sn_buf_done(&plan->output);
}

/* --- from arguments to options --- */

static int find_preset(const char *name, const struct preset **ret_preset, struct sonde_error *err)
{
    for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++) {
        if (!name || strcmp(presets[i].name, name) == 0) {
            *ret_preset = &presets[i];
            return SONDE_OK;
        }
    }
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "--preset: '%.32s' is not cpu, thread-time or everything", name);
}

static int choose_processes(const struct arguments *arguments, struct plan *plan,
                            struct sonde_record_options *to, struct sonde_error *err)
{
    bool is_narrow = arguments->pids.count || arguments->names.count || arguments->cgroup;
    if (arguments->all && (is_narrow || to->command))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "give --all or some processes, not both");
    if (to->command && is_narrow)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "give processes or a command, not both");
    int rc = sn_pid_list_read(&plan->pids, &arguments->pids, err);
    if (rc == SONDE_OK)
        rc = sn_pid_list_add_names(&plan->pids, &arguments->names, err);
    to->pids = plan->pids.items;
    to->pid_count = plan->pids.count;
    to->names = arguments->names.items;
    to->name_count = arguments->names.count;
    to->cgroup = arguments->cgroup;
    return rc;
}

/* --profile and --providers take the place of what a preset would ask runtimes for, unless that was
 * named too. */
static int choose_events(const struct arguments *arguments, const struct preset *preset,
                         struct plan *plan, struct sonde_error *err)
{
    bool is_chosen = arguments->profiles.count || arguments->providers.count;
    int rc = sonde_provider_set_new(&plan->providers, err);
    if (rc == SONDE_OK && (arguments->preset || !is_chosen))
        rc = sonde_provider_set_add_profiles(plan->providers, preset->profiles, err);
    for (size_t i = 0; rc == SONDE_OK && i < arguments->profiles.count; i++)
        rc = sonde_provider_set_add_profiles(plan->providers, arguments->profiles.items[i], err);
    for (size_t i = 0; rc == SONDE_OK && i < arguments->providers.count; i++)
        rc = sonde_provider_set_add(plan->providers, arguments->providers.items[i], err);
    if (rc == SONDE_OK && is_chosen && arguments->no_runtimes)
        rc = sn_fail(err, SONDE_E_ARGUMENT, 0,
                     "--no-runtimes leaves nobody to ask for --profile or --providers");
    return rc == SONDE_OK ? sn_word_list_split(&plan->tracepoints, &arguments->events, err) : rc;
}

static bool ends_with(const struct sn_buf *text, const char *ending)
{
    size_t size = strlen(ending);
    return text->size > size && memcmp(text->bytes + text->size - size, ending, size) == 0;
}

/* As given, with the ending by which everybody knows an archive. */
static void name_as_given(struct sn_buf *to, const char *given)
{
    sn_buf_text(to, given);
    if (ends_with(to, ".sonde.zip"))
        return;
    if (ends_with(to, ".zip"))
        to->size -= strlen(".zip");
    sn_buf_text(to, ends_with(to, ".sonde") ? ".zip" : ".sonde.zip");
}

/* The one process it is about, else the machine. Where it goes is told with its whole path: the
 * reader may be in another folder. */
static void name_output(const struct arguments *arguments, const struct sonde_record_options *given,
                        struct sn_buf *to)
{
    SN_AUTO(sn_free) char *here = realpath(".", NULL);
    if ((!arguments->output || arguments->output[0] != '/') && here)
        sn_buf_format(to, "%s/", strcmp(here, "/") == 0 ? "" : here);
    if (arguments->output) {
        name_as_given(to, arguments->output);
        return;
    }
    if (given->command)
        sn_file_name_safe(to, given->command[0]);
    else if (arguments->names.count == 1 && !arguments->pids.count)
        sn_file_name_safe(to, given->names[0]);
    else if (given->pid_count == 1 && !given->name_count)
        sn_file_name_process(to, given->pids[0], "process");
    else
        sn_buf_text(to, given->cgroup || given->pid_count || given->name_count ? "processes"
                                                                               : "machine");
    sn_file_name_stamp(to, ".sonde.zip");
}

static int make_plan(const struct arguments *arguments, struct plan *plan,
                     struct sonde_record_options *to, struct sonde_error *err)
{
    const struct preset *preset = &presets[0];
    int rc = find_preset(arguments->preset, &preset, err);
    if (rc == SONDE_OK)
        rc = sn_way_read(arguments->way, &to->way, err);
    if (rc == SONDE_OK)
        rc = choose_processes(arguments, plan, to, err);
    if (rc == SONDE_OK)
        rc = choose_events(arguments, preset, plan, err);
    if (rc == SONDE_OK)
        rc = sn_frequency_read(arguments->frequency, &to->frequency, err);
    if (rc != SONDE_OK)
        return rc;
    name_output(arguments, to, &plan->output);
    to->output = sn_buf_string(&plan->output);
    to->with_switches = arguments->off_cpu || preset->with_switches;
    to->with_syscalls = arguments->syscalls || preset->with_syscalls;
    to->tracepoints = plan->tracepoints.items;
    to->tracepoint_count = plan->tracepoints.count;
    if (!arguments->no_runtimes)
        to->providers = sonde_provider_set_get(plan->providers, &to->provider_count);
    return SONDE_OK;
}

/* --- what to do --- */

static int record(const struct arguments *arguments, char *const *command, const char *name)
{
    struct sonde_error err = {0};
    SN_AUTO(plan_done) struct plan plan = {.output = sn_buf_with_limit(8192)};
    bool is_live = isatty(STDERR_FILENO) && !command;
    struct sn_record_run run = {
        .options = {.size = sizeof(run.options),
                    .command = command,
                    .no_cpu = arguments->no_cpu,
                    .no_runtimes = arguments->no_runtimes,
                    .perf_map = arguments->perf_map,
                    .with_lines = arguments->lines,
                    .keep_journal = arguments->keep_journal,
                    .keep_command_lines = arguments->keep_command_lines},
        .duration_ns = arguments->duration_ns,
        .json = arguments->json,
        .reads_keys = isatty(STDIN_FILENO) && !command,
        .words = stderr,
        .result = stdout,
        .started = is_live ? sn_record_say_started : NULL,
        .live = is_live ? sn_record_show_live : NULL,
    };
    if (make_plan(arguments, &plan, &run.options, &err) != SONDE_OK)
        return sn_command_fail(&err);
    return name ? sn_record_start(name, &run) : sn_record_run(&run);
}

static int finish(const char *journal, const char *output)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_buf_done) struct sn_buf archive = sn_buf_with_limit(8192);
    SN_AUTO(sn_buf_done) struct sn_buf plain = sn_buf_with_limit(8192);
    sn_buf_text(&plain, journal);
    while (plain.size > 1 && plain.bytes[plain.size - 1] == '/')
        plain.size--;
    name_as_given(&archive, output ? output : sn_buf_string(&plain));
    sn_patience_start("naming and packing what was recorded");
    int rc = sonde_journal_finish(sn_buf_string(&plain), sn_buf_string(&archive), &err);
    sn_patience_end();
    if (rc < 0)
        return sn_command_fail(&err);
    sn_terminal_put(stdout, SN_STYLE_BOLD, sn_buf_string(&archive));
    (void)putchar('\n');
    (void)fputs("next: sonde report ", stderr);
    sn_terminal_put(stderr, SN_STYLE_BOLD, sn_buf_string(&archive));
    (void)fputc('\n', stderr);
    return SN_EXIT_DONE;
}

/* The words that are no options: what they mean together. */
static int check_words(const struct sn_operands *operands, struct sonde_error *err)
{
    static const char *const verbs[] = {"start", "stop", "list", "status", "finish"};
    if (operands->command && !operands->command[0])
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "behind -- stands the command to record");
    if (!operands->count)
        return SONDE_OK;
    size_t verb = 0;
    while (verb < 5 && strcmp(verbs[verb], operands->words[0]) != 0)
        verb++;
    if (verb == 5)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "what is '%.64s'? start, stop, list or finish; a command stands behind --",
                       operands->words[0]);
    if (operands->command && strcmp(verbs[verb], "start") != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s takes no command", verbs[verb]);
    bool needs_name = strcmp(verbs[verb], "list") != 0 && strcmp(verbs[verb], "status") != 0;
    if (needs_name && operands->count < 2)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s what? give %s", verbs[verb],
                       verb == 4 ? "the journal, a directory NAME.sonde" : "a name");
    return SONDE_OK;
}

/* --- through a controller --- */

static int remote_body(const struct arguments *arguments, json_t *body, struct sonde_error *err)
{
    struct sn_pid_list pids = {0};
    uint64_t frequency = 0;
    int rc = sn_pid_list_read(&pids, &arguments->pids, err);
    if (rc != SONDE_OK)
        return rc;
    if (arguments->frequency && !sn_text_to_u64(arguments->frequency, UINT32_MAX, &frequency))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--frequency: '%.32s' is not a number",
                       arguments->frequency);
    json_t *list = json_array();
    for (size_t i = 0; i < pids.count; i++)
        (void)json_array_append_new(list, json_integer((json_int_t)pids.items[i]));
    (void)json_object_set_new(body, "kind", json_string("record"));
    (void)json_object_set_new(body, "pids", list);
    sn_remote_put_list(body, "names", arguments->names.items, arguments->names.count);
    sn_remote_put_text(body, "preset", arguments->preset);
    sn_remote_put_text(body, "way", arguments->way);
    sn_remote_put_words(body, "profile", arguments->profiles.items, arguments->profiles.count);
    sn_remote_put_list(body, "providers", arguments->providers.items, arguments->providers.count);
    sn_remote_put_list(body, "tracepoints", arguments->events.items, arguments->events.count);
    (void)json_object_set_new(body, "offCpu", json_boolean(arguments->off_cpu));
    (void)json_object_set_new(body, "syscalls", json_boolean(arguments->syscalls));
    if (frequency)
        (void)json_object_set_new(body, "frequency", json_integer((json_int_t)frequency));
    if (arguments->duration_ns)
        (void)json_object_set_new(body, "durationSeconds",
                                  json_real((double)arguments->duration_ns / 1e9));
    return SONDE_OK;
}

static int check_remote(const struct arguments *arguments, const struct sn_operands *operands,
                        struct sonde_error *err)
{
    if (operands->command || operands->count)
        return sn_remote_refuse(&arguments->remote, "a command, or start, stop, list and finish,",
                                err);
    if (arguments->cgroup || arguments->no_cpu || arguments->no_runtimes || arguments->perf_map ||
        arguments->lines || arguments->keep_journal || arguments->keep_command_lines)
        return sn_remote_refuse(&arguments->remote,
                                "--cgroup, --no-cpu, --no-runtimes, --perf-map, --lines, "
                                "--keep-journal or --keep-command-lines",
                                err);
    return SONDE_OK;
}

static int run_remote(const struct arguments *arguments, const struct sn_operands *operands)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_close) int signals = -1;
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf output = sn_buf_with_limit(8192);
    json_t *body = json_object();
    int rc = check_remote(arguments, operands, &err);
    if (rc == SONDE_OK)
        rc = remote_body(arguments, body, &err);
    if (rc == SONDE_OK)
        rc = sn_signals_open(&signals, &err);
    if (rc == SONDE_OK)
        rc = sn_remote_open(&arguments->remote, false, signals, &remote, &err);
    if (arguments->output)
        name_as_given(&output, arguments->output);
    struct sn_remote_recording recording = {
        .remote = remote,
        .body = body,
        .output = arguments->output ? sn_buf_string(&output) : NULL,
        .ending = ".sonde.zip",
        .json = arguments->json,
        .is_live = isatty(STDERR_FILENO),
        .reads_keys = isatty(STDIN_FILENO),
        .signals = signals,
        .tell = sn_remote_tell_record,
    };
    int code = rc == SONDE_OK ? sn_remote_recording_run(&recording) : sn_command_fail(&err);
    json_decref(body);
    return code;
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    if (check_words(operands, &err) != SONDE_OK)
        return sn_command_fail(&err);
    if (sn_remote_is_named(&arguments->remote))
        return run_remote(arguments, operands);
    const char *verb = operands->count ? operands->words[0] : "";
    const char *name = operands->count > 1 ? operands->words[1] : NULL;
    if (strcmp(verb, "stop") == 0)
        return sn_record_stop(name, arguments->json);
    if (strcmp(verb, "finish") == 0)
        return finish(name, arguments->output);
    if (strcmp(verb, "list") == 0 || strcmp(verb, "status") == 0)
        return sn_record_list(name, arguments->json);
    return record(arguments, operands->command, name);
}

const struct sn_command sn_cmd_record = {
    .name = "record",
    .usage = "[start NAME | stop NAME | list | finish JOURNAL] [options] [-- COMMAND...]",
    .summary = "record what runs on this machine, with kernel, native and managed frames",
    .examples = "  sonde record -d 30s\n"
                "  sonde record -n shop --preset thread-time -d 1m -o shop\n"
                "  sonde record --syscalls -- dotnet shop.dll\n"
                "  sonde record start night --frequency 99\n"
                "  sonde record stop night\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 2,
    .words = "start stop list status finish",
    .run = run,
};
