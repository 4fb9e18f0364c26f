/* The road with two sources and three sinks: order, loss, dispatch, one that
 * leaves. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"

/* A source that says what the test tells it to say. */
struct scripted {
    struct sn_source source;
    struct sn_road *road;
    struct sn_schema
        schemas[2]; /* event 1 "Tick" level 4 keyword 1, event 2 "Tock" level 5 keyword 2 */
};

static int start_scripted(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    struct scripted *scripted = (struct scripted *)source;
    scripted->road = road;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(sn_road_schema(road, &scripted->schemas[i], err), SONDE_OK);
    return SONDE_OK;
}

static void stop_scripted(struct sn_source *source)
{
    struct scripted *scripted = (struct scripted *)source;
    sn_road_ended(scripted->road, source, SONDE_OK);
}

static void free_scripted(struct sn_source *source)
{
    free(source);
}

static const struct sn_source_ops scripted_ops = {
    .name = "scripted", .start = start_scripted, .stop = stop_scripted, .free = free_scripted};

static struct scripted *add_source(struct sn_road *road, const char *provider)
{
    struct scripted *scripted = calloc(1, sizeof(*scripted));
    assert_non_null(scripted);
    scripted->source.ops = &scripted_ops;
    scripted->schemas[0] = (struct sn_schema){
        .provider = provider, .name = "Tick", .event_id = 1, .level = 4, .keywords = 1};
    scripted->schemas[1] = (struct sn_schema){
        .provider = provider, .name = "Tock", .event_id = 2, .level = 5, .keywords = 2};
    struct sonde_error err = {0};
    assert_int_equal(sn_road_add_source(road, &scripted->source, &err), SONDE_OK);
    return scripted;
}

static void say(struct scripted *scripted, int schema, uint64_t time_ns, const char *payload)
{
    struct sn_event event = {.schema = &scripted->schemas[schema],
                             .time_ns = time_ns,
                             .pid = 7,
                             .thread_id = 70,
                             .capture_thread_id = 70,
                             .pointer_size = 8,
                             .payload = (const uint8_t *)payload,
                             .payload_size = (uint32_t)strlen(payload)};
    sn_road_event(scripted->road, &scripted->source, &event);
}

/* A sink that writes down what it saw: the payloads one after another, "!n" for n lost. */
struct notebook {
    struct sn_sink sink;
    char *text; /* borrows: 4096 bytes that outlive the sink */
    int leave_after;
    int seen;
};

static int note(struct sn_sink *sink, const struct sn_event *event)
{
    struct notebook *notebook = (struct notebook *)sink;
    size_t length = strlen(notebook->text);
    if (event->schema == &sn_lost_schema) {
        struct sn_value count;
        assert_true(sn_payload_find(event, "Count", &count));
        notebook->text[length] = '!';
        notebook->text[length + 1] = (char)('0' + count.number % 10);
        notebook->text[length + 2] = '\0';
    } else {
        memcpy(notebook->text + length, event->payload, event->payload_size);
        notebook->text[length + event->payload_size] = '\0';
    }
    notebook->seen++;
    return notebook->leave_after && notebook->seen == notebook->leave_after ? SONDE_END : SONDE_OK;
}

static int finish_notebook(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    (void)strcat(((struct notebook *)sink)->text, ".");
    return SONDE_OK;
}

static void free_notebook(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops notebook_ops = {
    .name = "notebook", .event = note, .finish = finish_notebook, .free = free_notebook};

static struct sn_sink *new_notebook(char *text, int leave_after)
{
    struct notebook *notebook = calloc(1, sizeof(*notebook));
    assert_non_null(notebook);
    notebook->sink.ops = &notebook_ops;
    notebook->text = text;
    notebook->leave_after = leave_after;
    return &notebook->sink;
}

static const struct sn_request everything = {0};

struct fixture {
    struct sn_loop *loop;
    struct sn_road *road;
    struct scripted *a;
    struct scripted *b;
    char text[3][4096];
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct sonde_error err = {0};
    assert_non_null(fixture);
    assert_int_equal(sn_loop_new(&fixture->loop, &err), SONDE_OK);
    assert_int_equal(sn_road_new(fixture->loop, NULL, &fixture->road, &err), SONDE_OK);
    fixture->a = add_source(fixture->road, "A");
    fixture->b = add_source(fixture->road, "B");
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

static int subscribe(struct fixture *fixture, int which, const struct sn_request *request,
                     bool needs_order)
{
    struct sonde_error err = {0};
    int number = sn_road_subscribe(fixture->road, request, new_notebook(fixture->text[which], 0),
                                   needs_order, &err);
    assert_true(number >= 0);
    return number;
}

static void two_sources_are_merged_by_time_for_those_who_ask(void **state)
{
    struct fixture *fixture = *state;
    (void)subscribe(fixture, 0, &everything, true);
    (void)subscribe(fixture, 1, &everything, false);

    say(fixture->a, 0, 30, "c");
    say(fixture->a, 0, 10, "a");
    say(fixture->b, 0, 20, "b");
    say(fixture->b, 0, 40, "d");
    assert_string_equal(fixture->text[0], "");
    assert_string_equal(fixture->text[1], "cabd");

    sn_road_complete(fixture->road, &fixture->a->source, 30);
    assert_string_equal(fixture->text[0], ""); /* b has not said anything about its past */
    sn_road_complete(fixture->road, &fixture->b->source, 25);
    assert_string_equal(fixture->text[0], "ab");

    sn_road_stop(fixture->road);
    assert_true(sn_road_is_done(fixture->road));
    assert_string_equal(fixture->text[0], "abcd");
    assert_int_equal(sn_road_late_count(fixture->road), 0);
    assert_int_equal(sn_road_event_count(fixture->road), 4);
}

static int start_guest(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    (void)err;
    ((struct scripted *)source)->road = road; /* its kinds of events are a's */
    return SONDE_OK;
}

static void what_a_removed_source_said_still_comes(void **state)
{
    struct fixture *fixture = *state;
    static const struct sn_source_ops guest_ops = {
        .name = "guest", .start = start_guest, .stop = stop_scripted, .free = free_scripted};
    (void)subscribe(fixture, 0, &everything, true);
    struct scripted *guest = calloc(1, sizeof(*guest));
    assert_non_null(guest);
    guest->source.ops = &guest_ops;
    assert_int_equal(sn_road_add_source(fixture->road, &guest->source, NULL), SONDE_OK);
    struct sn_event event = {.schema = &fixture->a->schemas[0],
                             .time_ns = 20,
                             .pointer_size = 8,
                             .payload = (const uint8_t *)"g",
                             .payload_size = 1};
    sn_road_event(fixture->road, &guest->source, &event);
    say(fixture->a, 0, 10, "a");
    sn_road_ended(fixture->road, &guest->source, SONDE_OK);
    sn_road_remove_source(fixture->road, &guest->source);
    assert_string_equal(fixture->text[0], "");
    sn_road_stop(fixture->road);
    assert_string_equal(fixture->text[0], "ag");
}

static void a_late_event_is_passed_on_and_counted(void **state)
{
    struct fixture *fixture = *state;
    (void)subscribe(fixture, 0, &everything, true);
    say(fixture->a, 0, 50, "x");
    sn_road_complete(fixture->road, &fixture->a->source, 60);
    sn_road_complete(fixture->road, &fixture->b->source, 60);
    say(fixture->b, 0, 40, "y");
    assert_string_equal(fixture->text[0], "xy");
    assert_int_equal(sn_road_late_count(fixture->road), 1);
}

static void the_window_is_bounded_and_lets_the_oldest_go_first(void **state)
{
    struct fixture *fixture = *state;
    struct sonde_error err = {0};
    sn_road_free(fixture->road);
    struct sn_road_options small = {.window_bytes = 64 * 1024};
    assert_int_equal(sn_road_new(fixture->loop, &small, &fixture->road, &err), SONDE_OK);
    fixture->a = add_source(fixture->road, "A");
    (void)subscribe(fixture, 0, &everything, true);
    for (uint64_t i = 0; i < 2000; i++)
        say(fixture->a, 0, i, i < 10 ? "o" : "y");
    assert_int_equal(strncmp(fixture->text[0], "ooooooooooy", 11), 0);
    size_t released = strlen(fixture->text[0]);
    assert_true(released > 1000 && released < 2000);
}

static void a_loss_is_an_event_that_every_sink_sees(void **state)
{
    struct fixture *fixture = *state;
    static const struct sn_request_item only_tock = {.name = "Tock"};
    static const struct sn_request tocks = {.item_count = 1, .items = &only_tock};
    (void)subscribe(fixture, 0, &everything, true);
    (void)subscribe(fixture, 1, &tocks, false);
    struct sn_event where = {.time_ns = 15, .pid = 7, .capture_thread_id = 71, .pointer_size = 8};

    say(fixture->a, 0, 10, "a");
    sn_road_lost(fixture->road, &fixture->a->source, &where, 3);
    say(fixture->a, 0, 20, "b");
    sn_road_stop(fixture->road);

    assert_string_equal(fixture->text[0], "a!3b");
    assert_string_equal(fixture->text[1], "!3");
    const struct sn_tracker *tracker = sn_road_tracker(fixture->road);
    assert_int_equal(tracker->lost_count, 3);
    assert_int_equal(tracker->thread_count, 1);
    assert_int_equal(tracker->threads[0].thread_id, 71);
}

/* The list of those that lost events has an end. What they lost has none. */
static void losses_of_more_threads_than_are_listed_are_in_the_total(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t count = 20000;
    for (uint64_t thread = 1; thread <= count; thread++) {
        struct sn_event where = {.pid = 7, .capture_thread_id = thread, .pointer_size = 8};
        sn_road_lost(fixture->road, &fixture->a->source, &where, 2);
    }
    const struct sn_tracker *tracker = sn_road_tracker(fixture->road);
    assert_int_equal(tracker->lost_count, 2 * count);
    assert_in_range(tracker->thread_count, 1, count - 1);
}

static void who_comes_later_gets_nothing_that_was_held_before(void **state)
{
    struct fixture *fixture = *state;
    (void)subscribe(fixture, 0, &everything, true);
    say(fixture->a, 0, 10, "a");
    (void)subscribe(fixture, 1, &everything, true);
    say(fixture->a, 0, 20, "b");
    sn_road_stop(fixture->road);
    assert_string_equal(fixture->text[0], "ab");
    assert_string_equal(fixture->text[1], "b");
}

static void the_next_holder_of_a_number_gets_nothing_of_the_one_before(void **state)
{
    struct fixture *fixture = *state;
    int stayer = subscribe(fixture, 0, &everything, true);
    int leaver = subscribe(fixture, 1, &everything, true);
    say(fixture->a, 0, 10, "a");
    sn_road_drop(fixture->road, leaver);
    assert_int_equal(subscribe(fixture, 2, &everything, true), leaver);
    say(fixture->a, 0, 20, "b");
    assert_int_equal(sn_road_subscription(fixture->road, stayer)->delivered_count, 0);
    sn_road_stop(fixture->road);
    assert_string_equal(fixture->text[0], "ab");
    assert_string_equal(fixture->text[1], "");
    assert_string_equal(fixture->text[2], "b");
}

static void an_event_goes_only_to_those_who_asked(void **state)
{
    struct fixture *fixture = *state;
    static const struct sn_request_item a_ticks[] = {{.provider = "a", .level = 4}};
    static const uint32_t two[] = {2};
    static const struct sn_request_item not_two[] = {
        {.provider = "B", .ids = two, .id_count = 1, .ids_are_excluded = true}};
    static const struct sn_request_item keyword_two[] = {{.keywords = 2}};
    static const struct sn_request requests[] = {{.item_count = 1, .items = a_ticks},
                                                 {.item_count = 1, .items = not_two},
                                                 {.item_count = 1, .items = keyword_two}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(subscribe(fixture, i, &requests[i], false), i);

    assert_int_equal(fixture->a->schemas[0].wanted, 1u << 0);
    assert_int_equal(fixture->a->schemas[1].wanted, 1u << 2);
    assert_int_equal(fixture->b->schemas[0].wanted, 1u << 1);
    assert_int_equal(fixture->b->schemas[1].wanted, 1u << 2);
    say(fixture->a, 0, 1, "a");
    say(fixture->a, 1, 2, "A");
    say(fixture->b, 0, 3, "b");
    say(fixture->b, 1, 4, "B");
    assert_string_equal(fixture->text[0], "a");
    assert_string_equal(fixture->text[1], "b");
    assert_string_equal(fixture->text[2], "AB");
}

static void an_event_that_nobody_wants_costs_one_test(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(fixture->a->schemas[0].wanted, 0);
    say(fixture->a, 0, 1, "a");
    assert_int_equal(sn_road_event_count(fixture->road), 1);
}

static void a_sixty_fifth_subscription_is_refused_with_the_reason(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 64; i++)
        assert_int_equal(subscribe(fixture, 0, &everything, false), i);
    struct sonde_error err = {0};
    int rc = sn_road_subscribe(fixture->road, &everything, new_notebook(fixture->text[0], 0), false,
                               &err);
    assert_int_equal(rc, SONDE_E_LIMIT);
    assert_non_null(strstr(err.text, "64 subscriptions"));
}

static void a_sink_that_leaves_gets_no_more_and_harms_nobody(void **state)
{
    struct fixture *fixture = *state;
    struct sonde_error err = {0};
    int leaver = sn_road_subscribe(fixture->road, &everything, new_notebook(fixture->text[0], 2),
                                   false, &err);
    int stayer = subscribe(fixture, 1, &everything, false);
    for (uint64_t i = 0; i < 4; i++)
        say(fixture->a, 0, i, "x");
    assert_true(sn_road_subscription(fixture->road, leaver)->is_leaving);
    assert_int_equal(sn_road_subscription(fixture->road, leaver)->delivered_count, 2);
    assert_int_equal(sn_road_subscription(fixture->road, stayer)->delivered_count, 4);

    assert_int_equal(sn_road_unsubscribe(fixture->road, leaver, &err), SONDE_OK);
    assert_null(sn_road_subscription(fixture->road, leaver));
    assert_string_equal(fixture->text[0], "xx.");
    say(fixture->a, 0, 9, "y");
    assert_string_equal(fixture->text[1], "xxxxy");
    assert_int_equal(subscribe(fixture, 2, &everything, false), leaver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_sources_are_merged_by_time_for_those_who_ask, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_removed_source_said_still_comes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_late_event_is_passed_on_and_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_window_is_bounded_and_lets_the_oldest_go_first, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_loss_is_an_event_that_every_sink_sees, set_up, tear_down),
        cmocka_unit_test_setup_teardown(losses_of_more_threads_than_are_listed_are_in_the_total,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_comes_later_gets_nothing_that_was_held_before, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_next_holder_of_a_number_gets_nothing_of_the_one_before,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_event_goes_only_to_those_who_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_event_that_nobody_wants_costs_one_test, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_sixty_fifth_subscription_is_refused_with_the_reason,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sink_that_leaves_gets_no_more_and_harms_nobody, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
