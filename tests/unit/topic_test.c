/* Messages for many readers: each gets what was made since, and is told of what he missed: because
 * he was slow, or because a message could not be made at all. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "daemon/daemon.h"
#include "daemon/topic_parts.h"

struct bench {
    struct sn_daemon daemon;
    struct sn_topic *state;
    struct sn_topic *sequence;
};

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    assert_int_equal(sn_topics_new(&bench->daemon, &bench->daemon.topics, NULL), SONDE_OK);
    bench->state = sn_topics_open(bench->daemon.topics,
                                  &(struct sn_topic_options){.name = "state", .keep = 1});
    bench->sequence = sn_topics_open(bench->daemon.topics,
                                     &(struct sn_topic_options){.name = "row/1", .keep = 4});
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    sn_topic_close(bench->state);
    sn_topic_close(bench->sequence);
    sn_topics_free(bench->daemon.topics);
    free(bench);
    return 0;
}

static struct sn_topic *join(struct bench *bench, const char *name, struct sn_topic_place *place)
{
    struct sonde_error err = {0};
    return sn_topic_join(bench->daemon.topics, name, SN_SCOPE_READ, place, &err);
}

/* `limit` below the text's length: one that cannot be made. */
static void publish(struct sn_topic *topic, const char *text, size_t limit)
{
    struct sn_buf message = sn_buf_with_limit(limit);
    sn_buf_text(&message, text);
    sn_topic_publish(topic, &message);
    assert_null(message.bytes); /* taken in any case */
}

/* "3:text" of the next message, with the number that was lost before it; ":" for none. */
static const char *next(struct sn_topic *topic, struct sn_topic_place *place, char to[64])
{
    uint64_t lost;
    struct sn_topic_message *message = sn_topic_take(topic, place, &lost);
    int size = snprintf(to, 64, "%llu:", (unsigned long long)lost);
    if (message) {
        const char *data = memmem(message->bytes, message->size, "data: ", 6);
        assert_non_null(data);
        (void)snprintf(to + size, 64 - (size_t)size, "%.*s",
                       (int)(message->bytes + message->size - data) - 8, data + 6);
    }
    sn_topic_message_release(message);
    return to;
}

static void every_reader_gets_every_message_at_his_own_pace(void **state)
{
    struct bench *bench = *state;
    char got[64];
    struct sn_topic_place early;
    struct sn_topic_place late;
    struct sn_topic *topic = join(bench, "row/1", &early);
    assert_non_null(topic);
    publish(topic, "{\"a\":1}", 100);
    publish(topic, "{\"a\":2}", 100);
    assert_string_equal(next(topic, &early, got), "0:{\"a\":1}");
    assert_ptr_equal(join(bench, "row/1", &late), topic);
    assert_string_equal(next(topic, &late, got), "0:{\"a\":1}");
    assert_string_equal(next(topic, &early, got), "0:{\"a\":2}");
    assert_string_equal(next(topic, &early, got), "0:");
    for (unsigned i = 0; i < 6; i++)
        publish(topic, "{\"a\":3}", 100);
    assert_string_equal(next(topic, &late, got), "3:{\"a\":3}"); /* of 7, 4 are kept */
    assert_string_equal(next(topic, &early, got), "2:{\"a\":3}");
    sn_topic_leave(topic);
    sn_topic_leave(topic);
}

/* At the limit, one below it and one above it. */
static void a_message_that_could_not_be_made_is_a_loss_for_those_who_read(void **state)
{
    struct bench *bench = *state;
    char got[64];
    struct sn_topic_place places[2];
    struct sn_topic *topics[2] = {join(bench, "state", &places[0]),
                                  join(bench, "row/1", &places[1])};
    for (unsigned i = 0; i < 2; i++) {
        publish(topics[i], "{\"a\":1}", 7);
        assert_string_equal(next(topics[i], &places[i], got), "0:{\"a\":1}");
        publish(topics[i], "{\"a\":2}", 8);
        publish(topics[i], "{\"a\":3}", 6);
        assert_string_equal(next(topics[i], &places[i], got), "1:{\"a\":2}");
        assert_string_equal(next(topics[i], &places[i], got), "0:");
        publish(topics[i], "{\"a\":4}", 1);
        publish(topics[i], "two\nlines", 100); /* would break the stream */
        publish(topics[i], "", 100);
        assert_string_equal(next(topics[i], &places[i], got), "3:"); /* told with no message */
        assert_string_equal(next(topics[i], &places[i], got), "0:");
        struct sn_topic_place later;
        assert_non_null(join(bench, i ? "row/1" : "state", &later));
        publish(topics[i], "{\"a\":5}", 100);
        while (strcmp(next(topics[i], &later, got), "0:") != 0)
            assert_true(got[0] == '0'); /* those before him are not his loss */
        sn_topic_leave(topics[i]);
        sn_topic_leave(topics[i]);
    }
    assert_int_equal(sn_topics_unmade_count(bench->daemon.topics), 8);
}

static void by_its_name_it_is_the_same_and_a_topic_that_is_not_there_loses_nothing(void **state)
{
    struct bench *bench = *state;
    char got[64];
    struct sn_topic_place place;
    struct sn_topic *topic = join(bench, "row/1", &place);
    struct sn_buf large = sn_buf_with_limit(2);
    sn_buf_text(&large, "{\"a\":1}");
    sn_topics_publish(bench->daemon.topics, "row/1", &large);
    assert_string_equal(next(topic, &place, got), "1:");
    sn_buf_text(&large, "{\"a\":1}");
    sn_topics_publish(bench->daemon.topics, "row/2", &large);
    assert_int_equal(sn_topics_unmade_count(bench->daemon.topics), 1);
    sn_topic_leave(topic);
}

static void however_many_are_wanted_all_are_counted(void **state)
{
    enum { MANY = 700 };
    struct bench *bench = *state;
    static struct sn_topic *topics[MANY];
    static char names[MANY][SN_TOPIC_NAME_SIZE];
    struct sn_topic_place place;
    char name[32];
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "many/%u", i);
        struct sn_topic *held = sn_topics_open(bench->daemon.topics,
                                               &(struct sn_topic_options){.name = name, .keep = 1});
        topics[i] = join(bench, name, &place);
        assert_non_null(topics[i]);
        sn_topic_close(held);
    }
    assert_int_equal(sn_topics_wanted(bench->daemon.topics, "many/", NULL, 0), MANY);
    assert_int_equal(sn_topics_wanted(bench->daemon.topics, "many/", names, 10), MANY);
    assert_string_equal(names[10], "");
    assert_int_equal(sn_topics_wanted(bench->daemon.topics, "many/", names, MANY), MANY);
    assert_true(names[MANY - 1][0] != '\0');
    for (unsigned i = 0; i < MANY; i++)
        sn_topic_leave(topics[i]);
    assert_int_equal(sn_topics_wanted(bench->daemon.topics, "many/", NULL, 0), 0);
}

/* Also once somebody who may read it does. */
static void a_topic_is_for_those_of_its_scope(void **state)
{
    struct bench *bench = *state;
    struct sn_topics *topics = bench->daemon.topics;
    struct sn_topic *secret = sn_topics_open(
        topics, &(struct sn_topic_options){.name = "secret", .scope = SN_SCOPE_SECRETS});
    struct sn_topic_place place;
    for (unsigned i = 0; i < 2; i++) {
        struct sonde_error err = {0};
        assert_null(sn_topic_join(topics, "secret", SN_SCOPE_READ, &place, &err));
        assert_int_equal(err.status, SONDE_E_DENIED);
        assert_non_null(strstr(err.text, "needs a key of a higher scope"));
        assert_ptr_equal(sn_topic_join(topics, "secret", SN_SCOPE_SECRETS, &place, NULL), secret);
    }
    sn_topic_leave(secret);
    sn_topic_leave(secret);
    sn_topic_close(secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_reader_gets_every_message_at_his_own_pace, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            a_message_that_could_not_be_made_is_a_loss_for_those_who_read, begin, end),
        cmocka_unit_test_setup_teardown(
            by_its_name_it_is_the_same_and_a_topic_that_is_not_there_loses_nothing, begin, end),
        cmocka_unit_test_setup_teardown(however_many_are_wanted_all_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(a_topic_is_for_those_of_its_scope, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
