/* Activity ids: a child's tells its ancestors', on ids that real runtimes made. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "sink/aggregate/activity_path.h"

static void from_hex(const char *hex, uint8_t ret_id[SN_ACTIVITY_SIZE])
{
    for (size_t i = 0; i < SN_ACTIVITY_SIZE; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        ret_id[i] = (uint8_t)byte;
    }
}

static void assert_levels(const char *hex, bool is_short, const char *const *expected)
{
    uint8_t id[SN_ACTIVITY_SIZE];
    uint8_t level[SN_ACTIVITY_SIZE];
    uint8_t levels[SN_ACTIVITY_DEPTH_MAX][SN_ACTIVITY_SIZE];
    from_hex(hex, id);
    size_t count = sn_activity_levels(id, is_short, levels);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(expected[i]);
        from_hex(expected[i], level);
        assert_memory_equal(levels[i], level, sizeof(level));
    }
    assert_null(expected[count]);
}

/* Of pid 795: the process, a request of Hosting (number 0x25), Kestrel's below it. */
static void a_request_and_what_is_below_it(void **state)
{
    (void)state;
    assert_levels("1c2510000000000000000000d2bdad59", false,
                  (const char *[]){"100000000000000000000000a69a9d59",
                                   "1c2500000000000000000000d2bd9d59",
                                   "1c2510000000000000000000d2bdad59", NULL});
}

/* 0x20 ends with a zero nibble, and 0x25 is its sibling, not its child. */
static void a_number_that_ends_with_zero_is_no_prefix_of_its_neighbours(void **state)
{
    (void)state;
    assert_levels("1c2000000000000000000000d2ba9d59", false,
                  (const char *[]){"100000000000000000000000a69a9d59",
                                   "1c2000000000000000000000d2ba9d59", NULL});
}

static void small_numbers_take_a_nibble_each(void **state)
{
    (void)state;
    uint8_t levels[SN_ACTIVITY_DEPTH_MAX][SN_ACTIVITY_SIZE];
    uint8_t id[SN_ACTIVITY_SIZE];
    from_hex("14110000000000000000000032d59d59", id);
    assert_int_equal(sn_activity_levels(id, false, levels), 4);
    assert_int_equal(levels[0][0], 0x10);
    assert_int_equal(levels[1][0], 0x14);
    assert_int_equal(levels[1][1], 0x00);
    assert_int_equal(levels[2][1], 0x10);
    assert_memory_equal(levels[3], id, sizeof(id));
}

/* Of .NET 10: a request that is not the first ten of its connection, and an exception below it. */
static void short_ids_leave_out_the_number(void **state)
{
    (void)state;
    uint8_t id[SN_ACTIVITY_SIZE];
    from_hex("1cc4c000000000000000000031445e5a", id);
    assert_true(sn_activity_is_short(id));
    assert_levels("1cc4c010000000000000000031445e6a", true,
                  (const char *[]){"10000000000000000000000045809d59",
                                   "1cc40000000000000000000031449e59",
                                   "1cc4c000000000000000000031445e5a",
                                   "1cc4c010000000000000000031445e6a", NULL});
    from_hex("1c10c00b000000000000000000000000", id); /* .NET 8: number 11 */
    assert_false(sn_activity_is_short(id));
}

/* Whatever the bytes: it ends, stays within its levels, and the last is the id itself. */
static void ids_that_are_no_paths_stand_for_themselves(void **state)
{
    (void)state;
    uint8_t levels[SN_ACTIVITY_DEPTH_MAX][SN_ACTIVITY_SIZE];
    uint8_t id[SN_ACTIVITY_SIZE];
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 100000; i++) {
        for (size_t j = 0; j < SN_ACTIVITY_SIZE; j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            id[j] = (uint8_t)(seed >> 56) & (i % 2 ? 0xFFu : 0x11u);
        }
        (void)sn_activity_is_short(id);
        size_t count = sn_activity_levels(id, i % 3 == 0, levels);
        assert_in_range(count, 1, SN_ACTIVITY_DEPTH_MAX);
        assert_memory_equal(levels[count - 1], id, sizeof(id));
    }
    memset(id, 0, sizeof(id));
    assert_int_equal(sn_activity_levels(id, false, levels), 1);
    memset(id, 0xBB, sizeof(id));
    assert_int_equal(sn_activity_levels(id, false, levels), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_and_what_is_below_it),
        cmocka_unit_test(a_number_that_ends_with_zero_is_no_prefix_of_its_neighbours),
        cmocka_unit_test(small_numbers_take_a_nibble_each),
        cmocka_unit_test(short_ids_leave_out_the_number),
        cmocka_unit_test(ids_that_are_no_paths_stand_for_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
