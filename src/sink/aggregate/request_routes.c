#include "sink/aggregate/request_routes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/timeline.h"
#include "sink/aggregate/event_fields.h"

#define ROUTE_MAX 256u

void sn_request_routes_init(struct sn_request_routes *routes, struct sn_report *report)
{
    *routes = (struct sn_request_routes){
        .report = report, .index = sn_table_with_limit(ROUTE_MAX + SN_REQUEST_SOURCES)};
}

void sn_request_routes_done(struct sn_request_routes *routes)
{
    sn_table_done(&routes->index);
    for (size_t i = 0; i < SN_REQUEST_SOURCES; i++)
        sn_series_done(&routes->times[i]);
}

static uint64_t hash_text(uint64_t seed, const char *text)
{
    return sn_event_hash(seed, text, strlen(text) + 1);
}

static uint64_t key_of(const struct sn_route_name *name)
{
    uint64_t key = hash_text((uint64_t)name->source + 1, name->method);
    key = hash_text(key, name->pattern);
    return name->host ? hash_text(key, name->host) : key;
}

static const char *keep(struct sn_report *report, const char *text)
{
    const char *copy = text ? sn_arena_copy(&report->arena, text, strlen(text)) : NULL;
    return text && !copy ? "" : copy;
}

static uint32_t add_route(struct sn_request_routes *routes, uint64_t key,
                          const struct sn_route_name *name, bool is_rest)
{
    struct sn_request_report *report = &routes->report->requests;
    struct sn_route *all =
        sn_array_room(report->routes, report->count, &report->capacity, sizeof(*all));
    if (!all)
        return SN_NO_ROUTE;
    report->routes = all;
    uint64_t *place = sn_table_put(&routes->index, key);
    if (!place)
        return SN_NO_ROUTE;
    all[report->count] = (struct sn_route){.method = keep(routes->report, name->method),
                                           .pattern = keep(routes->report, name->pattern),
                                           .host = keep(routes->report, name->host),
                                           .source = (uint8_t)name->source,
                                           .is_rest = is_rest};
    *place = ++report->count;
    return (uint32_t)report->count - 1;
}

static uint32_t put_named(struct sn_request_routes *routes, const struct sn_route_name *name,
                          bool is_rest)
{
    uint64_t key = key_of(name);
    const uint64_t *known = sn_table_find(&routes->index, key);
    if (known)
        return (uint32_t)*known - 1;
    if (!is_rest && routes->index.count >= ROUTE_MAX)
        return SN_NO_ROUTE;
    return add_route(routes, key, name, is_rest);
}

static bool is_outgoing(enum sn_request_source source)
{
    return source == SN_REQUEST_CLIENT || source == SN_REQUEST_CLIENT_BRIDGE;
}

uint32_t sn_request_routes_put(struct sn_request_routes *routes, const struct sn_route_name *name)
{
    uint32_t index = put_named(routes, name, false);
    if (index != SN_NO_ROUTE)
        return index;
    struct sn_route_name rest = {.source = name->source,
                                 .method = "",
                                 .pattern = "other",
                                 .host = is_outgoing(name->source) ? "" : NULL};
    return put_named(routes, &rest, true);
}

struct sn_route *sn_request_routes_at(const struct sn_request_routes *routes, uint32_t index)
{
    struct sn_request_report *report = &routes->report->requests;
    return index < report->count ? &report->routes[index] : NULL;
}

void sn_request_routes_show(const struct sn_request_routes *routes, uint32_t index,
                            const struct sn_request_end *how, bool is_open)
{
    const struct sn_route *route = sn_request_routes_at(routes, index);
    if (!route || !routes->report->timeline)
        return;
    const struct sn_timeline_request request = {
        .start_ns = how->at_ns > how->time_ns ? how->at_ns - how->time_ns : 0,
        .end_ns = how->at_ns,
        .method = route->method,
        .pattern = route->pattern,
        .host = route->host,
        .status = how->status,
        .is_failed = how->is_failed || how->status >= 500,
        .is_open = is_open,
    };
    sn_timeline_request(routes->report->timeline, (enum sn_request_source)route->source, &request);
}

void sn_request_routes_end(struct sn_request_routes *routes, enum sn_request_source source,
                           uint32_t index, const struct sn_request_end *end)
{
    sn_series_add(&routes->times[source], end->time_ns);
    struct sn_route *route = sn_request_routes_at(routes, index);
    if (!route)
        return;
    sn_request_routes_show(routes, index, end, false);
    uint32_t class = end->status / 100;
    route->done_count++;
    route->by_status[class < SN_STATUS_CLASSES ? class : 0]++;
    route->failed_count += end->is_failed || end->status >= 500;
    sn_series_add(&route->times, end->time_ns);
}

/* --- the end --- */

/* The best of the sources from `first` to `last` that told of anything; `last` for none. */
static enum sn_request_source best_of(const struct sn_request_routes *routes,
                                      enum sn_request_source first, enum sn_request_source last)
{
    unsigned best = first;
    while (best < last && !routes->begun_count[best] && !routes->unmatched_count[best])
        best++;
    return (enum sn_request_source)best;
}

static void take_sums(struct sn_request_routes *routes, enum sn_request_source source,
                      struct sn_series *times)
{
    struct sn_request_report *report = &routes->report->requests;
    report->unmatched_count += routes->unmatched_count[source];
    report->by_thread_count += routes->by_thread_count[source];
    *times = routes->times[source];
    routes->times[source] = (struct sn_series){0};
}

static int most_time_first(const void *left, const void *right)
{
    const struct sn_route *a = left;
    const struct sn_route *b = right;
    if (!a->host != !b->host)
        return a->host ? 1 : -1; /* served, then outgoing */
    if (a->times.sum != b->times.sum)
        return a->times.sum < b->times.sum ? 1 : -1;
    int order = strcmp(a->pattern, b->pattern);
    return order ? order : strcmp(a->method, b->method);
}

int sn_request_routes_finish(struct sn_request_routes *routes)
{
    struct sn_request_report *report = &routes->report->requests;
    enum sn_request_source served = best_of(routes, SN_REQUEST_HOSTING, SN_REQUEST_BRIDGE);
    enum sn_request_source sent = best_of(routes, SN_REQUEST_CLIENT, SN_REQUEST_CLIENT_BRIDGE);
    size_t kept = 0;
    for (size_t i = 0; i < report->count; i++) {
        struct sn_route *route = &report->routes[i];
        if (!route->count || (route->source != served && route->source != sent)) {
            sn_series_done(&route->times);
            continue;
        }
        report->open_count += route->open_count;
        report->exception_count += route->host ? 0 : route->exception_count;
        report->routes[kept++] = *route;
    }
    report->count = kept;
    take_sums(routes, served, &report->times);
    take_sums(routes, sent, &report->sent_times);
    if (kept)
        qsort(report->routes, kept, sizeof(*report->routes), most_time_first);
    return sn_timeline_take_requests(routes->report->timeline, served, sent);
}
