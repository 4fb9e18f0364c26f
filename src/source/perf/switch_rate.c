#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "source/perf/kernel.h"
#include "source/perf/proc_task.h"

static uint64_t number_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void add_switches(void *user, uint32_t pid, uint32_t tid)
{
    uint64_t *sum = user;
    char path[64];
    char text[256];
    static const char *const lines[] = {
        "Name:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:", NULL};
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/status", pid, tid);
    if (sn_file_peek_lines_at(AT_FDCWD, path, lines, text, sizeof(text)) > 0)
        *sum += number_behind(text, "\nvoluntary_ctxt_switches:") +
                number_behind(text, "\nnonvoluntary_ctxt_switches:");
}

/* Threads that end in between take theirs with them: never less than nothing. */
uint64_t sn_kernel_switch_rate(uint32_t pid, uint64_t sample_ns)
{
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t start_ns = sn_clock_monotonic_ns();
    sn_proc_task_threads(pid, add_switches, &before);
    struct timespec pause = {.tv_sec = (time_t)(sample_ns / SN_NS_PER_SECOND),
                             .tv_nsec = (long)(sample_ns % SN_NS_PER_SECOND)};
    (void)nanosleep(&pause, NULL); /* a signal makes it shorter, which is reckoned with */
    sn_proc_task_threads(pid, add_switches, &after);
    uint64_t took_ns = sn_clock_monotonic_ns() - start_ns;
    return after > before && took_ns ? (after - before) * SN_NS_PER_SECOND / took_ns : 0;
}
