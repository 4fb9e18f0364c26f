#include "source/ipc/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/own.h"

#define NAME_KEYWORDS 0x38u /* of the rundown: modules, jitted and precompiled methods */
#define NETTRACE      1u

/* The newest command that a released runtime of this major version knows. */
static enum sn_ipc_command newest_command(unsigned major)
{
    if (major == 0 || major >= 10)
        return SN_IPC_COLLECT_TRACING5;
    return major == 9 ? SN_IPC_COLLECT_TRACING4 : SN_IPC_COLLECT_TRACING2;
}

static bool has_filters(const struct sn_ipc_wants *wants)
{
    for (size_t i = 0; i < wants->provider_count; i++) {
        if (wants->providers[i].event_id_count)
            return true;
    }
    return false;
}

/* Older commands know the rundown only whole. Who wants less than names gets none: a whole one
 * costs the target more than all else in such a trace. The oldest command cannot go without. */
static uint64_t all_or_nothing(uint64_t rundown_keyword, enum sn_ipc_command command)
{
    bool is_whole = (rundown_keyword & NAME_KEYWORDS) || command == SN_IPC_COLLECT_TRACING;
    return is_whole ? SN_IPC_DEFAULT_RUNDOWN : 0;
}

/* What of the wants the command can carry; what it cannot is noted for the caller. */
static void fit_wants(struct sn_ipc_session *session, enum sn_ipc_command command,
                      struct sn_ipc_collect *collect)
{
    const struct sn_ipc_wants *wants = &session->wants;
    *collect = (struct sn_ipc_collect){
        .buffer_mb = wants->buffer_mb,
        .format = NETTRACE,
        .rundown_keyword = wants->rundown_keyword,
        .stacks = wants->stacks || command < SN_IPC_COLLECT_TRACING3,
        .providers = wants->providers,
        .provider_count = wants->provider_count,
    };
    if (command < SN_IPC_COLLECT_TRACING4)
        collect->rundown_keyword = all_or_nothing(wants->rundown_keyword, command);
    session->command = command;
    session->stacks_off_applied = collect->stacks == wants->stacks;
    session->rundown_keyword_applied = collect->rundown_keyword == wants->rundown_keyword;
    session->filters_applied = command >= SN_IPC_COLLECT_TRACING5 || !has_filters(wants);
}

static struct sn_ipc_provider *without_filters(const struct sn_ipc_wants *wants)
{
    struct sn_ipc_provider *plain = calloc(wants->provider_count, sizeof(*plain));
    for (size_t i = 0; plain && i < wants->provider_count; i++) {
        const struct sn_ipc_provider *wanted = &wants->providers[i];
        plain[i] = (struct sn_ipc_provider){
            .name = wanted->name,
            .arguments = wanted->arguments,
            .keywords = wanted->keywords,
            .level = wanted->level,
        };
    }
    return plain;
}

static int ask(struct sn_ipc_session *session, enum sn_ipc_command command, struct sonde_error *err)
{
    struct sn_ipc_request request = {.command = command};
    fit_wants(session, command, &request.collect);
    struct sn_ipc_provider *plain = NULL;
    if (!session->filters_applied) {
        plain = without_filters(&session->wants);
        if (!plain)
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the providers of a session");
        request.collect.providers = plain;
    }
    uint64_t timeout_ns = session->wants.timeout_ns;
    int rc = sn_ipc_call_start(&session->call, session->loop, &session->route, &request,
                               timeout_ns ? timeout_ns : SN_IPC_USUAL_TIMEOUT_NS, err);
    free(plain);
    return rc;
}

/* The runtime says only "failed" when its table of sessions is full; nothing else makes it say so
 * to a request that is well-formed. */
static void say_full(struct sonde_error *cause, int pid)
{
    if (cause->status != SONDE_E_REFUSED || cause->hresult != SN_IPC_HR_FAIL)
        return;
    *cause = (struct sonde_error){.hresult = SN_IPC_HR_FAIL};
    (void)sn_fail(cause, SONDE_E_REFUSED, 0,
                  "pid %d opens no further session: most likely all of its 64 are in use, by this "
                  "or by other tools (0x%08x)",
                  pid, SN_IPC_HR_FAIL);
}

static void answered(struct sn_ipc_call *call, int status)
{
    struct sn_ipc_session *session = call->user;
    struct sonde_error cause = call->err;
    if (status == SONDE_E_REFUSED && cause.hresult == SN_IPC_HR_UNKNOWN_COMMAND &&
        session->command > SN_IPC_COLLECT_TRACING) {
        cause = (struct sonde_error){0};
        status = ask(session, session->command - 1, &cause);
        if (status == SONDE_OK)
            return;
    } else if (status == SONDE_OK) {
        status = sn_ipc_decode_session_id(call->reply.payload.bytes, call->reply.payload.size,
                                          &session->id, &cause);
        session->fd = sn_ipc_call_take_fd(call);
        session->is_open = true;
        if (status == SONDE_OK)
            sn_ledger_enter(&session->note, &session->route.target, session->id, session->fd);
        sn_ipc_reply_done(&call->reply);
    }
    say_full(&cause, session->route.target.pid);
    if (status != SONDE_OK)
        sn_ipc_session_close(session);
    session->opened(session, status, &cause);
}

static void orphans_stopped(void *user)
{
    struct sn_ipc_session *session = user;
    struct sonde_error cause = {0};
    int rc = ask(session, newest_command(session->wants.runtime_major), &cause);
    if (rc != SONDE_OK)
        session->opened(session, rc, &cause);
}

int sn_ipc_session_start(struct sn_ipc_session *session, struct sn_loop *loop,
                         const struct sn_ipc_route *route, const struct sn_ipc_wants *wants,
                         sn_ipc_session_fn *opened, struct sonde_error *err)
{
    *session = (struct sn_ipc_session){
        .fd = -1,
        .user = session->user,
        .loop = loop,
        .route = *route,
        .wants = *wants,
        .opened = opened,
        .call = {.done = answered, .user = session, .keeps_fd = true},
    };
    if (sn_orphans_start(&session->orphans, loop, &session->route, orphans_stopped, session))
        return SONDE_OK;
    return ask(session, newest_command(wants->runtime_major), err);
}

struct outcome {
    int status;
    struct sonde_error err;
    void *user; /* the session's own, meanwhile */
};

static void note_outcome(struct sn_ipc_session *session, int status, const struct sonde_error *err)
{
    struct outcome *outcome = session->user;
    outcome->status = status;
    outcome->err = *err;
}

int sn_ipc_session_open(struct sn_ipc_session *session, const struct sn_ipc_route *route,
                        const struct sn_ipc_wants *wants, struct sonde_error *err)
{
    SN_AUTO(sn_loop_free) struct sn_loop *loop = NULL;
    struct outcome outcome = {.status = SONDE_AGAIN, .user = session->user};
    int rc = sn_loop_new(&loop, err);
    if (rc != SONDE_OK)
        return rc;
    session->user = &outcome;
    rc = sn_ipc_session_start(session, loop, route, wants, note_outcome, err);
    if (rc == SONDE_OK)
        rc = sn_loop_run(loop, err);
    session->user = outcome.user;
    if (rc != SONDE_OK) {
        sn_ipc_session_close(session);
        return rc;
    }
    if (outcome.status != SONDE_OK && err && !err->status)
        *err = outcome.err;
    return outcome.status;
}

static void stop_answered(struct sn_ipc_call *call, int status)
{
    struct sn_ipc_session *session = call->user;
    struct sonde_error cause = call->err;
    if (status == SONDE_OK)
        sn_ipc_reply_done(&call->reply);
    else if (session->is_open)
        (void)shutdown(session->fd, SHUT_RDWR); /* not connected any more is just as well */
    session->stopped(session, status, &cause);
}

static void stop_sends(struct sn_ipc_call *call)
{
    struct sn_ipc_session *session = call->user;
    session->is_stop_sent = true;
    sn_ipc_session_strike(session);
}

int sn_ipc_session_stop(struct sn_ipc_session *session, struct sn_loop *loop, uint64_t timeout_ns,
                        sn_ipc_session_fn *stopped, struct sonde_error *err)
{
    struct sn_ipc_request request = {
        .command = SN_IPC_STOP_TRACING,
        .session_id = session->id,
    };
    if (session->call.is_started || session->is_stop_sent)
        return sn_fail(err, SONDE_E_BUSY, 0, "a stop of this session was sent");
    session->stopped = stopped;
    session->call =
        (struct sn_ipc_call){.done = stop_answered, .sends = stop_sends, .user = session};
    int rc = sn_ipc_call_start(&session->call, loop, &session->route, &request, timeout_ns, err);
    if (rc != SONDE_OK && session->is_open)
        (void)shutdown(session->fd, SHUT_RDWR); /* as above */
    return rc;
}

void sn_ipc_session_strike(struct sn_ipc_session *session)
{
    sn_ledger_strike(&session->note);
}

void sn_ipc_session_close(struct sn_ipc_session *session)
{
    sn_orphans_cancel(&session->orphans);
    sn_ledger_leave(&session->note);
    sn_ipc_call_cancel(&session->call);
    if (!session->is_open)
        return;
    session->is_open = false;
    sn_close(sn_take_fd(&session->fd));
}
