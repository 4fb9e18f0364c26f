/* What the files of the HTTP server share: its places, connections and exchanges. One thread. */
#ifndef SN_HTTP_PARTS_H
#define SN_HTTP_PARTS_H

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/table.h"
#include "net/http_server.h"
#include "net/listener.h"

#define SN_HTTP_PEER_SIZE 64

/* Where a connection stands; each phase has its deadline. */
enum sn_http_phase {
    SN_HTTP_IDLE,   /* no request, or not yet its first line */
    SN_HTTP_HEAD,   /* the first line was there */
    SN_HTTP_BODY,   /* the head was there */
    SN_HTTP_WORK,   /* the request was there: whatever time the answer takes */
    SN_HTTP_ANSWER, /* an answer that is held in memory goes out */
};

/* A place where we listen. */
struct sn_http_spot {
    struct sn_http_spot *next;
    struct sn_http_server *server;
    struct MHD_Daemon *daemon; /* owns */
    unsigned tag;
    bool is_tls;
    bool is_unix;
    bool has_authorities;                /* client certificates are asked for */
    char *unix_path;                     /* owns; NULL: TCP */
    dev_t unix_device;                   /* which file is ours */
    ino_t unix_inode;                    /* of it */
    char url[SN_LISTENER_NAME_SIZE + 8]; /* "" for a Unix socket: see unix_url */
    char *unix_url;                      /* owns */
};

/* What the server's epoll tells of; NULL there: something that is looked at in every turn. */
struct sn_http_watch {
    bool is_linger; /* of a sn_http_linger, else of a sn_http_link */
};

/* A connection that is over, but for what its client still sends. */
struct sn_http_linger {
    struct sn_http_watch watch;
    struct sn_http_linger *previous;
    struct sn_http_linger *next;
    uint64_t deadline_ns;
    size_t dropped;
    int fd; /* owns */
};

/* A connection. */
struct sn_http_link {
    struct sn_http_watch watch;
    struct sn_http_link *previous;
    struct sn_http_link *next;
    struct sn_http_spot *spot;
    struct MHD_Connection *connection;
    struct sn_http_exchange *exchange; /* the present one, or NULL */
    enum sn_http_phase phase;
    uint64_t since_ns;    /* of this phase */
    uint64_t deadline_ns; /* of this phase; UINT64_MAX: none */
    int fd;               /* borrows: libmicrohttpd's */
    uint64_t received;    /* while idle: bytes, when we last looked */
    bool has_begun;       /* while idle: there were more than before */
    bool has_asked;       /* not its first request */
    bool must_linger;     /* it was answered before all of its request was read */
    bool is_watched;      /* we are told when its client goes */
    bool has_left;        /* it went */
    uint64_t left_ns;     /* then */
    bool is_cut;          /* we closed it: libmicrohttpd will see */
};

struct sn_http_server {
    struct sn_http_limits limits;
    sn_http_handler_fn *handle;
    sn_http_early_fn *is_early; /* NULL: never */
    void *user;
    struct sn_http_spot *spots;     /* owns */
    struct sn_http_link *links;     /* owns: the newest first */
    unsigned link_count;            /* without those that are cut */
    struct sn_table exchanges;      /* id to exchange */
    struct sn_http_linger *lingers; /* owns */
    unsigned linger_count;
    uint64_t last_id;
    uint64_t sweep_ns; /* when the next deadline may have passed */
    int poll_fd; /* owns: an epoll of all places, of clients we wait for, and of the mailbox */
    struct sn_mailbox *mailbox; /* owns */
    bool is_stirred;            /* a turn must follow, and the mailbox says so */
};

/* A request and its answer. */
struct sn_http_exchange {
    uint64_t id;
    struct sn_http_link *link;
    struct MHD_Connection *connection;
    const char *uri;     /* as it came, in libmicrohttpd's memory; for the check of the head */
    size_t uri_size;     /* of it, before libmicrohttpd cut it up */
    char *path;          /* owns; decoded, and behind it: */
    const char *query;   /* as it came */
    const char *method;  /* libmicrohttpd's */
    const char *version; /* the same */
    struct sn_buf body;
    uint64_t announced;            /* length of the body; UINT64_MAX: not told */
    uint64_t body_size;            /* of all that came */
    uint64_t body_waited;          /* of it, before its sender had to wait for us */
    uint64_t dropped_size;         /* of it, behind an answer */
    struct sn_http_taker taker;    /* of its body; zeros: held in memory */
    struct MHD_Response *response; /* owns: made and not yet given to libmicrohttpd */
    unsigned status;
    size_t held_size; /* of the answer, in memory */
    struct sn_http_stream stream;
    void (*ended)(void *user);
    void *ended_user;
    char *client_name; /* owns */
    char peer[SN_HTTP_PEER_SIZE];
    bool has_head;     /* it was checked */
    bool is_early;     /* the handler is called before its body has come */
    bool is_whole;     /* its body has come, and its taker knows */
    bool is_handled;   /* the handler has seen it */
    bool is_answered;  /* sn_http_exchange_answer was called */
    bool is_suspended; /* libmicrohttpd leaves it alone until it is resumed */
    bool is_woken;     /* while its stream was read */
    bool is_full;      /* its taker wanted no more when it took last */
    bool is_gone;      /* its client went, or we cut it */
    bool is_name_known;
};

/* A body that many answers have in common. */
struct sn_http_shared {
    _Atomic unsigned reference_count;
    struct sn_buf body;
};

/* --- http_shared.c --- */

struct MHD_Response *sn_http_shared_response(struct sn_http_shared *shared); /* holds it */

/* --- http_server.c --- */

/* There is something to do in a turn of which no descriptor tells. */
void sn_http_server_stir(struct sn_http_server *server);

/* --- http_place.c --- */

/* Opens a place for `spot`: where it listens, its names. */
int sn_http_place_open(const struct sn_http_place *place, struct sn_http_spot *spot, int *ret_fd,
                       struct sonde_error *err);
void sn_http_place_close(struct sn_http_spot *spot); /* removes the file of a Unix socket */

/* --- http_head.c --- */

/* 0, or the status to refuse a request with; *ret_why says why. Sets path and query. */
unsigned sn_http_head_check(struct sn_http_exchange *exchange, const char **ret_why);

/* --- http_link.c --- */

void sn_http_link_phase(struct sn_http_link *link, enum sn_http_phase phase);
void sn_http_link_cut(struct sn_http_link *link);  /* seen by libmicrohttpd in its next turn */
void sn_http_link_left(struct sn_http_link *link); /* its client went */
bool sn_http_link_make_room(struct sn_http_server *server); /* false: nobody is idle */
void sn_http_link_sweep(struct sn_http_server *server);     /* cuts whose time has passed */

/* Callbacks of libmicrohttpd. */
enum MHD_Result sn_http_link_accept(void *user, const struct sockaddr *address, socklen_t size);
void sn_http_link_notify(void *user, struct MHD_Connection *connection, void **slot,
                         enum MHD_ConnectionNotificationCode what);

/* --- http_linger.c --- */

void sn_http_linger_begin(struct sn_http_server *server, int fd); /* which stays the caller's */
void sn_http_linger_read(struct sn_http_server *server, struct sn_http_linger *linger);
uint64_t sn_http_linger_sweep(struct sn_http_server *server, uint64_t now_ns); /* next deadline */
void sn_http_linger_end_all(struct sn_http_server *server);

/* --- http_exchange.c --- */

/* Its client went: the exchange ends in libmicrohttpd's next turn. */
void sn_http_exchange_lose(struct sn_http_exchange *exchange);

/* Callbacks of libmicrohttpd. */
void *sn_http_exchange_begin(void *user, const char *uri, struct MHD_Connection *connection);
enum MHD_Result sn_http_exchange_serve(void *user, struct MHD_Connection *connection,
                                       const char *path, const char *method, const char *version,
                                       const char *upload, size_t *upload_size, void **slot);
void sn_http_exchange_end(void *user, struct MHD_Connection *connection, void **slot,
                          enum MHD_RequestTerminationCode how);

#endif
