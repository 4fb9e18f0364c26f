/* Ends the program when something takes more of the CPU than it ever should. CPU time, not the
 * clock: that machines are busy changes little about it. Limits are far above what work that grows
 * as its input does takes, with sanitizers, and far below what work that grows as its square does.
 */
#ifndef FUZZ_CPU_LIMIT_H
#define FUZZ_CPU_LIMIT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t cpu_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static inline void cpu_limit_check(uint64_t began_ms, uint64_t limit_ms, const char *what)
{
    uint64_t took_ms = cpu_now_ms() - began_ms;
    if (took_ms <= limit_ms)
        return;
    (void)fprintf(stderr, "%s took %llu ms of the CPU, %llu are allowed\n", what,
                  (unsigned long long)took_ms, (unsigned long long)limit_ms);
    abort();
}

#endif
