/* Connections that were answered before all of their request was read. Closed at once, what is
 * still under way would meet a closed door, and the kernel of the sender would throw our answer
 * away with it. So what comes is read and dropped for a moment. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "net/http_parts.h"

#define LINGERING_MAX 128u
#define PATIENCE_NS   (2ull * SN_NS_PER_SECOND)
#define DROPPED_MAX   (64u << 20)
#define READ_SIZE     (16u << 10)
#define READS_A_TURN  16

static void end_linger(struct sn_http_server *server, struct sn_http_linger *linger)
{
    if (linger->next)
        linger->next->previous = linger->previous;
    if (linger->previous)
        linger->previous->next = linger->next;
    else
        server->lingers = linger->next;
    server->linger_count--;
    (void)epoll_ctl(server->poll_fd, EPOLL_CTL_DEL, linger->fd, NULL);
    sn_close(linger->fd);
    free(linger);
}

void sn_http_linger_begin(struct sn_http_server *server, int fd)
{
    if (server->linger_count >= LINGERING_MAX)
        return;
    struct sn_http_linger *linger = calloc(1, sizeof(*linger));
    if (!linger)
        return;
    linger->watch.is_linger = true;
    linger->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    linger->deadline_ns = sn_clock_deadline(PATIENCE_NS);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = &linger->watch};
    if (linger->fd < 0 || shutdown(linger->fd, SHUT_WR) != 0 ||
        epoll_ctl(server->poll_fd, EPOLL_CTL_ADD, linger->fd, &event) != 0) {
        sn_close(linger->fd);
        free(linger);
        return;
    }
    linger->next = server->lingers;
    if (linger->next)
        linger->next->previous = linger;
    server->lingers = linger;
    server->linger_count++;
    if (linger->deadline_ns < server->sweep_ns)
        server->sweep_ns = linger->deadline_ns;
}

void sn_http_linger_read(struct sn_http_server *server, struct sn_http_linger *linger)
{
    char dropped[READ_SIZE];
    for (int i = 0; i < READS_A_TURN; i++) {
        ssize_t got = recv(linger->fd, dropped, sizeof(dropped), MSG_DONTWAIT);
        if (got < 0)
            return; /* nothing now; errors come as an end */
        linger->dropped += (size_t)got;
        if (got == 0 || linger->dropped > DROPPED_MAX) {
            end_linger(server, linger);
            return;
        }
    }
}

uint64_t sn_http_linger_sweep(struct sn_http_server *server, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    struct sn_http_linger *next;
    for (struct sn_http_linger *linger = server->lingers; linger; linger = next) {
        next = linger->next;
        if (linger->deadline_ns <= now_ns)
            end_linger(server, linger);
        else if (linger->deadline_ns < next_ns)
            next_ns = linger->deadline_ns;
    }
    return next_ns;
}

void sn_http_linger_end_all(struct sn_http_server *server)
{
    (void)sn_http_linger_sweep(server, UINT64_MAX);
}
