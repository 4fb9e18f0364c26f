/* Command lines with and without secrets. */
#include "check.h"

#include <string.h>

#include "base/buf.h"
#include "base/redact.h"

static void expect(const char *arguments, size_t size, const char *text, size_t hidden)
{
    struct sn_buf to = sn_buf_with_limit(4096);
    assert_int_equal(sn_redact_arguments(&to, arguments, size), hidden);
    assert_string_equal(sn_buf_string(&to), text);
    sn_buf_done(&to);
}

#define EXPECT(arguments, text, hidden) expect(arguments, sizeof(arguments), text, hidden)

static void leaves_what_is_no_secret(void **state)
{
    (void)state;
    EXPECT("dotnet\0shop.dll\0--urls\0http://+:5000", "dotnet shop.dll --urls http://+:5000", 0);
    EXPECT("a", "a", 0);
    expect("", 0, "", 0);
    EXPECT("--urls\0http://tokens.shop:5000/", "--urls http://tokens.shop:5000/", 0);
    EXPECT("Server=x;Pool=3&4", "Server=x;Pool=3&4", 0);
    EXPECT("cut in the mid", "cut in the mid", 0);
}

static void hides_values_of_secrets(void **state)
{
    (void)state;
    EXPECT("x\0--db-password\0hunter2\0-v", "x --db-password [redacted] -v", 1);
    EXPECT("--Api-Key=abc", "--Api-Key=[redacted]", 1);
    EXPECT("/token:abc", "/token:[redacted]", 1);
    EXPECT("Server=x;Pwd=a=b;Pool=3", "Server=x;Pwd=[redacted];Pool=3", 1);
    EXPECT("Logging:Token=x", "Logging:Token=[redacted]", 1);
    EXPECT("q?user=1&access_key=2&z", "q?user=1&access_key=[redacted]&z", 1);
}

/* Secrets hold what else divides arguments. */
static void hides_the_whole_of_a_secret(void **state)
{
    (void)state;
    static const struct {
        const char *given;
        const char *shown;
    } cases[] = {
        {"--password=ab;cd&ef", "--password=[redacted]"},
        {"--password=ab;cd=ef", "--password=[redacted]"},
        {"/token:ab;cd", "/token:[redacted]"},
        {"/token:YWI=", "/token:[redacted]"},
        {"Server=x;Pwd=ab;cd;Pool=3", "Server=x;Pwd=[redacted];Pool=3"},
        {"Server=x;Pwd=ab&cd;Pool=3", "Server=x;Pwd=[redacted];Pool=3"},
        {"Server=x;Pwd=ab&cd=ef;Pool=3", "Server=x;Pwd=[redacted];Pool=3"},
        {"Server=x;Pwd=\"ab;cd=\"\"ef\"\";gh=i\";Pool=3", "Server=x;Pwd=[redacted];Pool=3"},
        {"Server=x;Pwd='ab;cd=ef", "Server=x;Pwd=[redacted]"},
        {"Server=x;Pwd=ab;", "Server=x;Pwd=[redacted]"},
        {"Server=x;Pwd=-ab", "Server=x;Pwd=[redacted]"},
        {"--db=Password=ab;Server=x", "--db=Password=[redacted]"},
        {"https://host/?token=ab;cd&user=1", "https://host/?token=[redacted]&user=1"},
        {"user=1&password=ab&cd", "user=1&password=[redacted]"},
        {"amqp://app:ab;cd&ef@queue/", "amqp://[redacted]@queue/"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect(cases[i].given, strlen(cases[i].given) + 1, cases[i].shown, 1);
    EXPECT("--password\0-ab;cd\0-v", "--password [redacted] -v", 1);
    EXPECT("--use-token\0--password\0ab\0-v", "--use-token [redacted] [redacted] -v", 2);
}

static void hides_users_of_addresses_and_tokens(void **state)
{
    (void)state;
    EXPECT("amqp://app:hunter2@queue/", "amqp://[redacted]@queue/", 1);
    EXPECT("--bus=amqp://app:hunter2@queue/", "--bus=amqp://[redacted]@queue/", 1);
    EXPECT("db://app:hunter2@host/shop?tls=on&token=x",
           "db://[redacted]@host/shop?tls=on&token=[redacted]", 2);
    EXPECT("https://host/a:b@c", "https://host/a:b@c", 0);
    EXPECT("eyJhbGciOiJIUzI1NiJ9.e30.abc", "[redacted]", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_what_is_no_secret),
        cmocka_unit_test(hides_values_of_secrets),
        cmocka_unit_test(hides_the_whole_of_a_secret),
        cmocka_unit_test(hides_users_of_addresses_and_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
