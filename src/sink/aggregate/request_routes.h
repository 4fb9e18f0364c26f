/* Requests added up by route, into a report: one line for each source, method, host and pattern, up
 * to a ceiling; the rest share one line a source. One thread. */
#ifndef SN_REQUEST_ROUTES_H
#define SN_REQUEST_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "model/report.h"

#define SN_NO_ROUTE UINT32_MAX

struct sn_request_routes {
    struct sn_report *report; /* borrows */
    struct sn_table index;    /* hash -> index + 1 */
    /* By source, until the best is known: */
    struct sn_series times[SN_REQUEST_SOURCES];
    uint64_t begun_count[SN_REQUEST_SOURCES];
    uint64_t unmatched_count[SN_REQUEST_SOURCES];
    uint64_t by_thread_count[SN_REQUEST_SOURCES];
};

void sn_request_routes_init(struct sn_request_routes *routes, struct sn_report *report);
void sn_request_routes_done(struct sn_request_routes *routes);

/* What a request is known by. Texts are copied. */
struct sn_route_name {
    enum sn_request_source source;
    const char *method;
    const char *pattern;
    const char *host; /* NULL for those served */
};

/* Its index, or SN_NO_ROUTE without memory. */
uint32_t sn_request_routes_put(struct sn_request_routes *routes, const struct sn_route_name *name);

/* NULL for SN_NO_ROUTE; dies with the next put. */
struct sn_route *sn_request_routes_at(const struct sn_request_routes *routes, uint32_t index);

/* How a request ended. */
struct sn_request_end {
    uint64_t at_ns;
    uint64_t time_ns; /* it took */
    uint32_t status;  /* 0: not told */
    bool is_failed;
};

void sn_request_routes_end(struct sn_request_routes *routes, enum sn_request_source source,
                           uint32_t index, const struct sn_request_end *end);

/* One by itself, where the report has a timeline. */
void sn_request_routes_show(const struct sn_request_routes *routes, uint32_t index,
                            const struct sn_request_end *how, bool is_open);

/* Drops what a better source told too, adds up and sorts. No puts after this. */
int sn_request_routes_finish(struct sn_request_routes *routes);

#endif
