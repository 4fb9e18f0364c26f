/* The thread that listens to runtimes: one hub, the counters of every process in sight, whatever
 * operations are under way. All its state is its own; others post to it or read what it has
 * published. */
#ifndef SN_ROADS_H
#define SN_ROADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mailbox.h"
#include "sonde/error.h"

struct sn_counters_desk;
struct sn_daemon;
struct sn_roads;
struct sonde_counters;
struct sonde_hub;

int sn_roads_new(struct sn_daemon *daemon, struct sn_roads **ret_roads, struct sonde_error *err);
void sn_roads_stop(struct sn_roads *roads); /* ends the thread; what it owned may be freed now */
/* After that: runs what was posted and nobody ran, as its memory is its runner's. */
void sn_roads_drain(struct sn_roads *roads);
void sn_roads_free(struct sn_roads *roads); /* NULL is fine */

/* From any thread, by the rules of base/mailbox.h: what goes on with something that was let in;
 * what may be wanted twice; what is new, and is refused when too much waits. */
void sn_roads_post(struct sn_roads *roads, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                   void *user);
bool sn_roads_nudge(struct sn_roads *roads, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                    void *user);
bool sn_roads_offer(struct sn_roads *roads, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                    void *user);

size_t sn_roads_waiting_count(struct sn_roads *roads); /* tasks; from any thread */

/* From any thread: whether it turns; whether it has been at one thing for five seconds. */
bool sn_roads_is_running(const struct sn_roads *roads);
bool sn_roads_is_stuck(const struct sn_roads *roads);
/* From any thread: whether the calling one is it. */
bool sn_roads_is_here(const struct sn_roads *roads);

/* In the roads thread only, below. */
struct sonde_hub *sn_roads_hub(struct sn_roads *roads);
struct sonde_counters *sn_roads_counters(struct sn_roads *roads);        /* NULL: switched off */
struct sn_counters_desk *sn_roads_counters_desk(struct sn_roads *roads); /* NULL: switched off */

/* Something with a descriptor that is turned by the roads thread, such as a tracer: `turn` is
 * called when it is readable or `wait_ms` has passed. `ops` and `user` are borrowed until removed.
 * May be removed from within its turn. */
struct sn_rider_ops {
    int (*fd)(void *user);
    int (*wait_ms)(void *user);
    void (*turn)(void *user);
};
int sn_roads_add(struct sn_roads *roads, const struct sn_rider_ops *ops, void *user,
                 struct sonde_error *err);
void sn_roads_remove(struct sn_roads *roads, void *user);

/* Calls `run` once, at or after `due_ns` (CLOCK_MONOTONIC), in the roads thread. The first call
 * from within such a task never fails. */
int sn_roads_at(struct sn_roads *roads, uint64_t due_ns, sn_mailbox_fn *run, void *user,
                struct sonde_error *err);
/* Takes back every such call of this user. Also once the thread has ended. */
void sn_roads_forget(struct sn_roads *roads, const void *user);

#endif
