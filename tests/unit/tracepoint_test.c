/* Descriptions of tracepoints as a real kernel wrote them: fields at their places, records read by
 * the model's reader of payloads, and every cut. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/tracepoint.h"
#include "model/event.h"
#include "model/payload.h"

static void load(const char *name, struct sn_buf *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/fuzz/corpus/tracepoint/%s", SONDE_SOURCE_DIR, name);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, text, NULL), SONDE_OK);
}

static struct sn_tracepoint *parse(const char *subsystem, const char *name)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_TRACEPOINT_TEXT_MAX);
    struct sn_tracepoint *tracepoint = NULL;
    struct sonde_error err = {0};
    load(name, &text);
    if (sn_tracepoint_parse(subsystem, (const char *)text.bytes, text.size, &tracepoint, &err))
        fail_msg("%s: %s", name, err.text);
    return tracepoint;
}

static void fields_have_places(void **state)
{
    (void)state;
    SN_AUTO(sn_tracepoint_free)
    struct sn_tracepoint *tracepoint = parse("sched", "sched_switch");
    struct sn_tracepoint_place state_place = sn_tracepoint_find(tracepoint, "prev_state");
    assert_string_equal(tracepoint->schema.provider, "sched");
    assert_string_equal(tracepoint->schema.name, "sched_switch");
    assert_int_equal(tracepoint->schema.event_id, 372);
    assert_int_equal(tracepoint->record_size, 64);
    assert_int_equal(state_place.offset, 32);
    assert_int_equal(state_place.size, 8);
    assert_true(state_place.is_signed);
    assert_int_equal(sn_tracepoint_find(tracepoint, "next_pid").offset, 56);
    assert_int_equal(sn_tracepoint_find(tracepoint, "next_comm").size, 0); /* no number */
    assert_int_equal(sn_tracepoint_find(tracepoint, "success").size, 0);
    assert_int_equal(sn_tracepoint_find(tracepoint, "").size, 0);
}

static void numbers_are_read(void **state)
{
    (void)state;
    static const uint8_t record[] = {0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF};
    struct sn_tracepoint_place place = {.offset = 4, .size = 4, .is_signed = true};
    int64_t value = 0;
    assert_true(sn_tracepoint_read(&place, record, sizeof(record), &value));
    assert_int_equal(value, -2);
    place.is_signed = false;
    assert_true(sn_tracepoint_read(&place, record, sizeof(record), &value));
    assert_int_equal(value, 0xFFFFFFFE);
    assert_false(sn_tracepoint_read(&place, record, 7, &value));
    place.offset = UINT32_MAX;
    assert_false(sn_tracepoint_read(&place, record, sizeof(record), &value));
    place.size = 0;
    assert_false(sn_tracepoint_read(&place, record, sizeof(record), &value));
}

static void expect_text(const struct sn_event *event, const char *field, const char *expected)
{
    struct sn_value value;
    assert_true(sn_payload_find(event, field, &value));
    assert_int_equal(value.kind, SN_VALUE_TEXT8);
    assert_int_equal(value.size, strlen(expected));
    assert_memory_equal(value.bytes, expected, value.size);
}

static void expect_number(const struct sn_event *event, const char *field, uint64_t expected)
{
    struct sn_value value;
    assert_true(sn_payload_find(event, field, &value));
    assert_int_equal(value.number, expected);
}

/* Texts behind the record, texts in it, holes before aligned fields. */
static void records_are_payloads(void **state)
{
    (void)state;
    SN_AUTO(sn_tracepoint_free)
    struct sn_tracepoint *tracepoint = parse("block", "block_rq_issue");
    SN_AUTO(sn_buf_done) struct sn_buf record = sn_buf_with_limit(256);
    sn_buf_u16(&record, 2104);
    sn_buf_fill(&record, 0, 2);
    sn_buf_u32(&record, 4711);
    sn_buf_u32(&record, 0x800001);  /* dev */
    sn_buf_u32(&record, 0xDEADBEE); /* what lies in the hole is nobody's */
    sn_buf_u64(&record, 123456789); /* sector */
    sn_buf_u32(&record, 8);
    sn_buf_u32(&record, 4096);
    sn_buf_u16(&record, 0);
    sn_buf_append(&record, "WS\0\0\0\0\0\0\0\0", 10);
    sn_buf_append(&record, "postgres\0garbage", 16);
    sn_buf_u32(&record, 5u << 16 | 64u);
    sn_buf_append(&record, "READ\0\0\0\0", 8);
    struct sn_event event = {.schema = &tracepoint->schema,
                             .payload = record.bytes,
                             .payload_size = (uint32_t)record.size,
                             .pointer_size = 8};
    expect_number(&event, "common_pid", 4711);
    expect_number(&event, "dev", 0x800001);
    expect_number(&event, "sector", 123456789);
    expect_number(&event, "bytes", 4096);
    expect_text(&event, "rwbs", "WS");
    expect_text(&event, "comm", "postgres");
    expect_text(&event, "cmd", "READ");
    assert_int_equal(sn_tracepoint_size(tracepoint, record.bytes, record.size), 69);
    assert_int_equal(sn_tracepoint_size(tracepoint, record.bytes, 66), 66);
    assert_int_equal(sn_tracepoint_size(tracepoint, record.bytes, 10), 10);
    assert_false(sn_payload_find(&event, "", &(struct sn_value){0}));
}

static void arrays_have_elements(void **state)
{
    (void)state;
    SN_AUTO(sn_tracepoint_free)
    struct sn_tracepoint *tracepoint = parse("raw_syscalls", "sys_enter");
    const struct sn_field *args = &tracepoint->schema.fields[5];
    assert_string_equal(args->name, "args");
    assert_int_equal(args->type, SN_TYPE_FIXED_ARRAY);
    assert_int_equal(args->count, 6);
    assert_int_equal(args->children->type, SN_TYPE_U64);
}

static void odd_types_are_bytes(void **state)
{
    (void)state;
    static const uint8_t types[] = {SN_TYPE_FIXED_ARRAY, SN_TYPE_FIXED_ARRAY, SN_TYPE_FIXED_ARRAY,
                                    SN_TYPE_FIXED_ARRAY, SN_TYPE_REL_LOC,     SN_TYPE_FIXED_ARRAY,
                                    SN_TYPE_BOOL8};
    static const uint16_t counts[] = {8, 16, 3, 1, 0, 12, 0};
    SN_AUTO(sn_tracepoint_free) struct sn_tracepoint *tracepoint = parse("x", "odd_types");
    assert_int_equal(tracepoint->schema.field_count, sizeof(types));
    for (size_t i = 0; i < sizeof(types); i++) {
        assert_int_equal(tracepoint->schema.fields[i].type, types[i]);
        assert_int_equal(tracepoint->schema.fields[i].count, counts[i]);
    }
    assert_int_equal(tracepoint->schema.fields[1].children->type, SN_TYPE_UTF8_UNIT);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "name: a\nID: 1\n",
        "name: a\nfield:int x; offset:0; size:4; signed:1;\n",
        "ID: 1\nfield:int x; offset:0; size:4; signed:1;\n",
        "name: a\nID: x\nfield:int x; offset:0; size:4; signed:1;\n",
        "name: a\nID: 99999999999\nfield:int x; offset:0; size:4; signed:1;\n",
        "name: a\nID: 1\nfield:int x; offset:4; size:4; signed:1;\nfield:int y; offset:6; size:4;\n",
        "name: a\nID: 1\nfield:int x; offset:99999999; size:4; signed:1;\n",
        "name: a\nID: 1\nfield:int x; offset:65533; size:4; signed:1;\n",
        "name: a\nID: 1\nfield:int; offset:0; size:4; signed:1;\n",
        "name: a\nID: 1\nfield:int x]; offset:0; size:4; signed:1;\n",
        "name: a\nID: 1\nfield:int x; size:4; offset:0; signed:1;\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct sn_tracepoint *tracepoint = NULL;
        struct sonde_error err = {0};
        int rc = sn_tracepoint_parse("a", texts[i], strlen(texts[i]), &tracepoint, &err);
        if (rc != SONDE_E_FORMAT)
            fail_msg("taken: %s", texts[i]);
        assert_null(tracepoint);
    }
}

static void every_cut_is_survived(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SN_TRACEPOINT_TEXT_MAX);
    load("block_rq_issue", &text);
    size_t taken = 0;
    for (size_t size = 0; size <= text.size; size++) {
        SN_AUTO(sn_tracepoint_free) struct sn_tracepoint *tracepoint = NULL;
        SN_AUTO(sn_free) char *copy = malloc(size + 1); /* its end is the heap's, not the text's */
        memcpy(copy, text.bytes, size);
        taken += sn_tracepoint_parse("block", copy, size, &tracepoint, NULL) == SONDE_OK;
    }
    assert_true(taken > 0 && taken < text.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_places),    cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(records_are_payloads),  cmocka_unit_test(arrays_have_elements),
        cmocka_unit_test(odd_types_are_bytes),   cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(every_cut_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
