/* Sessions against runtimes of each age, and stops that come, come late, or never do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "ipc_fake.h"
#include "source/ipc/session.h"

#define MS(n) ((uint64_t)(n)*SN_NS_PER_MS)

static const uint32_t ids[] = {80};
static const struct sn_ipc_provider provider = {
    .name = "Some-Provider",
    .keywords = 1,
    .level = 4,
    .event_ids = ids,
    .event_id_count = 1,
    .only_listed = true,
};
static const struct sn_ipc_wants filtered = {
    .providers = &provider,
    .provider_count = 1,
    .buffer_mb = 16,
    .rundown_keyword = 0x38,
};

/* A runtime of a certain age with one session. */
struct runtime {
    unsigned newest; /* the command it knows best */
    unsigned asked[8];
    size_t asked_count;
    struct sn_ipc_collect collect; /* as it was decoded, without its providers */
    struct sn_ipc_provider seen;
    int stream;
    bool stop_hangs;
    size_t left_to_write; /* when stopped */
};

static void note_collect(struct runtime *runtime, const uint8_t *bytes)
{
    struct sn_arena arena = sn_arena_with_limit(SN_IPC_REQUEST_MEMORY);
    struct sn_ipc_request request;
    size_t size = (size_t)(bytes[14] | bytes[15] << 8);
    assert_int_equal(sn_ipc_decode_request(bytes, size, &arena, &request, NULL), SONDE_OK);
    runtime->collect = request.collect;
    runtime->seen = request.collect.providers[0];
    sn_arena_done(&arena);
}

static void open_stream(struct runtime *runtime, int fd)
{
    uint64_t id = 77;
    struct sn_buf reply = fake_reply(false, &id, sizeof(id));
    sn_buf_append(&reply, "Nettrace-header", 15); /* in the same breath */
    fake_send(fd, reply.bytes, reply.size);
    sn_buf_done(&reply);
    runtime->stream = dup(fd);
}

static void stop_stream(struct runtime *runtime, int fd)
{
    static const uint8_t block[4096];
    uint64_t id = 77;
    if (runtime->stop_hangs) {
        fake_await_close(fd);
        return;
    }
    while (runtime->left_to_write) { /* blocks unless it is read */
        ssize_t sent = send(runtime->stream, block, sizeof(block), MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        runtime->left_to_write -= (size_t)sent;
    }
    close(runtime->stream);
    runtime->stream = -1;
    fake_answer(fd, false, &id, sizeof(id));
}

static void be_a_runtime(struct fake *fake, int fd)
{
    struct runtime *runtime = fake->user;
    static uint8_t bytes[65536];
    unsigned command = fake_read_request(fd, bytes, sizeof(bytes));
    if (command == SN_IPC_STOP_TRACING) {
        stop_stream(runtime, fd);
    } else if (command && command <= runtime->newest) {
        note_collect(runtime, bytes);
        runtime->asked[runtime->asked_count++] = command;
        open_stream(runtime, fd);
    } else if (command) {
        runtime->asked[runtime->asked_count++] = command;
        fake_refuse(fd, SN_IPC_HR_UNKNOWN_COMMAND);
        fake_await_close(fd);
    }
}

static void start(struct fake *fake, struct runtime *runtime, unsigned newest)
{
    *runtime = (struct runtime){.newest = newest, .stream = -1};
    fake_open(fake, be_a_runtime);
    fake->user = runtime;
}

static void end(struct fake *fake, struct runtime *runtime)
{
    fake_close(fake);
    if (runtime->stream >= 0)
        close(runtime->stream);
}

static void each_age_gets_what_it_understands(void **state)
{
    (void)state;
    for (unsigned newest = SN_IPC_COLLECT_TRACING; newest <= SN_IPC_COLLECT_TRACING5; newest++) {
        struct fake fake;
        struct runtime runtime;
        struct sn_ipc_session session = {0};
        struct sonde_error err = {0};
        start(&fake, &runtime, newest);
        assert_int_equal(sn_ipc_session_open(&session, &fake.route, &filtered, &err), SONDE_OK);
        assert_int_equal(session.id, 77);
        assert_int_equal(session.command, newest);
        assert_int_equal(runtime.asked_count, SN_IPC_COLLECT_TRACING5 - newest + 1);
        assert_int_equal(session.filters_applied, newest >= SN_IPC_COLLECT_TRACING5);
        assert_int_equal(runtime.seen.event_id_count, newest >= SN_IPC_COLLECT_TRACING5);
        assert_int_equal(session.stacks_off_applied, newest >= SN_IPC_COLLECT_TRACING3);
        assert_int_equal(runtime.collect.stacks, newest < SN_IPC_COLLECT_TRACING3);
        assert_int_equal(session.rundown_keyword_applied, newest >= SN_IPC_COLLECT_TRACING4);
        assert_int_equal(runtime.collect.rundown_keyword,
                         newest >= SN_IPC_COLLECT_TRACING4 ? 0x38 : SN_IPC_DEFAULT_RUNDOWN);
        sn_ipc_session_close(&session);
        end(&fake, &runtime);
    }
}

static void a_known_version_is_not_probed(void **state)
{
    static const struct {
        unsigned major;
        unsigned command;
    } ages[] = {{6, SN_IPC_COLLECT_TRACING2},
                {8, SN_IPC_COLLECT_TRACING2},
                {9, SN_IPC_COLLECT_TRACING4},
                {10, SN_IPC_COLLECT_TRACING5},
                {11, SN_IPC_COLLECT_TRACING5}};
    (void)state;
    for (size_t i = 0; i < sizeof(ages) / sizeof(*ages); i++) {
        struct fake fake;
        struct runtime runtime;
        struct sn_ipc_session session = {0};
        struct sn_ipc_wants wants = filtered;
        struct sonde_error err = {0};
        wants.runtime_major = ages[i].major;
        start(&fake, &runtime, SN_IPC_COLLECT_TRACING5);
        assert_int_equal(sn_ipc_session_open(&session, &fake.route, &wants, &err), SONDE_OK);
        assert_int_equal(runtime.asked_count, 1);
        assert_int_equal(runtime.asked[0], ages[i].command);
        sn_ipc_session_close(&session);
        end(&fake, &runtime);
    }
}

static void the_stream_begins_with_its_first_byte(void **state)
{
    struct fake fake;
    struct runtime runtime;
    struct sn_ipc_session session = {0};
    struct sonde_error err = {0};
    char head[32] = {0};
    (void)state;
    start(&fake, &runtime, SN_IPC_COLLECT_TRACING5);
    assert_int_equal(sn_ipc_session_open(&session, &fake.route, &filtered, &err), SONDE_OK);
    assert_int_equal(read(session.fd, head, sizeof(head)), 15);
    assert_string_equal(head, "Nettrace-header");
    assert_int_equal(read(session.fd, head, sizeof(head)), -1);
    assert_int_equal(errno, EAGAIN);
    sn_ipc_session_close(&session);
    sn_ipc_session_close(&session);
    end(&fake, &runtime);
}

/* The caller's side of a stop. */
struct reader {
    struct sn_ipc_session session;
    struct sn_watch watch;
    size_t size;
    int stop_status;
    char stop_text[200];
    unsigned stops;
    bool has_ended;
};

static void read_some(struct sn_watch *watch, uint32_t events)
{
    struct reader *reader = watch->user;
    uint8_t bytes[1024];
    (void)events;
    ssize_t got = read(watch->fd, bytes, sizeof(bytes));
    if (got > 0) {
        reader->size += (size_t)got;
    } else if (got == 0 || errno != EAGAIN) {
        reader->has_ended = true;
        sn_loop_unwatch(watch);
    }
}

static void note_stop(struct sn_ipc_session *session, int status, const struct sonde_error *err)
{
    struct reader *reader = session->user;
    reader->stop_status = status;
    reader->stops++;
    (void)snprintf(reader->stop_text, sizeof(reader->stop_text), "%.190s", err->text);
}

static void read_and_stop(struct fake *fake, struct reader *reader, uint64_t timeout_ns)
{
    struct sn_loop *loop = NULL;
    struct sonde_error err = {0};
    *reader = (struct reader){.session = {.user = reader}};
    assert_int_equal(sn_loop_new(&loop, &err), SONDE_OK);
    assert_int_equal(sn_ipc_session_open(&reader->session, &fake->route, &filtered, &err),
                     SONDE_OK);
    assert_ptr_equal(reader->session.user, reader);
    reader->watch = (struct sn_watch){.fd = reader->session.fd, .ready = read_some, .user = reader};
    assert_int_equal(sn_loop_watch(loop, &reader->watch, EPOLLIN, &err), SONDE_OK);
    assert_int_equal(sn_ipc_session_stop(&reader->session, loop, timeout_ns, note_stop, &err),
                     SONDE_OK);
    assert_int_equal(sn_loop_run(loop, &err), SONDE_OK);
    sn_ipc_session_close(&reader->session);
    sn_loop_free(loop);
}

static void a_stop_lets_the_rest_of_the_stream_through(void **state)
{
    struct fake fake;
    struct runtime runtime;
    struct reader reader;
    (void)state;
    start(&fake, &runtime, SN_IPC_COLLECT_TRACING5);
    runtime.left_to_write = 4u << 20; /* far more than a socket holds */
    read_and_stop(&fake, &reader, MS(20000));
    assert_int_equal(reader.stop_status, SONDE_OK);
    assert_int_equal(reader.stops, 1);
    assert_true(reader.has_ended);
    assert_int_equal(reader.size, 15 + (4u << 20));
    end(&fake, &runtime);
}

static void a_stop_that_hangs_ends_the_stream_at_the_deadline(void **state)
{
    struct fake fake;
    struct runtime runtime;
    struct reader reader;
    (void)state;
    start(&fake, &runtime, SN_IPC_COLLECT_TRACING5);
    runtime.stop_hangs = true;
    uint64_t before = sn_clock_monotonic_ns();
    read_and_stop(&fake, &reader, MS(200));
    assert_true(sn_clock_monotonic_ns() - before < MS(2000));
    assert_int_equal(reader.stop_status, SONDE_E_TIMEOUT);
    assert_int_equal(reader.stops, 1);
    assert_non_null(strstr(reader.stop_text, "did not answer within 200 ms"));
    assert_true(reader.has_ended); /* found the end without anybody closing under it */
    end(&fake, &runtime);
}

static void must_not_be_called(struct sn_ipc_session *session, int status,
                               const struct sonde_error *err)
{
    (void)session;
    (void)status;
    (void)err;
    fail();
}

static void a_close_gives_up_whatever_is_pending(void **state)
{
    struct fake fake;
    struct runtime runtime;
    struct sn_loop *loop = NULL;
    struct sonde_error err = {0};
    size_t before = open_descriptors();
    (void)state;
    start(&fake, &runtime, SN_IPC_COLLECT_TRACING5);
    runtime.stop_hangs = true;
    assert_int_equal(sn_loop_new(&loop, &err), SONDE_OK);

    struct sn_ipc_session opening = {0};
    sn_ipc_session_close(&opening);
    assert_int_equal(
        sn_ipc_session_start(&opening, loop, &fake.route, &filtered, must_not_be_called, &err),
        SONDE_OK);
    sn_ipc_session_close(&opening);

    struct sn_ipc_session stopping = {0};
    assert_int_equal(sn_ipc_session_open(&stopping, &fake.route, &filtered, &err), SONDE_OK);
    assert_int_equal(sn_ipc_session_stop(&stopping, loop, MS(5000), must_not_be_called, &err),
                     SONDE_OK);
    sn_ipc_session_close(&stopping);
    assert_int_equal(sn_loop_run(loop, &err), SONDE_OK);
    sn_loop_free(loop);
    fake_close(&fake);
    close(runtime.stream);
    assert_true(open_descriptors() <= before + 1); /* the stream of `opening` at the server */
}

static void be_full(struct fake *fake, int fd)
{
    static uint8_t bytes[65536];
    (void)fake;
    if (fake_read_request(fd, bytes, sizeof(bytes)))
        fake_refuse(fd, SN_IPC_HR_FAIL);
    fake_await_close(fd);
}

static void a_full_table_of_sessions_is_named(void **state)
{
    struct fake fake;
    struct sn_ipc_session session = {0};
    struct sonde_error err = {0};
    (void)state;
    fake_open(&fake, be_full);
    assert_int_equal(sn_ipc_session_open(&session, &fake.route, &filtered, &err), SONDE_E_REFUSED);
    assert_int_equal(err.hresult, SN_IPC_HR_FAIL);
    assert_non_null(strstr(err.text, "all of its 64 are in use"));
    assert_false(session.is_open);
    fake_close(&fake);
}

static void wants_that_cannot_be_are_refused_before_connecting(void **state)
{
    struct fake fake;
    struct sn_ipc_session session = {0};
    struct sn_ipc_wants wants = filtered;
    struct sonde_error err = {0};
    (void)state;
    wants.buffer_mb = 0;
    fake_open(&fake, be_full);
    assert_int_equal(sn_ipc_session_open(&session, &fake.route, &wants, &err), SONDE_E_ARGUMENT);
    assert_int_equal(fake.connections, 0);
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_age_gets_what_it_understands),
        cmocka_unit_test(a_known_version_is_not_probed),
        cmocka_unit_test(the_stream_begins_with_its_first_byte),
        cmocka_unit_test(a_stop_lets_the_rest_of_the_stream_through),
        cmocka_unit_test(a_stop_that_hangs_ends_the_stream_at_the_deadline),
        cmocka_unit_test(a_close_gives_up_whatever_is_pending),
        cmocka_unit_test(a_full_table_of_sessions_is_named),
        cmocka_unit_test(wants_that_cannot_be_are_refused_before_connecting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
