/* The answer of a call, onto the wire: its headers, those that every answer has, and its body or
 * the file that it follows. HTTP thread only. */
#ifndef SN_REST_REPLY_H
#define SN_REST_REPLY_H

#include <stddef.h>

#include "net/http_server.h"

struct sn_rest_call;

/* The call's body, or its reference to the file, goes with it. */
void sn_rest_reply(struct sn_rest_call *call, struct sn_http_exchange *exchange);

/* The same for a page that others are sent as well. */
struct sn_shared_page;
void sn_rest_reply_page(const struct sn_shared_page *page, struct sn_http_exchange *exchange);

/* What every answer has, whoever makes it. At most SN_REST_REPLY_COMMON of them; returns how many.
 */
#define SN_REST_REPLY_COMMON 6u
size_t sn_rest_reply_common(struct sn_http_header to[SN_REST_REPLY_COMMON]);

#endif
