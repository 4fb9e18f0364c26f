#include "source/proc/group_vitals.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "source/proc/vitals.h"

/* Version 1 says "no limit" by a huge number, rounded to pages. */
#define NO_LIMIT  0x1p62
#define US_PER_S  1e6
#define TEXT_SIZE 8192

double sn_vitals_line(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && strchr(": \t", line[length]) && line[length])
            return (double)strtoull(line + length + 1, NULL, 10);
    }
    return NAN;
}

/* A file that holds one number; NAN also for "max". */
static double read_number(const struct sn_control_group *group, const char *file)
{
    char text[64];
    char *end;
    if (!sn_control_group_read(group, file, text, sizeof(text)))
        return NAN;
    double number = (double)strtoll(text, &end, 10);
    return end == text ? NAN : number;
}

static double memory_limit(const struct sn_control_group *group)
{
    bool is_1 = group->version == 1;
    double limit = read_number(group, is_1 ? "memory.limit_in_bytes" : "memory.max");
    return limit >= NO_LIMIT ? NAN : limit;
}

static double pid_limit(const struct sn_control_group *group)
{
    return read_number(group, "pids.max");
}

/* Version 2: "200000 100000", quota and period in microseconds, or "max 100000". */
static double cpu_limit(const struct sn_control_group *group)
{
    if (group->version == 1) {
        double quota = read_number(group, "cpu.cfs_quota_us"); /* -1: none */
        double period = read_number(group, "cpu.cfs_period_us");
        return quota > 0 && period > 0 ? quota / period : NAN;
    }
    char text[64];
    if (!sn_control_group_read(group, "cpu.max", text, sizeof(text)))
        return NAN;
    char *end;
    double quota = (double)strtoull(text, &end, 10);
    double period = end == text ? 0 : (double)strtoull(end, NULL, 10);
    return period > 0 ? quota / period : NAN;
}

/* A limit above binds as well as the group's own. The root has none. */
static struct sn_group_limit tightest(const struct sn_control_group *own,
                                      double (*limit_of)(const struct sn_control_group *))
{
    struct sn_group_limit found = {.limit = NAN, .group = *own};
    struct sn_control_group group = *own;
    do {
        double limit = limit_of(&group);
        if (!isnan(limit) && !(limit >= found.limit))
            found = (struct sn_group_limit){limit, group};
    } while (sn_control_group_up(&group));
    return found;
}

void sn_group_vitals_find_limits(struct sn_group_vitals *groups)
{
    groups->memory = tightest(&groups->groups[SN_CONTROLLER_MEMORY], memory_limit);
    groups->cpu = tightest(&groups->groups[SN_CONTROLLER_CPU], cpu_limit);
    groups->pids = tightest(&groups->groups[SN_CONTROLLER_PIDS], pid_limit);
}

void sn_group_vitals_find(struct sn_group_vitals *groups, const char *root, const char *cgroup_text,
                          const char *mounts)
{
    sn_control_groups_find(root, cgroup_text, mounts, groups->groups);
    for (int i = 0; i < SN_CONTROLLER_COUNT; i++)
        if (groups->groups[i].version && sn_control_group_is_machine(&groups->groups[i]))
            groups->groups[i].version = 0;
    sn_group_vitals_find_limits(groups);
}

static double memory_used(const struct sn_control_group *group)
{
    return read_number(group, group->version == 1 ? "memory.usage_in_bytes" : "memory.current");
}

static void read_working_set(const struct sn_control_group *own, struct sn_vitals *vitals)
{
    char text[TEXT_SIZE];
    if (!sn_control_group_read(own, "memory.stat", text, sizeof(text)))
        return;
    double idle = sn_vitals_line(text, own->version == 1 ? "total_inactive_file" : "inactive_file");
    double in_use = vitals->group_memory_bytes - idle;
    vitals->group_working_set_bytes = in_use < 0 ? 0 : in_use;
}

/* Version 1 counts kills, and how often the limit was met. */
static void read_memory_events(const struct sn_control_group *group, struct sn_vitals *vitals)
{
    char text[1024];
    bool is_1 = group->version == 1;
    const char *file = is_1 ? "memory.oom_control" : "memory.events";
    if (!sn_control_group_read(group, file, text, sizeof(text)))
        return;
    vitals->group_oom_kill_count = sn_vitals_line(text, "oom_kill");
    vitals->group_oom_count = sn_vitals_line(text, "oom");
    vitals->group_memory_high_count = sn_vitals_line(text, "high");
    vitals->group_memory_max_count =
        is_1 ? read_number(group, "memory.failcnt") : sn_vitals_line(text, "max");
}

static void read_memory(const struct sn_group_vitals *groups, struct sn_vitals *vitals)
{
    const struct sn_control_group *own = &groups->groups[SN_CONTROLLER_MEMORY];
    const struct sn_group_limit *bound = &groups->memory;
    if (!own->version)
        return;
    vitals->group_memory_bytes = memory_used(own);
    read_working_set(own, vitals);
    vitals->group_memory_limit = bound->limit;
    bool is_own = strcmp(own->path, bound->group.path) == 0;
    double used = is_own ? vitals->group_memory_bytes : memory_used(&bound->group);
    vitals->group_memory_utilization = bound->limit > 0 ? used / bound->limit : NAN;
    read_memory_events(&bound->group, vitals);
}

static void read_cpu(const struct sn_group_vitals *groups, struct sn_vitals *vitals)
{
    char text[1024];
    const struct sn_group_limit *bound = &groups->cpu;
    const struct sn_control_group *spent = &groups->groups[SN_CONTROLLER_CPUACCT];
    if (spent->version == 1)
        vitals->group_cpu_s = read_number(spent, "cpuacct.usage") / SN_NS_PER_SECOND;
    else if (sn_control_group_read(spent, "cpu.stat", text, sizeof(text)))
        vitals->group_cpu_s = sn_vitals_line(text, "usage_usec") / US_PER_S;
    vitals->group_cpu_limit = bound->limit;
    if (isnan(bound->limit) ||
        !sn_control_group_read(&bound->group, "cpu.stat", text, sizeof(text)))
        return;
    vitals->group_periods = sn_vitals_line(text, "nr_periods");
    vitals->group_throttled_periods = sn_vitals_line(text, "nr_throttled");
    vitals->group_throttled_s = bound->group.version == 1
                                    ? sn_vitals_line(text, "throttled_time") / SN_NS_PER_SECOND
                                    : sn_vitals_line(text, "throttled_usec") / US_PER_S;
}

static void read_pids(const struct sn_group_vitals *groups, struct sn_vitals *vitals)
{
    vitals->group_pid_count = read_number(&groups->pids.group, "pids.current");
    vitals->group_pid_limit = groups->pids.limit;
}

/* "some avg10=1.25 avg60=0.00 avg300=0.00 total=1234". The share is written with two digits, so
 * that it is read as a whole number of hundredths of a percent, whatever the locale. */
static void read_pressure_line(const char *text, const char *which, double *ret_avg10,
                               double *ret_s)
{
    const char *line = strstr(text, which);
    const char *avg = line ? strstr(line, "avg10=") : NULL;
    const char *total = avg ? strstr(avg, "total=") : NULL;
    if (!total)
        return;
    char *point;
    double percent = (double)strtoull(avg + strlen("avg10="), &point, 10);
    double hundredths = *point == '.' ? (double)strtoull(point + 1, NULL, 10) : 0;
    *ret_avg10 = (percent * 100 + hundredths) / 10000;
    *ret_s = (double)strtoull(total + strlen("total="), NULL, 10) / US_PER_S;
}

static void read_pressure(const char *text, struct sn_pressure *pressure)
{
    read_pressure_line(text, "some ", &pressure->some_avg10, &pressure->some_s);
    read_pressure_line(text, "full ", &pressure->full_avg10, &pressure->full_s);
}

static void read_pressures(const struct sn_group_vitals *groups, const char *root,
                           struct sn_vitals *vitals)
{
    static const char *const resources[SN_PRESSURE_COUNT] = {"cpu", "memory", "io"};
    const struct sn_control_group *own = &groups->groups[SN_CONTROLLER_UNIFIED];
    for (int i = 0; i < SN_PRESSURE_COUNT; i++) {
        char name[600];
        char text[256];
        (void)snprintf(name, sizeof(name), "%s.pressure", resources[i]);
        if (sn_control_group_read(own, name, text, sizeof(text))) {
            read_pressure(text, &vitals->group_pressure[i]);
            continue;
        }
        (void)snprintf(name, sizeof(name), "%s/proc/pressure/%s", root, resources[i]);
        if (sn_file_peek_at(AT_FDCWD, name, text, sizeof(text)) > 0)
            read_pressure(text, &vitals->machine_pressure[i]);
    }
}

void sn_group_vitals_read(const struct sn_group_vitals *groups, const char *root,
                          struct sn_vitals *vitals)
{
    read_memory(groups, vitals);
    read_cpu(groups, vitals);
    read_pids(groups, vitals);
    read_pressures(groups, root, vitals);
}
