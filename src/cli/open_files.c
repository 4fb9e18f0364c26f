#include "cli/open_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

#define FILES_EACH 8u  /* /proc, sessions, one more session during a cut-over */
#define FILES_OWN  64u /* outputs, receivers, names of programs */

void sn_open_files_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* then it stays as it was */
}

void sn_open_files_mind(size_t process_count)
{
    static bool is_said;
    struct rlimit limit;
    if (is_said || getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        process_count * FILES_EACH + FILES_OWN <= limit.rlim_cur)
        return;
    is_said = true;
    (void)fprintf(
        stderr,
        "sonde: %zu processes need up to %zu open files and %llu are allowed: some may be "
        "left out; raise it with 'ulimit -n' or LimitNOFILE=\n",
        process_count, process_count * FILES_EACH + FILES_OWN, (unsigned long long)limit.rlim_cur);
}
