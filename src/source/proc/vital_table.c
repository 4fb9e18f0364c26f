/* The names under which vitals go out: OpenTelemetry's where it has one. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "source/proc/vitals.h"

#define RATE_AT(provider, name, tag, unit, offset, text)       \
    {                                                          \
        provider, name, tag, unit, text, SN_VITAL_RATE, offset \
    }
#define GAUGE_AT(provider, name, tag, unit, offset, text)       \
    {                                                           \
        provider, name, tag, unit, text, SN_VITAL_GAUGE, offset \
    }
#define AT(field) offsetof(struct sn_vitals, field)
#define RATE(provider, name, tag, unit, field, text) \
    RATE_AT(provider, name, tag, unit, AT(field), text)
#define GAUGE(provider, name, tag, unit, field, text) \
    GAUGE_AT(provider, name, tag, unit, AT(field), text)
#define USAGE(provider, name, field, text)                           \
    {                                                                \
        provider, name, "", "{cpu}", text, SN_VITAL_USAGE, AT(field) \
    }

/* One resource's pressure, of the group or of the machine. */
#define IN(pressure, member) ((pressure) + offsetof(struct sn_pressure, member))
#define PRESSURE(provider, prefix, resource, at, whose)                                           \
    GAUGE_AT(                                                                                     \
        provider, prefix ".pressure." resource ".avg10", "stalled=full", "1", IN(at, full_avg10), \
        "Share of the last 10 s in which some or all tasks of " whose " waited for " resource),   \
        GAUGE_AT(provider, prefix ".pressure." resource ".avg10", "stalled=some", "1",            \
                 IN(at, some_avg10),                                                              \
                 "Share of the last 10 s in which some or all tasks of " whose                    \
                 " waited for " resource),                                                        \
        RATE_AT(provider, prefix ".pressure." resource ".time", "stalled=full", "s",              \
                IN(at, full_s),                                                                   \
                "Time in which some or all tasks of " whose " waited for " resource),             \
        RATE_AT(provider, prefix ".pressure." resource ".time", "stalled=some", "s",              \
                IN(at, some_s),                                                                   \
                "Time in which some or all tasks of " whose " waited for " resource)

/* What exporters write holds for all series of a name, so one name has one description. */
#define MEMORY_EVENTS                                                                         \
    "Times the group was slowed over memory.high, came to its limit (max), found nothing to " \
    "free there (oom), had a process killed (oom_kill)"

static const struct sn_vital table[] = {
    GAUGE("cgroup", "container.cpu.limit", "", "{cpu}", group_cpu_limit,
          "CPUs that the control groups allow"),
    RATE("cgroup", "container.cpu.periods", "", "{period}", group_periods,
         "Periods of the CPU limit in which the group ran"),
    RATE("cgroup", "container.cpu.throttled.periods", "", "{period}", group_throttled_periods,
         "Periods in which the group was stopped by its CPU limit"),
    RATE("cgroup", "container.cpu.throttled.time", "", "s", group_throttled_s,
         "Time for which the group was stopped by its CPU limit"),
    RATE("cgroup", "container.cpu.time", "", "s", group_cpu_s, "CPU time used by the group"),
    USAGE("cgroup", "container.cpu.usage", group_cpu_s, "CPUs in use by the group"),
    RATE("cgroup", "container.memory.events", "event=high", "{event}", group_memory_high_count,
         MEMORY_EVENTS),
    RATE("cgroup", "container.memory.events", "event=max", "{event}", group_memory_max_count,
         MEMORY_EVENTS),
    RATE("cgroup", "container.memory.events", "event=oom", "{event}", group_oom_count,
         MEMORY_EVENTS),
    RATE("cgroup", "container.memory.events", "event=oom_kill", "{event}", group_oom_kill_count,
         MEMORY_EVENTS),
    GAUGE("cgroup", "container.memory.limit", "", "By", group_memory_limit,
          "Memory that the control groups allow"),
    GAUGE("cgroup", "container.memory.usage", "", "By", group_memory_bytes,
          "Memory of the group, its page cache included"),
    GAUGE("cgroup", "container.memory.utilization", "", "1", group_memory_utilization,
          "Share of the memory limit in use, the page cache included"),
    GAUGE("cgroup", "container.memory.working_set", "", "By", group_working_set_bytes,
          "Memory of the group without the inactive page cache"),
    GAUGE("cgroup", "container.pids.count", "", "{thread}", group_pid_count,
          "Threads that count against the limit of the control groups"),
    GAUGE("cgroup", "container.pids.limit", "", "{thread}", group_pid_limit,
          "Threads that the control groups allow"),
    PRESSURE("cgroup", "container", "cpu", AT(group_pressure[SN_PRESSURE_CPU]), "the group"),
    PRESSURE("cgroup", "container", "io", AT(group_pressure[SN_PRESSURE_IO]), "the group"),
    PRESSURE("cgroup", "container", "memory", AT(group_pressure[SN_PRESSURE_MEMORY]), "the group"),
    PRESSURE("machine", "system", "cpu", AT(machine_pressure[SN_PRESSURE_CPU]), "the machine"),
    PRESSURE("machine", "system", "io", AT(machine_pressure[SN_PRESSURE_IO]), "the machine"),
    PRESSURE("machine", "system", "memory", AT(machine_pressure[SN_PRESSURE_MEMORY]),
             "the machine"),
    RATE("process", "process.context_switches", "process.context_switch.type=involuntary",
         "{context_switch}", involuntary_switches,
         "Times a thread left its CPU: taken off it, or to wait"),
    RATE("process", "process.context_switches", "process.context_switch.type=voluntary",
         "{context_switch}", voluntary_switches,
         "Times a thread left its CPU: taken off it, or to wait"),
    RATE("process", "process.cpu.time", "cpu.mode=system", "s", system_s,
         "CPU time, in the kernel and in the program itself"),
    RATE("process", "process.cpu.time", "cpu.mode=user", "s", user_s,
         "CPU time, in the kernel and in the program itself"),
    USAGE("process", "process.cpu.usage", cpu_s, "CPUs in use"),
    RATE("process", "process.disk.io", "disk.io.direction=read", "By", disk_read_bytes,
         "Bytes that disks had to bring, and on their way to them"),
    RATE("process", "process.disk.io", "disk.io.direction=write", "By", disk_written_bytes,
         "Bytes that disks had to bring, and on their way to them"),
    RATE("process", "process.io", "io.direction=read", "By", read_bytes,
         "Bytes read and written: files, pipes and sockets"),
    RATE("process", "process.io", "io.direction=write", "By", written_bytes,
         "Bytes read and written: files, pipes and sockets"),
    GAUGE("process", "process.memory.swap", "", "By", swap_bytes, "Memory swapped out"),
    GAUGE("process", "process.memory.usage", "", "By", rss_bytes, "Physical memory in use"),
    GAUGE("process", "process.memory.virtual", "", "By", virtual_bytes, "Address space in use"),
    GAUGE("process", "process.open_file_descriptor.count", "", "{file_descriptor}", fd_count,
          "Open file descriptors"),
    GAUGE("process", "process.open_file_descriptor.limit", "", "{file_descriptor}", fd_limit,
          "File descriptors that the process may open"),
    RATE("process", "process.paging.faults", "process.paging.fault_type=major", "{fault}",
         major_faults, "Page faults; major ones waited for a disk"),
    RATE("process", "process.paging.faults", "process.paging.fault_type=minor", "{fault}",
         minor_faults, "Page faults; major ones waited for a disk"),
    GAUGE("process", "process.thread.count", "", "{thread}", thread_count, "Threads"),
    GAUGE("process", "process.uptime", "", "s", up_s, "Time since the start of the process"),
};

const struct sn_vital *sn_vitals_table(size_t *ret_count)
{
    *ret_count = sizeof(table) / sizeof(table[0]);
    return table;
}

static double number_at(const struct sn_vitals *vitals, size_t offset)
{
    double number;
    memcpy(&number, (const char *)vitals + offset, sizeof(number));
    return number;
}

bool sn_vital_measure(const struct sn_vital *vital, const struct sn_vitals *before,
                      const struct sn_vitals *now, struct sn_vital_value *ret_value)
{
    double total = number_at(now, vital->offset);
    *ret_value = (struct sn_vital_value){.value = total, .rate = NAN, .total = NAN};
    if (vital->kind == SN_VITAL_GAUGE)
        return !isnan(total);
    if (!before || before->time_ns >= now->time_ns)
        return false;
    double added = total - number_at(before, vital->offset);
    double rate = added * SN_NS_PER_SECOND / (double)(now->time_ns - before->time_ns);
    if (!(added >= 0)) /* also when one of them is not known */
        return false;
    if (vital->kind == SN_VITAL_USAGE)
        ret_value->value = rate;
    else
        *ret_value = (struct sn_vital_value){.value = added, .rate = rate, .total = total};
    return true;
}
