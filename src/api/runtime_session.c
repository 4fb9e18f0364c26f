#include "api/runtime_session.h"

#include <strings.h>

#include "api/opening.h"
#include "base/clock.h"
#include "base/err.h"
#include "flow/road.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/schema.h"
#include "model/schema_set.h"
#include "sonde/provider.h"
#include "source/proc/ns_threads.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"
#define SAMPLER "Microsoft-DotNETCore-SampleProfiler"
#define SESSION "Microsoft-DotNETCore-EventPipe" /* each tells the whole command line */

/* Buffers in the target. Names come at the pace of the JIT; a rundown comes all at once. */
#define EVENTS_BUFFER_MB  64u
#define NAMES_BUFFER_MB   16u
#define RUNDOWN_BUFFER_MB 64u

/* Loader, JIT, NGen; and entry points of precompiled code as they are looked up, without which
 * methods of framework code that run for the first time would have no names: nothing else tells of
 * them before the process ends (docs/adr/0016-names-since-the-start.md). */
#define NAME_KEYWORDS 0x2000000038u
#define ROAD_KEYWORDS 0x38u
#define VERBOSE       5u

/* A runtime writes its events out every 100 ms; a busy machine may double that a few times. */
#define DELIVERY_NS (1000ull * SN_NS_PER_MS)

/* A target that is stopped or stuck must not hold up the end of the recording for long. */
#define STOP_TIMEOUT_NS    (5000ull * SN_NS_PER_MS)
#define RUNDOWN_TIMEOUT_NS (30000ull * SN_NS_PER_MS)

/* Method unload, load and unload with names, module load, entry point of precompiled code. */
static const uint32_t name_ids[] = {142, 143, 144, 152, 159};
/* Methods and modules that are there: at a start, at an end. */
static const uint32_t rundown_ids[] = {143, 144, 153, 154};
#define ID_COUNT(ids) (sizeof(ids) / sizeof(*(ids)))

static const struct sn_ipc_provider names_provider = {.name = RUNTIME,
                                                      .keywords = NAME_KEYWORDS,
                                                      .level = VERBOSE,
                                                      .event_ids = name_ids,
                                                      .event_id_count = ID_COUNT(name_ids),
                                                      .only_listed = true};
/* A session needs some provider. */
static const struct sn_ipc_provider no_provider = {.name = RUNTIME, .level = 1};

static bool is_among(uint32_t id, const uint32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* Whether the session for events brings this kind as well: the runtime's own rule. */
static bool comes_with_events(const struct sn_session_place *place, const struct sn_schema *schema)
{
    for (size_t i = 0; i < place->provider_count; i++) {
        const struct sonde_provider *provider = &place->providers[i];
        bool is_listed = is_among(schema->event_id, provider->ids, provider->id_count);
        if (strcasecmp(provider->name, schema->provider) == 0 && schema->level <= provider->level &&
            (!schema->keywords || (schema->keywords & provider->keywords)) &&
            (!provider->id_count || is_listed != provider->ids_are_excluded))
            return true;
    }
    return false;
}

static bool is_kept(const struct sn_runtime_session *session, const struct sn_schema *schema)
{
    switch (session->kind) {
    case SN_SESSION_NAMES:
        return strcasecmp(schema->provider, RUNTIME) == 0 &&
               is_among(schema->event_id, name_ids, ID_COUNT(name_ids)) &&
               !comes_with_events(session->place, schema);
    case SN_SESSION_RUNDOWN:
        return strcasecmp(schema->provider, RUNDOWN) == 0 &&
               is_among(schema->event_id, rundown_ids, ID_COUNT(rundown_ids));
    default: return strcasecmp(schema->provider, SESSION) != 0;
    }
}

static const struct sn_schema *share_schema(void *user, const struct sn_schema *schema)
{
    struct sn_runtime_session *session = user;
    struct sn_session_place *place = session->place;
    bool is_new = false;
    if (!is_kept(session, schema))
        return NULL;
    struct sn_schema *shared = sn_schema_set_add(place->schemas, &session->kinds, schema, &is_new);
    place->unknown_kinds += !shared;
    if (shared && is_new && sn_road_schema(place->road, shared, NULL) != SONDE_OK)
        return NULL;
    if (shared && strcasecmp(shared->provider, SAMPLER) == 0)
        place->sample = shared;
    return shared;
}

static bool make_ours(void *user, struct sn_event *event, uint64_t lost)
{
    (void)lost; /* the road counts it */
    struct sn_runtime_session *session = user;
    struct sn_ns_threads *threads = session->owner->threads;
    event->pid = session->owner->pid;
    event->thread_id = sn_ns_threads_find(threads, event->thread_id);
    event->capture_thread_id = sn_ns_threads_find(threads, event->capture_thread_id);
    event->is_sorted = false; /* true of its stream, not of the road */
    event->is_timeless = session->kind == SN_SESSION_RUNDOWN; /* it was there before */
    if (session->kind != SN_SESSION_EVENTS)
        event->stack_depth = 0; /* .NET 8 cannot leave them out */
    session->place->event_count += event->schema != NULL;
    session->place->sample_count += event->schema && event->schema == session->place->sample;
    return true;
}

static uint32_t buffer_of(const struct sn_runtime_session *session)
{
    static const uint32_t usual[SN_SESSION_KINDS] = {EVENTS_BUFFER_MB, NAMES_BUFFER_MB,
                                                     RUNDOWN_BUFFER_MB};
    return sn_opening_buffer_mb(usual[session->kind], session->owner->pid);
}

static struct sn_ipc_wants wants_of(const struct sn_runtime_session *session)
{
    const struct sn_session_place *place = session->place;
    struct sn_ipc_wants wants = {.providers = place->ipc_providers,
                                 .provider_count = place->provider_count,
                                 .buffer_mb = buffer_of(session),
                                 .stacks = session->kind == SN_SESSION_EVENTS,
                                 .runtime_major = session->owner->major};
    if (session->kind == SN_SESSION_EVENTS)
        return wants;
    bool is_rundown = session->kind == SN_SESSION_RUNDOWN;
    wants.providers = is_rundown ? &no_provider : &names_provider;
    wants.provider_count = 1;
    wants.rundown_keyword = is_rundown ? ROAD_KEYWORDS : 0;
    return wants;
}

int sn_runtime_session_open(struct sn_runtime_session *session, enum sn_session_kind kind,
                            struct sn_session_place *place, const struct sn_session_owner *owner,
                            struct sonde_error *err)
{
    *session = (struct sn_runtime_session){.kind = kind, .place = place, .owner = owner};
    struct sn_decode_filter filter = {.schema = share_schema, .event = make_ours, .user = session};
    bool is_rundown = kind == SN_SESSION_RUNDOWN;
    struct sn_eventpipe_options options = {.route = owner->route,
                                           .wants = wants_of(session),
                                           .stops_at_once = is_rundown,
                                           .stop_timeout_ns =
                                               is_rundown ? RUNDOWN_TIMEOUT_NS : STOP_TIMEOUT_NS,
                                           .filter = &filter,
                                           .scratch = &place->scratch};
    struct sn_source *source = NULL;
    int rc = sn_eventpipe_new(&options, &source, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sn_road_add_source(place->road, source, err);
    if (rc != SONDE_OK)
        sn_road_remove_source(place->road, source);
    else
        session->source = source;
    return rc;
}

bool sn_runtime_session_is_open(const struct sn_runtime_session *session)
{
    struct sn_eventpipe_state state = {0};
    if (session->source)
        sn_eventpipe_state(session->source, &state);
    return state.is_open;
}

bool sn_runtime_session_is_over(const struct sn_runtime_session *session)
{
    return !session->source || session->source->has_ended;
}

uint64_t sn_runtime_session_lost(const struct sn_runtime_session *session)
{
    struct sn_eventpipe_state state = {0};
    if (session->source)
        sn_eventpipe_state(session->source, &state);
    return state.counters.lost;
}

/* The stream's head tells when the runtime's clock says it began: that was between our asking and
 * its answer. */
static void check_clock(struct sn_runtime_session *session, const struct sn_eventpipe_state *state)
{
    const struct sn_trace_info *info = sn_eventpipe_info(session->source);
    if (session->is_clock_checked || !info || !state->is_open)
        return;
    session->is_clock_checked = true;
    uint64_t began_ns = sn_trace_info_start_ns(info);
    uint64_t error_ns = began_ns < state->asked_ns    ? state->asked_ns - began_ns
                        : began_ns > state->opened_ns ? began_ns - state->opened_ns
                                                      : 0;
    if (error_ns > session->place->clock_error_ns)
        session->place->clock_error_ns = error_ns;
}

void sn_runtime_session_tend(struct sn_runtime_session *session, uint64_t since_ns)
{
    if (!session->source)
        return;
    struct sn_eventpipe_state state;
    sn_eventpipe_state(session->source, &state);
    check_clock(session, &state);
    if (session->kind == SN_SESSION_RUNDOWN)
        return; /* the road waits for the names: who is killed early has written them first */
    if (!session->source->has_ended && !state.has_backlog && since_ns > DELIVERY_NS)
        sn_road_complete(session->place->road, session->source, since_ns - DELIVERY_NS);
}

void sn_runtime_session_stop(struct sn_runtime_session *session)
{
    if (session->source)
        session->source->ops->stop(session->source);
}

void sn_runtime_session_abandon(struct sn_runtime_session *session)
{
    if (session->source)
        sn_eventpipe_abandon(session->source);
}

void sn_runtime_session_close(struct sn_runtime_session *session)
{
    if (!session->source)
        return;
    session->place->lost_count += sn_runtime_session_lost(session);
    sn_road_remove_source(session->place->road, session->source);
    session->source = NULL;
}
