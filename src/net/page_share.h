/* Pages that are made when somebody asks for them, as scrapers do: who asks the same within a tenth
 * of a second gets the same page. Bounded: 96 MB of pages that are being read (503 beyond), a
 * minute for reading one. The thread of the HTTP server. */
#ifndef SN_PAGE_SHARE_H
#define SN_PAGE_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/http_server.h"
#include "sonde/error.h"

struct sn_page_share;

struct sn_page_request {
    const char *path;
    const char *accept; /* the header, or "" */
};

/* Filled in by its maker. */
struct sn_page_response {
    unsigned status;          /* 200 */
    const char *content_type; /* borrowed until the maker's next call */
    struct sn_buf *body;      /* append to it */
};

typedef void sn_page_make_fn(void *user, const struct sn_page_request *request,
                             struct sn_page_response *response);

/* Zero means the default. */
struct sn_page_limits {
    size_t page_max;         /* 32 MiB: 500 */
    size_t held_max;         /* 96 MiB */
    uint64_t reading_max_ns; /* 60 s */
};

int sn_page_share_new(const struct sn_page_limits *limits, sn_page_make_fn *make, void *user,
                      struct sn_page_share **ret_share, struct sonde_error *err);
void sn_page_share_free(struct sn_page_share *share); /* after the server whose exchanges it has */

/* Answers GET and HEAD with a page, others with 405. */
void sn_page_share_answer(struct sn_page_share *share, struct sn_http_exchange *exchange);

#endif
