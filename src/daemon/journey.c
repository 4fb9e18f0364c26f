#include "daemon/journey.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/rest_reply.h"
#include "daemon/roads.h"
#include "daemon/router.h"
#include "daemon/store_desk.h"
#include "daemon/workers.h"
#include "net/http_server.h"

#define BODY_MAX  (64u << 20)
#define LARGE_MIN (1u << 20)
#define HELD_MAX  (256u << 20) /* of large answers, until they are read */

static struct sn_journey *journey_of(struct sn_rest_call *call)
{
    return (struct sn_journey *)(void *)call;
}

struct sn_journey *sn_journey_new(struct sn_router *router, struct sn_journey **list)
{
    struct sn_journey *journey = calloc(1, sizeof(*journey));
    if (!journey)
        return NULL;
    journey->router = router;
    journey->start_ns = sn_clock_monotonic_ns();
    journey->call.status = 200;
    journey->call.content_type = "application/json";
    journey->call.out = sn_buf_with_limit(BODY_MAX);
    journey->call.accept = "";
    journey->call.base_url = "";
    journey->slot = list;
    journey->next = *list;
    if (*list)
        (*list)->slot = &journey->next;
    *list = journey;
    return journey;
}

void sn_journey_free(struct sn_journey *journey)
{
    *journey->slot = journey->next;
    if (journey->next)
        journey->next->slot = journey->slot;
    if (journey->call.free_user && journey->call.user)
        journey->call.free_user(journey->call.user);
    json_decref(journey->call.body);
    sn_artefact_release(journey->call.file);
    sn_buf_done(&journey->call.out);
    free(journey->path);
    free(journey->query);
    free(journey->accept);
    free(journey->base_url);
    free(journey->asked);
    free(journey);
}

/* --- the way back --- */

/* In the HTTP thread. Nobody may come back to it: no news that are under way to its seat, and not
 * its exchange, which is out of sight some time before it says that its client has gone. */
static void free_if_over(struct sn_journey *journey)
{
    bool is_let_go = journey->is_replied || atomic_load(&journey->is_left);
    if (journey->is_answered && is_let_go && !journey->has_news)
        sn_journey_free(journey);
}

/* Of an answer that is large, until its client has it or has gone. */
struct held {
    struct sn_daemon *daemon;
    size_t bytes;
};

static void let_go(void *user)
{
    struct held *held = user;
    held->daemon->held_bytes -= held->bytes;
    free(held);
}

/* In the HTTP thread: clients that read slowly, or not at all, do not fill the memory. */
static void hold_answer(struct sn_journey *journey, struct sn_http_exchange *exchange)
{
    struct sn_rest_call *call = &journey->call;
    struct sn_daemon *daemon = call->daemon;
    size_t bytes = call->out.size;
    struct held *held = NULL;
    if (bytes >= LARGE_MIN && daemon->held_bytes + bytes <= HELD_MAX)
        held = malloc(sizeof(*held));
    if (held) {
        *held = (struct held){.daemon = daemon, .bytes = bytes};
        daemon->held_bytes += bytes;
    } else if (bytes >= LARGE_MIN) {
        sn_buf_done(&call->out);
        call->out = sn_buf_with_limit(BODY_MAX);
        sn_rest_header(call, "Retry-After", "5");
        sn_rest_problem(call, 503, "too many large answers are still being read; try again later");
    }
    sn_http_exchange_on_end(exchange, held ? let_go : NULL, held);
}

/* In the HTTP thread. */
static void arrive(void *user)
{
    struct sn_journey *journey = user;
    struct sn_http_exchange *exchange =
        sn_http_exchange_find(journey->call.daemon->http, journey->call.exchange_id);
    if (exchange) {
        hold_answer(journey, exchange);
        if (!sn_router_share(journey->router, journey, exchange))
            sn_rest_reply(&journey->call, exchange);
        journey->is_replied = true;
    }
    sn_router_account(journey->router, journey);
    journey->is_answered = true;
    free_if_over(journey);
}

static void send_back(struct sn_journey *journey)
{
    atomic_store(&journey->is_finished, true);
    if (atomic_load(&journey->seat) == SN_SEAT_HTTP)
        arrive(journey);
    else if (journey->call.daemon->http) /* otherwise nobody is there any more to be answered */
        sn_http_server_post(journey->call.daemon->http, &journey->way, arrive, journey);
}

/* --- in a seat --- */

static void run_in_seat(void *user);

/* A new one may be refused. False: too much waits in that seat, or nobody sits there. */
static bool enter(struct sn_journey *journey, enum sn_seat seat)
{
    struct sn_daemon *daemon = journey->call.daemon;
    struct sn_mailbox_task *way = &journey->way;
    switch (seat) {
    case SN_SEAT_HTTP: sn_http_server_post(daemon->http, way, run_in_seat, journey); return true;
    case SN_SEAT_ROADS:
        return daemon->roads && sn_roads_offer(daemon->roads, way, run_in_seat, journey);
    case SN_SEAT_STORE: return sn_store_desk_offer(daemon->store, way, run_in_seat, journey);
    case SN_SEAT_WORKER: return sn_workers_offer(daemon->workers, way, run_in_seat, journey);
    }
    return false;
}

/* One that was let in is not refused half-way: who waits for it there is bounded by those who may
 * ask at all. Workers are few, and can be too few. */
static bool go_on(struct sn_journey *journey, enum sn_seat seat)
{
    struct sn_daemon *daemon = journey->call.daemon;
    if (seat == SN_SEAT_ROADS && daemon->roads)
        sn_roads_post(daemon->roads, &journey->way, run_in_seat, journey);
    else if (seat == SN_SEAT_STORE && daemon->store)
        sn_store_desk_post(daemon->store, &journey->way, run_in_seat, journey);
    else
        return enter(journey, seat);
    return true;
}

/* From wherever it was. */
static void go(struct sn_journey *journey, bool is_first)
{
    struct sn_rest_call *call = &journey->call;
    enum sn_seat seat = (enum sn_seat)atomic_load(&journey->seat);
    if (is_first ? enter(journey, seat) : go_on(journey, seat))
        return;
    if (seat == SN_SEAT_STORE && !call->daemon->store) {
        sn_rest_problem(call, 404, "nothing is kept: this controller runs without a store");
    } else {
        sn_rest_header(call, "Retry-After", "1");
        sn_rest_problem(call, 503, "too much waits to be done already; try again in a moment");
    }
    send_back(journey);
}

static void run_in_seat(void *user)
{
    struct sn_journey *journey = user;
    struct sn_rest_call *call = &journey->call;
    journey->is_inside = true;
    journey->is_moving = false;
    call->is_parked = false;
    call->is_gone = atomic_load(&journey->is_left);
    journey->handle(call);
    journey->is_inside = false;
    if (journey->is_moving)
        go(journey, false);
    else if (!call->is_parked)
        send_back(journey);
}

void sn_rest_park(struct sn_rest_call *call, void (*gone)(struct sn_rest_call *call), void *user)
{
    call->is_parked = true;
    call->gone = gone;
    call->user = user;
}

void sn_rest_finish(struct sn_rest_call *call)
{
    struct sn_journey *journey = journey_of(call);
    call->is_parked = false;
    if (!journey->is_inside)
        send_back(journey);
}

void sn_rest_move(struct sn_rest_call *call, enum sn_seat seat,
                  void (*handle)(struct sn_rest_call *call))
{
    struct sn_journey *journey = journey_of(call);
    journey->handle = handle;
    journey->is_moving = true;
    call->is_parked = false;
    call->gone = NULL;
    atomic_store(&journey->seat, (int)seat);
    if (!journey->is_inside)
        go(journey, false);
}

/* --- a client that leaves --- */

static void news_are_back(void *user)
{
    struct sn_journey *journey = user;
    journey->has_news = false;
    free_if_over(journey);
}

/* In the seat where it was when its client left. If it has moved on, its next seat knows. */
static void tell(struct sn_journey *journey, enum sn_seat seat)
{
    struct sn_rest_call *call = &journey->call;
    if (atomic_load(&journey->is_finished) || atomic_load(&journey->seat) != (int)seat)
        return;
    call->is_gone = true;
    if (call->is_parked && call->gone)
        call->gone(call);
}

static void tell_in_roads(void *user)
{
    struct sn_journey *journey = user;
    tell(journey, SN_SEAT_ROADS);
    sn_http_server_post(journey->call.daemon->http, &journey->news, news_are_back, journey);
}

static void tell_in_store(void *user)
{
    struct sn_journey *journey = user;
    tell(journey, SN_SEAT_STORE);
    sn_http_server_post(journey->call.daemon->http, &journey->news, news_are_back, journey);
}

static void send_news(struct sn_journey *journey, enum sn_seat seat)
{
    struct sn_daemon *daemon = journey->call.daemon;
    journey->has_news = true;
    if (seat == SN_SEAT_ROADS && daemon->roads)
        sn_roads_post(daemon->roads, &journey->news, tell_in_roads, journey);
    else if (seat == SN_SEAT_STORE && daemon->store)
        sn_store_desk_post(daemon->store, &journey->news, tell_in_store, journey);
    else
        journey->has_news = false;
}

static void left(void *user)
{
    struct sn_journey *journey = user;
    atomic_store(&journey->is_left, true);
    if (journey->is_answered) {
        free_if_over(journey);
        return;
    }
    enum sn_seat seat = (enum sn_seat)atomic_load(&journey->seat);
    if (seat == SN_SEAT_HTTP)
        tell(journey, seat);
    else if (seat != SN_SEAT_WORKER)
        send_news(journey, seat);
}

void sn_journey_start(struct sn_journey *journey, struct sn_http_exchange *exchange)
{
    journey->call.exchange_id = sn_http_exchange_id(exchange);
    journey->handle = journey->call.route->handle;
    atomic_store(&journey->seat, (int)journey->call.route->seat);
    sn_http_exchange_on_end(exchange, left, journey);
    if (journey->call.route->seat == SN_SEAT_HTTP)
        run_in_seat(journey);
    else
        go(journey, true);
}
