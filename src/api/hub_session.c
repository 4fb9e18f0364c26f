/* One session of a target: opened, its kinds of events shared by all of them, its events handed on,
 * held or remembered while sessions are exchanged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/hub_arguments.h"
#include "api/hub_parts.h"
#include "api/opening.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/seam.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/schema.h"
#include "sonde/provider.h"

#define DEFAULT_BUFFER_MB  16u
#define COUNTERS_BUFFER_MB 4u

#define SESSION "Microsoft-DotNETCore-EventPipe" /* each session tells the whole command line */

static bool is_listed(const struct sonde_provider *provider, uint32_t id)
{
    for (size_t i = 0; i < provider->id_count; i++) {
        if (provider->ids[i] == id)
            return true;
    }
    return false;
}

/* The runtime's own rule. */
bool sn_ask_brings(const struct sn_ask *ask, const struct sn_schema *schema)
{
    for (size_t i = 0; i < ask->count; i++) {
        const struct sonde_provider *provider = &ask->items[i];
        if (strcasecmp(provider->name, schema->provider) == 0 && schema->level <= provider->level &&
            (!schema->keywords || (schema->keywords & provider->keywords)) &&
            (!provider->id_count ||
             is_listed(provider, schema->event_id) != provider->ids_are_excluded))
            return true;
    }
    return false;
}

/* Values of counters come to every session of their provider, whoever asked for them: only where
 * they were asked for are they kept. */
static bool is_kept(const struct sn_hub_session *session, const struct sn_schema *schema)
{
    if (strcasecmp(schema->provider, SESSION) == 0)
        return sn_ask_brings(&session->ask, schema);
    return session->lane->number == SN_LANE_COUNTERS ||
           strcasecmp(schema->name, SN_COUNTERS_EVENT) != 0;
}

static const struct sn_schema *share_schema(void *user, const struct sn_schema *schema)
{
    struct sn_hub_session *session = user;
    struct sn_hub_target *target = session->lane->target;
    bool is_new = false;
    if (!is_kept(session, schema))
        return NULL;
    struct sn_schema like = *schema;
    like.lane = (uint8_t)(session->lane->number + 1);
    struct sn_schema *shared = sn_schema_set_add(target->schemas, &session->share, &like, &is_new);
    if (shared && is_new && sn_road_schema(target->road, shared, NULL) != SONDE_OK)
        return NULL;
    if (shared && sn_conflict_is(shared))
        session->conflicts[session->conflicts[0] != NULL] = shared;
    return shared;
}

static void tell_loss(struct sn_hub_session *session, uint64_t thread_id, uint64_t count)
{
    struct sn_hub_lane *lane = session->lane;
    lane->target->lost_count += count;
    for (struct sonde_consumer *consumer = lane->target->consumers; consumer;
         consumer = consumer->next) {
        if (consumer->asks[lane->number].count && !sn_consumer_is_over(consumer))
            sn_consumer_lose(consumer, thread_id, count);
    }
}

/* Whether the session that is being replaced brings this kind as well. */
static bool is_common(struct sn_hub_lane *lane, const struct sn_schema *schema)
{
    const struct sn_hub_session *earlier = lane->going ? lane->going : lane->current;
    uint64_t *known = sn_table_put(&lane->common, schema->index);
    if (!known)
        return sn_ask_brings(&earlier->ask, schema);
    if (!*known)
        *known = sn_ask_brings(&earlier->ask, schema) ? 1 : 2;
    return *known == 1;
}

static bool hold(struct sn_hub_session *session, const struct sn_event *event)
{
    struct sn_hub_lane *lane = session->lane;
    if (!is_common(lane, event->schema))
        return true;
    if (sn_seam_hold(lane->seam, event) != SONDE_OK)
        tell_loss(session, event->capture_thread_id, 1);
    if (sn_seam_is_full(lane->seam))
        sn_eventpipe_pause(session->source, true);
    return false;
}

static void note_info(const struct sn_hub_session *session)
{
    const struct sn_trace_info *info = sn_eventpipe_info(session->source);
    struct sn_hub_target *target = session->lane->target;
    target->has_info = info != NULL;
    if (info)
        target->info = *info;
}

static bool take_event(void *user, struct sn_event *event, uint64_t lost)
{
    struct sn_hub_session *session = user;
    struct sn_hub_lane *lane = session->lane;
    if (!event->schema) {
        tell_loss(session, event->capture_thread_id, lost);
        return false;
    }
    if (!lane->target->has_info)
        note_info(session);
    if (event->schema == session->conflicts[0] || event->schema == session->conflicts[1])
        sn_conflict_take(lane->target, event);
    sn_steps_note(session, event->schema);
    if (!lane->seam)
        return true;
    bool is_earlier = session == lane->going || (!lane->going && session == lane->current);
    return is_earlier ? sn_seam_note(lane->seam, event) : hold(session, event);
}

/* --- opening --- */

/* Every session is a client of the one shared metrics session, under a name of its own: the runtime
 * adds a client once for each name and takes one away for each session that ends, so that two
 * sessions of one name would, in ending, end those of other tools. */
static int share_metrics(struct sonde_provider *item, struct sonde_hub *hub,
                         struct sonde_error *err)
{
    char client_id[64];
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_ARGUMENTS_LIMIT);
    if (strcasecmp(item->name, SN_METRICS_PROVIDER) != 0)
        return SONDE_OK;
    sn_argument_put(&text, "SessionId", "SHARED");
    if (item->arguments)
        sn_buf_format(&text, ";%s", item->arguments);
    (void)snprintf(client_id, sizeof(client_id), "%s-%u", hub->client_id, ++hub->client_count);
    sn_argument_put(&text, "ClientId", client_id);
    char *arguments = text.failed ? NULL : strdup(sn_buf_string(&text));
    if (!arguments)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the arguments of a provider");
    item->arguments = arguments;
    return SONDE_OK;
}

static void free_providers(struct sn_hub_session *session)
{
    for (size_t i = 0; session->providers && i < session->ask.count; i++) {
        if (session->providers[i].arguments != session->ask.items[i].arguments)
            free((void *)session->providers[i].arguments);
    }
    free(session->providers);
}

static int make_providers(struct sn_hub_session *session, struct sonde_error *err)
{
    const struct sn_ask *ask = &session->ask;
    session->providers = sn_opening_providers(ask->items, ask->count);
    if (!session->providers)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for providers");
    int rc = SONDE_OK;
    for (size_t i = 0; rc == SONDE_OK && i < ask->count; i++) {
        struct sonde_provider item = ask->items[i];
        rc = share_metrics(&item, session->lane->target->hub, err);
        session->providers[i].arguments = item.arguments;
    }
    return rc;
}

static uint32_t buffer_mb(const struct sn_hub_lane *lane)
{
    const struct sn_hub_target *target = lane->target;
    if (target->hub->options.buffer_mb)
        return target->hub->options.buffer_mb;
    bool is_small = lane->number == SN_LANE_COUNTERS;
    return sn_opening_buffer_mb(is_small ? COUNTERS_BUFFER_MB : DEFAULT_BUFFER_MB, target->pid);
}

static int start(struct sn_hub_session *session, struct sonde_error *err)
{
    struct sn_hub_target *target = session->lane->target;
    struct sonde_hub *hub = target->hub;
    /* Values that nobody wants still say how far the runtime has come (hub_steps.c). */
    bool must_see_all = session->lane->number == SN_LANE_COUNTERS;
    struct sn_decode_filter filter = {.schema = share_schema,
                                      .event = take_event,
                                      .user = session,
                                      .skips_unwanted = !must_see_all};
    struct sn_eventpipe_options options = {
        .route = target->route,
        .wants = {.providers = session->providers,
                  .provider_count = session->ask.count,
                  .buffer_mb = buffer_mb(session->lane),
                  .stacks = session->ask.stacks,
                  .runtime_major = target->major,
                  .timeout_ns = hub->options.timeout_ns},
        .stop_timeout_ns = hub->options.timeout_ns,
        .part = sn_hub_part,
        .user = hub,
        .filter = &filter,
        .scratch = &hub->scratch,
    };
    int rc = make_providers(session, err);
    options.wants.providers = session->providers;
    if (rc == SONDE_OK)
        rc = sn_eventpipe_new(&options, &session->source, err);
    return rc == SONDE_OK ? sn_road_add_source(target->road, session->source, err) : rc;
}

struct sn_hub_session *sn_hub_session_open(struct sn_hub_lane *lane, struct sn_ask *ask,
                                           struct sonde_error *err)
{
    struct sn_hub_session *session = calloc(1, sizeof(*session));
    if (!session) {
        sn_ask_done(ask);
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a session");
        return NULL;
    }
    session->lane = lane;
    session->ask = *ask;
    *ask = (struct sn_ask){0};
    if (start(session, err) != SONDE_OK) {
        sn_hub_session_free(session);
        return NULL;
    }
    return session;
}

bool sn_hub_session_is_open(const struct sn_hub_session *session)
{
    struct sn_eventpipe_state state;
    sn_eventpipe_state(session->source, &state);
    return state.is_open;
}

void sn_hub_session_stop(struct sn_hub_session *session)
{
    session->stop_ns = sn_clock_monotonic_ns();
    session->source->ops->stop(session->source);
}

void sn_hub_session_free(struct sn_hub_session *session)
{
    if (!session)
        return;
    if (session->source) {
        struct sn_eventpipe_state state;
        struct sn_hub_target *target = session->lane->target;
        sn_eventpipe_state(session->source, &state);
        target->event_count += state.counters.events;
        sn_road_remove_source(target->road, session->source);
    }
    free_providers(session);
    sn_ask_done(&session->ask);
    free(session);
}
