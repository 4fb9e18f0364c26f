/* Pauses between tries: they grow, they are not the same for everybody, and they have a ceiling. */
#include "check.h"
#include "net/backoff.h"

#define FAILURES 100u

/* As long as a pause of the failure with that number may be. */
static uint64_t most_after(unsigned failure)
{
    uint64_t most_ns = SN_BACKOFF_FIRST_NS;
    for (unsigned i = 0; i < failure && most_ns < SN_BACKOFF_LONGEST_NS; i++)
        most_ns *= 2;
    return most_ns < SN_BACKOFF_LONGEST_NS ? most_ns : SN_BACKOFF_LONGEST_NS;
}

static void check_pauses(struct sn_backoff *backoff)
{
    for (unsigned i = 0; i < FAILURES; i++) {
        uint64_t pause_ns = sn_backoff_next(backoff);
        uint64_t most_ns = most_after(i);
        assert_true(pause_ns >= most_ns / 2);
        assert_true(pause_ns <= most_ns);
    }
}

static void pauses_double_up_to_half_a_minute(void **state)
{
    struct sn_backoff backoff;
    (void)state;
    assert_true(SN_BACKOFF_LONGEST_NS == UINT64_C(30000000000));
    sn_backoff_reset(&backoff);
    check_pauses(&backoff);
}

static void a_sign_of_life_makes_them_short_again(void **state)
{
    struct sn_backoff backoff;
    (void)state;
    sn_backoff_reset(&backoff);
    check_pauses(&backoff);
    sn_backoff_reset(&backoff);
    check_pauses(&backoff);
}

static void two_that_fail_together_do_not_come_back_in_step(void **state)
{
    struct sn_backoff one;
    struct sn_backoff other;
    unsigned same = 0;
    (void)state;
    sn_backoff_reset(&one);
    sn_backoff_reset(&other);
    for (unsigned i = 0; i < FAILURES; i++)
        same += sn_backoff_next(&one) == sn_backoff_next(&other);
    assert_in_range(same, 0, FAILURES / 10); /* there are 65536 pauses to choose from */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_half_a_minute),
        cmocka_unit_test(a_sign_of_life_makes_them_short_again),
        cmocka_unit_test(two_that_fail_together_do_not_come_back_in_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
