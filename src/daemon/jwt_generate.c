/* Makes what `dotnet-monitor generatekey` makes: a key, one token of it, and the settings that let
 * the token in. */
#include "daemon/jwt.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base64url.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "daemon/token.h"
#include "net/tls.h"

#define HALF   48u /* bytes of a number of P-384 */
#define HEADER "{\"alg\":\"ES384\",\"typ\":\"JWT\"}"

static int fail_crypto(int failed, struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "cannot make a key: %s", gnutls_strerror(failed));
}

/* Random, of version 4. */
static int make_guid(char to[37], struct sonde_error *err)
{
    char digits[33];
    int rc = sn_token_hex(digits, 16, err);
    if (rc != SONDE_OK)
        return rc;
    digits[12] = '4';
    digits[16] = "89ab"[digits[16] & 3];
    (void)snprintf(to, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8, digits + 12,
                   digits + 16, digits + 20);
    return SONDE_OK;
}

/* A number in exactly HALF bytes: GnuTLS leaves zeros out or puts one before. */
static void put_number(struct sn_buf *to, const gnutls_datum_t *number)
{
    const uint8_t *at = number->data;
    size_t size = number->size;
    for (; size > HALF; size--)
        at++;
    sn_buf_fill(to, 0, HALF - size);
    sn_buf_append(to, at, size);
}

static void put_coordinate(struct sn_buf *to, const char *name, const gnutls_datum_t *number)
{
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(HALF);
    put_number(&bytes, number);
    sn_buf_format(to, ",\"%s\":\"", name);
    sn_base64url_encode(to, bytes.bytes, bytes.size);
    sn_buf_text(to, "\"");
}

/* With the members that .NET writes, so that it reads them as its own. */
static int write_public(gnutls_privkey_t key, struct sn_jwt_generated *generated,
                        struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf json = sn_buf_with_limit(512);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(sizeof(generated->public_key) - 1);
    gnutls_ecc_curve_t curve;
    gnutls_datum_t x = {0}, y = {0};
    int failed = gnutls_privkey_export_ecc_raw2(key, &curve, &x, &y, NULL, 0);
    if (failed)
        return fail_crypto(failed, err);
    sn_buf_text(&json, "{\"AdditionalData\":{},\"Crv\":\"P-384\",\"KeyOps\":[],\"Kty\":\"EC\"");
    put_coordinate(&json, "X", &x);
    sn_buf_text(&json, ",\"X5c\":[]");
    put_coordinate(&json, "Y", &y);
    sn_buf_text(&json, ",\"KeySize\":384,\"HasPrivateKey\":false}");
    gnutls_free(x.data);
    gnutls_free(y.data);
    sn_base64url_encode(&text, json.bytes, json.size);
    (void)snprintf(generated->public_key, sizeof(generated->public_key), "%s",
                   sn_buf_string(&text));
    return json.failed || text.failed ? sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a key")
                                      : SONDE_OK;
}

static int sign(gnutls_privkey_t key, struct sn_buf *token, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit((size_t)2 * HALF);
    gnutls_datum_t data = {token->bytes, (unsigned)token->size};
    gnutls_datum_t whole = {0}, r = {0}, s = {0};
    int failed = gnutls_privkey_sign_data2(key, GNUTLS_SIGN_ECDSA_SHA384, 0, &data, &whole);
    if (!failed)
        failed = gnutls_decode_rs_value(&whole, &r, &s);
    gnutls_free(whole.data);
    if (failed)
        return fail_crypto(failed, err);
    put_number(&bytes, &r);
    put_number(&bytes, &s);
    gnutls_free(r.data);
    gnutls_free(s.data);
    sn_buf_text(token, ".");
    sn_base64url_encode(token, bytes.bytes, bytes.size);
    return SONDE_OK;
}

static int write_token(gnutls_privkey_t key, uint64_t life_s, struct sn_jwt_generated *generated,
                       struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf claims = sn_buf_with_limit(1024);
    SN_AUTO(sn_buf_done) struct sn_buf token = sn_buf_with_limit(sizeof(generated->token) - 1);
    struct sn_json json = sn_json_to(&claims);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "aud", SN_JWT_AUDIENCE);
    sn_json_u64(&json, "exp", sn_clock_utc_ns() / SN_NS_PER_SECOND + life_s);
    sn_json_text(&json, "iss", SN_JWT_ISSUER);
    sn_json_text(&json, "sub", generated->subject);
    sn_json_close(&json);
    sn_base64url_encode(&token, HEADER, strlen(HEADER));
    sn_buf_text(&token, ".");
    sn_base64url_encode(&token, claims.bytes, claims.size);
    int rc = claims.failed || token.failed ? sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a token")
                                           : sign(key, &token, err);
    (void)snprintf(generated->token, sizeof(generated->token), "%s", sn_buf_string(&token));
    if (rc == SONDE_OK && token.failed)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a token");
    return rc;
}

int sn_jwt_generate(uint64_t life_s, struct sn_jwt_generated *ret_generated,
                    struct sonde_error *err)
{
    gnutls_privkey_t key = NULL;
    if (!life_s || life_s > UINT32_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "a token is good for a second at least and a hundred years at most");
    int rc = sn_tls_start(err);
    if (rc != SONDE_OK)
        return rc;
    int failed = gnutls_privkey_init(&key);
    if (!failed)
        failed = gnutls_privkey_generate(key, GNUTLS_PK_ECDSA,
                                         GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP384R1), 0);
    rc = failed ? fail_crypto(failed, err) : make_guid(ret_generated->subject, err);
    if (rc == SONDE_OK)
        rc = write_public(key, ret_generated, err);
    if (rc == SONDE_OK)
        rc = write_token(key, life_s, ret_generated, err);
    if (key)
        gnutls_privkey_deinit(key);
    return rc;
}

/* --- as people get it --- */

static void print_json(struct sn_buf *to, const struct sn_jwt_generated *generated)
{
    sn_buf_format(to,
                  "{\n  \"Authentication\": {\n    \"MonitorApiKey\": {\n"
                  "      \"Subject\": \"%s\",\n      \"PublicKey\": \"%s\"\n    }\n  }\n}\n",
                  generated->subject, generated->public_key);
}

static void print_text(struct sn_buf *to, const struct sn_jwt_generated *generated)
{
    sn_buf_format(to, "Subject: %s\nPublic Key: %s\n", generated->subject, generated->public_key);
}

#define SETTING "Authentication__MonitorApiKey__"

static void print_cmd(struct sn_buf *to, const struct sn_jwt_generated *generated)
{
    sn_buf_format(to, "set " SETTING "Subject=%s\nset " SETTING "PublicKey=%s\n",
                  generated->subject, generated->public_key);
}

static void print_power_shell(struct sn_buf *to, const struct sn_jwt_generated *generated)
{
    sn_buf_format(to, "$env:" SETTING "Subject=\"%s\"\n$env:" SETTING "PublicKey=\"%s\"\n",
                  generated->subject, generated->public_key);
}

static void print_shell(struct sn_buf *to, const struct sn_jwt_generated *generated)
{
    sn_buf_format(to, "export " SETTING "Subject=\"%s\"\nexport " SETTING "PublicKey=\"%s\"\n",
                  generated->subject, generated->public_key);
}

/* All there is, for programs. */
static void print_machine_json(struct sn_buf *to, const struct sn_jwt_generated *generated)
{
    sn_buf_format(to,
                  "{\n  \"Authentication\": {\n    \"MonitorApiKey\": {\n"
                  "      \"Subject\": \"%s\",\n      \"PublicKey\": \"%s\"\n    }\n  },\n"
                  "  \"AuthorizationHeader\": \"Bearer %s\"\n}\n",
                  generated->subject, generated->public_key, generated->token);
}

static const struct {
    const char *name;
    void (*print)(struct sn_buf *to, const struct sn_jwt_generated *generated);
} formats[] = {
    {"Json", print_json},   {"Text", print_text},
    {"Cmd", print_cmd},     {"PowerShell", print_power_shell},
    {"Shell", print_shell}, {"MachineJson", print_machine_json},
};

int sn_jwt_print(struct sn_buf *to, const struct sn_jwt_generated *generated, const char *format,
                 struct sonde_error *err)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        if (strcasecmp(formats[i].name, format) != 0)
            continue;
        bool is_bare = formats[i].print == print_machine_json;
        if (!is_bare)
            sn_buf_format(to,
                          "Generated ApiKey for dotnet-monitor; use the following header for "
                          "authorization:\n\nAuthorization: Bearer %s\n\nSettings in %s format:\n",
                          generated->token, formats[i].name);
        formats[i].print(to, generated);
        if (!is_bare)
            sn_buf_text(to, "\n");
        return SONDE_OK;
    }
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "the format is one of Json, Text, Cmd, PowerShell, Shell and MachineJson");
}
