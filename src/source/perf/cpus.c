#include "source/perf/cpus.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/file.h"

#define ONLINE_FILE "/sys/devices/system/cpu/online"

size_t sn_cpus_parse(const char *list, uint32_t *cpus, size_t most)
{
    size_t count = 0;
    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long first = strtoul(list, &end, 10);
        unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (unsigned long cpu = first; cpu <= last && cpu < SN_CPU_MAX && count < most; cpu++)
            cpus[count++] = (uint32_t)cpu;
        list = *end == ',' ? end + 1 : end;
    }
    return count;
}

size_t sn_cpus_online(uint32_t cpus[SN_CPU_MAX])
{
    char list[4096];
    if (sn_file_peek_at(AT_FDCWD, ONLINE_FILE, list, sizeof(list)) <= 0)
        list[0] = '\0';
    size_t count = sn_cpus_parse(list, cpus, SN_CPU_MAX);
    if (!count)
        cpus[count++] = 0; /* without sysfs: one there is */
    return count;
}
