/* Samples of threads that have ended, until it is known what they ran.
 *
 * The record tells the last stretch of a thread's life, or all of a short one, only for all threads
 * together that ended between two looks. Their samples wait here, and share it when all are in. One
 * thread. */
#ifndef SN_ENDED_THREADS_H
#define SN_ENDED_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

struct sn_cpu_slices;

struct sn_ended_sample {
    uint32_t thread; /* of the profile */
    uint32_t taken_at;
    size_t look;
    uint8_t sureness; /* smaller is surer */
    struct sn_run run;
};

struct sn_ended_threads {
    struct sn_ended_sample *samples; /* owns; in the order they came */
    size_t count;
    size_t capacity;
};

void sn_ended_threads_done(struct sn_ended_threads *ended);

/* False when there are too many. */
bool sn_ended_threads_keep(struct sn_ended_threads *ended, const struct sn_ended_sample *sample);

/* Adds to each sample's values[column] its part of the record's time. Returns what is left over of
 * it between two times: nobody was seen to run it. */
uint64_t sn_ended_threads_share(struct sn_ended_threads *ended, const struct sn_cpu_slices *cpu,
                                int column, uint64_t first_ns, uint64_t last_ns);

#endif
