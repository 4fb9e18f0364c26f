/* Subscriptions to real runtimes, .NET 8, 9 and 10: nothing is missing, values are as sent, every
 * end is a clean one. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "sonde/event.h"
#include "sonde/target.h"

#define APP        SONDE_SOURCE_DIR "/build/apps/targets/targets.dll"
#define PATIENCE   ((uint64_t)180 * SN_NS_PER_SECOND)
#define THREAD_MAX 16u

static const unsigned majors[] = {8, 9, 10};
static char runtimes[256];

/* A target of ours. It ends when its stdin does, so none outlives the test. */
struct app {
    int pid;
    int input;
    int output;
};

/* Waits for a line that begins with `start`. */
static void await_line(const struct app *app, const char *start)
{
    char line[256];
    size_t size = 0;
    for (;;) {
        struct pollfd waiting = {.fd = app->output, .events = POLLIN};
        assert_int_equal(poll(&waiting, 1, 60000), 1);
        assert_int_equal(read(app->output, line + size, 1), 1);
        if (line[size] != '\n' && size + 1 < sizeof(line)) {
            size++;
            continue;
        }
        line[size] = '\0';
        size = 0;
        if (strncmp(line, start, strlen(start)) == 0)
            return;
    }
}

/* `behaviour` is at most three words. */
static struct app run(unsigned major, const char *const behaviour[3])
{
    struct app app;
    int input[2];
    int output[2];
    char dotnet[300];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    (void)snprintf(dotnet, sizeof(dotnet), "%s/%u/dotnet", runtimes, major);
    app.pid = fork();
    if (app.pid == 0) {
        setenv("DOTNET_ROLL_FORWARD", "LatestMajor", 1);
        setenv("DOTNET_DbgEnableMiniDump", "0", 1);
        dup2(input[0], 0);
        dup2(output[1], 1);
        execl(dotnet, dotnet, APP, behaviour[0], behaviour[1], behaviour[2], (char *)NULL);
        _exit(127);
    }
    assert_true(app.pid > 0);
    close(input[0]);
    close(output[1]);
    app.input = input[1];
    app.output = output[0];
    await_line(&app, "ready pid=");
    return app;
}

#define RUN(major, ...) run(major, (const char *const[3]){__VA_ARGS__})

static void end(struct app *app)
{
    int status = 0;
    assert_int_equal(waitpid(app->pid, NULL, WNOHANG), 0);
    close(app->input);
    assert_int_equal(waitpid(app->pid, &status, 0), app->pid);
    close(app->output);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Most tests share two targets of each runtime. */
static struct app storms[3];
static struct app senders[3];

static int start_shared(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        storms[i] = RUN(majors[i], "storm", "rate=8000", "threads=4");
        senders[i] = RUN(majors[i], "events");
    }
    return 0;
}

static int end_shared(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        end(&storms[i]);
        end(&senders[i]);
    }
    return 0;
}

/* --- driving --- */

/* What a callback does with events: counts them by thread, and says when to do otherwise. */
struct tally {
    uint64_t threads[THREAD_MAX];
    uint64_t counts[THREAD_MAX]; /* received and lost together */
    size_t thread_count;
    uint64_t received;
    uint64_t lost;
    uint64_t last_ns;
    uint64_t backwards;
    uint64_t stacked;
    uint64_t limit;                   /* after so many ... */
    int answer;                       /* ... this is answered */
    struct sonde_subscription *stops; /* ... or this one is stopped */
};

static uint64_t *count_of(struct tally *tally, uint64_t thread_id)
{
    for (size_t i = 0; i < tally->thread_count; i++) {
        if (tally->threads[i] == thread_id)
            return &tally->counts[i];
    }
    assert_true(tally->thread_count < THREAD_MAX);
    tally->threads[tally->thread_count] = thread_id;
    return &tally->counts[tally->thread_count++];
}

static int take_tick(void *user, struct sonde_event *event)
{
    struct tally *tally = user;
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    tally->backwards += info.time_ns < tally->last_ns;
    tally->last_ns = info.time_ns;
    if (strcmp(info.provider, "Sonde-Storm") != 0 || strcmp(info.name, "Tick") != 0)
        return SONDE_OK;
    tally->received++;
    tally->stacked += info.stack_depth != 0;
    ++*count_of(tally, info.thread_id);
    if (tally->received != tally->limit)
        return SONDE_OK;
    if (tally->stops)
        sonde_subscription_stop(tally->stops);
    return tally->answer;
}

static void take_loss(void *user, uint64_t thread_id, uint64_t count)
{
    struct tally *tally = user;
    tally->lost += count;
    *count_of(tally, thread_id) += count;
}

static const struct sonde_provider storm = {.name = "Sonde-Storm", .keywords = ~0ull, .level = 5};

static struct sonde_subscription *subscribe(const struct app *app,
                                            const struct sonde_provider *provider, bool in_order,
                                            sonde_event_fn *take, void *user)
{
    struct sonde_subscribe_options options = {.size = sizeof(options),
                                              .providers = provider,
                                              .provider_count = 1,
                                              .in_order = in_order,
                                              .lost = take == take_tick ? take_loss : NULL};
    struct sonde_subscription *subscription = NULL;
    struct sonde_error err = {0};
    int rc = sonde_subscribe((uint32_t)app->pid, &options, take, user, &subscription, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(rc, SONDE_OK);
    return subscription;
}

/* One wait and one turn, as every owner does it. */
static int step(struct sonde_subscription *subscription, struct sonde_error *err)
{
    struct pollfd waiting = {.fd = sonde_subscription_fd(subscription), .events = POLLIN};
    int wait_ms = sonde_subscription_wait_ms(subscription);
    assert_true(poll(&waiting, 1, wait_ms < 0 || wait_ms > 1000 ? 1000 : wait_ms) >= 0);
    return sonde_subscription_turn(subscription, err);
}

/* Turns until it is over, however. */
static int drain(struct sonde_subscription *subscription, struct sonde_error *err)
{
    uint64_t deadline = sn_clock_deadline(PATIENCE);
    int rc;
    do {
        rc = step(subscription, err);
        assert_true(sn_clock_monotonic_ns() < deadline);
    } while (rc == SONDE_OK);
    assert_int_equal(sonde_subscription_turn(subscription, err), rc); /* final */
    return rc;
}

static void turn_until(struct sonde_subscription *subscription, const uint64_t *counter,
                       uint64_t count)
{
    struct sonde_error err = {0};
    uint64_t deadline = sn_clock_deadline(PATIENCE);
    while (*counter < count) {
        assert_int_equal(step(subscription, &err), SONDE_OK);
        assert_true(sn_clock_monotonic_ns() < deadline);
    }
}

static void stop(struct sonde_subscription *subscription)
{
    struct sonde_error err = {0};
    sonde_subscription_stop(subscription);
    sonde_subscription_stop(subscription);
    int rc = drain(subscription, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(rc, SONDE_END);
    sonde_subscription_free(subscription);
}

/* --- what comes --- */

/* An owner who sleeps at the wheel: the runtime drops events, and says how many. The pace lets each
 * thread have its say before the buffer is full: of one that never had, .NET 10 tells nothing. */
static void what_came_and_what_was_lost_is_what_was_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = RUN(majors[i], "storm", "rate=200000", "count=200000");
        struct tally tally = {0};
        struct sonde_subscribe_options options = {.size = sizeof(options),
                                                  .providers = &storm,
                                                  .provider_count = 1,
                                                  .buffer_mb = 1,
                                                  .no_stacks = true,
                                                  .lost = take_loss};
        struct sonde_subscription *subscription = NULL;
        assert_int_equal(
            sonde_subscribe((uint32_t)app.pid, &options, take_tick, &tally, &subscription, NULL),
            SONDE_OK);
        await_line(&app, "done sent=200000");
        sonde_subscription_stop(subscription);
        assert_int_equal(drain(subscription, NULL), SONDE_END);
        assert_true(tally.received > 0 && tally.lost > 0);
        assert_true(sonde_subscription_lost(subscription) == tally.lost);
        uint64_t sum = 0;
        for (size_t t = 0; t < tally.thread_count; t++)
            sum += tally.counts[t] >= 50000 ? tally.counts[t] : 0; /* not the runtime's own */
        assert_true(sum == 200000);
        assert_true(majors[i] < 9 || tally.stacked == 0);
        sonde_subscription_free(subscription);
        end(&app);
    }
}

static void order_is_by_time_when_wanted(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct tally tally = {0};
        struct sonde_subscription *subscription =
            subscribe(&storms[i], &storm, true, take_tick, &tally);
        turn_until(subscription, &tally.received, 4000); /* while it runs, not only at its end */
        assert_int_equal(tally.backwards, 0);
        assert_true(tally.stacked > 0);
        stop(subscription);
        assert_int_equal(tally.backwards, 0);
    }
}

struct rounds {
    uint64_t count;
    int64_t last;
    uint64_t texts;
    uint64_t others;
};

static int take_every(void *user, struct sonde_event *event)
{
    struct rounds *rounds = user;
    struct sonde_event_info info;
    struct sonde_value value;
    sonde_event_info(event, &info);
    if (strcmp(info.provider, "Sonde-Every") != 0)
        return SONDE_OK;
    if (strcmp(info.name, "Integers") == 0) {
        assert_true(sonde_event_field(event, "i32", &value));
        assert_int_equal(value.type, SONDE_TYPE_INT);
        assert_true(!rounds->count || (int64_t)value.number == rounds->last + 1);
        rounds->last = (int64_t)value.number;
        rounds->count++;
    } else if (strcmp(info.name, "Texts") == 0) {
        assert_true(sonde_event_field(event, "surrogates", &value));
        assert_string_equal(value.text, "clef \U0001D11E");
        rounds->texts++;
    } else if (strcmp(info.name, "Scalars") == 0) {
        assert_true(sonde_event_field(event, "round", &value));
        assert_true((int64_t)value.number == rounds->last);
        assert_true(sonde_event_field(event, "price", &value));
        assert_true(value.type == SONDE_TYPE_REAL && value.real == 12.5);
        rounds->others++;
    }
    return SONDE_OK;
}

static void values_are_as_they_were_sent(void **state)
{
    (void)state;
    static const struct sonde_provider every = {
        .name = "Sonde-Every", .keywords = ~0ull, .level = 5};
    for (size_t i = 0; i < 3; i++) {
        struct rounds rounds = {0};
        struct sonde_subscription *subscription =
            subscribe(&senders[i], &every, false, take_every, &rounds);
        turn_until(subscription, &rounds.count, 20);
        stop(subscription);
        assert_true(rounds.texts + 1 >= rounds.count && rounds.others + 1 >= rounds.count);
    }
}

static int take_id(void *user, struct sonde_event *event)
{
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    assert_true(info.id == 11 || info.id == 300);
    ++*(uint64_t *)user;
    return SONDE_OK;
}

static void event_ids_are_filtered_on_every_runtime(void **state)
{
    (void)state;
    static const uint32_t ids[] = {11, 300};
    static const struct sonde_provider every = {
        .name = "Sonde-Every", .keywords = ~0ull, .level = 5, .ids = ids, .id_count = 2};
    for (size_t i = 0; i < 3; i++) {
        uint64_t count = 0;
        struct sonde_subscription *subscription =
            subscribe(&senders[i], &every, false, take_id, &count);
        turn_until(subscription, &count, 10);
        stop(subscription);
    }
}

/* --- how it ends --- */

static void the_receiver_ends_it(void **state)
{
    (void)state;
    struct sonde_error err = {0};

    struct tally enough = {.limit = 5, .answer = SONDE_END};
    struct sonde_subscription *subscription =
        subscribe(&storms[2], &storm, false, take_tick, &enough);
    assert_int_equal(drain(subscription, &err), SONDE_END);
    assert_true(enough.received == 5);
    sonde_subscription_free(subscription);

    struct tally broken = {.limit = 5, .answer = SONDE_E_BUSY};
    subscription = subscribe(&storms[2], &storm, true, take_tick, &broken);
    assert_int_equal(drain(subscription, &err), SONDE_E_BUSY);
    assert_true(broken.received == 5);
    assert_non_null(strstr(err.text, "given up"));
    sonde_subscription_free(subscription);

    struct tally stopped = {.limit = 5};
    subscription = subscribe(&storms[2], &storm, false, take_tick, &stopped);
    stopped.stops = subscription;
    assert_int_equal(drain(subscription, NULL), SONDE_END);
    assert_true(stopped.received >= 5);
    sonde_subscription_free(subscription);
}

static void a_silent_session_ends_when_asked(void **state)
{
    (void)state;
    static const struct sonde_provider nobody = {.name = "Sonde-Nobody", .level = 5};
    for (size_t i = 0; i < 3; i++) {
        struct tally tally = {0};
        struct sonde_subscription *subscription =
            subscribe(&senders[i], &nobody, i == 1, take_tick, &tally);
        stop(subscription);
        assert_true(tally.received == 0 && tally.lost == 0);
    }
}

static void a_killed_target_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = RUN(majors[i], "storm", "rate=1000");
        struct tally tally = {0};
        struct sonde_error err = {0};
        char command[160];
        struct sonde_subscription *subscription =
            subscribe(&app, &storm, i == 1, take_tick, &tally);
        turn_until(subscription, &tally.received, 10);
        (void)kill(app.pid, SIGKILL);
        assert_int_equal(drain(subscription, &err), SONDE_E_GONE);
        assert_non_null(strstr(err.text, "gone"));
        sonde_subscription_free(subscription);
        assert_int_equal(waitpid(app.pid, NULL, 0), app.pid);
        close(app.input);
        close(app.output);
        (void)snprintf(command, sizeof(command),
                       "rm -f /tmp/dotnet-diagnostic-%d-*-socket /tmp/clr-debug-pipe-%d-*", app.pid,
                       app.pid);
        FILE *cleaner = popen(command, "r");
        if (cleaner)
            (void)pclose(cleaner);
    }
}

static unsigned open_files(int pid)
{
    char path[64];
    unsigned count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static void ignore_variable(void *user, const char *variable, size_t size)
{
    (void)variable;
    (void)size;
    ++*(unsigned *)user;
}

/* Half of them are stopped and drained, half just freed; some stay open meanwhile. */
static void many_leave_nothing_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct sonde_subscription *held[4];
        struct tally tallies[4] = {0};
        unsigned before = open_files(getpid());
        for (size_t h = 0; h < 4; h++)
            held[h] = subscribe(&storms[i], &storm, h % 2, take_tick, &tallies[h]);
        for (unsigned round = 0; round < 12; round++) {
            struct tally tally = {0};
            struct sonde_subscription *one =
                subscribe(&storms[i], &storm, false, take_tick, &tally);
            if (round % 4 == 0)
                turn_until(one, &tally.received, 1);
            if (round % 2)
                sonde_subscription_free(one);
            else
                stop(one);
        }
        for (size_t h = 0; h < 4; h++) {
            turn_until(held[h], &tallies[h].received, 100);
            stop(held[h]);
        }
        assert_int_equal(open_files(getpid()), before);
        unsigned variables = 0;
        assert_int_equal(
            sonde_target_environment((uint32_t)storms[i].pid, ignore_variable, &variables, NULL),
            SONDE_OK);
        assert_true(variables > 0);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct sonde_subscribe_options none = {.size = sizeof(none)};
    struct sonde_subscribe_options unset = {.providers = &storm, .provider_count = 1};
    struct sonde_subscribe_options fine = {
        .size = sizeof(fine), .providers = &storm, .provider_count = 1};
    struct sonde_subscription *subscription = NULL;
    struct tally tally = {0};
    struct sonde_error err = {0};
    assert_int_equal(sonde_subscribe(1, &none, take_tick, &tally, &subscription, &err),
                     SONDE_E_ARGUMENT);
    err = (struct sonde_error){0};
    assert_int_equal(sonde_subscribe(1, &unset, take_tick, &tally, &subscription, &err),
                     SONDE_E_ARGUMENT);
    err = (struct sonde_error){0};
    assert_int_equal(
        sonde_subscribe((uint32_t)getpid(), &fine, take_tick, &tally, &subscription, &err),
        SONDE_E_NOT_FOUND);
    assert_true(err.text[0] != '\0');
    assert_null(subscription);
    sonde_subscription_free(NULL);
}

static int skip_all(const char *reason)
{
    (void)fprintf(stderr, "skipped: %s\n", reason);
    return 77;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_and_what_was_lost_is_what_was_sent),
        cmocka_unit_test(order_is_by_time_when_wanted),
        cmocka_unit_test(values_are_as_they_were_sent),
        cmocka_unit_test(event_ids_are_filtered_on_every_runtime),
        cmocka_unit_test(the_receiver_ends_it),
        cmocka_unit_test(a_silent_session_ends_when_asked),
        cmocka_unit_test(a_killed_target_is_told),
        cmocka_unit_test(many_leave_nothing_behind),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    if (access(APP, R_OK) != 0)
        return skip_all("the test apps are not built: tests/apps/build");
    FILE *asked = popen(SONDE_SOURCE_DIR "/tools/test-runtimes", "r");
    bool known = asked && fgets(runtimes, sizeof(runtimes), asked);
    if (!asked || pclose(asked) != 0 || !known)
        return skip_all("no .NET runtimes: tools/test-runtimes");
    runtimes[strcspn(runtimes, "\n")] = '\0';
    return cmocka_run_group_tests(tests, start_shared, end_shared);
}
