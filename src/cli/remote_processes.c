#include "cli/remote_processes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/remote.h"

#define PATH         "/api/v1/processes"
#define NAMED_MAX    20u
#define NS_PER_S     1e9
#define LONGEST_UP_S 1e10

static uint32_t u32(const json_t *object, const char *name)
{
    uint64_t value = sn_remote_u64(object, name);
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

void sn_remote_process_read(const json_t *object, struct sonde_process *to)
{
    double up = sn_remote_real(object, "upSeconds");
    *to = (struct sonde_process){
        .pid = u32(object, "pid"),
        .ns_pid = u32(object, "nsPid"),
        .uid = u32(object, "userId"),
        .is_reachable = sn_remote_bool(object, "isReachable"),
        .name = sn_remote_text(object, "name"),
        .runtime = sn_remote_text(object, "runtime"),
        .user = sn_remote_text(object, "user"),
        .container = sn_remote_text(object, "container"),
        .command_line = sn_remote_text(object, "commandLine"),
        .architecture = sn_remote_text(object, "architecture"),
        .reason = sn_remote_text(object, "reason"),
        .fix = sn_remote_text(object, "fix"),
        .up_ns = up > 0 && up < LONGEST_UP_S ? (uint64_t)(up * NS_PER_S) : 0,
        .rss_bytes = sn_remote_u64(object, "rssBytes"),
        .thread_count = u32(object, "threadCount"),
    };
}

static int compare(const void *left, const void *right)
{
    const struct sonde_process *a = left;
    const struct sonde_process *b = right;
    int order = strcmp(a->name, b->name);
    if (order)
        return order;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* A bare list, or an object that has it as a member. */
static const json_t *find_list(const json_t *answer)
{
    return json_is_array(answer) ? answer : json_object_get(answer, "processes");
}

static int read_list(struct sn_remote_processes *processes, struct sonde_error *err)
{
    const json_t *list = find_list(processes->json);
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > SN_REMOTE_PROCESSES_MAX)
        return sn_fail(err, SONDE_E_FORMAT, 0, "the controller's list of processes is none");
    processes->items = calloc(count + 1, sizeof(*processes->items));
    if (!processes->items)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for processes");
    for (size_t i = 0; i < count; i++) {
        sn_remote_process_read(json_array_get(list, i), &processes->items[processes->count]);
        if (processes->items[processes->count].pid)
            processes->count++;
    }
    if (processes->count)
        qsort(processes->items, processes->count, sizeof(*processes->items), compare);
    return SONDE_OK;
}

int sn_remote_processes_get(struct sn_remote *remote, struct sn_remote_processes *ret_processes,
                            struct sonde_error *err)
{
    struct sn_remote_processes processes = {0};
    int rc = sn_remote_ask(remote, "GET", PATH, NULL, &processes.json, err);
    if (rc == SONDE_OK)
        rc = read_list(&processes, err);
    if (rc != SONDE_OK) {
        sn_remote_processes_done(&processes);
        return rc;
    }
    *ret_processes = processes;
    return SONDE_OK;
}

void sn_remote_processes_done(struct sn_remote_processes *processes)
{
    json_decref(processes->json);
    free(processes->items);
    *processes = (struct sn_remote_processes){0};
}

static bool is_meant(const struct sonde_process *process, uint64_t pid, const char *name)
{
    if (pid)
        return process->pid == pid;
    return name ? sonde_process_is_called(process, name) : process->is_reachable != 0;
}

int sn_remote_processes_find(const struct sn_remote_processes *processes, uint64_t pid,
                             const char *name, uint32_t *ret_pid, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf pids = sn_buf_with_limit(1024);
    size_t found = 0;
    if (pid && name)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "give a pid or a name, not both");
    for (size_t i = 0; i < processes->count; i++) {
        const struct sonde_process *process = &processes->items[i];
        if (!is_meant(process, pid, name))
            continue;
        if (found++ < NAMED_MAX)
            sn_buf_format(&pids, " %" PRIu32, process->pid);
        *ret_pid = process->pid;
    }
    if (found == 1)
        return SONDE_OK;
    if (pid)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "there is no .NET process %" PRIu64 " where the controller is; 'sonde ps' "
                       "lists them",
                       pid);
    if (!found)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "there is no .NET process%s%.64s where the controller is",
                       name ? " called " : "", name ? name : "");
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "which process? give -p PID, one of%s",
                   sn_buf_string(&pids));
}

int sn_remote_processes_choose(struct sn_remote *remote, uint64_t pid, const char *name,
                               uint32_t *ret_pid, struct sonde_error *err)
{
    SN_AUTO(sn_remote_processes_done) struct sn_remote_processes processes = {0};
    int rc = sn_remote_processes_get(remote, &processes, err);
    return rc == SONDE_OK ? sn_remote_processes_find(&processes, pid, name, ret_pid, err) : rc;
}
