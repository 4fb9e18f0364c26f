/* dotnet-monitor's routes, a table for each of its resources; each ended by a route without a
 * method. Listed in routes.c. */
#ifndef SN_MONITOR_TABLES_H
#define SN_MONITOR_TABLES_H

#include "daemon/route.h"

extern const struct sn_route sn_monitor_process_routes[];
extern const struct sn_route sn_monitor_info_routes[];
extern const struct sn_route sn_monitor_operations_routes[];
extern const struct sn_route sn_monitor_dump_routes[];
extern const struct sn_route sn_monitor_trace_routes[];
extern const struct sn_route sn_monitor_logs_routes[];
extern const struct sn_route sn_monitor_livemetrics_routes[];
extern const struct sn_route sn_monitor_stacks_routes[];
extern const struct sn_route sn_monitor_exceptions_routes[];
extern const struct sn_route sn_monitor_metrics_routes[];

#endif
