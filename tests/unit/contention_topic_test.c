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

/* `thread` waits for a lock that `owner` holds. */
static void add_wait_for(struct topic_trace *trace, uint32_t thread, uint32_t owner, uint64_t ns)
{
    sn_buf_u8(&trace->payload, MANAGED);
    sn_buf_u16(&trace->payload, 0);
    sn_buf_fill(&trace->payload, 0x11, 16);
    sn_buf_u64(&trace->payload, owner);
    add_event(trace, start_v2, thread, ns);
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
    const struct sn_contention_report *contention = &report->contention;
    assert_int_equal(contention->open_count, 3);
    assert_int_equal(contention->longest_open_ns, 3000); /* the last event is at 7000 */
    assert_int_equal(contention->open_ns, 3000 + 2000 + 1000);
    assert_int_equal(contention->unmatched_count, 3);
    assert_int_equal(contention->count, 3);
    assert_int_equal(contention->wait_ns, 6000);
    assert_int_equal(contention->waits.max, 3000);
    assert_int_equal(sn_profile_total(contention->profile, 0, SN_NO_INDEX), 6000);
    assert_int_equal(sn_profile_total(contention->profile, 1, SN_NO_INDEX), 3);
    assert_int_equal(contention->open_waits[0].thread_id, 2);
    assert_int_equal(contention->open_waits[1].thread_id, 1);
    assert_int_equal(contention->open_waits[2].thread_id, 3);
    assert_int_equal(contention->open_waits[0].owner_id, 0x1111111111111111);
    assert_int_equal(contention->deadlocked_count, 0);
}

static void circles_of_waiters_are_deadlocks(void **state)
{
    (void)state;
    const uint64_t second = 1000000000;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_wait_for(trace, 1, 2, second); /* two for each other */
    add_wait_for(trace, 2, 1, second);
    add_wait_for(trace, 3, 1, second - 1); /* for one of those, but nobody for this */
    add_wait_for(trace, 4, 5, second);     /* three in a round */
    add_wait_for(trace, 5, 6, second);
    add_wait_for(trace, 6, 4, second);
    add_wait_for(trace, 7, 8, second); /* for one that works */
    add_wait_for(trace, 9, 9, second); /* for itself: there is no such lock */
    add_wait_for(trace, 10, 0, second);
    add_wait_for(trace, 11, 12, 2 * second - 10); /* the lock may have gone to another since */
    add_wait_for(trace, 12, 11, 2 * second - 10);
    add_wait_for(trace, 13, 14, second); /* one of the two goes on */
    add_wait_for(trace, 14, 13, second);
    add_stop(trace, 14, 2 * second, MANAGED, 1e9);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    const struct sn_contention_report *contention = &report->contention;
    assert_int_equal(contention->deadlocked_count, 5);
    assert_int_equal(contention->open_count, 12);
    for (size_t i = 0; i < contention->open_count; i++) {
        uint64_t thread = contention->open_waits[i].thread_id;
        bool is_one = thread == 1 || thread == 2 || (thread >= 4 && thread <= 6);
        assert_int_equal(contention->open_waits[i].is_deadlocked, is_one);
        assert_int_equal(is_one, i < 5);
    }
    assert_int_equal(contention->open_waits[5].thread_id, 3);
}

/* A chain as long as there may be threads, and each is asked only once. */
static void long_chains_are_walked_once(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (uint32_t i = 1; i < THREADS_MAX; i++)
        add_wait_for(trace, i, i + 1 < THREADS_MAX ? i + 1 : 1, 1000);
    add_stop(trace, 0, 1000000000, MANAGED, 1);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->contention.deadlocked_count, THREADS_MAX - 1);
    assert_int_equal(report->contention.open_count, THREADS_MAX - 1);
}

/* Who holds the lock is told at the end of the payload. */
static void an_owner_that_is_cut_off_is_nobody(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (uint32_t size = 0; size < 27; size++) {
        sn_buf_fill(&trace->payload, 0, size);
        add_event(trace, start_v2, size + 1, 1000);
    }
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->contention.open_count, 27);
    for (size_t i = 0; i < 27; i++)
        assert_int_equal(report->contention.open_waits[i].owner_id, 0);
}

static void impossible_lengths_are_not_believed(void **state)
{
    (void)state;
    static const double lies[] = {-1, INFINITY, -INFINITY, NAN, 1e300};
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (uint64_t i = 0; i < 5; i++) {
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
        cmocka_unit_test(circles_of_waiters_are_deadlocks),
        cmocka_unit_test(long_chains_are_walked_once),
        cmocka_unit_test(an_owner_that_is_cut_off_is_nobody),
        cmocka_unit_test(impossible_lengths_are_not_believed),
        cmocka_unit_test(golden_traces_wait_where_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
