/* Topics that are made when somebody wants one: the one list of them. */
#include <stddef.h>

#include "daemon/counters_desk.h"
#include "daemon/event_topics.h"
#include "daemon/topic.h"

const struct sn_topic_family sn_topic_families[] = {
    {"counters/", SN_SCOPE_METRICS, sn_counters_desk_open_topic},
    {"logs/", SN_SCOPE_READ, sn_event_topics_open_logs},
    {"events/", SN_SCOPE_CONTROL, sn_event_topics_open_events},
    {.prefix = NULL},
};
