/* sonde as dotnet-gcdump: its name and its list of processes. Snapshots of the heap are not in this
 * version, and every verb that needs one says so. */
#ifndef SN_CLI_DOTNET_GCDUMP_H
#define SN_CLI_DOTNET_GCDUMP_H

int sn_dotnet_gcdump_main(int argc, char **argv);

#endif
