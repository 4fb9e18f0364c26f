#include "daemon/token.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>

#include "base/base64url.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "net/tls.h"

#define RANDOM_SIZE 32u

static int fill(uint8_t *to, size_t size, struct sonde_error *err)
{
    int rc = sn_tls_start(err);
    int failed = rc == SONDE_OK ? gnutls_rnd(GNUTLS_RND_KEY, to, size) : 0;
    if (failed)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "no random numbers: %s",
                       gnutls_strerror(failed));
    return rc;
}

int sn_token_new(const char *prefix, char to[SN_TOKEN_SIZE], struct sonde_error *err)
{
    uint8_t bytes[RANDOM_SIZE];
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_TOKEN_SIZE);
    int rc = fill(bytes, sizeof(bytes), err);
    if (rc != SONDE_OK)
        return rc;
    sn_buf_text(&text, prefix);
    sn_base64url_encode(&text, bytes, sizeof(bytes));
    (void)snprintf(to, SN_TOKEN_SIZE, "%s", sn_buf_string(&text));
    gnutls_memset(bytes, 0, sizeof(bytes));
    gnutls_memset(text.bytes, 0, text.size);
    return *to ? SONDE_OK : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a token");
}

bool sn_token_hash(const char *text, size_t size, uint8_t to[SN_HASH_SIZE])
{
    return gnutls_hash_fast(GNUTLS_DIG_SHA256, text, size, to) == 0;
}

bool sn_token_is_same(const uint8_t a[SN_HASH_SIZE], const uint8_t b[SN_HASH_SIZE])
{
    return gnutls_memcmp(a, b, SN_HASH_SIZE) == 0;
}

int sn_token_hex(char *to, size_t count, struct sonde_error *err)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t byte;
        int rc = fill(&byte, 1, err);
        if (rc != SONDE_OK)
            return rc;
        (void)snprintf(to + 2 * i, 3, "%02x", byte);
    }
    return SONDE_OK;
}
