/* The list of .NET processes: what discovery found, what /proc says, what each runtime answered. */
#include "sonde/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/process_sight.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/pattern.h"
#include "source/ipc/discover.h"
#include "source/ipc/ipc_commands.h"
#include "source/proc/facts.h"

#define PROCESS_LIMIT    16384u
#define MEMORY_LIMIT     (64u << 20)
#define ANSWER_WITHIN_NS (250ull * SN_NS_PER_MS)

struct sonde_process_list {
    struct sn_arena arena;
    struct sonde_process *processes;
    size_t count;
};

struct rows {
    struct sn_ipc_row *rows;
    size_t count;
    size_t capacity;
};

static int add_row(void *user, const struct sn_ipc_target *target)
{
    struct rows *rows = user;
    if (rows->count == PROCESS_LIMIT)
        return SONDE_END;
    struct sn_ipc_row *larger =
        sn_array_room(rows->rows, rows->count, &rows->capacity, sizeof(*larger));
    if (!larger)
        return SONDE_E_NOMEM;
    rows->rows = larger;
    rows->rows[rows->count++] = (struct sn_ipc_row){.target = *target};
    return SONDE_OK;
}

static void rows_done_auto(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].status == SONDE_OK)
            sn_ipc_process_info_done(&rows->rows[i].info);
    }
    free(rows->rows);
}

static const char *keep(struct sonde_process_list *list, const char *text)
{
    const char *copy = sn_arena_copy(&list->arena, text, strlen(text));
    return copy ? copy : "";
}

/* The entry assembly by the runtime's own word; else what /proc knows. */
static const char *name_of(struct sonde_process_list *list, const struct sn_ipc_row *row,
                           const struct sn_proc_facts *facts)
{
    char name[SN_PROCESS_NAME];
    if (row->status == SONDE_OK && row->info.entry_assembly[0])
        return keep(list, row->info.entry_assembly);
    sn_process_name(facts, name);
    return keep(list, name[0] ? name : row->target.comm);
}

static void take_answer(struct sonde_process_list *list, struct sonde_process *process,
                        const struct sn_ipc_row *row)
{
    char text[256];
    process->is_reachable = row->status == SONDE_OK;
    if (process->is_reachable) {
        process->runtime = keep(list, row->info.version);
        process->architecture = keep(list, row->info.arch);
        memcpy(process->cookie, &row->info.cookie, sizeof(process->cookie));
        return;
    }
    if (sn_proc_runtime_version(process->pid, text, sizeof(text)))
        process->runtime = keep(list, text);
    if (row->target.reach != SN_IPC_REACH_OK) {
        process->reason = sn_ipc_reach_reason(row->target.reach);
        process->fix = keep(list, sn_ipc_reach_fix(&row->target, text, sizeof(text)));
        return;
    }
    process->reason =
        row->status == SONDE_E_TIMEOUT ? "does not answer" : keep(list, row->err.text);
    process->fix =
        row->status == SONDE_E_TIMEOUT
            ? "another tool may hold its port, or it is stuck: end that tool, or try again"
            : "";
}

static void fill(struct sonde_process_list *list, const struct sn_ipc_row *row)
{
    struct sn_proc_facts facts;
    uint32_t pid = (uint32_t)row->target.pid;
    if (row->target.reach == SN_IPC_REACH_ZOMBIE || !sn_process_facts(pid, &facts) ||
        facts.start_ticks != row->target.start_ticks)
        return; /* it has ended, whether its parent has asked for it or not */
    bool is_told = !facts.command_line[0] && row->status == SONDE_OK;
    const char *command_line = is_told ? row->info.command_line : facts.command_line;
    struct sonde_process *process = &list->processes[list->count++];
    *process = (struct sonde_process){
        .pid = pid,
        .ns_pid = (uint32_t)row->target.ns_pid,
        .uid = row->target.uid,
        .name = name_of(list, row, &facts),
        .runtime = "",
        .user = keep(list, facts.user),
        .container = keep(list, facts.container),
        .command_line = keep(list, command_line),
        .architecture = "",
        .reason = "",
        .fix = "",
        .up_ns = facts.up_ns,
        .rss_bytes = facts.rss_bytes,
        .thread_count = facts.thread_count,
        .start_ticks = facts.start_ticks,
    };
    take_answer(list, process, row);
}

static int by_name(const void *left, const void *right)
{
    const struct sonde_process *a = left;
    const struct sonde_process *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->pid > b->pid) - (a->pid < b->pid);
}

static void sonde_process_list_free_auto(struct sonde_process_list **slot)
{
    sonde_process_list_free(*slot);
}

int sonde_process_list_new(struct sonde_process_list **ret_list, struct sonde_error *err)
{
    SN_AUTO(rows_done) struct rows rows = {0};
    int rc = sn_ipc_discover(add_row, &rows, err);
    if (rc < 0)
        return sn_fail(err, rc, 0, "cannot list the processes of this machine");
    rc = rows.count ? sn_ipc_get_process_infos(rows.rows, rows.count, ANSWER_WITHIN_NS, err)
                    : SONDE_OK;
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sonde_process_list_free) struct sonde_process_list *list = calloc(1, sizeof(*list));
    if (!list)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the list of processes");
    list->arena = sn_arena_with_limit(MEMORY_LIMIT);
    list->processes = calloc(rows.count + 1, sizeof(*list->processes));
    if (!list->processes)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the list of processes");
    for (size_t i = 0; i < rows.count; i++)
        fill(list, &rows.rows[i]);
    qsort(list->processes, list->count, sizeof(*list->processes), by_name);
    *ret_list = SN_TAKE(list);
    return SONDE_OK;
}

void sonde_process_list_free(struct sonde_process_list *list)
{
    if (!list)
        return;
    sn_arena_done(&list->arena);
    free(list->processes);
    free(list);
}

size_t sonde_process_list_count(const struct sonde_process_list *list)
{
    return list->count;
}

const struct sonde_process *sonde_process_list_get(const struct sonde_process_list *list,
                                                   size_t index)
{
    return index < list->count ? &list->processes[index] : NULL;
}

/* What `name` says of a text: itself, or a pattern. */
static bool is_named(const char *name, const char *text)
{
    return strpbrk(name, "*?") ? sn_pattern_matches(name, text) : strcmp(name, text) == 0;
}

bool sonde_process_is_called(const struct sonde_process *process, const char *name)
{
    char program[512];
    const char *end = process->command_line + strcspn(process->command_line, " ");
    const char *start = end;
    while (start > process->command_line && start[-1] != '/')
        start--;
    (void)snprintf(program, sizeof(program), "%.*s", (int)(end - start), start);
    return is_named(name, process->name) || is_named(name, program);
}

int sonde_process_find(const char *name, uint32_t *ret_pid, struct sonde_error *err)
{
    SN_AUTO(sonde_process_list_free) struct sonde_process_list *list = NULL;
    int rc = sonde_process_list_new(&list, err);
    if (rc != SONDE_OK || !list)
        return rc;
    char pids[256] = "";
    size_t length = 0;
    size_t found = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct sonde_process *process = &list->processes[i];
        if (!sonde_process_is_called(process, name))
            continue;
        found++;
        *ret_pid = process->pid;
        if (length < sizeof(pids) - 16)
            length +=
                (size_t)snprintf(pids + length, sizeof(pids) - length, " %" PRIu32, process->pid);
    }
    if (found == 0)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "no .NET process is called '%.64s'; 'sonde ps' lists them", name);
    if (found > 1)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "%zu processes are called '%.64s':%s; choose one with -p", found, name,
                       pids);
    return SONDE_OK;
}
