/* A program started for a recording: held, let go, ended, or never there. */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/command.h"
#include "sonde/error.h"

static int wait_for(struct sn_command *command)
{
    while (sn_command_status(command) < 0)
        (void)usleep(1000);
    return sn_command_status(command);
}

static void runs_only_once_it_is_released(void **state)
{
    (void)state;
    char path[] = "/tmp/sonde-command-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)unlink(path);
    char *argv[] = {"sh", "-c", "> \"$1\"; exit 7", "sh", path, NULL};
    struct sn_command *command = NULL;
    assert_int_equal(sn_command_new(argv, NULL, &command, NULL), SONDE_OK);
    (void)usleep(50000);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sn_command_status(command), -1);
    assert_int_equal(sn_command_release(command, NULL), SONDE_OK);
    int status = wait_for(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(access(path, F_OK), 0);
    (void)unlink(path);
    sn_command_free(command);
}

static void says_when_there_is_no_such_program(void **state)
{
    (void)state;
    char *argv[] = {"/does/not/exist", NULL};
    struct sn_command *command = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_command_new(argv, NULL, &command, &err), SONDE_OK);
    assert_int_equal(sn_command_release(command, &err), SONDE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "/does/not/exist"));
    sn_command_free(command);
}

static void one_that_was_never_released_does_not_stay(void **state)
{
    (void)state;
    char *argv[] = {"sleep", "600", NULL};
    struct sn_command *command = NULL;
    assert_int_equal(sn_command_new(argv, NULL, &command, NULL), SONDE_OK);
    pid_t pid = (pid_t)sn_command_pid(command);
    assert_int_equal(kill(pid, 0), 0);
    sn_command_free(command);
    assert_int_equal(kill(pid, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_only_once_it_is_released),
        cmocka_unit_test(says_when_there_is_no_such_program),
        cmocka_unit_test(one_that_was_never_released_does_not_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
