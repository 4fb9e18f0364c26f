/* Rung THREADS: an event for each thread and CPU, inherited by threads and processes that they make
 * from then on. The rings are the CPUs' as on the first rung. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "source/perf/kernel_source.h"
#include "source/perf/proc_task.h"

/* A thread that is made while we look is made by one of those not attached yet: look again until
 * there is none. */
#define ROUNDS 8u

#define THREAD_LIMIT   65536u
#define CLOSE_EVERY_NS SN_NS_PER_SECOND

/* Nobody has these events any more, and a while ago nobody had: nothing of them is in the rings. */
#define DUE UINT64_MAX

/* A few at a time: what is taken out of a table moves others. */
#define AT_A_TIME 64u

void sn_own_threads_init(struct sn_own_threads *own)
{
    *own = (struct sn_own_threads){.roots = sn_table_with_limit(THREAD_LIMIT),
                                   .living = sn_table_with_limit(THREAD_LIMIT)};
}

void sn_own_threads_done(struct sn_own_threads *own)
{
    sn_table_done(&own->roots);
    sn_table_done(&own->living);
}

static bool add(struct sn_own_threads *own, uint32_t tid, uint64_t root)
{
    uint64_t *living = sn_table_put(&own->living, root);
    uint64_t *of_thread = living ? sn_table_put(&own->roots, tid) : NULL;
    if (!of_thread)
        return false;
    *of_thread = root;
    ++*living;
    return true;
}

static void forget(struct sn_own_threads *own, uint32_t tid)
{
    const uint64_t *root = sn_table_find(&own->roots, tid);
    uint64_t *living = root ? sn_table_find(&own->living, *root) : NULL;
    if (living && *living && *living != DUE)
        --*living;
    sn_table_remove(&own->roots, tid);
}

/* Each event of a thread may tell the same. */
void sn_own_threads_take(struct sn_own_threads *own, const struct sn_perf_record *record)
{
    if (record->type == SN_PERF_EXIT) {
        forget(own, record->tid);
    } else if (record->type == SN_PERF_FORK && !sn_table_find(&own->roots, record->tid)) {
        const uint64_t *root = sn_table_find(&own->roots, record->task.parent_tid);
        if (root && !add(own, record->tid, *root))
            own->is_unsure = true;
    }
}

void sn_own_threads_doubt(struct sn_own_threads *own)
{
    uint32_t gone[AT_A_TIME];
    size_t count;
    own->is_unsure = true;
    do {
        count = 0;
        for (size_t i = 0; i < own->roots.capacity && count < AT_A_TIME; i++) {
            const struct sn_table_slot *slot = &own->roots.slots[i];
            if (slot->used && kill((pid_t)slot->key, 0) != 0 && errno == ESRCH)
                gone[count++] = (uint32_t)slot->key;
        }
        for (size_t i = 0; i < count; i++)
            forget(own, gone[i]);
    } while (count);
}

static size_t take_out_due(struct sn_table *living)
{
    uint64_t due[AT_A_TIME];
    size_t count = 0;
    for (size_t i = 0; i < living->capacity && count < AT_A_TIME; i++) {
        if (living->slots[i].used && living->slots[i].value == DUE)
            due[count++] = living->slots[i].key;
    }
    for (size_t i = 0; i < count; i++)
        sn_table_remove(living, due[i]);
    return count;
}

void sn_own_threads_close_ended(struct sn_kernel *kernel, uint64_t time_ns)
{
    struct sn_own_threads *own = &kernel->own;
    if (own->is_unsure || time_ns < own->closed_ns + CLOSE_EVERY_NS)
        return;
    own->closed_ns = time_ns;
    bool has_ended = false;
    while (take_out_due(&own->living))
        has_ended = true;
    if (has_ended)
        sn_rings_close_others(&kernel->rings, &own->living);
    for (size_t i = 0; i < own->living.capacity; i++) {
        struct sn_table_slot *slot = &own->living.slots[i];
        if (slot->used && !slot->value)
            slot->value = DUE;
    }
}

struct attaching {
    struct sn_kernel *kernel;
    unsigned new_count;
    unsigned failed_count;
    struct sonde_error err; /* the first */
};

static void attach_thread(void *user, uint32_t pid, uint32_t tid)
{
    struct attaching *attaching = user;
    struct sn_kernel *kernel = attaching->kernel;
    (void)pid;
    if (sn_table_find(&kernel->own.roots, tid) || !add(&kernel->own, tid, ++kernel->own.last_root))
        return;
    struct sonde_error err = {0};
    if (sn_cpu_samples_open(kernel, tid, &err) == SONDE_OK) {
        attaching->new_count++;
        return;
    }
    forget(&kernel->own, tid);
    if (err.system_error == ESRCH) /* has ended meanwhile */
        return;
    attaching->failed_count++;
    if (attaching->err.status == SONDE_OK)
        attaching->err = err;
}

bool sn_own_threads_admit(void *user, uint32_t pid)
{
    struct attaching attaching = {.kernel = user};
    for (unsigned round = 0; round < ROUNDS; round++) {
        attaching.new_count = 0;
        sn_proc_task_threads(pid, attach_thread, &attaching);
        if (!attaching.new_count || attaching.failed_count)
            break;
    }
    if (!attaching.failed_count)
        return true;
    struct sn_kernel *kernel = user;
    kernel->refused_count++;
    kernel->refused_pid = pid;
    kernel->refused = attaching.err;
    return false;
}

int sn_own_threads_refused(const struct sn_kernel *kernel, struct sonde_error *err)
{
    if (kernel->refused.system_error != EACCES && kernel->refused.system_error != EPERM)
        return sn_fail_as(err, &kernel->refused);
    return sn_fail(err, SONDE_E_DENIED, 0,
                   "process %" PRIu32 " cannot be recorded without root or CAP_PERFMON: it is not "
                   "ours, or it was started with more rights than we have",
                   kernel->refused_pid);
}
