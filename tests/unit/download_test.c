/* Recordings in other formats, written while their reader follows: too many, a disk that refuses,
 * readers who leave, memory that ends. An answer that looks whole is whole, and no file is left. */
#include "failing_roads.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "daemon/operation_table.h"

#define CONVERTED_MAX 32u

struct bench {
    struct controller *controller;
    char path[128];
    char whole[CONTROLLER_ANSWER_MAX]; /* as NDJSON */
};

/* The body of an answer in chunks, of which the last is empty; NULL: it was cut off. */
static const char *join_chunks(char *body)
{
    char *to = body;
    for (const char *at = body;;) {
        char *text;
        size_t size = strtoul(at, &text, 16);
        if (text == at || strncmp(text, "\r\n", 2) != 0 || strlen(text) < size + 4)
            return NULL;
        memmove(to, text + 2, size);
        to += size;
        at = text + 2 + size + 2;
        if (!size) {
            *to = '\0';
            return body;
        }
    }
}

/* What is behind the head; NULL: it was cut off. */
static const char *body_of(const struct bench *bench)
{
    char *body = strstr(bench->controller->answer, "\r\n\r\n");
    if (!body)
        return NULL;
    body[2] = '\0';
    bool is_chunked = strstr(bench->controller->answer, "Transfer-Encoding: chunked") != NULL;
    return is_chunked ? join_chunks(body + 4) : body + 4;
}

static unsigned get(struct bench *bench, const char *format)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/download?format=%s", bench->path, format);
    return controller_get(bench->controller, path);
}

static struct sn_operations *table(const struct bench *bench)
{
    return bench->controller->daemon.operations;
}

/* But for the recording itself, which lies there without a store. */
static unsigned count_files(const struct bench *bench)
{
    unsigned count = 0;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/spool", bench->controller->folder);
    DIR *files = opendir(path);
    assert_non_null(files);
    for (const struct dirent *entry; (entry = readdir(files));)
        count += strstr(entry->d_name, ".out") != NULL;
    (void)closedir(files);
    return count;
}

static void await_nothing(struct bench *bench)
{
    controller_until(bench->controller, atomic_load(&table(bench)->spool_count) == 0);
    assert_int_equal(count_files(bench), 0);
    controller_until(bench->controller,
                     sn_router_numbers(bench->controller->daemon.router)->open_count == 0 &&
                         bench->controller->daemon.file_reader_count == 0);
}

static int begin(void **state)
{
    char id[37];
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    bench->controller = controller_new();
    bench->controller->options.waiting_max = 4;
    controller_start(bench->controller);
    controller_upload(bench->controller, "10-gc.nettrace", id);
    (void)snprintf(bench->path, sizeof(bench->path), "/api/v1/recordings/%s", id);
    assert_int_equal(get(bench, "ndjson"), 200);
    (void)snprintf(bench->whole, sizeof(bench->whole), "%s", body_of(bench));
    assert_true(strlen(bench->whole) > 1000);
    await_nothing(bench);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    await_nothing(bench);
    controller_free(bench->controller);
    free(bench);
    return 0;
}

/* The worker stands before it writes, when this returns: the answer has begun. */
static int ask_and_stand(struct bench *bench, struct controller_hold *hold)
{
    char path[160];
    struct controller_hold first;
    (void)snprintf(path, sizeof(path), "%s/download?format=ndjson", bench->path);
    controller_hold_worker(bench->controller, &first);
    int client = controller_ask(bench->controller, "GET", path);
    controller_until(bench->controller,
                     sn_workers_waiting_count(bench->controller->daemon.workers));
    controller_hold_init(hold);
    assert_true(
        sn_workers_offer(bench->controller->daemon.workers, &hold->task, controller_stand, hold));
    controller_let_go(&first);
    controller_wait(&hold->is_there);
    return client;
}

/* --- ceilings --- */

static void so_many_are_converted_at_once_and_a_place_is_free_again(void **state)
{
    struct bench *bench = *state;
    static const char *const formats[] = {"ndjson", "nettrace6", "speedscope"};
    atomic_store(&table(bench)->spool_count, CONVERTED_MAX); /* others read as many */
    for (unsigned i = 0; i < 3; i++) {
        unsigned status = get(bench, formats[i]);
        if (status == 404 && i == 2)
            continue; /* it has no stacks to show */
        assert_int_equal(status, 429);
        assert_non_null(strstr(bench->controller->answer, "32 converted files are being read"));
    }
    assert_int_equal(atomic_load(&table(bench)->spool_count), CONVERTED_MAX);
    atomic_store(&table(bench)->spool_count, CONVERTED_MAX - 1);
    assert_int_equal(get(bench, "ndjson"), 200);
    controller_until(bench->controller,
                     atomic_load(&table(bench)->spool_count) == CONVERTED_MAX - 1);
    atomic_store(&table(bench)->spool_count, 0);
}

static void a_reader_who_leaves_before_the_end_leaves_no_file(void **state)
{
    struct bench *bench = *state;
    struct controller_hold hold;
    int client = ask_and_stand(bench, &hold);
    http_serve_until_readable(bench->controller->daemon.http, client); /* the head */
    assert_int_equal(atomic_load(&table(bench)->spool_count), 1);
    (void)close(client);
    controller_until(bench->controller, bench->controller->daemon.file_reader_count == 0);
    controller_let_go(&hold);
    await_nothing(bench);
}

/* --- a disk that refuses --- */

static void a_disk_that_refuses_cuts_the_answer_off(void **state)
{
    struct bench *bench = *state;
    struct rlimit before;
    struct controller_hold hold;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 500, .rlim_max = before.rlim_max};
    int client = ask_and_stand(bench, &hold);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    controller_let_go(&hold);
    unsigned status = controller_read(bench->controller, client);
    bool looks_whole = body_of(bench) != NULL;
    unsigned whole_status = get(bench, "nettrace6"); /* made before its answer */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, 200); /* that was said before */
    assert_false(looks_whole);
    assert_true(whole_status >= 500);
    await_nothing(bench);
    assert_int_equal(get(bench, "ndjson"), 200);
    assert_string_equal(body_of(bench), bench->whole);
}

/* --- without memory --- */

/* The answer begins while there is nothing of the file yet: whoever follows it must hear of it. */
static void a_reader_without_memory_follows_or_is_refused(void **state)
{
    struct bench *bench = *state;
    unsigned refused = 1;
    unsigned honest = 0;
    for (unsigned n = 0; refused; n++) {
        struct controller_hold hold;
        int client = ask_and_stand(bench, &hold);
        memory_fails_at(n);
        http_serve_until_readable(bench->controller->daemon.http, client);
        controller_let_go(&hold);
        unsigned status = controller_read(bench->controller, client);
        refused = memory_is_back();
        honest += status == 503;
        if (status == 503) /* it is no file */
            assert_null(strstr(bench->controller->answer, "Content-Disposition"));
        if (status != 503 && status != 0)
            assert_int_equal(status, 200);
        if (status == 200)
            assert_string_equal(body_of(bench), bench->whole);
        await_nothing(bench);
    }
    assert_true(honest > 0);
}

#define DOWNLOAD_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(so_many_are_converted_at_once_and_a_place_is_free_again),
        DOWNLOAD_TEST(a_reader_who_leaves_before_the_end_leaves_no_file),
        DOWNLOAD_TEST(a_disk_that_refuses_cuts_the_answer_off),
        DOWNLOAD_TEST(a_reader_without_memory_follows_or_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
