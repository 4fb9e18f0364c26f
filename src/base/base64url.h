/* Bytes as text that may stand in an address: base64 with '-' and '_', without padding. */
#ifndef SN_BASE64URL_H
#define SN_BASE64URL_H

#include <stdbool.h>
#include <stddef.h>

struct sn_buf;

void sn_base64url_encode(struct sn_buf *to, const void *bytes, size_t size);

/* Appends what `size` characters stand for. False, and nothing is appended: they are not base64url
 * (padding is taken, bits that no byte has are not), or `to` is full. */
bool sn_base64url_decode(struct sn_buf *to, const char *text, size_t size);

#endif
