/* The inside of a public event, and the sink that hands a road's events to a public callback. */
#ifndef SN_EVENT_INTERNAL_H
#define SN_EVENT_INTERNAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/payload.h"
#include "sonde/event.h"

struct sn_event;
struct sn_sink;
struct sn_trace_info;

struct sonde_event {
    const struct sn_event *event;     /* borrows */
    const struct sn_trace_info *info; /* borrows; NULL before the stream told */
    bool is_walking;                  /* `payload` stands somewhere behind the start */
    struct sn_payload payload;
    struct sn_buf texts; /* four bytes for each of the payload: every text has its own place */
};

/* What a stream says about itself; NULL when that has not come yet. */
typedef const struct sn_trace_info *sn_info_fn(const void *stream);

struct sn_receiver {
    sonde_event_fn *take;
    sonde_lost_fn *lost; /* may be NULL */
    void *user;
    sn_info_fn *info;
    const void *stream; /* what `info` gets */
};

/* `receiver` borrows; it may be completed until the first event comes. */
int sn_event_sink_new(const struct sn_receiver *receiver, struct sn_sink **ret_sink,
                      struct sonde_error *err);

#endif
