/* Streams of real runtimes: what TraceEvent read from them (tests/golden/nettrace/digests) is what
 * we read, whole, in pieces, and after writing them again. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "format/nettrace_writer.h"
#include "nettrace_bytes.h"

#define FOLDER SONDE_SOURCE_DIR "/tests/golden/nettrace"

/* The digest of tests/interop/traceevent: lines hashed and added, so that order does not matter. */
struct digest {
    uint64_t events;
    uint64_t sum;
    struct sn_buf stream; /* what the writer wrote */
    struct sn_nettrace_writer *writer;
    uint32_t version; /* to write; 0: do not */
};

static void hex(char *to, const uint8_t *guid)
{
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(to + i * 2, 3, "%02x", guid ? guid[i] : 0u);
}

static uint64_t hash_of(const void *bytes, size_t size)
{
    return add_hash(0xCBF29CE484222325u, bytes, size);
}

/* TraceEvent does not show the stacks of events that only keep the books. */
static bool shows_stack(const struct sn_schema *schema)
{
    if (strcmp(schema->provider, "Microsoft-Windows-DotNETRuntimeRundown") == 0)
        return false;
    return strcmp(schema->provider, "Microsoft-Windows-DotNETRuntime") != 0 ||
           !((schema->event_id >= 140 && schema->event_id <= 144) || schema->event_id == 190);
}

static int add_line(void *user, const struct sn_event *event)
{
    struct digest *digest = user;
    const struct sn_schema *schema = event->schema;
    uint32_t depth = shows_stack(schema) ? event->stack_depth : 0;
    char activity[33];
    char related[33];
    char line[512];
    hex(activity, event->activity);
    hex(related, event->related);
    int size = snprintf(line, sizeof(line),
                        "%s\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%u\t%016" PRIx64
                        "\t%u\t%016" PRIx64,
                        schema->provider, schema->event_id, schema->version, event->pid,
                        event->thread_id, event->time_ns, activity, related, event->payload_size,
                        hash_of(event->payload, event->payload_size), depth,
                        hash_of(event->stack, (size_t)depth * 8));
    digest->sum += hash_of(line, (size_t)size);
    digest->events++;
    return digest->version ? sn_nettrace_writer_event(digest->writer, event, NULL) : SONDE_OK;
}

static int store(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct digest *digest = user;
    (void)err;
    sn_buf_append(&digest->stream, bytes, size);
    return SONDE_OK;
}

static int begin(void *user, const struct sn_trace_info *info)
{
    struct digest *digest = user;
    if (!digest->version)
        return SONDE_OK;
    return sn_nettrace_writer_new(digest->version, info, store, digest, &digest->writer, NULL);
}

static void digest_stream(struct digest *digest, const struct sn_buf *stream, size_t step)
{
    struct sn_nettrace_ops ops = {.trace = begin, .event = add_line};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    assert_int_equal(sn_nettrace_reader_new(&ops, digest, &reader, NULL), SONDE_OK);
    for (size_t at = 0; at < stream->size; at += step) {
        size_t part = stream->size - at < step ? stream->size - at : step;
        assert_int_equal(sn_nettrace_reader_feed(reader, stream->bytes + at, part, NULL), SONDE_OK);
    }
    assert_int_equal(sn_nettrace_reader_finish(reader, NULL), SONDE_OK);
    struct sn_nettrace_counters counters = sn_nettrace_reader_counters(reader);
    assert_int_equal(counters.damages, 0);
    assert_int_equal(counters.lost, 0);
    if (digest->writer)
        assert_int_equal(sn_nettrace_writer_finish(digest->writer, NULL), SONDE_OK);
    sn_nettrace_writer_free(digest->writer);
    digest->writer = NULL;
}

static void assert_digest(const struct sn_buf *stream, size_t step, uint64_t events, uint64_t sum)
{
    struct digest digest = {0};
    digest_stream(&digest, stream, step);
    assert_int_equal(digest.events, events);
    assert_true(digest.sum == sum);
}

static void check_file(const char *name, uint64_t events, uint64_t sum)
{
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(1u << 20);
    char path[512];
    (void)snprintf(path, sizeof(path), FOLDER "/%s", name);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, &stream, NULL), SONDE_OK);
    assert_digest(&stream, stream.size, events, sum);
    assert_digest(&stream, 1, events, sum);
    assert_digest(&stream, 4096, events, sum);
    for (uint32_t version = 4; version <= 6; version += 2) {
        struct digest copy = {.version = version, .stream = sn_buf_with_limit(1u << 20)};
        digest_stream(&copy, &stream, stream.size);
        assert_digest(&copy.stream, copy.stream.size, events, sum);
        sn_buf_done(&copy.stream);
    }
}

static void each_file(void (*check)(const char *name, uint64_t events, uint64_t sum))
{
    FILE *list = fopen(FOLDER "/digests", "r");
    char name[128];
    uint64_t events;
    uint64_t sum;
    unsigned count = 0;
    assert_non_null(list);
    while (fscanf(list, "%127s %" SCNu64 " %" SCNx64, name, &events, &sum) == 3) {
        check(name, events, sum);
        count++;
    }
    (void)fclose(list);
    assert_true(count >= 3);
}

static void we_read_what_traceevent_reads(void **state)
{
    (void)state;
    each_file(check_file);
}

/* Whatever is cut off, what is left comes out, and never more. */
static void cut_file(const char *name, uint64_t events, uint64_t sum)
{
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(1u << 20);
    char path[512];
    uint64_t before = 0;
    (void)sum;
    (void)snprintf(path, sizeof(path), FOLDER "/%s", name);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, &stream, NULL), SONDE_OK);
    for (size_t size = 0; size < stream.size; size += size + 200 < stream.size ? 97 : 1) {
        struct seen seen = {0};
        sn_nettrace_reader_free(read_stream(stream.bytes, size, size + 1, &seen));
        assert_int_equal(seen.status, SONDE_E_TRUNCATED);
        assert_true(seen.events >= before && seen.events <= events);
        before = seen.events;
    }
    assert_int_equal(before, events);
}

static void real_streams_can_be_cut_anywhere(void **state)
{
    (void)state;
    each_file(cut_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(we_read_what_traceevent_reads),
        cmocka_unit_test(real_streams_can_be_cut_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
