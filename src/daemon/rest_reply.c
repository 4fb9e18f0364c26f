#include "daemon/rest_reply.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/rest_call.h"
#include "daemon/shared_page.h"
#include "daemon/trace_cover.h"

/* Nothing of ours is shown within a page of somebody else, taken for another type, or kept. */
size_t sn_rest_reply_common(struct sn_http_header to[SN_REST_REPLY_COMMON])
{
    static const struct sn_http_header common[SN_REST_REPLY_COMMON] = {
        {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "
                                    "connect-src 'self'; img-src 'self'; base-uri 'none'; "
                                    "form-action 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
    };
    memcpy(to, common, sizeof(common));
    return SN_REST_REPLY_COMMON;
}

/* --- a file as it grows --- */

/* Held by its exchange, and by its wake while that is under way. */
struct follower {
    _Atomic unsigned reference_count;
    struct sn_mailbox_task wake;
    struct sn_http_server *http; /* borrows */
    struct sn_daemon *daemon;    /* borrows */
    uint64_t exchange_id;
    struct sn_access *access; /* borrows */
    struct sn_identity who;   /* looked at again: keys are revoked, sessions end */
    struct sn_artefact *file; /* owns a reference, until done */
    uint64_t offset;
    struct sn_trace_cover *cover; /* owns, until done; its reader may not see secrets; or NULL */
};

static void release(struct follower *follower)
{
    if (atomic_fetch_sub(&follower->reference_count, 1) == 1)
        free(follower);
}

static void wake(void *user)
{
    struct follower *follower = user;
    struct sn_http_exchange *exchange =
        sn_http_exchange_find(follower->http, follower->exchange_id);
    if (exchange)
        sn_http_exchange_wake(exchange);
    release(follower);
}

/* From the thread that writes the file. A wake that is under way will do. */
static void has_changed(void *user)
{
    struct follower *follower = user;
    (void)atomic_fetch_add(&follower->reference_count, 1);
    if (!sn_http_server_nudge(follower->http, &follower->wake, wake, follower))
        release(follower);
}

/* The next bytes of the file; as a stream's `read`. */
static ssize_t read_bytes(struct follower *follower, char *to, size_t size)
{
    ssize_t got = sn_artefact_read(follower->file, follower->offset, to, size);
    if (got < 0)
        return got == SN_ARTEFACT_END ? SN_HTTP_END : SN_HTTP_ABORT;
    follower->offset += (uint64_t)got;
    return got;
}

/* What is held back goes out when more has come, or the end. */
static ssize_t read_covered(struct follower *follower, char *to, size_t size)
{
    size_t taken;
    bool is_over = false;
    while (!(taken = sn_trace_cover_take(follower->cover, to, size)) && !is_over) {
        size_t room;
        char *at = sn_trace_cover_room(follower->cover, &room);
        ssize_t got = read_bytes(follower, at, room);
        if (got == 0 || got == SN_HTTP_ABORT)
            return got;
        is_over = got == SN_HTTP_END;
        sn_trace_cover_add(follower->cover, is_over ? 0 : (size_t)got, is_over);
    }
    return taken ? (ssize_t)taken : SN_HTTP_END;
}

static ssize_t read_file(void *user, char *to, size_t size)
{
    struct follower *follower = user;
    if (!sn_access_is_good(follower->access, &follower->who))
        return SN_HTTP_ABORT;
    return follower->cover ? read_covered(follower, to, size) : read_bytes(follower, to, size);
}

/* Whoever makes the file learns by this that nobody follows it any more. */
static void file_done(void *user, bool is_complete)
{
    struct follower *follower = user;
    (void)is_complete;
    follower->daemon->file_reader_count--;
    (void)sn_artefact_follow(follower->file, NULL, follower);
    sn_artefact_release(SN_TAKE(follower->file));
    sn_trace_cover_free(SN_TAKE(follower->cover));
    release(follower);
}

static uint64_t size_of(const struct sn_artefact *file)
{
    int status;
    return sn_artefact_is_ended(file, &status) && status == SONDE_OK ? sn_artefact_size(file)
                                                                     : UINT64_MAX;
}

/* False: no memory. Nobody would ever tell a reader who could not follow that there is more. */
static bool follow(struct sn_rest_call *call, struct sn_http_stream *ret_stream)
{
    bool is_covered = call->who.scope < SN_SCOPE_SECRETS && call->is_trace;
    struct sn_trace_cover *cover = is_covered ? sn_trace_cover_new() : NULL;
    struct follower *follower = calloc(1, sizeof(*follower));
    if (!follower || (is_covered && !cover)) {
        sn_trace_cover_free(cover);
        free(follower);
        return false;
    }
    follower->reference_count = 1;
    follower->daemon = call->daemon;
    follower->http = call->daemon->http;
    follower->exchange_id = call->exchange_id;
    follower->access = call->daemon->access;
    follower->who = call->who;
    follower->cover = cover;
    if (!sn_artefact_follow(call->file, has_changed, follower)) {
        sn_trace_cover_free(cover);
        free(follower);
        return false;
    }
    follower->file = SN_TAKE(call->file);
    follower->daemon->file_reader_count++;
    *ret_stream = (struct sn_http_stream){.read = read_file, .done = file_done, .user = follower};
    ret_stream->size = size_of(follower->file);
    return true;
}

/* --- the answer --- */

/* What the call says wins over what is common. */
static size_t put_header(struct sn_http_header *headers, size_t count, const char *name,
                         const char *value)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(headers[i].name, name) == 0) {
            headers[i].value = value;
            return count;
        }
    }
    headers[count] = (struct sn_http_header){name, value};
    return count + 1;
}

void sn_rest_reply(struct sn_rest_call *call, struct sn_http_exchange *exchange)
{
    struct sn_http_header headers[SN_REST_REPLY_COMMON + 1 + SN_REST_CALL_HEADERS_MAX];
    struct sn_http_stream stream;
    if (call->out.failed) {
        call->out.failed = false;
        sn_rest_problem(call, 503, "the answer is larger than may be; ask for less");
    }
    struct sn_http_reply reply = {.headers = headers};
    if (call->file && follow(call, &stream))
        reply.stream = &stream;
    else if (call->file) {
        call->header_count = 0; /* of the file that it would have been */
        sn_rest_problem(call, 503, "no memory for the answer");
    }
    size_t count = sn_rest_reply_common(headers);
    if (reply.stream || call->shared || call->out.size)
        count = put_header(headers, count, "Content-Type", call->content_type);
    for (size_t i = 0; i < call->header_count; i++)
        count = put_header(headers, count, call->headers[i].name, call->headers[i].value);
    reply.status = call->status;
    reply.header_count = count;
    if (!reply.stream && call->shared)
        reply.shared = call->shared;
    else if (!reply.stream)
        reply.body = &call->out;
    sn_http_exchange_answer(exchange, &reply);
}

void sn_rest_reply_page(const struct sn_shared_page *page, struct sn_http_exchange *exchange)
{
    struct sn_http_header headers[SN_REST_REPLY_COMMON + 1];
    size_t count = sn_rest_reply_common(headers);
    headers[count++] = (struct sn_http_header){"Content-Type", page->content_type};
    const struct sn_http_reply reply = {
        .status = 200, .headers = headers, .header_count = count, .shared = page->body};
    sn_http_exchange_answer(exchange, &reply);
}
