#include "cli/dotnet_trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "cli/terminal.h"
#include "sonde/process.h"

/* The release whose behaviour this is, and who behaves so. */
#define VERSION "10.0.75+sonde." SONDE_VERSION

#define TEXT_LIMIT (1u << 20)

int sn_dotnet_fail(int code, const char *format, ...)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    va_list arguments;
    va_start(arguments, format);
    sn_buf_vformat(&text, format, arguments);
    va_end(arguments);
    (void)fflush(stdout);
    (void)fputs("[ERROR] ", stderr);
    sn_terminal_put(stderr, SN_STYLE_NONE, sn_buf_string(&text));
    (void)fputc('\n', stderr);
    return code;
}

/* --- processes --- */

static void read_link(uint32_t pid, char *to, size_t size)
{
    char link[32];
    (void)snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", pid);
    ssize_t length = readlink(link, to, size - 1);
    to[length > 0 ? length : 0] = '\0';
}

void sn_dotnet_process_read(uint32_t pid, struct sn_dotnet_process *ret_process)
{
    char path[32];
    *ret_process = (struct sn_dotnet_process){.pid = pid};
    read_link(pid, ret_process->path, sizeof(ret_process->path));
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
    long size = sn_file_peek_at(AT_FDCWD, path, ret_process->name, sizeof(ret_process->name));
    ret_process->name[strcspn(ret_process->name, "\n")] = '\0';
    const char *slash = strrchr(ret_process->path, '/');
    if (size >= 16 && slash && strncmp(slash + 1, ret_process->name, 15) == 0)
        (void)snprintf(ret_process->name, sizeof(ret_process->name), "%s", slash + 1);
}

struct row {
    struct sn_dotnet_process process;
    struct sn_buf arguments;
};

/* The words behind the program's own path; all of them where the first is something else. */
static void read_arguments(struct row *row)
{
    char path[40];
    SN_AUTO(sn_buf_done) struct sn_buf words = sn_buf_with_limit(TEXT_LIMIT);
    row->arguments = sn_buf_with_limit(TEXT_LIMIT);
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", row->process.pid);
    if (sn_file_read_at(AT_FDCWD, path, &words, NULL) != SONDE_OK || !words.size)
        return;
    const char *text = sn_buf_string(&words);
    const char *end = text + words.size;
    if (strcmp(text, row->process.path) == 0)
        text += strlen(text) + 1;
    for (; text < end; text++)
        sn_buf_u8(&row->arguments, *text ? (uint8_t)*text : ' ');
}

static int by_name(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    int order = strcasecmp(a->process.name, b->process.name);
    if (order == 0)
        order = strcmp(a->process.name, b->process.name);
    return order ? order : (a->process.pid > b->process.pid) - (a->process.pid < b->process.pid);
}

static size_t read_rows(const struct sonde_process_list *list, struct row *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (!process->is_reachable)
            continue;
        sn_dotnet_process_read(process->pid, &rows[count].process);
        read_arguments(&rows[count]);
        if (!rows[count].process.path[0])
            (void)snprintf(rows[count].process.path, sizeof(rows[count].process.path), "%s",
                           "[Elevated process - cannot determine path]");
        count++;
    }
    qsort(rows, count, sizeof(*rows), by_name);
    return count;
}

static int wider(int width, size_t size)
{
    return size > (size_t)width ? (int)size : width;
}

/* The last `width` columns at most, in a field of that width. */
static void print_field(const char *text, int width)
{
    size_t size = strlen(text);
    const char *shown = size > (size_t)width ? text + size - (size_t)width : text;
    (void)putchar(' ');
    sn_terminal_put(stdout, SN_STYLE_NONE, shown);
    (void)printf("%*s ", (int)((size_t)width - strlen(shown)), "");
}

static void print_rows(struct row *rows, size_t count)
{
    int pid = 0;
    int name = 0;
    int path = 0;
    int arguments = 0;
    unsigned columns = sn_terminal_width(stdout);
    int most = columns ? (int)(columns / 2) - 16 - (int)(columns / 20) : INT16_MAX;
    char number[16];
    for (size_t i = 0; i < count; i++) {
        pid = wider(pid, (size_t)snprintf(number, sizeof(number), "%" PRIu32, rows[i].process.pid));
        name = wider(name, strlen(rows[i].process.name));
        path = wider(path, strlen(rows[i].process.path));
        arguments = wider(arguments, rows[i].arguments.size);
    }
    most = most < 8 ? 8 : most;
    for (size_t i = 0; i < count; i++) {
        (void)printf(" %*" PRIu32 " ", pid, rows[i].process.pid);
        print_field(rows[i].process.name, name < most ? name : most);
        print_field(rows[i].process.path, path < most ? path : most);
        print_field(sn_buf_string(&rows[i].arguments), arguments < most ? arguments : most);
        (void)putchar('\n');
    }
    (void)putchar('\n');
}

int sn_dotnet_run_ps(const struct sn_net_line *line)
{
    (void)line;
    struct sonde_process_list *list = NULL;
    struct sonde_error err = {0};
    if (sonde_process_list_new(&list, &err) != SONDE_OK)
        return sn_dotnet_fail(SN_DOTNET_SESSION, "%s", err.text);
    SN_AUTO(sn_free) struct row *rows = calloc(sonde_process_list_count(list) + 1, sizeof(*rows));
    size_t count = rows ? read_rows(list, rows) : 0;
    if (count)
        print_rows(rows, count);
    else
        (void)puts("No supported .NET processes were found");
    for (size_t i = 0; i < count; i++)
        sn_buf_done(&rows[i].arguments);
    sonde_process_list_free(list);
    return SN_DOTNET_OK;
}

/* --- profiles --- */

static void print_profile(const struct sn_dotnet_profile *profile, int width)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s%s%s%s", profile->name, profile->verb ? " (" : "",
                   profile->verb ? profile->verb : "", profile->verb ? ")" : "");
    const char *line = profile->summary;
    size_t size = strcspn(line, "\n");
    (void)printf("\t%-*s - %.*s\n", width, name, (int)size, line);
    while (line[size]) {
        line += size + 1;
        size = strcspn(line, "\n");
        (void)printf("\t%*s   %.*s\n", width, "", (int)size, line);
    }
}

static int run_list_profiles(const struct sn_net_line *line)
{
    (void)line;
    int width = 0;
    const struct sn_dotnet_profile *profile = sn_dotnet_profiles;
    for (; profile->name; profile++)
        width =
            wider(width, strlen(profile->name) + (profile->verb ? strlen(profile->verb) + 3 : 0));
    (void)puts("dotnet-trace profiles:");
    for (profile = sn_dotnet_profiles; profile->name; profile++)
        print_profile(profile, width);
    return SN_DOTNET_OK;
}

/* --- collect-linux --- */

static int run_collect_linux(const struct sn_net_line *line)
{
    (void)line;
    (void)fputs(
        "The collect-linux command is not offered by sonde under this name.\n"
        "'dotnet-trace collect' records .NET events and thread stacks; 'sonde trace' beside "
        "them the kernel's CPU time.\n",
        stderr);
    return SN_DOTNET_PLATFORM;
}

struct linux_arguments {
    const char *ignored;
    int32_t pid;
    uint64_t duration_ns;
    int probe;
    uint32_t memory_mb;
};

#define TEXT(name, alias, help)                                                                \
    {                                                                                          \
        name, alias, SN_NET_TEXT, offsetof(struct linux_arguments, ignored), NULL, false, help \
    }

static const struct sn_net_option linux_options[] = {
    TEXT("--providers", NULL, "Providers of events."),
    TEXT("--clreventlevel", NULL, "How verbose the CLR's events are."),
    TEXT("--clrevents", NULL, "The CLR's events, by keyword."),
    TEXT("--perf-events", NULL, "Events of the kernel."),
    {"--probe", NULL, SN_NET_SWITCH, offsetof(struct linux_arguments, probe), NULL, false,
     "Only say which processes could be traced."},
    TEXT("--profile", NULL, "Named choices of events."),
    TEXT("--output", "-o", "The file to write."),
    {"--duration", NULL, SN_NET_SPAN, offsetof(struct linux_arguments, duration_ns), NULL, false,
     "How long to trace: dd:hh:mm:ss."},
    TEXT("--name", "-n", "The process, by name."),
    {"--process-id", "-p", SN_NET_INT, offsetof(struct linux_arguments, pid), NULL, false,
     "The process."},
    {"--max-memory", NULL, SN_NET_UINT, offsetof(struct linux_arguments, memory_mb), NULL, false,
     "The most memory to use, in megabytes."},
    SN_NET_OPTIONS_END,
};

/* --- the tool --- */

static const struct sn_net_command collect_linux = {
    .name = "collect-linux",
    .path = "collect-linux ",
    .summary = "Not offered by sonde: machine-wide collection through the kernel's perf_events.",
    .options = linux_options,
    .arguments_size = sizeof(struct linux_arguments),
    .run = run_collect_linux,
};

static const struct sn_net_command ps = {
    .name = "ps",
    .path = "ps ",
    .summary = "Lists the .NET processes that can be traced.",
    .run = sn_dotnet_run_ps,
};

static const struct sn_net_command list_profiles = {
    .name = "list-profiles",
    .path = "list-profiles ",
    .summary = "Lists the profiles that --profile takes, and what is in each.",
    .run = run_list_profiles,
};

static const struct sn_net_command *const commands[] = {
    &sn_dotnet_collect, &collect_linux,    &ps,  &list_profiles,
    &sn_dotnet_convert, &sn_dotnet_report, NULL,
};

static const struct sn_net_command root = {
    .name = "dotnet-trace",
    .path = "",
    .summary = "Collects and reads traces of .NET processes: sonde, under dotnet-trace's name.",
    .children = commands,
};

int sn_dotnet_trace_main(int argc, char **argv)
{
    return sn_net_main(&root, "dotnet-trace", VERSION, argc, argv);
}
