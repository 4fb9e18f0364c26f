/* What /proc tells: about this process, about one with an awkward name, about one that is gone. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/user.h"
#include "source/proc/facts.h"

static void this_process_is_described(void **state)
{
    (void)state;
    struct sn_proc_facts facts;
    assert_true(sn_proc_facts_read((uint32_t)getpid(), &facts));
    assert_int_equal(facts.pid, getpid());
    assert_int_equal(facts.uid, geteuid());
    assert_int_equal(facts.state, 'R');
    assert_true(facts.thread_count >= 1);
    assert_true(facts.rss_bytes > 100000);
    assert_true(facts.start_ticks != 0);
    assert_true(facts.up_ns < 3600ull * SN_NS_PER_SECOND);
    assert_non_null(strstr(facts.command_line, "facts_test"));
    assert_int_equal(strncmp(facts.comm, "facts_test", 10), 0);
    assert_true(strlen(facts.user) > 0);
}

/* A child that names itself, tells so, and waits to be killed. */
static pid_t start_child(const char *name)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_NAME, name);
        if (write(ends[1], "x", 1) == 1)
            (void)pause();
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return pid;
}

static void end_child(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_name_with_brackets_and_spaces_confuses_nobody(void **state)
{
    (void)state;
    static const char *const names[] = {") R 1 (", "a b", "((", "))", "", "fifteen-letters"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        pid_t pid = start_child(names[i]);
        struct sn_proc_facts facts;
        struct sn_proc_facts self;
        assert_true(sn_proc_facts_read((uint32_t)getpid(), &self));
        bool read_it = sn_proc_facts_read((uint32_t)pid, &facts);
        end_child(pid);
        assert_true(read_it);
        assert_string_equal(facts.comm, names[i]);
        assert_true(facts.state == 'S' || facts.state == 'R');
        assert_int_equal(facts.thread_count, 1);
        assert_true(facts.start_ticks >= self.start_ticks);
    }
}

static void a_process_that_is_gone_is_not_there(void **state)
{
    (void)state;
    pid_t pid = start_child("gone");
    end_child(pid);
    struct sn_proc_facts facts;
    assert_false(sn_proc_facts_read((uint32_t)pid, &facts));
    assert_false(sn_proc_facts_read(UINT32_MAX, &facts));
    char version[16];
    assert_false(sn_proc_runtime_version((uint32_t)pid, version, sizeof(version)));
}

static void a_dead_child_is_seen_as_one(void **state)
{
    (void)state;
    pid_t pid = start_child("zombie");
    assert_int_equal(kill(pid, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    struct sn_proc_facts facts;
    bool read_it = sn_proc_facts_read((uint32_t)pid, &facts);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(read_it);
    assert_int_equal(facts.state, 'Z');
    assert_string_equal(facts.command_line, "");
}

static void a_process_without_the_runtime_has_no_version(void **state)
{
    (void)state;
    char version[16] = "untouched";
    assert_false(sn_proc_runtime_version((uint32_t)getpid(), version, sizeof(version)));
    assert_string_equal(version, "untouched");
}

static void a_user_has_a_name_or_at_least_a_number(void **state)
{
    (void)state;
    char name[SN_USER_NAME_SIZE];
    assert_string_equal(sn_user_name(0, name), "root");
    assert_true(strlen(sn_user_name(4294967294u, name)) > 0);
    assert_string_equal(sn_user_name(3999999999u, name), "3999999999");
}

static void cpu_time_grows_with_work(void **state)
{
    (void)state;
    struct sn_proc_facts before;
    struct sn_proc_facts after;
    assert_true(sn_proc_facts_read((uint32_t)getpid(), &before));
    uint64_t deadline = sn_clock_deadline(20ull * SN_NS_PER_SECOND);
    do {
        for (volatile int i = 0; i < 10000000; i++)
            continue;
        assert_true(sn_proc_facts_read((uint32_t)getpid(), &after));
    } while (after.cpu_ns < before.cpu_ns + 50ull * SN_NS_PER_MS &&
             sn_clock_monotonic_ns() < deadline);
    assert_true(after.cpu_ns >= before.cpu_ns + 50ull * SN_NS_PER_MS);
    assert_true(after.start_ticks == before.start_ticks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process_is_described),
        cmocka_unit_test(a_name_with_brackets_and_spaces_confuses_nobody),
        cmocka_unit_test(a_process_that_is_gone_is_not_there),
        cmocka_unit_test(a_dead_child_is_seen_as_one),
        cmocka_unit_test(a_process_without_the_runtime_has_no_version),
        cmocka_unit_test(a_user_has_a_name_or_at_least_a_number),
        cmocka_unit_test(cpu_time_grows_with_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
