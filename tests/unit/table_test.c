/* The hash table against a reference, with the keys that hash tables fear, and its ceiling. */
#include "check.h"

#include <stdlib.h>

#include "base/table.h"

static void a_new_value_is_zero_and_the_same_key_gives_the_same_place(void **state)
{
    (void)state;
    struct sn_table table = sn_table_with_limit(10);
    assert_null(sn_table_find(&table, 5));
    uint64_t *value = sn_table_put(&table, 5);
    assert_non_null(value);
    assert_int_equal(*value, 0);
    *value = 77;
    assert_int_equal(*sn_table_put(&table, 5), 77);
    assert_int_equal(*sn_table_find(&table, 5), 77);
    assert_int_equal(table.count, 1);
    sn_table_done(&table);
}

static void the_smallest_and_largest_keys_are_keys_like_others(void **state)
{
    (void)state;
    struct sn_table table = sn_table_with_limit(10);
    assert_null(sn_table_find(&table, 0));
    *sn_table_put(&table, UINT64_MAX) = 1;
    assert_null(sn_table_find(&table, 0));
    *sn_table_put(&table, 0) = 2;
    assert_int_equal(*sn_table_find(&table, UINT64_MAX), 1);
    assert_int_equal(*sn_table_find(&table, 0), 2);
    sn_table_done(&table);
}

static void the_ceiling_refuses_new_keys_and_keeps_the_old(void **state)
{
    (void)state;
    struct sn_table table = sn_table_with_limit(100);
    for (uint64_t key = 0; key < 100; key++)
        *sn_table_put(&table, key) = key + 1;
    assert_null(sn_table_put(&table, 100));
    assert_null(sn_table_find(&table, 100));
    for (uint64_t key = 0; key < 100; key++)
        assert_int_equal(*sn_table_put(&table, key), key + 1);
    assert_int_equal(table.count, 100);
    sn_table_done(&table);
    table = sn_table_with_limit(0);
    assert_null(sn_table_put(&table, 1));
    sn_table_done(&table);
}

/* Every key of a pattern is put, found again with its own value, and its neighbours are not. */
static void check_pattern(uint64_t start, uint64_t step, uint64_t count)
{
    struct sn_table table = sn_table_with_limit(count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *value = sn_table_put(&table, start + i * step);
        assert_non_null(value);
        assert_int_equal(*value, 0);
        *value = i + 1;
    }
    assert_int_equal(table.count, count);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(*sn_table_find(&table, start + i * step), i + 1);
    assert_null(sn_table_find(&table, start + count * step));
    assert_null(sn_table_find(&table, start - step));
    sn_table_done(&table);
}

static void ids_addresses_and_high_bits_all_survive_growth(void **state)
{
    (void)state;
    check_pattern(1, 1, 50000);
    check_pattern(0x7F0000000000u, 16, 50000);
    check_pattern(0x7F0000000000u, 4096, 50000);
    check_pattern(0, 1ull << 32, 50000);
    check_pattern(0, 1ull << 48, 50000);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void random_puts_and_removals_agree_with_a_plain_array(void **state)
{
    (void)state;
    static uint64_t reference[4096]; /* by key; 0: not there */
    struct sn_table table = sn_table_with_limit(4096);
    uint64_t seed = 88172645463325252u;
    size_t count = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t key = next_random(&seed) % 4096;
        uint64_t wide = key * 0x100000001u; /* spread over both halves */
        if (next_random(&seed) % 3 == 0) {
            count += reference[key] == 0;
            reference[key] = next_random(&seed) | 1u;
            *sn_table_put(&table, wide) = reference[key];
        } else if (next_random(&seed) % 3 == 0) {
            count -= reference[key] != 0;
            reference[key] = 0;
            sn_table_remove(&table, wide);
        }
        const uint64_t *found = sn_table_find(&table, wide);
        assert_true(reference[key] ? found && *found == reference[key] : !found);
        assert_int_equal(table.count, count);
    }
    sn_table_done(&table);
}

static void what_is_taken_out_makes_room_under_the_ceiling(void **state)
{
    (void)state;
    struct sn_table table = sn_table_with_limit(3);
    sn_table_remove(&table, 1);
    for (uint64_t key = 0; key < 1000; key++) {
        *sn_table_put(&table, key) = key + 1;
        sn_table_remove(&table, key - 2);
        sn_table_remove(&table, key - 2);
    }
    assert_int_equal(table.count, 2);
    assert_null(sn_table_find(&table, 997));
    assert_int_equal(*sn_table_find(&table, 998), 999);
    assert_int_equal(*sn_table_find(&table, 999), 1000);
    sn_table_done(&table);
}

static void clear_forgets_everything_and_keeps_the_memory(void **state)
{
    (void)state;
    struct sn_table table = sn_table_with_limit(1000);
    sn_table_clear(&table);
    for (uint64_t key = 0; key < 1000; key++)
        *sn_table_put(&table, key) = 9;
    const struct sn_table_slot *slots = table.slots;
    sn_table_clear(&table);
    assert_int_equal(table.count, 0);
    for (uint64_t key = 0; key < 1000; key++)
        assert_null(sn_table_find(&table, key));
    for (uint64_t key = 0; key < 1000; key++)
        assert_int_equal(*sn_table_put(&table, key), 0);
    assert_ptr_equal(table.slots, slots);
    sn_table_done(&table);
    assert_null(table.slots);
    assert_int_equal(table.limit, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_value_is_zero_and_the_same_key_gives_the_same_place),
        cmocka_unit_test(the_smallest_and_largest_keys_are_keys_like_others),
        cmocka_unit_test(the_ceiling_refuses_new_keys_and_keeps_the_old),
        cmocka_unit_test(ids_addresses_and_high_bits_all_survive_growth),
        cmocka_unit_test(random_puts_and_removals_agree_with_a_plain_array),
        cmocka_unit_test(what_is_taken_out_makes_room_under_the_ceiling),
        cmocka_unit_test(clear_forgets_everything_and_keeps_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
