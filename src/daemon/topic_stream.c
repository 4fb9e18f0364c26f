#include "daemon/topic_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "daemon/daemon.h"
#include "daemon/rest_call.h"
#include "daemon/rest_reply.h"
#include "daemon/router.h"
#include "daemon/topic_parts.h"
#include "net/http_server.h"

#define NAMES_MAX    64u
#define NOTICE_SIZE  1024u /* a name of a topic fits in, whatever its letters */
#define REFUSED_SIZE ((size_t)NAMES_MAX * 4096) /* likewise, and the reasons */

/* What one reader reads of one topic. */
struct reading {
    struct sn_topic *topic;
    struct sn_topic_place place;
};

struct sn_topic_stream {
    struct sn_topics *topics; /* borrows */
    struct sn_topic_stream *next;
    struct sn_topic_stream **slot;
    uint64_t exchange_id;
    struct sn_identity who;           /* looked at again: keys are revoked, sessions end */
    struct sn_topic_message *message; /* owns a reference: being sent */
    size_t offset;
    char notice[NOTICE_SIZE]; /* of ours, sent before the next message */
    size_t notice_size;
    bool is_ping_due;
    size_t turn; /* whose is next */
    size_t count;
    struct reading readings[];
};

static void set_notice(struct sn_topic_stream *stream, const char *text)
{
    size_t size = strlen(text);
    memcpy(stream->notice, text, size);
    stream->notice_size = size;
}

/* Counted on the stream itself, where the reader sees it. */
static void note_loss(struct sn_topic_stream *stream, const struct sn_topic *topic, uint64_t number,
                      uint64_t lost)
{
    struct sn_buf text = sn_buf_over(stream->notice, NOTICE_SIZE); /* needs no memory */
    sn_buf_text(&text, "event: lost\ndata: ");
    struct sn_json json = sn_json_to(&text);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "topic", sn_topic_name(topic));
    sn_json_u64(&json, "before", number);
    sn_json_u64(&json, "count", lost);
    sn_json_close(&json);
    sn_buf_text(&text, "\n\n");
    stream->notice_size = text.size;
    stream->topics->lost_count += lost;
}

/* Each topic in its turn: a busy one does not shut the others out. */
static bool fetch(struct sn_topic_stream *stream)
{
    uint64_t lost;
    for (size_t i = 0; i < stream->count; i++) {
        stream->turn = (stream->turn + 1) % stream->count;
        struct reading *reading = &stream->readings[stream->turn];
        stream->message = sn_topic_take(reading->topic, &reading->place, &lost);
        stream->offset = 0;
        if (lost)
            note_loss(stream, reading->topic,
                      stream->message ? stream->message->number : reading->place.at, lost);
        if (lost || stream->message)
            return true;
    }
    return false;
}

static size_t send_notice(struct sn_topic_stream *stream, char *to, size_t size)
{
    size_t part = stream->notice_size < size ? stream->notice_size : size;
    memcpy(to, stream->notice, part);
    memmove(stream->notice, stream->notice + part, stream->notice_size - part);
    stream->notice_size -= part;
    return part;
}

static size_t send_message(struct sn_topic_stream *stream, char *to, size_t size)
{
    size_t left = stream->message->size - stream->offset;
    size_t part = left < size ? left : size;
    memcpy(to, stream->message->bytes + stream->offset, part);
    stream->offset += part;
    if (stream->offset == stream->message->size)
        sn_topic_message_release(SN_TAKE(stream->message));
    return part;
}

static ssize_t read_stream(void *user, char *to, size_t size)
{
    struct sn_topic_stream *stream = user;
    size_t used = 0;
    if (!sn_access_is_good(stream->topics->daemon->access, &stream->who))
        return SN_HTTP_END;
    while (used < size) {
        bool is_between = !stream->message || !stream->offset;
        if (!stream->message && !stream->notice_size && !fetch(stream)) {
            if (!stream->is_ping_due)
                break;
            set_notice(stream, ": ping\n\n");
        }
        stream->is_ping_due = false;
        if (stream->notice_size && is_between)
            used += send_notice(stream, to + used, size - used);
        else if (stream->message) /* none after a loss that is the last thing so far */
            used += send_message(stream, to + used, size - used);
    }
    return (ssize_t)used;
}

static void stream_done(void *user, bool is_complete)
{
    (void)is_complete;
    struct sn_topic_stream *stream = user;
    *stream->slot = stream->next;
    if (stream->next)
        stream->next->slot = stream->slot;
    stream->topics->stream_count--;
    sn_topic_message_release(stream->message);
    for (size_t i = 0; i < stream->count; i++)
        sn_topic_leave(stream->readings[i].topic);
    free(stream);
}

void sn_topic_stream_wake_all(struct sn_topics *topics, bool is_ping)
{
    for (struct sn_topic_stream *stream = topics->streams, *next; stream; stream = next) {
        next = stream->next;
        stream->is_ping_due |= is_ping;
        struct sn_http_exchange *exchange =
            sn_http_exchange_find(topics->daemon->http, stream->exchange_id);
        if (exchange)
            sn_http_exchange_wake(exchange);
    }
}

/* --- the beginning --- */

static bool has(const struct sn_topic_stream *stream, const struct sn_topic *topic)
{
    for (size_t i = 0; i < stream->count; i++) {
        if (stream->readings[i].topic == topic)
            return true;
    }
    return false;
}

/* It stands in a line of the stream. */
static bool is_plain(const char *name)
{
    size_t size = 0;
    for (; name[size]; size++) {
        if ((unsigned char)name[size] <= ' ' || (unsigned char)name[size] >= 0x7f)
            return false;
    }
    return size < SN_TOPIC_NAME_SIZE;
}

/* What is switched off is told by no topic either. */
static bool is_off(const struct sn_daemon *daemon, const char *name)
{
    char resource[SN_TOPIC_NAME_SIZE];
    (void)snprintf(resource, sizeof(resource), "%.*s", (int)strcspn(name, "/"), name);
    return sn_router_is_disabled(daemon, strcmp(resource, "events") == 0 ? "trace" : resource);
}

/* False: `err` says why not. */
static bool join(struct sn_rest_call *call, struct sn_topic_stream *stream, const char *name,
                 struct sonde_error *err)
{
    struct sn_topic_place place;
    struct sn_topic *topic = NULL;
    if (!is_plain(name))
        (void)sn_fail(err, SONDE_E_NOT_FOUND, 0,
                      "a topic has a name of printable letters, below 256");
    else if (is_off(call->daemon, name))
        (void)sn_fail(err, SONDE_E_NOT_FOUND, 0, "'%.64s' is switched off", name);
    else
        topic = sn_topic_join(call->daemon->topics, name, call->who.scope, &place, err);
    if (topic && has(stream, topic))
        sn_topic_leave(topic);
    else if (topic)
        stream->readings[stream->count++] = (struct reading){topic, place};
    return topic != NULL;
}

static void put_refused(struct sn_buf *to, const char *name, const struct sonde_error *err)
{
    sn_buf_text(to, "event: refused\ndata: ");
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    sn_json_bytes(&json, "topic", name, strnlen(name, SN_TOPIC_NAME_SIZE));
    sn_json_text(&json, "why", err->text);
    sn_json_close(&json);
    sn_buf_text(to, "\n\n");
}

/* As if a topic had told it, before all others. False: no memory. */
static bool tell_refused(struct sn_topic_stream *stream, const struct sn_buf *text)
{
    if (!text->size && !text->failed)
        return true;
    struct sn_topic_message *message = text->failed ? NULL : malloc(sizeof(*message) + text->size);
    if (!message)
        return false;
    atomic_init(&message->reference_count, 1);
    message->number = 0;
    message->size = text->size;
    memcpy(message->bytes, text->bytes, text->size);
    stream->message = message;
    return true;
}

static bool refuse_for_memory(struct sn_rest_call *call)
{
    sn_rest_problem(call, 503, "no memory for a stream");
    return false;
}

static void refuse(struct sn_rest_call *call, const struct sonde_error *err)
{
    if (err->status == SONDE_OK)
        sn_rest_invalid(call, "topics", "name at least one topic");
    else if (err->status == SONDE_E_NOT_FOUND)
        sn_rest_invalid(call, "topics", "%s", err->text);
    else
        sn_rest_failed(call, err);
}

/* Those that cannot be read are left out, and that is told: a page has all that it shows in one
 * stream. False: none is left, and the call has the problem of the first. */
static bool join_all(struct sn_rest_call *call, struct sn_topic_stream *stream)
{
    SN_AUTO(sn_free) char *names = strdup(sn_rest_text(call, "topics"));
    SN_AUTO(sn_buf_done) struct sn_buf refused = sn_buf_with_limit(REFUSED_SIZE);
    struct sonde_error first = {0};
    size_t count = 0;
    char *rest = names;
    if (!names)
        return refuse_for_memory(call);
    for (char *name; (name = strsep(&rest, ","));) {
        struct sonde_error err = {0};
        if (!*name)
            continue;
        if (count++ == NAMES_MAX) {
            sn_rest_invalid(call, "topics", "more than %u topics", NAMES_MAX);
            return false;
        }
        if (join(call, stream, name, &err))
            continue;
        put_refused(&refused, name, &err);
        if (first.status == SONDE_OK)
            first = err;
    }
    if (stream->count)
        return tell_refused(stream, &refused) || refuse_for_memory(call);
    refuse(call, &first);
    return false;
}

static void answer(struct sn_topic_stream *stream, struct sn_http_exchange *exchange)
{
    struct sn_http_header headers[SN_REST_REPLY_COMMON + 2];
    struct sn_http_stream body = {
        .read = read_stream, .done = stream_done, .user = stream, .size = UINT64_MAX};
    size_t count = sn_rest_reply_common(headers);
    headers[count++] = (struct sn_http_header){"Content-Type", "text/event-stream"};
    headers[count++] = (struct sn_http_header){"X-Accel-Buffering", "no"};
    struct sn_http_reply reply = {
        .status = 200, .headers = headers, .header_count = count, .stream = &body};
    sn_http_exchange_answer(exchange, &reply);
}

bool sn_topic_stream_begin(struct sn_rest_call *call, struct sn_http_exchange *exchange)
{
    struct sn_topics *topics = call->daemon->topics;
    struct sn_topic_stream *stream =
        calloc(1, sizeof(*stream) + NAMES_MAX * sizeof(struct reading));
    if (!stream)
        return refuse_for_memory(call);
    stream->topics = topics;
    stream->exchange_id = sn_http_exchange_id(exchange);
    stream->who = call->who;
    stream->slot = &topics->streams;
    stream->next = topics->streams;
    if (stream->next)
        stream->next->slot = &stream->next;
    topics->streams = stream;
    topics->stream_count++;
    set_notice(stream, "retry: 3000\n\n");
    if (!join_all(call, stream)) {
        stream_done(stream, false);
        return false;
    }
    answer(stream, exchange);
    return true;
}
