#include "net/wire.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "net/lookup.h"
#include "net/tls.h"

#define ADDRESSES_MAX    16
#define DISCARDED_MAX    (64u << 10) /* of what a peer says unasked, at a time */
#define SEND_BUFFER_SIZE (128u << 10)
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_STEP_S 10
#define KEEPALIVE_COUNT  3
#define UNANSWERED_MS    30000u /* data that nobody acknowledges ends the connection after that */

void sn_wire_init(struct sn_wire *wire, struct sn_waiter *waiter, uint64_t timeout_ns)
{
    *wire = (struct sn_wire){.waiter = waiter, .timeout_ns = timeout_ns, .fd = -1};
}

void sn_wire_close(struct sn_wire *wire)
{
    sn_tls_close(SN_TAKE(wire->tls));
    sn_close(sn_take_fd(&wire->fd));
}

/* --- connecting --- */

/* A peer that went without a word is noticed in a minute, not in hours; and what is lost with one
 * is no more than a small buffer: by itself the kernel would take megabytes for it. */
static void set_up_stream(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_SIZE},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_STEP_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS},
        {IPPROTO_TCP, TCP_NODELAY, 1}, /* a message is whole: nothing to wait for */
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

static int pending_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return errno;
    return error;
}

/* 0 or what errno would be. */
static int connect_socket(struct sn_wire *wire, int fd, const struct sockaddr *address,
                          socklen_t size)
{
    if (connect(fd, address, size) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    if (sn_waiter_wait(wire->waiter, fd, POLLOUT, sn_clock_deadline(wire->timeout_ns)) != SONDE_OK)
        return ETIMEDOUT;
    return pending_error(fd);
}

/* Leaves errno. */
static bool open_address(struct sn_wire *wire, int type, const struct sockaddr *address,
                         socklen_t size)
{
    SN_AUTO(sn_close)
    int fd = socket(address->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    if (type == SOCK_STREAM)
        set_up_stream(fd);
    errno = connect_socket(wire, fd, address, size);
    if (errno)
        return false;
    wire->is_datagram = type == SOCK_DGRAM;
    wire->fd = sn_take_fd(&fd);
    return true;
}

static int open_unix(struct sn_wire *wire, const struct sn_url *url, struct sonde_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.107s", url->path);
    const struct sockaddr *any = (const struct sockaddr *)&address;
    if (open_address(wire, SOCK_STREAM, any, sizeof(address)))
        return SONDE_OK;
    if (errno == EPROTOTYPE && open_address(wire, SOCK_DGRAM, any, sizeof(address)))
        return SONDE_OK;
    return sn_fail_errno(err, "cannot connect to %s", url->path);
}

static int open_network(struct sn_wire *wire, const struct sn_url *url, struct sonde_error *err)
{
    struct addrinfo *list;
    char authority[272];
    int rc = sn_lookup(url, 0, &list, err);
    if (rc != SONDE_OK)
        return rc;
    unsigned tried = 0;
    errno = ETIMEDOUT; /* should there be no time for any */
    for (struct addrinfo *at = list;
         at && tried < ADDRESSES_MAX && !sn_wire_is_open(wire) && !sn_waiter_is_over(wire->waiter);
         at = at->ai_next, tried++)
        (void)open_address(wire, at->ai_socktype, at->ai_addr, at->ai_addrlen);
    int saved = errno;
    freeaddrinfo(list);
    if (sn_wire_is_open(wire))
        return SONDE_OK;
    errno = saved;
    return sn_fail_errno(err, "cannot connect to %s", sn_url_authority(url, authority));
}

int sn_wire_open(struct sn_wire *wire, const struct sn_url *url, struct sonde_error *err)
{
    wire->is_http = url->scheme == SN_URL_HTTP || url->scheme == SN_URL_HTTPS;
    int rc = url->scheme == SN_URL_UNIX ? open_unix(wire, url, err) : open_network(wire, url, err);
    if (rc != SONDE_OK || url->scheme != SN_URL_HTTPS)
        return rc;
    rc = sn_tls_open(wire->trust, wire->fd, wire->waiter, sn_clock_deadline(wire->timeout_ns),
                     &wire->tls, err);
    if (rc != SONDE_OK)
        sn_wire_close(wire);
    return rc;
}

/* --- sending and receiving --- */

static bool is_again(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS;
}

/* TLS may have to read in order to send, and the reverse. */
static int await(struct sn_wire *wire, short events, uint64_t deadline_ns, const char *what,
                 struct sonde_error *err)
{
    if (wire->tls)
        events = sn_tls_awaits(wire->tls);
    if (sn_waiter_wait(wire->waiter, wire->fd, events, deadline_ns) == SONDE_OK)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_TIMEOUT, 0, "the receiver %s in time", what);
}

/* What is refused on this machine is known at once; from elsewhere the refusal comes later, and is
 * then taken for the next datagram's. Either way nobody had it. */
static int send_datagram(struct sn_wire *wire, const void *bytes, size_t size,
                         struct sonde_error *err)
{
    uint64_t deadline = sn_clock_deadline(wire->timeout_ns);
    while (send(wire->fd, bytes, size, MSG_NOSIGNAL) < 0) {
        if (errno == EMSGSIZE)
            return sn_fail(err, SONDE_E_REFUSED, 0, "%zu bytes do not fit into one datagram", size);
        if (!is_again(errno))
            return sn_fail_errno(err, "cannot send");
        int rc = await(wire, POLLOUT, deadline, "took no datagram", err);
        if (rc != SONDE_OK)
            return rc;
    }
    errno = pending_error(wire->fd);
    return errno ? sn_fail_errno(err, "cannot send") : SONDE_OK;
}

/* As much as goes at once; SONDE_AGAIN: nothing does. */
static int send_some(struct sn_wire *wire, const void *bytes, size_t size, size_t *ret_size,
                     struct sonde_error *err)
{
    if (wire->tls)
        return sn_tls_send(wire->tls, bytes, size, ret_size, err);
    ssize_t sent = send(wire->fd, bytes, size, MSG_NOSIGNAL);
    if (sent < 0)
        return is_again(errno) ? SONDE_AGAIN : sn_fail_errno(err, "cannot send");
    *ret_size = (size_t)sent;
    return SONDE_OK;
}

static int receive_some(struct sn_wire *wire, void *to, size_t size, size_t *ret_size,
                        struct sonde_error *err)
{
    if (wire->tls)
        return sn_tls_receive(wire->tls, to, size, ret_size, err);
    ssize_t got = recv(wire->fd, to, size, MSG_DONTWAIT);
    if (got < 0)
        return is_again(errno) ? SONDE_AGAIN : sn_fail_errno(err, "cannot receive");
    *ret_size = (size_t)got;
    return SONDE_OK;
}

static int send_stream(struct sn_wire *wire, const void *bytes, size_t size,
                       struct sonde_error *err)
{
    const uint8_t *at = bytes;
    while (size) {
        size_t sent = 0;
        int rc = send_some(wire, at, size, &sent, err);
        if (rc == SONDE_AGAIN)
            rc =
                await(wire, POLLOUT, sn_clock_deadline(wire->timeout_ns), "took nothing more", err);
        if (rc != SONDE_OK)
            return rc;
        at += sent;
        size -= sent;
    }
    return SONDE_OK;
}

int sn_wire_send(struct sn_wire *wire, const void *bytes, size_t size, struct sonde_error *err)
{
    return wire->is_datagram ? send_datagram(wire, bytes, size, err)
                             : send_stream(wire, bytes, size, err);
}

int sn_wire_receive(struct sn_wire *wire, void *to, size_t size, uint64_t deadline_ns,
                    size_t *ret_size, struct sonde_error *err)
{
    int rc;
    while ((rc = receive_some(wire, to, size, ret_size, err)) == SONDE_AGAIN) {
        rc = await(wire, POLLIN, deadline_ns, "did not answer", err);
        if (rc != SONDE_OK)
            return rc;
    }
    return rc;
}

bool sn_wire_is_alive(struct sn_wire *wire)
{
    char discarded[4096];
    size_t got;
    if (wire->is_datagram)
        return true;
    for (size_t total = 0; total < DISCARDED_MAX; total += got) {
        int rc = receive_some(wire, discarded, sizeof(discarded), &got, NULL);
        if (rc != SONDE_OK)
            return rc == SONDE_AGAIN;
        if (!got || wire->is_http)
            return false;
    }
    return true;
}
