#include "source/perf/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "format/perf_record.h"
#include "source/perf/kernel.h"
#include "source/perf/proc_task.h"
#include "source/perf/scope.h"
#include "source/perf/task_events.h"

#define TASK_LIMIT 262144u

/* Samples of a thread may come behind its process's exit. */
#define KEEP_EXITED_NS SN_NS_PER_SECOND

/* Mappings are read anew for an address that lies in none: at once when records were lost, else
 * ever less often as long as it does not help. Chains of code without frame pointers hold anything.
 */
#define FIRST_PAUSE_NS   SN_NS_PER_SECOND
#define LONGEST_PAUSE_NS (64ull * SN_NS_PER_SECOND)

#define PROT_EXECUTE 4u

struct sn_tasks {
    struct sn_scope scope;
    uint32_t held_pid;      /* 0: none */
    struct sn_table by_pid; /* to struct sn_task *, owned */
    struct sn_task_events events;
    sn_tasks_admit_fn *admit;
    void *admit_user;
    uint32_t seen_count;
    uint64_t swept_ns;
};

int sn_tasks_new(const struct sn_kernel_scope *scope, struct sn_outlet *outlet,
                 struct sn_objects *objects, struct sn_tasks **ret_tasks, struct sonde_error *err)
{
    struct sn_tasks *tasks = calloc(1, sizeof(*tasks));
    if (!tasks)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the table of processes");
    tasks->by_pid = sn_table_with_limit(TASK_LIMIT);
    tasks->held_pid = scope->held_pid;
    sn_task_events_init(&tasks->events, outlet, objects);
    int rc = sn_scope_init(&tasks->scope, scope, err);
    if (rc != SONDE_OK) {
        sn_tasks_free(tasks);
        return rc;
    }
    *ret_tasks = tasks;
    return SONDE_OK;
}

static void free_task(struct sn_task *task)
{
    sn_mappings_done(&task->mappings);
    free(task);
}

void sn_tasks_each(const struct sn_tasks *tasks, sn_task_fn *visit, void *user)
{
    for (size_t i = 0; i < tasks->by_pid.capacity; i++) {
        const struct sn_table_slot *slot = &tasks->by_pid.slots[i];
        if (slot->used)
            visit(user, (struct sn_task *)(uintptr_t)slot->value);
    }
}

static void free_one(void *user, struct sn_task *task)
{
    (void)user;
    free_task(task);
}

void sn_tasks_free(struct sn_tasks *tasks)
{
    if (!tasks)
        return;
    sn_tasks_each(tasks, free_one, NULL);
    sn_table_done(&tasks->by_pid);
    sn_task_events_done(&tasks->events);
    sn_scope_done(&tasks->scope);
    free(tasks);
}

struct sn_task *sn_tasks_find(const struct sn_tasks *tasks, uint32_t pid)
{
    const uint64_t *slot = sn_table_find(&tasks->by_pid, pid);
    return slot ? (struct sn_task *)(uintptr_t)*slot : NULL;
}

uint32_t sn_tasks_missing(const struct sn_tasks *tasks)
{
    const struct sn_table *pids = &tasks->scope.pids;
    for (size_t i = 0; i < pids->capacity; i++) {
        if (pids->slots[i].used && !sn_tasks_find(tasks, (uint32_t)pids->slots[i].key))
            return (uint32_t)pids->slots[i].key;
    }
    return 0;
}

uint32_t sn_tasks_seen(const struct sn_tasks *tasks)
{
    return tasks->seen_count;
}

static void forget(struct sn_tasks *tasks, struct sn_task *task)
{
    sn_table_remove(&tasks->by_pid, task->pid);
    free_task(task);
}

/* A new process takes the place of an old one with its pid. */
static struct sn_task *make_task(struct sn_tasks *tasks, uint32_t pid, const char *name,
                                 uint64_t time_ns)
{
    struct sn_task *old = sn_tasks_find(tasks, pid);
    if (old) {
        if (!old->exited_ns)
            sn_task_events_exit(&tasks->events, old, time_ns);
        forget(tasks, old);
    }
    struct sn_task *task = calloc(1, sizeof(*task));
    uint64_t *slot = task ? sn_table_put(&tasks->by_pid, pid) : NULL;
    if (!slot) {
        free(task);
        return NULL;
    }
    *slot = (uint64_t)(uintptr_t)task;
    task->pid = pid;
    task->since_ns = time_ns;
    task->next_reading_ns = time_ns + FIRST_PAUSE_NS;
    (void)snprintf(task->name, sizeof(task->name), "%s", name);
    tasks->seen_count++;
    return task;
}

/* --- from /proc --- */

struct reading {
    struct sn_tasks *tasks;
    struct sn_task *task;
    uint64_t time_ns;
};

static void read_mapping(void *user, const struct sn_proc_mapping *found)
{
    struct reading *reading = user;
    const char *path = *found->path ? found->path : "//anon"; /* as the rings call it */
    struct sn_mapping mapping = {
        .start = found->start, .end = found->end, .offset = *found->path ? found->offset : 0};
    mapping.file =
        sn_mapped_files_add(&reading->tasks->events.files, path, found->device, found->inode);
    (void)sn_mappings_add(&reading->task->mappings, &mapping); /* one too many is left out */
}

static void read_thread(void *user, uint32_t pid, uint32_t tid)
{
    struct reading *reading = user;
    char name[SN_TASK_NAME_SIZE];
    if (tid != pid && sn_proc_task_thread_name(pid, tid, name, sizeof(name)))
        sn_task_events_thread(&reading->tasks->events, reading->task, tid, name, reading->time_ns);
}

void sn_tasks_set_admit(struct sn_tasks *tasks, sn_tasks_admit_fn *admit, void *user)
{
    tasks->admit = admit;
    tasks->admit_user = user;
}

/* What /proc says of a process. What rings tell of the time before is contained in it. */
static void tell_all(struct sn_tasks *tasks, struct sn_task *task, uint64_t time_ns)
{
    struct reading reading = {.tasks = tasks, .task = task, .time_ns = time_ns};
    task->since_ns = sn_clock_monotonic_ns();
    sn_task_events_process(&tasks->events, task, time_ns);
    task->is_partial = !sn_proc_task_mappings(task->pid, read_mapping, &reading);
    sn_proc_task_threads(task->pid, read_thread, &reading);
}

/* A process that is there already. */
static struct sn_task *adopt(struct sn_tasks *tasks, uint32_t pid, const char *name,
                             uint64_t time_ns)
{
    bool is_admitted = !tasks->admit || tasks->admit(tasks->admit_user, pid);
    struct sn_task *task = is_admitted ? make_task(tasks, pid, name, time_ns) : NULL;
    if (!task)
        return NULL;
    task->since_ns = sn_clock_monotonic_ns();
    task->is_held = pid && pid == tasks->held_pid;
    if (!task->is_held)
        tell_all(tasks, task, time_ns);
    return task;
}

void sn_tasks_look_at(struct sn_tasks *tasks, uint32_t pid, uint64_t time_ns, bool with_children)
{
    char name[SN_TASK_NAME_SIZE];
    if (sn_tasks_find(tasks, pid) || !sn_proc_task_name(pid, name, sizeof(name)))
        return;
    const struct sn_task *parent =
        with_children ? sn_tasks_find(tasks, sn_proc_task_parent(pid)) : NULL;
    bool is_followed = sn_table_find(&tasks->scope.pids, pid) || (parent && parent->is_followed);
    if (!is_followed && !sn_scope_wants(&tasks->scope, pid, name))
        return;
    struct sn_task *task = adopt(tasks, pid, name, time_ns);
    if (task)
        task->is_followed = is_followed;
}

void sn_tasks_scan(struct sn_tasks *tasks, uint64_t time_ns, bool with_children)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        uint32_t pid = sn_proc_task_number(entry->d_name);
        if (pid)
            sn_tasks_look_at(tasks, pid, time_ns, with_children);
    }
    (void)closedir(dir);
}

int sn_tasks_add(struct sn_tasks *tasks, uint32_t pid, uint64_t time_ns, struct sonde_error *err)
{
    char name[SN_TASK_NAME_SIZE];
    if (!sn_proc_task_name(pid, name, sizeof(name)))
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "there is no process %" PRIu32, pid);
    if (!sn_scope_add_pid(&tasks->scope, pid))
        return sn_fail(err, SONDE_E_LIMIT, 0, "too many processes to record");
    struct sn_task *task = sn_tasks_find(tasks, pid);
    if (!task)
        task = adopt(tasks, pid, name, time_ns);
    if (!task)
        return sn_fail(err, SONDE_E_DENIED, 0, "cannot record process %" PRIu32, pid);
    task->is_followed = true;
    return SONDE_OK;
}

struct sn_task *sn_tasks_meet(struct sn_tasks *tasks, uint32_t pid, uint64_t time_ns)
{
    struct sn_task *task = sn_tasks_find(tasks, pid);
    if (!task && tasks->scope.takes_all) {
        char name[SN_TASK_NAME_SIZE] = "";
        (void)sn_proc_task_name(pid, name, sizeof(name)); /* gone: it stays without a name */
        return adopt(tasks, pid, name, time_ns);
    }
    if (task && task->is_held)
        return NULL;
    if (task && !task->exited_ns)
        sn_task_events_process(&tasks->events, task, time_ns);
    return task;
}

/* --- from the rings --- */

/* A thread begins with the name of the one that made it, and no record says so. One that has ended
 * by now kept that name, or a record tells the other. */
static void take_thread(struct sn_tasks *tasks, const struct sn_perf_record *record)
{
    char name[SN_TASK_NAME_SIZE];
    struct sn_task *task = sn_tasks_find(tasks, record->pid);
    if (!task || task->exited_ns || task->is_held || record->time_ns < task->since_ns)
        return;
    uint32_t maker = record->task.parent_tid;
    if (!sn_proc_task_thread_name(record->pid, record->tid, name, sizeof(name)) &&
        !sn_proc_task_thread_name(record->pid, maker, name, sizeof(name)))
        return;
    sn_task_events_process(&tasks->events, task, record->time_ns);
    sn_task_events_thread(&tasks->events, task, record->tid, name, record->time_ns);
}

static void take_fork(struct sn_tasks *tasks, const struct sn_perf_record *record)
{
    if (record->pid == record->task.parent_pid) {
        take_thread(tasks, record);
        return;
    }
    const struct sn_task *known = sn_tasks_find(tasks, record->pid);
    if (known && record->time_ns < known->since_ns)
        return;
    const struct sn_task *parent = sn_tasks_find(tasks, record->task.parent_pid);
    if (!parent)
        return; /* out of scope; or met when it runs, if everybody is in it */
    struct sn_task *child = make_task(tasks, record->pid, parent->name, record->time_ns);
    if (!child)
        return;
    child->is_new = true;
    child->is_followed = parent->is_followed;
    child->is_partial =
        !sn_mappings_copy(&child->mappings, &parent->mappings) || parent->is_partial;
}

/* Another program in the old process: for readers another process with the same pid. */
static void take_exec(struct sn_tasks *tasks, const struct sn_perf_record *record)
{
    struct sn_task *task = sn_tasks_find(tasks, record->pid);
    bool is_followed = task && task->is_followed;
    if (task && task->is_told)
        sn_task_events_exit(&tasks->events, task, record->time_ns);
    if (!is_followed && !sn_scope_wants(&tasks->scope, record->pid, record->comm.name)) {
        if (task)
            forget(tasks, task);
        return;
    }
    if (!task)
        task = make_task(tasks, record->pid, "", record->time_ns);
    if (!task)
        return;
    sn_mappings_done(&task->mappings);
    tasks->held_pid = task->is_held ? 0 : tasks->held_pid;
    task->is_held = false;
    task->is_partial = false;
    task->exited_ns = 0;
    task->is_new = true;
    task->is_followed = is_followed;
    (void)snprintf(task->name, sizeof(task->name), "%s", record->comm.name);
    sn_task_events_process(&tasks->events, task, record->time_ns);
}

static void take_comm(struct sn_tasks *tasks, const struct sn_perf_record *record)
{
    struct sn_task *task = sn_tasks_find(tasks, record->pid);
    if (task && record->time_ns < task->since_ns)
        return;
    if (record->comm.is_exec) {
        take_exec(tasks, record);
        return;
    }
    bool is_main = record->tid == record->pid;
    if (!task && is_main && sn_scope_wants(&tasks->scope, record->pid, record->comm.name))
        task = adopt(tasks, record->pid, record->comm.name, record->time_ns);
    if (!task || task->exited_ns)
        return;
    sn_task_events_process(&tasks->events, task, record->time_ns);
    sn_task_events_thread(&tasks->events, task, record->tid, record->comm.name, record->time_ns);
}

static void take_exit(struct sn_tasks *tasks, const struct sn_perf_record *record)
{
    struct sn_task *task = sn_tasks_find(tasks, record->pid);
    if (!task || task->exited_ns)
        return;
    bool is_old = record->time_ns < task->since_ns;
    if (record->tid != record->pid && !is_old) {
        sn_task_events_process(&tasks->events, task, record->time_ns);
        sn_task_events_thread_exit(&tasks->events, task, record->tid, record->time_ns);
    }
    /* The main thread may go before others, and an old record may be about what was there before:
     * then /proc knows. */
    bool is_main = record->tid == record->pid;
    bool has_gone = is_main && !is_old ? !sn_proc_task_has_threads(record->pid)
                                       : !sn_proc_task_lives(record->pid);
    if (!has_gone)
        return;
    sn_table_remove(&tasks->scope.pids, record->pid);
    sn_task_events_exit(&tasks->events, task, record->time_ns);
}

static void take_mmap(struct sn_tasks *tasks, const struct sn_perf_record *record)
{
    const struct sn_perf_mmap *map = &record->mmap;
    struct sn_task *task = sn_tasks_find(tasks, record->pid);
    if (!task || record->time_ns < task->since_ns || !(map->protection & PROT_EXECUTE))
        return;
    struct sn_mapping mapping = {
        .start = map->start, .end = map->start + map->size, .offset = map->offset};
    if (strncmp(map->path, "//anon", 6) == 0)
        mapping.offset = 0; /* the kernel gives the address */
    mapping.file = sn_mapped_files_add(&tasks->events.files, map->path, map->device, map->inode);
    (void)sn_mappings_add(&task->mappings, &mapping); /* one too many is left out */
}

void sn_tasks_take(struct sn_tasks *tasks, const struct sn_perf_record *record)
{
    switch (record->type) {
    case SN_PERF_FORK: take_fork(tasks, record); break;
    case SN_PERF_COMM: take_comm(tasks, record); break;
    case SN_PERF_EXIT: take_exit(tasks, record); break;
    case SN_PERF_MMAP2: take_mmap(tasks, record); break;
    default: break;
    }
}

static struct sn_mapping *find_again(struct sn_tasks *tasks, struct sn_task *task, uint64_t address,
                                     uint64_t time_ns)
{
    if (time_ns < task->next_reading_ns || task->exited_ns)
        return NULL;
    struct reading reading = {.tasks = tasks, .task = task};
    (void)sn_proc_task_mappings(task->pid, read_mapping, &reading); /* gone: it stays unknown */
    struct sn_mapping *found = sn_mappings_find(&task->mappings, address);
    uint64_t pause = found || !task->reading_pause_ns ? FIRST_PAUSE_NS : task->reading_pause_ns * 2;
    task->reading_pause_ns = pause < LONGEST_PAUSE_NS ? pause : LONGEST_PAUSE_NS;
    task->next_reading_ns = time_ns + task->reading_pause_ns;
    return found;
}

struct sn_mapping *sn_tasks_mapping(struct sn_tasks *tasks, struct sn_task *task, uint64_t address,
                                    uint64_t time_ns)
{
    struct sn_mapping *mapping = sn_mappings_find(&task->mappings, address);
    return mapping ? mapping : find_again(tasks, task, address, time_ns);
}

struct sn_task_events *sn_tasks_events(struct sn_tasks *tasks)
{
    return &tasks->events;
}

/* --- upkeep --- */

struct doubt {
    struct sn_tasks *tasks;
    uint64_t time_ns;
};

/* The record that it executes its program may be among those that were lost: nobody would ever
 * listen to it. It has another name then than we, who hold it. */
static void release_begun(const struct doubt *doubt, struct sn_task *task)
{
    char name[SN_TASK_NAME_SIZE];
    if (!sn_proc_task_name(task->pid, name, sizeof(name)) || strcmp(name, task->name) == 0)
        return;
    doubt->tasks->held_pid = 0;
    task->is_held = false;
    task->is_new = true;
    (void)snprintf(task->name, sizeof(task->name), "%s", name);
    tell_all(doubt->tasks, task, doubt->time_ns);
}

static void doubt_one(void *user, struct sn_task *task)
{
    const struct doubt *doubt = user;
    task->next_reading_ns = 0;
    task->reading_pause_ns = 0;
    if (task->is_held)
        release_begun(doubt, task);
    if (task->exited_ns || kill((pid_t)task->pid, 0) == 0 || errno != ESRCH)
        return;
    sn_table_remove(&doubt->tasks->scope.pids, task->pid);
    sn_task_events_exit(&doubt->tasks->events, task, doubt->time_ns);
}

void sn_tasks_doubt(struct sn_tasks *tasks, uint64_t time_ns)
{
    struct doubt doubt = {tasks, time_ns};
    sn_tasks_each(tasks, doubt_one, &doubt);
}

struct sweep {
    uint64_t until_ns;
    uint32_t pids[64]; /* a few at a time: what is swept moves others */
    size_t count;
};

static void collect_exited(void *user, struct sn_task *task)
{
    struct sweep *sweep = user;
    bool is_due = task->exited_ns && task->exited_ns < sweep->until_ns;
    if (is_due && sweep->count < sizeof(sweep->pids) / sizeof(*sweep->pids))
        sweep->pids[sweep->count++] = task->pid;
}

void sn_tasks_sweep(struct sn_tasks *tasks, uint64_t time_ns)
{
    if (time_ns < tasks->swept_ns + KEEP_EXITED_NS)
        return;
    tasks->swept_ns = time_ns;
    struct sweep sweep = {.until_ns = time_ns - KEEP_EXITED_NS};
    do {
        sweep.count = 0;
        sn_tasks_each(tasks, collect_exited, &sweep);
        for (size_t i = 0; i < sweep.count; i++)
            forget(tasks, sn_tasks_find(tasks, sweep.pids[i]));
    } while (sweep.count);
}
