/* Paths to patterns: numbers and ids become places, words stay, queries go. */
#include "check.h"

#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "sink/aggregate/route_pattern.h"

static void assert_pattern(const char *path, const char *expected)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(65536);
    sn_route_pattern(&text, path, strlen(path));
    assert_string_equal(sn_buf_string(&text), expected);
}

static void numbers_become_one(void **state)
{
    (void)state;
    assert_pattern("/orders/1234/lines/7", "/orders/{n}/lines/{n}");
    assert_pattern("/price/-5", "/price/{n}");
    assert_pattern("/map/59.33,18.06", "/map/{n}");
    assert_pattern("/photo-123.jpg", "/photo-{n}.jpg");
    assert_pattern("/reports/2024-11-05.csv", "/reports/{n}-{n}-{n}.csv");
    assert_pattern("/at/2024-01-02T03:04:05", "/at/{n}");
    assert_pattern("/at/20240102T030405Z/x", "/at/{n}/x");
    assert_pattern("/flights/TZ12", "/flights/TZ12");
}

static void ids_become_one(void **state)
{
    (void)state;
    assert_pattern("/users/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "/users/{id}");
    assert_pattern("/blob/d41d8cd98f00b204e9800998ecf8427e", "/blob/{id}");
    assert_pattern("/c/0HNQ324VCGL0DABCDEFGHIJ", "/c/{id}");
    assert_pattern("/c/3f2504e0", "/c/{id}");
    assert_pattern("/c/item-3f2504e0a", "/c/item-{id}");
}

static void words_stay(void **state)
{
    (void)state;
    assert_pattern("/products", "/products");
    assert_pattern("/api/v2/deadbeef", "/api/v2/deadbeef"); /* no digit: a word */
    assert_pattern("/a/b/", "/a/b/");
    assert_pattern("/style.min.css", "/style.min.css");
    assert_pattern("/caf\xC3\xA9", "/caf\xC3\xA9");
}

static void queries_fragments_and_nothing(void **state)
{
    (void)state;
    assert_pattern("/search?q=12", "/search");
    assert_pattern("/search#12", "/search");
    assert_pattern("", "/");
    assert_pattern("?x=1", "/");
    assert_pattern("/", "/");
    assert_pattern("//", "//");
    assert_pattern("*", "*");
}

static void long_and_deep_paths_stay_short(void **state)
{
    (void)state;
    char path[8193];
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    path[0] = '/';
    assert_pattern(path, "/{id}");
    memset(path, '/', sizeof(path) - 1);
    assert_pattern(path, "/////////////...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_become_one),
        cmocka_unit_test(ids_become_one),
        cmocka_unit_test(words_stay),
        cmocka_unit_test(queries_fragments_and_nothing),
        cmocka_unit_test(long_and_deep_paths_stay_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
