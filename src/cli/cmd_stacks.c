/* sonde stacks: where every managed thread of a process is at this moment. */
#include "cli/commands.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/out_file.h"
#include "cli/remote.h"
#include "cli/remote_output.h"
#include "cli/remote_processes.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "sonde/stacks.h"

struct arguments {
    uint64_t pid;
    const char *name;
    const char *format;
    const char *output;
    uint64_t timeout_ns;
    bool lines;
    bool json;
    struct sn_remote_choice remote;
};

static const struct sn_option options[] = {
    {'p', "process-id", SN_OPTION_NUMBER, offsetof(struct arguments, pid), "PID", "the process"},
    {'n', "name", SN_OPTION_TEXT, offsetof(struct arguments, name), "NAME", "the process, by name"},
    {'f', "format", SN_OPTION_TEXT, offsetof(struct arguments, format), "FORMAT",
     "text (default) json speedscope collapsed"},
    {'o', "output", SN_OPTION_TEXT, offsetof(struct arguments, output), "FILE",
     "where to write them; default: standard output"},
    {0, "lines", SN_OPTION_FLAG, offsetof(struct arguments, lines), NULL,
     "source lines, from portable PDBs where they are at hand"},
    {0, "timeout", SN_OPTION_DURATION, offsetof(struct arguments, timeout_ns), "TIME",
     "give up after this; default 10s"},
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL, "as --format json"},
    SN_REMOTE_OPTIONS(offsetof(struct arguments, remote)),
    SN_OPTIONS_END,
};

static void sonde_stacks_free_auto(struct sonde_stacks **slot)
{
    sonde_stacks_free(*slot);
}

struct writing {
    struct sn_out_file file;
    struct sonde_error *err;
};

static int write_piece(void *user, const void *bytes, size_t size)
{
    struct writing *writing = user;
    return sn_out_file_write(&writing->file, bytes, size, writing->err);
}

static int write_out(const struct arguments *arguments, const struct sonde_stacks *stacks,
                     struct sonde_error *err)
{
    static const char *const no_inputs[] = {NULL};
    struct writing writing = {.file.fd = -1, .err = err};
    const char *format = arguments->format ? arguments->format : arguments->json ? "json" : "text";
    int rc = sn_out_file_open(&writing.file, arguments->output ? arguments->output : "-", no_inputs,
                              err);
    if (rc == SONDE_OK)
        rc = sonde_stacks_write(stacks, format, write_piece, &writing, err);
    if (rc == SONDE_OK)
        rc = sn_out_file_finish(&writing.file, err);
    sn_out_file_close(&writing.file);
    return rc;
}

static bool is_interrupted(void *user)
{
    return sn_signals_pending(*(const int *)user);
}

static uint64_t own_cpu_ns(void)
{
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_SELF, &usage); /* cannot fail */
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SN_NS_PER_SECOND +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

static void print_cost(uint32_t pid, const struct sonde_stacks *stacks, uint64_t took_ns)
{
    char took[32];
    char cpu[32];
    size_t count = sonde_stacks_thread_count(stacks);
    (void)fprintf(stderr,
                  "%zu thread%s of pid %" PRIu32 " in %s; cost %s of CPU here, and there a session "
                  "that has ended\n",
                  count, count == 1 ? "" : "s", pid, sn_text_duration(took_ns, took),
                  sn_text_duration(own_cpu_ns(), cpu));
}

static int check(const struct arguments *arguments, struct sonde_error *err)
{
    static const char *const formats[] = {"text", "json", "speedscope", "collapsed"};
    if (arguments->json && arguments->format && strcmp(arguments->format, "json") != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--json and --format %.32s contradict each other",
                       arguments->format);
    for (size_t i = 0; arguments->format && i < sizeof(formats) / sizeof(*formats); i++) {
        if (strcmp(formats[i], arguments->format) == 0)
            return SONDE_OK;
    }
    if (!arguments->format)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "--format: '%.32s' is not text, json, speedscope or collapsed",
                   arguments->format);
}

/* The same as here, taken where the controller is. */
static int run_remote(const struct arguments *arguments, struct sn_remote *remote,
                      struct sonde_error *err)
{
    char path[128];
    char took[32];
    uint32_t pid = 0;
    const char *format = arguments->format ? arguments->format : arguments->json ? "json" : "text";
    struct sn_remote_output output = {.path = arguments->output,
                                      .is_text = strcmp(format, "text") == 0};
    uint64_t start = sn_clock_monotonic_ns();
    int rc = sn_remote_processes_choose(remote, arguments->pid, arguments->name, &pid, err);
    (void)snprintf(path, sizeof(path), "/api/v1/processes/%" PRIu32 "/stacks?format=%s&lines=%s",
                   pid, format, arguments->lines ? "true" : "false");
    if (rc == SONDE_OK)
        rc = sn_remote_output_fetch(&output, remote, path, NULL, false, err);
    if (rc != SONDE_OK)
        return rc;
    (void)fprintf(stderr, "stacks of pid %" PRIu32 " in %s, taken by the controller\n", pid,
                  sn_text_duration(sn_clock_monotonic_ns() - start, took));
    return SONDE_OK;
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    uint32_t pid = 0;
    SN_AUTO(sn_close) int signals = -1;
    SN_AUTO(sonde_stacks_free) struct sonde_stacks *stacks = NULL;
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    (void)operands;
    if (check(arguments, &err) != SONDE_OK || sn_signals_open(&signals, &err) != SONDE_OK ||
        sn_remote_open(&arguments->remote, !arguments->timeout_ns, signals, &remote, &err) !=
            SONDE_OK)
        return sn_command_fail(&err);
    if (remote && run_remote(arguments, remote, &err) == SONDE_OK)
        return SN_EXIT_DONE;
    if (remote && remote->is_named)
        return sn_command_fail(&err);
    err = (struct sonde_error){0}; /* one that nobody asked for may fail: then by ourselves */
    if (sn_command_target(arguments->pid, arguments->name, &pid, &err) != SONDE_OK)
        return sn_command_fail(&err);
    const struct sonde_stacks_options how = {.size = sizeof(how),
                                             .timeout_ns = arguments->timeout_ns,
                                             .with_lines = arguments->lines,
                                             .is_cancelled = is_interrupted,
                                             .cancel_user = &signals};
    uint64_t start = sn_clock_monotonic_ns();
    int rc = sonde_stacks_take(pid, &how, &stacks, &err);
    if (rc == SONDE_END)
        return SN_EXIT_PARTIAL;
    uint64_t took_ns = sn_clock_monotonic_ns() - start;
    if (rc != SONDE_OK || write_out(arguments, stacks, &err) != SONDE_OK)
        return sn_command_fail(&err);
    print_cost(pid, stacks, took_ns);
    return SN_EXIT_DONE;
}

const struct sn_command sn_cmd_stacks = {
    .name = "stacks",
    .usage = "(-p PID | -n NAME) [-f FORMAT] [-o FILE] [--lines] [--timeout TIME] [--json]",
    .summary = "show where every managed thread of a process is, at this moment",
    .examples = "  sonde stacks -p 1234\n"
                "  sonde stacks -n shop --lines\n"
                "  sonde stacks -n shop -f speedscope -o shop.speedscope.json\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
