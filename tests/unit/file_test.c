/* Small files, whole: ceilings, cuts, what is not there, writes into a pipe. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

/* A file of `size` bytes "0123456789012..." without a name; the caller closes it. */
static int make_file(size_t size)
{
    char path[] = "/tmp/sonde-file-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(write(fd, &"0123456789"[i % 10], 1), 1);
    return fd;
}

static const char *path_of(int fd, char to[32])
{
    (void)snprintf(to, 32, "/proc/self/fd/%d", fd);
    return to;
}

static void a_file_is_appended_whole(void **state)
{
    (void)state;
    char path[32];
    SN_AUTO(sn_close) int fd = make_file(10001);
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(20000);
    struct sonde_error err = {0};
    sn_buf_text(&buf, "ab");
    assert_int_equal(sn_file_read_at(AT_FDCWD, path_of(fd, path), &buf, &err), SONDE_OK);
    assert_int_equal(buf.size, 10003);
    assert_memory_equal(buf.bytes, "ab0123", 6);
    assert_int_equal(buf.bytes[10002], '0');
}

static void a_file_without_a_size_is_read_to_its_end(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(1u << 20);
    struct sonde_error err = {0};
    assert_int_equal(sn_file_read_at(AT_FDCWD, "/proc/self/status", &buf, &err), SONDE_OK);
    assert_non_null(strstr(sn_buf_string(&buf), "\nPid:"));
    assert_int_equal(buf.bytes[buf.size - 1], '\n');
}

static void a_file_up_to_the_limit_is_refused_below_it_is_read(void **state)
{
    (void)state;
    char path[32];
    SN_AUTO(sn_close) int fd = make_file(5000);
    SN_AUTO(sn_buf_done) struct sn_buf below = sn_buf_with_limit(5000);
    SN_AUTO(sn_buf_done) struct sn_buf above = sn_buf_with_limit(5001);
    struct sonde_error err = {0};
    assert_int_equal(sn_file_read_at(AT_FDCWD, path_of(fd, path), &below, &err), SONDE_E_LIMIT);
    assert_non_null(strstr(err.text, "5000"));
    assert_int_equal(sn_file_read_at(AT_FDCWD, path_of(fd, path), &above, NULL), SONDE_OK);
    assert_int_equal(strlen(sn_buf_string(&above)), 5000); /* with room for a zero */
}

static void an_endless_file_meets_the_limit(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(100000);
    struct sonde_error err = {0};
    assert_int_equal(sn_file_read_at(AT_FDCWD, "/dev/zero", &buf, &err), SONDE_E_LIMIT);
    assert_true(buf.size <= 100000);
}

static void what_cannot_be_read_says_why(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(100);
    struct sonde_error err = {0};
    assert_int_equal(sn_file_read_at(AT_FDCWD, "/no/such/file", &buf, &err), SONDE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "/no/such/file"));
    err = (struct sonde_error){0};
    assert_int_equal(sn_file_read_at(AT_FDCWD, "/tmp", &buf, &err), SONDE_E_SYSTEM);
    assert_int_equal(err.system_error, EISDIR);
    assert_int_equal(buf.size, 0);
}

static void names_are_taken_below_the_directory(void **state)
{
    (void)state;
    SN_AUTO(sn_close) int dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    SN_AUTO(sn_buf_done) struct sn_buf buf = sn_buf_with_limit(4096);
    struct sonde_error err = {0};
    char text[64];
    assert_int_equal(sn_file_read_at(dir, "comm", &buf, &err), SONDE_OK);
    long size = sn_file_peek_at(dir, "comm", text, sizeof(text));
    assert_int_equal(size, buf.size);
    assert_memory_equal(text, buf.bytes, buf.size);
}

static void a_peek_is_cut_and_ends_with_a_zero(void **state)
{
    (void)state;
    char path[32];
    SN_AUTO(sn_close) int fd = make_file(20);
    for (size_t size = 1; size < 30; size++) {
        char text[40];
        memset(text, 'x', sizeof(text));
        long got = sn_file_peek_at(AT_FDCWD, path_of(fd, path), text, size);
        assert_int_equal(got, size - 1 < 20 ? size - 1 : 20);
        assert_int_equal(strlen(text), got);
        assert_int_equal(text[size], 'x');
    }
    char text[8];
    assert_int_equal(sn_file_peek_at(AT_FDCWD, "/no/such/file", text, sizeof(text)), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(sn_file_peek_at(AT_FDCWD, "/tmp", text, sizeof(text)), -1);
}

/* A reader that takes a pipe's bytes a few at a time. */
static void *drain(void *user)
{
    const int *fd = user;
    char bytes[1000];
    size_t sum = 0;
    ssize_t got;
    while ((got = read(*fd, bytes, sizeof(bytes))) > 0)
        sum += (size_t)got;
    return (void *)sum;
}

static void a_write_larger_than_the_pipe_is_written_whole(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, drain, &ends[0]), 0);
    char *bytes = calloc(1, 1u << 20);
    struct sonde_error err = {0};
    assert_int_equal(sn_file_write_all(ends[1], bytes, 1u << 20, &err), SONDE_OK);
    assert_int_equal(sn_file_write_all(ends[1], bytes, 0, &err), SONDE_OK);
    (void)close(ends[1]);
    void *sum = NULL;
    assert_int_equal(pthread_join(reader, &sum), 0);
    assert_int_equal((size_t)sum, 1u << 20);
    free(bytes);
    (void)close(ends[0]);
}

static void a_failed_write_says_why(void **state)
{
    (void)state;
    SN_AUTO(sn_close) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct sonde_error err = {0};
    if (full < 0)
        skip_because("no /dev/full");
    assert_int_equal(sn_file_write_all(full, "x", 1, &err), SONDE_E_SYSTEM);
    assert_int_equal(err.system_error, ENOSPC);
}

/* How often something below the watched directory was really opened. */
static unsigned opens_of(int watch)
{
    char events[4096] __attribute__((aligned(8)));
    unsigned count = 0;
    for (ssize_t got; (got = read(watch, events, sizeof(events))) > 0;) {
        for (ssize_t at = 0; at < got;) {
            struct inotify_event event;
            memcpy(&event, events + at, sizeof(event));
            count += (event.mask & IN_OPEN) && event.len;
            at += (ssize_t)(sizeof(event) + event.len);
        }
    }
    return count;
}

static void only_regular_files_of_others_are_opened(void **state)
{
    (void)state;
    char folder[] = "/tmp/sonde-file-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    SN_AUTO(sn_close) int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    SN_AUTO(sn_close) int made = openat(dir, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(made >= 0);
    assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
    assert_int_equal(mkdirat(dir, "folder", 0700), 0);
    assert_int_equal(symlinkat("file", dir, "link"), 0);
    SN_AUTO(sn_close) int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(watch, folder, IN_OPEN) >= 0);
    static const char *const others[] = {"fifo", "folder", "link", "nothing"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_int_equal(sn_file_open_regular_at(dir, others[i]), -1);
    assert_int_equal(opens_of(watch), 0);
    SN_AUTO(sn_close) int fd = sn_file_open_regular_at(dir, "file");
    assert_true(fd >= 0);
    assert_int_equal(opens_of(watch), 1);
    assert_int_equal(unlinkat(dir, "file", 0) | unlinkat(dir, "fifo", 0) |
                         unlinkat(dir, "link", 0) | unlinkat(dir, "folder", AT_REMOVEDIR),
                     0);
    assert_int_equal(rmdir(folder), 0);
}

static void wanted_lines_are_found_among_long_ones_and_cut(void **state)
{
    (void)state;
    static const char *const keys[] = {"Key:", "Last:", NULL};
    static char many[10000];
    char path[32];
    char to[512];
    SN_AUTO(sn_close) int fd = memfd_create("lines", MFD_CLOEXEC);
    memset(many, 'x', sizeof(many));
    assert_int_equal(write(fd, "Key: 1\nNoKey: 2\nGroups:", 23), 23);
    assert_int_equal(write(fd, many, sizeof(many)), (ssize_t)sizeof(many));
    assert_int_equal(write(fd, "\nKey: 3\n\nLast:", 14), 14);
    assert_int_equal(sn_file_peek_lines(fd, keys, to, sizeof(to)), 20);
    assert_string_equal(to, "Key: 1\nKey: 3\nLast:\n");
    assert_int_equal(sn_file_peek_lines_at(AT_FDCWD, path_of(fd, path), keys, to, sizeof(to)), 20);
    for (size_t size = 1; size < 21; size++) { /* whole lines, up to the first without room */
        long got = sn_file_peek_lines(fd, keys, to, size);
        assert_int_equal(got, size < 8 ? 0 : size < 15 ? 7 : 14);
        assert_int_equal(strlen(to), got);
    }
    assert_int_equal(write(fd, many, sizeof(many)), (ssize_t)sizeof(many));
    assert_int_equal(sn_file_peek_lines(fd, keys, to, sizeof(to)), 14 + 256);
    assert_int_equal(sn_file_peek_lines(-1, keys, to, sizeof(to)), -1);
    assert_int_equal(sn_file_peek_lines_at(fd, "nothing", keys, to, sizeof(to)), -1);
}

static void a_part_is_read_from_where_it_is(void **state)
{
    (void)state;
    char text[16] = "";
    SN_AUTO(sn_close) int fd = memfd_create("part", MFD_CLOEXEC);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    assert_int_equal(sn_file_read_from(fd, 3, text, 4), 4);
    assert_string_equal(text, "3456");
    assert_int_equal(sn_file_read_from(fd, 8, text, sizeof(text)), 2);
    assert_int_equal(sn_file_read_from(fd, 10, text, 1), 0);
    assert_int_equal(sn_file_read_from(fd, UINT64_MAX - 1, text, 4), 0);
    assert_int_equal(sn_file_read_from(fd, INT64_MAX, text, 1), 0);
    assert_int_equal(sn_file_read_from(-1, 0, text, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_appended_whole),
        cmocka_unit_test(a_file_without_a_size_is_read_to_its_end),
        cmocka_unit_test(a_file_up_to_the_limit_is_refused_below_it_is_read),
        cmocka_unit_test(an_endless_file_meets_the_limit),
        cmocka_unit_test(what_cannot_be_read_says_why),
        cmocka_unit_test(names_are_taken_below_the_directory),
        cmocka_unit_test(a_peek_is_cut_and_ends_with_a_zero),
        cmocka_unit_test(wanted_lines_are_found_among_long_ones_and_cut),
        cmocka_unit_test(a_part_is_read_from_where_it_is),
        cmocka_unit_test(a_write_larger_than_the_pipe_is_written_whole),
        cmocka_unit_test(a_failed_write_says_why),
        cmocka_unit_test(only_regular_files_of_others_are_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
