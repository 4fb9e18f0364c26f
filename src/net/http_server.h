/* HTTP/1.1 for many at once, in one thread: listens in any number of places, hands complete
 * requests to one handler, sends answers that are made at once, later, or bit by bit.
 *
 * Driven by its owner's poll loop: wait until its descriptor is readable or its time has passed,
 * then turn. Everything here belongs to that thread but sn_http_server_post and _nudge. What
 * libmicrohttpd leaves to its users is done here, once: deadlines for heads, bodies and readers,
 * the number of headers, ambiguous lengths, the cap on connections (the longest idle one makes
 * room), bodies that are too large. Who asks for something that cannot be, gets an answer before
 * the handler sees it.
 */
#ifndef SN_HTTP_SERVER_H
#define SN_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/mailbox.h"
#include "sonde/error.h"

struct sn_http_server;
struct sn_http_exchange; /* one request and its answer */

/* Zero means the default. */
struct sn_http_limits {
    unsigned connection_max;        /* 2048 */
    unsigned connection_max_of_one; /* from one address; 0: no such limit */
    size_t head_max;                /* 16 KiB: 431 */
    unsigned header_max;            /* 100: 431 */
    size_t body_max;                /* 1 MiB: 413 */
    uint64_t head_deadline_ns;      /* 10 s for a whole head */
    uint64_t body_patience_ns;      /* 10 s, after which a body must come at 1 KiB/s: 408 */
    uint64_t idle_max_ns;           /* 60 s between requests */
    uint64_t read_patience_ns; /* 60 s, after which a buffered answer must go at 64 KiB/s: cut */
};

/* A place to listen. */
struct sn_http_place {
    const char
        *address; /* "host:port", "[::1]:port", ":port"; port 0 takes a free one; NULL: see next */
    const char *unix_path;   /* a socket of mode 0600; replaced if nobody listens there */
    const char *certificate; /* PEM; NULL: no TLS */
    const char *key;         /* PEM */
    const char *authorities; /* PEM: client certificates are asked for; see sn_http_client_name */
    unsigned tag;            /* of the owner: requests say where they came in */
};

struct sn_http_header {
    const char *name;
    const char *value;
};

/* A body that comes bit by bit. `read` gives up to `size` bytes; 0: there is nothing yet, ask again
 * when sn_http_exchange_wake was called; SN_HTTP_END; SN_HTTP_ABORT: the connection is cut, so that
 * the reader knows. `done` is called once, whatever happens. */
#define SN_HTTP_END   ((ssize_t)-1)
#define SN_HTTP_ABORT ((ssize_t)-2)
struct sn_http_stream {
    ssize_t (*read)(void *user, char *to, size_t size);
    void (*done)(void *user, bool is_complete);
    void *user;
    uint64_t size; /* UINT64_MAX: not known, sent in chunks */
};

/* A body that many answers have in common: sent from where it is, never copied. From any thread. */
struct sn_http_shared;
struct sn_http_shared *
sn_http_shared_new(struct sn_buf *body); /* takes its bytes; NULL: no memory */
struct sn_http_shared *sn_http_shared_hold(struct sn_http_shared *shared);
void sn_http_shared_release(struct sn_http_shared *shared); /* NULL is fine */

/* An answer. Headers are copied, the body is taken. */
struct sn_http_reply {
    unsigned status;
    const struct sn_http_header *headers;
    size_t header_count;
    struct sn_buf *body;                 /* taken and left empty; or NULL */
    struct sn_http_shared *shared;       /* instead of it, held while it is sent; or NULL */
    const struct sn_http_stream *stream; /* instead of them; or NULL */
};

/* Called with a complete request. It answers now, or keeps the id and answers later. */
typedef void sn_http_handler_fn(void *user, struct sn_http_exchange *exchange);

int sn_http_server_new(const struct sn_http_limits *limits, sn_http_handler_fn *handle, void *user,
                       struct sn_http_server **ret_server, struct sonde_error *err);
/* Runs what was posted, ends every connection: `done` and `ended` of each are called. */
void sn_http_server_free(struct sn_http_server *server);

/* Asked of every head that is sound: true, and the handler is called at once, before the body has
 * come, however large that is. It answers, or says where the body goes (sn_http_exchange_take). */
typedef bool sn_http_early_fn(void *user, const struct sn_http_exchange *exchange);
void sn_http_server_set_early(struct sn_http_server *server, sn_http_early_fn *is_early);

/* *ret_url: "http://127.0.0.1:9464", where it listens; borrowed. May be NULL. */
int sn_http_server_listen(struct sn_http_server *server, const struct sn_http_place *place,
                          const char **ret_url, struct sonde_error *err);

int sn_http_server_fd(const struct sn_http_server *server);
int sn_http_server_wait_ms(const struct sn_http_server *server); /* -1: for ever */
int sn_http_server_turn(struct sn_http_server *server, struct sonde_error *err);

/* From any thread: calls `run` in the server's thread, soon, in the order of posting; the rules are
 * those of base/mailbox.h. The only things that may be called from elsewhere. */
void sn_http_server_post(struct sn_http_server *server, struct sn_mailbox_task *task,
                         sn_mailbox_fn *run, void *user);
bool sn_http_server_nudge(struct sn_http_server *server, struct sn_mailbox_task *task,
                          sn_mailbox_fn *run, void *user);

unsigned sn_http_server_connection_count(const struct sn_http_server *server);

/* --- an exchange --- */

/* Ids are never used twice. NULL: it is over, or its client has gone. */
uint64_t sn_http_exchange_id(const struct sn_http_exchange *exchange);
struct sn_http_exchange *sn_http_exchange_find(struct sn_http_server *server, uint64_t id);

const char *sn_http_exchange_method(const struct sn_http_exchange *exchange); /* "GET" */
const char *
sn_http_exchange_path(const struct sn_http_exchange *exchange); /* decoded once, no query */
const char *
sn_http_exchange_query(const struct sn_http_exchange *exchange); /* as it came, "" for none */
const char *sn_http_exchange_header(const struct sn_http_exchange *exchange,
                                    const char *name); /* or NULL */
const char *sn_http_exchange_body(const struct sn_http_exchange *exchange, size_t *ret_size);
unsigned sn_http_exchange_tag(const struct sn_http_exchange *exchange); /* of its place */
bool sn_http_exchange_is_tls(const struct sn_http_exchange *exchange);
const char *sn_http_exchange_peer(struct sn_http_exchange *exchange); /* "127.0.0.1:5123", "unix" */

/* Of a Unix socket: who is at the other end. False elsewhere. */
bool sn_http_exchange_credentials(const struct sn_http_exchange *exchange, pid_t *ret_pid,
                                  uid_t *ret_uid);

/* The name in a client certificate that our authorities vouch for; NULL: none was shown. */
const char *sn_http_exchange_client_name(struct sn_http_exchange *exchange);

/* Where a body goes that is not held in memory. `take` gets it piece by piece; false: no more for
 * now, and its sender waits until sn_http_exchange_wake. It may answer, too: what still comes is
 * dropped then, and a sender that has much more is cut off. `whole` is called behind the last
 * piece. If the client goes before, that is told as ever (sn_http_exchange_on_end). */
struct sn_http_taker {
    bool (*take)(void *user, const char *bytes, size_t size);
    void (*whole)(void *user);
    void *user;
    uint64_t rate; /* bytes a second that it must come at, once patience is over; 0: 1 KiB */
};
void sn_http_exchange_take(struct sn_http_exchange *exchange, const struct sn_http_taker *taker);

/* How long the body says it is; UINT64_MAX: it does not say, and comes in chunks. */
uint64_t sn_http_exchange_announced(const struct sn_http_exchange *exchange);

/* Once. Without it, an exchange stays open until its client goes. */
void sn_http_exchange_answer(struct sn_http_exchange *exchange, const struct sn_http_reply *reply);

/* Its stream has more; or its body may go on. */
void sn_http_exchange_wake(struct sn_http_exchange *exchange);

/* Told when the client has gone before its answer was complete, or it is complete. One a request.
 */
void sn_http_exchange_on_end(struct sn_http_exchange *exchange, void (*ended)(void *user),
                             void *user);

#endif
