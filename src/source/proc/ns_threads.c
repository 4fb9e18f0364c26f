#include "source/proc/ns_threads.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/own_id.h"
#include "base/table.h"

#define THREAD_LIMIT (1u << 16)

/* A thread that is not there will not be there a moment later either. */
#define LOOK_EVERY_NS (20ull * SN_NS_PER_MS)

struct sn_ns_threads {
    uint32_t pid;
    bool is_nested;
    uint64_t looked_ns;
    struct sn_table ours; /* its id -> ours */
};

struct sn_ns_threads *sn_ns_threads_new(uint32_t pid)
{
    struct sn_ns_threads *threads = calloc(1, sizeof(*threads));
    if (!threads)
        return NULL;
    threads->pid = pid;
    threads->is_nested = sn_own_id_is_apart(pid);
    threads->ours = sn_table_with_limit(THREAD_LIMIT);
    return threads;
}

void sn_ns_threads_free(struct sn_ns_threads *threads)
{
    if (!threads)
        return;
    sn_table_done(&threads->ours);
    free(threads);
}

/* Ids of threads that ended stay: their last events may still come. A number that is used again is
 * put right here. */
static void look(struct sn_ns_threads *threads)
{
    char path[96];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", threads->pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return; /* gone */
    for (struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
        uint32_t tid = (uint32_t)strtoul(task->d_name, NULL, 10);
        uint64_t inner = tid ? sn_own_id(threads->pid, tid) : 0;
        uint64_t *place = inner ? sn_table_put(&threads->ours, inner) : NULL;
        if (place)
            *place = tid;
    }
    (void)closedir(tasks); /* only read from */
}

uint64_t sn_ns_threads_find(struct sn_ns_threads *threads, uint64_t ns_tid)
{
    if (!threads->is_nested || !ns_tid || ns_tid > INT32_MAX)
        return ns_tid;
    const uint64_t *known = sn_table_find(&threads->ours, ns_tid);
    uint64_t now = known ? 0 : sn_clock_monotonic_ns();
    if (!known && now - threads->looked_ns >= LOOK_EVERY_NS) {
        threads->looked_ns = now;
        look(threads);
        known = sn_table_find(&threads->ours, ns_tid);
    }
    return known ? *known : ns_tid;
}
