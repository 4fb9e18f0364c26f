/* The controller's parts, as each of them sees the others. Owned by serve.c; everything in it is
 * there from before the first request until after the last. */
#ifndef SN_DAEMON_H
#define SN_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/serve.h"

struct sn_access;
struct sn_audit;
struct sn_exception_history;
struct sn_export_desk;
struct sn_exposure;
struct sn_event_topics;
struct sn_http_server;
struct sn_http_shared;
struct sn_operations;
struct sn_own_cost;
struct sn_roads;
struct sn_router;
struct sn_sight;
struct sn_stack_taking;
struct sn_state_topics;
struct sn_store_desk;
struct sn_topics;
struct sn_workers;

struct sn_daemon {
    const struct sn_serve_options *options; /* borrows */
    uint64_t start_ns;
    const char *const *urls;            /* of the places, where it listens; borrows */
    const struct sn_exposure *exposure; /* borrows */
    const char *browser_url;        /* of the first address on TCP that serves everything; NULL */
    struct sn_http_server *http;    /* the HTTP thread's */
    struct sn_http_shared *openapi; /* the HTTP thread's: openapi.c; NULL until somebody asks */
    struct sn_access *access;       /* the HTTP thread's */
    struct sn_audit *audit;         /* the HTTP thread's; NULL: nothing is written down */
    struct sn_router *router;       /* the HTTP thread's */
    struct sn_topics *topics;
    struct sn_state_topics *state_topics; /* the HTTP thread's */
    struct sn_workers *workers;
    struct sn_roads *roads;               /* sn_roads_post from elsewhere */
    struct sn_sight *sight;               /* which processes there are: sight.h */
    struct sn_store_desk *store;          /* the store's thread: store_desk.h; NULL: none is kept */
    struct sn_operations *operations;     /* the roads thread's */
    struct sn_event_topics *event_topics; /* the roads thread's; NULL until somebody reads one */
    struct sn_stack_taking *stack_taking; /* workers' */
    struct sn_exception_history *exceptions; /* the roads thread's; NULL: switched off */
    struct sn_export_desk *exporters;        /* the roads thread's, told to others; NULL: none */
    struct sn_own_cost *cost;                /* the roads thread's, told to others */
    size_t held_bytes;          /* the HTTP thread's: of large answers that still go out */
    unsigned file_reader_count; /* the HTTP thread's: answers that are files and still go out */
};

#endif
