#include "api/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/port_variable.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "source/ipc/ipc_commands.h"
#include "source/ipc/port.h"

#define ARRIVE_WITHIN_NS (60ull * SN_NS_PER_SECOND)
#define LOOK_EVERY_NS    (100ull * SN_NS_PER_MS)

struct sn_launch {
    pid_t child; /* 0: others started it */
    int status;  /* -1 while it runs */
    bool is_resumed;
    struct sn_ipc_port *port;
    struct sn_ipc_route route;
    struct sn_loop *loop;
    struct resume *resumes; /* owns */
    int input;              /* the other end of a hidden program's input, or -1 */
};

/* A runtime being let go. */
struct resume {
    struct sn_launch *launch;
    struct resume *next;
    struct sn_ipc_call call;
};

/* What we block or ignore for ourselves must not be the program's fate as well. */
static void give_usual_signals(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t ignored;
    (void)sigemptyset(&none);
    (void)sigemptyset(&ignored);
    (void)sigaddset(&ignored, SIGPIPE);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setsigdefault(attributes, &ignored);
    (void)posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* Input that never comes nor ends, as many programs run until theirs does; output that goes
 * nowhere. */
static int hide_io(posix_spawn_file_actions_t *actions, int input)
{
    int rc = posix_spawn_file_actions_adddup2(actions, input, STDIN_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
    return rc;
}

static int spawn_with(struct sn_launch *launch, char *const argv[], char **environment,
                      bool hides_io)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int input[2] = {-1, -1};
    if (hides_io && pipe2(input, O_CLOEXEC) != 0)
        return errno;
    SN_AUTO(sn_close) int child_input = input[0];
    launch->input = input[1];
    int rc = posix_spawnattr_init(&attributes);
    if (rc != 0)
        return rc;
    give_usual_signals(&attributes);
    rc = posix_spawn_file_actions_init(&actions);
    if (rc == 0) {
        if (hides_io)
            rc = hide_io(&actions, child_input);
        if (rc == 0)
            rc = posix_spawnp(&launch->child, argv[0], &actions, &attributes, argv, environment);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    (void)posix_spawnattr_destroy(&attributes);
    return rc;
}

static int spawn(struct sn_launch *launch, char *const argv[],
                 const struct sonde_trace_options *options, struct sonde_error *err)
{
    char setting[512];
    SN_AUTO(sn_free) char *variable = NULL;
    SN_AUTO(sn_free)
    char **environment = sn_port_environment(
        sn_ipc_port_setting(launch->port, true, setting, sizeof(setting)), &variable);
    if (!environment)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to start '%s'", argv[0]);
    int rc = spawn_with(launch, argv, environment, options->hide_child_io);
    if (rc == 0)
        return SONDE_OK;
    errno = rc;
    return sn_fail_errno(err, "cannot start '%s'", argv[0]);
}

/* Waits for a runtime to arrive, or for the program to end without one. */
static int wait_for_runtime(struct sn_launch *launch, const char *name,
                            const struct sonde_trace_options *options, struct sonde_error *err)
{
    uint64_t deadline = launch->child ? sn_clock_deadline(ARRIVE_WITHIN_NS) : UINT64_MAX;
    while (sn_clock_monotonic_ns() < deadline) {
        if (options->is_cancelled && options->is_cancelled(options->cancel_user))
            return sn_fail(err, SONDE_E_GONE, 0, "stopped before a .NET runtime started in '%s'",
                           name);
        struct sonde_error silent = {0};
        int rc = sn_ipc_port_wait(launch->port, 0, LOOK_EVERY_NS, &launch->route, &silent);
        if (rc == SONDE_OK)
            return SONDE_OK;
        if (rc != SONDE_E_TIMEOUT)
            return sn_fail(err, rc, 0, "%s", silent.text);
        if (sn_launch_status(launch) >= 0)
            return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                           "'%s' ended before a .NET runtime started in it; is it a .NET program?",
                           name);
    }
    return sn_fail(err, SONDE_E_TIMEOUT, 0, "no .NET runtime started in '%s' within a minute",
                   name);
}

static struct sn_launch *new_launch(void)
{
    struct sn_launch *launch = calloc(1, sizeof(*launch));
    if (launch) {
        launch->status = -1;
        launch->input = -1;
    }
    return launch;
}

/* Hands it on when all is well, else ends it. */
static int hand_over(struct sn_launch *launch, int rc, struct sn_launch **ret_launch,
                     struct sn_ipc_route *ret_route)
{
    if (rc != SONDE_OK) {
        sn_launch_free(launch);
        return rc;
    }
    *ret_launch = launch;
    *ret_route = launch->route;
    return SONDE_OK;
}

int sn_launch_new(char *const argv[], const struct sonde_trace_options *options,
                  struct sn_launch **ret_launch, struct sn_ipc_route *ret_route,
                  struct sonde_error *err)
{
    struct sn_launch *launch = new_launch();
    if (!launch)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to start '%s'", argv[0]);
    int rc = sn_ipc_port_new(NULL, &launch->port, err);
    if (rc == SONDE_OK)
        rc = spawn(launch, argv, options, err);
    if (rc == SONDE_OK)
        rc = wait_for_runtime(launch, argv[0], options, err);
    return hand_over(launch, rc, ret_launch, ret_route);
}

int sn_launch_await(const char *path, const struct sonde_trace_options *options,
                    struct sn_launch **ret_launch, struct sn_ipc_route *ret_route,
                    struct sonde_error *err)
{
    struct sn_launch *launch = new_launch();
    if (!launch)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to listen at '%s'", path);
    int rc = sn_ipc_port_new(path, &launch->port, err);
    if (rc == SONDE_OK)
        rc = wait_for_runtime(launch, path, options, err);
    return hand_over(launch, rc, ret_launch, ret_route);
}

bool sn_launch_has_program(const struct sn_launch *launch)
{
    return launch->child > 0;
}

static void forget_resume(struct resume *resume)
{
    struct resume **at = &resume->launch->resumes;
    while (*at != resume)
        at = &(*at)->next;
    *at = resume->next;
    free(resume);
}

/* It has not run an instruction of its own, and nobody else would ever let it. */
static void end_program(struct sn_launch *launch)
{
    struct sn_ipc_target *target = &launch->route.target;
    struct sn_ipc_target now;
    bool is_below_shell = target->pid > 0 && target->pid != launch->child;
    if (is_below_shell && sn_ipc_target_inspect(target->pid, &now, NULL) == SONDE_OK &&
        now.start_ticks == target->start_ticks)
        (void)kill(target->pid, SIGKILL);
    if (launch->child > 0 && launch->status < 0) {
        (void)kill(launch->child, SIGKILL);
        (void)waitpid(launch->child, NULL, 0);
    }
}

void sn_launch_free(struct sn_launch *launch)
{
    if (!launch)
        return;
    while (launch->resumes) {
        sn_ipc_call_cancel(&launch->resumes->call);
        forget_resume(launch->resumes);
    }
    if (!launch->is_resumed && launch->child)
        end_program(launch);
    sn_ipc_port_free(launch->port);
    sn_close(launch->input);
    (void)sn_launch_status(launch);
    free(launch);
}

/* Nothing is to be done: a runtime that could not be told has gone, or its own socket still lets
 * others. */
static void resumed(struct sn_ipc_call *call, int status)
{
    struct resume *resume = call->user;
    (void)status;
    sn_ipc_reply_done(&call->reply);
    forget_resume(resume);
}

/* A program that our program starts inherits the variable and would wait for ever. */
static void resume_other(void *user, const struct sn_ipc_target *target,
                         const struct sn_ipc_guid *cookie)
{
    struct sn_launch *launch = user;
    static const struct sn_ipc_request request = {.command = SN_IPC_RESUME_RUNTIME};
    struct sn_ipc_route route = sn_ipc_port_route(launch->port, target, cookie);
    struct resume *resume = calloc(1, sizeof(*resume));
    if (!resume)
        return;
    *resume = (struct resume){.launch = launch, .next = launch->resumes};
    resume->call.done = resumed;
    resume->call.user = resume;
    launch->resumes = resume;
    if (sn_ipc_call_start(&resume->call, launch->loop, &route, &request, SN_IPC_USUAL_TIMEOUT_NS,
                          NULL) != SONDE_OK)
        forget_resume(resume);
}

int sn_launch_resume(struct sn_launch *launch, struct sn_loop *loop, struct sonde_error *err)
{
    /* What the program itself starts must not look for our port: we may be gone by then. */
    const char *before = getenv(SN_PORTS_VARIABLE);
    int rc = SONDE_OK;
    if (launch->child)
        rc = sn_ipc_set_variable(&launch->route, SN_PORTS_VARIABLE, before ? before : "", err);
    if (rc == SONDE_OK)
        rc = sn_ipc_resume(&launch->route, err);
    if (rc != SONDE_OK)
        return rc;
    launch->is_resumed = true;
    launch->loop = loop;
    return sn_ipc_port_watch(launch->port, loop, resume_other, launch, err);
}

bool sn_launch_is_wrapped(const struct sn_launch *launch)
{
    return launch->child && launch->route.target.pid != launch->child;
}

int sn_launch_status(struct sn_launch *launch)
{
    int status;
    if (launch->status < 0 && launch->child > 0 &&
        waitpid(launch->child, &status, WNOHANG) == launch->child)
        launch->status = status;
    return launch->status;
}
