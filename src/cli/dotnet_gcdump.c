#include "cli/dotnet_gcdump.h"

#include <stdio.h>

#include "cli/dotnet_trace.h"
#include "cli/net_options.h"

/* The release whose command line this is, and who answers. */
#define VERSION "10.0.75+sonde." SONDE_VERSION

/* A script must see that it got no file: the status is that of what a platform does not have. */
static int refuse(const struct sn_net_line *line)
{
    (void)fprintf(
        stderr,
        "dotnet-gcdump %s: snapshots of the heap (.gcdump) are not in this version of "
        "sonde.\n"
        "'sonde trace --profile alloc' and 'sonde report --view alloc' say who allocates; "
        "'sonde dump' writes a core dump. For a .gcdump file use Microsoft's "
        "dotnet-gcdump.\n",
        line->command->name);
    return SN_DOTNET_PLATFORM;
}

/* Whatever its options are: they ask for what is not there. */
#define REFUSED(verb)                                                                              \
    {                                                                                              \
        .name = (verb), .path = verb " ", .summary = "Not in this version: snapshots of the heap", \
        .takes_command = true, .run = refuse                                                       \
    }

static const struct sn_net_command collect = REFUSED("collect");
static const struct sn_net_command report = REFUSED("report");
static const struct sn_net_command convert = REFUSED("convert");

static const struct sn_net_command ps = {
    .name = "ps",
    .path = "ps ",
    .summary = "Lists the .NET processes.",
    .run = sn_dotnet_run_ps,
};

static const struct sn_net_command *const commands[] = {&collect, &report, &convert, &ps, NULL};

static const struct sn_net_command root = {
    .name = "dotnet-gcdump",
    .path = "",
    .summary = "sonde, under dotnet-gcdump's name: snapshots of the heap are not in this version.",
    .children = commands,
};

int sn_dotnet_gcdump_main(int argc, char **argv)
{
    return sn_net_main(&root, "dotnet-gcdump", VERSION, argc, argv);
}
