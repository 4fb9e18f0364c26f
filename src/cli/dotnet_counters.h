/* sonde as dotnet-counters 10: its verbs, options, files and exit codes. What differs on purpose is
 * in docs/drop-in.md. */
#ifndef SN_CLI_DOTNET_COUNTERS_H
#define SN_CLI_DOTNET_COUNTERS_H

int sn_dotnet_counters_main(int argc, char **argv);

#endif
