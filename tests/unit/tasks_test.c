/* Processes whose end was among the records that were lost. */
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

static void an_end_that_was_lost_is_found(void **state)
{
    (void)state;
    struct sn_source source = {.ops = &ops};
    struct sn_loop *loop = NULL;
    struct sn_road *road = NULL;
    struct sn_tasks *tasks = NULL;
    struct sn_outlet outlet = {0};
    struct sn_kernel_scope everybody = {0};
    assert_int_equal(sn_loop_new(&loop, NULL), SONDE_OK);
    assert_int_equal(sn_road_new(loop, NULL, &road, NULL), SONDE_OK);
    assert_int_equal(sn_road_add_source(road, &source, NULL), SONDE_OK);
    assert_int_equal(sn_outlet_open(&outlet, road, &source, NULL), SONDE_OK);
    assert_int_equal(sn_tasks_new(&everybody, &outlet, NULL, &tasks, NULL), SONDE_OK);
    pid_t child = fork();
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    uint32_t pid = (uint32_t)child;
    uint64_t now_ns = sn_clock_monotonic_ns();
    sn_tasks_look_at(tasks, pid, now_ns, false);
    sn_tasks_doubt(tasks, now_ns);
    assert_non_null(sn_tasks_find(tasks, pid));
    assert_int_equal(sn_tasks_find(tasks, pid)->exited_ns, 0);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    sn_tasks_doubt(tasks, now_ns + 1);
    assert_int_equal(sn_tasks_find(tasks, pid)->exited_ns, now_ns + 1);
    sn_tasks_sweep(tasks, now_ns + 10ull * SN_NS_PER_SECOND);
    assert_null(sn_tasks_find(tasks, pid));
    sn_road_free(road);
    sn_tasks_free(tasks);
    sn_outlet_done(&outlet);
    sn_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_was_lost_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
