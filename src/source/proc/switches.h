/* Context switches of a process: the kernel tells them by thread only, and those of threads that
 * have ended not at all. */
#ifndef SN_PROC_SWITCHES_H
#define SN_PROC_SWITCHES_H

#include <stdint.h>

#include "base/table.h"

struct sn_vitals;

struct sn_switches {
    struct sn_table voluntary; /* of each thread at the last look, by its id */
    struct sn_table involuntary;
    struct sn_table next_voluntary; /* those of this look, which replace them */
    struct sn_table next_involuntary;
    double voluntary_total; /* of all threads that were ever seen */
    double involuntary_total;
};

struct sn_switches sn_switches_none(void);
void sn_switches_done(struct sn_switches *switches);

/* Looks at every thread of the process whose folder in /proc is `folder`. */
void sn_switches_read(struct sn_switches *switches, int folder, struct sn_vitals *vitals);

#endif
