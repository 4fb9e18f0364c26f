#include "source/ipc/call.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "source/ipc/port.h"

#define RETRY_NS       2000000u /* until a full queue or an empty slot is looked at again */
#define LONGEST_SAID   131072u  /* of a refusal in the runtime's words: a whole message as UTF-8 */
#define LONGEST_QUOTED 256u     /* of these, in ours */
#define LONGEST_SHOWN  4096u    /* the same, made printable */

void sn_ipc_reply_done(struct sn_ipc_reply *reply)
{
    sn_buf_done(&reply->payload);
    sn_buf_done(&reply->more);
}

/* Everything but the reply and the results. */
static void release(struct sn_ipc_call *call, bool keeps_fd)
{
    sn_loop_unwatch(&call->watch);
    sn_loop_untimer(&call->deadline);
    sn_loop_untimer(&call->retry);
    sn_buf_done(&call->request);
    if (!keeps_fd)
        sn_close(sn_take_fd(&call->fd));
    call->is_started = false;
}

static void finish(struct sn_ipc_call *call, int status)
{
    release(call, status == SONDE_OK && call->keeps_fd);
    if (status != SONDE_OK)
        sn_ipc_reply_done(&call->reply);
    call->done(call, status);
}

static int fail_cut(struct sn_ipc_call *call)
{
    return sn_fail(&call->err, SONDE_E_GONE, 0,
                   "pid %d closed the connection before %s was answered", call->route.target.pid,
                   sn_ipc_command_name(call->command));
}

static int fail_refused(struct sn_ipc_call *call, uint32_t hresult, const char *said)
{
    call->err.hresult = hresult;
    return sn_fail(&call->err, SONDE_E_REFUSED, 0, "pid %d refused %s: %s (0x%08x)%s%s",
                   call->route.target.pid, sn_ipc_command_name(call->command),
                   sn_ipc_hresult_text(hresult), hresult, *said ? ": " : "", said);
}

static int judge_error(struct sn_ipc_call *call)
{
    SN_AUTO(sn_buf_done) struct sn_buf said = sn_buf_with_limit(LONGEST_SAID);
    SN_AUTO(sn_buf_done) struct sn_buf shown = sn_buf_with_limit(LONGEST_SHOWN);
    uint32_t hresult;
    int rc = sn_ipc_decode_error(call->reply.payload.bytes, call->reply.payload.size, &hresult,
                                 &said, &call->err);
    if (rc != SONDE_OK)
        return rc;
    /* Its first line: what follows is about how long it took. */
    const char *line = sn_buf_string(&said);
    size_t size = strcspn(line, "\r\n");
    sn_text_printable(&shown, line, size < LONGEST_QUOTED ? size : LONGEST_QUOTED);
    return fail_refused(call, hresult, sn_buf_string(&shown));
}

static bool has_plain_result(enum sn_ipc_command command)
{
    switch (command) {
    case SN_IPC_DUMP:
    case SN_IPC_DUMP2:
    case SN_IPC_DUMP3:
    case SN_IPC_ATTACH_PROFILER:
    case SN_IPC_STARTUP_PROFILER:
    case SN_IPC_RESUME_RUNTIME:
    case SN_IPC_SET_VARIABLE:
    case SN_IPC_ENABLE_PERF_MAP:
    case SN_IPC_DISABLE_PERF_MAP:
    case SN_IPC_APPLY_STARTUP_HOOK: return true;
    default: return false;
    }
}

static int judge(struct sn_ipc_call *call)
{
    if (call->is_error)
        return judge_error(call);
    if (!has_plain_result(call->command))
        return SONDE_OK;
    uint32_t hresult;
    int rc = sn_ipc_decode_result(call->reply.payload.bytes, call->reply.payload.size, &hresult,
                                  &call->err);
    /* Positive codes are successes with a remark. */
    return rc == SONDE_OK && hresult >> 31 ? fail_refused(call, hresult, "") : rc;
}

/* Reads at most what is missing: what follows may be the stream of a session. SONDE_AGAIN: not now.
 */
static int receive(struct sn_ipc_call *call, void *to, size_t size, size_t *ret_got)
{
    for (;;) {
        ssize_t got = recv(call->fd, to, size, 0);
        if (got > 0) {
            *ret_got = (size_t)got;
            return SONDE_OK;
        }
        if (got == 0)
            return fail_cut(call);
        if (errno == EAGAIN)
            return SONDE_AGAIN;
        if (errno != EINTR)
            return sn_fail_errno(&call->err, "cannot read the reply of pid %d",
                                 call->route.target.pid);
    }
}

static int receive_into(struct sn_ipc_call *call, struct sn_buf *buf, size_t wanted)
{
    while (buf->size < wanted) {
        /* Grows as data arrives, whatever the target has announced. */
        size_t step = wanted - buf->size < 65536 ? wanted - buf->size : 65536;
        uint8_t *to = sn_buf_reserve(buf, step);
        if (!to)
            return sn_fail(&call->err, SONDE_E_NOMEM, 0, "no memory for the reply of pid %d",
                           call->route.target.pid);
        size_t got = 0;
        int rc = receive(call, to, step, &got);
        if (rc != SONDE_OK)
            return rc;
        sn_buf_grow(buf, got);
    }
    return SONDE_OK;
}

static int receive_header(struct sn_ipc_call *call)
{
    while (call->header_size < sizeof(call->header)) {
        size_t got = 0;
        int rc = receive(call, call->header + call->header_size,
                         sizeof(call->header) - call->header_size, &got);
        if (rc != SONDE_OK)
            return rc;
        call->header_size += got;
        if (call->header_size < sizeof(call->header))
            continue;
        struct sn_ipc_reply_header header;
        rc = sn_ipc_decode_reply_header(call->header, sizeof(call->header), &header, &call->err);
        if (rc != SONDE_OK)
            return rc;
        call->payload_size = header.size - SN_IPC_HEADER_SIZE;
        call->is_error = header.is_error;
    }
    return SONDE_OK;
}

static int receive_reply(struct sn_ipc_call *call)
{
    int rc = receive_header(call);
    if (rc == SONDE_OK)
        rc = receive_into(call, &call->reply.payload, call->payload_size);
    if (rc != SONDE_OK || call->is_error || call->command != SN_IPC_PROCESS_ENVIRONMENT)
        return rc;
    rc = sn_ipc_decode_environment_size(call->reply.payload.bytes, call->reply.payload.size,
                                        &call->more_size, &call->err);
    return rc == SONDE_OK ? receive_into(call, &call->reply.more, call->more_size) : rc;
}

static int send_request(struct sn_ipc_call *call)
{
    while (call->sent < call->request.size) {
        ssize_t sent = send(call->fd, call->request.bytes + call->sent,
                            call->request.size - call->sent, MSG_NOSIGNAL);
        if (sent > 0)
            call->sent += (size_t)sent;
        else if (errno == EAGAIN)
            return SONDE_AGAIN;
        else if (errno != EINTR)
            return sn_fail_errno(&call->err, "cannot send %s to pid %d",
                                 sn_ipc_command_name(call->command), call->route.target.pid);
    }
    return SONDE_OK;
}

static void ready(struct sn_watch *watch, uint32_t events)
{
    struct sn_ipc_call *call = watch->user;
    bool was_sending = call->sent < call->request.size;
    (void)events; /* what can be done is found out by doing it */
    int rc = send_request(call);
    if (rc == SONDE_OK && was_sending)
        rc = sn_loop_change(watch, EPOLLIN, &call->err);
    if (rc == SONDE_OK)
        rc = receive_reply(call);
    if (rc == SONDE_AGAIN)
        return;
    finish(call, rc == SONDE_OK ? judge(call) : rc);
}

static int open_connection(struct sn_ipc_call *call)
{
    if (call->route.port)
        return sn_ipc_port_take(call->route.port, &call->route.cookie, &call->fd, &call->err);
    return sn_ipc_connect(&call->route.target, &call->fd, &call->err);
}

/* Connects and sends in one breath: a runtime serves nobody else while a connection is silent. */
static int begin(struct sn_ipc_call *call)
{
    int rc = open_connection(call);
    if (rc == SONDE_AGAIN) {
        sn_loop_timer(call->loop, &call->retry, sn_clock_deadline(RETRY_NS));
        return SONDE_OK;
    }
    if (rc != SONDE_OK)
        return rc;
    if (call->sends)
        call->sends(call);
    rc = send_request(call);
    if (rc != SONDE_OK && rc != SONDE_AGAIN)
        return rc;
    call->watch.fd = call->fd;
    return sn_loop_watch(call->loop, &call->watch, rc == SONDE_OK ? EPOLLIN : EPOLLIN | EPOLLOUT,
                         &call->err);
}

static void try_again(struct sn_timer *timer)
{
    struct sn_ipc_call *call = timer->user;
    int rc = begin(call);
    if (rc != SONDE_OK)
        finish(call, rc);
}

static void too_late(struct sn_timer *timer)
{
    struct sn_ipc_call *call = timer->user;
    char within[32];
    finish(call, sn_fail(&call->err, SONDE_E_TIMEOUT, 0,
                         "pid %d did not answer within %s; another tool may hold its port, "
                         "or it is stuck",
                         call->route.target.pid, sn_text_duration(call->timeout_ns, within)));
}

int sn_ipc_call_start(struct sn_ipc_call *call, struct sn_loop *loop,
                      const struct sn_ipc_route *route, const struct sn_ipc_request *request,
                      uint64_t timeout_ns, struct sonde_error *err)
{
    *call = (struct sn_ipc_call){
        .done = call->done,
        .user = call->user,
        .sends = call->sends,
        .keeps_fd = call->keeps_fd,
        .fd = -1,
        .loop = loop,
        .route = *route,
        .command = request->command,
        .timeout_ns = timeout_ns,
        .is_started = true,
        .request = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE),
        .reply = {.payload = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE),
                  .more = sn_buf_with_limit(SN_IPC_LARGEST_ENVIRONMENT)},
        .watch = {.fd = -1, .ready = ready, .user = call},
        .deadline = {.expired = too_late, .user = call},
        .retry = {.expired = try_again, .user = call},
    };
    int rc = sn_ipc_encode(request, &call->request, &call->err);
    if (rc == SONDE_OK)
        rc = begin(call);
    if (rc != SONDE_OK) {
        release(call, false);
        if (err && !err->status)
            *err = call->err;
        return rc;
    }
    if (timeout_ns != UINT64_MAX)
        sn_loop_timer(loop, &call->deadline, sn_clock_deadline(timeout_ns));
    return SONDE_OK;
}

int sn_ipc_call_take_fd(struct sn_ipc_call *call)
{
    return sn_take_fd(&call->fd);
}

void sn_ipc_call_cancel(struct sn_ipc_call *call)
{
    if (!call->is_started)
        return;
    release(call, false);
    sn_ipc_reply_done(&call->reply);
}

static void note_status(struct sn_ipc_call *call, int status)
{
    *(int *)call->user = status;
}

int sn_ipc_call(const struct sn_ipc_route *route, const struct sn_ipc_request *request,
                uint64_t timeout_ns, struct sn_ipc_reply *ret_reply, struct sonde_error *err)
{
    SN_AUTO(sn_loop_free) struct sn_loop *loop = NULL;
    int status = SONDE_AGAIN;
    struct sn_ipc_call call = {.done = note_status, .user = &status};
    int rc = sn_loop_new(&loop, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sn_ipc_call_start(&call, loop, route, request, timeout_ns, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sn_loop_run(loop, err);
    if (rc != SONDE_OK) {
        sn_ipc_call_cancel(&call);
        return rc;
    }
    if (status == SONDE_OK) {
        *ret_reply = call.reply;
        return SONDE_OK;
    }
    if (err && !err->status)
        *err = call.err;
    return status;
}
