/* Time: formats, deadlines that saturate, milliseconds rounded up for poll(2). */
#include "check.h"

#include <limits.h>

#include "base/clock.h"

static void utc_is_written_to_the_millisecond(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(sn_clock_rfc3339(0, text), "1970-01-01T00:00:00.000Z");
    assert_string_equal(sn_clock_rfc3339(1769860800123999999u, text), "2026-01-31T12:00:00.123Z");
    assert_string_equal(sn_clock_rfc3339(951782400000000000u, text), "2000-02-29T00:00:00.000Z");
    assert_string_equal(sn_clock_rfc3339(UINT64_MAX, text), "2554-07-21T23:34:33.709Z");
}

static void the_monotonic_clock_never_goes_back(void **state)
{
    (void)state;
    uint64_t last = sn_clock_monotonic_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = sn_clock_monotonic_ns();
        assert_true(now >= last);
        last = now;
    }
    assert_true(sn_clock_utc_ns() > 1700000000u * (uint64_t)SN_NS_PER_SECOND);
}

static void a_deadline_saturates_at_never(void **state)
{
    (void)state;
    assert_true(sn_clock_deadline(UINT64_MAX) == UINT64_MAX);
    assert_true(sn_clock_deadline(UINT64_MAX - 1) == UINT64_MAX);
    uint64_t before = sn_clock_monotonic_ns();
    uint64_t deadline = sn_clock_deadline(SN_NS_PER_SECOND);
    assert_true(deadline >= before + SN_NS_PER_SECOND);
    assert_true(deadline <= sn_clock_monotonic_ns() + SN_NS_PER_SECOND);
}

static void poll_waits_long_enough_and_never_overflows(void **state)
{
    (void)state;
    assert_int_equal(sn_clock_poll_ms(UINT64_MAX), -1);
    assert_int_equal(sn_clock_poll_ms(0), 0);
    assert_int_equal(sn_clock_poll_ms(sn_clock_monotonic_ns()), 0);
    assert_int_equal(sn_clock_poll_ms(UINT64_MAX - 1), INT_MAX);
    uint64_t deadline = sn_clock_monotonic_ns() + 10ull * SN_NS_PER_SECOND + 1;
    int ms = sn_clock_poll_ms(deadline);
    assert_true(ms > 0 && ms <= 10001);
    /* Rounded up: after the wait the deadline has passed. */
    assert_true(sn_clock_monotonic_ns() + (uint64_t)ms * SN_NS_PER_MS >= deadline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utc_is_written_to_the_millisecond),
        cmocka_unit_test(the_monotonic_clock_never_goes_back),
        cmocka_unit_test(a_deadline_saturates_at_never),
        cmocka_unit_test(poll_waits_long_enough_and_never_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
