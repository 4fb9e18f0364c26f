/* Paths made of what targets say: each once, a limit that holds, no two taken for one. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "sink/export/path_set.h"

static void a_path_keeps_its_index_and_there_is_a_limit(void **state)
{
    (void)state;
    struct sn_path_set set = sn_path_set_with_limit(3, 1000);
    char path[16];
    size_t index;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 10; i++) {
            (void)snprintf(path, sizeof(path), "a.b%u", i);
            assert_int_equal(sn_path_set_take(&set, path, &index), i < 3);
            if (i < 3) {
                assert_int_equal(index, i);
                assert_string_equal(set.paths[i], path);
            }
        }
    }
    sn_path_set_done(&set);
}

static void long_paths_have_a_limit_too(void **state)
{
    (void)state;
    struct sn_path_set set = sn_path_set_with_limit(1000, 1 << 20);
    char path[8192];
    size_t index;
    size_t taken = 0;
    memset(path, 'x', sizeof(path));
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(path + 8000, 16, "%u", i);
        taken += sn_path_set_take(&set, path, &index);
    }
    assert_true(taken > 50 && taken < 200);
    sn_path_set_done(&set);
}

/* The second half undoes what the first changed. */
static void make_twin(const char path[17], char twin[17])
{
    const uint64_t factor = 0x9FB21C651E98DF25u;
    uint64_t word[2], other[2];
    uint64_t start = 16 * 0x9E3779B97F4A7C15u;
    memcpy(word, path, 16);
    for (other[0] = 0x6161616161616161u;; other[0]++) {
        uint64_t one = (start ^ word[0]) * factor;
        uint64_t two = (start ^ other[0]) * factor;
        other[1] = word[1] ^ (one ^ one >> 29) ^ (two ^ two >> 29);
        if (other[0] != word[0] && !memchr(other, 0, 16))
            break;
    }
    memcpy(twin, other, 16);
    twin[16] = '\0';
}

static void paths_with_one_key_are_not_mistaken(void **state)
{
    (void)state;
    struct sn_path_set set = sn_path_set_with_limit(10, 1000);
    char twin[17];
    size_t index;
    make_twin("abcdefghijklmnop", twin);
    assert_int_equal(sn_table_key(twin, 16), sn_table_key("abcdefghijklmnop", 16));
    assert_true(sn_path_set_take(&set, "abcdefghijklmnop", &index));
    assert_false(sn_path_set_take(&set, twin, &index));
    sn_path_set_done(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_keeps_its_index_and_there_is_a_limit),
        cmocka_unit_test(long_paths_have_a_limit_too),
        cmocka_unit_test(paths_with_one_key_are_not_mistaken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
