/* The diagnostics port of real runtimes: .NET 8, 9 and 10, each test on each. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/own.h"
#include "source/ipc/ipc_commands.h"
#include "source/ipc/port.h"
#include "source/ipc/session.h"

#define SECONDS(n) ((uint64_t)(n)*SN_NS_PER_SECOND)
#define APP        SONDE_SOURCE_DIR "/build/apps/targets/targets.dll"
#define HOOK       SONDE_SOURCE_DIR "/build/apps/hook/hook.dll"

static const unsigned majors[] = {8, 9, 10};
static char runtimes[256];
static char scratch[64];

/* A target of ours. It ends when its stdin does, so none outlives the test. */
struct app {
    int pid;
    int input;
    int output;
    struct sn_ipc_port *port; /* when it was started suspended */
    struct sn_ipc_route route;
};

static void start(struct app *app, unsigned major, const char *behaviour, const char *port_setting)
{
    int input[2];
    int output[2];
    char dotnet[300];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    (void)snprintf(dotnet, sizeof(dotnet), "%s/%u/dotnet", runtimes, major);
    app->pid = fork();
    if (app->pid == 0) {
        char hook_file[128];
        (void)snprintf(hook_file, sizeof(hook_file), "%s/hooked", scratch);
        setenv("DOTNET_ROLL_FORWARD", "LatestMajor", 1);
        setenv("DOTNET_DbgEnableMiniDump", "0", 1);
        setenv("SONDE_HOOK_FILE", hook_file, 1);
        setenv("SONDE_MARK", "here", 1);
        if (port_setting)
            setenv("DOTNET_DiagnosticPorts", port_setting, 1);
        dup2(input[0], 0);
        dup2(output[1], 1);
        execl(dotnet, dotnet, APP, behaviour, (char *)NULL);
        _exit(127);
    }
    assert_true(app->pid > 0);
    close(input[0]);
    close(output[1]);
    app->input = input[1];
    app->output = output[0];
}

/* Waits for its "ready". */
static void await_ready(const struct app *app)
{
    char line[128];
    size_t size = 0;
    while (size + 1 < sizeof(line)) {
        struct pollfd waiting = {.fd = app->output, .events = POLLIN};
        assert_int_equal(poll(&waiting, 1, 60000), 1);
        assert_int_equal(read(app->output, line + size, 1), 1);
        if (line[size++] == '\n')
            break;
    }
    line[size] = '\0';
    assert_non_null(strstr(line, "ready pid="));
}

static struct app running(unsigned major, const char *behaviour)
{
    struct app app = {0};
    struct sonde_error err = {0};
    struct sn_ipc_target target;
    start(&app, major, behaviour, NULL);
    await_ready(&app);
    int rc = sn_ipc_target_of_pid(app.pid, &target, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(rc, SONDE_OK);
    app.route = sn_ipc_route_to(&target);
    return app;
}

static struct app suspended(unsigned major, const char *behaviour)
{
    struct app app = {0};
    struct sonde_error err = {0};
    char setting[160];
    assert_int_equal(sn_ipc_port_new(NULL, &app.port, &err), SONDE_OK);
    start(&app, major, behaviour, sn_ipc_port_setting(app.port, true, setting, sizeof(setting)));
    int rc = sn_ipc_port_wait(app.port, app.pid, SECONDS(60), &app.route, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(rc, SONDE_OK);
    assert_int_equal(app.route.target.pid, app.pid);
    return app;
}

static bool is_alive(const struct app *app)
{
    return waitpid(app->pid, NULL, WNOHANG) == 0;
}

static void end(struct app *app)
{
    int status = 0;
    assert_true(is_alive(app));
    close(app->input);
    assert_int_equal(waitpid(app->pid, &status, 0), app->pid);
    close(app->output);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    sn_ipc_port_free(app->port);
}

#define EXPECT_OK(call)                    \
    do {                                   \
        struct sonde_error err = {0};      \
        int rc_ = (call);                  \
        assert_string_equal(err.text, ""); \
        assert_int_equal(rc_, SONDE_OK);   \
    } while (0)

static void each_runtime_tells_who_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = running(majors[i], "idle");
        struct sn_ipc_process_info info = {0};
        EXPECT_OK(sn_ipc_get_process_info(&app.route, SECONDS(10), &info, &err));
        assert_int_equal(info.ns_pid, app.pid);
        assert_int_equal(info.major, majors[i]);
        assert_string_equal(info.entry_assembly, "targets");
        assert_string_equal(info.os, "Linux");
        assert_non_null(strstr(info.command_line, "targets.dll idle"));
        assert_non_null(strstr(info.rid, "linux-"));
        sn_ipc_process_info_done(&info);
        end(&app);
    }
}

static bool has_variable(const struct sn_ipc_environment *environment, const char *pair)
{
    for (size_t i = 0; i < environment->count; i++) {
        if (strcmp(environment->variables[i], pair) == 0)
            return true;
    }
    return false;
}

static void the_environment_is_the_live_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = suspended(majors[i], "idle");
        struct sn_ipc_environment environment = {0};
        EXPECT_OK(sn_ipc_set_variable(&app.route, "SONDE_SET", "grün=\xF0\x9F\x90\xA7", &err));
        EXPECT_OK(sn_ipc_set_variable(&app.route, "SONDE_EMPTY", "", &err));
        EXPECT_OK(sn_ipc_get_environment(&app.route, SECONDS(10), &environment, &err));
        assert_true(has_variable(&environment, "SONDE_MARK=here"));
        assert_true(has_variable(&environment, "SONDE_SET=grün=\xF0\x9F\x90\xA7"));
        sn_ipc_environment_done(&environment);
        EXPECT_OK(sn_ipc_resume(&app.route, &err));
        await_ready(&app);
        end(&app);
    }
}

static void a_perf_map_is_written_and_switched_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = running(majors[i], "idle");
        char map[64];
        struct stat stat_buffer;
        (void)snprintf(map, sizeof(map), "/tmp/perf-%d.map", app.pid);
        EXPECT_OK(sn_ipc_enable_perf_map(&app.route, SN_IPC_PERF_MAP, &err));
        assert_int_equal(stat(map, &stat_buffer), 0);
        assert_true(stat_buffer.st_size > 1000);
        EXPECT_OK(sn_ipc_disable_perf_map(&app.route, &err));
        end(&app);
        (void)unlink(map);
    }
}

static void a_triage_dump_is_written_and_a_bad_path_is_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = running(majors[i], "idle");
        struct stat stat_buffer;
        struct sonde_error refused = {0};
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/dump", scratch);
        struct sn_ipc_dump dump = {.path = path, .type = SN_IPC_DUMP_TRIAGE};
        EXPECT_OK(sn_ipc_dump(&app.route, &dump, SECONDS(60), &err));
        assert_int_equal(stat(path, &stat_buffer), 0);
        (void)unlink(path);
        dump.path = "/nowhere/at/all";
        assert_int_equal(sn_ipc_dump(&app.route, &dump, SECONDS(60), &refused), SONDE_E_REFUSED);
        assert_int_equal(refused.hresult, SN_IPC_HR_FAIL);
        assert_non_null(strstr(refused.text, "/nowhere/at/all"));
        end(&app);
    }
}

/* A session that is read and stopped on one loop. */
struct drain {
    struct sn_ipc_session session;
    struct sn_loop *loop;
    struct sn_watch watch;
    struct sn_timer timer;
    uint8_t head[8];
    size_t size;
    size_t wanted;
    uint64_t latest_ns;
    int stop_status;
    bool has_ended;
};

static void drain_some(struct sn_watch *watch, uint32_t events)
{
    struct drain *drain = watch->user;
    uint8_t bytes[4096];
    (void)events;
    ssize_t got = read(watch->fd, bytes, sizeof(bytes));
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        drain->has_ended = true;
        sn_loop_unwatch(watch);
        return;
    }
    for (ssize_t i = 0; i < got && drain->size + (size_t)i < sizeof(drain->head); i++)
        drain->head[drain->size + (size_t)i] = bytes[i];
    drain->size += (size_t)got;
}

static void note_stop(struct sn_ipc_session *session, int status, const struct sonde_error *err)
{
    struct drain *drain = session->user;
    (void)err;
    drain->stop_status = status;
}

/* Once enough has come, which on a busy machine may take a while. */
static void stop_now(struct sn_timer *timer)
{
    struct drain *drain = timer->user;
    if (drain->size < drain->wanted && sn_clock_monotonic_ns() < drain->latest_ns) {
        sn_loop_timer(drain->loop, timer, sn_clock_deadline(SECONDS(1) / 5));
        return;
    }
    EXPECT_OK(sn_ipc_session_stop(&drain->session, drain->loop, SECONDS(20), note_stop, &err));
}

static const struct sn_ipc_provider runtime_provider = {
    .name = "Microsoft-Windows-DotNETRuntime",
    .keywords = 0x19,
    .level = 5,
};

static void drain_and_stop(struct drain *drain, const struct sn_ipc_route *route,
                           const struct sn_ipc_wants *wants, uint64_t after_ns)
{
    EXPECT_OK(sn_loop_new(&drain->loop, &err));
    drain->session.user = drain;
    drain->stop_status = SONDE_AGAIN;
    drain->latest_ns = sn_clock_deadline(SECONDS(30));
    if (!drain->session.is_open)
        EXPECT_OK(sn_ipc_session_open(&drain->session, route, wants, &err));
    drain->watch = (struct sn_watch){.fd = drain->session.fd, .ready = drain_some, .user = drain};
    drain->timer = (struct sn_timer){.expired = stop_now, .user = drain};
    EXPECT_OK(sn_loop_watch(drain->loop, &drain->watch, EPOLLIN, &err));
    sn_loop_timer(drain->loop, &drain->timer, sn_clock_deadline(after_ns));
    EXPECT_OK(sn_loop_run(drain->loop, &err));
    sn_ipc_session_close(&drain->session);
    sn_loop_free(drain->loop);
    assert_int_equal(drain->stop_status, SONDE_OK);
    assert_true(drain->has_ended);
    assert_memory_equal(drain->head, "Nettrace", 8);
}

static void a_session_is_read_and_stopped_with_its_rundown(void **state)
{
    static const enum sn_ipc_command newest[] = {SN_IPC_COLLECT_TRACING2, SN_IPC_COLLECT_TRACING4,
                                                 SN_IPC_COLLECT_TRACING5};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = running(majors[i], "all");
        for (unsigned known = 0; known < 2; known++) {
            struct drain drain = {0};
            struct sn_ipc_wants wants = {
                .providers = &runtime_provider,
                .provider_count = 1,
                .buffer_mb = 16,
                .rundown_keyword = 0x38,
                .runtime_major = known ? majors[i] : 0,
            };
            drain_and_stop(&drain, &app.route, &wants, SECONDS(1) / 2);
            assert_int_equal(drain.session.command, newest[i]);
            assert_true(drain.session.filters_applied);
            assert_int_equal(drain.session.stacks_off_applied, majors[i] >= 9);
            assert_int_equal(drain.session.rundown_keyword_applied, majors[i] >= 9);
            assert_true(drain.size > 100000);
        }
        end(&app);
    }
}

static void event_filters_are_sent_only_where_they_are_known(void **state)
{
    static const uint32_t ids[] = {80};
    struct sn_ipc_provider provider = runtime_provider;
    (void)state;
    provider.keywords = 0x8000;
    provider.level = 2;
    provider.event_ids = ids;
    provider.event_id_count = 1;
    provider.only_listed = true;
    for (size_t i = 0; i < 3; i++) {
        struct app app = running(majors[i], "exceptions");
        struct drain drain = {0};
        struct sn_ipc_wants wants = {
            .providers = &provider, .provider_count = 1, .buffer_mb = 16, .stacks = true};
        drain_and_stop(&drain, &app.route, &wants, SECONDS(1) / 2);
        assert_int_equal(drain.session.filters_applied, majors[i] >= 10);
        assert_true(drain.session.stacks_off_applied);
        assert_true(drain.session.rundown_keyword_applied);
        end(&app);
    }
}

static void a_start_is_recorded_from_the_first_event_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = suspended(majors[i], "idle");
        struct drain drain = {.wanted = 10001};
        struct sn_ipc_wants wants = {
            .providers = &runtime_provider, .provider_count = 1, .buffer_mb = 16, .stacks = true};
        EXPECT_OK(sn_ipc_session_open(&drain.session, &app.route, &wants, &err));
        EXPECT_OK(sn_ipc_resume(&app.route, &err));
        drain_and_stop(&drain, &app.route, &wants, SECONDS(1) / 2);
        assert_true(drain.size > 10000);
        await_ready(&app);
        end(&app);
    }
}

static void the_65th_session_is_refused_with_the_reason(void **state)
{
    (void)state;
    struct app app = running(10, "idle");
    static struct sn_ipc_session sessions[65];
    struct sonde_error err = {0};
    struct sn_ipc_provider quiet = {.name = "Sonde-Nobody", .level = 1};
    struct sn_ipc_wants wants = {
        .providers = &quiet, .provider_count = 1, .buffer_mb = 1, .runtime_major = 10};
    int rc = SONDE_OK;
    size_t opened = 0;
    while (opened < 65 && rc == SONDE_OK) {
        memset(&sessions[opened], 0, sizeof(sessions[opened]));
        rc = sn_ipc_session_open(&sessions[opened], &app.route, &wants, &err);
        opened += rc == SONDE_OK;
    }
    assert_int_equal(opened, 64);
    assert_int_equal(rc, SONDE_E_REFUSED);
    assert_int_equal(err.hresult, SN_IPC_HR_FAIL);
    assert_non_null(strstr(err.text, "all of its 64 are in use"));
    for (size_t i = 0; i < opened; i++)
        sn_ipc_session_close(&sessions[i]);
    end(&app);
}

static void a_good_hook_runs_and_a_bad_one_never_reaches_the_target(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = running(majors[i], "idle");
        char hooked[128];
        char native[128];
        (void)snprintf(hooked, sizeof(hooked), "%s/hooked", scratch);
        (void)snprintf(native, sizeof(native), "%s/empty.dll", scratch);
        close(open(native, O_CREAT | O_WRONLY, 0644));
        const char *const bad[] = {"/nowhere/hook.dll",
                                   "relative.dll",
                                   HOOK "x",
                                   "/etc/passwd",
                                   native,
                                   APP,
                                   "/tmp/.dll",
                                   ""};
        for (size_t j = 0; j < sizeof(bad) / sizeof(*bad); j++) {
            struct sonde_error err = {0};
            assert_true(sn_ipc_apply_startup_hook(&app.route, bad[j], &err) < 0);
            assert_string_not_equal(err.text, "");
        }
        assert_true(is_alive(&app));
        EXPECT_OK(sn_ipc_apply_startup_hook(&app.route, HOOK, &err));
        assert_int_equal(access(hooked, F_OK), 0);
        (void)unlink(hooked);
        (void)unlink(native);
        end(&app);
    }
}

static void a_startup_profiler_is_refused_unless_the_target_is_held(void **state)
{
    (void)state;
    struct app app = running(10, "idle");
    struct sonde_error err = {0};
    struct sn_ipc_profiler profiler = {.path = "/bin/true", .clsid = {{1}}, .timeout_ms = 1000};
    assert_int_equal(sn_ipc_set_startup_profiler(&app.route, &profiler, false, &err),
                     SONDE_E_ARGUMENT);
    err = (struct sonde_error){0};
    profiler.path = "/etc/passwd";
    assert_int_equal(sn_ipc_attach_profiler(&app.route, &profiler, &err), SONDE_E_FORMAT);
    end(&app);
}

/* Threads that serve sessions, by their name; the program's own come and go. */
static size_t session_threads(int pid)
{
    char path[300];
    size_t count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *task = readdir(dir); task; task = readdir(dir)) {
        char name[32] = "";
        (void)snprintf(path, sizeof(path), "%s/comm", task->d_name);
        (void)sn_file_peek_at(dirfd(dir), path, name, sizeof(name));
        count += strncmp(name, ".NET EventPipe", 14) == 0;
    }
    closedir(dir);
    return count;
}

static size_t sockets(int pid)
{
    char path[300];
    size_t count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *file = readdir(dir); file; file = readdir(dir)) {
        char link[64] = "";
        (void)!readlinkat(dirfd(dir), file->d_name, link, sizeof(link) - 1);
        count += strncmp(link, "socket:", 7) == 0;
    }
    closedir(dir);
    return count;
}

static void open_and_drop(const struct app *app, const struct sn_ipc_wants *wants, unsigned count)
{
    while (count) {
        struct sn_ipc_session session = {0};
        struct sonde_error err = {0};
        int rc = sn_ipc_session_open(&session, &app->route, wants, &err);
        sn_ipc_session_strike(&session); /* so that the runtime is left alone with them */
        sn_ipc_session_close(&session);
        if (rc == SONDE_E_REFUSED) { /* 64 dropped ones wait for their next flush */
            usleep(200000);
            continue;
        }
        assert_string_equal(err.text, "");
        count--;
    }
}

static void a_thousand_dropped_sessions_leave_nothing_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct app app = running(majors[i], "all");
        struct sn_ipc_wants wants = {.providers = &runtime_provider,
                                     .provider_count = 1,
                                     .buffer_mb = 1,
                                     .stacks = true,
                                     .runtime_major = majors[i],
                                     .timeout_ns = SECONDS(20)};
        struct sn_ipc_process_info info = {0};
        size_t threads = session_threads(app.pid);
        size_t files = sockets(app.pid);
        open_and_drop(&app, &wants, 1000);
        for (unsigned wait = 0; wait < 200; wait++) {
            if (session_threads(app.pid) <= threads && sockets(app.pid) <= files)
                break;
            usleep(100000);
        }
        assert_int_equal(session_threads(app.pid), threads);
        assert_int_equal(sockets(app.pid), files);
        EXPECT_OK(sn_ipc_get_process_info(&app.route, SECONDS(10), &info, &err));
        sn_ipc_process_info_done(&info);
        end(&app);
    }
}

static void a_stopped_target_is_not_asked(void **state)
{
    (void)state;
    struct app app = running(10, "idle");
    struct sonde_error failure = {0};
    struct sn_ipc_target target;
    struct sn_ipc_process_info info = {0};
    assert_int_equal(kill(app.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(app.pid, NULL, WUNTRACED), app.pid);
    assert_int_equal(sn_ipc_target_of_pid(app.pid, &target, &failure), SONDE_E_BUSY);
    assert_non_null(strstr(failure.text, "kill -CONT"));
    failure = (struct sonde_error){0};
    assert_int_equal(sn_ipc_get_process_info(&app.route, SECONDS(1), &info, &failure),
                     SONDE_E_BUSY);
    assert_int_equal(kill(app.pid, SIGCONT), 0);
    EXPECT_OK(sn_ipc_get_process_info(&app.route, SECONDS(10), &info, &err));
    sn_ipc_process_info_done(&info);
    end(&app);
}

/* What a killed runtime leaves in the temporary directory. */
static void remove_remains(const struct app *app)
{
    static const char *const ends[] = {"in", "out"};
    (void)unlink(app->route.target.socket_path);
    for (size_t i = 0; i < 2; i++) {
        char pipe_path[128];
        (void)snprintf(pipe_path, sizeof(pipe_path), "/tmp/clr-debug-pipe-%d-%" PRIu64 "-%s",
                       app->pid, app->route.target.start_ticks, ends[i]);
        (void)unlink(pipe_path);
    }
}

static void a_killed_target_ends_the_stream_and_the_stop(void **state)
{
    (void)state;
    struct app app = running(10, "all");
    struct sn_ipc_session session = {0};
    struct sonde_error failure = {0};
    struct sn_ipc_wants wants = {
        .providers = &runtime_provider, .provider_count = 1, .buffer_mb = 1, .stacks = true};
    EXPECT_OK(sn_ipc_session_open(&session, &app.route, &wants, &err));
    assert_int_equal(kill(app.pid, SIGKILL), 0);
    assert_int_equal(waitpid(app.pid, NULL, 0), app.pid);
    struct sn_loop *loop = NULL;
    EXPECT_OK(sn_loop_new(&loop, &err));
    assert_int_equal(sn_ipc_session_stop(&session, loop, SECONDS(1), note_stop, &failure),
                     SONDE_E_GONE);
    sn_ipc_session_close(&session);
    sn_loop_free(loop);
    remove_remains(&app);
    close(app.input);
    close(app.output);
}

static int skip_all(const char *reason)
{
    (void)fprintf(stderr, "skipped: %s\n", reason);
    return 77;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_runtime_tells_who_it_is),
        cmocka_unit_test(the_environment_is_the_live_one),
        cmocka_unit_test(a_perf_map_is_written_and_switched_off),
        cmocka_unit_test(a_triage_dump_is_written_and_a_bad_path_is_explained),
        cmocka_unit_test(a_session_is_read_and_stopped_with_its_rundown),
        cmocka_unit_test(event_filters_are_sent_only_where_they_are_known),
        cmocka_unit_test(a_start_is_recorded_from_the_first_event_on),
        cmocka_unit_test(the_65th_session_is_refused_with_the_reason),
        cmocka_unit_test(a_good_hook_runs_and_a_bad_one_never_reaches_the_target),
        cmocka_unit_test(a_startup_profiler_is_refused_unless_the_target_is_held),
        cmocka_unit_test(a_stopped_target_is_not_asked),
        cmocka_unit_test(a_killed_target_ends_the_stream_and_the_stop),
        cmocka_unit_test(a_thousand_dropped_sessions_leave_nothing_behind),
    };
    if (access(APP, R_OK) != 0 || access(HOOK, R_OK) != 0)
        return skip_all("the test apps are not built: tests/apps/build");
    FILE *asked = popen(SONDE_SOURCE_DIR "/tools/test-runtimes", "r");
    bool known = asked && fgets(runtimes, sizeof(runtimes), asked);
    if (!asked || pclose(asked) != 0 || !known)
        return skip_all("no .NET runtimes: tools/test-runtimes");
    runtimes[strcspn(runtimes, "\n")] = '\0';
    (void)snprintf(scratch, sizeof(scratch), "/tmp/sonde-live-XXXXXX");
    if (!mkdtemp(scratch))
        return skip_all("no directory for files");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)rmdir(scratch);
    return failed;
}
