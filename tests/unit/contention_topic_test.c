/* Waits for locks, told event by event. */
#include <math.h>

#include "topic_trace.h"

static const struct topic_kind start_v0 = {81, 0};
static const struct topic_kind start_v1 = {81, 1};
static const struct topic_kind start_v2 = {81, 2};
static const struct topic_kind stop_v0 = {91, 0};
static const struct topic_kind stop_v1 = {91, 1};
static const struct topic_kind kinds[] = {{81, 0}, {81, 1}, {81, 2}, {91, 0}, {91, 1}};

enum { MANAGED, NATIVE };

static void add_start(struct topic_trace *trace, struct topic_kind kind, uint32_t thread,
                      uint64_t ns, uint8_t flags)
{
    if (kind.version >= 1) {
        sn_buf_u8(&trace->payload, flags);
        sn_buf_u16(&trace->payload, 0);
    }
    if (kind.version >= 2)
        sn_buf_fill(&trace->payload, 0x11, 24);
    add_event(trace, kind, thread, ns);
}

static void add_stop(struct topic_trace *trace, uint32_t thread, uint64_t ns, uint8_t flags,
                     double duration)
{
    sn_buf_u8(&trace->payload, flags);
    sn_buf_u16(&trace->payload, 0);
    sn_buf_append(&trace->payload, &duration, sizeof(duration));
    add_event(trace, stop_v1, thread, ns);
}

static void add_old_stop(struct topic_trace *trace, uint32_t thread, uint64_t ns)
{
    sn_buf_u8(&trace->payload, MANAGED);
    sn_buf_u16(&trace->payload, 0);
    add_event(trace, stop_v0, thread, ns);
}

static void the_runtime_s_own_length_counts(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_start(trace, start_v2, 1, 1000, MANAGED);
    add_start(trace, start_v2, 2, 1010, MANAGED);
    add_stop(trace, 2, 1100, MANAGED, 85.9);
    add_stop(trace, 1, 1300, MANAGED, 290);
    add_stop(trace, 3, 1400, MANAGED, 777); /* begun before the trace */
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    const struct sn_contention_report *contention = &report->contention;
    assert_int_equal(contention->count, 3);
    assert_int_equal(contention->wait_ns, 85 + 290 + 777);
    assert_int_equal(contention->waits.max, 777);
    assert_int_equal(contention->open_count, 0);
    assert_int_equal(contention->unmatched_count, 0);
    assert_int_equal(sn_profile_total(contention->profile, 0, SN_NO_INDEX), 1152);
    assert_int_equal(sn_profile_total(contention->profile, 1, SN_NO_INDEX), 3);
}

static void older_events_are_timed_by_their_ends(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_start(trace, start_v0, 1, 1000, MANAGED);
    add_old_stop(trace, 1, 1040);
    add_start(trace, start_v1, 1, 2000, MANAGED);
    add_old_stop(trace, 1, 2005);
    add_old_stop(trace, 1, 3000); /* nothing is known of its begin */
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->contention.count, 2);
    assert_int_equal(report->contention.wait_ns, 45);
    assert_int_equal(report->contention.unmatched_count, 1);
}

static void locks_of_the_runtime_are_counted_apart(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_start(trace, start_v2, 1, 1000, NATIVE);
    add_stop(trace, 1, 1100, NATIVE, 100);
    add_stop(trace, 2, 1200, NATIVE, 11);
    add_start(trace, start_v2, 3, 1300, NATIVE);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->contention.count, 0);
    assert_int_equal(report->contention.native_count, 2);
    assert_int_equal(report->contention.native_ns, 111);
    assert_int_equal(report->contention.open_count, 0);
    assert_int_equal(report->contention.profile->row_count, 0);
}

static void waits_that_do_not_end_are_told(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_start(trace, start_v2, 1, 5000, MANAGED);
    add_start(trace, start_v2, 2, 4000, MANAGED);
    add_start(trace, start_v2, 3, 1000, MANAGED);
    add_start(trace, start_v2, 3, 6000, MANAGED); /* the first one's end was not told */
    add_start(trace, start_v2, 4, 1000, MANAGED);
    lose_events(trace, 4, 2);
    add_old_stop(trace, 4, 7000); /* of another wait, that began in between */
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->contention.open_count, 3);
    assert_int_equal(report->contention.open_since_ns, 4000);
    assert_int_equal(report->contention.unmatched_count, 3);
    assert_int_equal(report->contention.count, 0);
}

static void impossible_lengths_are_not_believed(void **state)
{
    (void)state;
    static const double lies[] = {-1, INFINITY, -INFINITY, NAN, 1e300};
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (uint32_t i = 0; i < 5; i++) {
        add_start(trace, start_v2, 1, 1000 * (i + 1), MANAGED);
        add_stop(trace, 1, 1000 * (i + 1) + 10, MANAGED, lies[i]);
        add_stop(trace, 2, 1000 * (i + 1) + 20, MANAGED, lies[i]);
    }
    for (size_t size = 0; size < 11; size++) {
        sn_buf_fill(&trace->payload, 0, size);
        add_event(trace, stop_v1, 3, 9000);
    }
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->contention.count, 5);
    assert_int_equal(report->contention.wait_ns, 50);
    assert_int_equal(report->contention.unmatched_count, 5 + 11);
}

static void golden_traces_wait_where_they_should(void **state)
{
    (void)state;
    static const char *const names[] = {"interop/8-contention.nettrace",
                                        "interop/9-contention.nettrace",
                                        "interop/10-contention.nettrace"};
    for (size_t i = 0; i < 3; i++) {
        SN_AUTO(sn_report_free) struct sn_report *report = read_golden(names[i]);
        const struct sn_contention_report *contention = &report->contention;
        assert_true(contention->count > 50 && contention->wait_ns > 0);
        assert_int_equal(contention->count, contention->waits.seen_count);
        assert_int_equal(sn_profile_total(contention->profile, 0, SN_NO_INDEX),
                         contention->wait_ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_runtime_s_own_length_counts),
        cmocka_unit_test(older_events_are_timed_by_their_ends),
        cmocka_unit_test(locks_of_the_runtime_are_counted_apart),
        cmocka_unit_test(waits_that_do_not_end_are_told),
        cmocka_unit_test(impossible_lengths_are_not_believed),
        cmocka_unit_test(golden_traces_wait_where_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
