#include "api/stacks_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/method_event.h"
#include "api/opening.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/schema.h"
#include "sonde/stacks.h"
#include "source/ipc/eventpipe.h"
#include "source/ipc/ipc_commands.h"
#include "source/ipc/process.h"
#include "symbol/lines.h"
#include "symbol/methods.h"

#define SAMPLER "Microsoft-DotNETCore-SampleProfiler"

/* Loader, JIT, NGen; and for lines the maps from native code to IL. */
#define NAME_KEYWORDS 0x38u
#define MAP_KEYWORD   0x20000u
#define BUFFER_MB     64u

#define STANDARD_TIMEOUT_NS (10ull * SN_NS_PER_SECOND)
#define LOOK_EVERY_NS       (20ull * SN_NS_PER_MS)

/* A runtime writes events out every 100 ms. One that has shown nobody for this long has nobody to
 * show, or is only starting. */
#define SILENCE_NS (2000ull * SN_NS_PER_MS)

/* Ceilings. A stack of the runtime has 100 addresses at most. */
#define THREADS_MAX     65536u
#define ADDRESSES_LIMIT (64u << 20)
#define DEPTH_MAX       1024u
#define METHODS_MAX     (1u << 20)
#define TEXTS_LIMIT     (64u << 20)

/* --- rounds --- */

static void clear_round(struct sn_stack_round *round)
{
    round->count = 0;
    sn_buf_clear(&round->addresses);
    sn_table_clear(&round->threads);
}

static bool add_sample(struct sn_stack_round *round, const struct sn_event *event)
{
    struct sn_cursor payload = sn_cursor_over(event->payload, event->payload_size);
    struct sn_stack_sample *samples =
        sn_array_room(round->samples, round->count, &round->capacity, sizeof(*samples));
    uint32_t depth = event->stack_depth < DEPTH_MAX ? event->stack_depth : DEPTH_MAX;
    if (!samples)
        return false;
    round->samples = samples;
    samples[round->count] =
        (struct sn_stack_sample){.thread_id = event->thread_id,
                                 .time_ns = event->time_ns,
                                 .offset = round->addresses.size / sizeof(uint64_t),
                                 .depth = depth,
                                 .is_managed = sn_cursor_u32(&payload) == 2};
    for (uint32_t i = 0; i < depth; i++) {
        uint64_t address = 0; /* little-endian: a narrow one fills the low bytes */
        memcpy(&address, event->stack + (size_t)i * event->pointer_size, event->pointer_size);
        sn_buf_append(&round->addresses, &address, sizeof(address));
    }
    round->count += !round->addresses.failed;
    return !round->addresses.failed;
}

/* A thread that is told of again begins another round: what is there is complete. */
static void take_sample(struct sn_stacks_session *session, const struct sn_event *event)
{
    if (sn_table_find(&session->rounds[session->at].threads, event->thread_id)) {
        session->at = !session->at;
        session->round_count++;
        clear_round(&session->rounds[session->at]);
    }
    struct sn_stack_round *round = &session->rounds[session->at];
    if (!event->stack_depth)
        return;
    if (!sn_table_put(&round->threads, event->thread_id) || !add_sample(round, event))
        session->lost_count++;
}

const struct sn_stack_round *sn_stacks_session_round(const struct sn_stacks_session *session)
{
    return &session->rounds[session->round_count ? !session->at : session->at];
}

/* --- the sink --- */

struct stacks_sink {
    struct sn_sink sink;
    struct sn_stacks_session *session; /* borrows */
};

static int take_event(struct sn_sink *base, const struct sn_event *event)
{
    struct sn_stacks_session *session = ((struct stacks_sink *)base)->session;
    if (strcasecmp(event->schema->provider, SAMPLER) == 0)
        take_sample(session, event);
    else if (event->schema == &sn_lost_schema)
        session->lost_count++;
    else if (sn_methods_count(session->methods) < METHODS_MAX)
        sn_methods_take(session->methods, event);
    if (session->lines)
        sn_lines_take(session->lines, event);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *base)
{
    free(base);
}

static int subscribe(struct sn_stacks_session *session, struct sn_road *road,
                     struct sonde_error *err)
{
    static const struct sn_sink_ops ops = {
        .name = "stacks", .event = take_event, .free = free_sink};
    static const uint32_t ids[] = {143, 144, 149, 150, 153, 154};
    static const struct sn_request_item items[] = {
        {.provider = SAMPLER},
        {.provider = SN_RUNDOWN_PROVIDER, .ids = ids, .id_count = sizeof(ids) / sizeof(*ids)}};
    static const struct sn_request request = {.item_count = 2, .items = items};
    struct stacks_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for stacks");
    *sink = (struct stacks_sink){.sink.ops = &ops, .session = session};
    int number = sn_road_subscribe(road, &request, &sink->sink, false, err);
    return number < 0 ? number : SONDE_OK;
}

/* --- asking --- */

struct asking {
    struct sn_stacks_session *session; /* borrows */
    const struct sonde_stacks_options *options;
    uint32_t pid;
    uint64_t deadline_ns;
    struct sn_loop *loop;     /* owns */
    struct sn_road *road;     /* owns */
    struct sn_source *source; /* the road's */
    bool is_stopping;
};

static void asking_done_auto(struct asking *asking)
{
    sn_road_free(asking->road); /* stops the session if it is still open */
    sn_loop_free(asking->loop);
}

static bool is_stopped(uint32_t pid)
{
    SN_AUTO(sn_ipc_process_close) struct sn_ipc_process process = {.dir = -1};
    return sn_ipc_process_open((int)pid, &process) && sn_ipc_process_is_stopped(&process);
}

static bool is_alive(uint32_t pid)
{
    SN_AUTO(sn_ipc_process_close) struct sn_ipc_process process = {.dir = -1};
    return sn_ipc_process_open((int)pid, &process) && !sn_ipc_process_is_dead(&process);
}

static int fail_silent(const struct asking *asking, struct sonde_error *err)
{
    if (is_stopped(asking->pid))
        return sn_fail(err, SONDE_E_TIMEOUT, 0,
                       "pid %" PRIu32 " is stopped, by a signal or a debugger, and cannot tell its "
                       "stacks; let it go on (kill -CONT %" PRIu32 ") and ask again",
                       asking->pid, asking->pid);
    char within[32];
    uint64_t timeout_ns = asking->options->timeout_ns;
    return sn_fail(
        err, SONDE_E_TIMEOUT, 0,
        "the runtime of pid %" PRIu32 " did not tell its stacks within %s; it may hang, or "
        "be starved of CPU: give it more time, or take a dump",
        asking->pid, sn_text_duration(timeout_ns ? timeout_ns : STANDARD_TIMEOUT_NS, within));
}

static uint64_t left_ns(const struct asking *asking)
{
    uint64_t now = sn_clock_monotonic_ns();
    return now < asking->deadline_ns ? asking->deadline_ns - now : 1;
}

static int find_runtime(const struct asking *asking, struct sn_ipc_route *ret_route,
                        unsigned *ret_major, struct sonde_error *err)
{
    struct sn_ipc_target target;
    SN_AUTO(sn_ipc_process_info_done) struct sn_ipc_process_info info = {0};
    struct sonde_error why = {0};
    int rc = sn_ipc_target_of_pid((int)asking->pid, &target, &why);
    if (rc == SONDE_OK) {
        *ret_route = sn_ipc_route_to(&target);
        rc = sn_ipc_get_process_info(ret_route, left_ns(asking), &info, &why);
    }
    if (rc == SONDE_E_BUSY || rc == SONDE_E_TIMEOUT)
        return fail_silent(asking, err);
    *ret_major = info.major;
    (void)snprintf(asking->session->source, sizeof(asking->session->source),
                   "the port of .NET %.32s", rc == SONDE_OK ? info.version : "");
    return rc == SONDE_OK ? rc : sn_fail_as(err, &why);
}

static int open_session(struct asking *asking, struct sonde_error *err)
{
    static const struct sn_ipc_provider sampler = {.name = SAMPLER, .level = 4};
    struct sn_eventpipe_options options = {.stop_timeout_ns = left_ns(asking)};
    int rc = find_runtime(asking, &options.route, &options.wants.runtime_major, err);
    if (rc != SONDE_OK)
        return rc;
    options.wants.providers = &sampler;
    options.wants.provider_count = 1;
    options.wants.stacks = true;
    options.wants.buffer_mb = sn_opening_buffer_mb(BUFFER_MB, asking->pid);
    options.wants.rundown_keyword = NAME_KEYWORDS | (asking->options->with_lines ? MAP_KEYWORD : 0);
    options.wants.timeout_ns = left_ns(asking);
    rc = sn_eventpipe_new(&options, &asking->source, err);
    return rc == SONDE_OK ? sn_road_add_source(asking->road, asking->source, err) : rc;
}

static int begin(struct asking *asking, struct sonde_error *err)
{
    int rc = sn_loop_new(&asking->loop, err);
    if (rc == SONDE_OK)
        rc = sn_road_new(asking->loop, NULL, &asking->road, err);
    if (rc == SONDE_OK)
        rc = subscribe(asking->session, asking->road, err);
    return rc == SONDE_OK ? open_session(asking, err) : rc;
}

/* One complete round is enough. */
static void stop_when_seen(struct asking *asking)
{
    struct sn_eventpipe_state state;
    sn_eventpipe_state(asking->source, &state);
    bool is_seen = asking->session->round_count > 0;
    if (asking->is_stopping || !state.is_open ||
        (!is_seen && sn_clock_monotonic_ns() - state.opened_ns < SILENCE_NS))
        return;
    asking->is_stopping = true;
    sn_road_stop(asking->road);
}

static int ending(const struct asking *asking, struct sonde_error *err)
{
    struct sn_eventpipe_state state;
    int status = asking->source->status;
    if (status == SONDE_OK)
        return SONDE_OK;
    sn_eventpipe_state(asking->source, &state);
    if (status == SONDE_E_TIMEOUT || status == SONDE_E_BUSY)
        return fail_silent(asking, err);
    if (status == SONDE_E_GONE && is_alive(asking->pid))
        return sn_fail(err, SONDE_E_TIMEOUT, 0,
                       "the runtime of pid %" PRIu32 " told nothing; it may wait at its start for "
                       "somebody to let it go on",
                       asking->pid);
    (void)sn_fail_because(err, state.err, "cannot take stacks");
    return status;
}

static int wait_for_all(struct asking *asking, struct sonde_error *err)
{
    const struct sonde_stacks_options *options = asking->options;
    while (!sn_road_is_done(asking->road)) {
        uint64_t now = sn_clock_monotonic_ns();
        if (now >= asking->deadline_ns)
            return fail_silent(asking, err);
        if (options->is_cancelled && options->is_cancelled(options->cancel_user))
            return SONDE_END;
        uint64_t until =
            asking->deadline_ns - now < LOOK_EVERY_NS ? asking->deadline_ns : now + LOOK_EVERY_NS;
        int rc = sn_loop_turn(asking->loop, until, err);
        if (rc != SONDE_OK)
            return rc;
        stop_when_seen(asking);
    }
    return ending(asking, err);
}

static int prepare(struct sn_stacks_session *session, const struct sonde_stacks_options *options,
                   struct sonde_error *err)
{
    for (unsigned i = 0; i < 2; i++) {
        session->rounds[i].addresses = sn_buf_with_limit(ADDRESSES_LIMIT);
        session->rounds[i].threads = sn_table_with_limit(THREADS_MAX);
    }
    sn_name_pool_init(&session->texts);
    session->texts.arena = sn_arena_with_limit(TEXTS_LIMIT);
    int rc = sn_methods_new_in(&session->texts, &session->methods, err);
    if (rc == SONDE_OK && options->with_lines)
        rc = sn_lines_new(session->methods, &session->lines, err);
    return rc;
}

int sn_stacks_session_run(struct sn_stacks_session *session, uint32_t pid,
                          const struct sonde_stacks_options *options, struct sonde_error *err)
{
    uint64_t timeout = options->timeout_ns ? options->timeout_ns : STANDARD_TIMEOUT_NS;
    SN_AUTO(asking_done)
    struct asking asking = {.session = session,
                            .options = options,
                            .pid = pid,
                            .deadline_ns = sn_clock_deadline(timeout)};
    int rc = prepare(session, options, err);
    if (rc == SONDE_OK)
        rc = begin(&asking, err);
    return rc == SONDE_OK ? wait_for_all(&asking, err) : rc;
}

void sn_stacks_session_done(struct sn_stacks_session *session)
{
    for (unsigned i = 0; i < 2; i++) {
        free(session->rounds[i].samples);
        sn_buf_done(&session->rounds[i].addresses);
        sn_table_done(&session->rounds[i].threads);
    }
    sn_lines_free(session->lines);
    sn_methods_free(session->methods);
    sn_name_pool_done(&session->texts);
}
