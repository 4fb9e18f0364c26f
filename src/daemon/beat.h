/* Something that is done again and again in the roads thread until it is freed. */
#ifndef SN_BEAT_H
#define SN_BEAT_H

#include <stdint.h>

#include "sonde/error.h"

struct sn_beat;
struct sn_roads;

int sn_beat_new(struct sn_roads *roads, uint64_t interval_ns, void (*run)(void *user), void *user,
                struct sn_beat **ret_beat, struct sonde_error *err);

/* NULL is fine; also from within its own run. */
void sn_beat_free(struct sn_beat *beat);

#endif
