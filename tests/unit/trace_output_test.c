/* Where events go: raw bytes, re-encoded files, rolls that are complete, filters, full disks. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/trace_output.h"
#include "base/err.h"
#include "base/loop.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/schema.h"
#include "model/trace_info.h"
#include "sonde/file.h"
#include "sonde/provider.h"

static const struct sn_trace_info stream_info = {.format_version = 4,
                                                 .start_utc_ns = 1700000000000000000u,
                                                 .start_ticks = 0,
                                                 .ticks_per_second = 1000000000,
                                                 .pointer_size = 8,
                                                 .pid = 4242,
                                                 .processor_count = 2};

static const struct sn_schema tick = {
    .provider = "Clock", .name = "Tick", .event_id = 1, .level = 4, .has_layout = true, .index = 0};
static const struct sn_schema tock = {
    .provider = "Clock", .name = "Tock", .event_id = 2, .level = 4, .has_layout = true, .index = 1};

struct fixture {
    char dir[64];
    char path[128];
    struct sn_loop *loop;
    struct sn_trace_output *output;
    struct sn_sink *sink;
    uint32_t sequence;
};

static const struct sn_trace_info *get_info(void *user)
{
    (void)user;
    return &stream_info;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct sonde_error err = {0};
    assert_non_null(fixture);
    (void)snprintf(fixture->dir, sizeof(fixture->dir), "/tmp/sonde-output-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->dir));
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s/a.b.nettrace", fixture->dir);
    assert_int_equal(sn_loop_new(&fixture->loop, &err), SONDE_OK);
    *state = fixture;
    return 0;
}

static void close_output(struct fixture *fixture)
{
    if (fixture->sink)
        fixture->sink->ops->free(fixture->sink);
    sn_trace_output_free(fixture->output);
    fixture->sink = NULL;
    fixture->output = NULL;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    close_output(fixture);
    sn_loop_free(fixture->loop);
    char path[128];
    (void)unlink(fixture->path);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(path, sizeof(path), "%s/a.b.%04d.nettrace", fixture->dir, i);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(fixture->dir), 0); /* nothing else was written */
    free(fixture);
    return 0;
}

static void open_output(struct fixture *fixture, struct sn_trace_output_options options)
{
    struct sonde_error err = {0};
    options.path = fixture->path;
    options.version = options.version ? options.version : 4;
    options.info = get_info;
    if (sn_trace_output_new(fixture->loop, &options, &fixture->output, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    if (!options.is_raw)
        assert_int_equal(sn_trace_output_sink_new(fixture->output, &fixture->sink, &err), SONDE_OK);
}

static int say(struct fixture *fixture, const struct sn_schema *schema, const void *payload,
               uint32_t size)
{
    fixture->sequence++;
    struct sn_event event = {.schema = schema,
                             .time_ns = fixture->sequence * 1000u,
                             .pid = 4242,
                             .cpu = UINT32_MAX,
                             .thread_id = 7,
                             .capture_thread_id = 7,
                             .sequence = fixture->sequence,
                             .pointer_size = 8,
                             .payload = payload,
                             .payload_size = size};
    return fixture->sink->ops->event(fixture->sink, &event);
}

static void finish(struct fixture *fixture)
{
    struct sonde_error err = {0};
    if (sn_trace_output_finish(fixture->output, &err) != SONDE_OK)
        fail_msg("%s", err.text);
}

/* Reads a file back: complete, undamaged; returns how many events of `name` it has. */
static uint64_t count_in(const char *path, const char *name)
{
    struct sonde_summary *summary = NULL;
    struct sonde_error err = {0};
    if (sonde_file_summarize(path, &summary, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    struct sonde_file_totals totals;
    sonde_summary_totals(summary, &totals);
    assert_int_equal(totals.pid, 4242);
    assert_int_equal(totals.damage_count, 0);
    assert_false(totals.is_cut);
    uint64_t count = 0;
    for (size_t i = 0; i < sonde_summary_kind_count(summary); i++) {
        const struct sonde_event_kind *kind = sonde_summary_kind(summary, i);
        count += strcmp(kind->name, name) == 0 ? kind->count : 0;
    }
    sonde_summary_free(summary);
    return count;
}

static uint64_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static void raw_bytes_are_written_as_they_come(void **state)
{
    struct fixture *fixture = *state;
    struct sonde_error err = {0};
    open_output(fixture, (struct sn_trace_output_options){.is_raw = true});
    assert_string_equal(sn_trace_output_path(fixture->output), fixture->path);
    assert_int_equal(sn_trace_output_tap(fixture->output, "Net", 3, &err), SONDE_OK);
    assert_int_equal(sn_trace_output_tap(fixture->output, "trace", 5, &err), SONDE_OK);
    finish(fixture);
    assert_int_equal(sn_trace_output_bytes(fixture->output), 8);
    assert_int_equal(sn_trace_output_file_count(fixture->output), 1);
    char text[16] = "";
    FILE *file = fopen(fixture->path, "r");
    assert_int_equal(fread(text, 1, sizeof(text), file), 8);
    (void)fclose(file);
    assert_string_equal(text, "Nettrace");
}

static void events_are_encoded_in_both_versions(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t version = 4; version <= 6; version += 2) {
        open_output(fixture, (struct sn_trace_output_options){.version = version});
        for (int i = 0; i < 100; i++)
            assert_int_equal(say(fixture, i % 4 ? &tick : &tock, "abcd", 4), SONDE_OK);
        finish(fixture);
        assert_int_equal(sn_trace_output_bytes(fixture->output), size_of(fixture->path));
        close_output(fixture);
        assert_int_equal(count_in(fixture->path, "Tick"), 75);
        assert_int_equal(count_in(fixture->path, "Tock"), 25);
    }
}

static void event_ids_of_a_filtered_provider_are_left_out(void **state)
{
    struct fixture *fixture = *state;
    static const uint32_t one[] = {1};
    for (int excluded = 0; excluded < 2; excluded++) {
        struct sonde_provider providers[] = {
            {.name = "Other", .ids = one, .id_count = 1},
            {.name = "CLOCK", .ids = one, .id_count = 1, .ids_are_excluded = excluded},
        };
        open_output(fixture,
                    (struct sn_trace_output_options){.providers = providers, .provider_count = 2});
        memset(providers, 0, sizeof(providers)); /* they were copied */
        for (int i = 0; i < 10; i++) {
            assert_int_equal(say(fixture, &tick, "", 0), excluded ? SONDE_AGAIN : SONDE_OK);
            assert_int_equal(say(fixture, &tock, "", 0), excluded ? SONDE_OK : SONDE_AGAIN);
        }
        finish(fixture);
        close_output(fixture);
        assert_int_equal(count_in(fixture->path, "Tick"), excluded ? 0 : 10);
        assert_int_equal(count_in(fixture->path, "Tock"), excluded ? 10 : 0);
    }
}

static void rolled_files_are_complete_and_lose_nothing(void **state)
{
    struct fixture *fixture = *state;
    static const char payload[1000];
    open_output(fixture, (struct sn_trace_output_options){.roll_bytes = 200000});
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(say(fixture, &tick, payload, sizeof(payload)), SONDE_OK);
        sn_trace_output_tend(fixture->output);
        assert_true(sn_trace_output_is_idle(fixture->output)); /* no rundown was asked for */
    }
    finish(fixture);
    uint32_t files = sn_trace_output_file_count(fixture->output);
    uint64_t bytes = sn_trace_output_bytes(fixture->output);
    assert_true(files >= 4 && files <= 8);
    close_output(fixture);
    uint64_t sum = 0;
    uint64_t sizes = 0;
    for (uint32_t i = 1; i <= files; i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/a.b.%04u.nettrace", fixture->dir, i);
        sum += count_in(path, "Tick");
        sizes += size_of(path);
        assert_true(size_of(path) < 300000);
    }
    assert_int_equal(sum, 1000);
    assert_int_equal(sizes, bytes);
    assert_int_equal(access(fixture->path, F_OK), -1);
}

static void only_the_newest_files_are_kept(void **state)
{
    struct fixture *fixture = *state;
    static const char payload[1000];
    char cpu_record[160];
    (void)snprintf(cpu_record, sizeof(cpu_record), "%s/a.b.0001.nettrace.cpu", fixture->dir);
    FILE *file = fopen(cpu_record, "w");
    assert_non_null(file);
    (void)fclose(file);
    open_output(fixture, (struct sn_trace_output_options){.roll_bytes = 100000, .roll_keep = 2});
    for (int i = 0; i < 1000; i++)
        assert_int_equal(say(fixture, &tick, payload, sizeof(payload)), SONDE_OK);
    finish(fixture);
    uint32_t files = sn_trace_output_file_count(fixture->output);
    assert_true(files > 4);
    for (uint32_t i = 1; i <= files; i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/a.b.%04u.nettrace", fixture->dir, i);
        assert_int_equal(access(path, F_OK), i + 2 > files ? 0 : -1);
    }
    assert_int_equal(access(cpu_record, F_OK), -1); /* it goes with its file */
}

static void a_path_that_cannot_be_written_is_told_at_the_start(void **state)
{
    struct fixture *fixture = *state;
    struct sonde_error err = {0};
    struct sn_trace_output_options options = {
        .path = "/no/such/directory/x.nettrace", .version = 4, .info = get_info};
    assert_true(sn_trace_output_new(fixture->loop, &options, &fixture->output, &err) < 0);
    assert_int_equal(err.system_error, ENOENT);
    assert_non_null(strstr(err.text, "/no/such/directory/x.nettrace"));
    assert_null(fixture->output);
}

static void a_full_disk_is_told_with_the_file(void **state)
{
    struct fixture *fixture = *state;
    struct sonde_error err = {0};
    static const char payload[60000];
    if (access("/dev/full", W_OK) != 0)
        skip_because("no /dev/full");
    struct sn_trace_output_options options = {.path = "/dev/full", .version = 4, .info = get_info};
    assert_int_equal(sn_trace_output_new(fixture->loop, &options, &fixture->output, &err),
                     SONDE_OK);
    assert_int_equal(sn_trace_output_sink_new(fixture->output, &fixture->sink, &err), SONDE_OK);
    int rc = SONDE_OK;
    for (int i = 0; i < 1000 && rc == SONDE_OK; i++)
        rc = say(fixture, &tick, payload, sizeof(payload));
    assert_true(rc < 0);
    rc = sn_trace_output_finish(fixture->output, &err);
    assert_true(rc < 0);
    assert_non_null(strstr(err.text, "/dev/full"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(raw_bytes_are_written_as_they_come),
        TEST(events_are_encoded_in_both_versions),
        TEST(event_ids_of_a_filtered_provider_are_left_out),
        TEST(rolled_files_are_complete_and_lose_nothing),
        TEST(only_the_newest_files_are_kept),
        TEST(a_path_that_cannot_be_written_is_told_at_the_start),
        TEST(a_full_disk_is_told_with_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
