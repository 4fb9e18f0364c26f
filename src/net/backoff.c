#include "net/backoff.h"

#include <sys/random.h>

#include "base/clock.h"

void sn_backoff_reset(struct sn_backoff *backoff)
{
    backoff->pause_ns = SN_BACKOFF_FIRST_NS;
}

/* Somewhere in the second half of the pause, so that many senders do not come back in step. */
static uint64_t jittered(uint64_t pause_ns)
{
    uint32_t chance;
    if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != (ssize_t)sizeof(chance))
        chance = (uint32_t)sn_clock_monotonic_ns();
    return pause_ns / 2 + (pause_ns / 2 >> 16) * (chance >> 16);
}

uint64_t sn_backoff_next(struct sn_backoff *backoff)
{
    uint64_t pause_ns = jittered(backoff->pause_ns);
    backoff->pause_ns *= 2;
    if (backoff->pause_ns > SN_BACKOFF_LONGEST_NS)
        backoff->pause_ns = SN_BACKOFF_LONGEST_NS;
    return pause_ns;
}
