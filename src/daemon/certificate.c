#include "daemon/certificate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "daemon/token.h"
#include "net/tls.h"

#define FILE_LIMIT (1u << 20)
#define CHAIN_MAX  16u
#define CHAIN_FILE "certificate.pem"
#define KEY_FILE   "certificate-key.pem"
#define DAY_S      86400l
#define LIFE_S     (365 * DAY_S)
#define EARLY_S    (7 * DAY_S)

static void wipe(char *text)
{
    if (text)
        gnutls_memset(text, 0, strlen(text));
    free(text);
}

void sn_certificate_done(struct sn_certificate *certificate)
{
    free(certificate->chain);
    wipe(certificate->key);
    *certificate = (struct sn_certificate){0};
}

static int fail_tls(int failed, const char *what, struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "%.200s: %s", what, gnutls_strerror(failed));
}

/* --- reading --- */

static int read_text(const char *path, char **ret_text, struct sonde_error *err)
{
    struct sn_buf buf = sn_buf_with_limit(FILE_LIMIT);
    int rc = sn_file_read_at(AT_FDCWD, path, &buf, err);
    char *text = rc == SONDE_OK ? strdup(sn_buf_string(&buf)) : NULL;
    if (buf.bytes)
        gnutls_memset(buf.bytes, 0, buf.size);
    sn_buf_done(&buf);
    if (rc == SONDE_OK && !text)
        rc = sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a certificate");
    if (rc == SONDE_OK)
        *ret_text = text;
    return rc;
}

static int check_key_file(const char *path, struct sonde_error *err)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return sn_fail_errno(err, "cannot see the key file %.200s", path);
    if (facts.st_mode & S_IRWXO)
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "everybody can read the key file %.200s: 'chmod 600' it, and think of the "
                       "key as known",
                       path);
    return SONDE_OK;
}

static gnutls_datum_t datum_of(char *text)
{
    return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

/* The first of the chain; the caller deinits. */
static int first_of(char *chain, gnutls_x509_crt_t *ret_first)
{
    gnutls_x509_crt_t all[CHAIN_MAX];
    unsigned count = CHAIN_MAX;
    gnutls_datum_t text = datum_of(chain);
    int failed = gnutls_x509_crt_list_import(all, &count, &text, GNUTLS_X509_FMT_PEM,
                                             GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
    if (failed < 0)
        return failed;
    for (unsigned i = 1; i < count; i++)
        gnutls_x509_crt_deinit(all[i]);
    *ret_first = all[0];
    return 0;
}

static int check_pair(struct sn_certificate *certificate, struct sonde_error *err)
{
    gnutls_certificate_credentials_t credentials;
    gnutls_datum_t chain = datum_of(certificate->chain);
    gnutls_datum_t key = datum_of(certificate->key);
    int failed = gnutls_certificate_allocate_credentials(&credentials);
    if (failed)
        return fail_tls(failed, "cannot read certificates", err);
    failed = gnutls_certificate_set_x509_key_mem(credentials, &chain, &key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(credentials);
    return failed < 0 ? fail_tls(failed, "the certificate and its key cannot be used", err)
                      : SONDE_OK;
}

static int check_time(struct sn_certificate *certificate, const char *file, struct sonde_error *err)
{
    gnutls_x509_crt_t first = NULL;
    int failed = first_of(certificate->chain, &first);
    if (failed)
        return fail_tls(failed, file, err);
    time_t now = time(NULL);
    bool is_over = gnutls_x509_crt_get_expiration_time(first) <= now;
    bool is_early = gnutls_x509_crt_get_activation_time(first) > now;
    gnutls_x509_crt_deinit(first);
    if (is_over || is_early)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the certificate %.200s is %s: renew it", file,
                       is_over ? "over" : "not yet valid");
    return SONDE_OK;
}

int sn_certificate_load(const char *chain_file, const char *key_file,
                        struct sn_certificate *ret_certificate, struct sonde_error *err)
{
    struct sn_certificate certificate = {0};
    int rc = sn_tls_start(err);
    if (rc == SONDE_OK)
        rc = check_key_file(key_file, err);
    if (rc == SONDE_OK)
        rc = read_text(chain_file, &certificate.chain, err);
    if (rc == SONDE_OK)
        rc = read_text(key_file, &certificate.key, err);
    if (rc == SONDE_OK)
        rc = check_pair(&certificate, err);
    if (rc == SONDE_OK)
        rc = check_time(&certificate, chain_file, err);
    if (rc == SONDE_OK)
        *ret_certificate = certificate;
    else
        sn_certificate_done(&certificate);
    return rc;
}

int sn_certificate_authorities(const char *file, char **ret_text, struct sonde_error *err)
{
    char *text = NULL;
    gnutls_x509_crt_t first = NULL;
    int rc = sn_tls_start(err);
    if (rc == SONDE_OK)
        rc = read_text(file, &text, err);
    if (rc != SONDE_OK)
        return rc;
    int failed = first_of(text, &first);
    if (failed) {
        free(text);
        return fail_tls(failed, file, err);
    }
    gnutls_x509_crt_deinit(first);
    *ret_text = text;
    return SONDE_OK;
}

int sn_certificate_fingerprint(const struct sn_certificate *certificate, char to[65],
                               struct sonde_error *err)
{
    unsigned char hash[SN_HASH_SIZE];
    size_t size = sizeof(hash);
    gnutls_x509_crt_t first = NULL;
    int failed = first_of(certificate->chain, &first);
    if (!failed) {
        failed = gnutls_x509_crt_get_fingerprint(first, GNUTLS_DIG_SHA256, hash, &size);
        gnutls_x509_crt_deinit(first);
    }
    if (failed)
        return fail_tls(failed, "cannot read the certificate", err);
    for (size_t i = 0; i < sizeof(hash); i++)
        (void)snprintf(to + 2 * i, 3, "%02x", hash[i]);
    return SONDE_OK;
}

/* --- our own --- */

static void machine_name(char to[256])
{
    if (gethostname(to, 256) != 0 || !*to)
        (void)snprintf(to, 256, "localhost");
    to[255] = '\0';
}

static int add_names(gnutls_x509_crt_t made)
{
    static const char four[] = {127, 0, 0, 1};
    static const char six[16] = {[15] = 1};
    char name[256];
    machine_name(name);
    int failed = gnutls_x509_crt_set_dn_by_oid(made, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                               (unsigned)strnlen(name, 64));
    if (!failed)
        failed = gnutls_x509_crt_set_subject_alt_name(made, GNUTLS_SAN_DNSNAME, "localhost", 9,
                                                      GNUTLS_FSAN_SET);
    if (!failed && strcmp(name, "localhost") != 0)
        failed = gnutls_x509_crt_set_subject_alt_name(made, GNUTLS_SAN_DNSNAME, name,
                                                      (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
    if (!failed)
        failed = gnutls_x509_crt_set_subject_alt_name(made, GNUTLS_SAN_IPADDRESS, four,
                                                      sizeof(four), GNUTLS_FSAN_APPEND);
    if (!failed)
        failed = gnutls_x509_crt_set_subject_alt_name(made, GNUTLS_SAN_IPADDRESS, six, sizeof(six),
                                                      GNUTLS_FSAN_APPEND);
    return failed;
}

static int add_times(gnutls_x509_crt_t made)
{
    unsigned char serial[16];
    time_t now = time(NULL);
    int failed = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));
    serial[0] = (serial[0] & 0x7f) | 0x40; /* positive, and as long as it is */
    if (!failed)
        failed = gnutls_x509_crt_set_serial(made, serial, sizeof(serial));
    if (!failed)
        failed = gnutls_x509_crt_set_activation_time(made, now - DAY_S); /* clocks differ */
    if (!failed)
        failed = gnutls_x509_crt_set_expiration_time(made, now + LIFE_S);
    return failed;
}

static int sign(gnutls_x509_crt_t made, gnutls_x509_privkey_t key)
{
    int failed = gnutls_x509_crt_set_version(made, 3);
    if (!failed)
        failed = gnutls_x509_crt_set_key(made, key);
    if (!failed)
        failed = add_names(made);
    if (!failed)
        failed = add_times(made);
    if (!failed)
        failed = gnutls_x509_crt_set_basic_constraints(made, 0, -1);
    if (!failed)
        failed = gnutls_x509_crt_set_key_usage(made, GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (!failed)
        failed = gnutls_x509_crt_set_key_purpose_oid(made, GNUTLS_KP_TLS_WWW_SERVER, 0);
    return failed ? failed : gnutls_x509_crt_sign2(made, made, key, GNUTLS_DIG_SHA256, 0);
}

static char *text_of(gnutls_datum_t *datum)
{
    char *text = datum->data ? strndup((char *)datum->data, datum->size) : NULL;
    if (datum->data)
        gnutls_memset(datum->data, 0, datum->size);
    gnutls_free(datum->data);
    return text;
}

static int make(struct sn_certificate *certificate, struct sonde_error *err)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t made = NULL;
    gnutls_datum_t chain_text = {0}, key_text = {0};
    int failed = gnutls_x509_privkey_init(&key);
    if (!failed)
        failed = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                              GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (!failed)
        failed = gnutls_x509_crt_init(&made);
    if (!failed)
        failed = sign(made, key);
    if (!failed)
        failed = gnutls_x509_crt_export2(made, GNUTLS_X509_FMT_PEM, &chain_text);
    if (!failed)
        failed = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &key_text);
    if (made)
        gnutls_x509_crt_deinit(made);
    if (key)
        gnutls_x509_privkey_deinit(key);
    certificate->chain = text_of(&chain_text);
    certificate->key = text_of(&key_text);
    if (failed)
        return fail_tls(failed, "cannot make a certificate", err);
    return certificate->chain && certificate->key
               ? SONDE_OK
               : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a certificate");
}

static int write_file(const char *path, const char *text, struct sonde_error *err)
{
    char other[4096];
    if ((size_t)snprintf(other, sizeof(other), "%s.new", path) >= sizeof(other))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the path of the state folder is too long");
    (void)unlink(other);
    SN_AUTO(sn_close)
    int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sn_fail_errno(err, "cannot write %.200s", path);
    int rc = sn_file_write_all(fd, text, strlen(text), err);
    if (rc == SONDE_OK && rename(other, path) != 0)
        rc = sn_fail_errno(err, "cannot write %.200s", path);
    return rc;
}

/* Ours is good for a week more, and for the name that this machine has now. */
static bool is_good(struct sn_certificate *certificate)
{
    char name[256];
    gnutls_x509_crt_t first = NULL;
    machine_name(name);
    if (first_of(certificate->chain, &first) != 0)
        return false;
    bool is_ours = gnutls_x509_crt_check_hostname(first, name) &&
                   gnutls_x509_crt_get_expiration_time(first) > time(NULL) + EARLY_S;
    gnutls_x509_crt_deinit(first);
    return is_ours;
}

int sn_certificate_own(const char *folder, struct sn_certificate *ret_certificate,
                       struct sonde_error *err)
{
    char chain[4096];
    char key[4096];
    struct sn_certificate certificate = {0};
    if ((size_t)snprintf(chain, sizeof(chain), "%s/" CHAIN_FILE, folder) >= sizeof(chain) ||
        (size_t)snprintf(key, sizeof(key), "%s/" KEY_FILE, folder) >= sizeof(key))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the path of the state folder is too long");
    int rc = sn_tls_start(err);
    if (rc != SONDE_OK)
        return rc;
    if (sn_certificate_load(chain, key, &certificate, NULL) == SONDE_OK && is_good(&certificate)) {
        *ret_certificate = certificate;
        return SONDE_OK;
    }
    sn_certificate_done(&certificate);
    rc = make(&certificate, err);
    if (rc == SONDE_OK)
        rc = write_file(key, certificate.key, err);
    if (rc == SONDE_OK)
        rc = write_file(chain, certificate.chain, err);
    if (rc == SONDE_OK)
        *ret_certificate = certificate;
    else
        sn_certificate_done(&certificate);
    return rc;
}
