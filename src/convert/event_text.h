/* One event as one line for people: time of day, thread, who and what, fields as name=value. What
 * comes from the target cannot command a terminal. One thread. */
#ifndef SN_EVENT_TEXT_H
#define SN_EVENT_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "convert/event_owner.h"

struct sn_event;
struct sn_trace_info;

struct sn_event_text {
    bool has_colour;
    bool has_stacks;
    uint32_t value_max;          /* characters of a value; 0: all of it */
    struct sn_event_owner owner; /* whose the next events are */
    uint64_t start_ns;           /* the two clocks at the same moment */
    uint64_t start_utc_ns;       /* 0: the stream does not tell */
    time_t second;               /* of `clock` */
    char clock[16];              /* "13:37:00", local */
    uint32_t process_width;      /* columns that what came so far took */
    uint32_t name_width;
    struct sn_buf scratch; /* text on its way from UTF-16 */
};

void sn_event_text_init(struct sn_event_text *writer);
void sn_event_text_done(struct sn_event_text *writer);

/* What the stream says of its clocks; events before it have no time of day. */
void sn_event_text_clock(struct sn_event_text *writer, const struct sn_trace_info *info);

/* Appends the event, its stack if that is wanted, and line feeds. */
void sn_event_text_write(struct sn_event_text *writer, const struct sn_event *event,
                         struct sn_buf *to);

/* "runtime" of "Microsoft-Windows-DotNETRuntime": names as people say them. */
const char *sn_event_text_provider(const char *provider);

#endif
