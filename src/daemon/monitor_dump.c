/* GET /dump of dotnet-monitor. */
#include "daemon/monitor_call.h"
#include "daemon/monitor_tables.h"
#include "daemon/operation_kinds.h"
#include "daemon/rest_call.h"

static void get_dump(struct sn_rest_call *call)
{
    const struct sn_monitor_artefact artefact = {
        .kind = &sn_dump_operation,
        .settings = json_pack("{s:s}", "type", sn_rest_text(call, "type"))};
    sn_monitor_make(call, &artefact);
}

static const struct sn_parameter parameters[] = {SN_MONITOR_PROCESS,
                                                 {.name = "type",
                                                  .kind = SN_PARAMETER_WORD,
                                                  .words = "Full,Mini,WithHeap,Triage",
                                                  .standard = "WithHeap",
                                                  .summary = "what it holds"},
                                                 SN_MONITOR_EGRESS,
                                                 {0}};

static const struct sn_response responses[] = {
    {200, "application/octet-stream", NULL, "the core dump"},
    {202, "", NULL, "it goes to the egress provider"},
    {429, "application/problem+json", "Problem", "another one is being made"},
    {0}};

const struct sn_route sn_monitor_dump_routes[] = {{.method = "GET",
                                                   .path = "/dump",
                                                   .resource = "dump",
                                                   .scope = SN_SCOPE_SECRETS,
                                                   .seat = SN_SEAT_ROADS,
                                                   .parameters = parameters,
                                                   .responses = responses,
                                                   .summary = "a core dump of a process",
                                                   .handle = get_dump},
                                                  {0}};
