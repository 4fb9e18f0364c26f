/* One request on its way through the controller, and the answer in the making. A call is in one
 * thread at a time: the router puts it into the seat that its route names, where its handler is a
 * plain function, and carries the answer back.
 *
 * A handler fills in the answer and returns; or parks the call and lets somebody finish it later,
 * in the same seat, with sn_rest_finish. Once a call is finished it is gone. */
#ifndef SN_REST_CALL_H
#define SN_REST_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "daemon/access.h"
#include "daemon/route.h"
#include "sonde/error.h"

struct sn_artefact;
struct sn_http_shared;
struct sn_daemon;

#define SN_REST_VALUES_MAX       16u
#define SN_REST_CALL_HEADERS_MAX 8u

struct sn_rest_call {
    /* What is asked; fixed. */
    struct sn_daemon *daemon;
    const struct sn_route *route;
    struct sn_identity who;
    const char *values[SN_REST_VALUES_MAX]; /* of the route's parameters, in their order; the
                                               default, or NULL */
    json_t *body;                           /* of routes that take one; else NULL */
    const char *accept;                     /* the header; "" */
    const char *base_url;                   /* "http://host:port/prefix", for Location */

    /* The answer. */
    unsigned status;               /* 200 */
    const char *content_type;      /* static text; application/json unless told */
    struct sn_buf out;             /* the body, unless ... */
    struct sn_http_shared *shared; /* ... it is this, as many get it; borrows, the HTTP seat's */
    struct sn_artefact *file;      /* ... it is this file, as it grows; owns a reference */
    bool is_trace; /* a raw one: secrets in it are covered for who may not see them */
    struct {
        const char *name; /* static text */
        char value[512];
    } headers[SN_REST_CALL_HEADERS_MAX];
    size_t header_count;

    /* Inside. */
    uint64_t exchange_id;
    bool is_parked;
    bool is_gone; /* its client has left: set in its seat; what it started for the client ends */
    void (*gone)(
        struct sn_rest_call *call); /* called in its seat when that happens to a parked call */
    void *user;                     /* of the handler */
    void (*free_user)(void *user);  /* at the call's end, wherever that is; may be NULL */
    uint32_t pid;                   /* likewise: which process is meant, once that is known */
    char about[96];                 /* likewise: what was made or changed, for the audit log; "" */
    struct sn_rest_call *next;
};

/* The value of a parameter by name; NULL: not given and no default. Numbers were checked. */
const char *sn_rest_text(const struct sn_rest_call *call, const char *name);
int64_t sn_rest_number(const struct sn_rest_call *call, const char *name);
/* Of seconds: as nanoseconds; `standard` when not given. */
uint64_t sn_rest_seconds_ns(const struct sn_rest_call *call, const char *name, uint64_t standard);
bool sn_rest_flag(const struct sn_rest_call *call, const char *name);

/* Whether the client takes this type, by its Accept; "" takes everything. */
bool sn_rest_accepts(const struct sn_rest_call *call, const char *type);

/* Whether it takes one of the types that the route answers with, if those are all there are; else
 * the call has its problem. */
bool sn_rest_is_acceptable(struct sn_rest_call *call);
/* Whether the client names this type itself (not by a pattern). */
bool sn_rest_prefers(const struct sn_rest_call *call, const char *type);
/* The same of any header with such a list: "gzip, br;q=0" lists gzip. */
bool sn_rest_lists(const char *header, const char *word);

void sn_rest_header(struct sn_rest_call *call, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The answer is a problem+json with this detail. */
void sn_rest_problem(struct sn_rest_call *call, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a parameter or a member of the body: 400 with `errors`. */
void sn_rest_invalid(struct sn_rest_call *call, const char *member, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a failed call of the library: not found 404, denied 403, limit 429, ... */
void sn_rest_failed(struct sn_rest_call *call, const struct sonde_error *err);

/* Leaves the call open; `gone` as above, may be NULL. Not in a worker, which has nothing to come
 * back to. */
void sn_rest_park(struct sn_rest_call *call, void (*gone)(struct sn_rest_call *call), void *user);
/* In the seat where it was parked: the answer is there. */
void sn_rest_finish(struct sn_rest_call *call);

/* Goes on with the call in another seat, where `handle` is its handler: choose a process in a
 * worker, then start an operation on the roads. Also for a parked call. Whoever says so returns at
 * once and touches the call no more. */
void sn_rest_move(struct sn_rest_call *call, enum sn_seat seat,
                  void (*handle)(struct sn_rest_call *call));

#endif
