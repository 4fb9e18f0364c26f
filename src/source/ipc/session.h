/* An EventPipe session: opened with the newest command the runtime knows, read by the caller,
 * stopped on a second connection.
 *
 * The caller must read session->fd until its end, and go on reading while a stop is pending: a
 * runtime whose stream is not read answers nobody. Closing without a stop is safe at any time; the
 * rundown is then missing.
 *
 * Before it opens, sessions of this runtime that killed programs of this user have left are
 * stopped; while it is open it stands in their ledger. */
#ifndef SN_IPC_SESSION_H
#define SN_IPC_SESSION_H

#include "source/ipc/call.h"
#include "source/ipc/ledger.h"
#include "source/ipc/orphans.h"

struct sn_ipc_session;

struct sn_ipc_wants {
    const struct sn_ipc_provider *providers; /* borrows, until opened */
    size_t provider_count;
    uint32_t buffer_mb;
    uint64_t rundown_keyword; /* 0: none */
    bool stacks;
    unsigned runtime_major; /* of sn_ipc_process_info; 0: not known, it is found out by trying */
    uint64_t timeout_ns;    /* for each command that is tried; 0: the usual */
};

/* `err` says how it failed and is borrowed. The session may be started, stopped, closed in it. */
typedef void sn_ipc_session_fn(struct sn_ipc_session *session, int status,
                               const struct sonde_error *err);

/* Zero it before use; must not move between start and opened, nor between stop and stopped. One
 * thread: the loop's. */
struct sn_ipc_session {
    /* Once it is open. */
    uint64_t id;
    int fd; /* owns; the stream, non-blocking, from its first byte on */
    bool is_open;
    bool filters_applied;         /* false: wanted, but the caller must filter event ids itself */
    bool stacks_off_applied;      /* false: stacks come although they were not wanted */
    bool rundown_keyword_applied; /* false: another rundown comes than was wanted */
    enum sn_ipc_command command;  /* the one that opened it */

    void *user; /* the caller's */

    /* Its own. */
    struct sn_ipc_route route;
    struct sn_ipc_wants wants;
    struct sn_loop *loop;
    struct sn_orphans orphans;
    struct sn_ipc_call call;
    struct sn_ledger_note note;
    bool is_stop_sent; /* never a second one: its id may be another session's by then */
    sn_ipc_session_fn *opened;
    sn_ipc_session_fn *stopped;
};

/* SONDE_OK: `opened` will be called. Otherwise it failed at once and will not be. */
int sn_ipc_session_start(struct sn_ipc_session *session, struct sn_loop *loop,
                         const struct sn_ipc_route *route, const struct sn_ipc_wants *wants,
                         sn_ipc_session_fn *opened, struct sonde_error *err);

/* The same in one go. */
int sn_ipc_session_open(struct sn_ipc_session *session, const struct sn_ipc_route *route,
                        const struct sn_ipc_wants *wants, struct sonde_error *err);

/* Asks the runtime to end the session. `stopped` is called when the runtime has written everything;
 * the stream then has an end, which the reader may reach before or after. When it fails or
 * `timeout_ns` passes, the stream is shut down: the reader finds its end, the runtime is free. Once
 * the request is sent the ledger knows nothing of the session any more. */
int sn_ipc_session_stop(struct sn_ipc_session *session, struct sn_loop *loop, uint64_t timeout_ns,
                        sn_ipc_session_fn *stopped, struct sonde_error *err);

/* The runtime has ended the session: nobody needs to look for it any more. */
void sn_ipc_session_strike(struct sn_ipc_session *session);

/* Closes the stream and gives up whatever is pending. No-op for a zeroed or closed one. */
void sn_ipc_session_close(struct sn_ipc_session *session);

#endif
