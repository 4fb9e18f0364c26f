/* sonde convert: a saved trace in the formats that other tools read. */
#include "cli/commands.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/out_file.h"
#include "cli/patience.h"
#include "cli/terminal.h"
#include "sonde/convert.h"
#include "sonde/profile.h"

#define NAME_LIMIT    4096u
#define NETTRACE_NEXT "'sonde report', PerfView and Visual Studio read it"

struct arguments {
    const char *format;
    const char *view;
    const char *output;
    const char *cpu_record;
    const char *process;
    uint64_t from_ns;
    uint64_t to_ns;
    const char *provider;
    const char *event;
    uint64_t version;
    bool full_names;
    bool merge_threads;
    bool lines;
    bool no_stacks;
    bool addresses;
};

static const struct sn_option options[] = {
    {'f', "format", SN_OPTION_TEXT, offsetof(struct arguments, format), "FORMAT",
     "speedscope pprof chrome collapsed html ndjson nettrace perfcollect"},
    {'o', "output", SN_OPTION_TEXT, offsetof(struct arguments, output), "FILE",
     "where to write it, - for standard output; default: as the trace"},
    {0, "view", SN_OPTION_TEXT, offsetof(struct arguments, view), "VIEW",
     "cpu wall wait alloc exceptions contention samples thread-time"},
    {0, "full-names", SN_OPTION_FLAG, offsetof(struct arguments, full_names), NULL,
     "Module!Namespace.Type.Method(arguments), as the runtime has it"},
    {0, "merge-threads", SN_OPTION_FLAG, offsetof(struct arguments, merge_threads), NULL,
     "one tree for all threads"},
    {0, "lines", SN_OPTION_FLAG, offsetof(struct arguments, lines), NULL,
     "source lines, from portable PDBs where they are at hand"},
    {0, "cpu-record", SN_OPTION_TEXT, offsetof(struct arguments, cpu_record), "FILE",
     "the CPU record; default the trace's name with .cpu"},
    {'p', "process", SN_OPTION_TEXT, offsetof(struct arguments, process), "PID|NAME",
     "of a recording: only this process (a part of its name, or with *)"},
    {0, "from", SN_OPTION_DURATION, offsetof(struct arguments, from_ns), "TIME",
     "only what happens from then on: 12.5 or 1m30s after its start"},
    {0, "to", SN_OPTION_DURATION, offsetof(struct arguments, to_ns), "TIME",
     "only what happens before then"},
    {0, "provider", SN_OPTION_TEXT, offsetof(struct arguments, provider), "NAME",
     "ndjson: only this provider's events"},
    {0, "event", SN_OPTION_TEXT, offsetof(struct arguments, event), "NAME",
     "ndjson: only events of this name"},
    {0, "no-stacks", SN_OPTION_FLAG, offsetof(struct arguments, no_stacks), NULL,
     "ndjson: without stacks"},
    {0, "addresses", SN_OPTION_FLAG, offsetof(struct arguments, addresses), NULL,
     "ndjson: stacks as addresses, not as names"},
    {0, "nettrace-version", SN_OPTION_NUMBER, offsetof(struct arguments, version), "N",
     "nettrace: 4 or 6 (default)"},
    SN_OPTIONS_END,
};

/* --- what there is --- */

/* What a format is called, and what to do with its files. */
struct target {
    const char *name;
    const char *extension;
    const char *next;
};

/* The events themselves; everything else is a profile. A format may have several endings. */
static const struct target event_targets[] = {
    {"ndjson", "ndjson", "one JSON object a line, for jq, DuckDB or pandas"},
    {"nettrace", "6.nettrace", NETTRACE_NEXT},
    {"nettrace", "4.nettrace", NETTRACE_NEXT},
    {"perfcollect", "trace.zip", "PerfView opens it as it does perfcollect's"},
};

static const char *next_step(const char *format)
{
    static const char *const steps[][2] = {
        {"speedscope", "open it in https://www.speedscope.app, which reads it in your browser"},
        {"pprof", "look at it with 'go tool pprof -http=: FILE'"},
        {"chrome", "open it in https://ui.perfetto.dev or chrome://tracing"},
        {"collapsed", "'flamegraph.pl FILE > flame.svg' draws it"},
        {"html", "open it in a browser"},
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        if (strcmp(steps[i][0], format) == 0)
            return steps[i][1];
    }
    return NULL;
}

static struct target target_at(size_t index)
{
    size_t event_count = sizeof(event_targets) / sizeof(*event_targets);
    size_t count;
    const struct sonde_format *formats = sonde_formats(&count);
    if (index < event_count)
        return event_targets[index];
    index -= event_count;
    if (index >= count)
        return (struct target){0};
    return (struct target){.name = formats[index].name,
                           .extension = formats[index].extension,
                           .next = next_step(formats[index].name)};
}

static bool ends_with(const char *text, const char *extension)
{
    size_t length = strlen(text);
    size_t suffix = strlen(extension);
    return length > suffix && text[length - suffix - 1] == '.' &&
           strcmp(text + length - suffix, extension) == 0;
}

/* By name; without one, by how the output's name ends. */
static bool find_target(const struct arguments *arguments, struct target *ret_target)
{
    const char *output = arguments->output ? arguments->output : "";
    for (size_t i = 0; (*ret_target = target_at(i)).name; i++) {
        if (arguments->format ? strcmp(ret_target->name, arguments->format) == 0
                              : ends_with(output, ret_target->extension))
            return true;
    }
    return false;
}

struct job {
    const struct arguments *arguments;
    struct target target;
    const char *input;
    const char *path; /* of the output */
    struct sn_out_file file;
    struct sonde_error *err;
    uint64_t version;    /* of a copy */
    uint64_t lost_count; /* told at the end */
    uint64_t dropped_count;
};

/* A copy is called after its version. */
static void set_version(struct job *job)
{
    bool is_four = strcmp(job->target.extension, "4.nettrace") == 0;
    job->version = job->arguments->version ? job->arguments->version : is_four ? 4 : 6;
    if (job->version == 4 && strcmp(job->target.name, "nettrace") == 0)
        job->target.extension = "4.nettrace";
}

/* --- options that would have no effect --- */

enum {
    FOR_PROFILES = 1,
    FOR_NDJSON = 2,
    FOR_NETTRACE = 4,
    FOR_PERFCOLLECT = 8,
};

static int kind_of(const char *format)
{
    if (strcmp(format, "ndjson") == 0)
        return FOR_NDJSON;
    if (strcmp(format, "nettrace") == 0)
        return FOR_NETTRACE;
    return strcmp(format, "perfcollect") == 0 ? FOR_PERFCOLLECT : FOR_PROFILES;
}

static int check_effects(const struct arguments *given, const char *format, struct sonde_error *err)
{
    const struct {
        const char *name;
        bool is_given;
        int kinds;
    } uses[] = {
        {"view", given->view != NULL, FOR_PROFILES},
        {"full-names", given->full_names, FOR_PROFILES},
        {"merge-threads", given->merge_threads, FOR_PROFILES},
        {"lines", given->lines, FOR_PROFILES},
        {"cpu-record", given->cpu_record != NULL, FOR_PROFILES},
        {"process", given->process != NULL, FOR_PROFILES},
        {"from", given->from_ns != 0, FOR_PROFILES},
        {"to", given->to_ns != 0, FOR_PROFILES},
        {"provider", given->provider != NULL, FOR_NDJSON},
        {"event", given->event != NULL, FOR_NDJSON},
        {"no-stacks", given->no_stacks, FOR_NDJSON},
        {"addresses", given->addresses, FOR_NDJSON},
        {"nettrace-version", given->version != 0, FOR_NETTRACE},
    };
    for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
        if (uses[i].is_given && !(uses[i].kinds & kind_of(format)))
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "--%s has no effect on the format %s",
                           uses[i].name, format);
    }
    return SONDE_OK;
}

/* --- doing it --- */

static int write_piece(void *user, const void *bytes, size_t size)
{
    struct job *job = user;
    return sn_out_file_write(&job->file, bytes, size, job->err);
}

static int open_output(struct job *job)
{
    const char *const inputs[] = {job->input, job->arguments->cpu_record, NULL};
    return sn_out_file_open(&job->file, job->path, inputs, job->err);
}

static int convert_ndjson(struct job *job)
{
    struct sonde_ndjson_options how = {.size = sizeof(how),
                                       .provider = job->arguments->provider,
                                       .name = job->arguments->event,
                                       .no_stacks = job->arguments->no_stacks,
                                       .addresses = job->arguments->addresses};
    int rc = open_output(job);
    return rc == SONDE_OK ? sonde_convert_ndjson(job->input, &how, write_piece, job, job->err) : rc;
}

static int convert_nettrace(struct job *job)
{
    uint32_t version = job->version > UINT32_MAX ? 0 : (uint32_t)job->version;
    int rc = open_output(job);
    const char *name = sn_out_file_name(&job->file);
    if (rc == SONDE_OK && !name)
        return sn_fail(job->err, SONDE_E_ARGUMENT, 0, "nettrace needs a file; give one with -o");
    return rc == SONDE_OK ? sonde_convert_nettrace(job->input, version, name, job->err) : rc;
}

static int convert_perfcollect(struct job *job)
{
    int rc = open_output(job);
    const char *name = sn_out_file_name(&job->file);
    if (rc == SONDE_OK && !name)
        return sn_fail(job->err, SONDE_E_ARGUMENT, 0, "perfcollect needs a file; give one with -o");
    return rc == SONDE_OK ? sonde_convert_perfcollect(job->input, name, job->err) : rc;
}

static void say(const char *text)
{
    (void)fputs("sonde: ", stderr);
    sn_terminal_put(stderr, SN_STYLE_NONE, text);
    (void)fputc('\n', stderr);
}

/* Whether it may be a recording, whose samples are CPU time: NetTrace 6, or no plain trace. */
static bool may_be_recording(const char *path)
{
    enum { VERSION_AT = 12 };
    uint8_t start[VERSION_AT + 4] = {0};
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(start, 1, sizeof(start), file) : 0;
    if (file)
        (void)fclose(file);
    return size != sizeof(start) || memcmp(start, "Nettrace", 8) != 0 || start[VERSION_AT] == 6;
}

static bool has_cpu_times(const struct job *job)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(NAME_LIMIT);
    if (job->arguments->cpu_record)
        return true; /* whoever names one wants to hear what is wrong with it */
    if (may_be_recording(job->input))
        return true;
    sn_buf_format(&name, "%s.cpu", job->input);
    return access(sn_buf_string(&name), F_OK) == 0;
}

/* CPU time if it can be told, else wall time, which is said and never called CPU. */
static int read_default_view(const struct job *job, struct sonde_profile_options *how,
                             struct sonde_profile **ret_profile)
{
    struct sonde_error err = {0};
    if (has_cpu_times(job)) {
        how->view = SONDE_VIEW_CPU;
        int rc = sonde_profile_read(job->input, how, ret_profile, &err);
        bool is_bad = rc != SONDE_OK && (rc != SONDE_E_NOT_FOUND || job->arguments->cpu_record);
        if (is_bad)
            *job->err = err;
        if (is_bad || rc == SONDE_OK)
            return rc;
    }
    how->view = SONDE_VIEW_WALL;
    int rc = sonde_profile_read(job->input, how, ret_profile, job->err);
    sn_patience_end();
    if (rc == SONDE_OK)
        say(err.text[0] ? err.text : "this is wall time: there is no CPU record beside the trace");
    return rc;
}

static int read_profile(const struct job *job, struct sonde_profile **ret_profile)
{
    const struct arguments *arguments = job->arguments;
    struct sonde_profile_options how = {.size = sizeof(how),
                                        .with_lines = arguments->lines,
                                        .cpu_record = arguments->cpu_record,
                                        .process = arguments->process,
                                        .from_ns = arguments->from_ns,
                                        .to_ns = arguments->to_ns};
    if (!arguments->view)
        return read_default_view(job, &how, ret_profile);
    how.view = sonde_view_find(arguments->view);
    if (how.view < 0)
        return sn_fail(job->err, SONDE_E_ARGUMENT, 0, "there is no view '%.64s'", arguments->view);
    return sonde_profile_read(job->input, &how, ret_profile, job->err);
}

static void sonde_profile_free_auto(struct sonde_profile **slot)
{
    sonde_profile_free(*slot);
}

/* The output is opened last: until then nothing is lost if something fails. */
static int convert_profile(struct job *job)
{
    SN_AUTO(sonde_profile_free) struct sonde_profile *profile = NULL;
    const char *slash = strrchr(job->input, '/');
    struct sonde_write_options how = {.size = sizeof(how),
                                      .title = slash ? slash + 1 : job->input,
                                      .full_names = job->arguments->full_names,
                                      .merge_threads = job->arguments->merge_threads};
    int rc = read_profile(job, &profile);
    if (rc == SONDE_OK)
        rc = open_output(job);
    if (rc == SONDE_OK)
        rc = sonde_profile_write(profile, job->target.name, &how, write_piece, job, job->err);
    if (rc != SONDE_OK)
        return rc;
    job->lost_count = sonde_profile_lost_count(profile);
    job->dropped_count = sonde_profile_dropped_count(profile);
    if (sonde_profile_is_partial(profile))
        return sn_fail(
            job->err, SONDE_E_TRUNCATED, 0,
            "'%s' is not whole, 'sonde report' says what is missing; the rest was converted",
            job->input);
    return SONDE_OK;
}

static int convert(struct job *job)
{
    if (strcmp(job->target.name, "ndjson") == 0)
        return convert_ndjson(job);
    if (strcmp(job->target.name, "nettrace") == 0)
        return convert_nettrace(job);
    if (strcmp(job->target.name, "perfcollect") == 0)
        return convert_perfcollect(job);
    return convert_profile(job);
}

static void say_what_was_written(const struct job *job)
{
    (void)fputs("wrote ", stderr);
    sn_terminal_put(stderr, SN_STYLE_BOLD, job->path);
    (void)fprintf(stderr, "%s%s\n", job->target.next ? ": " : "",
                  job->target.next ? job->target.next : "");
}

/* What is not in the result although the trace is read to its end. */
static void say_what_is_missing(const struct job *job)
{
    char number[32];
    if (job->lost_count)
        (void)fprintf(stderr,
                      "the trace lacks %s events that the kernel or a runtime had no room for\n",
                      sn_text_count(job->lost_count, number));
    if (job->dropped_count)
        (void)fprintf(stderr, "%s additions were over a ceiling of sonde's and are left out\n",
                      sn_text_count(job->dropped_count, number));
}

static int finish(struct job *job, int rc)
{
    struct sonde_error err = {0};
    bool is_written = rc == SONDE_OK || rc == SONDE_E_TRUNCATED;
    if (is_written && sn_out_file_finish(&job->file, &err) != SONDE_OK)
        return sn_command_fail(&err);
    int code = rc == SONDE_OK ? SN_EXIT_DONE : sn_command_fail(job->err);
    if (!is_written)
        return code;
    if (strcmp(job->path, "-") != 0)
        say_what_was_written(job);
    say_what_is_missing(job);
    return code == SN_EXIT_DONE && job->dropped_count ? SN_EXIT_PARTIAL : code;
}

/* "shop.nettrace" and "speedscope.json" make "shop.speedscope.json". */
static const char *default_name(struct sn_buf *name, const char *input, const char *extension)
{
    static const char *const endings[] = {"nettrace", "sonde.zip", "zip", "sonde"};
    size_t length = strlen(input);
    while (length > 1 && input[length - 1] == '/')
        length--; /* of a journal */
    sn_buf_append(name, input, length);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        if (ends_with(sn_buf_string(name), endings[i])) {
            name->size -= strlen(endings[i]) + 1;
            break;
        }
    }
    sn_buf_format(name, ".%s", extension);
    return sn_buf_string(name);
}

static int check_arguments(const struct arguments *arguments, const struct sn_operands *operands,
                           struct target *ret_target, struct sonde_error *err)
{
    if (operands->count != 1)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "which file? 'sonde convert FILE --format FORMAT'");
    bool is_found = find_target(arguments, ret_target);
    if (!is_found && arguments->format)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "there is no format '%.64s'; 'sonde convert --help' lists them",
                       arguments->format);
    if (!is_found)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "which format? give one with --format");
    return check_effects(arguments, ret_target->name, err);
}

static int run(const void *given, const struct sn_operands *operands)
{
    struct sonde_error err = {0};
    struct job job = {.arguments = given, .file.fd = -1, .err = &err};
    if (check_arguments(given, operands, &job.target, &err) != SONDE_OK || !job.target.name)
        return sn_command_fail(&err);
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(NAME_LIMIT);
    job.input = operands->words[0];
    job.path = job.arguments->output;
    set_version(&job);
    if (!job.path)
        job.path = default_name(&name, job.input, job.target.extension);
    sn_patience_start("converting");
    int rc = convert(&job);
    sn_patience_end();
    int code = finish(&job, rc);
    sn_out_file_close(&job.file);
    return code;
}

const struct sn_command sn_cmd_convert = {
    .name = "convert",
    .usage = "FILE --format FORMAT [--view VIEW] [-o FILE] [options]",
    .summary = "write a trace or recording in a format that other tools read",
    .examples =
        "  sonde convert shop.nettrace --format speedscope\n"
        "  sonde convert shop.sonde.zip --process shop --format perfcollect\n"
        "  sonde convert shop.nettrace --format pprof --view alloc -o shop.pb.gz\n"
        "  sonde convert shop.nettrace --format collapsed -o - | flamegraph.pl > flame.svg\n"
        "  sonde convert shop.nettrace --format ndjson -o - | jq .event\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 1,
    .is_offline = true,
    .run = run,
};
