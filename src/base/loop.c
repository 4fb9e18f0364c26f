#include "base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"

#define EVENTS_PER_TURN 64

struct sn_loop {
    int epoll;
    unsigned watch_count;
    bool stopped;
    struct sn_timer *timers; /* soonest first */
    uint64_t round_ns;       /* timers up to here are being expired; 0 outside of that */

    /* The batch being delivered; unwatch clears the entries of a watch that goes away in the
     * middle. */
    struct epoll_event events[EVENTS_PER_TURN];
    int event_count;
};

int sn_loop_new(struct sn_loop **ret_loop, struct sonde_error *err)
{
    SN_AUTO(sn_free) struct sn_loop *loop = calloc(1, sizeof(*loop));
    if (!loop)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an event loop");
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0)
        return sn_fail_errno(err, "cannot create an epoll descriptor");
    *ret_loop = SN_TAKE(loop);
    return SONDE_OK;
}

void sn_loop_free(struct sn_loop *loop)
{
    if (!loop)
        return;
    sn_close(loop->epoll);
    free(loop);
}

int sn_loop_watch(struct sn_loop *loop, struct sn_watch *watch, uint32_t events,
                  struct sonde_error *err)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, watch->fd, &event) != 0)
        return sn_fail_errno(err, "cannot watch descriptor %d", watch->fd);
    watch->loop = loop;
    loop->watch_count++;
    return SONDE_OK;
}

int sn_loop_change(struct sn_watch *watch, uint32_t events, struct sonde_error *err)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(watch->loop->epoll, EPOLL_CTL_MOD, watch->fd, &event) != 0)
        return sn_fail_errno(err, "cannot watch descriptor %d otherwise", watch->fd);
    return SONDE_OK;
}

void sn_loop_unwatch(struct sn_watch *watch)
{
    struct sn_loop *loop = watch->loop;
    if (!loop)
        return;
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd,
                    NULL); /* a closed fd has left by itself */
    watch->loop = NULL;
    loop->watch_count--;
    for (int i = 0; i < loop->event_count; i++) {
        if (loop->events[i].data.ptr == watch)
            loop->events[i].data.ptr = NULL;
    }
}

void sn_loop_timer(struct sn_loop *loop, struct sn_timer *timer, uint64_t due_ns)
{
    sn_loop_untimer(timer);
    if (due_ns <= loop->round_ns)
        due_ns = loop->round_ns + 1; /* the next turn's: a timer that re-arms itself yields */
    struct sn_timer **at = &loop->timers;
    while (*at && (*at)->due_ns <= due_ns)
        at = &(*at)->next;
    timer->due_ns = due_ns;
    timer->loop = loop;
    timer->next = *at;
    *at = timer;
}

void sn_loop_untimer(struct sn_timer *timer)
{
    if (!timer->loop)
        return;
    struct sn_timer **at = &timer->loop->timers;
    while (*at != timer)
        at = &(*at)->next;
    *at = timer->next;
    timer->loop = NULL;
    timer->next = NULL;
}

static void expire_timers(struct sn_loop *loop)
{
    uint64_t now = sn_clock_monotonic_ns();
    loop->round_ns = now;
    while (loop->timers && loop->timers->due_ns <= now) {
        struct sn_timer *timer = loop->timers;
        sn_loop_untimer(timer);
        timer->expired(timer);
    }
    loop->round_ns = 0;
}

static void deliver(struct sn_loop *loop)
{
    for (int i = 0; i < loop->event_count; i++) {
        struct sn_watch *watch = loop->events[i].data.ptr;
        if (watch)
            watch->ready(watch, loop->events[i].events);
    }
    loop->event_count = 0;
}

int sn_loop_turn(struct sn_loop *loop, uint64_t deadline_ns, struct sonde_error *err)
{
    uint64_t until = deadline_ns;
    if (loop->timers && loop->timers->due_ns < until)
        until = loop->timers->due_ns;
    int count = epoll_wait(loop->epoll, loop->events, EVENTS_PER_TURN, sn_clock_poll_ms(until));
    if (count < 0 && errno != EINTR)
        return sn_fail_errno(err, "cannot wait for events");
    loop->event_count = count < 0 ? 0 : count;
    deliver(loop);
    expire_timers(loop);
    return SONDE_OK;
}

int sn_loop_run(struct sn_loop *loop, struct sonde_error *err)
{
    loop->stopped = false;
    while (!loop->stopped && (loop->watch_count || loop->timers)) {
        int rc = sn_loop_turn(loop, UINT64_MAX, err);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

int sn_loop_fd(const struct sn_loop *loop)
{
    return loop->epoll;
}

int sn_loop_wait_ms(const struct sn_loop *loop)
{
    return sn_clock_poll_ms(loop->timers ? loop->timers->due_ns : UINT64_MAX);
}

void sn_loop_stop(struct sn_loop *loop)
{
    loop->stopped = true;
}
