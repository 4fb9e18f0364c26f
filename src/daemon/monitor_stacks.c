/* GET /stacks of dotnet-monitor. */
#include "daemon/monitor_call.h"
#include "daemon/monitor_tables.h"
#include "daemon/rest_call.h"
#include "daemon/stack_operation.h"

static const char *const types[] = {"text/plain", "application/json", "application/speedscope+json",
                                    NULL};
static const char *const formats[] = {"dotnet-monitor-text", "dotnet-monitor-json",
                                      "dotnet-monitor-speedscope"};

static void get_stacks(struct sn_rest_call *call)
{
    int type = sn_monitor_choose_type(call, types);
    if (type < 0)
        type = 0;
    const struct sn_monitor_artefact artefact = {.kind = &sn_stack_operation,
                                                 .extension = type ? "stacks.json" : "stacks.txt",
                                                 .content_type = types[type],
                                                 .settings =
                                                     json_pack("{s:s}", "format", formats[type])};
    sn_monitor_make(call, &artefact);
}

static const struct sn_parameter parameters[] = {SN_MONITOR_PROCESS, SN_MONITOR_EGRESS, {0}};

static const struct sn_response responses[] = {
    {200, "application/json,text/plain,application/speedscope+json", "CallStackResult",
     "the stacks of all threads"},
    {202, "", NULL, "they go to the egress provider"},
    {429, "application/problem+json", "Problem", "another such request is under way"},
    {0}};

const struct sn_route sn_monitor_stacks_routes[] = {
    {.method = "GET",
     .path = "/stacks",
     .resource = "stacks",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_ROADS,
     .parameters = parameters,
     .responses = responses,
     .summary = "the managed stacks of all threads of a process",
     .handle = get_stacks},
    {0}};
