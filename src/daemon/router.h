/* From a request to its handler: which route, whether the asker may, whether what was asked is
 * sound; then the call goes on its journey. HTTP thread only. */
#ifndef SN_ROUTER_H
#define SN_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/route.h"
#include "sonde/error.h"

struct sn_daemon;
struct sn_http_exchange;
struct sn_journey;
struct sn_router;

int sn_router_new(struct sn_daemon *daemon, struct sn_router **ret_router, struct sonde_error *err);
void sn_router_free(struct sn_router *router); /* calls that are under way are forgotten */

/* The server's handler; `user` is the router. */
void sn_router_handle(void *user, struct sn_http_exchange *exchange);

/* The server's question: whether a request goes to a handler that takes its body as it comes. */
bool sn_router_is_early(void *user, const struct sn_http_exchange *exchange);

/* No new calls from now on: 503. */
void sn_router_close(struct sn_router *router);

/* A call was answered: counted, and told to the audit log. */
void sn_router_account(struct sn_router *router, const struct sn_journey *journey);

/* Answers with a page that others who ask the same are sent as well. False: it is not such a one.
 */
bool sn_router_share(struct sn_router *router, struct sn_journey *journey,
                     struct sn_http_exchange *exchange);

/* What it has counted. */
struct sn_router_numbers {
    uint64_t answered[600]; /* by status */
    uint64_t busy_ns;       /* from asking to answering, all together */
    uint32_t open_count;    /* calls that are under way */
    uint64_t scrape_count;  /* who asked for /metrics, and when last: 0, never */
    uint64_t scrape_utc_ns;
};
const struct sn_router_numbers *sn_router_numbers(const struct sn_router *router);

/* Whether a resource was switched off. */
bool sn_router_is_disabled(const struct sn_daemon *daemon, const char *resource);

#endif
