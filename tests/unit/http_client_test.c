/* The HTTP client against a server that is the test itself: bodies of every kind and length,
 * refusals, slow and hostile servers, kept connections, stops. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/un.h>

#include "base/clock.h"
#include "net/http_client.h"
#include "net_receiver.h"

#define REQUEST_MAX 8192

/* What the server does with its connections, in its own thread: one answer a request. */
struct server {
    int listener;
    uint16_t port;
    pthread_t thread;
    const char *const *answers; /* ended by NULL; "" closes without a word */
    bool closes;                /* after each answer */
    bool is_silent;             /* reads, and says nothing until the client has gone */
    char requests[4][REQUEST_MAX];
    size_t request_count;
    size_t connection_count;
};

/* One whole request: head, and as much body as it says. False: the client has gone. */
static bool read_request(int fd, char *to)
{
    size_t size = 0;
    for (;;) {
        size_t got = receiver_read_some(fd, to + size, REQUEST_MAX - 1 - size);
        if (!got)
            return false;
        size += got;
        to[size] = '\0';
        const char *end = strstr(to, "\r\n\r\n");
        const char *length = strstr(to, "Content-Length: ");
        if (end && size >= (size_t)(end + 4 - to) + (length ? strtoul(length + 16, NULL, 10) : 0))
            return true;
    }
}

static void *serve(void *user)
{
    struct server *server = user;
    int fd = -1;
    for (size_t i = 0; server->answers[i]; i++) {
        if (fd < 0) {
            fd = receiver_accept(server->listener);
            server->connection_count++;
        }
        if (!read_request(fd, server->requests[i])) { /* it opened another */
            (void)close(fd);
            fd = -1;
            if (server->is_silent)
                break;
            i--;
            continue;
        }
        server->request_count++;
        if (server->is_silent) {
            char c;
            (void)receiver_read_some(fd, &c, 1);
            break;
        }
        size_t size = strlen(server->answers[i]);
        (void)send(fd, server->answers[i], size, MSG_NOSIGNAL);
        if (server->closes || !size) {
            (void)close(fd);
            fd = -1;
        }
    }
    if (fd >= 0)
        (void)close(fd);
    return NULL;
}

static void start(struct server *server, const char *const *answers)
{
    server->answers = answers;
    server->listener = receiver_listen(&server->port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void stop(struct server *server)
{
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
}

static struct sn_http_client *client_of(const struct server *server, const char *prefix,
                                        const char *key, int stop_fd)
{
    char url[128];
    struct sonde_error err = {0};
    struct sn_http_client *client = NULL;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", server->port, prefix);
    struct sn_http_client_options options = {.url = url, .key = key, .stop_fd = stop_fd};
    assert_int_equal(sn_http_client_new(&options, &client, &err), SONDE_OK);
    return client;
}

struct body {
    char text[64];
    size_t size;
    uint64_t total;
};

static int take(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct body *body = user;
    (void)err;
    for (size_t i = 0; i < size && body->size + 1 < sizeof(body->text); i++)
        body->text[body->size++] = ((const char *)bytes)[i];
    body->total += size;
    return SONDE_OK;
}

static void requests_say_what_they_should(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n", NULL};
    struct server server = {0};
    struct sonde_error err = {0};
    start(&server, answers);
    struct sn_http_client *client = client_of(&server, "/sonde/", "abc.def-1", -1);
    struct body body = {0};
    struct sn_http_request get = {
        .method = "GET", .path = "/api/v1/processes?name=a%20b", .take = take, .user = &body};
    assert_int_equal(sn_http_client_ask(client, &get, &err), SONDE_OK);
    assert_string_equal(body.text, "[]");
    struct sn_http_request post = {.method = "POST",
                                   .path = "/api/v1/recordings",
                                   .accept = "application/json",
                                   .body = "{\"a\":1}",
                                   .body_size = 7,
                                   .take = take,
                                   .user = &body};
    assert_int_equal(sn_http_client_ask(client, &post, &err), SONDE_OK);
    assert_string_equal(body.text, "[]{}");
    struct sn_http_request delete = {.method = "DELETE", .path = "/api/v1/recordings/1"};
    assert_int_equal(sn_http_client_ask(client, &delete, &err), SONDE_OK);
    assert_int_equal(sn_http_client_answer(client)->status, 204);
    sn_http_client_free(client);
    stop(&server);
    assert_int_equal(server.connection_count, 1);
    assert_ptr_equal(strstr(server.requests[0],
                            "GET /sonde/api/v1/processes?name=a%20b HTTP/1.1\r\nHost: 127.0.0.1:"),
                     server.requests[0]);
    assert_non_null(strstr(server.requests[0], "\r\nAuthorization: Bearer abc.def-1\r\n"));
    assert_null(strstr(server.requests[0], "Content-Length"));
    assert_non_null(strstr(server.requests[1], "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(server.requests[1], "\r\nContent-Length: 7\r\n"));
    assert_non_null(strstr(server.requests[1], "\r\n\r\n{\"a\":1}"));
    assert_non_null(strstr(server.requests[2], "\r\nContent-Length: 0\r\n"));
}

static void refusals_have_their_status_and_reason(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        int status;
    } cases[] = {
        {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", SONDE_E_DENIED},
        {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", SONDE_E_DENIED},
        {"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", SONDE_E_NOT_FOUND},
        {"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnone\r\n0\r\n\r\n",
         SONDE_E_ARGUMENT},
        {"HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n\r\n", SONDE_E_BUSY},
        {"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", SONDE_E_REFUSED},
        {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
         SONDE_E_REFUSED},
        {"SSH-2.0-OpenSSH_9.2\r\n", SONDE_E_FORMAT},
        {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", SONDE_E_TRUNCATED},
        {"", SONDE_E_GONE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const answers[] = {cases[i].answer, NULL};
        struct server server = {.closes = true};
        struct sonde_error err = {0};
        struct body body = {0};
        start(&server, answers);
        struct sn_http_client *client = client_of(&server, "", NULL, -1);
        struct sn_http_request get = {.method = "GET", .path = "/", .take = take, .user = &body};
        int rc = sn_http_client_ask(client, &get, &err);
        if (rc != cases[i].status)
            fail_msg("'%s' gave %d: %s", cases[i].answer, rc, err.text);
        assert_non_null(strstr(err.text, "http://127.0.0.1:"));
        if (strstr(cases[i].answer, "none")) {
            assert_int_equal(body.total, 0);
            assert_string_equal(sn_http_client_problem(client), "none");
        }
        sn_http_client_free(client);
        stop(&server);
    }
}

static void a_kept_connection_that_was_closed_is_opened_again(void **state)
{
    (void)state;
    static const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2", NULL};
    struct server server = {.closes = true};
    struct sonde_error err = {0};
    struct body body = {0};
    start(&server, answers);
    struct sn_http_client *client = client_of(&server, "", NULL, -1);
    struct sn_http_request get = {.method = "GET", .path = "/", .take = take, .user = &body};
    assert_int_equal(sn_http_client_ask(client, &get, &err), SONDE_OK);
    assert_int_equal(sn_http_client_ask(client, &get, &err), SONDE_OK);
    assert_string_equal(body.text, "12");
    sn_http_client_free(client);
    stop(&server);
    assert_int_equal(server.connection_count, 2);
}

static void an_endless_answer_is_taken_as_it_comes(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", NULL};
    struct server server = {0};
    struct sonde_error err = {0};
    struct body body = {0};
    start(&server, answers);
    struct sn_http_client *client = client_of(&server, "", NULL, -1);
    struct sn_http_request get = {.method = "GET", .path = "/", .take = take, .user = &body};
    assert_int_equal(sn_http_client_send(client, &get, &err), SONDE_OK);
    int rc = SONDE_AGAIN;
    while (body.total < 3 && rc == SONDE_AGAIN) {
        receiver_await(sn_http_client_fd(client), POLLIN);
        rc = sn_http_client_receive(client, 0, &err);
    }
    assert_string_equal(body.text, "abc");
    while (rc == SONDE_AGAIN)
        rc = sn_http_client_receive(client, sn_clock_deadline(20ull * SN_NS_PER_SECOND), &err);
    assert_int_equal(rc, SONDE_E_TRUNCATED); /* the server has gone */
    sn_http_client_free(client);
    stop(&server);
}

static void a_silent_server_is_left_when_the_time_is_up_or_it_is_stopped(void **state)
{
    (void)state;
    static const char *const answers[] = {"never", NULL};
    for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
        struct server server = {.is_silent = true};
        struct sonde_error err = {0};
        int stop_fd = eventfd(is_stopped ? 1 : 0, EFD_CLOEXEC);
        struct sn_http_request get = {.method = "GET", .path = "/"};
        start(&server, answers);
        struct sn_http_client *client = client_of(&server, "", NULL, stop_fd);
        if (!is_stopped)
            sn_http_client_set_timeout(client, 100ull * SN_NS_PER_MS);
        assert_int_equal(sn_http_client_is_stopped(client), is_stopped);
        assert_int_equal(sn_http_client_ask(client, &get, &err), SONDE_E_TIMEOUT);
        assert_non_null(strstr(err.text, is_stopped ? "stopped" : "in time"));
        sn_http_client_free(client);
        stop(&server);
        (void)close(stop_fd);
    }
}

static void a_unix_socket_is_as_good_but_only_of_our_user(void **state)
{
    (void)state;
    static const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL};
    char folder[] = "/tmp/sonde-client-XXXXXX";
    char url[64];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct server server = {.answers = answers};
    struct sonde_error err = {0};
    struct body body = {0};
    struct sn_http_client *client = NULL;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    (void)snprintf(url, sizeof(url), "unix:%s/s", folder);
    server.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server.listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(server.listener, 4), 0);
    struct sn_http_client_options options = {.url = url, .stop_fd = -1, .checks_peer = true};
    struct sn_http_request get = {.method = "GET", .path = "/", .take = take, .user = &body};
    options.peer_uid = geteuid() + 1;
    if (geteuid() != 0) { /* root is always believed */
        assert_int_equal(sn_http_client_new(&options, &client, &err), SONDE_OK);
        assert_int_equal(sn_http_client_ask(client, &get, &err), SONDE_E_DENIED);
        sn_http_client_free(client);
        (void)close(receiver_accept(server.listener));
    }
    options.peer_uid = geteuid();
    assert_int_equal(pthread_create(&server.thread, NULL, serve, &server), 0);
    assert_int_equal(sn_http_client_new(&options, &client, &err), SONDE_OK);
    assert_int_equal(sn_http_client_ask(client, &get, &err), SONDE_OK);
    assert_string_equal(body.text, "ok");
    sn_http_client_free(client);
    stop(&server);
    assert_non_null(strstr(server.requests[0], "\r\nHost: localhost\r\n"));
    (void)unlink(address.sun_path);
    (void)rmdir(folder);
}

static void what_cannot_be_asked_is_refused_at_once(void **state)
{
    (void)state;
    static const struct sn_http_client_options cases[] = {
        {.url = "tcp://127.0.0.1:1", .stop_fd = -1},
        {.url = "localhost:52380", .stop_fd = -1},
        {.url = "http://127.0.0.1:1/?key=1", .stop_fd = -1},
        {.url = "unix:relative", .stop_fd = -1},
        {.url = "http://127.0.0.1:1", .key = "a\r\nHost: b", .stop_fd = -1},
        {.url = "http://127.0.0.1:1", .key = "", .stop_fd = -1},
        {.url = "http://127.0.0.1:1", .pin = "00", .stop_fd = -1},
        {.url = "https://127.0.0.1:1", .pin = "00", .stop_fd = -1},
        {.url = "https://127.0.0.1:1",
         .pin = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeg",
         .stop_fd = -1},
        {.url = "https://127.0.0.1:1",
         .pin = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0",
         .stop_fd = -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sn_http_client *client = NULL;
        struct sonde_error err = {0};
        if (sn_http_client_new(&cases[i], &client, &err) != SONDE_E_ARGUMENT)
            fail_msg("%s was taken", cases[i].url);
        assert_string_not_equal(err.text, "");
        assert_null(strstr(err.text, "a\r\nHost"));
    }
    struct sn_http_client_options options = {.url = "http://127.0.0.1:1", .stop_fd = -1};
    struct sn_http_client *client = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_http_client_new(&options, &client, &err), SONDE_OK);
    struct sn_http_request bad = {.method = "GET", .path = "/a b"};
    assert_int_equal(sn_http_client_ask(client, &bad, &err), SONDE_E_ARGUMENT);
    bad.path = "x";
    assert_int_equal(sn_http_client_ask(client, &bad, &err), SONDE_E_ARGUMENT);
    bad.path = "/nobody-listens";
    err = (struct sonde_error){0};
    assert_true(sn_http_client_ask(client, &bad, &err) < 0);
    assert_non_null(strstr(err.text, "cannot connect"));
    sn_http_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_say_what_they_should),
        cmocka_unit_test(refusals_have_their_status_and_reason),
        cmocka_unit_test(a_kept_connection_that_was_closed_is_opened_again),
        cmocka_unit_test(an_endless_answer_is_taken_as_it_comes),
        cmocka_unit_test(a_silent_server_is_left_when_the_time_is_up_or_it_is_stopped),
        cmocka_unit_test(a_unix_socket_is_as_good_but_only_of_our_user),
        cmocka_unit_test(what_cannot_be_asked_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
