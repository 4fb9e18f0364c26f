/* sonde dump: asks the runtime to write a core dump of itself. */
#include "cli/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/remote.h"
#include "cli/remote_output.h"
#include "cli/remote_processes.h"
#include "cli/terminal.h"
#include "net/http_client.h"
#include "sonde/target.h"

#define DUMP_NS (600ull * SN_NS_PER_SECOND)

struct arguments {
    uint64_t pid;
    const char *name;
    const char *type;
    const char *output;
    uint64_t timeout_ns;
    bool json;
    struct sn_remote_choice remote;
};

static const struct sn_option options[] = {
    {'p', "process-id", SN_OPTION_NUMBER, offsetof(struct arguments, pid), "PID", "the process"},
    {'n', "name", SN_OPTION_TEXT, offsetof(struct arguments, name), "NAME", "the process, by name"},
    {0, "type", SN_OPTION_TEXT, offsetof(struct arguments, type), "TYPE",
     "Full, Heap (default), Mini or Triage (no heap)"},
    {'o', "output", SN_OPTION_TEXT, offsetof(struct arguments, output), "FILE",
     "where the target writes it; default core_DATE_TIME here"},
    {0, "timeout", SN_OPTION_DURATION, offsetof(struct arguments, timeout_ns), "TIME",
     "give up after this; default 10m"},
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL, "one JSON object"},
    SN_REMOTE_OPTIONS(offsetof(struct arguments, remote)),
    SN_OPTIONS_END,
};

static bool parse_type(const char *text, enum sonde_dump_type *ret_type)
{
    static const struct {
        const char *name;
        enum sonde_dump_type type;
    } types[] = {{"full", SONDE_DUMP_FULL},
                 {"heap", SONDE_DUMP_HEAP},
                 {"withheap", SONDE_DUMP_HEAP},
                 {"mini", SONDE_DUMP_MINI},
                 {"triage", SONDE_DUMP_TRIAGE}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (strcasecmp(types[i].name, text) == 0) {
            *ret_type = types[i].type;
            return true;
        }
    }
    return false;
}

/* The target opens the file, so the path must mean the same there: make it absolute here. */
static void absolute_path(const char *output, struct sn_buf *path)
{
    if (!output || output[0] != '/') {
        char folder[4096];
        if (getcwd(folder, sizeof(folder)))
            sn_buf_format(path, "%s/", folder);
    }
    if (output) {
        sn_buf_text(path, output);
        return;
    }
    char stamp[32];
    time_t now = time(NULL);
    struct tm parts;
    if (!localtime_r(&now, &parts))
        parts = (struct tm){.tm_mday = 1};
    (void)strftime(stamp, sizeof(stamp), "%Y%m%d_%H%M%S", &parts);
    sn_buf_format(path, "core_%s", stamp);
}

static int report(const struct arguments *arguments, uint32_t pid, const char *path,
                  uint64_t took_ns)
{
    struct stat status = {0};
    bool is_here = stat(path, &status) == 0;
    if (arguments->json) {
        SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(65536);
        struct sn_json json = sn_json_to(&out);
        sn_json_object(&json, NULL);
        sn_json_u64(&json, "pid", pid);
        sn_json_text(&json, "file", path);
        if (is_here)
            sn_json_u64(&json, "bytes", (uint64_t)status.st_size);
        sn_json_u64(&json, "durationMs", took_ns / SN_NS_PER_MS);
        sn_json_close(&json);
        if (!sn_terminal_flush(&out))
            return SN_EXIT_FAILED;
    } else {
        sn_terminal_put(stdout, SN_STYLE_NONE, path);
        (void)putchar('\n');
    }
    char size[16];
    char duration[32];
    (void)fprintf(stderr, "dumped pid %" PRIu32 " in %s, %s; it was stopped meanwhile\n", pid,
                  sn_text_duration(took_ns, duration),
                  is_here ? sn_text_bytes((uint64_t)status.st_size, size)
                          : "in the target's own file system");
    return SN_EXIT_DONE;
}

static const char *type_name(enum sonde_dump_type type)
{
    switch (type) {
    case SONDE_DUMP_FULL: return "Full";
    case SONDE_DUMP_MINI: return "Mini";
    case SONDE_DUMP_TRIAGE: return "Triage";
    default: return "WithHeap";
    }
}

/* Written where the controller is, and brought here. */
static int dump_remote(const struct arguments *arguments, struct sn_remote *remote,
                       enum sonde_dump_type type, const char *path, uint32_t *ret_pid,
                       struct sonde_error *err)
{
    char asked[96];
    struct sn_remote_output output = {.path = path};
    int rc = sn_remote_processes_choose(remote, arguments->pid, arguments->name, ret_pid, err);
    if (rc != SONDE_OK)
        return rc;
    (void)snprintf(asked, sizeof(asked), "/dump?pid=%" PRIu32 "&type=%s", *ret_pid,
                   type_name(type));
    sn_http_client_set_timeout(remote->client,
                               arguments->timeout_ns ? arguments->timeout_ns : DUMP_NS);
    return sn_remote_output_fetch(&output, remote, asked, NULL, false, err);
}

static int dump_own(const struct arguments *arguments, enum sonde_dump_type type, const char *path,
                    uint32_t *ret_pid, struct sonde_error *err)
{
    int rc = sn_command_target(arguments->pid, arguments->name, ret_pid, err);
    if (rc == SONDE_OK && sn_terminal_width(stderr))
        (void)fputs("dumping; the process stands still until it is done ...\n", stderr);
    return rc == SONDE_OK ? sonde_target_dump(*ret_pid, type, path, arguments->timeout_ns, err)
                          : rc;
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    uint32_t pid = 0;
    (void)operands;
    enum sonde_dump_type type = SONDE_DUMP_HEAP;
    if (arguments->type && !parse_type(arguments->type, &type)) {
        (void)sn_fail(&err, SONDE_E_ARGUMENT, 0,
                      "--type: '%.32s' is not Full, Heap, Mini or Triage", arguments->type);
        return sn_command_fail(&err);
    }
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(8192);
    absolute_path(arguments->output, &path);
    uint64_t start = sn_clock_monotonic_ns();
    int rc = sn_remote_open(&arguments->remote, false, -1, &remote, &err);
    if (rc == SONDE_OK)
        rc = remote ? dump_remote(arguments, remote, type, sn_buf_string(&path), &pid, &err)
                    : dump_own(arguments, type, sn_buf_string(&path), &pid, &err);
    if (rc != SONDE_OK)
        return sn_command_fail(&err);
    return report(arguments, pid, sn_buf_string(&path), sn_clock_monotonic_ns() - start);
}

const struct sn_command sn_cmd_dump = {
    .name = "dump",
    .usage = "(-p PID | -n NAME) [--type TYPE] [-o FILE] [--timeout TIME] [--json]",
    .summary = "write a core dump of a .NET process, for dotnet-dump, lldb or gdb",
    .examples = "  sonde dump -p 1234\n"
                "  sonde dump -n shop --type Triage -o /tmp/shop.dmp\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
