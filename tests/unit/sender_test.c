/* Senders before receivers that live, are dead, slow, flap, or close in the middle of a message:
 * messages arrive whole, losses are counted, memory stays below its ceiling, nobody waits. */
#include "net_receiver.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/own.h"
#include "net/sender.h"

#define SECOND       ((uint64_t)SN_NS_PER_SECOND)
#define BIG          (1u << 20)
#define PUTTER_COUNT 4
#define PER_PUTTER   2000
#define LINE_SIZE    ((size_t)100)

struct fixture {
    struct sn_sender *sender;
    uint16_t port;
    int listener;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->listener = -1;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sn_sender_free(fixture->sender, 0);
    sn_close(fixture->listener);
    free(fixture);
    return 0;
}

static void start_at(struct fixture *fixture, const char *url, size_t limit_bytes)
{
    struct sn_sender_options options = {.url = url, .limit_bytes = limit_bytes};
    struct sonde_error err = {0};
    assert_int_equal(sn_sender_new(&options, &fixture->sender, &err), SONDE_OK);
}

static void start(struct fixture *fixture, const char *scheme, size_t limit_bytes)
{
    char url[64];
    (void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u", scheme, fixture->port);
    start_at(fixture, url, limit_bytes);
}

static void start_tcp(struct fixture *fixture, size_t limit_bytes)
{
    fixture->listener = receiver_listen(&fixture->port);
    start(fixture, "tcp", limit_bytes);
}

static void put(struct fixture *fixture, const char *text)
{
    assert_int_equal(sn_sender_put(fixture->sender, text, strlen(text), 1), SONDE_OK);
}

static struct sn_sender_state state_of(struct fixture *fixture)
{
    struct sn_sender_state state;
    sn_sender_state(fixture->sender, &state);
    return state;
}

/* Looks until it holds: what the thread does is seen a moment later. */
#define AWAIT(fixture, condition)                             \
    do {                                                      \
        uint64_t deadline_ = sn_clock_deadline(20 * SECOND);  \
        struct sn_sender_state now = state_of(fixture);       \
        while (!(condition)) {                                \
            assert_true(sn_clock_monotonic_ns() < deadline_); \
            (void)poll(NULL, 0, 5);                           \
            now = state_of(fixture);                          \
        }                                                     \
    } while (0)

/* --- a receiver that is there --- */

static void messages_arrive_whole_and_in_order(void **state)
{
    struct fixture *fixture = *state;
    start_tcp(fixture, 0);
    put(fixture, "one 1\n");
    put(fixture, "two 2\n");
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    put(fixture, "three 3\n");
    receiver_expect(peer, "one 1\ntwo 2\nthree 3\n");
    AWAIT(fixture, now.sent_count == 3);
    struct sn_sender_state seen = state_of(fixture);
    assert_true(seen.is_up);
    assert_int_equal(seen.sent_bytes, 20);
    assert_int_equal(seen.queued_bytes + seen.dropped_count + seen.retry_count, 0);
    assert_string_equal(seen.reason, "");
}

static void every_address_of_a_name_is_tried(void **state)
{
    struct fixture *fixture = *state;
    char url[64];
    fixture->listener = receiver_listen(&fixture->port);
    (void)snprintf(url, sizeof(url), "tcp://localhost:%u", fixture->port);
    start_at(fixture, url, 0);
    put(fixture, "x\n");
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    receiver_expect(peer, "x\n");
}

static void what_the_receiver_says_is_ignored(void **state)
{
    struct fixture *fixture = *state;
    char noise[8192];
    memset(noise, '!', sizeof(noise));
    start_tcp(fixture, 0);
    put(fixture, "1\n");
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    receiver_expect(peer, "1\n");
    assert_int_equal(send(peer, noise, sizeof(noise), MSG_NOSIGNAL), sizeof(noise));
    put(fixture, "2\n");
    receiver_expect(peer, "2\n");
}

struct putter {
    struct sn_sender *sender;
    pthread_t thread;
    char letter;
};

static void *put_many(void *user)
{
    struct putter *putter = user;
    char line[16];
    for (int i = 0; i < PER_PUTTER; i++) {
        int size = snprintf(line, sizeof(line), "%c%05d\n", putter->letter, i);
        if (sn_sender_put(putter->sender, line, (size_t)size, 1) != SONDE_OK)
            return putter;
    }
    return NULL;
}

static void any_thread_may_put(void **state)
{
    struct fixture *fixture = *state;
    struct putter putters[PUTTER_COUNT];
    int expected[PUTTER_COUNT] = {0};
    start_tcp(fixture, 0);
    for (int i = 0; i < PUTTER_COUNT; i++) {
        putters[i] = (struct putter){.sender = fixture->sender, .letter = (char)('a' + i)};
        assert_int_equal(pthread_create(&putters[i].thread, NULL, put_many, &putters[i]), 0);
    }
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    for (int i = 0; i < PUTTER_COUNT * PER_PUTTER; i++) {
        char line[8] = "";
        receiver_read(peer, line, 7);
        int who = line[0] - 'a';
        assert_true(who >= 0 && who < PUTTER_COUNT);
        assert_int_equal(strtol(line + 1, NULL, 10), expected[who]++);
    }
    for (int i = 0; i < PUTTER_COUNT; i++) {
        void *failed;
        assert_int_equal(pthread_join(putters[i].thread, &failed), 0);
        assert_null(failed);
    }
}

/* --- one that is not, or not always --- */

static void a_dead_receiver_is_tried_again_until_it_lives(void **state)
{
    struct fixture *fixture = *state;
    (void)close(receiver_bind(SOCK_STREAM, &fixture->port));
    start(fixture, "tcp", 0);
    put(fixture, "kept\n");
    AWAIT(fixture, now.retry_count >= 2);
    struct sn_sender_state seen = state_of(fixture);
    assert_false(seen.is_up);
    assert_non_null(strstr(seen.reason, "cannot connect to 127.0.0.1:"));
    assert_true(seen.queued_bytes > 0);
    fixture->listener = receiver_listen(&fixture->port);
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    receiver_expect(peer, "kept\n");
    AWAIT(fixture, now.is_up && !now.reason[0] && !now.queued_bytes);
}

static void a_name_that_nobody_knows_is_said(void **state)
{
    struct fixture *fixture = *state;
    start_at(fixture, "tcp://no-such-host.invalid:2003", 0);
    put(fixture, "x\n");
    AWAIT(fixture, now.retry_count >= 1);
    assert_non_null(strstr(state_of(fixture).reason, "cannot look up no-such-host.invalid"));
}

static void a_message_cut_by_the_receiver_is_sent_again_from_its_start(void **state)
{
    struct fixture *fixture = *state;
    SN_AUTO(sn_free) uint8_t *big = malloc(BIG);
    SN_AUTO(sn_free) uint8_t *got = malloc(BIG);
    assert_true(big && got);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (uint8_t)(i * 7 + (i >> 8));
    start_tcp(fixture, 0);
    assert_int_equal(sn_sender_put(fixture->sender, big, BIG, 1), SONDE_OK);
    put(fixture, "next\n");
    int peer = receiver_accept(fixture->listener);
    receiver_read(peer, got, 1000);
    receiver_reset(peer);
    peer = receiver_accept(fixture->listener);
    receiver_read(peer, got, BIG);
    assert_memory_equal(big, got, BIG);
    receiver_expect(peer, "next\n");
    (void)close(peer);
    AWAIT(fixture, now.sent_count == 2);
    assert_true(state_of(fixture).retry_count >= 1);
}

static void a_connection_closed_while_idle_loses_nothing(void **state)
{
    struct fixture *fixture = *state;
    start_tcp(fixture, 0);
    for (int i = 0; i < 10; i++) {
        char line[16];
        (void)snprintf(line, sizeof(line), "line %d\n", i);
        put(fixture, line);
        int peer = receiver_accept(fixture->listener);
        receiver_expect(peer, line);
        AWAIT(fixture, now.sent_count == (uint64_t)i + 1);
        (void)close(peer);
    }
    assert_int_equal(state_of(fixture).retry_count, 0);
}

/* The number of the last whole line; each must be later than the one before. */
static long check_lines(char *text)
{
    long last = -1;
    for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
        char *after;
        long number = strtol(at, &after, 10);
        assert_int_equal(end - at, LINE_SIZE - 1);
        assert_true(*after == ' ' && number > last);
        last = number;
    }
    return last;
}

/* Takes a connection, reads until `size` bytes or line `until` have come, and ends it. */
static long read_lines_then_reset(int listener, size_t size, long until)
{
    char bytes[64 << 10] = "";
    size_t held = 0;
    int peer = receiver_accept(listener);
    assert_true(size < sizeof(bytes));
    for (size_t got = 1; got && held < size && check_lines(bytes) != until; held += got)
        got = receiver_read_some(peer, bytes + held, size - held);
    receiver_reset(peer);
    return check_lines(bytes);
}

static void put_line(struct fixture *fixture, int number)
{
    char line[LINE_SIZE + 1];
    (void)snprintf(line, sizeof(line), "%-*d\n", (int)LINE_SIZE - 1, number);
    put(fixture, line);
}

static void a_flapping_receiver_gets_whole_lines_and_the_latest(void **state)
{
    struct fixture *fixture = *state;
    int number = 0;
    start_tcp(fixture, 0);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 40; i++)
            put_line(fixture, number++);
        /* In the middle of a line; what the kernel had taken meanwhile is lost, or comes next. */
        (void)read_lines_then_reset(fixture->listener, LINE_SIZE * 12 + 34, -2);
    }
    AWAIT(fixture, now.queued_bytes == 0);
    put_line(fixture, number); /* behind any number of those before, on one connection */
    while (read_lines_then_reset(fixture->listener, LINE_SIZE * 500, number) != number)
        continue;
    assert_int_equal(state_of(fixture).dropped_count, 0);
}

/* --- one that does not read --- */

static size_t memory_in_use(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0; /* not told there */
#else
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}

static void a_receiver_that_never_reads_costs_the_limit_and_the_oldest(void **state)
{
    struct fixture *fixture = *state;
    enum { limit = 256 << 10, count = 200000 };
    start_tcp(fixture, limit);
    put(fixture, "0000000 ..............................................................\n");
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    size_t before = memory_in_use();
    char line[128];
    for (int i = 1; i <= count; i++) {
        (void)snprintf(line, sizeof(line), "%07d %.62s\n", i,
                       "..............................................................");
        put(fixture, line);
        if (i % 10000 == 0)
            assert_true(state_of(fixture).queued_bytes <= limit);
    }
    assert_true(memory_in_use() < before + (size_t)2 * limit);
    struct sn_sender_state seen = state_of(fixture);
    assert_true(seen.dropped_count > 0);
    assert_int_equal(seen.dropped_count, seen.dropped_items);
    /* Once it reads, the latest is there. */
    for (long number = -1; number < count;) {
        receiver_read(peer, line, 71);
        long next = strtol(line, NULL, 10);
        assert_true(next > number);
        number = next;
    }
    AWAIT(fixture, now.queued_bytes == 0);
    seen = state_of(fixture);
    assert_int_equal(seen.sent_count + seen.dropped_count, count + 1);
}

static void one_message_over_the_limit_is_dropped_alone(void **state)
{
    struct fixture *fixture = *state;
    char large[2048] = "";
    (void)close(receiver_bind(SOCK_STREAM, &fixture->port));
    start(fixture, "tcp", 1024);
    put(fixture, "small\n");
    assert_int_equal(sn_sender_put(fixture->sender, large, sizeof(large), 17), SONDE_E_LIMIT);
    struct sn_sender_state seen = state_of(fixture);
    assert_int_equal(seen.dropped_count, 1);
    assert_int_equal(seen.dropped_items, 17);
    assert_true(seen.queued_bytes > 0);
}

/* --- datagrams and unix sockets --- */

static void receive_datagram(int fd, const char *expected)
{
    char got[128];
    receiver_await(fd, POLLIN);
    ssize_t size = recv(fd, got, sizeof(got) - 1, 0);
    assert_true(size >= 0);
    got[size] = '\0';
    assert_string_equal(got, expected);
}

static void a_message_is_one_datagram(void **state)
{
    struct fixture *fixture = *state;
    fixture->listener = receiver_bind(SOCK_DGRAM, &fixture->port);
    start(fixture, "udp", 0);
    put(fixture, "a:1|c");
    put(fixture, "b:2|c\nc:3|c");
    receive_datagram(fixture->listener, "a:1|c");
    receive_datagram(fixture->listener, "b:2|c\nc:3|c");
    AWAIT(fixture, now.sent_count == 2 && now.is_up);
}

static void datagrams_wait_while_nobody_has_the_port(void **state)
{
    struct fixture *fixture = *state;
    (void)close(receiver_bind(SOCK_DGRAM, &fixture->port));
    start(fixture, "udp", 0);
    put(fixture, "a:1|c");
    AWAIT(fixture, now.retry_count >= 2 && !now.is_up);
    assert_non_null(strstr(state_of(fixture).reason, "refused"));
    fixture->listener = receiver_bind(SOCK_DGRAM, &fixture->port);
    receive_datagram(fixture->listener, "a:1|c");
    AWAIT(fixture, now.sent_count == 1 && now.is_up);
}

static void what_is_too_large_for_a_datagram_is_dropped_with_a_reason(void **state)
{
    struct fixture *fixture = *state;
    static const char large[70000];
    fixture->listener = receiver_bind(SOCK_DGRAM, &fixture->port);
    start(fixture, "udp", 0);
    assert_int_equal(sn_sender_put(fixture->sender, large, sizeof(large), 3), SONDE_OK);
    AWAIT(fixture, now.dropped_items == 3);
    assert_non_null(strstr(state_of(fixture).reason, "do not fit into one datagram"));
    put(fixture, "a:1|c");
    receive_datagram(fixture->listener, "a:1|c");
}

static int listen_unix(int type, char *url, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/sonde-sender-XXXXXX";
    assert_non_null(mkdtemp(folder));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    (void)snprintf(url, size, "unix://%s", address.sun_path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    if (type == SOCK_STREAM)
        assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static void forget_unix(char *url)
{
    assert_int_equal(unlink(url + 7), 0);
    *strrchr(url, '/') = '\0';
    assert_int_equal(rmdir(url + 7), 0);
}

static void a_unix_socket_of_either_kind_is_found_out(void **state)
{
    struct fixture *fixture = *state;
    char url[128];
    fixture->listener = listen_unix(SOCK_STREAM, url, sizeof(url));
    start_at(fixture, url, 0);
    put(fixture, "stream\n");
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    receiver_expect(peer, "stream\n");
    sn_sender_free(SN_TAKE(fixture->sender), SECOND);
    sn_close(sn_take_fd(&fixture->listener));
    forget_unix(url);

    fixture->listener = listen_unix(SOCK_DGRAM, url, sizeof(url));
    start_at(fixture, url, 0);
    put(fixture, "datagram");
    receive_datagram(fixture->listener, "datagram");
    forget_unix(url);
}

/* --- the end --- */

static void the_end_waits_for_what_is_queued_within_its_grace(void **state)
{
    struct fixture *fixture = *state;
    start_tcp(fixture, 0);
    for (int i = 0; i < 1000; i++)
        put(fixture, "x\n");
    sn_sender_free(SN_TAKE(fixture->sender), 20 * SECOND);
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    char got[2000];
    receiver_read(peer, got, sizeof(got));
    assert_int_equal(receiver_read_some(peer, got, 1), 0);
}

/* Would hang for the minutes of a test's time-out otherwise. */
static void the_end_comes_whatever_the_thread_does(void **state)
{
    struct fixture *fixture = *state;
    char large[65536] = "";
    start_tcp(fixture, 0);
    sn_sender_free(SN_TAKE(fixture->sender), 3600 * SECOND); /* idle */

    start(fixture, "tcp", 0);
    for (int i = 0; i < 60; i++)
        assert_int_equal(sn_sender_put(fixture->sender, large, sizeof(large), 1), SONDE_OK);
    SN_AUTO(sn_close) int peer = receiver_accept(fixture->listener);
    sn_sender_free(SN_TAKE(fixture->sender), 0); /* sending */

    sn_close(sn_take_fd(&fixture->listener));
    start(fixture, "tcp", 0);
    put(fixture, "x\n");
    AWAIT(fixture, now.retry_count >= 1);
    sn_sender_free(SN_TAKE(fixture->sender), 0); /* pausing */
    sn_sender_free(NULL, 0);
}

static void a_url_that_cannot_be_read_is_an_argument_error(void **state)
{
    (void)state;
    struct sn_sender_options options = {.url = "graphite:2003"};
    struct sn_sender *sender = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_sender_new(&options, &sender, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "tcp://"));
    assert_null(sender);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_arrive_whole_and_in_order),
        TEST(every_address_of_a_name_is_tried),
        TEST(what_the_receiver_says_is_ignored),
        TEST(any_thread_may_put),
        TEST(a_dead_receiver_is_tried_again_until_it_lives),
        TEST(a_name_that_nobody_knows_is_said),
        TEST(a_message_cut_by_the_receiver_is_sent_again_from_its_start),
        TEST(a_connection_closed_while_idle_loses_nothing),
        TEST(a_flapping_receiver_gets_whole_lines_and_the_latest),
        TEST(a_receiver_that_never_reads_costs_the_limit_and_the_oldest),
        TEST(one_message_over_the_limit_is_dropped_alone),
        TEST(a_message_is_one_datagram),
        TEST(datagrams_wait_while_nobody_has_the_port),
        TEST(what_is_too_large_for_a_datagram_is_dropped_with_a_reason),
        TEST(a_unix_socket_of_either_kind_is_found_out),
        TEST(the_end_waits_for_what_is_queued_within_its_grace),
        TEST(the_end_comes_whatever_the_thread_does),
        TEST(a_url_that_cannot_be_read_is_an_argument_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
