/* Answers of HTTP servers: every shape of body, whole, in single bytes and cut at every byte; what
 * could be read in two ways is refused; ceilings hold. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "net/http_answer.h"

struct good {
    const char *text;
    unsigned status;
    bool keeps_alive;
    uint32_t retry_after_s;
    const char *reason;
    const char *excerpt;
};

/* Complete without the peer's closing. */
static const struct good good[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, true, 0, "OK", "{}"},
    {"HTTP/1.1 204 No Content\r\n\r\n", 204, true, 0, "No Content", ""},
    {"HTTP/1.1 204\r\nContent-Length: 9\r\n\r\n", 204, true, 0, "", ""},
    {"HTTP/1.1 200 \r\ncontent-length:0\r\nCONNECTION: x, Close\r\n\r\n", 200, false, 0, "", ""},
    {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 200, false, 0, "OK", ""},
    {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", 200, true, 0, "OK",
     ""},
    {"HTTP/1.1 429 Too Many Requests\r\nRetry-After:  17 \r\nContent-Length: 4\r\n\r\nsl\x01w", 429,
     true, 17, "Too Many Requests", "sl w"},
    {"HTTP/1.1 503 Busy\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n",
     503, true, 0, "Busy", ""},
    {"HTTP/1.1 100 Continue\r\nContent-Length: 7\r\n\r\nHTTP/1.1 103 Hints\r\nRetry-After: "
     "3\r\n\r\nHTTP/1.1 200 "
     "OK\r\nContent-Length: 1\r\n\r\nx",
     200, true, 0, "OK", "x"},
    {"HTTP/1.1 400 Bad\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=\"y\"\r\nwrong\r\n00B \r\n, all of "
     "it\r\n0\r\nTrailer: x\r\nContent-Length: 77\r\n\r\n",
     400, true, 0, "Bad", "wrong, all of it"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 200, true, 0, "OK",
     "abc"},
};

struct refused {
    const char *text;
    int status;
};

static const struct refused refused[] = {
    {"SSH-2.0-OpenSSH_9.2\r\n", SONDE_E_FORMAT},
    {"HTTP/2 200 OK\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 20 OK\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 2000 OK\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 666 OK\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 -20 OK\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 \x1b[31mred\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 101 Switching\r\n\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nNo colon\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\n: nothing\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nContent-Length : 3\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nContent-Length: 3x\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nContent-Length:\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n", SONDE_E_UNSUPPORTED},
    {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", SONDE_E_FORMAT},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\nx", SONDE_E_LIMIT},
    {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\nx", SONDE_E_LIMIT},
};

static int feed_all(struct sn_http_answer *answer, const char *text, size_t size, size_t step,
                    struct sonde_error *err)
{
    int rc = SONDE_AGAIN;
    for (size_t at = 0; at < size && rc == SONDE_AGAIN; at += step) {
        size_t used;
        size_t piece = size - at < step ? size - at : step;
        rc = sn_http_answer_feed(answer, text + at, piece, &used, err);
        assert_true(rc < 0 || used == piece);
    }
    return rc;
}

static void check_good(const struct good *expected, size_t step)
{
    struct sn_http_answer answer;
    struct sonde_error err = {0};
    sn_http_answer_init(&answer);
    assert_int_equal(feed_all(&answer, expected->text, strlen(expected->text), step, &err),
                     SONDE_OK);
    assert_int_equal(answer.status, expected->status);
    assert_int_equal(answer.keeps_alive, expected->keeps_alive);
    assert_int_equal(answer.retry_after_s, expected->retry_after_s);
    assert_string_equal(answer.reason, expected->reason);
    assert_string_equal(answer.excerpt, expected->excerpt);
    assert_int_equal(sn_http_answer_end(&answer, &err), SONDE_OK);
}

static void every_shape_is_read_whole_and_in_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        for (size_t step = 1; step < 8; step++)
            check_good(&good[i], step);
        check_good(&good[i], 4096);
    }
}

static void every_cut_wants_more_and_is_truncated_when_closed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        for (size_t size = 0; size < strlen(good[i].text); size++) {
            struct sn_http_answer answer;
            struct sonde_error err = {0};
            sn_http_answer_init(&answer);
            assert_int_equal(feed_all(&answer, good[i].text, size, 4096, &err), SONDE_AGAIN);
            assert_int_equal(sn_http_answer_has_begun(&answer), size > 0);
            assert_int_equal(sn_http_answer_end(&answer, &err), SONDE_E_TRUNCATED);
            assert_string_not_equal(err.text, "");
        }
    }
}

static void what_is_not_http_or_means_two_things_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        for (size_t step = 1; step < 100; step += 98) {
            struct sn_http_answer answer;
            struct sonde_error err = {0};
            sn_http_answer_init(&answer);
            int rc = feed_all(&answer, refused[i].text, strlen(refused[i].text), step, &err);
            if (rc != refused[i].status)
                fail_msg("'%s' gave %d: %s", refused[i].text, rc, err.text);
            assert_string_not_equal(err.text, "");
        }
    }
}

static void a_zero_byte_is_refused(void **state)
{
    (void)state;
    struct sn_http_answer answer;
    struct sonde_error err = {0};
    sn_http_answer_init(&answer);
    assert_int_equal(feed_all(&answer, "HTTP/1.1 200 O\0K\r\n", 18, 18, &err), SONDE_E_FORMAT);
}

static void a_body_without_a_length_ends_when_the_peer_closes(void **state)
{
    (void)state;
    static const char text[] = "HTTP/1.1 500 No\r\n\r\nsome text";
    struct sn_http_answer answer;
    struct sonde_error err = {0};
    sn_http_answer_init(&answer);
    assert_int_equal(feed_all(&answer, text, strlen(text), 3, &err), SONDE_AGAIN);
    assert_int_equal(sn_http_answer_end(&answer, &err), SONDE_OK);
    assert_int_equal(answer.status, 500);
    assert_false(answer.keeps_alive);
    assert_string_equal(answer.excerpt, "some text");
}

static void what_follows_an_answer_is_left_alone(void **state)
{
    (void)state;
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1";
    struct sn_http_answer answer;
    struct sonde_error err = {0};
    size_t used;
    sn_http_answer_init(&answer);
    assert_int_equal(sn_http_answer_feed(&answer, text, strlen(text), &used, &err), SONDE_OK);
    assert_int_equal(used, strlen(text) - 8);
}

/* `start`, then `piece` again and again. Returns the failure there must be. */
static int repeat_until_refused(const char *start, const char *piece, size_t most)
{
    struct sn_http_answer answer;
    struct sonde_error err = {0};
    size_t used;
    sn_http_answer_init(&answer);
    int rc = sn_http_answer_feed(&answer, start, strlen(start), &used, &err);
    for (size_t i = 0; i < most && rc == SONDE_AGAIN; i++)
        rc = sn_http_answer_feed(&answer, piece, strlen(piece), &used, &err);
    return rc;
}

static void nothing_goes_on_for_ever(void **state)
{
    (void)state;
    static const char chunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_int_equal(repeat_until_refused("HTTP/1.1 200 ", "a", 10000), SONDE_E_LIMIT);
    assert_int_equal(repeat_until_refused("HTTP/1.1 200 OK\r\n", "A: b\r\n", 20000), SONDE_E_LIMIT);
    assert_int_equal(repeat_until_refused("", "HTTP/1.1 100 Go\r\n\r\n", 10), SONDE_E_FORMAT);
    assert_int_equal(repeat_until_refused("HTTP/1.1 200 OK\r\n\r\n", "0123456789abcdef", 70000),
                     SONDE_E_LIMIT);
    assert_int_equal(repeat_until_refused(chunked, "1\r\nx\r\n", 300000), SONDE_E_LIMIT);
    assert_int_equal(
        repeat_until_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
                             "A: b\r\n", 20000),
        SONDE_E_LIMIT);
}

/* --- bodies that are delivered --- */

struct body {
    char text[256];
    size_t size;
    uint64_t total;
    size_t refuse_at; /* the total from which on it wants no more; 0: never */
};

static int take_body(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct body *body = user;
    for (size_t i = 0; i < size && body->size + 1 < sizeof(body->text); i++)
        body->text[body->size++] = ((const char *)bytes)[i];
    body->total += size;
    if (!body->refuse_at || body->total < body->refuse_at)
        return SONDE_OK;
    (void)snprintf(err->text, sizeof(err->text), "enough");
    return SONDE_E_GONE;
}

static void a_body_is_delivered_whole_in_whatever_pieces_it_comes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *body;
        bool is_closed;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello\0world!", "hello", false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x\r\n0123456789\r\n"
         "0\r\nT: x\r\n\r\n",
         "abc0123456789", false},
        {"HTTP/1.1 200 OK\r\n\r\nuntil the end", "until the end", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t size = i ? strlen(cases[i].text) : strlen(cases[i].text) + 7;
        for (size_t step = 1; step < 80; step++) {
            struct sn_http_answer answer;
            struct sonde_error err = {0};
            struct body body = {0};
            sn_http_answer_init(&answer);
            sn_http_answer_deliver(&answer, take_body, &body);
            int rc = feed_all(&answer, cases[i].text, size, step, &err);
            assert_int_equal(rc, cases[i].is_closed ? SONDE_AGAIN : SONDE_OK);
            assert_int_equal(sn_http_answer_end(&answer, &err), SONDE_OK);
            assert_string_equal(body.text, cases[i].body);
            assert_int_equal(body.total, i ? strlen(cases[i].body) : 12);
        }
    }
}

static void a_delivered_body_has_no_ceiling_but_its_head_has(void **state)
{
    (void)state;
    static const char chunk[] = "FFF\r\n";
    static char filling[0xFFF + 2];
    struct sn_http_answer answer;
    struct sonde_error err = {0};
    struct body body = {0};
    size_t used;
    static const char start[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    memset(filling, 'x', sizeof(filling));
    memcpy(filling + 0xFFF, "\r\n", 2);
    sn_http_answer_init(&answer);
    sn_http_answer_deliver(&answer, take_body, &body);
    assert_int_equal(sn_http_answer_feed(&answer, start, strlen(start), &used, &err), SONDE_AGAIN);
    for (size_t i = 0; i < 20000; i++) { /* 80 MB, and 100 KB of lines */
        assert_int_equal(sn_http_answer_feed(&answer, chunk, 5, &used, &err), SONDE_AGAIN);
        assert_int_equal(sn_http_answer_feed(&answer, filling, sizeof(filling), &used, &err),
                         SONDE_AGAIN);
    }
    assert_int_equal(body.total, 20000ull * 0xFFF);
    int rc = sn_http_answer_feed(&answer, "0\r\n", 3, &used, &err);
    for (size_t i = 0; i < 20000 && rc == SONDE_AGAIN; i++)
        rc = sn_http_answer_feed(&answer, "A: b\r\n", 6, &used, &err);
    assert_int_equal(rc, SONDE_E_LIMIT);
}

static void a_length_that_cannot_be_counted_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\nx",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct sn_http_answer answer;
        struct sonde_error err = {0};
        struct body body = {0};
        sn_http_answer_init(&answer);
        sn_http_answer_deliver(&answer, take_body, &body);
        assert_int_equal(feed_all(&answer, texts[i], strlen(texts[i]), 7, &err), SONDE_E_LIMIT);
        assert_int_equal(body.total, 0);
    }
}

static void whoever_takes_the_body_can_end_it(void **state)
{
    (void)state;
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789";
    struct sn_http_answer answer;
    struct sonde_error err = {0};
    struct body body = {.refuse_at = 4};
    sn_http_answer_init(&answer);
    sn_http_answer_deliver(&answer, take_body, &body);
    assert_int_equal(feed_all(&answer, text, strlen(text), 1, &err), SONDE_E_GONE);
    assert_string_equal(body.text, "1234");
    assert_string_equal(err.text, "enough");
}

static void what_it_says_of_itself_is_kept(void **state)
{
    (void)state;
    static const char text[] =
        "HTTP/1.1 103 Hints\r\nServer: other\r\nLocation: /x\r\n\r\n"
        "HTTP/1.1 202 Accepted\r\nContent-Type: text/csv; charset=utf-8\r\nServer: sonde/0.1\r\n"
        "Location: http://localhost/operations/1\r\nContent-Length: 0\r\n\r\n";
    struct sn_http_answer answer;
    struct sonde_error err = {0};
    sn_http_answer_init(&answer);
    assert_int_equal(feed_all(&answer, text, strlen(text), 3, &err), SONDE_OK);
    assert_string_equal(answer.type, "text/csv");
    assert_string_equal(answer.server, "sonde/0.1");
    assert_string_equal(answer.location, "http://localhost/operations/1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_is_read_whole_and_in_pieces),
        cmocka_unit_test(every_cut_wants_more_and_is_truncated_when_closed),
        cmocka_unit_test(what_is_not_http_or_means_two_things_is_refused),
        cmocka_unit_test(a_zero_byte_is_refused),
        cmocka_unit_test(a_body_without_a_length_ends_when_the_peer_closes),
        cmocka_unit_test(what_follows_an_answer_is_left_alone),
        cmocka_unit_test(nothing_goes_on_for_ever),
        cmocka_unit_test(a_body_is_delivered_whole_in_whatever_pieces_it_comes),
        cmocka_unit_test(a_delivered_body_has_no_ceiling_but_its_head_has),
        cmocka_unit_test(a_length_that_cannot_be_counted_is_refused),
        cmocka_unit_test(whoever_takes_the_body_can_end_it),
        cmocka_unit_test(what_it_says_of_itself_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
