/* One stream of events for many topics, for one reader. HTTP thread only. */
#ifndef SN_TOPIC_STREAM_H
#define SN_TOPIC_STREAM_H

#include <stdbool.h>

struct sn_http_exchange;
struct sn_rest_call;

/* Answers with the topics that the call's parameter `topics` names; those that cannot be read are
 * told by an event `refused`. False: none can, and the call has its problem instead. */
bool sn_topic_stream_begin(struct sn_rest_call *call, struct sn_http_exchange *exchange);

#endif
