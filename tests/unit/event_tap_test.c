/* From an event of a log to the readers of its topic: what fits arrives whole, what does not is
 * counted where they see it, and nothing else of memory ever gets there. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"
#include "daemon/daemon.h"
#include "daemon/event_tap.h"
#include "daemon/topic_parts.h"
#include "failing_memory.h"
#include "log_stream.h"

#define NAME "logs/77"

struct bench {
    struct sn_daemon daemon;
    struct sn_topic *held;
    struct sn_topic *topic;
    struct sn_topic_place place;
    struct log_stream stream;
};

static int begin(void **state)
{
    struct sonde_error err = {0};
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    assert_int_equal(sn_topics_new(&bench->daemon, &bench->daemon.topics, &err), SONDE_OK);
    bench->held =
        sn_topics_open(bench->daemon.topics, &(struct sn_topic_options){.name = NAME, .keep = 512});
    bench->topic = sn_topic_join(bench->daemon.topics, NAME, SN_SCOPE_READ, &bench->place, &err);
    assert_non_null(bench->topic);
    log_stream_begin(&bench->stream);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    sn_topic_leave(bench->topic);
    sn_topic_close(bench->held);
    sn_topics_free(bench->daemon.topics);
    log_stream_done(&bench->stream);
    free(bench);
    return 0;
}

/* As the tap, but one request for memory of each event fails: the one that has its number. */
struct poor {
    struct sn_event_tap *tap;
    unsigned next;
    unsigned refused;
};

static int take_poorly(void *user, struct sonde_event *event)
{
    struct poor *poor = user;
    memory_fails_at(poor->next);
    int rc = sn_event_tap_take(poor->tap, event);
    poor->refused = memory_is_back();
    return rc;
}

/* All of the stream through a tap, as a file. `poor`: NULL for one with all its memory. */
static void play_to(struct bench *bench, const struct sn_event_tap_options *options,
                    struct poor *poor)
{
    char path[64];
    struct sonde_error err = {0};
    struct sn_event_tap *tap = NULL;
    const struct sonde_read_options reading = {.size = sizeof(reading),
                                               .lost = poor ? NULL : sn_event_tap_lost};
    log_stream_end(&bench->stream);
    assert_false(bench->stream.has_failed);
    assert_int_equal(sn_event_tap_new(options, &tap, &err), SONDE_OK);
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_int_equal(
        sn_file_write_all(fd, bench->stream.bytes.bytes, bench->stream.bytes.size, &err), SONDE_OK);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (poor)
        poor->tap = tap;
    if (sonde_file_read(path, &reading, poor ? take_poorly : sn_event_tap_take,
                        poor ? (void *)poor : tap, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    (void)close(fd);
    sn_event_tap_settle(tap);
    assert_false(sn_event_tap_has_untold(tap));
    sn_event_tap_free(tap);
}

/* Of that ceiling. */
static void play_for(struct bench *bench, bool is_log, size_t message_max, bool shows_secrets)
{
    play_to(bench,
            &(struct sn_event_tap_options){.topics = bench->daemon.topics,
                                           .name = NAME,
                                           .is_log = is_log,
                                           .shows_secrets = shows_secrets,
                                           .message_max = message_max},
            NULL);
}

static void play(struct bench *bench, bool is_log, size_t message_max)
{
    play_for(bench, is_log, message_max, false);
}

/* The JSON of the next message; "" when there is none. The caller frees it. */
static char *next_message(struct bench *bench)
{
    uint64_t lost;
    struct sn_topic_message *message = sn_topic_take(bench->topic, &bench->place, &lost);
    assert_int_equal(lost, 0);
    if (!message)
        return strdup("");
    char *data = memmem(message->bytes, message->size, "\ndata: ", 7);
    assert_non_null(data);
    size_t size = (size_t)(message->bytes + message->size - data) - 7;
    assert_true(size > 2 && memcmp(data + 7 + size - 2, "\n\n", 2) == 0);
    char *text = strndup(data + 7, size - 2);
    assert_int_equal(strlen(text), size - 2); /* no zero in it */
    sn_topic_message_release(message);
    return text;
}

static void expect(struct bench *bench, const char *beginning, const char *ending)
{
    SN_AUTO(sn_free) char *text = next_message(bench);
    size_t size = strlen(ending);
    if (strncmp(text, beginning, strlen(beginning)) != 0 || strlen(text) < size ||
        strcmp(text + strlen(text) - size, ending) != 0)
        fail_msg("expected %s...%s, got %.300s", beginning, ending, text);
}

static void a_message_over_the_megabyte_is_a_loss_that_readers_see(void **state)
{
    struct bench *bench = *state;
    log_stream_add(&bench->stream, "before", "{}");
    log_stream_add_large(&bench->stream, 600000); /* stands in the JSON twice */
    log_stream_add(&bench->stream, "behind", "{}");
    play(bench, true, 0);
    expect(bench, "{\"Timestamp\":", "\"State\":{\"Message\":\"before\"}}");
    expect(bench, "{\"lost\":1}", "");
    expect(bench, "{\"Timestamp\":", "\"State\":{\"Message\":\"behind\"}}");
    expect(bench, "", "");
}

/* Ceilings around the size of a message, to the byte. */
static void a_message_of_just_the_ceiling_is_whole(void **state)
{
    struct bench *bench = *state;
    log_stream_add(&bench->stream, "exactly", "{\"a\":\"b\"}");
    play(bench, true, 0);
    SN_AUTO(sn_free) char *whole = next_message(bench);
    size_t size = strlen(whole) + 1; /* its line ends */
    for (size_t ceiling = size - 3; ceiling <= size + 2; ceiling++) {
        play(bench, true, ceiling);
        expect(bench, ceiling < size ? "{\"lost\":1}" : whole, "");
        expect(bench, "", "");
    }
    for (size_t ceiling = 1; ceiling < 64; ceiling++) {
        play(bench, true, ceiling);
        expect(bench, "{\"lost\":1}", "");
    }
}

static void events_are_cut_off_by_the_same_rule(void **state)
{
    struct bench *bench = *state;
    log_stream_add(&bench->stream, "small", "{}");
    log_stream_add_large(&bench->stream, 1200000);
    play(bench, false, 0);
    expect(bench, "{", "}");
    expect(bench, "{\"lost\":1}", "");
    expect(bench, "", "");
}

/* The same message again and again, until it has all its memory: it is whole, or its reader hears
 * that it is lost. Where secrets are hidden, more may be hidden than is one. */
static void check_poor(struct bench *bench, bool is_log, bool shows_secrets)
{
    const struct sn_event_tap_options options = {.topics = bench->daemon.topics,
                                                 .name = NAME,
                                                 .is_log = is_log,
                                                 .shows_secrets = shows_secrets};
    struct poor poor = {.refused = 1};
    uint64_t lost_count = 0;
    play_to(bench, &options, NULL);
    SN_AUTO(sn_free) char *whole = next_message(bench);
    for (; poor.refused; poor.next++) {
        uint64_t lost;
        play_to(bench, &options, &poor);
        struct sn_topic_message *message = sn_topic_take(bench->topic, &bench->place, &lost);
        bool is_loss = !message || memmem(message->bytes, message->size, "{\"lost\":1}", 10);
        bool is_whole = message && memmem(message->bytes, message->size, whole, strlen(whole));
        bool is_hidden =
            message && !shows_secrets && memmem(message->bytes, message->size, "[redacted]", 10);
        if (message ? lost || !(is_loss || is_whole || is_hidden) : !lost)
            fail_msg("without request %u for memory: %.*s", poor.next,
                     message ? (int)message->size : 0, message ? message->bytes : "");
        assert_true(!message || !memmem(message->bytes, message->size, "hunter2", 7));
        lost_count += is_loss;
        sn_topic_message_release(message);
    }
    assert_true(lost_count > 0);
}

static void without_memory_a_message_is_whole_or_lost(void **state)
{
    struct bench *bench = *state;
    log_stream_add(&bench->stream, "Order 7 of Ann", "{\"Id\":\"7\",\"Name\":\"Ann\"}");
    check_poor(bench, true, true);
    check_poor(bench, true, false);
    check_poor(bench, false, false);
}

static void without_memory_no_secret_is_shown(void **state)
{
    struct bench *bench = *state;
    log_stream_add(&bench->stream, "as web with hunter2 in", "{\"Password\":\"hunter2\"}");
    check_poor(bench, true, false);
}

static void what_comes_too_fast_is_counted_with_what_is_too_large(void **state)
{
    struct bench *bench = *state;
    uint64_t told = 0;
    uint64_t lost = 0;
    for (unsigned i = 0; i < 700; i++)
        log_stream_add(&bench->stream, "often", "{}");
    for (unsigned i = 0; i < 3; i++)
        log_stream_add_large(&bench->stream, 100000);
    play(bench, true, 4096);
    for (;;) {
        SN_AUTO(sn_free) char *text = next_message(bench);
        if (!*text)
            break;
        bool is_loss = strncmp(text, "{\"lost\":", 8) == 0;
        told += !is_loss;
        lost += is_loss ? strtoull(text + 8, NULL, 10) : 0;
    }
    assert_true(told >= 500 && told <= 700);
    assert_int_equal(told + lost, 703);
}

/* Once as readers below the scope secrets get it, once as those of that scope. */
static void who_may_not_see_secrets_is_told_that_something_is_hidden(void **state)
{
    struct bench *bench = *state;
    log_stream_add(&bench->stream, "searching for tea", "{\"Query\":\"tea\"}");
    log_stream_add(&bench->stream, "asked ?code=hunter2", "{\"QueryString\":\"?code=hunter2\"}");
    log_stream_add(&bench->stream, "let in with hunter2", "{\"ApiToken\":\"hunter2\"}");
    play(bench, true, 0);
    for (unsigned i = 0; i < 3; i++) {
        SN_AUTO(sn_free) char *text = next_message(bench);
        assert_null(strstr(text, "hunter2"));
        assert_int_equal(strstr(text, "[redacted]") != NULL, i > 0);
        assert_int_equal(strstr(text, "\"Redacted\":\"") != NULL, i > 0);
        assert_int_equal(strstr(text, "searching for tea") != NULL, i == 0);
    }
    play_for(bench, true, 0, true);
    for (unsigned i = 0; i < 3; i++) {
        SN_AUTO(sn_free) char *text = next_message(bench);
        assert_int_equal(strstr(text, "hunter2") != NULL, i > 0);
        assert_null(strstr(text, "edacted"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_memory_a_message_is_whole_or_lost, begin, end),
        cmocka_unit_test_setup_teardown(without_memory_no_secret_is_shown, begin, end),
        cmocka_unit_test_setup_teardown(a_message_over_the_megabyte_is_a_loss_that_readers_see,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_message_of_just_the_ceiling_is_whole, begin, end),
        cmocka_unit_test_setup_teardown(events_are_cut_off_by_the_same_rule, begin, end),
        cmocka_unit_test_setup_teardown(what_comes_too_fast_is_counted_with_what_is_too_large,
                                        begin, end),
        cmocka_unit_test_setup_teardown(who_may_not_see_secrets_is_told_that_something_is_hidden,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
