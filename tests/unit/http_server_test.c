/* The HTTP server on real sockets: answers at once, later and bit by bit; who goes away while it
 * waits; what is refused before the handler sees it; deadlines; who makes room for whom. */
#include "http_client.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BIG_BODY (4u << 20)
#define FAST_NS  (100ull * SN_NS_PER_MS)

struct fixture {
    struct sn_http_server *server;
    uint16_t port;
    unsigned handled_count;
    unsigned ended_count;
    unsigned done_count;
    unsigned complete_count;
    uint64_t kept_id; /* of who waits */
    size_t stream_left;
    size_t stream_ready; /* of it */
    char seen[256];      /* what the handler saw */
    char peer[64];
    unsigned tag;
    pid_t pid;
    uid_t uid;
};

static void answer_text(struct sn_http_exchange *exchange, unsigned status, const char *text)
{
    static const struct sn_http_header headers[] = {{"Content-Type", "text/plain"}, {"X-A", "b"}};
    struct sn_buf body = sn_buf_with_limit(1024);
    sn_buf_text(&body, text);
    sn_http_exchange_answer(
        exchange, &(struct sn_http_reply){
                      .status = status, .headers = headers, .header_count = 2, .body = &body});
    assert_null(body.bytes);
}

static ssize_t read_stream(void *user, char *to, size_t size)
{
    struct fixture *fixture = user;
    size_t ready = fixture->stream_ready < size ? fixture->stream_ready : size;
    if (!fixture->stream_left)
        return SN_HTTP_END;
    if (fixture->stream_left == SIZE_MAX)
        return SN_HTTP_ABORT;
    memset(to, 's', ready);
    fixture->stream_ready -= ready;
    fixture->stream_left -= ready;
    return (ssize_t)ready;
}

static void stream_done(void *user, bool is_complete)
{
    struct fixture *fixture = user;
    fixture->done_count++;
    fixture->complete_count += is_complete;
}

static void count_end(void *user)
{
    ((struct fixture *)user)->ended_count++;
}

static void handle(void *user, struct sn_http_exchange *exchange)
{
    struct fixture *fixture = user;
    const char *path = sn_http_exchange_path(exchange);
    size_t size = 0;
    const char *body = sn_http_exchange_body(exchange, &size);
    fixture->handled_count++;
    sn_http_exchange_on_end(exchange, count_end, fixture);
    (void)snprintf(fixture->seen, sizeof(fixture->seen), "%s %s?%s %.*s",
                   sn_http_exchange_method(exchange), path, sn_http_exchange_query(exchange),
                   (int)(size < 100 ? size : 100), body);
    (void)snprintf(fixture->peer, sizeof(fixture->peer), "%s", sn_http_exchange_peer(exchange));
    fixture->tag = sn_http_exchange_tag(exchange);
    if (!sn_http_exchange_credentials(exchange, &fixture->pid, &fixture->uid))
        fixture->pid = -1;
    struct sn_http_stream stream = {.read = read_stream, .done = stream_done, .user = fixture};
    stream.size = strcmp(path, "/sized") == 0 ? fixture->stream_left : UINT64_MAX;
    if (strcmp(path, "/later") == 0)
        fixture->kept_id = sn_http_exchange_id(exchange);
    else if (strcmp(path, "/stream") == 0 || strcmp(path, "/sized") == 0) {
        fixture->kept_id = sn_http_exchange_id(exchange);
        sn_http_exchange_answer(exchange,
                                &(struct sn_http_reply){.status = 200, .stream = &stream});
    } else if (strcmp(path, "/big") == 0) {
        struct sn_buf big = sn_buf_with_limit(BIG_BODY);
        sn_buf_fill(&big, 'x', BIG_BODY);
        sn_http_exchange_answer(exchange, &(struct sn_http_reply){.status = 200, .body = &big});
    } else
        answer_text(exchange, 200, "hello\n");
}

static void start(struct fixture *fixture, const struct sn_http_limits *limits)
{
    const char *url = NULL;
    sn_http_server_free(SN_TAKE(fixture->server));
    assert_int_equal(sn_http_server_new(limits, handle, fixture, &fixture->server, NULL), SONDE_OK);
    assert_int_equal(sn_http_server_listen(fixture->server,
                                           &(struct sn_http_place){.address = "127.0.0.1:0"}, &url,
                                           NULL),
                     SONDE_OK);
    assert_int_equal(strncmp(url, "http://127.0.0.1:", 17), 0);
    fixture->port = (uint16_t)strtoul(url + 17, NULL, 10);
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
    free(fixture);
    return 0;
}

static int connect_client(struct fixture *fixture)
{
    return http_connect(fixture->port);
}

static void requests_are_answered_at_once(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    SN_AUTO(sn_close) int client = connect_client(fixture);
    http_say(client, "GET /a%20b?x=%41&y HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, client, "hello\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(answer, "Content-Type: text/plain\r\nX-A: b\r\n"));
    assert_non_null(strstr(answer, "Content-Length: 6\r\n"));
    assert_string_equal(fixture->seen, "GET /a b?x=%41&y ");
    assert_int_equal(strncmp(fixture->peer, "127.0.0.1:", 10), 0);
    http_say(client, "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12");
    http_serve_what_is_there(fixture->server);
    assert_int_equal(fixture->handled_count, 1);
    http_say(client, "345");
    http_read_answer(fixture->server, client, "hello\n", answer, sizeof(answer));
    assert_string_equal(fixture->seen, "POST /p? 12345");
    http_say(client, "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    http_read_answer(fixture->server, client, "hello\n", answer, sizeof(answer));
    assert_string_equal(fixture->seen, "POST /c? abcde");
    http_serve_until(fixture->server, &fixture->ended_count, 3);
    assert_int_equal(sn_http_server_connection_count(fixture->server), 1);
}

static void requests_are_answered_later(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    SN_AUTO(sn_close) int client = connect_client(fixture);
    http_say(client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    http_serve_until(fixture->server, &fixture->handled_count, 1);
    http_serve_what_is_there(fixture->server);
    SN_AUTO(sn_close) int other = connect_client(fixture);
    http_say(other, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, other, "hello\n", answer, sizeof(answer));
    struct sn_http_exchange *exchange = sn_http_exchange_find(fixture->server, fixture->kept_id);
    assert_non_null(exchange);
    assert_null(sn_http_exchange_find(fixture->server, fixture->kept_id + 100));
    answer_text(exchange, 202, "at last\n");
    http_read_answer(fixture->server, client, "at last\n", answer, sizeof(answer));
    assert_non_null(strstr(answer, "HTTP/1.1 202 Accepted\r\n"));
    http_serve_until(fixture->server, &fixture->ended_count, 2);
    assert_null(sn_http_exchange_find(fixture->server, fixture->kept_id));
}

static void who_leaves_while_it_waits_is_noticed(void **state)
{
    struct fixture *fixture = *state;
    static const char *const paths[] = {"/later", "/stream", "/sized"};
    for (unsigned i = 0; i < 3; i++) {
        char request[64];
        int client = connect_client(fixture);
        fixture->stream_left = 100;
        fixture->stream_ready = 0;
        (void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", paths[i]);
        http_say(client, request);
        http_serve_until(fixture->server, &fixture->handled_count, i + 1);
        http_serve_what_is_there(fixture->server);
        assert_non_null(sn_http_exchange_find(fixture->server, fixture->kept_id));
        (void)close(client);
        http_serve_until(fixture->server, &fixture->ended_count, i + 1);
        assert_null(sn_http_exchange_find(fixture->server, fixture->kept_id));
    }
    assert_int_equal(fixture->done_count, 2);
    assert_int_equal(fixture->complete_count, 0);
    http_serve_what_is_there(fixture->server);
    assert_int_equal(sn_http_server_connection_count(fixture->server), 0);
}

static void streams_come_bit_by_bit(void **state)
{
    struct fixture *fixture = *state;
    char answer[2048];
    SN_AUTO(sn_close) int client = connect_client(fixture);
    for (unsigned i = 0; i < 2; i++) {
        fixture->stream_left = 30;
        fixture->stream_ready = 10;
        http_say(client, i ? "GET /sized HTTP/1.1\r\nHost: a\r\n\r\n"
                           : "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
        http_read_answer(fixture->server, client, "ssssssssss", answer, sizeof(answer));
        assert_non_null(strstr(answer, i ? "Content-Length: 30" : "Transfer-Encoding: chunked"));
        http_serve_what_is_there(fixture->server);
        fixture->stream_ready = 10;
        sn_http_exchange_wake(sn_http_exchange_find(fixture->server, fixture->kept_id));
        http_read_answer(fixture->server, client, "ssssssssss", answer, sizeof(answer));
        fixture->stream_ready = 10;
        sn_http_exchange_wake(sn_http_exchange_find(fixture->server, fixture->kept_id));
        http_read_answer(fixture->server, client, i ? "ssssssssss" : "0\r\n\r\n", answer,
                         sizeof(answer));
        http_serve_until(fixture->server, &fixture->done_count, i + 1);
        assert_int_equal(fixture->complete_count, i + 1);
    }
    fixture->stream_left = SIZE_MAX; /* one that goes wrong is cut: its reader knows */
    http_say(client, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, client, NULL, answer, sizeof(answer));
    assert_null(strstr(answer, "0\r\n\r\n"));
    assert_int_equal(fixture->complete_count, 2);
    assert_int_equal(fixture->ended_count, 3);
}

struct post {
    struct sn_mailbox_task task;
    struct fixture *fixture;
    pthread_t thread; /* that posted it */
    unsigned order;
};

static unsigned posts_run;

static void run_post(void *user)
{
    struct post *post = user;
    assert_int_equal(post->order, posts_run++);
    assert_false(pthread_equal(post->thread, pthread_self()));
    struct sn_http_exchange *exchange =
        sn_http_exchange_find(post->fixture->server, post->fixture->kept_id);
    if (exchange && post->order == 99)
        answer_text(exchange, 200, "posted\n");
}

static void *post_all(void *user)
{
    struct post *posts = user;
    for (unsigned i = 0; i < 100; i++) {
        posts[i].fixture = posts[0].fixture;
        posts[i].thread = pthread_self();
        posts[i].order = i;
        sn_http_server_post(posts[0].fixture->server, &posts[i].task, run_post, &posts[i]);
    }
    return NULL;
}

static void other_threads_post(void **state)
{
    struct fixture *fixture = *state;
    struct post posts[100] = {{.fixture = fixture}};
    char answer[2048];
    pthread_t thread;
    void *failed = NULL;
    SN_AUTO(sn_close) int client = connect_client(fixture);
    posts_run = 0;
    http_say(client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    http_serve_until(fixture->server, &fixture->handled_count, 1);
    assert_int_equal(pthread_create(&thread, NULL, post_all, posts), 0);
    http_read_answer(fixture->server, client, "posted\n", answer, sizeof(answer));
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_int_equal(posts_run, 100);
}

static void what_cannot_be_is_refused(void **state)
{
    struct fixture *fixture = *state;
#define HEAD "GET / HTTP/1.1\r\nHost: a\r\n"
    static const struct {
        const char *request;
        size_t size;
        const char *status;
    } cases[] = {
#define CASE(request, status) {request, sizeof(request) - 1, "HTTP/1.1 " status}
        CASE("GET / HTTP/1.1\nHost: a\n\n", "400"),
        CASE("GET / HTTP/1.1\r\nHost: a\n\r\n", "400"),
        CASE("GET / HTTP/1.1\r\nHost: a\r\n\n", "400"),
        CASE("GET / HTTP/1.1\nHost: a\r\n\r\n", "400"),
        CASE("GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "400"),
        CASE(HEAD "X: a\r\n b\r\n\r\n", "400"),
        CASE(HEAD "X: a\r\n\tb\r\nY: z\r\n\r\n", "400"),
        CASE(HEAD "X: a\0b\r\n\r\n", "400"),
        CASE(HEAD "\0X: a\r\n\r\n", "400"),
        CASE(HEAD "X: a\rb\r\n\r\n", "400"),
        CASE(HEAD "X : a\r\n\r\n", "400"),
        CASE(HEAD ": a\r\n\r\n", "400"),
        CASE(HEAD "no colon\r\n\r\n", "400"),
        CASE(HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
        CASE(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", "400"),
        CASE(HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "400"),
        CASE(HEAD "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "400"),
        CASE(HEAD "Content-Length: -5\r\n\r\n", "400"),
        CASE(HEAD "Content-Length: +5\r\n\r\n", "400"),
        CASE(HEAD "Content-Length: 5, 5\r\n\r\n", "400"),
        CASE(HEAD "Content-Length: 0x5\r\n\r\n", "400"),
        CASE(HEAD "Content-Length: \r\n\r\n", "400"),
        CASE(HEAD "Content-Length: 1048577\r\n\r\n", "413"),
        CASE(HEAD "Content-Length: 9223372036854775808\r\n\r\n", "413"),
        CASE(HEAD "Content-Length: 99999999999999999999999\r\n\r\n", "413"),
        CASE(HEAD "Transfer-Encoding: gzip\r\n\r\n", "501"),
        CASE(HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n", "501"),
        CASE(HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
        CASE("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"),
        CASE(HEAD "Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n", "400"),
        CASE(HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", "400"),
        CASE(HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "400"),
        CASE(HEAD "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n", "413"),
        CASE("GET / HTTP/1.1\r\n\r\n", "400"),
        CASE("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
        CASE("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET etc HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /a%2fb HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /a%2 HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /a% HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /a%0a HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /%c0%af HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        CASE("G\"T / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char answer[2048];
        SN_AUTO(sn_close) int client = connect_client(fixture);
        http_say_bytes(client, cases[i].request, cases[i].size);
        http_read_answer(fixture->server, client, NULL, answer, sizeof(answer));
        if (strncmp(answer, cases[i].status, strlen(cases[i].status)) != 0)
            fail_msg("%.*s gives %s and not %s", (int)cases[i].size, cases[i].request, answer,
                     cases[i].status);
    }
    assert_int_equal(fixture->handled_count, 0);
}

static void a_request_that_is_cut_is_none(void **state)
{
    struct fixture *fixture = *state;
    static const char request[] =
        "POST /a%20b?c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        "X-Y: z\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    char answer[2048];
    start(fixture, &(struct sn_http_limits){.head_deadline_ns = FAST_NS});
    for (size_t size = 0; size < sizeof(request) - 1; size++) {
        SN_AUTO(sn_close) int client = connect_client(fixture);
        http_say_bytes(client, request, size);
        assert_int_equal(shutdown(client, SHUT_WR), 0);
        http_read_answer(fixture->server, client, NULL, answer, sizeof(answer));
    }
    assert_int_equal(fixture->handled_count, 0);
    start(fixture, NULL);
    SN_AUTO(sn_close) int client = connect_client(fixture);
    for (size_t at = 0; at < sizeof(request) - 1; at++) { /* and in as many pieces, it is one */
        http_say_bytes(client, request + at, 1);
        http_turn(fixture->server, -1, 1);
    }
    http_read_answer(fixture->server, client, "hello\n", answer, sizeof(answer));
    assert_string_equal(fixture->seen, "POST /a b?c abc");
}

/* A head of `count` headers and `size` bytes. */
static char *make_head(unsigned count, size_t size)
{
    struct sn_buf head = sn_buf_with_limit(1 << 20);
    sn_buf_text(&head, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (unsigned i = 2; i < count; i++)
        sn_buf_format(&head, "X-%u: a\r\n", i);
    sn_buf_text(&head, "X-Last: ");
    if (size > head.size + 4)
        sn_buf_fill(&head, 'a', size - head.size - 4);
    sn_buf_text(&head, "\r\n\r\n");
    assert_false(head.failed);
    (void)sn_buf_string(&head);
    return (char *)head.bytes;
}

static void heads_have_a_size(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        unsigned count;
        size_t size;
        const char *status;
    } cases[] = {
        {100, 0, "HTTP/1.1 200"},       {101, 0, "HTTP/1.1 431"},     {2, 16384, "HTTP/1.1 200"},
        {2, 16385, "HTTP/1.1 431"},     {100, 16384, "HTTP/1.1 200"}, {2, 100000, "HTTP/1.1 431"},
        {5000, 100000, "HTTP/1.1 431"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char answer[2048];
        SN_AUTO(sn_free) char *head = make_head(cases[i].count, cases[i].size);
        SN_AUTO(sn_close) int client = connect_client(fixture);
        http_say(client, head);
        http_read_answer(fixture->server, client, "\r\n\r\n", answer, sizeof(answer));
        assert_memory_equal(answer, cases[i].status, 12);
    }
    SN_AUTO(sn_free) char *head = make_head(2, 200000); /* a path without end */
    char answer[2048];
    memmove(head + 5, head + 40, strlen(head + 40) + 1);
    SN_AUTO(sn_close) int client = connect_client(fixture);
    http_say(client, head);
    http_read_answer(fixture->server, client, "\r\n\r\n", answer, sizeof(answer));
    assert_memory_equal(answer, "HTTP/1.1 414", 12);
}

/* Sends while the server is turned; stops when it wants no more. */
static void send_all(struct fixture *fixture, int client, const char *bytes, size_t size)
{
    uint64_t deadline = sn_clock_deadline(20ull * SN_NS_PER_SECOND);
    while (size) {
        ssize_t sent = send(client, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            return;
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
        (void)http_turn(fixture->server, -1, 5);
        assert_true(sn_clock_monotonic_ns() < deadline);
    }
}

/* Its sender reads the answer although it has sent much more than was read. */
static void bodies_have_a_size(void **state)
{
    struct fixture *fixture = *state;
    enum { size = 2 << 20 };
    SN_AUTO(sn_free) char *body = calloc(1, size);
    char answer[2048];
    assert_non_null(body);
    memset(body, 'b', size);
    for (int is_chunked = 0; is_chunked < 2; is_chunked++) {
        SN_AUTO(sn_close) int client = connect_client(fixture);
        http_say(client, is_chunked
                             ? "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "200000\r\n"
                             : "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2097152\r\n\r\n");
        send_all(fixture, client, body, size);
        if (is_chunked)
            http_say(client, "\r\n0\r\n\r\n");
        http_read_answer(fixture->server, client, NULL, answer, sizeof(answer));
        assert_memory_equal(answer, "HTTP/1.1 413", 12);
    }
    SN_AUTO(sn_close) int client = connect_client(fixture); /* and one without end is cut */
    http_say(client,
             "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n");
    for (int i = 0; i < 8; i++)
        send_all(fixture, client, body, size);
    http_read_answer(fixture->server, client, NULL, answer, sizeof(answer));
    assert_string_equal(answer, "");
    assert_int_equal(fixture->handled_count, 0);
    SN_AUTO(sn_close) int last = connect_client(fixture); /* just as much as may be */
    http_say(last, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n");
    send_all(fixture, last, body, 1 << 20);
    http_read_answer(fixture->server, last, "hello\n", answer, sizeof(answer));
}

static void slow_ones_are_cut(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *first, *again, *end;
    } cases[] = {
        {"", "", "HTTP/1.1 408"},                       /* no head */
        {"G", "E", "HTTP/1.1 408"},                     /* byte by byte */
        {"GET / HTTP/1.1\r\nX: ", "x", "HTTP/1.1 408"}, /* byte by byte, later */
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", "x", "HTTP/1.1 408"},
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", "hello\n"}, /* idle: closed without a word */
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "G", "HTTP/1.1 408"}, /* the next head */
    };
    start(fixture, &(struct sn_http_limits){.head_deadline_ns = FAST_NS,
                                            .body_patience_ns = FAST_NS,
                                            .idle_max_ns = 10 * FAST_NS});
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char answer[2048] = "";
        size_t held = 0;
        SN_AUTO(sn_close) int client = connect_client(fixture);
        http_say(client, cases[i].first);
        uint64_t deadline = sn_clock_deadline(20ull * SN_NS_PER_SECOND);
        uint64_t next = 0;
        for (;;) {
            assert_true(sn_clock_monotonic_ns() < deadline);
            if (sn_clock_monotonic_ns() >= next) {
                (void)send(client, cases[i].again, strlen(cases[i].again), MSG_NOSIGNAL);
                next = sn_clock_deadline(FAST_NS / 5);
            }
            if (!http_turn(fixture->server, client, 10))
                continue;
            ssize_t got = recv(client, answer + held, sizeof(answer) - 1 - held, 0);
            if (got <= 0)
                break;
            held += (size_t)got;
            answer[held] = '\0';
        }
        assert_non_null(strstr(answer, cases[i].end));
    }
    http_serve_what_is_there(fixture->server);
    assert_int_equal(sn_http_server_connection_count(fixture->server), 0);
}

static void slow_readers_are_cut(void **state)
{
    struct fixture *fixture = *state;
    static const char request[] = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n";
    char byte;
    start(fixture, &(struct sn_http_limits){.read_patience_ns = FAST_NS});
    SN_AUTO(sn_close) int client = connect_client(fixture);
    http_say(client, request);
    uint64_t deadline = sn_clock_deadline(20ull * SN_NS_PER_SECOND);
    while (!fixture->ended_count) { /* a byte now and then is never silent */
        (void)recv(client, &byte, 1, MSG_DONTWAIT);
        (void)http_turn(fixture->server, -1, 20);
        assert_true(sn_clock_monotonic_ns() < deadline);
    }
    start(fixture, &(struct sn_http_limits){.idle_max_ns = FAST_NS});
    SN_AUTO(sn_close) int deaf = connect_client(fixture);
    http_say(deaf, request);
    http_serve_until(fixture->server, &fixture->ended_count, 2); /* takes nothing at all */
}

/* Of a file without end, what lies between our reading it and its reader is bounded. */
static void slow_readers_hold_little(void **state)
{
    struct fixture *fixture = *state;
    static const int small = 4096;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(fixture->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    SN_AUTO(sn_close) int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(client, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)); /* the rest is ours */
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    size_t all = 1u << 30;
    fixture->stream_left = fixture->stream_ready = all;
    http_say(client, "GET /sized HTTP/1.1\r\nHost: a\r\n\r\n");
    http_serve_until(fixture->server, &fixture->handled_count, 1);
    http_serve_what_is_there(fixture->server);
    assert_true(all - fixture->stream_left > 0);
    assert_true(all - fixture->stream_left <= 320u << 10); /* 256 in the kernel, and a block */
}

static void the_longest_idle_makes_room(void **state)
{
    struct fixture *fixture = *state;
    enum { max = 20 };
    int clients[max];
    char answer[2048];
    start(fixture, &(struct sn_http_limits){.connection_max = max});
    for (int i = 0; i < max; i++) {
        clients[i] = connect_client(fixture);
        http_say(clients[i], i == 0 ? "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"
                                    : "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        http_serve_until(fixture->server, &fixture->handled_count, (unsigned)i + 1);
        if (i)
            http_read_answer(fixture->server, clients[i], "hello\n", answer, sizeof(answer));
    }
    http_serve_until(fixture->server, &fixture->ended_count, max - 1);
    for (int i = 1; i < max; i++) {
        SN_AUTO(sn_close) int newer = connect_client(fixture);
        http_say(newer, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        http_read_answer(fixture->server, newer, "hello\n", answer, sizeof(answer));
        http_read_answer(fixture->server, clients[i], NULL, answer, sizeof(answer));
        assert_string_equal(answer, "");
        (void)close(clients[i]);
        clients[i] = sn_take_fd(&newer);
        http_serve_until(fixture->server, &fixture->ended_count, max - 1 + (unsigned)i);
    }
    assert_int_equal(sn_http_server_connection_count(fixture->server), max);
    answer_text(sn_http_exchange_find(fixture->server, fixture->kept_id), 200, "busy one\n");
    http_read_answer(fixture->server, clients[0], "busy one\n", answer, sizeof(answer));
    for (int i = 0; i < max; i++)
        (void)close(clients[i]);
}

static void when_all_are_busy_others_are_turned_away(void **state)
{
    struct fixture *fixture = *state;
    enum { max = 5 };
    int clients[max];
    char answer[2048];
    start(fixture, &(struct sn_http_limits){.connection_max = max});
    for (int i = 0; i < max; i++) {
        clients[i] = connect_client(fixture);
        http_say(clients[i], "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
        http_serve_until(fixture->server, &fixture->handled_count, (unsigned)i + 1);
    }
    SN_AUTO(sn_close) int newer = connect_client(fixture);
    http_read_answer(fixture->server, newer, NULL, answer, sizeof(answer));
    (void)close(clients[0]);
    http_serve_until(fixture->server, &fixture->ended_count, 1);
    http_serve_what_is_there(fixture->server);
    SN_AUTO(sn_close) int last = connect_client(fixture);
    http_say(last, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, last, "hello\n", answer, sizeof(answer));
    for (int i = 1; i < max; i++)
        (void)close(clients[i]);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct fixture *fixture = *state;
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    enum { count = 10000 };
    SN_AUTO(sn_close) int client = connect_client(fixture);
    uint64_t deadline = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    size_t to_send = count * (sizeof(request) - 1), sent = 0;
    unsigned got_count = 0;
    char piece[65536];
    while (got_count < count) {
        assert_true(sn_clock_monotonic_ns() < deadline);
        if (sent < to_send) {
            size_t at = sent % (sizeof(request) - 1);
            ssize_t rc =
                send(client, request + at, sizeof(request) - 1 - at, MSG_NOSIGNAL | MSG_DONTWAIT);
            sent += rc > 0 ? (size_t)rc : 0;
            if (rc > 0 && fixture->handled_count + 100 > sent / sizeof(request))
                continue;
        }
        (void)http_turn(fixture->server, -1, 5);
        ssize_t got = recv(client, piece, sizeof(piece), MSG_DONTWAIT);
        for (ssize_t i = 0; i < got; i++)
            got_count += piece[i] == '\n' && i > 0 && piece[i - 1] == 'o';
    }
    assert_int_equal(fixture->handled_count, count);
}

static void many_places_one_server(void **state)
{
    struct fixture *fixture = *state;
    char folder[] = "/tmp/http-server-test-XXXXXX";
    char path[64], answer[2048];
    struct sonde_error err = {0};
    struct stat facts;
    const char *url = NULL;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    struct sn_http_place place = {.unix_path = path, .tag = 7};
    assert_int_equal(sn_http_server_listen(fixture->server, &place, &url, NULL), SONDE_OK);
    assert_int_equal(strncmp(url, "unix:/tmp/", 10), 0);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode, S_IFSOCK | 0600);
    assert_int_equal(sn_http_server_listen(fixture->server, &place, NULL, &err), SONDE_E_BUSY);

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    SN_AUTO(sn_close) int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    http_say(client, "GET /who HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, client, "hello\n", answer, sizeof(answer));
    assert_string_equal(fixture->peer, "unix");
    assert_int_equal(fixture->tag, 7);
    assert_int_equal(fixture->pid, getpid());
    assert_int_equal(fixture->uid, getuid());
    SN_AUTO(sn_close) int other = connect_client(fixture);
    http_say(other, "GET /who HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, other, "hello\n", answer, sizeof(answer));
    assert_int_equal(fixture->tag, 0);
    assert_int_equal(fixture->pid, -1);

    sn_http_server_free(SN_TAKE(fixture->server));
    assert_int_not_equal(stat(path, &facts), 0); /* it took its socket away */
    SN_AUTO(sn_close) int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(stale, (struct sockaddr *)&address, sizeof(address)), 0);
    start(fixture, NULL); /* one that nobody listens at is replaced */
    assert_int_equal(sn_http_server_listen(fixture->server, &place, NULL, NULL), SONDE_OK);
    sn_http_server_free(SN_TAKE(fixture->server));
    FILE *file = fopen(path, "w"); /* what is no socket is not */
    assert_non_null(file);
    (void)fclose(file);
    start(fixture, NULL);
    assert_int_equal(sn_http_server_listen(fixture->server, &place, NULL, &err), SONDE_E_BUSY);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
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
    struct sonde_error err = {0};
    char taken[32];
    (void)snprintf(taken, sizeof(taken), "127.0.0.1:%u", fixture->port);
    struct sn_http_place place = {.address = taken};
    assert_int_equal(sn_http_server_listen(fixture->server, &place, NULL, &err), SONDE_E_BUSY);
    assert_non_null(strstr(err.text, "choose another port"));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        err = (struct sonde_error){0};
        place.address = places[i].address;
        assert_int_equal(sn_http_server_listen(fixture->server, &place, NULL, &err),
                         places[i].status);
        assert_non_null(strstr(err.text, places[i].words));
    }
}

static void every_address_is_listened_on_where_none_is_named(void **state)
{
    struct fixture *fixture = *state;
    const char *url = NULL;
    char answer[2048];
    struct sn_http_place place = {.address = ":0"};
    assert_int_equal(sn_http_server_listen(fixture->server, &place, &url, NULL), SONDE_OK);
    fixture->port = (uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10);
    SN_AUTO(sn_close) int client = connect_client(fixture); /* over IPv4 */
    http_say(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    http_read_answer(fixture->server, client, "hello\n", answer, sizeof(answer));
}

/* While others wait, stream or read: every end is told. */
static void a_server_that_ends_tells_everybody(void **state)
{
    struct fixture *fixture = *state;
    static const char *const paths[] = {"/later", "/stream", "/sized", "/big"};
    int clients[4];
    fixture->stream_left = 100;
    for (unsigned i = 0; i < 4; i++) {
        char request[64];
        clients[i] = connect_client(fixture);
        (void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", paths[i]);
        http_say(clients[i], request);
        http_serve_until(fixture->server, &fixture->handled_count, i + 1);
    }
    sn_http_server_free(SN_TAKE(fixture->server));
    assert_int_equal(fixture->ended_count, 4);
    assert_int_equal(fixture->done_count, 2);
    assert_int_equal(fixture->complete_count, 0);
    for (unsigned i = 0; i < 4; i++)
        (void)close(clients[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_are_answered_at_once),
        TEST(requests_are_answered_later),
        TEST(who_leaves_while_it_waits_is_noticed),
        TEST(streams_come_bit_by_bit),
        TEST(other_threads_post),
        TEST(what_cannot_be_is_refused),
        TEST(a_request_that_is_cut_is_none),
        TEST(heads_have_a_size),
        TEST(bodies_have_a_size),
        TEST(slow_ones_are_cut),
        TEST(slow_readers_are_cut),
        TEST(slow_readers_hold_little),
        TEST(the_longest_idle_makes_room),
        TEST(when_all_are_busy_others_are_turned_away),
        TEST(pipelined_requests_are_answered_in_order),
        TEST(many_places_one_server),
        TEST(a_place_that_is_taken_or_not_ours_is_said_with_advice),
        TEST(every_address_is_listened_on_where_none_is_named),
        TEST(a_server_that_ends_tells_everybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
