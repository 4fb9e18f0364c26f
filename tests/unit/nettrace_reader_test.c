/* The reader on intact streams of version 4. */
#include "nettrace_bytes.h"

static void reads_the_trace_information(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start_v4(&stream, 1000000000);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.traces, 1);
    assert_int_equal(seen.info.format_version, 4);
    assert_int_equal(seen.info.pid, 77);
    assert_int_equal(seen.info.pointer_size, 8);
    assert_int_equal(seen.info.processor_count, 2);
    assert_int_equal(seen.info.sampling_interval_ns, 1000000);
    assert_int_equal(seen.info.start_ticks, 1000);
    assert_int_equal(seen.info.start_utc_ns, 1769949015250000000u); /* 2026-02-01 12:30:15.25 */
}

static void reads_rows_that_carry_what_changed(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_rich_stream_v4(&stream);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.damages, 0);
    assert_int_equal(seen.lost, 0);
    assert_int_equal(seen.events, 4);
    assert_int_equal(seen.schemas, 2);
    assert_int_equal(seen.sequence_points, 1);
    static const uint64_t times[] = {2000, 2010, 1010, 4000};
    static const uint64_t threads[] = {501, 501, 600, 600};
    static const uint64_t captures[] = {500, 500, 600, 600};
    static const uint32_t depths[] = {2, 2, 0, 0};
    static const uint32_t sequences[] = {1, 2, 1, 2};
    static const uint32_t sizes[] = {6, 6, 3, 4};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(seen.times[i], times[i]);
        assert_int_equal(seen.threads[i], threads[i]);
        assert_int_equal(seen.captures[i], captures[i]);
        assert_int_equal(seen.depths[i], depths[i]);
        assert_int_equal(seen.sequences[i], sequences[i]);
        assert_int_equal(seen.sizes[i], sizes[i]);
        assert_int_equal(seen.pids[i], 77);
    }
    assert_true(seen.sorted[0] && !seen.sorted[1] && seen.sorted[2]);
    assert_true(seen.has_activity[0] && seen.has_related[1] && !seen.has_activity[3]);
}

static void fields_nest_and_tags_add_opcode_and_arrays(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_rich_stream_v4(&stream);
    struct seen seen = {0};
    SN_AUTO(sn_nettrace_reader_free)
    struct sn_nettrace_reader *reader = read_stream(stream.bytes, stream.size, 7, &seen);

    const struct sn_schema *work = seen.declared[0];
    assert_string_equal(work->provider, "Test");
    assert_string_equal(work->name, "WorkStart");
    assert_int_equal(work->event_id, 101);
    assert_int_equal(work->version, 3);
    assert_int_equal(work->level, 4);
    assert_int_equal(work->opcode, 1);   /* by its name */
    assert_int_equal(work->keywords, 1); /* without the session bits */
    assert_true(work->has_layout);
    assert_int_equal(work->field_count, 2);
    assert_string_equal(work->fields[0].name, "Number");
    assert_string_equal(work->fields[1].name, "Outer");
    assert_int_equal(work->fields[1].child_count, 1);
    assert_string_equal(work->fields[1].children[0].name, "Inner");
    assert_int_equal(work->fields[1].children[0].type, SN_TYPE_STRING16);

    const struct sn_schema *tagged = seen.declared[1];
    assert_int_equal(tagged->opcode, 9);
    assert_int_equal(tagged->field_count, 1);
    assert_string_equal(tagged->fields[0].name, "List");
    assert_int_equal(tagged->fields[0].type, SN_TYPE_ARRAY);
    assert_int_equal(tagged->fields[0].children[0].type, SN_TYPE_U8);
    assert_string_equal(tagged->fields[0].children[0].name, "");
}

static void put_plain_row(struct sn_buf *block, uint32_t id, uint32_t sequence, uint32_t payload)
{
    uint32_t size = 76 + payload;
    sn_buf_u32(block, size + (-size & 3u));
    sn_buf_u32(block, id | 0x80000000u);
    sn_buf_u32(block, sequence);
    sn_buf_u64(block, 501);
    sn_buf_u64(block, 500);
    sn_buf_u32(block, 1);
    sn_buf_u32(block, 0);
    sn_buf_u64(block, 5000 + sequence);
    sn_buf_fill(block, 0xAA, 16);
    sn_buf_fill(block, 0, 16);
    sn_buf_u32(block, payload);
    sn_buf_fill(block, 9, payload);
    sn_buf_fill(block, 0, -size & 3u);
}

static void reads_uncompressed_rows(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(65536);
    put_start_v4(&stream, 1000000000);
    put_plain_metadata(&stream, 1);
    begin_rows(&block, 0);
    put_plain_row(&block, 1, 1, 5);
    put_plain_row(&block, 1, 2, 0);
    put_plain_row(&block, 1, 4, 7);
    put_object(&stream, "EventBlock", &block);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.damages, 0);
    assert_int_equal(seen.events, 3);
    assert_int_equal(seen.times[1], 5002);
    assert_int_equal(seen.threads[0], 501);
    assert_int_equal(seen.captures[0], 500);
    assert_int_equal(seen.sizes[2], 7);
    assert_true(seen.sorted[0] && seen.has_activity[0] && !seen.has_related[0]);
    assert_int_equal(seen.lost, 1);
}

static void ticks_of_any_clock_become_nanoseconds(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start_v4(&stream, 10000000);
    put_plain_metadata(&stream, 1);
    put_single_event(&stream, 1, 5, 1, 123);
    put_single_event(&stream, 1, 5, 2, UINT64_C(90000000000000000));
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.times[0], 12300);
    assert_int_equal(seen.times[1], UINT64_C(9000000000000000000)); /* no overflow on the way */
}

static void a_gap_in_the_numbers_of_a_thread_is_a_loss(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start_v4(&stream, 1000000000);
    put_plain_metadata(&stream, 1);
    put_single_event(&stream, 1, 5, 10, 1); /* 9 missing: numbers begin at 1 */
    put_single_event(&stream, 1, 6, 1, 2);
    put_single_event(&stream, 1, 5, 15, 3);    /* 4 missing */
    put_single_event(&stream, 1, 6, 2, 4);     /* in order */
    put_sequence_point(&stream, 5, 6, 9);      /* 7 missing */
    put_sequence_point(&stream, 6, 6, 9);      /* known already */
    put_sequence_point(&stream, 7, 6, 3);      /* a lower bound */
    put_single_event(&stream, 1, 6, 10, 8);    /* in order */
    put_sequence_point(&stream, 9, 1234, 100); /* all it ever sent is missing */
    put_single_event(&stream, 1, 1234, 101, 10);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.events, 6);
    assert_int_equal(seen.losses, 4);
    assert_int_equal(seen.lost, 9 + 4 + 7 + 100);
    assert_int_equal(seen.counters.lost, seen.lost);
    assert_int_equal(seen.lost_by_thread, 1234);
}

static void numbers_wrap_and_start_anew_with_a_reused_thread_id(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start_v4(&stream, 1000000000);
    put_plain_metadata(&stream, 1);
    put_single_event(&stream, 1, 5, UINT32_MAX, 1);
    put_single_event(&stream, 1, 5, 0, 2); /* wrapped */
    put_single_event(&stream, 1, 5, 1, 3);
    put_single_event(&stream, 1, 5, 2, 4);
    put_single_event(&stream, 1, 5, 1, 5); /* another thread */
    put_single_event(&stream, 1, 5, 2, 6);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.events, 6);
    assert_int_equal(seen.lost, 0);
}

static void put_event_with_stack(struct sn_buf *to, uint32_t stack_id)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    begin_rows(&block, 1);
    sn_buf_u8(&block, 0x09);
    sn_buf_varuint(&block, 1);
    sn_buf_varuint(&block, stack_id);
    sn_buf_varuint(&block, 1);
    put_object(to, "EventBlock", &block);
}

static void a_sequence_point_ends_the_life_of_stacks(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    put_start_v4(&stream, 1000000000);
    put_plain_metadata(&stream, 1);
    put_two_stacks(&block, 1);
    put_object(&stream, "StackBlock", &block);
    put_two_stacks(&block, 3);
    put_object(&stream, "StackBlock", &block);
    put_event_with_stack(&stream, 4);
    put_sequence_point(&stream, 2, 5, 0);
    put_event_with_stack(&stream, 4); /* gone */
    put_two_stacks(&block, 1);
    put_object(&stream, "StackBlock", &block);
    put_event_with_stack(&stream, 1);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.events, 3);
    assert_int_equal(seen.depths[0], 2);
    assert_int_equal(seen.depths[1], 0);
    assert_int_equal(seen.depths[2], 1);
    assert_int_equal(seen.counters.stackless, 1);
    assert_int_equal(seen.damages, 1);
}

static void blocks_of_unknown_name_are_passed_over(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    put_start_v4(&stream, 1000000000);
    sn_buf_text(&block, "whatever it is");
    put_object(&stream, "MysteryBlock", &block);
    put_plain_metadata(&stream, 1);
    put_single_event(&stream, 1, 5, 1, 1);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.damages, 0);
    assert_int_equal(seen.events, 1);
}

static void an_event_declared_twice_keeps_its_schema(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf record = sn_buf_with_limit(4096);
    put_start_v4(&stream, 1000000000);
    begin_rows(&block, 1);
    static const uint32_t ids[] = {1, 70000};
    for (size_t i = 0; i < 2; i++) {
        begin_record(&record, 1, "Same");
        memcpy(record.bytes, &ids[i], 4);
        sn_buf_u32(&record, 0);
        put_metadata_row(&block, &record);
    }
    put_object(&stream, "MetadataBlock", &block);
    put_single_event(&stream, 1, 5, 1, 1);
    put_single_event(&stream, 70000, 5, 2, 2);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.schemas, 1);
    assert_int_equal(seen.events, 2);
    assert_ptr_equal(seen.of[0], seen.of[1]);
}

static bool know_one(void *user, struct sn_schema *schema, struct sn_arena *arena)
{
    static const struct sn_field field = {.name = "Count", .type = SN_TYPE_U32};
    (void)arena;
    ++*(unsigned *)user;
    if (schema->event_id != 101)
        return false;
    schema->name = "Known";
    schema->fields = &field;
    schema->field_count = 1;
    schema->has_layout = true;
    return true;
}

static int count_known(void *user, struct sn_schema *schema)
{
    unsigned *known = user;
    *known += schema->layout_from_table && strcmp(schema->name, "Known") == 0;
    return SONDE_OK;
}

static void the_layout_of_native_events_is_asked_for(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf record = sn_buf_with_limit(4096);
    put_start_v4(&stream, 1000000000);
    begin_rows(&block, 1);
    for (uint32_t id = 1; id <= 3; id++) {
        begin_record(&record, id, id == 3 ? "Named" : "");
        sn_buf_u32(&record, 0);
        put_metadata_row(&block, &record);
    }
    put_object(&stream, "MetadataBlock", &block);
    sn_buf_u8(&stream, 1);

    unsigned asked = 0;
    unsigned known = 0;
    struct sn_nettrace_ops ops = {.schema = count_known};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    assert_int_equal(sn_nettrace_reader_new(&ops, &known, &reader, NULL), SONDE_OK);
    sn_nettrace_reader_set_layouts(reader, know_one, &asked);
    assert_int_equal(sn_nettrace_reader_feed(reader, stream.bytes, stream.size, NULL), SONDE_OK);
    assert_int_equal(sn_nettrace_reader_finish(reader, NULL), SONDE_OK);
    assert_int_equal(asked, 2);
    assert_int_equal(known, 1);
}

static void events_are_counted_when_nobody_wants_them(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_rich_stream_v4(&stream);
    struct sn_nettrace_ops ops = {0};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    assert_int_equal(sn_nettrace_reader_new(&ops, NULL, &reader, NULL), SONDE_OK);
    assert_int_equal(sn_nettrace_reader_feed(reader, stream.bytes, stream.size, NULL), SONDE_OK);
    assert_int_equal(sn_nettrace_reader_finish(reader, NULL), SONDE_OK);
    assert_true(sn_nettrace_reader_at_end(reader));
    struct sn_nettrace_counters counters = sn_nettrace_reader_counters(reader);
    assert_int_equal(counters.events, 4);
    assert_int_equal(counters.bytes, stream.size);
}

static void a_callback_can_stop_it_for_good(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_rich_stream_v4(&stream);
    struct seen seen = {.stop_after = 2};
    SN_AUTO(sn_nettrace_reader_free)
    struct sn_nettrace_reader *reader = read_stream(stream.bytes, stream.size, stream.size, &seen);
    assert_int_equal(seen.status, SONDE_E_GONE);
    assert_int_equal(seen.events, 2);
    assert_int_equal(sn_nettrace_reader_feed(reader, "x", 1, NULL), SONDE_E_GONE);
    assert_int_equal(seen.events, 2);
}

static void other_files_are_told_apart_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        int status;
    } cases[] = {
        {"PK\x03\x04", 4, SONDE_E_FORMAT},
        {"Nettrax", 7, SONDE_E_FORMAT},
        {"Nettrace\x14\0\0\0!FastSerialization.2", 32, SONDE_E_FORMAT},
        {"Nettrace\0\0\0\0\x07\0\0\0\0\0\0\0", 20, SONDE_E_UNSUPPORTED},
        {"Nettrace\0\0\0\0\x06\0\0\0", 16, SONDE_E_TRUNCATED},
        {"", 0, SONDE_E_TRUNCATED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct seen seen = {0};
        sn_nettrace_reader_free(read_stream(cases[i].bytes, cases[i].size, 5, &seen));
        assert_int_equal(seen.status, cases[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_trace_information),
        cmocka_unit_test(reads_rows_that_carry_what_changed),
        cmocka_unit_test(fields_nest_and_tags_add_opcode_and_arrays),
        cmocka_unit_test(reads_uncompressed_rows),
        cmocka_unit_test(ticks_of_any_clock_become_nanoseconds),
        cmocka_unit_test(a_gap_in_the_numbers_of_a_thread_is_a_loss),
        cmocka_unit_test(numbers_wrap_and_start_anew_with_a_reused_thread_id),
        cmocka_unit_test(a_sequence_point_ends_the_life_of_stacks),
        cmocka_unit_test(blocks_of_unknown_name_are_passed_over),
        cmocka_unit_test(an_event_declared_twice_keeps_its_schema),
        cmocka_unit_test(the_layout_of_native_events_is_asked_for),
        cmocka_unit_test(events_are_counted_when_nobody_wants_them),
        cmocka_unit_test(a_callback_can_stop_it_for_good),
        cmocka_unit_test(other_files_are_told_apart_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
