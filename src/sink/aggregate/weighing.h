/* How CPU time is shared out over the samples of one thread in one interval. docs/adr/0012 says why
 * so. No state. */
#ifndef SN_WEIGHING_H
#define SN_WEIGHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How sure it is that a sample was on a CPU; time is given out in this order. */
enum sn_sureness {
    SN_IN_MANAGED_CODE,
    SN_IN_NATIVE_CODE,
    SN_MOVING_DATA, /* waits, or works in the kernel */
    SN_WAITING,
    SN_SURENESS_COUNT,
};

struct sn_weighed {
    uint64_t time_ns;
    uint64_t stay_ns; /* what it stands for */
    uint64_t cpu_ns;  /* what it was given */
    uint32_t node;
    uint8_t sureness; /* enum sn_sureness */
    bool is_full;     /* while weighing: has got what it stands for */
    bool is_old;      /* was taken before the part that is read, and went on into it */
};

struct sn_weighing {
    struct sn_weighed *samples; /* borrows; in order of time */
    size_t count;
    uint64_t unseen_ns;  /* of the interval: no sample stands for it */
    uint64_t went_on_ns; /* how long the thread had been where the first sample is, before it */
};

/* The surest kind of sample there is, or -1 when none stands for any time. */
int sn_weighing_surest(const struct sn_weighing *weighing);

/* Shares `ns` out over samples of which some were seen running. */
void sn_weighing_share(const struct sn_weighing *weighing, uint64_t ns);

/* Shares `ns` out over the samples that wait. */
void sn_weighing_give_waiting(const struct sn_weighing *weighing, uint64_t ns);

#endif
