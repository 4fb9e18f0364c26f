/* Exceptions from throw to catch, told event by event. */
#include "topic_trace.h"

static const struct topic_kind thrown = {80, 1};
static const struct topic_kind catch_start = {250, 0};
static const struct topic_kind catch_stop = {251, 0};
static const struct topic_kind finally_start = {252, 0};
static const struct topic_kind finally_stop = {253, 0};
static const struct topic_kind filter_start = {254, 0};
static const struct topic_kind filter_stop = {255, 0};
static const struct topic_kind kinds[] = {{80, 1},  {250, 0}, {251, 0}, {252, 0},
                                          {253, 0}, {254, 0}, {255, 0}};

enum { PLAIN = 0x10, NESTED = 0x12, RETHROWN = 0x14 };

static void add_throw(struct topic_trace *trace, uint32_t thread, uint64_t ns, const char *type,
                      uint16_t flags)
{
    put_text16(&trace->payload, type);
    put_text16(&trace->payload, "what went wrong");
    sn_buf_u64(&trace->payload, 0x1000);
    sn_buf_u32(&trace->payload, 0x80131509);
    sn_buf_u16(&trace->payload, flags);
    sn_buf_u16(&trace->payload, 0);
    add_event(trace, thrown, thread, ns);
}

static const struct sn_exception_kind *find(const struct sn_report *report, const char *type)
{
    for (size_t i = 0; i < report->exceptions.count; i++) {
        if (strcmp(report->exceptions.kinds[i].type, type) == 0)
            return &report->exceptions.kinds[i];
    }
    fail_msg("no %s", type);
    return NULL;
}

static void the_cost_is_from_throw_to_catch(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_throw(trace, 1, 1000, "Cheap", PLAIN);
    add_throw(trace, 2, 1005, "Dear", PLAIN); /* another thread's */
    add_event(trace, catch_start, 1, 1010);
    add_event(trace, catch_stop, 1, 1020);
    add_event(trace, catch_start, 2, 1500);
    add_throw(trace, 1, 2000, "Cheap", PLAIN);
    add_event(trace, catch_start, 1, 2030);
    add_throw(trace, 1, 3000, "Uncaught", PLAIN);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    const struct sn_exception_report *exceptions = &report->exceptions;
    assert_int_equal(exceptions->thrown_count, 4);
    assert_int_equal(exceptions->caught_count, 3);
    assert_int_equal(exceptions->cost_ns, 495 + 10 + 30);
    assert_int_equal(exceptions->costs.max, 495);
    assert_string_equal(exceptions->kinds[0].type, "Dear");
    assert_string_equal(exceptions->kinds[1].type, "Cheap");
    assert_int_equal(exceptions->kinds[1].count, 2);
    assert_int_equal(exceptions->kinds[1].max_cost_ns, 30);
    assert_string_equal(exceptions->kinds[1].message, "what went wrong");
    assert_int_equal(find(report, "Uncaught")->caught_count, 0);
    assert_int_equal(sn_profile_total(exceptions->profile, 0, SN_NO_INDEX), 4);
    assert_int_equal(sn_profile_total(exceptions->profile, 1, SN_NO_INDEX), 535);
    assert_int_equal(exceptions->profile->thread_count, 2);
}

static void one_thrown_in_a_catch_block_is_nested(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_throw(trace, 1, 1000, "Inner", PLAIN);
    add_event(trace, catch_start, 1, 1010);
    add_throw(trace, 1, 1020, "Outer", NESTED);
    add_event(trace, catch_start, 1, 1050);
    add_event(trace, catch_stop, 1, 1060);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(find(report, "Inner")->cost_ns, 10);
    assert_int_equal(find(report, "Outer")->cost_ns, 30);
    assert_int_equal(find(report, "Outer")->nested_count, 1);
    assert_int_equal(report->exceptions.nested_count, 1);
    assert_int_equal(report->exceptions.rethrown_count, 0);
}

static void a_rethrow_is_not_a_throw(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_throw(trace, 1, 1000, "Told", PLAIN); /* as .NET 8 has it */
    add_event(trace, catch_start, 1, 1010);
    add_throw(trace, 1, 1020, "Told", RETHROWN);
    add_event(trace, catch_start, 1, 1050);
    add_event(trace, catch_stop, 1, 1060);
    add_throw(trace, 2, 1000, "Silent", PLAIN); /* as .NET 9 and 10 have it */
    add_event(trace, catch_start, 2, 1010);
    add_event(trace, catch_start, 2, 1050);
    add_event(trace, catch_stop, 2, 1060);
    add_event(trace, catch_start, 2, 1070); /* the trace does not know whose */
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(find(report, "Told")->count, 1);
    assert_int_equal(find(report, "Told")->rethrown_count, 1);
    assert_int_equal(find(report, "Told")->cost_ns, 40);
    assert_int_equal(find(report, "Silent")->count, 1);
    assert_int_equal(find(report, "Silent")->rethrown_count, 1);
    assert_int_equal(find(report, "Silent")->cost_ns, 10);
    assert_int_equal(report->exceptions.rethrown_count, 2);
    assert_int_equal(report->exceptions.unmatched_count, 1);
}

static void finally_blocks_and_filters_are_no_catches(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_throw(trace, 1, 1000, "Outer", PLAIN);
    add_event(trace, filter_start, 1, 1010);
    add_event(trace, filter_stop, 1, 1020);
    add_event(trace, finally_start, 1, 1030);
    add_throw(trace, 1, 1040, "Within", NESTED);
    add_event(trace, catch_start, 1, 1050);
    add_event(trace, catch_start, 1, 1060); /* passed on, silently: not the outer one's */
    add_event(trace, catch_stop, 1, 1070);
    add_event(trace, catch_start, 1, 1075); /* nobody's: the outer one is in its finally block */
    add_event(trace, finally_stop, 1, 1080);
    add_event(trace, catch_start, 1, 1100);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(find(report, "Outer")->cost_ns, 100);
    assert_int_equal(find(report, "Outer")->caught_count, 1);
    assert_int_equal(find(report, "Within")->cost_ns, 10);
    assert_int_equal(find(report, "Within")->rethrown_count, 1);
    assert_int_equal(report->exceptions.unmatched_count, 1);
}

static void what_leaves_a_finally_block_does_not_stay_behind(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_throw(trace, 1, 1000, "Replaced", PLAIN);
    add_event(trace, finally_start, 1, 1010);
    add_throw(trace, 1, 1020, "Replacing", NESTED);
    add_event(trace, catch_start, 1, 1050);
    add_event(trace, catch_stop, 1, 1060);
    add_throw(trace, 1, 900000, "Later", PLAIN);
    add_event(trace, catch_start, 1, 900007);
    add_event(trace, catch_stop, 1, 900010);
    add_event(trace, catch_start, 1, 990000);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(find(report, "Replaced")->caught_count, 0);
    assert_int_equal(find(report, "Replacing")->cost_ns, 30);
    assert_int_equal(find(report, "Later")->cost_ns, 7);
    assert_int_equal(report->exceptions.unmatched_count, 1);
}

static void one_that_native_code_swallowed_is_forgotten(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_throw(trace, 1, 1000, "Swallowed", PLAIN);
    add_throw(trace, 1, 2000, "Next", PLAIN); /* not nested: nothing else is on its way */
    add_event(trace, catch_start, 1, 2005);
    add_event(trace, catch_stop, 1, 2010);
    add_event(trace, catch_start, 1, 900000);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(find(report, "Swallowed")->caught_count, 0);
    assert_int_equal(report->exceptions.cost_ns, 5);
    assert_int_equal(report->exceptions.unmatched_count, 1);
}

static void a_loss_ends_what_was_on_its_way(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    add_throw(trace, 1, 1000, "Lost", PLAIN);
    lose_events(trace, 1, 5);
    add_event(trace, catch_start, 1, 900000);
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(report->exceptions.cost_ns, 0);
    assert_int_equal(report->exceptions.unmatched_count, 1);
}

static void hostile_events_do_no_harm(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (size_t size = 0; size < 40; size++) { /* names without an end, cut anywhere */
        sn_buf_fill(&trace->payload, size % 2 ? 'x' : 0, size);
        add_event(trace, thrown, 1, 1000 + size);
    }
    for (unsigned i = 0; i < 100; i++) /* deeper than anybody keeps */
        add_throw(trace, 2, 2000 + i, "Deep", NESTED);
    for (unsigned i = 0; i < 100; i++)
        add_event(trace, i % 3 ? catch_start : finally_start, 2, 3000 + i);
    for (unsigned i = 0; i < 100; i++)
        add_event(trace, i % 2 ? finally_stop : catch_stop, 2, 4000 + i);
    for (unsigned i = 0; i < 17000; i++) { /* more threads than are watched */
        add_throw(trace, 10 + i, 5000 + i, "Wide", PLAIN);
        add_event(trace, catch_start, 10 + i, 5001 + i);
    }
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    assert_int_equal(find(report, "Deep")->count, 100);
    assert_int_equal(find(report, "Wide")->count, 17000);
    assert_in_range(find(report, "Wide")->caught_count, 16000, 17000);
    assert_int_equal(find(report, "Wide")->cost_ns, find(report, "Wide")->caught_count);
}

static void the_rest_goes_under_other_types(void **state)
{
    (void)state;
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    for (unsigned i = 0; i < 17000; i++) {
        char type[16];
        (void)snprintf(type, sizeof(type), "Type%u", i);
        add_throw(trace, 1, 1000 + 10 * i, type, PLAIN);
        add_event(trace, catch_start, 1, 1003 + 10 * i);
    }
    SN_AUTO(sn_report_free) struct sn_report *report = end_topic_trace(trace);
    uint64_t count = 0;
    for (size_t i = 0; i < report->exceptions.count; i++)
        count += report->exceptions.kinds[i].count;
    assert_int_equal(count, 17000);
    assert_int_equal(report->exceptions.thrown_count, 17000);
    assert_int_equal(report->exceptions.cost_ns, 3 * 17000);
    assert_true(find(report, "[other types]")->count > 0);
}

static void golden_traces_tell_of_every_way_to_throw(void **state)
{
    (void)state;
    static const char *const names[] = {"interop/8-exceptions.nettrace",
                                        "interop/9-exceptions.nettrace",
                                        "interop/10-exceptions.nettrace"};
    for (size_t i = 0; i < 3; i++) {
        SN_AUTO(sn_report_free) struct sn_report *report = read_golden(names[i]);
        const struct sn_exception_report *exceptions = &report->exceptions;
        assert_true(exceptions->has_catches);
        assert_true(exceptions->nested_count > 0 && exceptions->rethrown_count > 0);
        assert_true(exceptions->cost_ns > 0);
        assert_true(exceptions->unmatched_count <= 1);
        assert_non_null(find(report, "System.DivideByZeroException"));
        assert_int_equal(sn_profile_total(exceptions->profile, 1, SN_NO_INDEX),
                         exceptions->cost_ns);
    }
    SN_AUTO(sn_report_free)
    struct sn_report *plain = read_golden("nettrace/10-exceptions.nettrace");
    assert_int_equal(plain->exceptions.thrown_count, 46);
    assert_false(plain->exceptions.has_catches);
    assert_int_equal(plain->exceptions.cost_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_is_from_throw_to_catch),
        cmocka_unit_test(one_thrown_in_a_catch_block_is_nested),
        cmocka_unit_test(a_rethrow_is_not_a_throw),
        cmocka_unit_test(finally_blocks_and_filters_are_no_catches),
        cmocka_unit_test(what_leaves_a_finally_block_does_not_stay_behind),
        cmocka_unit_test(one_that_native_code_swallowed_is_forgotten),
        cmocka_unit_test(a_loss_ends_what_was_on_its_way),
        cmocka_unit_test(hostile_events_do_no_harm),
        cmocka_unit_test(the_rest_goes_under_other_types),
        cmocka_unit_test(golden_traces_tell_of_every_way_to_throw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
