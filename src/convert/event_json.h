/* One event as one line of JSON, fields by name. The schema: docs/formats/ndjson.md. One thread. */
#ifndef SN_EVENT_JSON_H
#define SN_EVENT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "convert/event_owner.h"

struct sn_event;
struct sn_trace_info;

struct sn_event_json {
    bool no_stacks;
    uint64_t start_ns;           /* the two clocks at the same moment */
    uint64_t start_utc_ns;       /* 0: the stream does not tell */
    struct sn_event_owner owner; /* whose the next events are; zero: as they say themselves */
    struct sn_buf scratch;       /* text on its way from UTF-16 */
};

void sn_event_json_init(struct sn_event_json *writer, bool no_stacks);
void sn_event_json_done(struct sn_event_json *writer);

/* What the stream says of its clocks; events before it have no time of day. */
void sn_event_json_clock(struct sn_event_json *writer, const struct sn_trace_info *info);

/* Appends the event and a line feed. */
void sn_event_json_write(struct sn_event_json *writer, const struct sn_event *event,
                         struct sn_buf *to);

#endif
