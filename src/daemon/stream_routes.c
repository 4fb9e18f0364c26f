/* /api/v1/stream: what happens, as it happens, one stream of server-sent events for many topics. */
#include "daemon/route.h"

static const struct sn_parameter parameters[] = {
    {.name = "topics",
     .summary = "with commas: processes, counters, counters/PID, recordings, health, logs/PID, "
                "events/PID?PROVIDER",
     .is_required = true},
    {.name = NULL},
};

static const struct sn_response responses[] = {
    {200, "text/event-stream", NULL,
     "an event a message: its topic is the event's name, its id counts the messages of that topic. "
     "Last-Event-ID is ignored: a new stream begins with what each topic keeps. An event `lost` "
     "names the topic, how many messages were missed, and the id they came before. An event "
     "`refused` at the beginning names a topic that is left out, and says why: there is none of "
     "that name, it is switched off, it needs a higher scope, or too many are read. If all are, "
     "the answer is that of the first"},
    {429, "application/problem+json", "Problem",
     "as many topics of logs and events are read as may"},
    {.status = 0},
};

const struct sn_route sn_stream_routes[] = {
    {.method = "GET",
     .path = "/api/v1/stream",
     .resource = "stream",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_HTTP,
     .is_stream = true,
     .parameters = parameters,
     .responses = responses,
     .summary = "live events of many topics"},
    {.method = NULL},
};
