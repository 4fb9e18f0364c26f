/* The EventPipe source: a session of one runtime, read, tapped and decoded onto a road.
 *
 * It opens its session on the road's loop, drains it from then on, also while a stop is pending,
 * and ends when the runtime closed the stream or died. */
#ifndef SN_EVENTPIPE_H
#define SN_EVENTPIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/decode.h"
#include "source/ipc/session.h"

struct sn_source;

/* Gets the runtime's own bytes before they are decoded; borrowed. A failure ends the source. */
typedef int sn_raw_tap_fn(void *user, const void *bytes, size_t size, struct sonde_error *err);

/* Where bytes are read into: sources of one loop may share it, as each is done with it when it
 * comes back. A Unix socket holds about 200 KB; a larger one would only be touched, not filled. */
struct sn_eventpipe_scratch {
    uint8_t *bytes;
    size_t size;
};

struct sn_eventpipe_options {
    struct sn_ipc_route route;
    struct sn_ipc_wants wants; /* providers are borrowed until the session is open */
    sn_raw_tap_fn *tap;        /* may be NULL */
    sn_damage_fn *damaged;     /* may be NULL */
    void *user;                /* for all three */
    uint64_t stop_timeout_ns;  /* how long a stop, with its rundown, may take; 0: 30 s */
    bool stops_at_once;        /* for the sake of a rundown only */
    /* A session that is given up is stopped by this, which does not wait; it takes the stream and
     * must read it until the stop is answered, and the note in the ledger. NULL: it is waited for,
     * half a second at most. */
    void (*part)(void *user, const struct sn_ipc_route *route, uint64_t session_id,
                 struct sn_ledger_note *note, int stream);
    const struct sn_decode_filter *filter; /* or NULL; copied */
    struct sn_eventpipe_scratch *scratch;  /* borrows; NULL: one of its own */
};

struct sn_eventpipe_state {
    bool is_open;                  /* or was */
    bool has_stacks;               /* they come, wanted or not */
    bool filters_applied;          /* event ids are filtered by the runtime */
    const struct sonde_error *err; /* how it ended, when not well */
    uint64_t asked_ns;             /* when the runtime was asked to open it, */
    uint64_t opened_ns;            /* and when it had; monotonic */
    bool has_backlog;              /* there was more to read than fitted at the last turn */
    struct sn_nettrace_counters counters;
};

int sn_eventpipe_new(const struct sn_eventpipe_options *options, struct sn_source **ret_source,
                     struct sonde_error *err);

void sn_eventpipe_state(const struct sn_source *source, struct sn_eventpipe_state *ret_state);
const struct sn_trace_info *sn_eventpipe_info(const struct sn_source *source);

/* Leaves its stream unread for a while: the runtime holds what it can and counts what it drops. */
void sn_eventpipe_pause(struct sn_source *source, bool pauses);

/* Does not wait for a rundown any more: closes the stream now. */
void sn_eventpipe_abandon(struct sn_source *source);

#endif
