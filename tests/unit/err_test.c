/* Failures: the first cause stays, errno is told and kept, every status has a name. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void the_first_cause_stays(void **state)
{
    (void)state;
    struct sonde_error err = {0};
    assert_int_equal(sn_fail(&err, SONDE_E_FORMAT, 42, "bad block %d", 7), SONDE_E_FORMAT);
    assert_int_equal(sn_fail(&err, SONDE_E_LIMIT, 1, "later"), SONDE_E_LIMIT);
    assert_int_equal(err.status, SONDE_E_FORMAT);
    assert_int_equal(err.offset, 42);
    assert_int_equal(err.system_error, 0);
    assert_string_equal(err.text, "bad block 7");
}

static void nobody_needs_to_listen(void **state)
{
    (void)state;
    errno = ENOENT;
    assert_int_equal(sn_fail(NULL, SONDE_E_BUSY, 0, "x"), SONDE_E_BUSY);
    assert_int_equal(sn_fail_errno(NULL, "x"), SONDE_E_NOT_FOUND);
}

static void errno_is_told_for_system_errors_only_and_kept(void **state)
{
    (void)state;
    struct sonde_error err = {0};
    errno = EMFILE;
    assert_int_equal(sn_fail(&err, SONDE_E_SYSTEM, 0, "cannot open"), SONDE_E_SYSTEM);
    assert_int_equal(errno, EMFILE);
    assert_int_equal(err.system_error, EMFILE);
    assert_string_equal(err.text, "cannot open: Too many open files");
    err = (struct sonde_error){0};
    (void)sn_fail(&err, SONDE_E_FORMAT, 0, "odd");
    assert_string_equal(err.text, "odd");
    assert_int_equal(errno, EMFILE);
}

static void errno_chooses_the_nearest_status(void **state)
{
    (void)state;
    static const struct {
        int number;
        int status;
    } cases[] = {{ENOENT, SONDE_E_NOT_FOUND},  {ENOTDIR, SONDE_E_NOT_FOUND},
                 {EACCES, SONDE_E_DENIED},     {EPERM, SONDE_E_DENIED},
                 {ENOMEM, SONDE_E_NOMEM},      {ESRCH, SONDE_E_GONE},
                 {EPIPE, SONDE_E_GONE},        {ECONNRESET, SONDE_E_GONE},
                 {ETIMEDOUT, SONDE_E_TIMEOUT}, {EIO, SONDE_E_SYSTEM}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sonde_error err = {0};
        errno = cases[i].number;
        assert_int_equal(sn_fail_errno(&err, "tried %s", "it"), cases[i].status);
        assert_int_equal(err.status, cases[i].status);
        assert_int_equal(err.system_error, cases[i].number);
        assert_int_equal(errno, cases[i].number);
        assert_int_equal(strncmp(err.text, "tried it: ", 10), 0);
        assert_true(strlen(err.text) > 10);
    }
}

static void a_long_cause_is_cut_and_ends(void **state)
{
    (void)state;
    char path[1000];
    memset(path, 'p', sizeof(path));
    path[999] = '\0';
    for (size_t length = 370; length < 400; length++) {
        struct sonde_error err = {0};
        errno = ENOENT;
        (void)sn_fail_errno(&err, "%.*s", (int)length, path);
        assert_true(strlen(err.text) < sizeof(err.text));
        assert_int_equal(strncmp(err.text, path, length < 383 ? length : 383), 0);
    }
}

static void every_status_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int a = SONDE_E_BUSY; a <= SONDE_AGAIN; a++) {
        assert_string_not_equal(sonde_status_name(a), "unknown status");
        for (int b = SONDE_E_BUSY; b < a; b++)
            assert_string_not_equal(sonde_status_name(a), sonde_status_name(b));
    }
    assert_string_equal(sonde_status_name(SONDE_E_BUSY - 1), "unknown status");
    assert_string_equal(sonde_status_name(SONDE_AGAIN + 1), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_cause_stays),
        cmocka_unit_test(nobody_needs_to_listen),
        cmocka_unit_test(errno_is_told_for_system_errors_only_and_kept),
        cmocka_unit_test(errno_chooses_the_nearest_status),
        cmocka_unit_test(a_long_cause_is_cut_and_ends),
        cmocka_unit_test(every_status_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
