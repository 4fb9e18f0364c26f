/* Senders that post: what the request looks like, connections kept, which answers mean yes, no and
 * later, and servers that break off, say too much, or nothing at all. */
#include "net_receiver.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/own.h"
#include "net/sender.h"

#define SECOND ((uint64_t)SN_NS_PER_SECOND)
#define YES    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

struct fixture {
    struct sn_sender *sender;
    uint16_t port;
    int listener;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->listener = receiver_listen(&fixture->port);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sn_sender_free(fixture->sender, 0);
    sn_close(fixture->listener);
    free(fixture);
    return 0;
}

static void start(struct fixture *fixture, size_t limit_bytes, uint64_t timeout_ns)
{
    static const char *const headers[] = {"Authorization: Bearer x", "X-Scope: a b"};
    char url[64];
    struct sn_sender_options options = {.url = url,
                                        .limit_bytes = limit_bytes,
                                        .timeout_ns = timeout_ns,
                                        .content_type = "text/plain",
                                        .headers = headers,
                                        .header_count = 2};
    struct sonde_error err = {0};
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/v1?x=y", fixture->port);
    assert_int_equal(sn_sender_new(&options, &fixture->sender, &err), SONDE_OK);
}

static void put(struct fixture *fixture, const char *text)
{
    assert_int_equal(sn_sender_put(fixture->sender, text, strlen(text), 1), SONDE_OK);
}

static struct sn_sender_state state_of(struct fixture *fixture)
{
    struct sn_sender_state state;
    sn_sender_state(fixture->sender, &state);
    return state;
}

#define AWAIT(fixture, condition)                             \
    do {                                                      \
        uint64_t deadline_ = sn_clock_deadline(20 * SECOND);  \
        struct sn_sender_state now = state_of(fixture);       \
        while (!(condition)) {                                \
            assert_true(sn_clock_monotonic_ns() < deadline_); \
            (void)poll(NULL, 0, 5);                           \
            now = state_of(fixture);                          \
        }                                                     \
    } while (0)

static void expect_post(struct fixture *fixture, int peer, const char *body)
{
    char request[512];
    (void)snprintf(request, sizeof(request),
                   "POST /v1?x=y HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: sonde/%s\r\n"
                   "Content-Type: text/plain\r\nAuthorization: Bearer x\r\nX-Scope: a b\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   fixture->port, SONDE_VERSION, strlen(body), body);
    receiver_expect(peer, request);
}

static void answer(int peer, const char *text)
{
    assert_int_equal(send(peer, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void posts_go_over_one_connection(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0, 0);
    put(fixture, "one");
    put(fixture, "");
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    expect_post(fixture, peer, "one");
    answer(peer, YES);
    expect_post(fixture, peer, "");
    answer(peer,
           "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    put(fixture, "three");
    expect_post(fixture, peer, "three");
    answer(peer, "HTTP/1.1 204 No Content\r\n\r\n");
    AWAIT(fixture, now.sent_count == 3 && now.is_up && !now.queued_bytes);
    assert_int_equal(state_of(fixture).retry_count, 0);
}

static void an_answer_may_end_the_connection(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0, 0);
    for (int i = 0; i < 3; i++) {
        put(fixture, "x");
        SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
        expect_post(fixture, peer, "x");
        answer(peer, i == 0   ? "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                     : i == 1 ? "HTTP/1.0 200 OK\r\n\r\n"
                              : YES "HTTP/1.1 200 unasked");
        AWAIT(fixture, i == 1 || now.sent_count == (uint64_t)i + 1);
    }
    AWAIT(fixture, now.sent_count == 3);
    assert_int_equal(state_of(fixture).retry_count, 0);
}

static void a_connection_closed_between_posts_loses_nothing(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0, 0);
    for (int i = 0; i < 5; i++) {
        put(fixture, "x");
        int peer = receiver_accept(fixture->listener);
        expect_post(fixture, peer, "x");
        answer(peer, YES);
        AWAIT(fixture, now.sent_count == (uint64_t)i + 1);
        (void)close(peer);
    }
    assert_int_equal(state_of(fixture).retry_count, 0);
}

/* The server closes just as the next request arrives: seen only when the answer is waited for. */
static void a_kept_connection_that_ends_is_replaced_without_a_failure(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0, 0);
    put(fixture, "one");
    int peer = receiver_accept(fixture->listener);
    expect_post(fixture, peer, "one");
    answer(peer, YES);
    put(fixture, "two");
    expect_post(fixture, peer, "two");
    (void)close(peer);
    peer = receiver_accept(fixture->listener);
    expect_post(fixture, peer, "two");
    answer(peer, YES);
    AWAIT(fixture, now.sent_count == 2);
    assert_int_equal(state_of(fixture).retry_count, 0);
    (void)close(peer);
}

static void later_is_tried_again_no_is_dropped_with_its_reason(void **state)
{
    struct fixture *fixture = *state;
    static const char *const later[] = {"429 Slow", "502 Bad", "503 Busy\r\nRetry-After: 0",
                                        "504 Late"};
    start(fixture, 0, 0);
    put(fixture, "x");
    put(fixture, "y");
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    for (size_t i = 0; i < 4; i++) {
        char text[128];
        expect_post(fixture, peer, "x");
        (void)snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", later[i]);
        answer(peer, text);
        AWAIT(fixture, now.retry_count == i + 1 && !now.is_up);
    }
    assert_string_equal(state_of(fixture).reason, "HTTP 504 Late");
    expect_post(fixture, peer, "x");
    answer(peer, "HTTP/1.1 400 Bad Request\r\nContent-Length: 11\r\n\r\nno such key");
    AWAIT(fixture, now.dropped_count == 1);
    assert_string_equal(state_of(fixture).reason, "HTTP 400 Bad Request: no such key");
    assert_true(state_of(fixture).has_refused);
    assert_false(state_of(fixture).is_up);
    expect_post(fixture, peer, "y");
    answer(peer, YES);
    AWAIT(fixture, now.sent_count == 1 && now.is_up && !now.reason[0] && !now.has_refused);
}

static void the_pause_a_server_asks_for_is_kept(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0, 0);
    put(fixture, "x");
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    expect_post(fixture, peer, "x");
    uint64_t asked = sn_clock_monotonic_ns();
    answer(peer, "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
    expect_post(fixture, peer, "x");
    assert_true(sn_clock_monotonic_ns() >= asked + SECOND); /* never earlier */
    answer(peer, YES);
    AWAIT(fixture, now.sent_count == 1);
}

/* Refuses what is large before it has read it, as servers with a limit do. */
static void an_early_no_is_heard(void **state)
{
    struct fixture *fixture = *state;
    SN_AUTO(sn_free) char *large = calloc(1, 2u << 20);
    char head[1024];
    assert_non_null(large);
    start(fixture, 0, 0);
    assert_int_equal(sn_sender_put(fixture->sender, large, 2u << 20, 1), SONDE_OK);
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    receiver_read(peer, head, 100);
    answer(peer, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(shutdown(peer, SHUT_WR), 0);
    while (receiver_read_some(peer, large, 1u << 16))
        continue;
    AWAIT(fixture, now.dropped_count == 1);
    assert_string_equal(state_of(fixture).reason, "HTTP 413 Too Large");
}

static void nonsense_and_silence_are_failures(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 0, SECOND / 5);
    put(fixture, "x");
    int peer = receiver_accept(fixture->listener);
    answer(peer, "220 mail.example.org ESMTP\r\n");
    AWAIT(fixture, now.retry_count == 1);
    assert_non_null(strstr(state_of(fixture).reason, "no HTTP/1.1"));
    (void)close(peer);
    peer = receiver_accept(fixture->listener);
    AWAIT(fixture, now.retry_count == 2);
    assert_non_null(strstr(state_of(fixture).reason, "did not answer in time"));
    (void)close(peer);
    assert_int_equal(state_of(fixture).dropped_count, 0);
}

/* One that breaks off whenever it sees a certain message does not hold up the rest for ever. */
static void a_message_that_cannot_be_digested_goes_when_room_is_needed(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, 1000, 0);
    put(fixture, "poison");
    int peer = receiver_accept(fixture->listener);
    expect_post(fixture, peer, "poison");
    for (int i = 0; i < 40; i++)
        put(fixture, "food");
    (void)close(peer);
    for (bool is_past = false; !is_past;) {
        char request[1024] = "";
        peer = receiver_accept(fixture->listener);
        size_t size = 0;
        while (!strstr(request, "poison") && !strstr(request, "food"))
            size += receiver_read_some(peer, request + size, sizeof(request) - 1 - size);
        is_past = strstr(request, "food") != NULL;
        if (is_past)
            answer(peer, YES);
        AWAIT(fixture, !is_past || now.sent_count == 1);
        (void)close(peer);
    }
    assert_true(state_of(fixture).dropped_count > 0);
}

static void headers_that_would_break_a_request_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"no colon",    "X: a\r\nY: b",      "X : y",  ": y",
                                      "Host: other", "content-LENGTH: 3", "X: \x01"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sn_sender_options options = {
            .url = "http://127.0.0.1:1/", .headers = &bad[i], .header_count = 1};
        struct sn_sender *sender = NULL;
        struct sonde_error err = {0};
        assert_int_equal(sn_sender_new(&options, &sender, &err), SONDE_E_ARGUMENT);
        assert_string_not_equal(err.text, "");
    }
    struct sn_sender_options options = {.url = "http://127.0.0.1:1/", .content_type = "a\nb"};
    struct sn_sender *sender = NULL;
    assert_int_equal(sn_sender_new(&options, &sender, NULL), SONDE_E_ARGUMENT);
}

static void authorities_that_cannot_be_read_are_said_at_once(void **state)
{
    (void)state;
    struct sn_sender_options options = {.url = "https://127.0.0.1:1/", .ca_file = "/nonexistent"};
    struct sn_sender *sender = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_sender_new(&options, &sender, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "/nonexistent"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(posts_go_over_one_connection),
        TEST(an_answer_may_end_the_connection),
        TEST(a_connection_closed_between_posts_loses_nothing),
        TEST(a_kept_connection_that_ends_is_replaced_without_a_failure),
        TEST(later_is_tried_again_no_is_dropped_with_its_reason),
        TEST(the_pause_a_server_asks_for_is_kept),
        TEST(an_early_no_is_heard),
        TEST(nonsense_and_silence_are_failures),
        TEST(a_message_that_cannot_be_digested_goes_when_room_is_needed),
        TEST(headers_that_would_break_a_request_are_refused),
        TEST(authorities_that_cannot_be_read_are_said_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
