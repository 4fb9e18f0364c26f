/* Bodies that many answers have in common. */
#include <stdatomic.h>
#include <stdlib.h>

#include "net/http_parts.h"

struct sn_http_shared *sn_http_shared_new(struct sn_buf *body)
{
    struct sn_http_shared *shared = body->failed ? NULL : calloc(1, sizeof(*shared));
    if (!shared)
        return NULL;
    shared->reference_count = 1;
    shared->body = *body;
    *body = sn_buf_with_limit(body->limit);
    return shared;
}

struct sn_http_shared *sn_http_shared_hold(struct sn_http_shared *shared)
{
    (void)atomic_fetch_add(&shared->reference_count, 1);
    return shared;
}

void sn_http_shared_release(struct sn_http_shared *shared)
{
    if (!shared || atomic_fetch_sub(&shared->reference_count, 1) != 1)
        return;
    sn_buf_done(&shared->body);
    free(shared);
}

static void release(void *user)
{
    sn_http_shared_release(user);
}

struct MHD_Response *sn_http_shared_response(struct sn_http_shared *shared)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        shared->body.size, shared->body.bytes, release, shared);
    if (response)
        (void)sn_http_shared_hold(shared);
    return response;
}
