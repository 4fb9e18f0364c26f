/* What this user may do here: each right tried for real, with the line that grants it. */
#include "sonde/check.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "sonde/process.h"
#include "source/ipc/ipc_commands.h"
#include "source/perf/tracefs.h"
#include "source/proc/limits.h"
#include "source/proc/rights.h"

struct report {
    sonde_finding_fn *each;
    void *user;
};

/* `detail` and what follows is a format. */
static void say(const struct report *report, const struct sonde_finding *finding,
                const char *detail, ...) __attribute__((format(printf, 3, 4)));

static void say(const struct report *report, const struct sonde_finding *finding,
                const char *detail, ...)
{
    char text[512];
    struct sonde_finding filled = *finding;
    va_list args;
    va_start(args, detail);
    (void)vsnprintf(text, sizeof(text), detail, args);
    va_end(args);
    filled.detail = text;
    report->each(report->user, &filled);
}

static int check_ports(const struct report *report, struct sonde_error *err)
{
    struct sonde_process_list *list = NULL;
    int rc = sonde_process_list_new(&list, err);
    if (rc != SONDE_OK)
        return rc;
    size_t count = sonde_process_list_count(list);
    size_t reachable = 0;
    for (size_t i = 0; i < count; i++)
        reachable += sonde_process_list_get(list, i)->is_reachable != 0;
    say(report,
        &(struct sonde_finding){
            .what = "ports",
            .means = "trace, counters, stacks, dumps: the runtime's diagnostics port",
            .verdict = reachable == count ? SONDE_CHECK_YES
                       : reachable        ? SONDE_CHECK_PARTLY
                                          : SONDE_CHECK_NO,
            .fix = reachable == count ? "" : "sonde ps   (says why for each, and what helps)"},
        "%zu of %zu .NET processes answer", reachable, count);
    sonde_process_list_free(list);
    return SONDE_OK;
}

static void check_other_users(const struct report *report)
{
    bool may = geteuid() == 0 || (sn_rights_has_capability(CAP_DAC_OVERRIDE) &&
                                  sn_rights_has_capability(CAP_SYS_PTRACE));
    say(report,
        &(struct sonde_finding){.what = "ports.others",
                                .means = "processes of other users and in containers",
                                .verdict = may ? SONDE_CHECK_YES : SONDE_CHECK_NO,
                                .fix = may ? ""
                                           : "run sonde with sudo, or as the user of the process"},
        may ? "root, or the capabilities for it" : "user %u reaches its own processes only",
        (unsigned)geteuid());
}

static void check_perf(const struct report *report)
{
    static const struct {
        enum sn_perf_scope scope;
        const char *what;
        const char *means;
        const char *fix;
    } rows[] = {
        {SN_PERF_MACHINE, "perf.machine", "CPU samples of every process on the machine",
         "sudo sysctl kernel.perf_event_paranoid=-1   (or: sudo setcap cap_perfmon+ep sonde)"},
        {SN_PERF_KERNEL, "perf.kernel", "kernel frames in CPU samples",
         "sudo sysctl kernel.perf_event_paranoid=1   (or: sudo setcap cap_perfmon+ep sonde)"},
        {SN_PERF_OWN, "perf.own", "CPU samples of your own processes",
         "sudo sysctl kernel.perf_event_paranoid=2   (in a container: allow perf_event_open)"},
        {SN_PERF_HARDWARE, "perf.hardware", "cycles and cache misses counted by the processor",
         "none here: virtual machines often hide the counters; the clock works without"},
    };
    long paranoid = sn_rights_setting("kernel/perf_event_paranoid", -1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        bool opens = sn_rights_perf(rows[i].scope);
        char reason[128];
        const char *why = opens ? "opened" : strerror_r(errno, reason, sizeof(reason));
        say(report,
            &(struct sonde_finding){.what = rows[i].what,
                                    .means = rows[i].means,
                                    .verdict = opens ? SONDE_CHECK_YES : SONDE_CHECK_NO,
                                    .fix = opens ? "" : rows[i].fix},
            "perf_event_open: %s (kernel.perf_event_paranoid is %ld)", why, paranoid);
    }
}

static void check_kernel_names(const struct report *report)
{
    long restricted = sn_rights_setting("kernel/kptr_restrict", 0);
    bool visible = sn_rights_kernel_names();
    say(report,
        &(struct sonde_finding){.what = "kernel.names",
                                .means = "names for kernel frames",
                                .verdict = visible ? SONDE_CHECK_YES : SONDE_CHECK_NO,
                                .fix = visible           ? ""
                                       : restricted <= 1 ? "run as root or with CAP_SYSLOG"
                                                         : "sudo sysctl kernel.kptr_restrict=1"},
        "kernel.kptr_restrict is %ld, CAP_SYSLOG is %s", restricted,
        sn_rights_has_capability(CAP_SYSLOG) ? "held" : "not held");
}

static void check_ptrace(const struct report *report)
{
    long scope = sn_rights_setting("kernel/yama/ptrace_scope", 0);
    bool has_right = sn_rights_has_capability(CAP_SYS_PTRACE);
    enum sonde_verdict verdict = has_right && scope < 3 ? SONDE_CHECK_YES
                                 : scope == 0           ? SONDE_CHECK_PARTLY
                                                        : SONDE_CHECK_NO;
    say(report,
        &(struct sonde_finding){
            .what = "ptrace",
            .means = "reading a stuck process's memory",
            .verdict = verdict,
            .fix = verdict == SONDE_CHECK_YES ? ""
                   : scope >= 3 ? "boot with another kernel.yama.ptrace_scope: 3 is final"
                                : "run sonde with sudo (CAP_SYS_PTRACE)"},
        "kernel.yama.ptrace_scope is %ld, CAP_SYS_PTRACE is %s", scope,
        has_right ? "held" : "not held");
}

static void check_tracefs(const struct report *report)
{
    bool mounted = access("/sys/kernel/tracing/events", F_OK) == 0 || errno != ENOENT;
    struct sonde_error err;
    SN_AUTO(sn_close) int dir = -1; /* a recorder mounts it for itself, where it may */
    bool readable = sn_tracefs_open(&dir, &err) == SONDE_OK;
    say(report,
        &(struct sonde_finding){.what = "tracefs",
                                .means = "context switches and system calls by tracepoint",
                                .verdict = readable ? SONDE_CHECK_YES : SONDE_CHECK_NO,
                                .fix = readable ? ""
                                       : mounted
                                           ? "run sonde with sudo"
                                           : "sudo mount -t tracefs tracefs /sys/kernel/tracing"},
        "/sys/kernel/tracing %s",
        readable && mounted ? "can be read"
        : readable          ? "is not mounted; sonde mounts one for itself"
        : mounted           ? "is closed to this user"
                            : "is not mounted");
    bool has_user_events = access("/sys/kernel/tracing/user_events_data", F_OK) == 0;
    say(report,
        &(struct sonde_finding){
            .what = "user_events",
            .means = "runtime events as kernel tracepoints (.NET 10); sonde does without",
            .verdict = has_user_events ? SONDE_CHECK_YES : SONDE_CHECK_NO,
            .fix = ""},
        "%s",
        has_user_events ? "the kernel has them" : "not in this kernel, or tracefs is closed to us");
}

static void check_session(const struct report *report, const struct sn_ipc_process_info *info)
{
    say(report,
        &(struct sonde_finding){.what = "target.session",
                                .means = "events of this process",
                                .verdict = info->major >= 9 ? SONDE_CHECK_YES : SONDE_CHECK_PARTLY,
                                .fix = ""},
        "%.32s: %s", info->version,
        info->major >= 10  ? "stacks can be left out, event ids are filtered in the target"
        : info->major == 9 ? "stacks can be left out, event ids are filtered here"
                           : "stacks cannot be left out, event ids are filtered here");
}

static void check_memory(const struct report *report, uint32_t pid)
{
    bool may = sn_rights_can_read_memory(pid);
    say(report,
        &(struct sonde_finding){.what = "target.memory",
                                .means = "its stacks even when its runtime is stuck",
                                .verdict = may ? SONDE_CHECK_YES : SONDE_CHECK_NO,
                                .fix = may ? "" : "run sonde with sudo (CAP_SYS_PTRACE)"},
        may ? "/proc/%" PRIu32 "/mem opens" : "/proc/%" PRIu32 "/mem is closed to us", pid);
    uint64_t limit = sn_proc_memory_limit("", pid);
    char text[16];
    if (limit != UINT64_MAX)
        say(report,
            &(struct sonde_finding){.what = "target.limit",
                                    .means =
                                        "buffers in the target stay below a twentieth of its limit",
                                    .verdict = SONDE_CHECK_YES,
                                    .fix = ""},
            "its cgroup allows %s of memory", sn_text_bytes(limit, text));
}

static int check_target(const struct report *report, uint32_t pid, struct sonde_error *err)
{
    struct sn_ipc_target target;
    int rc = sn_ipc_target_inspect((int)pid, &target, err);
    if (rc != SONDE_OK)
        return rc;
    char fix[256];
    struct sonde_finding port = {.what = "target.port",
                                 .means = "the diagnostics port of this process"};
    if (target.reach != SN_IPC_REACH_OK) {
        port.verdict = SONDE_CHECK_NO;
        port.fix = sn_ipc_reach_fix(&target, fix, sizeof(fix));
        say(report, &port, "%s", sn_ipc_reach_reason(target.reach));
        check_memory(report, pid);
        return SONDE_OK;
    }
    struct sn_ipc_route route = sn_ipc_route_to(&target);
    struct sonde_error silent = {0};
    SN_AUTO(sn_ipc_process_info_done) struct sn_ipc_process_info info = {0};
    bool answers =
        sn_ipc_get_process_info(&route, SN_IPC_USUAL_TIMEOUT_NS, &info, &silent) == SONDE_OK;
    port.verdict = answers ? SONDE_CHECK_YES : SONDE_CHECK_NO;
    port.fix = answers ? "" : "another tool may hold the port, or the process is stuck";
    say(report, &port, "%s", answers ? target.socket_path : silent.text);
    if (answers)
        check_session(report, &info);
    check_memory(report, pid);
    return SONDE_OK;
}

int sonde_check(uint32_t pid, sonde_finding_fn *each, void *user, struct sonde_error *err)
{
    struct report report = {.each = each, .user = user};
    int rc = check_ports(&report, err);
    if (rc != SONDE_OK)
        return rc;
    check_other_users(&report);
    check_perf(&report);
    check_kernel_names(&report);
    check_ptrace(&report);
    check_tracefs(&report);
    return pid ? check_target(&report, pid, err) : SONDE_OK;
}
