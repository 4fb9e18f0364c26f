/* Protocol buffers: fields and messages inside messages, of every size. */
#include "check.h"

#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/own.h"
#include "base/protobuf.h"

static void fields_are_as_the_encoding_says(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(256);
    sn_protobuf_varint(&to, 1, 150);
    sn_protobuf_varint(&to, 2, 0); /* the default is left out */
    sn_protobuf_bytes(&to, 2, "testing", 7);
    sn_protobuf_fixed64(&to, 3, 1);
    sn_protobuf_double(&to, 16, -2);
    static const char expected[] = "\x08\x96\x01\x12\x07testing\x19\x01\0\0\0\0\0\0\0"
                                   "\x81\x01\0\0\0\0\0\0\0\xC0";
    assert_int_equal(to.size, sizeof(expected) - 1);
    assert_memory_equal(to.bytes, expected, to.size);
}

static void messages_of_every_size_nest(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 120, 125, 127, 128, 16380, 16383, 16384, 2097152};
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(4u << 20);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        sn_buf_clear(&to);
        size_t outer = sn_protobuf_open(&to, 1);
        size_t inner = sn_protobuf_open(&to, 2);
        sn_buf_fill(&to, 'x', sizes[i]);
        sn_protobuf_close(&to, inner);
        sn_protobuf_varint(&to, 3, 9);
        sn_protobuf_close(&to, outer);
        struct sn_cursor in = sn_cursor_over(to.bytes, to.size);
        assert_int_equal(sn_cursor_u8(&in), 0x0A);
        uint64_t size = sn_cursor_varuint64(&in);
        assert_int_equal(size, sn_cursor_left(&in));
        assert_int_equal(sn_cursor_u8(&in), 0x12);
        assert_int_equal(sn_cursor_varuint64(&in), sizes[i]);
        for (size_t at = 0; at < sizes[i]; at++) {
            if (sn_cursor_u8(&in) != 'x')
                fail_msg("byte %zu of %zu", at, sizes[i]);
        }
        assert_int_equal(sn_cursor_u16(&in), 0x0918);
        assert_false(in.bad);
        assert_int_equal(sn_cursor_left(&in), 0);
    }
}

static void a_message_that_does_not_fit_marks_the_buffer(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < 133; limit++) {
        SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(limit);
        size_t opened = sn_protobuf_open(&to, 1);
        sn_buf_fill(&to, 'x', 130);
        sn_protobuf_close(&to, opened);
        assert_true(to.failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_as_the_encoding_says),
        cmocka_unit_test(messages_of_every_size_nest),
        cmocka_unit_test(a_message_that_does_not_fit_marks_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
