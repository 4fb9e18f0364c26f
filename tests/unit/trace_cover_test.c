/* Raw traces with secrets in them: covered in place, wherever the bytes are cut, whatever the
 * characters around them. */
#include "check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uchar.h>

#include "daemon/trace_cover.h"

#define ROOM 1024u

static void put(char *to, size_t *size, const void *bytes, size_t count)
{
    memcpy(to + *size, bytes, count);
    *size += count;
}

static void put_text(char *to, size_t *size, const char16_t *text)
{
    for (; *text; text++)
        put(to, size, text, sizeof(*text));
}

/* Bytes of no text, then UTF-16, then bytes again. */
static size_t make(char *to, size_t lead, const char16_t *text)
{
    size_t size = 0;
    put(to, &size, "\x80\x01\x02\x03", lead);
    put_text(to, &size, text);
    put(to, &size, "\0\0\xff\x07", 4);
    return size;
}

/* As a stream does it: `piece` bytes come at a time, and as many go out. */
static void pass(const char *from, size_t size, size_t piece, char *to)
{
    struct sn_trace_cover *cover = sn_trace_cover_new();
    assert_non_null(cover);
    size_t in = 0;
    size_t out = 0;
    for (bool is_end = false;;) {
        size_t room;
        size_t taken = sn_trace_cover_take(cover, to + out, piece);
        out += taken;
        if (taken)
            continue;
        if (is_end)
            break;
        char *at = sn_trace_cover_room(cover, &room);
        assert_true(room > 0);
        size_t part = size - in < piece ? size - in : piece;
        part = part < room ? part : room;
        memcpy(at, from + in, part);
        is_end = !part;
        in += part;
        sn_trace_cover_add(cover, part, is_end);
    }
    assert_int_equal(in, size);
    assert_int_equal(out, size);
    sn_trace_cover_free(cover);
}

static void check(const char *from, size_t size, const char *wanted)
{
    for (size_t piece = 1; piece <= size; piece++) {
        char to[ROOM];
        pass(from, size, piece, to);
        assert_memory_equal(to, wanted, size);
    }
}

static void secrets_are_covered_however_the_bytes_come(void **state)
{
    (void)state;
    static const struct {
        const char16_t *text;
        const char16_t *shown;
    } rows[] = {
        {u"cannot reach https://app:HUNTER2@host/: Password=HUNTER2;x=1",
         u"cannot reach https://***********@host/: Password=*******;x=1"},
        {u"Password=h\u00e4canary1234;x=1", u"Password=************;x=1"},
        {u"\u65e5\u672cPassword=\u5bc6\U0001f511canary;x=1", u"\u65e5\u672cPassword=*********;x=1"},
        {u"gr\u00fc\u00dfe ApiKey: HUNTER2", u"gr\u00fc\u00dfe ApiKey: *******"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (size_t lead = 0; lead < 4; lead++) {
            char from[ROOM];
            char wanted[ROOM];
            size_t size = make(from, lead, rows[i].text);
            assert_int_equal(make(wanted, lead, rows[i].shown), size);
            check(from, size, wanted);
        }
    }
}

static void so_are_those_in_texts_of_single_bytes(void **state)
{
    (void)state;
    static const char from[] = "\x01\x90{\"client_secret\": \"h\xc3\xa4nter2\", \"a\": 1}\0\xff";
    static const char wanted[] = "\x01\x90{\"client_secret\": \"********\", \"a\": 1}\0\xff";
    assert_int_equal(sizeof(from), sizeof(wanted));
    check(from, sizeof(from), wanted);
}

/* A secret behind `fill` characters of its own value; `before` of no interest before it. */
static void check_long(size_t before, size_t fill)
{
    size_t count = before + 9 + fill + 7;
    char *from = calloc(count + 1, 2);
    char *to = calloc(count + 1, 2);
    assert_true(from && to);
    size_t size = 0;
    for (size_t i = 0; i < before; i++)
        put_text(from, &size, i % 7 ? u"y" : u" ");
    put_text(from, &size, u"Password=");
    for (size_t i = 0; i < fill; i++)
        put_text(from, &size, u"x");
    put_text(from, &size, u"HUNTER2");
    size += 2;
    static const size_t pieces[] = {4096, 8191, 32768, 1u << 20};
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        pass(from, size, pieces[i], to);
        assert_memory_equal(to, from, 2 * (before ? before - 1 : 0));
        for (size_t at = before + 9; at < count; at++)
            assert_true(to[2 * at] == '*' && to[2 * at + 1] == 0);
    }
    free(from);
    free(to);
}

static void long_texts_are_looked_at_whole(void **state)
{
    (void)state;
    check_long(0, 9000);
    check_long(0, 65000); /* longer than an event */
    check_long(20000, 40000);
    static const size_t edges[] = {65536 - 20, 65536 - 5, 131072 - 9, 131072 - 3, 131072, 200001};
    for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++)
        check_long(edges[i], 30000); /* across the windows */
}

static void what_is_no_secret_stays(void **state)
{
    (void)state;
    static char from[3 * SN_TRACE_COVER_WINDOW + 77];
    static char to[sizeof(from)];
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof(from); i++) {
        random = random * 1664525 + 1013904223;
        from[i] = (char)(random >> 24);
    }
    pass(from, sizeof(from), 10007, to);
    assert_memory_equal(to, from, sizeof(from));
    size_t size = make(from, 1, u"Order 42 was placed by the shop in K\u00f6ln");
    pass(from, size, 5, to);
    assert_memory_equal(to, from, size);
    pass(from, 0, 1, to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_covered_however_the_bytes_come),
        cmocka_unit_test(so_are_those_in_texts_of_single_bytes),
        cmocka_unit_test(long_texts_are_looked_at_whole),
        cmocka_unit_test(what_is_no_secret_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
