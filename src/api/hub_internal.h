/* What parts of libsonde that live on a hub get of it beyond the public header: its loop, a call
 * after each of its turns, and a rundown of a target. */
#ifndef SN_HUB_INTERNAL_H
#define SN_HUB_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/hub.h"

struct sn_event;
struct sn_hub_target;
struct sn_loop;
struct sn_road;

/* For timers and watches; their callbacks come from sonde_hub_turn. */
struct sn_loop *sn_hub_loop(struct sonde_hub *hub);

/* Called at the end of every turn, when no consumer is being called. Embedded in its owner, who may
 * take it away, itself included, at any time. */
struct sn_hub_turned {
    void (*turned)(void *user);
    void *user;
    struct sn_hub_turned *next; /* the hub's */
};

void sn_hub_on_turn(struct sonde_hub *hub, struct sn_hub_turned *turned);
void sn_hub_off_turn(struct sonde_hub *hub, struct sn_hub_turned *turned);

/* What code a process had before now, told by a session of its own that lasts only for that.
 * Embedded in its owner; zero what is the hub's. */
struct sn_hub_rundown {
    void (*take)(void *user, const struct sn_event *event);
    void (*done)(void *user); /* called once, well or not, from sonde_hub_turn */
    void *user;
    struct sn_hub_target *target; /* the hub's from here on; NULL: it is over */
    struct sn_hub_rundown *next;
    struct sn_road *road; /* owns, while it runs */
};

/* Begins as soon as the process has room for another session. False: nobody listens to `pid`. */
bool sn_hub_rundown(struct sonde_hub *hub, uint32_t pid, struct sn_hub_rundown *rundown);

/* Gives it up without a call; also when it is over. */
void sn_hub_rundown_cancel(struct sn_hub_rundown *rundown);

/* Values that should have come did not: asks the runtime anew for counters and metrics. At most
 * once in a few intervals; no-op when nobody listens. */
void sn_hub_ask_again(struct sonde_hub *hub, uint32_t pid);

/* Within that time every value that is asked for should come; 0: nobody asks for any. */
uint64_t sn_hub_longest_interval_ns(const struct sonde_hub *hub, uint32_t pid);

#endif
