/* Filters by the clauses of their methods, compiled and precompiled, and clauses that lie. */
#include "check.h"

#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "source/memory/code_layout.h"
#include "source/memory/code_map.h"
#include "source/memory/exception_clauses.h"
#include "source/memory/memory.h"
#include "source/memory/ready_to_run.h"

#define BASE  0x10000u
#define SIZE  0x4000u
#define CODE  (BASE + 0x1000u) /* a method; the word before it is its header's address */
#define HEAD  (BASE + 0x100u)
#define INFO  (BASE + 0x208u)
#define TABLE (BASE + 0x2000u)

static uint8_t bytes[SIZE];
static struct sn_code_layout layout;

static size_t read_bytes(void *user, uint64_t address, void *to, size_t size)
{
    (void)user;
    if (address < BASE || address - BASE >= SIZE)
        return 0;
    size_t left = SIZE - (size_t)(address - BASE);
    size = size < left ? size : left;
    memcpy(to, bytes + (address - BASE), size);
    return size;
}

static void put(uint64_t address, uint64_t value, size_t size)
{
    memcpy(bytes + (address - BASE), &value, size);
}

static struct sn_memory *open_memory(void)
{
    struct sonde_error err = {0};
    struct sn_memory *memory = NULL;
    const struct sn_memory_map map = {
        .start = BASE, .end = BASE + SIZE, .path = "", .flags = SN_MAP_READ};
    const struct sn_memory_source source = {.read = read_bytes};
    assert_int_equal(sn_memory_of_source(&source, &map, 1, &memory, &err), SONDE_OK);
    return memory;
}

static bool is_filter(uint32_t offset, const struct sn_ready_to_run *image)
{
    SN_AUTO(sn_memory_free) struct sn_memory *memory = open_memory();
    struct sn_code_reader reader = {.memory = memory, .layout = &layout, .left = SN_CODE_READS_MAX};
    const struct sn_managed_code code = {.start = CODE, .function = CODE + offset};
    return image ? sn_exception_clauses_has_image_filter(&reader, image, &code)
                 : sn_exception_clauses_has_filter(&reader, &code);
}

/* A catch at 0x40, a filter at 0x80 whose handler is at 0xc0. */
static int fill_compiled(void **state)
{
    (void)state;
    memset(bytes, 0, sizeof(bytes));
    layout = (struct sn_code_layout){.header_clauses = 8};
    put(CODE - 8, HEAD, 8);
    put(HEAD + 8, INFO, 8);
    put(INFO - 8, 2, 8);
    put(INFO + 8, 0, 4);
    put(INFO + 8 + 12, 0x40, 4);
    put(INFO + 8 + 24, 0x12345678, 8); /* a type */
    put(INFO + 8 + 32, 1, 4);
    put(INFO + 8 + 32 + 12, 0xc0, 4);
    put(INFO + 8 + 32 + 24, 0x80, 4);
    return 0;
}

static void compiled_filters_are_told(void **state)
{
    (void)state;
    assert_true(is_filter(0x80, NULL));
    assert_false(is_filter(0x40, NULL));
    assert_false(is_filter(0xc0, NULL));
    put(INFO + 8 + 32, 1 | 8, 4); /* a duplicate: another flag */
    assert_true(is_filter(0x80, NULL));
    put(INFO + 8 + 32, 2, 4); /* a finally */
    assert_false(is_filter(0x80, NULL));
}

static void what_is_not_told_is_none(void **state)
{
    (void)state;
    layout.header_clauses = UINT32_MAX;
    assert_false(is_filter(0x80, NULL));
    layout.header_clauses = 8;
    put(HEAD + 8, 0, 8);
    assert_false(is_filter(0x80, NULL));
    put(HEAD + 8, INFO, 8);
    put(INFO - 8, UINT64_MAX, 8); /* as many as cannot be */
    put(INFO + 8 + 32, 2, 4);
    assert_false(is_filter(0x80, NULL));
}

static void precompiled_filters_are_told(void **state)
{
    (void)state;
    struct sn_ready_to_run image = {.image = BASE, .clauses = TABLE, .clause_entries = 5};
    static const uint32_t methods[] = {0x800, 0x900, 0x1000, 0x1100, UINT32_MAX};
    for (uint32_t i = 0; i < 5; i++) {
        put(TABLE + 8ull * i, methods[i], 4);
        put(TABLE + 8ull * i + 4, 0x3000 + 24 * i, 4);
    }
    put(BASE + 0x3000 + 24 * 2, 1, 4);
    put(BASE + 0x3000 + 24 * 2 + 20, 0x80, 4);
    assert_true(is_filter(0x80, &image));
    assert_false(is_filter(0x40, &image));
    put(TABLE + 16, 0x1001, 4); /* of another method */
    assert_false(is_filter(0x80, &image));
    put(TABLE + 16, 0x1000, 4);
    put(TABLE + 28, 0, 4); /* the next begins before it */
    (void)is_filter(0x40, &image);
    image.clause_entries = 1;
    assert_false(is_filter(0x80, &image));
    image.clause_entries = UINT32_MAX; /* more than there is memory */
    assert_false(is_filter(0x80, &image));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(compiled_filters_are_told, fill_compiled),
        cmocka_unit_test_setup(what_is_not_told_is_none, fill_compiled),
        cmocka_unit_test_setup(precompiled_filters_are_told, fill_compiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
