/* CPU times of threads: a busy one is seen, an idle one is not, an ended one is forgotten. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "source/proc/cpu_times.h"

struct busy {
    pthread_t thread;
    atomic_uint tid;
    atomic_bool wants_end;
    atomic_bool wants_work;
};

static void *be_busy(void *user)
{
    struct busy *busy = user;
    (void)pthread_setname_np(pthread_self(), "busy-thread");
    atomic_store(&busy->tid, (unsigned)syscall(SYS_gettid));
    while (!atomic_load(&busy->wants_end)) {
        if (!atomic_load(&busy->wants_work))
            (void)usleep(1000);
    }
    return NULL;
}

static void start_busy(struct busy *busy, bool wants_work)
{
    memset(busy, 0, sizeof(*busy));
    atomic_store(&busy->wants_work, wants_work);
    assert_int_equal(pthread_create(&busy->thread, NULL, be_busy, busy), 0);
    while (!atomic_load(&busy->tid))
        (void)usleep(100);
}

static void end_busy(struct busy *busy)
{
    atomic_store(&busy->wants_end, true);
    assert_int_equal(pthread_join(busy->thread, NULL), 0);
}

/* What was said about one thread. */
struct heard {
    uint32_t tid;
    uint64_t ran_ns;
    unsigned calls;
    unsigned namings;
    char name[32];
    uint32_t ns_tid;
};

static void hear(void *user, const struct sn_cpu_slice *slice)
{
    struct heard *heard = user;
    assert_true(slice->ran_ns || slice->new_name);
    if (slice->tid != heard->tid)
        return;
    heard->calls++;
    heard->ran_ns += slice->ran_ns;
    heard->ns_tid = slice->ns_tid;
    if (slice->new_name) {
        heard->namings++;
        (void)strncpy(heard->name, slice->new_name, sizeof(heard->name) - 1);
    }
}

static struct sn_cpu_times *new_times(void)
{
    struct sn_cpu_times *times = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_cpu_times_new((uint32_t)getpid(), &times, &err), SONDE_OK);
    return times;
}

static void a_busy_thread_is_seen_with_its_name_and_its_time(void **state)
{
    (void)state;
    struct busy busy;
    start_busy(&busy, true);
    struct sn_cpu_times *times = new_times();
    struct heard heard = {.tid = atomic_load(&busy.tid)};
    assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_OK);
    assert_int_equal(heard.namings, 1);
    assert_string_equal(heard.name, "busy-thread");
    assert_int_equal(heard.ran_ns, 0); /* what it ran before is not of this trace */
    assert_true(sn_cpu_times_thread_count(times) >= 2);

    uint64_t start = sn_clock_monotonic_ns();
    uint64_t deadline = start + 20ull * SN_NS_PER_SECOND;
    while (heard.ran_ns < 50ull * SN_NS_PER_MS && sn_clock_monotonic_ns() < deadline) {
        (void)usleep(10000);
        assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_OK);
    }
    uint64_t elapsed = sn_clock_monotonic_ns() - start;
    assert_true(heard.ran_ns >= 50ull * SN_NS_PER_MS);
    assert_true(heard.ran_ns <= elapsed + 100ull * SN_NS_PER_MS); /* one thread, one CPU */
    assert_int_equal(heard.namings, 1);
    assert_true(heard.ns_tid != 0);
    end_busy(&busy);
    sn_cpu_times_free(times);
}

static void a_thread_that_starts_later_brings_all_its_time(void **state)
{
    (void)state;
    struct sn_cpu_times *times = new_times();
    struct heard nobody = {0};
    assert_int_equal(sn_cpu_times_poll(times, hear, &nobody), SONDE_OK);
    struct busy busy;
    start_busy(&busy, true);
    struct heard heard = {.tid = atomic_load(&busy.tid)};
    (void)usleep(50000);
    assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_OK);
    assert_int_equal(heard.namings, 1);
    assert_true(heard.ran_ns > 0);
    end_busy(&busy);
    sn_cpu_times_free(times);
}

static void an_ended_thread_is_forgotten(void **state)
{
    (void)state;
    struct busy busy[4];
    struct heard heard = {0};
    struct sn_cpu_times *times = new_times();
    assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_OK);
    size_t before = sn_cpu_times_thread_count(times);
    for (int i = 0; i < 4; i++)
        start_busy(&busy[i], false);
    assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_OK);
    assert_int_equal(sn_cpu_times_thread_count(times), before + 4);
    for (int i = 0; i < 4; i += 2)
        end_busy(&busy[i]);
    /* A joined thread may still be on its way out of the kernel. */
    uint64_t deadline = sn_clock_deadline(5ull * SN_NS_PER_SECOND);
    do {
        assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_OK);
    } while (sn_cpu_times_thread_count(times) != before + 2 && sn_clock_monotonic_ns() < deadline);
    assert_int_equal(sn_cpu_times_thread_count(times), before + 2);
    heard = (struct heard){.tid = atomic_load(&busy[3].tid)};
    atomic_store(&busy[3].wants_work, true);
    while (!heard.calls && sn_clock_monotonic_ns() < deadline)
        assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_OK);
    assert_int_equal(heard.namings, 0); /* the others kept their places */
    assert_true(heard.ran_ns > 0);
    end_busy(&busy[1]);
    end_busy(&busy[3]);
    sn_cpu_times_free(times);
}

static void a_process_that_ends_is_gone(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    struct sn_cpu_times *times = NULL;
    struct sonde_error err = {0};
    struct heard heard = {.tid = (uint32_t)pid};
    assert_int_equal(sn_cpu_times_new((uint32_t)pid, &times, &err), SONDE_OK);
    assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_OK);
    assert_int_equal(heard.namings, 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_E_GONE);
    assert_int_equal(sn_cpu_times_thread_count(times), 0);
    assert_int_equal(sn_cpu_times_poll(times, hear, &heard), SONDE_E_GONE);
    sn_cpu_times_free(times);
    times = NULL;
    assert_int_equal(sn_cpu_times_new((uint32_t)pid, &times, &err), SONDE_E_NOT_FOUND);
    assert_null(times);
    sn_cpu_times_free(NULL);
}

int main(void)
{
    if (access("/proc/self/schedstat", R_OK) != 0) {
        (void)puts("skipped: this kernel keeps no schedstat");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_thread_is_seen_with_its_name_and_its_time),
        cmocka_unit_test(a_thread_that_starts_later_brings_all_its_time),
        cmocka_unit_test(an_ended_thread_is_forgotten),
        cmocka_unit_test(a_process_that_ends_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
