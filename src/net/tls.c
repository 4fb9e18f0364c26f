#include "net/tls.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"

#define FINGERPRINT_SIZE 32ul /* SHA-256 */
#define PRIORITIES       "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct sn_tls_trust {
    gnutls_certificate_credentials_t credentials;
    char *host; /* owns */
    bool is_pinned;
    uint8_t pin[FINGERPRINT_SIZE];
};

struct sn_tls {
    gnutls_session_t session;
    const struct sn_tls_trust *trust; /* borrows */
    bool is_open;                     /* hands were shaken */
    bool is_other;                    /* the certificate is not the pinned one, but: */
    uint8_t fingerprint[FINGERPRINT_SIZE];
};

/* --- trust --- */

/* Where distributions keep them; a static executable knows only its builder's place. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

static int add_system_authorities(gnutls_certificate_credentials_t credentials)
{
    int count = gnutls_certificate_set_x509_system_trust(credentials);
    for (size_t i = 0; count <= 0 && i < sizeof(bundles) / sizeof(bundles[0]); i++)
        count =
            gnutls_certificate_set_x509_trust_file(credentials, bundles[i], GNUTLS_X509_FMT_PEM);
    return count;
}

static int add_authorities(struct sn_tls_trust *trust, const char *ca_file, struct sonde_error *err)
{
    int count = ca_file ? gnutls_certificate_set_x509_trust_file(trust->credentials, ca_file,
                                                                 GNUTLS_X509_FMT_PEM)
                        : add_system_authorities(trust->credentials);
    if (count > 0)
        return SONDE_OK;
    if (!ca_file)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "this system has no list of certificate authorities: install "
                       "ca-certificates, or name a file of authorities to trust");
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "no certificate authority can be read from %.200s%s%s",
                   ca_file, count < 0 ? ": " : "", count < 0 ? gnutls_strerror(count) : "");
}

/* There in the static executable only, where the usual name does nothing: net/tls_late.c. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming) */
extern int __real_gnutls_global_init(void) __attribute__((weak));

int sn_tls_start(struct sonde_error *err)
{
    int failed = __real_gnutls_global_init ? __real_gnutls_global_init() : gnutls_global_init();
    if (failed)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "cannot set up TLS: %s",
                       gnutls_strerror(failed));
    return SONDE_OK;
}

static int new_trust(const char *host, struct sn_tls_trust **ret_trust, struct sonde_error *err)
{
    struct sn_tls_trust *trust = calloc(1, sizeof(*trust));
    if (!trust)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for TLS");
    trust->host = strdup(host);
    *ret_trust = trust;
    int rc = sn_tls_start(err);
    if (rc == SONDE_OK &&
        (!trust->host || gnutls_certificate_allocate_credentials(&trust->credentials) != 0))
        rc = sn_fail(err, SONDE_E_NOMEM, 0, "no memory for TLS");
    return rc;
}

int sn_tls_trust_new(const char *ca_file, const char *host, struct sn_tls_trust **ret_trust,
                     struct sonde_error *err)
{
    struct sn_tls_trust *trust = NULL;
    int rc = new_trust(host, &trust, err);
    if (rc == SONDE_OK && trust)
        rc = add_authorities(trust, ca_file, err);
    if (rc != SONDE_OK) {
        sn_tls_trust_free(trust);
        return rc;
    }
    *ret_trust = trust;
    return SONDE_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_pin(const char *text, uint8_t to[FINGERPRINT_SIZE], struct sonde_error *err)
{
    size_t digits = 0;
    for (const char *at = text; *at; at++) {
        int digit = hex_digit(*at);
        if (*at == ':' && digits && digits % 2 == 0)
            continue;
        if (digit < 0 || digits == 2 * FINGERPRINT_SIZE)
            digits = SIZE_MAX / 2; /* no number of digits */
        if (digits > 2 * FINGERPRINT_SIZE)
            break;
        to[digits / 2] = (uint8_t)((unsigned)to[digits / 2] << 4 | (unsigned)digit);
        digits++;
    }
    if (digits == 2 * FINGERPRINT_SIZE)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_ARGUMENT, 0,
                   "a certificate is pinned by its SHA-256: 64 hex digits, as 'openssl x509 "
                   "-fingerprint -sha256' prints them");
}

int sn_tls_trust_pinned(const char *pin, const char *host, struct sn_tls_trust **ret_trust,
                        struct sonde_error *err)
{
    struct sn_tls_trust *trust = NULL;
    int rc = new_trust(host, &trust, err);
    if (rc == SONDE_OK && trust)
        rc = read_pin(pin, trust->pin, err);
    if (rc != SONDE_OK || !trust) {
        sn_tls_trust_free(trust);
        return rc;
    }
    trust->is_pinned = true;
    *ret_trust = trust;
    return SONDE_OK;
}

void sn_tls_trust_free(struct sn_tls_trust *trust)
{
    if (!trust)
        return;
    if (trust->credentials)
        gnutls_certificate_free_credentials(trust->credentials);
    free(trust->host);
    free(trust);
}

/* --- a connection --- */

static bool is_again(ssize_t rc)
{
    return rc == GNUTLS_E_AGAIN || rc == GNUTLS_E_INTERRUPTED;
}

static bool is_address(const char *host)
{
    uint8_t address[16];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* Instead of authorities: this certificate, no other. */
static int verify_pin(gnutls_session_t session)
{
    struct sn_tls *tls = gnutls_session_get_ptr(session);
    unsigned count = 0;
    size_t size = sizeof(tls->fingerprint);
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    if (!chain || !count ||
        gnutls_fingerprint(GNUTLS_DIG_SHA256, &chain[0], tls->fingerprint, &size) != 0)
        return GNUTLS_E_CERTIFICATE_ERROR;
    tls->is_other = memcmp(tls->fingerprint, tls->trust->pin, sizeof(tls->fingerprint)) != 0;
    return tls->is_other ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

static int set_up(struct sn_tls *tls, const struct sn_tls_trust *trust, int fd)
{
    const char *host = trust->host;
    static const gnutls_datum_t http = {(unsigned char *)"http/1.1", 8};
    int rc = gnutls_init(&tls->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
    if (rc == 0)
        rc = gnutls_priority_set_direct(tls->session, PRIORITIES, NULL);
    if (rc == 0)
        rc = gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, trust->credentials);
    if (rc == 0 && !is_address(host)) /* numbers are not asked for by name */
        rc = gnutls_server_name_set(tls->session, GNUTLS_NAME_DNS, host, strlen(host));
    if (rc == 0)
        rc = gnutls_alpn_set_protocols(tls->session, &http, 1, 0);
    if (rc != 0)
        return rc;
    tls->trust = trust;
    gnutls_session_set_ptr(tls->session, tls);
    if (trust->is_pinned)
        gnutls_session_set_verify_function(tls->session, verify_pin);
    else
        gnutls_session_set_verify_cert(tls->session, host, 0);
    gnutls_transport_set_int(tls->session, fd);
    return 0;
}

static int fail_pin(const struct sn_tls *tls, const char *host, struct sonde_error *err)
{
    char hex[2 * FINGERPRINT_SIZE + 1];
    for (size_t i = 0; i < FINGERPRINT_SIZE; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", tls->fingerprint[i]);
    return sn_fail(err, SONDE_E_DENIED, 0,
                   "no TLS with %.100s: its certificate is not the pinned one, its SHA-256 is %s",
                   host, hex);
}

static int fail_handshake(struct sn_tls *tls, int failed, const char *host, struct sonde_error *err)
{
    gnutls_datum_t why = {0};
    if (tls->is_other)
        return fail_pin(tls, host, err);
    if (failed != GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR ||
        gnutls_certificate_verification_status_print(
            gnutls_session_get_verify_cert_status(tls->session), GNUTLS_CRT_X509, &why, 0) != 0)
        return sn_fail(err, SONDE_E_DENIED, 0, "no TLS with %.100s: %s", host,
                       gnutls_strerror(failed));
    int rc = sn_fail(err, SONDE_E_DENIED, 0, "no TLS with %.100s: %.*s", host,
                     (int)strcspn((const char *)why.data, "\n"), (const char *)why.data);
    gnutls_free(why.data);
    return rc;
}

static int shake_hands(struct sn_tls *tls, int fd, const char *host, struct sn_waiter *waiter,
                       uint64_t deadline_ns, struct sonde_error *err)
{
    int rc;
    while ((rc = gnutls_handshake(tls->session)) < 0) {
        if (gnutls_error_is_fatal(rc))
            return fail_handshake(tls, rc, host, err);
        if (is_again(rc) && sn_waiter_wait(waiter, fd, sn_tls_awaits(tls), deadline_ns) != SONDE_OK)
            return sn_fail(err, SONDE_E_TIMEOUT, 0, "no TLS with %.100s in time", host);
    }
    tls->is_open = true;
    return SONDE_OK;
}

int sn_tls_open(const struct sn_tls_trust *trust, int fd, struct sn_waiter *waiter,
                uint64_t deadline_ns, struct sn_tls **ret_tls, struct sonde_error *err)
{
    struct sn_tls *tls = calloc(1, sizeof(*tls));
    if (!tls)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for TLS");
    int failed = set_up(tls, trust, fd);
    int rc = failed ? sn_fail(err, SONDE_E_UNSUPPORTED, 0, "cannot set up TLS: %s",
                              gnutls_strerror(failed))
                    : shake_hands(tls, fd, trust->host, waiter, deadline_ns, err);
    if (rc != SONDE_OK) {
        sn_tls_close(tls);
        return rc;
    }
    *ret_tls = tls;
    return SONDE_OK;
}

void sn_tls_close(struct sn_tls *tls)
{
    if (!tls)
        return;
    if (tls->is_open)
        (void)gnutls_bye(tls->session, GNUTLS_SHUT_WR);
    if (tls->session)
        gnutls_deinit(tls->session);
    free(tls);
}

short sn_tls_awaits(const struct sn_tls *tls)
{
    return gnutls_record_get_direction(tls->session) ? POLLOUT : POLLIN;
}

/* A rehandshake of TLS 1.2 and other warnings are passed over: the next call goes on. */
static int status_of(ssize_t rc, size_t *ret_size, struct sonde_error *err)
{
    if (rc >= 0) {
        *ret_size = (size_t)rc;
        return SONDE_OK;
    }
    if (!gnutls_error_is_fatal((int)rc))
        return SONDE_AGAIN;
    return sn_fail(err, SONDE_E_GONE, 0, "the TLS connection ended: %s", gnutls_strerror((int)rc));
}

int sn_tls_send(struct sn_tls *tls, const void *bytes, size_t size, size_t *ret_size,
                struct sonde_error *err)
{
    return status_of(gnutls_record_send(tls->session, bytes, size), ret_size, err);
}

int sn_tls_receive(struct sn_tls *tls, void *to, size_t size, size_t *ret_size,
                   struct sonde_error *err)
{
    return status_of(gnutls_record_recv(tls->session, to, size), ret_size, err);
}
