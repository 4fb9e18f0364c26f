/* The reader on intact streams of version 6. */
#include "nettrace_bytes.h"

static void reads_pairs_threads_stacks_and_labels(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_rich_stream_v6(&stream);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.damages, 0);
    assert_int_equal(seen.lost, 0);
    assert_int_equal(seen.info.format_version, 6);
    assert_int_equal(seen.info.pid, 77);
    assert_int_equal(seen.events, 3);
    assert_int_equal(seen.sequence_points, 1);
    static const uint64_t times[] = {100, 110, 120};
    static const uint64_t threads[] = {500, 500, 600};
    static const uint32_t pids[] = {77, 77, 78};
    static const uint32_t sequences[] = {1, 2, 1};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(seen.times[i], times[i]);
        assert_int_equal(seen.threads[i], threads[i]);
        assert_int_equal(seen.captures[i], threads[i]);
        assert_int_equal(seen.pids[i], pids[i]);
        assert_int_equal(seen.sequences[i], sequences[i]);
        assert_int_equal(seen.depths[i], 2);
    }
    assert_true(seen.has_activity[0] && seen.has_related[0]);
    assert_true(!seen.has_activity[2] && !seen.has_related[2]);
}

static void reads_options_and_arrays_of_objects(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_rich_stream_v6(&stream);
    struct seen seen = {0};
    SN_AUTO(sn_nettrace_reader_free)
    struct sn_nettrace_reader *reader = read_stream(stream.bytes, stream.size, 3, &seen);
    const struct sn_schema *schema = seen.declared[0];
    assert_int_equal(seen.schemas, 1);
    assert_string_equal(schema->name, "WorkStop");
    assert_int_equal(schema->opcode, 2);
    assert_int_equal(schema->keywords, 5);
    assert_int_equal(schema->level, 4);
    assert_int_equal(schema->version, 2);
    assert_int_equal(schema->field_count, 1);
    const struct sn_field *field = &schema->fields[0];
    assert_string_equal(field->name, "Pts");
    assert_int_equal(field->type, SN_TYPE_FIXED_ARRAY);
    assert_int_equal(field->count, 2);
    assert_int_equal(field->child_count, 1);
    assert_int_equal(field->children[0].type, SN_TYPE_OBJECT);
    assert_int_equal(field->children[0].child_count, 2);
    assert_string_equal(field->children[0].children[1].name, "y");
    assert_int_equal(field->children[0].children[1].type, SN_TYPE_BOOL8);
}

/* Metadata 1 without fields, thread 1. */
static void put_start(struct sn_buf *stream)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    put_start_v6(stream);
    sn_buf_append(&block,
                  "\0\0\x0D\0\x01\x04Test\x01\x01"
                  "E\0\0\0\0",
                  17);
    put_block_v6(stream, 3, &block);
    sn_buf_clear(&block);
    sn_buf_append(&block, "\x03\0\x01\x03\x32", 5);
    put_block_v6(stream, 6, &block);
}

static void put_event(struct sn_buf *stream, uint64_t thread, uint32_t sequence)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    begin_rows(&block, 1);
    sn_buf_u8(&block, 0x47);
    sn_buf_varuint(&block, 1);
    sn_buf_varuint(&block, sequence - 1);
    sn_buf_varuint(&block, thread);
    sn_buf_varuint(&block, 0);
    sn_buf_varuint(&block, thread);
    sn_buf_varuint(&block, 1000 + sequence);
    put_block_v6(stream, 2, &block);
}

static void put_sequence_point_v6(struct sn_buf *stream, uint32_t flags, uint8_t sequence)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    sn_buf_u64(&block, 5000);
    sn_buf_u32(&block, flags);
    sn_buf_u32(&block, 1);
    sn_buf_u8(&block, 1);
    sn_buf_u8(&block, sequence);
    put_block_v6(stream, 4, &block);
}

static void numbers_start_at_one(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start(&stream);
    put_event(&stream, 1, 4); /* 3 missing */
    put_event(&stream, 1, 5);
    put_sequence_point_v6(&stream, 0, 7);              /* 2 missing */
    sn_buf_append(&stream, "\x02\0\0\x07\x01\x08", 6); /* removed at 8: 1 missing */
    sn_buf_u32(&stream, 0);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.damages, 0);
    assert_int_equal(seen.events, 2);
    assert_int_equal(seen.lost, 6);
    assert_int_equal(seen.lost_by_thread, 50);
}

static void a_thread_nobody_declared_has_no_id(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start(&stream);
    put_event(&stream, 9, 40);
    sn_buf_append(&stream, "\x02\0\0\x07\x01\x00", 6); /* thread 1 is removed */
    put_event(&stream, 1, 1);
    sn_buf_u32(&stream, 0);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.events, 2);
    assert_int_equal(seen.threads[0], 0);
    assert_int_equal(seen.threads[1], 0);
    assert_int_equal(seen.pids[0], 77);
    assert_int_equal(seen.lost, 0);
}

static void a_sequence_point_may_clear_threads_and_metadata(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start(&stream);
    put_event(&stream, 1, 1);
    put_sequence_point_v6(&stream, 1, 1);
    put_event(&stream, 1, 2);
    put_sequence_point_v6(&stream, 2, 1);
    put_event(&stream, 1, 3);
    put_event(&stream, 1, 4);
    sn_buf_u32(&stream, 0);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.events, 2);
    assert_int_equal(seen.threads[0], 50);
    assert_int_equal(seen.threads[1], 0);
    assert_int_equal(seen.counters.undecodable, 2);
    assert_int_equal(seen.damages, 1); /* one for both */
}

static void reads_uncompressed_rows(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    put_start(&stream);
    begin_rows(&block, 0);
    for (uint32_t sequence = 1; sequence <= 2; sequence++) {
        sn_buf_u32(&block, 48 + 3);
        sn_buf_u32(&block, 1);
        sn_buf_u32(&block, sequence);
        sn_buf_u64(&block, 1);
        sn_buf_u64(&block, 1);
        sn_buf_u32(&block, 0);
        sn_buf_u32(&block, 0);
        sn_buf_u64(&block, 7000);
        sn_buf_u32(&block, 0);
        sn_buf_u32(&block, 3);
        sn_buf_append(&block, "abc", 3);
    }
    put_block_v6(&stream, 2, &block);
    sn_buf_u32(&stream, 0);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.damages, 0);
    assert_int_equal(seen.events, 2);
    assert_int_equal(seen.sizes[1], 3);
    assert_int_equal(seen.times[1], 7000);
    assert_int_equal(seen.threads[1], 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_pairs_threads_stacks_and_labels),
        cmocka_unit_test(reads_options_and_arrays_of_objects),
        cmocka_unit_test(numbers_start_at_one),
        cmocka_unit_test(a_thread_nobody_declared_has_no_id),
        cmocka_unit_test(a_sequence_point_may_clear_threads_and_metadata),
        cmocka_unit_test(reads_uncompressed_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
