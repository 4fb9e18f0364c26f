/* What records a machine, short of recording: its scope, and that nothing of it stays behind. */
#include "check.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/machine.h"
#include "api/machine_scope.h"
#include "api/process_facts.h"
#include "base/loop.h"
#include "flow/dispatch.h"
#include "flow/request.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "sonde/error.h"
#include "sonde/record.h"
#include "source/perf/kernel.h"
#include "source/proc/facts.h"

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static void one_that_never_started_leaves_nothing_open(void **state)
{
    (void)state;
    const char *why = "";
    if (sn_kernel_probe(&why) != SN_RUNG_MACHINE)
        skip_because(why);
    struct sonde_record_options options = {.size = sizeof(options), .cgroup = "/"};
    struct sn_machine *machine = NULL;
    struct sonde_error err = {0};
    size_t before = open_descriptors();
    if (sn_machine_new(&options, &machine, &err) != SONDE_OK) {
        skip_because(err.text);
    }
    assert_true(open_descriptors() > before);
    sn_machine_free(machine);
    assert_int_equal(open_descriptors(), before);
}

static void a_cgroup_has_those_below_it(void **state)
{
    (void)state;
    struct sn_proc_facts own;
    char path[sizeof(own.cgroup) + 32];
    uint32_t pid = (uint32_t)getpid();
    assert_true(sn_proc_facts_read(pid, &own));
    struct sn_kernel_scope scope = {.cgroup = "/"};
    assert_true(sn_machine_scope_has(&scope, pid));
    scope.cgroup = "/sys/fs/cgroup";
    assert_true(sn_machine_scope_has(&scope, pid));
    scope.cgroup = path;
    (void)snprintf(path, sizeof(path), "%s/", own.cgroup);
    assert_true(sn_machine_scope_has(&scope, pid));
    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", own.cgroup);
    assert_true(sn_machine_scope_has(&scope, pid));
    (void)snprintf(path, sizeof(path), "%s/nobody", own.cgroup);
    assert_false(sn_machine_scope_has(&scope, pid));
}

struct counting {
    struct sn_sink sink;
    unsigned count;
};

static int count(struct sn_sink *sink, const struct sn_event *event)
{
    (void)event;
    ((struct counting *)sink)->count++;
    return SONDE_OK;
}

static void leave(struct sn_sink *sink)
{
    (void)sink; /* the test's own */
}

static void an_end_tells_of_all_that_were_wanted(void **state)
{
    (void)state;
    static const struct sn_sink_ops ops = {.name = "counting", .event = count, .free = leave};
    static const struct sn_request_item items[] = {
        {.provider = "Sonde.Kernel", .name = "ProcessFacts"}};
    static const struct sn_request request = {.items = items, .item_count = 1};
    struct counting counting = {.sink.ops = &ops};
    struct sn_loop *loop = NULL;
    struct sn_road *road = NULL;
    struct sn_process_facts *facts = NULL;
    assert_int_equal(sn_loop_new(&loop, NULL), SONDE_OK);
    assert_int_equal(sn_road_new(loop, NULL, &road, NULL), SONDE_OK);
    assert_true(sn_road_subscribe(road, &request, &counting.sink, true, NULL) >= 0);
    assert_int_equal(sn_process_facts_new(road, false, &facts, NULL), SONDE_OK);
    for (unsigned i = 0; i < 100; i++)
        sn_process_facts_want(facts, (uint32_t)getpid(), i % 2 ? UINT64_MAX : 0);
    sn_process_facts_stop(facts);
    sn_process_facts_stop(facts);
    assert_int_equal(sn_road_finish(road, NULL), SONDE_OK);
    assert_int_equal(counting.count, 100);
    sn_road_free(road);
    sn_process_facts_free(facts);
    sn_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_never_started_leaves_nothing_open),
        cmocka_unit_test(a_cgroup_has_those_below_it),
        cmocka_unit_test(an_end_tells_of_all_that_were_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
