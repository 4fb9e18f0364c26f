/* The event loop: descriptors, timers and nothing else. One thread runs it and owns everything on
 * it.
 *
 * Watches and timers are embedded in their owner's struct; the loop only links them. A callback may
 * add or remove any watch or timer, its own included. */
#ifndef SN_LOOP_H
#define SN_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct sonde_error;
struct sn_loop;
struct sn_watch;
struct sn_timer;

typedef void sn_watch_fn(struct sn_watch *watch, uint32_t events); /* EPOLLIN, EPOLLOUT ... */
typedef void sn_timer_fn(struct sn_timer *timer);

struct sn_watch {
    struct sn_loop *loop; /* set while it is on a loop */
    int fd;               /* borrows */
    sn_watch_fn *ready;
    void *user;
};

struct sn_timer {
    struct sn_loop *loop; /* set while it is armed */
    struct sn_timer *next;
    uint64_t due_ns; /* monotonic */
    sn_timer_fn *expired;
    void *user;
};

int sn_loop_new(struct sn_loop **ret_loop, struct sonde_error *err);
void sn_loop_free(struct sn_loop *loop); /* whatever is still on it is forgotten, not closed */

static inline void sn_loop_free_auto(struct sn_loop **slot)
{
    sn_loop_free(*slot);
}

/* Calls watch->ready whenever `events` (EPOLLIN, EPOLLOUT) hold for watch->fd. */
int sn_loop_watch(struct sn_loop *loop, struct sn_watch *watch, uint32_t events,
                  struct sonde_error *err);
int sn_loop_change(struct sn_watch *watch, uint32_t events, struct sonde_error *err);
void sn_loop_unwatch(struct sn_watch *watch); /* no-op when it is on no loop */

/* Arms `timer` to expire once; arming an armed timer moves it. */
void sn_loop_timer(struct sn_loop *loop, struct sn_timer *timer, uint64_t due_ns);
void sn_loop_untimer(struct sn_timer *timer); /* no-op when not armed */

/* Runs until sn_loop_stop or until nothing is on the loop. */
int sn_loop_run(struct sn_loop *loop, struct sonde_error *err);

/* Waits for at most one round of events, no longer than `deadline_ns` (UINT64_MAX: for ever). */
int sn_loop_turn(struct sn_loop *loop, uint64_t deadline_ns, struct sonde_error *err);

/* For owners with a loop of their own: readable when a turn has something to do; and how long until
 * the next timer, for poll(2). */
int sn_loop_fd(const struct sn_loop *loop);
int sn_loop_wait_ms(const struct sn_loop *loop);

/* Makes sn_loop_run return after the present turn. */
void sn_loop_stop(struct sn_loop *loop);

#endif
