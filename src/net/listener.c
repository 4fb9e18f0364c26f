#include "net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/own.h"
#include "net/lookup.h"

#define BACKLOG 1024

/* Leaves errno. */
static int open_address(const struct addrinfo *at)
{
    static const int on = 1, off = 0;
    SN_AUTO(sn_close)
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (at->ai_family == AF_INET6) /* every address means those of both kinds */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        return -1;
    return sn_take_fd(&fd);
}

/* Of every address, IPv6's "any" takes the others along and is tried first. */
static int open_any(const struct addrinfo *list)
{
    static const int families[] = {AF_INET6, AF_INET};
    for (size_t i = 0; i < 2; i++) {
        for (const struct addrinfo *at = list; at; at = at->ai_next) {
            int fd = at->ai_family == families[i] ? open_address(at) : -1;
            if (fd >= 0)
                return fd;
            if (at->ai_family == families[i] && errno == EADDRINUSE)
                return -1; /* the other kind may be free: that would be half of what was asked */
        }
    }
    return -1;
}

static int open_first(const struct addrinfo *list)
{
    int fd = -1;
    for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
        fd = open_address(at);
    return fd;
}

static int fail_listen(const char *address, struct sonde_error *err)
{
    const char *advice = "";
    if (errno == EADDRINUSE)
        advice = "; another program, perhaps another sonde, listens there: choose another port";
    else if (errno == EACCES)
        advice = "; ports below 1024 need root or CAP_NET_BIND_SERVICE: choose a higher one";
    else if (errno == EADDRNOTAVAIL)
        advice = "; this machine does not have that address: choose one of its own";
    struct sonde_error cause = {0};
    int rc = sn_fail_errno(&cause, "cannot listen on %.100s", address);
    if (errno == EADDRINUSE)
        rc = SONDE_E_BUSY;
    return sn_fail(err, rc, 0, "%.200s%s", cause.text, advice);
}

static void name_of(int fd, char name[SN_LISTENER_NAME_SIZE])
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = {0};
    socklen_t size = sizeof(address);
    char text[INET6_ADDRSTRLEN] = "";
    if (getsockname(fd, &address.any, &size) != 0)
        return;
    bool is_six = address.any.sa_family == AF_INET6;
    const void *number = is_six ? (const void *)&address.six.sin6_addr : &address.four.sin_addr;
    (void)inet_ntop(address.any.sa_family, number, text, sizeof(text));
    (void)snprintf(name, SN_LISTENER_NAME_SIZE, is_six ? "[%s]:%u" : "%s:%u", text,
                   ntohs(is_six ? address.six.sin6_port : address.four.sin_port));
}

int sn_listener_open(const char *address, int *ret_fd, char ret_name[SN_LISTENER_NAME_SIZE],
                     struct sonde_error *err)
{
    struct sn_url url;
    struct addrinfo *list = NULL;
    int rc = sn_url_parse_listen(address, &url, err);
    if (rc == SONDE_OK)
        rc = sn_lookup(&url, AI_PASSIVE, &list, err);
    if (rc != SONDE_OK)
        return rc;
    int fd = url.host[0] ? open_first(list) : open_any(list);
    int saved = errno;
    freeaddrinfo(list);
    errno = saved;
    if (fd < 0)
        return fail_listen(address, err);
    name_of(fd, ret_name);
    *ret_fd = fd;
    return SONDE_OK;
}
