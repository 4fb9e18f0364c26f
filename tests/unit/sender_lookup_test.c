/* The end of a sender whose thread hangs in the look-up of a name: getaddrinfo is ours here and
 * takes as long as the test wants. */
#include "net_receiver.h"

#include <netdb.h>

#include "net/sender.h"

static int entered[2], released[2], left[2];

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): reserved names there */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    char byte = 'x';
    (void)node;
    (void)service;
    (void)hints;
    *list = NULL;
    (void)!write(entered[1], &byte, 1);
    (void)!read(released[0], &byte, 1);
    (void)!write(left[1], &byte, 1);
    return EAI_AGAIN;
}

static void the_end_does_not_wait_for_a_look_up(void **state)
{
    (void)state;
    struct sn_sender_options options = {.url = "tcp://somewhere.example:2003"};
    struct sn_sender *sender = NULL;
    char byte = 0;
    assert_int_equal(pipe(entered) | pipe(released) | pipe(left), 0);
    assert_int_equal(sn_sender_new(&options, &sender, NULL), SONDE_OK);
    assert_int_equal(sn_sender_put(sender, "x\n", 2, 1), SONDE_OK);
    assert_int_equal(read(entered[0], &byte, 1), 1);
    sn_sender_free(sender, 0); /* would wait for ever */
    assert_int_equal(write(released[1], &byte, 1), 1);
    assert_int_equal(read(left[0], &byte, 1), 1); /* and the thread, alone now, frees the rest */
    (void)poll(NULL, 0, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_end_does_not_wait_for_a_look_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
