/* The order in which a runtime is asked for counters and metrics. The processes are real, the
 * session is none: what it asks for and what has come of it is said here. */
#include "check.h"

#include <string.h>
#include <unistd.h>

#include "api/hub_arguments.h"
#include "api/hub_parts.h"
#include "base/clock.h"
#include "flow/source.h"
#include "model/schema.h"
#include "sonde/counters.h"
#include "sonde/provider.h"

#define MS  SN_NS_PER_MS
#define S   SN_NS_PER_SECOND
#define OLD 1u /* a process that has run for long, and has no runtime */

static const struct sonde_provider metrics = {.name = SN_METRICS_PROVIDER,
                                              .arguments = "Metrics=A;RefreshInterval=2"};
static const struct sonde_provider counters = {.name = "Sonde-Counters",
                                               .arguments = SN_INTERVAL_KEY "=7"};

struct stage {
    struct sonde_hub hub;
    struct sn_hub_target target;
    struct sn_hub_session session;
    struct sn_source source;
    struct sn_hub_lane *lane;
};

static void stage_init(struct stage *stage, uint32_t pid)
{
    *stage = (struct stage){.hub = {.known = sn_table_with_limit(8)}};
    stage->target.hub = &stage->hub;
    stage->target.pid = pid;
    stage->target.route.target.start_ticks = 17;
    stage->lane = &stage->target.lanes[SN_LANE_COUNTERS];
    stage->lane->target = &stage->target;
    stage->lane->number = SN_LANE_COUNTERS;
    stage->session.lane = stage->lane;
    stage->session.source = &stage->source;
    sn_steps_init(&stage->target);
}

static void stage_done(struct stage *stage)
{
    sn_ask_done(&stage->session.ask);
    sn_table_done(&stage->hub.known);
}

/* What may be asked for now where both are wanted, as the session that is open from then on.
 * Returns when to look again. */
static uint64_t ask(struct stage *stage, bool wants_counters, uint64_t now_ns)
{
    struct sn_ask wanted = {0};
    if (wants_counters)
        assert_int_equal(sn_ask_add(&wanted, &counters, NULL), SONDE_OK);
    assert_int_equal(sn_ask_add(&wanted, &metrics, NULL), SONDE_OK);
    uint64_t again_ns = sn_steps_fit(stage->lane, &wanted, now_ns);
    sn_ask_done(&stage->session.ask);
    stage->session.ask = wanted;
    stage->lane->current = &stage->session;
    return again_ns;
}

static bool asks_for(const struct stage *stage, const char *provider)
{
    for (size_t i = 0; i < stage->session.ask.count; i++) {
        if (strcmp(stage->session.ask.items[i].name, provider) == 0)
            return true;
    }
    return false;
}

static void note(struct stage *stage, const char *provider, const char *name, uint32_t id)
{
    struct sn_schema schema = {.provider = provider, .name = name, .event_id = id};
    sn_steps_note(&stage->session, &schema);
}

static void a_young_process_is_asked_for_counters_alone(void **state)
{
    (void)state;
    struct stage stage;
    uint64_t now_ns = sn_clock_monotonic_ns();
    stage_init(&stage, (uint32_t)getpid());
    uint64_t again_ns = ask(&stage, true, now_ns);
    assert_true(again_ns > now_ns && again_ns <= now_ns + SONDE_METERS_AGE_LEAST_NS);
    assert_true(asks_for(&stage, counters.name) && !asks_for(&stage, metrics.name));
    assert_true(ask(&stage, false, now_ns) > now_ns);
    assert_int_equal(stage.session.ask.count,
                     0); /* it is not asked for what nobody wants, either */
    stage_done(&stage);
}

static void metrics_follow_the_first_value_of_a_counter(void **state)
{
    (void)state;
    struct stage stage;
    uint64_t now_ns = sn_clock_monotonic_ns();
    stage_init(&stage, OLD);
    assert_true(sn_target_age_ns(&stage.target) >= SONDE_METERS_AGE_LEAST_NS);
    assert_true(ask(&stage, true, now_ns) > now_ns);
    assert_false(asks_for(&stage, metrics.name));
    note(&stage, "Sonde-Counters", "Other", 9);
    assert_true(ask(&stage, true, now_ns + 1 * S) > 0);
    assert_false(asks_for(&stage, metrics.name));
    note(&stage, "System.Runtime", SN_COUNTERS_EVENT, 9);
    uint64_t polled_ns = stage.target.steps.polled_ns; /* others are being written still */
    assert_true(ask(&stage, true, polled_ns + 49 * MS) > 0);
    assert_false(asks_for(&stage, metrics.name));
    assert_int_equal(ask(&stage, true, polled_ns + 50 * MS), 0);
    assert_true(asks_for(&stage, counters.name) && asks_for(&stage, metrics.name));
    stage_done(&stage);
}

static void who_wants_metrics_only_has_counters_asked_for_first(void **state)
{
    (void)state;
    struct stage stage;
    stage_init(&stage, OLD);
    assert_true(ask(&stage, false, sn_clock_monotonic_ns()) > 0);
    assert_true(asks_for(&stage, "System.Runtime") && !asks_for(&stage, metrics.name));
    note(&stage, "System.Runtime", SN_COUNTERS_EVENT, 9);
    assert_int_equal(ask(&stage, false, stage.target.steps.polled_ns + 50 * MS), 0);
    assert_true(asks_for(&stage, metrics.name) && !asks_for(&stage, "System.Runtime"));
    stage_done(&stage);
}

static void a_runtime_that_polls_nothing_is_not_waited_for(void **state)
{
    (void)state;
    struct stage stage;
    uint64_t now_ns = sn_clock_monotonic_ns();
    stage_init(&stage, OLD);
    assert_true(ask(&stage, false, now_ns) > now_ns);
    assert_true(ask(&stage, false, now_ns) > now_ns); /* it is open: the time counts from here */
    assert_true(ask(&stage, false, now_ns + 2900 * MS) > 0);
    assert_false(asks_for(&stage, metrics.name));
    assert_int_equal(ask(&stage, false, now_ns + 3000 * MS), 0);
    assert_true(asks_for(&stage, metrics.name));
    stage_done(&stage);
}

static void stage_with_metrics(struct stage *stage)
{
    stage_init(stage, OLD);
    stage->target.steps.is_warm = true;
    assert_int_equal(ask(stage, true, sn_clock_monotonic_ns()), 0);
    assert_true(asks_for(stage, metrics.name));
}

static void metrics_are_not_stopped_around_their_first_collection(void **state)
{
    (void)state;
    struct stage stage;
    stage_with_metrics(&stage);
    assert_false(sn_steps_hold(&stage.target, sn_clock_monotonic_ns() + 2 * S));
    note(&stage, SN_METRICS_PROVIDER, "BeginInstrumentReporting", 7);
    uint64_t due_ns = stage.target.steps.begun_ns + 2 * S;
    assert_false(sn_steps_hold(&stage.target, due_ns - 401 * MS));
    assert_true(sn_steps_hold(&stage.target, due_ns - 400 * MS));
    assert_true(sn_steps_hold(&stage.target, due_ns + 999 * MS));
    assert_false(sn_steps_hold(&stage.target, due_ns + 1000 * MS));
    /* Also while they are in the session that is yet to take over. */
    stage.lane->coming = stage.lane->current;
    stage.lane->current = NULL;
    assert_true(sn_steps_hold(&stage.target, due_ns));
    note(&stage, SN_METRICS_PROVIDER, "CollectionStop", 3);
    assert_false(sn_steps_hold(&stage.target, due_ns));
    stage_done(&stage);
}

static void metrics_that_have_ended_hold_nothing(void **state)
{
    (void)state;
    struct stage stage;
    stage_with_metrics(&stage);
    note(&stage, SN_METRICS_PROVIDER, "BeginInstrumentReporting", 7);
    stage.source.has_ended = true;
    assert_false(sn_steps_hold(&stage.target, stage.target.steps.begun_ns + 2 * S));
    stage_done(&stage);
}

/* The id may be another process's by then. */
static void what_is_known_of_a_process_is_kept_for_its_next_target(void **state)
{
    (void)state;
    struct stage stage;
    stage_with_metrics(&stage);
    note(&stage, SN_METRICS_PROVIDER, "CollectionStop", 3);
    sn_steps_keep(&stage.target);
    stage.target.steps = (struct sn_hub_steps){0};
    sn_steps_init(&stage.target);
    assert_true(stage.target.steps.is_warm && stage.target.steps.has_collected);
    stage.target.steps = (struct sn_hub_steps){0};
    stage.target.route.target.start_ticks = 18;
    sn_steps_init(&stage.target);
    assert_false(stage.target.steps.is_warm || stage.target.steps.has_collected);
    stage_done(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_young_process_is_asked_for_counters_alone),
        cmocka_unit_test(metrics_follow_the_first_value_of_a_counter),
        cmocka_unit_test(who_wants_metrics_only_has_counters_asked_for_first),
        cmocka_unit_test(a_runtime_that_polls_nothing_is_not_waited_for),
        cmocka_unit_test(metrics_are_not_stopped_around_their_first_collection),
        cmocka_unit_test(metrics_that_have_ended_hold_nothing),
        cmocka_unit_test(what_is_known_of_a_process_is_kept_for_its_next_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
