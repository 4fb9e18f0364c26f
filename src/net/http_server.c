/* One server on libmicrohttpd: a daemon of its a place, all of them turned by one thread. */
#include "net/http_server.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "net/http_parts.h"
#include "net/tls.h"

#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#define EVENTS_A_TURN 64

/* For the head, what libmicrohttpd notes of each header, and an answer's head. */
#define NOTES_OF_HEADERS (32u << 10)

/* Connections that were cut and not yet closed do not keep others out. */
#define CONNECTIONS_LEAVING 256u

static void set_default(uint64_t *limit, uint64_t standard)
{
    if (!*limit)
        *limit = standard;
}

static struct sn_http_limits limits_with_defaults(const struct sn_http_limits *given)
{
    struct sn_http_limits limits = given ? *given : (struct sn_http_limits){0};
    if (!limits.connection_max)
        limits.connection_max = 2048;
    if (!limits.head_max)
        limits.head_max = 16u << 10;
    if (!limits.header_max)
        limits.header_max = 100;
    if (!limits.body_max)
        limits.body_max = 1u << 20;
    set_default(&limits.head_deadline_ns, 10ull * SN_NS_PER_SECOND);
    set_default(&limits.body_patience_ns, 10ull * SN_NS_PER_SECOND);
    set_default(&limits.idle_max_ns, 60ull * SN_NS_PER_SECOND);
    set_default(&limits.read_patience_ns, 60ull * SN_NS_PER_SECOND);
    return limits;
}

int sn_http_server_new(const struct sn_http_limits *limits, sn_http_handler_fn *handle, void *user,
                       struct sn_http_server **ret_server, struct sonde_error *err)
{
    struct sn_http_server *server = calloc(1, sizeof(*server));
    if (!server)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a server");
    server->limits = limits_with_defaults(limits);
    server->handle = handle;
    server->user = user;
    server->exchanges = sn_table_with_limit(2 * (size_t)server->limits.connection_max + 1024);
    server->sweep_ns = UINT64_MAX;
    server->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    int rc = server->poll_fd < 0 ? sn_fail_errno(err, "cannot make a server")
                                 : sn_mailbox_new(SIZE_MAX, &server->mailbox, err);
    if (rc == SONDE_OK &&
        epoll_ctl(server->poll_fd, EPOLL_CTL_ADD, sn_mailbox_fd(server->mailbox), &event) != 0)
        rc = sn_fail_errno(err, "cannot make a server");
    if (rc != SONDE_OK) {
        sn_http_server_free(server);
        return rc;
    }
    *ret_server = server;
    return SONDE_OK;
}

void sn_http_server_set_early(struct sn_http_server *server, sn_http_early_fn *is_early)
{
    server->is_early = is_early;
}

/* --- places --- */

/* The texts stay as they came: what is escaped is our business, and so is whether it may be. */
static size_t leave_escaped(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user;
    (void)connection;
    return strlen(text);
}

static struct MHD_Daemon *start_daemon(struct sn_http_spot *spot, int fd,
                                       const struct sn_http_place *place)
{
    const struct sn_http_limits *limits = &spot->server->limits;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)place->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)place->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)PRIORITIES},
        {place->authorities ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
         (void *)(uintptr_t)place->authorities},
        {MHD_OPTION_END, 0, NULL},
    };
    if (!spot->is_tls)
        tls[0] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (spot->is_tls ? (unsigned)MHD_USE_TLS : 0);
    return MHD_start_daemon(
        flags, 0, sn_http_link_accept, spot, sn_http_exchange_serve, spot, MHD_OPTION_LISTEN_SOCKET,
        fd, MHD_OPTION_CONNECTION_LIMIT, limits->connection_max + CONNECTIONS_LEAVING,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, limits->connection_max_of_one,
        MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)((limits->idle_max_ns + SN_NS_PER_SECOND - 1) / SN_NS_PER_SECOND),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits->head_max + NOTES_OF_HEADERS,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL, MHD_OPTION_URI_LOG_CALLBACK,
        sn_http_exchange_begin, spot, MHD_OPTION_NOTIFY_CONNECTION, sn_http_link_notify, spot,
        MHD_OPTION_NOTIFY_COMPLETED, sn_http_exchange_end, spot, MHD_OPTION_ARRAY, tls,
        MHD_OPTION_END);
}

static int daemon_fd(const struct sn_http_spot *spot)
{
    return MHD_get_daemon_info(spot->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

static void free_spot(struct sn_http_spot *spot)
{
    if (spot->daemon)
        MHD_stop_daemon(spot->daemon);
    sn_http_place_close(spot);
    free(spot);
}

static const char *url_of(const struct sn_http_spot *spot)
{
    return spot->unix_url ? spot->unix_url : spot->url;
}

static int start_spot(struct sn_http_spot *spot, const struct sn_http_place *place,
                      struct sonde_error *err)
{
    SN_AUTO(sn_close) int fd = -1;
    int rc = place->certificate ? sn_tls_start(err) : SONDE_OK;
    if (rc == SONDE_OK)
        rc = sn_http_place_open(place, spot, &fd, err);
    if (rc != SONDE_OK)
        return rc;
    spot->daemon = start_daemon(spot, fd, place);
    if (!spot->daemon)
        return sn_fail(err, spot->is_tls ? SONDE_E_ARGUMENT : SONDE_E_SYSTEM, 0,
                       "cannot serve on %s%s", url_of(spot),
                       spot->is_tls ? ": the certificate or its key cannot be used" : "");
    (void)sn_take_fd(&fd); /* the daemon's now */
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(spot->server->poll_fd, EPOLL_CTL_ADD, daemon_fd(spot), &event) != 0)
        return sn_fail_errno(err, "cannot serve on %s", url_of(spot));
    return SONDE_OK;
}

int sn_http_server_listen(struct sn_http_server *server, const struct sn_http_place *place,
                          const char **ret_url, struct sonde_error *err)
{
    struct sn_http_spot *spot = calloc(1, sizeof(*spot));
    if (!spot)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a server");
    spot->server = server;
    spot->has_authorities = place->certificate && place->authorities;
    int rc = start_spot(spot, place, err);
    if (rc != SONDE_OK) {
        free_spot(spot);
        return rc;
    }
    spot->next = server->spots;
    server->spots = spot;
    if (ret_url)
        *ret_url = url_of(spot);
    return SONDE_OK;
}

/* --- posts --- */

void sn_http_server_post(struct sn_http_server *server, struct sn_mailbox_task *task,
                         sn_mailbox_fn *run, void *user)
{
    sn_mailbox_post(server->mailbox, task, run, user);
}

bool sn_http_server_nudge(struct sn_http_server *server, struct sn_mailbox_task *task,
                          sn_mailbox_fn *run, void *user)
{
    return sn_mailbox_nudge(server->mailbox, task, run, user);
}

void sn_http_server_stir(struct sn_http_server *server)
{
    if (server->is_stirred)
        return;
    server->is_stirred = true;
    sn_mailbox_stir(server->mailbox);
}

/* --- turns --- */

int sn_http_server_fd(const struct sn_http_server *server)
{
    return server->poll_fd;
}

int sn_http_server_wait_ms(const struct sn_http_server *server)
{
    int wait = sn_clock_poll_ms(server->sweep_ns);
    for (const struct sn_http_spot *spot = server->spots; spot; spot = spot->next) {
        MHD_UNSIGNED_LONG_LONG ms;
        if (MHD_get_timeout(spot->daemon, &ms) != MHD_YES)
            continue;
        int own = ms < INT_MAX ? (int)ms : INT_MAX;
        wait = wait < 0 || own < wait ? own : wait;
    }
    return wait;
}

/* Posts have no link: they are looked for in any case, as are the daemons. */
static void take_events(struct sn_http_server *server)
{
    struct epoll_event events[EVENTS_A_TURN];
    int got = epoll_wait(server->poll_fd, events, EVENTS_A_TURN, 0);
    for (int i = 0; i < got; i++) {
        struct sn_http_watch *watch = events[i].data.ptr;
        if (watch && watch->is_linger)
            sn_http_linger_read(server, (struct sn_http_linger *)watch);
        else if (watch)
            sn_http_link_left((struct sn_http_link *)watch);
    }
}

int sn_http_server_turn(struct sn_http_server *server, struct sonde_error *err)
{
    take_events(server);
    sn_mailbox_turn(server->mailbox);
    server->is_stirred = false; /* from here on, by what is done below: for the next turn */
    for (struct sn_http_spot *spot = server->spots; spot; spot = spot->next) {
        if (MHD_run(spot->daemon) != MHD_YES)
            return sn_fail(err, SONDE_E_SYSTEM, 0, "cannot serve on %s", url_of(spot));
    }
    sn_http_link_sweep(server);
    return SONDE_OK;
}

unsigned sn_http_server_connection_count(const struct sn_http_server *server)
{
    return server->link_count;
}

/* libmicrohttpd does not end while a connection is suspended. */
static void lose_all(struct sn_http_server *server)
{
    for (struct sn_http_link *link = server->links; link; link = link->next) {
        if (link->exchange)
            sn_http_exchange_lose(link->exchange);
    }
}

void sn_http_server_free(struct sn_http_server *server)
{
    if (!server)
        return;
    if (server->mailbox)
        sn_mailbox_turn(server->mailbox);
    lose_all(server);
    while (server->spots) {
        struct sn_http_spot *spot = server->spots;
        server->spots = spot->next;
        free_spot(spot);
    }
    if (server->mailbox)
        sn_mailbox_turn(server->mailbox); /* of those who were told of ends */
    sn_http_linger_end_all(server);
    sn_close(server->poll_fd);
    sn_mailbox_free(server->mailbox);
    sn_table_done(&server->exchanges);
    free(server);
}
