#include "flow/road.h"

#include <stdlib.h>
#include <strings.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "flow/order.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/schema.h"

#define DEFAULT_WINDOW_BYTES (8u << 20)

/* Schemas of all sources together; a target that declares more is refused, not followed. */
#define SCHEMA_LIMIT (1u << 20)

struct sn_road {
    struct sn_loop *loop;
    struct sn_source *sources;
    struct sn_schema **schemas; /* borrowed from the sources */
    size_t schema_count;
    size_t schema_capacity;
    struct sn_dispatcher dispatcher;
    struct sn_order *order;
    struct sn_tracker tracker;
    uint64_t event_count;
};

static const struct sn_field lost_fields[] = {{.name = "Count", .type = SN_TYPE_U64}};

const struct sn_schema sn_lost_schema = {
    .provider = "Sonde",
    .name = "Lost",
    .event_id = 1,
    .level = 1,
    .has_layout = true,
    .field_count = 1,
    .fields = lost_fields,
    .wanted = UINT64_MAX,
};

/* To those who wanted it when it came: others may have come since. */
static void dispatch_ordered(void *user, const struct sn_event *event, uint64_t wanted)
{
    struct sn_road *road = user;
    sn_dispatch(&road->dispatcher, wanted, event);
}

int sn_road_new(struct sn_loop *loop, const struct sn_road_options *options,
                struct sn_road **ret_road, struct sonde_error *err)
{
    SN_AUTO(sn_road_free) struct sn_road *road = calloc(1, sizeof(*road));
    if (!road)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a road");
    road->loop = loop;
    sn_track_init(&road->tracker);
    size_t window = options && options->window_bytes ? options->window_bytes : DEFAULT_WINDOW_BYTES;
    int rc = sn_order_new(window, dispatch_ordered, road, &road->order, err);
    if (rc != SONDE_OK)
        return rc;
    *ret_road = SN_TAKE(road);
    return SONDE_OK;
}

static void free_sinks(struct sn_road *road)
{
    struct sn_dispatcher *dispatcher = &road->dispatcher;
    for (uint64_t bits = dispatcher->active; bits; bits &= bits - 1) {
        struct sn_sink *sink = dispatcher->subscriptions[__builtin_ctzll(bits)].sink;
        sink->ops->free(sink);
    }
}

void sn_road_free(struct sn_road *road)
{
    if (!road)
        return;
    sn_order_free(road->order);
    free_sinks(road);
    while (road->sources) {
        struct sn_source *source = road->sources;
        road->sources = source->next;
        source->ops->free(source);
    }
    sn_track_done(&road->tracker);
    free(road->schemas);
    free(road);
}

struct sn_loop *sn_road_loop(const struct sn_road *road)
{
    return road->loop;
}

int sn_road_add_source(struct sn_road *road, struct sn_source *source, struct sonde_error *err)
{
    source->next = road->sources;
    road->sources = source;
    int rc = source->ops->start(source, road, err);
    if (rc != SONDE_OK)
        sn_road_ended(road, source, rc);
    return rc;
}

void sn_road_remove_source(struct sn_road *road, struct sn_source *source)
{
    struct sn_source **at = &road->sources;
    while (*at && *at != source)
        at = &(*at)->next;
    if (*at)
        *at = source->next;
    source->ops->free(source);
}

static void refresh_words(struct sn_road *road)
{
    for (size_t i = 0; i < road->schema_count; i++)
        road->schemas[i]->wanted = sn_dispatch_wanted(&road->dispatcher, road->schemas[i]);
}

int sn_road_subscribe(struct sn_road *road, const struct sn_request *request, struct sn_sink *sink,
                      bool needs_order, struct sonde_error *err)
{
    int number = sn_dispatch_add(&road->dispatcher, request, sink, needs_order, err);
    if (number >= 0)
        refresh_words(road);
    return number;
}

static void forget_number(struct sn_road *road, int number)
{
    struct sn_dispatcher *dispatcher = &road->dispatcher;
    uint64_t others = ~(1ull << number);
    dispatcher->active &= others;
    dispatcher->ordered &= others;
    dispatcher->leaving &= others;
    dispatcher->subscriptions[number] = (struct sn_subscription){0};
    refresh_words(road);
}

int sn_road_unsubscribe(struct sn_road *road, int number, struct sonde_error *err)
{
    struct sn_dispatcher *dispatcher = &road->dispatcher;
    struct sn_sink *sink = dispatcher->subscriptions[number].sink;
    if (dispatcher->ordered >> number & 1u)
        sn_order_release(road->order, UINT64_MAX); /* what is held for it */
    forget_number(road, number);
    int rc = sink->ops->finish ? sink->ops->finish(sink, err) : SONDE_OK;
    sink->ops->free(sink);
    return rc;
}

void sn_road_drop(struct sn_road *road, int number)
{
    struct sn_sink *sink = road->dispatcher.subscriptions[number].sink;
    sn_order_clear_bits(road->order, 1ull << number); /* another may hold the number soon */
    forget_number(road, number);
    sink->ops->free(sink);
}

const struct sn_subscription *sn_road_subscription(const struct sn_road *road, int number)
{
    bool is_held = number >= 0 && number < (int)SN_SUBSCRIPTION_MAX &&
                   (road->dispatcher.active >> number & 1u);
    return is_held ? &road->dispatcher.subscriptions[number] : NULL;
}

void sn_road_stop(struct sn_road *road)
{
    for (struct sn_source *source = road->sources; source; source = source->next) {
        if (!source->has_ended)
            source->ops->stop(source);
    }
}

bool sn_road_is_done(const struct sn_road *road)
{
    for (const struct sn_source *source = road->sources; source; source = source->next) {
        if (!source->has_ended)
            return false;
    }
    return true;
}

bool sn_road_has_provider(const struct sn_road *road, const char *provider)
{
    for (size_t i = 0; i < road->schema_count; i++) {
        if (strcasecmp(road->schemas[i]->provider, provider) == 0)
            return true;
    }
    return false;
}

const struct sn_tracker *sn_road_tracker(const struct sn_road *road)
{
    return &road->tracker;
}

uint64_t sn_road_event_count(const struct sn_road *road)
{
    return road->event_count;
}

uint64_t sn_road_late_count(const struct sn_road *road)
{
    return sn_order_late_count(road->order);
}

int sn_road_finish(struct sn_road *road, struct sonde_error *err)
{
    int first = SONDE_OK;
    sn_order_release(road->order, UINT64_MAX);
    for (int number = 0; number < (int)SN_SUBSCRIPTION_MAX; number++) {
        if (!sn_road_subscription(road, number))
            continue;
        int rc = sn_road_unsubscribe(road, number, err);
        if (first == SONDE_OK)
            first = rc;
    }
    return first;
}

int sn_road_schema(struct sn_road *road, struct sn_schema *schema, struct sonde_error *err)
{
    if (road->schema_count == SCHEMA_LIMIT)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u kinds of events", SCHEMA_LIMIT);
    struct sn_schema **schemas = sn_array_room(road->schemas, road->schema_count,
                                               &road->schema_capacity, sizeof(struct sn_schema *));
    if (!schemas)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for another kind of event");
    road->schemas = schemas;
    road->schemas[road->schema_count++] = schema;
    schema->wanted = sn_dispatch_wanted(&road->dispatcher, schema);
    return SONDE_OK;
}

/* The time before which every source that still speaks has said everything. */
static uint64_t complete_until(const struct sn_road *road)
{
    uint64_t until = UINT64_MAX;
    for (const struct sn_source *source = road->sources; source; source = source->next) {
        uint64_t complete_ns = source->is_behind ? 0 : source->complete_until_ns;
        bool may_speak = !source->has_ended || source->is_behind;
        if (may_speak && complete_ns < until)
            until = complete_ns;
    }
    return until;
}

void sn_road_settle(struct sn_road *road)
{
    if (road->dispatcher.ordered)
        sn_order_release(road->order, complete_until(road));
}

static void lose(struct sn_road *road, struct sn_source *source, const struct sn_event *where,
                 uint64_t count, uint64_t losers);

/* To the subscriptions in `wanted`. What there is no memory for is lost by those who wait for it
 * here; that they are told of it needs none. */
static void deliver(struct sn_road *road, struct sn_source *source, const struct sn_event *event,
                    uint64_t wanted)
{
    struct sn_dispatcher *dispatcher = &road->dispatcher;
    uint64_t ordered = wanted & dispatcher->ordered;
    bool is_loss = event->schema == &sn_lost_schema;
    sn_dispatch(dispatcher, wanted & ~ordered, event);
    if (!ordered)
        return;
    if (event->is_timeless) {
        sn_order_pass(road->order, event, ordered);
        return;
    }
    bool is_held = sn_order_hold(road->order, event, ordered) == SONDE_OK;
    if (!is_held && is_loss)
        sn_order_pass(road->order, event, ordered);
    else if (!is_held)
        lose(road, source, event, 1, ordered);
    if (event->is_sorted && event->time_ns > source->complete_until_ns)
        source->complete_until_ns = event->time_ns;
}

void sn_road_event(struct sn_road *road, struct sn_source *source, const struct sn_event *event)
{
    road->event_count++;
    if (event->schema->wanted)
        deliver(road, source, event, event->schema->wanted & road->dispatcher.active);
}

static void lose(struct sn_road *road, struct sn_source *source, const struct sn_event *where,
                 uint64_t count, uint64_t losers)
{
    sn_track_lost(&road->tracker, where->pid, where->capture_thread_id, count);
    struct sn_event event = *where;
    event.schema = &sn_lost_schema;
    event.payload = (const uint8_t *)&count;
    event.payload_size = sizeof(count);
    event.stack = NULL;
    event.stack_depth = 0;
    event.stack_key = 0;
    event.activity = NULL;
    event.related = NULL;
    event.is_sorted = false;
    deliver(road, source, &event, losers);
}

void sn_road_lost(struct sn_road *road, struct sn_source *source, const struct sn_event *where,
                  uint64_t count)
{
    lose(road, source, where, count, road->dispatcher.active);
}

void sn_road_complete(struct sn_road *road, struct sn_source *source, uint64_t time_ns)
{
    if (time_ns > source->complete_until_ns)
        source->complete_until_ns = time_ns;
    sn_road_settle(road);
}

void sn_road_ended(struct sn_road *road, struct sn_source *source, int status)
{
    source->has_ended = true;
    source->status = status;
    sn_road_settle(road);
}
