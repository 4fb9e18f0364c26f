/* Where a trace's bytes come from: file, archive, journal; what is none of these is told. */
#include "source/file/input.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "check.h"
#include "format/zip_writer.h"
#include "model/trace_info.h"
#include "sink/archive/journal.h"

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/sonde_input_XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static const char *path_of(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"x", "x.sonde/trace.nettrace", "x.sonde/cpu/7.cpu",
                                        "x.sonde/cpu", "x.sonde"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        (void)remove(path_of(names[i]));
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

/* An archive with members that hold their own names. */
static void write_zip(const char *const *names)
{
    SN_AUTO(sn_close) int fd = open(path_of("x"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    SN_AUTO(sn_zip_writer_free) struct sn_zip_writer *writer = NULL;
    assert_int_equal(sn_zip_writer_new(fd, 0, &writer, NULL), SONDE_OK);
    for (; *names; names++) {
        assert_int_equal(sn_zip_writer_begin(writer, *names, 100, NULL), SONDE_OK);
        assert_int_equal(sn_zip_writer_write(writer, *names, strlen(*names), NULL), SONDE_OK);
        assert_int_equal(sn_zip_writer_end(writer, NULL), SONDE_OK);
    }
    assert_int_equal(sn_zip_writer_finish(writer, NULL), SONDE_OK);
}

static int read_all(const char *path, struct sn_buf *to, enum sn_input_kind *ret_kind)
{
    SN_AUTO(sn_input_free) struct sn_input *input = NULL;
    size_t got = 1;
    int rc = sn_input_open(path, &input, NULL);
    while (rc == SONDE_OK && got) {
        uint8_t *at = sn_buf_reserve(to, 5);
        rc = sn_input_read(input, at, 5, &got, NULL);
        sn_buf_grow(to, got);
    }
    if (input)
        *ret_kind = sn_input_kind(input);
    return rc;
}

static void a_file_is_read(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(100);
    enum sn_input_kind kind;
    SN_AUTO(sn_close) int fd = open(path_of("x"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(sn_file_write_all(fd, "Nettrace and more", 17, NULL), SONDE_OK);
    assert_int_equal(read_all(path_of("x"), &bytes, &kind), SONDE_OK);
    assert_string_equal(sn_buf_string(&bytes), "Nettrace and more");
    assert_int_equal(kind, SN_INPUT_FILE);
    assert_int_equal(sn_input_member(path_of("x"), "manifest.json", &bytes, NULL),
                     SONDE_E_NOT_FOUND);
}

static void an_archive_gives_its_trace_and_members(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(100);
    enum sn_input_kind kind;
    write_zip((const char *const[]){"manifest.json", "other.nettrace", "trace.nettrace", NULL});
    assert_int_equal(read_all(path_of("x"), &bytes, &kind), SONDE_OK);
    assert_string_equal(sn_buf_string(&bytes), "trace.nettrace");
    assert_int_equal(kind, SN_INPUT_ZIP);
    sn_buf_clear(&bytes);
    assert_int_equal(sn_input_member(path_of("x"), "manifest.json", &bytes, NULL), SONDE_OK);
    assert_string_equal(sn_buf_string(&bytes), "manifest.json");
    assert_int_equal(sn_input_member(path_of("x"), "system.json", &bytes, NULL), SONDE_E_NOT_FOUND);
}

/* One trace under any name will do; of two nobody knows which is meant. */
static void archives_of_others(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(100);
    enum sn_input_kind kind;
    write_zip((const char *const[]){"readme", "a/app.nettrace", NULL});
    assert_int_equal(read_all(path_of("x"), &bytes, &kind), SONDE_OK);
    assert_string_equal(sn_buf_string(&bytes), "a/app.nettrace");
    write_zip((const char *const[]){"a.nettrace", "b.nettrace", NULL});
    assert_int_equal(read_all(path_of("x"), &bytes, &kind), SONDE_E_FORMAT);
    write_zip((const char *const[]){"readme", NULL});
    assert_int_equal(read_all(path_of("x"), &bytes, &kind), SONDE_E_FORMAT);
    write_zip((const char *const[]){NULL});
    assert_int_equal(read_all(path_of("x"), &bytes, &kind), SONDE_E_FORMAT);
}

static void a_journal_is_live_or_left(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(1000);
    enum sn_input_kind kind;
    struct sn_trace_info info = {.pointer_size = 8, .ticks_per_second = 1000000000u};
    struct sn_journal *journal = NULL;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s", path_of("x.sonde"));
    assert_int_equal(sn_journal_new(path, &info, &journal, NULL), SONDE_OK);
    assert_int_equal(sn_journal_put(journal, "cpu/7.cpu", "seven", 5, NULL), SONDE_OK);
    assert_int_equal(read_all(path, &bytes, &kind), SONDE_OK);
    assert_int_equal(kind, SN_INPUT_LIVE);
    assert_memory_equal(bytes.bytes, "Nettrace", 8);
    sn_journal_free(journal);
    assert_int_equal(read_all(path, &bytes, &kind), SONDE_OK);
    assert_int_equal(kind, SN_INPUT_JOURNAL);
    sn_buf_clear(&bytes);
    assert_int_equal(sn_input_member(path, "cpu/7.cpu", &bytes, NULL), SONDE_OK);
    assert_string_equal(sn_buf_string(&bytes), "seven");
    assert_int_equal(sn_input_member(path, "system.json", &bytes, NULL), SONDE_E_NOT_FOUND);
}

static void what_is_none_is_told(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(100);
    enum sn_input_kind kind;
    assert_int_equal(read_all(folder, &bytes, &kind), SONDE_E_ARGUMENT);
    assert_int_equal(read_all(path_of("nothing"), &bytes, &kind), SONDE_E_NOT_FOUND);
    assert_int_equal(mkfifo(path_of("x"), 0600), 0);
    assert_int_equal(read_all(path_of("x"), &bytes, &kind), SONDE_E_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_archive_gives_its_trace_and_members, set_up, tear_down),
        cmocka_unit_test_setup_teardown(archives_of_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_journal_is_live_or_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_none_is_told, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
