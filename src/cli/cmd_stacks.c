/* sonde stacks: what every thread of a process does at this moment, or did when it died. */
#include "cli/commands.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
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

#define PATH_LIMIT     1024u
#define STANDARD_EVERY SN_NS_PER_SECOND
#define SHORTEST_EVERY (10ull * SN_NS_PER_MS)

struct arguments {
    uint64_t pid;
    const char *name;
    const char *core;
    const char *format;
    const char *output;
    const char *way;
    uint64_t timeout_ns;
    uint64_t every_ns;
    uint64_t count;
    bool lines;
    bool native;
    bool async;
    bool locks;
    bool merged;
    bool no_stop;
    bool json;
    bool speedscope;
    struct sn_remote_choice remote;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'p', "process-id", SN_OPTION_NUMBER, AT(pid), "PID", "the process"},
    {'n', "name", SN_OPTION_TEXT, AT(name), "NAME", "the process, by name"},
    {0, "core", SN_OPTION_TEXT, AT(core), "FILE", "a core file instead of a process"},
    {'f', "format", SN_OPTION_TEXT, AT(format), "FORMAT",
     "text (default) threads tree json speedscope collapsed dotnet-stack"},
    {'o', "output", SN_OPTION_TEXT, AT(output), "FILE",
     "where to write them; default: standard output"},
    {0, "native", SN_OPTION_FLAG, AT(native), NULL,
     "native frames too, and threads that have no others"},
    {0, "async", SN_OPTION_FLAG, AT(async), NULL,
     "async methods that wait, on no thread, and the thread pool"},
    {0, "locks", SN_OPTION_FLAG, AT(locks), NULL,
     "who holds and who waits for locks; default in texts and JSON"},
    {0, "merged", SN_OPTION_FLAG, AT(merged), NULL, "as --format tree"},
    {0, "lines", SN_OPTION_FLAG, AT(lines), NULL,
     "source lines, from PDBs where they are at hand; default in texts"},
    {0, "every", SN_OPTION_DURATION, AT(every_ns), "TIME",
     "look again and again, and tell who has not moved"},
    {0, "count", SN_OPTION_NUMBER, AT(count), "N", "so many looks; with --every: default no end"},
    {0, "way", SN_OPTION_TEXT, AT(way), "WAY",
     "memory: from outside; port: by asking; default: the best there is"},
    {0, "no-stop", SN_OPTION_FLAG, AT(no_stop), NULL,
     "hold no running thread to look at it: it has no frames then"},
    {0, "timeout", SN_OPTION_DURATION, AT(timeout_ns), "TIME", "give up after this; default 10s"},
    {0, "json", SN_OPTION_FLAG, AT(json), NULL, "as --format json"},
    {0, "speedscope", SN_OPTION_FLAG, AT(speedscope), NULL, "as --format speedscope"},
    SN_REMOTE_OPTIONS(AT(remote)),
    SN_OPTIONS_END,
};

static void sonde_stacks_free_auto(struct sonde_stacks **slot)
{
    sonde_stacks_free(*slot);
}

/* --- what is asked for --- */

static const struct {
    const char *name;
    bool tells_all; /* locks, async methods and remarks too */
} formats[] = {{"text", true},        {"threads", true},    {"tree", true},         {"json", true},
               {"speedscope", false}, {"collapsed", false}, {"dotnet-stack", false}};

#define FORMAT_COUNT (sizeof(formats) / sizeof(*formats))

static const char *format_of(const struct arguments *arguments)
{
    if (arguments->format)
        return arguments->format;
    if (arguments->json)
        return "json";
    if (arguments->speedscope)
        return "speedscope";
    return arguments->merged ? "tree" : "text";
}

/* -1: there is no such format. */
static int find_format(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(formats[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

static bool tells_all(const struct arguments *arguments)
{
    int format = find_format(format_of(arguments));
    return format >= 0 && formats[format].tells_all;
}

/* By default where people read stack by stack. From memory they cost next to nothing; where stacks
 * are merged or counted they would part what belongs together. */
static bool has_lines(const struct arguments *arguments)
{
    const char *format = format_of(arguments);
    return strcmp(format, "text") == 0 || strcmp(format, "threads") == 0;
}

/* -1: there is no such way. */
static int way_of(const struct arguments *arguments)
{
    static const char *const ways[] = {"best", "memory", "port"}; /* enum sonde_stacks_way */
    for (int i = 0; arguments->way && i < 3; i++) {
        if (strcmp(ways[i], arguments->way) == 0)
            return i;
    }
    return arguments->way ? -1 : SONDE_STACKS_BEST;
}

static bool looks_often(const struct arguments *arguments)
{
    return arguments->every_ns || arguments->count > 1;
}

static int check_format(const struct arguments *arguments, struct sonde_error *err)
{
    const struct {
        bool is_given;
        const char *option;
        const char *format;
    } flags[] = {{arguments->json, "--json", "json"},
                 {arguments->speedscope, "--speedscope", "speedscope"},
                 {arguments->merged, "--merged", "tree"}};
    const char *chosen = format_of(arguments);
    if (find_format(chosen) < 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--format: '%.32s' is not text, json, speedscope, collapsed, threads, tree "
                       "or dotnet-stack",
                       chosen);
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        if (flags[i].is_given && strcmp(flags[i].format, chosen) != 0)
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s and --format %s contradict each other",
                           flags[i].option, chosen);
    }
    return SONDE_OK;
}

static int check(const struct arguments *arguments, struct sonde_error *err)
{
    if (check_format(arguments, err) != SONDE_OK)
        return SONDE_E_ARGUMENT;
    if (way_of(arguments) < 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--way: '%.32s' is not memory or port",
                       arguments->way);
    if (arguments->core && (arguments->pid || arguments->name))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "give a process or a core file, not both");
    if (arguments->core && (looks_often(arguments) || way_of(arguments) == SONDE_STACKS_PORT))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "a core file is looked at once, and has no port: leave --every, --count and "
                       "--way away");
    if (looks_often(arguments) && strcmp(format_of(arguments), "speedscope") == 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "a speedscope file has one look: leave --every and --count away");
    if (arguments->every_ns && arguments->every_ns < SHORTEST_EVERY)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--every: 10ms is the least");
    return SONDE_OK;
}

/* What a controller cannot be asked for: such a command works alone. */
static const char *local_option(const struct arguments *arguments)
{
    if (arguments->core)
        return "--core";
    if (arguments->no_stop)
        return "--no-stop";
    return looks_often(arguments) ? "--every" : NULL;
}

/* --- writing --- */

struct writing {
    struct sn_out_file *file;
    struct sonde_error *err;
};

static int write_piece(void *user, const void *bytes, size_t size)
{
    const struct writing *writing = user;
    return sn_out_file_write(writing->file, bytes, size, writing->err);
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

static void print_cost(const struct arguments *arguments, uint32_t pid,
                       const struct sonde_stacks *stacks, uint64_t took_ns)
{
    char took[32];
    char cpu[32];
    size_t count = sonde_stacks_thread_count(stacks);
    const char *source = sonde_stacks_source(stacks);
    bool is_port = strncmp(source, "the port", 8) == 0;
    (void)fprintf(stderr, "%zu thread%s ", count, count == 1 ? "" : "s");
    if (pid)
        (void)fprintf(stderr, "of pid %" PRIu32 " ", pid);
    (void)fprintf(stderr, "in %s, from ", sn_text_duration(took_ns, took));
    sn_terminal_put(stderr, SN_STYLE_NONE, source);
    (void)fprintf(stderr, "; cost %s of CPU here%s\n", sn_text_duration(own_cpu_ns(), cpu),
                  is_port ? ", and there a session that has ended"
                  : pid   ? ", and no work there"
                          : "");
    const char *remark = NULL;
    for (size_t i = 0; !tells_all(arguments) && (remark = sonde_stacks_remark(stacks, i)); i++) {
        (void)fputs("note: ", stderr);
        sn_terminal_put(stderr, SN_STYLE_NONE, remark);
        (void)fputc('\n', stderr);
    }
}

/* --- through a controller --- */

static void put_flag(struct sn_buf *to, const char *name, bool is_set)
{
    if (is_set)
        sn_buf_format(to, "&%s=true", name);
}

static void write_path(const struct arguments *arguments, uint32_t pid, struct sn_buf *to)
{
    sn_buf_format(to, "/api/v1/processes/%" PRIu32 "/stacks?format=%s", pid, format_of(arguments));
    put_flag(to, "lines", arguments->lines || has_lines(arguments));
    put_flag(to, "native", arguments->native);
    put_flag(to, "async", arguments->async);
    put_flag(to, "locks", arguments->locks);
    if (way_of(arguments) != SONDE_STACKS_BEST)
        sn_buf_format(to, "&way=%s", arguments->way);
}

/* The same as here, taken where the controller is. */
static int run_remote(const struct arguments *arguments, struct sn_remote *remote,
                      struct sonde_error *err)
{
    char took[32];
    uint32_t pid = 0;
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(PATH_LIMIT);
    struct sn_remote_output output = {.path = arguments->output,
                                      .is_text = tells_all(arguments) &&
                                                 strcmp(format_of(arguments), "json") != 0};
    uint64_t start = sn_clock_monotonic_ns();
    int rc = sn_remote_processes_choose(remote, arguments->pid, arguments->name, &pid, err);
    write_path(arguments, pid, &path);
    if (rc == SONDE_OK)
        rc = sn_remote_output_fetch(&output, remote, sn_buf_string(&path), NULL, false, err);
    if (rc != SONDE_OK)
        return rc;
    (void)fprintf(stderr, "stacks of pid %" PRIu32 " in %s, taken by the controller\n", pid,
                  sn_text_duration(sn_clock_monotonic_ns() - start, took));
    return SONDE_OK;
}

/* --- here --- */

struct looking {
    const struct arguments *arguments;
    uint32_t pid;
    int signals;
    struct sn_out_file file;
    struct sonde_stacks *before; /* owns; NULL at first */
    uint64_t count;              /* looks so far */
};

static void looking_done_auto(struct looking *looking)
{
    sonde_stacks_free(looking->before);
    sn_out_file_close(&looking->file);
}

static int look(struct looking *looking, struct sonde_error *err)
{
    const struct arguments *arguments = looking->arguments;
    SN_AUTO(sonde_stacks_free) struct sonde_stacks *stacks = NULL;
    bool is_by_port = way_of(arguments) == SONDE_STACKS_PORT;
    const struct sonde_stacks_options how = {
        .size = sizeof(how),
        .timeout_ns = arguments->timeout_ns,
        .with_lines = arguments->lines || (has_lines(arguments) && !is_by_port),
        .is_cancelled = is_interrupted,
        .cancel_user = &looking->signals,
        .way = way_of(arguments),
        .with_native = arguments->native,
        .with_tasks = arguments->async,
        .with_locks = arguments->locks || (tells_all(arguments) && !is_by_port),
        .no_stop = arguments->no_stop,
        .core = arguments->core};
    struct writing writing = {&looking->file, err};
    uint64_t start = sn_clock_monotonic_ns();
    int rc = sonde_stacks_take(looking->pid, &how, &stacks, err);
    uint64_t took_ns = sn_clock_monotonic_ns() - start;
    if (rc != SONDE_OK)
        return rc;
    if (looking->before)
        sonde_stacks_compare(stacks, looking->before);
    if (looking->count && strcmp(format_of(arguments), "json") != 0)
        rc = sn_out_file_write(&looking->file, "\n", 1, err);
    if (rc == SONDE_OK)
        rc = sonde_stacks_write(stacks, format_of(arguments), write_piece, &writing, err);
    if (rc == SONDE_OK && !looking->count++)
        print_cost(arguments, looking->pid, stacks, took_ns);
    sonde_stacks_free(looking->before);
    looking->before = SN_TAKE(stacks);
    return rc;
}

/* SONDE_END: somebody wants it to end. */
static int wait_for_next(const struct looking *looking, uint64_t due_ns)
{
    struct pollfd entry = {.fd = looking->signals, .events = POLLIN};
    uint64_t now = sn_clock_monotonic_ns();
    uint64_t left_ms = now < due_ns ? (due_ns - now) / SN_NS_PER_MS : 0;
    (void)poll(&entry, 1, left_ms < INT32_MAX ? (int)left_ms : INT32_MAX);
    return sn_signals_pending(looking->signals) ? SONDE_END : SONDE_OK;
}

/* A stop between two looks is a good end. */
static int look_often(struct looking *looking, struct sonde_error *err)
{
    const struct arguments *arguments = looking->arguments;
    uint64_t every = arguments->every_ns ? arguments->every_ns : STANDARD_EVERY;
    uint64_t due = sn_clock_monotonic_ns();
    uint64_t count = arguments->count ? arguments->count : arguments->every_ns ? UINT64_MAX : 1;
    int rc = look(looking, err);
    while (rc == SONDE_OK && looking->count < count) {
        due += every;
        if (wait_for_next(looking, due) == SONDE_END)
            break;
        rc = look(looking, err);
    }
    return rc == SONDE_END && looking->count ? SONDE_OK : rc;
}

static int run_here(const struct arguments *arguments, int signals)
{
    static const char *const no_inputs[] = {NULL};
    const char *const inputs[] = {arguments->core, NULL};
    struct sonde_error err = {0};
    SN_AUTO(looking_done)
    struct looking looking = {.arguments = arguments, .signals = signals, .file.fd = -1};
    if (!arguments->core &&
        sn_command_target(arguments->pid, arguments->name, &looking.pid, &err) != SONDE_OK)
        return sn_command_fail(&err);
    int rc = sn_out_file_open(&looking.file, arguments->output ? arguments->output : "-",
                              arguments->core ? inputs : no_inputs, &err);
    if (rc == SONDE_OK)
        rc = look_often(&looking, &err);
    if (rc == SONDE_END)
        return SN_EXIT_PARTIAL;
    struct sonde_error late = {0}; /* what came before a failure is kept */
    int finished = looking.count ? sn_out_file_finish(&looking.file, &late) : SONDE_OK;
    if (rc != SONDE_OK)
        (void)sn_command_fail(&err);
    if (finished != SONDE_OK)
        return sn_command_fail(&late);
    if (rc != SONDE_OK)
        return looking.count ? SN_EXIT_PARTIAL : sn_command_exit_code(err.status);
    return SN_EXIT_DONE;
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    SN_AUTO(sn_close) int signals = -1;
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    const char *local = local_option(arguments);
    (void)operands;
    if (check(arguments, &err) != SONDE_OK || sn_signals_open(&signals, &err) != SONDE_OK ||
        (local && sn_remote_refuse(&arguments->remote, local, &err) != SONDE_OK))
        return sn_command_fail(&err);
    if (!local && sn_remote_open(&arguments->remote, !arguments->timeout_ns, signals, &remote,
                                 &err) != SONDE_OK)
        return sn_command_fail(&err);
    if (remote && run_remote(arguments, remote, &err) == SONDE_OK)
        return SN_EXIT_DONE;
    if (remote && remote->is_named)
        return sn_command_fail(&err);
    /* One that nobody asked for may fail: then by ourselves. */
    return run_here(arguments, signals);
}

const struct sn_command sn_cmd_stacks = {
    .name = "stacks",
    .usage = "(-p PID | -n NAME | --core FILE) [--native] [--async] [--merged] [--locks]\n"
             "                    [--lines] [-f FORMAT] [-o FILE] [--every TIME] [--count N]\n"
             "                    [--way WAY] [--no-stop] [--timeout TIME] [--json | --speedscope]",
    .summary = "show what every thread of a process does at this moment, stuck or not",
    .examples = "  sonde stacks -p 1234\n"
                "  sonde stacks -n shop --lines --native\n"
                "  sonde stacks -n shop --async --merged\n"
                "  sonde stacks -n shop --every 1s --count 10\n"
                "  sonde stacks --core /var/crash/shop.core --json\n"
                "  sonde stacks -n shop --speedscope -o shop.speedscope.json\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
