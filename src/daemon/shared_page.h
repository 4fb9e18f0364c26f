/* Answers that are the same for all who ask within a moment: made once, never changed. HTTP thread
 * only. */
#ifndef SN_SHARED_PAGE_H
#define SN_SHARED_PAGE_H

#include <stdint.h>

#include "base/buf.h"
#include "daemon/access.h"

struct sn_http_shared;
struct sn_route;

#define SN_SHARED_PAGES_MAX 8u

struct sn_shared_page {
    const struct sn_route *route;
    enum sn_scope scope; /* of those who may see it so */
    char *asked;         /* owns: what was asked, word for word */
    uint64_t made_ns;
    struct sn_http_shared *body; /* owns a reference */
    const char *content_type;    /* static text */
};

struct sn_shared_pages {
    struct sn_shared_page *pages[SN_SHARED_PAGES_MAX]; /* owns; NULL: free */
};

/* What tells questions apart; NULL: it is too long to be kept. The caller frees it. */
char *sn_shared_page_question(const char *path, const char *query, const char *accept);

/* NULL: there is none, or it is too old. Borrowed until the next call. */
struct sn_shared_page *sn_shared_pages_find(struct sn_shared_pages *pages,
                                            const struct sn_route *route, enum sn_scope scope,
                                            const char *asked);

/* Takes `asked` and the body. NULL: no memory, and they are where they were. */
struct sn_shared_page *sn_shared_pages_put(struct sn_shared_pages *pages,
                                           const struct sn_route *route, enum sn_scope scope,
                                           char **asked, struct sn_buf *body);

void sn_shared_pages_done(struct sn_shared_pages *pages);

#endif
