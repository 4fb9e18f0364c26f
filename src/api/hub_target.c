/* A process that is listened to: found, asked what it is, then served lane by lane. */
#include <stdlib.h>

#include "api/hub_parts.h"
#include "api/process_sight.h"
#include "base/clock.h"
#include "base/err.h"
#include "flow/road.h"
#include "flow/source.h"
#include "source/ipc/ipc_commands.h"
#include "source/proc/facts.h"

/* A port that is not there yet, or a process that is stopped, is looked at again. */
#define START_NS     (1500ull * SN_NS_PER_MS)
#define START_CPU_NS (200ull * SN_NS_PER_MS)
#define LOOK_NS      (50ull * SN_NS_PER_MS)

/* While events wait for their turn, a quiet stream must not hold them for long. */
#define SETTLE_NS (100ull * SN_NS_PER_MS)

/* What waits for its turn while sessions are exchanged: half a second of a busy process. */
#define WINDOW_BYTES (64u << 20)

/* Between two looks at a lock that another sonde holds. */
#define OWNER_NS (500ull * SN_NS_PER_MS)

/* How long the other session of a process that has gone is still read. */
#define GONE_NS (500ull * SN_NS_PER_MS)

static void wake(struct sn_timer *timer)
{
    (void)timer; /* the turn it makes is what is wanted */
}

static bool may_come(enum sn_ipc_reach reach)
{
    return reach == SN_IPC_REACH_OK || reach == SN_IPC_REACH_STOPPED ||
           reach == SN_IPC_REACH_NO_SOCKET || reach == SN_IPC_REACH_STALE;
}

int sn_target_new(struct sonde_hub *hub, uint32_t pid, struct sn_hub_target **ret_target,
                  struct sonde_error *err)
{
    static const struct sn_road_options road = {.window_bytes = WINDOW_BYTES};
    struct sn_ipc_target found;
    int rc = sn_ipc_target_inspect((int)pid, &found, err);
    if (rc == SONDE_OK && !may_come(found.reach))
        rc = sn_ipc_reach_fail(&found, found.reach, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_hub_target *target = calloc(1, sizeof(*target));
    if (!target)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a process");
    target->hub = hub;
    target->pid = pid;
    target->since_ns = sn_clock_monotonic_ns();
    target->timer.expired = wake;
    target->owner.fd = -1;
    target->route = sn_ipc_route_to(&found);
    sn_steps_init(target);
    for (size_t i = 0; i < SN_LANES; i++)
        sn_lane_init(&target->lanes[i], target, (enum sn_lane_number)i);
    rc = sn_road_new(hub->loop, &road, &target->road, err);
    if (rc == SONDE_OK)
        rc = sn_schema_set_new(&target->schemas, err);
    if (rc != SONDE_OK) {
        sn_target_free(target);
        return rc;
    }
    *ret_target = target;
    return SONDE_OK;
}

void sn_target_free(struct sn_hub_target *target)
{
    sn_steps_keep(target);
    sn_ipc_call_cancel(&target->asking);
    sn_loop_untimer(&target->timer);
    while (target->rundowns)
        sn_hub_rundown_cancel(target->rundowns);
    for (size_t i = 0; i < SN_LANES; i++)
        sn_lane_done(&target->lanes[i]);
    sn_road_free(target->road);
    sn_schema_set_free(target->schemas);
    sn_owner_release(&target->owner);
    while (target->consumers) {
        struct sonde_consumer *consumer = target->consumers;
        target->consumers = consumer->next;
        sn_consumer_free(consumer);
    }
    free(target);
}

/* --- consumers --- */

static void touch(struct sn_hub_target *target)
{
    for (size_t i = 0; i < SN_LANES; i++)
        target->lanes[i].is_dirty = true;
}

/* What all of them ask for must be one thing. */
static int check_joinable(const struct sn_hub_target *target, const struct sonde_consumer *added,
                          struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (size_t i = 0; rc == SONDE_OK && i < SN_LANES; i++) {
        struct sn_ask all = {0};
        for (const struct sonde_consumer *consumer = target->consumers; rc == SONDE_OK && consumer;
             consumer = consumer->next) {
            if (!sn_consumer_is_over(consumer))
                rc = sn_ask_join(&all, &consumer->asks[i], err);
        }
        if (rc == SONDE_OK)
            rc = sn_ask_join(&all, &added->asks[i], err);
        sn_ask_done(&all);
    }
    return rc;
}

int sn_target_add(struct sn_hub_target *target, struct sonde_consumer *consumer, bool in_order,
                  struct sonde_error *err)
{
    struct sn_sink *sink = NULL;
    consumer->target = target;
    int rc = check_joinable(target, consumer, err);
    if (rc == SONDE_OK)
        rc = sn_event_sink_new(&consumer->receiver, &sink, err);
    if (rc == SONDE_OK) {
        consumer->number = sn_road_subscribe(target->road, &consumer->request, sink, in_order, err);
        rc = consumer->number < 0 ? consumer->number : SONDE_OK;
    }
    if (rc != SONDE_OK) {
        sn_consumer_free(consumer);
        return rc;
    }
    consumer->next = target->consumers;
    target->consumers = consumer;
    touch(target);
    return SONDE_OK;
}

/* Who is over leaves the road; who was removed is freed. */
static void sweep(struct sn_hub_target *target)
{
    for (struct sonde_consumer **at = &target->consumers; *at;) {
        struct sonde_consumer *consumer = *at;
        if (sn_consumer_is_over(consumer) && consumer->number >= 0) {
            sn_road_drop(target->road, consumer->number);
            consumer->number = -1;
            touch(target);
        }
        if (consumer->is_removed) {
            *at = consumer->next;
            sn_consumer_free(consumer);
        } else {
            at = &consumer->next;
        }
    }
}

/* --- what the process has only once --- */

/* Another sonde's lock says all of it; a tool's refusal what metrics must be. */
bool sn_target_fit(const struct sn_hub_target *target, struct sn_ask *ask)
{
    bool is_fit = !target->owner.other_pid || sn_settings_apply(&target->owner.theirs, ask);
    return is_fit && sn_settings_apply(&target->adopted, ask);
}

static bool wants_counters(const struct sn_hub_target *target)
{
    for (const struct sonde_consumer *consumer = target->consumers; consumer;
         consumer = consumer->next) {
        if (!sn_consumer_is_over(consumer) && consumer->asks[SN_LANE_COUNTERS].count)
            return true;
    }
    return false;
}

static void forget_others(struct sn_hub_target *target)
{
    target->adopted = (struct sn_hub_settings){0};
    target->conflict[0] = 0;
    target->retry_ns = 0;
}

/* What other tools hold may be free by now; nobody tells. */
static void try_own_settings(struct sn_hub_target *target)
{
    struct sn_hub_lane *lane = &target->lanes[SN_LANE_COUNTERS];
    forget_others(target);
    lane->must_ask_again = true;
    lane->is_dirty = true;
}

static void tend_ownership(struct sn_hub_target *target, uint64_t now_ns)
{
    struct sn_hub_lane *lane = &target->lanes[SN_LANE_COUNTERS];
    if (!wants_counters(target)) {
        target->retries = 0;
        forget_others(target);
        sn_owner_release(&target->owner);
        return;
    }
    if (target->retry_ns && now_ns >= target->retry_ns)
        try_own_settings(target);
    if (target->owner.fd < 0 && now_ns >= target->look_ns) {
        bool is_news = sn_owner_look(&target->owner, &target->route.target);
        lane->is_dirty |= is_news;
        target->look_ns = now_ns + OWNER_NS;
    }
    uint64_t due_ns = target->owner.fd < 0 ? target->look_ns : target->retry_ns;
    if (due_ns)
        sn_loop_timer(target->hub->loop, &target->timer, due_ns);
}

/* --- its sessions --- */

bool sn_target_has_room(const struct sn_hub_target *target)
{
    bool has_room = !sn_rundown_runs(target);
    for (size_t i = 0; i < SN_LANES; i++)
        has_room &= !sn_lane_is_exchanging(&target->lanes[i]);
    return has_room;
}

uint32_t sn_target_session_count(const struct sn_hub_target *target)
{
    uint32_t count = sn_rundown_runs(target);
    for (size_t i = 0; i < SN_LANES; i++)
        count += sn_lane_session_count(&target->lanes[i]);
    return count;
}

static void note_peak(struct sn_hub_target *target)
{
    uint32_t count = sn_target_session_count(target);
    if (count > target->peak_session_count)
        target->peak_session_count = count;
}

void sn_target_fail(struct sn_hub_target *target, int status, const struct sonde_error *err)
{
    target->stage = SN_TARGET_ENDED;
    target->must_close = true;
    for (struct sonde_consumer *consumer = target->consumers; consumer; consumer = consumer->next)
        sn_consumer_end(consumer, status, err);
}

/* --- finding it and asking what it is --- */

static void take_info(struct sn_ipc_call *call, int status)
{
    struct sn_hub_target *target = call->user;
    struct sn_ipc_process_info info = {0};
    if (status == SONDE_OK)
        status = sn_ipc_decode_process_info(call->reply.payload.bytes, call->reply.payload.size, 2,
                                            &info, &call->err);
    target->major = info.major;
    sn_ipc_process_info_done(&info);
    sn_ipc_reply_done(&call->reply);
    if (status != SONDE_OK && status != SONDE_E_REFUSED) /* .NET 5 knows no such question */
        sn_target_fail(target, status, &call->err);
    else
        target->stage = SN_TARGET_READY;
}

static void ask(struct sn_hub_target *target)
{
    static const struct sn_ipc_request request = {.command = SN_IPC_PROCESS_INFO2};
    struct sonde_error err = {0};
    target->stage = SN_TARGET_ASKING;
    target->asking = (struct sn_ipc_call){.done = take_info, .user = target};
    int rc = sn_ipc_call_start(&target->asking, target->hub->loop, &target->route, &request,
                               target->hub->options.timeout_ns, &err);
    if (rc != SONDE_OK)
        sn_target_fail(target, rc, &err);
}

static void look(struct sn_hub_target *target, uint64_t now_ns)
{
    struct sn_ipc_target found;
    struct sonde_error err = {0};
    int rc = sn_ipc_target_inspect((int)target->pid, &found, &err);
    if (rc == SONDE_OK && found.start_ticks != target->route.target.start_ticks)
        rc = sn_fail(&err, SONDE_E_GONE, 0, "pid %u has gone", target->pid);
    if (rc == SONDE_OK && found.reach == SN_IPC_REACH_OK) {
        target->route = sn_ipc_route_to(&found);
        ask(target);
        return;
    }
    bool is_late = now_ns - target->since_ns >= target->hub->options.timeout_ns;
    if (rc == SONDE_OK && (is_late || !may_come(found.reach))) {
        rc = sn_ipc_reach_fail(&found, found.reach, &err);
        if (found.reach == SN_IPC_REACH_STOPPED)
            rc = SONDE_E_TIMEOUT;
    }
    if (rc != SONDE_OK)
        sn_target_fail(target, rc, &err);
    else
        sn_loop_timer(target->hub->loop, &target->timer, now_ns + LOOK_NS);
}

/* --- its end --- */

/* Ends the sessions; what waited for its turn is handed out. */
static void close_lanes(struct sn_hub_target *target)
{
    for (size_t i = 0; i < SN_LANES; i++) {
        sn_lane_done(&target->lanes[i]);
        sn_lane_init(&target->lanes[i], target, (enum sn_lane_number)i);
    }
    sn_rundown_end_all(target);
    sn_road_settle(target->road);
    sn_owner_release(&target->owner);
}

/* A session that ends by itself: the process has gone. What the other one still holds is read. */
static void tend_gone(struct sn_hub_target *target, uint64_t now_ns)
{
    struct sonde_error err = {0};
    bool is_quiet = true;
    bool has_lost = false;
    for (size_t i = 0; i < SN_LANES; i++) {
        const struct sn_hub_lane *lane = &target->lanes[i];
        is_quiet &= sn_lane_is_quiet(lane);
        if (!sn_lane_has_lost(lane))
            continue;
        has_lost = true;
        if (!err.status)
            err = *sn_lane_error(lane);
    }
    if (!has_lost)
        return;
    if (!target->gone_ns)
        target->gone_ns = now_ns;
    if (is_quiet || now_ns - target->gone_ns >= GONE_NS) {
        close_lanes(target);
        (void)sn_fail(&err, SONDE_E_GONE, 0, "pid %u has gone", target->pid);
        sn_target_fail(target, err.status, &err);
    } else {
        sn_loop_timer(target->hub->loop, &target->timer, target->gone_ns + GONE_NS);
    }
}

static bool has_ordered(const struct sn_hub_target *target)
{
    for (const struct sonde_consumer *consumer = target->consumers; consumer;
         consumer = consumer->next) {
        const struct sn_subscription *place = sn_road_subscription(target->road, consumer->number);
        if (place && place->needs_order)
            return true;
    }
    return false;
}

/* Still so: it lives for less than that, or it has hardly run and does nothing else. */
bool sn_target_is_starting(const struct sn_hub_target *target)
{
    struct sn_proc_facts facts;
    if (!sn_process_facts(target->pid, &facts))
        return false;
    bool is_at_work = facts.state == 'R' || facts.state == 'D';
    return facts.up_ns < START_NS || (is_at_work && facts.cpu_ns < START_CPU_NS);
}

uint64_t sn_target_age_ns(const struct sn_hub_target *target)
{
    struct sn_proc_facts facts;
    return sn_process_facts(target->pid, &facts) ? facts.up_ns : 0;
}

static bool is_lane_idle(const struct sn_hub_lane *lane)
{
    bool is_changing = lane->coming || lane->going || lane->is_dirty || lane->waits ||
                       lane->must_ask_again || lane->narrow_ns;
    return !is_changing && !(lane->current && lane->current->source->has_ended);
}

/* Nothing to see to: so are most targets in most turns, and there may be many of both. */
static bool is_idle(const struct sn_hub_target *target)
{
    bool is_settled = target->stage == SN_TARGET_READY && !target->must_close &&
                      !target->rundowns && !target->gone_ns && !target->retry_ns &&
                      target->owner.fd >= 0;
    for (size_t i = 0; is_settled && i < SN_LANES; i++)
        is_settled = is_lane_idle(&target->lanes[i]);
    for (const struct sonde_consumer *consumer = target->consumers; is_settled && consumer;
         consumer = consumer->next)
        is_settled = !sn_consumer_is_over(consumer) && !consumer->is_removed;
    return is_settled && !has_ordered(target);
}

void sn_target_tend(struct sn_hub_target *target, uint64_t now_ns)
{
    if (is_idle(target))
        return;
    sweep(target);
    if (target->must_close) {
        target->must_close = false;
        close_lanes(target);
    }
    if (target->stage == SN_TARGET_LOOKING)
        look(target, now_ns);
    if (target->stage == SN_TARGET_READY)
        tend_ownership(target, now_ns);
    if (target->stage == SN_TARGET_READY)
        sn_rundown_tend(target); /* first, so that lanes do not keep it waiting for ever */
    for (size_t i = 0; target->stage == SN_TARGET_READY && i < SN_LANES; i++)
        sn_lane_tend(&target->lanes[i], now_ns);
    note_peak(target);
    if (target->stage == SN_TARGET_READY)
        tend_gone(target, now_ns);
    if (target->stage == SN_TARGET_READY && has_ordered(target)) {
        sn_road_settle(target->road);
        sn_loop_timer(target->hub->loop, &target->timer, now_ns + SETTLE_NS);
    }
    sweep(target);
}
