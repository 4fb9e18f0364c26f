/* How long to wait before the next try: longer after each failure, up to a ceiling, and never quite
 * as long as others who failed at the same time. One thread. */
#ifndef SN_BACKOFF_H
#define SN_BACKOFF_H

#include <stdint.h>

struct sn_backoff {
    uint64_t pause_ns; /* after the next failure, at most */
};

#define SN_BACKOFF_FIRST_NS   UINT64_C(100000000)
#define SN_BACKOFF_LONGEST_NS UINT64_C(30000000000)

/* At the beginning, and whenever the other side has shown that it lives. */
void sn_backoff_reset(struct sn_backoff *backoff);

/* The pause after this failure; the next is twice as long, until they are as long as they get. */
uint64_t sn_backoff_next(struct sn_backoff *backoff);

#endif
