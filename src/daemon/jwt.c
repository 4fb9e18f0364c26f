#include "daemon/jwt.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64url.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "daemon/jwk.h"
#include "net/tls.h"

struct sn_jwt_verifier {
    gnutls_pubkey_t key; /* owns */
    char *subject;       /* owns */
    char *issuer;        /* owns */
};

/* What a token may say of its signature. */
struct algorithm {
    const char *name;
    gnutls_sign_algorithm_t sign;
    gnutls_pk_algorithm_t key;
    size_t half; /* bytes of r and of s, which is the curve's; 0: RSA */
};

static const struct algorithm algorithms[] = {
    {"ES256", GNUTLS_SIGN_ECDSA_SHA256, GNUTLS_PK_ECDSA, 32},
    {"ES384", GNUTLS_SIGN_ECDSA_SHA384, GNUTLS_PK_ECDSA, 48},
    {"ES512", GNUTLS_SIGN_ECDSA_SHA512, GNUTLS_PK_ECDSA, 66},
    {"RS256", GNUTLS_SIGN_RSA_SHA256, GNUTLS_PK_RSA, 0},
    {"RS384", GNUTLS_SIGN_RSA_SHA384, GNUTLS_PK_RSA, 0},
    {"RS512", GNUTLS_SIGN_RSA_SHA512, GNUTLS_PK_RSA, 0},
};

/* A token in its parts: "header.payload.signature". */
struct parts {
    const char *token;
    size_t header_size;
    size_t signed_size; /* header, dot and payload */
    size_t size;
};

void sn_jwt_verifier_free(struct sn_jwt_verifier *verifier)
{
    if (!verifier)
        return;
    if (verifier->key)
        gnutls_pubkey_deinit(verifier->key);
    free(verifier->subject);
    free(verifier->issuer);
    free(verifier);
}

int sn_jwt_verifier_new(const char *public_key, const char *subject, const char *issuer,
                        struct sn_jwt_verifier **ret_verifier, struct sonde_error *err)
{
    if (!subject || !*subject)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "a public key for tokens needs the Subject that they are to have");
    int rc = sn_tls_start(err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_jwt_verifier_free)
    struct sn_jwt_verifier *verifier = calloc(1, sizeof(*verifier));
    if (!verifier || !(verifier->subject = strdup(subject)) ||
        !(verifier->issuer = strdup(issuer && *issuer ? issuer : SN_JWT_ISSUER)))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a public key");
    rc = sn_jwk_read(public_key, strlen(public_key), &verifier->key, err);
    if (rc == SONDE_OK)
        *ret_verifier = SN_TAKE(verifier);
    return rc;
}

const char *sn_jwt_subject(const struct sn_jwt_verifier *verifier)
{
    return verifier->subject;
}

/* --- the parts --- */

static int split(const char *token, size_t size, struct parts *ret_parts, struct sonde_error *err)
{
    const char *first = size <= SN_JWT_TOKEN_MAX ? memchr(token, '.', size) : NULL;
    const char *second = first ? memchr(first + 1, '.', size - (size_t)(first + 1 - token)) : NULL;
    if (!second || memchr(second + 1, '.', size - (size_t)(second + 1 - token)))
        return sn_fail(err, SONDE_E_FORMAT, 0, "this is no token of three parts");
    *ret_parts = (struct parts){token, (size_t)(first - token), (size_t)(second - token), size};
    return SONDE_OK;
}

/* The caller lets go of it. NULL: it is no object. */
static json_t *read_part(const char *text, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf plain = sn_buf_with_limit(SN_JWT_TOKEN_MAX);
    if (!size || !sn_base64url_decode(&plain, text, size))
        return NULL;
    json_t *json = json_loadb((const char *)plain.bytes, plain.size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(json)) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

static const struct algorithm *find_algorithm(const char *name)
{
    for (size_t i = 0; i < sizeof(algorithms) / sizeof(*algorithms); i++) {
        if (strcmp(algorithms[i].name, name) == 0)
            return &algorithms[i];
    }
    return NULL;
}

/* The header names the algorithm, but the key decides: one of another kind is refused. */
static int read_header(const struct sn_jwt_verifier *verifier, const struct parts *parts,
                       const struct algorithm **ret_algorithm, struct sonde_error *err)
{
    unsigned bits = 0;
    json_t *json = read_part(parts->token, parts->header_size);
    if (!json)
        return sn_fail(err, SONDE_E_FORMAT, 0, "the token's header is no JSON");
    const struct algorithm *algorithm = find_algorithm(text_of(json, "alg"));
    bool is_jwt = strcmp(text_of(json, "typ"), "JWT") == 0;
    bool is_critical = json_object_get(json, "crit") != NULL;
    json_decref(json);
    if (!is_jwt || is_critical)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the token's header should say typ JWT, and nothing critical");
    if (!algorithm)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "tokens are signed with ES256, ES384, ES512, RS256, RS384 or RS512");
    int kind = gnutls_pubkey_get_pk_algorithm(verifier->key, &bits);
    if (kind != (int)algorithm->key || (algorithm->half && bits != 8 * algorithm->half))
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the token's algorithm is not that of the public key");
    *ret_algorithm = algorithm;
    return SONDE_OK;
}

/* --- the signature --- */

/* Two numbers side by side, as tokens have them, become what GnuTLS takes. */
static int verify_curve(const struct sn_jwt_verifier *verifier, const struct algorithm *algorithm,
                        const gnutls_datum_t *data, const struct sn_buf *signature)
{
    gnutls_datum_t whole = {0};
    gnutls_datum_t r = {signature->bytes, (unsigned)algorithm->half};
    gnutls_datum_t s = {signature->bytes + algorithm->half, (unsigned)algorithm->half};
    if (signature->size != 2 * algorithm->half)
        return GNUTLS_E_PK_SIG_VERIFY_FAILED;
    int failed = gnutls_encode_rs_value(&whole, &r, &s);
    if (!failed)
        failed = gnutls_pubkey_verify_data2(verifier->key, algorithm->sign, 0, data, &whole);
    gnutls_free(whole.data);
    return failed;
}

static int check_signature(const struct sn_jwt_verifier *verifier, const struct parts *parts,
                           const struct algorithm *algorithm, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf signature = sn_buf_with_limit(SN_JWT_TOKEN_MAX);
    const char *from = parts->token + parts->signed_size + 1;
    size_t size = parts->size - parts->signed_size - 1;
    gnutls_datum_t data = {(unsigned char *)parts->token, (unsigned)parts->signed_size};
    if (!size || !sn_base64url_decode(&signature, from, size))
        return sn_fail(err, SONDE_E_FORMAT, 0, "the token's signature is not base64url");
    gnutls_datum_t datum = {signature.bytes, (unsigned)signature.size};
    int failed = algorithm->half
                     ? verify_curve(verifier, algorithm, &data, &signature)
                     : gnutls_pubkey_verify_data2(verifier->key, algorithm->sign, 0, &data, &datum);
    if (failed < 0)
        return sn_fail(err, SONDE_E_DENIED, 0, "the token was not signed by the configured key");
    return SONDE_OK;
}

/* --- the claims --- */

/* One text, or a list of them. */
static bool has_audience(const json_t *claims)
{
    const json_t *audience = json_object_get(claims, "aud");
    size_t count = json_is_array(audience) ? json_array_size(audience) : 1;
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_is_array(audience) ? json_array_get(audience, i) : audience;
        const char *text = json_string_value(one);
        if (text && strcmp(text, SN_JWT_AUDIENCE) == 0)
            return true;
    }
    return false;
}

/* A number, or one in quotes as generatekey of dotnet-monitor once wrote it. False: neither. */
static bool time_of(const json_t *claims, const char *name, uint64_t *ret_s)
{
    const json_t *value = json_object_get(claims, name);
    const char *text = json_string_value(value);
    double real = json_real_value(value);
    if (text)
        return *text >= '0' && *text <= '9' && sn_text_to_u64(text, INT64_MAX, ret_s);
    if (json_is_real(value) && real >= 0 && real < 9e15) {
        *ret_s = (uint64_t)real;
        return true;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *ret_s = (uint64_t)json_integer_value(value);
    return true;
}

static const char *find_fault(const struct sn_jwt_verifier *verifier, const json_t *claims,
                              uint64_t now_s)
{
    uint64_t until_s = 0;
    uint64_t from_s = 0;
    if (!has_audience(claims))
        return "the token is not for dotnet-monitor: its aud";
    if (strcmp(text_of(claims, "iss"), verifier->issuer) != 0)
        return "the token comes from somebody else: its iss";
    if (strcmp(text_of(claims, "sub"), verifier->subject) != 0)
        return "the token is for another instance: its sub";
    if (!time_of(claims, "exp", &until_s))
        return "the token has no end: its exp";
    if (until_s < UINT64_MAX - SN_JWT_SKEW_S && until_s + SN_JWT_SKEW_S <= now_s)
        return "the token has expired";
    if (json_object_get(claims, "nbf") &&
        (!time_of(claims, "nbf", &from_s) || from_s > now_s + SN_JWT_SKEW_S))
        return "the token is not yet valid: its nbf";
    return NULL;
}

static int check_claims(const struct sn_jwt_verifier *verifier, const struct parts *parts,
                        uint64_t now_s, struct sonde_error *err)
{
    json_t *claims = read_part(parts->token + parts->header_size + 1,
                               parts->signed_size - parts->header_size - 1);
    if (!claims)
        return sn_fail(err, SONDE_E_FORMAT, 0, "the token's payload is no JSON");
    const char *fault = find_fault(verifier, claims, now_s);
    json_decref(claims);
    return fault ? sn_fail(err, SONDE_E_DENIED, 0, "%s", fault) : SONDE_OK;
}

int sn_jwt_verify(const struct sn_jwt_verifier *verifier, const char *token, size_t size,
                  uint64_t now_s, struct sonde_error *err)
{
    struct parts parts = {0};
    const struct algorithm *algorithm = NULL;
    int rc = split(token, size, &parts, err);
    if (rc == SONDE_OK)
        rc = read_header(verifier, &parts, &algorithm, err);
    if (rc == SONDE_OK)
        rc = algorithm ? check_signature(verifier, &parts, algorithm, err) : SONDE_E_UNSUPPORTED;
    if (rc == SONDE_OK) /* what is not signed is not looked at */
        rc = check_claims(verifier, &parts, now_s, err);
    return rc;
}
