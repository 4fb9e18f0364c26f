/* Recordings that many want to read at once: as many as may, workers without room, readers who
 * leave, memory that ends, a file that has gone. An answer is whole, or says why there is none. */
#include "failing_roads.h"

#include <string.h>

#define READINGS_MAX 64u

struct bench {
    struct controller *controller;
    char report[128]; /* the path of what is read */
    char whole[CONTROLLER_ANSWER_MAX];
};

/* The text behind the head. */
static const char *body_of(const struct bench *bench)
{
    const char *end = strstr(bench->controller->answer, "\r\n\r\n");
    return end ? end + 4 : "";
}

static struct bench *start(unsigned waiting_max)
{
    char id[37];
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    bench->controller = controller_new();
    bench->controller->options.waiting_max = waiting_max;
    controller_start(bench->controller);
    controller_upload(bench->controller, "10-gc.nettrace", id);
    (void)snprintf(bench->report, sizeof(bench->report), "/api/v1/recordings/%s/report", id);
    return bench;
}

static void end(struct bench *bench)
{
    assert_int_equal(sn_router_numbers(bench->controller->daemon.router)->open_count, 0);
    controller_free(bench->controller);
    free(bench);
}

/* From some microsecond on: another reading each. */
static void path_of(const struct bench *bench, unsigned from, char to[160])
{
    (void)snprintf(to, 160, "%s?from=0.%06u", bench->report, from);
}

static int ask(struct bench *bench, unsigned from)
{
    char path[160];
    path_of(bench, from, path);
    return controller_ask(bench->controller, "GET", path);
}

static void await_calls(struct bench *bench, unsigned count)
{
    controller_until(bench->controller,
                     sn_router_numbers(bench->controller->daemon.router)->open_count == count);
    controller_on_roads(bench->controller, controller_pass, NULL); /* it has them all */
}

static void so_many_are_read_at_once_and_a_place_is_free_again(void **state)
{
    (void)state;
    struct bench *bench = start(2 * READINGS_MAX);
    struct controller_hold hold;
    int clients[READINGS_MAX];
    controller_hold_worker(bench->controller, &hold);
    for (unsigned i = 0; i < READINGS_MAX; i++)
        clients[i] = ask(bench, i);
    await_calls(bench, READINGS_MAX);
    assert_int_equal(controller_read(bench->controller, ask(bench, 1000)), 429);
    assert_non_null(strstr(bench->controller->answer, "Retry-After: 2\r\n"));
    assert_non_null(strstr(bench->controller->answer, "64 views of recordings are being read"));
    int same = ask(bench, 5); /* with whom waits for it already */
    await_calls(bench, READINGS_MAX + 1);
    (void)close(clients[READINGS_MAX - 1]); /* it waits for a worker: nobody waits for it now */
    await_calls(bench, READINGS_MAX);
    int other = ask(bench, 1000);
    await_calls(bench, READINGS_MAX + 1);
    controller_let_go(&hold);
    for (unsigned i = 0; i < READINGS_MAX - 1; i++)
        if (controller_read(bench->controller, clients[i]) != 200)
            fail_msg("reader %u: %.1000s", i, bench->controller->answer);
    assert_int_equal(controller_read(bench->controller, same), 200);
    assert_int_equal(controller_read(bench->controller, other), 200);
    end(bench);
}

static void without_room_in_the_workers_it_is_refused_and_others_are_answered(void **state)
{
    (void)state;
    struct bench *bench = start(1);
    struct controller_hold hold;
    controller_hold_worker(bench->controller, &hold);
    int first = ask(bench, 0);
    await_calls(bench, 1);
    assert_int_equal(controller_read(bench->controller, ask(bench, 1)), 503);
    assert_non_null(strstr(bench->controller->answer, "too much is under way"));
    controller_let_go(&hold);
    assert_int_equal(controller_read(bench->controller, first), 200);
    assert_int_equal(controller_read(bench->controller, ask(bench, 1)), 200);
    end(bench);
}

/* They were let in, and wait for a worker when the workers have no room: what they were asked about
 * has ended long ago, and is not empty. */
static void those_who_waited_in_vain_are_refused_honestly(void **state)
{
    (void)state;
    struct bench *bench = start(5);
    struct controller_hold hold;
    int clients[READINGS_MAX];
    unsigned refused_count = 0;
    controller_hold_worker(bench->controller, &hold);
    for (unsigned i = 0; i < READINGS_MAX; i++)
        clients[i] = ask(bench, i);
    await_calls(bench, READINGS_MAX);
    controller_let_go(&hold);
    for (unsigned i = 0; i < READINGS_MAX; i++) {
        unsigned status = controller_read(bench->controller, clients[i]);
        if (status != 200 && status != 503)
            fail_msg("reader %u: %.1000s", i, bench->controller->answer);
        refused_count += status == 503;
    }
    assert_true(refused_count < READINGS_MAX);
    end(bench);
}

static void those_who_wait_for_one_that_is_deleted_are_told(void **state)
{
    (void)state;
    enum { AT_ONCE = 4 }; /* that workers have, or will have */
    struct bench *bench = start(8);
    struct controller_hold hold;
    int clients[AT_ONCE + 1];
    controller_hold_worker(bench->controller, &hold);
    for (unsigned i = 0; i <= AT_ONCE; i++) {
        clients[i] = ask(bench, i);
        await_calls(bench, i + 1);
    }
    bench->report[strlen(bench->report) - strlen("/report")] = '\0';
    int deleting = controller_ask(bench->controller, "DELETE", bench->report);
    assert_int_equal(controller_read(bench->controller, deleting), 204);
    controller_let_go(&hold);
    for (unsigned i = 0; i < AT_ONCE; i++)
        assert_int_equal(controller_read(bench->controller, clients[i]), 200);
    assert_int_equal(controller_read(bench->controller, clients[AT_ONCE]), 404);
    assert_non_null(strstr(bench->controller->answer, "the recording was deleted"));
    end(bench);
}

static void readers_who_leave_take_nothing_from_those_who_stay(void **state)
{
    (void)state;
    struct bench *bench = start(8);
    struct controller_hold hold;
    int clients[8];
    controller_hold_worker(bench->controller, &hold);
    for (unsigned i = 0; i < 8; i++)
        clients[i] = ask(bench, i / 4); /* four of each */
    await_calls(bench, 8);
    for (unsigned i = 1; i < 8; i++)
        if (i != 2)
            (void)close(clients[i]);
    await_calls(bench, 2);
    controller_let_go(&hold);
    assert_int_equal(controller_read(bench->controller, clients[0]), 200);
    assert_int_equal(controller_read(bench->controller, clients[2]), 200);
    end(bench);
}

/* --- without memory --- */

/* A second reader, with all the memory there is, gets the same. One who was refused is asked to
 * come again, which is tried for the first of them: a reading that failed rests for two seconds. */
static void check_answer(struct bench *bench, unsigned n, unsigned status)
{
    (void)snprintf(bench->whole, sizeof(bench->whole), "%s", body_of(bench));
    if (status != 200 && status != 503 && status != 429)
        fail_msg("without request %u for memory: %.500s", n, bench->controller->answer);
    if (n && status != 200)
        return;
    controller_until(bench->controller, controller_get(bench->controller, bench->report) == 200);
    if (status == 200 && strcmp(bench->whole, body_of(bench)) != 0)
        fail_msg("without request %u for memory: %.500s", n, bench->whole);
}

/* Each time a recording that nobody has read so far. */
static void without_memory_in_the_roads_thread_it_is_whole_or_refused(void **state)
{
    (void)state;
    unsigned refused = 1;
    unsigned honest = 0;
    for (unsigned n = 0; refused; n++) {
        struct bench *bench = start(8);
        roads_memory_fails_at(bench->controller, n);
        unsigned status = controller_get(bench->controller, bench->report);
        refused = roads_memory_is_back(bench->controller);
        honest += status != 200;
        check_answer(bench, n, status);
        end(bench);
    }
    assert_true(honest > 0);
}

struct worker_arming {
    struct sn_mailbox_task task;
    unsigned n; /* then: how many were refused */
    sem_t is_done;
};

static void arm_here(void *user)
{
    struct worker_arming *arming = user;
    memory_fails_at(arming->n);
    (void)sem_post(&arming->is_done);
}

static void disarm_here(void *user)
{
    struct worker_arming *arming = user;
    arming->n = memory_is_back();
    (void)sem_post(&arming->is_done);
}

/* In the only worker. */
static unsigned run_in_worker(struct bench *bench, void (*run)(void *user), unsigned n)
{
    struct worker_arming arming = {.n = n};
    assert_int_equal(sem_init(&arming.is_done, 0, 0), 0);
    assert_true(sn_workers_offer(bench->controller->daemon.workers, &arming.task, run, &arming));
    controller_wait(&arming.is_done);
    return arming.n;
}

static void without_memory_in_the_worker_it_is_whole_or_refused(void **state)
{
    (void)state;
    unsigned refused = 1;
    unsigned honest = 0;
    for (unsigned n = 0; refused; n += 1 + n / 4) {
        struct bench *bench = start(8);
        (void)run_in_worker(bench, arm_here, n);
        unsigned status = controller_get(bench->controller, bench->report);
        refused = run_in_worker(bench, disarm_here, 0);
        honest += status != 200;
        check_answer(bench, n, status);
        end(bench);
    }
    assert_true(honest > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_are_read_at_once_and_a_place_is_free_again),
        cmocka_unit_test(without_room_in_the_workers_it_is_refused_and_others_are_answered),
        cmocka_unit_test(those_who_waited_in_vain_are_refused_honestly),
        cmocka_unit_test(those_who_wait_for_one_that_is_deleted_are_told),
        cmocka_unit_test(readers_who_leave_take_nothing_from_those_who_stay),
        cmocka_unit_test(without_memory_in_the_roads_thread_it_is_whole_or_refused),
        cmocka_unit_test(without_memory_in_the_worker_it_is_whole_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
