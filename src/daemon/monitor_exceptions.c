/* GET and POST /exceptions of dotnet-monitor. */
#include "daemon/exception_formats.h"
#include "daemon/exception_operation.h"
#include "daemon/monitor_call.h"
#include "daemon/monitor_tables.h"
#include "daemon/rest_call.h"

static const char *const types[] = {"text/plain", "application/x-ndjson", "application/json-seq",
                                    NULL};
static const enum sn_exception_format formats[] = {SN_EXCEPTIONS_TEXT, SN_EXCEPTIONS_NDJSON,
                                                   SN_EXCEPTIONS_JSON_SEQ};

/* `filter` may be NULL. */
static void make(struct sn_rest_call *call, json_t *filter)
{
    int type = sn_monitor_choose_type(call, types);
    if (type < 0)
        type = 0;
    json_t *settings = json_pack("{s:i, s:b}", "format", (int)formats[type], "secrets",
                                 call->who.scope >= SN_SCOPE_SECRETS);
    if (filter)
        (void)json_object_set(settings, "filter", filter);
    const struct sn_monitor_artefact artefact = {.kind = &sn_exception_operation,
                                                 .extension =
                                                     type ? "exceptions.json" : "exceptions.txt",
                                                 .content_type = types[type],
                                                 .settings = settings};
    sn_monitor_make(call, &artefact);
}

static void get_exceptions(struct sn_rest_call *call)
{
    make(call, NULL);
}

static void post_exceptions(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_exception_filter filter;
    if (!sn_monitor_has_body(call))
        return;
    if (sn_exception_filter_read(call->body, &filter, &err) != SONDE_OK)
        sn_rest_invalid(call, "include", "%s", err.text);
    else
        make(call, call->body);
}

static const struct sn_parameter parameters[] = {SN_MONITOR_PROCESS, SN_MONITOR_EGRESS, {0}};

static const struct sn_response responses[] = {
    {200, "text/plain,application/x-ndjson,application/json-seq", NULL,
     "the last exceptions, the oldest first"},
    {202, "", NULL, "they go to the egress provider"},
    {429, "application/problem+json", "Problem", "another such request is under way"},
    {0}};

const struct sn_route sn_monitor_exceptions_routes[] = {
    {.method = "GET",
     .path = "/exceptions",
     .resource = "exceptions",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_ROADS,
     .parameters = parameters,
     .responses = responses,
     .summary = "the last exceptions of a process",
     .handle = get_exceptions},
    {.method = "POST",
     .path = "/exceptions",
     .resource = "exceptions",
     .scope = SN_SCOPE_CONTROL,
     .seat = SN_SEAT_ROADS,
     .parameters = parameters,
     .body_schema = "ExceptionsConfiguration",
     .responses = responses,
     .summary = "those that pass a filter",
     .handle = post_exceptions},
    {0}};
