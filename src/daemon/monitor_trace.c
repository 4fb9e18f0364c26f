/* GET and POST /trace of dotnet-monitor: its profiles and providers become specifications as
 * sonde_provider_set_add reads them. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/monitor_call.h"
#include "daemon/monitor_tables.h"
#include "daemon/operation_kinds.h"
#include "daemon/rest_call.h"

#define MONITOR_INTERVAL_S 5u
#define SPECIFICATION_MAX  65536u
#define BUFFER_MB_MAX      1024
#define BUFFER_MB_STANDARD 256
#define PROVIDERS_MAX      128u
#define INTERVAL_ARGUMENT  "EventCounterIntervalSec"

/* --- profiles --- */

/* Of incoming and outgoing requests: which, when, how long, and what became of them. */
#define ACTIVITY_START                                                        \
    ";ActivityStartTime=*Activity.StartTimeUtc.Ticks;ActivityId=*Activity.Id" \
    ";ActivitySpanId=*Activity.SpanId;ActivityTraceId=*Activity.TraceId"      \
    ";ActivityParentSpanId=*Activity.ParentSpanId;ActivityIdFormat=*Activity.IdFormat"
#define REQUESTS                                                                                       \
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Start@Activity1Start:-"           \
    "Request.Scheme;Request.Host;Request.PathBase;Request.QueryString;Request.Path"                    \
    ";Request.Method;ActivityParentId=*Activity.ParentId" ACTIVITY_START "\r\n"                        \
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop@Activity1Stop:-"             \
    "ActivityId=*Activity.Id;Request.Path;Response.StatusCode"                                         \
    ";ActivityDuration=*Activity.Duration.Ticks"                                                       \
    "\r\n"                                                                                             \
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut@Event:-\r\n"                         \
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut.Start@Activity2Start:-"              \
    "Request.RequestUri;Request.Method;Request.RequestUri.Host;Request.RequestUri.Port" ACTIVITY_START \
    "\r\n"                                                                                             \
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut.Stop@Activity2Stop:-"                \
    "ActivityDuration=*Activity.Duration.Ticks;ActivityId=*Activity.Id\r\n"

static const struct {
    const char *name;
    const char *specifications[3];
    bool with_rundown;
} profiles[] = {
    {"Cpu",
     {"Microsoft-DotNETCore-SampleProfiler:0:4", "Microsoft-Windows-DotNETRuntime:14C14FCCBD:4"},
     true},
    {"Http",
     {"Microsoft-Diagnostics-DiagnosticSource:3:5:FilterAndPayloadSpecs=\"" REQUESTS "\""},
     true},
    {"Logs", {"Microsoft-Extensions-Logging:C:5:FilterSpecs=\"UseAppFilters\""}, false},
    {"Metrics",
     {"System.Runtime:0:4", "Microsoft.AspNetCore.Hosting:0:4", "Grpc.AspNetCore.Server:0:4"},
     false},
    {"GcCollect",
     {"Microsoft-Windows-DotNETRuntime:1:4", "Microsoft-Windows-DotNETRuntimePrivate:1:4"},
     false},
};

static unsigned interval_of(const struct sn_rest_call *call)
{
    uint64_t seconds = call->daemon->options->interval_ns / SN_NS_PER_SECOND;
    bool is_set = seconds && call->daemon->options->is_dotnet_monitor;
    return is_set ? (unsigned)seconds : MONITOR_INTERVAL_S;
}

static void add_profile(const struct sn_rest_call *call, size_t index, json_t *providers)
{
    bool counts = strcmp(profiles[index].name, "Metrics") == 0;
    for (size_t i = 0; i < 3 && profiles[index].specifications[i]; i++) {
        struct sn_buf text = sn_buf_with_limit(SPECIFICATION_MAX);
        sn_buf_text(&text, profiles[index].specifications[i]);
        if (counts)
            sn_buf_format(&text, ":" INTERVAL_ARGUMENT "=%u", interval_of(call));
        (void)json_array_append_new(providers, json_string(sn_buf_string(&text)));
        sn_buf_done(&text);
    }
}

/* Whether `name` is in a list with commas, whatever the case. */
static bool is_listed(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = list; *at;) {
        size_t skip = strspn(at, ", ");
        size_t length = strcspn(at + skip, ", ");
        if (length == size && strncasecmp(at + skip, name, size) == 0)
            return true;
        at += skip + length;
    }
    return false;
}

static void make(struct sn_rest_call *call, json_t *settings)
{
    const struct sn_monitor_artefact artefact = {.kind = &sn_trace_operation, .settings = settings};
    sn_monitor_make(call, &artefact);
}

static void get_trace(struct sn_rest_call *call)
{
    const char *wanted = sn_rest_text(call, "profile");
    json_t *providers = json_array();
    bool with_rundown = false;
    for (size_t i = 0; i < sizeof(profiles) / sizeof(*profiles); i++) {
        if (!is_listed(wanted, profiles[i].name))
            continue;
        add_profile(call, i, providers);
        with_rundown = with_rundown || profiles[i].with_rundown;
    }
    make(call, json_pack("{s:o, s:b, s:i, s:b}", "providers", providers, "rundown", with_rundown,
                         "bufferMB", BUFFER_MB_STANDARD, "cpu", 0));
}

/* --- POST --- */

static const char *const levels[] = {"LogAlways", "Critical",      "Error",
                                     "Warning",   "Informational", "Verbose"};

/* A level by its word or number; 5 when it is not given; -1: it is none. */
static int read_level(const json_t *value)
{
    if (!value)
        return 5;
    if (json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) <= 5)
        return (int)json_integer_value(value);
    for (int i = 0; json_is_string(value) && i <= 5; i++) {
        if (strcasecmp(json_string_value(value), levels[i]) == 0)
            return i;
    }
    return -1;
}

/* "0x1F", "31", or nothing for all. */
static bool read_keywords(const json_t *value, uint64_t *ret_keywords)
{
    *ret_keywords = UINT64_MAX;
    if (!value || json_is_null(value))
        return true;
    const char *text = json_string_value(value);
    if (text && strcmp(text, "-1") == 0)
        return true;
    return text && sn_text_to_u64(text, UINT64_MAX, ret_keywords);
}

static bool is_plain(const char *text)
{
    return text && *text && !strpbrk(text, "\",:;=\r\n");
}

/* Counters of all sessions come at one interval: another one would change it for everybody. */
static bool is_interval_fine(struct sn_rest_call *call, const char *name, const json_t *arguments)
{
    const char *given = json_string_value(sn_monitor_member(arguments, INTERVAL_ARGUMENT));
    uint64_t seconds = 0;
    if (!given || !call->daemon->options->is_dotnet_monitor ||
        (sn_text_to_u64(given, UINT32_MAX, &seconds) && seconds == interval_of(call)))
        return true;
    sn_rest_problem(call, 400,
                    "Custom trace metric provider '%.64s' must use the expected counter interval "
                    "'%u'.",
                    name, interval_of(call));
    return false;
}

static bool put_arguments(const json_t *arguments, struct sn_buf *to)
{
    const char *key;
    json_t *value;
    bool is_first = true;
    if (arguments && !json_is_null(arguments) && !json_is_object(arguments))
        return false;
    json_object_foreach((json_t *)(uintptr_t)arguments, key, value)
    {
        const char *text = json_string_value(value);
        if (!is_plain(key) || !text || strchr(text, '"'))
            return false;
        sn_buf_format(to, "%s%s=\"%s\"", is_first ? ":" : ";", key, text);
        is_first = false;
    }
    return !to->failed;
}

static bool read_provider(struct sn_rest_call *call, const json_t *given, json_t *providers)
{
    const char *name = json_string_value(sn_monitor_member(given, "name"));
    const json_t *arguments = sn_monitor_member(given, "arguments");
    int level = read_level(sn_monitor_member(given, "eventLevel"));
    uint64_t keywords;
    struct sn_buf text = sn_buf_with_limit(SPECIFICATION_MAX);
    if (!is_plain(name)) {
        sn_rest_invalid(call, "providers", "a provider has no name, or none that can be asked for");
        return false;
    }
    if (level < 0 || !read_keywords(sn_monitor_member(given, "keywords"), &keywords)) {
        sn_rest_invalid(call, "providers",
                        "'%.64s': keywords are a number or 0x and hexadecimal digits, as text; "
                        "levels are LogAlways to Verbose",
                        name);
        return false;
    }
    if (!is_interval_fine(call, name, arguments))
        return false;
    sn_buf_format(&text, "%s:%llX:%d", name, (unsigned long long)keywords, level);
    bool is_fine = put_arguments(arguments, &text);
    if (is_fine)
        (void)json_array_append_new(providers, json_string(sn_buf_string(&text)));
    else
        sn_rest_invalid(call, "providers", "'%.64s': arguments are a map of texts without quotes",
                        name);
    sn_buf_done(&text);
    return is_fine;
}

static bool read_providers(struct sn_rest_call *call, json_t *providers)
{
    const json_t *given = sn_monitor_member(call->body, "providers");
    size_t index;
    const json_t *provider;
    if (!json_is_array(given) || !json_array_size(given) ||
        json_array_size(given) > PROVIDERS_MAX) {
        sn_rest_invalid(call, "Providers", "The Providers field is required: 1 to %u of them.",
                        PROVIDERS_MAX);
        return false;
    }
    json_array_foreach(given, index, provider)
    {
        if (!read_provider(call, provider, providers))
            return false;
    }
    return true;
}

static bool read_rest(struct sn_rest_call *call, bool *ret_rundown, int *ret_buffer_mb)
{
    const json_t *rundown = sn_monitor_member(call->body, "requestRundown");
    const json_t *buffer = sn_monitor_member(call->body, "bufferSizeInMB");
    json_int_t megabytes = buffer ? json_integer_value(buffer) : BUFFER_MB_STANDARD;
    if (rundown && !json_is_boolean(rundown)) {
        sn_rest_invalid(call, "requestRundown", "it is true or false");
        return false;
    }
    if (megabytes < 1 || megabytes > BUFFER_MB_MAX) {
        sn_rest_invalid(call, "BufferSizeInMB",
                        "The field BufferSizeInMB must be between 1 and %d.", BUFFER_MB_MAX);
        return false;
    }
    *ret_rundown = !rundown || json_is_true(rundown);
    *ret_buffer_mb = (int)megabytes;
    return true;
}

static void post_trace(struct sn_rest_call *call)
{
    bool with_rundown;
    int buffer_mb;
    if (!sn_monitor_has_body(call))
        return;
    json_t *providers = json_array();
    if (!read_providers(call, providers) || !read_rest(call, &with_rundown, &buffer_mb)) {
        json_decref(providers);
        return;
    }
    make(call, json_pack("{s:o, s:b, s:i, s:b}", "providers", providers, "rundown", with_rundown,
                         "bufferMB", buffer_mb, "cpu", 0));
}

/* --- the table --- */

#define PROFILE                                                                                    \
    {                                                                                              \
        .name = "profile", .kind = SN_PARAMETER_WORDS, .words = "Cpu,Http,Logs,Metrics,GcCollect", \
        .standard = "Cpu,Http,Metrics", .summary = "which events are recorded"                     \
    }

static const struct sn_parameter get_parameters[] = {
    SN_MONITOR_PROCESS, PROFILE, SN_MONITOR_DURATION, SN_MONITOR_EGRESS, {0}};
static const struct sn_parameter post_parameters[] = {
    SN_MONITOR_PROCESS, SN_MONITOR_DURATION, SN_MONITOR_EGRESS, {0}};

static const struct sn_response responses[] = {
    {200, "application/octet-stream", NULL, "the trace as it grows"},
    {202, "", NULL, "it goes to the egress provider"},
    {429, "application/problem+json", "Problem", "three such run already"},
    {0}};

const struct sn_route sn_monitor_trace_routes[] = {{.method = "GET",
                                                    .path = "/trace",
                                                    .resource = "trace",
                                                    .scope = SN_SCOPE_CONTROL,
                                                    .seat = SN_SEAT_ROADS,
                                                    .parameters = get_parameters,
                                                    .responses = responses,
                                                    .summary = "a trace of a process, by profile",
                                                    .handle = get_trace},
                                                   {.method = "POST",
                                                    .path = "/trace",
                                                    .resource = "trace",
                                                    .scope = SN_SCOPE_CONTROL,
                                                    .seat = SN_SEAT_ROADS,
                                                    .parameters = post_parameters,
                                                    .body_schema = "EventPipeConfiguration",
                                                    .responses = responses,
                                                    .summary = "a trace of a process, by provider",
                                                    .handle = post_trace},
                                                   {0}};
