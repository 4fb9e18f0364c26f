#include "sonde/hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "api/hub_parts.h"
#include "api/options_in.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "flow/road.h"

#define DEFAULT_TIMEOUT_NS (5ull * SN_NS_PER_SECOND)
#define DEFAULT_LINGER_NS  (5ull * SN_NS_PER_SECOND)
#define PARTING_NS         (500ull * SN_NS_PER_MS)
#define SCRATCH_SIZE       (256u << 10)
#define KNOWN_MAX          65536u

/* The longest that a target without consumers stays because it must not be left yet. */
#define HOLD_NS (2ull * SN_NS_PER_SECOND)

/* Between two looks at one. */
#define HOLD_LOOK_NS (50ull * SN_NS_PER_MS)

/* --- coming and going --- */

int sonde_hub_new(const struct sonde_hub_options *options, struct sonde_hub **ret_hub,
                  struct sonde_error *err)
{
    struct sonde_hub_options known;
    int rc = sn_options_in(options, &known, sizeof(known), "hub options", err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_hub *hub = calloc(1, sizeof(*hub));
    if (!hub)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a hub");
    hub->options = known;
    hub->known = sn_table_with_limit(KNOWN_MAX);
    if (!hub->options.timeout_ns)
        hub->options.timeout_ns = DEFAULT_TIMEOUT_NS;
    if (!hub->options.linger_ns)
        hub->options.linger_ns = DEFAULT_LINGER_NS;
    hub->scratch = (struct sn_eventpipe_scratch){malloc(SCRATCH_SIZE), SCRATCH_SIZE};
    uint64_t chance = 0;
    (void)!getrandom(&chance, sizeof(chance), 0); /* without it the pid and the time must do */
    (void)snprintf(hub->client_id, sizeof(hub->client_id), "sonde-%d-%016llx", (int)getpid(),
                   (unsigned long long)(chance ^ sn_clock_monotonic_ns()));
    rc = hub->scratch.bytes ? sn_loop_new(&hub->loop, err)
                            : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a hub");
    if (rc != SONDE_OK) {
        sonde_hub_free(hub);
        return rc;
    }
    *ret_hub = hub;
    return SONDE_OK;
}

static void drop_parting(struct sn_parting *parting)
{
    struct sn_parting **at = &parting->hub->partings;
    while (*at != parting)
        at = &(*at)->next;
    *at = parting->next;
    sn_ipc_call_cancel(&parting->call);
    sn_loop_unwatch(&parting->watch);
    sn_ledger_leave(&parting->note);
    sn_close(parting->watch.fd);
    free(parting);
}

static void throw_away(struct sn_watch *watch, uint32_t events)
{
    const struct sn_parting *parting = watch->user;
    const struct sn_eventpipe_scratch *scratch = &parting->hub->scratch;
    (void)events;
    ssize_t got = read(watch->fd, scratch->bytes, scratch->size);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        sn_loop_unwatch(watch);
}

static void parted(struct sn_ipc_call *call, int status)
{
    struct sn_parting *parting = call->user;
    sn_ipc_reply_done(&call->reply);
    (void)status; /* when it failed the target has gone or is stuck */
    drop_parting(parting);
}

/* Where it could not even be sent, who comes next may look. */
static void part_sends(struct sn_ipc_call *call)
{
    struct sn_parting *parting = call->user;
    sn_ledger_strike(&parting->note);
}

void sn_hub_part(void *user, const struct sn_ipc_route *route, uint64_t session_id,
                 struct sn_ledger_note *note, int stream)
{
    struct sonde_hub *hub = user;
    struct sn_ipc_request request = {.command = SN_IPC_STOP_TRACING, .session_id = session_id};
    struct sn_parting *parting = calloc(1, sizeof(*parting));
    if (!parting) {
        sn_ledger_leave(note);
        sn_close(stream); /* the runtime notices when it next writes */
        return;
    }
    parting->hub = hub;
    parting->note = sn_ledger_take(note);
    parting->watch = (struct sn_watch){.fd = stream, .ready = throw_away, .user = parting};
    parting->call = (struct sn_ipc_call){.done = parted, .sends = part_sends, .user = parting};
    parting->next = hub->partings;
    hub->partings = parting;
    if (sn_loop_watch(hub->loop, &parting->watch, EPOLLIN, NULL) != SONDE_OK ||
        sn_ipc_call_start(&parting->call, hub->loop, route, &request, hub->options.timeout_ns,
                          NULL) != SONDE_OK)
        drop_parting(parting);
}

/* Runtimes are told that their sessions have ended, all at once, and waited for a moment. */
static void part_from_all(struct sonde_hub *hub)
{
    uint64_t deadline_ns = sn_clock_deadline(PARTING_NS);
    while (hub->partings && sn_clock_monotonic_ns() < deadline_ns) {
        if (sn_loop_turn(hub->loop, deadline_ns, NULL) != SONDE_OK)
            break;
    }
    while (hub->partings)
        drop_parting(hub->partings);
}

static void drop_target(struct sn_hub_target *target)
{
    struct sn_hub_target **at = &target->hub->targets;
    while (*at != target)
        at = &(*at)->next;
    *at = target->next;
    sn_target_free(target);
}

/* Nobody listens to it any more. Its stream is read on while it must not be left. */
static void leave_target(struct sn_hub_target *target, uint64_t now_ns)
{
    if (sn_steps_hold(target, now_ns))
        sn_loop_timer(target->hub->loop, &target->timer, now_ns + HOLD_LOOK_NS);
    else
        drop_target(target);
}

/* Who is called here may add a target, which goes in front of all, and lets none go. */
static void tend(struct sonde_hub *hub)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    for (struct sn_hub_target *target = hub->targets, *next; target; target = next) {
        sn_target_tend(target, now_ns);
        next = target->next;
        if (!target->consumers)
            leave_target(target, now_ns);
    }
}

/* Targets go as soon as they may; consumers are called no more. */
static void leave_all(struct sonde_hub *hub)
{
    uint64_t deadline_ns = sn_clock_deadline(HOLD_NS);
    for (struct sn_hub_target *target = hub->targets; target; target = target->next) {
        for (struct sonde_consumer *at = target->consumers; at; at = at->next)
            at->is_removed = true;
    }
    tend(hub);
    while (hub->targets && sn_clock_monotonic_ns() < deadline_ns) {
        if (sn_loop_turn(hub->loop, deadline_ns, NULL) != SONDE_OK)
            break;
        tend(hub);
    }
}

void sonde_hub_free(struct sonde_hub *hub)
{
    if (!hub)
        return;
    if (hub->loop)
        leave_all(hub);
    while (hub->targets) {
        struct sn_hub_target *target = hub->targets;
        hub->targets = target->next;
        sn_target_free(target);
    }
    part_from_all(hub);
    sn_loop_free(hub->loop);
    sn_table_done(&hub->known);
    free(hub->scratch.bytes);
    free(hub);
}

/* --- turning --- */

int sonde_hub_fd(const struct sonde_hub *hub)
{
    return sn_loop_fd(hub->loop);
}

static bool has_news(const struct sonde_hub *hub)
{
    for (const struct sn_hub_target *target = hub->targets; target; target = target->next) {
        for (const struct sonde_consumer *consumer = target->consumers; consumer;
             consumer = consumer->next) {
            if (consumer->is_changed && !consumer->is_removed)
                return true;
        }
    }
    return false;
}

int sonde_hub_wait_ms(const struct sonde_hub *hub)
{
    return hub->must_tend || has_news(hub) ? 0 : sn_loop_wait_ms(hub->loop);
}

/* Callbacks may add and remove consumers: these are put in front or only marked. */
static void tell_news(struct sonde_hub *hub)
{
    for (struct sn_hub_target *target = hub->targets; target; target = target->next) {
        for (struct sonde_consumer *consumer = target->consumers; consumer;
             consumer = consumer->next) {
            bool is_news = consumer->is_changed && !consumer->is_removed;
            consumer->is_changed = false;
            if (is_news && consumer->changed)
                consumer->changed(consumer->user, consumer);
        }
    }
    for (struct sn_hub_turned *turned = hub->turned; turned; turned = hub->turned_next) {
        hub->turned_next = turned->next;
        turned->turned(turned->user);
    }
}

int sonde_hub_turn(struct sonde_hub *hub, struct sonde_error *err)
{
    uint64_t since_ns = sn_clock_monotonic_ns();
    hub->is_turning = true;
    int rc = sn_loop_turn(hub->loop, 0, err);
    hub->tended_ns = since_ns;
    if (rc == SONDE_OK) {
        hub->must_tend = false; /* callbacks may set it again */
        tend(hub);
        tell_news(hub);
    }
    hub->is_turning = false;
    return rc;
}

/* --- consumers --- */

static struct sn_hub_target *find(const struct sonde_hub *hub, uint32_t pid)
{
    struct sn_hub_target *target = hub->targets;
    while (target && (target->pid != pid || target->stage == SN_TARGET_ENDED))
        target = target->next;
    return target;
}

static int find_or_add(struct sonde_hub *hub, uint32_t pid, struct sn_hub_target **ret_target,
                       struct sonde_error *err)
{
    *ret_target = find(hub, pid);
    if (*ret_target)
        return SONDE_OK;
    int rc = sn_target_new(hub, pid, ret_target, err);
    if (rc != SONDE_OK)
        return rc;
    (*ret_target)->next = hub->targets;
    hub->targets = *ret_target;
    return SONDE_OK;
}

int sonde_hub_add(struct sonde_hub *hub, const struct sonde_consumer_options *options,
                  sonde_event_fn *take, void *user, struct sonde_consumer **ret_consumer,
                  struct sonde_error *err)
{
    struct sonde_consumer_options known;
    struct sonde_consumer *consumer = NULL;
    struct sn_hub_target *target = NULL;
    int rc = sn_options_in(options, &known, sizeof(known), "consumer options", err);
    if (rc == SONDE_OK)
        rc = sn_consumer_new(&known, take, user, &consumer, err);
    if (rc != SONDE_OK)
        return rc;
    rc = find_or_add(hub, known.pid, &target, err);
    if (rc != SONDE_OK) {
        sn_consumer_free(consumer);
        return rc;
    }
    rc = sn_target_add(target, consumer, known.in_order, err);
    if (rc == SONDE_OK)
        *ret_consumer = consumer;
    hub->must_tend = true;
    return rc;
}

static bool has_consumers(const struct sn_hub_target *target)
{
    const struct sonde_consumer *consumer = target->consumers;
    while (consumer && consumer->is_removed)
        consumer = consumer->next;
    return consumer != NULL;
}

void sonde_hub_remove(struct sonde_consumer *consumer)
{
    if (!consumer)
        return;
    struct sn_hub_target *target = consumer->target;
    struct sonde_hub *hub = target->hub;
    consumer->is_removed = true;
    hub->must_tend = true;
    /* Nobody is left to be called: what it was asked for need not wait for the next turn. */
    if (!hub->is_turning && !has_consumers(target) &&
        !sn_steps_hold(target, sn_clock_monotonic_ns()))
        drop_target(target);
}

static void make_note(struct sn_hub_target *target)
{
    const struct sn_hub_owner *owner = &target->owner;
    const char *interval = *owner->theirs.interval ? owner->theirs.interval : owner->theirs.refresh;
    char held[128] = "";
    if (owner->other_pid)
        (void)snprintf(held, sizeof(held), "sonde %u decides what pid %u has only once%s%s%s",
                       owner->other_pid, target->pid, *interval ? ": every " : "", interval,
                       *interval ? " s" : "");
    (void)snprintf(target->note, sizeof(target->note), "%s%s%s", held,
                   *held && *target->conflict ? "; " : "", target->conflict);
}

int sonde_hub_target(const struct sonde_hub *hub, uint32_t pid, struct sonde_hub_target *ret_target,
                     struct sonde_error *err)
{
    struct sn_hub_target *target = find(hub, pid);
    if (!target)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "nobody listens to pid %u", pid);
    make_note(target);
    *ret_target = (struct sonde_hub_target){.pid = pid,
                                            .opened_count = target->opened_count,
                                            .event_count = target->event_count,
                                            .lost_count = target->lost_count +
                                                          sn_road_tracker(target->road)->lost_count,
                                            .session_count = sn_target_session_count(target),
                                            .peak_session_count = target->peak_session_count,
                                            .owner_pid = target->owner.other_pid,
                                            .note = target->note};
    for (const struct sonde_consumer *at = target->consumers; at; at = at->next)
        ret_target->consumer_count += !sn_consumer_is_over(at);
    for (size_t i = 0; i < SN_LANES; i++)
        sn_lane_count(&target->lanes[i], ret_target);
    return SONDE_OK;
}

/* --- for who lives on a hub --- */

struct sn_loop *sn_hub_loop(struct sonde_hub *hub)
{
    return hub->loop;
}

void sn_hub_on_turn(struct sonde_hub *hub, struct sn_hub_turned *turned)
{
    turned->next = hub->turned;
    hub->turned = turned;
}

void sn_hub_off_turn(struct sonde_hub *hub, struct sn_hub_turned *turned)
{
    struct sn_hub_turned **at = &hub->turned;
    while (*at && *at != turned)
        at = &(*at)->next;
    if (*at)
        *at = turned->next;
    if (hub->turned_next == turned)
        hub->turned_next = turned->next;
}

bool sn_hub_rundown(struct sonde_hub *hub, uint32_t pid, struct sn_hub_rundown *rundown)
{
    struct sn_hub_target *target = find(hub, pid);
    if (target)
        sn_rundown_add(target, rundown);
    return target != NULL;
}

void sn_hub_ask_again(struct sonde_hub *hub, uint32_t pid)
{
    struct sn_hub_target *target = find(hub, pid);
    if (target)
        sn_lane_ask_again(&target->lanes[SN_LANE_COUNTERS]);
}

uint64_t sn_hub_longest_interval_ns(const struct sonde_hub *hub, uint32_t pid)
{
    const struct sn_hub_target *target = find(hub, pid);
    return target ? sn_lane_longest_interval_ns(&target->lanes[SN_LANE_COUNTERS]) : 0;
}
