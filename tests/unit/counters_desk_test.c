/* Those who watch counters: served at once, told what is missing when memory ends, and served again
 * when it is back. With a controller's own desk; run apart, where it sees no process. */
#include "failing_roads.h"

#include <string.h>

#include "daemon/counters_desk.h"
#include "daemon/topic_parts.h"

#define MANY 300u

struct reader {
    struct sn_topic *topic;
    struct sn_topic_place place;
    unsigned message_count;
    uint64_t lost;
};

static int begin(void **state)
{
    struct controller *bench = controller_new();
    bench->options.no_counters = false;
    controller_start(bench);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    controller_free(*state);
    return 0;
}

static void join(struct controller *bench, struct reader *reader, const char *name)
{
    struct sonde_error err = {0};
    *reader = (struct reader){.lost = 0};
    reader->topic =
        sn_topic_join(bench->daemon.topics, name, SN_SCOPE_METRICS, &reader->place, &err);
    if (!reader->topic)
        fail_msg("%s", err.text);
}

static void read_all(struct reader *reader)
{
    struct sn_topic_message *message;
    do {
        uint64_t lost;
        message = sn_topic_take(reader->topic, &reader->place, &lost);
        reader->lost += lost;
        if (message) {
            assert_non_null(memmem(message->bytes, message->size, "\"processes\"", 11));
            reader->message_count++;
        }
        sn_topic_message_release(message);
    } while (message);
}

static void await_news(struct reader *reader, unsigned n)
{
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    for (read_all(reader); !reader->message_count && !reader->lost; read_all(reader)) {
        if (sn_clock_monotonic_ns() > end_ns)
            fail_msg("nothing is told without request %u for memory", n);
        (void)usleep(1000);
    }
}

/* What was told before he came is there for him; what is told because he came is the desk's to
 * make.
 */
static void who_comes_without_memory_is_told_and_the_next_one_is_served(void **state)
{
    struct controller *bench = *state;
    unsigned lost_count = 0;
    for (unsigned n = 0, refused = 1; refused; n++) {
        struct reader reader;
        struct controller_hold hold;
        roads_memory_ends_after(bench, n);
        controller_hold_roads(bench, &hold);
        join(bench, &reader, "counters");
        read_all(&reader);
        assert_int_equal(reader.lost, 0);
        reader.message_count = 0;
        controller_let_go(&hold);
        await_news(&reader, n);
        refused = roads_memory_is_back(bench);
        lost_count += reader.lost > 0;
        assert_true(refused || !reader.lost);
        sn_topic_leave(reader.topic);
    }
    assert_true(lost_count > 0);
}

static void however_many_watch_single_processes_all_are_served(void **state)
{
    struct controller *bench = *state;
    static struct reader readers[MANY];
    struct reader reader;
    char name[32];
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "counters/%u", 4000000 + i);
        join(bench, &readers[i], name);
    }
    join(bench, &reader, "counters");
    await_news(&reader, 0);
    assert_int_equal(reader.lost, 0);
    sn_topic_leave(reader.topic);
    for (unsigned i = 0; i < MANY; i++)
        sn_topic_leave(readers[i].topic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_comes_without_memory_is_told_and_the_next_one_is_served,
                                        begin, end),
        cmocka_unit_test_setup_teardown(however_many_watch_single_processes_all_are_served, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
