/* An HTTP/1.1 client for one server: asks, and hands the body of the answer on as it comes, however
 * long it is. Waits as long as its caller says and no longer than a stop is not asked for. Goes
 * nowhere but where it was sent: redirects are refused. One thread. */
#ifndef SN_HTTP_CLIENT_H
#define SN_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/http_answer.h"
#include "sonde/error.h"

#define SN_HTTP_PROBLEM_MAX (64u << 10) /* of the body of a refusal */

struct sn_http_client;

/* Borrowed until sn_http_client_new returns, but for `stop_fd`. */
struct sn_http_client_options {
    const char *url;     /* http://host:port/prefix, https://..., unix:/path */
    const char *key;     /* for Authorization: Bearer; NULL: none */
    const char *ca_file; /* authorities to trust (PEM); NULL: the system's */
    const char *pin;     /* SHA-256 of the certificate, in hex: trust that one alone; NULL */
    uint64_t timeout_ns; /* to connect, and for every piece of an answer; 0: ten seconds */
    int stop_fd;         /* readable: no wait goes on; -1: none */
    uid_t peer_uid;      /* of a Unix socket, with `checks_peer`: this user or root listens there */
    bool checks_peer;
};

struct sn_http_request {
    const char *method; /* "GET" */
    const char *path;   /* "/api/v1/processes?pid=1": encoded, behind the URL's prefix */
    const char *accept; /* NULL: anything */
    const char *body;   /* JSON; NULL: none */
    size_t body_size;
    sn_http_body_fn *take; /* of the body of a success; NULL: not wanted */
    void *user;
};

/* Connects to nobody yet. SONDE_E_ARGUMENT: the URL, the key or the pin cannot be read. */
int sn_http_client_new(const struct sn_http_client_options *options,
                       struct sn_http_client **ret_client, struct sonde_error *err);
void sn_http_client_free(struct sn_http_client *client); /* NULL is fine */

/* One request and its whole answer. Success is a status 2xx. SONDE_E_DENIED (401, 403, and a
 * certificate that is not trusted), _NOT_FOUND (404), _ARGUMENT (400), _BUSY (409, 429, 503),
 * _REFUSED (any other); _TIMEOUT, also when stopped; _FORMAT; _GONE; what `take` failed with, and
 * SONDE_END when it said that. */
int sn_http_client_ask(struct sn_http_client *client, const struct sn_http_request *request,
                       struct sonde_error *err);

/* The same in two steps, for answers that have no end: sends it; then receives what comes until
 * the deadline (0: what is there). SONDE_OK: all has come; SONDE_AGAIN: not yet. */
int sn_http_client_send(struct sn_http_client *client, const struct sn_http_request *request,
                        struct sonde_error *err);
int sn_http_client_receive(struct sn_http_client *client, uint64_t deadline_ns,
                           struct sonde_error *err);
int sn_http_client_fd(const struct sn_http_client *client); /* readable: receive; -1: closed */

/* Of the last answer. The problem is the body of what was no success, as far as it is kept, with a
 * NUL behind it. */
const struct sn_http_answer *sn_http_client_answer(const struct sn_http_client *client);
const char *sn_http_client_problem(struct sn_http_client *client);

/* Whether `stop_fd` is readable. */
bool sn_http_client_is_stopped(const struct sn_http_client *client);

/* As people may see it. */
const char *sn_http_client_url(const struct sn_http_client *client);

/* Changes the wait for the next requests. */
void sn_http_client_set_timeout(struct sn_http_client *client, uint64_t timeout_ns);

#endif
