/* Events of a running process: a road with a session as its source and the caller behind it. */
#include <stdlib.h>
#include <string.h>

#include "api/event_internal.h"
#include "api/opening.h"
#include "api/options_in.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "source/ipc/eventpipe.h"
#include "source/ipc/ipc_commands.h"

#define DEFAULT_BUFFER_MB 16u
#define FILTERS_LIMIT     (1u << 20)

struct sonde_subscription {
    uint32_t pid;
    struct sn_receiver receiver;
    struct sn_loop *loop;     /* owns */
    struct sn_road *road;     /* owns */
    struct sn_source *source; /* borrows from the road */
    int number;               /* of our subscription on the road */
    struct sn_arena filters;  /* what `request` points to */
    struct sn_request request;
    bool is_turning;
    bool is_stop_wanted;
    bool is_over;
    int status; /* how it ended */
    struct sonde_error err;
};

static int read_options(const struct sonde_subscribe_options *given,
                        struct sonde_subscribe_options *ret_options, struct sonde_error *err)
{
    int rc = sn_options_in(given, ret_options, sizeof(*ret_options), "subscribe options", err);
    if (rc != SONDE_OK)
        return rc;
    if (!ret_options->provider_count)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a subscription needs at least one provider");
    return SONDE_OK;
}

/* --- opening --- */

static const struct sn_trace_info *session_info(const void *source)
{
    return sn_eventpipe_info(source);
}

static bool has_filters(const struct sonde_subscribe_options *options)
{
    for (size_t i = 0; i < options->provider_count; i++) {
        if (options->providers[i].id_count)
            return true;
    }
    return false;
}

static bool copy_filter(struct sn_arena *arena, const struct sonde_provider *from,
                        struct sn_request_item *to)
{
    uint32_t *ids = sn_arena_alloc(arena, from->id_count * sizeof(*ids) + 1);
    to->provider = sn_arena_copy(arena, from->name, strlen(from->name));
    to->ids = ids;
    to->id_count = from->id_count;
    to->ids_are_excluded = from->ids_are_excluded;
    if (ids && from->id_count)
        memcpy(ids, from->ids, from->id_count * sizeof(*ids));
    return ids && to->provider;
}

/* Runtimes before .NET 10 do not filter by event id: it is done here, for all alike. */
static int copy_filters(struct sonde_subscription *subscription,
                        const struct sonde_subscribe_options *options, struct sonde_error *err)
{
    if (!has_filters(options))
        return SONDE_OK;
    struct sn_arena *arena = &subscription->filters;
    struct sn_request_item *items =
        options->provider_count > FILTERS_LIMIT / sizeof(*items)
            ? NULL
            : sn_arena_alloc(arena, options->provider_count * sizeof(*items));
    for (size_t i = 0; items && i < options->provider_count; i++) {
        if (!copy_filter(arena, &options->providers[i], &items[i]))
            items = NULL;
    }
    if (!items)
        return sn_fail(err, SONDE_E_LIMIT, 0, "event ids of a subscription take over %u bytes",
                       FILTERS_LIMIT);
    subscription->request =
        (struct sn_request){.item_count = options->provider_count, .items = items};
    return SONDE_OK;
}

static int build_road(struct sonde_subscription *subscription,
                      const struct sonde_subscribe_options *options, struct sonde_error *err)
{
    struct sn_sink *sink = NULL;
    int rc = sn_loop_new(&subscription->loop, err);
    if (rc == SONDE_OK)
        rc = sn_road_new(subscription->loop, NULL, &subscription->road, err);
    if (rc == SONDE_OK)
        rc = copy_filters(subscription, options, err);
    if (rc == SONDE_OK)
        rc = sn_event_sink_new(&subscription->receiver, &sink, err);
    if (rc != SONDE_OK)
        return rc;
    subscription->number =
        sn_road_subscribe(subscription->road, &subscription->request, sink, options->in_order, err);
    return subscription->number < 0 ? subscription->number : SONDE_OK;
}

static int find_runtime(uint32_t pid, struct sn_ipc_route *ret_route, unsigned *ret_major,
                        struct sonde_error *err)
{
    struct sn_ipc_target target;
    SN_AUTO(sn_ipc_process_info_done) struct sn_ipc_process_info info = {0};
    int rc = sn_ipc_target_of_pid((int)pid, &target, err);
    if (rc != SONDE_OK)
        return rc;
    *ret_route = sn_ipc_route_to(&target);
    rc = sn_ipc_get_process_info(ret_route, SN_IPC_USUAL_TIMEOUT_NS, &info, err);
    *ret_major = info.major;
    return rc;
}

static int open_session(struct sonde_subscription *subscription,
                        const struct sonde_subscribe_options *options, struct sonde_error *err)
{
    struct sn_eventpipe_options source = {0};
    int rc = find_runtime(subscription->pid, &source.route, &source.wants.runtime_major, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_free)
    struct sn_ipc_provider *providers =
        sn_opening_providers(options->providers, options->provider_count);
    if (!providers)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for providers");
    source.wants.providers = providers;
    source.wants.provider_count = options->provider_count;
    source.wants.stacks = !options->no_stacks;
    source.wants.buffer_mb = options->buffer_mb
                                 ? options->buffer_mb
                                 : sn_opening_buffer_mb(DEFAULT_BUFFER_MB, subscription->pid);
    rc = sn_eventpipe_new(&source, &subscription->source, err);
    subscription->receiver.stream = subscription->source;
    if (rc == SONDE_OK)
        rc = sn_road_add_source(subscription->road, subscription->source, err);
    return rc == SONDE_OK ? sn_opening_wait(subscription->loop, subscription->source, err) : rc;
}

int sonde_subscribe(uint32_t pid, const struct sonde_subscribe_options *options,
                    sonde_event_fn *take, void *user, struct sonde_subscription **ret_subscription,
                    struct sonde_error *err)
{
    struct sonde_subscribe_options known;
    int rc = read_options(options, &known, err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_subscription *subscription = calloc(1, sizeof(*subscription));
    if (!subscription)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a subscription");
    subscription->pid = pid;
    subscription->receiver =
        (struct sn_receiver){.take = take, .lost = known.lost, .user = user, .info = session_info};
    subscription->filters = sn_arena_with_limit(FILTERS_LIMIT);
    rc = build_road(subscription, &known, err);
    if (rc == SONDE_OK)
        rc = open_session(subscription, &known, err);
    if (rc != SONDE_OK) {
        sonde_subscription_free(subscription);
        return rc;
    }
    *ret_subscription = subscription;
    return SONDE_OK;
}

void sonde_subscription_free(struct sonde_subscription *subscription)
{
    if (!subscription)
        return;
    sn_road_free(subscription->road);
    sn_loop_free(subscription->loop);
    sn_arena_done(&subscription->filters);
    free(subscription);
}

/* --- running --- */

int sonde_subscription_fd(const struct sonde_subscription *subscription)
{
    return sn_loop_fd(subscription->loop);
}

int sonde_subscription_wait_ms(const struct sonde_subscription *subscription)
{
    return subscription->is_over ? 0 : sn_loop_wait_ms(subscription->loop);
}

/* How the caller's callback left; SONDE_OK as long as it wants more. */
static int left_with(const struct sonde_subscription *subscription)
{
    const struct sn_subscription *ours =
        sn_road_subscription(subscription->road, subscription->number);
    return ours->is_leaving ? ours->status : SONDE_OK;
}

static void end(struct sonde_subscription *subscription)
{
    struct sonde_error *err = &subscription->err;
    struct sn_eventpipe_state state;
    sn_eventpipe_state(subscription->source, &state);
    int left = left_with(subscription);
    subscription->is_over = true;
    if (left < 0)
        subscription->status =
            sn_fail(err, left, 0, "the session of pid %u was given up by who takes its events",
                    subscription->pid);
    else if (subscription->source->status == SONDE_OK)
        subscription->status = SONDE_END;
    else {
        *err = *state.err;
        subscription->status = subscription->source->status;
    }
}

/* Never from inside a callback: there the decoder is at work. */
static void tend(struct sonde_subscription *subscription)
{
    if (left_with(subscription) != SONDE_OK)
        subscription->is_stop_wanted = true;
    if (subscription->is_stop_wanted)
        sn_road_stop(subscription->road);
    if (sn_road_is_done(subscription->road) && !subscription->is_over)
        end(subscription);
}

int sonde_subscription_turn(struct sonde_subscription *subscription, struct sonde_error *err)
{
    if (!subscription->is_over) {
        subscription->is_turning = true;
        int rc = sn_loop_turn(subscription->loop, 0, &subscription->err);
        sn_road_settle(subscription->road);
        subscription->is_turning = false;
        if (rc == SONDE_OK) {
            tend(subscription);
        } else {
            subscription->status = rc;
            subscription->is_over = true;
        }
    }
    if (!subscription->is_over)
        return SONDE_OK;
    if (err && subscription->status < 0)
        *err = subscription->err;
    return subscription->status;
}

void sonde_subscription_stop(struct sonde_subscription *subscription)
{
    subscription->is_stop_wanted = true;
    if (!subscription->is_turning)
        tend(subscription);
}

uint64_t sonde_subscription_lost(const struct sonde_subscription *subscription)
{
    return sn_road_tracker(subscription->road)->lost_count;
}
