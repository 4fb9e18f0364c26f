/* The topics logs/PID and events/PID: as many as may, each told why it has nothing, and what
 * happens without memory. With a controller's real hub; the processes do not exist. */
#include "controller_bench.h"

#include <string.h>

#include "daemon/topic_parts.h"
#include "failing_roads.h"

#define TAPS_MAX 32u
#define NO_PID   4194300u /* nobody has such pids: the kernel's count ends there */

static int begin(void **state)
{
    struct controller *bench = controller_new();
    controller_start(bench);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    controller_free(*state);
    return 0;
}

struct reader {
    char name[SN_TOPIC_NAME_SIZE];
    struct sn_topic *topic;
    struct sn_topic_place place;
    char text[512]; /* all that was told */
    uint64_t lost;
};

static int join(struct controller *bench, struct reader *reader, const char *name)
{
    struct sonde_error err = {0};
    *reader = (struct reader){.lost = 0};
    (void)snprintf(reader->name, sizeof(reader->name), "%s", name);
    reader->topic =
        sn_topic_join(bench->daemon.topics, name, SN_SCOPE_CONTROL, &reader->place, &err);
    (void)snprintf(reader->text, sizeof(reader->text), "%s", err.text);
    return reader->topic ? SONDE_OK : err.status;
}

static void read_all(struct reader *reader)
{
    struct sn_topic_message *message;
    uint64_t lost;
    do {
        message = sn_topic_take(reader->topic, &reader->place, &lost);
        reader->lost += lost;
        if (message)
            (void)snprintf(reader->text + strlen(reader->text),
                           sizeof(reader->text) - strlen(reader->text), "%.*s", (int)message->size,
                           message->bytes);
        sn_topic_message_release(message);
    } while (message);
}

static void await_text(struct reader *reader, const char *text)
{
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    for (read_all(reader); !strstr(reader->text, text); read_all(reader)) {
        assert_true(sn_clock_monotonic_ns() < end_ns);
        (void)usleep(1000);
    }
}

/* Logs and events in turn. */
static void name_of(char to[64], unsigned number)
{
    (void)snprintf(to, 64, number % 2 ? "logs/%u" : "events/%u?Shop:1:4", NO_PID - number);
}

static void so_many_are_read_and_no_more(void **state)
{
    struct controller *bench = *state;
    static struct reader readers[TAPS_MAX + 1];
    struct reader *next = &readers[TAPS_MAX];
    char name[64];
    for (unsigned i = 0; i < TAPS_MAX; i++) {
        name_of(name, i);
        assert_int_equal(join(bench, &readers[i], name), SONDE_OK);
    }
    for (unsigned i = 0; i < TAPS_MAX; i++)
        await_text(&readers[i], "{\"hasEnded\":true,\"why\":\""); /* each has its own reason */
    name_of(name, TAPS_MAX);
    assert_int_equal(join(bench, next, name), SONDE_E_LIMIT);
    assert_string_equal(next->text, "as many topics of logs and events are read as may: 32");
    assert_int_equal(join(bench, next, readers[3].name), SONDE_OK); /* with whom reads it already */
    await_text(next, "hasEnded");
    sn_topic_leave(next->topic);
    sn_topic_leave(readers[0].topic);
    assert_int_equal(join(bench, next, name), SONDE_OK);
    await_text(next, "hasEnded");
    assert_null(strstr(next->text, "as many"));
    for (unsigned i = 1; i <= TAPS_MAX; i++)
        sn_topic_leave(readers[i].topic);
    assert_int_equal(sn_topics_wanted(bench->daemon.topics, "", NULL, 0), 0);
}

/* Before the roads thread has heard of either. */
static void who_comes_in_the_place_of_another_is_heard(void **state)
{
    struct controller *bench = *state;
    static struct reader readers[TAPS_MAX];
    struct reader late;
    struct controller_hold hold;
    char name[64];
    for (unsigned i = 0; i < TAPS_MAX; i++) {
        name_of(name, i);
        assert_int_equal(join(bench, &readers[i], name), SONDE_OK);
        await_text(&readers[i], "hasEnded");
    }
    controller_hold_roads(bench, &hold);
    sn_topic_leave(readers[0].topic); /* nobody has heard of that yet */
    name_of(name, TAPS_MAX);
    assert_int_equal(join(bench, &late, name), SONDE_OK);
    controller_let_go(&hold);
    await_text(&late, "hasEnded");
    assert_null(strstr(late.text, "as many"));
    sn_topic_leave(late.topic);
    for (unsigned i = 1; i < TAPS_MAX; i++)
        sn_topic_leave(readers[i].topic);
}

/* --- without memory --- */

/* Whatever the roads thread has no memory for: its reader hears a reason, or that something is
 * missing, and does not wait in vain. */
static void a_reader_is_told_whatever_there_is_no_memory_for(void **state)
{
    struct controller *bench = *state;
    unsigned told_count = 0;
    for (unsigned n = 0, refused = 1; refused; n++) {
        struct reader reader;
        char name[64];
        roads_memory_ends_after(bench, n);
        name_of(name, n);
        assert_int_equal(join(bench, &reader, name), SONDE_OK);
        refused = roads_memory_is_back(bench);
        uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
        for (read_all(&reader); !reader.text[0] && !reader.lost; read_all(&reader)) {
            if (sn_clock_monotonic_ns() > end_ns)
                fail_msg("nothing is told without request %u for memory", n);
            (void)usleep(1000);
        }
        told_count += reader.lost > 0;
        sn_topic_leave(reader.topic);
    }
    assert_true(told_count > 0);
}

#define TOPICS_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOPICS_TEST(so_many_are_read_and_no_more),
        TOPICS_TEST(who_comes_in_the_place_of_another_is_heard),
        TOPICS_TEST(a_reader_is_told_whatever_there_is_no_memory_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
