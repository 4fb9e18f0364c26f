/* Topics of a report as people and programs read them, with names that mean harm; and damaged
 * traces, which must be read to their end whatever they say. */
#include "base/json.h"
#include "base/stream.h"
#include "convert/report_json.h"
#include "convert/report_text.h"
#include "topic_trace.h"

#define OUTPUT_MAX (64u << 20)

static const struct topic_kind thrown = {80, 1};
static const struct topic_kind tick = {10, 4};
static const struct topic_kind kinds[] = {{80, 1}, {10, 4}, {250, 0}};

static int keep(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    (void)err;
    sn_buf_append(user, bytes, size);
    return SONDE_OK;
}

static void write_text(const struct sn_report *report, struct sn_buf *to)
{
    struct sn_stream stream;
    struct sonde_error err = {0};
    sn_stream_init(&stream, keep, to);
    struct sn_text_report page = {.out = &stream, .width = 100, .count = 15};
    sn_report_text_gc(&page, report);
    sn_report_text_exceptions(&page, report);
    sn_report_text_allocations(&page, report);
    sn_report_text_contention(&page, report);
    assert_int_equal(sn_stream_finish(&stream, &err), SONDE_OK);
    sn_stream_done(&stream);
}

static void write_json(const struct sn_report *report, struct sn_buf *to)
{
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    sn_report_json_gc(&json, report);
    sn_report_json_exceptions(&json, report);
    sn_report_json_allocations(&json, report);
    sn_report_json_contention(&json, report);
    sn_json_close(&json);
    assert_int_equal(json.depth, 0);
}

/* Bytes that a terminal would act upon. */
static bool has_controls(const struct sn_buf *text)
{
    for (size_t i = 0; i < text->size; i++) {
        if ((text->bytes[i] < ' ' && text->bytes[i] != '\n') || text->bytes[i] == 0x7F)
            return true;
    }
    return false;
}

static size_t longest_line(const struct sn_buf *text)
{
    size_t longest = 0;
    size_t columns = 0;
    for (size_t i = 0; i < text->size; i++) {
        columns = text->bytes[i] == '\n' ? 0 : columns + ((text->bytes[i] & 0xC0u) != 0x80u);
        longest = columns > longest ? columns : longest;
    }
    return longest;
}

static void add_named(struct topic_trace *trace, struct topic_kind kind, const struct sn_buf *name)
{
    if (kind.id == tick.id)
        sn_buf_fill(&trace->payload, 1, 26);
    sn_buf_append(&trace->payload, name->bytes, name->size);
    sn_buf_u16(&trace->payload, 0);
    if (kind.id == thrown.id) {
        sn_buf_append(&trace->payload, name->bytes, name->size);
        sn_buf_u16(&trace->payload, 0);
    }
    sn_buf_fill(&trace->payload, 0, 20);
    add_event(trace, kind, 1, 1000 + trace->stream.size);
}

static void hostile_names_are_shown_safely(void **state)
{
    (void)state;
    static const char *const names[] = {
        "\033[31mred\033[0m",
        "line\nbreak\r\ttab",
        "</script><b onclick=\"x\">&amp;'`${x}",
        "%s%n%x",
        "\xE2\x80\xAEoverride",
        "A[",
        "List`1[[[[",
        "",
        "\x7F\x01",
    };
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(1u << 20);
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        sn_buf_clear(&name);
        sn_text_to_utf16(&name, names[i], strlen(names[i]));
        add_named(trace, thrown, &name);
        add_named(trace, tick, &name);
    }
    sn_buf_clear(&name); /* half a surrogate, over and over */
    for (int i = 0; i < 10000; i++)
        sn_buf_u16(&name, 0xD800);
    add_named(trace, thrown, &name);
    add_named(trace, tick, &name);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->exceptions.thrown_count, 10);
    assert_int_equal(report->allocations.sample_count, 10);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(OUTPUT_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf json = sn_buf_with_limit(OUTPUT_MAX);
    write_text(report, &text);
    write_json(report, &json);
    assert_false(has_controls(&text));
    assert_true(longest_line(&text) <= 100);
    assert_false(has_controls(&json));
    assert_null(memchr(json.bytes, '\n', json.size));
    assert_non_null(strstr(sn_buf_string(&json), "\\u001b[31mred"));
    assert_non_null(strstr(sn_buf_string(&text), "red"));
}

static void nothing_is_said_about_nothing(void **state)
{
    (void)state;
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(BEGIN_TOPIC_TRACE(kinds));
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(OUTPUT_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf json = sn_buf_with_limit(OUTPUT_MAX);
    write_text(report, &text);
    write_json(report, &json);
    assert_int_equal(text.size, 0);
    assert_string_equal(sn_buf_string(&json), "{}");
}

/* Everything that can be asked of a report. */
static void use(struct sn_report *report)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_MAX);
    if (!report)
        return;
    write_text(report, &out);
    assert_false(has_controls(&out));
    write_json(report, &out);
    sn_report_free(report);
}

static const char *const golden[] = {"interop/10-gc.nettrace", "interop/8-exceptions.nettrace",
                                     "interop/10-exceptions.nettrace",
                                     "interop/9-contention.nettrace"};

static void cut_traces_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf bytes = {0};
        load_golden(golden[i], &bytes);
        for (size_t cut = 1; cut <= 24; cut++)
            use(read_bytes(bytes.bytes, bytes.size * cut / 24));
    }
}

static void corrupted_traces_are_read(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf bytes = {0};
        for (int round = 0; round < 24; round++) {
            load_golden(golden[i], &bytes);
            for (size_t flips = (size_t)1 << (round % 8); flips > 0; flips--) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                bytes.bytes[random % bytes.size] = (uint8_t)(random >> 40);
            }
            use(read_bytes(bytes.bytes, bytes.size));
            sn_buf_done(&bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_names_are_shown_safely),
        cmocka_unit_test(nothing_is_said_about_nothing),
        cmocka_unit_test(cut_traces_are_read),
        cmocka_unit_test(corrupted_traces_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
