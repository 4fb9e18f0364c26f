#include <stdlib.h>
#include <string.h>

#include "api/event_internal.h"
#include "base/err.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "model/event.h"

#define TEXTS_LIMIT (64u << 20)

struct event_sink {
    struct sn_sink sink;
    const struct sn_receiver *receiver; /* borrows */
    struct sonde_event event;           /* the one that is being handed out */
};

static int take_loss(const struct sn_receiver *receiver, const struct sn_event *event)
{
    uint64_t count;
    memcpy(&count, event->payload, sizeof(count));
    if (receiver->lost)
        receiver->lost(receiver->user, event->capture_thread_id, count);
    return SONDE_OK;
}

static int take_event(struct sn_sink *base, const struct sn_event *event)
{
    struct event_sink *sink = (struct event_sink *)base;
    const struct sn_receiver *receiver = sink->receiver;
    if (event->schema == &sn_lost_schema)
        return take_loss(receiver, event);
    sink->event.event = event;
    sink->event.info = receiver->info(receiver->stream);
    sonde_event_rewind(&sink->event);
    sn_buf_clear(&sink->event.texts);
    return receiver->take(receiver->user, &sink->event);
}

static void free_sink(struct sn_sink *base)
{
    struct event_sink *sink = (struct event_sink *)base;
    sn_buf_done(&sink->event.texts);
    free(sink);
}

static const struct sn_sink_ops sink_ops = {
    .name = "receiver", .event = take_event, .free = free_sink};

int sn_event_sink_new(const struct sn_receiver *receiver, struct sn_sink **ret_sink,
                      struct sonde_error *err)
{
    struct event_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a receiver of events");
    sink->sink.ops = &sink_ops;
    sink->receiver = receiver;
    sink->event.texts = sn_buf_with_limit(TEXTS_LIMIT);
    *ret_sink = &sink->sink;
    return SONDE_OK;
}
