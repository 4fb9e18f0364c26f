/* Any bytes as what /proc and the control groups tell of a process: paths stay within their bounds,
 * going up in a group ends, and no number is negative. A zero stands between two files. */
#include "source/proc/vitals.h"

#include <math.h>
#include <stdbool.h>

#include "input_folder.h"
#include "sonde/error.h"
#include "source/proc/control_groups.h"
#include "source/proc/limits.h"

#define PID 7u

static const char *const files[] = {
    "proc/7/cgroup",     "proc/self/mountinfo", "proc/7/stat", "proc/7/status",   "proc/7/io",
    "proc/7/limits",     "cg/memory.max",       "cg/cpu.max",  "cg/cpu.stat",     "cg/memory.stat",
    "cg/memory.current", "cg/cpu.pressure",     "cg/pids.max", "cg/memory.events"};

#define FILE_COUNT (sizeof(files) / sizeof(*files))

static void write_files(const uint8_t *data, size_t size)
{
    static const char *const folders[] = {"proc", "proc/7", "proc/7/task", "proc/self", "cg"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        input_folder_add(folders[i]);
    for (size_t i = 0; i < FILE_COUNT; i++) {
        const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
        size_t part = zero ? (size_t)(zero - data) : size;
        input_folder_write(files[i], data, part);
        data += zero ? part + 1 : part;
        size -= zero ? part + 1 : part;
    }
}

static void check_group(struct sn_control_group *group)
{
    size_t length = strnlen(group->path, sizeof(group->path));
    if (length == sizeof(group->path) || (group->version && group->top > length))
        abort();
    while (group->version && sn_control_group_up(group)) {
        if (strlen(group->path) >= length)
            abort();
        length = strlen(group->path);
    }
}

static void check_groups(const uint8_t *data, size_t size)
{
    struct sn_control_group groups[SN_CONTROLLER_COUNT];
    char *cgroup = strndup((const char *)data, size);
    size_t length = cgroup ? strlen(cgroup) + 1 : 0;
    char *mounts = length < size ? strndup((const char *)data + length, size - length) : strdup("");
    if (!cgroup || !mounts)
        abort();
    sn_control_groups_find(input_folder(), cgroup, mounts, groups);
    for (size_t i = 0; i < SN_CONTROLLER_COUNT; i++)
        check_group(&groups[i]);
    free(cgroup);
    free(mounts);
}

static void check_vitals(const struct sn_vitals *vitals)
{
    size_t count;
    const struct sn_vital *table = sn_vitals_table(&count);
    for (size_t i = 0; i < count; i++) {
        struct sn_vital_value value;
        if (sn_vital_measure(&table[i], vitals, vitals, &value) && value.value < 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_vitals_reader *reader = NULL;
    struct sn_vitals vitals;
    write_files(data, size);
    check_groups(data, size);
    (void)sn_proc_memory_limit(input_folder(), PID); /* any answer will do */
    if (sn_vitals_new(input_folder(), PID, true, &reader, NULL) != SONDE_OK)
        abort();
    if (sn_vitals_poll(reader, &vitals, NULL) == SONDE_OK)
        check_vitals(&vitals);
    sn_vitals_free(reader);
    return 0;
}
