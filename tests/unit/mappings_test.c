/* Executable mappings of a process: a new one takes the place of what it covers. */
#include "check.h"

#include "source/perf/mapped_files.h"
#include "source/perf/mappings.h"

static void add(struct sn_mappings *mappings, uint64_t start, uint64_t end, uint32_t file)
{
    struct sn_mapping mapping = {.start = start, .end = end, .offset = 0x1000, .file = file};
    assert_true(sn_mappings_add(mappings, &mapping));
}

static uint32_t file_at(const struct sn_mappings *mappings, uint64_t address)
{
    const struct sn_mapping *mapping = sn_mappings_find(mappings, address);
    return mapping ? mapping->file : 0;
}

static void an_address_is_found_in_its_mapping_only(void **state)
{
    (void)state;
    struct sn_mappings mappings = {0};
    assert_null(sn_mappings_find(&mappings, 0x1000));
    add(&mappings, 0x3000, 0x4000, 3);
    add(&mappings, 0x1000, 0x2000, 1);
    assert_int_equal(file_at(&mappings, 0xfff), 0);
    assert_int_equal(file_at(&mappings, 0x1000), 1);
    assert_int_equal(file_at(&mappings, 0x1fff), 1);
    assert_int_equal(file_at(&mappings, 0x2000), 0);
    assert_int_equal(file_at(&mappings, 0x3800), 3);
    sn_mappings_done(&mappings);
}

static void one_that_is_there_stays_and_keeps_its_id(void **state)
{
    (void)state;
    struct sn_mappings mappings = {0};
    add(&mappings, 0x1000, 0x4000, 1);
    mappings.items[0].id = 9;
    add(&mappings, 0x1000, 0x4000, 1);
    struct sn_mapping part = {.start = 0x2000, .end = 0x3000, .offset = 0x2000, .file = 1};
    assert_true(sn_mappings_add(&mappings, &part)); /* of the same, at its offset */
    assert_int_equal(mappings.count, 1);
    assert_int_equal(mappings.items[0].id, 9);
    struct sn_mappings child = {0};
    assert_true(sn_mappings_copy(&child, &mappings));
    assert_int_equal(child.items[0].id, 0);
    sn_mappings_done(&child);
    sn_mappings_done(&mappings);
}

/* A file that was unmapped, and mapped again at the same addresses from another place of it on: the
 * removal is not told. */
static void another_part_of_the_same_file_takes_its_place(void **state)
{
    (void)state;
    struct sn_mappings mappings = {0};
    add(&mappings, 0x1000, 0x4000, 1);
    mappings.items[0].id = 9;
    struct sn_mapping other = {.start = 0x1000, .end = 0x4000, .offset = 0x8000, .file = 1};
    assert_true(sn_mappings_add(&mappings, &other));
    assert_int_equal(mappings.count, 1);
    assert_int_equal(sn_mappings_find(&mappings, 0x2000)->offset, 0x8000);
    assert_int_equal(mappings.items[0].id, 0);
    sn_mappings_done(&mappings);
}

static void a_new_one_cuts_out_what_it_covers(void **state)
{
    (void)state;
    struct sn_mappings mappings = {0};
    add(&mappings, 0x1000, 0x5000, 1);
    mappings.items[0].id = 9;
    add(&mappings, 0x2000, 0x3000, 2); /* inside */
    assert_int_equal(mappings.count, 3);
    assert_int_equal(file_at(&mappings, 0x1fff), 1);
    assert_int_equal(file_at(&mappings, 0x2000), 2);
    const struct sn_mapping *rest = sn_mappings_find(&mappings, 0x3000);
    assert_int_equal(rest->offset, 0x3000); /* where it is in the file did not change */
    assert_int_equal(rest->id, 0);
    assert_int_equal(mappings.items[0].id, 9);
    add(&mappings, 0x1800, 0x4000, 3); /* over three, two of them in part */
    assert_int_equal(mappings.count, 3);
    assert_int_equal(file_at(&mappings, 0x17ff), 1);
    assert_int_equal(file_at(&mappings, 0x2000), 3);
    assert_int_equal(file_at(&mappings, 0x4000), 1);
    add(&mappings, 0x0, 0x10000, 4); /* over all */
    assert_int_equal(mappings.count, 1);
    struct sn_mapping backwards = {.start = 2, .end = 1};
    assert_false(sn_mappings_add(&mappings, &backwards));
    sn_mappings_done(&mappings);
}

static void there_is_an_end_to_them(void **state)
{
    (void)state;
    struct sn_mappings mappings = {0};
    struct sn_mapping mapping = {.file = 1};
    uint32_t taken = 0;
    for (uint64_t i = 0; i < SN_MAPPINGS_LIMIT + 10; i++) {
        mapping.start = i * 0x2000;
        mapping.end = mapping.start + 0x1000;
        taken += sn_mappings_add(&mappings, &mapping);
    }
    assert_true(taken <= SN_MAPPINGS_LIMIT && taken > SN_MAPPINGS_LIMIT - 3);
    sn_mappings_done(&mappings);
}

static void a_file_has_one_number_and_memory_one_a_name(void **state)
{
    (void)state;
    struct sn_mapped_files files;
    sn_mapped_files_init(&files);
    uint32_t libc = sn_mapped_files_add(&files, "/lib/libc.so.6", 1, 2);
    assert_int_equal(sn_mapped_files_add(&files, "/lib/libc.so.6", 1, 2), libc);
    assert_int_not_equal(sn_mapped_files_add(&files, "/lib/libc.so.6", 1, 3), libc);
    uint32_t jit = sn_mapped_files_add(&files, "/memfd:doublemapper (deleted)", 1, 5);
    assert_int_equal(sn_mapped_files_add(&files, "/memfd:doublemapper (deleted)", 1, 6), jit);
    assert_true(sn_mapped_files_get(&files, jit)->is_memory);
    assert_false(sn_mapped_files_get(&files, libc)->is_memory);
    assert_string_equal(sn_mapped_files_get(&files, libc)->path, "/lib/libc.so.6");
    assert_string_equal(sn_mapped_files_get(&files, 0)->path, "");
    sn_mapped_files_done(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_found_in_its_mapping_only),
        cmocka_unit_test(one_that_is_there_stays_and_keeps_its_id),
        cmocka_unit_test(another_part_of_the_same_file_takes_its_place),
        cmocka_unit_test(a_new_one_cuts_out_what_it_covers),
        cmocka_unit_test(there_is_an_end_to_them),
        cmocka_unit_test(a_file_has_one_number_and_memory_one_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
