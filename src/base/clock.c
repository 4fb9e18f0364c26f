#include "base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now); /* cannot fail for these clocks */
    return (uint64_t)now.tv_sec * SN_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t sn_clock_monotonic_ns(void)
{
    return now_ns(CLOCK_MONOTONIC);
}

uint64_t sn_clock_utc_ns(void)
{
    return now_ns(CLOCK_REALTIME);
}

const char *sn_clock_rfc3339(uint64_t utc_ns, char to[32])
{
    time_t seconds = (time_t)(utc_ns / SN_NS_PER_SECOND);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts))
        parts = (struct tm){.tm_mday = 1, .tm_year = 70};
    size_t length = strftime(to, 32, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(to + length, 32 - length, ".%03uZ",
                   (unsigned)(utc_ns % SN_NS_PER_SECOND / SN_NS_PER_MS));
    return to;
}

uint64_t sn_clock_deadline(uint64_t from_now_ns)
{
    uint64_t now = sn_clock_monotonic_ns();
    return from_now_ns > UINT64_MAX - now ? UINT64_MAX : now + from_now_ns;
}

int sn_clock_poll_ms(uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX)
        return -1;
    uint64_t now = sn_clock_monotonic_ns();
    if (now >= deadline_ns)
        return 0;
    uint64_t ms = (deadline_ns - now + SN_NS_PER_MS - 1) / SN_NS_PER_MS;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}
