#include "sink/export/own_points.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

void sn_own_cost(double *ret_cpu_seconds, uint64_t *ret_rss_bytes)
{
    struct rusage usage = {0};
    char text[128] = "";
    (void)getrusage(RUSAGE_SELF, &usage);
    *ret_cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    *ret_rss_bytes = 0;
    if (sn_file_peek_at(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) > 0 && strchr(text, ' '))
        *ret_rss_bytes = strtoull(strchr(text, ' '), NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void sn_own_point(const struct sn_own_number *number, uint64_t interval_ns, double before,
                  sonde_point_fn *take, void *user)
{
    struct sonde_tag tag = {.name = "receiver", .value = number->receiver};
    char tags[128] = "";
    if (number->receiver)
        (void)snprintf(tags, sizeof(tags), "receiver=%s", number->receiver);
    double added = number->value - before;
    double seconds = (double)interval_ns / (double)SN_NS_PER_SECOND;
    struct sonde_point point = {
        .pid = (uint32_t)getpid(),
        .origin = SONDE_POINT_KERNEL, /* as with the kernel's, the name alone tells whose it is */
        .kind = number->is_total ? SONDE_POINT_RATE : SONDE_POINT_GAUGE,
        .provider = "sonde",
        .version = "",
        .name = number->name,
        .display_name = number->name,
        .unit = number->unit,
        .description = number->description,
        .tag_text = tags,
        .tags = &tag,
        .tag_count = number->receiver ? 1 : 0,
        .time_ns = sn_clock_monotonic_ns(),
        .utc_ns = sn_clock_utc_ns(),
        .interval_ns = interval_ns,
        .value = number->is_total ? added : number->value,
        .rate = number->is_total ? added / seconds : NAN,
        .total = number->is_total ? number->value : NAN,
        .is_absolute = number->is_total,
        .sum = NAN,
        .min = NAN,
        .max = NAN,
        .deviation = NAN,
    };
    take(user, &point);
}
