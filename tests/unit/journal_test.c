/* The journal of a recorder: readable at any moment, continued after a kill, held by one. */
#include "sink/archive/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "check.h"
#include "flow/road.h"
#include "format/nettrace_reader.h"
#include "format/universal.h"
#include "format/zip_reader.h"
#include "model/event.h"
#include "model/trace_info.h"

#define FILE_MAX (8u << 20)

struct bench {
    char folder[64];
    char path[96];
    struct sn_schema schemas[SN_UNIVERSAL_COUNT];
    uint64_t now;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    (void)snprintf(bench->folder, sizeof(bench->folder), "/tmp/sonde_journal_XXXXXX");
    assert_non_null(mkdtemp(bench->folder));
    (void)snprintf(bench->path, sizeof(bench->path), "%s/x.sonde", bench->folder);
    sn_universal_schemas(bench->schemas);
    bench->now = sn_clock_monotonic_ns() - 1000000000u;
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    static const char *const members[] = {"trace.nettrace", "manifest.json", "cpu/7.cpu", "cpu"};
    char path[160];
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", bench->path, members[i]);
        (void)remove(path);
    }
    (void)remove(bench->path);
    assert_int_equal(rmdir(bench->folder), 0);
    free(bench);
    return 0;
}

static struct sn_journal *begin(struct bench *bench)
{
    struct sn_trace_info info = {.format_version = 6,
                                 .start_utc_ns = sn_clock_utc_ns(),
                                 .start_ticks = bench->now,
                                 .ticks_per_second = 1000000000u,
                                 .pointer_size = 8,
                                 .processor_count = 2};
    struct sn_journal *journal = NULL;
    assert_int_equal(sn_journal_new(bench->path, &info, &journal, NULL), SONDE_OK);
    return journal;
}

static void put_samples(struct bench *bench, struct sn_journal *journal, uint32_t count)
{
    SN_AUTO(sn_buf_done) struct sn_buf payload = sn_buf_with_limit(64);
    struct sn_universal_fields fields = {.numbers = {1}};
    sn_universal_encode(SN_UNIVERSAL_CPU, &fields, &payload);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t stack[3] = {0x1000 + i, 0x2000 + i % 7, 0x3000};
        struct sn_event event = {.schema = &bench->schemas[SN_UNIVERSAL_CPU],
                                 .time_ns = bench->now += 1000,
                                 .pid = 100 + i % 3,
                                 .thread_id = 200 + i % 5,
                                 .cpu = i % 2,
                                 .pointer_size = 8,
                                 .payload = payload.bytes,
                                 .payload_size = (uint32_t)payload.size,
                                 .stack = (const uint8_t *)stack,
                                 .stack_depth = 3};
        assert_int_equal(sn_journal_event(journal, &event, NULL), SONDE_OK);
    }
}

struct found {
    uint32_t events;
    uint64_t lost;
    uint64_t last_ns;
    uint64_t addresses; /* sum of the leaves, so that a lost stack shows */
    int status;
};

static int take(void *user, const struct sn_event *event)
{
    struct found *found = user;
    assert_true(event->time_ns >= found->last_ns);
    assert_true(event->is_sorted);
    assert_int_equal(event->stack_depth, 3);
    uint64_t leaf;
    memcpy(&leaf, event->stack, sizeof(leaf));
    found->addresses += leaf;
    found->last_ns = event->time_ns;
    found->events++;
    return SONDE_OK;
}

static int take_loss(void *user, const struct sn_nettrace_loss *loss)
{
    struct found *found = user;
    found->lost += loss->count;
    return SONDE_OK;
}

static void read_trace(const struct bench *bench, struct sn_buf *file)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/trace.nettrace", bench->path);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, file, NULL), SONDE_OK);
}

static struct found read_bytes(const struct sn_buf *file, size_t size)
{
    static const struct sn_nettrace_ops ops = {.event = take, .lost = take_loss};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    struct found found = {0};
    assert_int_equal(sn_nettrace_reader_new(&ops, &found, &reader, NULL), SONDE_OK);
    (void)sn_nettrace_reader_feed(reader, file->bytes, size, NULL);
    found.status = sn_nettrace_reader_finish(reader, NULL);
    assert_int_equal(sn_nettrace_reader_counters(reader).undecodable, 0);
    assert_int_equal(sn_nettrace_reader_counters(reader).stackless, 0);
    return found;
}

static struct found read_journal(const struct bench *bench)
{
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(FILE_MAX);
    read_trace(bench, &file);
    return read_bytes(&file, file.size);
}

static void what_was_flushed_is_readable(void **state)
{
    struct bench *bench = *state;
    struct sn_journal *journal = begin(bench);
    put_samples(bench, journal, 1000);
    assert_int_equal(sn_journal_flush(journal, NULL), SONDE_OK);
    put_samples(bench, journal, 10); /* pending */
    struct found found = read_journal(bench);
    assert_int_equal(found.events, 1000);
    assert_int_equal(found.status, SONDE_E_TRUNCATED);
    assert_int_equal(sn_journal_finish(journal, NULL), SONDE_OK);
    uint64_t bytes = sn_journal_bytes(journal);
    sn_journal_free(journal);
    found = read_journal(bench);
    assert_int_equal(found.events, 1010);
    assert_int_equal(found.status, SONDE_OK);
    assert_int_equal(found.lost, 0);
    char path[160];
    struct stat status;
    (void)snprintf(path, sizeof(path), "%s/trace.nettrace", bench->path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, bytes);
    assert_int_equal(status.st_mode & 0777u, 0600);
}

/* More stacks than are remembered at once: none is lost when they are forgotten. */
static void ceilings_lose_nothing(void **state)
{
    struct bench *bench = *state;
    struct sn_journal *journal = begin(bench);
    put_samples(bench, journal, 40000);
    assert_int_equal(sn_journal_finish(journal, NULL), SONDE_OK);
    sn_journal_free(journal);
    struct found found = read_journal(bench);
    assert_int_equal(found.events, 40000);
    assert_int_equal(found.addresses, UINT64_C(40000) * 0x1000 + UINT64_C(40000) * 39999 / 2);
}

static void a_live_journal_is_held(void **state)
{
    struct bench *bench = *state;
    struct sn_journal *journal = begin(bench);
    struct sn_journal *second = NULL;
    struct sn_trace_info info = {.pointer_size = 8};
    assert_int_equal(sn_journal_new(bench->path, &info, &second, NULL), SONDE_E_BUSY);
    assert_int_equal(sn_journal_reopen(bench->path, &second, NULL), SONDE_E_BUSY);
    sn_journal_free(journal);
    /* and one left behind is not thrown away */
    assert_int_equal(sn_journal_new(bench->path, &info, &second, NULL), SONDE_E_BUSY);
    assert_int_equal(sn_journal_reopen(bench->path, &second, NULL), SONDE_OK);
    assert_int_equal(sn_journal_finish(second, NULL), SONDE_OK);
    sn_journal_free(second);
    /* a finished one may be replaced */
    journal = begin(bench);
    sn_journal_free(journal);
}

/* Wherever the recorder was killed, all whole blocks stay and more can be added. */
static void a_cut_journal_goes_on(void **state)
{
    struct bench *bench = *state;
    char path[160];
    struct sn_journal *journal = begin(bench);
    for (int i = 0; i < 4; i++) {
        put_samples(bench, journal, 50);
        assert_int_equal(sn_journal_flush(journal, NULL), SONDE_OK);
    }
    sn_journal_free(journal);
    SN_AUTO(sn_buf_done) struct sn_buf whole = sn_buf_with_limit(FILE_MAX);
    read_trace(bench, &whole);
    (void)snprintf(path, sizeof(path), "%s/trace.nettrace", bench->path);
    for (size_t size = whole.size; size > 0; size -= size > 37 ? 37 : size) {
        int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(sn_file_write_all(fd, whole.bytes, size, NULL), SONDE_OK);
        sn_close(fd);
        int rc = sn_journal_reopen(bench->path, &journal, NULL);
        if (rc != SONDE_OK) {
            assert_int_equal(rc, SONDE_E_FORMAT);
            assert_true(size < 200); /* the stream's head is not whole */
            continue;
        }
        put_samples(bench, journal, 30);
        assert_int_equal(sn_journal_finish(journal, NULL), SONDE_OK);
        sn_journal_free(journal);
        struct found found = read_journal(bench);
        assert_int_equal(found.status, SONDE_OK);
        assert_int_equal(found.events % 50, 30);
        assert_int_equal(found.lost, 0);
        if (size == whole.size)
            assert_int_equal(found.events, 230);
    }
}

static void losses_are_gaps(void **state)
{
    struct bench *bench = *state;
    struct sn_journal *journal = begin(bench);
    uint64_t count = 17;
    struct sn_event lost = {.schema = &sn_lost_schema,
                            .time_ns = bench->now,
                            .pid = 4,
                            .pointer_size = 8,
                            .payload = (const uint8_t *)&count,
                            .payload_size = sizeof(count)};
    put_samples(bench, journal, 10);
    assert_int_equal(sn_journal_event(journal, &lost, NULL), SONDE_OK);
    put_samples(bench, journal, 10);
    assert_int_equal(sn_journal_event(journal, &lost, NULL), SONDE_OK);
    assert_int_equal(sn_journal_finish(journal, NULL), SONDE_OK);
    sn_journal_free(journal);
    struct found found = read_journal(bench);
    assert_int_equal(found.events, 20);
    assert_int_equal(found.lost, 34);
}

/* A clock that runs ahead in one event does not take the others along. */
static void nothing_comes_from_the_future(void **state)
{
    struct bench *bench = *state;
    struct sn_journal *journal = begin(bench);
    uint64_t past = bench->now;
    bench->now = UINT64_MAX / 2;
    put_samples(bench, journal, 1);
    bench->now = past;
    put_samples(bench, journal, 5);
    assert_int_equal(sn_journal_finish(journal, NULL), SONDE_OK);
    sn_journal_free(journal);
    struct found found = read_journal(bench);
    assert_int_equal(found.events, 6);
    assert_true(found.last_ns <= sn_clock_monotonic_ns());
}

static void members_are_whole(void **state)
{
    struct bench *bench = *state;
    struct sn_journal *journal = begin(bench);
    char path[160];
    assert_int_equal(sn_journal_put(journal, "manifest.json", "{\"a\":1}", 7, NULL), SONDE_OK);
    assert_int_equal(sn_journal_put(journal, "manifest.json", "{}", 2, NULL), SONDE_OK);
    assert_int_equal(sn_journal_put(journal, "cpu/7.cpu", "x", 1, NULL), SONDE_OK);
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(100);
    sn_journal_path(journal, "manifest.json", path, sizeof(path));
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, &file, NULL), SONDE_OK);
    assert_string_equal(sn_buf_string(&file), "{}");
    sn_journal_free(journal);
}

static void links_are_not_followed(void **state)
{
    struct bench *bench = *state;
    struct sn_trace_info info = {.pointer_size = 8};
    struct sn_journal *journal = NULL;
    char path[160];
    assert_int_equal(mkdir(bench->path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/trace.nettrace", bench->path);
    assert_int_equal(symlink("/tmp/sonde_nowhere", path), 0);
    assert_true(sn_journal_new(bench->path, &info, &journal, NULL) < 0);
    assert_int_not_equal(access("/tmp/sonde_nowhere", F_OK), 0);
}

/* Turns until it is done; the journal goes, the archive is there. */
/* As a recorder does that is killed while it puts a member. */
static void leave_draft(struct sn_journal *journal, const char *member)
{
    char whole[160];
    char draft[170];
    assert_int_equal(sn_journal_put(journal, member, "half", 4, NULL), SONDE_OK);
    (void)sn_journal_path(journal, member, whole, sizeof(whole));
    (void)snprintf(draft, sizeof(draft), "%s.new", whole);
    assert_int_equal(rename(whole, draft), 0);
}

static void a_finished_journal_is_packed(void **state)
{
    struct bench *bench = *state;
    struct sn_journal *journal = begin(bench);
    char archive[160];
    put_samples(bench, journal, 3000);
    assert_int_equal(sn_journal_put(journal, "manifest.json", "{}", 2, NULL), SONDE_OK);
    assert_int_equal(sn_journal_put(journal, "cpu/7.cpu", "seven", 5, NULL), SONDE_OK);
    leave_draft(journal, "cpu/9.cpu");
    assert_int_equal(sn_journal_finish(journal, NULL), SONDE_OK);
    sn_journal_free(journal);
    SN_AUTO(sn_buf_done) struct sn_buf trace = sn_buf_with_limit(FILE_MAX);
    read_trace(bench, &trace);

    struct sn_packing *packing = NULL;
    uint64_t bytes = 0;
    (void)snprintf(archive, sizeof(archive), "%s.zip", bench->path);
    assert_int_equal(sn_packing_new(bench->path, archive, &packing, NULL), SONDE_OK);
    assert_int_equal(sn_packing_turn(packing, &bytes, NULL), SONDE_AGAIN);
    assert_int_not_equal(access(archive, F_OK), 0); /* not before it is whole */
    sn_packing_free(packing);                       /* given up: nothing is lost */
    assert_int_equal(access(bench->path, F_OK), 0);

    assert_int_equal(sn_packing_new(bench->path, archive, &packing, NULL), SONDE_OK);
    int rc = SONDE_AGAIN;
    for (int turns = 0; rc == SONDE_AGAIN && turns < 100; turns++)
        rc = sn_packing_turn(packing, &bytes, NULL);
    assert_int_equal(rc, SONDE_OK);
    sn_packing_free(packing);
    assert_int_not_equal(access(bench->path, F_OK), 0);

    SN_AUTO(sn_close) int fd = open(archive, O_RDONLY | O_CLOEXEC);
    SN_AUTO(sn_zip_free) struct sn_zip *zip = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf copy = sn_buf_with_limit(FILE_MAX);
    assert_int_equal(sn_zip_open(fd, archive, &zip, NULL), SONDE_OK);
    assert_int_equal(lseek(fd, 0, SEEK_END), bytes);
    assert_int_equal(sn_zip_count(zip), 3);
    assert_string_equal(sn_zip_member(zip, 0)->name, "trace.nettrace");
    assert_non_null(sn_zip_find(zip, "cpu/7.cpu"));
    assert_int_equal(sn_zip_read(zip, sn_zip_member(zip, 0), &copy, NULL), SONDE_OK);
    assert_int_equal(copy.size, trace.size);
    assert_memory_equal(copy.bytes, trace.bytes, trace.size);
    assert_int_equal(unlink(archive), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_flushed_is_readable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ceilings_lose_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_live_journal_is_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut_journal_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(losses_are_gaps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_comes_from_the_future, set_up, tear_down),
        cmocka_unit_test_setup_teardown(members_are_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_are_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_finished_journal_is_packed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
