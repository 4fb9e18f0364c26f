/* Files from elsewhere: what they are called whatever was sent, and what they say of themselves
 * however they are damaged. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "daemon/upload.h"

static void check_name(const char *given, const char *expected)
{
    char name[SN_UPLOAD_NAME_MAX];
    memset(name, 'x', sizeof(name));
    sn_upload_name(name, given);
    assert_string_equal(name, expected);
}

static void test_names(void **state)
{
    (void)state;
    char name[SN_UPLOAD_NAME_MAX];
    char given[4096];
    check_name("shop.nettrace", "shop.nettrace");
    check_name(NULL, "upload");
    check_name("", "upload");
    check_name(".", "upload");
    check_name("../..", "upload");
    check_name("/", "upload");
    check_name("/etc/passwd", "passwd");
    check_name("C:\\a\\b c.zip", "b c.zip");
    check_name("a\x01\x1b\x7f\r\nb", "ab");
    check_name("\xe2\x80\xaegnp.exe", "gnp.exe"); /* right to left */
    check_name("a\xff\xc3", "a");
    check_name("\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9");
    for (size_t size = 0; size < sizeof(given); size += 7) { /* never within a character */
        for (size_t i = 0; i < size; i++)
            given[i] = i % 2 ? '\xa9' : '\xc3';
        given[size & ~(size_t)1] = 0;
        sn_upload_name(name, given);
        assert_true(strlen(name) < SN_UPLOAD_NAME_MAX && (!size || strlen(name) % 2 == 0));
    }
}

static void write_file(char path[32], const void *bytes, size_t size)
{
    struct sonde_error err = {0};
    (void)strcpy(path, "/tmp/upload-test-XXXXXX"); /* NOLINT */
    SN_AUTO(sn_close) int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(sn_file_write_all(fd, bytes, size, &err), SONDE_OK);
}

static int examine(const void *bytes, size_t size, struct sn_upload_facts *facts,
                   struct sonde_error *err)
{
    char path[32];
    *err = (struct sonde_error){0};
    write_file(path, bytes, size);
    int rc = sn_upload_examine(path, "my.nettrace", facts, err);
    assert_int_equal(unlink(path), 0);
    assert_true(rc == SONDE_OK || err->text[0]);
    assert_null(strstr(err->text, "/tmp"));
    return rc;
}

static void load(struct sn_buf *bytes, const char *name)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_free) char *path = NULL;
    assert_true(asprintf(&path, "%s/tests/golden/nettrace/%s", SONDE_SOURCE_DIR, name) > 0);
    *bytes = sn_buf_with_limit(64u << 20);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, bytes, &err), SONDE_OK);
}

static void test_a_trace(void **state)
{
    (void)state;
    struct sn_upload_facts facts;
    struct sonde_error err;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = {0};
    load(&bytes, "10-gc.nettrace");
    assert_int_equal(examine(bytes.bytes, bytes.size, &facts, &err), SONDE_OK);
    assert_false(facts.is_archive || facts.is_cut);
    assert_true(facts.pid && facts.event_count > 10 && facts.duration_ns && facts.start_utc_ns);
    assert_int_equal(facts.byte_count, bytes.size);
    assert_string_equal(facts.process_name, "targets");
}

/* At every byte of its beginning, and here and there behind it. */
static void test_cut_files(void **state)
{
    (void)state;
    struct sn_upload_facts facts;
    struct sonde_error err;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = {0};
    load(&bytes, "8-gc.nettrace");
    unsigned good_count = 0;
    for (size_t size = 0; size < bytes.size; size += size < 2000 ? 1 : bytes.size / 97) {
        int rc = examine(bytes.bytes, size, &facts, &err);
        assert_true(rc != SONDE_OK || (facts.event_count && facts.is_cut));
        good_count += rc == SONDE_OK;
    }
    assert_true(good_count > 10);
}

static void test_what_is_none(void **state)
{
    (void)state;
    struct sn_upload_facts facts;
    struct sonde_error err;
    static const char zip[] = "PK\3\4 and nothing more of it";
    static const char text[] = "<html>not found</html>";
    assert_int_equal(examine(text, sizeof(text), &facts, &err), SONDE_E_FORMAT);
    assert_non_null(strstr(err.text, "'my.nettrace' is neither a trace"));
    assert_true(examine(zip, sizeof(zip), &facts, &err) < 0);
    assert_true(facts.is_archive);
    assert_non_null(strstr(err.text, "my.nettrace"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_a_trace),
        cmocka_unit_test(test_cut_files),
        cmocka_unit_test(test_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
