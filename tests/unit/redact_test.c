/* Command lines with and without secrets. */
#include "check.h"

#include <stdlib.h>
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

/* --- free text --- */

static void expect_text(const char *text, const char *shown)
{
    struct sn_buf to = sn_buf_with_limit(4096);
    size_t hidden = sn_redact_text(&to, text, strlen(text));
    assert_string_equal(sn_buf_string(&to), shown);
    assert_int_equal(hidden == 0, strcmp(text, shown) == 0);
    sn_buf_done(&to);
}

static void leaves_text_without_secrets(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "",
        "Object reference not set to an instance of an object.",
        "Order 42 was placed: 3 items, total=17.50; shipped to Bremen",
        "The key 'x' was not present in the dictionary.",
        "GET http://localhost:5000/orders/42 -> 200 in 3 ms",
        "a-b-c --verbose -x: y",
        "at Shop.Orders.Place(String name, Int32 count) in /src/Orders.cs:line 42",
        "16:43:02 info: Microsoft.Hosting.Lifetime[14]",
        "password",
        "the token is wrong",
        "-----BEGIN CERTIFICATE-----",
        "Basic auth is off",
    };
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        expect_text(plain[i], plain[i]);
}

static void hides_secrets_in_text(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"login failed, password=hunter2", "login failed, password=[redacted]"},
        {"login failed (password=hunter2) for x", "login failed (password=[redacted]) for x"},
        {"Password: hunter2, user: x", "Password: [redacted], user: x"},
        {"DB_PASSWORD = 'hunter 2' x", "DB_PASSWORD = '[redacted]' x"},
        {"{\"apiKey\":\"hunter2\",\"a\":1}", "{\"apiKey\":\"[redacted]\",\"a\":1}"},
        {"{\"client_secret\" : \"hun\\\"ter2\"}", "{\"client_secret\" : \"[redacted]\"}"},
        {"\"{\\\"token\\\":\\\"hunter2\\\"}\"", "\"{\\\"token\\\":\\\"[redacted]\\\"}\""},
        {"Server=db;Password=hun ter2;Pool=3", "Server=db;Password=[redacted];Pool=3"},
        {"x: Server=db;Pwd=hun;ter2;Pool=3", "x: Server=db;Pwd=[redacted];Pool=3"},
        {"'Server=db;Password=hunter2'", "'Server=db;Password=[redacted]'"},
        {"Endpoint=sb://x/;SharedAccessKey=hunter2=",
         "Endpoint=sb://x/;SharedAccessKey=[redacted]"},
        {"AccountName=a;AccountKey=aHVu/dGVy+Mg==;S=x", "AccountName=a;AccountKey=[redacted];S=x"},
        {"Shared Access Key=hunter2", "Shared Access Key=[redacted]"},
        {"Authorization: Basic aHVudGVyMg==\nHost: x", "Authorization: [redacted]\nHost: x"},
        {"authorization=Bearer hunter2hunter2", "authorization=[redacted]"},
        {"sent Bearer hunter2hunter2 to x", "sent Bearer [redacted] to x"},
        {"Cookie: a=1; session=hunter2\r\nx", "Cookie: [redacted]\r\nx"},
        {"Set-Cookie: session=hunter2; Path=/", "Set-Cookie: [redacted]"},
        {"X-Api-Key: hunter2", "X-Api-Key: [redacted]"},
        {"GET https://u:hunter2@host/x?user=1&q=hunter2#f y",
         "GET https://[redacted]@host/x?user=[redacted]&q=[redacted]#f y"},
        {"(https://host/?sig=hunter2)", "(https://host/?sig=[redacted]"},
        {"\"https://host/?a=b\" failed", "\"https://host/?a=[redacted]\" failed"},
        {"redis://:hunter2@cache:6379", "redis://[redacted]@cache:6379"},
        {"run --db-password hunter2 --x", "run --db-password [redacted] --x"},
        {"Logging:Token=hunter2", "Logging:Token=[redacted]"},
        {"token eyJhbGciOiJIUzI1NiJ9.e30.abc was", "token [redacted] was"},
        {"AKIAIOSFODNN7EXAMPLE", "[redacted]"},
        {"x sonde_0123456789abcdef0123 y", "x [redacted] y"},
        {"a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb",
         "a\n[redacted]\nb"},
        {"-----BEGIN PRIVATE KEY-----\nMII", "[redacted]"},
        {"[Secret] => hunter2", "[Secret] => [redacted]"},
        {"{\"m\":\"say \\\"token=hunter2\\\" \\n\"}",
         "{\"m\":\"say \\\"token=[redacted]\\\" \\n\"}"},
        {"{\"m\":\"Cookie: hunter2\\nx\"}", "{\"m\":\"Cookie: [redacted]\\nx\"}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_text(cases[i][0], cases[i][1]);
}

static void text_cut_anywhere_shows_no_more(void **state)
{
    (void)state;
    static const char text[] =
        "{\"password\": \"HUNTER2\"} Pwd=HUNTER2; https://u:HUNTER2@h/?q=HUNTER2 "
        "Cookie: HUNTER2";
    for (size_t size = 0; size <= sizeof(text); size++) {
        struct sn_buf to = sn_buf_with_limit(4096);
        (void)sn_redact_text(&to, text, size);
        if (size < 48 || size > 63) /* "https://u:HUNT" has no sign of being a user yet */
            assert_null(strstr(sn_buf_string(&to), "HUNTER2"));
        sn_buf_done(&to);
    }
}

static uint64_t searched; /* bytes that were given to the C library to look through */

const void *__real_memmem(const void *at, size_t size, const void *what, size_t what_size);
const void *__wrap_memmem(const void *at, size_t size, const void *what, size_t what_size);

const void *__wrap_memmem(const void *at, size_t size, const void *what, size_t what_size)
{
    searched += size;
    return __real_memmem(at, size, what, what_size);
}

static uint64_t searched_for(const char *pattern, size_t size)
{
    char *text = malloc(size);
    struct sn_buf to = sn_buf_with_limit(1u << 20);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = pattern[i % strlen(pattern)];
    searched = 0;
    (void)sn_redact_arguments(&to, text, size);
    assert_false(to.failed);
    sn_buf_done(&to);
    free(text);
    return searched;
}

/* Other users' command lines are read: what they cost is not theirs to choose. */
static void work_grows_as_the_argument_does(void **state)
{
    (void)state;
    static const char *const patterns[] = {"&", ";", "&a=b", "a://b&", "x?a=b;", "://", "pwd=a;"};
    assert_true(searched_for("a", 1000) >= 1000); /* it is counted */
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
        if (searched_for(patterns[i], 64000) > 4 * 64000)
            fail_msg("%s", patterns[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_what_is_no_secret),
        cmocka_unit_test(hides_values_of_secrets),
        cmocka_unit_test(hides_the_whole_of_a_secret),
        cmocka_unit_test(hides_users_of_addresses_and_tokens),
        cmocka_unit_test(leaves_text_without_secrets),
        cmocka_unit_test(hides_secrets_in_text),
        cmocka_unit_test(text_cut_anywhere_shows_no_more),
        cmocka_unit_test(work_grows_as_the_argument_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
