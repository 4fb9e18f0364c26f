/* Which release a runtime is: from the mark in its data, from its folder, or not at all. */
#include "check.h"

#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "source/memory/memory.h"
#include "source/memory/runtime_version.h"

#define CODE 0x10000u
#define DATA 0x80000u
#define SIZE 0x60000u
#define APP  "/shared/Microsoft.NETCore.App/9.0.4/libcoreclr.so"

struct image {
    char code[SIZE];
    char data[SIZE];
};
static struct image image;

static size_t read_image(void *user, uint64_t address, void *to, size_t size)
{
    const struct image *from = user;
    const char *part = address >= DATA ? from->data : from->code;
    uint64_t at = address - (address >= DATA ? DATA : CODE);
    if (address < CODE || at >= SIZE)
        return 0;
    size_t got = size < SIZE - at ? size : SIZE - (size_t)at;
    memcpy(to, part + at, got);
    return got;
}

static bool find(const char *path, struct sn_runtime_version *ret_version)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_memory_free) struct sn_memory *memory = NULL;
    const struct sn_memory_map maps[] = {
        {CODE, CODE + SIZE, 0, 1, 7, path, SN_MAP_READ | SN_MAP_CODE},
        {DATA, DATA + SIZE, SIZE, 1, 7, path, SN_MAP_READ | SN_MAP_WRITE},
    };
    const struct sn_memory_source source = {.read = read_image, .user = &image};
    assert_int_equal(sn_memory_of_source(&source, maps, 2, &memory, &err), SONDE_OK);
    return sn_runtime_version_find(memory, CODE, ret_version);
}

static void put(char *to, const char *text)
{
    memset(&image, 0, sizeof(image));
    memcpy(to, text, strlen(text) + 1);
}

static void the_mark_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *mark;
        uint32_t major;
        const char *text;
    } rows[] = {
        {"@(#)Version 8.0.3326.52219 @Commit: da7a9bea", 8, "8.0.33"},
        {"@(#)Version 10.0.1226.42308 @Commit: 95017c71", 10, "10.0.12"},
        {"@(#)Version 9.0.24.52809 @Commit: 9d5a6a9a", 9, "9.0.0"},
        {"@(#)Version what @(#)Version 8.0.124.1 @Commit", 8, "8.0.1"},
    };
    struct sn_runtime_version version;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        put(image.data + 0x3fff7, rows[i].mark); /* over the end of a chunk */
        assert_true(find("/opt/program", &version));
        assert_int_equal(version.major, rows[i].major);
        assert_string_equal(version.text, rows[i].text);
    }
    put(image.code + 100, rows[0].mark);
    assert_true(find(APP, &version));
    assert_int_equal(version.major, 8);
}

static void the_folder_is_second_best(void **state)
{
    (void)state;
    struct sn_runtime_version version;
    put(image.data, "@(#)Version 8.x");
    assert_true(find(APP, &version));
    assert_int_equal(version.major, 9);
    assert_string_equal(version.text, "9.0.4");
    assert_true(find("/a/11.0.0-preview.1.12345.6/libcoreclr.so", &version));
    assert_string_equal(version.text, "11.0.0-preview.1.12345.6");
    assert_false(find("/opt/8.0.1/program", &version));
    assert_int_equal(version.major, 0);
    assert_string_equal(version.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mark_is_read),
        cmocka_unit_test(the_folder_is_second_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
