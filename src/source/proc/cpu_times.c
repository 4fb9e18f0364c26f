#include "source/proc/cpu_times.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/own_id.h"
#include "base/table.h"

/* Threads followed at once; those beyond are not seen. Descriptors kept open stay below the usual
 * 1,024. */
#define THREAD_LIMIT    65536u
#define KEPT_OPEN_LIMIT 512u

struct thread {
    uint32_t tid;
    uint32_t ns_tid;
    int fd; /* its schedstat, or -1: opened for each look */
    uint64_t cpu_ns;
    uint64_t seen_in; /* the poll that saw it last */
    bool is_named;    /* its name has been told */
};

struct sn_cpu_times {
    uint32_t pid;
    DIR *tasks;
    struct thread *threads;
    size_t thread_count;
    size_t thread_capacity;
    size_t open_count;
    struct sn_table by_tid; /* tid to index + 1 */
    uint64_t poll_count;
    clockid_t clock; /* of the process, threads that have ended included */
    bool has_clock;
    uint64_t base_ns;  /* what it showed at the first poll */
    uint64_t clock_ns; /* and before the last */
    uint64_t seen_ns;  /* all slices together */
    uint64_t ended_ns; /* told so far */
};

int sn_cpu_times_new(uint32_t pid, struct sn_cpu_times **ret_times, struct sonde_error *err)
{
    SN_AUTO(sn_free) struct sn_cpu_times *times = calloc(1, sizeof(*times));
    if (!times)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for CPU times");
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
    times->tasks = opendir(path);
    if (!times->tasks)
        return sn_fail_errno(err, "cannot open '%s'", path);
    times->pid = pid;
    times->by_tid = sn_table_with_limit(THREAD_LIMIT);
    times->has_clock = clock_getcpuclockid((pid_t)pid, &times->clock) == 0;
    *ret_times = SN_TAKE(times);
    return SONDE_OK;
}

void sn_cpu_times_free(struct sn_cpu_times *times)
{
    if (!times)
        return;
    for (size_t i = 0; i < times->thread_count; i++)
        sn_close(times->threads[i].fd);
    (void)closedir(times->tasks);
    sn_table_done(&times->by_tid);
    free(times->threads);
    free(times);
}

/* A thread that has just ended has no other number any more. */
static uint32_t ns_tid(const struct sn_cpu_times *times, uint32_t tid)
{
    uint64_t id = sn_own_id(times->pid, tid);
    return id ? (uint32_t)id : tid;
}

static const char *read_name(int tasks, uint32_t tid, char to[32])
{
    char path[32];
    (void)snprintf(path, sizeof(path), "%" PRIu32 "/comm", tid);
    long size = sn_file_peek_at(tasks, path, to, 32);
    to[size > 0 ? size - 1 : 0] = '\0'; /* without its newline */
    return to;
}

/* schedstat: nanoseconds on a CPU, nanoseconds runnable, slices. */
static bool read_cpu_ns(struct sn_cpu_times *times, struct thread *thread, uint64_t *ret_ns)
{
    char text[96];
    ssize_t size;
    if (thread->fd >= 0) {
        size = pread(thread->fd, text, sizeof(text) - 1, 0);
    } else {
        char path[32];
        (void)snprintf(path, sizeof(path), "%" PRIu32 "/schedstat", thread->tid);
        size = sn_file_peek_at(dirfd(times->tasks), path, text, sizeof(text));
    }
    if (size <= 0)
        return false;
    text[size] = '\0';
    *ret_ns = strtoull(text, NULL, 10);
    return true;
}

static struct thread *add_thread(struct sn_cpu_times *times, uint32_t tid, uint64_t *slot)
{
    struct thread *threads = sn_array_room(times->threads, times->thread_count,
                                           &times->thread_capacity, sizeof(*threads));
    if (!threads)
        return NULL;
    times->threads = threads;
    struct thread *thread = &times->threads[times->thread_count++];
    *thread = (struct thread){.tid = tid, .fd = -1, .ns_tid = ns_tid(times, tid)};
    if (times->open_count < KEPT_OPEN_LIMIT) {
        char path[32];
        (void)snprintf(path, sizeof(path), "%" PRIu32 "/schedstat", tid);
        thread->fd = openat(dirfd(times->tasks), path, O_RDONLY | O_CLOEXEC);
        times->open_count += thread->fd >= 0;
    }
    *slot = times->thread_count;
    return thread;
}

static void look_at(struct sn_cpu_times *times, uint32_t tid, sn_cpu_slice_fn *ran, void *user)
{
    uint64_t *slot = sn_table_put(&times->by_tid, tid);
    if (!slot)
        return;
    bool is_new = *slot == 0;
    struct thread *thread = is_new ? add_thread(times, tid, slot) : &times->threads[*slot - 1];
    uint64_t cpu_ns = 0;
    if (!thread || !read_cpu_ns(times, thread, &cpu_ns))
        return;
    char name[32];
    struct sn_cpu_slice slice = {.tid = tid, .ns_tid = thread->ns_tid};
    /* What a thread ran before the first poll of all is not of this trace. */
    bool is_baseline = is_new && times->poll_count == 1;
    slice.ran_ns = is_baseline || cpu_ns < thread->cpu_ns ? 0 : cpu_ns - thread->cpu_ns;
    slice.new_name = thread->is_named ? NULL : read_name(dirfd(times->tasks), tid, name);
    thread->is_named = true;
    thread->cpu_ns = cpu_ns;
    thread->seen_in = times->poll_count;
    times->seen_ns += slice.ran_ns;
    if (slice.ran_ns || slice.new_name)
        ran(user, &slice);
}

/* Forgets the threads that have ended, and with them their descriptors. */
static void forget_ended(struct sn_cpu_times *times)
{
    size_t kept = 0;
    for (size_t i = 0; i < times->thread_count; i++) {
        struct thread *thread = &times->threads[i];
        if (thread->seen_in == times->poll_count)
            times->threads[kept++] = *thread;
        else if (thread->fd >= 0) {
            sn_close(thread->fd);
            times->open_count--;
        }
    }
    if (kept == times->thread_count)
        return;
    times->thread_count = kept;
    sn_table_clear(&times->by_tid);
    for (size_t i = 0; i < kept; i++) {
        uint64_t *slot = sn_table_put(&times->by_tid, times->threads[i].tid);
        if (slot)
            *slot = i + 1;
    }
}

static uint64_t process_ns(const struct sn_cpu_times *times)
{
    struct timespec spent;
    if (!times->has_clock || clock_gettime(times->clock, &spent) != 0)
        return 0;
    return (uint64_t)spent.tv_sec * SN_NS_PER_SECOND + (uint64_t)spent.tv_nsec;
}

/* The process's clock is read before its threads' times, so that what they run meanwhile is never
 * taken for that of threads which have ended; only at the first poll, the base of all, behind. */
uint64_t sn_cpu_times_ended(struct sn_cpu_times *times)
{
    if (times->poll_count == 1) {
        times->base_ns = process_ns(times);
        return 0;
    }
    uint64_t known = times->base_ns + times->seen_ns + times->ended_ns;
    uint64_t more = times->clock_ns > known ? times->clock_ns - known : 0;
    times->ended_ns += more;
    return more;
}

int sn_cpu_times_poll(struct sn_cpu_times *times, sn_cpu_slice_fn *ran, void *user)
{
    times->poll_count++;
    uint64_t clock_ns = process_ns(times);
    times->clock_ns = clock_ns ? clock_ns : times->clock_ns;
    rewinddir(times->tasks);
    size_t seen = 0;
    for (struct dirent *entry = readdir(times->tasks); entry; entry = readdir(times->tasks)) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (!tid)
            continue;
        look_at(times, tid, ran, user);
        seen++;
    }
    forget_ended(times);
    return seen ? SONDE_OK : SONDE_E_GONE;
}

void sn_cpu_times_repeat_names(struct sn_cpu_times *times)
{
    for (size_t i = 0; i < times->thread_count; i++)
        times->threads[i].is_named = false;
}

size_t sn_cpu_times_thread_count(const struct sn_cpu_times *times)
{
    return times->thread_count;
}
