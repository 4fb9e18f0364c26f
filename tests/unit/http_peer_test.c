/* Who is at the other end, over TLS: client certificates that our authority vouches for have a
 * name, others do not; old versions are refused. */
#include "http_client.h"

#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <time.h>

struct fixture {
    struct sn_http_server *server;
    uint16_t port;
    char client[64]; /* in a certificate */
    bool is_tls;
};

static void handle(void *user, struct sn_http_exchange *exchange)
{
    struct fixture *fixture = user;
    struct sn_buf body = sn_buf_with_limit(64);
    const char *client = sn_http_exchange_client_name(exchange);
    (void)snprintf(fixture->client, sizeof(fixture->client), "%s", client ? client : "");
    fixture->is_tls = sn_http_exchange_is_tls(exchange);
    sn_buf_text(&body, "hello\n");
    sn_http_exchange_answer(exchange, &(struct sn_http_reply){.status = 200, .body = &body});
}

struct identity {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    gnutls_datum_t key_pem;
    gnutls_datum_t certificate_pem;
};

/* Signed by `authority`, or by itself. */
static struct identity make_identity(const char *name, const char *purpose,
                                     const struct identity *authority)
{
    struct identity who = {0};
    time_t now = time(NULL);
    assert_int_equal(gnutls_x509_privkey_init(&who.key), 0);
    assert_int_equal(gnutls_x509_privkey_generate(who.key, GNUTLS_PK_ECDSA,
                                                  GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
                                                  0),
                     0);
    assert_int_equal(gnutls_x509_crt_init(&who.certificate), 0);
    assert_int_equal(gnutls_x509_crt_set_version(who.certificate, 3), 0);
    assert_int_equal(gnutls_x509_crt_set_serial(who.certificate, name, 2), 0);
    assert_int_equal(gnutls_x509_crt_set_dn_by_oid(who.certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                   name, (unsigned)strlen(name)),
                     0);
    (void)gnutls_x509_crt_set_activation_time(who.certificate, now - 3600);
    (void)gnutls_x509_crt_set_expiration_time(who.certificate, now + 3600);
    (void)gnutls_x509_crt_set_ca_status(who.certificate, !authority);
    (void)gnutls_x509_crt_set_key_usage(who.certificate, authority ? GNUTLS_KEY_DIGITAL_SIGNATURE
                                                                   : GNUTLS_KEY_KEY_CERT_SIGN);
    if (purpose)
        (void)gnutls_x509_crt_set_key_purpose_oid(who.certificate, purpose, 0);
    assert_int_equal(gnutls_x509_crt_set_key(who.certificate, who.key), 0);
    const struct identity *by = authority ? authority : &who;
    assert_int_equal(
        gnutls_x509_crt_sign2(who.certificate, by->certificate, by->key, GNUTLS_DIG_SHA256, 0), 0);
    assert_int_equal(gnutls_x509_privkey_export2(who.key, GNUTLS_X509_FMT_PEM, &who.key_pem), 0);
    assert_int_equal(
        gnutls_x509_crt_export2(who.certificate, GNUTLS_X509_FMT_PEM, &who.certificate_pem), 0);
    return who;
}

static void free_identity(struct identity *who)
{
    gnutls_x509_privkey_deinit(who->key);
    gnutls_x509_crt_deinit(who->certificate);
    gnutls_free(who->key_pem.data);
    gnutls_free(who->certificate_pem.data);
}

/* Asks as `who` (NULL: nobody) and with `priorities`; false: hands were not shaken. */
static bool ask_with_tls(struct fixture *fixture, const struct identity *who,
                         const char *priorities, char *answer, size_t size)
{
    static const char request[] = "GET /who HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
    uint64_t deadline = sn_clock_deadline(20ull * SN_NS_PER_SECOND);
    SN_AUTO(sn_close) int client = http_connect(fixture->port);
    assert_int_equal(fcntl(client, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(gnutls_certificate_allocate_credentials(&credentials), 0);
    if (who)
        assert_int_equal(gnutls_certificate_set_x509_key_mem(credentials, &who->certificate_pem,
                                                             &who->key_pem, GNUTLS_X509_FMT_PEM),
                         0);
    assert_int_equal(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
    assert_int_equal(gnutls_priority_set_direct(session, priorities, NULL), 0);
    assert_int_equal(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials), 0);
    gnutls_transport_set_int(session, client);
    ssize_t rc;
    size_t held = 0;
    while ((rc = gnutls_handshake(session)) == GNUTLS_E_AGAIN) {
        (void)http_turn(fixture->server, -1, 5);
        assert_true(sn_clock_monotonic_ns() < deadline);
    }
    bool is_open = rc == 0;
    if (is_open)
        assert_int_equal(gnutls_record_send(session, request, sizeof(request) - 1),
                         sizeof(request) - 1);
    while (is_open && (rc = gnutls_record_recv(session, answer + held, size - 1 - held)) != 0 &&
           (rc > 0 || rc == GNUTLS_E_AGAIN)) {
        held += rc > 0 ? (size_t)rc : 0;
        (void)http_turn(fixture->server, -1, 5);
        assert_true(sn_clock_monotonic_ns() < deadline);
    }
    answer[held] = '\0';
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    return is_open;
}

static void with_tls_clients_may_have_names(void **state)
{
    static const char any[] = "NORMAL", old[] = "NORMAL:-VERS-ALL:+VERS-TLS1.1:%COMPAT";
    static const char elder[] = "NORMAL:-VERS-ALL:+VERS-TLS1.2";
    struct fixture fixture_space = {0};
    struct fixture *fixture = &fixture_space;
    (void)state;
    struct identity authority = make_identity("our authority", NULL, NULL);
    struct identity foreign = make_identity("another authority", NULL, NULL);
    struct identity server = make_identity("server", GNUTLS_KP_TLS_WWW_SERVER, &authority);
    struct identity friend = make_identity("a friend", GNUTLS_KP_TLS_WWW_CLIENT, &authority);
    struct identity stranger = make_identity("a stranger", GNUTLS_KP_TLS_WWW_CLIENT, &foreign);
    const char *url = NULL;
    struct sonde_error err = {0};
    char answer[2048];
    struct sn_http_place place = {
        .address = "127.0.0.1:0",
        .certificate = (const char *)server.certificate_pem.data,
        .key = (const char *)server.key_pem.data,
        .authorities = (const char *)authority.certificate_pem.data,
    };
    assert_int_equal(sn_http_server_new(NULL, handle, fixture, &fixture->server, NULL), SONDE_OK);
    assert_int_equal(sn_http_server_listen(fixture->server, &place, &url, NULL), SONDE_OK);
    assert_int_equal(strncmp(url, "https://127.0.0.1:", 18), 0);
    fixture->port = (uint16_t)strtoul(url + 18, NULL, 10);
    const struct {
        const struct identity *who;
        const char *name;
    } cases[] = {{&friend, "a friend"}, {NULL, ""}, {&stranger, ""}, {&server, ""}};
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(fixture->client, sizeof(fixture->client), "unset");
        assert_true(
            ask_with_tls(fixture, cases[i].who, i % 2 ? elder : any, answer, sizeof(answer)));
        assert_non_null(strstr(answer, "hello\n"));
        assert_string_equal(fixture->client, cases[i].name);
        assert_true(fixture->is_tls);
    }
    assert_false(ask_with_tls(fixture, NULL, old, answer, sizeof(answer)));
    place.key = (const char *)friend.key_pem.data; /* not this certificate's */
    assert_int_equal(sn_http_server_listen(fixture->server, &place, &url, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "certificate"));
    sn_http_server_free(fixture->server);
    struct identity *all[] = {&authority, &foreign, &server, &friend, &stranger};
    for (size_t i = 0; i < 5; i++)
        free_identity(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_tls_clients_may_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
