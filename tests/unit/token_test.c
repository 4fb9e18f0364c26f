/* Comparing of secrets: how much is done for it does not depend on where they differ. Instructions
 * are counted, not time: a machine that is busy changes nothing about them. */
#include "check.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/token.h"

/* Instructions of a child that compares once; 0: it cannot be counted here. */
static uint64_t steps_to_compare(const uint8_t *one, const uint8_t *other)
{
    int status = 0;
    uint64_t count = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(2);
        (void)raise(SIGSTOP);
        (void)sn_token_is_same(one, other);
        _exit(0);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        count++;
    }
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 0 ? count : 0;
}

static void as_much_is_done_wherever_two_differ(void **state)
{
    (void)state;
    uint8_t hash[SN_HASH_SIZE];
    uint8_t other[SN_HASH_SIZE];
    memset(hash, 0x5a, sizeof(hash));
    memcpy(other, hash, sizeof(hash));
    assert_true(sn_token_is_same(hash, other)); /* and the linker has done its part */
    uint64_t equal = steps_to_compare(hash, other);
    if (!equal)
        skip_because("no child can be traced here");
    assert_true(equal > SN_HASH_SIZE / sizeof(uint64_t));
    for (size_t i = 0; i < sizeof(hash); i++) {
        other[i] ^= 1;
        assert_false(sn_token_is_same(hash, other));
        assert_int_equal(steps_to_compare(hash, other), equal);
        other[i] ^= 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_much_is_done_wherever_two_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
