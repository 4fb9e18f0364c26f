#include "source/proc/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"

bool sn_rights_perf(enum sn_perf_scope scope)
{
    struct perf_event_attr attributes = {
        .size = sizeof(attributes),
        .type = scope == SN_PERF_HARDWARE ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
        .config = scope == SN_PERF_HARDWARE ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
        .disabled = 1,
        .exclude_kernel = scope == SN_PERF_OWN || scope == SN_PERF_HARDWARE,
    };
    int pid = scope == SN_PERF_MACHINE ? -1 : 0;
    int cpu = scope == SN_PERF_MACHINE ? 0 : -1;
    SN_AUTO(sn_close)
    int fd = (int)syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd >= 0;
}

bool sn_rights_has_capability(unsigned capability)
{
    static const char *const lines[] = {"CapEff:", NULL};
    char text[64];
    if (sn_file_peek_lines_at(AT_FDCWD, "/proc/self/status", lines, text, sizeof(text)) <= 0)
        return false;
    return strtoull(text + strlen(lines[0]), NULL, 16) >> capability & 1u;
}

bool sn_rights_can_read_memory(uint32_t pid)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", pid);
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

long sn_rights_setting(const char *name, long otherwise)
{
    char path[128];
    char text[32];
    (void)snprintf(path, sizeof(path), "/proc/sys/%s", name);
    return sn_file_peek_at(AT_FDCWD, path, text, sizeof(text)) > 0 ? strtol(text, NULL, 10)
                                                                   : otherwise;
}

bool sn_rights_kernel_names(void)
{
    long restricted = sn_rights_setting("kernel/kptr_restrict", 0);
    bool is_open = restricted == 0 && sn_rights_setting("kernel/perf_event_paranoid", 2) <= 1;
    return is_open || (restricted <= 1 && sn_rights_has_capability(CAP_SYSLOG));
}
