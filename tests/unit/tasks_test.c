/* Processes whose beginning or end was among the records that were lost. */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "flow/road.h"
#include "flow/source.h"
#include "sonde/error.h"
#include "source/perf/kernel.h"
#include "source/perf/outlet.h"
#include "source/perf/tasks.h"

static int start(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    (void)source;
    (void)road;
    (void)err;
    return SONDE_OK;
}

static void stop(struct sn_source *source)
{
    (void)source;
}

static const struct sn_source_ops ops = {
    .name = "nobody", .start = start, .stop = stop, .free = stop};

struct tasks_bench {
    struct sn_source source;
    struct sn_loop *loop;
    struct sn_road *road;
    struct sn_tasks *tasks;
    struct sn_outlet outlet;
};

static void open_bench(struct tasks_bench *bench, const struct sn_kernel_scope *scope)
{
    *bench = (struct tasks_bench){.source = {.ops = &ops}};
    assert_int_equal(sn_loop_new(&bench->loop, NULL), SONDE_OK);
    assert_int_equal(sn_road_new(bench->loop, NULL, &bench->road, NULL), SONDE_OK);
    assert_int_equal(sn_road_add_source(bench->road, &bench->source, NULL), SONDE_OK);
    assert_int_equal(sn_outlet_open(&bench->outlet, bench->road, &bench->source, NULL), SONDE_OK);
    assert_int_equal(sn_tasks_new(scope, &bench->outlet, NULL, &bench->tasks, NULL), SONDE_OK);
}

static void close_bench(struct tasks_bench *bench)
{
    sn_road_free(bench->road);
    sn_tasks_free(bench->tasks);
    sn_outlet_done(&bench->outlet);
    sn_loop_free(bench->loop);
}

/* A copy of us that becomes `sleep` when something comes to its standard input. */
static pid_t start_child(int *ret_go)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char byte;
        if (read(ends[0], &byte, 1) == 1)
            (void)execlp("sleep", "sleep", "600", (char *)NULL);
        _exit(0);
    }
    (void)close(ends[0]);
    *ret_go = ends[1];
    return child;
}

static void end_child(pid_t child)
{
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void an_end_that_was_lost_is_found(void **state)
{
    (void)state;
    const struct sn_kernel_scope everybody = {0};
    struct tasks_bench bench;
    int go = -1;
    open_bench(&bench, &everybody);
    struct sn_tasks *tasks = bench.tasks;
    pid_t child = start_child(&go);
    uint32_t pid = (uint32_t)child;
    uint64_t now_ns = sn_clock_monotonic_ns();
    sn_tasks_look_at(tasks, pid, now_ns, false);
    sn_tasks_doubt(tasks, now_ns);
    assert_non_null(sn_tasks_find(tasks, pid));
    assert_int_equal(sn_tasks_find(tasks, pid)->exited_ns, 0);
    end_child(child);
    (void)close(go);
    sn_tasks_doubt(tasks, now_ns + 1);
    assert_int_equal(sn_tasks_find(tasks, pid)->exited_ns, now_ns + 1);
    sn_tasks_sweep(tasks, now_ns + 10ull * SN_NS_PER_SECOND);
    assert_null(sn_tasks_find(tasks, pid));
    close_bench(&bench);
}

static void a_beginning_that_was_lost_is_found(void **state)
{
    (void)state;
    struct tasks_bench bench;
    int go = -1;
    pid_t child = start_child(&go);
    uint32_t pid = (uint32_t)child;
    const struct sn_kernel_scope one = {.pids = &pid, .pid_count = 1, .held_pid = pid};
    open_bench(&bench, &one);
    uint64_t now_ns = sn_clock_monotonic_ns();
    sn_tasks_look_at(bench.tasks, pid, now_ns, false);
    sn_tasks_doubt(bench.tasks, now_ns);
    assert_true(sn_tasks_find(bench.tasks, pid)->is_held);
    assert_null(sn_tasks_meet(bench.tasks, pid, now_ns));
    assert_int_equal(write(go, "!", 1), 1);
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    while (!sn_tasks_meet(bench.tasks, pid, now_ns)) {
        assert_true(sn_clock_monotonic_ns() < end_ns);
        (void)usleep(1000);
        sn_tasks_doubt(bench.tasks, ++now_ns);
    }
    struct sn_task *task = sn_tasks_find(bench.tasks, pid);
    assert_string_equal(task->name, "sleep");
    assert_true(task->is_told && task->is_followed);
    end_child(child);
    (void)close(go);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_was_lost_is_found),
        cmocka_unit_test(a_beginning_that_was_lost_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
