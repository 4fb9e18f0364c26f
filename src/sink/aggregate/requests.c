/* HTTP requests, served and sent: matched start to stop by activity id, added up by route. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/activity_path.h"
#include "sink/aggregate/event_fields.h"
#include "sink/aggregate/open_set.h"
#include "sink/aggregate/request_bridge.h"
#include "sink/aggregate/request_routes.h"
#include "sink/aggregate/route_pattern.h"
#include "sink/aggregate/work_topics.h"

#define OPEN_MAX   (1u << 18)
#define SHARED_MAX 256u /* requests at a time with one activity id */
#define TEXT_LIMIT 8192u

#define HOSTING "Microsoft.AspNetCore.Hosting"
#define KESTREL "Microsoft-AspNetCore-Server-Kestrel"
#define CLIENT  "System.Net.Http"

enum { HOSTING_START = 3, HOSTING_STOP = 4, HOSTING_UNHANDLED = 5 };
enum { KESTREL_START = 3, KESTREL_STOP = 4 };
enum { CLIENT_START = 1, CLIENT_STOP = 2, CLIENT_FAILED = 3 };
enum { EXCEPTION_THROWN = 80 };

struct requests {
    struct sn_sink sink;
    struct sn_report *report; /* borrows */
    struct sn_request_routes routes;
    struct sn_open_set open; /* kind: route, number: source, count: 1 when failed */
    uint64_t last_ns;
    bool has_short_ids; /* sn_activity_is_short */
    struct sn_request_bridge bridge;
    struct sn_buf method;
    struct sn_buf path;
    struct sn_buf pattern;
    struct sn_buf host;
};

/* --- which request --- */

static uint64_t key_of_activity(enum sn_request_source source, const uint8_t *activity)
{
    return sn_event_hash((uint64_t)source + 1, activity, SN_ACTIVITY_SIZE);
}

/* Without activity ids: Kestrel numbers its requests, the others are told apart by thread. */
static uint64_t key_without_activity(struct requests *requests, enum sn_request_source source,
                                     const struct sn_event *event)
{
    uint64_t seed = ((uint64_t)source + 1) << 32;
    if (source == SN_REQUEST_KESTREL) {
        sn_buf_clear(&requests->host);
        if (sn_event_text(event, "requestId", &requests->host) && requests->host.size)
            return sn_event_hash(seed, requests->host.bytes, requests->host.size);
    }
    return sn_event_hash(seed, &event->thread_id, sizeof(event->thread_id));
}

static uint64_t key_of(struct requests *requests, enum sn_request_source source,
                       const struct sn_event *event)
{
    return event->activity ? key_of_activity(source, event->activity)
                           : key_without_activity(requests, source, event);
}

/* Requests that share an id wait in a chain of keys, each made of the one before. Which of them
 * ends is not known; the last one is taken, so that their number and the sum of their times are
 * right. */
static uint64_t next_key(uint64_t key)
{
    return sn_event_hash(key, &key, sizeof(key));
}

static uint64_t free_key(const struct requests *requests, uint64_t key)
{
    for (unsigned i = 0; i < SHARED_MAX && sn_open_set_find(&requests->open, key); i++)
        key = next_key(key);
    return key;
}

static uint64_t last_key(const struct requests *requests, uint64_t key)
{
    uint64_t next = next_key(key);
    for (unsigned i = 0; i < SHARED_MAX && sn_open_set_find(&requests->open, next); i++) {
        key = next;
        next = next_key(key);
    }
    return key;
}

/* Every open request in whose flow an event is: those of its activity and of all above it. */
typedef void open_fn(struct requests *requests, struct sn_open *open);

static void for_each_around(struct requests *requests, const struct sn_event *event,
                            enum sn_request_source first, enum sn_request_source last,
                            open_fn *take)
{
    uint8_t levels[SN_ACTIVITY_DEPTH_MAX][SN_ACTIVITY_SIZE];
    size_t count =
        event->activity ? sn_activity_levels(event->activity, requests->has_short_ids, levels) : 1;
    for (size_t i = 0; i < count; i++) {
        for (unsigned source = first; source <= last; source++) {
            uint64_t key =
                event->activity
                    ? key_of_activity((enum sn_request_source)source, levels[i])
                    : key_without_activity(requests, (enum sn_request_source)source, event);
            struct sn_open *open = sn_open_set_find(&requests->open, key);
            if (open)
                take(requests, open);
        }
    }
}

/* --- begin and end --- */

/* The route that `method`, `pattern` and, for outgoing ones, `host` stand for. */
static uint32_t route_of(struct requests *requests, enum sn_request_source source)
{
    bool is_outgoing = source >= SN_REQUEST_CLIENT;
    struct sn_route_name name = {.source = source,
                                 .method = sn_buf_string(&requests->method),
                                 .pattern = sn_buf_string(&requests->pattern),
                                 .host = is_outgoing ? sn_buf_string(&requests->host) : NULL};
    return sn_request_routes_put(&requests->routes, &name);
}

static void make_pattern(struct requests *requests, struct sn_buf *path)
{
    const char *text = sn_buf_string(path);
    sn_buf_clear(&requests->pattern);
    sn_route_pattern(&requests->pattern, text, strlen(text));
}

static uint32_t count_begun(struct requests *requests, enum sn_request_source source)
{
    uint32_t index = route_of(requests, source);
    struct sn_route *route = sn_request_routes_at(&requests->routes, index);
    if (route)
        route->count++;
    requests->routes.begun_count[source]++;
    return index;
}

static void begin(struct requests *requests, enum sn_request_source source,
                  const struct sn_event *event)
{
    uint32_t index = count_begun(requests, source);
    bool is_by_thread = !event->activity && source != SN_REQUEST_KESTREL;
    requests->routes.by_thread_count[source] += is_by_thread;
    uint64_t key = key_of(requests, source, event);
    if (event->activity && sn_activity_is_short(event->activity)) {
        requests->has_short_ids = true;
        key = free_key(requests, key);
    }
    struct sn_open *open = sn_open_set_begin(&requests->open, key, event->time_ns);
    if (!open)
        return;
    open->kind = index;
    open->number = source;
}

static void end(struct requests *requests, enum sn_request_source source,
                const struct sn_event *event, uint32_t status)
{
    uint64_t key = key_of(requests, source, event);
    struct sn_open open;
    if (requests->has_short_ids)
        key = last_key(requests, key);
    if (!sn_open_set_end(&requests->open, key, &open)) {
        requests->routes.unmatched_count[source]++;
        return;
    }
    struct sn_request_end how = {.at_ns = event->time_ns,
                                 .time_ns = sn_elapsed(open.since_ns, event->time_ns),
                                 .status = status ? status : open.status,
                                 .is_failed = open.count != 0};
    sn_request_routes_end(&requests->routes, source, open.kind, &how);
}

static void mark_failed(struct requests *requests, struct sn_open *open)
{
    (void)requests;
    open->count = 1;
}

static void add_exception(struct requests *requests, struct sn_open *open)
{
    struct sn_route *route = sn_request_routes_at(&requests->routes, open->kind);
    if (route)
        route->exception_count++;
}

/* --- servers --- */

static void take_served_start(struct requests *requests, enum sn_request_source source,
                              const struct sn_event *event)
{
    sn_buf_clear(&requests->method);
    sn_buf_clear(&requests->path);
    (void)sn_event_text(event, "method", &requests->method);
    (void)sn_event_text(event, "path", &requests->path);
    make_pattern(requests, &requests->path);
    begin(requests, source, event);
}

static bool take_hosting(struct requests *requests, const struct sn_event *event)
{
    switch (event->schema->event_id) {
    case HOSTING_START: take_served_start(requests, SN_REQUEST_HOSTING, event); return true;
    case HOSTING_STOP: end(requests, SN_REQUEST_HOSTING, event, 0); return true;
    case HOSTING_UNHANDLED:
        for_each_around(requests, event, SN_REQUEST_HOSTING, SN_REQUEST_BRIDGE, mark_failed);
        return true;
    default: return false;
    }
}

static bool take_kestrel(struct requests *requests, const struct sn_event *event)
{
    switch (event->schema->event_id) {
    case KESTREL_START: take_served_start(requests, SN_REQUEST_KESTREL, event); return true;
    case KESTREL_STOP: end(requests, SN_REQUEST_KESTREL, event, 0); return true;
    default: return false;
    }
}

/* --- the client --- */

static void make_host(struct requests *requests, const struct sn_event *event)
{
    uint64_t port = sn_event_number(event, "port");
    sn_buf_clear(&requests->host);
    (void)sn_event_text(event, "host", &requests->host);
    if (port && port != 80 && port != 443)
        sn_buf_format(&requests->host, ":%" PRIu64, port & 0xFFFFu);
}

static void take_client_start(struct requests *requests, const struct sn_event *event)
{
    sn_buf_clear(&requests->method); /* it does not say */
    sn_buf_clear(&requests->path);
    (void)sn_event_text(event, "pathAndQuery", &requests->path);
    make_pattern(requests, &requests->path);
    make_host(requests, event);
    begin(requests, SN_REQUEST_CLIENT, event);
}

static bool take_client(struct requests *requests, const struct sn_event *event)
{
    uint64_t status;
    switch (event->schema->event_id) {
    case CLIENT_START: take_client_start(requests, event); return true;
    case CLIENT_STOP:
        status = sn_event_number(event, "statusCode"); /* -1: there was no answer */
        end(requests, SN_REQUEST_CLIENT, event, status < 1000 ? (uint32_t)status : 0);
        return true;
    case CLIENT_FAILED: {
        struct sn_open *open =
            sn_open_set_find(&requests->open, key_of(requests, SN_REQUEST_CLIENT, event));
        if (open)
            open->count = 1;
        return true;
    }
    default: return false;
    }
}

/* --- the bridge --- */

static void copy_text(struct sn_buf *to, struct sn_buf *from)
{
    sn_buf_clear(to);
    sn_buf_text(to, sn_buf_string(from));
}

/* What the bridge calls a request: its own pattern where it has one. */
static void name_by_bridge(struct requests *requests)
{
    struct sn_request_bridge *bridge = &requests->bridge;
    copy_text(&requests->method, &bridge->method);
    copy_text(&requests->host, &bridge->host);
    if (bridge->route.size)
        copy_text(&requests->pattern, &bridge->route);
    else
        make_pattern(requests, &bridge->path);
}

/* A request that a server told of gets the pattern and the status that the bridge knows. */
static void improve(struct requests *requests, struct sn_open *open)
{
    struct sn_request_bridge *bridge = &requests->bridge;
    if (bridge->status)
        open->status = bridge->status;
    struct sn_route *route = sn_request_routes_at(&requests->routes, open->kind);
    if (!route || !bridge->route.size)
        return;
    route->count--;
    sn_buf_clear(&requests->method);
    sn_buf_text(&requests->method, route->method);
    copy_text(&requests->pattern, &bridge->route);
    open->kind = route_of(requests, (enum sn_request_source)open->number);
    route = sn_request_routes_at(&requests->routes, open->kind);
    if (route)
        route->count++;
}

/* A stop that brings its duration needs no start. */
static void take_whole(struct requests *requests, enum sn_request_source source, uint64_t now_ns)
{
    struct sn_request_bridge *bridge = &requests->bridge;
    name_by_bridge(requests);
    struct sn_request_end how = {
        .at_ns = now_ns, .time_ns = bridge->duration_ns, .status = bridge->status};
    sn_request_routes_end(&requests->routes, source, count_begun(requests, source), &how);
}

static bool take_bridge(struct requests *requests, const struct sn_event *event)
{
    struct sn_request_bridge *bridge = &requests->bridge;
    if (!sn_request_bridge_read(bridge, event))
        return false;
    enum sn_request_source source =
        bridge->is_outgoing ? SN_REQUEST_CLIENT_BRIDGE : SN_REQUEST_BRIDGE;
    if (bridge->is_start) {
        name_by_bridge(requests);
        begin(requests, source, event);
        return true;
    }
    if (!bridge->is_outgoing)
        for_each_around(requests, event, SN_REQUEST_HOSTING, SN_REQUEST_BRIDGE, improve);
    if (bridge->has_duration && !sn_open_set_find(&requests->open, key_of(requests, source, event)))
        take_whole(requests, source, event->time_ns);
    else
        end(requests, source, event, bridge->status);
    return true;
}

/* --- events --- */

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct requests *requests = (struct requests *)sink;
    const char *provider = event->schema->provider;
    bool is_ours = false;
    if (strcmp(provider, HOSTING) == 0)
        is_ours = take_hosting(requests, event);
    else if (strcmp(provider, KESTREL) == 0)
        is_ours = take_kestrel(requests, event);
    else if (strcmp(provider, CLIENT) == 0)
        is_ours = take_client(requests, event);
    else if (strcmp(provider, SN_BRIDGE_PROVIDER) == 0)
        is_ours = take_bridge(requests, event);
    else if (strcmp(provider, SN_RUNTIME_PROVIDER) == 0)
        for_each_around(requests, event, SN_REQUEST_HOSTING, SN_REQUEST_CLIENT_BRIDGE,
                        add_exception);
    requests->report->requests.event_count += is_ours;
    if (event->time_ns > requests->last_ns)
        requests->last_ns = event->time_ns;
    return SONDE_OK;
}

/* --- the end --- */

static void count_open(struct requests *requests)
{
    uint64_t end_ns = sn_end_of_trace(requests->report, requests->last_ns);
    for (size_t i = 0; i < requests->open.count; i++) {
        const struct sn_open *open = &requests->open.items[i];
        struct sn_route *route =
            open->is_used ? sn_request_routes_at(&requests->routes, open->kind) : NULL;
        if (!route)
            continue;
        uint64_t age_ns = sn_elapsed(open->since_ns, end_ns);
        if (age_ns > route->oldest_ns)
            route->oldest_ns = age_ns;
        const struct sn_request_end how = {
            .at_ns = end_ns, .time_ns = age_ns, .status = open->status, .is_failed = open->count};
        sn_request_routes_show(&requests->routes, open->kind, &how, true);
    }
    for (size_t i = 0; i < requests->report->requests.count; i++) {
        struct sn_route *route = &requests->report->requests.routes[i];
        route->open_count = route->count - route->done_count;
    }
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    struct requests *requests = (struct requests *)sink;
    count_open(requests);
    if (sn_request_routes_finish(&requests->routes) != SONDE_OK)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for requests");
    return SONDE_OK;
}

static void free_requests(struct sn_sink *sink)
{
    struct requests *requests = (struct requests *)sink;
    sn_request_routes_done(&requests->routes);
    sn_request_bridge_done(&requests->bridge);
    sn_open_set_done(&requests->open);
    sn_buf_done(&requests->method);
    sn_buf_done(&requests->path);
    sn_buf_done(&requests->pattern);
    sn_buf_done(&requests->host);
    free(requests);
}

static const struct sn_sink_ops ops = {
    .name = "requests", .event = take_event, .finish = finish, .free = free_requests};

struct sn_sink *sn_requests_make(const struct sn_aggregate_context *context,
                                 struct sonde_error *err)
{
    struct requests *requests = calloc(1, sizeof(*requests));
    if (!requests) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the requests' part of a report");
        return NULL;
    }
    *requests = (struct requests){.sink.ops = &ops,
                                  .report = context->report,
                                  .open = sn_open_set_with_limit(OPEN_MAX),
                                  .method = sn_buf_with_limit(TEXT_LIMIT),
                                  .path = sn_buf_with_limit(TEXT_LIMIT),
                                  .pattern = sn_buf_with_limit(TEXT_LIMIT),
                                  .host = sn_buf_with_limit(TEXT_LIMIT)};
    sn_request_routes_init(&requests->routes, context->report);
    sn_request_bridge_init(&requests->bridge);
    return &requests->sink;
}

static const uint32_t hosting_ids[] = {HOSTING_START, HOSTING_STOP, HOSTING_UNHANDLED};
static const uint32_t kestrel_ids[] = {KESTREL_START, KESTREL_STOP};
static const uint32_t client_ids[] = {CLIENT_START, CLIENT_STOP, CLIENT_FAILED};
static const uint32_t runtime_ids[] = {EXCEPTION_THROWN};
static const struct sn_request_item items[] = {
    {.provider = HOSTING, .ids = hosting_ids, .id_count = 3},
    {.provider = KESTREL, .ids = kestrel_ids, .id_count = 2},
    {.provider = CLIENT, .ids = client_ids, .id_count = 3},
    {.provider = SN_RUNTIME_PROVIDER, .ids = runtime_ids, .id_count = 1},
    {.provider = SN_BRIDGE_PROVIDER},
};
const struct sn_request sn_requests_request = {.items = items,
                                               .item_count = sizeof(items) / sizeof(*items)};
