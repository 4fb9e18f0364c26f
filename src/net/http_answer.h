/* The answer to an HTTP/1.1 request, read from bytes as they come: strict, bounded, without
 * allocation. Of the body only the start is kept; all of it goes to whoever wants it, as it comes.
 * What could be read in two ways is refused. */
#ifndef SN_HTTP_ANSWER_H
#define SN_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#define SN_HTTP_LINE_MAX    8192u
#define SN_HTTP_HEAD_MAX    (64u << 10) /* all lines together; of a delivered body, a chunk's */
#define SN_HTTP_BODY_MAX    (1u << 20)  /* of one that is delivered to nobody */
#define SN_HTTP_INTERIM_MAX 8u          /* answers 1xx before the real one */

enum sn_http_part {
    SN_HTTP_STATUS_LINE,
    SN_HTTP_HEADERS,
    SN_HTTP_BODY_SIZED, /* `left` more bytes */
    SN_HTTP_BODY_UNTIL_CLOSE,
    SN_HTTP_CHUNK_SIZE,
    SN_HTTP_CHUNK,     /* `left` more bytes */
    SN_HTTP_CHUNK_END, /* the empty line behind it */
    SN_HTTP_TRAILERS,
    SN_HTTP_COMPLETE,
};

/* Some of the body. A failure, or SONDE_END, ends the reading with that. */
typedef int sn_http_body_fn(void *user, const void *bytes, size_t size, struct sonde_error *err);

struct sn_http_answer {
    /* Known once its head is there, the excerpt as it comes. */
    unsigned status;        /* 200 */
    char reason[64];        /* "OK"; printable ASCII, as is the next */
    char excerpt[96];       /* how the body starts */
    uint32_t retry_after_s; /* 0: not said, or as a date */
    char type[64];          /* "application/json": the media type alone; "" */
    char location[256];     /* where it points to; "" also when that is longer */
    char server[64];        /* who answers, as it says */
    bool keeps_alive;       /* the connection can be used again */

    /* Inside. */
    enum sn_http_part part;
    bool is_http_1_0;
    bool has_length;
    bool is_chunked;
    uint64_t left;
    size_t head_size;
    uint64_t body_size;
    sn_http_body_fn *take; /* NULL: nobody wants the body, and it is bounded */
    void *user;
    unsigned interim_count;
    size_t line_size;
    char line[SN_HTTP_LINE_MAX];
};

void sn_http_answer_init(struct sn_http_answer *answer);

/* After init: the body goes there, however long it is. */
void sn_http_answer_deliver(struct sn_http_answer *answer, sn_http_body_fn *take, void *user);

/* SONDE_OK: complete, *ret_used of the bytes belonged to it. SONDE_AGAIN: all were, and there is
 * more to come. SONDE_E_FORMAT, _LIMIT, _UNSUPPORTED: the connection is of no more use. */
int sn_http_answer_feed(struct sn_http_answer *answer, const void *bytes, size_t size,
                        size_t *ret_used, struct sonde_error *err);

/* The peer has closed: complete with that, or SONDE_E_TRUNCATED. */
int sn_http_answer_end(struct sn_http_answer *answer, struct sonde_error *err);

/* Whether anything of it has come; whether its status and headers have. */
bool sn_http_answer_has_begun(const struct sn_http_answer *answer);
bool sn_http_answer_has_head(const struct sn_http_answer *answer);

#endif
