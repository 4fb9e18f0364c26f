/* sonde as dotnet-monitor 10: its verbs, options, addresses, settings and exit codes. What differs
 * on purpose is in docs/drop-in.md. */
#ifndef SN_CLI_DOTNET_MONITOR_H
#define SN_CLI_DOTNET_MONITOR_H

int sn_dotnet_monitor_main(int argc, char **argv);

#endif
