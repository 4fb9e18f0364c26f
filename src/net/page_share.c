#include "net/page_share.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

#define MOMENT_NS  (100ull * SN_NS_PER_MS)
#define ASKED_SIZE 512u
#define TYPE_SIZE  128u

/* One page, until the last who reads it has it. */
struct page {
    struct sn_page_share *share;
    unsigned reference_count;
    unsigned status;
    char content_type[TYPE_SIZE];
    struct sn_buf body;
};

struct sn_page_share {
    struct sn_page_limits limits;
    sn_page_make_fn *make;
    void *user;
    size_t held_bytes;    /* of pages that are being read, and of the present one */
    struct page *present; /* the page of this moment; NULL: none */
    uint64_t until_ns;
    char asked[ASKED_SIZE]; /* what it answers */
};

/* Somebody who reads a page. */
struct reader {
    struct page *page;
    size_t offset;
    uint64_t deadline_ns;
};

int sn_page_share_new(const struct sn_page_limits *limits, sn_page_make_fn *make, void *user,
                      struct sn_page_share **ret_share, struct sonde_error *err)
{
    struct sn_page_share *share = calloc(1, sizeof(*share));
    if (!share)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for pages");
    share->limits = limits ? *limits : (struct sn_page_limits){0};
    if (!share->limits.page_max)
        share->limits.page_max = 32u << 20;
    if (!share->limits.held_max)
        share->limits.held_max = 96u << 20;
    if (!share->limits.reading_max_ns)
        share->limits.reading_max_ns = 60ull * SN_NS_PER_SECOND;
    share->make = make;
    share->user = user;
    *ret_share = share;
    return SONDE_OK;
}

static void release(struct page *page)
{
    if (!page || --page->reference_count)
        return;
    page->share->held_bytes -= page->body.size;
    sn_buf_done(&page->body);
    free(page);
}

static void forget_present(struct sn_page_share *share)
{
    release(share->present);
    share->present = NULL;
}

void sn_page_share_free(struct sn_page_share *share)
{
    if (!share)
        return;
    forget_present(share);
    free(share);
}

/* --- readers --- */

/* Who takes a byte now and then is never silent: there is an end to that. */
static ssize_t read_page(void *user, char *to, size_t size)
{
    struct reader *reader = user;
    const struct sn_buf *body = &reader->page->body;
    size_t left = body->size - reader->offset;
    if (!left)
        return SN_HTTP_END;
    if (sn_clock_monotonic_ns() > reader->deadline_ns)
        return SN_HTTP_ABORT;
    size = left < size ? left : size;
    memcpy(to, body->bytes + reader->offset, size);
    reader->offset += size;
    return (ssize_t)size;
}

static void end_reader(void *user, bool is_complete)
{
    struct reader *reader = user;
    (void)is_complete;
    release(reader->page);
    free(reader);
}

static void answer_text(struct sn_http_exchange *exchange, unsigned status, const char *text)
{
    static const struct sn_http_header headers[] = {
        {"Content-Type", "text/plain; charset=utf-8"},
        {"Allow", "GET, HEAD"},
    };
    struct sn_buf body = sn_buf_with_limit(256);
    sn_buf_text(&body, text);
    struct sn_http_reply reply = {.status = status, .headers = headers, .body = &body};
    reply.header_count = status == 405 ? 2 : 1;
    sn_http_exchange_answer(exchange, &reply);
}

static void answer_page(struct sn_http_exchange *exchange, struct page *page)
{
    struct reader *reader = malloc(sizeof(*reader));
    if (!reader) {
        answer_text(exchange, 503, "no memory\n");
        return;
    }
    *reader = (struct reader){.page = page,
                              .deadline_ns = sn_clock_deadline(page->share->limits.reading_max_ns)};
    page->reference_count++;
    struct sn_http_header header = {"Content-Type", page->content_type};
    struct sn_http_stream stream = {
        .read = read_page, .done = end_reader, .user = reader, .size = page->body.size};
    sn_http_exchange_answer(exchange, &(struct sn_http_reply){.status = page->status,
                                                              .headers = &header,
                                                              .header_count = 1,
                                                              .stream = &stream});
}

/* --- pages --- */

/* Takes the bytes of `body`. NULL: no memory. */
static struct page *new_page(struct sn_page_share *share, const struct sn_page_response *made)
{
    struct page *page = calloc(1, sizeof(*page));
    if (!page) {
        sn_buf_done(made->body);
        return NULL;
    }
    page->share = share;
    page->reference_count = 1;
    page->status = made->status;
    page->body = *made->body;
    (void)snprintf(page->content_type, sizeof(page->content_type), "%s", made->content_type);
    share->held_bytes += page->body.size;
    return page;
}

static void answer_anew(struct sn_page_share *share, struct sn_http_exchange *exchange,
                        const struct sn_page_request *request, const char *asked)
{
    struct sn_buf body = sn_buf_with_limit(share->limits.page_max);
    struct sn_page_response made = {
        .status = 200, .content_type = "text/plain; charset=utf-8", .body = &body};
    forget_present(share);
    share->make(share->user, request, &made);
    bool is_large = body.failed;
    if (is_large || share->held_bytes + body.size > share->limits.held_max) {
        sn_buf_done(&body);
        answer_text(exchange, is_large ? 500 : 503,
                    is_large ? "the page is too large\n" : "too many are still reading\n");
        return;
    }
    share->present = new_page(share, &made);
    share->until_ns = sn_clock_deadline(MOMENT_NS);
    (void)snprintf(share->asked, sizeof(share->asked), "%s", asked);
    if (share->present)
        answer_page(exchange, share->present);
    else
        answer_text(exchange, 503, "no memory\n");
}

void sn_page_share_answer(struct sn_page_share *share, struct sn_http_exchange *exchange)
{
    const char *method = sn_http_exchange_method(exchange);
    const char *accept = sn_http_exchange_header(exchange, "Accept");
    struct sn_page_request request = {.path = sn_http_exchange_path(exchange),
                                      .accept = accept ? accept : ""};
    char asked[ASKED_SIZE];
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        answer_text(exchange, 405, "only GET and HEAD are served\n");
        return;
    }
    int size = snprintf(asked, sizeof(asked), "%s %s", request.path, request.accept);
    bool fits = size > 0 && (size_t)size < sizeof(asked);
    if (fits && share->present && sn_clock_monotonic_ns() < share->until_ns &&
        strcmp(share->asked, asked) == 0)
        answer_page(exchange, share->present);
    else
        answer_anew(share, exchange, &request, fits ? asked : "");
}
