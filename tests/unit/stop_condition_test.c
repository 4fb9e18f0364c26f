/* Stopping at an event: provider, name, values of fields; with events made by hand. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "api/stop_condition.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/text.h"
#include "flow/road.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/schema.h"

static const struct sn_field order_fields[] = {
    {"Id", SN_TYPE_I32, 0, 0, NULL},        {"Name", SN_TYPE_STRING16, 0, 0, NULL},
    {"IsPaid", SN_TYPE_BOOL32, 0, 0, NULL}, {"Price", SN_TYPE_F64, 0, 0, NULL},
    {"Tag", SN_TYPE_STRING8, 0, 0, NULL},   {"Size", SN_TYPE_U64, 0, 0, NULL}};

/* A source that says what the test tells it to say. */
struct scripted {
    struct sn_source source;
    struct sn_road *road;
    struct sn_schema order;
    struct sn_schema other;
};

static int start_scripted(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    struct scripted *scripted = (struct scripted *)source;
    scripted->road = road;
    assert_int_equal(sn_road_schema(road, &scripted->order, err), SONDE_OK);
    assert_int_equal(sn_road_schema(road, &scripted->other, err), SONDE_OK);
    return SONDE_OK;
}

static void stop_scripted(struct sn_source *source)
{
    sn_road_ended(((struct scripted *)source)->road, source, SONDE_OK);
}

static void free_scripted(struct sn_source *source)
{
    free(source);
}

static const struct sn_source_ops scripted_ops = {
    .name = "scripted", .start = start_scripted, .stop = stop_scripted, .free = free_scripted};

struct fixture {
    struct sn_loop *loop;
    struct sn_road *road;
    struct scripted *source;
    struct sn_buf payload;
    bool is_met;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct sonde_error err = {0};
    assert_non_null(fixture);
    assert_int_equal(sn_loop_new(&fixture->loop, &err), SONDE_OK);
    assert_int_equal(sn_road_new(fixture->loop, NULL, &fixture->road, &err), SONDE_OK);
    struct scripted *source = calloc(1, sizeof(*source));
    assert_non_null(source);
    source->source.ops = &scripted_ops;
    source->order = (struct sn_schema){.provider = "Shop",
                                       .name = "OrderPlaced",
                                       .event_id = 1,
                                       .has_layout = true,
                                       .fields = order_fields,
                                       .field_count = 6};
    source->other = (struct sn_schema){.provider = "Shop", .name = "Idle", .event_id = 2};
    fixture->source = source;
    assert_int_equal(sn_road_add_source(fixture->road, &source->source, &err), SONDE_OK);

    const double price = 12.5;
    fixture->payload = sn_buf_with_limit(256);
    sn_buf_u32(&fixture->payload, (uint32_t)-42);
    sn_text_to_utf16(&fixture->payload, "B\xC3\xA4r", 4);
    sn_buf_u16(&fixture->payload, 0);
    sn_buf_u32(&fixture->payload, 1);
    sn_buf_append(&fixture->payload, &price, sizeof(price));
    sn_buf_append(&fixture->payload, "vip", 4);
    sn_buf_u64(&fixture->payload, UINT64_MAX);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sn_road_free(fixture->road);
    sn_loop_free(fixture->loop);
    sn_buf_done(&fixture->payload);
    free(fixture);
    return 0;
}

static void add(struct fixture *fixture, const char *provider, const char *event,
                const char *payload)
{
    struct sonde_error err = {0};
    fixture->is_met = false;
    if (sn_stop_condition_add(fixture->road, provider, event, payload, &fixture->is_met, &err) !=
        SONDE_OK)
        fail_msg("%s", err.text);
}

static void say(struct fixture *fixture, const struct sn_schema *schema, size_t size)
{
    struct sn_event event = {.schema = schema,
                             .time_ns = 1,
                             .pointer_size = 8,
                             .payload = fixture->payload.bytes,
                             .payload_size = (uint32_t)size};
    sn_road_event(fixture->road, &fixture->source->source, &event);
}

static void say_order(struct fixture *fixture)
{
    say(fixture, &fixture->source->order, fixture->payload.size);
}

static void any_event_of_the_provider_is_enough(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, "shop", NULL, NULL);
    assert_false(fixture->is_met);
    say(fixture, &fixture->source->other, 0);
    assert_true(fixture->is_met);
    fixture->is_met = false;
    say_order(fixture); /* it has left: once is enough */
    assert_false(fixture->is_met);
}

static void other_providers_and_names_do_not_count(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, "Shop", "OrderPlaced", NULL);
    say(fixture, &fixture->source->other, 0);
    assert_false(fixture->is_met);
    say_order(fixture);
    assert_true(fixture->is_met);
    add(fixture, "Market", NULL, NULL);
    say_order(fixture);
    assert_false(fixture->is_met);
}

static void lost_events_do_not_count(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, "Shop", NULL, NULL);
    struct sn_event where = {.time_ns = 1, .pointer_size = 8};
    sn_road_lost(fixture->road, &fixture->source->source, &where, 5);
    assert_false(fixture->is_met);
    say_order(fixture);
    assert_true(fixture->is_met);
}

static void values_of_every_kind_are_compared_as_text(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *payload;
        bool is_met;
    } cases[] = {
        {"Id:-42", true},
        {"Id:42", false},
        {"Id:4294967254", false},
        {"Name:B\xC3\xA4r", true},
        {"Name:B", false},
        {"Name:", false},
        {"IsPaid:true", true},
        {"IsPaid:false", false},
        {"Price:12.5", true},
        {"Tag:vip", true},
        {"Size:18446744073709551615", true},
        {"Id:-42,Name:B\xC3\xA4r,IsPaid:true,Tag:vip", true},
        {"Id:-42,Tag:other", false},
        {"Missing:1", false},
        {"id:-42", false},
        {"", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        add(fixture, "Shop", "OrderPlaced", cases[i].payload);
        say_order(fixture);
        if (fixture->is_met != cases[i].is_met)
            fail_msg("'%s'", cases[i].payload);
    }
}

static void a_cut_payload_does_not_stop_by_accident(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, "Shop", "OrderPlaced", "Id:-42,Size:18446744073709551615");
    for (size_t size = 0; size < fixture->payload.size; size++) {
        say(fixture, &fixture->source->order, size);
        assert_false(fixture->is_met);
    }
    say_order(fixture);
    assert_true(fixture->is_met);
}

static void what_is_no_condition_is_refused(void **state)
{
    struct fixture *fixture = *state;
    static const char *const cases[] = {"Id", ":1", "Id:1,Name",
                                        "a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1,j:1,k:1,l:1,m:1,n:1,"
                                        "o:1,p:1,q:1"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sonde_error err = {0};
        assert_int_equal(
            sn_stop_condition_add(fixture->road, "Shop", NULL, cases[i], &fixture->is_met, &err),
            SONDE_E_ARGUMENT);
        assert_string_not_equal(err.text, "");
    }
    say_order(fixture);
    assert_false(fixture->is_met);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_event_of_the_provider_is_enough),
        TEST(other_providers_and_names_do_not_count),
        TEST(lost_events_do_not_count),
        TEST(values_of_every_kind_are_compared_as_text),
        TEST(a_cut_payload_does_not_stop_by_accident),
        TEST(what_is_no_condition_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
