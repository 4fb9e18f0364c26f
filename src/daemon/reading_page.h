/* What a reading of a recording says as JSON: written once for all who ask. */
#ifndef SN_READING_PAGE_H
#define SN_READING_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "sonde/error.h"

struct sn_reading_subject;
struct sn_rest_call;

struct sn_reading_page {
    _Atomic unsigned reference_count;
    struct sn_buf text;
};

/* With one reference; NULL: no memory. */
struct sn_reading_page *sn_reading_page_new(struct sonde_error *err);

/* A sonde_write_fn; `user` is the page. */
int sn_reading_page_write(void *user, const void *bytes, size_t size);

/* For a sn_reading_kind. The answer goes without secrets to who may not see them. */
void *sn_reading_page_hold(void *result);
void sn_reading_page_release(void *result);
size_t sn_reading_page_bytes(const void *result);
bool sn_reading_page_answer(struct sn_rest_call *call, const struct sn_reading_subject *of,
                            void *result, bool is_complete);

#endif
