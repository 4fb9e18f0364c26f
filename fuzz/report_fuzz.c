/* Any bytes as a trace: read whole, reported in every way, shown over time, written in every
 * format.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/own.h"
#include "sonde/convert.h"
#include "sonde/report.h"
#include "sonde/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int swallow(void *user, const void *bytes, size_t size)
{
    uint64_t *sum = user;
    for (size_t i = 0; i < size; i++)
        *sum = *sum * 31 + ((const uint8_t *)bytes)[i];
    return SONDE_OK;
}

static void show(const char *path)
{
    struct sonde_report *report = NULL;
    uint64_t sum = 0;
    if (sonde_report_read(path, NULL, &report, NULL) != SONDE_OK)
        return;
    for (int i = 0; i < 2 * (SONDE_REPORT_HTML + 1); i++) {
        const struct sonde_report_show show = {.size = sizeof(show),
                                               .format = i / 2,
                                               .method = i % 2 ? "*" : NULL,
                                               .with_tree = i % 2,
                                               .width = 20 + (unsigned)(sum % 200)};
        (void)sonde_report_write(report, &show, swallow, &sum, NULL);
    }
    sonde_report_free(report);
}

static void write_all(const char *path, int view)
{
    struct sonde_profile *profile = NULL;
    const struct sonde_profile_options options = {.size = sizeof(options), .view = view};
    if (sonde_profile_read(path, &options, &profile, NULL) != SONDE_OK)
        return;
    size_t count;
    uint64_t sum = 0;
    const struct sonde_format *formats = sonde_formats(&count);
    for (size_t i = 0; i < count; i++)
        (void)sonde_profile_write(profile, formats[i].name, NULL, swallow, &sum, NULL);
    sonde_profile_free(profile);
}

/* All of it, and a part that begins somewhere. */
static void show_times(const char *path, size_t size)
{
    const struct sonde_timeline_options parts[] = {
        {.size = sizeof(parts[0])},
        {.size = sizeof(parts[0]),
         .from_ns = size * 1000,
         .to_ns = size * 2000,
         .bucket_count = 10},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        struct sonde_timeline *timeline = NULL;
        uint64_t sum = 0;
        if (sonde_timeline_read(path, &parts[i], &timeline, NULL) == SONDE_OK)
            (void)sonde_timeline_write(timeline, swallow, &sum, NULL);
        sonde_timeline_free(timeline);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    SN_AUTO(sn_close) int fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    show(path);
    show_times(path, size);
    for (int view = 0; view < SONDE_VIEW_COUNT; view++)
        write_all(path, view);
    return 0;
}
