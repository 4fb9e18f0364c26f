#include "api/machine_port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "source/ipc/call.h"
#include "source/ipc/ipc_commands.h"
#include "source/proc/environment.h"

/* How often the guard looks whether it is still needed; and, as a process that is just being made
 * can be missed, how soon it looks again when it seems not to be. */
#define LOOK_EVERY_NS (5000ull * SN_NS_PER_MS)
#define LOOK_AGAIN_NS (200ull * SN_NS_PER_MS)

struct sn_machine_port {
    struct sn_ipc_port *port;
    int lifeline; /* the guard sees it close; -1: it has */
    char setting[512];
};

/* --- the guard --- */

static void let_go(void *user, const struct sn_ipc_target *target, const struct sn_ipc_guid *cookie)
{
    struct sn_ipc_port *port = user;
    struct sn_ipc_route route = sn_ipc_port_route(port, target, cookie);
    (void)sn_ipc_resume(&route, NULL); /* one that has gone needs it no more */
}

static uint32_t find_holder(const char *path)
{
    uint32_t holder = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry && !holder; entry = readdir(dir)) {
        unsigned long pid = strtoul(entry->d_name, NULL, 10);
        if (pid && pid <= INT_MAX && sn_proc_environment_has((uint32_t)pid, path))
            holder = (uint32_t)pid;
    }
    if (dir)
        (void)closedir(dir);
    return holder;
}

/* `holder` is the one that was found last: mostly it is still there, and nobody else is asked. */
static bool is_needed(const char *path, uint32_t *holder)
{
    if (!*holder || !sn_proc_environment_has(*holder, path))
        *holder = find_holder(path);
    return *holder != 0;
}

static void serve(struct sn_ipc_port *port)
{
    struct sn_loop *loop = NULL;
    const char *path = sn_ipc_port_path(port);
    uint32_t holder = 0;
    bool was_needed = true;
    if (sn_loop_new(&loop, NULL) != SONDE_OK ||
        sn_ipc_port_watch(port, loop, let_go, port, NULL) != SONDE_OK)
        return;
    for (;;) {
        bool is_still = is_needed(path, &holder);
        if (!is_still && !was_needed)
            return;
        was_needed = is_still;
        uint64_t until_ns = sn_clock_deadline(is_still ? LOOK_EVERY_NS : LOOK_AGAIN_NS);
        while (sn_clock_monotonic_ns() < until_ns) {
            if (sn_loop_turn(loop, until_ns, NULL) != SONDE_OK)
                return;
        }
    }
}

/* Nothing of the recorder's stays open in the guard: locks, pipes, its terminal. */
static void leave_everything(const struct sn_ipc_port *port, int lifeline)
{
    int listener = sn_ipc_port_fd(port);
    unsigned low = (unsigned)(listener < lifeline ? listener : lifeline);
    unsigned high = (unsigned)(listener < lifeline ? lifeline : listener);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; nowhere >= 0 && fd <= STDERR_FILENO; fd++)
        (void)dup2(nowhere, fd);
    if (low > STDERR_FILENO + 1u)
        (void)close_range(STDERR_FILENO + 1u, low - 1, 0);
    if (high > low + 1)
        (void)close_range(low + 1, high - 1, 0);
    (void)close_range(high + 1, UINT_MAX, 0);
    (void)!chdir("/");
}

__attribute__((noreturn)) static void guard(struct sn_ipc_port *port, int lifeline)
{
    sigset_t none;
    char byte;
    ssize_t got;
    (void)setsid(); /* what ends the recorder from its terminal does not end this */
    (void)prctl(PR_SET_NAME, "sonde-guard");
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    leave_everything(port, lifeline);
    do {
        got = read(lifeline, &byte, 1);
    } while (got < 0 && errno == EINTR);
    serve(port);
    sn_ipc_port_free(port);
    _exit(0);
}

/* As nobody's child: it may outlive us, and we need not wait for it. */
static int start_guard(struct sn_ipc_port *port, int lifeline[2], struct sonde_error *err)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(lifeline[1]);
        pid_t own = fork();
        if (own == 0)
            guard(port, lifeline[0]);
        _exit(own < 0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0 ? SONDE_OK : sn_fail(err, SONDE_E_SYSTEM, 0, "cannot start a process");
}

/* --- the recorder's side --- */

int sn_machine_port_new(struct sn_machine_port **ret_port, struct sonde_error *err)
{
    struct sn_machine_port *port = calloc(1, sizeof(*port));
    int lifeline[2] = {-1, -1};
    if (!port)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a diagnostics port");
    int rc = sn_ipc_port_new(NULL, &port->port, err);
    if (rc == SONDE_OK && geteuid() == 0) /* the program may become another user */
        rc = sn_ipc_port_admit_all(port->port, err);
    if (rc == SONDE_OK && pipe2(lifeline, O_CLOEXEC) != 0)
        rc = sn_fail_errno(err, "cannot make a pipe");
    port->lifeline = lifeline[1];
    if (rc == SONDE_OK)
        rc = start_guard(port->port, lifeline, err);
    sn_close(lifeline[0]);
    if (rc != SONDE_OK) {
        sn_machine_port_free(port);
        return rc;
    }
    sn_ipc_port_share(port->port);
    (void)sn_ipc_port_setting(port->port, true, port->setting, sizeof(port->setting));
    *ret_port = port;
    return SONDE_OK;
}

void sn_machine_port_free(struct sn_machine_port *port)
{
    if (!port)
        return;
    sn_ipc_port_free(port->port);
    sn_close(port->lifeline);
    free(port);
}

const char *sn_machine_port_setting(const struct sn_machine_port *port)
{
    return port->setting;
}

const char *sn_machine_port_path(const struct sn_machine_port *port)
{
    return sn_ipc_port_path(port->port);
}

int sn_machine_port_watch(struct sn_machine_port *port, struct sn_loop *loop,
                          sn_ipc_arrived_fn *arrived, void *user, struct sonde_error *err)
{
    return sn_ipc_port_watch(port->port, loop, arrived, user, err);
}

struct sn_ipc_route sn_machine_port_route(struct sn_machine_port *port,
                                          const struct sn_ipc_target *target,
                                          const struct sn_ipc_guid *cookie)
{
    return sn_ipc_port_route(port->port, target, cookie);
}

void sn_machine_port_leave(struct sn_machine_port *port)
{
    sn_ipc_port_close(port->port);
    sn_close(sn_take_fd(&port->lifeline));
}
