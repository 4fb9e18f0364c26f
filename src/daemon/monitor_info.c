/* /info of dotnet-monitor, and those of its features that an instance can lack: collection rules,
 * captured parameters, GC dumps. They answer what one without them answers. */
#include "base/json.h"
#include "daemon/daemon.h"
#include "daemon/monitor_call.h"
#include "daemon/monitor_tables.h"
#include "daemon/rest_call.h"
#include "daemon/sight.h"

/* The release whose behaviour this is, and who behaves so. */
#define VERSION "10.0.3+sonde." SONDE_VERSION

static void put_capability(struct sn_json *json, const char *name, bool is_enabled)
{
    sn_json_object(json, NULL);
    sn_json_text(json, "name", name);
    sn_json_bool(json, "enabled", is_enabled);
    sn_json_close(json);
}

static void get_info(struct sn_rest_call *call)
{
    const struct sn_serve_options *options = call->daemon->options;
    struct sn_json json = sn_json_to(&call->out);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "version", VERSION);
    sn_json_null(&json, "runtimeVersion"); /* there is no .NET in it */
    sn_json_text(&json, "diagnosticPortMode", "Connect");
    sn_json_null(&json, "diagnosticPortName");
    sn_json_array(&json, "capabilities");
    put_capability(&json, "exceptions", true);
    put_capability(&json, "parameters", false);
    put_capability(&json, "call_stacks", true);
    put_capability(&json, "metrics", !options->no_counters);
    put_capability(&json, "http_egress", !options->no_http_egress);
    sn_json_close(&json);
    sn_json_close(&json);
}

static bool choose(struct sn_rest_call *call)
{
    return sn_sight_choose(call, sn_rest_text(call, "pid"), sn_rest_text(call, "uid"),
                           sn_rest_text(call, "name"), &call->pid) == SONDE_OK;
}

static void get_rules(struct sn_rest_call *call)
{
    struct sn_json json = sn_json_to(&call->out);
    if (!choose(call))
        return;
    sn_json_object(&json, NULL);
    sn_json_close(&json);
}

/* There is none of any name: 200 without a body. */
static void get_rule(struct sn_rest_call *call)
{
    (void)choose(call);
}

static void post_parameters(struct sn_rest_call *call)
{
    sn_rest_problem(call, 400, "The 'Parameter Capturing' feature is not enabled.");
}

static void get_gcdump(struct sn_rest_call *call)
{
    sn_rest_problem(call, 400,
                    "The 'GC Dump' feature is not enabled: this version makes none; "
                    "/dump?type=WithHeap holds the heap too");
}

static const struct sn_parameter process_parameters[] = {SN_MONITOR_PROCESS, {0}};
static const struct sn_parameter rule_parameters[] = {{.name = "collectionRuleName",
                                                       .kind = SN_PARAMETER_TEXT,
                                                       .summary = "which rule",
                                                       .is_required = true},
                                                      SN_MONITOR_PROCESS,
                                                      {0}};
static const struct sn_parameter gcdump_parameters[] = {SN_MONITOR_PROCESS, SN_MONITOR_EGRESS, {0}};
static const struct sn_parameter capture_parameters[] = {
    SN_MONITOR_DURATION, SN_MONITOR_PROCESS, SN_MONITOR_EGRESS, {0}};

static const struct sn_response info_responses[] = {
    {200, "application/json", "DotnetMonitorInfo", "version, mode and capabilities"}, {0}};
static const struct sn_response rules_responses[] = {
    {200, "application/json", "CollectionRules", "the rules of the process: none"}, {0}};
static const struct sn_response rule_responses[] = {{200, "", NULL, "there is no such rule"}, {0}};
static const struct sn_response absent_responses[] = {
    {400, "application/problem+json", "Problem", "this feature is not there"}, {0}};

const struct sn_route sn_monitor_info_routes[] = {
    {.method = "GET",
     .path = "/info",
     .resource = "info",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_HTTP,
     .responses = info_responses,
     .summary = "version, mode and capabilities",
     .handle = get_info},
    {.method = "GET",
     .path = "/collectionrules",
     .resource = "collectionrules",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_WORKER,
     .parameters = process_parameters,
     .responses = rules_responses,
     .summary = "the collection rules of a process: none",
     .handle = get_rules},
    {.method = "GET",
     .path = "/collectionrules/{collectionRuleName}",
     .resource = "collectionrules",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_WORKER,
     .parameters = rule_parameters,
     .responses = rule_responses,
     .summary = "a collection rule: none",
     .handle = get_rule},
    {.method = "POST",
     .path = "/parameters",
     .resource = "parameters",
     .scope = SN_SCOPE_ATTACH,
     .seat = SN_SEAT_HTTP,
     .parameters = capture_parameters,
     .body_schema = "CaptureParametersConfiguration",
     .responses = absent_responses,
     .summary = "captured parameters: not there",
     .handle = post_parameters},
    {.method = "GET",
     .path = "/gcdump",
     .resource = "gcdump",
     .scope = SN_SCOPE_CONTROL,
     .seat = SN_SEAT_HTTP,
     .parameters = gcdump_parameters,
     .responses = absent_responses,
     .summary = "a dump of the GC heap: not there",
     .handle = get_gcdump},
    {0}};
