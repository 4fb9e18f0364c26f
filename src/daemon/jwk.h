/* Public keys as JSON web keys (RFC 7517): elliptic curves and RSA. Foreign bytes. */
#ifndef SN_JWK_H
#define SN_JWK_H

#include <gnutls/abstract.h>
#include <stddef.h>

#include "sonde/error.h"

#define SN_JWK_TEXT_MAX 16384u /* base64url */

/* `text` is the base64url of the JSON; members may begin with a capital, as .NET writes them. What
 * there is of a private key is not looked at. The caller deinits it. */
int sn_jwk_read(const char *text, size_t size, gnutls_pubkey_t *ret_key, struct sonde_error *err);

#endif
