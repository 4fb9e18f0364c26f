/* The environment of a program whose runtime is to connect to a diagnostics port of ours. */
#ifndef SN_PORT_VARIABLE_H
#define SN_PORT_VARIABLE_H

#define SN_PORTS_VARIABLE "DOTNET_DiagnosticPorts"

/* Our environment with the port put in, as sn_ipc_port_setting writes it; a port that somebody else
 * set stays. Free both; NULL: no memory. */
char **sn_port_environment(const char *setting, char **ret_variable);

#endif
