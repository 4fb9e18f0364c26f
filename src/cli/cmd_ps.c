/* sonde ps: every .NET process on the machine, or where a controller is, and for those out of reach
 * the reason and the fix. */
#include "cli/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/remote.h"
#include "cli/remote_processes.h"
#include "cli/terminal.h"
#include "sonde/process.h"

#define OUTPUT_LIMIT (64u << 20)

struct arguments {
    bool json;
    struct sn_remote_choice remote;
};

/* The processes, wherever they were seen. */
struct shown {
    const struct sonde_process *items;
    size_t count;
};

static const struct sn_option options[] = {
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL, "one JSON array"},
    SN_REMOTE_OPTIONS(offsetof(struct arguments, remote)),
    SN_OPTIONS_END,
};

static void write_json(const struct shown *shown, struct sn_buf *out)
{
    struct sn_json json = sn_json_to(out);
    sn_json_array(&json, NULL);
    for (size_t i = 0; i < shown->count; i++) {
        const struct sonde_process *process = &shown->items[i];
        sn_json_object(&json, NULL);
        sn_json_u64(&json, "pid", process->pid);
        sn_json_u64(&json, "nsPid", process->ns_pid);
        sn_json_text(&json, "name", process->name);
        sn_json_text(&json, "runtime", process->runtime);
        sn_json_text(&json, "architecture", process->architecture);
        sn_json_u64(&json, "uid", process->uid);
        sn_json_text(&json, "user", process->user);
        sn_json_text(&json, "container", process->container);
        sn_json_real(&json, "upSeconds", (double)process->up_ns / 1e9);
        sn_json_u64(&json, "residentBytes", process->rss_bytes);
        sn_json_u64(&json, "threads", process->thread_count);
        sn_json_text(&json, "commandLine", process->command_line);
        sn_json_bool(&json, "reachable", process->is_reachable);
        sn_json_text(&json, "reason", process->reason);
        sn_json_text(&json, "fix", process->fix);
        sn_json_close(&json);
    }
    sn_json_close(&json);
}

/* Columns as wide as their widest value; containers only when there are any. */
struct widths {
    int name;
    int user;
    int container;
};

static struct widths measure(const struct shown *shown)
{
    struct widths widths = {.name = 4, .user = 4};
    for (size_t i = 0; i < shown->count; i++) {
        const struct sonde_process *process = &shown->items[i];
        int name = (int)sn_terminal_columns(process->name);
        int user = (int)sn_terminal_columns(process->user);
        widths.name = name > widths.name ? name : widths.name;
        widths.user = user > widths.user ? user : widths.user;
        if (process->container[0])
            widths.container = 13;
    }
    widths.name = widths.name > 32 ? 32 : widths.name;
    widths.user = widths.user > 16 ? 16 : widths.user;
    return widths;
}

static void print_row(const struct sonde_process *process, const struct widths *widths)
{
    char up[32];
    char memory[16];
    enum sn_style style = process->is_reachable ? SN_STYLE_NONE : SN_STYLE_WARN;
    (void)printf("%7" PRIu32 "  ", process->pid);
    sn_terminal_cell(stdout, process->is_reachable ? SN_STYLE_BOLD : style, process->name,
                     widths->name + 2);
    sn_terminal_cell(stdout, style, process->runtime[0] ? process->runtime : "?", 10);
    sn_terminal_cell(stdout, SN_STYLE_NONE, process->user, widths->user + 2);
    if (widths->container)
        sn_terminal_cell(stdout, SN_STYLE_NONE, process->container, widths->container + 1);
    sn_terminal_cell(stdout, SN_STYLE_NONE, sn_text_duration(process->up_ns, up), 11);
    sn_terminal_cell(stdout, SN_STYLE_NONE, sn_text_bytes(process->rss_bytes, memory), 8);
    int left = (int)sn_terminal_width(stdout) - 9 - widths->name - 2 - 10 - widths->user - 2 -
               (widths->container ? widths->container + 1 : 0) - 19;
    if (sn_terminal_width(stdout))
        sn_terminal_cell(stdout, SN_STYLE_DIM, process->command_line, left > 10 ? left : 10);
    else
        sn_terminal_put(stdout, SN_STYLE_NONE, process->command_line);
    (void)putchar('\n');
    if (process->is_reachable)
        return;
    (void)fputs("         ", stdout);
    sn_terminal_put(stdout, SN_STYLE_WARN, "unreachable: ");
    sn_terminal_put(stdout, SN_STYLE_WARN, process->reason);
    if (process->fix[0]) {
        (void)fputs("\n         fix: ", stdout);
        sn_terminal_put(stdout, SN_STYLE_NONE, process->fix);
    }
    (void)putchar('\n');
}

static void print_table(const struct shown *shown, bool is_remote)
{
    size_t count = shown->count;
    if (!count) {
        (void)puts(is_remote ? "The controller sees no .NET process."
                   : geteuid() == 0
                       ? "No .NET process runs on this machine."
                       : "No .NET process was found. Those of other users may be hidden from "
                         "you; root sees all.");
        return;
    }
    struct widths widths = measure(shown);
    (void)printf("%7s  %-*s%-10s%-*s", "PID", widths.name + 2, "NAME", "RUNTIME", widths.user + 2,
                 "USER");
    if (widths.container)
        (void)printf("%-*s", widths.container + 1, "CONTAINER");
    (void)printf("%-11s%-8s%s\n", "UP", "MEMORY", "COMMAND");
    for (size_t i = 0; i < count; i++)
        print_row(&shown->items[i], &widths);
}

static void sonde_process_list_free_auto(struct sonde_process_list **slot)
{
    sonde_process_list_free(*slot);
}

static int show(const struct arguments *arguments, const struct shown *shown, bool is_remote)
{
    if (!arguments->json) {
        print_table(shown, is_remote);
        return SN_EXIT_DONE;
    }
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    write_json(shown, &out);
    return sn_terminal_flush(&out) ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

static int show_own(const struct arguments *arguments, struct sonde_error *err)
{
    SN_AUTO(sonde_process_list_free) struct sonde_process_list *list = NULL;
    if (sonde_process_list_new(&list, err) != SONDE_OK)
        return sn_command_fail(err);
    size_t count = sonde_process_list_count(list);
    SN_AUTO(sn_free) struct sonde_process *items = calloc(count + 1, sizeof(*items));
    for (size_t i = 0; items && i < count; i++)
        items[i] = *sonde_process_list_get(list, i);
    struct shown shown = {items, items ? count : 0};
    return show(arguments, &shown, false);
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    (void)operands;
    SN_AUTO(sn_remote_close) struct sn_remote *remote = NULL;
    SN_AUTO(sn_remote_processes_done) struct sn_remote_processes processes = {0};
    int rc = sn_remote_open(&arguments->remote, true, -1, &remote, &err);
    if (rc == SONDE_OK && remote)
        rc = sn_remote_processes_get(remote, &processes, &err);
    if (rc != SONDE_OK && (!remote || remote->is_named))
        return sn_command_fail(&err);
    if (rc != SONDE_OK || !remote)
        return show_own(arguments, &(struct sonde_error){0});
    struct shown shown = {processes.items, processes.count};
    return show(arguments, &shown, true);
}

const struct sn_command sn_cmd_ps = {
    .name = "ps",
    .usage = "[--json] [--host URL]",
    .summary = "list the .NET processes of this machine, and why one cannot be reached",
    .examples = "  sonde ps\n"
                "  sonde ps --json | jq '.[] | select(.reachable | not)'\n"
                "  sonde ps --host https://build7:52380 --host-key-file ~/build7.key\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
