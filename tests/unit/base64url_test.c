/* base64url: what is written is read back, and only that. */
#include "check.h"

#include <string.h>

#include "base/base64url.h"
#include "base/buf.h"
#include "base/own.h"

static void the_vectors_of_the_standard(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
        {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff\xbf", "-_-_"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(64);
        SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(64);
        sn_base64url_encode(&text, pairs[i][0], strlen(pairs[i][0]));
        assert_string_equal(sn_buf_string(&text), pairs[i][1]);
        assert_true(sn_base64url_decode(&bytes, pairs[i][1], strlen(pairs[i][1])));
        assert_string_equal(sn_buf_string(&bytes), pairs[i][0]);
    }
}

static void every_length_and_byte_comes_back(void **state)
{
    (void)state;
    uint8_t all[256];
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (uint8_t)(i * 167 + 13);
    for (size_t size = 0; size <= sizeof(all); size++) {
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1024);
        SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(1024);
        sn_base64url_encode(&text, all, size);
        assert_true(sn_base64url_decode(&bytes, sn_buf_string(&text), text.size));
        assert_int_equal(bytes.size, size);
        if (size)
            assert_memory_equal(bytes.bytes, all, size);
    }
}

static void what_is_not_base64url_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"Z",         "Zg+",   "Zm/v", "Zg=",   "Zg===",
                                      "=",         "==",    "====", "Zh",    "Zm9",
                                      "Zm9v Zm9v", "Zm9vZ", "Z=g=", "Zm9v\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(64);
        if (sn_base64url_decode(&bytes, bad[i], strlen(bad[i])))
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(bytes.size, 0);
    }
}

static void padding_is_taken_and_a_ceiling_holds(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(4);
    assert_true(sn_base64url_decode(&bytes, "Zg==", 4));
    assert_true(sn_base64url_decode(&bytes, "Zm8=", 4));
    assert_string_equal(sn_buf_string(&bytes), "ffo");
    assert_false(sn_base64url_decode(&bytes, "Zm8=", 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_standard),
        cmocka_unit_test(every_length_and_byte_comes_back),
        cmocka_unit_test(what_is_not_base64url_is_refused),
        cmocka_unit_test(padding_is_taken_and_a_ceiling_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
