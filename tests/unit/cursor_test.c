/* The bounded cursor: reads straight down, a mark that stays, LEB128 at its limits. */
#include "check.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/own.h"

/* clang-format off */
static const uint8_t all_widths[] = {
    0xA1,                                            /* u8 */
    0xB2, 0xB1,                                      /* u16 */
    0xC4, 0xC3, 0xC2, 0xC1,                          /* u32 */
    0xD8, 0xD7, 0xD6, 0xD5, 0xD4, 0xD3, 0xD2, 0xD1,  /* u64 */
    0xFE, 0xFF,                                      /* i16 */
    0xFD, 0xFF, 0xFF, 0xFF,                          /* i32 */
    0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,  /* i64 */
};
/* clang-format on */

struct widths {
    uint64_t u8, u16, u32, u64;
    int64_t i16, i32, i64;
};

static struct widths read_all(struct sn_cursor *cur)
{
    struct widths read = {0};
    read.u8 = sn_cursor_u8(cur);
    read.u16 = sn_cursor_u16(cur);
    read.u32 = sn_cursor_u32(cur);
    read.u64 = sn_cursor_u64(cur);
    read.i16 = sn_cursor_i16(cur);
    read.i32 = sn_cursor_i32(cur);
    read.i64 = sn_cursor_i64(cur);
    return read;
}

static void every_width_is_read_little_endian(void **state)
{
    (void)state;
    struct sn_cursor cur = sn_cursor_over(all_widths, sizeof(all_widths));
    struct widths read = read_all(&cur);
    assert_int_equal(read.u8, 0xA1);
    assert_int_equal(read.u16, 0xB1B2);
    assert_int_equal(read.u32, 0xC1C2C3C4);
    assert_true(read.u64 == 0xD1D2D3D4D5D6D7D8u);
    assert_true(read.i16 == -2 && read.i32 == -3 && read.i64 == -4);
    assert_false(cur.bad);
    assert_int_equal(sn_cursor_left(&cur), 0);
    assert_int_equal(sn_cursor_offset(&cur), sizeof(all_widths));
}

static void every_cut_sets_the_mark_and_gives_zero(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(all_widths); size++) {
        struct sn_cursor cur = sn_cursor_over(all_widths, size);
        struct widths read = read_all(&cur);
        assert_true(cur.bad);
        assert_int_equal(read.i64, 0);
        assert_true(sn_cursor_offset(&cur) <= size);
    }
}

static void the_mark_stays_although_smaller_reads_would_fit(void **state)
{
    (void)state;
    struct sn_cursor cur = sn_cursor_over(all_widths, 3);
    assert_int_equal(sn_cursor_u32(&cur), 0);
    assert_int_equal(sn_cursor_u8(&cur), 0);
    assert_null(sn_cursor_bytes(&cur, 0));
    assert_true(cur.bad);
    assert_int_equal(sn_cursor_left(&cur), 3);
}

static void no_size_wraps_around_the_end(void **state)
{
    (void)state;
    struct sn_cursor cur = sn_cursor_over(all_widths, 8);
    sn_cursor_skip(&cur, 4);
    assert_null(sn_cursor_bytes(&cur, SIZE_MAX));
    assert_true(cur.bad);
    cur = sn_cursor_over(all_widths, 8);
    sn_cursor_skip(&cur, 8);
    assert_false(cur.bad);
    sn_cursor_skip(&cur, 1);
    assert_true(cur.bad);
}

static void nothing_at_all_can_be_read_over(void **state)
{
    (void)state;
    struct sn_cursor cur = sn_cursor_over(NULL, 0);
    assert_int_equal(sn_cursor_left(&cur), 0);
    sn_cursor_skip(&cur, 0);
    assert_false(cur.bad);
    assert_int_equal(sn_cursor_varuint64(&cur), 0);
    assert_true(cur.bad);
}

static bool reads_32(const void *bytes, size_t size, uint32_t expected)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    return sn_cursor_varuint32(&cur) == expected && !cur.bad && !sn_cursor_left(&cur);
}

static bool reads_64(const void *bytes, size_t size, uint64_t expected)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    return sn_cursor_varuint64(&cur) == expected && !cur.bad && !sn_cursor_left(&cur);
}

static bool refuses(const void *bytes, size_t size, bool is_64)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    uint64_t value = is_64 ? sn_cursor_varuint64(&cur) : sn_cursor_varuint32(&cur);
    return cur.bad && value == 0;
}

static void the_largest_numbers_take_5_and_10_bytes(void **state)
{
    (void)state;
    assert_true(reads_32("\xFF\xFF\xFF\xFF\x0F", 5, UINT32_MAX));
    assert_true(reads_64("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 10, UINT64_MAX));
    assert_true(reads_64("\x80\x80\x80\x80\x10", 5, 1ull << 32));
}

static void bits_that_do_not_fit_are_bad(void **state)
{
    (void)state;
    assert_true(refuses("\xFF\xFF\xFF\xFF\x1F", 5, false));
    assert_true(refuses("\x80\x80\x80\x80\x10", 5, false));
    assert_true(refuses("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 10, true));
    assert_true(refuses("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7F", 10, true));
}

static void a_sixth_or_eleventh_byte_is_bad(void **state)
{
    (void)state;
    assert_true(refuses("\x80\x80\x80\x80\x80\x00", 6, false));
    assert_true(refuses("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, true));
}

static void padded_numbers_within_the_length_are_read(void **state)
{
    (void)state;
    assert_true(reads_32("\x81\x00", 2, 1));
    assert_true(reads_32("\x81\x80\x80\x80\x00", 5, 1));
    assert_true(reads_64("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10, 0));
}

static void what_the_buffer_writes_is_read_back_and_every_cut_is_bad(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(64);
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int near = -1; near <= 1; near++) {
            uint64_t value = ((uint64_t)1 << bit) + (uint64_t)(int64_t)near;
            sn_buf_clear(&buf);
            sn_buf_varuint(&buf, value);
            assert_true(reads_64(buf.bytes, buf.size, value));
            for (size_t size = 0; size < buf.size; size++)
                assert_true(refuses(buf.bytes, size, true));
        }
    }
}

static bool reads_signed(const void *bytes, size_t size, int64_t expected)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    return sn_cursor_varint64(&cur) == expected && !cur.bad && !sn_cursor_left(&cur);
}

static bool refuses_signed(const void *bytes, size_t size)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    return sn_cursor_varint64(&cur) == 0 && cur.bad;
}

static void the_last_byte_of_a_signed_number_has_its_sign(void **state)
{
    (void)state;
    assert_true(reads_signed("\x00", 1, 0));
    assert_true(reads_signed("\x3F", 1, 63));
    assert_true(reads_signed("\x40", 1, -64));
    assert_true(reads_signed("\x78", 1, -8));
    assert_true(reads_signed("\x80\x01", 2, 128));
    assert_true(reads_signed("\x80\x7F", 2, -128));
    assert_true(reads_signed("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00", 10, INT64_MAX));
    assert_true(reads_signed("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7F", 10, INT64_MIN));
    assert_true(reads_signed("\x80\x80\x80\x80\x80\x80\x80\x80\x40", 9, INT64_MIN / 2));
    assert_true(refuses_signed("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10));
    assert_true(refuses_signed("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11));
    assert_true(refuses_signed("\x80", 1));
    assert_true(refuses_signed("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_is_read_little_endian),
        cmocka_unit_test(every_cut_sets_the_mark_and_gives_zero),
        cmocka_unit_test(the_mark_stays_although_smaller_reads_would_fit),
        cmocka_unit_test(no_size_wraps_around_the_end),
        cmocka_unit_test(nothing_at_all_can_be_read_over),
        cmocka_unit_test(the_largest_numbers_take_5_and_10_bytes),
        cmocka_unit_test(bits_that_do_not_fit_are_bad),
        cmocka_unit_test(a_sixth_or_eleventh_byte_is_bad),
        cmocka_unit_test(padded_numbers_within_the_length_are_read),
        cmocka_unit_test(what_the_buffer_writes_is_read_back_and_every_cut_is_bad),
        cmocka_unit_test(the_last_byte_of_a_signed_number_has_its_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
