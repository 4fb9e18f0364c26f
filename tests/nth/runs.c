/* Preloaded into a unit test with SONDE_NTH set, this runs each of its tests again and again
 * instead of once, in processes of their own. In each run another call fails. The test may fail
 * then, but must not crash, hang or lose memory. */
#include "nth.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A run that takes longer hangs. It is sent SIGABRT, which shows its stack, then SIGKILL. */
#define PATIENCE_MS   60000
#define LAST_WORDS_MS 5000

/* The gate tries this many calls of each kind in a test, each along another path. Soak tries all,
 * and only those along other paths once it has come so far. */
#define GATE_CALLS 40
#define SOAK_CALLS 1000

static const char *const kind_names[NTH_KINDS] = {"memory", "read",    "partial",
                                                  "write",  "mapping", "thread"};

enum verdict { PASSED, REPORTED, CRASHED, LEAKED, SANITIZED, HUNG, VERDICTS };

static const char *const verdict_names[VERDICTS] = {
    "passed all the same", "reported", "crashed", "leaked", "caught by a sanitizer", "hung"};

/* cmocka's, which runs the tests of a group. */
typedef int run_group(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction,
                      CMFixtureFunction);

struct loop {
    run_group *run_group;
    const struct CMUnitTest *tests;
    size_t test_count;
    CMFixtureFunction set_up;
    CMFixtureFunction tear_down;
    const void *test_end;
    struct nth_run *run;
    unsigned runs;
    unsigned unsound; /* tests that fail of themselves */
    unsigned verdicts[VERDICTS];
    uint64_t failed[NTH_KINDS]; /* runs that came to their call */
    uint64_t calls[NTH_KINDS];  /* of all tests, when none fails */
};

static bool is_bad(enum verdict verdict)
{
    return verdict > REPORTED;
}

/* Waits until the process has ended; whether that took too long. */
static bool outlasts(pid_t pid, int *ret_status)
{
    struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    bool is_late = poll(&end, 1, PATIENCE_MS) == 0;
    if (is_late) {
        (void)kill(pid, SIGABRT);
        (void)poll(&end, 1, LAST_WORDS_MS);
    }
    (void)kill(-pid, SIGKILL); /* also what it started */
    (void)close(end.fd);
    (void)waitpid(pid, ret_status, 0);
    return is_late;
}

static enum verdict judge(bool is_late, int status)
{
    if (is_late)
        return HUNG;
    if (!WIFEXITED(status))
        return CRASHED;
    switch (WEXITSTATUS(status)) {
    case 0: return PASSED;
    case NTH_LEAKED: return LEAKED;
    case NTH_SANITIZED: return SANITIZED;
    default: return REPORTED;
    }
}

static void show_output(int fd)
{
    char part[4096];
    ssize_t size = 0;
    (void)lseek(fd, 0, SEEK_SET);
    (void)fflush(stdout);
    while ((size = read(fd, part, sizeof(part))) > 0)
        (void)!write(STDOUT_FILENO, part, (size_t)size);
}

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        (void)closedir(folder);
    return count;
}

/* A test that passed has closed what it opened, as it does when no call fails. One that failed has
 * not come to that. */
static void check_descriptors(struct nth_run *run)
{
    unsigned count = count_descriptors();
    if (!run->failing.n)
        run->descriptor_count = count;
    if (count <= run->descriptor_count)
        return;
    printf("%u descriptors stayed open\n", count - run->descriptor_count);
    (void)fflush(NULL);
    _exit(NTH_LEAKED);
}

/* The run itself, in its process. */
static _Noreturn void run_here(const struct loop *loop, const struct CMUnitTest *test, int output)
{
    int failed = 0;
    (void)setpgid(0, 0);
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
    nth_begin(loop->run, loop->test_end);
    failed = loop->run_group("once", test, 1, loop->set_up, loop->tear_down);
    if (!failed) { /* a test that failed has not released what it had */
        nth_check_leaks();
        check_descriptors(loop->run);
    }
    (void)fflush(NULL);
    _exit(failed != 0);
}

static enum verdict run_once(struct loop *loop, const struct CMUnitTest *test, struct nth_call call)
{
    struct nth_run *run = loop->run;
    int output = memfd_create("output", MFD_CLOEXEC);
    enum verdict verdict = PASSED;
    bool is_late = false;
    int status = 0;
    pid_t pid = 0;
    run->failing = call;
    memset(run->calls, 0, sizeof(run->calls));
    (void)fflush(stdout);
    pid = fork();
    if (pid == 0)
        run_here(loop, test, output);
    is_late = outlasts(pid, &status);
    verdict = judge(is_late, status);
    loop->runs++;
    loop->verdicts[verdict]++;
    loop->failed[call.kind] += call.n && run->calls[call.kind] >= call.n;
    if (run->is_shown || is_bad(verdict) || (!call.n && verdict != PASSED))
        show_output(output);
    if (is_bad(verdict))
        printf("FAILED: %s when call %llu of %s failed; again: tests/nth/run %s %s %s %llu\n",
               verdict_names[verdict], (unsigned long long)call.n, kind_names[call.kind],
               program_invocation_short_name, test->name, kind_names[call.kind],
               (unsigned long long)call.n);
    (void)close(output);
    return verdict;
}

/* Calls along paths that no test before this has taken: the first `limit` of a kind. */
static void try_paths(struct loop *loop, const struct CMUnitTest *test, unsigned first,
                      unsigned limit)
{
    unsigned tried[NTH_KINDS] = {0};
    for (unsigned i = first; i < loop->run->path_count; i++) {
        struct nth_call call = loop->run->paths[i];
        if (tried[call.kind]++ < limit)
            (void)run_once(loop, test, call);
    }
}

/* Every call of every kind, until a run passes untouched. */
static void try_all(struct loop *loop, const struct CMUnitTest *test, unsigned first)
{
    for (enum nth_kind kind = 0; kind < NTH_KINDS; kind++) {
        uint64_t n = 1;
        do
            (void)run_once(loop, test, (struct nth_call){kind, n});
        while (loop->run->calls[kind] >= n && n++ < SOAK_CALLS);
    }
    for (unsigned i = first; i < loop->run->path_count; i++)
        if (loop->run->paths[i].n > SOAK_CALLS)
            (void)run_once(loop, test, loop->run->paths[i]);
}

/* SONDE_NTH_WITHOUT lists tests that take too long for the gate. */
static bool is_left_out(const char *name)
{
    const char *list = getenv("SONDE_NTH_WITHOUT");
    size_t size = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += size)
        if ((at == list || isspace((unsigned char)at[-1])) &&
            (!at[size] || isspace((unsigned char)at[size])))
            return true;
    return false;
}

static void try_test(struct loop *loop, const struct CMUnitTest *test, bool is_soak)
{
    unsigned first = loop->run->path_count;
    if (!is_soak && is_left_out(test->name)) {
        printf("left to soak: %s\n", test->name);
        return;
    }
    if (run_once(loop, test, (struct nth_call){0}) != PASSED) {
        printf("FAILED: %s failed when no call did\n", test->name);
        loop->unsound++;
        return;
    }
    for (enum nth_kind kind = 0; kind < NTH_KINDS; kind++)
        loop->calls[kind] += loop->run->calls[kind];
    if (is_soak)
        try_all(loop, test, first);
    else
        try_paths(loop, test, first, GATE_CALLS);
}

/* "TEST KIND N": one run. */
static void try_one(struct loop *loop, const char *asked)
{
    char start[300];
    loop->run->is_shown = true;
    for (size_t i = 0; i < loop->test_count; i++)
        for (enum nth_kind kind = 0; kind < NTH_KINDS; kind++) {
            (void)snprintf(start, sizeof(start), "%s %s ", loop->tests[i].name, kind_names[kind]);
            if (strncmp(asked, start, strlen(start)) == 0)
                (void)run_once(loop, &loop->tests[i],
                               (struct nth_call){kind, strtoull(asked + strlen(start), NULL, 10)});
        }
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static unsigned summarize(const struct loop *loop, double seconds)
{
    unsigned bad = loop->unsound;
    printf("%s: %u runs in %.1f s; calls that failed:", program_invocation_short_name, loop->runs,
           seconds);
    for (enum nth_kind kind = 0; kind < NTH_KINDS; kind++)
        printf("%s %s %llu of %llu", kind ? "," : "", kind_names[kind],
               (unsigned long long)loop->failed[kind], (unsigned long long)loop->calls[kind]);
    printf("; verdicts:");
    for (enum verdict verdict = 0; verdict < VERDICTS; verdict++) {
        printf("%s %u %s", verdict ? "," : "", loop->verdicts[verdict], verdict_names[verdict]);
        bad += is_bad(verdict) ? loop->verdicts[verdict] : 0;
    }
    printf("\n");
    return bad;
}

/* Instead of cmocka's. */
int _cmocka_run_group_tests(const char *group_name, const struct CMUnitTest *tests,
                            size_t num_tests, CMFixtureFunction group_setup,
                            CMFixtureFunction group_teardown)
{
    const char *asked = getenv("SONDE_NTH");
    struct loop loop = {.run_group = (run_group *)dlsym(RTLD_NEXT, "_cmocka_run_group_tests"),
                        .tests = tests,
                        .test_count = num_tests,
                        .set_up = group_setup,
                        .tear_down = group_teardown,
                        .test_end = __builtin_return_address(0)}; /* main is last in its file */
    double began = now();
    if (!asked)
        return loop.run_group(group_name, tests, num_tests, group_setup, group_teardown);
    (void)unsetenv("LD_PRELOAD"); /* what a test starts runs as it is */
    loop.run =
        mmap(NULL, sizeof(*loop.run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (loop.run == MAP_FAILED)
        return 1;
    if (strcmp(asked, "gate") != 0 && strcmp(asked, "soak") != 0)
        try_one(&loop, asked);
    else
        for (size_t i = 0; i < num_tests; i++)
            try_test(&loop, &tests[i], *asked == 's');
    return (int)summarize(&loop, now() - began);
}
