/* Events that the road loses for want of memory: whoever would have got them is told, also through
 * a hub, and nobody else. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "api/hub_parts.h"
#include "base/err.h"
#include "base/loop.h"
#include "failing_memory.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/schema.h"

struct talker {
    struct sn_source source;
    struct sn_schema schema;
};

static int start_talker(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    return sn_road_schema(road, &((struct talker *)source)->schema, err);
}

static void stop_talker(struct sn_source *source)
{
    (void)source;
}

static const struct sn_source_ops talker_ops = {
    .name = "talker", .start = start_talker, .stop = stop_talker, .free = stop_talker};

/* Counts events and what it is told of losses. */
struct counter {
    struct sn_sink sink;
    uint64_t events;
    uint64_t lost;
};

static int count_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct counter *counter = (struct counter *)sink;
    uint64_t count = 0;
    if (event->schema != &sn_lost_schema) {
        counter->events++;
        return SONDE_OK;
    }
    memcpy(&count, event->payload, sizeof(count));
    counter->lost += count;
    return SONDE_OK;
}

static void free_nothing(struct sn_sink *sink)
{
    (void)sink;
}

static const struct sn_sink_ops counter_ops = {
    .name = "counter", .event = count_event, .free = free_nothing};

struct fixture {
    struct sn_loop *loop;
    struct sn_road *road;
    struct talker talker;
    struct counter counters[3];
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->talker = (struct talker){.source = {.ops = &talker_ops},
                                      .schema = {.provider = "A", .name = "Tick", .event_id = 1}};
    assert_int_equal(sn_loop_new(&fixture->loop, NULL), SONDE_OK);
    assert_int_equal(sn_road_new(fixture->loop, NULL, &fixture->road, NULL), SONDE_OK);
    assert_int_equal(sn_road_add_source(fixture->road, &fixture->talker.source, NULL), SONDE_OK);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sn_road_free(fixture->road);
    sn_loop_free(fixture->loop);
    free(fixture);
    return 0;
}

static void say(struct fixture *fixture, uint64_t time_ns)
{
    struct sn_event event = {.schema = &fixture->talker.schema,
                             .time_ns = time_ns,
                             .capture_thread_id = 70,
                             .pointer_size = 8};
    sn_road_event(fixture->road, &fixture->talker.source, &event);
}

static void say_without_memory(struct fixture *fixture, uint64_t time_ns)
{
    memory_ends_after(0);
    say(fixture, time_ns);
    assert_true(memory_is_back() > 0);
}

static void subscribe(struct fixture *fixture, struct counter *counter,
                      const struct sn_request *request, bool in_order)
{
    counter->sink.ops = &counter_ops;
    assert_true(sn_road_subscribe(fixture->road, request, &counter->sink, in_order, NULL) >= 0);
}

static void an_event_that_cannot_be_held_is_a_loss_of_those_who_wanted_it(void **state)
{
    struct fixture *fixture = *state;
    static const struct sn_request_item tocks = {.name = "Tock"};
    static const struct sn_request only_tocks = {.item_count = 1, .items = &tocks};
    struct counter *ordered = &fixture->counters[0];
    struct counter *unordered = &fixture->counters[1];
    struct counter *other = &fixture->counters[2];
    subscribe(fixture, ordered, &sn_everything, true);
    subscribe(fixture, unordered, &sn_everything, false);
    subscribe(fixture, other, &only_tocks, true);
    say_without_memory(fixture, 10);
    say(fixture, 20);
    sn_road_ended(fixture->road, &fixture->talker.source, SONDE_OK);
    assert_int_equal(ordered->events, 1);
    assert_int_equal(ordered->lost, 1);
    assert_int_equal(unordered->events, 2); /* it got the event at once: it has lost nothing */
    assert_int_equal(unordered->lost, 0);
    assert_int_equal(other->lost, 0);
    assert_int_equal(sn_road_tracker(fixture->road)->lost_count, 1);
}

struct told {
    uint64_t events;
    uint64_t thread_id;
    uint64_t lost;
};

static int take(void *user, struct sonde_event *event)
{
    (void)event;
    ((struct told *)user)->events++;
    return SONDE_OK;
}

static void lose(void *user, uint64_t thread_id, uint64_t count)
{
    struct told *told = user;
    told->thread_id = thread_id;
    told->lost += count;
}

static void a_consumer_of_a_hub_is_told_of_it(void **state)
{
    struct fixture *fixture = *state;
    struct told told = {0};
    static const struct sonde_provider provider = {.name = "A", .level = 5};
    struct sonde_consumer_options options = {.size = sizeof(options),
                                             .providers = &provider,
                                             .provider_count = 1,
                                             .in_order = true,
                                             .lost = lose};
    struct sn_hub_target target = {.road = fixture->road};
    struct sonde_consumer *consumer = NULL;
    struct sonde_consumer_state how;
    struct sn_sink *sink = NULL;
    assert_int_equal(sn_consumer_new(&options, take, &told, &consumer, NULL), SONDE_OK);
    consumer->target = &target;
    assert_int_equal(sn_event_sink_new(&consumer->receiver, &sink, NULL), SONDE_OK);
    assert_true(sn_road_subscribe(fixture->road, &sn_everything, sink, true, NULL) >= 0);
    say_without_memory(fixture, 10);
    say(fixture, 20);
    sn_road_ended(fixture->road, &fixture->talker.source, SONDE_OK);
    sonde_consumer_state(consumer, &how);
    assert_int_equal(told.events, 1);
    assert_int_equal(told.lost, 1);
    assert_int_equal(told.thread_id, 70);
    assert_int_equal(how.lost_count, 1);
    sn_consumer_free(consumer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_event_that_cannot_be_held_is_a_loss_of_those_who_wanted_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_consumer_of_a_hub_is_told_of_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
