/* Calls on their way through the threads: where a seat is full, where clients leave, where answers
 * wait to be read, where memory ends. Every request gets its answer, and no call stays behind. */
#include "controller_bench.h"

#include "failing_roads.h"
#include "store_bench.h"

#define STORE_TASKS_MAX 1024u
#define ROADS_TASKS_MAX 4096u

static struct sn_mailbox_task tasks[ROADS_TASKS_MAX];

static struct controller *start(bool has_store)
{
    struct controller *bench = controller_new();
    bench->options.no_store = !has_store;
    controller_start(bench);
    return bench;
}

static unsigned open_calls(const struct controller *bench)
{
    return sn_router_numbers(bench->daemon.router)->open_count;
}

/* --- seats that are full --- */

static bool offer_to_store(struct controller *bench, struct sn_mailbox_task *task)
{
    return sn_store_desk_offer(bench->daemon.store, task, controller_pass, NULL);
}

static bool offer_to_roads(struct controller *bench, struct sn_mailbox_task *task)
{
    return sn_roads_offer(bench->daemon.roads, task, controller_pass, NULL);
}

static bool offer_to_worker(struct controller *bench, struct sn_mailbox_task *task)
{
    return sn_workers_offer(bench->daemon.workers, task, controller_pass, NULL);
}

static const struct seat {
    const char *path; /* of a route that is handled there */
    void (*hold)(struct controller *bench, struct controller_hold *hold);
    bool (*offer)(struct controller *bench, struct sn_mailbox_task *task);
    unsigned ceiling;
} seats[] = {
    {"/api/v1/history/processes", controller_hold_store, offer_to_store, STORE_TASKS_MAX},
    {"/api/v1/recordings", controller_hold_roads, offer_to_roads, ROADS_TASKS_MAX},
    {"/api/v1/processes", controller_hold_worker, offer_to_worker, 1},
};

/* Of calls: until so many are under way. */
static void await_calls(struct controller *bench, unsigned count)
{
    controller_until(bench, open_calls(bench) == count);
}

static void fill(struct controller *bench, const struct seat *seat, unsigned ceiling)
{
    unsigned count = 0;
    while (count < ceiling && seat->offer(bench, &tasks[count]))
        count++;
    assert_int_equal(count, ceiling);
}

static void a_full_seat_refuses_what_is_new_and_keeps_what_it_let_in(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(seats) / sizeof(*seats); i++) {
        const struct seat *seat = &seats[i];
        struct controller *bench = start(true);
        struct controller_hold hold;
        seat->hold(bench, &hold);
        int let_in = controller_ask(bench, "GET", seat->path);
        await_calls(bench, 1);
        fill(bench, seat, seat->ceiling - 1);
        assert_int_equal(controller_get(bench, seat->path), 503);
        assert_non_null(strstr(bench->answer, "Retry-After: 1\r\n"));
        assert_non_null(strstr(bench->answer, "too much waits to be done already"));
        assert_int_equal(controller_get(bench, "/api/v1/openapi.json"), 200); /* in its own seat */
        assert_int_equal(open_calls(bench), 1);
        controller_let_go(&hold);
        assert_int_equal(controller_read(bench, let_in), 200);
        assert_int_equal(open_calls(bench), 0);
        controller_until(bench, controller_get(bench, seat->path) == 200); /* room again */
        controller_free(bench);
    }
}

static void without_a_store_its_seat_says_so(void **state)
{
    (void)state;
    struct controller *bench = start(false);
    assert_int_equal(controller_get(bench, seats[0].path), 404);
    assert_non_null(strstr(bench->answer, "nothing is kept"));
    assert_int_equal(open_calls(bench), 0);
    controller_free(bench);
}

/* --- clients that leave --- */

static void a_call_whose_client_left_is_gone_when_its_seat_is_through_with_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(seats) / sizeof(*seats); i++) {
        struct controller *bench = start(true);
        struct controller_hold hold;
        seats[i].hold(bench, &hold);
        int client = controller_ask(bench, "GET", seats[i].path);
        await_calls(bench, 1);
        (void)close(client);
        controller_until(bench, sn_http_server_connection_count(bench->daemon.http) == 0);
        assert_int_equal(open_calls(bench), 1); /* the seat has it still */
        controller_let_go(&hold);
        await_calls(bench, 0);
        assert_int_equal(controller_get(bench, seats[i].path), 200);
        controller_free(bench);
    }
}

/* The news of it comes to the seat that the call has just left, and is back before the call. */
static void a_call_that_moves_on_outlives_its_client(void **state)
{
    (void)state;
    char id[37];
    char path[128];
    struct controller *bench = start(false);
    struct controller_hold roads;
    struct controller_hold worker;
    controller_upload(bench, "10-gc.nettrace", id);
    (void)snprintf(path, sizeof(path), "/api/v1/recordings/%s/download?format=nettrace6", id);
    controller_hold_worker(bench, &worker);
    controller_hold_roads(bench, &roads);
    int client = controller_ask(bench, "GET", path);
    await_calls(bench, 1);
    (void)close(client);
    controller_until(bench, sn_http_server_connection_count(bench->daemon.http) == 0);
    controller_let_go(&roads);
    controller_on_roads(bench, controller_pass, NULL);
    http_serve_what_is_there(bench->daemon.http); /* the news are back */
    assert_int_equal(open_calls(bench), 1);       /* the worker has it now */
    controller_let_go(&worker);
    await_calls(bench, 0);
    controller_free(bench);
}

static void a_controller_that_ends_leaves_no_call_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(seats) / sizeof(*seats); i++) {
        struct controller *bench = start(true);
        struct controller_hold hold;
        seats[i].hold(bench, &hold);
        int client = controller_ask(bench, "GET", seats[i].path);
        await_calls(bench, 1);
        controller_let_go(&hold);
        controller_free(bench); /* the sanitizers look */
        (void)close(client);
    }
}

/* --- answers that are large --- */

#define HELD_MAX (256u << 20) /* of all that wait to be read */
#define MANY     90000u       /* points: more than a megabyte of JSON */

struct filling {
    struct sn_mailbox_task task;
    struct store_bench bench;
    sem_t is_done;
};

static void put_many(void *user)
{
    struct filling *filling = user;
    int64_t process = bench_process(&filling->bench, 7, "shop");
    for (uint64_t second = 0; second < MANY; second++)
        bench_put(&filling->bench, process, "cpu", second, (double)second);
    (void)sem_post(&filling->is_done);
}

static void large_answers_have_a_ceiling_together_and_give_it_back(void **state)
{
    (void)state;
    static const char large[] = "/api/v1/history/counters?limit=100000";
    struct controller *bench = start(true);
    struct filling filling = {.bench.store = sn_store_desk_store(bench->daemon.store)};
    assert_int_equal(sem_init(&filling.is_done, 0, 0), 0);
    sn_store_desk_post(bench->daemon.store, &filling.task, put_many, &filling);
    controller_wait(&filling.is_done);
    bench->daemon.held_bytes = HELD_MAX - (1u << 20); /* others read as much already */
    assert_int_equal(controller_get(bench, large), 503);
    assert_non_null(strstr(bench->answer, "Retry-After: 5\r\n"));
    assert_non_null(strstr(bench->answer, "too many large answers are still being read"));
    assert_int_equal(controller_get(bench, seats[1].path), 200); /* small ones go out */
    assert_int_equal(bench->daemon.held_bytes, HELD_MAX - (1u << 20));
    bench->daemon.held_bytes = 0;
    int client = controller_ask(bench, "GET", large);
    http_serve_until_readable(bench->daemon.http, client);
    assert_true(recv(client, bench->answer, 12, MSG_WAITALL) == 12);
    assert_memory_equal(bench->answer, "HTTP/1.1 200", 12);
    (void)close(client); /* in the middle of it */
    controller_until(bench, bench->daemon.held_bytes == 0 && open_calls(bench) == 0);
    controller_free(bench);
}

/* --- without memory --- */

/* What is asked, and what it may not become: an answer that is wrong. */
static const struct question {
    const char *path;
    unsigned good;
} questions[] = {
    {"/api/v1/recordings", 200},
    {"/api/v1/openapi.json", 200},
    {"/api/v1/history/processes?process=a%2A&limit=5", 200},
    {"/api/v1/recordings/00000000-0000-4000-8000-000000000000", 404},
};

static void check_answer(struct controller *bench, const struct question *question, unsigned n,
                         unsigned status)
{
    if (status != question->good && status != 503 && status != 0)
        fail_msg("%s without request %u for memory: %.300s", question->path, n, bench->answer);
    assert_int_equal(open_calls(bench), 0);
}

static void every_request_of_the_http_thread_may_find_no_memory(void **state)
{
    (void)state;
    struct controller *bench = start(true);
    for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
        unsigned refused = 1;
        unsigned honest = 0;
        assert_int_equal(controller_get(bench, questions[i].path), questions[i].good);
        for (unsigned n = 0; refused; n++) {
            int client = controller_ask(bench, "GET", questions[i].path);
            memory_fails_at(n);
            unsigned status = controller_read(bench, client);
            refused = memory_is_back();
            check_answer(bench, &questions[i], n, status);
            honest += status == 503;
        }
        assert_true(honest > 0);
    }
    controller_free(bench);
}

static void every_request_of_the_roads_thread_may_find_no_memory(void **state)
{
    (void)state;
    struct controller *bench = start(true);
    for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
        unsigned refused = 1;
        for (unsigned n = 0; refused; n++) {
            roads_memory_fails_at(bench, n);
            unsigned status = controller_get(bench, questions[i].path);
            refused = roads_memory_is_back(bench);
            check_answer(bench, &questions[i], n, status);
        }
    }
    controller_free(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_seat_refuses_what_is_new_and_keeps_what_it_let_in),
        cmocka_unit_test(without_a_store_its_seat_says_so),
        cmocka_unit_test(a_call_whose_client_left_is_gone_when_its_seat_is_through_with_it),
        cmocka_unit_test(a_call_that_moves_on_outlives_its_client),
        cmocka_unit_test(a_controller_that_ends_leaves_no_call_behind),
        cmocka_unit_test(large_answers_have_a_ceiling_together_and_give_it_back),
        cmocka_unit_test(every_request_of_the_http_thread_may_find_no_memory),
        cmocka_unit_test(every_request_of_the_roads_thread_may_find_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
