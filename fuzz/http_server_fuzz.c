/* Any bytes as what a client sends: what the handler sees of them was there, once, in a form that
 * everybody reads alike; nothing else happens. Over a Unix socket, so that it is the real server.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/http_server.h"

static struct sn_http_server *server;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static const uint8_t *input;
static size_t input_size;
static unsigned open_count;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void ended(void *user)
{
    (void)user;
    open_count--;
}

static bool has_bytes(const char *bytes, size_t size)
{
    return !size || memmem(input, input_size, bytes, size);
}

static void check_path(const char *path)
{
    require(path[0] == '/');
    for (const unsigned char *at = (const unsigned char *)path; *at; at++)
        require(*at >= ' ' && *at != 0x7f);
}

static void handle(void *user, struct sn_http_exchange *exchange)
{
    (void)user;
    size_t size = 0;
    struct sn_buf out = sn_buf_with_limit(64);
    const char *method = sn_http_exchange_method(exchange);
    const char *query = sn_http_exchange_query(exchange);
    const char *body = sn_http_exchange_body(exchange, &size);
    const char *host = sn_http_exchange_header(exchange, "Host");
    open_count++;
    sn_http_exchange_on_end(exchange, ended, NULL);
    check_path(sn_http_exchange_path(exchange));
    require(has_bytes(method, strlen(method)) && has_bytes(query, strlen(query)));
    require(!host || has_bytes(host, strlen(host)));
    require(has_bytes(" HTTP/1.", 8));
    require(has_bytes("\r\n\r\n", 4) || has_bytes("\0\n", 2)); /* see http_head.c */
    require(size <= input_size && (!size || memchr(input, body[0], input_size)));
    require(sn_http_exchange_find(server, sn_http_exchange_id(exchange)) == exchange);
    sn_buf_text(&out, "seen");
    sn_http_exchange_answer(exchange, &(struct sn_http_reply){.status = 200, .body = &out});
}

/* Bodies of these go elsewhere as they come; every other piece makes its sender wait. */
static bool is_early(void *user, const struct sn_http_exchange *exchange)
{
    (void)user;
    check_path(sn_http_exchange_path(exchange));
    return strcmp(sn_http_exchange_path(exchange), "/take") == 0;
}

static struct {
    uint64_t id;
    uint64_t announced;
    uint64_t taken;
    bool is_waiting;
} taking;

static bool take(void *user, const char *bytes, size_t size)
{
    (void)user;
    require(size && has_bytes(bytes, 1) && size <= input_size);
    taking.taken += size;
    taking.is_waiting = !taking.is_waiting;
    return !taking.is_waiting;
}

static void whole(void *user)
{
    (void)user;
    require(taking.announced == UINT64_MAX || taking.taken == taking.announced);
    struct sn_http_exchange *exchange = sn_http_exchange_find(server, taking.id);
    require(exchange);
    sn_http_exchange_answer(exchange, &(struct sn_http_reply){.status = 201});
}

static void handle_any(void *user, struct sn_http_exchange *exchange)
{
    if (!is_early(user, exchange)) {
        handle(user, exchange);
        return;
    }
    open_count++;
    sn_http_exchange_on_end(exchange, ended, NULL);
    taking.id = sn_http_exchange_id(exchange);
    taking.announced = sn_http_exchange_announced(exchange);
    taking.taken = 0;
    taking.is_waiting = false;
    sn_http_exchange_take(exchange, &(struct sn_http_taker){.take = take, .whole = whole});
}

static void wake_waiting(void)
{
    struct sn_http_exchange *exchange =
        taking.is_waiting ? sn_http_exchange_find(server, taking.id) : NULL;
    taking.is_waiting = false;
    if (exchange)
        sn_http_exchange_wake(exchange);
}

static void start(void)
{
    static char folder[] = "/tmp/http-server-fuzz-XXXXXX";
    static char path[sizeof(folder) + 8];
    require(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    require(sn_http_server_new(NULL, handle_any, NULL, &server, NULL) == SONDE_OK);
    sn_http_server_set_early(server, is_early);
    require(sn_http_server_listen(server, &(struct sn_http_place){.unix_path = path}, NULL, NULL) ==
            SONDE_OK);
}

static void stop(void)
{
    char folder[sizeof(address.sun_path)];
    (void)snprintf(folder, sizeof(folder), "%s", address.sun_path);
    *strrchr(folder, '/') = '\0';
    sn_http_server_free(server);
    (void)rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char dropped[4096];
    if (!server) {
        start();
        (void)atexit(stop);
    }
    input = data;
    input_size = size;
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    require(client >= 0 && connect(client, (struct sockaddr *)&address, sizeof(address)) == 0);
    size_t sent = 0;
    bool is_open = true;
    for (int i = 0; i < 100 && is_open; i++) {
        ssize_t rc = sent < size ? send(client, data + sent, size - sent, MSG_NOSIGNAL) : 0;
        sent = rc > 0 ? sent + (size_t)rc : rc < 0 && errno != EAGAIN ? size : sent;
        if (sent == size)
            (void)shutdown(client, SHUT_WR);
        require(sn_http_server_turn(server, NULL) == SONDE_OK);
        wake_waiting();
        while ((rc = recv(client, dropped, sizeof(dropped), 0)) > 0)
            ;
        is_open = rc < 0 && errno == EAGAIN;
    }
    (void)close(client); /* half of a body is waited for a moment */
    for (int i = 0; i < 10 && sn_http_server_connection_count(server); i++)
        (void)sn_http_server_turn(server, NULL);
    require(!open_count && !sn_http_server_connection_count(server));
    return 0;
}
