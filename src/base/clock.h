/* Time: monotonic nanoseconds inside, RFC 3339 UTC outside. */
#ifndef SN_CLOCK_H
#define SN_CLOCK_H

#include <stdint.h>

#define SN_NS_PER_SECOND 1000000000u
#define SN_NS_PER_MS     1000000u

uint64_t sn_clock_monotonic_ns(void);
uint64_t sn_clock_utc_ns(void);

/* "2026-01-31T12:00:00.123Z". `to` needs 32 bytes. */
const char *sn_clock_rfc3339(uint64_t utc_ns, char to[32]);

/* A point in time by which something must be done; UINT64_MAX is never. */
uint64_t sn_clock_deadline(uint64_t from_now_ns);

/* Milliseconds until `deadline_ns` for poll(2): 0 when past, -1 for never, rounded up. */
int sn_clock_poll_ms(uint64_t deadline_ns);

/* The shorter of two times for poll(2), where -1 is for ever. */
static inline int sn_clock_sooner_ms(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

#endif
