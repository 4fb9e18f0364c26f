/* Receivers for the tests of what sends: real sockets of this machine, read by the test itself. */
#ifndef SN_TEST_NET_RECEIVER_H
#define SN_TEST_NET_RECEIVER_H

#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVER_PATIENCE_MS 60000

static inline void receiver_await(int fd, short events)
{
    struct pollfd polled = {.fd = fd, .events = events};
    assert_int_equal(poll(&polled, 1, RECEIVER_PATIENCE_MS), 1);
}

/* A socket of 127.0.0.1; port 0 takes a free one, which is stored there. */
static inline int receiver_bind(int type, uint16_t *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int one = 1;
    int small = 4096;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
    if (type == SOCK_STREAM) /* so that a message is soon larger than what the kernel holds */
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static inline int receiver_listen(uint16_t *port)
{
    int fd = receiver_bind(SOCK_STREAM, port);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static inline int receiver_accept(int listener)
{
    receiver_await(listener, POLLIN);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* Some bytes; 0: closed, by a reset as well. */
static inline size_t receiver_read_some(int fd, void *to, size_t size)
{
    receiver_await(fd, POLLIN);
    ssize_t got = recv(fd, to, size, 0);
    if (got < 0)
        assert_int_equal(errno, ECONNRESET);
    return got < 0 ? 0 : (size_t)got;
}

static inline void receiver_read(int fd, void *to, size_t size)
{
    uint8_t *at = to;
    while (size) {
        size_t got = receiver_read_some(fd, at, size);
        assert_int_not_equal(got, 0);
        at += got;
        size -= got;
    }
}

static inline void receiver_expect(int fd, const char *text)
{
    char got[512] = "";
    assert_true(strlen(text) < sizeof(got));
    receiver_read(fd, got, strlen(text));
    assert_string_equal(got, text);
}

/* Ends a connection without good-bye, what was not read is lost. */
static inline void receiver_reset(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    (void)close(fd);
}

#endif
