/* Collections and pauses, told event by event. */
#include "topic_trace.h"

static const struct topic_kind start = {1, 2};
static const struct topic_kind stop = {2, 1};
static const struct topic_kind restarted = {3, 1};
static const struct topic_kind heap_old = {4, 1};
static const struct topic_kind heap = {4, 2};
static const struct topic_kind standing = {8, 1};
static const struct topic_kind suspend = {9, 1};
static const struct topic_kind finalized = {13, 1};
static const struct topic_kind history = {205, 4};
static const struct topic_kind kinds[] = {{1, 2}, {2, 1}, {3, 1},  {4, 1},  {4, 2},
                                          {8, 1}, {9, 1}, {13, 1}, {205, 4}};

enum { BLOCKING, BACKGROUND, FOREGROUND };
enum { FOR_SAMPLER, FOR_GC, FOR_SHUTDOWN = 4, FOR_PREP = 6 };

static void add_numbers(struct topic_trace *trace, struct topic_kind kind, uint32_t thread,
                        uint64_t ns, const uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sn_buf_u32(&trace->payload, numbers[i]);
    sn_buf_u16(&trace->payload, 0);
    add_event(trace, kind, thread, ns);
}

static void add_start(struct topic_trace *trace, uint32_t thread, uint64_t ns, uint32_t number,
                      uint32_t generation, uint32_t type)
{
    add_numbers(trace, start, thread, ns, (uint32_t[]){number, generation, 1, type}, 4);
}

static void add_stop(struct topic_trace *trace, uint32_t thread, uint64_t ns, uint32_t number)
{
    add_numbers(trace, stop, thread, ns, (uint32_t[]){number, 0}, 2);
}

static void add_suspend(struct topic_trace *trace, uint32_t thread, uint64_t ns, uint32_t reason)
{
    add_numbers(trace, suspend, thread, ns, (uint32_t[]){reason, 0}, 2);
}

static void add_plain(struct topic_trace *trace, struct topic_kind kind, uint32_t thread,
                      uint64_t ns)
{
    sn_buf_u16(&trace->payload, 0);
    add_event(trace, kind, thread, ns);
}

static void add_heap(struct topic_trace *trace, struct topic_kind kind, uint64_t ns, uint64_t each)
{
    for (int i = 0; i < 4; i++) {
        sn_buf_u64(&trace->payload, each);
        sn_buf_u64(&trace->payload, 1);
    }
    sn_buf_fill(&trace->payload, 0, 16);
    sn_buf_u32(&trace->payload, 7); /* pinned */
    sn_buf_fill(&trace->payload, 0, 10);
    if (kind.version >= 2) {
        sn_buf_u64(&trace->payload, each);
        sn_buf_u64(&trace->payload, 1);
    }
    add_event(trace, kind, 1, ns);
}

static void a_pause_belongs_to_the_collection_in_it(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_suspend(trace, 1, 1000, FOR_GC);
    add_plain(trace, standing, 1, 1010);
    add_start(trace, 1, 1020, 5, 1, BLOCKING);
    sn_buf_fill(&trace->payload, 0, 24);
    sn_buf_u32(&trace->payload, 2); /* compacting */
    add_event(trace, history, 1, 1040);
    add_stop(trace, 1, 1050, 5);
    add_heap(trace, heap, 1051, 100);
    add_plain(trace, restarted, 1, 1100);
    add_numbers(trace, finalized, 2, 1200, (uint32_t[]){33}, 1);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    const struct sn_gc_report *gc = &report->gc;
    assert_int_equal(gc->count, 1);
    assert_int_equal(gc->total_count, 1);
    assert_int_equal(gc->ended_count, 1);
    assert_int_equal(gc->compacting_count, 1);
    assert_int_equal(gc->collections[0].number, 5);
    assert_int_equal(gc->collections[0].duration_ns, 30);
    assert_int_equal(gc->collections[0].pause_ns, 100);
    assert_int_equal(gc->collections[0].pause_start_ns, 1000);
    assert_int_equal(gc->collections[0].heap_after_bytes, 500);
    assert_int_equal(gc->collections[0].promoted_bytes, 5);
    assert_true(gc->collections[0].is_compacting);
    assert_int_equal(gc->pause_ns, 100);
    assert_int_equal(gc->suspend_ns, 10);
    assert_int_equal(gc->pause_by_generation[1], 100);
    assert_int_equal(gc->longest_generation, 1);
    assert_int_equal(gc->finalized_count, 33);
    assert_int_equal(gc->pinned_max, 7);
    assert_int_equal(gc->event_count, 8);
}

static void the_sampler_does_not_pause_anything(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_suspend(trace, 9, 1000, FOR_SAMPLER);
    add_plain(trace, standing, 9, 1010);
    add_suspend(trace, 1, 1020, FOR_SHUTDOWN); /* begins before the sampler's own is told to end */
    add_plain(trace, restarted, 9, 1030);
    add_plain(trace, restarted, 1, 1050);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->gc.pauses.seen_count, 0);
    assert_int_equal(report->gc.pause_ns, 0);
    assert_int_equal(report->gc.suspend_ns, 0);
    assert_int_equal(report->gc.other_pause_count, 1);
    assert_int_equal(report->gc.other_pause_ns, 30);
    assert_int_equal(report->gc.event_count, 2);
}

static void a_background_collection_has_two_pauses(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_suspend(trace, 1, 1000, FOR_GC);
    add_start(trace, 1, 1010, 8, 2, BACKGROUND);
    add_plain(trace, restarted, 1, 1100);
    add_suspend(trace, 2, 2000, FOR_GC); /* another one in the foreground meanwhile */
    add_start(trace, 2, 2010, 9, 0, FOREGROUND);
    add_stop(trace, 2, 2040, 9);
    add_heap(trace, heap_old, 2041, 10);
    add_plain(trace, restarted, 2, 2050);
    add_suspend(trace, 3, 3000, FOR_PREP);
    add_plain(trace, restarted, 3, 3020);
    add_stop(trace, 3, 4010, 8);
    add_heap(trace, heap_old, 4011, 20);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    const struct sn_gc_report *gc = &report->gc;
    assert_int_equal(gc->count, 2);
    assert_int_equal(gc->collections[0].pause_ns, 120);
    assert_int_equal(gc->collections[0].duration_ns, 3000);
    assert_int_equal(gc->collections[0].heap_after_bytes, 80);
    assert_int_equal(gc->collections[1].pause_ns, 50);
    assert_int_equal(gc->collections[1].heap_after_bytes, 40);
    assert_int_equal(gc->pauses.seen_count, 3);
    assert_int_equal(gc->pause_by_generation[2], 120);
    assert_int_equal(gc->pause_by_generation[0], 50);
    assert_int_equal(gc->unshared_pause_ns, 0);
}

static void one_announced_for_the_background_may_run_in_the_foreground(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_suspend(trace, 1, 1000, FOR_GC);
    add_start(trace, 1, 1010, 1, 2, BACKGROUND);
    sn_buf_fill(&trace->payload, 0, 24);
    sn_buf_u32(&trace->payload, 2); /* compacting, and not concurrent */
    add_event(trace, history, 1, 1040);
    add_stop(trace, 1, 1050, 1);
    add_plain(trace, restarted, 1, 1060);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_true(report->gc.collections[0].is_compacting);
    assert_int_equal(report->gc.collections[0].pause_ns, 60);
}

static void two_collections_share_a_pause(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_suspend(trace, 1, 1000, FOR_GC);
    add_start(trace, 1, 1010, 1, 1, BLOCKING);
    add_stop(trace, 1, 1040, 1);
    add_start(trace, 1, 1060, 2, 2, BACKGROUND);
    add_plain(trace, restarted, 1, 1100);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->gc.collections[0].pause_ns, 60);
    assert_int_equal(report->gc.collections[1].pause_ns, 40);
    assert_int_equal(report->gc.pause_ns, 100);
    assert_int_equal(report->gc.pauses.seen_count, 1);
    assert_int_equal(report->gc.longest_generation, 2);
}

static void missing_events_do_not_make_pauses(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_plain(trace, restarted, 1, 1000); /* begun before the trace */
    add_stop(trace, 1, 1001, 4);
    add_heap(trace, heap, 1002, 1000);
    add_suspend(trace, 1, 2000, FOR_GC); /* its end is missing */
    add_suspend(trace, 1, 900000, FOR_GC);
    add_plain(trace, restarted, 1, 900010);
    add_suspend(trace, 2, 900020, FOR_GC); /* what follows is lost */
    lose_events(trace, 2, 3);
    add_plain(trace, restarted, 2, 990000);
    add_suspend(trace, 3, 995000, FOR_GC); /* replaced by the sampler's */
    add_suspend(trace, 3, 996000, FOR_SAMPLER);
    add_plain(trace, restarted, 3, 999000);
    add_start(trace, 1, 999500, 6, 99, 99); /* never ends; numbers that nobody knows */
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->gc.pauses.seen_count, 1);
    assert_int_equal(report->gc.pause_ns, 10);
    assert_int_equal(report->gc.unshared_pause_ns, 10);
    assert_int_equal(report->gc.longest_generation, SN_NO_GENERATION);
    assert_int_equal(report->gc.heap_max_bytes, 5000);
    assert_int_equal(report->gc.total_count, 1);
    assert_int_equal(report->gc.ended_count, 0);
    assert_int_equal(report->gc.by_generation[2], 1);
    assert_int_equal(report->gc.by_type[3], 1);
}

static void short_payloads_say_nothing(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (size_t size = 0; size < 12; size++) {
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
            if (kinds[i].id == suspend.id && size >= 4)
                continue;
            sn_buf_fill(&trace->payload, 1, size);
            add_event(trace, kinds[i], 1, 1000 + size);
        }
    }
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->gc.total_count, 0);
    assert_int_equal(report->gc.pauses.seen_count, 0);
    assert_int_equal(report->gc.heap_max_bytes, 0);
}

static void sums_are_right_beyond_the_ceiling(void **state)
{
    (void)state;
    const uint32_t count = (1u << 17) + 25;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (uint32_t i = 0; i < count; i++) {
        if (i >= count - 10)
            add_suspend(trace, 1, 10ull * i, FOR_GC);
        add_start(trace, 1, 10ull * i + 1, i, 0, BLOCKING);
        if (i >= count - 10)
            add_plain(trace, restarted, 1, 10ull * i + 7);
    }
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->gc.total_count, count);
    assert_int_equal(report->gc.count, 1u << 17);
    assert_int_equal(report->gc.dropped_count, 25);
    assert_int_equal(report->gc.pause_by_generation[0], 70);
    assert_int_equal(report->gc.pause_ns, 70);
}

/* Collections that leave so many megabytes each, a second apart. */
static struct sn_report *report_of_heaps(const uint64_t *megabytes, size_t count)
{
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t ns = 1000000000ull * (i + 1);
        add_start(trace, 1, ns, i, 0, BLOCKING);
        add_stop(trace, 1, ns + 50, i);
        if (megabytes[i])
            add_heap(trace, heap, ns + 60, (megabytes[i] << 20) / 5);
    }
    return end_topic_trace(trace);
}

static void a_heap_that_grows_is_told_from_one_that_breathes(void **state)
{
    (void)state;
    static const struct {
        uint64_t megabytes[8];
        size_t count;
        bool is_growing;
    } cases[] = {
        {{15, 30, 40, 55}, 4, true},
        {{15, 30, 40}, 3, true},
        {{15, 55}, 2, false},                        /* two say little */
        {{15, 40, 15, 40, 15, 40}, 6, false},        /* up and down */
        {{15, 40, 20, 45, 25, 50, 30, 55}, 8, true}, /* up and down, and higher each time */
        {{15, 15, 15, 15, 15, 60}, 6, false},        /* once */
        {{55, 40, 30, 15}, 4, false},                /* the other way */
        {{15, 30, 0, 0, 0, 40, 40, 55}, 8, true},    /* not all tell */
        {{1000, 1010, 1020, 1030, 1040}, 5, false},  /* not much of it */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        SN_AUTO(sn_report_free)
        struct sn_report *report = report_of_heaps(cases[i].megabytes, cases[i].count);
        const struct sn_gc_report *gc = &report->gc;
        assert_int_equal(gc->is_heap_growing, cases[i].is_growing);
        assert_int_equal(gc->heap_first_bytes / 5 * 5, (cases[i].megabytes[0] << 20) / 5 * 5);
        assert_int_equal(gc->heap_last_bytes / 5 * 5,
                         (cases[i].megabytes[cases[i].count - 1] << 20) / 5 * 5);
        assert_int_equal(gc->heap_span_ns, 1000000000ull * (cases[i].count - 1));
    }
}

static void golden_traces_have_three_collections(void **state)
{
    (void)state;
    static const char *const names[] = {"interop/8-gc.nettrace", "interop/9-gc.nettrace",
                                        "interop/10-gc.nettrace"};
    for (size_t i = 0; i < 3; i++) {
        SN_AUTO(sn_report_free) struct sn_report *report = read_golden(names[i]);
        const struct sn_gc_report *gc = &report->gc;
        assert_true(gc->total_count >= 2);
        assert_int_equal(gc->ended_count, gc->total_count);
        assert_int_equal(gc->pauses.seen_count, gc->total_count);
        uint64_t sum = gc->unshared_pause_ns;
        for (size_t at = 0; at < gc->count; at++)
            sum += gc->collections[at].pause_ns;
        assert_int_equal(sum, gc->pause_ns);
        assert_true(gc->pause_ns > 0 && gc->heap_max_bytes > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_belongs_to_the_collection_in_it),
        cmocka_unit_test(the_sampler_does_not_pause_anything),
        cmocka_unit_test(a_background_collection_has_two_pauses),
        cmocka_unit_test(one_announced_for_the_background_may_run_in_the_foreground),
        cmocka_unit_test(two_collections_share_a_pause),
        cmocka_unit_test(missing_events_do_not_make_pauses),
        cmocka_unit_test(short_payloads_say_nothing),
        cmocka_unit_test(sums_are_right_beyond_the_ceiling),
        cmocka_unit_test(a_heap_that_grows_is_told_from_one_that_breathes),
        cmocka_unit_test(golden_traces_have_three_collections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
