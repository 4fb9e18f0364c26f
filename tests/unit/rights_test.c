/* What this process may do: however many groups it is in. */
#include "check.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/proc/rights.h"

/* The kernel lists the groups before the capabilities. */
static int look_in_many_groups(unsigned capability)
{
    static gid_t groups[4000];
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
        groups[i] = (gid_t)(4000000000u + i);
    if (setgroups(sizeof(groups) / sizeof(*groups), groups) != 0)
        return 77; /* without the capability, or in a user namespace without such groups */
    return sn_rights_has_capability(capability) ? 0 : 1;
}

static void capabilities_are_found_behind_many_groups(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(look_in_many_groups(CAP_SETGID));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip_because("groups cannot be set here");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_capability_that_there_is_not_is_not_held(void **state)
{
    (void)state;
    assert_false(sn_rights_has_capability(63));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capabilities_are_found_behind_many_groups),
        cmocka_unit_test(a_capability_that_there_is_not_is_not_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
