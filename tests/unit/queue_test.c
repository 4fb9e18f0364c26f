/* The queue to a sink on its own thread: order, bounds, drops that are told, sinks that leave. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "flow/queue.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"

static const struct sn_schema schema = {.provider = "P", .name = "E"};

/* What the inner sink saw. Lives longer than the sink; read when the worker has ended. */
struct report {
    uint64_t taken;
    uint64_t lost;
    uint64_t lost_events;
    uint32_t last_sequence;
    bool out_of_order;
    bool is_finished;
    bool is_freed;
    int leave_after; /* 0: never */
    int leave_status;
    int finish_status;
    pthread_mutex_t gate; /* held by the test while the sink shall stall */
    atomic_int is_inside;
};

struct inner {
    struct sn_sink sink;
    struct report *report;
};

static int take(struct sn_sink *sink, const struct sn_event *event)
{
    struct report *report = ((struct inner *)sink)->report;
    atomic_store(&report->is_inside, 1);
    (void)pthread_mutex_lock(&report->gate);
    (void)pthread_mutex_unlock(&report->gate);
    if (event->schema == &sn_lost_schema) {
        struct sn_value count;
        assert_true(sn_payload_find(event, "Count", &count));
        report->lost += count.number;
        report->lost_events++;
        return SONDE_OK;
    }
    uint32_t sequence;
    memcpy(&sequence, event->payload, sizeof(sequence));
    if (sequence != event->sequence || (report->taken && sequence <= report->last_sequence))
        report->out_of_order = true;
    report->last_sequence = sequence;
    report->taken++;
    return report->leave_after && report->taken == (uint64_t)report->leave_after
               ? report->leave_status
               : SONDE_OK;
}

static int finish_inner(struct sn_sink *sink, struct sonde_error *err)
{
    struct report *report = ((struct inner *)sink)->report;
    report->is_finished = true;
    return report->finish_status ? sn_fail(err, report->finish_status, 0, "disk full") : SONDE_OK;
}

static void free_inner(struct sn_sink *sink)
{
    ((struct inner *)sink)->report->is_freed = true;
    free(sink);
}

static const struct sn_sink_ops inner_ops = {
    .name = "inner", .event = take, .finish = finish_inner, .free = free_inner};

static int set_up(void **state)
{
    struct report *report = calloc(1, sizeof(*report));
    assert_non_null(report);
    (void)pthread_mutex_init(&report->gate, NULL);
    *state = report;
    return 0;
}

static int tear_down(void **state)
{
    struct report *report = *state;
    (void)pthread_mutex_destroy(&report->gate);
    free(report);
    return 0;
}

static int try_queue(struct report *report, size_t limit_bytes, struct sn_sink **ret_queue,
                     struct sonde_error *err)
{
    struct inner *inner = calloc(1, sizeof(*inner));
    assert_non_null(inner);
    *inner = (struct inner){.sink.ops = &inner_ops, .report = report};
    return sn_queue_new(&inner->sink, limit_bytes, ret_queue, err);
}

static struct sn_sink *new_queue(struct report *report, size_t limit_bytes)
{
    struct sn_sink *queue = NULL;
    struct sonde_error err = {0};
    assert_int_equal(try_queue(report, limit_bytes, &queue, &err), SONDE_OK);
    return queue;
}

/* The payload is gone when the call returns, as on the road. */
static int put(struct sn_sink *queue, uint32_t sequence)
{
    uint8_t *payload = malloc(sizeof(sequence));
    assert_non_null(payload);
    memcpy(payload, &sequence, sizeof(sequence));
    struct sn_event event = {.schema = &schema,
                             .time_ns = sequence,
                             .sequence = sequence,
                             .pointer_size = 8,
                             .payload = payload,
                             .payload_size = sizeof(sequence)};
    int rc = queue->ops->event(queue, &event);
    memset(payload, 0xEE, sizeof(sequence));
    free(payload);
    return rc;
}

static void every_event_arrives_in_order_before_finish_returns(void **state)
{
    struct report *report = *state;
    struct sonde_error err = {0};
    struct sn_sink *queue = new_queue(report, 64u << 20);
    for (uint32_t i = 1; i <= 50000; i++)
        assert_int_equal(put(queue, i), SONDE_OK);
    assert_int_equal(queue->ops->finish(queue, &err), SONDE_OK);
    assert_int_equal(report->taken, 50000);
    assert_false(report->out_of_order);
    assert_true(report->is_finished);
    assert_int_equal(sn_queue_dropped_count(queue), 0);
    queue->ops->free(queue);
    assert_true(report->is_freed);
}

static void a_stalled_sink_costs_bounded_memory_and_every_drop_is_told(void **state)
{
    struct report *report = *state;
    struct sonde_error err = {0};
    struct sn_sink *queue = new_queue(report, 20000);
    (void)pthread_mutex_lock(&report->gate);
    uint64_t refused = 0;
    for (uint32_t i = 1; i <= 1000; i++) {
        int rc = put(queue, i);
        assert_true(rc == SONDE_OK || rc == SONDE_AGAIN);
        refused += rc == SONDE_AGAIN;
    }
    assert_true(refused > 800 && refused < 1000);
    assert_int_equal(sn_queue_dropped_count(queue), refused);
    (void)pthread_mutex_unlock(&report->gate);
    uint32_t next = 1001;
    while (put(queue, next) == SONDE_AGAIN)
        next++;
    assert_int_equal(queue->ops->finish(queue, &err), SONDE_OK);
    assert_int_equal(report->lost, sn_queue_dropped_count(queue));
    assert_int_equal(report->taken + report->lost, next);
    assert_true(report->lost_events >= 1);
    assert_false(report->out_of_order);
    queue->ops->free(queue);
}

static void drops_at_the_very_end_are_told_too(void **state)
{
    struct report *report = *state;
    struct sonde_error err = {0};
    struct sn_sink *queue = new_queue(report, 1); /* nothing fits */
    for (uint32_t i = 1; i <= 10; i++)
        assert_int_equal(put(queue, i), SONDE_AGAIN);
    assert_int_equal(queue->ops->finish(queue, &err), SONDE_OK);
    assert_int_equal(report->taken, 0);
    assert_int_equal(report->lost, 10);
    assert_int_equal(report->lost_events, 1);
    queue->ops->free(queue);
}

static void a_sink_that_leaves_is_told_to_the_road(void **state)
{
    struct report *report = *state;
    struct sonde_error err = {0};
    report->leave_after = 5;
    report->leave_status = SONDE_END;
    struct sn_sink *queue = new_queue(report, 64u << 20);
    uint32_t i = 1;
    int rc;
    while ((rc = put(queue, i++)) == SONDE_OK)
        assert_true(i < 50000000);
    assert_int_equal(rc, SONDE_END);
    assert_int_equal(queue->ops->finish(queue, &err), SONDE_OK);
    assert_int_equal(report->taken, 5);
    assert_true(report->is_finished);
    queue->ops->free(queue);
}

static void a_sink_that_breaks_gives_its_status_and_its_cause(void **state)
{
    struct report *report = *state;
    struct sonde_error err = {0};
    report->leave_after = 1;
    report->leave_status = SONDE_E_SYSTEM;
    report->finish_status = SONDE_E_LIMIT;
    struct sn_sink *queue = new_queue(report, 64u << 20);
    uint32_t i = 1;
    int rc;
    while ((rc = put(queue, i++)) == SONDE_OK)
        assert_true(i < 50000000);
    assert_int_equal(rc, SONDE_E_SYSTEM);
    assert_int_equal(queue->ops->finish(queue, &err), SONDE_E_SYSTEM);
    assert_string_equal(err.text, "disk full");
    queue->ops->free(queue);
    assert_true(report->is_freed);
}

static void a_queue_freed_without_finish_abandons_what_is_in_it(void **state)
{
    struct report *report = *state;
    struct sn_sink *queue = new_queue(report, 64u << 20);
    (void)pthread_mutex_lock(&report->gate);
    for (uint32_t i = 1; i <= 1000; i++)
        assert_int_equal(put(queue, i), SONDE_OK);
    while (!atomic_load(&report->is_inside))
        (void)sched_yield();
    (void)pthread_mutex_unlock(&report->gate);
    queue->ops->free(queue);
    assert_true(report->is_freed);
    assert_false(report->is_finished);
    assert_true(report->taken <= 1000);
}

static void an_unused_queue_comes_and_goes(void **state)
{
    struct report *report = *state;
    for (int i = 0; i < 50; i++) {
        struct sn_sink *queue = new_queue(report, 1000);
        queue->ops->free(queue);
    }
    assert_true(report->is_freed);
}

static void a_thread_that_cannot_start_is_an_error_and_the_sink_is_freed(void **state)
{
    struct report *report = *state;
    struct sonde_error err = {0};
    struct sn_sink *queue = NULL;
    pthread_attr_t usual;
    pthread_attr_t absurd;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_attr_init(&absurd), 0);
    assert_int_equal(pthread_attr_setstacksize(&absurd, (size_t)1 << 52), 0);
    assert_int_equal(pthread_setattr_default_np(&absurd), 0);
    int rc = try_queue(report, 1000, &queue, &err);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    (void)pthread_attr_destroy(&usual);
    (void)pthread_attr_destroy(&absurd);
    if (rc == SONDE_OK) { /* a sanitizer chose the stack's size itself */
        queue->ops->free(queue);
        skip();
    }
    assert_int_equal(rc, SONDE_E_SYSTEM);
    assert_true(report->is_freed);
    assert_int_equal(strncmp(err.text, "cannot start a thread for 'inner'", 33), 0);
    assert_int_not_equal(err.system_error, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_event_arrives_in_order_before_finish_returns),
        TEST(a_stalled_sink_costs_bounded_memory_and_every_drop_is_told),
        TEST(drops_at_the_very_end_are_told_too),
        TEST(a_sink_that_leaves_is_told_to_the_road),
        TEST(a_sink_that_breaks_gives_its_status_and_its_cause),
        TEST(a_queue_freed_without_finish_abandons_what_is_in_it),
        TEST(an_unused_queue_comes_and_goes),
        TEST(a_thread_that_cannot_start_is_an_error_and_the_sink_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
