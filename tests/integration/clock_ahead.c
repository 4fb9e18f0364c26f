/* Preloaded into a program: its wall clock is 30 days ahead. */
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define AHEAD_SECONDS (30L * 86400)

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the library's are reserved */
int clock_gettime(clockid_t clock, struct timespec *to)
{
    long rc = syscall(SYS_clock_gettime, clock, to);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        to->tv_sec += AHEAD_SECONDS;
    return (int)rc;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
    struct timespec now;
    int rc = clock_gettime(CLOCK_REALTIME, &now);
    (void)zone;
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1000;
    return rc;
}

time_t time(time_t *to)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
