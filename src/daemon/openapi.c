#include "daemon/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/json.h"
#include "daemon/daemon.h"
#include "daemon/embedded.h"
#include "daemon/problem.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"
#include "daemon/router.h"
#include "net/http_server.h"

#define REFERENCE "#/components/schemas/"

/* --- values --- */

static void put_words(struct sn_json *json, const char *words)
{
    sn_json_array(json, "enum");
    while (*words) {
        size_t size = strcspn(words, ",");
        sn_json_bytes(json, NULL, words, size);
        words += size + (words[size] == ',');
    }
    sn_json_close(json);
}

static void put_number_schema(struct sn_json *json, const struct sn_parameter *parameter)
{
    sn_json_text(json, "type", "integer");
    sn_json_text(json, "format", "int64");
    sn_json_i64(json, "minimum", parameter->min);
    sn_json_i64(json, "maximum", parameter->max);
    if (parameter->standard)
        sn_json_i64(json, "default", strtoll(parameter->standard, NULL, 10));
}

static void put_words_schema(struct sn_json *json, const struct sn_parameter *parameter)
{
    sn_json_text(json, "type", "array");
    sn_json_object(json, "items");
    sn_json_text(json, "type", "string");
    put_words(json, parameter->words);
    sn_json_close(json);
}

static void put_text_schema(struct sn_json *json, const struct sn_parameter *parameter)
{
    sn_json_text(json, "type", "string");
    if (parameter->kind == SN_PARAMETER_GUID)
        sn_json_text(json, "format", "uuid");
    if (parameter->kind == SN_PARAMETER_WORD)
        put_words(json, parameter->words);
    if (parameter->standard)
        sn_json_text(json, "default", parameter->standard);
}

static void put_schema(struct sn_json *json, const struct sn_parameter *parameter)
{
    sn_json_object(json, "schema");
    if (parameter->kind == SN_PARAMETER_NUMBER) {
        put_number_schema(json, parameter);
    } else if (parameter->kind == SN_PARAMETER_SECONDS) {
        sn_json_text(json, "type", "number");
        sn_json_i64(json, "minimum", parameter->min);
        sn_json_i64(json, "maximum", parameter->max);
    } else if (parameter->kind == SN_PARAMETER_WORDS) {
        put_words_schema(json, parameter);
    } else if (parameter->kind == SN_PARAMETER_FLAG) {
        sn_json_text(json, "type", "boolean");
        if (parameter->standard)
            sn_json_bool(json, "default", strcasecmp(parameter->standard, "true") == 0);
    } else {
        put_text_schema(json, parameter);
    }
    sn_json_close(json);
}

static bool is_in_path(const struct sn_route *route, const char *name)
{
    char variable[80];
    (void)snprintf(variable, sizeof(variable), "{%s}", name);
    return strstr(route->path, variable) != NULL;
}

static void put_parameters(struct sn_json *json, const struct sn_route *route)
{
    if (!route->parameters)
        return;
    sn_json_array(json, "parameters");
    for (const struct sn_parameter *one = route->parameters; one->name; one++) {
        bool in_path = is_in_path(route, one->name);
        sn_json_object(json, NULL);
        sn_json_text(json, "name", one->name);
        sn_json_text(json, "in", in_path ? "path" : "query");
        sn_json_bool(json, "required", in_path || one->is_required);
        if (one->summary)
            sn_json_text(json, "description", one->summary);
        if (one->kind == SN_PARAMETER_WORDS) {
            sn_json_text(json, "style", "form");
            sn_json_bool(json, "explode", false);
        }
        put_schema(json, one);
        sn_json_close(json);
    }
    sn_json_close(json);
}

/* --- bodies --- */

static void put_reference(struct sn_json *json, const char *schema)
{
    char text[128];
    (void)snprintf(text, sizeof(text), REFERENCE "%s", schema);
    sn_json_object(json, "schema");
    sn_json_text(json, "$ref", text);
    sn_json_close(json);
}

static void put_body(struct sn_json *json, const struct sn_route *route)
{
    if (!route->body_schema && !route->takes_file)
        return;
    sn_json_object(json, "requestBody");
    sn_json_object(json, "content");
    sn_json_object(json, route->takes_file ? "application/octet-stream" : "application/json");
    if (route->body_schema)
        put_reference(json, route->body_schema);
    sn_json_close(json);
    sn_json_close(json);
    sn_json_close(json);
}

/* The schema is that of its JSON; other forms are text or bytes. */
static void put_type(struct sn_json *json, const char *type, const char *schema)
{
    bool is_json = strcmp(type, "application/json") == 0 || strcmp(type, SN_PROBLEM_TYPE) == 0;
    sn_json_object(json, type);
    if (is_json && schema) {
        put_reference(json, schema);
    } else {
        sn_json_object(json, "schema");
        if (!is_json)
            sn_json_text(json, "type", "string");
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void put_response(struct sn_json *json, const struct sn_response *response)
{
    char status[8];
    (void)snprintf(status, sizeof(status), "%u", response->status);
    sn_json_object(json, status);
    sn_json_text(json, "description",
                 response->summary ? response->summary : sn_problem_title(response->status));
    if (response->types && response->types[0]) {
        sn_json_object(json, "content");
        for (const char *at = response->types; *at;) {
            char type[96];
            size_t size = strcspn(at, ",");
            (void)snprintf(type, sizeof(type), "%.*s", (int)size, at);
            put_type(json, type, response->schema);
            at += size + (at[size] == ',');
        }
        sn_json_close(json);
    }
    sn_json_close(json);
}

static bool has_status(const struct sn_route *route, unsigned status)
{
    for (const struct sn_response *one = route->responses; one && one->status; one++) {
        if (one->status == status)
            return true;
    }
    return false;
}

/* What the router itself may say of any route. */
static void put_common(struct sn_json *json, const struct sn_route *route)
{
    const struct {
        unsigned status;
        bool is_possible;
        const char *summary;
    } common[] = {
        {400, true, "what was asked cannot be"},
        {401, route->scope > SN_SCOPE_NONE, "nobody was named, or not rightly"},
        {403, true, "the key is of too low a scope, or the request comes from a foreign page"},
        {406, sn_route_has_types(route), "none of the types there are is accepted"},
        {415, route->body_schema != NULL, "the body is no JSON"},
        {421, true, "the name in Host is not allowed"},
        {503, true, "too much waits to be done already, or it ends"},
        {507, true, "the disk of the state folder is full or cannot be written"},
    };
    for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++) {
        struct sn_response response = {common[i].status, SN_PROBLEM_TYPE, "Problem",
                                       common[i].summary};
        if (common[i].is_possible && !has_status(route, common[i].status))
            put_response(json, &response);
    }
}

static void put_responses(struct sn_json *json, const struct sn_route *route)
{
    sn_json_object(json, "responses");
    for (const struct sn_response *one = route->responses; one && one->status; one++)
        put_response(json, one);
    put_common(json, route);
    sn_json_close(json);
}

/* --- routes --- */

/* "get_api_v1_processes_pid": letters of the path, what lies between them as lines. */
static void put_id(struct sn_json *json, const struct sn_route *route)
{
    char id[160];
    size_t used = 0;
    for (const char *at = route->method; *at && used + 1 < sizeof(id); at++)
        id[used++] = (char)tolower((unsigned char)*at);
    for (const char *at = route->path; *at && used + 1 < sizeof(id); at++) {
        if (isalnum((unsigned char)*at))
            id[used++] = *at;
        else if (used && id[used - 1] != '_')
            id[used++] = '_';
    }
    while (used && id[used - 1] == '_')
        used--;
    sn_json_bytes(json, "operationId", id, used);
}

static void put_route(struct sn_json *json, const struct sn_route *route)
{
    char method[16] = "";
    for (size_t i = 0; route->method[i] && i + 1 < sizeof(method); i++)
        method[i] = (char)tolower((unsigned char)route->method[i]);
    sn_json_object(json, method);
    put_id(json, route);
    sn_json_array(json, "tags");
    sn_json_text(json, NULL, route->resource);
    sn_json_close(json);
    sn_json_text(json, "summary", route->summary);
    sn_json_text(json, "x-sonde-scope", sn_scope_name(route->scope));
    if (route->scope == SN_SCOPE_NONE) {
        sn_json_array(json, "security");
        sn_json_close(json);
    }
    put_parameters(json, route);
    put_body(json, route);
    put_responses(json, route);
    sn_json_close(json);
}

struct place {
    const struct sn_route *const *table;
    const struct sn_route *route;
};

static struct place first_route(void)
{
    return (struct place){sn_route_tables, sn_route_tables[0]};
}

/* The next route of all tables; without a route past the last. */
static struct place next_route(struct place at)
{
    at.route++;
    while (at.route && !at.route->method) {
        at.table++;
        at.route = *at.table;
    }
    return at;
}

static bool was_before(const struct sn_daemon *daemon, const struct sn_route *route)
{
    for (struct place at = first_route(); at.route != route; at = next_route(at)) {
        if (strcmp(at.route->path, route->path) == 0 &&
            !sn_router_is_disabled(daemon, at.route->resource))
            return true;
    }
    return false;
}

static void put_path(struct sn_json *json, const struct sn_daemon *daemon, struct place first)
{
    sn_json_object(json, first.route->path);
    for (struct place at = first; at.route; at = next_route(at)) {
        if (strcmp(at.route->path, first.route->path) == 0 &&
            !sn_router_is_disabled(daemon, at.route->resource))
            put_route(json, at.route);
    }
    sn_json_close(json);
}

static void put_paths(struct sn_json *json, const struct sn_daemon *daemon)
{
    sn_json_object(json, "paths");
    for (struct place at = first_route(); at.route; at = next_route(at)) {
        if (!sn_router_is_disabled(daemon, at.route->resource) && !was_before(daemon, at.route))
            put_path(json, daemon, at);
    }
    sn_json_close(json);
}

/* --- the document --- */

static void put_security(struct sn_json *json)
{
    sn_json_array(json, "security");
    static const char *const schemes[] = {"key", "session"};
    for (size_t i = 0; i < 2; i++) {
        sn_json_object(json, NULL);
        sn_json_array(json, schemes[i]);
        sn_json_close(json);
        sn_json_close(json);
    }
    sn_json_close(json);
}

/* The schemas are JSON already. */
static void put_components(struct sn_json *json)
{
    sn_json_object(json, "components");
    for (const struct sn_embedded *file = sn_embedded_files; file->name; file++) {
        if (strcmp(file->name, "api-schemas.json") == 0) {
            sn_buf_text(json->out, "\"schemas\":");
            sn_buf_append(json->out, file->bytes, file->size);
        }
    }
    sn_buf_text(json->out,
                ",\"securitySchemes\":{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
                "\"session\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":"
                "\"sonde-XXXXXXXX\",\"description\":\"eight hexadecimal "
                "digits that each controller has its own of; POST /api/v1/session sets it\"}}");
    sn_json_close(json);
}

void sn_openapi_write(const struct sn_daemon *daemon, struct sn_buf *to)
{
    struct sn_json json = sn_json_to(to);
    const char *prefix = daemon->options->prefix;
    sn_json_object(&json, NULL);
    sn_json_text(&json, "openapi", "3.1.0");
    sn_json_object(&json, "info");
    sn_json_text(&json, "title", "sonde");
    sn_json_text(&json, "version", SONDE_VERSION);
    sn_json_text(&json, "summary", "Traces, counters and stacks of .NET processes");
    sn_json_close(&json);
    sn_json_array(&json, "servers");
    sn_json_object(&json, NULL);
    sn_json_text(&json, "url", prefix[0] ? prefix : "/");
    sn_json_close(&json);
    sn_json_close(&json);
    put_security(&json);
    put_paths(&json, daemon);
    put_components(&json);
    sn_json_close(&json);
}

/* In the HTTP thread: made for the first who asks, the same for all. */
static void get_openapi(struct sn_rest_call *call)
{
    struct sn_daemon *daemon = call->daemon;
    if (!daemon->openapi) {
        sn_openapi_write(daemon, &call->out);
        daemon->openapi = sn_http_shared_new(&call->out);
    }
    call->shared = daemon->openapi; /* without memory, what there is of it says so */
}

static const struct sn_response responses[] = {
    {200, "application/json", NULL, "this document"},
    {.status = 0},
};

const struct sn_route sn_openapi_routes[] = {
    {.method = "GET",
     .path = "/api/v1/openapi.json",
     .resource = "openapi",
     .scope = SN_SCOPE_NONE,
     .seat = SN_SEAT_HTTP,
     .has_head = true,
     .responses = responses,
     .summary = "the API, for programs",
     .handle = get_openapi},
    {.method = NULL},
};
