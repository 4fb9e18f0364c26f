/* Messages of logs for who may not see secrets: what is called like one is hidden wherever it
 * stands, in scopes as well. */
#include "check.h"

#include <string.h>

#include "daemon/log_scrub.h"
#include "sonde/log.h"

static const struct sonde_log_value login[] = {
    {"User", "alice"},      {"Password", "hunter22"}, {"QueryString", "?code=a1b2c3"},
    {"query", "red shoes"},                           /* what somebody searched for */
    {"Pin", NULL},          {"SessionCookie", "abc"}, /* as short stands in any text by chance */
};

#define LOGIN_COUNT (sizeof(login) / sizeof(*login))

static void assert_hidden(const struct sonde_log_value *values, size_t count)
{
    static const char *const shown[LOGIN_COUNT] = {"alice", NULL, NULL, "red shoes", NULL, NULL};
    assert_int_equal(count, LOGIN_COUNT);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(values[i].name, login[i].name);
        if (shown[i])
            assert_string_equal(values[i].text, shown[i]);
        else if (login[i].text)
            assert_null(strstr(values[i].text, login[i].text));
        else
            assert_null(values[i].text);
    }
}

static void secrets_are_hidden_in_values_and_texts(void **state)
{
    (void)state;
    struct sn_log_scrub scrub = {0};
    struct sonde_log_message shown;
    const struct sonde_log_message message = {
        .text = "alice came with hunter22, hunter22 again, ?code=a1b2c3",
        .format = "{User} came with {Password}",
        .event_name = "Login",
        .exception_message = "hunter22 is wrong",
        .exception_text = "System.Exception: hunter22 is wrong\n   at Shop.Login()",
        .values = login,
        .value_count = LOGIN_COUNT};
    sn_log_scrub_message(&scrub, &message, &shown);
    assert_true(scrub.has_hidden);
    assert_non_null(strstr(shown.text, "alice came with "));
    assert_null(strstr(shown.text, "hunter22"));
    assert_null(strstr(shown.text, "a1b2c3"));
    assert_null(strstr(shown.exception_message, "hunter22"));
    assert_null(strstr(shown.exception_text, "hunter22"));
    assert_non_null(strstr(shown.exception_text, "at Shop.Login()"));
    assert_string_equal(shown.format, message.format);
    assert_hidden(shown.values, shown.value_count);
    sn_log_scrub_done(&scrub);
}

static void secrets_of_scopes_are_hidden_in_their_texts(void **state)
{
    (void)state;
    struct sn_log_scrub scrub = {0};
    struct sonde_log_message shown;
    const struct sonde_log_scope scopes[] = {
        {.category = "Shop", .text = "request 7"},
        {.category = "Shop", .text = "for hunter22", .values = login, .value_count = LOGIN_COUNT}};
    const struct sonde_log_message message = {.text = "done",
                                              .format = "",
                                              .event_name = "",
                                              .exception_message = "",
                                              .exception_text = "",
                                              .scopes = scopes,
                                              .scope_count = 2};
    sn_log_scrub_message(&scrub, &message, &shown);
    assert_true(scrub.has_hidden);
    assert_int_equal(shown.scope_count, 2);
    assert_string_equal(shown.scopes[0].text, "request 7");
    assert_non_null(strstr(shown.scopes[1].text, "for "));
    assert_null(strstr(shown.scopes[1].text, "hunter22"));
    assert_hidden(shown.scopes[1].values, shown.scopes[1].value_count);
    sn_log_scrub_done(&scrub);
}

static void a_message_without_secrets_stays_as_it_is(void **state)
{
    (void)state;
    struct sn_log_scrub scrub = {0};
    struct sonde_log_message shown;
    const struct sonde_log_value values[] = {{"Count", "3"}};
    const struct sonde_log_message message = {.text = "3 items",
                                              .format = "{Count} items",
                                              .event_name = "",
                                              .exception_message = "",
                                              .exception_text = "",
                                              .values = values,
                                              .value_count = 1};
    sn_log_scrub_message(&scrub, &message, &shown);
    assert_false(scrub.has_hidden);
    assert_string_equal(shown.text, "3 items");
    assert_string_equal(shown.values[0].text, "3");
    sn_log_scrub_done(&scrub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_hidden_in_values_and_texts),
        cmocka_unit_test(secrets_of_scopes_are_hidden_in_their_texts),
        cmocka_unit_test(a_message_without_secrets_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
