/* A request and its answer: from libmicrohttpd's calls to the handler's, and back. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "net/http_parts.h"

/* What is taken and dropped of a body of unknown length that is too large, before its sender is cut
 * off: who sends a little too much has an answer. */
#define DRAIN_SIZE (4u << 20)

/* For readers of HTTP/1.0, and of a size that is known; others read into the connection's. */
#define STREAM_BLOCK_SMALL 1024u
#define STREAM_BLOCK       (32u << 10)

/* --- answers --- */

static bool add_headers(struct MHD_Response *response, const struct sn_http_reply *reply)
{
    for (size_t i = 0; i < reply->header_count; i++) {
        if (MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value) !=
            MHD_YES)
            return false;
    }
    return true;
}

static void resume(struct sn_http_exchange *exchange)
{
    if (!exchange->is_suspended)
        return;
    exchange->is_suspended = false;
    MHD_resume_connection(exchange->connection);
    sn_http_server_stir(exchange->link->spot->server);
}

static void suspend(struct sn_http_exchange *exchange)
{
    exchange->is_suspended = true;
    MHD_suspend_connection(exchange->connection);
}

/* Called by libmicrohttpd when there is room for more. */
static ssize_t read_stream(void *user, uint64_t position, char *to, size_t size)
{
    struct sn_http_exchange *exchange = user;
    (void)position;
    if (exchange->is_gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    exchange->is_woken = false;
    ssize_t got = exchange->stream.read(exchange->stream.user, to, size);
    if (got > 0)
        return got;
    if (got == SN_HTTP_END)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (got != 0 || exchange->link->has_left)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    suspend(exchange);
    if (exchange->is_woken) /* meanwhile */
        resume(exchange);
    return 0;
}

static struct MHD_Response *make_response(struct sn_http_exchange *exchange,
                                          const struct sn_http_reply *reply)
{
    struct sn_buf *body = reply->body;
    if (exchange->stream.read) {
        bool is_known = exchange->stream.size != UINT64_MAX;
        return MHD_create_response_from_callback(
            is_known ? exchange->stream.size : MHD_SIZE_UNKNOWN,
            is_known ? STREAM_BLOCK : STREAM_BLOCK_SMALL, read_stream, exchange, NULL);
    }
    if (reply->shared && reply->shared->body.size) {
        exchange->held_size = reply->shared->body.size;
        return sn_http_shared_response(reply->shared);
    }
    if (!body || !body->size)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback(body->size, body->bytes, free);
    if (response) {
        exchange->held_size = body->size;
        *body = sn_buf_with_limit(body->limit);
    }
    return response;
}

static enum MHD_Result queue(struct sn_http_exchange *exchange)
{
    struct MHD_Response *response = SN_TAKE(exchange->response);
    enum MHD_Result rc = MHD_queue_response(exchange->connection, exchange->status, response);
    MHD_destroy_response(response); /* libmicrohttpd holds it */
    sn_http_link_phase(exchange->link, exchange->stream.read ? SN_HTTP_WORK : SN_HTTP_ANSWER);
    return rc;
}

/* Its sender waited for us: that is not held against him. */
static void go_on(struct sn_http_exchange *exchange)
{
    if (!exchange->is_suspended)
        return;
    exchange->body_waited = exchange->body_size;
    sn_http_link_phase(exchange->link, SN_HTTP_BODY);
    resume(exchange);
}

void sn_http_exchange_answer(struct sn_http_exchange *exchange, const struct sn_http_reply *reply)
{
    if (exchange->is_answered || exchange->is_gone) {
        if (reply->body)
            sn_buf_done(reply->body);
        if (reply->stream && reply->stream->done)
            reply->stream->done(reply->stream->user, false);
        return;
    }
    exchange->is_answered = true;
    exchange->status = reply->status;
    if (reply->stream)
        exchange->stream = *reply->stream;
    exchange->response = make_response(exchange, reply);
    if (reply->body)
        sn_buf_done(reply->body);
    if (!exchange->response || !add_headers(exchange->response, reply))
        exchange->is_gone = true; /* without memory: cut */
    if (exchange->taker.take && !exchange->is_whole)
        go_on(exchange);
    else
        resume(exchange);
}

static const char *reason(unsigned status)
{
    const char *words = MHD_get_reason_phrase_for(status);
    return words ? words : "Error";
}

/* An answer of ours, after which the connection ends. */
static enum MHD_Result refuse(struct sn_http_exchange *exchange, unsigned status, const char *why)
{
    static const struct sn_http_header headers[] = {
        {"Content-Type", "application/problem+json"},
        {"Cache-Control", "no-store"},
        {"Connection", "close"},
    };
    struct sn_buf body = sn_buf_with_limit(512);
    sn_buf_format(&body,
                  "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"detail\":\"the "
                  "request cannot be served: %s\"}\n",
                  reason(status), status, why);
    struct sn_http_reply reply = {
        .status = status, .headers = headers, .header_count = 3, .body = &body};
    exchange->is_handled = true;
    exchange->link->must_linger = true;
    sn_http_exchange_answer(exchange, &reply);
    return exchange->response && !exchange->is_gone ? queue(exchange) : MHD_NO;
}

void sn_http_exchange_wake(struct sn_http_exchange *exchange)
{
    exchange->is_woken = true;
    if (exchange->stream.read)
        resume(exchange);
    else if (exchange->taker.take && !exchange->is_whole)
        go_on(exchange);
}

void sn_http_exchange_lose(struct sn_http_exchange *exchange)
{
    exchange->is_gone = true;
    resume(exchange);
}

void sn_http_exchange_on_end(struct sn_http_exchange *exchange, void (*ended)(void *user),
                             void *user)
{
    exchange->ended = ended;
    exchange->ended_user = user;
}

/* --- requests --- */

static struct sn_http_link *link_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* The first line has come; what it returns goes with the request. */
void *sn_http_exchange_begin(void *user, const char *uri, struct MHD_Connection *connection)
{
    struct sn_http_spot *spot = user;
    struct sn_http_link *link = link_of(connection);
    struct sn_http_exchange *exchange = link ? calloc(1, sizeof(*exchange)) : NULL;
    if (!exchange)
        return NULL;
    uint64_t id = spot->server->last_id + 1;
    uint64_t *slot = sn_table_put(&spot->server->exchanges, id);
    exchange->path = strdup(uri ? uri : "");
    if (!slot || !exchange->path) {
        free(exchange->path);
        free(exchange);
        return NULL;
    }
    *slot = (uintptr_t)exchange;
    spot->server->last_id = id;
    exchange->id = id;
    exchange->uri = uri;
    exchange->uri_size = uri ? strlen(uri) : 0;
    exchange->link = link;
    exchange->connection = connection;
    exchange->body = sn_buf_with_limit(spot->server->limits.body_max);
    link->exchange = exchange;
    link->has_asked = true;
    sn_http_link_phase(link, SN_HTTP_HEAD);
    return exchange;
}

/* The handler answers without the body, or takes it as it comes. */
static enum MHD_Result handle_early(struct sn_http_exchange *exchange)
{
    struct sn_http_server *server = exchange->link->spot->server;
    exchange->is_handled = true;
    server->handle(server->user, exchange);
    if (exchange->is_gone)
        return MHD_NO;
    if (!exchange->response)
        return MHD_YES;
    exchange->link->must_linger = exchange->announced != 0;
    return queue(exchange);
}

static enum MHD_Result take_head(struct sn_http_exchange *exchange, const char *method,
                                 const char *version)
{
    const char *why = "";
    exchange->has_head = true;
    exchange->method = method;
    exchange->version = version;
    sn_http_link_phase(exchange->link, SN_HTTP_BODY);
    unsigned status = sn_http_head_check(exchange, &why);
    if (status)
        return refuse(exchange, status, why);
    return exchange->is_early ? handle_early(exchange) : MHD_YES;
}

void sn_http_exchange_take(struct sn_http_exchange *exchange, const struct sn_http_taker *taker)
{
    exchange->taker = *taker;
}

/* libmicrohttpd takes no answer in the middle of a body: it waits for the end. */
static enum MHD_Result drop(struct sn_http_exchange *exchange, size_t size)
{
    exchange->link->must_linger = true;
    exchange->dropped_size += size;
    return exchange->dropped_size <= DRAIN_SIZE ? MHD_YES : MHD_NO;
}

/* Its taker has not said yet that it can take more. */
static bool is_busy(const struct sn_http_exchange *exchange)
{
    return exchange->is_full && !exchange->is_woken && !exchange->is_answered && !exchange->is_gone;
}

static enum MHD_Result pass_on(struct sn_http_exchange *exchange, const char *bytes, size_t size)
{
    if (exchange->is_gone)
        return MHD_NO;
    if (exchange->is_answered)
        return drop(exchange, size);
    exchange->is_woken = false;
    exchange->is_full = !exchange->taker.take(exchange->taker.user, bytes, size);
    if (is_busy(exchange))
        sn_http_link_phase(exchange->link, SN_HTTP_WORK);
    return MHD_YES;
}

static enum MHD_Result take_body(struct sn_http_exchange *exchange, const char *bytes, size_t size)
{
    size_t max = exchange->link->spot->server->limits.body_max;
    exchange->body_size += size;
    if (exchange->taker.take)
        return pass_on(exchange, bytes, size);
    if (exchange->body_size <= max) {
        sn_buf_append(&exchange->body, bytes, size);
        return exchange->body.failed ? MHD_NO : MHD_YES;
    }
    sn_buf_done(&exchange->body);
    return exchange->body_size - max <= DRAIN_SIZE ? MHD_YES : MHD_NO;
}

/* The whole request is there: at first, and whenever it is resumed. */
static enum MHD_Result take_end(struct sn_http_exchange *exchange)
{
    struct sn_http_server *server = exchange->link->spot->server;
    if (exchange->is_gone)
        return MHD_NO;
    if (!exchange->is_handled) {
        if (exchange->body_size > server->limits.body_max)
            return refuse(exchange, MHD_HTTP_CONTENT_TOO_LARGE, "its body is too large");
        exchange->is_handled = true;
        sn_http_link_phase(exchange->link, SN_HTTP_WORK);
        server->handle(server->user, exchange);
    }
    if (exchange->taker.take && !exchange->is_whole) {
        exchange->is_whole = true;
        sn_http_link_phase(exchange->link, SN_HTTP_WORK);
        if (!exchange->is_answered)
            exchange->taker.whole(exchange->taker.user);
    }
    if (exchange->response && !exchange->is_gone)
        return queue(exchange);
    if (exchange->is_gone || exchange->link->has_left)
        return MHD_NO;
    suspend(exchange);
    return MHD_YES;
}

/* How many parameters there are is not ours to say. */
/* NOLINTNEXTLINE(readability-function-size) */
enum MHD_Result sn_http_exchange_serve(void *user, struct MHD_Connection *connection,
                                       const char *path, const char *method, const char *version,
                                       const char *upload, size_t *upload_size, void **slot)
{
    struct sn_http_exchange *exchange = *slot;
    (void)user;
    (void)connection;
    (void)path; /* cut at its first zero: the whole was seen when it came */
    if (!exchange)
        return MHD_NO;
    if (!exchange->has_head)
        return take_head(exchange, method, version);
    if (is_busy(
            exchange)) { /* what is there is shown again; taken and suspended, it would read on */
        suspend(exchange);
        return MHD_YES;
    }
    if (!*upload_size)
        return take_end(exchange);
    size_t size = *upload_size;
    *upload_size = 0;
    return take_body(exchange, upload, size);
}

static void free_exchange(struct sn_http_exchange *exchange)
{
    if (exchange->response)
        MHD_destroy_response(exchange->response);
    sn_buf_done(&exchange->body);
    free(exchange->client_name);
    free(exchange->path);
    free(exchange);
}

void sn_http_exchange_end(void *user, struct MHD_Connection *connection, void **slot,
                          enum MHD_RequestTerminationCode how)
{
    struct sn_http_spot *spot = user;
    struct sn_http_exchange *exchange = *slot;
    (void)connection;
    if (!exchange)
        return;
    *slot = NULL;
    exchange->is_gone = true;
    sn_table_remove(&spot->server->exchanges, exchange->id);
    exchange->link->exchange = NULL;
    if (!exchange->is_answered) /* libmicrohttpd did, perhaps: it refuses things as well */
        exchange->link->must_linger = true;
    if (!exchange->link->is_cut)
        sn_http_link_phase(exchange->link, SN_HTTP_IDLE);
    if (exchange->stream.done)
        exchange->stream.done(exchange->stream.user, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    if (exchange->ended)
        exchange->ended(exchange->ended_user);
    free_exchange(exchange);
}

/* --- what is asked of one --- */

uint64_t sn_http_exchange_id(const struct sn_http_exchange *exchange)
{
    return exchange->id;
}

struct sn_http_exchange *sn_http_exchange_find(struct sn_http_server *server, uint64_t id)
{
    const uint64_t *slot = sn_table_find(&server->exchanges, id);
    struct sn_http_exchange *exchange = slot ? (struct sn_http_exchange *)(uintptr_t)*slot : NULL;
    return exchange && !exchange->is_gone ? exchange : NULL;
}

const char *sn_http_exchange_method(const struct sn_http_exchange *exchange)
{
    return exchange->method;
}

const char *sn_http_exchange_path(const struct sn_http_exchange *exchange)
{
    return exchange->path;
}

const char *sn_http_exchange_query(const struct sn_http_exchange *exchange)
{
    return exchange->query;
}

const char *sn_http_exchange_header(const struct sn_http_exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

const char *sn_http_exchange_body(const struct sn_http_exchange *exchange, size_t *ret_size)
{
    *ret_size = exchange->body.size;
    return exchange->body.size ? (const char *)exchange->body.bytes : "";
}

uint64_t sn_http_exchange_announced(const struct sn_http_exchange *exchange)
{
    return exchange->announced;
}

unsigned sn_http_exchange_tag(const struct sn_http_exchange *exchange)
{
    return exchange->link->spot->tag;
}

bool sn_http_exchange_is_tls(const struct sn_http_exchange *exchange)
{
    return exchange->link->spot->is_tls;
}
