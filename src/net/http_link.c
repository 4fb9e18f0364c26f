/* Connections: how long each phase of one may take, who makes room for others, who has gone. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/http_parts.h"

#define BODY_RATE   1024ull       /* bytes a second, once patience is over */
#define ANSWER_STEP (4ull << 20u) /* of what is held in memory: patience for each */

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t time_for(uint64_t size, uint64_t rate)
{
    return size / rate * SN_NS_PER_SECOND + size % rate * SN_NS_PER_SECOND / rate;
}

/* When the present phase must be over, for who is there. */
static uint64_t present_deadline_of(const struct sn_http_link *link)
{
    const struct sn_http_limits *limits = &link->spot->server->limits;
    const struct sn_http_exchange *exchange = link->exchange;
    switch (link->phase) {
    case SN_HTTP_IDLE: return add(link->since_ns, limits->idle_max_ns);
    case SN_HTTP_HEAD: return add(link->since_ns, limits->head_deadline_ns);
    case SN_HTTP_BODY:
        return add(link->since_ns,
                   add(limits->body_patience_ns,
                       time_for(exchange->body_size - exchange->body_waited,
                                exchange->taker.rate ? exchange->taker.rate : BODY_RATE)));
    case SN_HTTP_ANSWER:
        return add(link->since_ns,
                   limits->read_patience_ns * (1 + exchange->held_size / ANSWER_STEP));
    case SN_HTTP_WORK: break;
    }
    return UINT64_MAX;
}

/* libmicrohttpd does not see that a client closes together with its last bytes, and would wait for
 * more. What they were is read within a moment. */
static uint64_t deadline_of(const struct sn_http_link *link)
{
    uint64_t deadline = present_deadline_of(link);
    bool awaits_more = link->phase != SN_HTTP_WORK && link->phase != SN_HTTP_ANSWER;
    if (!link->has_left || !awaits_more)
        return deadline;
    uint64_t from = link->left_ns > link->since_ns ? link->left_ns : link->since_ns;
    uint64_t soon = add(from, link->spot->server->limits.head_deadline_ns / 20);
    return soon < deadline ? soon : deadline;
}

static void set_deadline(struct sn_http_link *link, uint64_t deadline_ns)
{
    struct sn_http_server *server = link->spot->server;
    link->deadline_ns = deadline_ns;
    if (deadline_ns < server->sweep_ns)
        server->sweep_ns = deadline_ns;
}

/* The kernel's count of what came; 0: not known. */
static uint64_t count_received(const struct sn_http_link *link)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (link->spot->is_unix || getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received))
        return 0;
    return info.tcpi_bytes_received;
}

/* When an idle connection is looked at next. */
static uint64_t look_again(const struct sn_http_link *link, uint64_t now_ns)
{
    uint64_t end = deadline_of(link);
    uint64_t soon = add(now_ns, link->spot->server->limits.head_deadline_ns);
    return soon < end ? soon : end;
}

/* libmicrohttpd does not say when the second head on a connection begins, so whether bytes came is
 * looked at now and then: a head that takes longer than from one look to the next is late. True:
 * this one is. */
static bool is_head_late(struct sn_http_link *link)
{
    uint64_t received = count_received(link);
    if (link->has_begun)
        return true;
    link->has_begun = link->received && received > link->received;
    link->received = received;
    return false;
}

void sn_http_link_phase(struct sn_http_link *link, enum sn_http_phase phase)
{
    link->phase = phase;
    link->since_ns = sn_clock_monotonic_ns();
    link->received = 0;
    link->has_begun = false;
    set_deadline(link,
                 phase == SN_HTTP_IDLE ? look_again(link, link->since_ns) : deadline_of(link));
}

void sn_http_link_cut(struct sn_http_link *link)
{
    if (link->is_cut)
        return;
    link->is_cut = true;
    link->spot->server->link_count--;
    (void)shutdown(link->fd, SHUT_RDWR);
    if (link->exchange)
        sn_http_exchange_lose(link->exchange);
}

void sn_http_link_left(struct sn_http_link *link)
{
    link->has_left = true;
    link->left_ns = sn_clock_monotonic_ns();
    if (link->exchange && link->exchange->is_suspended)
        sn_http_exchange_lose(link->exchange);
    else
        set_deadline(link, deadline_of(link));
}

bool sn_http_link_make_room(struct sn_http_server *server)
{
    struct sn_http_link *longest = NULL;
    for (struct sn_http_link *link = server->links; link; link = link->next) {
        if (link->phase == SN_HTTP_IDLE && !link->is_cut &&
            (!longest || link->since_ns < longest->since_ns))
            longest = link;
    }
    if (longest)
        sn_http_link_cut(longest);
    return longest;
}

/* Told in plain text if that can be done at once: libmicrohttpd takes no answers before the whole
 * request is there. */
static void tell_late(const struct sn_http_link *link)
{
    static const char answer[] = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
                                 "Content-Length: 0\r\n\r\n";
    bool is_request = link->phase == SN_HTTP_HEAD || link->phase == SN_HTTP_BODY ||
                      (link->phase == SN_HTTP_IDLE && (link->has_begun || !link->has_asked));
    if (is_request && !link->spot->is_tls)
        (void)send(link->fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void sn_http_link_sweep(struct sn_http_server *server)
{
    uint64_t now = sn_clock_monotonic_ns();
    if (now < server->sweep_ns)
        return;
    server->sweep_ns = UINT64_MAX;
    for (struct sn_http_link *link = server->links; link; link = link->next) {
        if (link->is_cut)
            continue;
        if (link->phase == SN_HTTP_BODY) /* what came since gives it more time */
            link->deadline_ns = deadline_of(link);
        bool is_over = link->deadline_ns <= now;
        if (is_over && link->phase == SN_HTTP_IDLE && link->has_asked && now < deadline_of(link) &&
            !is_head_late(link)) {
            link->deadline_ns = look_again(link, now);
            is_over = false;
        }
        if (is_over) {
            tell_late(link);
            sn_http_link_cut(link);
        } else
            set_deadline(link, link->deadline_ns);
    }
    uint64_t next_ns = sn_http_linger_sweep(server, now);
    if (next_ns < server->sweep_ns)
        server->sweep_ns = next_ns;
}

enum MHD_Result sn_http_link_accept(void *user, const struct sockaddr *address, socklen_t size)
{
    const struct sn_http_spot *spot = user;
    (void)address;
    (void)size;
    struct sn_http_server *server = spot->server;
    bool has_room = server->link_count < server->limits.connection_max;
    return has_room || sn_http_link_make_room(server) ? MHD_YES : MHD_NO;
}

/* Told once, when the client goes: libmicrohttpd does not look at connections that are suspended.
 */
static void watch(struct sn_http_link *link)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = &link->watch};
    link->is_watched = epoll_ctl(link->spot->server->poll_fd, EPOLL_CTL_ADD, link->fd, &event) == 0;
}

static struct sn_http_link *add_link(struct sn_http_spot *spot, struct MHD_Connection *connection)
{
    struct sn_http_server *server = spot->server;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sn_http_link *link = info ? calloc(1, sizeof(*link)) : NULL;
    if (!link)
        return NULL;
    link->spot = spot;
    link->connection = connection;
    link->fd = info->connect_fd;
    link->next = server->links;
    if (link->next)
        link->next->previous = link;
    server->links = link;
    server->link_count++;
    link->since_ns = sn_clock_monotonic_ns();
    set_deadline(link, add(link->since_ns, server->limits.head_deadline_ns)); /* the first head */
    watch(link);
    return link;
}

static void remove_link(struct sn_http_link *link)
{
    struct sn_http_server *server = link->spot->server;
    if (!link->is_cut)
        server->link_count--;
    if (link->next)
        link->next->previous = link->previous;
    if (link->previous)
        link->previous->next = link->next;
    else
        server->links = link->next;
    if (link->is_watched) /* before its number is another's */
        (void)epoll_ctl(server->poll_fd, EPOLL_CTL_DEL, link->fd, NULL);
    if ((link->must_linger || !link->has_asked) && !link->is_cut)
        sn_http_linger_begin(server, link->fd);
    free(link);
}

void sn_http_link_notify(void *user, struct MHD_Connection *connection, void **slot,
                         enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *slot = add_link(user, connection);
    else if (*slot) {
        remove_link(*slot);
        *slot = NULL;
    }
}
