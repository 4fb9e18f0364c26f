/* Streams of many topics, over real sockets: how many there may be, who reads slowly or leaves, and
 * what a reader is told when a message is missing or memory ends. */
#include "controller_bench.h"

#include "failing_memory.h"

#define TOPICS_MAX 4096u
#define NAMES_MAX  64u
#define KEEP       4u
#define TEXT_MAX   (32u << 20)

struct bench {
    struct controller *controller;
    struct sn_topic *state;    /* "state", of which the last message counts */
    struct sn_topic *sequence; /* "rows", of which KEEP are kept */
    unsigned wanted_count;     /* of "rows": times that somebody came */
    unsigned left_count;       /* likewise that the last one left */
};

static void count_wanted(void *user, bool is_wanted)
{
    struct bench *bench = user;
    bench->wanted_count += is_wanted;
    bench->left_count += !is_wanted;
}

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    bench->controller = controller_new();
    controller_start(bench->controller);
    struct sn_topics *topics = bench->controller->daemon.topics;
    bench->state = sn_topics_open(topics, &(struct sn_topic_options){.name = "state", .keep = 1});
    bench->sequence = sn_topics_open(
        topics, &(struct sn_topic_options){
                    .name = "rows", .keep = KEEP, .wanted = count_wanted, .user = bench});
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    sn_topic_close(bench->state);
    sn_topic_close(bench->sequence);
    controller_free(bench->controller);
    free(bench);
    return 0;
}

/* --- readers --- */

struct reader {
    int client;
    char *text; /* owns: what came, without the head */
    size_t size;
};

static void read_what_is_there(struct reader *reader)
{
    ssize_t got;
    while ((got = recv(reader->client, reader->text + reader->size, TEXT_MAX - 1 - reader->size,
                       MSG_DONTWAIT)) > 0)
        reader->size += (size_t)got;
    reader->text[reader->size] = '\0';
}

/* Until it has that text. */
static void await_text(struct bench *bench, struct reader *reader, const char *text)
{
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    size_t from = 0; /* what lies before it was looked at */
    while (!strstr(reader->text + from, text)) {
        from = reader->size > strlen(text) ? reader->size - strlen(text) : 0;
        (void)http_turn(bench->controller->daemon.http, reader->client, 10);
        read_what_is_there(reader);
        if (sn_clock_monotonic_ns() > end_ns)
            fail_msg("no '%s' in %.2000s", text, reader->text);
    }
}

/* Of a protocol without chunks: what comes is the body as it is. */
static struct reader ask(struct bench *bench, const char *topics)
{
    char head[65536];
    struct reader reader = {.text = malloc(TEXT_MAX)};
    assert_non_null(reader.text);
    reader.text[0] = '\0';
    reader.client = http_connect(bench->controller->port);
    (void)snprintf(head, sizeof(head),
                   "GET /api/v1/stream?topics=%s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", topics);
    http_say(reader.client, head);
    return reader;
}

static struct reader follow(struct bench *bench, const char *topics)
{
    struct reader reader = ask(bench, topics);
    await_text(bench, &reader, "retry: 3000\n\n");
    return reader;
}

static void leave(struct bench *bench, struct reader *reader)
{
    unsigned before = sn_topics_stream_count(bench->controller->daemon.topics);
    (void)close(reader->client);
    free(reader->text);
    controller_until(bench->controller,
                     sn_topics_stream_count(bench->controller->daemon.topics) < before);
}

/* --- messages --- */

/* {"n":N,"fill":"xxx..."} of about `size` bytes. */
static void publish(struct sn_topic *topic, unsigned number, size_t size)
{
    struct sn_buf message = sn_buf_with_limit(1u << 20);
    sn_buf_format(&message, "{\"n\":%u,\"fill\":\"", number);
    sn_buf_fill(&message, 'x', size);
    sn_buf_text(&message, "\"}");
    sn_topic_publish(topic, &message);
}

/* A message that cannot be made. */
static void publish_nothing(struct sn_topic *topic)
{
    struct sn_buf message = sn_buf_with_limit(1);
    sn_buf_text(&message, "{}");
    sn_topic_publish(topic, &message);
}

static unsigned long number_behind(const char *text, const char *mark)
{
    const char *at = strstr(text, mark);
    assert_non_null(at);
    return strtoul(at + strlen(mark), NULL, 10);
}

/* Of all that a reader of "rows" got: in order, and with the losses it is everything until `last`.
 * How many are lost. */
static unsigned long check_order(const struct reader *reader, unsigned long last)
{
    unsigned long next = 0;
    unsigned long lost = 0;
    for (const char *at = reader->text; (at = strstr(at, "event: ")); at++) {
        if (strncmp(at, "event: lost\n", 12) == 0) {
            lost += number_behind(at, "\"count\":");
            next += number_behind(at, "\"count\":");
        } else if (strncmp(at, "event: rows\n", 12) == 0) {
            assert_int_equal(number_behind(at, "\"n\":"), next);
            assert_int_equal(number_behind(at, "\nid: "), next);
            next++;
        }
    }
    assert_int_equal(next, last + 1);
    return lost;
}

/* --- the tests --- */

static void who_reads_slowly_loses_and_is_told_and_nobody_else(void **state)
{
    enum { COUNT = 300, SIZE = 64000 }; /* more than sockets hold */
    struct bench *bench = *state;
    char last[32];
    struct reader slow = follow(bench, "rows,state");
    struct reader fast = follow(bench, "rows");
    size_t before = memory_in_use();
    for (unsigned i = 0; i < COUNT; i++) {
        publish(bench->sequence, i, SIZE);
        (void)snprintf(last, sizeof(last), "{\"n\":%u,", i);
        await_text(bench, &fast, last);
        assert_null(strstr(fast.text, "event: lost"));
        fast.size = 0;
        fast.text[0] = '\0';
    }
    assert_true(memory_in_use() < before + (2u << 20)); /* of 19 MB that were told */
    publish(bench->state, 7, 10);
    await_text(bench, &slow, last);
    await_text(bench, &slow, "event: state\n");
    unsigned long lost = check_order(&slow, COUNT - 1);
    assert_true(lost > 0 && lost < COUNT - KEEP);
    assert_int_equal(sn_topics_lost_count(bench->controller->daemon.topics), lost);
    leave(bench, &slow);
    leave(bench, &fast);
}

static void who_leaves_in_the_middle_of_a_message_takes_nothing_with_him(void **state)
{
    struct bench *bench = *state;
    struct reader leaves = follow(bench, "rows,state");
    struct reader stays = follow(bench, "rows");
    for (unsigned i = 0; i < 100; i++)
        publish(bench->sequence, i, 900000);
    await_text(bench, &leaves, "event: rows\n");
    leave(bench, &leaves);
    assert_int_equal(bench->left_count, 0); /* somebody reads it still */
    await_text(bench, &stays, "{\"n\":99,");
    assert_int_equal(check_order(&stays, 99), 100 - KEEP);
    assert_int_equal(bench->wanted_count, 1);
    leave(bench, &stays);
    assert_int_equal(bench->left_count, 1);
    assert_int_equal(sn_topics_stream_count(bench->controller->daemon.topics), 0);
    assert_false(sn_topic_is_wanted(bench->sequence));
}

/* --- ceilings --- */

static void a_stream_has_so_many_topics_and_those_it_cannot_have_are_told(void **state)
{
    struct bench *bench = *state;
    char names[NAMES_MAX * 16] = "rows";
    for (unsigned i = 1; i < NAMES_MAX; i++)
        (void)sprintf(names + strlen(names), ",none%u", i);
    struct reader reader = follow(bench, names);
    await_text(bench, &reader, "\"topic\":\"none63\"");
    for (unsigned i = 1; i < NAMES_MAX; i++) {
        char refused[96];
        (void)snprintf(refused, sizeof(refused),
                       "event: refused\ndata: {\"topic\":\"none%u\",\"why\":\"there is no topic",
                       i);
        if (i == 1)
            assert_non_null(strstr(reader.text, refused));
        else
            assert_non_null(strstr(reader.text, refused + strlen("event: refused\n")));
    }
    publish(bench->sequence, 0, 10);
    await_text(bench, &reader, "event: rows\n");
    leave(bench, &reader);
    struct reader refused = ask(bench, strcat(names, ",state"));
    await_text(bench, &refused, "more than 64 topics");
    assert_non_null(strstr(refused.text, " 400 "));
    (void)close(refused.client);
    free(refused.text);
    assert_int_equal(sn_topics_stream_count(bench->controller->daemon.topics), 0);
    assert_false(sn_topic_is_wanted(bench->sequence)); /* those it had already are let go */
}

static void so_many_topics_are_open_and_no_more(void **state)
{
    struct bench *bench = *state;
    struct sn_topics *topics = bench->controller->daemon.topics;
    static struct sn_topic *held[TOPICS_MAX];
    unsigned count = 0;
    char name[32];
    for (;; count++) {
        (void)snprintf(name, sizeof(name), "many/%u", count);
        held[count] = sn_topics_open(topics, &(struct sn_topic_options){.name = name, .keep = 1});
        if (!held[count])
            break;
    }
    assert_true(count > TOPICS_MAX - 16); /* the controller has some of its own */
    assert_ptr_equal(sn_topics_open(topics, &(struct sn_topic_options){.name = "rows"}),
                     bench->sequence); /* one that is there */
    sn_topic_close(bench->sequence);
    struct reader reader = follow(bench, "rows,counters/4711");
    await_text(bench, &reader,
               "event: refused\ndata: {\"topic\":\"counters/4711\",\"why\":\"no room "
               "for another topic: at most 4096 are open\"}");
    publish(bench->sequence, 0, 10);
    await_text(bench, &reader, "event: rows\n");
    sn_topic_close(held[0]);
    struct reader other = follow(bench, "counters/4711");
    assert_null(strstr(other.text, "refused"));
    leave(bench, &other);
    leave(bench, &reader);
    for (unsigned i = 1; i < count; i++)
        sn_topic_close(held[i]);
}

/* --- without memory --- */

static void a_message_without_memory_is_a_loss_for_every_reader(void **state)
{
    struct bench *bench = *state;
    struct reader readers[] = {follow(bench, "rows"), follow(bench, "rows,state")};
    static const char text[] = "{\"n\":1,\"fill\":\"x\"}";
    publish(bench->sequence, 0, 10);
    for (unsigned refused = 1, n = 0; refused; n++) {
        struct sn_buf message = sn_buf_with_limit(100);
        sn_buf_text(&message, text);
        memory_fails_at(n);
        sn_topic_publish(bench->sequence, &message);
        refused = memory_is_back();
        if (!refused)
            assert_int_equal(sn_topics_unmade_count(bench->controller->daemon.topics), n);
    }
    for (unsigned i = 0; i < 2; i++) {
        await_text(bench, &readers[i], text);
        assert_int_equal(
            number_behind(readers[i].text, "{\"topic\":\"rows\",\"before\":0,\"count\":"),
            sn_topics_unmade_count(bench->controller->daemon.topics));
        leave(bench, &readers[i]);
    }
}

/* The HTTP thread has no memory at all while it tells. */
static void a_loss_is_told_without_memory(void **state)
{
    struct bench *bench = *state;
    struct reader reader = follow(bench, "rows,state");
    publish_nothing(bench->sequence);
    publish(bench->state, 1, 10);
    memory_ends_after(0);
    await_text(bench, &reader,
               "event: lost\ndata: {\"topic\":\"rows\",\"before\":0,\"count\":1}\n\n");
    await_text(bench, &reader, "event: state\n");
    (void)memory_is_back();
    assert_int_equal(sn_topics_lost_count(bench->controller->daemon.topics), 1);
    leave(bench, &reader);
}

/* It begins with everything that it was asked for, or is refused because of the memory: nothing is
 * left out in silence. */
static void a_stream_without_memory_is_refused_or_whole(void **state)
{
    struct bench *bench = *state;
    struct sn_topics *topics = bench->controller->daemon.topics;
    unsigned refused = 1;
    unsigned honest = 0;
    for (unsigned n = 0; refused; n++) {
        struct reader reader = ask(bench, "none,counters/4711,rows");
        memory_fails_at(n);
        uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
        bool is_over = false;
        while (!is_over && !strstr(reader.text, "event: refused\n")) {
            (void)http_turn(bench->controller->daemon.http, reader.client, 10);
            read_what_is_there(&reader);
            is_over = recv(reader.client, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
            assert_true(sn_clock_monotonic_ns() < end_ns);
        }
        refused = memory_is_back();
        if (strstr(reader.text, " 200 OK"))
            assert_non_null(strstr(reader.text, "{\"topic\":\"none\",\"why\":\"there is no topic"));
        else if (reader.size && !strstr(reader.text, " 503 "))
            fail_msg("without request %u for memory: %.500s", n, reader.text);
        honest += strstr(reader.text, " 503 ") != NULL;
        (void)close(reader.client);
        free(reader.text);
        controller_until(bench->controller, sn_topics_stream_count(topics) == 0);
        assert_false(sn_topic_is_wanted(bench->sequence));
        assert_int_equal(sn_router_numbers(bench->controller->daemon.router)->open_count, 0);
    }
    assert_true(honest > 0);
}

#define STREAM_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STREAM_TEST(who_reads_slowly_loses_and_is_told_and_nobody_else),
        STREAM_TEST(who_leaves_in_the_middle_of_a_message_takes_nothing_with_him),
        STREAM_TEST(a_stream_has_so_many_topics_and_those_it_cannot_have_are_told),
        STREAM_TEST(so_many_topics_are_open_and_no_more),
        STREAM_TEST(a_message_without_memory_is_a_loss_for_every_reader),
        STREAM_TEST(a_loss_is_told_without_memory),
        STREAM_TEST(a_stream_without_memory_is_refused_or_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
