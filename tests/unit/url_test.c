/* Addresses of receivers: what is read, what is refused and with what words. */
#include "check.h"

#include <string.h>

#include "net/url.h"

struct good {
    const char *text;
    enum sn_url_scheme scheme;
    const char *host;
    uint16_t port;
    const char *path;
    const char *authority;
};

static const struct good good[] = {
    {"tcp://graphite:2003", SN_URL_TCP, "graphite", 2003, "", "graphite:2003"},
    {"udp://127.0.0.1:8125", SN_URL_UDP, "127.0.0.1", 8125, "", "127.0.0.1:8125"},
    {"tcp://[::1]:2003", SN_URL_TCP, "::1", 2003, "", "[::1]:2003"},
    {"tcp://[::ffff:10.0.0.1]:1", SN_URL_TCP, "::ffff:10.0.0.1", 1, "", "[::ffff:10.0.0.1]:1"},
    {"unix:///run/statsd.sock", SN_URL_UNIX, "", 0, "/run/statsd.sock", ":0"},
    {"unix:///run/with a space", SN_URL_UNIX, "", 0, "/run/with a space", ":0"},
    {"http://collector", SN_URL_HTTP, "collector", 80, "/", "collector"},
    {"http://collector?a=b", SN_URL_HTTP, "collector", 80, "/?a=b", "collector"},
    {"http://[fe80::1]/v1/metrics", SN_URL_HTTP, "fe80::1", 80, "/v1/metrics", "[fe80::1]"},
    {"http://c:4318/v1/metrics?x=1&y=%20", SN_URL_HTTP, "c", 4318, "/v1/metrics?x=1&y=%20",
     "c:4318"},
    {"https://My_Host.example.org:65535/", SN_URL_HTTPS, "My_Host.example.org", 65535, "/",
     "My_Host.example.org:65535"},
    {"https://c:443/x", SN_URL_HTTPS, "c", 443, "/x", "c"},
    {"https://c:80/x", SN_URL_HTTPS, "c", 80, "/x", "c:80"},
};

static const char *const bad[] = {
    "",
    "graphite:2003",
    "TCP://graphite:2003",
    "ftp://host:21",
    "tcp:/host:1",
    "tcp://",
    "tcp://:2003",
    "tcp://host",
    "tcp://host:",
    "tcp://host:0",
    "tcp://host:65536",
    "tcp://host:99999999999999999999",
    "tcp://host:-1",
    "tcp://host:+1",
    "tcp://host: 1",
    "tcp://host:1x",
    "tcp://host:1/",
    "tcp://host:1 ",
    "tcp://ho st:1",
    "tcp://ho\nst:1",
    "tcp://[::1:2003",
    "tcp://[]:2003",
    "tcp://[127.0.0.1]:2003",
    "tcp://[::1%eth0]:2003",
    "tcp://[::1]2003",
    "tcp://::1:2003",
    "udp://user@host:1",
    "unix://run/x",
    "unix:///",
    "unix://",
    "http://",
    "http:///path",
    "http://user:secret@host/",
    "http://host:0/",
    "http://host/a b",
    "http://host/a\r\nX: y",
    "http://host/#part",
    "http://host/\x7f",
    "http://host/\xc3\xa4",
    "https://host:443x/",
};

static void addresses_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct sn_url url;
        struct sonde_error err = {0};
        char authority[272];
        if (sn_url_parse(good[i].text, &url, &err) != SONDE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(url.scheme, good[i].scheme);
        assert_string_equal(url.host, good[i].host);
        assert_int_equal(url.port, good[i].port);
        assert_string_equal(url.path, good[i].path);
        assert_string_equal(sn_url_authority(&url, authority), good[i].authority);
    }
}

static void everything_else_is_refused_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sn_url url;
        struct sonde_error err = {0};
        if (sn_url_parse(bad[i], &url, &err) != SONDE_E_ARGUMENT)
            fail_msg("'%s' was taken", bad[i]);
        assert_string_not_equal(err.text, "");
    }
}

static void long_hosts_and_paths_are_refused(void **state)
{
    (void)state;
    char text[2048];
    struct sn_url url;
    struct sonde_error err = {0};
    memset(text, 'a', sizeof(text));
    memcpy(text, "http://", 7);
    memcpy(text + 7 + 255, ":80", 4);
    assert_int_equal(sn_url_parse(text, &url, &err), SONDE_OK);
    text[7 + 255] = 'a';
    assert_int_equal(sn_url_parse(text, &url, &err), SONDE_E_ARGUMENT);
    memset(text, 'a', sizeof(text));
    memcpy(text, "http://a/", 9);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(sn_url_parse(text, &url, &err), SONDE_E_ARGUMENT);
    text[8 + 1022] = '\0';
    assert_int_equal(sn_url_parse(text, &url, &err), SONDE_OK);
    memcpy(text, "unix:///", 8);
    text[7 + 107] = '\0';
    assert_int_equal(sn_url_parse(text, &url, &err), SONDE_OK);
    text[7 + 107] = 'a';
    text[7 + 108] = '\0';
    assert_int_equal(sn_url_parse(text, &url, &err), SONDE_E_ARGUMENT);
}

static void where_to_listen_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        uint16_t port;
    } places[] = {{":9464", "", 9464}, {"127.0.0.1:0", "127.0.0.1", 0}, {"[::]:80", "::", 80}};
    static const char *const wrong[] = {"",   "9464",  "host", ":",
                                        ":x", "[::1]", "a:1/", "http://a:1"};
    struct sn_url url;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(sn_url_parse_listen(places[i].text, &url, NULL), SONDE_OK);
        assert_string_equal(url.host, places[i].host);
        assert_int_equal(url.port, places[i].port);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sonde_error err = {0};
        assert_int_equal(sn_url_parse_listen(wrong[i], &url, &err), SONDE_E_ARGUMENT);
        assert_string_not_equal(err.text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(everything_else_is_refused_with_a_reason),
        cmocka_unit_test(long_hosts_and_paths_are_refused),
        cmocka_unit_test(where_to_listen_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
