/* The number of a process in its own namespace, however many groups it is in. */
#include "check.h"

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own_id.h"

static void an_id_without_a_namespace_is_the_same(void **state)
{
    (void)state;
    assert_int_equal(sn_own_id((uint32_t)getpid(), 0), getpid());
    assert_int_equal(sn_own_id((uint32_t)getpid(), (uint32_t)gettid()), gettid());
    assert_false(sn_own_id_is_apart((uint32_t)getpid()));
}

static void a_process_that_has_ended_has_none(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sn_own_id((uint32_t)pid, 0), 0);
}

/* The kernel lists the groups before the numbers. 77: this cannot be done here. */
static int look_at_one_apart(void)
{
    static gid_t groups[4000];
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
        groups[i] = (gid_t)(4000000000u + i);
    if (setgroups(sizeof(groups) / sizeof(*groups), groups) != 0 || unshare(CLONE_NEWPID) != 0)
        return 77;
    pid_t pid = fork();
    if (pid < 0)
        return 77;
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    bool is_right =
        sn_own_id((uint32_t)pid, 0) == 1 && sn_own_id((uint32_t)pid, (uint32_t)pid) == 1;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    return is_right ? 0 : 1;
}

static void the_innermost_number_is_found_behind_many_groups(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(look_at_one_apart());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip_because("no namespaces to be had");
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_without_a_namespace_is_the_same),
        cmocka_unit_test(a_process_that_has_ended_has_none),
        cmocka_unit_test(the_innermost_number_is_found_behind_many_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
