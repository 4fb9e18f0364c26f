/* Every table of routes: the one list that the router and the OpenAPI document walk. */
#include "daemon/monitor_tables.h"
#include "daemon/route.h"

extern const struct sn_route sn_processes_routes[];
extern const struct sn_route sn_environment_routes[];
extern const struct sn_route sn_counters_routes[];
extern const struct sn_route sn_stack_routes[];
extern const struct sn_route sn_exception_routes[];
extern const struct sn_route sn_recording_routes[];
extern const struct sn_route sn_history_routes[];
extern const struct sn_route sn_stream_routes[];
extern const struct sn_route sn_health_routes[];
extern const struct sn_route sn_session_routes[];
extern const struct sn_route sn_key_routes[];
extern const struct sn_route sn_link_routes[];
extern const struct sn_route sn_settings_routes[];
extern const struct sn_route sn_openapi_routes[];
extern const struct sn_route sn_assets_routes[];
extern const struct sn_route sn_own_metrics_routes[];

/* clang-format off: one a line */
const struct sn_route *const sn_route_tables[] = {
    sn_processes_routes,
    sn_environment_routes,
    sn_counters_routes,
    sn_stack_routes,
    sn_exception_routes,
    sn_recording_routes,
    sn_history_routes,
    sn_stream_routes,
    sn_health_routes,
    sn_session_routes,
    sn_key_routes,
    sn_link_routes,
    sn_settings_routes,
    sn_own_metrics_routes,
    sn_openapi_routes,
    sn_assets_routes,
    sn_monitor_dump_routes,
    sn_monitor_exceptions_routes,
    sn_monitor_info_routes,
    sn_monitor_livemetrics_routes,
    sn_monitor_logs_routes,
    sn_monitor_metrics_routes,
    sn_monitor_operations_routes,
    sn_monitor_process_routes,
    sn_monitor_stacks_routes,
    sn_monitor_trace_routes,
    NULL,
};
/* clang-format on */

bool sn_route_has_types(const struct sn_route *route)
{
    bool has_good = false;
    for (const struct sn_response *one = route->responses; one && one->status; one++) {
        if (one->status >= 300)
            continue;
        if (!*one->types)
            return false;
        has_good = true;
    }
    return has_good;
}
