/* What the loader made of this program's own pointers, from its file. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "check.h"
#include "format/elf_relative.h"

static int numbers[3];
static int *const pointers[4] = {&numbers[0], &numbers[2], NULL, &numbers[1]};

static size_t read_self(void *user, uint64_t offset, void *to, size_t size)
{
    ssize_t got = pread(*(const int *)user, to, size, (off_t)offset);
    return got > 0 ? (size_t)got : 0;
}

/* Where a byte of this program lies in its file, and where the file's first byte is. */
static bool find_place(const void *of, uint64_t *ret_offset, uint64_t *ret_start)
{
    char line[4096];
    uint64_t address = (uint64_t)(uintptr_t)of;
    FILE *maps = fopen("/proc/self/maps", "re");
    bool is_found = false;
    *ret_start = 0;
    while (maps && fgets(line, sizeof(line), maps)) {
        uint64_t start;
        uint64_t end;
        uint64_t offset;
        char flags[8];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64, &start, &end, flags, &offset) != 4)
            continue;
        if (!*ret_start && !offset && strstr(line, "elf_relative_test"))
            *ret_start = start;
        if (address >= start && address < end) {
            *ret_offset = offset + (address - start);
            is_found = true;
        }
    }
    if (maps)
        (void)fclose(maps);
    return is_found && *ret_start;
}

static void pointers_become_what_they_are_in_memory(void **state)
{
    uint64_t offset;
    uint64_t start;
    int *read_back[4];
    struct sn_elf_relative table;
    SN_AUTO(sn_close) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const struct sn_read_at file = {read_self, &fd};
    (void)state;
    assert_true(find_place(pointers, &offset, &start));
    assert_true(sn_elf_relative_find(&file, &table));
    assert_int_equal(pread(fd, read_back, sizeof(read_back), (off_t)offset), sizeof(read_back));
    assert_memory_not_equal(read_back, pointers, sizeof(read_back));
    sn_elf_relative_apply(&file, &table, start, offset, read_back, sizeof(read_back));
    assert_memory_equal(read_back, pointers, sizeof(read_back));
}

/* A piece may begin and end within a word. */
static void any_piece_of_them_is_right(void **state)
{
    uint64_t offset;
    uint64_t start;
    struct sn_elf_relative table;
    SN_AUTO(sn_close) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const struct sn_read_at file = {read_self, &fd};
    (void)state;
    assert_true(find_place(pointers, &offset, &start) && sn_elf_relative_find(&file, &table));
    for (size_t from = 0; from < sizeof(pointers); from++) {
        for (size_t size = 1; from + size <= sizeof(pointers); size++) {
            uint8_t piece[sizeof(pointers)];
            assert_int_equal(pread(fd, piece, size, (off_t)(offset + from)), size);
            sn_elf_relative_apply(&file, &table, start, offset + from, piece, size);
            assert_memory_equal(piece, (const uint8_t *)pointers + from, size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_become_what_they_are_in_memory),
        cmocka_unit_test(any_piece_of_them_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
