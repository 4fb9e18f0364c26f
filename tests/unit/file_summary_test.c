/* Summaries of saved traces: recorded ones, cut ones, and files that are none. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "sonde/file.h"

#define RECORDED SONDE_SOURCE_DIR "/tests/golden/nettrace/"

static struct sonde_summary *summarize(const char *path)
{
    struct sonde_summary *summary = NULL;
    struct sonde_error err = {0};
    if (sonde_file_summarize(path, &summary, &err) != SONDE_OK)
        fail_msg("%s: %s", path, err.text);
    return summary;
}

static struct sonde_file_totals totals_of(const struct sonde_summary *summary)
{
    struct sonde_file_totals totals;
    sonde_summary_totals(summary, &totals);
    return totals;
}

/* Writes bytes to a temporary file; the caller unlinks and frees the path. */
static char *write_temporary(const void *bytes, size_t size)
{
    char *path = strdup("/tmp/sonde-summary-test-XXXXXX");
    assert_non_null(path);
    SN_AUTO(sn_close) int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(sn_file_write_all(fd, bytes, size, NULL), SONDE_OK);
    return path;
}

static void read_recorded(const char *name, struct sn_buf *buf)
{
    char path[512];
    struct sonde_error err = {0};
    (void)snprintf(path, sizeof(path), RECORDED "%s", name);
    if (sn_file_read_at(AT_FDCWD, path, buf, &err) != SONDE_OK)
        fail_msg("%s", err.text);
}

static void recorded_traces_of_every_runtime_are_whole(void **state)
{
    (void)state;
    static const char *const names[] = {"8-gc", "9-gc", "10-gc", "8-events", "10-sampler"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[512];
        (void)snprintf(path, sizeof(path), RECORDED "%s.nettrace", names[i]);
        struct sonde_summary *summary = summarize(path);
        struct sonde_file_totals totals = totals_of(summary);
        assert_true(totals.format == 4 || totals.format == 6);
        assert_true(totals.event_count > 0 && totals.duration_ns > 0 && totals.pid > 0);
        assert_int_equal(totals.damage_count, 0);
        assert_false(totals.is_cut);
        assert_int_equal(sonde_summary_damage_count(summary), 0);
        uint64_t sum = 0;
        uint64_t last = UINT64_MAX;
        for (size_t kind = 0; kind < sonde_summary_kind_count(summary); kind++) {
            const struct sonde_event_kind *one = sonde_summary_kind(summary, kind);
            assert_true(one->count && one->count <= last);
            assert_true(one->provider[0] != '\0');
            /* In events that describe themselves the runtime writes a bool in one byte and a
             * decimal as a double, against its own metadata. */
            assert_int_equal(one->undecoded_count, 0);
            assert_true(one->stack_count <= one->count);
            last = one->count;
            sum += one->count;
        }
        assert_int_equal(sum, totals.event_count);
        assert_null(sonde_summary_kind(summary, sonde_summary_kind_count(summary)));
        assert_null(sonde_summary_damage(summary, 0));
        sonde_summary_free(summary);
    }
}

static void a_cut_file_gives_what_is_intact(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf whole = sn_buf_with_limit(64u << 20);
    read_recorded("10-gc.nettrace", &whole);
    uint64_t last = 0;
    for (int part = 1; part < 16; part++) {
        SN_AUTO(sn_free) char *path = write_temporary(whole.bytes, whole.size * (size_t)part / 16);
        struct sonde_summary *summary = summarize(path);
        (void)unlink(path);
        struct sonde_file_totals totals = totals_of(summary);
        sonde_summary_free(summary);
        assert_true(totals.is_cut);
        assert_true(totals.event_count >= last);
        last = totals.event_count;
    }
    assert_true(last > 0);
}

static void damage_is_named_with_its_place(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf whole = sn_buf_with_limit(64u << 20);
    read_recorded("10-gc.nettrace", &whole);
    unsigned damaged = 0;
    for (size_t part = 4; part < 12; part++) {
        size_t at = whole.size * part / 16;
        uint8_t kept[64];
        memcpy(kept, whole.bytes + at, sizeof(kept));
        memset(whole.bytes + at, 0xFF, sizeof(kept));
        SN_AUTO(sn_free) char *path = write_temporary(whole.bytes, whole.size);
        memcpy(whole.bytes + at, kept, sizeof(kept));
        struct sonde_summary *summary = NULL;
        struct sonde_error err = {0};
        int rc = sonde_file_summarize(path, &summary, &err);
        (void)unlink(path);
        assert_int_equal(rc, SONDE_OK);
        for (size_t i = 0; i < sonde_summary_damage_count(summary); i++) {
            const struct sonde_damage *damage = sonde_summary_damage(summary, i);
            assert_true(damage->offset <= whole.size && damage->text[0] != '\0');
            damaged++;
        }
        sonde_summary_free(summary);
    }
    assert_true(damaged > 0);
}

static void a_file_that_is_no_trace_is_refused_with_a_cause(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "N", "Nettrace", "hello, world, this is no trace",
                                        "\177ELF\2\1\1"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct sonde_summary *summary = NULL;
        struct sonde_error err = {0};
        SN_AUTO(sn_free) char *path = write_temporary(texts[i], strlen(texts[i]));
        int rc = sonde_file_summarize(path, &summary, &err);
        (void)unlink(path);
        if (rc == SONDE_OK) { /* the beginning of one is a cut one */
            struct sonde_file_totals totals = totals_of(summary);
            assert_int_equal(strncmp("Nettrace", texts[i], strlen(texts[i])), 0);
            assert_true(totals.is_cut && !totals.event_count);
            sonde_summary_free(summary);
            continue;
        }
        assert_true(rc < 0 && err.text[0] != '\0');
        assert_null(summary);
    }
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct sonde_summary *summary = NULL;
    struct sonde_error err = {0};
    assert_true(sonde_file_summarize("/no/such.nettrace", &summary, &err) < 0);
    assert_int_equal(err.system_error, ENOENT);
    assert_non_null(strstr(err.text, "/no/such.nettrace"));
    err = (struct sonde_error){0};
    assert_true(sonde_file_summarize("/tmp", &summary, &err) < 0);
    assert_string_not_equal(err.text, "");
    sonde_summary_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_traces_of_every_runtime_are_whole),
        cmocka_unit_test(a_cut_file_gives_what_is_intact),
        cmocka_unit_test(damage_is_named_with_its_place),
        cmocka_unit_test(a_file_that_is_no_trace_is_refused_with_a_cause),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
