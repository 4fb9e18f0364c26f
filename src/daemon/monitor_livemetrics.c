/* GET and POST /livemetrics of dotnet-monitor. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/metric_operation.h"
#include "daemon/monitor_call.h"
#include "daemon/monitor_tables.h"
#include "daemon/rest_call.h"

#define MONITOR_INTERVAL_S 5.0 /* dotnet-monitor's, unless the administrator says otherwise */
#define GROUP_LIMIT        16384u

static const char *const standard_groups[] = {"EventCounters\\System.Runtime",
                                              "EventCounters\\Microsoft.AspNetCore.Hosting",
                                              "EventCounters\\Grpc.AspNetCore.Server"};

static void make(struct sn_rest_call *call, json_t *settings)
{
    uint64_t interval_ns = call->daemon->options->interval_ns;
    bool is_set = interval_ns && call->daemon->options->is_dotnet_monitor;
    double interval_s = is_set ? (double)interval_ns / SN_NS_PER_SECOND : MONITOR_INTERVAL_S;
    (void)json_object_set_new(settings, "interval_s", json_real(interval_s));
    const struct sn_monitor_artefact artefact = {.kind = &sn_metric_operation,
                                                 .settings = settings};
    sn_monitor_make(call, &artefact);
}

static void add_standard(json_t *groups)
{
    for (size_t i = 0; i < sizeof(standard_groups) / sizeof(*standard_groups); i++)
        (void)json_array_append_new(groups, json_string(standard_groups[i]));
}

/* The administrator's providers and meters, and dotnet-monitor's own. */
static void get_metrics(struct sn_rest_call *call)
{
    const struct sn_serve_options *options = call->daemon->options;
    json_t *settings = json_object();
    json_t *groups = json_array();
    (void)json_object_set_new(settings, "counters", groups);
    bool is_configured = options->is_dotnet_monitor && options->counter_count;
    for (size_t i = 0; is_configured && i < options->counter_count; i++)
        (void)json_array_append_new(groups, json_string(options->counters[i]));
    if (!is_configured)
        add_standard(groups);
    make(call, settings);
}

/* --- POST --- */

/* Where the members of a request say which counters. */
struct list {
    const char *member; /* "providers" */
    const char *name;   /* "providerName" */
    const char *items;  /* "counterNames" */
    const char *prefix; /* "EventCounters\\" */
};
static const struct list lists[] = {
    {"providers", "providerName", "counterNames", "EventCounters\\"},
    {"meters", "meterName", "instrumentNames", "Meters\\"}};

static bool is_name(const char *text)
{
    return text && *text && !strpbrk(text, "[],\\");
}

/* "EventCounters\System.Runtime[cpu-usage,gen-0-size]". */
static bool put_group(const struct list *list, const json_t *group, struct sn_buf *to)
{
    size_t index;
    const json_t *item;
    const char *name = json_string_value(sn_monitor_member(group, list->name));
    const json_t *items = sn_monitor_member(group, list->items);
    if (!is_name(name) || (items && !json_is_null(items) && !json_is_array(items)))
        return false;
    sn_buf_format(to, "%s%s", list->prefix, name);
    json_array_foreach(items, index, item)
    {
        if (!is_name(json_string_value(item)))
            return false;
        sn_buf_format(to, "%s%s", index ? "," : "[", json_string_value(item));
    }
    sn_buf_text(to, json_array_size(items) ? "]" : "");
    return !to->failed;
}

static bool read_list(struct sn_rest_call *call, const struct list *list, json_t *groups)
{
    size_t index;
    const json_t *group;
    const json_t *given = sn_monitor_member(call->body, list->member);
    bool is_fine = !given || json_is_null(given) || json_is_array(given);
    json_array_foreach(given, index, group)
    {
        struct sn_buf text = sn_buf_with_limit(GROUP_LIMIT);
        is_fine = is_fine && put_group(list, group, &text);
        if (is_fine)
            (void)json_array_append_new(groups, json_string(sn_buf_string(&text)));
        sn_buf_done(&text);
    }
    if (!is_fine)
        sn_rest_invalid(call, list->member, "it is a list of {\"%s\": \"...\", \"%s\": [\"...\"]}",
                        list->name, list->items);
    return is_fine;
}

static bool read_groups(struct sn_rest_call *call, json_t *groups)
{
    const json_t *with_standard = sn_monitor_member(call->body, "includeDefaultProviders");
    if (with_standard && !json_is_boolean(with_standard)) {
        sn_rest_invalid(call, "includeDefaultProviders", "it is true or false");
        return false;
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        if (!read_list(call, &lists[i], groups))
            return false;
    }
    if (!with_standard || json_is_true(with_standard))
        add_standard(groups);
    if (!json_array_size(groups))
        sn_rest_invalid(call, "providers", "neither a provider nor a meter is asked for");
    return json_array_size(groups) > 0;
}

static void post_metrics(struct sn_rest_call *call)
{
    if (!sn_monitor_has_body(call))
        return;
    json_t *settings = json_object();
    json_t *groups = json_array();
    (void)json_object_set_new(settings, "counters", groups);
    if (read_groups(call, groups))
        make(call, settings);
    else
        json_decref(settings);
}

/* --- the table --- */

static const struct sn_parameter parameters[] = {
    SN_MONITOR_PROCESS, SN_MONITOR_DURATION, SN_MONITOR_EGRESS, {0}};

static const struct sn_response responses[] = {
    {200, "application/json-seq", NULL, "the values as they come"},
    {202, "", NULL, "they go to the egress provider"},
    {429, "application/problem+json", "Problem", "three such run already"},
    {0}};

const struct sn_route sn_monitor_livemetrics_routes[] = {
    {.method = "GET",
     .path = "/livemetrics",
     .resource = "livemetrics",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_ROADS,
     .parameters = parameters,
     .responses = responses,
     .summary = "counters of a process as they come",
     .handle = get_metrics},
    {.method = "POST",
     .path = "/livemetrics",
     .resource = "livemetrics",
     .scope = SN_SCOPE_CONTROL,
     .seat = SN_SEAT_ROADS,
     .parameters = parameters,
     .body_schema = "EventMetricsConfiguration",
     .responses = responses,
     .summary = "chosen counters and meters of a process as they come",
     .handle = post_metrics},
    {0}};
