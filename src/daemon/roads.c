#include "daemon/roads.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/counters_desk.h"
#include "daemon/daemon.h"
#include "daemon/event_topics.h"
#include "daemon/exception_history.h"
#include "daemon/export_desk.h"
#include "daemon/own_cost.h"
#include "sonde/counters.h"
#include "sonde/hub.h"

#define MAILBOX_MAX 4096u
#define RIDERS_MAX  256u
#define TIMERS_MAX  4096u
#define FIXED_FDS   2u
#define STUCK_NS    (5ull * SN_NS_PER_SECOND)

struct rider {
    const struct sn_rider_ops *ops; /* NULL: removed */
    void *user;
};

struct timer {
    struct timer *next; /* by due_ns */
    uint64_t due_ns;
    sn_mailbox_fn *run;
    void *user;
};

struct sn_roads {
    struct sn_daemon *daemon;      /* borrows */
    struct sn_mailbox *mailbox;    /* owns */
    struct sonde_hub *hub;         /* owns; the thread's, as is all below */
    struct sn_counters_desk *desk; /* owns; NULL: without counters */
    struct rider riders[RIDERS_MAX];
    size_t rider_count;
    struct timer *timers;
    size_t timer_count;
    struct timer *spare; /* the one whose task runs: for its next time */
    pthread_t thread;
    bool has_thread;
    _Atomic bool is_ending;
    _Atomic bool is_running;
    _Atomic uint64_t busy_since_ns; /* 0: it waits */
};

/* --- from any thread --- */

void sn_roads_post(struct sn_roads *roads, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                   void *user)
{
    sn_mailbox_post(roads->mailbox, task, run, user);
}

bool sn_roads_nudge(struct sn_roads *roads, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                    void *user)
{
    return sn_mailbox_nudge(roads->mailbox, task, run, user);
}

bool sn_roads_offer(struct sn_roads *roads, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                    void *user)
{
    return sn_mailbox_offer(roads->mailbox, task, run, user);
}

size_t sn_roads_waiting_count(struct sn_roads *roads)
{
    return sn_mailbox_count(roads->mailbox);
}

bool sn_roads_is_running(const struct sn_roads *roads)
{
    return atomic_load(&roads->is_running);
}

bool sn_roads_is_stuck(const struct sn_roads *roads)
{
    uint64_t since_ns = atomic_load(&roads->busy_since_ns);
    return since_ns && sn_clock_monotonic_ns() - since_ns > STUCK_NS;
}

bool sn_roads_is_here(const struct sn_roads *roads)
{
    return roads->has_thread && pthread_equal(roads->thread, pthread_self());
}

/* --- in the thread --- */

struct sonde_hub *sn_roads_hub(struct sn_roads *roads)
{
    return roads->hub;
}

struct sonde_counters *sn_roads_counters(struct sn_roads *roads)
{
    return roads->desk ? sn_counters_desk_counters(roads->desk) : NULL;
}

struct sn_counters_desk *sn_roads_counters_desk(struct sn_roads *roads)
{
    return roads->desk;
}

int sn_roads_add(struct sn_roads *roads, const struct sn_rider_ops *ops, void *user,
                 struct sonde_error *err)
{
    if (roads->rider_count == RIDERS_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "%u things are under way already", RIDERS_MAX);
    roads->riders[roads->rider_count++] = (struct rider){ops, user};
    return SONDE_OK;
}

/* Its place is given up between turns: others keep theirs while they are gone through. */
void sn_roads_remove(struct sn_roads *roads, void *user)
{
    for (size_t i = 0; i < roads->rider_count; i++) {
        if (roads->riders[i].user == user)
            roads->riders[i].ops = NULL;
    }
}

static void close_ranks(struct sn_roads *roads)
{
    size_t kept = 0;
    for (size_t i = 0; i < roads->rider_count; i++) {
        if (roads->riders[i].ops)
            roads->riders[kept++] = roads->riders[i];
    }
    roads->rider_count = kept;
}

int sn_roads_at(struct sn_roads *roads, uint64_t due_ns, sn_mailbox_fn *run, void *user,
                struct sonde_error *err)
{
    struct timer *timer = roads->timer_count < TIMERS_MAX ? malloc(sizeof(*timer)) : NULL;
    if (!timer)
        timer = SN_TAKE(roads->spare);
    if (!timer)
        return sn_fail(err, SONDE_E_LIMIT, 0, "no room for another timer");
    struct timer **slot = &roads->timers;
    while (*slot && (*slot)->due_ns <= due_ns)
        slot = &(*slot)->next;
    *timer = (struct timer){.next = *slot, .due_ns = due_ns, .run = run, .user = user};
    *slot = timer;
    roads->timer_count++;
    return SONDE_OK;
}

void sn_roads_forget(struct sn_roads *roads, const void *user)
{
    for (struct timer **slot = &roads->timers; *slot;) {
        struct timer *timer = *slot;
        if (timer->user != user) {
            slot = &timer->next;
            continue;
        }
        *slot = timer->next;
        roads->timer_count--;
        free(timer);
    }
}

static void run_timers(struct sn_roads *roads)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    while (roads->timers && roads->timers->due_ns <= now_ns) {
        struct timer *timer = roads->timers;
        roads->timers = timer->next;
        roads->timer_count--;
        sn_mailbox_fn *task = timer->run;
        void *of_task = timer->user;
        roads->spare = timer;
        task(of_task);
        free(SN_TAKE(roads->spare));
    }
}

static size_t prepare(struct sn_roads *roads, struct pollfd *polled, int *ret_wait_ms)
{
    int wait_ms = sonde_hub_wait_ms(roads->hub);
    close_ranks(roads);
    polled[0] = (struct pollfd){.fd = sn_mailbox_fd(roads->mailbox), .events = POLLIN};
    polled[1] = (struct pollfd){.fd = sonde_hub_fd(roads->hub), .events = POLLIN};
    for (size_t i = 0; i < roads->rider_count; i++) {
        struct rider *rider = &roads->riders[i]; /* one may remove itself or others when asked */
        int fd = rider->ops ? rider->ops->fd(rider->user) : -1;
        polled[FIXED_FDS + i] = (struct pollfd){.fd = fd, .events = POLLIN};
        if (rider->ops)
            wait_ms = sn_clock_sooner_ms(wait_ms, rider->ops->wait_ms(rider->user));
    }
    if (roads->timers)
        wait_ms = sn_clock_sooner_ms(wait_ms, sn_clock_poll_ms(roads->timers->due_ns));
    if (roads->desk)
        wait_ms = sn_clock_sooner_ms(wait_ms, sn_counters_desk_wait_ms(roads->desk));
    *ret_wait_ms = wait_ms;
    return FIXED_FDS + roads->rider_count;
}

/* Each of them, ready or not, as a time may have passed: a turn with nothing to do costs little. */
static void turn_riders(struct sn_roads *roads)
{
    for (size_t i = 0; i < roads->rider_count; i++) {
        if (roads->riders[i].ops)
            roads->riders[i].ops->turn(roads->riders[i].user);
    }
}

static void *run(void *user)
{
    struct sn_roads *roads = user;
    struct pollfd polled[FIXED_FDS + RIDERS_MAX];
    int wait_ms;
    atomic_store(&roads->is_running, true);
    while (!atomic_load(&roads->is_ending)) {
        size_t count = prepare(roads, polled, &wait_ms);
        atomic_store(&roads->busy_since_ns, 0);
        (void)poll(polled, (nfds_t)count, wait_ms);
        atomic_store(&roads->busy_since_ns, sn_clock_monotonic_ns());
        sn_mailbox_turn(roads->mailbox);
        (void)sonde_hub_turn(roads->hub, NULL);
        turn_riders(roads);
        run_timers(roads);
        if (roads->desk)
            sn_counters_desk_turn(roads->desk);
    }
    atomic_store(&roads->is_running, false);
    return NULL;
}

static int start_thread(struct sn_roads *roads, struct sonde_error *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&roads->thread, NULL, run, roads);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        errno = failed;
        return sn_fail_errno(err, "cannot start a thread");
    }
    roads->has_thread = true;
    return SONDE_OK;
}

int sn_roads_new(struct sn_daemon *daemon, struct sn_roads **ret_roads, struct sonde_error *err)
{
    struct sonde_hub_options options = {.size = sizeof(options)};
    struct sn_roads *roads = calloc(1, sizeof(*roads));
    if (!roads)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the roads");
    roads->daemon = daemon;
    int rc = sn_mailbox_new(MAILBOX_MAX, &roads->mailbox, err);
    if (rc == SONDE_OK)
        rc = sonde_hub_new(&options, &roads->hub, err);
    if (rc == SONDE_OK)
        rc = sn_event_topics_new(&daemon->event_topics, err);
    if (rc == SONDE_OK && !daemon->options->no_counters)
        rc = sn_counters_desk_new(daemon, roads->hub, &roads->desk, err);
    if (rc == SONDE_OK)
        rc = sn_export_desk_new(daemon, roads, roads->hub, &daemon->exporters, err);
    if (rc == SONDE_OK)
        rc = start_thread(roads, err);
    if (rc == SONDE_OK)
        *ret_roads = roads;
    else
        sn_roads_free(roads);
    return rc;
}

void sn_roads_stop(struct sn_roads *roads)
{
    if (!roads || !roads->has_thread)
        return;
    atomic_store(&roads->is_ending, true);
    sn_mailbox_stir(roads->mailbox);
    (void)pthread_join(roads->thread, NULL);
    roads->has_thread = false;
}

void sn_roads_drain(struct sn_roads *roads)
{
    enum { ROUNDS_MAX = 16 }; /* what is run may post again */
    for (unsigned i = 0; roads && i < ROUNDS_MAX && sn_mailbox_count(roads->mailbox); i++)
        sn_mailbox_turn(roads->mailbox);
}

void sn_roads_free(struct sn_roads *roads)
{
    if (!roads)
        return;
    sn_roads_stop(roads);
    sn_own_cost_free(SN_TAKE(roads->daemon->cost));
    sn_export_desk_free(SN_TAKE(roads->daemon->exporters));
    sn_event_topics_free(roads->daemon->event_topics);
    sn_exception_history_free(roads->daemon->exceptions);
    sn_counters_desk_free(roads->desk);
    sonde_hub_free(roads->hub);
    sn_mailbox_free(roads->mailbox);
    for (struct timer *next; roads->timers; roads->timers = next) {
        next = roads->timers->next;
        free(roads->timers);
    }
    free(roads);
}
