/* The small HTTP server on a real port: pages, HEAD, what is refused, clients that dawdle or vanish
 * while others are served, and places where one cannot listen. */
#include "net_receiver.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/own.h"
#include "net/page_server.h"

#define BIG_PAGE (4u << 20)

struct fixture {
    struct sn_page_server *server;
    uint16_t port;
    unsigned page_count;
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

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct sonde_error err = {0};
    assert_non_null(fixture);
    assert_int_equal(sn_page_server_new("127.0.0.1:0", make_page, fixture, &fixture->server, &err),
                     SONDE_OK);
    const char *url = sn_page_server_url(fixture->server);
    assert_int_equal(strncmp(url, "http://127.0.0.1:", 17), 0);
    fixture->port = (uint16_t)strtoul(url + 17, NULL, 10);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sn_page_server_free(fixture->server);
    free(fixture);
    return 0;
}

static int connect_client(struct fixture *fixture)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(fixture->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* As the owner's poll loop does, until the client has something to read. */
static void serve_until_readable(struct fixture *fixture, int client)
{
    uint64_t deadline = sn_clock_deadline(20ull * SN_NS_PER_SECOND);
    for (;;) {
        struct pollfd polled[] = {
            {.fd = sn_page_server_fd(fixture->server), .events = POLLIN},
            {.fd = client, .events = POLLIN},
        };
        int ms = sn_page_server_wait_ms(fixture->server);
        assert_true(sn_clock_monotonic_ns() < deadline);
        assert_true(poll(polled, 2, ms < 0 || ms > 1000 ? 1000 : ms) >= 0);
        if (polled[1].revents)
            return;
        assert_int_equal(sn_page_server_turn(fixture->server, NULL), SONDE_OK);
    }
}

static void serve_what_is_there(struct fixture *fixture)
{
    struct pollfd polled = {.fd = sn_page_server_fd(fixture->server), .events = POLLIN};
    while (poll(&polled, 1, 0) == 1 || sn_page_server_wait_ms(fixture->server) == 0)
        assert_int_equal(sn_page_server_turn(fixture->server, NULL), SONDE_OK);
}

/* Reads until `end` has come, or with NULL until the server closes. */
static void read_answer(struct fixture *fixture, int client, const char *end, char *to, size_t size)
{
    size_t held = 0;
    to[0] = '\0';
    while (!end || !strstr(to, end)) {
        serve_until_readable(fixture, client);
        ssize_t got = recv(client, to + held, size - 1 - held, 0);
        if (got <= 0) {
            assert_null(end);
            return;
        }
        held += (size_t)got;
        to[held] = '\0';
        assert_true(held < size - 1);
    }
}

static void pages_are_made_when_they_are_asked_for(void **state)
{
    struct fixture *fixture = *state;
    char answer[1024];
    SN_AUTO(sn_close) int client = connect_client(fixture);
    say(client,
        "GET /metrics?x=y HTTP/1.1\r\nHost: a\r\nAccept: application/openmetrics-text\r\n\r\n");
    read_answer(fixture, client, "page 1\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(answer, "Content-Type: text/plain; version=0.0.4\r\n"));
    assert_non_null(strstr(answer, "Content-Length: 7\r\n"));
    assert_string_equal(fixture->accept, "application/openmetrics-text");
    say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"); /* the connection was kept */
    read_answer(fixture, client, "page 2\n", answer, sizeof(answer));
    assert_string_equal(fixture->accept, "");
    say(client, "GET /other HTTP/1.1\r\nHost: a\r\n\r\n");
    read_answer(fixture, client, "nothing at /other\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 404 "));
}

static void head_is_the_page_without_its_body(void **state)
{
    struct fixture *fixture = *state;
    char answer[1024];
    SN_AUTO(sn_close) int client = connect_client(fixture);
    say(client, "HEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    read_answer(fixture, client, NULL, answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(answer, "Content-Length: 7\r\n"));
    assert_null(strstr(answer, "page"));
}

static void other_methods_and_bodies_are_refused(void **state)
{
    struct fixture *fixture = *state;
    static const char *const requests[] = {
        "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc",
        "DELETE /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    };
    char answer[1024];
    for (size_t i = 0; i < 2; i++) {
        SN_AUTO(sn_close) int client = connect_client(fixture);
        say(client, requests[i]);
        read_answer(fixture, client, "served\n", answer, sizeof(answer));
        assert_non_null(strstr(answer, "HTTP/1.1 405 "));
        assert_non_null(strstr(answer, "Allow: GET, HEAD\r\n"));
    }
    SN_AUTO(sn_close) int client = connect_client(fixture);
    say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    read_answer(fixture, client, NULL, answer, sizeof(answer));
    assert_string_equal(answer, "");
    assert_int_equal(fixture->page_count, 0);
}

static void a_request_without_end_is_refused(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    char header[1024];
    SN_AUTO(sn_close) int client = connect_client(fixture);
    memset(header, 'a', sizeof(header));
    header[1] = ':';
    memcpy(header + sizeof(header) - 3, "\r\n", 3);
    say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < 100; i++)
        say(client, header);
    read_answer(fixture, client, "\r\n", answer, sizeof(answer));
    assert_true(strstr(answer, "HTTP/1.1 431 ") || strstr(answer, "HTTP/1.1 413 "));
    assert_int_equal(fixture->page_count, 0);
}

static void a_page_over_the_limit_is_an_error_of_ours(void **state)
{
    struct fixture *fixture = *state;
    char answer[1024];
    SN_AUTO(sn_close) int client = connect_client(fixture);
    say(client, "GET /too-big HTTP/1.1\r\nHost: a\r\n\r\n");
    read_answer(fixture, client, "too large\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 500 "));
}

static void slow_and_vanishing_clients_do_not_hold_up_others(void **state)
{
    struct fixture *fixture = *state;
    enum { count = 10 };
    int silent[count], halves[count], deaf[count];
    char answer[1024];
    for (int i = 0; i < count; i++) {
        silent[i] = connect_client(fixture);
        halves[i] = connect_client(fixture);
        say(halves[i], "GET /metrics HT");
        deaf[i] = connect_client(fixture); /* asks for much and reads nothing */
        say(deaf[i], "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    SN_AUTO(sn_close) int client = connect_client(fixture);
    say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    read_answer(fixture, client, "page ", answer, sizeof(answer));
    for (int i = 0; i < count; i++) {
        receiver_reset(silent[i]);
        receiver_reset(halves[i]);
        if (i)
            receiver_reset(deaf[i]);
    }
    say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    read_answer(fixture, client, "page ", answer, sizeof(answer));

    /* And one that reads at last has its page whole. */
    SN_AUTO(sn_free) char *page = malloc(BIG_PAGE + 1024);
    assert_non_null(page);
    size_t held = 0;
    for (const char *body = NULL; !body || held - (size_t)(body - page) < BIG_PAGE;) {
        serve_until_readable(fixture, deaf[0]);
        ssize_t got = recv(deaf[0], page + held, BIG_PAGE + 1023 - held, 0);
        assert_true(got > 0);
        held += (size_t)got;
        page[held] = '\0';
        body = strstr(page, "\r\n\r\n");
        body = body ? body + 4 : NULL;
    }
    (void)close(deaf[0]);
}

static void who_asks_in_the_same_moment_gets_the_same_page(void **state)
{
    struct fixture *fixture = *state;
    enum { count = 8 };
    int clients[count];
    char answer[1024];
    for (int i = 0; i < count; i++) {
        clients[i] = connect_client(fixture);
        say(clients[i], "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for (int i = 0; i < count; i++) {
        read_answer(fixture, clients[i], "page ", answer, sizeof(answer));
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
    char answer[1024];
    for (int i = 0; i < count; i++) {
        char request[64];
        clients[i] = connect_client(fixture);
        (void)snprintf(request, sizeof(request), "GET /big%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
        say(clients[i], request);
        serve_until_readable(fixture, clients[i]);
    }
    (void)recv(clients[0], answer, 15, 0);
    assert_memory_equal(answer, "HTTP/1.1 200 OK", 15);
    (void)recv(clients[count - 1], answer, 12, 0);
    assert_memory_equal(answer, "HTTP/1.1 503", 12);
    for (int i = 0; i < count; i++)
        receiver_reset(clients[i]);
    SN_AUTO(sn_close) int client = connect_client(fixture);
    for (int i = 0; i < 3; i++) /* the server sees that they left */
        assert_int_equal(sn_page_server_turn(fixture->server, NULL), SONDE_OK);
    say(client, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    serve_until_readable(fixture, client);
    (void)recv(client, answer, 15, 0);
    assert_memory_equal(answer, "HTTP/1.1 200 OK", 15);
}

static void more_clients_than_allowed_wait_or_are_turned_away(void **state)
{
    struct fixture *fixture = *state;
    enum { count = 200 };
    int clients[count];
    char answer[1024];
    for (int i = 0; i < count; i++) {
        clients[i] = connect_client(fixture);
        assert_int_equal(sn_page_server_turn(fixture->server, NULL), SONDE_OK);
    }
    for (int i = 0; i < count; i++)
        (void)close(clients[i]);
    serve_what_is_there(fixture);
    SN_AUTO(sn_close) int client = connect_client(fixture);
    say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    read_answer(fixture, client, "page ", answer, sizeof(answer));
}

static void a_place_that_is_taken_or_not_ours_is_said_with_advice(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *address, *words;
        int status;
    } places[] = {
        {"203.0.113.7:9464", "this machine does not have that address", SONDE_E_SYSTEM},
        {"no-such-host.invalid:1", "cannot look up", SONDE_E_NOT_FOUND},
        {"9464", "HOST:PORT", SONDE_E_ARGUMENT},
    };
    struct sn_page_server *server = NULL;
    struct sonde_error err = {0};
    char taken[32];
    (void)snprintf(taken, sizeof(taken), "127.0.0.1:%u", fixture->port);
    assert_int_equal(sn_page_server_new(taken, make_page, NULL, &server, &err), SONDE_E_BUSY);
    assert_non_null(strstr(err.text, "choose another port"));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        err = (struct sonde_error){0};
        assert_int_equal(sn_page_server_new(places[i].address, make_page, NULL, &server, &err),
                         places[i].status);
        assert_non_null(strstr(err.text, places[i].words));
    }
    assert_null(server);
}

static void every_address_is_listened_on_where_none_is_named(void **state)
{
    struct fixture *fixture = *state;
    char answer[1024];
    sn_page_server_free(SN_TAKE(fixture->server));
    assert_int_equal(sn_page_server_new(":0", make_page, fixture, &fixture->server, NULL),
                     SONDE_OK);
    fixture->port =
        (uint16_t)strtoul(strrchr(sn_page_server_url(fixture->server), ':') + 1, NULL, 10);
    SN_AUTO(sn_close) int client = connect_client(fixture); /* over IPv4 */
    say(client, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    read_answer(fixture, client, "page 1\n", answer, sizeof(answer));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_are_made_when_they_are_asked_for),
        TEST(head_is_the_page_without_its_body),
        TEST(other_methods_and_bodies_are_refused),
        TEST(a_request_without_end_is_refused),
        TEST(a_page_over_the_limit_is_an_error_of_ours),
        TEST(slow_and_vanishing_clients_do_not_hold_up_others),
        TEST(who_asks_in_the_same_moment_gets_the_same_page),
        TEST(pages_under_way_are_bounded),
        TEST(more_clients_than_allowed_wait_or_are_turned_away),
        TEST(a_place_that_is_taken_or_not_ours_is_said_with_advice),
        TEST(every_address_is_listened_on_where_none_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
