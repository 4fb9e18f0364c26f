/* Any bytes as the answer of an HTTP server: whole and byte by byte they mean the same, also for
 * who wants its body; a failure has its cause, and what is shown is printable. */
#include <stdlib.h>
#include <string.h>

#include "net/http_answer.h"

static void check_text(const char *text, size_t capacity)
{
    size_t size = strnlen(text, capacity);
    if (size == capacity)
        abort();
    for (size_t i = 0; i < size; i++) {
        if (text[i] < ' ' || text[i] > '~')
            abort();
    }
}

/* What was delivered: its size and a sum of its bytes in their order. */
struct body {
    uint64_t size;
    uint64_t sum;
};

static int take_body(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct body *body = user;
    (void)err;
    if (!size)
        abort();
    for (size_t i = 0; i < size; i++)
        body->sum = body->sum * 31 + ((const uint8_t *)bytes)[i];
    body->size += size;
    return SONDE_OK;
}

static int feed(struct sn_http_answer *answer, const uint8_t *data, size_t size, size_t step,
                struct body *body, size_t *ret_total)
{
    struct sonde_error err = {0};
    int rc = SONDE_AGAIN;
    *ret_total = 0;
    sn_http_answer_init(answer);
    if (body)
        sn_http_answer_deliver(answer, take_body, body);
    while (rc == SONDE_AGAIN && *ret_total < size) {
        size_t used = 0;
        size_t left = size - *ret_total;
        rc = sn_http_answer_feed(answer, data + *ret_total, left < step ? left : step, &used, &err);
        *ret_total += used;
    }
    if (rc == SONDE_AGAIN)
        rc = sn_http_answer_end(answer, &err);
    if ((rc == SONDE_OK) != !err.text[0])
        abort();
    check_text(answer->reason, sizeof(answer->reason));
    check_text(answer->excerpt, sizeof(answer->excerpt));
    check_text(answer->type, sizeof(answer->type));
    check_text(answer->location, sizeof(answer->location));
    check_text(answer->server, sizeof(answer->server));
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed_twice(const uint8_t *data, size_t size, struct body *first, struct body *second)
{
    static struct sn_http_answer whole, bytes;
    size_t whole_size, bytes_size;
    int rc = feed(&whole, data, size, SIZE_MAX, first, &whole_size);
    if (feed(&bytes, data, size, 1, second, &bytes_size) != rc || whole.status != bytes.status)
        abort();
    if (rc == SONDE_OK &&
        (whole_size != bytes_size || whole.status < 200 || whole.status > 599 ||
         whole.keeps_alive != bytes.keeps_alive || strcmp(whole.excerpt, bytes.excerpt) != 0))
        abort();
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct body first = {0};
    struct body second = {0};
    int bounded = feed_twice(data, size, NULL, NULL);
    int rc = feed_twice(data, size, &first, &second);
    if (first.size != second.size || first.sum != second.sum || first.size > size)
        abort();
    if (bounded == SONDE_OK && rc != SONDE_OK) /* who wants the body gets at least as much */
        abort();
    return 0;
}
