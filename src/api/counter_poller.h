/* Whether anybody listens to the counters or meters of a process: its threads tell. */
#ifndef SN_COUNTER_POLLER_H
#define SN_COUNTER_POLLER_H

#include <stdbool.h>
#include <stdint.h>

/* True when nobody does, or nobody ever did. What cannot be told counts as listening. */
bool sn_counter_poller_is_idle(uint32_t pid);

#endif
