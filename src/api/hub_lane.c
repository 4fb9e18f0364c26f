/* A lane of a target: what its consumers want together is kept open in one session. A running
 * session cannot be changed, so another one is opened beside it, and for a moment both run: long
 * enough that no thread is still between its two copies of an event (flow/seam.h). */
#include <stdlib.h>
#include <strings.h>

#include "api/hub_arguments.h"
#include "api/hub_parts.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/seam.h"
#include "flow/source.h"
#include "model/event.h"

#define OVERLAP_NS (50ull * SN_NS_PER_MS)

/* A runtime writes its events out every 100 ms; a busy machine may double that a few times. */
#define DELIVERY_NS (1000ull * SN_NS_PER_MS)

/* Between two looks at a runtime that starts. */
#define START_LOOK_NS (50ull * SN_NS_PER_MS)

/* Between two times that the same is asked for anew. */
#define ASK_AGAIN_NS (10ull * SN_NS_PER_SECOND)

/* A century: what is longer need not be told from it. */
#define LONGEST_S 3e9

static void wake(struct sn_timer *timer)
{
    (void)timer; /* the turn it makes is what is wanted */
}

void sn_lane_init(struct sn_hub_lane *lane, struct sn_hub_target *target,
                  enum sn_lane_number number)
{
    *lane = (struct sn_hub_lane){.target = target,
                                 .number = number,
                                 .common = sn_table_with_limit(65536),
                                 .timer = {.expired = wake}};
}

static void drop_seam(struct sn_hub_lane *lane)
{
    if (lane->seam)
        lane->target->hub->must_tend = true; /* whoever waits for room may go on */
    sn_seam_free(lane->seam);
    lane->seam = NULL;
    sn_table_clear(&lane->common);
}

void sn_lane_done(struct sn_hub_lane *lane)
{
    sn_loop_untimer(&lane->timer);
    drop_seam(lane);
    sn_hub_session_free(lane->coming);
    sn_hub_session_free(lane->current);
    sn_hub_session_free(lane->going);
    lane->coming = lane->current = lane->going = NULL;
    sn_table_done(&lane->common);
}

static void wake_at(struct sn_hub_lane *lane, uint64_t due_ns)
{
    sn_loop_timer(lane->target->hub->loop, &lane->timer, due_ns);
}

/* --- what is wanted --- */

/* Arguments of consumers were joined when they came, so they can be. */
static int want(const struct sn_hub_lane *lane, struct sn_ask *ret_ask)
{
    int rc = SONDE_OK;
    for (struct sonde_consumer *consumer = lane->target->consumers; consumer && rc == SONDE_OK;
         consumer = consumer->next) {
        if (!sn_consumer_is_over(consumer))
            rc = sn_ask_join(ret_ask, &consumer->asks[lane->number], NULL);
    }
    return rc == SONDE_OK && !sn_target_fit(lane->target, ret_ask) ? SONDE_E_NOMEM : rc;
}

/* Compared as it would be asked for. */
static bool covers(const struct sn_hub_session *session, const struct sonde_consumer *consumer)
{
    SN_AUTO(sn_ask_done) struct sn_ask fitted = {0};
    const struct sn_ask *own = &consumer->asks[session->lane->number];
    return !own->count ||
           (sn_ask_join(&fitted, own, NULL) == SONDE_OK &&
            sn_target_fit(consumer->target, &fitted) && sn_ask_covers(&session->ask, &fitted));
}

static bool is_served(const struct sonde_consumer *consumer)
{
    for (size_t i = 0; i < SN_LANES; i++) {
        const struct sn_hub_lane *lane = &consumer->target->lanes[i];
        const struct sn_hub_session *newest =
            lane->coming && lane->overlap_until_ns ? lane->coming : lane->current;
        if (consumer->asks[i].count && (!newest || !covers(newest, consumer)))
            return false;
    }
    return true;
}

static void tell_served(struct sn_hub_target *target)
{
    for (struct sonde_consumer *consumer = target->consumers; consumer; consumer = consumer->next) {
        if (consumer->phase == SONDE_CONSUMER_OPENING && !sn_consumer_is_over(consumer) &&
            is_served(consumer))
            sn_consumer_set_phase(consumer, SONDE_CONSUMER_LIVE);
    }
}

/* --- opening --- */

/* Who is served goes on being served; the others get nothing more. */
static void fail_unserved(struct sn_hub_lane *lane, const struct sonde_error *err)
{
    struct sonde_error cause = *err;
    if (cause.status == SONDE_E_GONE && !lane->current) {
        sn_target_fail(lane->target, cause.status, &cause);
        return;
    }
    for (struct sonde_consumer *consumer = lane->target->consumers; consumer;
         consumer = consumer->next) {
        if (consumer->asks[lane->number].count && !sn_consumer_is_over(consumer) &&
            !(lane->current && covers(lane->current, consumer)))
            sn_consumer_end(consumer, cause.status, &cause);
    }
}

static void open_session(struct sn_hub_lane *lane, struct sn_ask *ask, uint64_t now_ns)
{
    struct sonde_error err = {0};
    lane->narrow_ns = 0;
    lane->overlap_until_ns = 0;
    if (lane->current && sn_seam_new(now_ns, &lane->seam, &err) != SONDE_OK) {
        fail_unserved(lane, &err);
        return;
    }
    lane->coming = sn_hub_session_open(lane, ask, &err);
    if (lane->coming) {
        lane->coming->source->is_behind = lane->seam != NULL;
        return;
    }
    drop_seam(lane);
    fail_unserved(lane, &err);
}

static void opened(struct sn_hub_lane *lane, uint64_t now_ns)
{
    lane->target->opened_count++;
    lane->is_dirty = true;
    if (!lane->current) {
        lane->current = lane->coming;
        lane->coming = NULL;
    } else {
        sn_seam_opened(lane->seam, now_ns);
        lane->overlap_until_ns = now_ns + OVERLAP_NS;
        wake_at(lane, lane->overlap_until_ns);
    }
    tell_served(lane->target);
}

static void open_failed(struct sn_hub_lane *lane)
{
    struct sn_eventpipe_state state;
    sn_eventpipe_state(lane->coming->source, &state);
    struct sonde_error err = {0};
    lane->is_dirty = true;
    (void)sn_fail_because(&err, state.err, "cannot open a session");
    sn_hub_session_free(lane->coming);
    lane->coming = NULL;
    drop_seam(lane);
    fail_unserved(lane, &err);
}

static void tend_opening(struct sn_hub_lane *lane, uint64_t now_ns)
{
    if (sn_hub_session_is_open(lane->coming))
        opened(lane, now_ns);
    else if (lane->coming->source->has_ended)
        open_failed(lane);
}

/* --- exchanging --- */

static void end_overlap(struct sn_hub_lane *lane)
{
    lane->going = lane->current;
    lane->current = lane->coming;
    lane->coming = NULL;
    lane->overlap_until_ns = 0;
    sn_hub_session_stop(lane->going);
}

/* What a process has once, the settings of its metrics session, changes only when nobody is there:
 * the earlier one goes before the next comes. */
static void restart(struct sn_hub_lane *lane)
{
    lane->narrow_ns = 0;
    lane->must_ask_again = false;
    lane->is_restarting = true;
    lane->is_dirty = true;
    lane->going = lane->current;
    lane->current = NULL;
    sn_hub_session_stop(lane->going);
}

static void release(void *user, const struct sn_event *event)
{
    struct sn_hub_lane *lane = user;
    sn_road_event(lane->target->road, lane->current->source, event);
}

/* The later stream must have come as far as the earlier one: it says so itself, or nothing has come
 * for so long that there is nothing. One that had to be left unread will not get further. */
static bool can_close(struct sn_hub_lane *lane, uint64_t now_ns)
{
    if (!lane->ended_ns)
        lane->ended_ns = now_ns;
    struct sn_eventpipe_state state;
    sn_eventpipe_state(lane->current->source, &state);
    bool is_silent = !state.has_backlog && now_ns - lane->ended_ns >= DELIVERY_NS;
    return sn_seam_complete_ns(lane->seam) >= lane->ended_ns || is_silent ||
           sn_seam_is_full(lane->seam) || lane->current->source->has_ended;
}

static void close_seam(struct sn_hub_lane *lane)
{
    struct sn_hub_session *going = lane->going;
    lane->going = NULL;
    lane->ended_ns = 0;
    lane->is_dirty = true;
    (void)sn_seam_close(lane->seam, going->stop_ns, release, lane); /* how many does not matter */
    drop_seam(lane);
    sn_hub_session_free(going);
    lane->current->source->is_behind = false;
    sn_eventpipe_pause(lane->current->source, false);
}

/* --- ending --- */

bool sn_lane_has_lost(const struct sn_hub_lane *lane)
{
    return !lane->coming && !lane->going && lane->current && lane->current->source->has_ended;
}

bool sn_lane_is_quiet(const struct sn_hub_lane *lane)
{
    return !lane->coming && !lane->going && (!lane->current || lane->current->source->has_ended);
}

const struct sonde_error *sn_lane_error(const struct sn_hub_lane *lane)
{
    struct sn_eventpipe_state state;
    sn_eventpipe_state(lane->current->source, &state);
    return state.err;
}

static void let_go(struct sn_hub_lane *lane)
{
    sn_hub_session_free(lane->current);
    lane->current = NULL;
    lane->narrow_ns = 0;
}

/* Whether the next session may be opened beside the present one. The end of a session that has logs
 * takes the logger's filters away from all sessions (LoggingEventSource). */
static bool can_overlap(const struct sn_hub_lane *lane, const struct sn_ask *ask)
{
    if (lane->number == SN_LANE_LOGS)
        return false;
    return lane->number != SN_LANE_COUNTERS || !sn_settings_clash(&lane->current->ask, ask);
}

static void replace(struct sn_hub_lane *lane, struct sn_ask *ask, uint64_t now_ns)
{
    if (!can_overlap(lane, ask))
        restart(lane);
    else if (sn_target_has_room(lane->target))
        open_session(lane, ask, now_ns);
    else
        lane->waits = true;
}

/* Less is wanted than is asked for: not at once, whoever went may come back. Logs stay as they are:
 * what is written between two of their sessions would be in neither. */
static void narrow(struct sn_hub_lane *lane, struct sn_ask *ask, uint64_t now_ns)
{
    if (lane->number == SN_LANE_LOGS && ask->count) {
        lane->narrow_ns = 0;
        return;
    }
    if (!lane->narrow_ns) {
        lane->narrow_ns = now_ns + lane->target->hub->options.linger_ns;
        wake_at(lane, lane->narrow_ns);
    } else if (now_ns < lane->narrow_ns) {
        return;
    } else if (ask->count) {
        replace(lane, ask, now_ns);
    } else {
        let_go(lane);
    }
}

static void tell_owner(const struct sn_hub_lane *lane, const struct sn_ask *ask)
{
    struct sn_hub_settings settings;
    if (lane->number != SN_LANE_COUNTERS)
        return;
    sn_settings_of(ask, &settings);
    sn_owner_tell(&lane->target->owner, &settings);
}

/* Seen on .NET 10: when counters are asked for while a runtime initializes itself, the thread that
 * polls them and the one that starts the program may wait for each other for ever. */
static bool is_too_early(const struct sn_hub_lane *lane)
{
    return lane->number == SN_LANE_COUNTERS && sn_target_is_starting(lane->target);
}

static void serve_at(struct sn_hub_lane *lane, uint64_t due_ns)
{
    lane->is_dirty = true;
    wake_at(lane, due_ns);
}

static bool must_keep(const struct sn_hub_lane *lane, uint64_t now_ns)
{
    return lane->number == SN_LANE_COUNTERS && sn_steps_hold(lane->target, now_ns);
}

static void serve(struct sn_hub_lane *lane, uint64_t now_ns)
{
    SN_AUTO(sn_ask_done) struct sn_ask ask = {0};
    if (want(lane, &ask) != SONDE_OK)
        return; /* no memory: later */
    lane->is_dirty = lane->waits = false;
    tell_served(lane->target);
    tell_owner(lane, &ask);
    if ((!lane->current && ask.count && is_too_early(lane)) || must_keep(lane, now_ns)) {
        serve_at(lane, now_ns + START_LOOK_NS);
        return;
    }
    uint64_t more_ns = sn_steps_fit(lane, &ask, now_ns);
    if (more_ns)
        serve_at(lane, more_ns);
    if (!lane->current) {
        if (ask.count)
            open_session(lane, &ask, now_ns);
    } else if (lane->must_ask_again && ask.count) {
        restart(lane);
    } else if (!sn_ask_covers(&lane->current->ask, &ask)) {
        replace(lane, &ask, now_ns);
    } else if (!sn_ask_equals(&lane->current->ask, &ask)) {
        narrow(lane, &ask, now_ns);
    } else {
        lane->narrow_ns = 0;
    }
}

/* Lets the road go on past what has surely been read. */
static void tell_complete(const struct sn_hub_session *session)
{
    struct sn_eventpipe_state state;
    if (!session || session->source->has_ended)
        return;
    const struct sn_hub_target *target = session->lane->target;
    uint64_t since_ns = target->hub->tended_ns;
    sn_eventpipe_state(session->source, &state);
    if (!state.has_backlog && since_ns > DELIVERY_NS)
        sn_road_complete(target->road, session->source, since_ns - DELIVERY_NS);
}

void sn_lane_tend(struct sn_hub_lane *lane, uint64_t now_ns)
{
    if (lane->coming && !lane->overlap_until_ns)
        tend_opening(lane, now_ns);
    if (lane->coming && lane->overlap_until_ns &&
        (now_ns >= lane->overlap_until_ns || lane->current->source->has_ended))
        end_overlap(lane);
    if (lane->is_restarting && lane->going->source->has_ended) {
        lane->is_restarting = false;
        sn_hub_session_free(lane->going);
        lane->going = NULL;
    } else if (!lane->is_restarting && lane->going && lane->going->source->has_ended) {
        wake_at(lane, now_ns + DELIVERY_NS / 4);
        if (can_close(lane, now_ns))
            close_seam(lane);
    }
    if (lane->target->stage != SN_TARGET_READY || sn_lane_has_lost(lane))
        return;
    tell_complete(lane->current);
    tell_complete(lane->coming);
    tell_complete(lane->going);
    bool is_due = lane->is_dirty || (lane->narrow_ns && now_ns >= lane->narrow_ns) ||
                  (lane->waits && sn_target_has_room(lane->target));
    if (is_due && !lane->coming && !lane->going)
        serve(lane, now_ns);
}

static uint64_t event_count(const struct sn_hub_session *session)
{
    struct sn_eventpipe_state state;
    if (!session)
        return 0;
    sn_eventpipe_state(session->source, &state);
    return state.counters.events;
}

static bool is_running(const struct sn_hub_session *session)
{
    return session && !session->source->has_ended;
}

uint32_t sn_lane_session_count(const struct sn_hub_lane *lane)
{
    return (uint32_t)is_running(lane->coming) + is_running(lane->current) + is_running(lane->going);
}

bool sn_lane_is_exchanging(const struct sn_hub_lane *lane)
{
    return lane->seam != NULL;
}

struct interval_range {
    double shortest_s; /* 0: nobody asks for values */
    double longest_s;
};

static struct interval_range interval_range(const struct sn_ask *ask)
{
    struct interval_range range = {0};
    for (size_t i = 0; i < ask->count; i++) {
        bool is_metrics = strcasecmp(ask->items[i].name, SN_METRICS_PROVIDER) == 0;
        double interval = sn_argument_number(ask->items[i].arguments,
                                             is_metrics ? "RefreshInterval" : SN_INTERVAL_KEY);
        if (interval > 0 && (range.shortest_s <= 0 || interval < range.shortest_s))
            range.shortest_s = interval;
        if (interval > range.longest_s)
            range.longest_s = interval;
    }
    return range;
}

/* Another tool's may be anything. */
static uint64_t bounded_ns(double seconds)
{
    return (uint64_t)((seconds < LONGEST_S ? seconds : LONGEST_S) * SN_NS_PER_SECOND);
}

static const struct sn_hub_session *newest_session(const struct sn_hub_lane *lane)
{
    return lane->coming ? lane->coming : lane->current;
}

uint64_t sn_lane_longest_interval_ns(const struct sn_hub_lane *lane)
{
    const struct sn_hub_session *newest = newest_session(lane);
    return newest ? bounded_ns(interval_range(&newest->ask).longest_s) : 0;
}

void sn_lane_count(const struct sn_hub_lane *lane, struct sonde_hub_target *to)
{
    to->event_count += event_count(lane->current);
    to->event_count += event_count(lane->coming);
    to->event_count += event_count(lane->going);
    const struct sn_hub_session *newest = newest_session(lane);
    if (newest && lane->number == SN_LANE_COUNTERS)
        to->interval_ns = bounded_ns(interval_range(&newest->ask).shortest_s);
}

void sn_lane_ask_again(struct sn_hub_lane *lane)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    if (!lane->current || now_ns - lane->asked_again_ns < ASK_AGAIN_NS)
        return;
    lane->asked_again_ns = now_ns;
    lane->must_ask_again = true;
    lane->is_dirty = true;
    wake_at(lane, now_ns);
}
