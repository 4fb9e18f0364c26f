/* The debug information of native code from bytes written here, in both forms: what is found, what
 * is left out, and that no cut and no garbage leads anywhere. Beside the runtime's own events:
 * tests/interop/code_map_test. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "check.h"
#include "format/debug_info.h"

struct writer {
    uint8_t bytes[4096];
    uint64_t bit;
};

static void put_bits(struct writer *to, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++, to->bit++)
        to->bytes[to->bit / 8] |= (uint8_t)((value >> i & 1) << (to->bit % 8));
}

static void put_value(struct writer *to, uint32_t value)
{
    unsigned groups = 1;
    while (groups < 11 && (uint64_t)value >> (3 * groups))
        groups++;
    while (groups--)
        put_bits(to, ((uint64_t)value >> (3 * groups) & 7) | (groups ? 8u : 0u), 4);
}

static void align(struct writer *to)
{
    to->bit = (to->bit + 7) & ~UINT64_C(7);
}

static const struct sn_debug_bound truth[] = {
    {0, SN_IL_PROLOG},
    {12, 0},
    {12, 5},
    {40, 300},
    {41, SN_IL_NO_MAPPING},
    {900, 70000},
    {904, 2},
    {904, SN_IL_EPILOG},
    {70000, 7},
};
enum { COUNT = sizeof(truth) / sizeof(*truth) };

/* The bounds alone. */
static struct writer bounds_of(unsigned form)
{
    struct writer to = {0};
    uint32_t last = 0;
    put_value(&to, COUNT);
    if (form == SN_DEBUG_INFO_BITS) {
        put_value(&to, 17 - 1);
        put_value(&to, 18 - 1);
        align(&to);
    }
    for (size_t i = 0; i < COUNT; i++) {
        if (form == SN_DEBUG_INFO_BITS) {
            put_bits(&to, i & 3, 2);
            put_bits(&to, truth[i].native - last, 17);
            put_bits(&to, truth[i].il + 3, 18);
        } else {
            put_value(&to, truth[i].native - last);
            put_value(&to, truth[i].il + 3);
            put_value(&to, (uint32_t)i & 31);
        }
        last = truth[i].native;
    }
    align(&to);
    return to;
}

static void append_bytes(struct writer *to, const void *bytes, size_t size)
{
    memcpy(to->bytes + to->bit / 8, bytes, size);
    to->bit += size * 8;
}

/* What stands before the head of code that the JIT made. */
static void put_prefix(struct writer *to, unsigned form, uint8_t flags)
{
    uint8_t patchpoint[40 + 3 * 4] = {0};
    uint8_t rich[4 + 9] = {9};
    append_bytes(to, &flags, 1);
    if (flags & 1) {
        patchpoint[form == SN_DEBUG_INFO_BITS ? 16 : 8] = 3;
        append_bytes(to, patchpoint, form == SN_DEBUG_INFO_BITS ? 52 : 44);
    }
    if (flags & 2)
        append_bytes(to, rich, sizeof(rich));
}

static struct writer info_of(unsigned form, int prefix, bool is_instrumented)
{
    struct writer to = {0};
    struct writer bounds = bounds_of(form);
    if (prefix >= 0)
        put_prefix(&to, form, (uint8_t)prefix);
    if (is_instrumented)
        put_value(&to, UINT32_MAX);
    put_value(&to, (uint32_t)(bounds.bit / 8));
    if (is_instrumented)
        put_value(&to, 33);
    put_value(&to, 77); /* variables, which nobody reads */
    align(&to);
    append_bytes(&to, bounds.bytes, (size_t)bounds.bit / 8);
    return to;
}

static void check_open(const struct writer *info, struct sn_debug_info_kind kind)
{
    struct sn_debug_bounds bounds;
    struct sn_debug_bound bound;
    assert_int_equal(sn_debug_info_open(info->bytes, (size_t)info->bit / 8, kind, &bounds),
                     SN_DEBUG_INFO_OPEN);
    struct sn_debug_bounds all = bounds;
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(sn_debug_bounds_next(&all, &bound));
        assert_int_equal(bound.native, truth[i].native);
        assert_int_equal(bound.il, truth[i].il);
    }
    assert_false(sn_debug_bounds_next(&all, &bound));

    static const struct sn_debug_bound asked[] = {
        {0, 0},       {11, 0},      {12, 5},  {39, 5},    {40, 300},  {41, 300},       {899, 300},
        {900, 70000}, {903, 70000}, {904, 2}, {69999, 2}, {70000, 7}, {UINT32_MAX, 7},
    };
    for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
        uint32_t il;
        assert_true(sn_debug_bounds_find(bounds, asked[i].native, &il));
        assert_int_equal(il, asked[i].il);
    }
}

static void test_every_form(void **state)
{
    (void)state;
    for (unsigned form = SN_DEBUG_INFO_NIBBLES; form <= SN_DEBUG_INFO_BITS; form++) {
        for (int prefix = -1; prefix < 4; prefix++) {
            struct writer info = info_of(form, prefix, false);
            check_open(&info, (struct sn_debug_info_kind){(uint8_t)form, prefix >= 0});
        }
    }
    struct writer info = info_of(SN_DEBUG_INFO_BITS, 0, true);
    check_open(&info, (struct sn_debug_info_kind){SN_DEBUG_INFO_BITS, true});
}

/* Each cut says that it is one, up to the end of the bounds. */
static void test_cut_everywhere(void **state)
{
    (void)state;
    for (unsigned form = SN_DEBUG_INFO_NIBBLES; form <= SN_DEBUG_INFO_BITS; form++) {
        struct writer info = info_of(form, 3, form == SN_DEBUG_INFO_BITS);
        struct sn_debug_info_kind kind = {(uint8_t)form, true};
        for (size_t size = 0; size < info.bit / 8; size++) {
            uint8_t *bytes = malloc(size + !size); /* so that a sanitizer sees a step too far */
            assert_non_null(bytes);
            memcpy(bytes, info.bytes, size);
            struct sn_debug_bounds bounds;
            assert_int_equal(sn_debug_info_open(bytes, size, kind, &bounds), SN_DEBUG_INFO_CUT);
            free(bytes);
        }
    }
}

static void expect(const void *bytes, size_t size, struct sn_debug_info_kind kind, int result)
{
    struct sn_debug_bounds bounds;
    assert_int_equal(sn_debug_info_open(bytes, size, kind, &bounds), result);
}

static void test_refused(void **state)
{
    (void)state;
    const struct sn_debug_info_kind plain = {SN_DEBUG_INFO_NIBBLES, false};
    const struct sn_debug_info_kind jitted = {SN_DEBUG_INFO_BITS, true};
    expect("\0\0\0", 3, plain, SN_DEBUG_INFO_EMPTY);
    expect("\4", 1, jitted, SN_DEBUG_INFO_BAD); /* a flag that nobody knows */
    expect("\xff\xff\xff\xff\xff\xff\xff\xff", 8, plain, SN_DEBUG_INFO_BAD);
    uint8_t locals[64] = {1};
    memset(locals + 17, 0xff, 4);
    expect(locals, sizeof(locals), jitted, SN_DEBUG_INFO_BAD);
    expect("\2\xff\xff\xff\xff", 5, jitted, SN_DEBUG_INFO_BAD); /* rich beyond measure */

    struct writer wide = {0}; /* one bound of 41 bits */
    put_value(&wide, 4);
    put_value(&wide, 0);
    align(&wide);
    put_value(&wide, 1);
    put_value(&wide, 40);
    put_value(&wide, 0);
    expect(wide.bytes, 16, (struct sn_debug_info_kind){SN_DEBUG_INFO_BITS, false},
           SN_DEBUG_INFO_BAD);

    struct writer many = {0}; /* more than there are bytes for */
    put_value(&many, 4);
    put_value(&many, 0);
    align(&many);
    put_value(&many, 1000);
    put_value(&many, 7);
    put_value(&many, 7);
    expect(many.bytes, 16, (struct sn_debug_info_kind){SN_DEBUG_INFO_BITS, false},
           SN_DEBUG_INFO_BAD);
}

/* Native offsets only rise: what wraps ends there. */
static void test_wrap(void **state)
{
    (void)state;
    struct writer info = {0};
    struct writer bounds = {0};
    put_value(&bounds, 2);
    for (unsigned i = 0; i < 2; i++) {
        put_value(&bounds, 0xfffffff0u);
        put_value(&bounds, 3 + i);
        put_value(&bounds, 0);
    }
    align(&bounds);
    put_value(&info, (uint32_t)(bounds.bit / 8));
    put_value(&info, 0);
    align(&info);
    append_bytes(&info, bounds.bytes, (size_t)bounds.bit / 8);
    struct sn_debug_bounds found;
    struct sn_debug_bound bound;
    expect(info.bytes, (size_t)info.bit / 8, (struct sn_debug_info_kind){0}, SN_DEBUG_INFO_OPEN);
    (void)sn_debug_info_open(info.bytes, (size_t)info.bit / 8, (struct sn_debug_info_kind){0},
                             &found);
    assert_true(sn_debug_bounds_next(&found, &bound));
    assert_int_equal(bound.il, 0);
    assert_false(sn_debug_bounds_next(&found, &bound));
    assert_false(sn_debug_bounds_next(&found, &bound));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form),
        cmocka_unit_test(test_cut_everywhere),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
