#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"
#include "source/perf/kernel.h"

#define PARANOID_FILE "/proc/sys/kernel/perf_event_paranoid"

/* 0, or why a CPU clock cannot be opened so. */
static int try_open(pid_t pid, int cpu, bool with_kernel)
{
    struct perf_event_attr attr = {.size = sizeof(attr),
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .freq = 1,
                                   .sample_freq = 99,
                                   .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
                                   .disabled = 1,
                                   .exclude_kernel = !with_kernel};
    SN_AUTO(sn_close)
    int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd >= 0 ? 0 : errno;
}

static int paranoid_level(void)
{
    char text[16];
    if (sn_file_peek_at(AT_FDCWD, PARANOID_FILE, text, sizeof(text)) <= 0)
        return 0;
    return (int)strtol(text, NULL, 10);
}

/* EACCES is perf's own answer; EPERM comes from before it, mostly a container's seccomp profile. */
static const char *why_not_machine(int error)
{
    if (error == EPERM)
        return "perf_event_open is forbidden here, as in a container with the default seccomp "
               "profile; run the container with CAP_PERFMON";
    return "machine-wide sampling needs root, CAP_PERFMON (setcap cap_perfmon+ep) or "
           "kernel.perf_event_paranoid at 0 or below";
}

static const char *why_nothing(int error)
{
    if (error == ENOSYS)
        return "this kernel has no perf events (CONFIG_PERF_EVENTS)";
    if (error == EPERM)
        return why_not_machine(error);
    if (paranoid_level() > 2)
        return "kernel.perf_event_paranoid is above 2, which leaves perf events to root; lower it, "
               "run as root or with CAP_PERFMON";
    return "perf events are not to be had here, not even of our own process";
}

enum sn_kernel_rung sn_kernel_probe(const char **ret_why)
{
    int machine = try_open(-1, 0, true);
    if (!machine) {
        *ret_why = "";
        return SN_RUNG_MACHINE;
    }
    int own = try_open(0, -1, false);
    *ret_why = own ? why_nothing(own) : why_not_machine(machine);
    return own ? SN_RUNG_NONE : SN_RUNG_THREADS;
}
