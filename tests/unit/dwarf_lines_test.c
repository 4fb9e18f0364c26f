/* Source lines of native code: of this very program, which knows its own; from files whose debug
 * information is damaged; and what the process that reads them may do. */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/native_lines.h"
#include "base/own.h"
#include "check.h"
#include "dwarf/cage.h"
#include "dwarf/dwarf_lines.h"

#define PLACES  4u
#define DAMAGES 40u

struct place {
    uint64_t address; /* in the file */
    uint32_t line;
};

struct heard {
    struct place places[PLACES];
    size_t count;
    bool is_this_file;
};

/* The first byte of the file, in memory; the name is the linker's. */
extern const char __ehdr_start[]; /* NOLINT(bugprone-reserved-identifier) */

__attribute__((noinline)) static uint64_t here(void)
{
    const char *back = __builtin_return_address(0);
    __asm__ volatile(""); /* or a compiler would call it once for all */
    return (uint64_t)(back - __ehdr_start) - 1;
}

__attribute__((noinline)) static void mark(struct place places[PLACES])
{
    places[0] = (struct place){here(), __LINE__};
    places[1] = (struct place){here(), __LINE__};

    places[2] = (struct place){here(), __LINE__};
    places[3] = (struct place){here(), __LINE__};
}

static void hear(void *user, uint64_t address, const char *file, uint32_t line)
{
    struct heard *heard = user;
    const char *name = strrchr(file, '/');
    assert_true(heard->count < PLACES);
    heard->places[heard->count++] = (struct place){address, line};
    heard->is_this_file = name && strcmp(name, "/dwarf_lines_test.c") == 0;
}

static size_t ask(int fd, struct heard *heard)
{
    struct place places[PLACES];
    uint64_t addresses[PLACES];
    mark(places);
    for (size_t i = 0; i < PLACES; i++)
        addresses[i] = places[i].address;
    *heard = (struct heard){0};
    return sn_native_lines(fd, addresses, PLACES, hear, heard);
}

static void a_program_knows_its_own_lines(void **state)
{
    (void)state;
    struct place expected[PLACES];
    struct heard heard;
    SN_AUTO(sn_close) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    mark(expected);
    assert_int_equal(ask(fd, &heard), PLACES);
    assert_int_equal(heard.count, PLACES);
    assert_true(heard.is_this_file);
    for (size_t i = 0; i < PLACES; i++) {
        assert_int_equal(heard.places[i].address, expected[i].address);
        assert_int_equal(heard.places[i].line, expected[i].line);
    }
}

static void addresses_outside_of_code_have_none(void **state)
{
    (void)state;
    const uint64_t addresses[] = {0, 1, UINT64_MAX - 1, UINT64_MAX};
    struct heard heard = {0};
    SN_AUTO(sn_close) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(sn_native_lines(fd, addresses, 4, hear, &heard), 0);
}

/* A copy of this program that can be written to. */
static int copy_self(void)
{
    struct stat facts;
    SN_AUTO(sn_close) int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = memfd_create("copy", MFD_CLOEXEC);
    assert_true(from >= 0 && to >= 0);
    assert_int_equal(fstat(from, &facts), 0);
    assert_int_equal(sendfile(to, from, NULL, 1u << 30), facts.st_size);
    return to;
}

static Elf64_Shdr section_of(int fd, const char *name)
{
    Elf64_Ehdr header;
    Elf64_Shdr names;
    Elf64_Shdr section;
    char found[32];
    assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
    off_t table = (off_t)header.e_shoff;
    assert_int_equal(
        pread(fd, &names, sizeof(names), table + header.e_shstrndx * (off_t)sizeof(names)),
        sizeof(names));
    for (int i = 0; i < header.e_shnum; i++) {
        assert_int_equal(pread(fd, &section, sizeof(section), table + i * (off_t)sizeof(section)),
                         sizeof(section));
        assert_true(pread(fd, found, sizeof(found), (off_t)(names.sh_offset + section.sh_name)) >
                    0);
        if (strncmp(found, name, sizeof(found)) == 0)
            return section;
    }
    fail_msg("no section %s", name);
    return section;
}

/* Every round another sort of damage: scattered bytes, whole stretches, wild numbers. */
static void damage(int fd, const Elf64_Shdr *section, unsigned round)
{
    unsigned random = round * 2654435761u + 12345u;
    for (unsigned i = 0; i < 1u << (round % 12); i++) {
        random = random * 1664525u + 1013904223u;
        off_t at = (off_t)(section->sh_offset + random % section->sh_size);
        uint8_t bytes[8];
        memset(bytes, round % 3 ? (int)(random >> 24) : 0xff, sizeof(bytes));
        assert_true(pwrite(fd, bytes, round % 2 ? 1 : sizeof(bytes), at) > 0);
    }
}

static void damaged_debug_information_costs_lines_only(void **state)
{
    (void)state;
    static const char *const names[] = {".debug_line", ".debug_info", ".debug_abbrev",
                                        ".debug_rnglists", ".debug_line_str"};
    for (unsigned round = 0; round < DAMAGES; round++) {
        struct heard heard;
        SN_AUTO(sn_close) int fd = copy_self();
        const Elf64_Shdr section = section_of(fd, names[round % 5]);
        damage(fd, &section, round);
        assert_in_range(ask(fd, &heard), 0, PLACES);
    }
}

static void a_cut_file_or_none_at_all_has_no_lines(void **state)
{
    (void)state;
    struct heard heard;
    SN_AUTO(sn_close) int fd = copy_self();
    const Elf64_Shdr line = section_of(fd, ".debug_line");
    assert_int_equal(ftruncate(fd, (off_t)(line.sh_offset + line.sh_size / 2)), 0);
    assert_int_equal(ask(fd, &heard), 0);
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_int_equal(ask(fd, &heard), 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(ask(fd, &heard), 0);
    assert_int_equal(ask(-1, &heard), 0);
}

/* How a process in the cage ends that does `deed`: its exit code, or minus the signal. */
static int end_of(int (*deed)(void))
{
    int status = 0;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(sn_cage_enter(ends[0], ends[1]) ? deed() : 99);
    assert_int_equal(waitpid(child, &status, 0), child);
    sn_close(ends[0]);
    sn_close(ends[1]);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int read_and_tell(void)
{
    char byte = 'x';
    bool is_pipe = write(SN_CAGE_OUT, &byte, 1) == 1 && read(SN_CAGE_IN, &byte, 1) == 1;
    void *memory = malloc(1u << 10);
    bool is_lone = close(2) != 0;
    free(memory);
    return is_pipe && memory && is_lone ? 7 : 8;
}

static int open_a_file(void)
{
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? 7 : 8;
}

static int make_a_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int run_a_program(void)
{
    char *words[] = {NULL};
    return execv("/bin/true", words);
}

static int map_a_file(void)
{
    return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, SN_CAGE_IN, 0) == MAP_FAILED;
}

static int signal_its_parent(void)
{
    return kill(getppid(), 0);
}

static void the_reader_may_read_and_tell_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(end_of(read_and_tell), 7);
    assert_int_equal(end_of(open_a_file), 7);
    assert_int_equal(end_of(make_a_socket), -SIGSYS);
    assert_int_equal(end_of(run_a_program), -SIGSYS);
    assert_int_equal(end_of(map_a_file), -SIGSYS);
    assert_int_equal(end_of(signal_its_parent), -SIGSYS);
}

static void without_a_reader_there_are_no_lines(void **state)
{
    (void)state;
    struct heard heard;
    SN_AUTO(sn_close) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    sonde_set_native_lines(NULL);
    assert_int_equal(ask(fd, &heard), 0);
    sonde_set_native_lines(sn_dwarf_lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_knows_its_own_lines),
        cmocka_unit_test(addresses_outside_of_code_have_none),
        cmocka_unit_test(damaged_debug_information_costs_lines_only),
        cmocka_unit_test(a_cut_file_or_none_at_all_has_no_lines),
        cmocka_unit_test(the_reader_may_read_and_tell_and_nothing_else),
        cmocka_unit_test(without_a_reader_there_are_no_lines),
    };
    sonde_set_native_lines(sn_dwarf_lines);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
