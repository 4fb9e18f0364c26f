/* One command, one connection, against servers that answer late, badly, in crumbs or not at all. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "ipc_fake.h"
#include "source/ipc/ipc_commands.h"

#define MS(n)         ((uint64_t)(n)*SN_NS_PER_MS)
#define EXAMPLE(name) SONDE_SOURCE_DIR "/fuzz/corpus/ipc_reply/" name

static struct sn_buf recorded(const char *path)
{
    struct sn_buf bytes = sn_buf_with_limit(1u << 20);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, &bytes, NULL), SONDE_OK);
    return bytes;
}

static unsigned read_any(int fd)
{
    static _Thread_local uint8_t bytes[65536];
    return fake_read_request(fd, bytes, sizeof(bytes));
}

static int call(const struct fake *fake, enum sn_ipc_command command, uint64_t timeout_ns,
                struct sonde_error *err)
{
    struct sn_ipc_reply reply = {0};
    struct sn_ipc_request request = {.command = command};
    int rc = sn_ipc_call(&fake->route, &request, timeout_ns, &reply, err);
    if (rc == SONDE_OK)
        sn_ipc_reply_done(&reply);
    return rc;
}

static void send_in_crumbs(struct fake *fake, int fd)
{
    struct sn_buf bytes = recorded(fake->user);
    if (read_any(fd)) {
        for (size_t i = 0; i < bytes.size; i++)
            fake_send(fd, bytes.bytes + i, 1);
    }
    sn_buf_done(&bytes);
}

static void a_reply_in_crumbs_is_whole(void **state)
{
    struct fake fake;
    struct sn_ipc_process_info info = {0};
    struct sn_ipc_environment environment = {0};
    struct sonde_error err = {0};
    (void)state;
    fake_open(&fake, send_in_crumbs);
    fake.user = EXAMPLE("process-info3-net10");
    assert_int_equal(sn_ipc_get_process_info(&fake.route, MS(5000), &info, &err), SONDE_OK);
    assert_string_equal(info.version, "10.0.12");
    sn_ipc_process_info_done(&info);
    fake.user = EXAMPLE("environment-net8");
    assert_int_equal(sn_ipc_get_environment(&fake.route, MS(5000), &environment, &err), SONDE_OK);
    assert_true(environment.count > 3);
    sn_ipc_environment_done(&environment);
    fake_close(&fake);
}

/* The reply of `user`, cut after as many bytes as there were connections before. */
static void send_cut(struct fake *fake, int fd)
{
    struct sn_buf bytes = recorded(fake->user);
    if (read_any(fd))
        fake_send(fd, bytes.bytes, fake->connections - 1);
    sn_buf_done(&bytes);
}

static void a_reply_cut_at_any_byte_is_an_error(void **state)
{
    static const struct {
        const char *path;
        enum sn_ipc_command command;
    } replies[] = {{EXAMPLE("process-info3-net9"), SN_IPC_PROCESS_INFO3},
                   {EXAMPLE("environment-net9"), SN_IPC_PROCESS_ENVIRONMENT},
                   {EXAMPLE("dump3-refused-net9"), SN_IPC_PROCESS_INFO}};
    (void)state;
    for (size_t i = 0; i < sizeof(replies) / sizeof(*replies); i++) {
        struct fake fake;
        struct sn_buf bytes = recorded(replies[i].path);
        fake_open(&fake, send_cut);
        fake.user = (void *)(uintptr_t)replies[i].path;
        for (size_t size = 0; size < bytes.size; size++) {
            struct sonde_error err = {0};
            assert_int_equal(call(&fake, replies[i].command, MS(5000), &err), SONDE_E_GONE);
            assert_true(err.text[0]);
        }
        fake_close(&fake);
        sn_buf_done(&bytes);
    }
}

static void refuse_and_stay(struct fake *fake, int fd)
{
    (void)fake;
    if (read_any(fd))
        fake_refuse(fd, 0x8013136Au);
    fake_await_close(fd);
}

static void a_refusal_is_told_and_the_connection_closed(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    size_t before = open_descriptors();
    (void)state;
    fake_open(&fake, refuse_and_stay);
    uint64_t start = sn_clock_monotonic_ns();
    assert_int_equal(call(&fake, SN_IPC_PROCESS_INFO3, MS(5000), &err), SONDE_E_REFUSED);
    assert_true(sn_clock_monotonic_ns() - start < MS(1000));
    assert_int_equal(err.hresult, 0x8013136A);
    assert_non_null(strstr(err.text, "another profiler is active"));
    assert_non_null(strstr(err.text, "GetProcessInfo3"));
    fake_close(&fake); /* joins: the server saw the close */
    assert_int_equal(open_descriptors(), before);
}

static void say_what_failed(struct fake *fake, int fd)
{
    struct sn_buf bytes = recorded(EXAMPLE("dump3-refused-net10"));
    (void)fake;
    if (read_any(fd))
        fake_send(fd, bytes.bytes, bytes.size);
    sn_buf_done(&bytes);
}

static void a_failed_dump_brings_the_runtimes_own_words(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    struct sn_ipc_dump dump = {.path = "/nowhere/core", .type = SN_IPC_DUMP_MINI};
    (void)state;
    fake_open(&fake, say_what_failed);
    assert_int_equal(sn_ipc_dump(&fake.route, &dump, MS(5000), &err), SONDE_E_REFUSED);
    assert_non_null(strstr(err.text, "Could not create output file '/nowhere/core'"));
    assert_null(strchr(err.text, '\n'));
    fake_close(&fake);
}

static void never_answer(struct fake *fake, int fd)
{
    (void)fake;
    fake_await_close(fd);
}

static void silence_ends_at_the_deadline(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    size_t before = open_descriptors();
    (void)state;
    fake_open(&fake, never_answer);
    uint64_t start = sn_clock_monotonic_ns();
    assert_int_equal(call(&fake, SN_IPC_PROCESS_INFO3, MS(200), &err), SONDE_E_TIMEOUT);
    uint64_t took = sn_clock_monotonic_ns() - start;
    assert_true(took >= MS(200) && took < MS(2000));
    assert_non_null(strstr(err.text, "did not answer within 200 ms; another tool may hold its port,"
                                     " or it is stuck"));
    fake_close(&fake);
    assert_int_equal(open_descriptors(), before);
}

static void promise_and_stay(struct fake *fake, int fd)
{
    uint8_t head[20] = "DOTNET_IPC_V1";
    (void)fake;
    head[14] = head[15] = head[16] = 0xFF;
    if (read_any(fd))
        fake_send(fd, head, sizeof(head));
    fake_await_close(fd);
}

static void a_promised_payload_that_never_comes_times_out(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    (void)state;
    fake_open(&fake, promise_and_stay);
    assert_int_equal(call(&fake, SN_IPC_PROCESS_INFO3, MS(200), &err), SONDE_E_TIMEOUT);
    fake_close(&fake);
}

static void send_nonsense(struct fake *fake, int fd)
{
    (void)fake;
    if (read_any(fd))
        fake_send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    fake_await_close(fd);
}

static void a_server_of_something_else_is_an_error(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    (void)state;
    fake_open(&fake, send_nonsense);
    assert_int_equal(call(&fake, SN_IPC_PROCESS_INFO3, MS(5000), &err), SONDE_E_FORMAT);
    fake_close(&fake);
}

static void promise_much_environment(struct fake *fake, int fd)
{
    (void)fake;
    if (read_any(fd))
        fake_answer(fd, false, "\xff\xff\xff\x7f\0\0", 6);
    fake_await_close(fd);
}

static void an_endless_environment_is_refused(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    struct sn_ipc_environment environment = {0};
    (void)state;
    fake_open(&fake, promise_much_environment);
    assert_int_equal(sn_ipc_get_environment(&fake.route, MS(5000), &environment, &err),
                     SONDE_E_LIMIT);
    fake_close(&fake);
}

static void know_only_the_first(struct fake *fake, int fd)
{
    static const uint8_t info[24 + 3 * 4]; /* pid, cookie, three empty strings */
    (void)fake;
    if (read_any(fd) == SN_IPC_PROCESS_INFO)
        fake_answer(fd, false, info, sizeof(info));
    else
        fake_refuse(fd, SN_IPC_HR_UNKNOWN_COMMAND);
    fake_await_close(fd);
}

static void an_old_runtime_is_asked_the_old_way(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    struct sn_ipc_process_info info = {0};
    (void)state;
    fake_open(&fake, know_only_the_first);
    assert_int_equal(sn_ipc_get_process_info(&fake.route, MS(5000), &info, &err), SONDE_OK);
    assert_int_equal(fake.connections, 3);
    assert_string_equal(info.version, "");
    sn_ipc_process_info_done(&info);

    struct sn_ipc_row row = {.target = fake.route.target};
    assert_int_equal(sn_ipc_get_process_infos(&row, 1, MS(5000), &err), SONDE_OK);
    assert_int_equal(row.status, SONDE_OK);
    sn_ipc_process_info_done(&row.info);
    fake_close(&fake);
}

static void answer_with_failure(struct fake *fake, int fd)
{
    uint32_t hresult = 0x80070057u;
    (void)fake;
    if (read_any(fd))
        fake_answer(fd, false, &hresult, sizeof(hresult));
}

static void a_failure_inside_an_ok_reply_is_a_refusal(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    (void)state;
    fake_open(&fake, answer_with_failure);
    assert_int_equal(sn_ipc_enable_perf_map(&fake.route, SN_IPC_PERF_MAP, &err), SONDE_E_REFUSED);
    assert_int_equal(err.hresult, 0x80070057u);
    fake_close(&fake);
}

static void a_bad_request_never_connects(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    struct sn_ipc_reply reply = {0};
    struct sn_ipc_request request = {.command = SN_IPC_ENABLE_PERF_MAP, .perf_map = 9};
    (void)state;
    fake_open(&fake, never_answer);
    assert_int_equal(sn_ipc_call(&fake.route, &request, MS(1000), &reply, &err), SONDE_E_ARGUMENT);
    assert_int_equal(fake.connections, 0);
    fake_close(&fake);
}

static void answer_after_a_while(struct fake *fake, int fd)
{
    struct sn_buf bytes = recorded(EXAMPLE("process-info3-net8"));
    (void)fake;
    if (read_any(fd)) {
        usleep(200000);
        fake_send(fd, bytes.bytes, bytes.size);
    }
    sn_buf_done(&bytes);
}

static void many_are_asked_at_once(void **state)
{
    static struct fake fakes[24];
    static struct sn_ipc_row rows[24];
    struct sonde_error err = {0};
    size_t before = open_descriptors();
    (void)state;
    for (size_t i = 0; i < 24; i++) {
        fake_open(&fakes[i], i == 7 ? never_answer : answer_after_a_while);
        rows[i] = (struct sn_ipc_row){.target = fakes[i].route.target};
    }
    rows[9].target.reach = SN_IPC_REACH_OFF;
    uint64_t start = sn_clock_monotonic_ns();
    assert_int_equal(sn_ipc_get_process_infos(rows, 24, MS(1000), &err), SONDE_OK);
    assert_true(sn_clock_monotonic_ns() - start < MS(3000)); /* one after the other: 4.6 s */
    for (size_t i = 0; i < 24; i++) {
        int expected = i == 7 ? SONDE_E_TIMEOUT : i == 9 ? SONDE_E_NOT_FOUND : SONDE_OK;
        assert_int_equal(rows[i].status, expected);
        assert_int_equal(rows[i].err.text[0] == '\0', expected == SONDE_OK);
        sn_ipc_process_info_done(&rows[i].info);
        fake_close(&fakes[i]);
    }
    assert_int_equal(open_descriptors(), before);
}

static void must_not_be_called(struct sn_ipc_call *unexpected, int status)
{
    (void)unexpected;
    (void)status;
    fail();
}

static void a_cancelled_call_leaves_nothing(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    struct sn_loop *loop = NULL;
    struct sn_ipc_call pending = {.done = must_not_be_called};
    struct sn_ipc_request request = {.command = SN_IPC_PROCESS_INFO};
    size_t before = open_descriptors();
    (void)state;
    fake_open(&fake, never_answer);
    assert_int_equal(sn_loop_new(&loop, &err), SONDE_OK);
    assert_int_equal(sn_ipc_call_start(&pending, loop, &fake.route, &request, MS(100), &err),
                     SONDE_OK);
    sn_ipc_call_cancel(&pending);
    sn_ipc_call_cancel(&pending);
    assert_int_equal(sn_loop_run(loop, &err), SONDE_OK); /* nothing is left on it */
    sn_loop_free(loop);
    fake_close(&fake);
    assert_int_equal(open_descriptors(), before);
}

static void *accept_later(void *user)
{
    struct fake *fake = user;
    usleep(150000);
    return fake_serve(fake);
}

static void a_full_queue_is_waited_for(void **state)
{
    struct fake fake;
    struct sonde_error err = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int waiting[64];
    size_t count = 0;
    (void)state;
    fake_open(&fake, NULL);
    assert_int_equal(listen(fake.listener, 1), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s",
                   fake.route.target.socket_path);
    for (;; count++) {
        waiting[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(waiting[count], (struct sockaddr *)&address, sizeof(address)) != 0)
            break;
    }
    assert_int_equal(call(&fake, SN_IPC_PROCESS_INFO, MS(100), &err), SONDE_E_TIMEOUT);
    for (size_t i = 0; i <= count; i++)
        close(waiting[i]);
    fake.script = know_only_the_first;
    assert_int_equal(pthread_create(&fake.thread, NULL, accept_later, &fake), 0);
    assert_int_equal(call(&fake, SN_IPC_PROCESS_INFO, MS(5000), &err), SONDE_OK);
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_in_crumbs_is_whole),
        cmocka_unit_test(a_reply_cut_at_any_byte_is_an_error),
        cmocka_unit_test(a_refusal_is_told_and_the_connection_closed),
        cmocka_unit_test(a_failed_dump_brings_the_runtimes_own_words),
        cmocka_unit_test(silence_ends_at_the_deadline),
        cmocka_unit_test(a_promised_payload_that_never_comes_times_out),
        cmocka_unit_test(a_server_of_something_else_is_an_error),
        cmocka_unit_test(an_endless_environment_is_refused),
        cmocka_unit_test(an_old_runtime_is_asked_the_old_way),
        cmocka_unit_test(a_failure_inside_an_ok_reply_is_a_refusal),
        cmocka_unit_test(a_bad_request_never_connects),
        cmocka_unit_test(many_are_asked_at_once),
        cmocka_unit_test(a_cancelled_call_leaves_nothing),
        cmocka_unit_test(a_full_queue_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
