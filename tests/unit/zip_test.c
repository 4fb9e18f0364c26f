/* Zip files: what the writer packs the reader unpacks; what is cut or hostile harms nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "check.h"
#include "format/zip_reader.h"
#include "format/zip_writer.h"

#define TEXT_SIZE   100000u
#define FILE_MAX    (1u << 20)
#define MEMBERS_MAX 4096u /* that are read */

static int memory_file(void)
{
    int fd = memfd_create("zip", MFD_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static int file_of(const void *bytes, size_t size)
{
    int fd = memory_file();
    assert_int_equal(sn_file_write_all(fd, bytes, size, NULL), SONDE_OK);
    return fd;
}

/* Something between noise and repetition. */
static void fill_text(uint8_t text[TEXT_SIZE])
{
    uint32_t seed = 7;
    for (size_t i = 0; i < TEXT_SIZE; i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = (uint8_t)(i % 50 < 40 ? 'a' + i % 26 : seed >> 24);
    }
}

static void put_member(struct sn_zip_writer *writer, const char *name, const void *bytes,
                       size_t size, uint64_t most)
{
    assert_int_equal(sn_zip_writer_begin(writer, name, most, NULL), SONDE_OK);
    for (size_t at = 0; at < size; at += 7777) {
        size_t step = size - at < 7777 ? size - at : 7777;
        assert_int_equal(sn_zip_writer_write(writer, (const uint8_t *)bytes + at, step, NULL),
                         SONDE_OK);
    }
    assert_int_equal(sn_zip_writer_end(writer, NULL), SONDE_OK);
}

static int write_sample(size_t text_size, uint64_t most)
{
    static uint8_t text[TEXT_SIZE];
    int fd = memory_file();
    SN_AUTO(sn_zip_writer_free) struct sn_zip_writer *writer = NULL;
    fill_text(text);
    assert_int_equal(sn_zip_writer_new(fd, UINT64_C(1700000000000000000), &writer, NULL), SONDE_OK);
    put_member(writer, "trace.nettrace", text, text_size, most);
    put_member(writer, "empty", "", 0, 0);
    put_member(writer, "cpu/12.cpu", "twelve", 6, 6);
    assert_int_equal(sn_zip_writer_finish(writer, NULL), SONDE_OK);
    assert_int_equal(lseek(fd, 0, SEEK_END), sn_zip_writer_bytes(writer));
    return fd;
}

static void check_members(int fd, size_t text_size)
{
    static uint8_t text[TEXT_SIZE];
    SN_AUTO(sn_zip_free) struct sn_zip *zip = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(FILE_MAX);
    fill_text(text);
    assert_int_equal(sn_zip_open(fd, "x.zip", &zip, NULL), SONDE_OK);
    assert_int_equal(sn_zip_count(zip), 3);
    assert_false(sn_zip_is_cut(zip));
    assert_string_equal(sn_zip_member(zip, 0)->name, "trace.nettrace");
    assert_int_equal(sn_zip_read(zip, sn_zip_member(zip, 0), &bytes, NULL), SONDE_OK);
    assert_int_equal(bytes.size, text_size);
    assert_memory_equal(bytes.bytes, text, text_size);
    sn_buf_clear(&bytes);
    assert_int_equal(sn_zip_read(zip, sn_zip_find(zip, "cpu/12.cpu"), &bytes, NULL), SONDE_OK);
    assert_string_equal(sn_buf_string(&bytes), "twelve");
    sn_buf_clear(&bytes);
    assert_int_equal(sn_zip_read(zip, sn_zip_find(zip, "empty"), &bytes, NULL), SONDE_OK);
    assert_int_equal(bytes.size, 0);
    assert_null(sn_zip_find(zip, "../etc/passwd"));
}

static void what_is_packed_is_unpacked(void **state)
{
    (void)state;
    SN_AUTO(sn_close) int fd = write_sample(TEXT_SIZE, TEXT_SIZE);
    check_members(fd, TEXT_SIZE);
}

/* The layout for members beyond 4 GiB, with less in it. */
static void large_members_have_long_sizes(void **state)
{
    (void)state;
    SN_AUTO(sn_close) int fd = write_sample(TEXT_SIZE, UINT64_MAX);
    check_members(fd, TEXT_SIZE);
}

static void a_member_larger_than_told_is_refused(void **state)
{
    (void)state;
    SN_AUTO(sn_close) int fd = memory_file();
    SN_AUTO(sn_zip_writer_free) struct sn_zip_writer *writer = NULL;
    char byte = 0;
    assert_int_equal(sn_zip_writer_new(fd, 0, &writer, NULL), SONDE_OK);
    assert_int_equal(sn_zip_writer_begin(writer, "x", 1, NULL), SONDE_OK);
    assert_int_equal(sn_zip_writer_write(writer, &byte, UINT32_MAX, NULL), SONDE_E_LIMIT);
}

static void a_ceiling_holds(void **state)
{
    (void)state;
    SN_AUTO(sn_close) int fd = write_sample(TEXT_SIZE, 0);
    SN_AUTO(sn_zip_free) struct sn_zip *zip = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf small = sn_buf_with_limit(TEXT_SIZE - 1);
    SN_AUTO(sn_buf_done) struct sn_buf fitting = sn_buf_with_limit(TEXT_SIZE + 1);
    assert_int_equal(sn_zip_open(fd, "x.zip", &zip, NULL), SONDE_OK);
    assert_int_equal(sn_zip_read(zip, sn_zip_member(zip, 0), &small, NULL), SONDE_E_LIMIT);
    assert_int_equal(sn_zip_read(zip, sn_zip_member(zip, 0), &fitting, NULL), SONDE_OK);
}

static void read_whole(int fd, struct sn_buf *to)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, to, NULL), SONDE_OK);
}

/* Whatever comes of it: the number of bytes that could be read of the first member. */
static size_t read_first(int fd, int *ret_status)
{
    SN_AUTO(sn_zip_free) struct sn_zip *zip = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(FILE_MAX);
    *ret_status = sn_zip_open(fd, "x.zip", &zip, NULL);
    if (*ret_status == SONDE_OK && sn_zip_count(zip))
        *ret_status = sn_zip_read(zip, sn_zip_member(zip, 0), &bytes, NULL);
    return bytes.size;
}

/* What a cut download still holds of the trace can be read; nothing is taken for whole. */
static void cut_at_every_byte(void **state)
{
    (void)state;
    SN_AUTO(sn_close) int whole = write_sample(3000, 0);
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(FILE_MAX);
    read_whole(whole, &bytes);
    size_t most = 0;
    for (size_t size = 0; size < bytes.size; size++) {
        SN_AUTO(sn_close) int fd = file_of(bytes.bytes, size);
        int status;
        size_t got = read_first(fd, &status);
        assert_true(got >= most);
        assert_true(status != SONDE_OK || got == 3000); /* behind the first member */
        most = got;
    }
    assert_int_equal(most, 3000);
}

static void every_byte_may_be_wrong(void **state)
{
    (void)state;
    SN_AUTO(sn_close) int whole = write_sample(1000, UINT64_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(FILE_MAX);
    read_whole(whole, &bytes);
    for (size_t at = 0; at < bytes.size; at++) {
        bytes.bytes[at] ^= 0xFFu;
        SN_AUTO(sn_close) int fd = file_of(bytes.bytes, bytes.size);
        int status;
        assert_true(read_first(fd, &status) <= FILE_MAX);
        bytes.bytes[at] ^= 0xFFu;
    }
}

/* A member of zeros that announces, and gives, more than deflate could pack into its bytes. */
static void bombs_do_not_go_off(void **state)
{
    (void)state;
    SN_AUTO(sn_close) int fd = write_sample(1000, 0);
    SN_AUTO(sn_buf_done) struct sn_buf bytes = sn_buf_with_limit(FILE_MAX);
    read_whole(fd, &bytes);
    uint8_t *entry = memmem(bytes.bytes, bytes.size, "PK\1\2", 4);
    assert_non_null(entry);
    memset(entry + 24, 0x7F, 4); /* its size */
    SN_AUTO(sn_close) int large = file_of(bytes.bytes, bytes.size);
    int status;
    assert_int_equal(read_first(large, &status), 0);
    assert_int_equal(status, SONDE_E_FORMAT);
    memset(entry + 24, 0, 4); /* less than there is */
    SN_AUTO(sn_close) int small = file_of(bytes.bytes, bytes.size);
    assert_int_equal(read_first(small, &status), 0);
    assert_int_equal(status, SONDE_E_FORMAT);
}

/* Of a file with that many empty members. */
static int open_crowd(size_t member_count)
{
    SN_AUTO(sn_close) int fd = memory_file();
    SN_AUTO(sn_zip_writer_free) struct sn_zip_writer *writer = NULL;
    SN_AUTO(sn_zip_free) struct sn_zip *zip = NULL;
    char name[24];
    assert_int_equal(sn_zip_writer_new(fd, 0, &writer, NULL), SONDE_OK);
    for (size_t i = 0; i < member_count; i++) {
        (void)snprintf(name, sizeof(name), "%zu", i);
        put_member(writer, name, "", 0, 0);
    }
    assert_int_equal(sn_zip_writer_finish(writer, NULL), SONDE_OK);
    int rc = sn_zip_open(fd, "x.zip", &zip, NULL);
    assert_int_equal(rc == SONDE_OK ? sn_zip_count(zip) : 0, rc == SONDE_OK ? member_count : 0);
    return rc;
}

static void a_file_with_too_many_members_is_refused(void **state)
{
    (void)state;
    assert_int_equal(open_crowd(MEMBERS_MAX), SONDE_OK);
    assert_int_equal(open_crowd(MEMBERS_MAX + 1), SONDE_E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_is_unpacked),
        cmocka_unit_test(large_members_have_long_sizes),
        cmocka_unit_test(a_member_larger_than_told_is_refused),
        cmocka_unit_test(a_ceiling_holds),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(every_byte_may_be_wrong),
        cmocka_unit_test(bombs_do_not_go_off),
        cmocka_unit_test(a_file_with_too_many_members_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
