/* Flat JSON objects: every escape, what is refused, and no reading beyond a cut. */
#include "check.h"

#include <string.h>

#include "base/buf.h"
#include "base/json_pairs.h"

struct read_pairs {
    struct sn_buf name;
    struct sn_buf value;
    struct sn_buf all; /* "name=value;" of each; null: "name;" */
    bool is_bad;
};

static struct read_pairs read_size(const char *text, size_t size)
{
    struct read_pairs read = {.name = sn_buf_with_limit(4096),
                              .value = sn_buf_with_limit(4096),
                              .all = sn_buf_with_limit(4096)};
    struct sn_json_pairs pairs = sn_json_pairs_of(text, size);
    bool is_null;
    while (sn_json_pairs_next(&pairs, &read.name, &read.value, &is_null)) {
        sn_buf_append(&read.all, read.name.bytes, read.name.size);
        sn_buf_text(&read.all, is_null ? "" : "=");
        sn_buf_append(&read.all, read.value.bytes, is_null ? 0 : read.value.size);
        sn_buf_text(&read.all, ";");
    }
    read.is_bad = pairs.is_bad;
    return read;
}

static void drop(struct read_pairs *read)
{
    sn_buf_done(&read->name);
    sn_buf_done(&read->value);
    sn_buf_done(&read->all);
}

static void expect(const char *text, const char *wanted)
{
    struct read_pairs read = read_size(text, strlen(text));
    assert_false(read.is_bad);
    assert_string_equal(sn_buf_string(&read.all), wanted);
    drop(&read);
}

static void refuse(const char *text)
{
    struct read_pairs read = read_size(text, strlen(text));
    assert_true(read.is_bad);
    drop(&read);
}

static void pairs_come_in_their_order(void **state)
{
    (void)state;
    expect("{}", "");
    expect(" { } ", "");
    expect("{\"b\":\"2\",\"a\":\"1\",\"b\":\"3\"}", "b=2;a=1;b=3;");
    expect("{ \"a\" : null , \"b\":true,\"c\":-1.5e+3 }", "a;b=true;c=-1.5e+3;");
    expect("{\"null\":\"null\"}", "null=null;");
}

static void escapes_are_undone(void **state)
{
    (void)state;
    expect("{\"\\\"\\\\\\/\":\"\\b\\f\\n\\r\\t\"}", "\"\\/=\b\f\n\r\t;");
    expect("{\"a\":\"\\u0041\\u00e4\\u20AC\\ud83d\\ude00\"}",
           "a=A\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80;");
    expect("{\"a\":\"\\ud800x\\udc00\\ud800\\u0041\\u0000\"}",
           "a=\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD"
           "A\xEF\xBF\xBD;");
}

static void what_is_no_such_object_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "x",
                                      "[]",
                                      "\"a\"",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":\"b\",}",
                                      "{a:1}",
                                      "{\"a\":[]}",
                                      "{\"a\":{}}",
                                      "{\"a\":\"\\x\"}",
                                      "{} {}",
                                      "{\"a\":\"b\" \"c\":\"d\"}",
                                      "{\"a\":\"\\u12g4\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        refuse(bad[i]);
}

static void a_cut_anywhere_is_noticed(void **state)
{
    (void)state;
    static const char whole[] = "{\"a\":\"\\ud83d\\ude00\",\"b\":null,\"c\":\"\\\"x\"}";
    for (size_t size = 0; size < sizeof(whole) - 1; size++) {
        char *copy = test_malloc(size + 1); /* with nothing behind it */
        memcpy(copy, whole, size);
        struct read_pairs read = read_size(copy, size);
        assert_true(read.is_bad);
        drop(&read);
        test_free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_come_in_their_order),
        cmocka_unit_test(escapes_are_undone),
        cmocka_unit_test(what_is_no_such_object_is_refused),
        cmocka_unit_test(a_cut_anywhere_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
