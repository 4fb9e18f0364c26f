/* Counters of real runtimes: values at once, then at the wanted interval; several watchers, stopped
 * processes, those that come and go, and limits. */
#include "check.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/counter_poller.h"
#include "api/hub_internal.h"
#include "api/process_sight.h"
#include "base/clock.h"
#include "sonde/counters.h"
#include "source/proc/facts.h"

#define APP      SONDE_SOURCE_DIR "/build/apps/targets/targets.dll"
#define PATIENCE ((uint64_t)180 * SN_NS_PER_SECOND)
#define MS       ((uint64_t)SN_NS_PER_MS)

static char runtimes[256];

/* It ends when its stdin does, so none outlives the test. */
struct app {
    int pid;
    int input;
    int output;
};

/* Called as `called`, so that others who watch by name leave it alone, and the reverse. */
static struct app run_as(const char *called, unsigned major, const char *behaviour,
                         const char *argument)
{
    struct app app;
    int input[2];
    int output[2];
    char dotnet[300];
    char line[64] = "";
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    (void)snprintf(dotnet, sizeof(dotnet), "%s/%u/dotnet", runtimes, major);
    app.pid = fork();
    if (app.pid == 0) {
        setenv("DOTNET_ROLL_FORWARD", "LatestMajor", 1);
        dup2(input[0], 0);
        dup2(output[1], 1);
        execl(dotnet, called, APP, behaviour, argument, (char *)NULL);
        _exit(127);
    }
    assert_true(app.pid > 0);
    close(input[0]);
    close(output[1]);
    app.input = input[1];
    app.output = output[0];
    assert_true(read(app.output, line, sizeof(line) - 1) > 0);
    assert_memory_equal(line, "ready", 5);
    return app;
}

static struct app run(unsigned major, const char *behaviour, const char *argument)
{
    return run_as("dotnet", major, behaviour, argument);
}

static void end(const struct app *app)
{
    close(app->input);
    assert_int_equal(waitpid(app->pid, NULL, 0), app->pid);
    close(app->output);
}

/* --- watching --- */

#define SEEN_MAX 4096u

struct seen {
    uint32_t pid;
    int origin;
    int kind;
    char name[32];
    bool is_provisional;
    uint64_t interval_ns;
    uint64_t time_ns;
    double value;
};

struct watcher {
    struct sonde_hub *hub;
    struct sonde_counters *counters;
    struct seen seen[SEEN_MAX];
    size_t count;
};

static void take(void *user, const struct sonde_point *point)
{
    struct watcher *watcher = user;
    if (watcher->count == SEEN_MAX)
        return;
    struct seen *seen = &watcher->seen[watcher->count++];
    *seen = (struct seen){.pid = point->pid,
                          .origin = point->origin,
                          .kind = point->kind,
                          .is_provisional = point->is_provisional,
                          .interval_ns = point->interval_ns,
                          .time_ns = point->time_ns,
                          .value = point->value};
    (void)snprintf(seen->name, sizeof(seen->name), "%.31s", point->name);
}

static struct sonde_hub *new_hub(void)
{
    struct sonde_hub_options options = {.size = sizeof(options)};
    struct sonde_hub *hub = NULL;
    assert_int_equal(sonde_hub_new(&options, &hub, NULL), SONDE_OK);
    return hub;
}

static void watch(struct watcher *watcher, struct sonde_hub *hub, uint64_t interval_ns, int pid,
                  const char *specification)
{
    uint32_t one = (uint32_t)pid;
    struct sonde_error err = {0};
    struct sonde_counters_options options = {.size = sizeof(options),
                                             .pids = &one,
                                             .pid_count = 1,
                                             .counters = &specification,
                                             .counter_count = 1,
                                             .interval_ns = interval_ns,
                                             .max_series = 100};
    watcher->hub = hub;
    watcher->count = 0;
    if (sonde_counters_new(hub, &options, take, watcher, &watcher->counters, &err) != SONDE_OK)
        fail_msg("%s", err.text);
}

static void turn(struct sonde_hub *hub)
{
    struct pollfd fd = {.fd = sonde_hub_fd(hub), .events = POLLIN};
    int wait = sonde_hub_wait_ms(hub);
    (void)poll(&fd, 1, wait < 0 || wait > 1000 ? 1000 : wait);
    assert_int_equal(sonde_hub_turn(hub, NULL), SONDE_OK);
}

static size_t count(const struct watcher *watcher, int origin, const char *name,
                    bool is_provisional)
{
    size_t found = 0;
    for (size_t i = 0; i < watcher->count; i++) {
        const struct seen *seen = &watcher->seen[i];
        found += seen->origin == origin && seen->is_provisional == is_provisional &&
                 strcmp(seen->name, name) == 0;
    }
    return found;
}

static const struct seen *last(const struct watcher *watcher, int origin, const char *name)
{
    for (size_t i = watcher->count; i > 0; i--) {
        if (watcher->seen[i - 1].origin == origin && strcmp(watcher->seen[i - 1].name, name) == 0)
            return &watcher->seen[i - 1];
    }
    return NULL;
}

static void turn_until(struct watcher *watcher, int origin, const char *name, bool is_provisional,
                       size_t wanted)
{
    uint64_t deadline = sn_clock_monotonic_ns() + PATIENCE;
    while (count(watcher, origin, name, is_provisional) < wanted) {
        assert_true(sn_clock_monotonic_ns() < deadline);
        turn(watcher->hub);
    }
}

static struct sonde_watched state_of(const struct watcher *watcher, size_t index)
{
    struct sonde_watched watched;
    sonde_counters_process(watcher->counters, index, &watched);
    return watched;
}

static void stop(struct watcher *watcher)
{
    sonde_counters_free(watcher->counters);
    sonde_hub_free(watcher->hub);
}

static struct watcher one;
static struct watcher two;

/* --- tests --- */

/* The interval of a process only shrinks while somebody listens: a lasting one after the short one
 * shows that the short one was ended in between. */
static void values_come_at_once_and_then_at_the_wanted_interval(void **state)
{
    (void)state;
    static const unsigned majors[] = {8, 10};
    for (size_t i = 0; i < 2; i++) {
        struct app app = run(majors[i], "meters", NULL);
        assert_true(sn_counter_poller_is_idle((uint32_t)app.pid));
        watch(&one, new_hub(), 1000 * MS, app.pid, "Sonde-Counters,Sonde.Meters");
        turn_until(&one, SONDE_POINT_EVENT_COUNTER, "polled", true, 1);
        turn_until(&one, SONDE_POINT_METER, "gauge", true, 1);
        turn_until(&one, SONDE_POINT_EVENT_COUNTER, "sum", false, 2);
        turn_until(&one, SONDE_POINT_METER, "weight", false, 1);
        assert_in_range(last(&one, SONDE_POINT_EVENT_COUNTER, "sum")->interval_ns, 700 * MS,
                        3000 * MS);
        assert_int_equal(count(&one, SONDE_POINT_EVENT_COUNTER, "infinite", false) > 0, 1);
        assert_false(sn_counter_poller_is_idle((uint32_t)app.pid));
        stop(&one);
        end(&app);
    }
}

/* A young process is asked for its counters alone. */
static void grow_old(const struct app *app)
{
    struct sn_proc_facts facts;
    const struct timespec moment = {.tv_nsec = 50 * MS};
    while (sn_process_facts((uint32_t)app->pid, &facts) && facts.up_ns < SONDE_METERS_AGE_LEAST_NS)
        (void)nanosleep(&moment, NULL);
}

/* Of a name that is a meter and an EventSource only one is shown, also while another source that
 * has no meter tells its values at once. */
static void held_counters_do_not_slip_out_with_others(void **state)
{
    (void)state;
    struct app app = run(10, "meters", NULL);
    grow_old(&app);
    watch(&one, new_hub(), 500 * MS, app.pid, "System.Runtime,EventCounters\\Sonde-Counters");
    turn_until(&one, SONDE_POINT_EVENT_COUNTER, "sum", false, 1);
    turn_until(&one, SONDE_POINT_METER, "dotnet.assembly.count", false, 1);
    assert_null(last(&one, SONDE_POINT_EVENT_COUNTER, "cpu-usage"));
    assert_null(last(&one, SONDE_POINT_EVENT_COUNTER, "working-set"));
    stop(&one);
    end(&app);
}

/* What is not there is not waited for; a meter takes the place of the source of its name. */
static void a_meter_takes_the_place_of_its_event_source(void **state)
{
    (void)state;
    struct app app = run(10, "idle", NULL);
    grow_old(&app);
    watch(&one, new_hub(), 500 * MS, app.pid, "System.Runtime");
    turn_until(&one, SONDE_POINT_METER, "dotnet.assembly.count", false, 2);
    assert_null(last(&one, SONDE_POINT_EVENT_COUNTER, "cpu-usage"));
    stop(&one);
    watch(&one, new_hub(), 500 * MS, app.pid, "EventCounters\\System.Runtime[cpu-usage]");
    turn_until(&one, SONDE_POINT_EVENT_COUNTER, "cpu-usage", false, 2);
    assert_null(last(&one, SONDE_POINT_METER, "dotnet.assembly.count"));
    assert_null(last(&one, SONDE_POINT_EVENT_COUNTER, "alloc-rate"));
    stop(&one);
    end(&app);
}

static double added_between(const struct watcher *watcher, const char *name, uint64_t from_ns,
                            uint64_t to_ns)
{
    double sum = 0;
    for (size_t i = 0; i < watcher->count; i++) {
        const struct seen *seen = &watcher->seen[i];
        if (strcmp(seen->name, name) == 0 && seen->time_ns > from_ns && seen->time_ns <= to_ns)
            sum += seen->value;
    }
    return sum;
}

/* One hub asks the runtime for the shortest; whoever wants less often gets the same, summed up. */
static void each_watcher_has_its_own_interval(void **state)
{
    (void)state;
    struct app app = run(9, "meters", NULL);
    struct sonde_hub *hub = new_hub();
    watch(&one, hub, 250 * MS, app.pid, "Sonde-Counters");
    turn_until(&one, SONDE_POINT_EVENT_COUNTER, "sum", false, 2);
    watch(&two, hub, 1000 * MS, app.pid, "Sonde-Counters");
    turn_until(&two, SONDE_POINT_EVENT_COUNTER, "sum", false, 3);
    const struct seen *newest = last(&two, SONDE_POINT_EVENT_COUNTER, "sum");
    assert_in_range(newest->interval_ns, 850 * MS, 3000 * MS);
    double fine = added_between(&one, "sum", newest->time_ns - newest->interval_ns + 100 * MS,
                                newest->time_ns + 50 * MS);
    assert_true(fabs(fine - newest->value) < 1e-6);
    sonde_counters_free(two.counters);
    stop(&one);
    end(&app);
}

static void the_kernel_tells_of_a_process_that_does_not_answer(void **state)
{
    (void)state;
    struct app app = run(10, "meters", NULL);
    watch(&one, new_hub(), 200 * MS, app.pid, "Sonde.Meters");
    turn_until(&one, SONDE_POINT_METER, "gauge", false, 2);
    assert_int_equal(kill(app.pid, SIGSTOP), 0);
    size_t before = count(&one, SONDE_POINT_KERNEL, "process.memory.usage", false);
    turn_until(&one, SONDE_POINT_KERNEL, "process.memory.usage", false, before + 8);
    assert_non_null(strstr(state_of(&one, 0).note, "no values from the runtime"));
    const struct sonde_point *points = NULL;
    size_t point_count = 0;
    assert_int_equal(sonde_counters_latest(one.counters, 0, &points, &point_count, NULL), SONDE_OK);
    for (size_t i = 0; i < point_count; i++)
        assert_int_equal(points[i].origin, SONDE_POINT_KERNEL);
    assert_true(point_count > 5);
    size_t values = count(&one, SONDE_POINT_METER, "gauge", false);
    assert_int_equal(kill(app.pid, SIGCONT), 0);
    turn_until(&one, SONDE_POINT_METER, "gauge", false, values + 2);
    assert_string_equal(state_of(&one, 0).note, "");
    stop(&one);
    end(&app);
}

static void limits_are_told_and_processes_end(void **state)
{
    (void)state;
    struct app app = run(8, "meters", "series=300");
    watch(&one, new_hub(), 200 * MS, app.pid, "Sonde.Many");
    turn_until(&one, SONDE_POINT_METER, "many", false, 100);
    struct sonde_watched watched = state_of(&one, 0);
    assert_int_equal(watched.dropped_count, 0); /* it is the target that leaves them out */
    assert_non_null(strstr(watched.note, "more than 100 series"));
    end(&app);
    uint64_t deadline = sn_clock_monotonic_ns() + PATIENCE;
    while (state_of(&one, 0).phase != SONDE_CONSUMER_ENDED) {
        assert_true(sn_clock_monotonic_ns() < deadline);
        turn(one.hub);
    }
    assert_int_equal(sonde_counters_process_count(one.counters), 1);
    stop(&one);
}

/* Without the kernel's numbers, too; what is asked of it meanwhile does not keep it. */
static void the_end_is_seen_without_the_kernels_numbers(void **state)
{
    (void)state;
    struct app app = run(10, "idle", NULL);
    uint32_t pid = (uint32_t)app.pid;
    struct sonde_counters_options options = {.size = sizeof(options),
                                             .pids = &pid,
                                             .pid_count = 1,
                                             .interval_ns = 1000 * MS,
                                             .no_kernel = true};
    struct sonde_watched watched;
    one.hub = new_hub();
    one.count = 0;
    assert_int_equal(sonde_counters_new(one.hub, &options, take, &one, &one.counters, NULL),
                     SONDE_OK);
    assert_true(sonde_counters_find(one.counters, pid, &watched));
    assert_int_equal(watched.process->pid, pid);
    assert_true(watched.process->start_ticks > 0);
    assert_false(sonde_counters_find(one.counters, pid + 1, &watched));
    end(&app); /* before it was asked for the first time */
    uint64_t deadline = sn_clock_monotonic_ns() + PATIENCE;
    while (state_of(&one, 0).phase != SONDE_CONSUMER_ENDED) {
        assert_true(sn_clock_monotonic_ns() < deadline);
        turn(one.hub);
    }
    stop(&one);
}

/* A shell that waits and then becomes a .NET program is one process: it is found as that. */
static void a_program_that_another_one_becomes_is_found(void **state)
{
    (void)state;
    uint64_t before = sn_process_print((uint32_t)getpid());
    int gate[2];
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    int pid = fork();
    if (pid == 0) {
        char word;
        (void)!read(gate[0], &word, 1);
        execlp("sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    uint64_t as_child = sn_process_print((uint32_t)pid);
    assert_true(as_child && as_child != before);
    assert_true(sn_process_print((uint32_t)pid) == as_child);
    assert_int_equal(write(gate[1], "x", 1), 1);
    uint64_t deadline = sn_clock_monotonic_ns() + PATIENCE;
    while (sn_process_print((uint32_t)pid) == as_child)
        assert_true(sn_clock_monotonic_ns() < deadline);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sn_process_print((uint32_t)pid), 0);
    close(gate[0]);
    close(gate[1]);
}

/* Found by its name though it came later. */
static void processes_to_come_are_watched_by_name(void **state)
{
    (void)state;
    char called[64];
    char pattern[64];
    const char *const names[] = {pattern};
    static const char *const specifications[] = {"EventCounters\\System.Runtime[working-set]"};
    struct sonde_counters_options options = {.size = sizeof(options),
                                             .names = names,
                                             .name_count = 1,
                                             .counters = specifications,
                                             .counter_count = 1,
                                             .interval_ns = 500 * MS,
                                             .no_kernel = true};
    (void)snprintf(called, sizeof(called), "watched-%d-by-name", getpid());
    (void)snprintf(pattern, sizeof(pattern), "watched-%d-*", getpid());
    one.hub = new_hub();
    one.count = 0;
    assert_int_equal(sonde_counters_new(one.hub, &options, take, &one, &one.counters, NULL),
                     SONDE_OK);
    turn(one.hub);
    struct app app = run_as(called, 10, "idle", NULL);
    uint64_t deadline = sn_clock_monotonic_ns() + PATIENCE;
    bool is_found = false;
    while (!is_found) {
        assert_true(sn_clock_monotonic_ns() < deadline);
        turn(one.hub);
        is_found = one.count > 0;
    }
    for (size_t i = 0; i < one.count; i++)
        assert_int_equal(one.seen[i].pid, app.pid);
    stop(&one);
    end(&app);
}

static void what_cannot_be_watched_is_refused(void **state)
{
    (void)state;
    struct sonde_hub *hub = new_hub();
    struct sonde_counters *counters = NULL;
    struct sonde_error err = {0};
    uint32_t nobody = 4194303;
    struct sonde_counters_options options = {.size = sizeof(options)};
    assert_int_equal(sonde_counters_new(hub, &options, take, &one, &counters, &err),
                     SONDE_E_ARGUMENT);
    options.pids = &nobody;
    options.pid_count = 1;
    assert_int_equal(sonde_counters_new(hub, &options, take, &one, &counters, NULL),
                     SONDE_E_NOT_FOUND);
    options.interval_ns = MS;
    assert_int_equal(sonde_counters_new(hub, &options, take, &one, &counters, NULL),
                     SONDE_E_ARGUMENT);
    options.interval_ns = UINT64_MAX;
    assert_int_equal(sonde_counters_new(hub, &options, take, &one, &counters, NULL),
                     SONDE_E_ARGUMENT);
    sonde_hub_free(hub);
}

static bool find_runtimes(void)
{
    FILE *from = popen(SONDE_SOURCE_DIR "/tools/test-runtimes", "r");
    bool is_found = from && fgets(runtimes, sizeof(runtimes), from);
    runtimes[strcspn(runtimes, "\n")] = '\0';
    return from && pclose(from) == 0 && is_found && access(APP, R_OK) == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_watched_is_refused),
        cmocka_unit_test(values_come_at_once_and_then_at_the_wanted_interval),
        cmocka_unit_test(a_meter_takes_the_place_of_its_event_source),
        cmocka_unit_test(held_counters_do_not_slip_out_with_others),
        cmocka_unit_test(each_watcher_has_its_own_interval),
        cmocka_unit_test(the_kernel_tells_of_a_process_that_does_not_answer),
        cmocka_unit_test(limits_are_told_and_processes_end),
        cmocka_unit_test(the_end_is_seen_without_the_kernels_numbers),
        cmocka_unit_test(a_program_that_another_one_becomes_is_found),
        cmocka_unit_test(processes_to_come_are_watched_by_name),
    };
    if (!find_runtimes()) {
        (void)puts("skipped: no runtimes, or the test programs are not built");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
