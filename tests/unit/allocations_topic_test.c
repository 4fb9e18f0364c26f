/* Allocations, by both events that tell of them. */
#include <math.h>

#include "topic_trace.h"

static const struct topic_kind tick_v0 = {10, 0};
static const struct topic_kind tick_v2 = {10, 2};
static const struct topic_kind tick_v3 = {10, 3};
static const struct topic_kind tick_v4 = {10, 4};
static const struct topic_kind sampled = {303, 0};
static const struct topic_kind kinds[] = {{10, 0}, {10, 1}, {10, 2}, {10, 3}, {10, 4}, {303, 0}};

enum { SMALL, LARGE, PINNED };

static void add_tick(struct topic_trace *trace, struct topic_kind kind, const char *type,
                     uint64_t bytes, uint32_t heap)
{
    sn_buf_u32(&trace->payload, (uint32_t)bytes);
    sn_buf_u32(&trace->payload, heap);
    if (kind.version >= 1)
        sn_buf_u16(&trace->payload, 0);
    if (kind.version >= 2) {
        sn_buf_u64(&trace->payload, bytes);
        sn_buf_u64(&trace->payload, 0x7F00);
        put_text16(&trace->payload, type);
        sn_buf_u32(&trace->payload, 0);
    }
    if (kind.version >= 3)
        sn_buf_u64(&trace->payload, 0x7E00);
    if (kind.version >= 4)
        sn_buf_u64(&trace->payload, 24);
    add_event(trace, kind, 1, 1000 + trace->stream.size);
}

static void add_sampled(struct topic_trace *trace, const char *type, uint64_t size, uint32_t heap)
{
    sn_buf_u32(&trace->payload, heap);
    sn_buf_u16(&trace->payload, 0);
    sn_buf_u64(&trace->payload, 0x7F00);
    put_text16(&trace->payload, type);
    sn_buf_u64(&trace->payload, 0x7E00);
    sn_buf_u64(&trace->payload, size);
    sn_buf_u64(&trace->payload, 3);
    add_event(trace, sampled, 1, 1000 + trace->stream.size);
}

static void ticks_of_every_version_count(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_tick(trace, tick_v0, "", 100, SMALL);
    add_tick(trace, tick_v2, "Old", 1000, SMALL);
    add_tick(trace, tick_v3, "Old", 2000, LARGE);
    add_tick(trace, tick_v4, "New", 5000000000, LARGE); /* more than 32 bits */
    add_tick(trace, tick_v4, "New", 1, PINNED);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    const struct sn_allocation_report *allocations = &report->allocations;
    assert_false(allocations->is_sampled);
    assert_int_equal(allocations->sample_count, 5);
    assert_int_equal(allocations->bytes, 5000003101);
    assert_int_equal(allocations->large_count, 2);
    assert_int_equal(allocations->large_bytes, 5000002000);
    assert_int_equal(allocations->pinned_bytes, 1);
    assert_int_equal(allocations->count, 3);
    assert_string_equal(allocations->kinds[0].type, "New");
    assert_string_equal(allocations->kinds[1].type, "Old");
    assert_int_equal(allocations->kinds[1].large_bytes, 2000);
    assert_string_equal(allocations->kinds[2].type, "[other types]");
    assert_int_equal(sn_profile_total(allocations->profile, 0, SN_NO_INDEX), 5000003101);
    assert_int_equal(sn_profile_total(allocations->profile, 1, SN_NO_INDEX), 5);
}

static void a_sample_stands_for_those_not_taken(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_sampled(trace, "Small", 24, SMALL);
    add_sampled(trace, "Mean", 102400, LARGE);
    add_sampled(trace, "Huge", 100000000, LARGE);
    add_sampled(trace, "Empty", 0, SMALL);
    add_sampled(trace, "Lie", UINT64_MAX, SMALL);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    const struct sn_allocation_report *allocations = &report->allocations;
    assert_true(allocations->is_sampled);
    assert_string_equal(allocations->kinds[0].type, "Lie");
    assert_int_equal(allocations->kinds[0].bytes, UINT64_C(1) << 40);
    assert_int_equal(allocations->kinds[1].bytes, 100000000);
    assert_int_equal(allocations->kinds[2].bytes, (uint64_t)(102400 / (1 - exp(-1)) + 0.5));
    assert_int_equal(allocations->kinds[3].bytes, 102412); /* 24 / (1 - e^(-24 / 102400)) */
    assert_int_equal(allocations->kinds[4].bytes, 102400);
}

static void the_same_bytes_are_not_counted_twice(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_tick(trace, tick_v4, "A", 1000, SMALL);
    add_sampled(trace, "A", 24, SMALL);
    add_tick(trace, tick_v4, "A", 1000, SMALL);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->allocations.bytes, 2000);
    assert_int_equal(report->allocations.ignored_count, 1);
    assert_int_equal(report->allocations.event_count, 3);
}

static void cut_payloads_say_nothing(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (size_t size = 0; size < 26; size++) {
        sn_buf_fill(&trace->payload, 'x', size);
        add_event(trace, sampled, 1, 1000);
        sn_buf_fill(&trace->payload, 'x', size);
        add_event(trace, tick_v4, 1, 1000);
    }
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->allocations.event_count, 52);
    assert_int_equal(report->allocations.sample_count, 0);
    assert_int_equal(report->allocations.count, 0);
}

static void more_types_than_fit_keep_the_sums_right(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (unsigned i = 0; i < 20000; i++) {
        char type[32];
        (void)snprintf(type, sizeof(type), "Some.Type%u", i);
        add_tick(trace, tick_v4, type, 10, SMALL);
    }
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    uint64_t bytes = 0;
    for (size_t i = 0; i < report->allocations.count; i++)
        bytes += report->allocations.kinds[i].bytes;
    assert_int_equal(bytes, 200000);
    assert_int_equal(report->allocations.bytes, 200000);
    assert_true(report->allocations.count < 20000);
    assert_string_equal(report->allocations.kinds[0].type, "[other types]");
}

static void golden_traces_have_types_and_sites(void **state)
{
    (void)state;
    static const char *const names[] = {"interop/8-gc.nettrace", "interop/9-gc.nettrace",
                                        "interop/10-gc.nettrace"};
    for (size_t i = 0; i < 3; i++) {
        SN_AUTO(sn_report_free) struct sn_report *report = read_golden(names[i]);
        const struct sn_allocation_report *allocations = &report->allocations;
        assert_true(allocations->sample_count > 10 && allocations->large_count > 0);
        assert_string_equal(allocations->kinds[0].type, "System.Byte[]");
        assert_int_equal(sn_profile_total(allocations->profile, 0, SN_NO_INDEX),
                         allocations->bytes);
        const struct sn_frame *leaf = &allocations->profile->frames[allocations->kinds[0].frame];
        assert_int_equal(leaf->kind, SN_FRAME_TYPE);
        assert_string_equal(leaf->name, allocations->kinds[0].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_of_every_version_count),
        cmocka_unit_test(a_sample_stands_for_those_not_taken),
        cmocka_unit_test(the_same_bytes_are_not_counted_twice),
        cmocka_unit_test(cut_payloads_say_nothing),
        cmocka_unit_test(more_types_than_fit_keep_the_sums_right),
        cmocka_unit_test(golden_traces_have_types_and_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
