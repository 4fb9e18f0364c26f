/* Topics of a report as people and programs read them, with names that mean harm; and damaged
 * traces, which must be read to their end whatever they say. */
#include "base/json.h"
#include "base/stream.h"
#include "convert/report_html_sections.h"
#include "convert/report_json.h"
#include "convert/report_text.h"
#include "topic_trace.h"

#define OUTPUT_MAX (64u << 20)

static const struct topic_kind thrown = {80, 1};
static const struct topic_kind tick = {10, 4};
static const struct topic_kind waits = {81, 2};
static const struct topic_kind kinds[] = {{80, 1}, {10, 4}, {81, 2}, {250, 0}};

static int keep(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    (void)err;
    sn_buf_append(user, bytes, size);
    return SONDE_OK;
}

static void write_text_within(const struct sn_report *report, unsigned width, struct sn_buf *to)
{
    struct sn_stream stream;
    struct sonde_error err = {0};
    sn_stream_init(&stream, keep, to);
    struct sn_text_report page = {.out = &stream, .width = width, .count = 15};
    sn_report_text_gc(&page, report);
    sn_report_text_exceptions(&page, report);
    sn_report_text_allocations(&page, report);
    sn_report_text_contention(&page, report);
    assert_int_equal(sn_stream_finish(&stream, &err), SONDE_OK);
    sn_stream_done(&stream);
}

static void write_text(const struct sn_report *report, struct sn_buf *to)
{
    write_text_within(report, 100, to);
}

static void write_html(const struct sn_report *report, struct sn_buf *to)
{
    struct sn_stream stream;
    struct sonde_error err = {0};
    sn_stream_init(&stream, keep, to);
    struct sn_html_report page = {.stream = &stream, .report = report, .row_count = 15};
    sn_report_html_gc(&page);
    sn_report_html_exceptions(&page);
    sn_report_html_allocations(&page);
    sn_report_html_contention(&page);
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

static void add_wait_for(struct topic_trace *trace, uint32_t thread, uint32_t owner, uint64_t ns)
{
    sn_buf_fill(&trace->payload, 0, 3 + 16);
    sn_buf_u64(&trace->payload, owner);
    add_event(trace, waits, thread, ns);
}

static void assert_says(struct sn_buf *said, const char *words)
{
    if (!strstr(sn_buf_string(said), words))
        fail_msg("'%s' is not in:\n%s", words, sn_buf_string(said));
}

/* What is worst stands in the first line, and in every form of the report. */
static void a_deadlock_is_called_one(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(OUTPUT_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf json = sn_buf_with_limit(OUTPUT_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf html = sn_buf_with_limit(OUTPUT_MAX);
    add_wait_for(trace, 7, 8, 1000000000);
    add_wait_for(trace, 8, 7, 2000000000);
    add_wait_for(trace, 9, 7, 4000000000);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    write_text(report, &text);
    write_json(report, &json);
    write_html(report, &html);
    assert_says(&text,
                "Contention  DEADLOCK: 2 threads wait for each other's locks, for 3.00 s so far\n");
    assert_says(&text, "     3.00 s  thread 7 waits for a lock of thread 8\n");
    assert_says(&text, "     2.00 s  thread 8 waits for a lock of thread 7\n");
    assert_says(&text, "          0  thread 9 waits for a lock of thread 7\n");
    assert_says(&json,
                "\"open\":3,\"openNs\":5000000000,\"longestOpenNs\":3000000000,\"deadlocked\":2");
    assert_says(&json, "{\"thread\":7,\"threadName\":null,\"owner\":8,\"ownerName\":null,"
                       "\"timeNs\":3000000000,\"deadlocked\":true,\"method\":null");
    assert_says(&html,
                "<b>Deadlock:</b> 2 threads wait for each other's locks, for 3.00 s so far.");
    assert_says(&html, "<td>thread 7<td>thread 8<td>3.00 s");
}

static void waits_without_end_are_the_answer(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(OUTPUT_MAX);
    add_wait_for(trace, 7, 8, 1000000000);
    add_wait_for(trace, 6, 8, 2000000000);
    add_wait_for(trace, 5, 0, 3000000000);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    write_text(report, &text);
    assert_says(&text, "Contention  3 threads still wait for locks, the longest for 2.00 s\n");
    assert_says(&text, "          0  thread 5\n");
}

static void a_growing_heap_is_in_the_answer(void **state)
{
    (void)state;
    SN_AUTO(sn_report_free) struct sn_report *report = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(OUTPUT_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf html = sn_buf_with_limit(OUTPUT_MAX);
    assert_int_equal(sn_report_new(&report, NULL), SONDE_OK);
    report->duration_ns = 5000000000;
    report->gc.event_count = report->gc.total_count = 4;
    report->gc.by_generation[1] = 4;
    sn_series_add(&report->gc.pauses, 1000000);
    report->gc.pause_ns = 1000000;
    report->gc.is_heap_growing = true;
    report->gc.heap_first_bytes = 16000000;
    report->gc.heap_last_bytes = report->gc.heap_max_bytes = 55000000;
    report->gc.heap_span_ns = 4000000000;
    write_text_within(report, 80, &text);
    write_html(report, &html);
    assert_true(longest_line(&text) <= 80);
    assert_says(&text,
                "GC          heap grew from 16 MB to 55 MB; paused 1.00 ms of 5.00 s (0.0 %)\n");
    assert_says(&text, "after collections grew from 16 MB to 55 MB, 9.8 MB/s; up to 55 MB\n");
    assert_says(&html, "The heap after collections grew from 16 MB to 55 MB.");
    assert_says(&text, "\n  gen 1 ");
    assert_null(strstr(sn_buf_string(&text), "\n  gen 0 "));
    assert_null(strstr(sn_buf_string(&html), "generation 0</bdi>"));
}

/* Everything that can be asked of a report. Numbers that nobody can have may be wider than a page.
 */
static void use(struct sn_report *report, bool is_sane)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_MAX);
    if (!report)
        return;
    write_text_within(report, 80, &out);
    assert_false(has_controls(&out));
    assert_true(!is_sane || longest_line(&out) <= 80);
    write_json(report, &out);
    write_html(report, &out);
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
            use(read_bytes(bytes.bytes, bytes.size * cut / 24), true);
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
            use(read_bytes(bytes.bytes, bytes.size), false);
            sn_buf_done(&bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_names_are_shown_safely),
        cmocka_unit_test(nothing_is_said_about_nothing),
        cmocka_unit_test(a_deadlock_is_called_one),
        cmocka_unit_test(waits_without_end_are_the_answer),
        cmocka_unit_test(a_growing_heap_is_in_the_answer),
        cmocka_unit_test(cut_traces_are_read),
        cmocka_unit_test(corrupted_traces_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
