#include "cli/dotnet_stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/dotnet_trace.h"
#include "cli/entrance.h"
#include "sonde/stacks.h"

/* The release whose behaviour this is, and who behaves so. */
#define VERSION "10.0.75+sonde." SONDE_VERSION

#define PATH_LIMIT 65536u

struct arguments {
    struct sn_dotnet_attach attach;
    uint64_t duration_ns;
};

static void sonde_stacks_free_auto(struct sonde_stacks **slot)
{
    sonde_stacks_free(*slot);
}

static int fail(const struct sonde_error *err)
{
    return sn_dotnet_fail(SN_DOTNET_STACK_FAILED, "%s", err->text);
}

/* --- which process --- */

static bool has(const char *text)
{
    return text && *text;
}

static int check_ways(const struct sn_dotnet_attach *attach)
{
    int ways = (attach->pid != 0) + has(attach->name) + has(attach->port);
    if (ways == 1)
        return SN_DOTNET_OK;
    return sn_dotnet_fail(SN_DOTNET_STACK_FAILED,
                          ways ? "Only one of --process-id, --name, or --diagnostic-port can be "
                                 "specified"
                               : "--process-id, --name, or --diagnostic-port is required");
}

static int find_at_port(const char *port, struct sn_entrance *entrance, uint32_t *ret_pid)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(PATH_LIMIT);
    int code = sn_dotnet_resolve_port(port, &path, ret_pid);
    if (code != SN_DOTNET_OK || *ret_pid)
        return code;
    if (sn_entrance_listen(entrance, sn_buf_string(&path), false, &err) != SONDE_OK)
        return fail(&err);
    *ret_pid = entrance->pid;
    return SN_DOTNET_OK;
}

static int find_process(const struct sn_dotnet_attach *attach, struct sn_entrance *entrance,
                        uint32_t *ret_pid)
{
    int code = check_ways(attach);
    if (code == SN_DOTNET_OK)
        code = sn_dotnet_attach(attach, false, ret_pid);
    if (code == SN_DOTNET_OK && has(attach->port))
        code = find_at_port(attach->port, entrance, ret_pid);
    return code == SN_DOTNET_OK ? code : SN_DOTNET_STACK_FAILED;
}

/* --- report --- */

static int write_out(void *user, const void *bytes, size_t size)
{
    (void)user;
    return fwrite(bytes, 1, size, stdout) == size ? SONDE_OK : SONDE_E_SYSTEM;
}

static int print_stacks(uint32_t pid)
{
    const struct sonde_stacks_options options = {.size = sizeof(options)};
    struct sonde_error err = {0};
    SN_AUTO(sonde_stacks_free) struct sonde_stacks *stacks = NULL;
    if (sonde_stacks_take(pid, &options, &stacks, &err) != SONDE_OK ||
        sonde_stacks_write(stacks, "dotnet-stack", write_out, NULL, &err) != SONDE_OK)
        return fail(&err);
    return fflush(stdout) == 0 ? SN_DOTNET_OK : SN_DOTNET_STACK_FAILED;
}

static int run_report(const struct sn_net_line *line)
{
    const struct arguments *arguments = line->arguments;
    struct sn_entrance entrance = {.signals = -1};
    uint32_t pid = 0;
    int code = find_process(&arguments->attach, &entrance, &pid);
    if (code == SN_DOTNET_OK)
        code = print_stacks(pid);
    sn_entrance_done(&entrance);
    return code;
}

/* --- the tool --- */

#define AT(member) offsetof(struct arguments, member)

static const struct sn_net_option report_options[] = {
    {"--process-id", "-p", SN_NET_INT, AT(attach.pid), NULL, false, "The process, by its pid."},
    {"--name", "-n", SN_NET_TEXT, AT(attach.name), NULL, false, "The process, by its name."},
    {"--duration", NULL, SN_NET_SPAN, AT(duration_ns), NULL, false,
     "Passed over: one look is enough."},
    {"--diagnostic-port", "--dport", SN_NET_TEXT, AT(attach.port), NULL, false,
     "The process, by its diagnostic port: PATH,connect, or one to wait at: PATH[,listen]."},
    SN_NET_OPTIONS_END,
};

static const struct sn_net_command report = {
    .name = "report",
    .path = "report ",
    .summary = "Prints the managed stack of every thread of a process.",
    .options = report_options,
    .arguments_size = sizeof(struct arguments),
    .run = run_report,
};

static const struct sn_net_command ps = {
    .name = "ps",
    .path = "ps ",
    .summary = "Lists the .NET processes whose stacks can be printed.",
    .run = sn_dotnet_run_ps,
};

static const struct sn_net_command *const commands[] = {&report, &ps, &sn_dotnet_symbolicate, NULL};

static const struct sn_net_command root = {
    .name = "dotnet-stack",
    .path = "",
    .summary = "Prints stacks of .NET processes: sonde, under dotnet-stack's name.",
    .children = commands,
};

int sn_dotnet_stack_main(int argc, char **argv)
{
    return sn_net_main(&root, "dotnet-stack", VERSION, argc, argv);
}
