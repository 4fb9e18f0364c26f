/* Routes as data: what there is, who may, in which thread it runs, what it takes and gives. The
 * router, the parameter checks and the OpenAPI document all walk the same tables. */
#ifndef SN_ROUTE_H
#define SN_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/access.h"

struct sn_rest_call;

/* How long what is read by many at once may be the same page. */
#define SN_ROUTE_MOMENT_NS 200000000u

/* In which thread a handler runs, and whose state it may touch. */
enum sn_seat {
    SN_SEAT_HTTP = 0, /* at once; reads published snapshots only; never waits */
    SN_SEAT_ROADS,    /* hub, counters, operations; never waits */
    SN_SEAT_STORE,    /* the store; may wait for the disk */
    SN_SEAT_WORKER,   /* owns nothing; may take its time */
};

enum sn_parameter_kind {
    SN_PARAMETER_TEXT = 0,
    SN_PARAMETER_NUMBER, /* min to max */
    SN_PARAMETER_FLAG,   /* true, false */
    SN_PARAMETER_GUID,
    SN_PARAMETER_WORD,    /* one of `words` */
    SN_PARAMETER_WORDS,   /* a list of them, with commas */
    SN_PARAMETER_TIME,    /* RFC 3339, or seconds since 1970 */
    SN_PARAMETER_SECONDS, /* with decimals, min to max */
};

struct sn_parameter {
    const char *name; /* one that stands in the path as {name} is a path parameter */
    enum sn_parameter_kind kind;
    const char *summary;
    const char *standard; /* the default; NULL: none */
    const char *words;    /* "Cpu,Http,Logs" */
    int64_t min;
    int64_t max;
    bool is_required;
};

/* What may come back. */
struct sn_response {
    unsigned status;
    const char *types;  /* "application/json,text/csv"; "" for no body */
    const char *schema; /* of its JSON, in docs/formats/api-schemas.json; NULL: none */
    const char *summary;
};

struct sn_route {
    const char *method;   /* "GET" */
    const char *path;     /* "/api/v1/recordings/{id}" */
    const char *resource; /* "recordings": can be switched off by this name */
    enum sn_scope scope;
    enum sn_seat seat;
    bool is_stream;                        /* an event stream: answered by sn_topics, see topic.h */
    bool has_head;                         /* GET outside HTTP and store that starts nothing */
    const struct sn_parameter *parameters; /* ended by one without a name; NULL: none */
    const char *body_schema;               /* NULL: takes no body */
    bool takes_file; /* its body is a file, of any size: seat HTTP, handled before that has come */
    const struct sn_response *responses; /* ended by status 0; errors common to all are added */
    const char *summary;
    uint64_t share_ns; /* an answer is good so long for all of a scope who ask the same; 0: not */
    void (*handle)(struct sn_rest_call *call);
};

/* Whether each of its good answers has a body of a type that stands there: who takes none of them
 * is told so (406) before anything is done. */
bool sn_route_has_types(const struct sn_route *route);

/* Every table of routes, each ended by a route without a method; ended by NULL (routes.c). */
extern const struct sn_route *const sn_route_tables[];

#endif
