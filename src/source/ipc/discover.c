#include "source/ipc/discover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/user.h"
#include "source/ipc/connect.h"
#include "source/ipc/neighbour.h"
#include "source/ipc/process.h"

#define DEFAULT_DIRECTORY    "/tmp"
#define LARGEST_ENVIRONMENT  (1u << 20)
#define THREADS_LOOKED_AT    8u   /* the runtime's come right after the first */
#define THREADS_SEARCHED     256u /* when somebody asked for this very process */
#define CANDIDATES_CONNECTED 64u

/* One look at one process. */
struct look {
    const struct sn_ipc_process *process;
    struct sn_buf *environment;
    bool is_thorough; /* somebody asked for this one: take the time */
    bool is_off;      /* the environment switches the port off */
};

static const char *variable(const struct sn_buf *environment, const char *name)
{
    size_t length = strlen(name);
    const char *at = (const char *)environment->bytes;
    const char *end = at + environment->size;
    while (at < end) {
        size_t size = strnlen(at, (size_t)(end - at));
        if (at + size == end) /* cut off: no zero behind it */
            return NULL;
        if (size > length && at[length] == '=' && memcmp(at, name, length) == 0)
            return at + length + 1;
        at += size + 1;
    }
    return NULL;
}

/* The runtime reads these as hexadecimal numbers. */
static bool is_switched_off(const struct sn_buf *environment)
{
    static const char *const names[] = {
        "DOTNET_EnableDiagnostics",
        "DOTNET_EnableDiagnostics_IPC",
        "COMPlus_EnableDiagnostics",
        "COMPlus_EnableDiagnostics_IPC",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = variable(environment, names[i]);
        char *end;
        if (value && *value && strtoul(value, &end, 16) == 0 && !*end)
            return true;
    }
    return false;
}

/* False when the runtime cannot have a socket there: it would not fit into its sun_path either. */
static bool choose_directory(const struct sn_buf *environment, char *to, size_t size)
{
    const char *temp = variable(environment, "TMPDIR");
    if (!temp || !*temp)
        temp = DEFAULT_DIRECTORY;
    size_t length = strlen(temp);
    while (length > 1 && temp[length - 1] == '/')
        length--;
    if (temp[0] != '/' || length >= size)
        return false;
    memcpy(to, temp, length);
    to[length] = '\0';
    return true;
}

static void set_socket_path(struct sn_ipc_target *target, const char *name)
{
    bool is_root = strcmp(target->directory, "/") == 0;
    (void)snprintf(target->socket_path, sizeof(target->socket_path), "%s/%.90s",
                   is_root ? "" : target->directory, name);
}

static bool has_runtime(const struct look *look)
{
    unsigned most = look->is_thorough ? THREADS_SEARCHED : THREADS_LOOKED_AT;
    if (sn_ipc_process_has_runtime_thread(look->process, most))
        return true;
    return look->is_thorough && sn_ipc_process_has_runtime_mapping(look->process);
}

/* Tries each socket of this pid whatever the start time in its name, as the two clocks differ in a
 * time namespace: only who listens counts then. */
static bool find_by_listing(int dir, struct sn_ipc_target *target)
{
    int listed = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = listed >= 0 ? fdopendir(listed) : NULL;
    if (!entries) {
        sn_close(listed);
        return false;
    }
    char prefix[48];
    int length = snprintf(prefix, sizeof(prefix), "dotnet-diagnostic-%d-", target->ns_pid);
    bool found = false;
    unsigned tried = 0;
    for (struct dirent *entry = readdir(entries); entry && !found && tried < CANDIDATES_CONNECTED;
         entry = readdir(entries)) {
        SN_AUTO(sn_close) int file = -1;
        SN_AUTO(sn_close) int fd = -1;
        if (strncmp(entry->d_name, prefix, (size_t)length) != 0 || strlen(entry->d_name) > 90 ||
            sn_ipc_socket_look(dir, entry->d_name, target->uid, &file) != SN_IPC_REACH_OK)
            continue;
        tried++;
        found = sn_ipc_socket_connect(file, target, &fd) == SN_IPC_REACH_OK;
        if (found)
            set_socket_path(target, entry->d_name);
    }
    (void)closedir(entries); /* only read from */
    return found;
}

/* Whether there is a socket, or at least a runtime; sets reach and socket_path. */
static bool look_for_socket(const struct look *look, int root, struct sn_ipc_target *target)
{
    char name[96];
    (void)snprintf(name, sizeof(name), "dotnet-diagnostic-%d-%" PRIu64 "-socket", target->ns_pid,
                   target->start_ticks);
    SN_AUTO(sn_close)
    int dir = *target->directory
                  ? sn_ipc_open_in_root(root, target->directory, O_PATH | O_DIRECTORY)
                  : -1;
    enum sn_ipc_reach reach = SN_IPC_REACH_NO_SOCKET;
    if (dir >= 0)
        reach = sn_ipc_socket_look(dir, name, target->uid, NULL);

    target->reach = reach;
    if (reach == SN_IPC_REACH_OK) {
        set_socket_path(target, name);
        return true;
    }
    if (!has_runtime(look))
        return false;
    if (reach == SN_IPC_REACH_NO_SOCKET && look->is_off)
        target->reach = SN_IPC_REACH_OFF;
    else if (reach == SN_IPC_REACH_NO_SOCKET && dir >= 0 && find_by_listing(dir, target))
        target->reach = SN_IPC_REACH_OK;
    return true;
}

/* A dead process has neither root nor environment; its socket may still lie in our own /tmp. */
static bool look_at_dead(const struct look *look, struct sn_ipc_target *target)
{
    char path[128];
    (void)snprintf(path, sizeof(path), DEFAULT_DIRECTORY "/dotnet-diagnostic-%d-%" PRIu64 "-socket",
                   target->ns_pid, target->start_ticks);
    target->reach = SN_IPC_REACH_ZOMBIE;
    return look->is_thorough ||
           sn_ipc_socket_look(AT_FDCWD, path, target->uid, NULL) == SN_IPC_REACH_OK;
}

static bool look_at_living(struct look *look, struct sn_ipc_target *target)
{
    SN_AUTO(sn_close) int root = sn_ipc_process_open_root(look->process);
    if (root < 0 || !sn_ipc_process_read_environment(look->process, look->environment)) {
        target->reach = sn_ipc_reach_of_unreadable(target);
        return has_runtime(look);
    }
    look->is_off = is_switched_off(look->environment);
    if (!choose_directory(look->environment, target->directory, sizeof(target->directory)))
        target->directory[0] = '\0';
    if (!look_for_socket(look, root, target))
        return false;
    if (sn_ipc_process_is_stopped(look->process))
        target->reach = SN_IPC_REACH_STOPPED;
    return true;
}

/* Cheapest first: what `stat` alone rules out is most of a machine. A runtime is never alone: its
 * server, finalizer and signal threads come with it. */
static bool may_be_dotnet(const struct sn_ipc_process *process)
{
    if (sn_ipc_process_is_kernel_thread(process))
        return false;
    return sn_ipc_process_is_dead(process) || process->thread_count > 1;
}

static bool inspect(struct sn_ipc_process *process, struct sn_buf *environment, bool is_thorough,
                    struct sn_ipc_target *target)
{
    if (!may_be_dotnet(process) || !sn_ipc_process_read_status(process))
        return false;
    *target = (struct sn_ipc_target){
        .pid = process->pid,
        .ns_pid = process->ns_pid,
        .start_ticks = process->start_ticks,
        .uid = process->uid,
        .gid = process->gid,
        .state = process->state,
    };
    memcpy(target->comm, process->comm, sizeof(target->comm));
    struct look look = {.process = process, .environment = environment, .is_thorough = is_thorough};
    return sn_ipc_process_is_dead(process) ? look_at_dead(&look, target)
                                           : look_at_living(&look, target);
}

static int look_at_entry(const char *name, struct sn_buf *environment, sn_ipc_found_fn *found,
                         void *user)
{
    struct sn_ipc_process process;
    struct sn_ipc_target target;
    if (!sn_ipc_process_open((int)strtol(name, NULL, 10), &process))
        return SONDE_OK; /* gone since it was listed */
    bool is_dotnet = inspect(&process, environment, false, &target);
    sn_ipc_process_close(&process);
    return is_dotnet ? found(user, &target) : SONDE_OK;
}

int sn_ipc_discover(sn_ipc_found_fn *found, void *user, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf environment = sn_buf_with_limit(LARGEST_ENVIRONMENT);
    DIR *entries = opendir("/proc");
    if (!entries)
        return sn_fail_errno(err, "cannot list /proc");
    int rc = SONDE_OK;
    for (struct dirent *entry = readdir(entries); entry && rc == SONDE_OK;
         entry = readdir(entries)) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            rc = look_at_entry(entry->d_name, &environment, found, user);
    }
    (void)closedir(entries); /* only read from */
    return rc == SONDE_OK ? sn_ipc_neighbours(true, found, user) : rc;
}

int sn_ipc_target_inspect(int pid, struct sn_ipc_target *ret_target, struct sonde_error *err)
{
    struct sn_ipc_process process = {.dir = -1};
    struct sn_ipc_target target;
    if (pid <= 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%d is no process id", pid);
    if (sn_ipc_neighbour_find(pid, ret_target, NULL))
        return SONDE_OK;
    if (!sn_ipc_process_open(pid, &process))
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "there is no process %d, or it is hidden from this user", pid);
    SN_AUTO(sn_buf_done) struct sn_buf environment = sn_buf_with_limit(LARGEST_ENVIRONMENT);
    bool is_dotnet = inspect(&process, &environment, true, &target);
    int tgid = process.tgid;
    sn_ipc_process_close(&process);
    if (tgid && tgid != pid)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%d is a thread of process %d: use that", pid,
                       tgid);
    if (!is_dotnet)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "pid %d is not a .NET process, or its runtime has not started yet", pid);
    *ret_target = target;
    return SONDE_OK;
}

int sn_ipc_target_of_pid(int pid, struct sn_ipc_target *ret_target, struct sonde_error *err)
{
    struct sn_ipc_target target = {0};
    int rc = sn_ipc_target_inspect(pid, &target, err);
    if (rc != SONDE_OK)
        return rc;
    if (target.reach != SN_IPC_REACH_OK)
        return sn_ipc_reach_fail(&target, target.reach, err);
    *ret_target = target;
    return SONDE_OK;
}

const char *sn_ipc_reach_reason(enum sn_ipc_reach reach)
{
    switch (reach) {
    case SN_IPC_REACH_OK: return "it can be reached";
    case SN_IPC_REACH_DENIED: return "it belongs to another user";
    case SN_IPC_REACH_HIDDEN: return "the kernel does not let us look into it";
    case SN_IPC_REACH_OFF: return "its environment switches diagnostics off";
    case SN_IPC_REACH_NO_SOCKET: return "its diagnostics socket is not where it should be";
    case SN_IPC_REACH_STOPPED: return "it is stopped, by a signal or a debugger";
    case SN_IPC_REACH_ZOMBIE: return "it has ended and waits for its parent";
    case SN_IPC_REACH_STALE: return "nobody listens on its diagnostics socket";
    case SN_IPC_REACH_FAKE: return "what stands for its diagnostics socket is not its own";
    }
    return "the reason is not known";
}

const char *sn_ipc_reach_fix(const struct sn_ipc_target *target, char *to, size_t size)
{
    char user[SN_USER_NAME_SIZE];
    *to = '\0';
    switch (target->reach) {
    case SN_IPC_REACH_OK:
    case SN_IPC_REACH_ZOMBIE: break;
    case SN_IPC_REACH_DENIED:
        (void)snprintf(to, size, "sudo -u '#%u' sonde ...   (as user %s), or sudo sonde ...",
                       target->uid, sn_user_name(target->uid, user));
        break;
    case SN_IPC_REACH_HIDDEN:
        (void)snprintf(to, size, "run with sudo, or give this container CAP_SYS_PTRACE");
        break;
    case SN_IPC_REACH_OFF:
        (void)snprintf(to, size,
                       "restart it without DOTNET_EnableDiagnostics=0 and "
                       "DOTNET_EnableDiagnostics_IPC=0");
        break;
    case SN_IPC_REACH_NO_SOCKET:
        (void)snprintf(to, size, "restart it with TMPDIR set to a short path that is not cleaned");
        break;
    case SN_IPC_REACH_STOPPED:
        if (target->state == 't')
            (void)snprintf(to, size, "wait for the debugger or dump that holds it, or end that");
        else
            (void)snprintf(to, size, "kill -CONT %d", target->pid);
        break;
    case SN_IPC_REACH_STALE: (void)snprintf(to, size, "restart it"); break;
    case SN_IPC_REACH_FAKE:
        (void)snprintf(to, size, "see who made %s in the temporary directory of pid %d",
                       *target->socket_path ? target->socket_path : "the file", target->pid);
        break;
    }
    return to;
}

static int status_of_reach(enum sn_ipc_reach reach)
{
    switch (reach) {
    case SN_IPC_REACH_OK: return SONDE_OK;
    case SN_IPC_REACH_DENIED:
    case SN_IPC_REACH_HIDDEN:
    case SN_IPC_REACH_FAKE: return SONDE_E_DENIED;
    case SN_IPC_REACH_ZOMBIE:
    case SN_IPC_REACH_STALE: return SONDE_E_GONE;
    case SN_IPC_REACH_STOPPED: return SONDE_E_BUSY;
    case SN_IPC_REACH_OFF:
    case SN_IPC_REACH_NO_SOCKET: return SONDE_E_NOT_FOUND;
    }
    return SONDE_E_NOT_FOUND;
}

int sn_ipc_reach_fail(const struct sn_ipc_target *target, enum sn_ipc_reach reach,
                      struct sonde_error *err)
{
    struct sn_ipc_target failed = *target;
    char fix[256];
    failed.reach = reach;
    (void)sn_ipc_reach_fix(&failed, fix, sizeof(fix));
    return sn_fail(err, status_of_reach(reach), 0, "pid %d: %s%s%s", target->pid,
                   sn_ipc_reach_reason(reach), *fix ? "; " : "", fix);
}
