/* The arena: zeroed, aligned, pointers that stay, a ceiling. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static void memory_is_zeroed_aligned_and_does_not_overlap(void **state)
{
    (void)state;
    struct sn_arena arena = sn_arena_with_limit(1u << 20);
    unsigned char *blocks[500];
    for (size_t i = 0; i < 500; i++) {
        blocks[i] = sn_arena_alloc(&arena, i);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t at = 0; at < i; at++)
            assert_int_equal(blocks[i][at], 0);
        memset(blocks[i], (int)(i & 0xFF), i);
    }
    for (size_t i = 0; i < 500; i++) {
        for (size_t at = 0; at < i; at++)
            assert_int_equal(blocks[i][at], i & 0xFF);
    }
    sn_arena_done(&arena);
}

static void the_ceiling_holds_whatever_the_sizes(void **state)
{
    (void)state;
    for (size_t size = 1; size < 40000; size = size * 3 + 1) {
        struct sn_arena arena = sn_arena_with_limit(100000);
        size_t sum = 0;
        while (sn_arena_alloc(&arena, size)) {
            sum += size;
            assert_true(sum <= 100000);
        }
        assert_true(arena.total <= arena.limit);
        assert_true(sum >= 100000 / 2 || size < 16); /* most of it was usable */
        assert_null(sn_arena_alloc(&arena, size));
        sn_arena_done(&arena);
    }
}

static void a_large_block_gets_a_chunk_of_its_own(void **state)
{
    (void)state;
    struct sn_arena arena = sn_arena_with_limit(1u << 20);
    char *small = sn_arena_copy(&arena, "small", 5);
    char *large = sn_arena_alloc(&arena, 500000);
    assert_non_null(large);
    memset(large, 'x', 500000);
    assert_string_equal(small, "small");
    assert_null(sn_arena_alloc(&arena, 600000));
    assert_non_null(sn_arena_alloc(&arena, 500000));
    sn_arena_done(&arena);
}

static void a_ceiling_below_a_chunk_can_be_used_to_the_end(void **state)
{
    (void)state;
    struct sn_arena arena = sn_arena_with_limit(64);
    assert_non_null(sn_arena_alloc(&arena, 32));
    assert_non_null(sn_arena_alloc(&arena, 32));
    assert_null(sn_arena_alloc(&arena, 1));
    sn_arena_done(&arena);
}

static void absurd_sizes_are_refused_and_do_not_wrap(void **state)
{
    (void)state;
    struct sn_arena arena = sn_arena_with_limit(SIZE_MAX);
    for (size_t below = 0; below < 20; below++)
        assert_null(sn_arena_alloc(&arena, SIZE_MAX - below));
    assert_null(sn_arena_copy(&arena, "", SIZE_MAX));
    assert_non_null(sn_arena_alloc(&arena, 1));
    sn_arena_done(&arena);
}

static void a_copy_ends_with_a_zero_and_may_hold_some(void **state)
{
    (void)state;
    struct sn_arena arena = sn_arena_with_limit(4096);
    char *copy = sn_arena_copy(&arena, "a\0b", 3);
    assert_memory_equal(copy, "a\0b\0", 4);
    assert_string_equal(sn_arena_copy(&arena, NULL, 0), "");
    sn_arena_done(&arena);
    arena = sn_arena_with_limit(3);
    assert_null(sn_arena_copy(&arena, "abc", 3)); /* its zero does not fit */
    sn_arena_done(&arena);
}

static void done_gives_the_whole_ceiling_back(void **state)
{
    (void)state;
    struct sn_arena arena = sn_arena_with_limit(50000);
    sn_arena_done(&arena);
    for (int round = 0; round < 3; round++) {
        assert_non_null(sn_arena_alloc(&arena, 49000));
        assert_null(sn_arena_alloc(&arena, 49000));
        sn_arena_done(&arena);
        assert_int_equal(arena.total, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_does_not_overlap),
        cmocka_unit_test(the_ceiling_holds_whatever_the_sizes),
        cmocka_unit_test(a_large_block_gets_a_chunk_of_its_own),
        cmocka_unit_test(a_ceiling_below_a_chunk_can_be_used_to_the_end),
        cmocka_unit_test(absurd_sizes_are_refused_and_do_not_wrap),
        cmocka_unit_test(a_copy_ends_with_a_zero_and_may_hold_some),
        cmocka_unit_test(done_gives_the_whole_ceiling_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
