/* Ports that runtimes connect to: true ones, lying ones, silent ones. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "ipc_fake.h"
#include "source/ipc/ipc_commands.h"
#include "source/ipc/port.h"
#include "source/ipc/session.h"

#define MS(n) ((uint64_t)(n)*SN_NS_PER_MS)

static const struct sn_ipc_guid cookie = {{1, 2, 3}};
static const struct sn_ipc_guid other_cookie = {{9, 9, 9}};

static struct sn_buf advertisement(const struct sn_ipc_guid *of, uint64_t pid)
{
    struct sn_buf bytes = sn_buf_with_limit(64);
    sn_buf_append(&bytes, "ADVR_V1", 8);
    sn_buf_append(&bytes, of->bytes, 16);
    sn_buf_u64(&bytes, pid);
    sn_buf_u16(&bytes, 0);
    return bytes;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static int arrive(const char *path, const struct sn_ipc_guid *as, uint64_t pid)
{
    struct sn_buf bytes = advertisement(as, pid);
    int fd = connect_to(path);
    if (fd >= 0)
        fake_send(fd, bytes.bytes, bytes.size);
    sn_buf_done(&bytes);
    return fd;
}

static uint64_t our_pid(void)
{
    return (uint64_t)getpid();
}

/* A runtime that answers `turns` commands, each on a connection of its own. */
struct runtime {
    const char *path;
    unsigned turns;
    pthread_t thread;
};

static void *be_a_runtime(void *user)
{
    struct runtime *runtime = user;
    static uint8_t bytes[65536];
    for (unsigned turn = 0; turn < runtime->turns; turn++) {
        int fd = arrive(runtime->path, &cookie, our_pid());
        uint64_t id = 5;
        unsigned command = fake_read_request(fd, bytes, sizeof(bytes));
        if (command == SN_IPC_PROCESS_INFO3) {
            struct sn_buf reply = sn_buf_with_limit(1u << 16);
            (void)sn_file_read_at(AT_FDCWD,
                                  SONDE_SOURCE_DIR "/fuzz/corpus/ipc_reply/process-info3-net10",
                                  &reply, NULL);
            fake_send(fd, reply.bytes, reply.size);
            sn_buf_done(&reply);
        } else if (command) {
            fake_answer(fd, false, &id, sizeof(id)); /* also a result: 5 is no failure */
        }
        usleep(20000); /* so that the next connection is late */
        close(fd);
    }
    return NULL;
}

static void an_advertisement_is_read_and_every_cut_refused(void **state)
{
    struct sn_buf bytes = advertisement(&cookie, 4711);
    struct sn_ipc_advertisement said = {0};
    struct sonde_error err = {0};
    (void)state;
    assert_int_equal(sn_ipc_decode_advertisement(bytes.bytes, bytes.size, &said, &err), SONDE_OK);
    assert_int_equal(said.ns_pid, 4711);
    assert_true(sn_ipc_guid_is_equal(&said.cookie, &cookie));
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(sn_ipc_decode_advertisement(bytes.bytes, size, &said, NULL),
                         SONDE_E_TRUNCATED);
    static const size_t wrong[] = {0, 7, 28, 31, 32, 33}; /* magic, pid too large, reserved */
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        bytes.bytes[wrong[i]] ^= 0x81;
        assert_int_equal(sn_ipc_decode_advertisement(bytes.bytes, bytes.size, &said, NULL),
                         SONDE_E_FORMAT);
        bytes.bytes[wrong[i]] ^= 0x81;
    }
    sn_buf_u8(&bytes, 0);
    assert_int_equal(sn_ipc_decode_advertisement(bytes.bytes, bytes.size, &said, NULL),
                     SONDE_E_FORMAT);
    sn_buf_done(&bytes);
}

static void a_private_port_is_ours_alone_and_leaves_nothing(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sonde_error err = {0};
    struct stat about;
    char path[128];
    char setting[160];
    size_t before = open_descriptors();
    (void)state;
    assert_int_equal(sn_ipc_port_new(NULL, &port, &err), SONDE_OK);
    (void)snprintf(path, sizeof(path), "%s", sn_ipc_port_path(port));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    (void)sn_ipc_port_setting(port, true, setting, sizeof(setting));
    assert_string_equal(setting + strlen(path), ",suspend");
    (void)sn_ipc_port_setting(port, false, setting, sizeof(setting));
    assert_string_equal(setting + strlen(path), ",nosuspend");
    sn_ipc_port_free(port);
    assert_int_equal(stat(path, &about), -1);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &about), -1);
    assert_int_equal(open_descriptors(), before);
    sn_ipc_port_free(NULL);
}

static void only_a_dead_socket_of_ours_is_replaced(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sn_ipc_port *second = NULL;
    char directory[] = "/tmp/sonde-port-XXXXXX";
    char path[64];
    struct sonde_error err = {0};
    (void)state;
    assert_non_null(mkdtemp(directory));
    (void)snprintf(path, sizeof(path), "%s/p", directory);
    assert_int_equal(sn_ipc_port_new(path, &port, &err), SONDE_OK);
    assert_int_equal(sn_ipc_port_new(path, &second, &err), SONDE_E_BUSY);
    assert_int_equal(access(path, F_OK), 0); /* the failure took nothing away */
    sn_ipc_port_free(port);

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int dead = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(dead, (struct sockaddr *)&address, sizeof(address)), 0);
    close(dead);
    err = (struct sonde_error){0};
    assert_int_equal(sn_ipc_port_new(path, &port, &err), SONDE_OK);
    sn_ipc_port_free(port);

    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(sn_ipc_port_new(path, &port, &err), SONDE_E_BUSY);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/tmp/elsewhere", path), 0);
    assert_int_equal(sn_ipc_port_new(path, &port, &err), SONDE_E_BUSY);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

static void paths_the_runtime_would_misread_are_refused(void **state)
{
    static const char *const paths[] = {"relative", "/tmp/a,b", "/tmp/a;b", "", NULL};
    char longest[109];
    (void)state;
    memset(longest, 'a', sizeof(longest));
    longest[0] = '/';
    longest[108] = '\0';
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        struct sn_ipc_port *port = NULL;
        struct sonde_error err = {0};
        const char *path = paths[i] ? paths[i] : longest;
        assert_int_equal(sn_ipc_port_new(path, &port, &err), SONDE_E_ARGUMENT);
    }
}

static void commands_go_over_one_connection_each(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sn_ipc_route route;
    struct sn_ipc_process_info info = {0};
    struct sonde_error err = {0};
    (void)state;
    assert_int_equal(sn_ipc_port_new(NULL, &port, &err), SONDE_OK);
    struct runtime runtime = {.path = sn_ipc_port_path(port), .turns = 4};
    assert_int_equal(pthread_create(&runtime.thread, NULL, be_a_runtime, &runtime), 0);
    assert_int_equal(sn_ipc_port_wait(port, getpid(), MS(5000), &route, &err), SONDE_OK);
    assert_int_equal(route.target.pid, getpid());
    assert_true(sn_ipc_guid_is_equal(&route.cookie, &cookie));
    for (unsigned turn = 0; turn < 2; turn++) {
        assert_int_equal(sn_ipc_get_process_info(&route, MS(5000), &info, &err), SONDE_OK);
        sn_ipc_process_info_done(&info);
    }
    struct sn_ipc_provider provider = {.name = "Any"};
    struct sn_ipc_wants wants = {.providers = &provider, .provider_count = 1, .buffer_mb = 1};
    struct sn_ipc_session session = {0};
    assert_int_equal(sn_ipc_session_open(&session, &route, &wants, &err), SONDE_OK);
    assert_int_equal(session.id, 5);
    assert_int_equal(sn_ipc_resume(&route, &err), SONDE_OK);
    sn_ipc_session_close(&session);
    assert_int_equal(pthread_join(runtime.thread, NULL), 0);
    sn_ipc_port_free(port);
}

static void a_runtime_that_does_not_come_back_times_out(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sn_ipc_route route;
    struct sn_ipc_process_info info = {0};
    struct sonde_error err = {0};
    (void)state;
    assert_int_equal(sn_ipc_port_new(NULL, &port, &err), SONDE_OK);
    int fd = arrive(sn_ipc_port_path(port), &cookie, our_pid());
    assert_int_equal(sn_ipc_port_wait(port, 0, MS(5000), &route, &err), SONDE_OK);
    close(fd);
    assert_int_equal(sn_ipc_get_process_info(&route, MS(100), &info, &err), SONDE_E_TIMEOUT);
    route.cookie = other_cookie;
    err = (struct sonde_error){0};
    assert_int_equal(sn_ipc_get_process_info(&route, MS(100), &info, &err), SONDE_E_NOT_FOUND);
    sn_ipc_port_free(port);
}

static void a_runtime_that_has_ended_is_gone(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sn_ipc_route route;
    struct sn_ipc_process_info info = {0};
    struct sonde_error err = {0};
    (void)state;
    assert_int_equal(sn_ipc_port_new(NULL, &port, &err), SONDE_OK);
    int child = fork();
    if (child == 0) {
        (void)arrive(sn_ipc_port_path(port), &cookie, our_pid());
        pause();
        _exit(0);
    }
    assert_int_equal(sn_ipc_port_wait(port, child, MS(5000), &route, &err), SONDE_OK);
    assert_int_equal(route.target.pid, child);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(sn_ipc_get_process_info(&route, MS(5000), &info, &err), SONDE_E_GONE);
    err = (struct sonde_error){0};
    assert_int_equal(sn_ipc_port_wait(port, child, MS(5000), &route, &err), SONDE_E_GONE);
    sn_ipc_port_free(port);
}

static void who_lies_about_itself_is_dropped(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sn_ipc_route route;
    struct sonde_error err = {0};
    uint8_t byte;
    (void)state;
    assert_int_equal(sn_ipc_port_new(NULL, &port, &err), SONDE_OK);
    int liar = arrive(sn_ipc_port_path(port), &cookie, 1);
    int stranger = connect_to(sn_ipc_port_path(port));
    fake_send(stranger, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 35);
    assert_int_equal(sn_ipc_port_wait(port, 0, MS(50), &route, &err), SONDE_E_TIMEOUT);
    /* Dropped: its end, or a reset when something was left unread. */
    assert_true(recv(liar, &byte, 1, MSG_DONTWAIT) == 0);
    assert_true(recv(stranger, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET);
    close(liar);
    close(stranger);
    sn_ipc_port_free(port);
}

static void another_process_cannot_take_over_a_cookie(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sn_ipc_route route;
    struct sonde_error err = {0};
    (void)state;
    assert_int_equal(sn_ipc_port_new(NULL, &port, &err), SONDE_OK);
    int fd = arrive(sn_ipc_port_path(port), &cookie, our_pid());
    assert_int_equal(sn_ipc_port_wait(port, 0, MS(5000), &route, &err), SONDE_OK);
    int child = fork();
    if (child == 0) {
        uint8_t byte;
        int mine = arrive(sn_ipc_port_path(port), &cookie, our_pid());
        _exit(recv(mine, &byte, 1, 0) == 0 ? 0 : 1);
    }
    assert_int_equal(sn_ipc_port_wait(port, child, MS(5000), &route, &err), SONDE_E_GONE);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(fd);
    sn_ipc_port_free(port);
}

struct arrivals {
    unsigned count;
    int pid;
};

static void count_arrival(void *user, const struct sn_ipc_target *target,
                          const struct sn_ipc_guid *of)
{
    struct arrivals *arrivals = user;
    (void)of;
    arrivals->count++;
    arrivals->pid = target->pid;
}

static void turn_for(struct sn_loop *loop, uint64_t ns)
{
    uint64_t until = sn_clock_deadline(ns);
    while (sn_clock_monotonic_ns() < until)
        assert_int_equal(sn_loop_turn(loop, until, NULL), SONDE_OK);
}

static void on_a_loop_each_runtime_arrives_once_even_in_crumbs(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sn_loop *loop = NULL;
    struct arrivals arrivals = {0};
    struct sn_buf bytes = advertisement(&cookie, our_pid());
    struct sonde_error err = {0};
    (void)state;
    assert_int_equal(sn_loop_new(&loop, &err), SONDE_OK);
    assert_int_equal(sn_ipc_port_new(NULL, &port, &err), SONDE_OK);
    assert_int_equal(sn_ipc_port_watch(port, loop, count_arrival, &arrivals, &err), SONDE_OK);
    int fd = connect_to(sn_ipc_port_path(port));
    for (size_t i = 0; i < bytes.size; i++) {
        assert_int_equal(arrivals.count, 0);
        fake_send(fd, bytes.bytes + i, 1);
        turn_for(loop, MS(2));
    }
    assert_int_equal(arrivals.count, 1);
    assert_int_equal(arrivals.pid, getpid());
    close(fd);
    fd = arrive(sn_ipc_port_path(port), &cookie, our_pid());
    int second = arrive(sn_ipc_port_path(port), &other_cookie, our_pid());
    turn_for(loop, MS(20));
    assert_int_equal(arrivals.count, 2); /* the old one again, and a new one */
    close(fd);
    close(second);
    sn_ipc_port_free(port);
    sn_loop_free(loop);
    sn_buf_done(&bytes);
}

/* Two runtimes connect at once; one is waited for, the other must not be forgotten when a loop
 * takes over. */
static void who_came_before_the_loop_is_told_of_once(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sn_loop *loop = NULL;
    struct sn_ipc_route route;
    struct sonde_error err = {0};
    struct arrivals arrivals = {0};
    (void)state;
    assert_int_equal(sn_ipc_port_new(NULL, &port, &err), SONDE_OK);
    assert_int_equal(sn_loop_new(&loop, &err), SONDE_OK);
    int first = arrive(sn_ipc_port_path(port), &cookie, our_pid());
    int second = arrive(sn_ipc_port_path(port), &other_cookie, our_pid());
    assert_int_equal(sn_ipc_port_wait(port, 0, MS(5000), &route, &err), SONDE_OK);
    assert_int_equal(sn_ipc_port_watch(port, loop, count_arrival, &arrivals, &err), SONDE_OK);
    turn_for(loop, MS(200));
    assert_int_equal(arrivals.count, 1);
    close(first);
    close(second);
    sn_ipc_port_free(port);
    sn_loop_free(loop);
}

static void who_says_nothing_is_dropped_in_time(void **state)
{
    struct sn_ipc_port *port = NULL;
    struct sn_loop *loop = NULL;
    struct arrivals arrivals = {0};
    struct sonde_error err = {0};
    uint8_t byte;
    int silent[80];
    (void)state;
    assert_int_equal(sn_loop_new(&loop, &err), SONDE_OK);
    assert_int_equal(sn_ipc_port_new(NULL, &port, &err), SONDE_OK);
    assert_int_equal(sn_ipc_port_watch(port, loop, count_arrival, &arrivals, &err), SONDE_OK);
    for (size_t i = 0; i < 80; i++) { /* more than it keeps waiting */
        silent[i] = connect_to(sn_ipc_port_path(port));
        turn_for(loop, MS(1));
    }
    assert_int_equal(recv(silent[0], &byte, 1, MSG_DONTWAIT), -1);
    turn_for(loop, MS(2300));
    for (size_t i = 0; i < 80; i++) {
        assert_int_equal(recv(silent[i], &byte, 1, MSG_DONTWAIT), 0);
        close(silent[i]);
    }
    int fd = arrive(sn_ipc_port_path(port), &cookie, our_pid());
    turn_for(loop, MS(20));
    assert_int_equal(arrivals.count, 1);
    close(fd);
    sn_ipc_port_free(port);
    sn_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_advertisement_is_read_and_every_cut_refused),
        cmocka_unit_test(a_private_port_is_ours_alone_and_leaves_nothing),
        cmocka_unit_test(only_a_dead_socket_of_ours_is_replaced),
        cmocka_unit_test(paths_the_runtime_would_misread_are_refused),
        cmocka_unit_test(commands_go_over_one_connection_each),
        cmocka_unit_test(a_runtime_that_does_not_come_back_times_out),
        cmocka_unit_test(a_runtime_that_has_ended_is_gone),
        cmocka_unit_test(who_lies_about_itself_is_dropped),
        cmocka_unit_test(another_process_cannot_take_over_a_cookie),
        cmocka_unit_test(on_a_loop_each_runtime_arrives_once_even_in_crumbs),
        cmocka_unit_test(who_came_before_the_loop_is_told_of_once),
        cmocka_unit_test(who_says_nothing_is_dropped_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
