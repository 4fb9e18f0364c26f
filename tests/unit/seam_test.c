/* Two streams of one process joined: every event once, whichever stream a thread writes first,
 * however alike its events. */
#include "check.h"

#include <string.h>

#include "flow/seam.h"
#include "model/event.h"
#include "model/schema.h"
#include "sonde/error.h"

#define OPENED  1000u
#define STOPPED 2000u

static const struct sn_schema number = {.provider = "P", .name = "Number"};
static const struct sn_schema same = {.provider = "P", .name = "Same"};

struct released {
    uint64_t times[64];
    size_t count;
};

static void remember(void *user, const struct sn_event *event)
{
    struct released *released = user;
    assert_int_equal(event->cpu, UINT32_MAX);
    if (released->count < 64)
        released->times[released->count] = event->time_ns;
    released->count++;
}

static struct sn_event event_of(const struct sn_schema *schema, const uint32_t *value,
                                uint64_t thread, uint64_t time_ns)
{
    return (struct sn_event){.schema = schema,
                             .time_ns = time_ns,
                             .cpu = UINT32_MAX,
                             .thread_id = thread,
                             .capture_thread_id = thread,
                             .pointer_size = 8,
                             .payload = (const uint8_t *)value,
                             .payload_size = value ? sizeof(*value) : 0};
}

static void note(struct sn_seam *seam, uint32_t value, uint64_t thread, uint64_t time_ns)
{
    struct sn_event event = event_of(&number, &value, thread, time_ns);
    assert_true(sn_seam_note(seam, &event));
}

static void hold(struct sn_seam *seam, uint32_t value, uint64_t thread, uint64_t time_ns)
{
    struct sn_event event = event_of(&number, &value, thread, time_ns);
    assert_int_equal(sn_seam_hold(seam, &event), SONDE_OK);
}

static struct sn_seam *new_seam(void)
{
    struct sn_seam *seam = NULL;
    assert_int_equal(sn_seam_new(0, &seam, NULL), SONDE_OK);
    sn_seam_opened(seam, OPENED);
    return seam;
}

static struct released close_seam(struct sn_seam *seam, uint64_t copies)
{
    struct released released = {0};
    assert_int_equal(sn_seam_close(seam, STOPPED, remember, &released), copies);
    sn_seam_free(seam);
    return released;
}

static void copies_are_left_out_and_the_rest_follows(void **state)
{
    (void)state;
    struct sn_seam *seam = new_seam();
    for (uint32_t i = 0; i < 10; i++)
        note(seam, i, 7, 900 + i * 20);
    for (uint32_t i = 4; i < 14; i++)
        hold(seam, i, 7, 901 + i * 20);
    struct released released = close_seam(seam, 6);
    assert_int_equal(released.count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(released.times[i], 901 + (10 + i) * 20);
}

/* A thread that says the same again and again, the later stream first: off by one would lose one.
 */
static void equal_events_are_counted_right(void **state)
{
    (void)state;
    for (int later_first = 0; later_first < 2; later_first++) {
        struct sn_seam *seam = new_seam();
        for (uint64_t i = 0; i < 10; i++)
            note(seam, 0, 7, 900 + i * 100 + (later_first ? 3 : 0));
        for (uint64_t i = 4; i < 14; i++)
            hold(seam, 0, 7, 900 + i * 100 + (later_first ? 0 : 3));
        assert_int_equal(close_seam(seam, 6).count, 4);
    }
}

static void equal_stamps_are_copies_in_either_order(void **state)
{
    (void)state;
    struct sn_seam *seam = new_seam();
    for (uint32_t i = 0; i < 3; i++) {
        note(seam, i, 7, 1100 + i);
        hold(seam, i, 7, i == 1 ? 1100 + i : 1099 + i);
    }
    assert_int_equal(close_seam(seam, 3).count, 0);
}

static void threads_do_not_mix(void **state)
{
    (void)state;
    struct sn_seam *seam = new_seam();
    note(seam, 5, 1, 1100);
    hold(seam, 5, 2, 1101);
    assert_int_equal(close_seam(seam, 0).count, 1);
}

/* Each stream may have dropped what the other has. */
static void what_one_stream_lost_the_other_brings(void **state)
{
    (void)state;
    struct sn_seam *seam = new_seam();
    for (uint32_t i = 0; i < 10; i++) {
        if (i != 3)
            note(seam, i, 7, 1100 + i * 20);
        if (i != 6)
            hold(seam, i, 7, 1101 + i * 20);
    }
    struct released released = close_seam(seam, 8);
    assert_int_equal(released.count, 1);
    assert_int_equal(released.times[0], 1101 + 3 * 20);
}

/* One before the later stream was open, the other after the earlier was asked to end. */
static void far_neighbours_are_two_events(void **state)
{
    (void)state;
    struct sn_seam *seam = new_seam();
    note(seam, 5, 7, OPENED - 100);
    hold(seam, 5, 7, STOPPED + 100);
    assert_int_equal(close_seam(seam, 0).count, 1);
}

static void kinds_are_told_apart(void **state)
{
    (void)state;
    struct sn_seam *seam = new_seam();
    struct sn_event first = event_of(&number, NULL, 7, 1100);
    struct sn_event second = event_of(&same, NULL, 7, 1101);
    assert_true(sn_seam_note(seam, &first));
    assert_int_equal(sn_seam_hold(seam, &second), SONDE_OK);
    assert_int_equal(close_seam(seam, 0).count, 1);
}

/* A request that begins says the same as any other that begins in the same thread. */
static void activities_are_told_apart(void **state)
{
    (void)state;
    static const uint8_t one[16] = {1};
    static const uint8_t other[16] = {2};
    struct sn_seam *seam = new_seam();
    struct sn_event first = event_of(&same, NULL, 7, 1100);
    struct sn_event second = event_of(&same, NULL, 7, 1101);
    struct sn_event copy = event_of(&same, NULL, 7, 1102);
    first.activity = copy.activity = one;
    second.activity = other;
    assert_true(sn_seam_note(seam, &first));
    assert_int_equal(sn_seam_hold(seam, &second), SONDE_OK);
    assert_int_equal(close_seam(seam, 0).count, 1);
    seam = new_seam();
    assert_true(sn_seam_note(seam, &first));
    assert_int_equal(sn_seam_hold(seam, &copy), SONDE_OK);
    assert_int_equal(close_seam(seam, 1).count, 0);
}

/* Four million would not fit: what cannot be remembered is left to the later stream. */
static void without_room_the_later_stream_brings_it(void **state)
{
    (void)state;
    struct sn_seam *seam = new_seam();
    uint32_t value = 0;
    struct sn_event event = event_of(&number, &value, 7, OPENED + 1);
    uint64_t taken = 0;
    for (uint32_t i = 0; i < 2000000; i++) {
        event.time_ns++;
        taken += sn_seam_note(seam, &event);
    }
    assert_true(sn_seam_is_full(seam));
    assert_true(taken > 0 && taken < 2000000);
    event.time_ns = OPENED - 1;
    assert_true(sn_seam_note(seam, &event)); /* that one the later stream may not have */
    sn_seam_free(seam);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_left_out_and_the_rest_follows),
        cmocka_unit_test(equal_events_are_counted_right),
        cmocka_unit_test(equal_stamps_are_copies_in_either_order),
        cmocka_unit_test(threads_do_not_mix),
        cmocka_unit_test(what_one_stream_lost_the_other_brings),
        cmocka_unit_test(far_neighbours_are_two_events),
        cmocka_unit_test(kinds_are_told_apart),
        cmocka_unit_test(activities_are_told_apart),
        cmocka_unit_test(without_room_the_later_stream_brings_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
