/* Addresses to methods in a runtime's memory that is made here: both kinds of nibble maps,
 * precompiled images with funclets, cold parts and methods that were never prepared; and that
 * loops, absurd counts and damage of any byte end soon and with nothing. Beside real runtimes:
 * tests/interop/code_map_test. */
#include <stdlib.h>

#include "base/own.h"
#include "check.h"
#include "code_image.h"
#include "sonde/error.h"
#include "source/memory/code_map.h"
#include "source/memory/contract.h"
#include "source/memory/runtime_memory.h"

#define READS_MAX 50000u /* of one question */

struct fixture {
    struct code_image *image;
    struct sn_runtime_memory runtime;
    struct sn_code_map *map;
};

static int add_contract(struct fixture *fixture, const char *json)
{
    const uint64_t pointers[] = {IMAGE_BASE + AT_MAP};
    struct sonde_error err = {0};
    assert_int_equal(sn_contract_new(&fixture->runtime.contract, &err), SONDE_OK);
    return sn_contract_add(fixture->runtime.contract, json, strlen(json), pointers, 1, &err);
}

static void begin(struct fixture *fixture, uint32_t version)
{
    struct sonde_error err = {0};
    *fixture = (struct fixture){.image = malloc(sizeof(*fixture->image))};
    assert_non_null(fixture->image);
    code_image_make(fixture->image, version);
    const struct sn_memory_source source = {.read = code_image_read, .user = fixture->image};
    assert_int_equal(sn_memory_of_source(&source, NULL, 0, &fixture->runtime.memory, &err),
                     SONDE_OK);
    assert_int_equal(add_contract(fixture, version == 1 ? CODE_CONTRACT("1") : CODE_CONTRACT("2")),
                     SONDE_OK);
    assert_int_equal(sn_code_map_new(&fixture->runtime, &fixture->map, &err), SONDE_OK);
}

static void end(struct fixture *fixture)
{
    sn_code_map_free(fixture->map);
    sn_contract_free(fixture->runtime.contract);
    sn_memory_free(fixture->runtime.memory);
    free(fixture->image);
}

/* As the next look at a process begins. */
static void forget(struct fixture *fixture)
{
    sn_memory_forget(fixture->runtime.memory);
    sn_code_map_forget(fixture->map);
}

static struct sn_managed_code find(struct fixture *fixture, uint64_t at)
{
    struct sn_managed_code code;
    bool is_found = sn_code_map_find(fixture->map, IMAGE_BASE + at, &code);
    assert_int_equal(is_found, code.kind != SN_CODE_NONE);
    return code;
}

static void check_compiled(struct fixture *fixture, uint64_t at, unsigned method, unsigned piece)
{
    static const struct {
        uint32_t start;
        const uint32_t *ends;
    } methods[] = {{0x40, code_image_a}, {0x1004, code_image_b}, {0x4000, code_image_c}};
    struct sn_managed_code code = find(fixture, AT_CODE + at);
    uint64_t base = IMAGE_BASE + AT_CODE;
    const uint32_t *ends = methods[method].ends;
    assert_int_equal(code.kind, SN_CODE_JIT);
    assert_int_equal(code.method, IMAGE_BASE + AT_METHODS + method * UINT64_C(16));
    assert_int_equal(code.start, base + methods[method].start);
    assert_int_equal(code.function, base + (piece ? ends[piece - 1] : methods[method].start));
    assert_int_equal(code.function_end, base + ends[piece]);
    assert_int_equal(code.is_funclet, piece > 0);
    assert_int_equal(code.unwind_info, base + 0x8000 + method * UINT64_C(16) + piece);
    assert_int_equal(code.debug_info, IMAGE_BASE + AT_DEBUG + method * UINT64_C(64));
}

static void test_compiled(void **state)
{
    (void)state;
    for (uint32_t version = 1; version <= 2; version++) {
        struct fixture fixture;
        begin(&fixture, version);
        for (uint32_t at = 0x40; at < 0x70; at++)
            check_compiled(&fixture, at, 0, 0);
        for (uint32_t at = 0x1004; at < 0x1900; at++)
            check_compiled(&fixture, at, 1, at >= 0x1880 ? 2 : at >= 0x1800);
        for (uint32_t at = 0x4000; at < 0x4010; at++)
            check_compiled(&fixture, at, 2, 0);
        static const uint32_t between[] = {0,      0x10,   0x3f,   0x70,   0x1003, 0x1900,
                                           0x2fff, 0x3fff, 0x4010, 0x7fff, 0x8000, 0xffff};
        for (size_t i = 0; i < sizeof(between) / sizeof(*between); i++) {
            uint8_t kind = find(&fixture, AT_CODE + between[i]).kind;
            /* behind a stub nobody says where it ends */
            assert_int_equal(kind,
                             between[i] == 0x3fff && version == 1 ? SN_CODE_STUB : SN_CODE_NONE);
        }
        assert_int_equal(find(&fixture, AT_CODE + 0x3010).kind, SN_CODE_STUB);
        assert_int_equal(find(&fixture, AT_STUBS + 0x10).kind, SN_CODE_STUB);
        end(&fixture);
    }
}

static void check_precompiled(struct fixture *fixture, uint64_t at, uint64_t start, uint64_t method,
                              bool is_funclet)
{
    struct sn_managed_code code = find(fixture, AT_IMAGE + at);
    assert_int_equal(code.kind, SN_CODE_PRECOMPILED);
    assert_int_equal(code.start, IMAGE_BASE + AT_IMAGE + start);
    assert_int_equal(code.method, method ? IMAGE_BASE + AT_METHODS + method : 0);
    assert_int_equal(code.is_funclet, is_funclet);
    assert_int_equal(code.module, IMAGE_BASE + AT_MODULE);
    assert_int_equal(code.token, method ? 0 : 0x06000003);
    assert_true(code.function <= IMAGE_BASE + AT_IMAGE + at);
    assert_true(code.function_end > IMAGE_BASE + AT_IMAGE + at);
    assert_true(code.unwind_info >= IMAGE_BASE + AT_IMAGE + 0x9000);
    assert_true(code.debug_info > IMAGE_BASE + AT_DEBUG_INFO || start == 0x2100);
}

static void test_precompiled(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 2);
    for (unsigned round = 0; round < 2; round++) { /* the second from what is kept */
        check_precompiled(&fixture, 0x2000, 0x2000, 0x100, false);
        check_precompiled(&fixture, 0x20ff, 0x2000, 0x100, false);
        check_precompiled(&fixture, 0x2100, 0x2000, 0x100, true);
        check_precompiled(&fixture, 0x217f, 0x2000, 0x100, true);
        check_precompiled(&fixture, 0x2200, 0x2200, 0, false); /* not prepared: by its token */
        check_precompiled(&fixture, 0x228f, 0x2200, 0, true);
        check_precompiled(&fixture, 0x23ff, 0x2300, 0x110, false);
        check_precompiled(&fixture, 0x8008, 0x2000, 0x100, false); /* cold */
    }
    static const uint32_t nothing[] = {0, 0x1fff, 0x2180, 0x21ff, 0x2290, 0x2400, 0x7fff, 0x8010};
    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
        assert_int_equal(find(&fixture, AT_IMAGE + nothing[i]).kind, SN_CODE_NONE);
    assert_int_equal(find(&fixture, AT_IMAGE + 0x7000).kind, SN_CODE_STUB);
    assert_int_equal(find(&fixture, AT_IMAGE + 0x70ff).kind, SN_CODE_STUB);
    assert_int_equal(find(&fixture, AT_IMAGE + 0x7100).kind, SN_CODE_NONE);
    end(&fixture);
}

static void test_forgets(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 2);
    check_compiled(&fixture, 0x48, 0, 0);
    put64(fixture.image, AT_HEADERS, IMAGE_BASE + AT_METHODS + 0x500);
    check_compiled(&fixture, 0x48, 0, 0);
    forget(&fixture);
    assert_int_equal(find(&fixture, AT_CODE + 0x48).method, IMAGE_BASE + AT_METHODS + 0x500);
    end(&fixture);
}

/* Another image where one was: what was built of the first answers nothing any more. */
static void test_forgets_images(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 2);
    check_precompiled(&fixture, 0x2200, 0x2200, 0, false);
    forget(&fixture);
    check_precompiled(&fixture, 0x2200, 0x2200, 0, false); /* the same: its rows are kept */
    uint8_t entries[0x400];
    memcpy(entries, fixture.image->bytes + AT_ENTRIES, sizeof(entries));
    memset(fixture.image->bytes + AT_ENTRIES, 0, sizeof(entries));
    put32(fixture.image, AT_HEADER + 24, 0x3f0);
    forget(&fixture);
    assert_int_equal(find(&fixture, AT_IMAGE + 0x2200).token, 0);
    memcpy(fixture.image->bytes + AT_ENTRIES, entries, sizeof(entries));
    put32(fixture.image, AT_HEADER + 24, 0x400);
    forget(&fixture);
    check_precompiled(&fixture, 0x2200, 0x2200, 0, false);
    forget(&fixture);
    forget(&fixture); /* not used in a look: read anew */
    check_precompiled(&fixture, 0x2200, 0x2200, 0, false);
    end(&fixture);
}

/* What was kept is older than the stack that leads here: new code is seen all the same. */
static void test_sees_what_is_new(void **state)
{
    (void)state;
    static const uint32_t ends[] = {0x5080};
    struct fixture fixture;
    begin(&fixture, 2);
    assert_int_equal(find(&fixture, AT_CODE + 0x5000).kind, SN_CODE_NONE);
    add_method(fixture.image, 3, 0x5000, ends, 1);
    struct sn_managed_code code = find(&fixture, AT_CODE + 0x5000);
    assert_int_equal(code.kind, SN_CODE_JIT);
    assert_int_equal(code.method, IMAGE_BASE + AT_METHODS + 0x30);

    /* so is the method that has just been prepared, and what looked like a funclet */
    static const uint32_t starts[] = {0x2200, 0x2100};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t entry = IMAGE_BASE + AT_IMAGE + starts[i];
        if (i == 0)
            check_precompiled(&fixture, starts[i], starts[i], 0, false);
        add_entry(fixture.image, (uint32_t)(entry >> 2) % 7, 2, entry,
                  IMAGE_BASE + AT_METHODS + 0x200);
        check_precompiled(&fixture, starts[i] + 8, starts[i], 0x200, false);
    }
    end(&fixture);
}

/* Where one range ends, the next one begins: their entries are in one list, in any order. */
static void test_ranges_side_by_side(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 2);
    add_section(fixture.image, AT_STUBS_END + 0x1000, AT_STUBS_END + 0x2000, 0, 0);
    add_section(fixture.image, AT_STUBS_END, AT_STUBS_END + 0x1000, 0, 0);
    for (uint64_t at = AT_STUBS_END; at < AT_STUBS_END + 0x2000; at += 0x1000) {
        assert_int_equal(find(&fixture, at).kind, SN_CODE_STUB);
        assert_int_equal(find(&fixture, at + 0xfff).kind, SN_CODE_STUB);
    }
    assert_int_equal(find(&fixture, AT_STUBS_END + 0x2000).kind, SN_CODE_NONE);
    end(&fixture);
}

/* Each change makes method A nothing that could be believed. */
static void test_torn(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
    } changes[] = {
        {AT_HEADERS, 0},                            /* no MethodDesc */
        {AT_HEADERS, IMAGE_BASE + AT_METHODS + 4},  /* not where one can be */
        {AT_HEADERS, UINT64_C(0x123456789abcdef0)}, /* nor here */
        {AT_HEADERS + 16, 0},                       /* no unwind data */
        {AT_HEADERS + 16, UINT32_MAX},              /* too much of it */
        {AT_HEADERS + 24, 0x44},                    /* of another start */
        {AT_CODE + 0x40 - 8, IMAGE_BASE + 1},       /* no header */
        {AT_CODE + 0x40 - 8, UINT64_C(0x8000000000000000)},
        {AT_FRAGMENTS + 32, IMAGE_BASE + AT_SECTIONS + 64}, /* a range that does not hold it */
        {AT_HEAP + 0, IMAGE_BASE + AT_CODE + 0x40},         /* the heap ends before it */
        {AT_HEAP + 24, IMAGE_BASE + AT_CODE + 0x2000},      /* the map begins behind it */
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        struct fixture fixture;
        begin(&fixture, 2);
        put64(fixture.image, changes[i].at, changes[i].value);
        assert_int_equal(find(&fixture, AT_CODE + 0x50).kind, SN_CODE_NONE);
        assert_in_range(fixture.image->reads, 1, 1000);
        end(&fixture);
    }
}

static void test_loops(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, 2);
    for (unsigned i = 0; i < 3; i++) { /* every fragment follows itself, and none holds anything */
        put64(fixture.image, AT_FRAGMENTS + i * 64u + 40,
              IMAGE_BASE + AT_FRAGMENTS + i * UINT64_C(64));
        put64(fixture.image, AT_FRAGMENTS + i * 64u + 24, 0);
    }
    assert_int_equal(find(&fixture, AT_CODE + 0x50).kind, SN_CODE_NONE);
    assert_in_range(fixture.image->reads, 1, READS_MAX);
    end(&fixture);

    begin(&fixture, 2);
    put32(fixture.image, AT_INFO + 24, UINT32_MAX); /* functions without end */
    assert_int_equal(find(&fixture, AT_IMAGE + 0x2000).kind, SN_CODE_NONE);
    end(&fixture);

    begin(&fixture, 2);
    put32(fixture.image, AT_BUCKETS, UINT32_MAX);
    assert_int_equal(find(&fixture, AT_IMAGE + 0x2000).method, 0);
    forget(&fixture);
    put32(fixture.image, AT_BUCKETS, 1); /* by which nothing can be divided */
    assert_int_equal(find(&fixture, AT_IMAGE + 0x2000).method, 0);
    end(&fixture);

    begin(&fixture, 1); /* no start anywhere: the search backwards ends at the map's first word */
    memset(fixture.image->bytes + AT_NIBBLES, 0, 0x1000);
    assert_int_equal(find(&fixture, AT_CODE + 0x7fff).kind, SN_CODE_NONE);
    end(&fixture);
}

static void check_answer(struct fixture *fixture, uint64_t at)
{
    struct sn_managed_code code;
    uint32_t il;
    uint64_t address = IMAGE_BASE + at;
    fixture->image->reads = 0;
    if (!sn_code_map_find(fixture->map, address, &code))
        return;
    assert_in_range(fixture->image->reads, 0, READS_MAX);
    assert_in_range(code.kind, SN_CODE_JIT, SN_CODE_STUB);
    if (code.kind == SN_CODE_STUB)
        return;
    assert_true(code.function <= address && address < code.function_end);
    assert_int_equal(code.method & 7, 0);
    (void)sn_code_map_il_offset(fixture->map, &code, address, &il);
}

static void test_any_damage(void **state)
{
    (void)state;
    static const uint32_t asked[] = {AT_CODE + 0x50,    AT_CODE + 0x1404,  AT_CODE + 0x1890,
                                     AT_IMAGE + 0x2080, AT_IMAGE + 0x2110, AT_IMAGE + 0x2210,
                                     AT_IMAGE + 0x2310, AT_IMAGE + 0x8004, AT_STUBS + 4};
    static const uint32_t from[] = {
        AT_FRAGMENTS, AT_SECTIONS,  AT_HEAP,    AT_NIBBLES,  AT_HEADERS,    AT_INFO,   AT_BUCKETS,
        AT_MODULE,    AT_FUNCTIONS, AT_ENTRIES, AT_HOT_COLD, AT_DEBUG_INFO, AT_HEADER, 0x4000};
    struct fixture fixture;
    uint32_t seed = 12345;
    for (uint32_t version = 1; version <= 2; version++) {
        begin(&fixture, version);
        for (unsigned round = 0; round < 3000; round++) {
            code_image_make(fixture.image, version);
            for (unsigned i = 0; i < 4; i++) {
                seed = seed * 1664525u + 1013904223u;
                uint32_t at =
                    from[(seed >> 8) % (sizeof(from) / sizeof(*from))] + (seed >> 20) % 256;
                fixture.image->bytes[at] = (uint8_t)(seed >> 3);
            }
            forget(&fixture);
            for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
                check_answer(&fixture, asked[i]);
        }
        end(&fixture);
    }
}

static void test_il(void **state)
{
    (void)state;
    /* a bound of nibbles: 1 entry, native 4, IL 9 (12 with the bias), no source */
    static const uint8_t nibbles[] = {0, 0x04, 0x41, 0x49, 0x01};
    struct fixture fixture;
    struct sn_managed_code code;
    uint32_t il;
    begin(&fixture, 1);
    memcpy(fixture.image->bytes + AT_DEBUG, nibbles, sizeof(nibbles));
    code = find(&fixture, AT_CODE + 0x50);
    assert_false(sn_code_map_il_offset(fixture.map, &code, IMAGE_BASE + AT_CODE + 0x41, &il));
    assert_true(sn_code_map_il_offset(fixture.map, &code, IMAGE_BASE + AT_CODE + 0x44, &il));
    assert_int_equal(il, 9);
    assert_false(sn_code_map_il_offset(fixture.map, &code, IMAGE_BASE + AT_CODE + 0x70, &il));
    assert_false(sn_code_map_il_offset(fixture.map, &code, IMAGE_BASE + AT_CODE + 0x3f, &il));
    end(&fixture);
}

static void expect_refusal(const char *json, const char *said)
{
    struct fixture fixture = {0};
    struct sonde_error err = {0};
    assert_int_equal(add_contract(&fixture, json), SONDE_OK);
    assert_int_equal(sn_code_map_new(&fixture.runtime, &fixture.map, &err), SONDE_E_UNSUPPORTED);
    assert_null(fixture.map);
    assert_non_null(strstr(err.text, said));
    sn_contract_free(fixture.runtime.contract);
}

static void test_refused_politely(void **state)
{
    (void)state;
    expect_refusal(CODE_CONTRACT("3"), "ExecutionManager is of version 3");
    expect_refusal("{\"contracts\":{},\"types\":{},\"globals\":{}}",
                   "no contract ExecutionManager");
    expect_refusal("{\"contracts\":{\"ExecutionManager\":2},\"types\":{},\"globals\":{}}",
                   "RangeSectionMap.TopLevelData");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiled),
        cmocka_unit_test(test_precompiled),
        cmocka_unit_test(test_forgets),
        cmocka_unit_test(test_forgets_images),
        cmocka_unit_test(test_sees_what_is_new),
        cmocka_unit_test(test_ranges_side_by_side),
        cmocka_unit_test(test_torn),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_any_damage),
        cmocka_unit_test(test_il),
        cmocka_unit_test(test_refused_politely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
