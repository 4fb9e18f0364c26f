#include "daemon/shared_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "daemon/route.h"
#include "net/http_server.h"

#define ASKED_MAX 1024u
#define BODY_MAX  (4u << 20) /* what is larger is made anew */

char *sn_shared_page_question(const char *path, const char *query, const char *accept)
{
    char *asked = NULL;
    if (strlen(path) + strlen(query) + strlen(accept) > ASKED_MAX ||
        asprintf(&asked, "%s?%s\n%s", path, query, accept) < 0)
        return NULL;
    return asked;
}

static void free_page(struct sn_shared_page *page)
{
    if (!page)
        return;
    sn_http_shared_release(page->body);
    free(page->asked);
    free(page);
}

static bool is_old(const struct sn_shared_page *page)
{
    return sn_clock_monotonic_ns() - page->made_ns >= page->route->share_ns;
}

struct sn_shared_page *sn_shared_pages_find(struct sn_shared_pages *pages,
                                            const struct sn_route *route, enum sn_scope scope,
                                            const char *asked)
{
    struct sn_shared_page *found = NULL;
    for (size_t i = 0; i < SN_SHARED_PAGES_MAX; i++) {
        struct sn_shared_page *page = pages->pages[i];
        if (page && is_old(page))
            free_page(SN_TAKE(pages->pages[i]));
        else if (page && page->route == route && page->scope == scope &&
                 strcmp(page->asked, asked) == 0)
            found = page;
    }
    return found;
}

/* A free one, or the oldest. */
static struct sn_shared_page **find_room(struct sn_shared_pages *pages)
{
    struct sn_shared_page **oldest = &pages->pages[0];
    for (size_t i = 0; i < SN_SHARED_PAGES_MAX; i++) {
        struct sn_shared_page **slot = &pages->pages[i];
        if (!*slot)
            return slot;
        if ((*slot)->made_ns < (*oldest)->made_ns)
            oldest = slot;
    }
    free_page(SN_TAKE(*oldest));
    return oldest;
}

struct sn_shared_page *sn_shared_pages_put(struct sn_shared_pages *pages,
                                           const struct sn_route *route, enum sn_scope scope,
                                           char **asked, struct sn_buf *body)
{
    struct sn_shared_page *page = body->size <= BODY_MAX ? calloc(1, sizeof(*page)) : NULL;
    if (!page)
        return NULL;
    page->body = sn_http_shared_new(body);
    if (!page->body) {
        free(page);
        return NULL;
    }
    page->route = route;
    page->scope = scope;
    page->asked = SN_TAKE(*asked);
    page->made_ns = sn_clock_monotonic_ns();
    *find_room(pages) = page;
    return page;
}

void sn_shared_pages_done(struct sn_shared_pages *pages)
{
    for (size_t i = 0; i < SN_SHARED_PAGES_MAX; i++)
        free_page(SN_TAKE(pages->pages[i]));
}
