#include "net/page_server.h"

#include <limits.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "net/listener.h"

#define CONNECTIONS_MAX        64u
#define CONNECTIONS_MAX_OF_ONE 32u /* from one address: it does not lock out the others */
#define SILENCE_MAX_S          30u
#define REQUEST_MEMORY         (32u << 10) /* of one connection: the longest head of a request */
#define BODY_LIMIT             (32u << 20)
#define BODIES_LIMIT           (96u << 20)                /* of all pages that are being read */
#define READING_MAX_NS         (60ull * SN_NS_PER_SECOND) /* who takes longer is cut off */
#define MOMENT_NS              (100ull * SN_NS_PER_MS) /* who asks in the same one shares a page */
#define ASKED_SIZE             512u

/* A request under way: `seen` of libmicrohttpd. */
struct request {
    struct MHD_Connection *connection; /* NULL: this place is free */
    uint64_t end_ns;
};

struct sn_page_server {
    struct MHD_Daemon *daemon;
    sn_page_handler_fn *handle;
    void *user;
    size_t held_bytes; /* of pages that are being read, and of the shared one */
    struct request requests[CONNECTIONS_MAX];
    struct MHD_Response *shared; /* the page of this moment; NULL: none */
    unsigned shared_status;
    uint64_t shared_until_ns;
    char shared_asked[ASKED_SIZE]; /* what it answers */
    char url[SN_LISTENER_NAME_SIZE + 8];
};

/* A body on its way, until the last who reads it has it. */
struct page {
    struct sn_page_server *server;
    struct sn_buf body;
};

static const char *header(struct MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value ? value : "";
}

static void free_page(void *user)
{
    struct page *page = user;
    page->server->held_bytes -= page->body.size;
    sn_buf_done(&page->body);
    free(page);
}

/* Takes the bytes of `body`. NULL: no memory. */
static struct MHD_Response *make_response(struct sn_page_server *server, const char *content_type,
                                          struct sn_buf *body)
{
    struct page *page = malloc(sizeof(*page));
    if (!page) {
        sn_buf_done(body);
        return NULL;
    }
    *page = (struct page){server, *body};
    server->held_bytes += body->size;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->size, body->bytes, free_page, page);
    if (!response) {
        free_page(page);
        return NULL;
    }
    if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type) == MHD_YES)
        return response;
    MHD_destroy_response(response);
    return NULL;
}

static enum MHD_Result queue_text(struct sn_page_server *server, struct MHD_Connection *connection,
                                  unsigned status, const char *text)
{
    struct sn_buf body = sn_buf_with_limit(256);
    sn_buf_text(&body, text);
    struct MHD_Response *response = make_response(server, "text/plain; charset=utf-8", &body);
    enum MHD_Result rc = response ? MHD_YES : MHD_NO;
    if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        rc = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (rc == MHD_YES)
        rc = MHD_queue_response(connection, status, response);
    if (response)
        MHD_destroy_response(response);
    return rc;
}

/* --- pages --- */

static void forget_shared(struct sn_page_server *server)
{
    if (server->shared)
        MHD_destroy_response(server->shared);
    server->shared = NULL;
}

/* Many who ask at once, each of whom reads slowly, hold one page and not one each. */
static bool is_shared(const struct sn_page_server *server, const char *asked)
{
    return server->shared && sn_clock_monotonic_ns() < server->shared_until_ns &&
           strcmp(server->shared_asked, asked) == 0;
}

/* Takes the response. */
static void share(struct sn_page_server *server, const char *asked, unsigned status,
                  struct MHD_Response *response)
{
    forget_shared(server);
    server->shared = response;
    server->shared_status = status;
    server->shared_until_ns = sn_clock_deadline(MOMENT_NS);
    (void)snprintf(server->shared_asked, sizeof(server->shared_asked), "%s", asked);
}

static enum MHD_Result answer_anew(struct sn_page_server *server, struct MHD_Connection *connection,
                                   const struct sn_page_request *request, const char *asked)
{
    struct sn_buf body = sn_buf_with_limit(BODY_LIMIT);
    struct sn_page_response made = {
        .status = MHD_HTTP_OK, .content_type = "text/plain; charset=utf-8", .body = &body};
    forget_shared(server);
    server->handle(server->user, request, &made);
    bool is_large = body.failed;
    if (is_large || server->held_bytes + body.size > BODIES_LIMIT) {
        sn_buf_done(&body);
        return is_large ? queue_text(server, connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
                                     "the page is too large\n")
                        : queue_text(server, connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                     "too many are still reading\n");
    }
    struct MHD_Response *response = make_response(server, made.content_type, &body);
    if (!response)
        return MHD_NO;
    enum MHD_Result rc = MHD_queue_response(connection, made.status, response);
    share(server, asked, made.status, response);
    return rc;
}

static enum MHD_Result answer_page(struct sn_page_server *server, struct MHD_Connection *connection,
                                   const char *path, const char *method)
{
    char asked[ASKED_SIZE];
    struct sn_page_request request = {
        .method = method, .path = path, .accept = header(connection, MHD_HTTP_HEADER_ACCEPT)};
    int size = snprintf(asked, sizeof(asked), "%s %s %s", method, path, request.accept);
    bool fits = size > 0 && (size_t)size < sizeof(asked);
    if (fits && is_shared(server, asked))
        return MHD_queue_response(connection, server->shared_status, server->shared);
    return answer_anew(server, connection, &request, fits ? asked : "");
}

/* --- requests --- */

/* NULL: there are as many as connections. */
static struct request *add_request(struct sn_page_server *server, struct MHD_Connection *connection)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (!server->requests[i].connection) {
            server->requests[i] = (struct request){connection, sn_clock_deadline(READING_MAX_NS)};
            return &server->requests[i];
        }
    }
    return NULL;
}

static void forget_request(void *user, struct MHD_Connection *connection, void **seen,
                           enum MHD_RequestTerminationCode how)
{
    (void)user;
    (void)connection;
    (void)how;
    if (*seen)
        *(struct request *)*seen = (struct request){0};
}

/* A reader that takes a byte now and then is never silent. */
static void cut_off_slow_ones(struct sn_page_server *server)
{
    uint64_t now = sn_clock_monotonic_ns();
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        const struct request *request = &server->requests[i];
        if (!request->connection || now < request->end_ns)
            continue;
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info)
            (void)shutdown(info->connect_fd, SHUT_RDWR); /* seen in the next turn */
    }
}

/* Called when the head of a request is there, with each piece of its body, and at its end. How many
 * parameters there are is not ours to say. */
/* NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result serve(void *user, struct MHD_Connection *connection, const char *path,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_size, void **seen)
{
    (void)version;
    (void)upload;
    struct sn_page_server *server = user;
    bool is_head = !*seen;
    if (is_head && !(*seen = add_request(server, connection)))
        return MHD_NO;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return queue_text(server, connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                          "only GET and HEAD are served\n");
    if (is_head)
        return MHD_YES;
    if (*upload_size)
        return MHD_NO; /* a body has no business here: the connection ends */
    return answer_page(server, connection, path, method);
}

static struct MHD_Daemon *start(struct sn_page_server *server, int fd)
{
    return MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, serve, server, MHD_OPTION_LISTEN_SOCKET,
                            fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
                            MHD_OPTION_PER_IP_CONNECTION_LIMIT, CONNECTIONS_MAX_OF_ONE,
                            MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_MAX_S,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MEMORY,
                            MHD_OPTION_NOTIFY_COMPLETED, forget_request, server, MHD_OPTION_END);
}

int sn_page_server_new(const char *address, sn_page_handler_fn *handle, void *user,
                       struct sn_page_server **ret_server, struct sonde_error *err)
{
    char name[SN_LISTENER_NAME_SIZE] = "";
    SN_AUTO(sn_free) struct sn_page_server *server = calloc(1, sizeof(*server));
    SN_AUTO(sn_close) int fd = -1;
    if (!server)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a server");
    int rc = sn_listener_open(address, &fd, name, err);
    if (rc != SONDE_OK)
        return rc;
    server->handle = handle;
    server->user = user;
    (void)snprintf(server->url, sizeof(server->url), "http://%s", name);
    server->daemon = start(server, fd);
    if (!server->daemon)
        return sn_fail(err, SONDE_E_SYSTEM, 0, "cannot serve on %s", name);
    (void)sn_take_fd(&fd); /* the daemon's now */
    *ret_server = SN_TAKE(server);
    return SONDE_OK;
}

void sn_page_server_free(struct sn_page_server *server)
{
    if (!server)
        return;
    MHD_stop_daemon(server->daemon);
    forget_shared(server);
    free(server);
}

const char *sn_page_server_url(const struct sn_page_server *server)
{
    return server->url;
}

int sn_page_server_fd(const struct sn_page_server *server)
{
    return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int sn_page_server_wait_ms(const struct sn_page_server *server)
{
    MHD_UNSIGNED_LONG_LONG ms;
    if (MHD_get_timeout(server->daemon, &ms) != MHD_YES)
        return -1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

int sn_page_server_turn(struct sn_page_server *server, struct sonde_error *err)
{
    if (server->shared && sn_clock_monotonic_ns() >= server->shared_until_ns)
        forget_shared(server);
    cut_off_slow_ones(server);
    if (MHD_run(server->daemon) != MHD_YES)
        return sn_fail(err, SONDE_E_SYSTEM, 0, "cannot serve on %s", server->url);
    return SONDE_OK;
}
