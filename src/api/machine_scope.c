#include "api/machine_scope.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/pattern.h"
#include "source/ipc/discover.h"
#include "source/proc/facts.h"

#define MOST_PARENTS 64u

bool sn_machine_scope_is_everything(const struct sn_kernel_scope *scope)
{
    return !scope->pid_count && !scope->name_count && !scope->cgroup;
}

static bool is_named(const struct sn_kernel_scope *scope, const struct sn_proc_facts *facts)
{
    for (size_t i = 0; i < scope->name_count; i++) {
        if (sn_pattern_matches(scope->names[i], facts->comm))
            return true;
    }
    return false;
}

/* The directory itself or one below it. */
static bool is_in_cgroup(const struct sn_kernel_scope *scope, const struct sn_proc_facts *facts)
{
    if (!scope->cgroup)
        return false;
    static const char mount[] = "/sys/fs/cgroup";
    const char *wanted = scope->cgroup;
    if (strncmp(wanted, mount, strlen(mount)) == 0)
        wanted += strlen(mount);
    wanted += strspn(wanted, "/");
    const char *path = facts->cgroup + strspn(facts->cgroup, "/");
    size_t size = strlen(wanted);
    while (size && wanted[size - 1] == '/')
        size--; /* as shells complete it */
    return !size || (strncmp(path, wanted, size) == 0 && (!path[size] || path[size] == '/'));
}

static bool is_listed(const struct sn_kernel_scope *scope, uint32_t pid)
{
    for (size_t i = 0; i < scope->pid_count; i++) {
        if (scope->pids[i] == pid)
            return true;
    }
    return false;
}

bool sn_machine_scope_has(const struct sn_kernel_scope *scope, uint32_t pid)
{
    struct sn_proc_facts facts;
    if (sn_machine_scope_is_everything(scope) || is_listed(scope, pid))
        return true;
    if (!sn_proc_facts_read(pid, &facts))
        return false;
    if (is_named(scope, &facts) || is_in_cgroup(scope, &facts))
        return true;
    for (unsigned i = 0; scope->pid_count && i < MOST_PARENTS && facts.parent > 1; i++) {
        if (is_listed(scope, facts.parent))
            return true;
        if (!sn_proc_facts_read(facts.parent, &facts))
            return false;
    }
    return false;
}

static int check_one(uint32_t pid, struct sonde_error *err)
{
    struct sn_proc_facts facts;
    struct sn_ipc_target target;
    if (!sn_proc_facts_read(pid, &facts))
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "there is no process %" PRIu32, pid);
    if (sn_ipc_target_inspect((int)pid, &target, NULL) == SONDE_OK)
        return target.reach == SN_IPC_REACH_DENIED ? sn_ipc_reach_fail(&target, target.reach, err)
                                                   : SONDE_OK;
    if (geteuid() == 0 || geteuid() == facts.uid)
        return SONDE_OK; /* its runtime may be about to start */
    return sn_fail(err, SONDE_E_DENIED, 0,
                   "process %" PRIu32 " belongs to user %s: record it as that user or as root", pid,
                   facts.user);
}

int sn_machine_scope_check(const struct sn_kernel_scope *scope, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (size_t i = 0; i < scope->pid_count && rc == SONDE_OK; i++)
        rc = scope->pids[i] == scope->held_pid ? SONDE_OK : check_one(scope->pids[i], err);
    return rc;
}
