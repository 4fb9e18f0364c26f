/* /operations of dotnet-monitor: what makes artefacts, or did. Recordings are a resource of their
 * own, and not among them. */
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json.h"
#include "daemon/monitor_call.h"
#include "daemon/monitor_tables.h"
#include "daemon/operation.h"
#include "daemon/rest_call.h"

/* --- tags --- */

/* The next word of a list with commas; NULL: there is none. */
static const char *next_tag(const char **at, size_t *ret_size)
{
    *at += strspn(*at, ",");
    const char *tag = *at;
    *ret_size = strcspn(tag, ",");
    *at += *ret_size;
    return *ret_size ? tag : NULL;
}

static bool has_tag(const char *tags, const char *tag, size_t size)
{
    const char *each;
    size_t length;
    while ((each = next_tag(&tags, &length))) {
        if (length == size && memcmp(each, tag, size) == 0)
            return true;
    }
    return false;
}

/* All of those that are asked for. */
static bool has_tags(const struct sn_operation *operation, const char *wanted)
{
    const char *tag;
    size_t size;
    while ((tag = next_tag(&wanted, &size))) {
        if (!has_tag(operation->tags, tag, size))
            return false;
    }
    return true;
}

/* A set: each of them once. */
static void put_tags(struct sn_json *json, const struct sn_operation *operation)
{
    const char *rest = operation->tags;
    const char *tag;
    size_t size;
    sn_json_array(json, "tags");
    while ((tag = next_tag(&rest, &size))) {
        if (!has_tag(rest, tag, size))
            sn_json_bytes(json, NULL, tag, size);
    }
    sn_json_close(json);
}

/* --- one --- */

static void put_summary(struct sn_json *json, const struct sn_operation *operation)
{
    char time[32];
    bool is_stoppable =
        operation->kind->is_stoppable &&
        (operation->state == SN_OPERATION_STARTING || operation->state == SN_OPERATION_RUNNING);
    sn_json_text(json, "operationId", operation->id);
    sn_json_text(json, "createdDateTime", sn_clock_rfc3339(operation->created_utc_ns, time));
    sn_json_text(json, "status", sn_operation_state_name(operation->state));
    sn_json_object(json, "process");
    sn_json_u64(json, "pid", operation->pid);
    sn_json_text(json, "uid", operation->process_uid);
    sn_json_text(json, "name", operation->process_name);
    sn_json_close(json);
    sn_json_text(json, "egressProviderName", operation->egress[0] ? operation->egress : NULL);
    sn_json_bool(json, "isStoppable", is_stoppable);
    put_tags(json, operation);
}

static void put_error(struct sn_json *json, const struct sn_operation *operation)
{
    if (operation->state != SN_OPERATION_FAILED) {
        sn_json_null(json, "error");
        return;
    }
    sn_json_object(json, "error");
    sn_json_text(json, "code", "400");
    sn_json_text(json, "message", operation->message);
    sn_json_close(json);
}

static struct sn_operation *find(struct sn_rest_call *call)
{
    struct sn_operation *operation =
        sn_operation_find(call->daemon, sn_rest_text(call, "operationId"));
    if (operation && !operation->is_recording)
        return operation;
    sn_rest_problem(call, 400, "Operation not found.");
    return NULL;
}

static void get_operation(struct sn_rest_call *call)
{
    const struct sn_operation *operation = find(call);
    struct sn_json json = sn_json_to(&call->out);
    if (!operation)
        return;
    sn_json_object(&json, NULL);
    sn_json_text(&json, "resourceLocation", operation->location[0] ? operation->location : NULL);
    put_error(&json, operation);
    put_summary(&json, operation);
    sn_json_close(&json);
    call->status = operation->state == SN_OPERATION_SUCCEEDED ? 201 : 200;
}

/* --- all --- */

static bool is_asked_for(const struct sn_rest_call *call, const struct sn_operation *operation)
{
    const char *uid = sn_rest_text(call, "uid");
    const char *name = sn_rest_text(call, "name");
    const char *tags = sn_rest_text(call, "tags");
    if (operation->is_recording)
        return false;
    if (sn_rest_text(call, "pid") && (int64_t)operation->pid != sn_rest_number(call, "pid"))
        return false;
    if (uid && strcasecmp(uid, operation->process_uid) != 0)
        return false;
    if (name && *name && strcmp(name, operation->process_name) != 0)
        return false;
    return !tags || has_tags(operation, tags);
}

static void get_operations(struct sn_rest_call *call)
{
    struct sn_json json = sn_json_to(&call->out);
    sn_json_array(&json, NULL);
    for (const struct sn_operation *operation = sn_operation_first(call->daemon); operation;
         operation = operation->next) {
        if (!is_asked_for(call, operation))
            continue;
        sn_json_object(&json, NULL);
        put_summary(&json, operation);
        sn_json_close(&json);
    }
    sn_json_close(&json);
}

/* --- ending one --- */

static void stop(struct sn_rest_call *call, struct sn_operation *operation)
{
    if (operation->state != SN_OPERATION_STARTING && operation->state != SN_OPERATION_RUNNING) {
        sn_rest_problem(call, 400, "Operation is not running.");
        return;
    }
    if (!operation->kind->is_stoppable) {
        sn_rest_problem(call, 400, "Operation does not support being stopped.");
        return;
    }
    call->status = 202;
    sn_operation_stop(operation);
}

static void delete_operation(struct sn_rest_call *call)
{
    struct sn_operation *operation = find(call);
    if (!operation)
        return;
    if (sn_rest_flag(call, "stop"))
        stop(call, operation);
    else if (sn_operation_is_active(operation))
        sn_operation_cancel(operation);
    else
        sn_rest_problem(call, 400, "Operation is not running.");
}

/* --- the table --- */

#define ID                                                                        \
    {                                                                             \
        .name = "operationId", .kind = SN_PARAMETER_GUID, .summary = "which one", \
        .is_required = true                                                       \
    }

static const struct sn_parameter list_parameters[] = {
    SN_MONITOR_PROCESS,
    {.name = "tags", .kind = SN_PARAMETER_TEXT, .summary = "only those that have all of these"},
    {0}};
static const struct sn_parameter get_parameters[] = {ID, {0}};
static const struct sn_parameter delete_parameters[] = {
    ID,
    {.name = "stop", .kind = SN_PARAMETER_FLAG, .standard = "false", .summary = "end it well"},
    {0}};

static const struct sn_response list_responses[] = {
    {200, "application/json", "OperationSummaries", "the operations"}, {0}};
static const struct sn_response get_responses[] = {
    {200, "application/json", "OperationStatus", "it is under way, or has failed"},
    {201, "application/json", "OperationStatus", "it has succeeded"},
    {0}};
static const struct sn_response delete_responses[] = {
    {200, "", NULL, "it is cancelled"}, {202, "", NULL, "it is being stopped"}, {0}};

const struct sn_route sn_monitor_operations_routes[] = {{.method = "GET",
                                                         .path = "/operations",
                                                         .resource = "operations",
                                                         .scope = SN_SCOPE_READ,
                                                         .seat = SN_SEAT_ROADS,
                                                         .has_head = true,
                                                         .parameters = list_parameters,
                                                         .responses = list_responses,
                                                         .summary = "what makes artefacts, or did",
                                                         .handle = get_operations},
                                                        {.method = "GET",
                                                         .path = "/operations/{operationId}",
                                                         .resource = "operations",
                                                         .scope = SN_SCOPE_READ,
                                                         .seat = SN_SEAT_ROADS,
                                                         .has_head = true,
                                                         .parameters = get_parameters,
                                                         .responses = get_responses,
                                                         .summary = "one of them",
                                                         .handle = get_operation},
                                                        {.method = "DELETE",
                                                         .path = "/operations/{operationId}",
                                                         .resource = "operations",
                                                         .scope = SN_SCOPE_CONTROL,
                                                         .seat = SN_SEAT_ROADS,
                                                         .parameters = delete_parameters,
                                                         .responses = delete_responses,
                                                         .summary = "cancel or stop one",
                                                         .handle = delete_operation},
                                                        {0}};
