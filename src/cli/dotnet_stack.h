/* sonde as dotnet-stack: its verbs, options, output and exit codes. What differs on purpose is in
 * docs/drop-in.md. */
#ifndef SN_CLI_DOTNET_STACK_H
#define SN_CLI_DOTNET_STACK_H

#include "cli/net_options.h"

/* What dotnet-stack ends with when something fails: -1, as the shell sees it. */
#define SN_DOTNET_STACK_FAILED 255

int sn_dotnet_stack_main(int argc, char **argv);

extern const struct sn_net_command sn_dotnet_symbolicate;

#endif
