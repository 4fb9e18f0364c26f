#include "daemon/reading_page.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/redact.h"
#include "daemon/rest_call.h"

#define PAGE_MAX (64u << 20)

struct sn_reading_page *sn_reading_page_new(struct sonde_error *err)
{
    struct sn_reading_page *page = calloc(1, sizeof(*page));
    if (!page) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for what a recording says");
        return NULL;
    }
    atomic_init(&page->reference_count, 1);
    page->text = sn_buf_with_limit(PAGE_MAX);
    return page;
}

int sn_reading_page_write(void *user, const void *bytes, size_t size)
{
    struct sn_reading_page *page = user;
    sn_buf_append(&page->text, bytes, size);
    return page->text.failed ? SONDE_E_LIMIT : SONDE_OK;
}

void *sn_reading_page_hold(void *result)
{
    struct sn_reading_page *page = result;
    atomic_fetch_add(&page->reference_count, 1);
    return page;
}

void sn_reading_page_release(void *result)
{
    struct sn_reading_page *page = result;
    if (atomic_fetch_sub(&page->reference_count, 1) != 1)
        return;
    sn_buf_done(&page->text);
    free(page);
}

size_t sn_reading_page_bytes(const void *result)
{
    const struct sn_reading_page *page = result;
    return page->text.size;
}

/* In a worker. Messages of exceptions are in it, and addresses. */
static void write_answer(struct sn_rest_call *call)
{
    const struct sn_reading_page *page = call->user;
    if (call->who.scope < SN_SCOPE_SECRETS)
        (void)sn_redact_text(&call->out, (const char *)page->text.bytes, page->text.size);
    else
        sn_buf_append(&call->out, page->text.bytes, page->text.size);
}

bool sn_reading_page_answer(struct sn_rest_call *call, const struct sn_reading_subject *of,
                            void *result, bool is_complete)
{
    (void)of;
    (void)is_complete;
    if (!result) {
        sn_rest_problem(call, 409, "it runs and has no data yet");
        return false;
    }
    call->user = sn_reading_page_hold(result);
    call->free_user = sn_reading_page_release;
    sn_rest_move(call, SN_SEAT_WORKER, write_answer);
    return true;
}
