/* Looking at stacks that were taken, and writing them (sonde/stacks.h). */
#include "api/stacks_internal.h"
#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/stacks_formats.h"

size_t sonde_stacks_thread_count(const struct sonde_stacks *stacks)
{
    return stacks->thread_count;
}

size_t sonde_stacks_lost_count(const struct sonde_stacks *stacks)
{
    return stacks->lost_count;
}

uint64_t sonde_stacks_utc_ns(const struct sonde_stacks *stacks)
{
    return stacks->utc_ns;
}

const struct sonde_stack_thread *sonde_stacks_thread(const struct sonde_stacks *stacks,
                                                     size_t index)
{
    return index < stacks->thread_count ? &stacks->threads[index] : NULL;
}

size_t sonde_stacks_group_count(const struct sonde_stacks *stacks)
{
    return stacks->group_count;
}

const struct sonde_stack_group *sonde_stacks_group(const struct sonde_stacks *stacks, size_t index)
{
    return index < stacks->group_count ? &stacks->groups[index] : NULL;
}

size_t sonde_stacks_lock_count(const struct sonde_stacks *stacks)
{
    return stacks->lock_count;
}

const struct sonde_stack_lock *sonde_stacks_lock(const struct sonde_stacks *stacks, size_t index)
{
    return index < stacks->lock_count ? &stacks->locks[index] : NULL;
}

size_t sonde_stacks_task_count(const struct sonde_stacks *stacks)
{
    return stacks->task_count;
}

const struct sonde_stack_task *sonde_stacks_task(const struct sonde_stacks *stacks, size_t index)
{
    return index < stacks->task_count ? &stacks->tasks[index] : NULL;
}

const struct sonde_stack_pool *sonde_stacks_pool(const struct sonde_stacks *stacks)
{
    return &stacks->pool;
}

const char *sonde_stacks_source(const struct sonde_stacks *stacks)
{
    return stacks->source ? stacks->source : "";
}

const char *sonde_stacks_remark(const struct sonde_stacks *stacks, size_t index)
{
    return index < stacks->remark_count ? stacks->remarks[index] : NULL;
}

/* --- comparing --- */

/* By rising id, as they are. */
static const struct sonde_stack_thread *find_thread(const struct sonde_stacks *stacks, uint64_t id,
                                                    size_t *from)
{
    while (*from < stacks->thread_count && stacks->threads[*from].thread_id < id)
        ++*from;
    bool is_there = *from < stacks->thread_count && stacks->threads[*from].thread_id == id;
    return is_there ? &stacks->threads[*from] : NULL;
}

/* One on a CPU of its own is not switched either, and does run. */
static bool has_not_run(const struct sonde_stack_thread *now,
                        const struct sonde_stack_thread *before)
{
    return now->moves && now->moves == before->moves && now->doing != SONDE_THREAD_RUNNING &&
           before->doing != SONDE_THREAD_RUNNING;
}

void sonde_stacks_compare(struct sonde_stacks *stacks, const struct sonde_stacks *before)
{
    size_t at = 0;
    uint64_t between = stacks->utc_ns > before->utc_ns ? stacks->utc_ns - before->utc_ns : 0;
    for (size_t i = 0; i < stacks->thread_count; i++) {
        struct sonde_stack_thread *now = &stacks->threads[i];
        const struct sonde_stack_thread *then = find_thread(before, now->thread_id, &at);
        now->still_ns = then && has_not_run(now, then) ? then->still_ns + between : 0;
    }
    stacks->is_compared = true;
}

/* --- writing --- */

struct sink {
    sonde_write_fn *write;
    void *user;
};

static int pass_on(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    const struct sink *sink = user;
    int rc = sink->write(sink->user, bytes, size);
    return rc == SONDE_OK ? rc : sn_fail(err, rc, 0, "stacks could not be written");
}

int sonde_stacks_write(const struct sonde_stacks *stacks, const char *format, sonde_write_fn *write,
                       void *user, struct sonde_error *err)
{
    const struct sn_stacks_format *chosen = sn_stacks_format_find(format);
    if (!chosen)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "stacks cannot be written as '%.32s': text, threads, tree, json, "
                       "speedscope, collapsed, dotnet-stack",
                       format);
    const struct sn_stacks_view view = {.threads = stacks->threads,
                                        .thread_count = stacks->thread_count,
                                        .groups = stacks->groups,
                                        .group_count = stacks->group_count,
                                        .lost_count = stacks->lost_count,
                                        .pid = stacks->pid,
                                        .main_id = stacks->main_id,
                                        .name = stacks->process_name,
                                        .utc_ns = stacks->utc_ns,
                                        .locks = stacks->locks,
                                        .lock_count = stacks->lock_count,
                                        .has_locks = stacks->has_locks,
                                        .tasks = stacks->tasks,
                                        .task_count = stacks->task_count,
                                        .has_tasks = stacks->has_tasks,
                                        .pool = stacks->pool,
                                        .source = sonde_stacks_source(stacks),
                                        .remarks = stacks->remarks,
                                        .remark_count = stacks->remark_count,
                                        .is_compared = stacks->is_compared};
    struct sink sink = {write, user};
    SN_AUTO(sn_stream_done) struct sn_stream stream;
    sn_stream_init(&stream, pass_on, &sink);
    chosen->write(&stream, &view);
    return sn_stream_finish(&stream, err);
}
