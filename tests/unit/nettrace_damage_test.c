/* The reader on cut, bent and hostile streams. */
#include "nettrace_bytes.h"

/* Both versions, so that each test runs over both. */
static void each_version(void (*check)(const struct sn_buf *stream))
{
    for (unsigned version = 4; version <= 6; version += 2) {
        SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
        if (version == 4)
            put_rich_stream_v4(&stream);
        else
            put_rich_stream_v6(&stream);
        check(&stream);
    }
}

static void assert_same(const struct seen *one, const struct seen *other)
{
    assert_int_equal(one->status, other->status);
    assert_int_equal(one->events, other->events);
    assert_int_equal(one->schemas, other->schemas);
    assert_int_equal(one->lost, other->lost);
    assert_int_equal(one->damages, other->damages);
    assert_int_equal(one->damage_offset, other->damage_offset);
    assert_string_equal(one->text, other->text);
    assert_true(one->digest == other->digest);
}

static void read_in_steps(const struct sn_buf *stream)
{
    struct seen whole = read_once(stream);
    for (size_t step = 1; step < stream->size; step += step < 40 ? 1 : 37) {
        struct seen parts = {0};
        sn_nettrace_reader_free(read_stream(stream->bytes, stream->size, step, &parts));
        assert_same(&whole, &parts);
    }
}

static void one_byte_at_a_time_is_as_good_as_all_at_once(void **state)
{
    (void)state;
    each_version(read_in_steps);
}

static void cut_everywhere(const struct sn_buf *stream)
{
    struct seen whole = read_once(stream);
    unsigned events = 0;
    for (size_t size = 0; size < stream->size; size++) {
        struct seen seen = {0};
        sn_nettrace_reader_free(read_stream(stream->bytes, size, size + 1, &seen));
        assert_int_equal(seen.status, SONDE_E_TRUNCATED);
        assert_true(seen.events >= events && seen.events <= whole.events);
        events = seen.events;
        struct seen parts = {0};
        sn_nettrace_reader_free(read_stream(stream->bytes, size, 1, &parts));
        assert_same(&seen, &parts);
    }
    assert_int_equal(events, whole.events); /* the end mark alone is missing */
}

static void every_cut_keeps_what_came_before(void **state)
{
    (void)state;
    each_version(cut_everywhere);
}

static void bend_everywhere(const struct sn_buf *stream)
{
    static const uint8_t values[] = {0x00, 0x01, 0x05, 0x06, 0x7F, 0x80, 0xFF};
    for (size_t at = 0; at < stream->size; at++) {
        for (size_t i = 0; i < sizeof(values); i++) {
            SN_AUTO(sn_buf_done) struct sn_buf bent = sn_buf_with_limit(STREAM_MAX);
            sn_buf_append(&bent, stream->bytes, stream->size);
            bent.bytes[at] = values[i];
            struct seen whole = read_once(&bent);
            struct seen parts = {0};
            sn_nettrace_reader_free(read_stream(bent.bytes, bent.size, 11, &parts));
            assert_same(&whole, &parts);
        }
    }
}

static void any_byte_may_be_wrong_and_it_ends_the_same_however_it_is_cut(void **state)
{
    (void)state;
    each_version(bend_everywhere);
}

static void a_bad_row_costs_the_rest_of_its_block(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    put_start_v4(&stream, 1000000000);
    put_plain_metadata(&stream, 1);
    begin_rows(&block, 1);
    sn_buf_append(&block, "\x01\x01\x05", 3);     /* good */
    sn_buf_append(&block, "\x80\x05\xFF\x7F", 4); /* 16,383 bytes of payload, it says */
    sn_buf_append(&block, "\x01\x01\x05", 3);
    put_object(&stream, "EventBlock", &block);
    put_single_event(&stream, 1, 5, 1, 9);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.events, 2);
    assert_int_equal(seen.times[1], 9);
    assert_int_equal(seen.damages, 1);
    assert_int_equal(memcmp(stream.bytes + seen.damage_offset, "\x80\x05\xFF\x7F", 4), 0);
}

static void numbers_that_are_too_long_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        size_t size;
    } rows[] = {
        {"\x01\x81\x80\x80\x80\x80\x00\x05", 8},                         /* 6 bytes for 32 bits */
        {"\x01\x81\x80\x80\x80\x10\x05", 7},                             /* a 33rd bit */
        {"\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 11},            /* a 65th */
        {"\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 14} /* 13 bytes */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (size_t behind = 0; behind < 300; behind += 299) { /* at the end, and in the middle */
            SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
            SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
            put_start_v4(&stream, 1000000000);
            put_plain_metadata(&stream, 1);
            begin_rows(&block, 1);
            sn_buf_append(&block, rows[i].row, rows[i].size);
            sn_buf_fill(&block, 0, behind);
            put_object(&stream, "EventBlock", &block);
            sn_buf_u8(&stream, 1);
            struct seen seen = read_once(&stream);
            assert_int_equal(seen.status, SONDE_OK);
            assert_int_equal(seen.events, 0);
            assert_int_equal(seen.damages, 1);
        }
    }
}

/* Ten blocks of one event each; their places in `at`. */
static void put_ten_blocks(struct sn_buf *stream, size_t at[10])
{
    put_start_v4(stream, 1000000000);
    put_plain_metadata(stream, 1);
    for (uint32_t i = 0; i < 10; i++) {
        at[i] = stream->size;
        put_single_event(stream, 1, 5, i + 1, i + 1);
    }
    sn_buf_u8(stream, 1);
}

static void after_damage_in_the_middle_later_blocks_are_found(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t byte;
        unsigned events;
    } damages[] = {
        {0, 0x77, 9},   /* no object begins */
        {11, 0xFF, 9},  /* length of the name */
        {17, 'X', 9},   /* its name: an unknown block */
        {26, 0xFF, 10}, /* its size: 0xFF more bytes; the next is seen inside */
        {29, 0x7F, 9},  /* its size: 2 GB */
    };
    for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
        size_t at[10];
        put_ten_blocks(&stream, at);
        stream.bytes[at[4] + damages[i].at] = damages[i].byte;
        struct seen seen = read_once(&stream);
        assert_int_equal(seen.status, SONDE_OK);
        assert_int_equal(seen.events, damages[i].events);
        if (damages[i].events == 9)
            assert_int_equal(seen.lost, 1);
    }
}

static void a_missing_stretch_is_told_with_its_place_and_size(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    size_t at[10];
    put_ten_blocks(&stream, at);
    memset(stream.bytes + at[3], 0x11, at[6] - at[3]);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.events, 7);
    assert_int_equal(seen.damages, 1);
    assert_int_equal(seen.damage_offset, at[3]);
    assert_int_equal(seen.lost, 3);
}

static void version_6_finds_later_blocks_as_well(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    put_start_v6(&stream);
    sn_buf_append(&block,
                  "\0\0\x0D\0\x01\x04Test\x01\x01"
                  "E\0\0\0\0",
                  17);
    put_block_v6(&stream, 3, &block);
    size_t at[10];
    for (unsigned i = 0; i < 10; i++) {
        at[i] = stream.size;
        begin_rows(&block, 1);
        sn_buf_append(&block, "\x81\x01\x05\x04yyyy", 8);
        put_block_v6(&stream, 2, &block);
    }
    sn_buf_u32(&stream, 0);
    stream.bytes[at[4] + 3] = 0x99; /* its kind */
    memset(stream.bytes + at[6], 0xEE, 9);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.events, 8);
    assert_int_equal(seen.damages, 2);
    assert_int_equal(seen.damage_offset, at[4]);
}

static void without_its_trace_block_a_stream_is_read_all_the_same(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    size_t at[10];
    put_ten_blocks(&stream, at);
    stream.bytes[32 + 15] = 'X'; /* "Xrace" */
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.traces, 1);
    assert_int_equal(seen.info.pointer_size, 8);
    assert_int_equal(seen.events, 10);
    assert_true(seen.damages > 0);
}

static void events_nobody_declared_are_told_once_not_each(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    put_start_v4(&stream, 1000000000);
    put_plain_metadata(&stream, 1);
    for (uint32_t i = 0; i < 1000; i++)
        put_single_event(&stream, 4711, 5, i + 1, i + 1);
    put_single_event(&stream, 1, 5, 1001, 1001);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.events, 1);
    assert_int_equal(seen.lost, 0); /* they came, they just cannot be read */
    assert_int_equal(seen.counters.undecodable, 1000);
    assert_int_equal(seen.damages, 1);
    assert_non_null(strstr(seen.text, "1000"));
    assert_non_null(strstr(seen.text, "4711"));
}

static void absurd_counts_cost_nothing(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    SN_AUTO(sn_buf_done) struct sn_buf record = sn_buf_with_limit(4096);
    put_start_v4(&stream, 1000000000);
    begin_rows(&block, 1);
    begin_record(&record, 1, "Many");
    sn_buf_u32(&record, UINT32_MAX); /* fields */
    put_metadata_row(&block, &record);
    begin_record(&record, 2, "Object");
    sn_buf_u32(&record, 1);
    sn_buf_u32(&record, SN_TYPE_OBJECT);
    sn_buf_u32(&record, 0x7FFFFFFF);
    put_metadata_row(&block, &record);
    begin_record(&record, 3, "Deep");
    sn_buf_u32(&record, 1);
    for (unsigned i = 0; i < 200; i++) {
        sn_buf_u32(&record, SN_TYPE_OBJECT);
        sn_buf_u32(&record, 1);
    }
    put_metadata_row(&block, &record);
    begin_record(&record, 4, "Strange");
    sn_buf_u32(&record, 1);
    sn_buf_u32(&record, 2); /* no such type */
    put_text16(&record, "f");
    put_metadata_row(&block, &record);
    put_object(&stream, "MetadataBlock", &block);
    sn_buf_clear(&block);
    sn_buf_u32(&block, 1);
    sn_buf_u32(&block, UINT32_MAX); /* stacks */
    put_object(&stream, "StackBlock", &block);
    sn_buf_clear(&block);
    sn_buf_u64(&block, 1);
    sn_buf_u32(&block, UINT32_MAX); /* threads */
    put_object(&stream, "SPBlock", &block);
    for (uint32_t id = 1; id <= 4; id++)
        put_single_event(&stream, id, 5, id, id);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.schemas, 4); /* known, but opaque */
    assert_int_equal(seen.events, 4);
    assert_int_equal(seen.damages, 5);
    struct seen again = {0};
    SN_AUTO(sn_nettrace_reader_free)
    struct sn_nettrace_reader *reader = read_stream(stream.bytes, stream.size, 99, &again);
    for (size_t i = 0; i < 4; i++)
        assert_false(again.declared[i]->has_layout);
}

static void stacks_stay_below_their_ceiling(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf head = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(STREAM_MAX);
    struct seen seen = {0};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    assert_int_equal(sn_nettrace_reader_new(&see_all, &seen, &reader, NULL), SONDE_OK);
    put_start_v4(&head, 1000000000);
    put_plain_metadata(&head, 1);
    assert_int_equal(sn_nettrace_reader_feed(reader, head.bytes, head.size, NULL), SONDE_OK);
    uint64_t offset = head.size;
    for (uint32_t id = 1; id <= 80; id++) { /* 80 MB in all */
        sn_buf_clear(&block);
        sn_buf_u32(&block, id);
        sn_buf_u32(&block, 1);
        sn_buf_u32(&block, 1u << 20);
        sn_buf_fill(&block, 1, 1u << 20);
        sn_buf_clear(&head);
        put_object_head(&head, "StackBlock", 2);
        sn_buf_u32(&head, (uint32_t)block.size);
        sn_buf_fill(&head, 0, -(offset + head.size) & 3u);
        sn_buf_append(&head, block.bytes, block.size);
        sn_buf_u8(&head, 6);
        offset += head.size;
        assert_int_equal(sn_nettrace_reader_feed(reader, head.bytes, head.size, NULL), SONDE_OK);
    }
    assert_int_equal(seen.damages, 1);
    assert_non_null(strstr(seen.text, "too many stacks"));
}

static void threads_and_schemas_stay_below_their_ceilings(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf stream = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(STREAM_MAX);
    put_start_v4(&stream, 1000000000);
    put_plain_metadata(&stream, 66000);
    begin_rows(&block, 1);
    for (uint32_t thread = 1; thread <= 200000; thread++) {
        sn_buf_u8(&block, 0x03);
        sn_buf_varuint(&block, 1);
        sn_buf_varuint(&block, thread == 1 ? 0 : (uint32_t)-1); /* number 1 each */
        sn_buf_varuint(&block, thread);
        sn_buf_varuint(&block, 0);
        sn_buf_varuint(&block, 1);
    }
    put_object(&stream, "EventBlock", &block);
    sn_buf_u8(&stream, 1);
    struct seen seen = read_once(&stream);
    assert_int_equal(seen.status, SONDE_OK);
    assert_int_equal(seen.schemas, 65536);
    assert_int_equal(seen.events, 200000);
    assert_int_equal(seen.lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_byte_at_a_time_is_as_good_as_all_at_once),
        cmocka_unit_test(every_cut_keeps_what_came_before),
        cmocka_unit_test(any_byte_may_be_wrong_and_it_ends_the_same_however_it_is_cut),
        cmocka_unit_test(a_bad_row_costs_the_rest_of_its_block),
        cmocka_unit_test(numbers_that_are_too_long_are_refused),
        cmocka_unit_test(after_damage_in_the_middle_later_blocks_are_found),
        cmocka_unit_test(a_missing_stretch_is_told_with_its_place_and_size),
        cmocka_unit_test(version_6_finds_later_blocks_as_well),
        cmocka_unit_test(without_its_trace_block_a_stream_is_read_all_the_same),
        cmocka_unit_test(events_nobody_declared_are_told_once_not_each),
        cmocka_unit_test(absurd_counts_cost_nothing),
        cmocka_unit_test(stacks_stay_below_their_ceiling),
        cmocka_unit_test(threads_and_schemas_stay_below_their_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
