#include "source/ipc/eventpipe.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/source.h"

#define READ_SIZE (256u << 10)

/* Between the answer to a stop and the end of the stream; and for the stop of a stream that is
 * given up. */
#define END_TIMEOUT_NS       (10ull * SN_NS_PER_SECOND)
#define LAST_STOP_TIMEOUT_NS (500ull * SN_NS_PER_MS)

#define STOP_TIMEOUT_NS (30ull * SN_NS_PER_SECOND)

struct eventpipe {
    struct sn_source source;
    struct sn_eventpipe_options options;
    struct sn_road *road;
    struct sn_ipc_session session;
    struct sn_watch watch;
    struct sn_timer end_deadline; /* after the stop was answered */
    struct sn_decoder *decoder;
    bool is_open;
    bool is_stopping;
    bool is_stop_answered;
    bool is_drained; /* the stream's end was read */
    bool has_backlog;
    bool is_undecodable; /* the bytes are no NetTrace stream: only the tap still gets them */
    struct sonde_error err;
    uint64_t asked_ns;
    uint64_t opened_ns;
    struct sn_eventpipe_scratch own_scratch; /* owns */
    struct sn_eventpipe_scratch *scratch;
};

static void last_stop_sends(struct sn_ipc_call *call)
{
    sn_ledger_strike(call->user);
}

static void last_stop_answered(struct sn_ipc_call *call, int status)
{
    (void)status; /* when it failed the target has gone or is stuck */
    sn_ipc_reply_done(&call->reply);
}

/* Where the stop could not even be sent, who comes next may look. */
static void stop_and_wait(const struct sn_ipc_route *route, uint64_t id,
                          struct sn_ledger_note *note)
{
    struct sn_ipc_request request = {.command = SN_IPC_STOP_TRACING, .session_id = id};
    struct sn_ipc_call call = {.done = last_stop_answered, .sends = last_stop_sends, .user = note};
    SN_AUTO(sn_loop_free) struct sn_loop *loop = NULL;
    if (sn_loop_new(&loop, NULL) != SONDE_OK ||
        sn_ipc_call_start(&call, loop, route, &request, LAST_STOP_TIMEOUT_NS, NULL) != SONDE_OK)
        return;
    if (sn_loop_run(loop, NULL) != SONDE_OK)
        sn_ipc_call_cancel(&call);
}

/* A runtime notices a closed stream only when it next writes to it, which may be never: a session
 * that did not end by itself is stopped as well, once. Where that is waited for here, the stream is
 * closed first, so that the stop has nothing to wait for. */
static void close_session(struct eventpipe *pipe, bool is_at_end)
{
    sn_loop_unwatch(&pipe->watch);
    sn_loop_untimer(&pipe->end_deadline);
    uint64_t id = pipe->session.id;
    bool must_stop = pipe->is_open && !is_at_end && !pipe->session.is_stop_sent;
    if (is_at_end)
        sn_ipc_session_strike(&pipe->session);
    struct sn_ledger_note note = sn_ledger_take(&pipe->session.note);
    if (must_stop && pipe->options.part) {
        pipe->options.part(pipe->options.user, &pipe->options.route, id, &note,
                           sn_take_fd(&pipe->session.fd));
        must_stop = false;
    }
    sn_ipc_session_close(&pipe->session);
    if (!must_stop)
        return;
    stop_and_wait(&pipe->options.route, id, &note);
    sn_ledger_leave(&note);
}

static void end(struct eventpipe *pipe, int status, bool is_at_end)
{
    if (pipe->source.has_ended)
        return;
    close_session(pipe, is_at_end);
    sn_road_ended(pipe->road, &pipe->source, status);
}

/* The runtime answers a stop after it has closed the stream; to hang up before would leave it
 * writing to nobody. */
static void finish_when_both(struct eventpipe *pipe)
{
    if (!pipe->is_drained || (pipe->is_stopping && !pipe->is_stop_answered))
        return;
    struct sonde_error cut = {0};
    int rc = pipe->is_undecodable ? pipe->err.status : sn_decoder_finish(pipe->decoder, &cut);
    if (rc == SONDE_E_TRUNCATED)
        rc = sn_fail(&pipe->err, SONDE_E_GONE, 0, "the stream of pid %d ended early: %s",
                     pipe->options.route.target.pid,
                     pipe->is_stopping ? "the runtime closed it" : "the process has gone");
    end(pipe, pipe->err.status ? pipe->err.status : rc, true);
}

static void decode(struct eventpipe *pipe, size_t size)
{
    if (pipe->is_undecodable)
        return;
    struct sonde_error cause = {0};
    int rc = sn_decoder_feed(pipe->decoder, pipe->scratch->bytes, size, &cause);
    if (rc == SONDE_OK)
        return;
    pipe->is_undecodable = true;
    (void)sn_fail(&pipe->err, rc, cause.offset, "the stream of pid %d cannot be read: %s",
                  pipe->options.route.target.pid, cause.text);
}

static void take_bytes(struct eventpipe *pipe, size_t size)
{
    const struct sn_eventpipe_options *options = &pipe->options;
    if (options->tap) {
        int rc = options->tap(options->user, pipe->scratch->bytes, size, &pipe->err);
        if (rc != SONDE_OK) {
            end(pipe, rc, false);
            return;
        }
    }
    decode(pipe, size);
}

static void read_stream(struct sn_watch *watch, uint32_t events)
{
    struct eventpipe *pipe = watch->user;
    (void)events;
    ssize_t got = read(pipe->session.fd, pipe->scratch->bytes, pipe->scratch->size);
    pipe->has_backlog = got == (ssize_t)pipe->scratch->size;
    if (got > 0)
        take_bytes(pipe, (size_t)got);
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    sn_loop_unwatch(&pipe->watch);
    pipe->is_drained = true;
    finish_when_both(pipe);
}

static void give_up_waiting(struct sn_timer *timer)
{
    struct eventpipe *pipe = timer->user;
    sn_eventpipe_abandon(&pipe->source);
}

/* The stream's end is found by reading it, now or later, but not for ever. */
static void stopped(struct sn_ipc_session *session, int status, const struct sonde_error *err)
{
    struct eventpipe *pipe = session->user;
    pipe->is_stop_answered = true;
    if (status != SONDE_OK && !pipe->is_drained && !pipe->err.status)
        pipe->err = *err;
    pipe->end_deadline = (struct sn_timer){.expired = give_up_waiting, .user = pipe};
    sn_loop_timer(sn_road_loop(pipe->road), &pipe->end_deadline, sn_clock_deadline(END_TIMEOUT_NS));
    finish_when_both(pipe);
}

static void opened(struct sn_ipc_session *session, int status, const struct sonde_error *err)
{
    struct eventpipe *pipe = session->user;
    if (status != SONDE_OK) {
        pipe->err = *err;
        end(pipe, status, true);
        return;
    }
    pipe->is_open = true;
    pipe->opened_ns = sn_clock_monotonic_ns();
    pipe->watch = (struct sn_watch){.fd = session->fd, .ready = read_stream, .user = pipe};
    int rc = sn_loop_watch(sn_road_loop(pipe->road), &pipe->watch, EPOLLIN, &pipe->err);
    if (rc != SONDE_OK)
        end(pipe, rc, false);
    else if (pipe->options.stops_at_once)
        pipe->source.ops->stop(&pipe->source);
}

static int start(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    struct eventpipe *pipe = (struct eventpipe *)source;
    const struct sn_eventpipe_options *options = &pipe->options;
    pipe->road = road;
    int rc = sn_decoder_new(road, source, options->damaged, options->user, &pipe->decoder, err);
    if (rc != SONDE_OK)
        return rc;
    if (options->filter)
        sn_decoder_set_filter(pipe->decoder, options->filter);
    pipe->asked_ns = sn_clock_monotonic_ns();
    pipe->session.user = pipe;
    return sn_ipc_session_start(&pipe->session, sn_road_loop(road), &options->route,
                                &options->wants, opened, err);
}

static void stop(struct sn_source *source)
{
    struct eventpipe *pipe = (struct eventpipe *)source;
    if (pipe->source.has_ended || pipe->is_stopping)
        return;
    if (!pipe->is_open) {
        sn_eventpipe_abandon(source);
        return;
    }
    pipe->is_stopping = true;
    uint64_t timeout =
        pipe->options.stop_timeout_ns ? pipe->options.stop_timeout_ns : STOP_TIMEOUT_NS;
    int rc =
        sn_ipc_session_stop(&pipe->session, sn_road_loop(pipe->road), timeout, stopped, &pipe->err);
    if (rc != SONDE_OK)
        end(pipe, rc, false);
}

static void free_eventpipe(struct sn_source *source)
{
    struct eventpipe *pipe = (struct eventpipe *)source;
    close_session(pipe, pipe->source.has_ended);
    sn_decoder_free(pipe->decoder);
    free(pipe->own_scratch.bytes);
    free(pipe);
}

static const struct sn_source_ops eventpipe_ops = {
    .name = "eventpipe", .start = start, .stop = stop, .free = free_eventpipe};

int sn_eventpipe_new(const struct sn_eventpipe_options *options, struct sn_source **ret_source,
                     struct sonde_error *err)
{
    struct eventpipe *pipe = calloc(1, sizeof(*pipe));
    if (!pipe)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a session");
    pipe->source.ops = &eventpipe_ops;
    pipe->options = *options;
    pipe->scratch = options->scratch ? options->scratch : &pipe->own_scratch;
    if (!options->scratch)
        pipe->own_scratch = (struct sn_eventpipe_scratch){malloc(READ_SIZE), READ_SIZE};
    if (!pipe->scratch->bytes) {
        free(pipe);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a session");
    }
    *ret_source = &pipe->source;
    return SONDE_OK;
}

void sn_eventpipe_state(const struct sn_source *source, struct sn_eventpipe_state *ret_state)
{
    const struct eventpipe *pipe = (const struct eventpipe *)source;
    *ret_state = (struct sn_eventpipe_state){
        .is_open = pipe->is_open,
        .has_stacks = pipe->options.wants.stacks || !pipe->session.stacks_off_applied,
        .filters_applied = pipe->session.filters_applied,
        .err = &pipe->err,
        .asked_ns = pipe->asked_ns,
        .opened_ns = pipe->opened_ns,
        .has_backlog = pipe->has_backlog,
    };
    if (pipe->decoder)
        ret_state->counters = sn_decoder_counters(pipe->decoder);
}

const struct sn_trace_info *sn_eventpipe_info(const struct sn_source *source)
{
    const struct eventpipe *pipe = (const struct eventpipe *)source;
    return pipe->decoder ? sn_decoder_info(pipe->decoder) : NULL;
}

void sn_eventpipe_pause(struct sn_source *source, bool pauses)
{
    struct eventpipe *pipe = (struct eventpipe *)source;
    if (pauses)
        sn_loop_unwatch(&pipe->watch);
    else if (pipe->is_open && !pipe->source.has_ended && !pipe->is_drained && !pipe->watch.loop &&
             sn_loop_watch(sn_road_loop(pipe->road), &pipe->watch, EPOLLIN, &pipe->err) != SONDE_OK)
        end(pipe, pipe->err.status, false);
}

void sn_eventpipe_abandon(struct sn_source *source)
{
    struct eventpipe *pipe = (struct eventpipe *)source;
    if (pipe->source.has_ended)
        return;
    (void)sn_fail(&pipe->err, SONDE_E_GONE, 0, "the session of pid %d was closed before its end",
                  pipe->options.route.target.pid);
    if (pipe->decoder && !pipe->is_undecodable)
        (void)sn_decoder_finish(pipe->decoder, NULL); /* what an unfinished block holds */
    end(pipe, SONDE_E_GONE, false);
}
