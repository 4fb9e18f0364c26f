#include "api/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/port_variable.h"
#include "base/err.h"
#include "base/own.h"

struct sn_command {
    pid_t pid;
    int status; /* -1 while it runs */
    int gate;   /* a byte, and it runs; -1: it does */
    int answer; /* says nothing when it runs, errno when it could not */
    char *name;
};

/* The child's side, until it is another program. What we block or ignore for ourselves must not be
 * its fate as well. */
__attribute__((noreturn)) static void run(char *const argv[], char **environment, int gate,
                                          int answer)
{
    sigset_t none;
    char go;
    ssize_t got;
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    do {
        got = read(gate, &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(127); /* nobody records any more */
    if (environment)
        environ = environment;
    (void)execvp(argv[0], argv);
    int cause = errno;
    (void)!write(answer, &cause, sizeof(cause));
    _exit(127);
}

int sn_command_new(char *const argv[], const char *ports, struct sn_command **ret_command,
                   struct sonde_error *err)
{
    SN_AUTO(sn_free) char *variable = NULL;
    SN_AUTO(sn_free) char **environment = ports ? sn_port_environment(ports, &variable) : NULL;
    struct sn_command *command = calloc(1, sizeof(*command));
    int gate[2] = {-1, -1};
    int answer[2] = {-1, -1};
    if (!command || (ports && !environment) || !(command->name = strdup(argv[0]))) {
        free(command);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to start '%s'", argv[0]);
    }
    pid_t pid = -1;
    if (pipe2(gate, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0) {
        (void)close(gate[1]); /* or a recorder that dies would leave it waiting for itself */
        run(argv, environment, gate[0], answer[1]);
    }
    sn_close(gate[0]);
    sn_close(answer[1]);
    *command = (struct sn_command){
        .pid = pid, .status = -1, .gate = gate[1], .answer = answer[0], .name = command->name};
    if (pid < 0) {
        int rc = sn_fail_errno(err, "cannot start '%s'", argv[0]);
        sn_command_free(command);
        return rc;
    }
    *ret_command = command;
    return SONDE_OK;
}

void sn_command_free(struct sn_command *command)
{
    if (!command)
        return;
    if (command->pid > 0 && command->gate >= 0) {
        (void)kill(command->pid, SIGKILL);
        (void)waitpid(command->pid, NULL, 0);
    }
    sn_close(command->gate);
    sn_close(command->answer);
    free(command->name);
    free(command);
}

uint32_t sn_command_pid(const struct sn_command *command)
{
    return (uint32_t)command->pid;
}

int sn_command_release(struct sn_command *command, struct sonde_error *err)
{
    int cause = 0;
    (void)!write(command->gate, "", 1);
    sn_close(sn_take_fd(&command->gate));
    ssize_t got;
    do {
        got = read(command->answer, &cause, sizeof(cause)); /* ends when it is another program */
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(cause))
        return SONDE_OK;
    (void)waitpid(command->pid, &command->status, 0);
    errno = cause;
    return sn_fail_errno(err, "cannot start '%s'", command->name);
}

int sn_command_status(struct sn_command *command)
{
    int status;
    if (command->status < 0 && command->pid > 0 &&
        waitpid(command->pid, &status, WNOHANG) == command->pid)
        command->status = status;
    return command->status;
}
