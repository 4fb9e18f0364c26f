/* Letters between threads: bounded, but what ends something is never refused; all in order. */
#include "check.h"

#include <poll.h>

#include "daemon/mailbox.h"

static char seen[8];
static size_t seen_count;

static void note(void *user)
{
    seen[seen_count++] = *(const char *)user;
}

static void what_ends_something_is_never_refused(void **state)
{
    (void)state;
    struct sonde_error err = {0};
    struct sn_mailbox *mailbox = NULL;
    assert_int_equal(sn_mailbox_new(2, &mailbox, &err), SONDE_OK);
    assert_true(sn_mailbox_post(mailbox, note, "a"));
    assert_false(sn_mailbox_is_full(mailbox));
    assert_true(sn_mailbox_post(mailbox, note, "b"));
    assert_true(sn_mailbox_is_full(mailbox));
    assert_false(sn_mailbox_post(mailbox, note, "x"));
    sn_mailbox_post_sure(mailbox, note, "c");
    sn_mailbox_post_sure(mailbox, note, "d");
    assert_int_equal(sn_mailbox_count(mailbox), 4);
    struct pollfd polled = {.fd = sn_mailbox_fd(mailbox), .events = POLLIN};
    assert_int_equal(poll(&polled, 1, 0), 1);
    sn_mailbox_turn(mailbox);
    assert_string_equal(seen, "abcd");
    assert_int_equal(poll(&polled, 1, 0), 0);
    assert_true(sn_mailbox_post(mailbox, note, "e"));
    sn_mailbox_free(mailbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ends_something_is_never_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
