/* A call's way through the threads: into the seat of its route, to other seats, and back with the
 * answer; and what happens when its client leaves meanwhile. Made, answered and freed in the HTTP
 * thread; between that it belongs to one seat at a time. */
#ifndef SN_JOURNEY_H
#define SN_JOURNEY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/mailbox.h"
#include "daemon/rest_call.h"

struct sn_http_exchange;

struct sn_journey {
    struct sn_rest_call call; /* first: the handler's part of it */
    struct sn_router *router; /* borrows */
    struct sn_journey *next;  /* of all that are under way */
    struct sn_journey **slot;
    void (*handle)(struct sn_rest_call *call); /* of the seat where it is */
    _Atomic int seat;
    _Atomic bool is_finished;
    _Atomic bool is_left; /* its client has gone */
    bool is_inside;       /* its handler runs */
    bool is_moving;
    bool is_answered;           /* the HTTP thread's: its way is over */
    bool is_replied;            /* the HTTP thread's: its exchange has the answer, and forgets it */
    bool has_news;              /* the HTTP thread's: `news` is on its way to its seat, or back */
    struct sn_mailbox_task way; /* to its seat, to the next one, and back: it is in one at a time */
    struct sn_mailbox_task news; /* that its client has gone: told once, beside its way */
    uint64_t start_ns;
    char *path;  /* owns; values point into it */
    char *query; /* owns; likewise */
    char *accept;
    char *base_url;
    char *asked;      /* owns; of answers that are shared (shared_page.h); else NULL */
    char target[256]; /* the path, for the audit log */
    char method[16];  /* likewise: HEAD has the route of GET */
    char peer[64];    /* likewise */
};

/* An empty one on `list`; NULL: no memory. */
struct sn_journey *sn_journey_new(struct sn_router *router, struct sn_journey **list);
void sn_journey_free(struct sn_journey *journey);

/* Begins, when everything that is asked is in the call. The answer may be there when it returns. */
void sn_journey_start(struct sn_journey *journey, struct sn_http_exchange *exchange);

#endif
