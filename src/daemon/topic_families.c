/* Topics that are made when somebody wants one: the one list of them. */
#include <stddef.h>

#include "daemon/counters_desk.h"
#include "daemon/event_topics.h"
#include "daemon/topic.h"

const struct sn_topic_family sn_topic_families[] = {
    {.prefix = "counters/", .scope = SN_SCOPE_METRICS, .open = sn_counters_desk_open_topic},
    {.prefix = "logs/",
     .scope = SN_SCOPE_READ,
     .has_secrets = true,
     .open = sn_event_topics_open_logs},
    {.prefix = "events/", .scope = SN_SCOPE_CONTROL, .open = sn_event_topics_open_events},
    {.prefix = NULL},
};
