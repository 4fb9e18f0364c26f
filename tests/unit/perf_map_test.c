/* Perf maps: as .NET and others write them, overlapping lines, every cut. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "format/perf_map.h"

static const char text[] =
    "0x00007F1234560000 10000 stub GenerateResolveStub<VirtualCallStubManager>\n"
    "0x00007F1234560040 20 void [System.Private.CoreLib] Thread::StartCallback()[QuickJitted]\n"
    "7f1234570000 3c int32 [targets] Program::Fib(int32)[QuickJitted]\n"
    "00007f1234570010 100 int32 [targets] Program::Fib(int32)[OptimizedTier1]\n"
    "nonsense\n"
    "7f1234580000 0 empty\n"
    "7f1234580000 zz no number\n"
    "7f1234580000 10\n"
    "ffffffffffffffff 10 beyond the end\n"
    "7f1234590000 10 torn";

static struct sn_perf_map *read_map(size_t size, size_t piece)
{
    struct sn_perf_map *map = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_perf_map_new(&map, &err), SONDE_OK);
    for (size_t at = 0; at < size; at += piece) {
        size_t part = size - at < piece ? size - at : piece;
        assert_int_equal(sn_perf_map_take(map, text + at, part, &err), SONDE_OK);
    }
    return map;
}

static void assert_named(struct sn_perf_map *map, uint64_t address, const char *name)
{
    struct sn_perf_map_entry entry = {0};
    bool is_found = sn_perf_map_find(map, address, &entry);
    assert_int_equal(is_found, name != NULL);
    if (name) {
        assert_string_equal(entry.name, name);
        assert_true(address >= entry.start && address - entry.start < entry.size);
    }
}

static void the_later_line_holds(void **state)
{
    (void)state;
    static const struct {
        uint64_t address;
        const char *name;
    } cases[] = {
        {0x7f123455ffff, NULL},
        {0x7f1234560000, "stub GenerateResolveStub<VirtualCallStubManager>"},
        {0x7f1234560040, "void [System.Private.CoreLib] Thread::StartCallback()[QuickJitted]"},
        {0x7f123456005f, "void [System.Private.CoreLib] Thread::StartCallback()[QuickJitted]"},
        {0x7f1234560060, "stub GenerateResolveStub<VirtualCallStubManager>"},
        {0x7f123457000f, "int32 [targets] Program::Fib(int32)[QuickJitted]"},
        {0x7f1234570010, "int32 [targets] Program::Fib(int32)[OptimizedTier1]"},
        {0x7f123457010f, "int32 [targets] Program::Fib(int32)[OptimizedTier1]"},
        {0x7f1234570110, NULL},
        {0x7f1234580000, NULL},
        {0x7f1234590000, NULL},
        {UINT64_MAX, NULL},
    };
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        struct sn_perf_map *map = read_map(sizeof(text) - 1, piece);
        assert_int_equal(sn_perf_map_count(map), 4);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            assert_named(map, cases[i].address, cases[i].name);
        sn_perf_map_free(map);
    }
}

static void every_cut_gives_the_whole_lines_before_it(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        struct sn_perf_map *map = read_map(cut, sizeof(text));
        size_t lines = 0;
        for (size_t i = 0; i < cut; i++)
            lines += text[i] == '\n';
        assert_int_equal(sn_perf_map_count(map), lines < 4 ? lines : 4);
        sn_perf_map_free(map);
    }
}

static void endless_lines_are_passed_over(void **state)
{
    (void)state;
    static char piece[4096];
    struct sn_perf_map *map = read_map(0, 1);
    struct sonde_error err = {0};
    static const char begin[] = {'1', '0', ' ', '1', '0', ' '};
    memset(piece, 'x', sizeof(piece));
    memcpy(piece, begin, sizeof(begin));
    for (int i = 0; i < 100; i++)
        assert_int_equal(sn_perf_map_take(map, piece, sizeof(piece), &err), SONDE_OK);
    assert_int_equal(sn_perf_map_take(map, "\n30 10 next\n", 12, &err), SONDE_OK);
    assert_named(map, 0x10, NULL);
    assert_named(map, 0x30, "next");
    sn_perf_map_free(map);
}

/* A file made to be slow: all lines over each other. */
static void lines_over_each_other_end(void **state)
{
    (void)state;
    struct sn_perf_map *map = read_map(0, 1);
    struct sonde_error err = {0};
    assert_int_equal(sn_perf_map_take(map, "1 ffffff wide\n", 14, &err), SONDE_OK);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(sn_perf_map_take(map, "2 1 a\n", 6, &err), SONDE_OK);
    for (int i = 0; i < 1000; i++)
        assert_named(map, 2, "a");
    sn_perf_map_free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_later_line_holds),
        cmocka_unit_test(every_cut_gives_the_whole_lines_before_it),
        cmocka_unit_test(endless_lines_are_passed_over),
        cmocka_unit_test(lines_over_each_other_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
