/* Bodies that go elsewhere as they come: taken by the piece, waited for, refused before and amid,
 * left, late. On real sockets. */
#include "http_client.h"

#include <stdlib.h>

#define BODY_MAX 1000u
#define LARGE    (3u << 20)
#define FAST_NS  (100ull * SN_NS_PER_MS)

struct fixture {
    struct sn_http_server *server;
    uint16_t port;
    unsigned handled_count;
    unsigned whole_count;
    unsigned ended_count;
    unsigned held_count; /* times that its sender had to wait */
    uint64_t id;
    uint64_t announced;
    size_t taken;
    size_t in_memory; /* of the body, when the handler was called */
    size_t hold_at;   /* no more, once so much was taken; 0: never */
    size_t answer_at; /* likewise: it answers then */
    uint64_t sum;     /* of the bytes: position times value */
};

static void answer_text(struct fixture *fixture, unsigned status, const char *text)
{
    struct sn_buf body = sn_buf_with_limit(1024);
    sn_buf_text(&body, text);
    struct sn_http_exchange *exchange = sn_http_exchange_find(fixture->server, fixture->id);
    assert_non_null(exchange);
    sn_http_exchange_answer(exchange, &(struct sn_http_reply){.status = status, .body = &body});
}

static bool take(void *user, const char *bytes, size_t size)
{
    struct fixture *fixture = user;
    for (size_t i = 0; i < size; i++)
        fixture->sum += (uint64_t)(unsigned char)bytes[i] * (++fixture->taken % 251);
    if (fixture->answer_at && fixture->taken >= fixture->answer_at) {
        answer_text(fixture, 413, "enough\n");
        return true;
    }
    if (!fixture->hold_at || fixture->taken < fixture->hold_at)
        return true;
    fixture->held_count++;
    return false;
}

static void whole(void *user)
{
    struct fixture *fixture = user;
    fixture->whole_count++;
    answer_text(fixture, 201, "taken\n");
}

static void count_end(void *user)
{
    ((struct fixture *)user)->ended_count++;
}

static void handle(void *user, struct sn_http_exchange *exchange)
{
    struct fixture *fixture = user;
    fixture->handled_count++;
    fixture->id = sn_http_exchange_id(exchange);
    fixture->announced = sn_http_exchange_announced(exchange);
    (void)sn_http_exchange_body(exchange, &fixture->in_memory);
    sn_http_exchange_on_end(exchange, count_end, fixture);
    if (strcmp(sn_http_exchange_path(exchange), "/take") == 0)
        sn_http_exchange_take(exchange,
                              &(struct sn_http_taker){
                                  .take = take, .whole = whole, .user = fixture, .rate = 1u << 20});
    else
        answer_text(fixture, 403, "no\n");
}

static bool is_early(void *user, const struct sn_http_exchange *exchange)
{
    (void)user;
    return strcmp(sn_http_exchange_path(exchange), "/plain") != 0;
}

static void start(struct fixture *fixture, const struct sn_http_limits *limits)
{
    const char *url = NULL;
    sn_http_server_free(SN_TAKE(fixture->server));
    assert_int_equal(sn_http_server_new(limits, handle, fixture, &fixture->server, NULL), SONDE_OK);
    sn_http_server_set_early(fixture->server, is_early);
    const struct sn_http_place place = {.address = "127.0.0.1:0"};
    assert_int_equal(sn_http_server_listen(fixture->server, &place, &url, NULL), SONDE_OK);
    fixture->port = (uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    start(fixture, &(struct sn_http_limits){.body_max = BODY_MAX});
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sn_http_server_free(fixture->server);
    free(fixture);
    return 0;
}

static int begin(const struct fixture *fixture, const char *path, size_t length)
{
    char head[256];
    int client = http_connect(fixture->port);
    (void)snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n",
                   path, length);
    http_say(client, head);
    return client;
}

/* As much of `size` bytes as goes, while the server turns. The sum as take makes it. */
static uint64_t send_body(struct fixture *fixture, int client, size_t from, size_t size)
{
    static char piece[100000];
    uint64_t deadline = sn_clock_deadline(30ull * SN_NS_PER_SECOND);
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(piece); i++)
        piece[i] = (char)(i * 7 % 127);
    for (size_t at = from; at < from + size;) {
        size_t start = at % sizeof(piece);
        size_t left = from + size - at;
        size_t room = sizeof(piece) - start < left ? sizeof(piece) - start : left;
        ssize_t sent = send(client, piece + start, room, MSG_NOSIGNAL | MSG_DONTWAIT);
        for (ssize_t i = 0; i < sent; i++)
            sum += (uint64_t)(unsigned char)piece[start + (size_t)i] * ((at + (size_t)i + 1) % 251);
        at += sent > 0 ? (size_t)sent : 0;
        (void)http_turn(fixture->server, -1, 1);
        assert_true(sn_clock_monotonic_ns() < deadline);
    }
    return sum;
}

static void a_large_body_is_taken_as_it_comes(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    SN_AUTO(sn_close) int client = begin(fixture, "/take", LARGE);
    http_serve_until(fixture->server, &fixture->handled_count, 1); /* before any of it was sent */
    assert_int_equal(fixture->announced, LARGE);
    assert_int_equal(fixture->in_memory, 0);
    uint64_t sum = send_body(fixture, client, 0, LARGE);
    http_read_answer(fixture->server, client, "taken\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 201 "));
    assert_int_equal(fixture->taken, LARGE);
    assert_int_equal(fixture->sum, sum);
    assert_int_equal(fixture->whole_count, 1);
    assert_int_equal(fixture->handled_count, 1);
    http_say(client, "GET /plain HTTP/1.1\r\nHost: a\r\n\r\n"); /* the connection goes on */
    http_read_answer(fixture->server, client, "no\n", answer, sizeof(answer));
}

static void one_in_chunks_and_an_empty_one_too(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    SN_AUTO(sn_close) int client = http_connect(fixture->port);
    http_say(client, "POST /take HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    http_serve_until(fixture->server, &fixture->handled_count, 1);
    assert_true(fixture->announced == UINT64_MAX);
    http_say(client, "5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n");
    http_read_answer(fixture->server, client, "taken\n", answer, sizeof(answer));
    assert_int_equal(fixture->taken, 8);
    SN_AUTO(sn_close) int other = begin(fixture, "/take", 0);
    http_read_answer(fixture->server, other, "taken\n", answer, sizeof(answer));
    assert_int_equal(fixture->taken, 8);
    assert_int_equal(fixture->announced, 0);
    assert_int_equal(fixture->whole_count, 2);
}

/* Who sends faster than it can be taken waits, and his time does not run. */
static void its_sender_waits(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    start(fixture, &(struct sn_http_limits){.body_patience_ns = FAST_NS});
    fixture->hold_at = 1;
    SN_AUTO(sn_close) int client = begin(fixture, "/take", 100000);
    http_serve_until(fixture->server, &fixture->handled_count, 1);
    (void)send_body(fixture, client, 0, 100000);
    http_serve_until(fixture->server, &fixture->held_count, 1);
    size_t taken = fixture->taken;
    uint64_t later = sn_clock_deadline(3 * FAST_NS);
    while (sn_clock_monotonic_ns() < later)
        (void)http_turn(fixture->server, -1, 10);
    assert_int_equal(fixture->taken, taken);
    assert_int_equal(fixture->ended_count, 0);
    fixture->hold_at = 0;
    sn_http_exchange_wake(sn_http_exchange_find(fixture->server, fixture->id));
    http_read_answer(fixture->server, client, "taken\n", answer, sizeof(answer));
    assert_int_equal(fixture->taken, 100000);
}

static void it_is_refused_before_it_comes(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    SN_AUTO(sn_close) int client = begin(fixture, "/refuse", (size_t)1 << 40);
    http_read_answer(fixture->server, client, NULL, answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 403 "));
    assert_non_null(strstr(answer, "no\n"));
    SN_AUTO(sn_close) int plain = begin(fixture, "/plain", BODY_MAX + 1); /* as ever */
    http_read_answer(fixture->server, plain, NULL, answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 413 "));
    assert_int_equal(fixture->handled_count, 1);
}

static void it_is_refused_amid(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    fixture->answer_at = 1000;
    SN_AUTO(sn_close) int client = begin(fixture, "/take", 200000);
    (void)send_body(fixture, client, 0, 200000);
    http_read_answer(fixture->server, client, "enough\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 413 "));
    assert_int_equal(fixture->whole_count, 0);
    /* One that goes on and on is cut off. */
    SN_AUTO(sn_close) int other = begin(fixture, "/take", (size_t)1 << 40);
    uint64_t deadline = sn_clock_deadline(30ull * SN_NS_PER_SECOND);
    char piece[65536] = {0};
    while (fixture->ended_count < 2) {
        (void)send(other, piece, sizeof(piece), MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)http_turn(fixture->server, -1, 1);
        assert_true(sn_clock_monotonic_ns() < deadline);
    }
    assert_int_equal(fixture->whole_count, 0);
}

static void who_leaves_is_noticed(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 1; i <= 2; i++) { /* while it sends, and while it waits */
        fixture->hold_at = i == 2;
        SN_AUTO(sn_close) int client = begin(fixture, "/take", 10000);
        http_serve_until(fixture->server, &fixture->handled_count, i);
        (void)send_body(fixture, client, 0, 5000);
        if (i == 2)
            http_serve_until(fixture->server, &fixture->held_count, 1);
        sn_close(sn_take_fd(&client));
        http_serve_until(fixture->server, &fixture->ended_count, i);
    }
    assert_int_equal(fixture->whole_count, 0);
}

static void who_is_slow_is_cut(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    start(fixture, &(struct sn_http_limits){.body_patience_ns = FAST_NS});
    SN_AUTO(sn_close) int client = begin(fixture, "/take", 10000);
    http_say(client, "x");
    http_read_answer(fixture->server, client, NULL, answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 408 "));
    http_serve_until(fixture->server, &fixture->ended_count, 1);
    assert_int_equal(fixture->whole_count, 0);
}

static void a_server_that_ends_tells_it(void **state)
{
    struct fixture *fixture = *state;
    for (unsigned i = 1; i <= 2; i++) {
        fixture->hold_at = i == 2;
        SN_AUTO(sn_close) int client = begin(fixture, "/take", 10000);
        http_serve_until(fixture->server, &fixture->handled_count, i);
        (void)send_body(fixture, client, 0, 5000);
        sn_http_server_free(SN_TAKE(fixture->server));
        assert_int_equal(fixture->ended_count, i);
        start(fixture, NULL);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_large_body_is_taken_as_it_comes),
        TEST(one_in_chunks_and_an_empty_one_too),
        TEST(its_sender_waits),
        TEST(it_is_refused_before_it_comes),
        TEST(it_is_refused_amid),
        TEST(who_leaves_is_noticed),
        TEST(who_is_slow_is_cut),
        TEST(a_server_that_ends_tells_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
