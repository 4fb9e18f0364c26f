/* A sink that hands its events to another sink on a thread of its own, so that a slow writer never
 * holds the road. Bounded; what does not fit is dropped, counted, and told to the inner sink as a
 * lost event. */
#ifndef SN_QUEUE_H
#define SN_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct sn_sink;
struct sonde_error;

/* Takes `inner`, also on failure. The schemas of queued events must outlive the queue. */
int sn_queue_new(struct sn_sink *inner, size_t limit_bytes, struct sn_sink **ret_sink,
                 struct sonde_error *err);

/* Events dropped since the start. */
uint64_t sn_queue_dropped_count(struct sn_sink *sink);

#endif
