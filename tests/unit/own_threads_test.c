/* Events of single threads, without the right to the machine: closed when nobody has them any more,
 * and numbers of threads that come again. */
#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kernel_recording.h"

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

#define BRIEF_THREADS 8u

static void *spin_long(void *user)
{
    volatile unsigned counter = 0;
    spin(&counter, 60000 * MS);
    return user;
}

/* Ends when told to; the one that gets the second byte leaves a busy thread behind. */
static void *end_when_told(void *user)
{
    const int *go = user;
    char byte = 0;
    pthread_t heir;
    if (read(go[0], &byte, 1) == 1 && byte == 'h')
        (void)pthread_create(&heir, NULL, spin_long, NULL);
    return NULL;
}

static pid_t start_brief_threads(int go[2], int ready[2])
{
    pid_t pid = fork();
    if (pid)
        return pid;
    pthread_t threads[BRIEF_THREADS];
    for (unsigned i = 0; i < BRIEF_THREADS; i++)
        (void)pthread_create(&threads[i], NULL, end_when_told, go);
    (void)!write(ready[1], "r", 1);
    for (unsigned i = 0; i < BRIEF_THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pause();
    _exit(0);
}

static void events_of_threads_that_ended_are_closed_unless_inherited(void **state)
{
    (void)state;
    int go[2];
    int ready[2];
    char byte;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = start_brief_threads(go, ready);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    uint32_t pids[] = {(uint32_t)pid};
    struct recording recording = {.heard = {.pid = (uint32_t)pid}};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_THREADS, .frequency = 499, .scope = {.pids = pids, .pid_count = 1}};
    size_t without = open_descriptors();
    begin(&recording, &options);
    size_t per_thread = (open_descriptors() - without) / (BRIEF_THREADS + 2); /* one for rings */
    assert_true(per_thread > 0);
    assert_int_equal(write(go[1], "hxxxxxxx", BRIEF_THREADS), BRIEF_THREADS);
    size_t few = without + per_thread * 4; /* the rings', the main thread's, the heir's */
    uint64_t end_ns = sn_clock_deadline(20000 * MS);
    while (open_descriptors() > few && sn_clock_monotonic_ns() < end_ns)
        go_on(&recording, 50 * MS);
    assert_true(open_descriptors() <= few);
    unsigned before = recording.heard.counts[SN_UNIVERSAL_CPU];
    go_on_until(&recording, before + 20);
    finish(&recording);
    assert_true(recording.heard.counts[SN_UNIVERSAL_CPU] >= before + 20);
    assert_int_equal(recording.heard.lost, 0);
    end(&recording);
    reap(pid);
    for (int i = 0; i < 2; i++) {
        (void)close(go[i]);
        (void)close(ready[i]);
    }
}

static void be_again(void)
{
    volatile unsigned counter = 0;
    (void)prctl(PR_SET_NAME, "sonde-again");
    spin(&counter, 60000 * MS);
    _exit(0);
}

static void a_thread_number_used_again_is_sampled(void **state)
{
    (void)state;
    const char *names[] = {"sonde-again"};
    pid_t first = fork();
    if (first == 0)
        be_again();
    (void)usleep(50000); /* for its name */
    struct recording recording = {.heard = {.pid = (uint32_t)first}};
    struct sn_kernel_options options = {
        .rung = SN_RUNG_THREADS, .frequency = 499, .scope = {.names = names, .name_count = 1}};
    begin(&recording, &options);
    go_on_until(&recording, 10);
    reap(first);
    go_on(&recording, 150 * MS);
    unsigned before = recording.heard.counts[SN_UNIVERSAL_CPU];
    pid_t second = fork_as(first);
    if (second == 0)
        be_again();
    bool is_reused = second == first;
    if (is_reused) {
        go_on_until(&recording, before + 10);
        reap(second);
    }
    finish(&recording);
    end(&recording);
    if (!is_reused) {
        skip_because("pids cannot be chosen here");
    }
    assert_true(before >= 10);
    assert_true(recording.heard.counts[SN_UNIVERSAL_CPU] >= before + 10);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_threads_that_ended_are_closed_unless_inherited),
        cmocka_unit_test(a_thread_number_used_again_is_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
