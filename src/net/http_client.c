#include "net/http_client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "net/tls.h"
#include "net/url.h"
#include "net/waiter.h"
#include "net/wire.h"

#define NO_ADDRESS \
    "is no address of a controller: http://host:port, https://host:port or unix:/path"
#define REQUEST_LIMIT  (1u << 20)
#define KEY_MAX        4096u
#define TIMEOUT_NS     (10ull * SN_NS_PER_SECOND)
#define PIECE          (64u << 10)
#define PIECES_AT_ONCE 64u /* then others have their turn */
#define STALE_ATTEMPTS 2   /* a kept connection may have been closed meanwhile */

struct sn_http_client {
    struct sn_url url;
    char prefix[256]; /* of paths: "" or "/sonde" */
    char shown[160];
    char *key; /* owns; NULL: none */
    bool checks_peer;
    uid_t peer_uid;
    struct sn_tls_trust *trust; /* owns; NULL: no https */
    struct sn_waiter waiter;
    struct sn_wire wire;
    struct sn_buf head;
    struct sn_buf problem;
    sn_http_body_fn *take; /* of the request under way */
    void *user;
    bool is_reused; /* the wire has served before */
    bool is_open;   /* an answer is still to come */
    struct sn_http_answer answer;
    char piece[PIECE];
};

/* --- where to --- */

/* "unix:/path" is how people write it. */
static int read_url(struct sn_http_client *client, const char *text, struct sonde_error *err)
{
    char full[1200];
    bool is_short = strncmp(text, "unix:/", 6) == 0 && text[6] != '/';
    if (strlen(text) > sizeof(full) - 16)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the URL is too long");
    (void)snprintf(full, sizeof(full), "%s%s", is_short ? "unix://" : "",
                   is_short ? text + 5 : text);
    (void)sn_url_shown(text, client->shown);
    if (!strstr(full, "://"))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%s' " NO_ADDRESS, client->shown);
    int rc = sn_url_parse(full, &client->url, err);
    if (rc != SONDE_OK)
        return rc;
    if (client->url.scheme == SN_URL_UNIX)
        return SONDE_OK;
    if (client->url.scheme != SN_URL_HTTP && client->url.scheme != SN_URL_HTTPS)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%s' " NO_ADDRESS, client->shown);
    size_t size = strlen(client->url.path);
    while (size && client->url.path[size - 1] == '/')
        client->url.path[--size] = '\0';
    if (strchr(client->url.path, '?') || size >= sizeof(client->prefix))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "'%s': a controller's URL ends with its path; keys go into a file",
                       client->shown);
    memcpy(client->prefix, client->url.path, size + 1);
    return SONDE_OK;
}

static bool is_token(const char *key)
{
    size_t size = strlen(key);
    return size && size <= KEY_MAX &&
           strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/=") ==
               size;
}

static int set_up(struct sn_http_client *client, const struct sn_http_client_options *options,
                  struct sonde_error *err)
{
    int rc = read_url(client, options->url, err);
    if (rc == SONDE_OK && options->key && !is_token(options->key))
        rc = sn_fail(err, SONDE_E_ARGUMENT, 0,
                     "the key holds characters that no key has, or is empty"); /* never itself */
    if (rc != SONDE_OK)
        return rc;
    client->key = options->key ? strdup(options->key) : NULL;
    if (options->key && !client->key)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a key");
    if (client->url.scheme != SN_URL_HTTPS)
        return options->pin || options->ca_file
                   ? sn_fail(err, SONDE_E_ARGUMENT, 0,
                             "'%s' has no certificate to check: it is no https URL", client->shown)
                   : SONDE_OK;
    if (options->pin)
        return sn_tls_trust_pinned(options->pin, client->url.host, &client->trust, err);
    return sn_tls_trust_new(options->ca_file, client->url.host, &client->trust, err);
}

int sn_http_client_new(const struct sn_http_client_options *options,
                       struct sn_http_client **ret_client, struct sonde_error *err)
{
    uint64_t timeout_ns = options->timeout_ns ? options->timeout_ns : TIMEOUT_NS;
    struct sn_http_client *client = calloc(1, sizeof(*client));
    if (!client)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a client");
    client->head = sn_buf_with_limit(REQUEST_LIMIT);
    client->problem = sn_buf_with_limit(SN_HTTP_PROBLEM_MAX + 1);
    client->checks_peer = options->checks_peer;
    client->peer_uid = options->peer_uid;
    client->waiter.end_fd = -1;
    sn_wire_init(&client->wire, &client->waiter, timeout_ns);
    int rc = sn_waiter_init(&client->waiter, err);
    client->waiter.stop_fd = options->stop_fd;
    if (rc == SONDE_OK)
        rc = set_up(client, options, err);
    client->wire.trust = client->trust;
    if (rc != SONDE_OK) {
        sn_http_client_free(client);
        return rc;
    }
    *ret_client = client;
    return SONDE_OK;
}

void sn_http_client_free(struct sn_http_client *client)
{
    if (!client)
        return;
    sn_wire_close(&client->wire);
    sn_waiter_done(&client->waiter);
    sn_tls_trust_free(client->trust);
    sn_buf_done(&client->head);
    sn_buf_done(&client->problem);
    if (client->key)
        explicit_bzero(client->key, strlen(client->key));
    free(client->key);
    free(client);
}

/* --- the connection --- */

/* Another user may have made the socket where ours would be: nothing is told to him. */
static int check_peer(struct sn_http_client *client, struct sonde_error *err)
{
    struct ucred who = {0};
    socklen_t size = sizeof(who);
    if (!client->checks_peer || client->url.scheme != SN_URL_UNIX)
        return SONDE_OK;
    if (getsockopt(client->wire.fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return sn_fail_errno(err, "cannot see who listens at %s", client->url.path);
    if (who.uid == 0 || who.uid == client->peer_uid)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_DENIED, 0, "%s is another user's (uid %u)", client->url.path,
                   (unsigned)who.uid);
}

static int open_wire(struct sn_http_client *client, struct sonde_error *err)
{
    client->is_reused = sn_wire_is_open(&client->wire);
    if (client->is_reused) {
        client->wire.is_http = true; /* a Unix socket's too: what it says unasked is its end */
        if (sn_wire_is_alive(&client->wire))
            return SONDE_OK;
        sn_wire_close(&client->wire);
        client->is_reused = false;
    }
    int rc = sn_wire_open(&client->wire, &client->url, err);
    if (rc == SONDE_OK)
        rc = check_peer(client, err);
    if (rc != SONDE_OK)
        sn_wire_close(&client->wire);
    return rc;
}

/* --- what it says --- */

static int judge(const struct sn_http_client *client, struct sonde_error *err)
{
    static const struct {
        unsigned status;
        int means;
    } meanings[] = {
        {400, SONDE_E_ARGUMENT},  {401, SONDE_E_DENIED}, {403, SONDE_E_DENIED},
        {404, SONDE_E_NOT_FOUND}, {409, SONDE_E_BUSY},   {429, SONDE_E_BUSY},
        {503, SONDE_E_BUSY},
    };
    const struct sn_http_answer *answer = &client->answer;
    int means = SONDE_E_REFUSED;
    if (answer->status / 100 == 2)
        return SONDE_OK;
    if (answer->status / 100 == 3)
        return sn_fail(err, SONDE_E_REFUSED, 0,
                       "%s: HTTP %u %s: it sends us elsewhere, where we do not go", client->shown,
                       answer->status, answer->reason);
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (meanings[i].status == answer->status)
            means = meanings[i].means;
    }
    return sn_fail(err, means, 0, "%s: HTTP %u %s", client->shown, answer->status, answer->reason);
}

static int give_up(struct sn_http_client *client, const struct sonde_error *cause,
                   struct sonde_error *err)
{
    sn_wire_close(&client->wire);
    client->is_open = false;
    if (!cause->status) /* who took the body has had enough */
        return SONDE_END;
    /* A refusal without end is a refusal all the same. */
    if (cause->status == SONDE_E_LIMIT && sn_http_answer_has_head(&client->answer) &&
        client->answer.status / 100 != 2)
        return judge(client, err);
    if (sn_http_client_is_stopped(client))
        return sn_fail(err, SONDE_E_TIMEOUT, 0, "%s: stopped", client->shown);
    return sn_fail_because(err, cause, client->shown);
}

/* --- the request --- */

static bool is_path(const char *path)
{
    if (*path != '/')
        return false;
    for (; *path; path++) {
        if (*path <= ' ' || *path > '~' || *path == '#')
            return false;
    }
    return true;
}

static int write_request(struct sn_http_client *client, const struct sn_http_request *request,
                         struct sonde_error *err)
{
    char authority[272];
    struct sn_buf *head = &client->head;
    bool is_unix = client->url.scheme == SN_URL_UNIX;
    if (!is_path(request->path))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a path holds a character that it cannot");
    sn_buf_clear(head);
    sn_buf_format(head, "%s %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: sonde/%s\r\nAccept: %s\r\n",
                  request->method, client->prefix, request->path,
                  is_unix ? "localhost" : sn_url_authority(&client->url, authority), SONDE_VERSION,
                  request->accept ? request->accept : "*/*");
    if (client->key)
        sn_buf_format(head, "Authorization: Bearer %s\r\n", client->key);
    if (request->body)
        sn_buf_format(head, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                      request->body_size);
    else if (strcmp(request->method, "GET") != 0)
        sn_buf_text(head, "Content-Length: 0\r\n");
    sn_buf_text(head, "\r\n");
    if (request->body)
        sn_buf_append(head, request->body, request->body_size);
    return head->failed
               ? sn_fail(err, SONDE_E_LIMIT, 0, "a request has more than %u bytes", REQUEST_LIMIT)
               : SONDE_OK;
}

/* The body of a success goes on; of anything else the start is kept, for it says why. */
static int take_body(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct sn_http_client *client = user;
    if (client->answer.status / 100 == 2)
        return client->take ? client->take(client->user, bytes, size, err) : SONDE_OK;
    size_t room = SN_HTTP_PROBLEM_MAX - client->problem.size;
    if (size > room)
        return sn_fail(err, SONDE_E_LIMIT, 0, "the refusal has more than %u bytes",
                       SN_HTTP_PROBLEM_MAX);
    sn_buf_append(&client->problem, bytes, size);
    return SONDE_OK;
}

static void expect_answer(struct sn_http_client *client)
{
    sn_http_answer_init(&client->answer);
    sn_http_answer_deliver(&client->answer, take_body, client);
    sn_buf_clear(&client->problem);
    client->is_open = true;
}

int sn_http_client_send(struct sn_http_client *client, const struct sn_http_request *request,
                        struct sonde_error *err)
{
    struct sonde_error cause = {0};
    if (client->is_open) /* whatever is still to come of the last one, nobody waits for it */
        sn_wire_close(&client->wire);
    client->take = request->take;
    client->user = request->user;
    expect_answer(client);
    int rc = write_request(client, request, &cause);
    if (rc == SONDE_OK)
        rc = open_wire(client, &cause);
    if (rc == SONDE_OK)
        rc = sn_wire_send(&client->wire, client->head.bytes, client->head.size, &cause);
    if (client->key && client->head.bytes) /* there are none when there was no memory */
        explicit_bzero(client->head.bytes, client->head.size);
    if (rc == SONDE_OK)
        return SONDE_OK;
    return give_up(client, &cause, err);
}

/* --- the answer --- */

static int finish(struct sn_http_client *client, struct sonde_error *err)
{
    client->is_open = false;
    if (!client->answer.keeps_alive)
        sn_wire_close(&client->wire);
    return judge(client, err);
}

/* One piece. SONDE_AGAIN: there is more to come. */
static int receive_piece(struct sn_http_client *client, uint64_t deadline_ns,
                         struct sonde_error *err)
{
    size_t got = 0;
    size_t used = 0;
    int rc = sn_wire_receive(&client->wire, client->piece, sizeof(client->piece), deadline_ns, &got,
                             err);
    if (rc != SONDE_OK)
        return rc;
    if (!got && !sn_http_answer_has_begun(&client->answer))
        return sn_fail(err, SONDE_E_GONE, 0, "it closed the connection without an answer");
    rc = got ? sn_http_answer_feed(&client->answer, client->piece, got, &used, err)
             : sn_http_answer_end(&client->answer, err);
    if (used < got)
        client->answer.keeps_alive = false;
    return rc;
}

int sn_http_client_receive(struct sn_http_client *client, uint64_t deadline_ns,
                           struct sonde_error *err)
{
    struct sonde_error cause = {0};
    int rc = SONDE_AGAIN;
    if (!client->is_open)
        return sn_fail(err, SONDE_E_GONE, 0, "%s: nothing was asked", client->shown);
    for (unsigned i = 0; i < PIECES_AT_ONCE && rc == SONDE_AGAIN; i++) {
        rc = receive_piece(client, deadline_ns, &cause);
        if (rc == SONDE_E_TIMEOUT && sn_wire_is_open(&client->wire))
            return SONDE_AGAIN;
    }
    if (rc == SONDE_AGAIN)
        return rc;
    return rc == SONDE_OK ? finish(client, err) : give_up(client, &cause, err);
}

/* Each piece has the whole time: what comes slowly comes. */
static int receive_all(struct sn_http_client *client, struct sonde_error *err)
{
    struct sonde_error cause = {0};
    int rc = SONDE_AGAIN;
    while (rc == SONDE_AGAIN) {
        cause = (struct sonde_error){0};
        rc = receive_piece(client, sn_clock_deadline(client->wire.timeout_ns), &cause);
    }
    if (rc == SONDE_OK)
        return finish(client, err);
    return give_up(client, &cause, err);
}

/* A connection that was kept and had been closed says so only now: once more, on a new one. What
 * changes something is not repeated. */
static bool is_stale(const struct sn_http_client *client, const struct sn_http_request *request,
                     int status)
{
    return client->is_reused && !sn_http_answer_has_begun(&client->answer) &&
           (status == SONDE_E_GONE || status == SONDE_E_SYSTEM) &&
           strcmp(request->method, "GET") == 0;
}

int sn_http_client_ask(struct sn_http_client *client, const struct sn_http_request *request,
                       struct sonde_error *err)
{
    struct sonde_error cause = {0};
    int rc = SONDE_OK;
    for (int attempt = 0; attempt < STALE_ATTEMPTS; attempt++) {
        cause = (struct sonde_error){0};
        rc = sn_http_client_send(client, request, &cause);
        if (rc == SONDE_OK)
            rc = receive_all(client, &cause);
        if (rc >= 0)
            return rc;
        if (!is_stale(client, request, rc))
            break;
    }
    return sn_fail_as(err, &cause);
}

/* --- what is known --- */

int sn_http_client_fd(const struct sn_http_client *client)
{
    return client->wire.fd;
}

const struct sn_http_answer *sn_http_client_answer(const struct sn_http_client *client)
{
    return &client->answer;
}

const char *sn_http_client_problem(struct sn_http_client *client)
{
    return sn_buf_string(&client->problem);
}

bool sn_http_client_is_stopped(const struct sn_http_client *client)
{
    struct pollfd polled = {.fd = client->waiter.stop_fd, .events = POLLIN};
    return poll(&polled, 1, 0) > 0;
}

const char *sn_http_client_url(const struct sn_http_client *client)
{
    return client->shown;
}

void sn_http_client_set_timeout(struct sn_http_client *client, uint64_t timeout_ns)
{
    client->wire.timeout_ns = timeout_ns;
}
