/* One command, one connection: the request is built and proved, then connected, sent at once, the
 * reply read to its last byte and no further, and the connection closed, whatever the answer was.
 * A deadline stands over all of it. */
#ifndef SN_IPC_CALL_H
#define SN_IPC_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "sonde/error.h"
#include "source/ipc/discover.h"
#include "source/ipc/message.h"
#include "source/ipc/reply.h"

struct sn_ipc_call;
struct sn_ipc_port;

/* How long a runtime may take for anything but a dump or a rundown. */
#define SN_IPC_USUAL_TIMEOUT_NS (5ull * 1000 * 1000 * 1000)

/* Where connections to one runtime come from: its socket, or a port of ours that it connects to. */
struct sn_ipc_route {
    struct sn_ipc_target target;
    struct sn_ipc_port *port;  /* borrows; NULL: connect to target's socket */
    struct sn_ipc_guid cookie; /* which runtime at the port */
};

static inline struct sn_ipc_route sn_ipc_route_to(const struct sn_ipc_target *target)
{
    return (struct sn_ipc_route){.target = *target};
}

/* What came back. Zero it before use. */
struct sn_ipc_reply {
    struct sn_buf payload; /* of an OK reply, without the header */
    struct sn_buf more;    /* what followed it: the environment */
};

void sn_ipc_reply_done(struct sn_ipc_reply *reply);

static inline void sn_ipc_reply_done_auto(struct sn_ipc_reply *reply)
{
    sn_ipc_reply_done(reply);
}

/* `status` is SONDE_OK and call->reply is filled and the owner's to release, or it failed and
 * call->err says how: for a refusal by the runtime SONDE_E_REFUSED with its HRESULT. Called once,
 * from the loop, as the last thing: the call may be started anew or freed in it. */
typedef void sn_ipc_call_fn(struct sn_ipc_call *call, int status);

/* Embedded in its owner; zero it, set `done` and `user`, start it. One thread: the loop's. */
struct sn_ipc_call {
    sn_ipc_call_fn *done;
    void *user;

    /* The results, for `done`. */
    struct sn_ipc_reply reply;
    struct sonde_error err;
    int fd; /* owns; open in `done` after SONDE_OK only if keeps_fd */

    bool keeps_fd; /* set before start: the connection is handed on, as that of a session */

    /* Set before start, may be NULL: called once, before the first byte goes. Whatever comes then,
     * the runtime may carry the request out, however much later. */
    void (*sends)(struct sn_ipc_call *call);

    /* Its own. */
    struct sn_loop *loop;
    struct sn_ipc_route route;
    enum sn_ipc_command command;
    uint64_t timeout_ns;
    struct sn_buf request;
    size_t sent;
    uint8_t header[SN_IPC_HEADER_SIZE];
    size_t header_size;
    size_t payload_size; /* expected, once the header is there */
    size_t more_size;    /* expected, once the payload is there */
    bool is_error;
    bool is_started;
    struct sn_watch watch;
    struct sn_timer deadline;
    struct sn_timer retry;
};

/* SONDE_OK: `done` will be called. Otherwise it failed at once, err says how, and it will not.
 * `timeout_ns` UINT64_MAX waits for ever. Request and route are not needed afterwards. */
int sn_ipc_call_start(struct sn_ipc_call *call, struct sn_loop *loop,
                      const struct sn_ipc_route *route, const struct sn_ipc_request *request,
                      uint64_t timeout_ns, struct sonde_error *err);

/* Moves the connection out, in `done`. */
int sn_ipc_call_take_fd(struct sn_ipc_call *call);

/* Gives up, without calling `done`, and releases everything. No-op for one that is not running. */
void sn_ipc_call_cancel(struct sn_ipc_call *call);

/* The same in one go, on a loop of its own. */
int sn_ipc_call(const struct sn_ipc_route *route, const struct sn_ipc_request *request,
                uint64_t timeout_ns, struct sn_ipc_reply *ret_reply, struct sonde_error *err);

#endif
