/* GET and POST /logs of dotnet-monitor. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "daemon/log_format.h"
#include "daemon/log_operation.h"
#include "daemon/monitor_call.h"
#include "daemon/monitor_tables.h"
#include "daemon/rest_call.h"

#define LEVELS         "Trace,Debug,Information,Warning,Error,Critical,None"
#define CATEGORY_MAX   512u
#define CATEGORIES_MAX 256u

static const char *const types[] = {"text/plain", "application/x-ndjson", "application/json-seq",
                                    NULL};
static const char *const formats[] = {"text", "ndjson", "json-seq"};

static const char *const levels[] = {"trace", "debug",    "information", "warning",
                                     "error", "critical", "none"};

/* The word for a level, or for its number; NULL: neither. */
static const char *find_level(const char *text)
{
    for (size_t i = 0; text && i < sizeof(levels) / sizeof(*levels); i++) {
        char number[2] = {(char)('0' + i), '\0'};
        if (strcasecmp(levels[i], text) == 0 || strcmp(number, text) == 0)
            return levels[i];
    }
    return NULL;
}

static const char *read_level(const json_t *value)
{
    char number[24];
    if (!json_is_integer(value))
        return find_level(json_string_value(value));
    (void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return find_level(number);
}

/* --- what is asked for --- */

static void make(struct sn_rest_call *call, json_t *settings)
{
    int type = sn_monitor_choose_type(call, types);
    if (type < 0) {
        sn_rest_problem(call, 406,
                        "logs are text/plain, application/x-ndjson or "
                        "application/json-seq");
        json_decref(settings);
        return;
    }
    if (settings)
        (void)json_object_set_new(settings, "format", json_string(formats[type]));
    if (settings && call->who.scope >= SN_SCOPE_SECRETS)
        (void)json_object_set_new(settings, "secrets", json_true());
    const struct sn_monitor_artefact artefact = {
        .kind = &sn_log_operation, .content_type = types[type], .settings = settings};
    sn_monitor_make(call, &artefact);
}

static void get_logs(struct sn_rest_call *call)
{
    const char *level = sn_rest_text(call, "level");
    json_t *settings = json_object();
    if (level)
        (void)json_object_set_new(settings, "level", json_string(find_level(level)));
    make(call, settings);
}

/* Adds "Category=level" for each; a null is the level that holds for all. */
static bool read_categories(struct sn_rest_call *call, json_t *specs, const char *level,
                            json_t *categories)
{
    const char *name;
    json_t *value;
    if (specs && !json_is_null(specs) && !json_is_object(specs)) {
        sn_rest_invalid(call, "filterSpecs", "it is a map from categories to levels");
        return false;
    }
    if (json_object_size(specs) > CATEGORIES_MAX) {
        sn_rest_invalid(call, "filterSpecs", "more than %u categories", CATEGORIES_MAX);
        return false;
    }
    json_object_foreach(specs, name, value)
    {
        char text[CATEGORY_MAX + 32];
        const char *own = json_is_null(value) ? level : read_level(value);
        if (!own || !*name || strlen(name) > CATEGORY_MAX || strpbrk(name, "=;:")) {
            sn_rest_invalid(call, "filterSpecs", "'%.64s' is not a category with one of %s", name,
                            LEVELS);
            return false;
        }
        (void)snprintf(text, sizeof(text), "%s=%s", name, own);
        (void)json_array_append_new(categories, json_string(text));
    }
    return true;
}

static bool read_flag(struct sn_rest_call *call, const char *name, bool standard, bool *ret_flag)
{
    const json_t *value = sn_monitor_member(call->body, name);
    *ret_flag = value ? json_is_true(value) : standard;
    if (value && !json_is_boolean(value))
        sn_rest_invalid(call, name, "it is true or false");
    return !value || json_is_boolean(value);
}

/* With the application's own filters, or with a level for all, or for the named categories only. */
static void post_logs(struct sn_rest_call *call)
{
    json_t *given = sn_monitor_member(call->body, "logLevel");
    json_t *specs = sn_monitor_member(call->body, "filterSpecs");
    const char *level = given ? read_level(given) : "warning";
    bool with_app_filters;
    if (!sn_monitor_has_body(call))
        return;
    if (!level) {
        sn_rest_invalid(call, "logLevel", "it is one of %s", LEVELS);
        return;
    }
    if (!read_flag(call, "useAppFilters", true, &with_app_filters))
        return;
    json_t *settings = json_object();
    json_t *categories = json_array();
    (void)json_object_set_new(settings, "categories", categories);
    if (!read_categories(call, specs, level, categories)) {
        json_decref(settings);
        return;
    }
    if (!with_app_filters)
        (void)json_object_set_new(settings, "level",
                                  json_string(json_object_size(specs) ? "none" : level));
    make(call, settings);
}

/* --- the table --- */

#define LEVEL                                                        \
    {                                                                \
        .name = "level", .kind = SN_PARAMETER_WORD, .words = LEVELS, \
        .summary = "from this level on"                              \
    }

static const struct sn_parameter get_parameters[] = {
    SN_MONITOR_PROCESS, SN_MONITOR_DURATION, LEVEL, SN_MONITOR_EGRESS, {0}};
static const struct sn_parameter post_parameters[] = {
    SN_MONITOR_PROCESS, SN_MONITOR_DURATION, SN_MONITOR_EGRESS, {0}};

static const struct sn_response responses[] = {
    {200, "text/plain,application/x-ndjson,application/json-seq", NULL, "the logs as they come"},
    {202, "", NULL, "they go to the egress provider"},
    {406, "application/problem+json", "Problem", "none of these formats is accepted"},
    {429, "application/problem+json", "Problem", "three such run already"},
    {0}};

const struct sn_route sn_monitor_logs_routes[] = {{.method = "GET",
                                                   .path = "/logs",
                                                   .resource = "logs",
                                                   .scope = SN_SCOPE_READ,
                                                   .seat = SN_SEAT_ROADS,
                                                   .parameters = get_parameters,
                                                   .responses = responses,
                                                   .summary = "what a process logs",
                                                   .handle = get_logs},
                                                  {.method = "POST",
                                                   .path = "/logs",
                                                   .resource = "logs",
                                                   .scope = SN_SCOPE_CONTROL,
                                                   .seat = SN_SEAT_ROADS,
                                                   .parameters = post_parameters,
                                                   .body_schema = "LogsConfiguration",
                                                   .responses = responses,
                                                   .summary = "what a process logs, by category",
                                                   .handle = post_logs},
                                                  {0}};
