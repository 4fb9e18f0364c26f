/* What readers of the counters' topics get: one line of JSON, within a ceiling whatever processes
 * have. Each process has its share of the room, what it does not need goes to the others. Where a
 * share is too small, counters without tags come first; how many are left out stands beside
 * them, as `leftOut`. No state. */
#ifndef SN_COUNTERS_MESSAGE_H
#define SN_COUNTERS_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct sn_point_shot;
struct sn_shot_process;

struct sn_counters_left_out {
    uint64_t counters;
    uint64_t processes; /* of which not even the name found room; their counters count, too */
};

/* {"processes": [...]}, and "leftOut" when something is. `to` is an empty buffer; it fails without
 * memory, or when its limit is below the 128 bytes of an empty message. */
void sn_counters_message_all(const struct sn_point_shot *shot, struct sn_buf *to,
                             struct sn_counters_left_out *ret_left_out);

/* {"pid": ..., "counters": [...]}, likewise. */
void sn_counters_message_one(const struct sn_shot_process *process, struct sn_buf *to,
                             struct sn_counters_left_out *ret_left_out);

#endif
