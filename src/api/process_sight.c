#include "api/process_sight.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/table.h"
#include "source/ipc/discover.h"
#include "source/ipc/ipc_commands.h"
#include "source/ipc/neighbour.h"
#include "source/ipc/process.h"
#include "source/proc/facts.h"

#define MEMORY_LIMIT     8192u
#define ANSWER_WITHIN_NS (250ull * SN_NS_PER_MS)

static const char *keep(struct sn_process_sight *sight, const char *text)
{
    const char *copy = sn_arena_copy(&sight->texts, text, strlen(text));
    return copy ? copy : "";
}

/* The last part of the path from `start` to `end`. */
static void last_part(const char *start, const char *end, char to[SN_PROCESS_NAME])
{
    for (const char *at = start; at < end; at++) {
        if (*at == '/')
            start = at + 1;
    }
    (void)snprintf(to, SN_PROCESS_NAME, "%.*s", (int)(end - start), start);
}

void sn_process_name(const struct sn_proc_facts *facts, char to[SN_PROCESS_NAME])
{
    const char *line = facts->command_line;
    const char *assembly = strstr(line, ".dll");
    if (assembly && strcmp(facts->comm, "dotnet") == 0) {
        const char *start = assembly;
        while (start > line && start[-1] != ' ')
            start--;
        last_part(start, assembly, to);
        return;
    }
    last_part(line, line + strcspn(line, " "), to);
    if (strncmp(to, facts->comm, strlen(facts->comm)) != 0 || !to[0])
        (void)snprintf(to, SN_PROCESS_NAME, "%s", facts->comm);
}

static bool neighbour_facts(uint32_t pid, struct sn_proc_facts *ret_facts)
{
    struct sn_ipc_target target;
    uint64_t since_ns = 0;
    uint64_t now_ns = sn_clock_utc_ns();
    if (!sn_ipc_neighbour_find((int)pid, &target, &since_ns))
        return false;
    *ret_facts = (struct sn_proc_facts){
        .pid = pid,
        .ns_pid = (uint32_t)target.ns_pid,
        .uid = target.uid,
        .state = 'S',
        .start_ticks = target.start_ticks,
        .up_ns = now_ns > since_ns ? now_ns - since_ns : 0,
        .comm = "dotnet",
    };
    (void)sn_user_name(target.uid, ret_facts->user);
    return true;
}

bool sn_process_facts(uint32_t pid, struct sn_proc_facts *ret_facts)
{
    return pid <= INT32_MAX && sn_ipc_is_neighbour((int)pid) ? neighbour_facts(pid, ret_facts)
                                                             : sn_proc_facts_read(pid, ret_facts);
}

/* Only its runtime knows who it is. False: nobody answers. */
static bool ask_neighbour(struct sn_process_sight *sight, const struct sn_ipc_target *target)
{
    struct sn_ipc_row row = {.target = *target};
    if (sn_ipc_get_process_infos(&row, 1, ANSWER_WITHIN_NS, NULL) != SONDE_OK ||
        row.status != SONDE_OK)
        return false;
    sight->process.name = keep(sight, row.info.entry_assembly);
    sight->process.runtime = keep(sight, row.info.version);
    sight->process.architecture = keep(sight, row.info.arch);
    sight->process.command_line = keep(sight, row.info.command_line);
    sn_ipc_process_info_done(&row.info);
    return true;
}

static void describe(struct sn_process_sight *sight, const struct sn_proc_facts *facts)
{
    char name[SN_PROCESS_NAME];
    char runtime[64];
    sn_process_name(facts, name);
    if (!sn_proc_runtime_version(facts->pid, runtime, sizeof(runtime)))
        runtime[0] = '\0';
    sight->process = (struct sonde_process){
        .pid = facts->pid,
        .ns_pid = facts->ns_pid,
        .uid = facts->uid,
        .name = keep(sight, name),
        .runtime = keep(sight, runtime),
        .user = keep(sight, facts->user),
        .container = keep(sight, facts->container),
        .command_line = keep(sight, facts->command_line),
        .architecture = "",
        .reason = "",
        .fix = "",
        .up_ns = facts->up_ns,
        .rss_bytes = facts->rss_bytes,
        .thread_count = facts->thread_count,
        .start_ticks = facts->start_ticks,
    };
}

int sn_process_sight_open(struct sn_process_sight *sight, uint32_t pid, bool *ret_is_dotnet,
                          struct sonde_error *err)
{
    struct sn_proc_facts facts;
    struct sn_ipc_target target;
    char fix[256];
    *sight = (struct sn_process_sight){.texts = sn_arena_with_limit(MEMORY_LIMIT)};
    if (!sn_process_facts(pid, &facts))
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "there is no process %u, or it is hidden", pid);
    *ret_is_dotnet = sn_ipc_target_inspect((int)pid, &target, NULL) == SONDE_OK;
    describe(sight, &facts);
    if (!*ret_is_dotnet) {
        sight->process.reason = "is not .NET";
        return SONDE_OK;
    }
    sight->process.is_reachable = target.reach == SN_IPC_REACH_OK;
    sight->has_ended = target.reach == SN_IPC_REACH_ZOMBIE;
    if (sn_ipc_is_neighbour(target.pid) && !ask_neighbour(sight, &target)) {
        target.reach = target.reach == SN_IPC_REACH_OK ? SN_IPC_REACH_STALE : target.reach;
        sight->process.is_reachable = 0;
    }
    if (!sight->process.is_reachable) {
        sight->process.reason = sn_ipc_reach_reason(target.reach);
        sight->process.fix = keep(sight, sn_ipc_reach_fix(&target, fix, sizeof(fix)));
    }
    return SONDE_OK;
}

void sn_process_sight_close(struct sn_process_sight *sight)
{
    sn_arena_done(&sight->texts);
}

uint64_t sn_process_print(uint32_t pid)
{
    struct sn_ipc_process process;
    struct stat program = {0};
    struct sn_ipc_target neighbour;
    if (pid <= INT32_MAX && sn_ipc_neighbour_find((int)pid, &neighbour, NULL))
        return neighbour.start_ticks ? neighbour.start_ticks : 1;
    if (!sn_ipc_process_open((int)pid, &process))
        return 0;
    (void)fstatat(process.dir, "exe", &program, 0); /* of the kernel's own, and others', nothing */
    const uint64_t facts[] = {process.start_ticks, (uint64_t)program.st_dev,
                              (uint64_t)program.st_ino};
    sn_ipc_process_close(&process);
    uint64_t print = sn_table_key(facts, sizeof(facts));
    return print ? print : 1;
}
