/* Pages for scrapers on a real port: made when they are asked for, shared by who asks in the same
 * moment, bounded in size, number and time. */
#include "http_client.h"

#include <stdlib.h>

#include "net/page_share.h"

#define BIG_PAGE (4u << 20)

struct fixture {
    struct sn_http_server *server;
    struct sn_page_share *pages;
    uint16_t port;
    unsigned page_count;
    unsigned ended_count;
    char accept[64];
};

static void make_page(void *user, const struct sn_page_request *request,
                      struct sn_page_response *response)
{
    struct fixture *fixture = user;
    fixture->page_count++;
    (void)snprintf(fixture->accept, sizeof(fixture->accept), "%s", request->accept);
    if (strncmp(request->path, "/big", 4) == 0) {
        sn_buf_fill(response->body, 'x', BIG_PAGE);
    } else if (strcmp(request->path, "/too-big") == 0) {
        sn_buf_fill(response->body, 'x', response->body->limit);
        sn_buf_u8(response->body, 'x');
    } else if (strcmp(request->path, "/metrics") == 0) {
        response->content_type = "text/plain; version=0.0.4";
        sn_buf_format(response->body, "page %u\n", fixture->page_count);
    } else {
        response->status = 404;
        sn_buf_format(response->body, "nothing at %s\n", request->path);
    }
}

static void count_end(void *user)
{
    ((struct fixture *)user)->ended_count++;
}

static void answer(void *user, struct sn_http_exchange *exchange)
{
    struct fixture *fixture = user;
    sn_http_exchange_on_end(exchange, count_end, fixture);
    sn_page_share_answer(fixture->pages, exchange);
}

static void start(struct fixture *fixture, const struct sn_page_limits *limits)
{
    const char *url = NULL;
    sn_http_server_free(SN_TAKE(fixture->server));
    sn_page_share_free(SN_TAKE(fixture->pages));
    assert_int_equal(sn_page_share_new(limits, make_page, fixture, &fixture->pages, NULL),
                     SONDE_OK);
    assert_int_equal(sn_http_server_new(NULL, answer, fixture, &fixture->server, NULL), SONDE_OK);
    assert_int_equal(sn_http_server_listen(fixture->server,
                                           &(struct sn_http_place){.address = "127.0.0.1:0"}, &url,
                                           NULL),
                     SONDE_OK);
    fixture->port = (uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    start(fixture, NULL);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sn_http_server_free(fixture->server);
    sn_page_share_free(fixture->pages);
    free(fixture);
    return 0;
}

static void pages_are_made_when_they_are_asked_for(void **state)
{
    struct fixture *fixture = *state;
    char text[1024];
    SN_AUTO(sn_close) int client = http_connect(fixture->port);
    http_say(client, "GET /metrics?x=y HTTP/1.1\r\nHost: a\r\nAccept: "
                     "application/openmetrics-text\r\n\r\n");
    http_read_answer(fixture->server, client, "page 1\n", text, sizeof(text));
    assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(text, "Content-Type: text/plain; version=0.0.4\r\n"));
    assert_non_null(strstr(text, "Content-Length: 7\r\n"));
    assert_string_equal(fixture->accept, "application/openmetrics-text");
    http_say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"); /* the connection was kept */
    http_read_answer(fixture->server, client, "page 2\n", text, sizeof(text));
    assert_string_equal(fixture->accept, "");
    http_say(client, "GET /other HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, client, "nothing at /other\n", text, sizeof(text));
    assert_non_null(strstr(text, "HTTP/1.1 404 "));
}

static void head_is_the_page_without_its_body(void **state)
{
    struct fixture *fixture = *state;
    char text[1024];
    SN_AUTO(sn_close) int client = http_connect(fixture->port);
    http_say(client, "HEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    http_read_answer(fixture->server, client, NULL, text, sizeof(text));
    assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(text, "Content-Length: 7\r\n"));
    assert_null(strstr(text, "page"));
}

static void other_methods_are_refused(void **state)
{
    struct fixture *fixture = *state;
    char text[1024];
    SN_AUTO(sn_close) int client = http_connect(fixture->port);
    http_say(client, "DELETE /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, client, "served\n", text, sizeof(text));
    assert_non_null(strstr(text, "HTTP/1.1 405 "));
    assert_non_null(strstr(text, "Allow: GET, HEAD\r\n"));
    assert_int_equal(fixture->page_count, 0);
}

static void a_page_over_the_limit_is_an_error_of_ours(void **state)
{
    struct fixture *fixture = *state;
    char text[1024];
    SN_AUTO(sn_close) int client = http_connect(fixture->port);
    http_say(client, "GET /too-big HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, client, "too large\n", text, sizeof(text));
    assert_non_null(strstr(text, "HTTP/1.1 500 "));
}

static void read_big(struct fixture *fixture, int client)
{
    SN_AUTO(sn_free) char *page = malloc(BIG_PAGE + 1024);
    assert_non_null(page);
    size_t held = 0;
    for (const char *body = NULL; !body || held - (size_t)(body - page) < BIG_PAGE;) {
        http_serve_until_readable(fixture->server, client);
        ssize_t got = recv(client, page + held, BIG_PAGE + 1023 - held, 0);
        assert_true(got > 0);
        held += (size_t)got;
        page[held] = '\0';
        body = strstr(page, "\r\n\r\n");
        body = body ? body + 4 : NULL;
    }
}

static void slow_and_vanishing_clients_do_not_hold_up_others(void **state)
{
    struct fixture *fixture = *state;
    enum { count = 10 };
    int silent[count], halves[count], deaf[count];
    char text[1024];
    for (int i = 0; i < count; i++) {
        silent[i] = http_connect(fixture->port);
        halves[i] = http_connect(fixture->port);
        http_say(halves[i], "GET /metrics HT");
        deaf[i] = http_connect(fixture->port); /* asks for much and reads nothing */
        http_say(deaf[i], "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    SN_AUTO(sn_close) int client = http_connect(fixture->port);
    http_say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, client, "page ", text, sizeof(text));
    for (int i = 0; i < count; i++) {
        receiver_reset(silent[i]);
        receiver_reset(halves[i]);
        if (i)
            receiver_reset(deaf[i]);
    }
    http_say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, client, "page ", text, sizeof(text));
    read_big(fixture, deaf[0]); /* and one that reads at last has its page whole */
    (void)close(deaf[0]);
}

static void who_asks_in_the_same_moment_gets_the_same_page(void **state)
{
    struct fixture *fixture = *state;
    enum { count = 8 };
    int clients[count];
    char text[1024];
    for (int i = 0; i < count; i++) {
        clients[i] = http_connect(fixture->port);
        http_say(clients[i], "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for (int i = 0; i < count; i++) {
        http_read_answer(fixture->server, clients[i], "page ", text, sizeof(text));
        (void)close(clients[i]);
    }
    assert_true(fixture->page_count < count);
}

/* Pages that nobody reads to their end fill memory up to a limit; then there is none for others,
 * until somebody leaves. */
static void pages_under_way_are_bounded(void **state)
{
    struct fixture *fixture = *state;
    enum { count = 26 }; /* of 4 MB each */
    int clients[count];
    char text[1024];
    for (int i = 0; i < count; i++) {
        char request[64];
        clients[i] = http_connect(fixture->port);
        (void)snprintf(request, sizeof(request), "GET /big%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
        http_say(clients[i], request);
        http_serve_until_readable(fixture->server, clients[i]);
    }
    (void)recv(clients[0], text, 15, 0);
    assert_memory_equal(text, "HTTP/1.1 200 OK", 15);
    (void)recv(clients[count - 1], text, 12, 0);
    assert_memory_equal(text, "HTTP/1.1 503", 12);
    for (int i = 0; i < count; i++)
        receiver_reset(clients[i]);
    http_serve_until(fixture->server, &fixture->ended_count, count);
    SN_AUTO(sn_close) int client = http_connect(fixture->port);
    http_say(client, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    http_serve_until_readable(fixture->server, client);
    (void)recv(client, text, 15, 0);
    assert_memory_equal(text, "HTTP/1.1 200 OK", 15);
}

static void who_takes_too_long_is_cut_off(void **state)
{
    struct fixture *fixture = *state;
    char text[4096];
    start(fixture, &(struct sn_page_limits){.reading_max_ns = 100ull * SN_NS_PER_MS});
    SN_AUTO(sn_close) int client = http_connect(fixture->port);
    http_say(client, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    uint64_t deadline = sn_clock_deadline(20ull * SN_NS_PER_SECOND);
    while (!fixture->ended_count) { /* never silent for long */
        (void)recv(client, text, sizeof(text), MSG_DONTWAIT);
        (void)http_turn(fixture->server, -1, 20);
        assert_true(sn_clock_monotonic_ns() < deadline);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_are_made_when_they_are_asked_for),
        TEST(head_is_the_page_without_its_body),
        TEST(other_methods_are_refused),
        TEST(a_page_over_the_limit_is_an_error_of_ours),
        TEST(slow_and_vanishing_clients_do_not_hold_up_others),
        TEST(who_asks_in_the_same_moment_gets_the_same_page),
        TEST(pages_under_way_are_bounded),
        TEST(who_takes_too_long_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
