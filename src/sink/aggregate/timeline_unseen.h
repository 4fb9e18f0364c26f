/* When threads ran that no sample was taken of: what the CPU record has and the timeline of the
 * profile has not. */
#ifndef SN_TIMELINE_UNSEEN_H
#define SN_TIMELINE_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

struct sn_cpu_slices;
struct sn_profile;
struct sn_timeline;

/* All borrowed. */
struct sn_timeline_unseen {
    const struct sn_timeline *timeline;
    const struct sn_profile *profile;
    const struct sn_cpu_slices *cpu;
    uint32_t thread; /* of the profile */
    double ns;       /* that its rows have beyond its runs */
};

/* Adds them to a number a bucket. False without memory. */
bool sn_timeline_unseen_add(const struct sn_timeline_unseen *unseen, double *to);

#endif
