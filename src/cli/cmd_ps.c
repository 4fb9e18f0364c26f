/* sonde ps: every .NET process on the machine, and for those out of reach the reason and the fix.
 */
#include "cli/commands.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "sonde/process.h"

#define OUTPUT_LIMIT (64u << 20)

struct arguments {
    bool json;
};

static const struct sn_option options[] = {
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL, "one JSON array"},
    SN_OPTIONS_END,
};

static void write_json(const struct sonde_process_list *list, struct sn_buf *out)
{
    struct sn_json json = sn_json_to(out);
    sn_json_array(&json, NULL);
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
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

static struct widths measure(const struct sonde_process_list *list)
{
    struct widths widths = {.name = 4, .user = 4};
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
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

static void print_table(const struct sonde_process_list *list)
{
    size_t count = sonde_process_list_count(list);
    if (!count) {
        (void)puts(geteuid() == 0
                       ? "No .NET process runs on this machine."
                       : "No .NET process was found. Those of other users may be hidden from "
                         "you; root sees all.");
        return;
    }
    struct widths widths = measure(list);
    (void)printf("%7s  %-*s%-10s%-*s", "PID", widths.name + 2, "NAME", "RUNTIME", widths.user + 2,
                 "USER");
    if (widths.container)
        (void)printf("%-*s", widths.container + 1, "CONTAINER");
    (void)printf("%-11s%-8s%s\n", "UP", "MEMORY", "COMMAND");
    for (size_t i = 0; i < count; i++)
        print_row(sonde_process_list_get(list, i), &widths);
}

static void sonde_process_list_free_auto(struct sonde_process_list **slot)
{
    sonde_process_list_free(*slot);
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    struct sonde_error err = {0};
    (void)operands;
    SN_AUTO(sonde_process_list_free) struct sonde_process_list *list = NULL;
    if (sonde_process_list_new(&list, &err) != SONDE_OK)
        return sn_command_fail(&err);
    if (!arguments->json) {
        print_table(list);
        return SN_EXIT_DONE;
    }
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    write_json(list, &out);
    return sn_terminal_flush(&out) ? SN_EXIT_DONE : SN_EXIT_FAILED;
}

const struct sn_command sn_cmd_ps = {
    .name = "ps",
    .usage = "[--json]",
    .summary = "list the .NET processes of this machine, and why one cannot be reached",
    .examples = "  sonde ps\n"
                "  sonde ps --json | jq '.[] | select(.reachable | not)'\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
