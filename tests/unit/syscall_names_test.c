/* Names of system calls, held against the numbers that the C library was built with. */
#include "check.h"

#include <sys/syscall.h>

#include "format/syscall_names.h"

static void names_are_the_systems(void **state)
{
    (void)state;
    assert_string_equal(sn_syscall_name(SYS_read), "read");
    assert_string_equal(sn_syscall_name(SYS_pread64), "pread64");
    assert_string_equal(sn_syscall_name(SYS_futex), "futex");
    assert_string_equal(sn_syscall_name(SYS_clock_nanosleep), "clock_nanosleep");
    assert_string_equal(sn_syscall_name(SYS_io_uring_enter), "io_uring_enter");
    assert_string_equal(sn_syscall_name(SYS_clone3), "clone3");
}

static void numbers_without_a_name_have_none(void **state)
{
    (void)state;
    assert_null(sn_syscall_name(400)); /* the gap between the old and the common numbers */
    assert_null(sn_syscall_name(100000));
    assert_null(sn_syscall_name(UINT64_MAX)); /* what a record says after a signal's return */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_the_systems),
        cmocka_unit_test(numbers_without_a_name_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
