/* Lines of what is loaded: from a PDB beside a module, within its file, within its image in memory,
 * beside the program that a module came with; and from no other build's. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/pe.h"
#include "source/memory/memory.h"
#include "source/memory/source_lines.h"
#include "source/memory/type_system.h"

#define GOLDEN SONDE_SOURCE_DIR "/tests/golden/pdb/"
#define BASE   0x7F0000000000u

static struct sn_buf load(const char *name)
{
    char path[512];
    struct sonde_error err = {0};
    struct sn_buf file = sn_buf_with_limit(1u << 20);
    assert_true((size_t)snprintf(path, sizeof(path), GOLDEN "%s", name) < sizeof(path));
    if (sn_file_read_at(AT_FDCWD, path, &file, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return file;
}

static bool read_bytes(void *user, uint64_t offset, void *to, size_t size)
{
    const struct sn_buf *file = user;
    if (offset > file->size || size > file->size - offset)
        return false;
    memcpy(to, file->bytes + offset, size);
    return true;
}

/* A memory that holds a file at BASE and nothing else. */
static size_t read_memory(void *user, uint64_t address, void *to, size_t size)
{
    const struct sn_buf *file = user;
    if (address < BASE || address - BASE >= file->size)
        return 0;
    size_t left = file->size - (size_t)(address - BASE);
    size = size < left ? size : left;
    memcpy(to, file->bytes + (address - BASE), size);
    return size;
}

static struct sn_memory *memory_of(struct sn_buf *file, const char *path)
{
    const struct sn_memory_source source = {.read = read_memory, .user = file};
    const struct sn_memory_map map = {
        .start = BASE, .end = BASE + 0x100000, .path = path, .flags = SN_MAP_READ};
    struct sn_memory *memory = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_memory_of_source(&source, &map, 1, &memory, &err), SONDE_OK);
    return memory;
}

static struct sn_memory_module module_of(struct sn_buf *file, const char *path)
{
    struct sn_memory_module module = {.address = 0x1000, .path = path, .name = "x.dll"};
    struct sn_pe_debug debug = {0};
    struct sonde_error err = {0};
    assert_int_equal(sn_pe_read_debug(read_bytes, file, &debug, &err), SONDE_OK);
    memcpy(module.pdb_guid, debug.pdb_guid, sizeof(module.pdb_guid));
    return module;
}

/* That a question has, or has not, the answer that the golden PDBs have. */
static bool has_lines(struct sn_memory *memory, const struct sn_memory_module *module)
{
    SN_AUTO(sn_source_lines_free) struct sn_source_lines *lines = NULL;
    struct sonde_error err = {0};
    const char *file = NULL;
    uint32_t line = 0;
    assert_int_equal(sn_source_lines_new(memory, &lines, &err), SONDE_OK);
    if (!sn_source_lines_find(lines, module, 0x06000003, 11, &file, &line))
        return false;
    assert_non_null(strstr(file, "Small.cs"));
    assert_int_equal(line, 32);
    assert_true(sn_source_lines_find(lines, module, 0x06000003, 31, &file, &line));
    assert_string_equal(file, "/src/generated/Made.cs");
    assert_int_equal(line, 1000);
    assert_true(sn_source_lines_find(lines, module, 0x06000001, 5, &file, &line));
    assert_int_equal(line, 15); /* it starts an async method: where that begins */
    assert_false(sn_source_lines_find(lines, module, 0x06000999, 0, &file, &line));
    assert_false(sn_source_lines_find(lines, module, 0x02000001, 0, &file, &line));
    assert_false(sn_source_lines_find(lines, module, 0, 0, &file, &line));
    assert_false(sn_source_lines_find(lines, NULL, 0x06000003, 0, &file, &line));
    return true;
}

static void files_are_found_by_path(void **state)
{
    (void)state;
    static const char *const names[] = {"sidecar.dll", "embedded.dll"};
    for (size_t i = 0; i < 2; i++) {
        SN_AUTO(sn_buf_done) struct sn_buf file = load(names[i]);
        SN_AUTO(sn_buf_done) struct sn_buf nothing = sn_buf_with_limit(1);
        SN_AUTO(sn_memory_free) struct sn_memory *memory = memory_of(&nothing, "");
        char path[512];
        (void)snprintf(path, sizeof(path), GOLDEN "%s", names[i]); /* fits: load checks it */
        struct sn_memory_module module = module_of(&file, path);
        assert_true(has_lines(memory, &module));
        module.is_dynamic = true;
        assert_false(has_lines(memory, &module));
        module.is_dynamic = false;
        module.pdb_guid[3] ^= 1; /* another build */
        assert_false(has_lines(memory, &module));
        memset(module.pdb_guid, 0, sizeof(module.pdb_guid));
        assert_false(has_lines(memory, &module));
    }
}

/* The same below the root of a process. */
static void files_of_a_process_are_found_below_its_root(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_memory_free) struct sn_memory *memory = NULL;
    struct sonde_error err = {0};
    if (sn_memory_of_process((uint32_t)getpid(), &memory, &err) != SONDE_OK)
        skip_because(err.text);
    struct sn_memory_module module = module_of(&file, GOLDEN "sidecar.dll");
    assert_true(has_lines(memory, &module));
    module = module_of(&file, GOLDEN "missing.dll");
    assert_false(has_lines(memory, &module));
}

static void an_image_in_memory_has_its_pdb_within(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("embedded.dll");
    SN_AUTO(sn_memory_free) struct sn_memory *memory = memory_of(&file, "");
    struct sn_memory_module module = module_of(&file, "embedded.dll");
    assert_false(has_lines(memory, &module)); /* nobody says where */
    module.image = BASE;
    assert_true(has_lines(memory, &module));
    module.image = BASE + 16;
    assert_false(has_lines(memory, &module));
    module.image = UINT64_MAX - 4;
    assert_false(has_lines(memory, &module));
    module.image = BASE;
    module.pdb_guid[0] ^= 1;
    assert_false(has_lines(memory, &module));
}

/* Another module at the address of one that was unloaded is asked for by its own id. */
static void addresses_are_used_again(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("embedded.dll");
    SN_AUTO(sn_memory_free) struct sn_memory *memory = memory_of(&file, "");
    SN_AUTO(sn_source_lines_free) struct sn_source_lines *lines = NULL;
    struct sn_memory_module module = module_of(&file, "embedded.dll");
    struct sonde_error err = {0};
    const char *name = NULL;
    uint32_t line = 0;
    module.image = BASE;
    assert_int_equal(sn_source_lines_new(memory, &lines, &err), SONDE_OK);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(sn_source_lines_find(lines, &module, 0x06000003, 11, &name, &line),
                         i % 2 == 0);
        module.pdb_guid[0] ^= 1;
    }
}

/* A bare name, as modules of a single-file program have it, whose image is mapped from it. */
static void a_pdb_lies_beside_a_single_file_program(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf file = load("sidecar.dll");
    SN_AUTO(sn_memory_free) struct sn_memory *memory = memory_of(&file, GOLDEN "program");
    SN_AUTO(sn_memory_free) struct sn_memory *elsewhere = memory_of(&file, "/program");
    struct sn_memory_module module = module_of(&file, "sidecar.dll");
    module.image = BASE;
    assert_true(has_lines(memory, &module));
    assert_false(has_lines(elsewhere, &module));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_found_by_path),
        cmocka_unit_test(files_of_a_process_are_found_below_its_root),
        cmocka_unit_test(an_image_in_memory_has_its_pdb_within),
        cmocka_unit_test(addresses_are_used_again),
        cmocka_unit_test(a_pdb_lies_beside_a_single_file_program),
    };
    return cmocka_run_group_tests_name("source lines", tests, NULL, NULL);
}
