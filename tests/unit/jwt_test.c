/* Tokens of dotnet-monitor: what OpenSSL signed is taken, everything else is refused. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "daemon/jwt.h"
#include "jwt_tokens.h"

#define NOW_S 1800000000u /* 2027 */
#define END_S 4102444800u

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static struct sn_jwt_verifier *verifier_of(const char *public_key)
{
    struct sn_jwt_verifier *verifier = NULL;
    struct sonde_error err = {0};
    if (sn_jwt_verifier_new(public_key, TEST_SUBJECT, NULL, &verifier, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return verifier;
}

static int verify(const struct sn_jwt_verifier *verifier, const char *token, uint64_t now_s)
{
    struct sonde_error err = {0};
    int rc = sn_jwt_verify(verifier, token, strlen(token), now_s, &err);
    if (rc != SONDE_OK)
        assert_true(err.text[0]);
    return rc;
}

static void what_openssl_signed_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good_tokens); i++) {
        SN_AUTO(sn_jwt_verifier_free)
        struct sn_jwt_verifier *verifier = verifier_of(good_tokens[i].public_key);
        assert_int_equal(verify(verifier, good_tokens[i].token, NOW_S), SONDE_OK);
    }
}

static void a_token_of_one_key_is_refused_by_every_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good_tokens); i++) {
        SN_AUTO(sn_jwt_verifier_free)
        struct sn_jwt_verifier *verifier = verifier_of(good_tokens[i].public_key);
        for (size_t n = 0; n < COUNT(good_tokens); n++) {
            if (n != i)
                assert_int_not_equal(verify(verifier, good_tokens[n].token, NOW_S), SONDE_OK);
        }
    }
}

static void odd_tokens_are_taken_or_refused_as_said(void **state)
{
    (void)state;
    SN_AUTO(sn_jwt_verifier_free)
    struct sn_jwt_verifier *verifier = verifier_of(good_tokens[0].public_key);
    for (size_t i = 0; i < COUNT(odd_tokens); i++) {
        bool is_good = verify(verifier, odd_tokens[i].token, NOW_S) == SONDE_OK;
        if (is_good != odd_tokens[i].is_good)
            fail_msg("'%s' was %s", odd_tokens[i].what, is_good ? "taken" : "refused");
    }
}

static void clocks_may_differ_by_five_minutes(void **state)
{
    (void)state;
    SN_AUTO(sn_jwt_verifier_free)
    struct sn_jwt_verifier *verifier = verifier_of(good_tokens[0].public_key);
    assert_int_equal(verify(verifier, good_tokens[0].token, END_S + 299), SONDE_OK);
    assert_int_equal(verify(verifier, good_tokens[0].token, END_S + 301), SONDE_E_DENIED);
}

static void a_cut_token_is_refused_at_every_byte(void **state)
{
    (void)state;
    struct sonde_error err = {0};
    const char *token = good_tokens[0].token;
    SN_AUTO(sn_jwt_verifier_free)
    struct sn_jwt_verifier *verifier = verifier_of(good_tokens[0].public_key);
    for (size_t size = 0; size < strlen(token); size++) {
        char *cut = malloc(size + 1); /* of its size, for the sanitizer */
        assert_non_null(cut);
        memcpy(cut, token, size);
        assert_int_not_equal(sn_jwt_verify(verifier, cut, size, NOW_S, &err), SONDE_OK);
        free(cut);
    }
}

static void a_token_with_any_other_byte_is_refused(void **state)
{
    (void)state;
    SN_AUTO(sn_jwt_verifier_free)
    struct sn_jwt_verifier *verifier = verifier_of(good_tokens[0].public_key);
    SN_AUTO(sn_free) char *token = strdup(good_tokens[0].token);
    assert_non_null(token);
    for (size_t i = 0; token[i]; i++) {
        char was = token[i];
        token[i] = was == 'A' ? 'B' : 'A';
        assert_int_not_equal(verify(verifier, token, NOW_S), SONDE_OK);
        token[i] = was;
    }
}

static void a_public_key_that_is_none_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "x",
        "not base64!",
        "e30",                                             /* {} */
        "W10",                                             /* [] */
        "eyJrdHkiOiJvY3QiLCJrIjoiQUFBQSJ9",                /* {"kty":"oct","k":"AAAA"} */
        "eyJrdHkiOiJFQyIsImNydiI6IlAtMjU2In0",             /* no x */
        "eyJrdHkiOiJSU0EiLCJuIjoiQVFBQiIsImUiOiJBUUFCIn0", /* 24 bits */
        "eyJrdHkiOiJFQyIsImNydiI6IlAtMjU2IiwieCI6IkFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU"
        "FBQUFBQUFBQUEiLCJ5IjoiQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQSJ9", /* no
                                                                                                  point
                                                                                                */
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct sn_jwt_verifier *verifier = NULL;
        struct sonde_error err = {0};
        assert_int_not_equal(sn_jwt_verifier_new(bad[i], "me", NULL, &verifier, &err), SONDE_OK);
        assert_null(verifier);
        assert_true(err.text[0]);
    }
}

static void a_key_without_a_subject_is_refused(void **state)
{
    (void)state;
    struct sn_jwt_verifier *verifier = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_jwt_verifier_new(good_tokens[0].public_key, "", NULL, &verifier, &err),
                     SONDE_E_ARGUMENT);
}

static void another_issuer_can_be_configured(void **state)
{
    (void)state;
    struct sonde_error err = {0};
    SN_AUTO(sn_jwt_verifier_free) struct sn_jwt_verifier *verifier = NULL;
    assert_int_equal(
        sn_jwt_verifier_new(good_tokens[0].public_key, TEST_SUBJECT, "me", &verifier, &err),
        SONDE_OK);
    assert_int_equal(verify(verifier, good_tokens[0].token, NOW_S), SONDE_E_DENIED);
    for (size_t i = 0; i < COUNT(odd_tokens); i++) {
        if (strcmp(odd_tokens[i].what, "another issuer") == 0)
            assert_int_equal(verify(verifier, odd_tokens[i].token, NOW_S), SONDE_OK);
    }
}

static void a_generated_key_lets_its_token_in(void **state)
{
    (void)state;
    uint64_t now_s = sn_clock_utc_ns() / SN_NS_PER_SECOND;
    for (int i = 0; i < 20; i++) { /* numbers with zeros before them come by chance */
        struct sn_jwt_generated made;
        struct sonde_error err = {0};
        SN_AUTO(sn_jwt_verifier_free) struct sn_jwt_verifier *verifier = NULL;
        assert_int_equal(sn_jwt_generate(60, &made, &err), SONDE_OK);
        assert_int_equal(sn_jwt_verifier_new(made.public_key, made.subject, NULL, &verifier, &err),
                         SONDE_OK);
        assert_int_equal(verify(verifier, made.token, now_s), SONDE_OK);
        assert_int_equal(verify(verifier, made.token, now_s + 420), SONDE_E_DENIED);
    }
}

static void a_generated_key_is_printed_in_every_format(void **state)
{
    (void)state;
    static const char *const formats[][2] = {
        {"Json", "\"PublicKey\": \""},
        {"text", "\nPublic Key: "},
        {"CMD", "\nset Authentication__MonitorApiKey__PublicKey="},
        {"PowerShell", "\n$env:Authentication__MonitorApiKey__PublicKey=\""},
        {"Shell", "\nexport Authentication__MonitorApiKey__PublicKey=\""},
        {"MachineJson", "\"AuthorizationHeader\": \"Bearer "},
    };
    struct sn_jwt_generated made;
    struct sonde_error err = {0};
    assert_int_equal(sn_jwt_generate(60, &made, &err), SONDE_OK);
    for (size_t i = 0; i < COUNT(formats); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(8192);
        assert_int_equal(sn_jwt_print(&text, &made, formats[i][0], &err), SONDE_OK);
        assert_non_null(strstr(sn_buf_string(&text), formats[i][1]));
        assert_non_null(strstr(sn_buf_string(&text), made.public_key));
        assert_non_null(strstr(sn_buf_string(&text), made.token));
    }
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(8192);
    assert_int_equal(sn_jwt_print(&text, &made, "Yaml", &err), SONDE_E_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_openssl_signed_is_taken),
        cmocka_unit_test(a_token_of_one_key_is_refused_by_every_other),
        cmocka_unit_test(odd_tokens_are_taken_or_refused_as_said),
        cmocka_unit_test(clocks_may_differ_by_five_minutes),
        cmocka_unit_test(a_cut_token_is_refused_at_every_byte),
        cmocka_unit_test(a_token_with_any_other_byte_is_refused),
        cmocka_unit_test(a_public_key_that_is_none_is_refused_with_a_reason),
        cmocka_unit_test(a_key_without_a_subject_is_refused),
        cmocka_unit_test(another_issuer_can_be_configured),
        cmocka_unit_test(a_generated_key_lets_its_token_in),
        cmocka_unit_test(a_generated_key_is_printed_in_every_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
