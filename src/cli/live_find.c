#include "cli/live_find.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/live_run.h"
#include "cli/scope_options.h"
#include "sonde/process.h"

#define PAUSE_NS         (2000ull * SN_NS_PER_MS) /* every runtime is asked who it is */
#define COMMAND_PAUSE_NS (20ull * SN_NS_PER_MS)   /* its first events are the ones that matter */
#define CHILD_PAUSE_NS   (100ull * SN_NS_PER_MS)  /* whether it has ended */
#define PROCESSES_MAX    SN_LIST_MAX

static void sonde_process_list_free_auto(struct sonde_process_list **slot)
{
    sonde_process_list_free(*slot);
}

/* --- the list --- */

/* One that ended may have left its number to another. */
static bool is_known(const struct sn_live_run *run, uint32_t pid)
{
    for (const struct sn_live_process *process = run->first; process; process = process->next) {
        if (process->pid == pid && !process->has_ended)
            return true;
    }
    return false;
}

static int add_process(struct sn_live_run *run, uint32_t pid, const char *name,
                       struct sonde_error *err)
{
    if (is_known(run, pid))
        return SONDE_OK;
    if (run->live_count == PROCESSES_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u processes at once", PROCESSES_MAX);
    struct sn_live_process *process = calloc(1, sizeof(*process));
    char *copy = strdup(name);
    if (!process || !copy) {
        free(process);
        free(copy);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a process");
    }
    process->run = run;
    process->pid = pid;
    process->found_ns = sn_clock_monotonic_ns();
    process->name = copy;
    process->next = run->first;
    run->first = process;
    run->live_count++;
    run->found_count++;
    run->is_several |= run->found_count > 1;
    return SONDE_OK;
}

static bool is_wanted(const struct sn_live_run *run, const struct sonde_process *process)
{
    const struct sn_option_list *names = run->choice.names;
    for (size_t i = 0; i < names->count; i++) {
        if (sonde_process_is_called(process, names->items[i]))
            return true;
    }
    return run->choice.all;
}

static const char *name_of(const struct sonde_process_list *list, uint32_t pid)
{
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (process->pid == pid)
            return process->name;
    }
    return "?";
}

/* --- by number, by name, all --- */

static int add_pids(struct sn_live_run *run, const struct sonde_process_list *list,
                    struct sonde_error *err)
{
    SN_AUTO(sn_free) struct sn_pid_list *pids = calloc(1, sizeof(*pids));
    if (!pids)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a list");
    int rc = sn_pid_list_read(pids, run->choice.pids, err);
    for (size_t i = 0; rc == SONDE_OK && i < pids->count; i++)
        rc = add_process(run, pids->items[i], name_of(list, pids->items[i]), err);
    return rc;
}

/* Those that cannot be reached are passed over, and counted. */
static size_t add_named(struct sn_live_run *run, const struct sonde_process_list *list)
{
    size_t unreachable = 0;
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (!is_wanted(run, process))
            continue;
        if (process->is_reachable)
            (void)add_process(run, process->pid, process->name, NULL);
        else
            unreachable++;
    }
    return unreachable;
}

static bool is_looking(const struct sn_live_run *run)
{
    return run->choice.all || run->choice.names->count;
}

static int find_running(struct sn_live_run *run, struct sonde_error *err)
{
    SN_AUTO(sonde_process_list_free) struct sonde_process_list *list = NULL;
    int rc = sonde_process_list_new(&list, err);
    if (rc == SONDE_OK)
        rc = add_pids(run, list, err);
    if (rc != SONDE_OK)
        return rc;
    size_t unreachable = add_named(run, list);
    run->is_several |= run->choice.all;
    if (!run->found_count && unreachable)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "of %zu such .NET processes none can be reached; 'sonde ps' says why",
                       unreachable);
    if (unreachable)
        (void)fprintf(stderr, "sonde: %zu more cannot be reached; 'sonde ps' says why\n",
                      unreachable);
    if (!run->found_count)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "no .NET process%s%.64s%s; 'sonde ps' lists them",
                       run->choice.all ? "" : " called '",
                       run->choice.all ? "" : run->choice.names->items[0],
                       run->choice.all ? "" : "'");
    return SONDE_OK;
}

/* --- a program --- */

/* Its output must not mix with ours. Signals that we hold back are its own business. */
static int start_program(struct sn_live_run *run, struct sonde_error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    if (run->out_fd == STDOUT_FILENO)
        (void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t ours;
    (void)sigemptyset(&ours);
    (void)sigaddset(&ours, SIGPIPE);
    (void)posix_spawnattr_setsigdefault(&attributes, &ours);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = 0;
    int failed = posix_spawnp(&pid, run->choice.command[0], &actions, &attributes,
                              run->choice.command, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    errno = failed;
    if (failed)
        return sn_fail_errno(err, "cannot start '%.128s'", run->choice.command[0]);
    run->child = pid;
    return SONDE_OK;
}

/* The parent of a process; 0: it is gone. */
static uint32_t parent_of(uint32_t pid)
{
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        (void)fclose(file);
    text[size] = '\0';
    const char *behind_name = strrchr(text, ')');
    unsigned long parent = 0;
    if (behind_name && strlen(behind_name) > 4)
        parent = strtoul(behind_name + 4, NULL, 10);
    return (uint32_t)parent;
}

/* What was started may have started it: a shell, a wrapper. */
static bool is_of_program(const struct sn_live_run *run, uint32_t pid)
{
    for (unsigned generation = 0; pid > 1 && generation < 16; generation++) {
        if (pid == (uint32_t)run->child)
            return true;
        pid = parent_of(pid);
    }
    return false;
}

static void find_program(struct sn_live_run *run)
{
    SN_AUTO(sonde_process_list_free) struct sonde_process_list *list = NULL;
    if (waitpid(run->child, &run->child_status, WNOHANG) == run->child) {
        run->child = 0;
        return;
    }
    if (run->found_count || sonde_process_list_new(&list, NULL) != SONDE_OK)
        return;
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (process->is_reachable && is_of_program(run, process->pid))
            (void)add_process(run, process->pid, process->name, NULL);
    }
}

/* --- the public side --- */

int sn_live_find(struct sn_live_run *run, struct sonde_error *err)
{
    const struct sn_live_choice *choice = &run->choice;
    bool has_processes = choice->all || choice->names->count || choice->pids->count;
    if (has_processes && choice->command)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "give processes or a command, not both");
    if (choice->command && choice->command[0])
        return start_program(run, err);
    if (!has_processes)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "which process? give -p PID, -n NAME, -a or -- COMMAND; 'sonde ps' lists "
                       "them");
    return find_running(run, err);
}

void sn_live_find_again(struct sn_live_run *run)
{
    SN_AUTO(sonde_process_list_free) struct sonde_process_list *list = NULL;
    if (run->child)
        find_program(run);
    else if (is_looking(run) && sonde_process_list_new(&list, NULL) == SONDE_OK)
        (void)add_named(run, list);
}

uint64_t sn_live_find_pause_ns(const struct sn_live_run *run)
{
    if (!run->child)
        return PAUSE_NS;
    return run->found_count ? CHILD_PAUSE_NS : COMMAND_PAUSE_NS;
}

bool sn_live_find_is_done(const struct sn_live_run *run)
{
    return !run->child && !is_looking(run);
}
