/* Raw traces with secrets in them: covered in place, wherever the bytes are cut. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/trace_cover.h"

#define ROOM 1024u

/* Bytes of no text, then ASCII as UTF-16, then bytes again. */
static size_t make(char *to, size_t lead, const char *text)
{
    size_t size = 0;
    for (size_t i = 0; i < lead; i++)
        to[size++] = (char)(0x80 + i);
    for (const char *c = text; *c; c++) {
        to[size++] = *c;
        to[size++] = 0;
    }
    memcpy(to + size, "\0\0\xff\x07", 4);
    return size + 4;
}

/* As a stream does it: what stays behind is given again, with more behind it. */
static void pass(const char *from, size_t size, size_t piece, char *to)
{
    size_t done = 0;
    size_t have = piece < size ? piece : size;
    while (done < size) {
        memcpy(to + done, from + done, have - done);
        done += sn_trace_cover(to + done, have - done, ROOM, have == size);
        have = have + piece < size ? have + piece : size;
    }
}

static void secrets_are_covered_however_the_bytes_come(void **state)
{
    (void)state;
    static const char text[] = "cannot reach https://app:HUNTER2@host/: Password=HUNTER2;x=1";
    static const char shown[] = "cannot reach https://***********@host/: Password=*******;x=1";
    for (size_t lead = 0; lead < 4; lead++) {
        char from[ROOM];
        char wanted[ROOM];
        size_t size = make(from, lead, text);
        assert_int_equal(make(wanted, lead, shown), size);
        for (size_t piece = 1; piece <= size; piece++) {
            char to[ROOM];
            pass(from, size, piece, to);
            assert_memory_equal(to, wanted, size);
        }
    }
}

static void what_is_no_secret_stays(void **state)
{
    (void)state;
    char from[ROOM];
    char to[ROOM];
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i * 7);
    pass(from, sizeof(from), 100, to);
    assert_memory_equal(to, from, sizeof(from));
    size_t size = make(from, 1, "Order 42 was placed by the shop");
    pass(from, size, 5, to);
    assert_memory_equal(to, from, size);
}

static void a_text_that_fills_the_buffer_goes_out(void **state)
{
    (void)state;
    char text[64];
    for (size_t i = 0; i < sizeof(text); i += 2) {
        text[i] = 'x';
        text[i + 1] = 0;
    }
    assert_int_equal(sn_trace_cover(text, sizeof(text), sizeof(text), false), sizeof(text));
    assert_int_equal(sn_trace_cover(text, sizeof(text), sizeof(text) + 1, false), 0);
    assert_int_equal(sn_trace_cover(text, 0, sizeof(text), false), 0);
    assert_int_equal(sn_trace_cover(text, 1, sizeof(text), true), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_covered_however_the_bytes_come),
        cmocka_unit_test(what_is_no_secret_stays),
        cmocka_unit_test(a_text_that_fills_the_buffer_goes_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
