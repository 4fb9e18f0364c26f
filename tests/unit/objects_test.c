/* The files of processes: this one's own, deleted and replaced ones, those of a process that is
 * gone or lives in another root, and everything that wants to harm us. */
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/eh_frame.h"
#include "symbol/objects.h"

#define CORPUS    SONDE_SOURCE_DIR "/fuzz/corpus/elf/"
#define TINY      CORPUS "full.so"
#define TINY_ADD  0x3f9u /* within tiny_add */
#define PATH_SIZE 512u

struct fixture {
    char folder[32];
    struct sn_objects *objects;
    struct sn_buf tiny; /* the bytes of a small library */
};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct sonde_error err = {0};
    fixture.tiny = sn_buf_with_limit(1u << 20);
    (void)snprintf(fixture.folder, sizeof(fixture.folder), "/tmp/objects.XXXXXX");
    *state = &fixture;
    return mkdtemp(fixture.folder) && sn_objects_new(&fixture.objects, &err) == SONDE_OK &&
                   sn_file_read_at(AT_FDCWD, TINY, &fixture.tiny, &err) == SONDE_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char command[64];
    sn_objects_free(fixture->objects);
    sn_buf_done(&fixture->tiny);
    (void)snprintf(command, sizeof(command), "rm -rf %s", fixture->folder);
    return system(command); /* NOLINT(cert-env33-c): our own folder */
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    SN_AUTO(sn_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
}

static const char *path_of(const struct fixture *fixture, const char *name, char path[PATH_SIZE])
{
    (void)snprintf(path, PATH_SIZE, "%s/%s", fixture->folder, name);
    return path;
}

/* A mapping of this process's with the file's own numbers. */
static struct sn_object_mapping mapping_of(const char *path)
{
    struct stat status = {0};
    struct sn_object_mapping mapping = {.pid = (uint32_t)getpid(), .path = path};
    if (stat(path, &status) == 0) {
        mapping.device = status.st_dev;
        mapping.inode = status.st_ino;
    }
    return mapping;
}

static void assert_is_tiny(struct sn_objects *objects, uint32_t object)
{
    struct sn_object_symbol symbol = {0};
    assert_true(object);
    assert_true(sn_objects_symbol(objects, object, TINY_ADD, &symbol));
    assert_string_equal(symbol.name, "tiny_add");
    assert_int_equal(symbol.start, 0x3f8);
    assert_int_equal(symbol.size, 12);
}

/* "start-end rwxp offset major:minor inode    path" */
static struct sn_object_mapping parse_mapping(char *line, char path[PATH_SIZE])
{
    char *at = line;
    struct sn_object_mapping mapping = {.pid = (uint32_t)getpid(), .path = path};
    mapping.start = strtoull(at, &at, 16);
    mapping.end = strtoull(at + 1, &at, 16);
    mapping.offset = strtoull(at + 6, &at, 16);
    unsigned major = (unsigned)strtoul(at, &at, 16);
    unsigned minor = (unsigned)strtoul(at + 1, &at, 16);
    mapping.inode = strtoull(at, &at, 10);
    mapping.device = makedev(major, minor);
    at += strspn(at, " ");
    at[strcspn(at, "\n")] = 0;
    (void)snprintf(path, PATH_SIZE, "%s", at);
    return mapping;
}

/* The mapping of this process that holds `address`. */
static bool find_mapping(uint64_t address, char path[PATH_SIZE],
                         struct sn_object_mapping *ret_mapping)
{
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "re");
    bool is_found = false;
    assert_non_null(maps);
    while (!is_found && fgets(line, sizeof(line), maps)) {
        *ret_mapping = parse_mapping(line, path);
        is_found = address >= ret_mapping->start && address < ret_mapping->end;
    }
    (void)fclose(maps);
    return is_found;
}

static void functions_of_this_process_are_named(void **state)
{
    struct fixture *fixture = *state;
    struct timespec now = {0};
    const struct {
        uint64_t address;
        const char *name;
    } cases[] = {{(uint64_t)(uintptr_t)&qsort + 3, "qsort"},
                 {(uint64_t)(uintptr_t)&functions_of_this_process_are_named + 9,
                  "functions_of_this_process_are_named"}};
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[PATH_SIZE];
        struct sn_object_mapping mapping = {0};
        struct sn_object_facts facts = {0};
        struct sn_object_symbol symbol = {0};
        struct sn_cfi_row row = {0};
        assert_true(find_mapping(cases[i].address, path, &mapping));
        uint32_t object = sn_objects_add(fixture->objects, &mapping);
        assert_true(object);
        assert_int_equal(object, sn_objects_add(fixture->objects, &mapping));
        assert_true(sn_objects_facts(fixture->objects, object, &facts));
        assert_true(facts.is_elf);
        assert_int_equal(facts.build_id_size, 20);
        uint64_t vaddr = sn_objects_vaddr(fixture->objects, object,
                                          cases[i].address - mapping.start + mapping.offset);
        assert_true(sn_objects_symbol(fixture->objects, object, vaddr, &symbol));
        assert_string_equal(symbol.name, cases[i].name);
        assert_true(symbol.start <= vaddr && vaddr - symbol.start < symbol.size);
        assert_true(sn_objects_cfi(fixture->objects, object, vaddr, &row));
        assert_int_equal(row.start, symbol.start);
    }
}

static void hear_vdso(void *user, const struct sn_object_symbol *symbol)
{
    *(bool *)user |= strstr(symbol->name, "clock_gettime") != NULL;
}

static void code_of_the_kernel_in_processes_is_named(void **state)
{
    struct fixture *fixture = *state;
    const struct sn_object_mapping mapping = {
        .pid = 1, .start = 0x7ffff7fc0000, .end = 0x7ffff7fc2000, .path = "[vdso]"};
    struct sn_object_facts facts = {0};
    bool is_found = false;
    uint64_t vaddrs[8192 / 16];
    uint32_t object = sn_objects_add(fixture->objects, &mapping);
    assert_true(object);
    assert_int_equal(object, sn_objects_add(fixture->objects, &mapping));
    assert_true(sn_objects_facts(fixture->objects, object, &facts));
    assert_true(facts.is_elf);
    assert_string_equal(facts.name, "[vdso]");
    for (size_t i = 0; i < sizeof(vaddrs) / sizeof(vaddrs[0]); i++)
        vaddrs[i] = i * 16;
    sn_objects_symbols(fixture->objects, object, vaddrs, sizeof(vaddrs) / sizeof(vaddrs[0]),
                       hear_vdso, &is_found);
    assert_true(is_found);
}

/* Maps a copy of the small library as code; where the kernel says it is. */
static void *map_copy(const char *path, char kernel_path[PATH_SIZE],
                      struct sn_object_mapping *ret_mapping)
{
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_true(memory != MAP_FAILED);
    assert_true(find_mapping((uint64_t)(uintptr_t)memory, kernel_path, ret_mapping));
    return memory;
}

static void deleted_and_replaced_files_are_the_mapped_ones(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_SIZE];
    char kernel_path[PATH_SIZE];
    struct sn_object_mapping mapping = {0};
    struct sn_object_facts facts = {0};
    if (geteuid() != 0)
        skip_because("needs root: map_files");
    write_file(path_of(fixture, "gone.so", path), fixture->tiny.bytes, fixture->tiny.size);
    void *memory = map_copy(path, kernel_path, &mapping);
    assert_int_equal(unlink(path), 0);
    write_file(path, "something else", 14);
    assert_is_tiny(fixture->objects, sn_objects_add(fixture->objects, &mapping));
    assert_true(find_mapping((uint64_t)(uintptr_t)memory, kernel_path, &mapping));
    assert_non_null(strstr(mapping.path, " (deleted)"));
    uint32_t object = sn_objects_add(fixture->objects, &mapping);
    assert_is_tiny(fixture->objects, object);
    assert_true(sn_objects_facts(fixture->objects, object, &facts));
    assert_string_equal(facts.name, "gone.so");
    (void)munmap(memory, 4096);
}

static void files_of_a_process_that_is_gone_are_found_by_inode_only(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_SIZE];
    write_file(path_of(fixture, "left.so", path), fixture->tiny.bytes, fixture->tiny.size);
    struct sn_object_mapping mapping = mapping_of(path);
    mapping.pid = UINT32_MAX;
    assert_is_tiny(fixture->objects, sn_objects_add(fixture->objects, &mapping));
    mapping.path = path_of(fixture, "other.so", path);
    write_file(path, fixture->tiny.bytes, fixture->tiny.size);
    assert_int_equal(sn_objects_add(fixture->objects, &mapping), 0); /* another inode */
    mapping.inode = 0;
    assert_int_equal(sn_objects_add(fixture->objects, &mapping), 0);
}

/* More than may be open at once: the first ones are opened again. */
static void many_files_share_few_descriptors(void **state)
{
    struct fixture *fixture = *state;
    enum { COUNT = 400 };
    static uint32_t numbers[COUNT];
    char path[PATH_SIZE];
    for (unsigned i = 0; i < COUNT; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%u.so", i);
        write_file(path_of(fixture, name, path), fixture->tiny.bytes, fixture->tiny.size);
        const struct sn_object_mapping mapping = mapping_of(path);
        numbers[i] = sn_objects_add(fixture->objects, &mapping);
        assert_true(numbers[i]);
        assert_true(!i || numbers[i] != numbers[i - 1]);
    }
    int next = dup(0); /* the lowest that is free */
    assert_in_range(next, 3, 256);
    sn_close(next);
    for (unsigned i = 0; i < COUNT; i++)
        assert_is_tiny(fixture->objects, numbers[i]);
    write_file(path_of(fixture, "0.so", path), "changed", 7); /* closed by now */
    struct sn_object_symbol symbol = {0};
    assert_false(sn_objects_symbol(fixture->objects, numbers[0], 0x404, &symbol));
}

static uint32_t add_path(struct fixture *fixture, const char *path)
{
    const struct sn_object_mapping mapping = mapping_of(path);
    return sn_objects_add(fixture->objects, &mapping);
}

static void copy_from_corpus(struct fixture *fixture, const char *name, char path[PATH_SIZE])
{
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(1u << 20);
    struct sonde_error err = {0};
    (void)snprintf(path, PATH_SIZE, CORPUS "%s", name);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, &bytes, &err), SONDE_OK);
    write_file(path_of(fixture, name, path), bytes.bytes, bytes.size);
}

static void a_debug_file_beside_it_names_local_functions(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_SIZE];
    char debug_path[PATH_SIZE];
    struct stat status = {0};
    struct stat debug_status = {0};
    struct sn_object_symbol symbol = {0};
    copy_from_corpus(fixture, "tiny.debug", debug_path);
    copy_from_corpus(fixture, "linked.so", path);
    uint32_t object = add_path(fixture, path);
    assert_true(sn_objects_symbol(fixture->objects, object, 0x470, &symbol));
    assert_string_equal(symbol.name, "tiny_hidden");
    int fd = sn_objects_debug_fd(fixture->objects, object);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(stat(debug_path, &debug_status), 0);
    assert_int_equal(status.st_ino, debug_status.st_ino);
}

/* Two pieces of code that a linker moved by different distances, with a function in each. */
struct two_segments {
    Elf64_Ehdr head;
    Elf64_Phdr segments[2];
    Elf64_Shdr sections[3];
    Elf64_Sym symbols[3];
    char names[16];
};

static void functions_are_named_by_their_own_segment(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_SIZE];
    struct two_segments file = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                 .e_phoff = offsetof(struct two_segments, segments),
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_phnum = 2,
                 .e_shoff = offsetof(struct two_segments, sections),
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shnum = 3,
                 .e_shstrndx = 2},
        .segments = {{PT_LOAD, PF_R | PF_X, 0x2000, 0x9000, 0, 0x100, 0x100, 0x1000},
                     {PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0, 0x100, 0x100, 0x1000}},
        .sections = {{0},
                     {.sh_type = SHT_SYMTAB,
                      .sh_offset = offsetof(struct two_segments, symbols),
                      .sh_size = sizeof(file.symbols),
                      .sh_link = 2,
                      .sh_entsize = sizeof(Elf64_Sym)},
                     {.sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(struct two_segments, names),
                      .sh_size = sizeof(file.names)}},
        .symbols = {{0}, {1, STT_FUNC, 0, 1, 0x1010, 16}, {5, STT_FUNC, 0, 1, 0x9010, 16}},
        .names = "\0low\0high"};
    write_file(path_of(fixture, "two.so", path), &file, sizeof(file));
    assert_int_equal(truncate(path, 0x3000), 0);
    uint32_t object = add_path(fixture, path);
    static const struct {
        uint64_t offset;
        const char *name;
    } cases[] = {{0x1014, "low"}, {0x2014, "high"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sn_object_symbol symbol = {0};
        uint64_t vaddr = sn_objects_vaddr(fixture->objects, object, cases[i].offset);
        assert_true(sn_objects_symbol(fixture->objects, object, vaddr, &symbol));
        assert_string_equal(symbol.name, cases[i].name);
    }
    assert_int_equal(sn_objects_vaddr(fixture->objects, object, 0x10), 0x7010);
    assert_int_equal(sn_objects_vaddr(fixture->objects, 0, 0x10), 0x10);
}

static void what_is_no_file_has_no_number(void **state)
{
    struct fixture *fixture = *state;
    static const char *const paths[] = {"",
                                        "[heap]",
                                        "[stack]",
                                        "//anon",
                                        "/memfd:doublemapper (deleted)",
                                        "/dev/zero (deleted)",
                                        "/dev/zero",
                                        "/dev/tty",
                                        "/tmp",
                                        "/nowhere/at/all.so",
                                        "/proc/self/mem",
                                        "anon_inode:[perf_event]",
                                        "relative.so"};
    char path[PATH_SIZE];
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        assert_int_equal(add_path(fixture, paths[i]), 0);
    assert_int_equal(mkfifo(path_of(fixture, "fifo", path), 0644), 0);
    assert_int_equal(add_path(fixture, path), 0);
    static char endless[8192];
    memset(endless, 'x', sizeof(endless) - 1);
    endless[0] = '/';
    assert_int_equal(add_path(fixture, endless), 0);
}

static void files_that_are_no_elf_have_no_functions(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_SIZE];
    struct sn_object_facts facts = {0};
    struct sn_object_symbol symbol = {0};
    struct sn_cfi_row row = {0};
    write_file(path_of(fixture, "some.dll", path), "MZ and so on", 12);
    uint32_t object = add_path(fixture, path);
    assert_true(sn_objects_facts(fixture->objects, object, &facts));
    assert_false(facts.is_elf);
    assert_string_equal(facts.name, "some.dll");
    assert_false(sn_objects_symbol(fixture->objects, object, 0x1000, &symbol));
    assert_false(sn_objects_cfi(fixture->objects, object, 0x1000, &row));
    assert_int_equal(sn_objects_debug_fd(fixture->objects, object), -1);
    assert_false(sn_objects_facts(fixture->objects, 0, &facts));
    assert_false(sn_objects_facts(fixture->objects, 99999, &facts));
}

static void sparse_and_cut_files_harm_nothing(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_SIZE];
    struct sn_object_symbol symbol = {0};
    write_file(path_of(fixture, "huge.so", path), fixture->tiny.bytes, fixture->tiny.size);
    if (truncate(path, (off_t)1 << 40) == 0)
        assert_int_equal(add_path(fixture, path), 0);
    if (truncate(path, (off_t)1 << 34) == 0)
        assert_is_tiny(fixture->objects, add_path(fixture, path));
    write_file(path_of(fixture, "cut.so", path), fixture->tiny.bytes, fixture->tiny.size);
    uint32_t object = add_path(fixture, path);
    assert_int_equal(truncate(path, 100), 0);
    (void)sn_objects_symbol(fixture->objects, object, TINY_ADD, &symbol); /* no crash is enough */
}

/* From here on this process has no openat2: it fails with `error`. */
static bool lose_openat2(int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* On an old kernel, or below a filter that refuses the call, another root is left alone. */
static void assert_closed_without_openat2(struct fixture *fixture, pid_t pid, int error)
{
    const struct sn_object_mapping outside = {.pid = (uint32_t)pid, .path = "/out/full.so"};
    const struct sn_object_mapping own = mapping_of(TINY);
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        bool is_lost = lose_openat2(error);
        bool is_out = sn_objects_add(fixture->objects, &outside) != 0;
        bool is_own = sn_objects_add(fixture->objects, &own) != 0;
        _exit(!is_lost ? 2 : is_out || is_own != (error == ENOSYS));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A program in a root of its own, whose links lead out of it. */
static void links_out_of_the_root_lead_nowhere(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_SIZE];
    int ready[2];
    if (geteuid() != 0)
        skip_because("needs root: chroot");
    write_file(path_of(fixture, "inside.so", path), fixture->tiny.bytes, fixture->tiny.size);
    assert_int_equal(symlink(TINY, path_of(fixture, "absolute.so", path)), 0);
    assert_int_equal(symlink("../../../../../../../.." TINY, path_of(fixture, "up.so", path)), 0);
    assert_int_equal(symlink("/proc/self/exe", path_of(fixture, "magic.so", path)), 0);
    assert_int_equal(symlink("loop.so", path_of(fixture, "loop.so", path)), 0);
    assert_int_equal(symlink(CORPUS, path_of(fixture, "out", path)), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        bool is_in = chroot(fixture->folder) == 0 && chdir("/") == 0 && write(ready[1], "", 1) == 1;
        for (;;) {
            if (!is_in)
                _exit(1);
            (void)pause();
        }
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    static const char *const links[] = {"/absolute.so", "/up.so", "/magic.so", "/loop.so",
                                        "/out/full.so"};
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        const struct sn_object_mapping mapping = {.pid = (uint32_t)child, .path = links[i]};
        assert_int_equal(sn_objects_add(fixture->objects, &mapping), 0);
    }
    assert_closed_without_openat2(fixture, child, EPERM);
    assert_closed_without_openat2(fixture, child, ENOSYS);
    const struct sn_object_mapping inside = {.pid = (uint32_t)child, .path = "/inside.so"};
    assert_is_tiny(fixture->objects, sn_objects_add(fixture->objects, &inside));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    sn_close(ready[0]);
    sn_close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(functions_of_this_process_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(code_of_the_kernel_in_processes_is_named, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(deleted_and_replaced_files_are_the_mapped_ones, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(files_of_a_process_that_is_gone_are_found_by_inode_only,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_files_share_few_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_debug_file_beside_it_names_local_functions, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(functions_are_named_by_their_own_segment, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file_has_no_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_that_are_no_elf_have_no_functions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sparse_and_cut_files_harm_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_out_of_the_root_lead_nowhere, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
