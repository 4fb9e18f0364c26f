#include "daemon/jwk.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

#include "base/base64url.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"

#define JSON_LIMIT   (SN_JWK_TEXT_MAX)
#define NUMBER_LIMIT 1024u /* RSA of 8192 bits */
#define RSA_BITS_MIN 2048u

struct curve {
    const char *name;
    gnutls_ecc_curve_t curve;
    size_t size; /* of a coordinate */
};

static const struct curve curves[] = {{"P-256", GNUTLS_ECC_CURVE_SECP256R1, 32},
                                      {"P-384", GNUTLS_ECC_CURVE_SECP384R1, 48},
                                      {"P-521", GNUTLS_ECC_CURVE_SECP521R1, 66}};

/* "kty" or "Kty". */
static const char *text_of(const json_t *json, const char *name)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)json, key, value)
    {
        if (strcasecmp(key, name) == 0 && json_is_string(value))
            return json_string_value(value);
    }
    return NULL;
}

static int number_of(const json_t *json, const char *name, struct sn_buf *to,
                     struct sonde_error *err)
{
    const char *text = text_of(json, name);
    if (!text || !*text)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the public key has no '%s'", name);
    if (!sn_base64url_decode(to, text, strlen(text)))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%s' of the public key is not base64url", name);
    return SONDE_OK;
}

static gnutls_datum_t datum_of(const struct sn_buf *buf)
{
    return (gnutls_datum_t){buf->bytes, (unsigned)buf->size};
}

static int read_curve(const json_t *json, gnutls_pubkey_t key, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf x = sn_buf_with_limit(NUMBER_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf y = sn_buf_with_limit(NUMBER_LIMIT);
    const char *name = text_of(json, "crv");
    const struct curve *curve = NULL;
    for (size_t i = 0; i < sizeof(curves) / sizeof(*curves); i++) {
        if (name && strcmp(name, curves[i].name) == 0)
            curve = &curves[i];
    }
    if (!curve)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the curve of the public key is none of P-256, P-384 and P-521");
    int rc = number_of(json, "x", &x, err);
    if (rc == SONDE_OK)
        rc = number_of(json, "y", &y, err);
    if (rc != SONDE_OK)
        return rc;
    if (x.size != curve->size || y.size != curve->size)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the public key has too many or too few digits");
    gnutls_datum_t x_datum = datum_of(&x), y_datum = datum_of(&y);
    int failed = gnutls_pubkey_import_ecc_raw(key, curve->curve, &x_datum, &y_datum);
    if (!failed)
        failed = gnutls_pubkey_verify_params(key); /* a point that is not on its curve */
    return failed ? sn_fail(err, SONDE_E_ARGUMENT, 0, "the public key is none: %s",
                            gnutls_strerror(failed))
                  : SONDE_OK;
}

static int read_rsa(const json_t *json, gnutls_pubkey_t key, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf n = sn_buf_with_limit(NUMBER_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf e = sn_buf_with_limit(NUMBER_LIMIT);
    unsigned bits = 0;
    int rc = number_of(json, "n", &n, err);
    if (rc == SONDE_OK)
        rc = number_of(json, "e", &e, err);
    if (rc != SONDE_OK)
        return rc;
    if (e.size > 8)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the exponent of the public key is too large");
    gnutls_datum_t n_datum = datum_of(&n), e_datum = datum_of(&e);
    int failed = gnutls_pubkey_import_rsa_raw(key, &n_datum, &e_datum);
    if (failed)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the public key is none: %s",
                       gnutls_strerror(failed));
    if (gnutls_pubkey_get_pk_algorithm(key, &bits) != GNUTLS_PK_RSA || bits < RSA_BITS_MIN)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the public key has %u bits; %u are needed", bits,
                       RSA_BITS_MIN);
    return SONDE_OK;
}

static int read_json(const json_t *json, gnutls_pubkey_t key, struct sonde_error *err)
{
    const char *type = text_of(json, "kty");
    if (type && strcasecmp(type, "EC") == 0)
        return read_curve(json, key, err);
    if (type && strcasecmp(type, "RSA") == 0)
        return read_rsa(json, key, err);
    return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                   "the public key's type is neither EC nor RSA; nothing that is shared with who "
                   "signs is taken");
}

int sn_jwk_read(const char *text, size_t size, gnutls_pubkey_t *ret_key, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf plain = sn_buf_with_limit(JSON_LIMIT);
    gnutls_pubkey_t key = NULL;
    if (!size || size > SN_JWK_TEXT_MAX || !sn_base64url_decode(&plain, text, size))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "the public key should be the base64url of a JSON web key");
    json_t *json = json_loadb((const char *)plain.bytes, plain.size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(json)) {
        json_decref(json);
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the public key should be a JSON object");
    }
    int rc = gnutls_pubkey_init(&key) == 0
                 ? read_json(json, key, err)
                 : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a public key");
    json_decref(json);
    if (rc == SONDE_OK)
        *ret_key = key;
    else if (key)
        gnutls_pubkey_deinit(key);
    return rc;
}
