/* One HTTP receiver to which messages are posted, over a wire that stays open between them. */
#ifndef SN_POST_H
#define SN_POST_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/http_answer.h"
#include "net/sender.h"
#include "net/url.h"
#include "net/wire.h"
#include "sonde/error.h"

struct sn_post {
    struct sn_buf head;      /* of every request, up to the length of its body */
    size_t fixed_size;       /* of it */
    uint64_t retry_after_ns; /* as the last answer asked; 0: it did not */
    struct sn_http_answer answer;
};

/* SONDE_E_ARGUMENT: a header that cannot be sent, or is ours to send. */
int sn_post_init(struct sn_post *post, const struct sn_url *url,
                 const struct sn_sender_options *options, struct sonde_error *err);
void sn_post_done(struct sn_post *post);

/* One request and its answer. SONDE_E_REFUSED: the receiver will never take it. SONDE_E_BUSY: it
 * may later. SONDE_E_GONE: the connection ended before an answer. After other failures, and where
 * the answer says so, the wire is closed. */
int sn_post_send(struct sn_post *post, struct sn_wire *wire, const void *bytes, size_t size,
                 struct sonde_error *err);

#endif
