/* The writer, by what the reader makes of its streams. */
#include "format/nettrace_writer.h"
#include "nettrace_bytes.h"

struct output {
    struct sn_buf stream;
    struct sn_nettrace_writer *writer;
    uint32_t version;
    size_t fail_at; /* bytes after which writing fails; 0: never */
};

static int store(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct output *output = user;
    (void)err;
    if (output->fail_at && output->stream.size + size > output->fail_at)
        return SONDE_E_GONE;
    sn_buf_append(&output->stream, bytes, size);
    return output->stream.failed ? SONDE_E_LIMIT : SONDE_OK;
}

static int begin(void *user, const struct sn_trace_info *info)
{
    struct output *output = user;
    return sn_nettrace_writer_new(output->version, info, store, output, &output->writer, NULL);
}

static int write_event(void *user, const struct sn_event *event)
{
    struct output *output = user;
    return sn_nettrace_writer_event(output->writer, event, NULL);
}

static int write_loss(void *user, const struct sn_nettrace_loss *loss)
{
    struct output *output = user;
    return sn_nettrace_writer_lost(output->writer, loss, NULL);
}

static int write_sequence_point(void *user, uint64_t time_ns)
{
    struct output *output = user;
    return sn_nettrace_writer_sequence_point(output->writer, time_ns, NULL);
}

static const struct sn_nettrace_ops copy_ops = {
    .trace = begin,
    .event = write_event,
    .lost = write_loss,
    .sequence_point = write_sequence_point,
};

/* Reads `stream`, writes it in `version`, reads that. */
static struct seen copy_stream(const struct sn_buf *stream, uint32_t version)
{
    struct output output = {.version = version, .stream = sn_buf_with_limit(STREAM_MAX)};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    assert_int_equal(sn_nettrace_reader_new(&copy_ops, &output, &reader, NULL), SONDE_OK);
    assert_int_equal(sn_nettrace_reader_feed(reader, stream->bytes, stream->size, NULL), SONDE_OK);
    assert_int_equal(sn_nettrace_reader_finish(reader, NULL), SONDE_OK);
    assert_int_equal(sn_nettrace_writer_finish(output.writer, NULL), SONDE_OK);
    assert_int_equal(sn_nettrace_writer_bytes(output.writer), output.stream.size);
    sn_nettrace_writer_free(output.writer);
    struct seen seen = read_once(&output.stream);
    sn_buf_done(&output.stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.damages, 0);
    return seen;
}

static void assert_copy_is_equal(const struct sn_buf *stream)
{
    struct seen original = read_once(stream);
    for (uint32_t version = 4; version <= 6; version += 2) {
        struct seen copy = copy_stream(stream, version);
        assert_int_equal(copy.info.format_version, version);
        assert_int_equal(copy.info.start_utc_ns, original.info.start_utc_ns);
        assert_int_equal(copy.info.pid, original.info.pid);
        assert_int_equal(copy.info.processor_count, original.info.processor_count);
        assert_int_equal(copy.events, original.events);
        assert_int_equal(copy.lost, original.lost);
        assert_true(copy.digest == original.digest);
    }
}

static void a_copy_has_the_same_events_in_either_version(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_rich_stream_v4(&stream);
    assert_copy_is_equal(&stream);
}

static void processes_and_labels_survive_in_version_6(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_rich_stream_v6(&stream);
    struct seen original = read_once(&stream);
    struct seen copy = copy_stream(&stream, 6);
    assert_int_equal(copy.events, original.events);
    assert_true(copy.digest == original.digest);
}

static void losses_survive(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start_v4(&stream, 1000000000);
    put_plain_metadata(&stream, 1);
    put_single_event(&stream, 1, 5, 10, 1); /* 9 missing */
    put_single_event(&stream, 1, 5, 15, 3); /* 4 missing */
    put_single_event(&stream, 1, 6, 7, 4);  /* another thread, 6 missing */
    put_single_event(&stream, 1, 5, 16, 5);
    put_sequence_point(&stream, 6, 6, 17);  /* 10 missing, and never a word more of it */
    put_sequence_point(&stream, 7, 5, 18);  /* 2 missing */
    put_single_event(&stream, 1, 5, 20, 8); /* 1 more */
    put_single_event(&stream, 1, 5, 1, 9);  /* another thread by this id */
    put_single_event(&stream, 1, 5, 3, 10); /* 1 missing */
    sn_buf_u8(&stream, 1);
    assert_int_equal(read_once(&stream).lost, 33);
    assert_copy_is_equal(&stream);
}

/* Every other event is left out on purpose. */
static int write_or_skip(void *user, const struct sn_event *event)
{
    struct output *output = user;
    if (event->time_ns % 2)
        return sn_nettrace_writer_event(output->writer, event, NULL);
    return sn_nettrace_writer_skip(output->writer, event);
}

static void what_is_left_out_is_not_lost_but_losses_beside_it_are(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start_v4(&stream, 1000000000);
    put_plain_metadata(&stream, 1);
    put_single_event(&stream, 1, 5, 10, 1); /* 9 missing before it */
    put_single_event(&stream, 1, 5, 11, 2); /* left out */
    put_single_event(&stream, 1, 5, 12, 3);
    put_single_event(&stream, 1, 5, 15, 4); /* left out; 2 missing before it */
    put_single_event(&stream, 1, 5, 17, 5); /* 1 missing */
    put_single_event(&stream, 1, 5, 18, 6); /* left out */
    put_single_event(&stream, 1, 5, 19, 7);
    sn_buf_u8(&stream, 1);
    struct sn_nettrace_ops ops = copy_ops;
    ops.event = write_or_skip;
    for (uint32_t version = 4; version <= 6; version += 2) {
        struct output output = {.version = version, .stream = sn_buf_with_limit(STREAM_MAX)};
        SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
        assert_int_equal(sn_nettrace_reader_new(&ops, &output, &reader, NULL), SONDE_OK);
        assert_int_equal(sn_nettrace_reader_feed(reader, stream.bytes, stream.size, NULL),
                         SONDE_OK);
        assert_int_equal(sn_nettrace_reader_finish(reader, NULL), SONDE_OK);
        assert_int_equal(sn_nettrace_writer_finish(output.writer, NULL), SONDE_OK);
        sn_nettrace_writer_free(output.writer);
        struct seen seen = read_once(&output.stream);
        sn_buf_done(&output.stream);
        assert_int_equal(seen.events, 4);
        assert_int_equal(seen.lost, 9 + 3);
    }
}

static bool know_it(void *user, struct sn_schema *schema, struct sn_arena *arena)
{
    static const struct sn_field field = {.name = "Count", .type = SN_TYPE_COUNTED};
    (void)user;
    (void)arena;
    schema->name = "FromTheTable";
    schema->fields = &field;
    schema->field_count = 1;
    return true;
}

static void what_came_from_a_table_is_not_written(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf record = sn_buf_with_limit(4096);
    put_start_v4(&stream, 1000000000);
    begin_rows(&block, 1);
    begin_record(&record, 1, "");
    sn_buf_u32(&record, 0);
    put_metadata_row(&block, &record);
    put_object(&stream, "MetadataBlock", &block);
    put_single_event(&stream, 1, 5, 1, 1);
    sn_buf_u8(&stream, 1);
    for (uint32_t version = 4; version <= 6; version += 2) {
        struct output output = {.version = version, .stream = sn_buf_with_limit(STREAM_MAX)};
        SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
        assert_int_equal(sn_nettrace_reader_new(&copy_ops, &output, &reader, NULL), SONDE_OK);
        sn_nettrace_reader_set_layouts(reader, know_it, NULL);
        assert_int_equal(sn_nettrace_reader_feed(reader, stream.bytes, stream.size, NULL), 0);
        assert_int_equal(sn_nettrace_writer_finish(output.writer, NULL), SONDE_OK);
        struct seen seen = {0};
        struct sn_nettrace_reader *again =
            read_stream(output.stream.bytes, output.stream.size, 64, &seen);
        assert_int_equal(seen.events, 1);
        assert_string_equal(seen.declared[0]->name, "");
        assert_int_equal(seen.declared[0]->field_count, 0);
        assert_int_equal(seen.declared[0]->version, 3);
        assert_int_equal(seen.declared[0]->keywords, 1);
        sn_nettrace_reader_free(again);
        sn_nettrace_writer_free(output.writer);
        sn_buf_done(&output.stream);
    }
}

/* Every type, an array of objects, an object of arrays, as deep as it may be. */
static const struct sn_field point[] = {
    {.name = "x", .type = SN_TYPE_I32},
    {.name = "y", .type = SN_TYPE_F64},
};
static const struct sn_field one_point = {
    .name = "", .type = SN_TYPE_OBJECT, .child_count = 2, .children = point};
static const struct sn_field text = {.name = "", .type = SN_TYPE_STRING16};
static const struct sn_field texts = {
    .name = "", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &text};
static const struct sn_field letter = {.name = "", .type = SN_TYPE_UTF8_UNIT};
static const struct sn_field shape[] = {
    {.name = "points", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &one_point},
    {.name = "lists", .type = SN_TYPE_ARRAY, .child_count = 1, .children = &texts},
    {.name = "point", .type = SN_TYPE_OBJECT, .child_count = 2, .children = point},
    {.name = "id", .type = SN_TYPE_GUID},
};
static const struct sn_field shape_v6[] = {
    {.name = "four",
     .type = SN_TYPE_FIXED_ARRAY,
     .count = 4,
     .child_count = 1,
     .children = &one_point},
    {.name = "far", .type = SN_TYPE_DATA_LOC, .child_count = 1, .children = &letter},
    {.name = "near", .type = SN_TYPE_REL_LOC, .child_count = 1, .children = &letter},
    {.name = "n", .type = SN_TYPE_VARUINT},
    {.name = "address", .type = SN_TYPE_POINTER},
};

static void assert_fields_equal(const struct sn_field *one, const struct sn_field *other,
                                unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_string_equal(one[i].name, other[i].name);
        if (one[i].type == SN_TYPE_POINTER)
            assert_int_equal(other[i].type, SN_TYPE_U64);
        else
            assert_int_equal(one[i].type, other[i].type);
        assert_int_equal(one[i].count, other[i].count);
        assert_int_equal(one[i].child_count, other[i].child_count);
        assert_fields_equal(one[i].children, other[i].children, one[i].child_count);
    }
}

static void check_fields(uint32_t version, const struct sn_field *fields, uint16_t count,
                         bool is_expected)
{
    struct output output = {.version = version, .stream = sn_buf_with_limit(STREAM_MAX)};
    struct sn_schema schema = {.provider = "Säge",
                               .name = "Shape",
                               .event_id = 7,
                               .version = 2,
                               .has_layout = true,
                               .field_count = count,
                               .fields = fields};
    struct sn_event event = {.schema = &schema, .pointer_size = 8, .sequence = 1};
    struct sn_trace_info info = {.pointer_size = 8, .ticks_per_second = 1000000000};
    assert_int_equal(begin(&output, &info), SONDE_OK);
    assert_int_equal(write_event(&output, &event), SONDE_OK);
    assert_int_equal(sn_nettrace_writer_finish(output.writer, NULL), SONDE_OK);
    struct seen seen = {0};
    struct sn_nettrace_reader *reader =
        read_stream(output.stream.bytes, output.stream.size, 99, &seen);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.damages, 0);
    assert_int_equal(seen.events, 1);
    assert_string_equal(seen.declared[0]->provider, "Säge");
    assert_int_equal(seen.declared[0]->field_count, is_expected ? count : 0);
    if (is_expected)
        assert_fields_equal(fields, seen.declared[0]->fields, count);
    sn_nettrace_reader_free(reader);
    sn_nettrace_writer_free(output.writer);
    sn_buf_done(&output.stream);
}

static void fields_survive_as_far_as_the_version_has_them(void **state)
{
    (void)state;
    check_fields(4, point, 2, true);
    check_fields(4, shape, 4, true);
    check_fields(6, shape, 4, true);
    check_fields(6, shape_v6, 5, true);
    check_fields(4, shape_v6, 5, false);
}

static void many_stacks_and_activities_force_sequence_points(void **state)
{
    (void)state;
    for (uint32_t version = 4; version <= 6; version += 2) {
        struct output output = {.version = version, .stream = sn_buf_with_limit(STREAM_MAX)};
        struct sn_schema schema = {.provider = "P", .name = "N"};
        struct sn_trace_info info = {.pointer_size = 8, .ticks_per_second = 1000000000};
        uint64_t digest = 0;
        assert_int_equal(begin(&output, &info), SONDE_OK);
        for (uint32_t i = 1; i <= 150000; i++) {
            uint64_t stack[12] = {i % 100000};
            uint64_t activity[2] = {i % 90000 + 1, 0};
            struct sn_event event = {
                .schema = &schema,
                .time_ns = i,
                .thread_id = i % 7,
                .capture_thread_id = i % 3,
                .sequence = i / 3 + 1,
                .pointer_size = 8,
                .is_sorted = true,
                .stack = (const uint8_t *)stack,
                .stack_depth = 12,
                .activity = (const uint8_t *)activity,
            };
            digest = hash_event(digest, &event);
            assert_int_equal(write_event(&output, &event), SONDE_OK);
        }
        assert_int_equal(sn_nettrace_writer_finish(output.writer, NULL), SONDE_OK);
        struct seen seen = read_once(&output.stream);
        assert_int_equal(seen.status, SONDE_OK);
        assert_int_equal(seen.damages, 0);
        assert_int_equal(seen.events, 150000);
        assert_int_equal(seen.lost, 0);
        assert_true(seen.sequence_points >= 2);
        assert_true(seen.digest == digest);
        sn_nettrace_writer_free(output.writer);
        sn_buf_done(&output.stream);
    }
}

static void a_failing_output_stops_it_for_good(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_rich_stream_v4(&stream);
    for (size_t fail_at = 1; fail_at < 900; fail_at += 13) {
        struct output output = {.version = 6, .stream = sn_buf_with_limit(STREAM_MAX)};
        output.fail_at = fail_at;
        SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
        assert_int_equal(sn_nettrace_reader_new(&copy_ops, &output, &reader, NULL), SONDE_OK);
        int rc = sn_nettrace_reader_feed(reader, stream.bytes, stream.size, NULL);
        if (output.writer)
            rc = sn_nettrace_writer_finish(output.writer, NULL);
        if (rc != SONDE_OK)
            assert_int_equal(rc, SONDE_E_GONE);
        sn_nettrace_writer_free(output.writer);
        sn_buf_done(&output.stream);
    }
}

static void what_fits_no_block_is_refused(void **state)
{
    (void)state;
    struct output output = {.version = 6, .stream = sn_buf_with_limit(STREAM_MAX)};
    struct sn_schema schema = {.provider = "P", .name = "N"};
    struct sn_trace_info info = {.pointer_size = 8, .ticks_per_second = 1000000000};
    struct sonde_error err = {0};
    SN_AUTO(sn_free) uint8_t *payload = calloc(1, 16u << 20);
    struct sn_event event = {.schema = &schema,
                             .pointer_size = 8,
                             .sequence = 1,
                             .payload = payload,
                             .payload_size = 16u << 20};
    assert_int_equal(sn_nettrace_writer_new(5, &info, store, &output, &output.writer, &err),
                     SONDE_E_ARGUMENT);
    assert_int_equal(begin(&output, &info), SONDE_OK);
    assert_int_equal(write_event(&output, &event), SONDE_E_LIMIT);
    sn_nettrace_writer_free(output.writer);
    sn_buf_done(&output.stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_the_same_events_in_either_version),
        cmocka_unit_test(processes_and_labels_survive_in_version_6),
        cmocka_unit_test(losses_survive),
        cmocka_unit_test(what_is_left_out_is_not_lost_but_losses_beside_it_are),
        cmocka_unit_test(what_came_from_a_table_is_not_written),
        cmocka_unit_test(fields_survive_as_far_as_the_version_has_them),
        cmocka_unit_test(many_stacks_and_activities_force_sequence_points),
        cmocka_unit_test(a_failing_output_stops_it_for_good),
        cmocka_unit_test(what_fits_no_block_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
