/* The inside of a hub, shared by its own files only: a hub has targets, a target consumers and two
 * lanes, a lane the session that serves it and, while that is exchanged, another one.
 *
 * Nothing here waits. Callbacks of the loop only note what happened; sn_target_tend, after each
 * turn, draws the conclusions. */
#ifndef SN_HUB_PARTS_H
#define SN_HUB_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/event_internal.h"
#include "api/hub_ask.h"
#include "api/hub_internal.h"
#include "api/hub_owner.h"
#include "base/arena.h"
#include "base/loop.h"
#include "base/table.h"
#include "flow/request.h"
#include "model/schema_set.h"
#include "model/trace_info.h"
#include "source/ipc/eventpipe.h"

struct sn_event;
struct sn_hub_target;
struct sn_schema;
struct sn_seam;

/* Sessions of a target: counters and metrics are small, steady and without stacks. Logs are apart
 * because no two sessions may have them at once: the end of one silences the other. */
enum sn_lane_number {
    SN_LANE_COUNTERS,
    SN_LANE_EVENTS,
    SN_LANE_LOGS,
    SN_LANES,
};

/* One session on the road of its target. */
struct sn_hub_session {
    struct sn_hub_lane *lane;
    struct sn_ask ask;                 /* what it asks for; owns */
    struct sn_ipc_provider *providers; /* the same as the port wants it; owns */
    struct sn_source *source;          /* the road's */
    struct sn_schema_share share;
    const struct sn_schema *conflicts[2]; /* kinds that tell of another tool's settings */
    uint64_t stop_ns;                     /* when it was asked to end; 0: it was not */
};

struct sn_hub_lane {
    struct sn_hub_target *target;
    enum sn_lane_number number;
    struct sn_hub_session *current; /* serves; NULL: none */
    struct sn_hub_session *coming;  /* is being opened, or beside `current` for a moment */
    struct sn_hub_session *going;   /* has been stopped, is read to its end */
    struct sn_seam *seam;           /* between the last two; owns */
    bool is_restarting;             /* `going` must have ended before the next is opened */
    struct sn_table common;         /* kinds by index: 1 the earlier session has them, 2 not */
    uint64_t overlap_until_ns;      /* 0: `coming` is not open yet */
    uint64_t ended_ns;              /* when `going` was read to its end; 0: it was not */
    uint64_t narrow_ns;             /* when less is asked for; 0: no reason to */
    uint64_t asked_again_ns;
    bool must_ask_again;
    bool is_dirty; /* what is wanted may differ from what is asked for */
    bool waits;    /* it does, and there is no room for another session yet */
    struct sn_timer timer;
};

struct sonde_consumer {
    struct sonde_consumer *next;
    struct sn_hub_target *target; /* borrows */
    sonde_event_fn *take;
    sonde_lost_fn *lost;
    sonde_consumer_fn *changed;
    void *user;
    struct sn_ask asks[SN_LANES]; /* owns */
    struct sn_request request;
    struct sn_arena texts; /* of `request` */
    struct sn_receiver receiver;
    int number; /* on the road; -1: not there */
    int phase;
    int status;
    struct sonde_error err;
    bool is_changed; /* it is to be told of its phase */
    bool is_removed; /* it is to be freed */
    uint64_t delivered_count;
    uint64_t declined_count;
    uint64_t lost_count;
};

/* How far a process is on the way to metrics: see hub_steps.c. */
struct sn_hub_steps {
    uint64_t asked_ns;  /* when its counters were first seen to be asked for; 0: not yet */
    uint64_t polled_ns; /* when the first of their values came; 0: none did */
    uint64_t look_ns;   /* when to see next whether anything polls them */
    uint64_t begun_ns;  /* when the first event of its metrics came; 0: none did */
    bool is_warm;       /* metrics do not meet the first poll of counters any more */
    bool has_collected; /* the first collection of metrics is over */
};

enum sn_target_stage {
    SN_TARGET_LOOKING, /* for its port */
    SN_TARGET_ASKING,  /* what it is */
    SN_TARGET_READY,
    SN_TARGET_ENDED,
};

struct sn_hub_target {
    struct sn_hub_target *next;
    struct sonde_hub *hub; /* borrows */
    uint32_t pid;
    enum sn_target_stage stage;
    bool must_close;   /* it has ended, its sessions have not */
    uint64_t since_ns; /* when it was first looked at */
    uint64_t gone_ns;  /* when a session ended by itself; 0: none did */
    unsigned major;
    struct sn_ipc_route route;
    struct sn_ipc_call asking;
    struct sn_timer timer;
    struct sn_road *road;          /* owns */
    struct sn_schema_set *schemas; /* owns; outlive the sessions */
    struct sn_trace_info info;
    bool has_info;
    struct sn_hub_lane lanes[SN_LANES];
    struct sonde_consumer *consumers; /* owns */
    uint64_t opened_count;
    uint64_t event_count; /* of sessions that have been closed */
    uint64_t lost_count;
    struct sn_hub_steps steps;
    struct sn_hub_owner owner;
    struct sn_hub_settings adopted;  /* of the metrics session: those that another tool holds */
    uint64_t adopted_ns;             /* when they were */
    uint64_t look_ns;                /* when the lock is looked at again */
    uint64_t retry_ns;               /* when metrics are asked for again; 0: no reason to */
    unsigned retries;                /* in vain */
    char conflict[256];              /* what another tool holds; "" */
    char note[512];                  /* made of that and of who the owner is, when asked for */
    struct sn_hub_rundown *rundowns; /* borrows; the first may run, the others wait */
    uint32_t peak_session_count;
};

/* A session that was given up and is told so. Its stream stays open until the runtime has answered:
 * one that finds it closed ends the session in a thread of its own, and that end may come after the
 * beginning of the next session and be taken for the end of that. */
struct sn_parting {
    struct sn_parting *next;
    struct sonde_hub *hub;
    struct sn_ipc_call call;
    struct sn_ledger_note note;
    struct sn_watch watch; /* of the stream, which is owned, read and thrown away */
};

struct sonde_hub {
    struct sonde_hub_options options;
    struct sn_loop *loop; /* owns */
    struct sn_eventpipe_scratch scratch;
    struct sn_hub_target *targets;     /* owns */
    struct sn_parting *partings;       /* owns */
    struct sn_hub_turned *turned;      /* borrows */
    struct sn_hub_turned *turned_next; /* the next to be called */
    uint64_t tended_ns;                /* what came before has been read */
    bool is_turning;
    bool must_tend;        /* consumers came or went since */
    char client_id[40];    /* what the ids of its metrics sessions begin with */
    unsigned client_count; /* how many there were: each is a client of its own */
    struct sn_table known; /* by pid: what is known of a process whose target has gone */
};

/* --- hub_consumer.c --- */

/* Reads and copies the options. */
int sn_consumer_new(const struct sonde_consumer_options *options, sonde_event_fn *take, void *user,
                    struct sonde_consumer **ret_consumer, struct sonde_error *err);
void sn_consumer_free(struct sonde_consumer *consumer);
void sn_consumer_set_phase(struct sonde_consumer *consumer, int phase);

/* It gets nothing more. `err` may be NULL for SONDE_END. */
void sn_consumer_end(struct sonde_consumer *consumer, int status, const struct sonde_error *err);
bool sn_consumer_is_over(const struct sonde_consumer *consumer);

/* Counts `count` lost events of the consumer and reports them. */
void sn_consumer_lose(struct sonde_consumer *consumer, uint64_t thread_id, uint64_t count);

/* --- hub_target.c --- */

int sn_target_new(struct sonde_hub *hub, uint32_t pid, struct sn_hub_target **ret_target,
                  struct sonde_error *err);
void sn_target_free(struct sn_hub_target *target);

/* Takes the consumer, also on failure. */
int sn_target_add(struct sn_hub_target *target, struct sonde_consumer *consumer, bool in_order,
                  struct sonde_error *err);

/* Whether its runtime may still be initializing itself; and how long it has lived. */
bool sn_target_is_starting(const struct sn_hub_target *target);
uint64_t sn_target_age_ns(const struct sn_hub_target *target);

/* What there is to do, outside the loop's callbacks. */
void sn_target_tend(struct sn_hub_target *target, uint64_t now_ns);

/* Makes `ask` say what holds for the process whoever asks. False: no memory. */
bool sn_target_fit(const struct sn_hub_target *target, struct sn_ask *ask);

/* Whether another session may be opened for a moment: two steady ones and that one are the most. */
bool sn_target_has_room(const struct sn_hub_target *target);

/* Open or being opened. */
uint32_t sn_target_session_count(const struct sn_hub_target *target);

/* All of its consumers end. */
void sn_target_fail(struct sn_hub_target *target, int status, const struct sonde_error *err);

/* --- hub_lane.c --- */

void sn_lane_init(struct sn_hub_lane *lane, struct sn_hub_target *target,
                  enum sn_lane_number number);
void sn_lane_done(struct sn_hub_lane *lane); /* before the road is freed */
void sn_lane_tend(struct sn_hub_lane *lane, uint64_t now_ns);

/* Its session has ended though nobody asked it to; and whether nothing more is to be read. */
bool sn_lane_has_lost(const struct sn_hub_lane *lane);
bool sn_lane_is_quiet(const struct sn_hub_lane *lane);
const struct sonde_error *sn_lane_error(const struct sn_hub_lane *lane); /* of one that has lost */

/* Adds what it has and asks for. */
void sn_lane_count(const struct sn_hub_lane *lane, struct sonde_hub_target *to);

/* Of counters and of metrics, which another tool may have set, whichever is longer; 0: nobody asks
 * for values. */
uint64_t sn_lane_longest_interval_ns(const struct sn_hub_lane *lane);

/* Asks the same anew, unless it has just been asked. */
void sn_lane_ask_again(struct sn_hub_lane *lane);

/* Open or being opened; and whether one of them is there for a moment only. */
uint32_t sn_lane_session_count(const struct sn_hub_lane *lane);
bool sn_lane_is_exchanging(const struct sn_hub_lane *lane);

/* --- hub_steps.c --- */

/* What is known of the process from before; and what is to be known later. */
void sn_steps_init(struct sn_hub_target *target);
void sn_steps_keep(struct sn_hub_target *target);

/* An event of this kind has come. */
void sn_steps_note(struct sn_hub_session *session, const struct sn_schema *schema);

/* Makes of what is wanted what may be asked for now. Returns when there may be more; 0: it is all.
 */
uint64_t sn_steps_fit(const struct sn_hub_lane *lane, struct sn_ask *ask, uint64_t now_ns);

/* Whether its metrics must not be stopped at this moment. */
bool sn_steps_hold(const struct sn_hub_target *target, uint64_t now_ns);

/* --- hub_rundown.c --- */

void sn_rundown_add(struct sn_hub_target *target, struct sn_hub_rundown *rundown);
bool sn_rundown_runs(const struct sn_hub_target *target);
void sn_rundown_tend(struct sn_hub_target *target);
void sn_rundown_end_all(struct sn_hub_target *target);

/* --- hub_conflict.c --- */

/* Whether events of this kind tell of another tool's settings; and what to make of one. */
bool sn_conflict_is(const struct sn_schema *schema);
void sn_conflict_take(struct sn_hub_target *target, const struct sn_event *event);

/* --- hub_session.c --- */

/* Takes what is in `ask`, also on failure. NULL: it cannot be asked for. */
struct sn_hub_session *sn_hub_session_open(struct sn_hub_lane *lane, struct sn_ask *ask,
                                           struct sonde_error *err);
bool sn_hub_session_is_open(const struct sn_hub_session *session);
void sn_hub_session_stop(struct sn_hub_session *session);

/* Takes it off the road; NULL is fine. */
void sn_hub_session_free(struct sn_hub_session *session);

/* Whether a session that asks this brings events of this kind. */
bool sn_ask_brings(const struct sn_ask *ask, const struct sn_schema *schema);

/* --- hub.c --- */

/* Stops a session that nobody wants to read any more, without waiting. `user` is the hub; takes the
 * stream. */
void sn_hub_part(void *user, const struct sn_ipc_route *route, uint64_t session_id,
                 struct sn_ledger_note *note, int stream);

#endif
