/* Files from elsewhere on their way into a controller: as many and as large as may, senders who
 * leave, workers without room, a disk that refuses, memory that ends. What was answered with 201 is
 * there in the next life, and nothing else is, nor a file of it. */
#include "controller_bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/file.h"
#include "daemon/operation.h"
#include "daemon/operation_table.h"
#include "failing_roads.h"

#define UPLOADS_MAX     4u
#define TEXTS_OF_A_NOTE 9u /* to the store: requests for memory of the last of them */
#define PATH            "/api/v1/recordings/upload?name=x.nettrace"

struct bench {
    struct controller *controller;
    struct sn_buf file; /* a trace */
};

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    struct sonde_error err = {0};
    assert_non_null(bench);
    bench->file = sn_buf_with_limit(1u << 20);
    if (sn_file_read_at(AT_FDCWD, SONDE_SOURCE_DIR "/tests/golden/nettrace/10-gc.nettrace",
                        &bench->file, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    bench->controller = controller_new();
    bench->controller->options.no_store = false;
    controller_start(bench->controller);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    controller_free(bench->controller);
    sn_buf_done(&bench->file);
    free(bench);
    return 0;
}

/* --- senders --- */

/* A head that says how long the body is; UINT64_MAX: it comes in chunks. */
static int announce(struct bench *bench, uint64_t size)
{
    char head[512];
    char length[64] = "Transfer-Encoding: chunked";
    int client = http_connect(bench->controller->port);
    if (size != UINT64_MAX)
        (void)snprintf(length, sizeof(length), "Content-Length: %llu", (unsigned long long)size);
    (void)snprintf(head, sizeof(head),
                   "POST " PATH " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s\r\n\r\n",
                   length);
    http_say(client, head);
    return client;
}

/* As much of `size` bytes as is wanted. */
static void send_some(struct bench *bench, int client, size_t size)
{
    static const char block[4096];
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    while (size) {
        size_t part = size < sizeof(block) ? size : sizeof(block);
        ssize_t sent = send(client, block, part, MSG_NOSIGNAL | MSG_DONTWAIT);
        size -= sent > 0 ? (size_t)sent : 0;
        if (http_turn(bench->controller->daemon.http, client, sent > 0 ? 0 : 10))
            return; /* it has its answer already */
        assert_true(sn_clock_monotonic_ns() < end_ns);
    }
}

static unsigned send_file(struct bench *bench)
{
    int client = announce(bench, bench->file.size);
    http_say_bytes(client, (const char *)bench->file.bytes, bench->file.size);
    return controller_read(bench->controller, client);
}

static struct sn_operations *table(const struct bench *bench)
{
    return bench->controller->daemon.operations;
}

static unsigned count_files(const struct bench *bench, const char *folder)
{
    char path[128];
    unsigned count = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", bench->controller->folder, folder);
    DIR *files = opendir(path);
    assert_non_null(files);
    for (const struct dirent *entry; (entry = readdir(files));)
        count += entry->d_name[0] != '.';
    (void)closedir(files);
    return count;
}

/* Nothing is on its way any more, nor left behind. */
static void await_nothing(struct bench *bench)
{
    controller_until(bench->controller, atomic_load(&table(bench)->upload_count) == 0);
    assert_int_equal(atomic_load(&table(bench)->upload_bytes), 0);
    assert_int_equal(count_files(bench, "spool"), 0);
    assert_int_equal(sn_router_numbers(bench->controller->daemon.router)->open_count, 0);
}

/* --- ceilings --- */

static void so_many_come_at_once_and_a_place_is_free_again(void **state)
{
    struct bench *bench = *state;
    int clients[UPLOADS_MAX];
    for (unsigned i = 0; i < UPLOADS_MAX; i++) {
        clients[i] = announce(bench, 1000);
        http_say(clients[i], "the first bytes");
        controller_until(bench->controller, atomic_load(&table(bench)->upload_count) == i + 1);
    }
    assert_int_equal(send_file(bench), 429);
    assert_non_null(strstr(bench->controller->answer, "Retry-After: 5\r\n"));
    assert_non_null(strstr(bench->controller->answer, "4 files are being sent already"));
    (void)close(clients[0]); /* in the middle of it */
    controller_until(bench->controller,
                     atomic_load(&table(bench)->upload_count) == UPLOADS_MAX - 1);
    assert_int_equal(count_files(bench, "spool"), UPLOADS_MAX - 1);
    assert_int_equal(send_file(bench), 201);
    for (unsigned i = 1; i < UPLOADS_MAX; i++)
        (void)close(clients[i]);
    await_nothing(bench);
}

static void what_is_larger_than_there_is_room_for_is_refused_early_or_amid(void **state)
{
    struct bench *bench = *state;
    bench->controller->options.store_bytes_max = 1u << 20;
    controller_stop(bench->controller);
    controller_start(bench->controller);
    int large = announce(bench, 1u << 30); /* nothing of it was sent */
    assert_int_equal(controller_read(bench->controller, large), 413);
    int promised = announce(bench, 900000);
    http_say(promised, "x");
    controller_until(bench->controller, atomic_load(&table(bench)->upload_bytes) == 900000);
    int second = announce(bench, 900000); /* the room is another's */
    assert_int_equal(controller_read(bench->controller, second), 413);
    (void)close(promised);
    await_nothing(bench);
    int unknown = announce(bench, UINT64_MAX);
    http_say(unknown, "400000\r\n"); /* four megabytes */
    send_some(bench, unknown, 4u << 20);
    http_say(unknown, "\r\n0\r\n\r\n"); /* dropped, but read */
    assert_int_equal(controller_read(bench->controller, unknown), 413);
    await_nothing(bench);
    assert_int_equal(send_file(bench), 201);
}

/* --- workers --- */

static void without_room_in_the_workers_it_is_refused_and_its_file_goes(void **state)
{
    struct bench *bench = *state;
    struct controller_hold hold;
    static struct sn_mailbox_task task;
    controller_hold_worker(bench->controller, &hold);
    assert_true(sn_workers_offer(bench->controller->daemon.workers, &task, controller_pass, NULL));
    int client = announce(bench, 2u << 20);
    send_some(bench, client, 2u << 20);
    assert_int_equal(controller_read(bench->controller, client), 503); /* amid */
    assert_non_null(strstr(bench->controller->answer, "Retry-After: "));
    await_nothing(bench);
    assert_int_equal(send_file(bench), 503); /* at its end */
    await_nothing(bench);
    controller_let_go(&hold);
    controller_until(bench->controller, send_file(bench) == 201);
    await_nothing(bench);
}

static void who_leaves_while_it_is_written_leaves_nothing(void **state)
{
    struct bench *bench = *state;
    struct controller_hold hold;
    controller_hold_worker(bench->controller, &hold);
    int client = announce(bench, 4u << 20);
    send_some(bench, client, 1u << 20); /* of which a piece waits for the worker */
    (void)close(client);
    controller_until(bench->controller,
                     sn_http_server_connection_count(bench->controller->daemon.http) == 0);
    assert_int_equal(atomic_load(&table(bench)->upload_count), 1);
    controller_let_go(&hold);
    await_nothing(bench);
}

/* --- a disk that refuses --- */

static void a_disk_that_refuses_is_told_and_nothing_is_left(void **state)
{
    struct bench *bench = *state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 300000, .rlim_max = before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    int client = announce(bench, 2u << 20);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    send_some(bench, client, 2u << 20);
    unsigned status = controller_read(bench->controller, client);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, 507);
    assert_non_null(strstr(bench->controller->answer, "it cannot be written: File too large"));
    await_nothing(bench);
    assert_int_equal(count_files(bench, "store/files"), 0);
    assert_int_equal(send_file(bench), 201);
}

/* --- without memory --- */

static size_t count_recordings(struct bench *bench)
{
    size_t count = 0;
    assert_int_equal(controller_get(bench->controller, "/api/v1/recordings"), 200);
    for (const char *at = bench->controller->answer; (at = strstr(at, "\"id\":\"")); at++)
        count++;
    return count;
}

/* In this life and in the next. */
static void check_kept(struct bench *bench, size_t acknowledged)
{
    await_nothing(bench);
    assert_int_equal(count_recordings(bench), acknowledged);
    controller_stop(bench->controller);
    controller_start(bench->controller);
    controller_until(bench->controller, count_recordings(bench) == acknowledged);
    assert_int_equal(count_files(bench, "store/files"), acknowledged);
}

static void check_answer(struct bench *bench, unsigned n, unsigned status)
{
    if (status != 201 && status != 503 && status != 0)
        fail_msg("without request %u for memory: %.300s", n, bench->controller->answer);
}

static void without_memory_in_the_http_thread_it_is_kept_or_refused(void **state)
{
    struct bench *bench = *state;
    size_t acknowledged = 0;
    unsigned refused = 1;
    for (unsigned n = 0; refused; n++) {
        int client = announce(bench, bench->file.size);
        http_say_bytes(client, (const char *)bench->file.bytes, bench->file.size);
        memory_fails_at(n);
        unsigned status = controller_read(bench->controller, client);
        refused = memory_is_back();
        check_answer(bench, n, status);
        acknowledged += status == 201;
    }
    check_kept(bench, acknowledged);
}

static void without_memory_in_the_roads_thread_what_is_acknowledged_is_kept(void **state)
{
    struct bench *bench = *state;
    size_t acknowledged = 0;
    unsigned unkept = 0;
    unsigned refused = 1;
    for (unsigned n = 0; refused; n++) {
        roads_memory_fails_at(bench->controller, n);
        unsigned status = send_file(bench);
        refused = roads_memory_is_back(bench->controller);
        check_answer(bench, n, status);
        acknowledged += status == 201;
        unkept += status == 503 && strstr(bench->controller->answer, "it cannot be kept") != NULL;
        check_kept(bench, acknowledged);
    }
    assert_true(unkept > TEXTS_OF_A_NOTE); /* or memory is there again when the store hears of it */
}

#define UPLOAD_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UPLOAD_TEST(so_many_come_at_once_and_a_place_is_free_again),
        UPLOAD_TEST(what_is_larger_than_there_is_room_for_is_refused_early_or_amid),
        UPLOAD_TEST(without_room_in_the_workers_it_is_refused_and_its_file_goes),
        UPLOAD_TEST(who_leaves_while_it_is_written_leaves_nothing),
        UPLOAD_TEST(a_disk_that_refuses_is_told_and_nothing_is_left),
        UPLOAD_TEST(without_memory_in_the_http_thread_it_is_kept_or_refused),
        UPLOAD_TEST(without_memory_in_the_roads_thread_what_is_acknowledged_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
