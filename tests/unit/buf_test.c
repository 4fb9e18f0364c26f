/* The growable buffer: its ceiling, the failure that sticks, what consume leaves. */
#include "check.h"

#include <string.h>

#include "base/buf.h"
#include "base/own.h"

static void nothing_is_allocated_before_the_first_byte(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(10);
    sn_buf_append(&buf, NULL, 0);
    sn_buf_text(&buf, "");
    assert_null(buf.bytes);
    assert_false(buf.failed);
}

static void the_ceiling_can_be_reached_but_not_passed(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < 600; limit += 37) {
        SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(limit);
        for (size_t i = 0; i < limit; i++)
            sn_buf_u8(&buf, (uint8_t)i);
        assert_false(buf.failed);
        assert_int_equal(buf.size, limit);
        assert_true(buf.capacity <= limit);
        sn_buf_u8(&buf, 1);
        assert_true(buf.failed);
        assert_int_equal(buf.size, limit);
    }
}

static void an_append_that_does_not_fit_leaves_nothing_and_stops_later_ones(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(8);
    sn_buf_text(&buf, "abcdef");
    sn_buf_u32(&buf, 7);
    assert_true(buf.failed);
    assert_int_equal(buf.size, 6);
    sn_buf_u8(&buf, 1); /* this one would fit */
    sn_buf_fill(&buf, 0, 1);
    sn_buf_format(&buf, "%d", 1);
    sn_buf_varuint(&buf, 1);
    assert_int_equal(buf.size, 6);
    assert_null(sn_buf_reserve(&buf, 0));
    assert_string_equal(sn_buf_string(&buf), "");
    sn_buf_clear(&buf);
    sn_buf_u8(&buf, 'x');
    assert_string_equal(sn_buf_string(&buf), "x");
}

static void absurd_sizes_fail_and_do_not_wrap(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(1u << 20);
    sn_buf_u8(&buf, 1);
    assert_null(sn_buf_reserve(&buf, SIZE_MAX));
    assert_true(buf.failed);
    sn_buf_clear(&buf);
    sn_buf_u8(&buf, 1);
    sn_buf_fill(&buf, 0, SIZE_MAX - 1);
    assert_true(buf.failed);
    assert_int_equal(buf.size, 1);
}

static void numbers_are_little_endian(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(64);
    sn_buf_u8(&buf, 0x01);
    sn_buf_u16(&buf, 0x0302);
    sn_buf_u32(&buf, 0x07060504);
    sn_buf_u64(&buf, 0x0F0E0D0C0B0A0908u);
    assert_int_equal(buf.size, 15);
    for (uint8_t i = 0; i < 15; i++)
        assert_int_equal(buf.bytes[i], i + 1);
}

static void reserved_bytes_count_only_when_grown(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(1000);
    uint8_t *to = sn_buf_reserve(&buf, 1000);
    assert_non_null(to);
    memset(to, 'r', 1000);
    assert_int_equal(buf.size, 0);
    sn_buf_grow(&buf, 3);
    assert_string_equal(sn_buf_string(&buf), "rrr");
}

static void consume_drops_the_front_and_keeps_the_rest(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(16);
    sn_buf_text(&buf, "0123456789");
    sn_buf_consume(&buf, 0);
    assert_int_equal(buf.size, 10);
    sn_buf_consume(&buf, 7);
    assert_string_equal(sn_buf_string(&buf), "789");
    sn_buf_text(&buf, "abcdefghijklm"); /* 16 again: what was consumed is room */
    assert_false(buf.failed);
    sn_buf_consume(&buf, 16);
    assert_int_equal(buf.size, 0);
    sn_buf_text(&buf, "z");
    assert_string_equal(sn_buf_string(&buf), "z");
}

static void formatted_text_is_whole_or_not_there(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(700);
    char word[301];
    memset(word, 'w', 300);
    word[300] = '\0';
    sn_buf_format(&buf, "%s-%d", word, 42);
    assert_int_equal(buf.size, 303);
    assert_string_equal(sn_buf_string(&buf) + 300, "-42");
    sn_buf_format(&buf, "%s%s", word, word);
    assert_true(buf.failed);
    assert_int_equal(buf.size, 303);
}

static void a_string_does_not_count_its_zero_nor_need_room_below_the_ceiling(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(4);
    sn_buf_text(&buf, "abc");
    assert_string_equal(sn_buf_string(&buf), "abc");
    assert_string_equal(sn_buf_string(&buf), "abc");
    assert_int_equal(buf.size, 3);
    sn_buf_text(&buf, "d");
    assert_string_equal(sn_buf_string(&buf), "abcd");
    assert_int_equal(buf.size, 4);
    assert_false(buf.failed);
    sn_buf_clear(&buf);
    sn_buf_format(&buf, "%d", 1234); /* likewise, though vsnprintf writes one more */
    assert_string_equal(sn_buf_string(&buf), "1234");
}

/* The same text into ceilings of one below, exactly and one above it, byte by byte and at once. */
static void text_and_size_are_of_each_other_at_every_ceiling(void **state)
{
    (void)state;
    char text[600];
    memset(text, 't', sizeof(text));
    for (size_t size = 1; size < sizeof(text); size += 7) {
        for (size_t limit = size - 1; limit <= size + 1; limit++) {
            for (size_t piece = 1; piece <= size; piece += size - 1 ? size - 1 : 1) {
                SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(limit);
                for (size_t at = 0; at < size; at += piece)
                    sn_buf_append(&buf, text, piece < size - at ? piece : size - at);
                size_t before = buf.size; /* as whoever reads it too early */
                assert_int_equal(buf.failed, limit < size);
                struct sn_buf_view view = sn_buf_view(&buf);
                assert_int_equal(view.size, limit < size ? 0 : size);
                assert_int_equal(strlen(view.text), view.size);
                assert_int_equal(buf.size, view.size);
                for (size_t i = 0; i < before; i++) /* AddressSanitizer looks on */
                    assert_true(view.text[i] == 't' || (limit < size && !i));
            }
        }
    }
}

static void a_failed_buffer_is_an_empty_string_and_goes_on_after_clear(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf never = sn_buf_with_limit(0);
    sn_buf_u8(&never, 1);
    assert_true(never.failed);
    assert_int_equal(sn_buf_view(&never).size, 0);
    assert_string_equal(sn_buf_view(&never).text, "");
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(6);
    size_t start = 2;
    sn_buf_text(&buf, "abcd");
    sn_buf_text(&buf, "efg");
    assert_memory_equal(buf.bytes + start, "cd", buf.size - start); /* what was whole stays */
    buf.size = start; /* some roll back, and do not clear */
    assert_int_equal(sn_buf_view(&buf).size, 0);
    sn_buf_clear(&buf);
    sn_buf_text(&buf, "xyz");
    assert_string_equal(sn_buf_string(&buf), "xyz");
}

static void memory_of_another_is_neither_left_nor_moved(void **state)
{
    (void)state;
    char memory[9];
    memset(memory, '#', sizeof(memory));
    struct sn_buf buf = sn_buf_over(memory, 8);
    sn_buf_text(&buf, "1234567");
    assert_string_equal(sn_buf_string(&buf), "1234567");
    sn_buf_u8(&buf, '8');
    assert_false(buf.failed);
    assert_ptr_equal(buf.bytes, memory);
    assert_string_equal(sn_buf_string(&buf), ""); /* no room for the zero */
    assert_true(buf.failed);
    assert_int_equal(buf.size, 0);
    assert_int_equal(memory[8], '#');
}

static void done_leaves_an_empty_buffer_with_the_same_ceiling(void **state)
{
    (void)state;
    struct sn_buf buf = sn_buf_with_limit(2);
    sn_buf_text(&buf, "abc");
    assert_true(buf.failed);
    sn_buf_done(&buf);
    assert_null(buf.bytes);
    assert_false(buf.failed);
    sn_buf_text(&buf, "ab");
    assert_false(buf.failed);
    sn_buf_text(&buf, "c");
    assert_true(buf.failed);
    sn_buf_done(&buf);
}

static void content_survives_every_growth(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(1u << 20);
    for (uint32_t i = 0; i < 100000; i++)
        sn_buf_u32(&buf, i * 2654435761u);
    assert_int_equal(buf.size, 400000);
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t value;
        memcpy(&value, buf.bytes + 4 * (size_t)i, sizeof(value));
        assert_int_equal(value, i * 2654435761u);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_before_the_first_byte),
        cmocka_unit_test(the_ceiling_can_be_reached_but_not_passed),
        cmocka_unit_test(an_append_that_does_not_fit_leaves_nothing_and_stops_later_ones),
        cmocka_unit_test(absurd_sizes_fail_and_do_not_wrap),
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(reserved_bytes_count_only_when_grown),
        cmocka_unit_test(consume_drops_the_front_and_keeps_the_rest),
        cmocka_unit_test(formatted_text_is_whole_or_not_there),
        cmocka_unit_test(a_string_does_not_count_its_zero_nor_need_room_below_the_ceiling),
        cmocka_unit_test(text_and_size_are_of_each_other_at_every_ceiling),
        cmocka_unit_test(a_failed_buffer_is_an_empty_string_and_goes_on_after_clear),
        cmocka_unit_test(memory_of_another_is_neither_left_nor_moved),
        cmocka_unit_test(done_leaves_an_empty_buffer_with_the_same_ceiling),
        cmocka_unit_test(content_survives_every_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
