/* The kernel source against the real kernel: what children of known behaviour do is what comes down
 * the road. Machine-wide parts need the right to it; without it they are skipped. */
#include "check.h"
#include "kernel_recording.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "format/universal.h"
#include "model/event.h"
#include "source/perf/kernel.h"

static void a_busy_process_is_sampled_where_it_is(void **state)
{
    (void)state;
    need_machine();
    pid_t pid = start_busy(10000 * MS);
    struct recording recording = {.heard = {.pid = (uint32_t)pid,
                                            .from = (uint64_t)(uintptr_t)spin_code_start,
                                            .until = (uint64_t)(uintptr_t)spin_code_end}};
    struct sn_kernel_options options = {.rung = SN_RUNG_MACHINE, .frequency = 999};
    begin(&recording, &options);
    go_on_until(&recording, 100);
    finish(&recording);
    struct sn_kernel_state told;
    sn_kernel_state(recording.source, &told);
    const struct heard *heard = &recording.heard;
    assert_int_equal(heard->counts[SN_UNIVERSAL_EXISTING_PROCESS], 1);
    assert_string_equal(heard->created, "kernel_source_t");
    assert_true(heard->counts[SN_UNIVERSAL_CPU] > 30);
    assert_true(heard->in_range * 10 > heard->counts[SN_UNIVERSAL_CPU] * 8);
    assert_int_equal(heard->unmapped, 0);
    assert_true(told.samples >= heard->counts[SN_UNIVERSAL_CPU]);
    assert_int_equal(told.lost, heard->lost); /* beside other recorders some may be */
    assert_string_equal(told.sampler, "cpu-clock");
    end(&recording);
    reap(pid);
}

static void a_forked_and_executed_child_is_two_processes(void **state)
{
    (void)state;
    need_machine();
    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t parent = fork();
    if (parent == 0) {
        char byte;
        if (read(go[0], &byte, 1) != 1)
            _exit(1);
        volatile unsigned counter = 0;
        spin(&counter, 100 * MS); /* seen under its old name */
        (void)execlp("sh", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done", NULL);
        _exit(1);
    }
    uint32_t pids[] = {(uint32_t)parent};
    struct recording recording = {.heard = {.pid = (uint32_t)parent}};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_MACHINE, .frequency = 999, .scope = {.pids = pids, .pid_count = 1}};
    begin(&recording, &options);
    assert_int_equal(write(go[1], "x", 1), 1);
    while (waitpid(parent, NULL, WNOHANG) == 0)
        go_on(&recording, 20 * MS);
    go_on(&recording, 20 * MS);
    finish(&recording);
    const struct heard *heard = &recording.heard;
    assert_int_equal(heard->counts[SN_UNIVERSAL_EXISTING_PROCESS], 1);
    assert_int_equal(heard->counts[SN_UNIVERSAL_PROCESS_CREATE], 1);
    assert_int_equal(heard->counts[SN_UNIVERSAL_PROCESS_EXIT], 2);
    assert_string_equal(heard->created, "sh");
    assert_true(heard->counts[SN_UNIVERSAL_CPU] > 20);
    assert_int_equal(heard->unmapped, 0);
    assert_int_equal(heard->others, 0); /* out of scope */
    end(&recording);
    (void)close(go[0]);
    (void)close(go[1]);
}

static void *live_as_somebody(void *user)
{
    (void)pthread_setname_np(pthread_self(), "a-known-name");
    volatile unsigned counter = 0;
    spin(&counter, 100 * MS);
    (void)user;
    return NULL;
}

static void children_of_the_scope_are_in_it_with_their_threads(void **state)
{
    (void)state;
    need_machine();
    int told[2];
    int go[2];
    assert_int_equal(pipe(told), 0);
    assert_int_equal(pipe(go), 0);
    pid_t parent = fork();
    if (parent == 0) {
        char byte;
        if (read(go[0], &byte, 1) != 1)
            _exit(1);
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, live_as_somebody, NULL) == 0)
                (void)pthread_join(thread, NULL);
            _exit(0);
        }
        (void)!write(told[1], &child, sizeof(child));
        (void)waitpid(child, NULL, 0);
        _exit(0);
    }
    uint32_t pids[] = {(uint32_t)parent};
    struct recording recording = {0};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_MACHINE, .frequency = 999, .scope = {.pids = pids, .pid_count = 1}};
    begin(&recording, &options);
    assert_int_equal(write(go[1], "x", 1), 1);
    pid_t child = 0;
    assert_int_equal(read(told[0], &child, sizeof(child)), sizeof(child));
    recording.heard.pid = (uint32_t)child;
    while (waitpid(parent, NULL, WNOHANG) == 0)
        go_on(&recording, 20 * MS);
    finish(&recording);
    const struct heard *heard = &recording.heard;
    assert_int_equal(heard->counts[SN_UNIVERSAL_PROCESS_CREATE], 1);
    assert_int_equal(heard->counts[SN_UNIVERSAL_PROCESS_EXIT], 1);
    unsigned names = heard->counts[SN_UNIVERSAL_THREAD_NAME];
    assert_true(names == 1 || names == 2); /* the one it was born with, its own */
    assert_int_equal(heard->counts[SN_UNIVERSAL_THREAD_EXIT], 1);
    assert_string_equal(heard->thread_name, "a-known-name");
    assert_int_not_equal(heard->named_thread, child);
    assert_true(heard->counts[SN_UNIVERSAL_CPU] > 10);
    end(&recording);
    for (int i = 0; i < 2; i++) {
        (void)close(told[i]);
        (void)close(go[i]);
    }
}

static void *rest(void *user)
{
    (void)usleep(500000);
    return user;
}

static void *make_another(void *user)
{
    pthread_t thread;
    (void)pthread_setname_np(pthread_self(), "of-a-family");
    if (pthread_create(&thread, NULL, rest, NULL) == 0)
        (void)pthread_join(thread, NULL);
    return user;
}

/* Of the last thread born, which gives itself no name, only its maker's says how it is called. */
static void a_thread_has_the_name_of_the_one_that_made_it(void **state)
{
    (void)state;
    need_machine();
    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        pthread_t thread;
        if (read(go[0], &byte, 1) == 1 && pthread_create(&thread, NULL, make_another, NULL) == 0)
            (void)pthread_join(thread, NULL);
        _exit(0);
    }
    uint32_t pids[] = {(uint32_t)pid};
    struct recording recording = {.heard = {.pid = (uint32_t)pid}};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_MACHINE, .frequency = 99, .scope = {.pids = pids, .pid_count = 1}};
    begin(&recording, &options);
    assert_int_equal(write(go[1], "x", 1), 1);
    while (waitpid(pid, NULL, WNOHANG) == 0)
        go_on(&recording, 20 * MS);
    finish(&recording);
    assert_true(recording.heard.counts[SN_UNIVERSAL_THREAD_EXIT] >= 1);
    assert_true(recording.heard.counts[SN_UNIVERSAL_THREAD_NAME] >= 2);
    assert_string_equal(recording.heard.thread_name, "of-a-family");
    assert_int_equal(recording.heard.named_thread, recording.heard.ended_thread);
    end(&recording);
    (void)close(go[0]);
    (void)close(go[1]);
}

static void a_scope_of_names_takes_those_that_start_later(void **state)
{
    (void)state;
    need_machine();
    const char *names[] = {"sonde-namd-*"};
    struct recording recording = {0};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_MACHINE, .frequency = 999, .scope = {.names = names, .name_count = 1}};
    begin(&recording, &options);
    pid_t busy = start_busy(200 * MS); /* not in scope */
    char link[64];
    (void)snprintf(link, sizeof(link), "/tmp/sonde-namd-%d", (int)getpid());
    assert_int_equal(symlink("/bin/sh", link), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl(link, link, "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", NULL);
        _exit(1);
    }
    recording.heard.pid = (uint32_t)pid;
    while (waitpid(pid, NULL, WNOHANG) == 0)
        go_on(&recording, 20 * MS);
    finish(&recording);
    assert_int_equal(unlink(link), 0);
    const struct heard *heard = &recording.heard;
    assert_int_equal(heard->counts[SN_UNIVERSAL_PROCESS_CREATE], 1);
    assert_true(heard->counts[SN_UNIVERSAL_CPU] > 5);
    assert_int_equal(heard->unmapped, 0);
    assert_int_equal(heard->others, 0);
    end(&recording);
    reap(busy);
}

static void a_process_is_added_to_the_scope_later(void **state)
{
    (void)state;
    need_machine();
    uint32_t nobody[] = {(uint32_t)getpid()};
    pid_t busy = start_busy(10000 * MS);
    struct recording recording = {.heard = {.pid = (uint32_t)busy}};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_MACHINE, .frequency = 999, .scope = {.pids = nobody, .pid_count = 1}};
    begin(&recording, &options);
    go_on(&recording, 150 * MS);
    assert_int_equal(recording.heard.counts[SN_UNIVERSAL_CPU], 0);
    struct sonde_error err = {0};
    assert_int_equal(sn_kernel_add_process(recording.source, 0x7fffffff, &err), SONDE_E_NOT_FOUND);
    assert_int_equal(sn_kernel_add_process(recording.source, (uint32_t)busy, NULL), SONDE_OK);
    go_on_until(&recording, 20);
    finish(&recording);
    assert_int_equal(recording.heard.counts[SN_UNIVERSAL_EXISTING_PROCESS], 1);
    assert_true(recording.heard.counts[SN_UNIVERSAL_CPU] > 10);
    end(&recording);
    reap(busy);
}

static int start_with(const struct sn_kernel_options *options, struct sonde_error *err)
{
    struct sn_loop *loop = NULL;
    struct sn_road *road = NULL;
    struct sn_source *source = NULL;
    assert_int_equal(sn_loop_new(&loop, NULL), SONDE_OK);
    assert_int_equal(sn_road_new(loop, NULL, &road, NULL), SONDE_OK);
    assert_int_equal(sn_kernel_new(options, &source, err), SONDE_OK);
    int rc = sn_road_add_source(road, source, err);
    sn_road_free(road);
    sn_loop_free(loop);
    return rc;
}

static void a_process_that_is_not_there_is_refused(void **state)
{
    (void)state;
    need_machine();
    uint32_t pids[] = {0x7ffffff0};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_MACHINE, .frequency = 99, .scope = {.pids = pids, .pid_count = 1}};
    struct sonde_error err = {0};
    assert_int_equal(start_with(&options, &err), SONDE_E_NOT_FOUND);
}

static void more_samples_than_the_kernel_takes_are_refused(void **state)
{
    (void)state;
    need_machine();
    struct sn_kernel_options options = {.rung = SN_RUNG_MACHINE, .frequency = 10000000};
    struct sonde_error err = {0};
    assert_int_equal(start_with(&options, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "perf_event_max_sample_rate"));
}

static void a_cgroup_that_is_none_is_refused(void **state)
{
    (void)state;
    struct sn_source *source = NULL;
    struct sonde_error err = {0};
    struct sn_kernel_options options = {.rung = SN_RUNG_MACHINE,
                                        .scope = {.cgroup = "no/such/cgroup"}};
    assert_int_equal(sn_kernel_new(&options, &source, &err), SONDE_E_NOT_FOUND);
    options.scope.cgroup = "/tmp";
    assert_int_equal(sn_kernel_new(&options, &source, NULL), SONDE_E_ARGUMENT);
}

/* A new cgroup of the hierarchy that perf filters by, or skips. */
static void make_cgroup(char *path, size_t size, const char *parent_of_all[])
{
    for (size_t i = 0; parent_of_all[i]; i++) {
        (void)snprintf(path, size, "%s/cgroup.procs", parent_of_all[i]);
        if (access(path, W_OK) != 0)
            continue;
        (void)snprintf(path, size, "%s/sonde-test-%d", parent_of_all[i], (int)getpid());
        if (mkdir(path, 0755) == 0)
            return;
    }
    skip_because("no cgroup can be made here");
}

static void join_cgroup(const char *path, pid_t pid)
{
    char file[128];
    char text[16];
    (void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
    int size = snprintf(text, sizeof(text), "%d", (int)pid);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)size), size);
    (void)close(fd);
}

static void a_cgroup_is_recorded_and_nobody_else(void **state)
{
    (void)state;
    need_machine();
    const char *roots[] = {"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup", "/sys/fs/cgroup/unified",
                           NULL};
    char path[96];
    make_cgroup(path, sizeof(path), roots);
    pid_t inside = start_busy(10000 * MS);
    pid_t outside = start_busy(10000 * MS);
    join_cgroup(path, inside);
    struct recording recording = {.heard = {.pid = (uint32_t)inside}};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_MACHINE, .frequency = 999, .scope = {.cgroup = strrchr(path, '/') + 1}};
    begin(&recording, &options);
    go_on_until(&recording, 20);
    finish(&recording);
    reap(inside);
    reap(outside);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(recording.heard.counts[SN_UNIVERSAL_EXISTING_PROCESS], 1);
    assert_true(recording.heard.counts[SN_UNIVERSAL_CPU] > 10);
    assert_int_equal(recording.heard.unmapped, 0);
    assert_int_equal(recording.heard.others, 0);
    end(&recording);
}

static void what_finds_no_room_in_the_ring_is_told_as_lost(void **state)
{
    (void)state;
    need_machine();
    pid_t busy = start_busy(10000 * MS);
    struct recording recording = {.heard = {.pid = (uint32_t)busy}};
    struct sn_kernel_options options = {.rung = SN_RUNG_MACHINE, .frequency = 10000, .ring_kb = 8};
    begin(&recording, &options);
    (void)usleep(300000); /* nobody reads */
    go_on(&recording, 150 * MS);
    finish(&recording);
    reap(busy);
    struct sn_kernel_state told;
    sn_kernel_state(recording.source, &told);
    assert_int_equal(told.ring_kb, 8);
    assert_true(told.lost > 100);
    assert_int_equal(recording.heard.lost, told.lost);
    end(&recording);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
    (void)state;
    need_machine();
    pid_t first = start_busy(10000 * MS);
    struct recording recording = {.heard = {.pid = (uint32_t)first}};
    struct sn_kernel_options options = {.rung = SN_RUNG_MACHINE, .frequency = 999};
    begin(&recording, &options);
    reap(first);
    pid_t second = fork_as(first); /* both within one turn of the source */
    if (second == 0) {
        (void)execlp("sh", "sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done", NULL);
        _exit(1);
    }
    bool is_reused = second == first;
    if (is_reused) {
        while (waitpid(second, NULL, WNOHANG) == 0)
            go_on(&recording, 20 * MS);
    }
    finish(&recording);
    end(&recording);
    if (!is_reused) {
        skip_because("pids cannot be chosen here");
    }
    const struct heard *heard = &recording.heard;
    assert_int_equal(heard->counts[SN_UNIVERSAL_EXISTING_PROCESS], 1);
    unsigned created = heard->counts[SN_UNIVERSAL_PROCESS_CREATE];
    assert_true(created == 1 || created == 2); /* it may have been seen before its exec */
    assert_int_equal(heard->counts[SN_UNIVERSAL_PROCESS_EXIT], created + 1);
    assert_string_equal(heard->created, "sh");
    assert_int_equal(heard->unmapped, 0);
}

/* In a pid namespace below, with a /proc of its own: others show as pid 0 there. */
static int record_in_namespace(void)
{
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0)
        return 77;
    pid_t busy = start_busy(10000 * MS);
    struct recording recording = {.heard = {.pid = (uint32_t)busy}};
    struct sn_kernel_options options = {.rung = SN_RUNG_MACHINE, .frequency = 999};
    begin(&recording, &options);
    go_on_until(&recording, 20);
    finish(&recording);
    struct sn_kernel_state told;
    sn_kernel_state(recording.source, &told);
    bool is_good = recording.heard.counts[SN_UNIVERSAL_EXISTING_PROCESS] == 1 &&
                   recording.heard.counts[SN_UNIVERSAL_CPU] > 10 && !recording.heard.unmapped &&
                   told.processes == 2; /* this one and its child */
    end(&recording);
    return is_good ? 0 : 4;
}

static void in_a_pid_namespace_others_are_nobody(void **state)
{
    (void)state;
    need_machine();
    pid_t outside = start_busy(10000 * MS);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
            _exit(77);
        pid_t inner = fork();
        if (inner == 0)
            _exit(record_in_namespace());
        int status = 0;
        (void)waitpid(inner, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    reap(outside);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip_because("no namespaces to be had");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void switches_of_a_process_are_counted(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            (void)usleep(1000);
    }
    assert_true(sn_kernel_switch_rate((uint32_t)pid, 200 * MS) > 50);
    reap(pid);
    assert_int_equal(sn_kernel_switch_rate((uint32_t)pid, MS), 0);
}

/* As somebody without rights: in a child, which says by its exit how it went. Its own child gives
 * up its rights as well, and may be looked at although it did so. */
static int record_as_nobody(void)
{
    if (setgid(65534) != 0 || setuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
        return 2;
    const char *why = "";
    if (sn_kernel_probe(&why) != SN_RUNG_THREADS || !*why)
        return 3;
    pid_t busy = start_busy(10000 * MS);
    uint32_t pids[] = {(uint32_t)busy};
    struct recording recording = {.heard = {.pid = (uint32_t)busy,
                                            .from = (uint64_t)(uintptr_t)spin_code_start,
                                            .until = (uint64_t)(uintptr_t)spin_code_end}};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_THREADS, .frequency = 999, .scope = {.pids = pids, .pid_count = 1}};
    begin(&recording, &options);
    go_on_until(&recording, 50);
    finish(&recording);
    const struct heard *heard = &recording.heard;
    unsigned samples = heard->counts[SN_UNIVERSAL_CPU];
    bool is_good = heard->counts[SN_UNIVERSAL_EXISTING_PROCESS] == 1 && samples > 20 &&
                   heard->in_range * 10 > samples * 8 && !heard->unmapped && !heard->with_kernel;
    end(&recording);
    reap(busy);
    return is_good ? 0 : 4;
}

static void without_rights_own_threads_are_sampled(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("needs root");
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(record_as_nobody());
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_process_is_sampled_where_it_is),
        cmocka_unit_test(a_forked_and_executed_child_is_two_processes),
        cmocka_unit_test(children_of_the_scope_are_in_it_with_their_threads),
        cmocka_unit_test(a_thread_has_the_name_of_the_one_that_made_it),
        cmocka_unit_test(a_scope_of_names_takes_those_that_start_later),
        cmocka_unit_test(a_process_is_added_to_the_scope_later),
        cmocka_unit_test(a_process_that_is_not_there_is_refused),
        cmocka_unit_test(more_samples_than_the_kernel_takes_are_refused),
        cmocka_unit_test(a_cgroup_that_is_none_is_refused),
        cmocka_unit_test(a_cgroup_is_recorded_and_nobody_else),
        cmocka_unit_test(what_finds_no_room_in_the_ring_is_told_as_lost),
        cmocka_unit_test(a_pid_that_is_used_again_is_another_process),
        cmocka_unit_test(in_a_pid_namespace_others_are_nobody),
        cmocka_unit_test(switches_of_a_process_are_counted),
        cmocka_unit_test(without_rights_own_threads_are_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
