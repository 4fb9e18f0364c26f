/* Clients of an HTTP server that the test itself turns: real sockets of this machine. */
#ifndef SN_TEST_HTTP_CLIENT_H
#define SN_TEST_HTTP_CLIENT_H

#include "net_receiver.h"

#include "base/clock.h"
#include "base/own.h"
#include "net/http_server.h"

static inline int http_connect(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static inline void http_say_bytes(int fd, const char *bytes, size_t size)
{
    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

static inline void http_say(int fd, const char *text)
{
    http_say_bytes(fd, text, strlen(text));
}

/* As the owner's poll loop does, once. True: `client` (-1: none) has something to read. */
static inline bool http_turn(struct sn_http_server *server, int client, int most_ms)
{
    struct pollfd polled[] = {
        {.fd = sn_http_server_fd(server), .events = POLLIN},
        {.fd = client, .events = POLLIN},
    };
    int ms = sn_http_server_wait_ms(server);
    assert_true(poll(polled, 2, ms < 0 || ms > most_ms ? most_ms : ms) >= 0);
    if (client >= 0 && polled[1].revents)
        return true;
    assert_int_equal(sn_http_server_turn(server, NULL), SONDE_OK);
    return false;
}

static inline void http_serve_until_readable(struct sn_http_server *server, int client)
{
    uint64_t deadline = sn_clock_deadline(20ull * SN_NS_PER_SECOND);
    while (!http_turn(server, client, 1000))
        assert_true(sn_clock_monotonic_ns() < deadline);
}

static inline void http_serve_until(struct sn_http_server *server, const unsigned *count,
                                    unsigned wanted)
{
    uint64_t deadline = sn_clock_deadline(20ull * SN_NS_PER_SECOND);
    while (*count < wanted) {
        (void)http_turn(server, -1, 100);
        assert_true(sn_clock_monotonic_ns() < deadline);
    }
}

static inline void http_serve_what_is_there(struct sn_http_server *server)
{
    struct pollfd polled = {.fd = sn_http_server_fd(server), .events = POLLIN};
    while (poll(&polled, 1, 20) == 1 || sn_http_server_wait_ms(server) == 0)
        assert_int_equal(sn_http_server_turn(server, NULL), SONDE_OK);
}

/* Reads until `end` has come, or with NULL until the server closes. */
static inline void http_read_answer(struct sn_http_server *server, int client, const char *end,
                                    char *to, size_t size)
{
    size_t held = 0;
    to[0] = '\0';
    while (!end || !strstr(to, end)) {
        http_serve_until_readable(server, client);
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

#endif
