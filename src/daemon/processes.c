/* /api/v1/processes: who is there. */
#include <stdint.h>

#include "daemon/daemon.h"
#include "daemon/process_json.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"
#include "daemon/sight.h"

static void get_processes(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sonde_process_list *list = sn_sight_hold(call->daemon->sight, &err);
    if (!list) {
        sn_rest_failed(call, &err);
        return;
    }
    sn_process_json_list(&call->out, list, call->who.scope);
    sn_sight_release(call->daemon->sight, list);
}

static void get_process(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    uint32_t pid = (uint32_t)sn_rest_number(call, "pid");
    struct sonde_process_list *list = sn_sight_hold(call->daemon->sight, &err);
    if (!list) {
        sn_rest_failed(call, &err);
        return;
    }
    const struct sonde_process *found = NULL;
    for (size_t i = 0; i < sonde_process_list_count(list) && !found; i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        found = process->pid == pid ? process : NULL;
    }
    struct sn_json json = sn_json_to(&call->out);
    if (found)
        sn_process_json_write(&json, found, call->who.scope);
    else
        sn_rest_problem(call, 404, "there is no .NET process %u", pid);
    sn_sight_release(call->daemon->sight, list);
}

static const struct sn_parameter process_parameters[] = {
    {.name = "pid",
     .kind = SN_PARAMETER_NUMBER,
     .summary = "the process, as the controller's machine counts it",
     .min = 1,
     .max = INT32_MAX,
     .is_required = true},
    {.name = NULL},
};

static const struct sn_response list_responses[] = {
    {200, "application/json", "ProcessList", "every .NET process, reachable or not"},
    {.status = 0},
};

static const struct sn_response process_responses[] = {
    {200, "application/json", "Process", "the process"},
    {404, "application/problem+json", "Problem", "there is no such process"},
    {.status = 0},
};

const struct sn_route sn_processes_routes[] = {
    {.method = "GET",
     .path = "/api/v1/processes",
     .resource = "processes",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_WORKER,
     .has_head = true,
     .responses = list_responses,
     .summary = "the .NET processes of the machine",
     .share_ns = SN_ROUTE_MOMENT_NS,
     .handle = get_processes},
    {.method = "GET",
     .path = "/api/v1/processes/{pid}",
     .resource = "processes",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_WORKER,
     .has_head = true,
     .parameters = process_parameters,
     .responses = process_responses,
     .summary = "one of them",
     .handle = get_process},
    {.method = NULL},
};
